//! Adds the built-in tools to a catalog.

use brigade_core::NextStep;
pub use brigade_upkeep::DefaultsRequest;

use crate::catalog::Tools;
use crate::error::Error;
use crate::report::{DefaultsReport, Report as _};
use crate::room::CATALOG;

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
        Ok(DefaultsReport {
            schema: DefaultsReport::SCHEMA,
            target: room.target(),
            config_path: room.absolute(CATALOG),
            defaults: room.setup().add_defaults(request, |path| room.absolute(path))?,
            next_command: room.spelled(NextStep::ApplyAll),
        })
    }
}

#[cfg(test)]
mod tests;
