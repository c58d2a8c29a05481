//! Documents about the tools of other agent programs.

use brigade_core::{Report, SchemaId, Timestamp};
use brigade_harness::{ChangedEntry, DiscoveredEntry, DiscoveryIssue, HarnessFiles};
use serde::{Deserialize, Serialize};

/// `tools discover`: what the files of agent programs say.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DiscoveryReport {
    /// The schema id.
    #[serde(deserialize_with = "DiscoveryReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The harnesses that were looked at, with their files.
    pub harnesses: Vec<HarnessFiles>,
    /// The entries, by source and name.
    pub entries: Vec<DiscoveredEntry>,
    /// The number of entries.
    pub entry_count: usize,
    /// What people should know about files and entries.
    pub issues: Vec<DiscoveryIssue>,
    /// The number of issues.
    pub issue_count: usize,
}

impl DiscoveryReport {
    /// Returns a copy whose list of entries is empty, for a face that writes long lists apart.
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

impl Report for DiscoveryReport {
    const SCHEMA: SchemaId = "brigade.discovery.v1";
}

/// `tools sync`: what changed since somebody looked last.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegistrySyncReport {
    /// The schema id.
    #[serde(deserialize_with = "RegistrySyncReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The cache.
    pub cache_path: String,
    /// When the cache was made, as it is now; absent if there is none.
    pub made_at: Option<Timestamp>,
    /// Whether nothing may be written.
    pub dry_run: bool,
    /// Whether the cache was written.
    pub written: bool,
    /// Ids of entries that are new.
    pub added: Vec<String>,
    /// Entries that changed.
    pub changed: Vec<ChangedEntry>,
    /// Ids of entries that are gone.
    pub removed: Vec<String>,
    /// How many entries are as they were.
    pub unchanged_count: usize,
    /// The number of entries.
    pub entry_count: usize,
    /// What people should know about files and entries.
    pub issues: Vec<DiscoveryIssue>,
}

impl Report for RegistrySyncReport {
    const SCHEMA: SchemaId = "brigade.registry-sync.v1";
}
