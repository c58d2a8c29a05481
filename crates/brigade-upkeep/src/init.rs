//! Sets up a workspace: `tools init` and `policy init`.

use std::path::Path;

use brigade_catalog::starter::StarterTools;
use brigade_core::{NextStep, Report as _};
use brigade_facts::CATALOG;
use brigade_fs::{DiskFs, Fs as _, RelPath};
use brigade_policy::Failure;

use crate::report::{InitReport, WorkspaceAbove};
use crate::seams::Seams;
use crate::setup::{Existing, Ignore};

/// The directory that marks a workspace.
pub const MARKER: &str = ".brigade";

/// Opens a directory if it holds a workspace.
pub fn marked(folder: &Path) -> Option<DiskFs> {
    DiskFs::open(folder).ok().filter(|fs| fs.exists(&RelPath::of(MARKER)).unwrap_or(false))
}

/// Writes a new catalog, its sources and the ignore lines. Existing sources are kept.
///
/// # Errors
/// Fails if a catalog exists and may not be replaced, or a harness is not known.
pub fn init_tools(
    seams: &Seams,
    tools: &StarterTools,
    existing: Existing,
    ignore: Ignore,
) -> Result<InitReport, Failure> {
    let above = workspace_above(seams)?;
    let host = seams.host();
    let starter = tools.starter(&|program| host.has_program(program))?;
    let (sources, gitignore) = seams.setup().write_starter(&starter, existing, ignore)?;
    Ok(InitReport {
        tool_count: starter.tool_count,
        sources,
        gitignore,
        ..init_report(seams, CATALOG, above, NextStep::ListTools)
    })
}

/// Writes a starter configuration file.
///
/// # Errors
/// Fails if the file exists and may not be replaced, or on a disk error.
pub fn write_starter(
    seams: &Seams,
    (file, text): (&str, &str),
    existing: Existing,
    next: NextStep,
) -> Result<InitReport, Failure> {
    let above = workspace_above(seams)?;
    seams.setup().refuse_existing(file, existing)?;
    seams.setup().write_config(file, text)?;
    Ok(init_report(seams, file, above, next))
}

/// Looks for a workspace around a new one. Commands in the new one do not see it any more.
fn workspace_above(seams: &Seams) -> Result<Option<WorkspaceAbove>, Failure> {
    let root = seams.fs.root();
    if seams.files.is_some() || seams.fs.exists(&RelPath::of(MARKER))? {
        return Ok(None);
    }
    Ok(root.ancestors().skip(1).find_map(marked).map(|above| {
        let target = above.root().display().to_string();
        WorkspaceAbove {
            message: format!(
                "this directory lies in the workspace `{target}`: commands here use the new workspace from now on, \
                 without the tools, policy and calls of that one"
            ),
            help: format!("to use that one here, remove `{}`", seams.absolute(MARKER)).into(),
            target,
        }
    }))
}

fn init_report(seams: &Seams, file: &str, above: Option<WorkspaceAbove>, next: NextStep) -> InitReport {
    InitReport {
        schema: InitReport::SCHEMA,
        target: seams.target(),
        config_path: seams.absolute(file),
        tool_count: 0,
        sources: Vec::new(),
        gitignore: "skipped".to_owned(),
        workspace_above: above,
        next_command: seams.spelled(next),
    }
}
