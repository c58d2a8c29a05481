//! `brigade tools list`

use brigade::Exit;
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// List the tools
///
/// Text output reads only the catalog. JSON output includes the health of the workspace.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ListArgs, output: &mut Output<'_, '_>) -> Exit {
    let workspace = session.workspace();
    if output.is_json() {
        output.finish(workspace.and_then(|workspace| workspace.catalog().list()))
    } else {
        output.finish(workspace.and_then(|workspace| workspace.catalog().lines()))
    }
}
