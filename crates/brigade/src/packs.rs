//! Tool packs: the portable part of a catalog, in a directory that another workspace can import.

use std::path::Path;
use std::sync::Arc;

use brigade_core::IdPrefix;
use brigade_ops::{Error, OnExisting, Refusal, packs};

use crate::report::{PackArchiveReport, PackBuildReport, PackImportReport, PackListReport, PackShowReport};
use crate::workspace_inner::WorkspaceInner;

/// Builds, lists, archives and imports tool packs.
#[derive(Clone)]
pub struct Packs {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Packs {
    /// Builds a pack of the catalog, the sources of its entries, and its health. It contains no secrets, and paths in
    /// it are relative.
    ///
    /// # Errors
    /// When the disk fails, or the catalog is not text.
    pub fn build(&self) -> Result<PackBuildReport, Error> {
        Ok(packs::build(&self.inner)?)
    }

    /// Lists the newest packs.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn list(&self, limit: usize) -> Result<PackListReport, Error> {
        Ok(packs::list(&self.inner, limit)?)
    }

    /// Shows a pack, or the newest one with `latest`.
    ///
    /// # Errors
    /// When no pack or several packs have this prefix, or the disk fails.
    pub fn show(&self, id: &IdPrefix) -> Result<PackShowReport, Error> {
        Ok(packs::show(&self.inner, id)?)
    }

    /// Moves a pack to the archive.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) when the archive already has it; when no pack or several packs
    /// have this prefix, or the disk fails.
    pub fn archive(&self, id: &IdPrefix) -> Result<PackArchiveReport, Error> {
        Ok(packs::archive(&self.inner, id)?)
    }

    /// Adds the entries of a pack to the catalog, and their sources to the workspace. Nothing is run. If there are
    /// conflicts, nothing is written.
    ///
    /// # Errors
    /// [`Refusal::PackImport`] with all conflicts; [`ErrorKind::Usage`](crate::ErrorKind::Usage) when the directory is
    /// not a pack; when the catalog cannot be edited, or the disk fails. Also fails inside a run.
    pub fn import(&self, folder: &Path, existing: OnExisting) -> Result<PackImportReport, Error> {
        self.inner.require_outside_run()?;
        let imported = packs::import(&self.inner, folder, existing);
        imported.map_err(|error| Error::not_done(&self.inner, error, Refusal::PackImport))
    }
}
