//! `brigade kitchen resume`

use std::path::PathBuf;

use brigade::kitchen::FailureChoice;
use brigade::{Error, Exit};
use clap::{Args, ValueEnum};

use super::service::{BeginFlags, RunFlags};
use crate::output::Output;
use crate::session::Session;

/// Continue a PRD after an interruption or a failure
///
/// Interrupted tasks continue automatically. A failed task waits for an answer: retry or skip answers the one that has
/// waited longest, and with --all every one. A task whose failure aborted the service waits for an answer, too.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// File of the PRD, by default the PRD in progress; then retry or skip
    #[arg(value_name = "PRD|retry|skip", num_args = 0..=2)]
    words: Vec<PathBuf>,

    /// Answer for every failed task
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    begin: BeginFlags,

    #[command(flatten)]
    run: RunFlags,
}

/// The answer for a failed task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    Retry,
    Skip,
}

impl ResumeArgs {
    /// Separates the PRD from the answer. To name a file `retry` or `skip`, include its directory.
    fn parts(&self) -> Result<(Option<&PathBuf>, Option<FailureChoice>), Error> {
        let choice = |word: &PathBuf| match Choice::from_str(word.to_str()?, false).ok()? {
            Choice::Retry => Some(FailureChoice::Retry),
            Choice::Skip => Some(FailureChoice::Skip),
        };
        match self.words.as_slice() {
            [] => Ok((None, None)),
            [word] => Ok(choice(word).map_or((Some(word), None), |found| (None, Some(found)))),
            [prd, word, ..] => match choice(word) {
                Some(found) => Ok((Some(prd), Some(found))),
                None => {
                    let message = format!("expected retry or skip after the PRD, not `{}`", word.display());
                    Err(Error::new(brigade::ErrorKind::Usage, message))
                }
            },
        }
    }
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ResumeArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let (prd, choice) = arguments.parts()?;
    if arguments.all && choice.is_none() {
        return Err(Error::new(brigade::ErrorKind::Usage, "--all needs retry or skip"));
    }
    let prd = prd.map(PathBuf::as_path);
    let options = arguments.run.options(session);
    if arguments.begin.dry_run {
        if choice.is_some() {
            let message = "--dry-run answers nothing; leave retry and skip out";
            return Err(Error::new(brigade::ErrorKind::Usage, message));
        }
        return Ok(output.finish(session.workspace()?.kitchen().rehearse(prd.as_slice(), &options)?));
    }
    let kitchen = session.workspace_to_run()?.kitchen();
    arguments.begin.approve(&kitchen, prd.as_slice())?;
    if let Some(choice) = choice {
        kitchen.answer_failures(prd, choice, arguments.all)?;
    }
    let served = kitchen.serve(prd.as_slice(), &options, &output.live(session.surroundings))?;
    Ok(output.finish(served))
}
