//! `brigade team runner`

use brigade::core::json::compact_text;
use brigade::report::RunnerEvent;
use brigade::team::{RunnerRequest, RunnerStop};
use brigade::{Error, Exit};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Run approved calls of the team on this host
///
/// Offers what this host would run for each call that waits, claims approved calls oldest first, verifies and runs
/// them, and reports how they ended. A call that is not approved for this host is passed over. SIGTERM lets the runs
/// end; a second one ends them.
#[derive(Args, Debug)]
pub(crate) struct RunnerArgs {
    /// How many calls run at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: u16,
    /// Only run calls of this tool; may be repeated
    #[arg(long = "tool", value_name = "ID")]
    tools: Vec<String>,
    /// Offer for what waits, run at most one call, and stop
    #[arg(long, conflicts_with = "exit_when_idle")]
    once: bool,
    /// Stop when no approved call is left to run here
    #[arg(long)]
    exit_when_idle: bool,
    /// Seconds for which a claim is valid without a renewal
    #[arg(long, value_name = "2..3600", default_value_t = 60, value_parser = clap::value_parser!(u16).range(2..=3600))]
    lease: u16,
    /// Print what happens, one JSON object a line
    #[arg(long)]
    events: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &RunnerArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let request = RunnerRequest {
        parallel: usize::from(arguments.parallel),
        tools: arguments.tools.clone(),
        stop: match (arguments.once, arguments.exit_when_idle) {
            (true, _) => RunnerStop::Once,
            (false, true) => RunnerStop::Idle,
            (false, false) => RunnerStop::Asked,
        },
        lease_seconds: arguments.lease,
    };
    let (workspace, signals) = (session.workspace()?, session.cancel()?);
    let report = workspace.run_team_calls(&request, &signals, &mut |event| match arguments.events {
        true => {
            let line = compact_text(event).expect("an event is JSON");
            output.write(Exit::Done, |out| writeln!(out, "{line}"));
        }
        false => output.note(&line_of(event)),
    })?;
    Ok(if arguments.events { Exit::Done } else { output.finish(report) })
}

/// Writes an event for a person.
fn line_of(event: &RunnerEvent) -> String {
    let RunnerEvent { event, call_id, run_id, reason, status, .. } = event;
    let parts = [call_id, run_id, status, reason].into_iter().flatten();
    std::iter::once(event.as_str()).chain(parts.map(String::as_str)).collect::<Vec<_>>().join(" ")
}
