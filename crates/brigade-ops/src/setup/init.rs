//! Sets up a workspace: `tools init` and `policy init`.

use std::path::Path;

use brigade_catalog::starter::StarterTools;
use brigade_core::{NextStep, Report as _};
use brigade_fs::{DiskFs, Fs as _, RelPath};
use brigade_policy::Failure;
use brigade_workspace::{CATALOG, WorkspaceContext};

use crate::report::{InitReport, WorkspaceAbove};
use crate::setup::Setup;
use crate::setup::{Ignore, OnExisting};
use crate::trust::note_shown;

/// The directory that marks a workspace.
pub const MARKER: &str = ".brigade";

/// Opens a directory if it holds a workspace.
pub fn marked_workspace(folder: &Path) -> Option<DiskFs> {
    DiskFs::open(folder).ok().filter(|fs| fs.exists(&RelPath::from_static(MARKER)).unwrap_or(false))
}

/// Writes a new catalog, its sources and the ignore lines. Existing sources are kept.
///
/// # Errors
/// Fails if a catalog exists and may not be replaced, or a harness is not known.
pub fn init_tools(
    context: &WorkspaceContext,
    tools: &StarterTools,
    existing: OnExisting,
    ignore: Ignore,
) -> Result<InitReport, Failure> {
    let above = workspace_above(context)?;
    let host = context.host();
    let starter = tools.starter(&|program| host.has_program(program))?;
    let (sources, gitignore) = Setup::new(context).write_starter(&starter, existing, ignore)?;
    if *tools == StarterTools::Example {
        note_shown(context, "tools init", |_| true);
    }
    Ok(InitReport {
        tool_count: starter.tool_count,
        sources,
        gitignore,
        ..init_report(context, CATALOG, above, NextStep::ListTools)
    })
}

/// Writes a starter configuration file.
///
/// # Errors
/// Fails if the file exists and may not be replaced, or on a disk error.
pub fn write_starter(
    context: &WorkspaceContext,
    (file, text): (&str, &str),
    existing: OnExisting,
    next: NextStep,
) -> Result<InitReport, Failure> {
    let above = workspace_above(context)?;
    Setup::new(context).refuse_existing(file, existing)?;
    Setup::new(context).write_config(file, text)?;
    Ok(init_report(context, file, above, next))
}

/// Looks for a workspace around a new one. Commands in the new one no longer find it.
fn workspace_above(context: &WorkspaceContext) -> Result<Option<WorkspaceAbove>, Failure> {
    let root = context.fs.root();
    if context.files.is_some() || context.fs.exists(&RelPath::from_static(MARKER))? {
        return Ok(None);
    }
    Ok(root.ancestors().skip(1).find_map(marked_workspace).map(|above| {
        let target = above.root().display().to_string();
        WorkspaceAbove {
            message: format!(
                "this directory is in the workspace `{target}`: commands here use the new workspace from now on, \
                 without the tools, policy and calls of that one"
            ),
            help: format!("to use that one here, remove `{}`", context.absolute(MARKER)).into(),
            target,
        }
    }))
}

fn init_report(
    context: &WorkspaceContext,
    file: &str,
    above: Option<WorkspaceAbove>,
    next: NextStep,
) -> InitReport {
    InitReport {
        schema: InitReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(file),
        tool_count: 0,
        sources: Vec::new(),
        gitignore: "skipped".to_owned(),
        workspace_above: above,
        next_command: context.spelled(next),
    }
}
