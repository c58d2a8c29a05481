//! `brigade tools init`

use brigade::Error;
use brigade::daily::{Ignore, OnExisting};
use brigade::report::InitReport;
use brigade::tools::StarterTools;
use clap::Args;

use crate::session::Session;

/// Create a catalog in the current directory
///
/// Writes .brigade/tools.toml without tools, with commented examples, and entries in .gitignore. `brigade setup` does
/// this and more. With --example, the only tool runs a script, and is ready to be called.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Write one tool that runs a script, with the script and its schema
    #[arg(long, conflicts_with_all = ["with_skills", "empty", "harness"])]
    example: bool,

    /// Write four skills for agent programs, with their sources in tools/
    #[arg(long)]
    with_skills: bool,

    /// Write a catalog without tools; this is the default
    #[arg(long, hide = true, conflicts_with_all = ["with_skills", "harness"])]
    empty: bool,

    /// Write these skills for these harnesses, or for the detected ones, instead of all
    #[arg(long, value_name = "NAME,…|detected", value_delimiter = ',')]
    harness: Vec<String>,

    /// Overwrite an existing catalog
    #[arg(long)]
    force: bool,

    /// Do not change .gitignore
    #[arg(long)]
    no_gitignore: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<InitReport, Error> {
    let existing = if arguments.force { OnExisting::Overwrite } else { OnExisting::Keep };
    let tools = match arguments.harness.as_slice() {
        _ if arguments.example => StarterTools::Example,
        [] if arguments.with_skills => StarterTools::BuiltIn,
        [] => StarterTools::Empty,
        [word] if word == "detected" => StarterTools::Detected,
        names => StarterTools::For(names.to_vec()),
    };
    let ignore = if arguments.no_gitignore { Ignore::Skip } else { Ignore::Write };
    session.workspace_to_make()?.catalog().init(&tools, existing, ignore)
}
