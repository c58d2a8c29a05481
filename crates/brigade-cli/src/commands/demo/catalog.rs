//! A tour of a catalog of scripts: plans, policies, approvals and receipts.

use brigade::{Error, Exit, Workspace};

use super::stage::{Expect, Stage};
use super::{DemoArgs, place, sample};
use crate::output::Output;
use crate::render::shell::quote;
use crate::session::Session;

/// Valid and invalid arguments for `count-words`.
const GOOD: &str = r#"{"paths": ["README.md"], "mode": "by-file"}"#;
const BAD: &str = r#"{"path": "README.md", "mode": "by-page"}"#;
const OTHER: &str = r#"{"paths": ["docs/count-words.md"]}"#;

pub(super) fn run(
    arguments: &DemoArgs,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let workspace = make(arguments, session)?;
    let mut stage = Stage::new(&workspace, session.surroundings, output);
    play(&workspace, &mut stage)?;
    let folder = quote(&workspace.root().display().to_string());
    Ok(stage.end(&[
        (format!("cd {folder}"), "the workspace stays until you remove it"),
        ("brigade tools describe count-words".to_owned(), "show arguments, examples and effects of a tool"),
        ("brigade tools policy explain count-words".to_owned(), "show each policy decision with its rule"),
        ("brigade tools init".to_owned(), "create a catalog in your own repository"),
    ]))
}

fn make(arguments: &DemoArgs, session: &Session<'_>) -> Result<Workspace, Error> {
    let (folder, context) = place(arguments, session)?;
    Workspace::with_files(&folder, &sample::files(), context)
}

fn play(workspace: &Workspace, stage: &mut Stage<'_, '_, '_>) -> Result<(), Error> {
    stage.say(
        ".brigade/tools.toml describes six tools. Agents can request calls; nothing runs without approval.",
    );
    stage.command(&["tools", "list"], Expect::Done);

    stage.say(
        "A plan runs nothing. It checks the arguments against the tool's schema and reports every error.",
    );
    stage.command(&["tools", "call", "plan", "count-words", "--args", BAD], Expect::Refused);

    stage.say("The host's policy is checked too. Each reason names the file, the line and how to change it.");
    stage.command(&["tools", "call", "plan", "needs-token"], Expect::Refused);

    stage.say("A plan without blockers can be queued. The call then waits for approval.");
    let queued = stage.command(&["tools", "call", "queue", "count-words", "--args", GOOD], Expect::Done);
    let Some(call) = queued.id("call-") else { return Ok(()) };

    stage.say("A call that is not approved does not run.");
    stage.command(&["tools", "call", "run", &call], Expect::Refused);

    stage.say("Approval binds everything that will run, including the bytes of the script.");
    stage.command(&["tools", "call", "approve", &call], Expect::Done);
    stage.command(&["tools", "call", "run", &call], Expect::Done);

    stage.say("Every run leaves a receipt. Its logs are local files.");
    stage.command(&["tools", "run", "latest"], Expect::Done);

    stage.say("Now approve a second call, and change the script afterwards.");
    let queued = stage.command(&["tools", "call", "queue", "count-words", "--args", OTHER], Expect::Done);
    let Some(call) = queued.id("call-") else { return Ok(()) };
    stage.command(&["tools", "call", "approve", &call], Expect::Done);
    workspace.write_files(&[sample::changed_script()])?;
    stage.shell("echo '# one more line' >> bin/count_words.py");

    stage.say("The script is no longer what was approved, so the call is refused.");
    stage.command(&["tools", "call", "run", &call], Expect::Refused);
    stage.command(&["tools", "run", "list"], Expect::Done);
    Ok(())
}
