//! `brigade tools update`

use brigade::tools::UpdateRequest;
use brigade::{Error, Exit, Report as _};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// List the tools of MCP servers again, and accept what changed
///
/// Starts the servers under the policy and its sandbox, and shows new, removed and changed tools. On yes, pins and
/// entries are renewed together: effects and rights stay, new tools arrive disabled, removed ones are disabled.
#[derive(Args, Debug)]
pub(crate) struct UpdateArgs {
    /// Id of the runtime, or name of the server; by default all
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Show what differs, without writing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &UpdateArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let request = UpdateRequest { server: arguments.server.clone(), dry_run: arguments.dry_run };
    let report = session.workspace_to_run()?.catalog().update(&request, &mut |report| {
        output.confirm_or(session.surroundings, arguments.yes, report, "Accept these changes?")
    })?;
    let is_shown = !arguments.yes && output.may_ask(session.surroundings);
    if !is_shown || report.dry_run || report.changed_count == 0 {
        return Ok(output.finish(report));
    }
    output.note(match report.written {
        true => "pins and entries were renewed; new tools are disabled",
        false => "nothing was written",
    });
    Ok(report.exit())
}
