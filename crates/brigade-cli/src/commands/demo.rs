//! `brigade demo`

mod catalog;
mod sample;
pub(crate) mod stage;
mod story;

use std::path::PathBuf;

use brigade::{Env, Error, ErrorKind, Exit};
use clap::{Args, ValueEnum};

use crate::output::Output;
use crate::session::Session;

/// Returns the files of the sample workspace.
#[cfg(test)]
pub(crate) fn sample_files() -> Vec<brigade::NewFile> {
    sample::files()
}

/// See the whole story on made-up servers: setup, an allowed read, a write that waits, a script that changed
///
/// Every command is shown with its real output. With `catalog`, walks through plans, policies, approvals and receipts
/// on scripts instead. Needs Python 3. The directory is kept, so that you can continue with it.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Which story to tell
    #[arg(value_enum, default_value_t = Story::Setup, hide_default_value = true)]
    story: Story,

    /// Create the workspace in this directory, which must be empty or not exist [default: a temporary directory]
    #[arg(long = "in", value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Story {
    /// From servers on a machine to governed calls (the default)
    Setup,
    /// A catalog of scripts, from plan to receipt
    Catalog,
}

/// The interpreter of the sample scripts.
const INTERPRETER: &str = "python3";

pub(crate) fn run(
    arguments: &DemoArgs,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    match arguments.story {
        Story::Setup => story::run(arguments, session, output),
        Story::Catalog => catalog::run(arguments, session, output),
    }
}

/// Returns the directory of the demo, and the environment to create it in.
fn place(arguments: &DemoArgs, session: &Session<'_>) -> Result<(PathBuf, Env), Error> {
    let folder = match &arguments.folder {
        Some(folder) => session.absolute(folder)?,
        None => session.temporary_folder("brigade-demo"),
    };
    let context = Env::of_process().clock(session.surroundings.clock.clone());
    if !context.finds_program(INTERPRETER) {
        let message = "the demo needs Python 3, but `python3` was not found on PATH";
        return Err(
            Error::new(ErrorKind::Environment, message).hint("install it, or add its directory to PATH")
        );
    }
    Ok((folder, context))
}
