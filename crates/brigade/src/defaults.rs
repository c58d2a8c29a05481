//! Adds the built-in tools to a catalog.

use brigade_ops::{Error, Refusal};

use crate::catalog::Tools;
use crate::report::DefaultsReport;

pub use brigade_ops::DefaultsRequest;

impl Tools {
    /// Adds the built-in tools and their sources. Other text in the catalog stays, including comments. Entries of older
    /// versions gain missing harnesses and projections.
    ///
    /// Faults of other entries do not matter.
    ///
    /// # Errors
    /// Returns [`Refusal::Defaults`] if the built-in tools could not be read afterwards, or if another entry has the id
    /// of one. Its report lists what would have been added; nothing is written. Also returns file errors, and fails
    /// inside a run.
    pub fn defaults(&self, request: DefaultsRequest) -> Result<DefaultsReport, Error> {
        if !request.dry_run {
            self.inner.require_outside_run()?;
        }
        let added = brigade_ops::add_default_tools(&self.inner, request);
        added.map_err(|error| Error::not_done(&self.inner, error, Refusal::Defaults))
    }
}

#[cfg(test)]
mod tests;
