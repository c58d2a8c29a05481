//! Sets up a workspace: `tools init` and `policy init`.

use brigade_catalog::starter::{self, StarterTools};
use brigade_core::NextStep;
pub use brigade_upkeep::{Existing, Ignore};

use crate::catalog::Tools;
use crate::error::Error;
use crate::gather;
use crate::policies::Policies;
use crate::report::{InitReport, Report as _};
use crate::room::{CATALOG, POLICY, Room};

impl Tools {
    /// Writes a new catalog, its sources and the ignore lines. Existing sources are kept.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if a catalog exists and may not be replaced, or a harness
    /// is not known.
    pub fn init(
        &self,
        tools: &StarterTools,
        existing: Existing,
        ignore: Ignore,
    ) -> Result<InitReport, Error> {
        let host = gather::host(&self.room);
        let starter = tools.starter(&|program| host.has_program(program))?;
        let (sources, gitignore) = self.room.setup().write_starter(&starter, existing, ignore)?;
        Ok(InitReport {
            tool_count: starter.tool_count,
            sources,
            gitignore,
            ..init_report(&self.room, CATALOG, NextStep::ListTools)
        })
    }
}

impl Policies {
    /// Writes a starter policy.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if a policy exists and may not be replaced.
    pub fn init(&self, existing: Existing) -> Result<InitReport, Error> {
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
    room.setup().refuse_existing(file, existing)?;
    room.setup().write_config(file, text)?;
    Ok(init_report(room, file, next))
}

fn init_report(room: &Room, file: &str, next: NextStep) -> InitReport {
    InitReport {
        schema: InitReport::SCHEMA,
        target: room.target(),
        config_path: room.absolute(file),
        tool_count: 0,
        sources: Vec::new(),
        gitignore: "skipped".to_owned(),
        next_command: room.spelled(next),
    }
}
