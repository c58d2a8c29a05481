//! `brigade work turn`

use std::io::Read as _;

use brigade::core::AgentName;
use brigade::{Error, ErrorKind, Exit};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Begin a turn of an agent; its harness passes the text of the turn on standard input
///
/// The text decides whether the agent has to search its memory before it changes something (`guard.memory`). It is not
/// stored. Without turns, the guard does nothing.
#[derive(Args, Debug)]
pub(crate) struct TurnArgs {
    /// Name of the agent, as in gateway.toml
    #[arg(long = "as", value_name = "AGENT")]
    agent: AgentName,
}

/// The longest text that is read, in bytes. The beginning of a text decides.
const MAX_INPUT_BYTES: u64 = 1 << 20;

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &TurnArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let mut text = Vec::new();
    output.input().take(MAX_INPUT_BYTES).read_to_end(&mut text).map_err(|error| {
        Error::new(ErrorKind::Environment, format!("the text cannot be read: {}", error.kind()))
    })?;
    let text = String::from_utf8_lossy(&text);
    Ok(output.finish(session.workspace()?.work().begin_turn(&arguments.agent, &text)?))
}
