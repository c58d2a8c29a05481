//! Tools of other agent programs: found, and remembered.

use std::sync::Arc;

use brigade_ops::Error;

use crate::report::{DiscoveryReport, RegistrySyncReport};
use crate::workspace_inner::WorkspaceInner;

pub use brigade_catalog::ServerTransport;
pub use brigade_harness::{
    ChangedEntry, DiscoveredEntry, DiscoveryIssue, EntryFamily, EntryOrigin, EntrySource, FileState,
    FileStatus, HarnessFiles,
};
pub use brigade_ops::DiscoverRequest;
pub use brigade_ops::harness_labels;

/// Operations on the tools of other agent programs. None of them starts a program or opens a connection.
#[derive(Clone)]
pub struct Registry {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Registry {
    /// Reads the files of agent programs. Writes nothing.
    ///
    /// Without harnesses in the request, those of `[registry] harnesses` in the catalog are meant, or all.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) for an unknown harness. A file that cannot be read is an
    /// issue of the report.
    pub fn discover(&self, request: &DiscoverRequest) -> Result<DiscoveryReport, Error> {
        Ok(brigade_ops::discover(&self.inner, request)?)
    }

    /// Compares what the files of agent programs say with the cache, and writes the cache if something changed.
    ///
    /// A damaged cache is replaced.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Refused`](crate::ErrorKind::Refused) if a newer version wrote the cache, and file errors.
    pub fn sync(&self, dry_run: bool) -> Result<RegistrySyncReport, Error> {
        Ok(brigade_ops::sync(&self.inner, dry_run)?)
    }
}
