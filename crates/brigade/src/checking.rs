//! Looking whether tools are there.

use brigade_catalog::{Tool, ToolState};

use crate::catalog::{Tools, enabled};
use crate::error::Error;
use crate::finding::presences;
use crate::gather;
use crate::load;
use crate::refusal::Refusal;
use crate::report::{CheckCounts, CheckReport, CheckedTool, Report as _};
use crate::room::CATALOG;

/// Which tools to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhatToCheck {
    /// The tools with these ids, aliases or qualified ids. They may be disabled.
    Named(Vec<String>),
    /// All enabled tools.
    All,
}

impl Tools {
    /// Looks whether tools are there. Starts nothing, so what only a start tells is unknown.
    ///
    /// # Errors
    /// Returns [`Refusal::Tool`] if no tool has one of the ids, and file errors.
    pub fn check(&self, what: &WhatToCheck) -> Result<CheckReport, Error> {
        let room = &*self.room;
        let config = gather::config(room)?;
        let tools: Vec<&Tool> = match what {
            WhatToCheck::All => enabled(&config.catalog),
            WhatToCheck::Named(ids) => {
                load::any_tools(&config.catalog, ids).map_err(|error| error.refusing(room, Refusal::Tool))?
            }
        };
        let presences = presences(room, &config, &tools)?;
        let count = |state: ToolState| presences.iter().filter(|presence| presence.state == state).count();
        Ok(CheckReport {
            schema: CheckReport::SCHEMA,
            target: room.target(),
            config_path: room.absolute(CATALOG),
            counts: CheckCounts {
                available: count(ToolState::Available),
                missing: count(ToolState::Missing),
                outdated: count(ToolState::Outdated),
                unknown: count(ToolState::Unknown),
            },
            tools: tools
                .iter()
                .zip(&presences)
                .map(|(tool, presence)| CheckedTool::of(tool, presence))
                .collect(),
            ran_checks: false,
        })
    }
}
