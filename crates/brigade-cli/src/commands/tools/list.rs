//! `brigade tools list`

use brigade::Exit;
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// List the tools
///
/// Text output reads only the catalog. JSON output includes the health of the workspace. With `--as`, the list is what
/// that agent is shown, and may call.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// List what this agent is shown
    #[arg(long = "as", value_name = "AGENT")]
    agent: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ListArgs, output: &mut Output<'_, '_>) -> Exit {
    let workspace = session.workspace();
    if let Some(agent) = &arguments.agent {
        output.finish(workspace.and_then(|workspace| workspace.agents().shown(agent)))
    } else if output.is_json() {
        output.finish(workspace.and_then(|workspace| workspace.catalog().list()))
    } else {
        output.finish(workspace.and_then(|workspace| workspace.catalog().lines()))
    }
}
