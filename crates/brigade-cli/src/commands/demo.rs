//! `brigade demo`

mod sample;
mod stage;

use std::path::PathBuf;

use brigade::{Env, Error, ErrorKind, Exit, Workspace};
use clap::Args;

use crate::examples;
use crate::output::Output;
use crate::session::Session;
use stage::{Expect, Stage};

/// Returns the files of the sample workspace.
#[cfg(test)]
pub(super) fn sample_files() -> Vec<brigade::NewFile> {
    sample::files()
}

/// Watch the whole way of a call, on real scripts
///
/// Makes a workspace with six small scripts, then lists, plans, queues, approves and runs, and shows every command with
/// what it really answers. Needs Python 3. The folder stays, for you to go on with.
#[derive(Args, Debug)]
#[command(after_help = examples::of(examples::PROGRAM, "demo").unwrap_or_default())]
pub(crate) struct DemoArgs {
    /// Make the workspace here instead of in a temporary folder; it must be empty or not there
    #[arg(long = "in", value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// What the scripts of the sample are run with.
const INTERPRETER: &str = "python3";

/// Arguments that are right, and some that are not.
const GOOD: &str = r#"{"paths": ["README.md"], "mode": "by-file"}"#;
const BAD: &str = r#"{"path": "README.md", "mode": "by-page"}"#;
const OTHER: &str = r#"{"paths": ["docs/count-words.md"]}"#;

pub(crate) fn run(arguments: &DemoArgs, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    let workspace = match make(arguments, session) {
        Ok(workspace) => workspace,
        Err(error) => return output.fail(&error),
    };
    let mut stage = Stage::new(&workspace, session.surroundings, output);
    match play(&workspace, &mut stage) {
        Ok(()) => stage.end(),
        Err(error) => output.fail(&error),
    }
}

fn make(arguments: &DemoArgs, session: &Session<'_>) -> Result<Workspace, Error> {
    let folder = match &arguments.folder {
        Some(folder) => session.absolute(folder)?,
        None => {
            let now = session.surroundings.clock.now();
            let name = format!("brigade-demo-{}-{:06}", now.compact(), now.unix_micros() % 1_000_000);
            session.surroundings.temporary_directory.join(name)
        }
    };
    let context = Env::of_process().clock(session.surroundings.clock.clone());
    if !context.finds_program(INTERPRETER) {
        let message = "the demo needs Python 3, and `python3` is not found on this host";
        return Err(Error::new(ErrorKind::Environment, message).hint("install it, or add its folder to PATH"));
    }
    Workspace::with_files(&folder, &sample::files(), context)
}

fn play(workspace: &Workspace, stage: &mut Stage<'_, '_, '_>) -> Result<(), Error> {
    stage.say(
        "Six tools are described in .brigade/tools.toml. Agents can ask for them; nothing runs by itself.",
    );
    stage.command(&["tools", "list"], Expect::Done);

    stage.say("A plan runs nothing. Wrong arguments are told apart one by one, against the tool's schema.");
    stage.command(&["tools", "call", "plan", "count-words", "--args", BAD], Expect::Refused);

    stage.say("The policy of this host decides as well: each reason names its file, its line and the way to change it.");
    stage.command(&["tools", "call", "plan", "needs-token"], Expect::Refused);

    stage.say("A plan that nothing speaks against can be queued. It waits there for a person.");
    let queued = stage.command(&["tools", "call", "queue", "count-words", "--args", GOOD], Expect::Done);
    let Some(call) = queued.id("call-") else { return Ok(()) };

    stage.say("Not approved, it does not run.");
    stage.command(&["tools", "call", "run", &call], Expect::Refused);

    stage.say("The approval binds everything that will run, the bytes of the script included.");
    stage.command(&["tools", "call", "approve", &call], Expect::Done);
    stage.command(&["tools", "call", "run", &call], Expect::Done);

    stage.say("The receipt stays. Its logs are local files.");
    stage.command(&["tools", "run", "latest"], Expect::Done);

    stage.say("Now a second call is approved, and then somebody changes the script.");
    let queued = stage.command(&["tools", "call", "queue", "count-words", "--args", OTHER], Expect::Done);
    let Some(call) = queued.id("call-") else { return Ok(()) };
    stage.command(&["tools", "call", "approve", &call], Expect::Done);
    workspace.write_files(&[sample::changed_script()])?;
    stage.shell("echo '# one more line' >> bin/count_words.py");

    stage.say("What was approved is not what would run, so it does not run.");
    stage.command(&["tools", "call", "run", &call], Expect::Refused);
    stage.command(&["tools", "run", "list"], Expect::Done);
    Ok(())
}
