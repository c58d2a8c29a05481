//! Documents about the tools of other agent programs.

use brigade_core::Timestamp;
use brigade_harness::{ChangedEntry, DiscoveredEntry, DiscoveryIssue, HarnessFiles};
use brigade_macros::document;

/// `tools discover`: the tools in the files of agent programs.
#[document("brigade.discovery.v1")]
pub struct DiscoveryReport {
    /// The workspace root.
    pub target: String,
    /// The searched harnesses, with their files.
    pub harnesses: Vec<HarnessFiles>,
    /// The entries, by source and name.
    pub entries: Vec<DiscoveredEntry>,
    /// The number of entries.
    pub entry_count: usize,
    /// Issues of files and entries.
    pub issues: Vec<DiscoveryIssue>,
    /// The number of issues.
    pub issue_count: usize,
}

impl DiscoveryReport {
    /// Returns a copy without the entries, for a face that writes long lists separately.
    pub fn without_entries(&self) -> DiscoveryReport {
        DiscoveryReport {
            schema: self.schema,
            target: self.target.clone(),
            harnesses: self.harnesses.clone(),
            entries: Vec::new(),
            entry_count: self.entry_count,
            issues: self.issues.clone(),
            issue_count: self.issue_count,
        }
    }
}

/// `tools sync`: the changes since the last sync.
#[document("brigade.registry-sync.v1")]
pub struct RegistrySyncReport {
    /// The workspace root.
    pub target: String,
    /// The cache.
    pub cache_path: String,
    /// When the current cache was written; absent without a cache.
    pub made_at: Option<Timestamp>,
    /// Whether writing was not allowed.
    pub dry_run: bool,
    /// Whether the cache was written.
    pub written: bool,
    /// Ids of new entries.
    pub added: Vec<String>,
    /// Entries that changed.
    pub changed: Vec<ChangedEntry>,
    /// Ids of entries that no longer exist.
    pub removed: Vec<String>,
    /// Number of unchanged entries.
    pub unchanged_count: usize,
    /// The number of entries.
    pub entry_count: usize,
    /// Issues of files and entries.
    pub issues: Vec<DiscoveryIssue>,
}
