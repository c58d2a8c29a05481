//! Adds the built-in tools to a catalog.

use brigade_calls::Error;

use crate::catalog::Tools;
use crate::report::DefaultsReport;

pub use brigade_upkeep::DefaultsRequest;

impl Tools {
    /// Adds the built-in tools and their sources. Other text in the catalog stays, including comments. Entries of older
    /// versions gain missing harnesses and projections.
    ///
    /// Writes nothing if the built-in tools could not be read afterwards, or if another entry has the id of one. The
    /// report then lists what would have been added. Faults of other entries do not matter.
    ///
    /// # Errors
    /// Returns file errors, and fails inside a run.
    pub fn defaults(&self, request: DefaultsRequest) -> Result<DefaultsReport, Error> {
        if !request.dry_run {
            self.room.decides()?;
        }
        Ok(brigade_upkeep::add_default_tools(&self.room, request)?)
    }
}

#[cfg(test)]
mod tests;
