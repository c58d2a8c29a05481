//! Removes orphans.

use std::collections::BTreeSet;

use brigade_core::Fingerprint;
use brigade_fs::{Fs, FsError, RelPath};
use brigade_projection::{Orphan, folders};

use crate::rel;
use crate::staging::sync_names;

/// The largest orphan that is removed.
const FILE_LIMIT: u64 = 64 << 20;

/// The result of removing an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// The file no longer exists.
    Gone,
    /// The file changed since it was found, and was left alone.
    Changed,
}

/// Removes orphans, and makes that durable in [`finish`](Removal::finish).
pub struct Removal<'a> {
    fs: &'a dyn Fs,
    changed: BTreeSet<RelPath>,
}

impl<'a> Removal<'a> {
    /// Creates a removal with nothing removed yet.
    pub fn new(fs: &'a dyn Fs) -> Removal<'a> {
        Removal { fs, changed: BTreeSet::new() }
    }

    /// Removes an unchanged orphan, and parent directories that become empty, below the directory of the harness.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn remove(&mut self, orphan: &Orphan) -> Result<Removed, FsError> {
        let Ok(path) = orphan.path.parse::<RelPath>() else { return Ok(Removed::Changed) };
        match self.fs.read(&path, FILE_LIMIT) {
            Ok(bytes) if Fingerprint::of_bytes(&bytes) == orphan.fingerprint => {}
            Ok(_) => return Ok(Removed::Changed),
            Err(error) if error.is_not_found() => return Ok(Removed::Gone),
            Err(error) => return Err(error),
        }
        self.fs.remove(&path)?;
        let homes: Vec<RelPath> = folders().into_iter().map(rel).collect();
        let is_below = |folder: &RelPath| homes.iter().any(|home| folder != home && folder.is_in(home));
        let mut folder = path.parent();
        while is_below(&folder) && self.fs.remove_dir(&folder).is_ok() {
            self.changed.remove(&folder);
            folder = folder.parent();
        }
        self.changed.insert(folder);
        Ok(Removed::Gone)
    }

    /// Makes the removals durable.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn finish(self) -> Result<(), FsError> {
        sync_names(self.fs, &self.changed)
    }
}
