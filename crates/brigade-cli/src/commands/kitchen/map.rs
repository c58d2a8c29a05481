//! `brigade kitchen map`

use std::path::PathBuf;

use brigade::Error;
use brigade::kitchen::{KitchenMapReport, MapRequest};
use clap::Args;

use crate::session::Session;

/// Write the map of the code base, which the prompts of workers quote
///
/// Languages, layout, entry points, manifests, test commands and conventions, derived from file names without a model.
/// An update keeps everything below a heading "Notes", and the part of the executive.
#[derive(Args, Debug)]
pub(crate) struct MapArgs {
    /// File of the map [default: brigade/codebase-map.md]
    file: Option<PathBuf>,

    /// Let the executive add a part; needs `kitchen approve --workers`
    #[arg(long)]
    worker: bool,

    /// Replace a file that is not a map of Brigade
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &MapArgs) -> Result<KitchenMapReport, Error> {
    let MapArgs { file, worker, force } = arguments;
    let request = MapRequest { worker: *worker, may_replace: *force, ..MapRequest::default() };
    session.workspace_to_run()?.kitchen().map(file.as_deref(), request)
}
