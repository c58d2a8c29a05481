//! Adds the built-in tools to a catalog.

use brigade_core::NextStep;
use brigade_upkeep::Defaults;
pub use brigade_upkeep::DefaultsRequest;

use crate::catalog::Tools;
use crate::error::Error;
use crate::report::{DefaultsReport, Report as _};
use crate::room::CATALOG;
use crate::setup::Existing;

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
        let done = room.setup().add_defaults(request, |path| room.absolute(path))?;
        let Defaults { errors, added, updated, skipped, conflicts, sources, .. } = done;
        let count = |action| sources.iter().filter(|source| source.action == action).count();
        Ok(DefaultsReport {
            schema: DefaultsReport::SCHEMA,
            target: room.target(),
            config_path: room.absolute(CATALOG),
            valid: done.valid,
            errors,
            dry_run: request.dry_run,
            force: request.existing == Existing::Overwrite,
            created: done.created,
            added,
            updated,
            skipped,
            conflicts,
            source_created_count: count("create"),
            source_skipped_count: count("skip"),
            sources,
            tool_count: done.tool_count,
            default_count: done.default_count,
            projection_scope: done.scope,
            gitignore: done.gitignore.unwrap_or_else(|| "skipped".to_owned()),
            next_command: room.spelled(NextStep::ApplyAll),
        })
    }
}

#[cfg(test)]
mod tests;
