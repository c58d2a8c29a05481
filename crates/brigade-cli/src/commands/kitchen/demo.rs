//! `brigade kitchen demo`

use std::path::PathBuf;

use brigade::{Env, Error, ErrorKind, Exit, NewFile, Workspace};
use clap::Args;

use crate::commands::demo::stage::{Expect, Stage};
use crate::output::Output;
use crate::render::shell::quote;
use crate::session::Session;

/// Walk through a service, from the PRD to the branch, with small scripts as workers
///
/// Creates a git repository with a PRD of three tasks, then validates, approves and serves it. One attempt fails, one
/// task is handed to a higher tier, and one asks a question. Every command is shown with its real output. Needs git.
/// The directory is kept, so that you can continue with it. Ctrl-C ends the workers and removes a temporary directory.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Create the repository in this directory, which must be empty or not exist [default: a temporary directory]
    #[arg(long = "in", value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Includes files of the demo in the binary.
macro_rules! files {
    ($($path:literal = $file:literal)*) => {
        [$(NewFile::new($path, include_str!(concat!("demo/", $file)))),*]
    };
}

/// The programs that the scripts and Brigade need.
const PROGRAMS: [&str; 3] = ["git", "sh", "grep"];

const PRD: &str = "brigade/tasks/prd-greeting.json";

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &DemoArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let workspace = make(session, arguments)?;
    let cancel = session.cancel();
    let mut stage = Stage::new(&workspace, session.surroundings, output);
    if let Ok(cancel) = cancel {
        stage.until(cancel);
    }
    play(&mut stage);
    if stage.is_interrupted() {
        let is_temporary = arguments.folder.is_none();
        let removed = if is_temporary { workspace.remove_directory() } else { Ok(()) };
        let note = match (is_temporary, removed) {
            (true, Ok(())) => "interrupted; the directory of the demo was removed".to_owned(),
            (true, Err(error)) => format!("interrupted; the directory of the demo stays: {error}"),
            (false, _) => "interrupted; the directory of the demo stays".to_owned(),
        };
        return Ok(stage.leave(&note));
    }
    let folder = quote(&workspace.root().display().to_string());
    Ok(stage.end(&[
        (format!("cd {folder}"), "the repository stays until you remove it"),
        ("git log --stat feature/greeting".to_owned(), "show the commits, one for each task"),
        ("brigade kitchen decisions --all".to_owned(), "show what was asked, and the answer"),
        ("brigade kitchen init".to_owned(), "create a configuration in your own repository"),
    ]))
}

fn make(session: &Session<'_>, arguments: &DemoArgs) -> Result<Workspace, Error> {
    let folder = match &arguments.folder {
        Some(folder) => session.absolute(folder)?,
        None => session.temporary_folder("brigade-kitchen-demo"),
    };
    let context = Env::of_process().clock(session.surroundings.clock.clone());
    if let Some(missing) = PROGRAMS.iter().find(|program| !context.finds_program(program)) {
        let message = format!("the demo needs `{missing}`, which was not found on PATH");
        return Err(
            Error::new(ErrorKind::Environment, message).hint("install it, or add its directory to PATH")
        );
    }
    let files = files! {
        "README.md" = "README.md"
        ".brigade/kitchen.toml" = "kitchen.toml"
        ".brigade/tools/policy.toml" = "policy.toml"
        ".gitignore" = "ignore"
        "workers/line.sh" = "line.sh"
        "workers/sous.sh" = "sous.sh"
        "workers/executive.sh" = "executive.sh"
        "brigade/tasks/prd-greeting.json" = "prd-greeting.json"
    };
    let workspace = Workspace::with_files(&folder, &files, context)?;
    workspace.kitchen().new_repository("Begin the greeting")?;
    Ok(workspace)
}

fn play(stage: &mut Stage<'_, '_, '_>) {
    stage.say("A PRD has tasks. Validating it starts nothing; it shows which tier begins with each task.");
    let validated = stage.command(&["validate", PRD], Expect::Done);
    let Some(fingerprint) = validated.word(is_fingerprint) else { return };

    stage.say("Nothing starts before it is approved.");
    stage.command(&["service", PRD], Expect::Refused);

    stage.say("Approving shows every command that can be started, and binds all of them.");
    stage.command(&["kitchen", "approve", PRD, "--fingerprint", &fingerprint], Expect::Done);

    stage.say(
        "The first greeting of the line cook fails its verification, and the translation is too hard for the line.",
    );
    let served = stage.command(&["service", PRD], Expect::Paused);
    if !served.ended(Expect::Paused) {
        return;
    }
    let waiting = stage.command(&["kitchen", "decisions"], Expect::Done);
    let Some(decision) = waiting.id("d-") else { return };
    stage.say("The sous chef asks for a name, so the service paused. Answer it, and go on.");
    stage.command(&["kitchen", "answer", &decision, "Ada"], Expect::Done);
    stage.command(&["service", PRD], Expect::Done);

    stage.say("Every task is done: verified, and one commit on the branch. Your checkout was not touched.");
    stage.command(&["status", PRD], Expect::Done);

    stage.say("Every start left a receipt, and the receipts are chained.");
    stage.command(&["kitchen", "receipts", "verify"], Expect::Done);

    stage.say("The report says what was tried, who took over, what was asked, and what it cost.");
    stage.command(&["summary", PRD], Expect::Done);
}

fn is_fingerprint(word: &str) -> bool {
    word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
