//! Sets up a workspace: `tools init` and `policy init`.

use brigade_catalog::starter::{self, StarterTools};
use brigade_core::NextStep;
use brigade_fs::Fs as _;
pub use brigade_upkeep::{Existing, Ignore};

use crate::catalog::Tools;
use crate::error::Error;
use crate::policies::Policies;
use crate::report::{InitReport, Report as _, WorkspaceAbove};
use crate::room::{CATALOG, POLICY, Room, rel};
use crate::workspace::{MARKER, marked};

impl Tools {
    /// Writes a new catalog, its sources and the ignore lines. Existing sources are kept.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if a catalog exists and may not be replaced, or a harness
    /// is not known. Replaces nothing inside a run.
    pub fn init(
        &self,
        tools: &StarterTools,
        existing: Existing,
        ignore: Ignore,
    ) -> Result<InitReport, Error> {
        self.room.replaces(existing)?;
        let above = workspace_above(&self.room)?;
        let host = self.room.host();
        let starter = tools.starter(&|program| host.has_program(program))?;
        let (sources, gitignore) = self.room.setup().write_starter(&starter, existing, ignore)?;
        Ok(InitReport {
            tool_count: starter.tool_count,
            sources,
            gitignore,
            ..init_report(&self.room, CATALOG, above, NextStep::ListTools)
        })
    }
}

impl Policies {
    /// Writes a starter policy.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if a policy exists and may not be replaced. Fails inside a
    /// run.
    pub fn init(&self, existing: Existing) -> Result<InitReport, Error> {
        self.room.decides()?;
        write_starter(&self.room, (POLICY, starter::POLICY_TOML), existing, NextStep::CheckPolicy)
    }
}

/// Writes a starter configuration file.
pub(crate) fn write_starter(
    room: &Room,
    (file, text): (&str, &str),
    existing: Existing,
    next: NextStep,
) -> Result<InitReport, Error> {
    let above = workspace_above(room)?;
    room.setup().refuse_existing(file, existing)?;
    room.setup().write_config(file, text)?;
    Ok(init_report(room, file, above, next))
}

/// Looks for a workspace around a new one. Commands in the new one do not see it any more.
fn workspace_above(room: &Room) -> Result<Option<WorkspaceAbove>, Error> {
    let root = room.fs.root();
    if room.env.files.is_some() || room.fs.exists(&rel(MARKER))? {
        return Ok(None);
    }
    Ok(root.ancestors().skip(1).find_map(marked).map(|above| {
        let target = above.root().display().to_string();
        WorkspaceAbove {
            message: format!(
                "this directory lies in the workspace `{target}`: commands here use the new workspace from now on, \
                 without the tools, policy and calls of that one"
            ),
            help: format!("to use that one here, remove `{}`", room.absolute(MARKER)).into(),
            target,
        }
    }))
}

fn init_report(room: &Room, file: &str, above: Option<WorkspaceAbove>, next: NextStep) -> InitReport {
    InitReport {
        schema: InitReport::SCHEMA,
        target: room.target(),
        config_path: room.absolute(file),
        tool_count: 0,
        sources: Vec::new(),
        gitignore: "skipped".to_owned(),
        workspace_above: above,
        next_command: room.spelled(next),
    }
}
