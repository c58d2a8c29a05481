//! `brigade tools list`

use brigade::Exit;
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// List the tools
///
/// As text, only the catalog is read. As JSON, the whole health of the workspace comes with it.
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
