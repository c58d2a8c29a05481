//! Adds the built-in tools to a catalog.

use brigade_core::{NextStep, codes};
use brigade_policy::Diagnosis;
pub use brigade_upkeep::DefaultsRequest;

use crate::catalog::Tools;
use crate::error::Error;
use crate::report::{DefaultsReport, Report as _};
use crate::room::CATALOG;
use brigade_upkeep::load;

impl Tools {
    /// Adds the built-in tools and their sources. Other text in the catalog stays, including comments. Entries of older
    /// versions gain missing harnesses and projections.
    ///
    /// Writes nothing if the catalog is invalid, or if another entry has the id of a built-in tool. The report then
    /// lists what would have been added.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn defaults(&self, request: DefaultsRequest) -> Result<DefaultsReport, Error> {
        let room = &*self.room;
        let defaults = room.setup().add_defaults(request, |path| room.absolute(path))?;
        let diagnosis = match defaults.conflicts.first() {
            Some(conflict) => Some(Diagnosis {
                code: codes::ENTRY_EXISTS.as_str().to_owned(),
                labels: Vec::new(),
                help: Some(room.words(&NextStep::ShowTool(conflict.tool_id.clone()))),
            }),
            None => load::diagnosis(room, &defaults.errors),
        };
        Ok(DefaultsReport {
            schema: DefaultsReport::SCHEMA,
            target: room.target(),
            config_path: room.absolute(CATALOG),
            defaults,
            next_command: room.spelled(NextStep::ApplyAll),
            diagnosis,
        })
    }
}

#[cfg(test)]
mod tests;
