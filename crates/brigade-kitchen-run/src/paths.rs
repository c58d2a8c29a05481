//! Paths of the files of a PRD's state.

use brigade_fs::RelPath;
use brigade_kitchen::PrdName;

/// The state directory of the kitchen, relative to the workspace.
pub const KITCHEN: &str = ".brigade/kitchen";

/// The directory of receipts and logs, relative to the workspace.
pub const RUNS: &str = ".brigade/kitchen/runs";

/// The files of a PRD's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrdFiles {
    folder: RelPath,
}

impl PrdFiles {
    /// Returns the files of a PRD.
    pub fn new(name: &PrdName) -> PrdFiles {
        PrdFiles { folder: RelPath::composed(&format!("{KITCHEN}/{name}")) }
    }

    /// Returns the files for the approval of the tiers. No PRD has this name.
    pub fn for_workers() -> PrdFiles {
        PrdFiles { folder: RelPath::composed(&format!("{KITCHEN}/+workers")) }
    }

    /// Returns the directory.
    pub fn folder(&self) -> &RelPath {
        &self.folder
    }

    fn inside(&self, name: &str) -> RelPath {
        self.folder.join(name).expect("a file name in a directory is a path")
    }

    /// Returns the journal.
    pub fn journal(&self) -> RelPath {
        self.inside("journal.jsonl")
    }

    /// Returns the cache of a long journal's state.
    pub fn journal_cache(&self) -> RelPath {
        self.inside("journal.cache")
    }

    /// Returns the cache of the brief status.
    pub fn glance_cache(&self) -> RelPath {
        self.inside("glance.cache")
    }

    /// Returns the cache of the full status.
    pub fn status_cache(&self) -> RelPath {
        self.inside("status.cache")
    }

    /// Returns the lock that writers of the journal take briefly.
    pub fn journal_lock(&self) -> RelPath {
        self.inside("journal.lock")
    }

    /// Returns the lock that a service holds.
    pub fn service_lock(&self) -> RelPath {
        self.inside("service.lock")
    }

    /// Returns the lock that a service and all of its processes hold.
    pub fn workers_lock(&self) -> RelPath {
        self.inside("workers.lock")
    }
}
