//! The exclusive right to write projections.

use std::time::Duration;

use brigade_fs::{FsError, Lock, RelPath};
use brigade_workspace::{CATALOG, Config, Host};

use crate::projections::files::projected::{ProjectedFiles, remember};
use crate::projections::files::search::places_of;
use crate::projections::files::work::Work;

/// The lock for writing projections.
const LOCK: &str = ".brigade/tools/apply.lock";

/// The exclusive right to write projections, which one process has at a time.
pub struct ApplyLock<'a> {
    host: Host<'a>,
    /// Whether all files written before are known.
    all_known: bool,
    _lock: Option<Lock>,
}

impl<'a> ApplyLock<'a> {
    /// Takes the lock, waiting for other processes. Without a catalog it locks nothing.
    ///
    /// # Errors
    /// Fails if another process keeps the lock for longer than `timeout`, or on a file error.
    pub fn acquire(host: Host<'a>, timeout: Duration) -> Result<ApplyLock<'a>, FsError> {
        // Read before the lock file is created: `was_applied` looks for that file.
        let all_known = ProjectedFiles::read(host.fs, was_applied(host)).is_complete;
        if !host.fs.exists(&RelPath::from_static(CATALOG))? {
            return Ok(ApplyLock { host, all_known, _lock: None });
        }
        let path = RelPath::from_static(LOCK);
        host.fs.create_dir_all(&path.parent())?;
        let holder = format!("process {} (apply), since {}", std::process::id(), host.clock.now());
        Ok(ApplyLock { host, all_known, _lock: Some(host.fs.lock(&path, &holder, timeout)?) })
    }

    /// Writes the planned files and updates their lists, and records files outside of the searched directories.
    ///
    /// # Errors
    /// Fails on a file error before anything was replaced, or if the list of written files cannot be stored.
    pub fn write(&self, work: &mut Work, config: &Config) -> Result<(), FsError> {
        let fs = self.host.fs;
        work.write(fs)?;
        if !fs.exists(&RelPath::from_static(CATALOG))? {
            return Ok(());
        }
        let list = ProjectedFiles::read(fs, !self.all_known);
        let root = self.host.root();
        let known = config.catalog.tools().iter().flat_map(|tool| places_of(tool, &root));
        remember(fs, list, work.writes.iter().map(|(_, path)| path.clone()), known)
    }
}

/// Returns whether this program ever wrote projections here.
pub(crate) fn was_applied(host: Host<'_>) -> bool {
    host.fs.exists(&RelPath::from_static(LOCK)).unwrap_or(true)
}
