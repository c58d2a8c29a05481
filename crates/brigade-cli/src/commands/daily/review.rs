//! `brigade review`

use brigade::{Error, ErrorCode, ErrorKind, Exit};
use clap::Args;

use super::prompts;
use crate::output::Output;
use crate::session::Session;
use crate::surroundings::Terminal;

/// Review what waits on a full screen: look, approve, reject, hold, answer and run
///
/// Calls, checkpoints, decisions of the kitchen and questions of agents, riskiest first. `?` shows the keys. A decision
/// counts only for exactly what the screen showed. On a terminal without escape sequences (TERM=dumb), asks about each
/// thing in turn.
#[derive(Args, Debug)]
pub(crate) struct ReviewArgs {}

pub(crate) fn run(session: &Session<'_>, _: &ReviewArgs, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    let surroundings = session.surroundings;
    match surroundings.output.filter(|_| surroundings.typed && !output.is_json()) {
        None => Err(no_terminal()),
        Some(terminal) if !surroundings.dumb => full_screen(session, terminal, output),
        Some(_) => in_turn(session, output),
    }
}

#[cfg(feature = "tui")]
fn full_screen(
    session: &Session<'_>,
    terminal: Terminal,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(crate::review::run(session, terminal, output))
}

/// A build without the screen asks about each thing in turn.
#[cfg(not(feature = "tui"))]
fn full_screen(session: &Session<'_>, _: Terminal, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    in_turn(session, output)
}

fn in_turn(session: &Session<'_>, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    let workspace = session.workspace()?;
    workspace.require_outside_run()?;
    prompts::run(&workspace, prompts::PromptStyle::Review, output)
}

fn no_terminal() -> Error {
    Error::new(ErrorKind::Usage, "the review screen needs a terminal")
        .coded(ErrorCode::NoTerminal)
        .hint("brigade pending")
        .hint("brigade show ID")
        .hint("brigade approve ID")
        .hint("brigade reject ID --reason TEXT")
}
