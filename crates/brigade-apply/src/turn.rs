//! The turn of whoever writes projections.

use std::time::Duration;

use brigade_facts::{CATALOG, Config, Host};
use brigade_fs::{FsError, Lock};

use crate::projected::{Projected, remember};
use crate::rel;
use crate::search::places_of;
use crate::work::Work;

/// The lock of everything that writes projections.
const LOCK: &str = ".brigade/tools/apply.lock";

/// The turn to write projections, which one process at a time has.
pub struct Turn<'a> {
    host: Host<'a>,
    /// Whether every file that was written before this turn is known.
    all_known: bool,
    _lock: Option<Lock>,
}

impl<'a> Turn<'a> {
    /// Takes the turn; waits until nobody else has it. Where there is no catalog nothing is locked.
    ///
    /// # Errors
    /// When another process has it for longer than `timeout`, or the disk fails.
    pub fn to_write(host: Host<'a>, timeout: Duration) -> Result<Turn<'a>, FsError> {
        // Asked before the lock is there: it shows that projections were written.
        let all_known = Projected::read(host.fs, was_applied(host)).is_complete;
        if !host.fs.exists(&rel(CATALOG))? {
            return Ok(Turn { host, all_known, _lock: None });
        }
        let path = rel(LOCK);
        host.fs.create_dir_all(&path.parent())?;
        let holder = format!("process {} (apply), since {}", std::process::id(), host.clock.now());
        Ok(Turn { host, all_known, _lock: Some(host.fs.lock(&path, &holder, timeout)?) })
    }

    /// Writes what is to be written, moves what could not be to where it belongs, and notes what no search would find.
    ///
    /// # Errors
    /// When the disk fails before anything was replaced, or the list of written files cannot be stored.
    pub fn write(&self, work: &mut Work, config: &Config) -> Result<(), FsError> {
        let fs = self.host.fs;
        work.write(fs)?;
        if !fs.exists(&rel(CATALOG))? {
            return Ok(());
        }
        let list = Projected::read(fs, !self.all_known);
        let root = self.host.root();
        let known = config.catalog.tools().iter().flat_map(|tool| places_of(tool, &root));
        remember(fs, list, work.writes.iter().map(|(_, path)| path.clone()), known)
    }
}

/// Returns whether projections were ever written here by this program.
pub(crate) fn was_applied(host: Host<'_>) -> bool {
    host.fs.exists(&rel(LOCK)).unwrap_or(true)
}
