//! Documents about the state as a whole.

use std::collections::BTreeMap;

use brigade_core::{Hint, Timestamp};
use brigade_macros::{document, part};

/// `state check`.
#[document("brigade.state.v1", if self.valid)]
pub struct StateReport {
    /// The workspace root.
    pub target: String,
    /// Whether everything is readable and nothing is missing.
    pub valid: bool,
    /// Number of calls by status.
    pub calls: BTreeMap<String, u64>,
    /// Number of runs by status.
    pub runs: BTreeMap<String, u64>,
    /// The size of the journal, in bytes.
    pub journal_bytes: u64,
    /// Files of finished calls.
    pub segments: u64,
    /// Whether the state is in the current format. State of v0.30 is adopted with the first write.
    pub adopted: bool,
    /// Unreadable records.
    pub damage: Vec<DamageReport>,
    /// Quarantine files and their number of lines.
    pub quarantined: Vec<Quarantine>,
    /// Receipts of v0.30 that were unreadable on adoption and have not changed since.
    pub unreadable_when_adopted: Vec<String>,
    /// Temporary files, left by a crash or being written.
    pub temporary: Vec<String>,
}

/// A quarantine file.
#[part(PartialEq)]
pub struct Quarantine {
    /// The file.
    pub file: String,
    /// Number of lines.
    pub lines: u64,
}

/// An unreadable record.
#[part]
pub struct DamageReport {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The problem, without quoting the text.
    pub problem: String,
    /// The command that fixes the problem or shows more; absent if only a person can decide what to
    /// do.
    pub next: Option<Hint>,
}

/// `state adopt`.
#[document("brigade.state-adopt.v1")]
pub struct AdoptReport {
    /// The workspace root.
    pub target: String,
    /// Whether the records were accepted. Otherwise they are only shown.
    pub adopted: bool,
    /// The records that this host has not signed, so that they are not approved here.
    pub records: Vec<AdoptRow>,
    /// Files of the state that git tracks. They never count.
    pub tracked: Vec<String>,
}

/// A record that approves, answers or resumes something, and that this host has not signed.
#[part]
pub struct AdoptRow {
    /// What it is: `call`, `execution`, `prd`, `workers`, `pin` or `file`.
    pub kind: String,
    /// Its id or name.
    pub id: String,
    /// The tool of the call, or the workflow of the execution.
    pub name: Option<String>,
    /// The status that it has once it is accepted.
    pub status: String,
    /// What it approves, for people.
    pub detail: String,
    /// When it was approved or begun.
    pub at: Option<Timestamp>,
}

impl AdoptRow {
    /// Describes a record.
    pub fn new(kind: &str, id: String, status: &str, detail: String, at: Option<Timestamp>) -> AdoptRow {
        AdoptRow { kind: kind.to_owned(), id, name: None, status: status.to_owned(), detail, at }
    }

    /// Describes an execution of a workflow.
    pub fn execution(id: &str, workflow: &str, status: &str, state: &str, at: Timestamp) -> AdoptRow {
        let detail = format!("in the state `{}`", brigade_core::text::escape_terminal(state));
        AdoptRow::new("execution", id.to_owned(), status, detail, Some(at)).named(workflow)
    }

    /// Adds the tool or the workflow.
    #[must_use]
    pub fn named(self, name: &str) -> AdoptRow {
        AdoptRow { name: Some(name.to_owned()), ..self }
    }
}

/// `state compact`.
#[document("brigade.state-compact.v1")]
pub struct CompactReport {
    /// The workspace root.
    pub target: String,
    /// Whether state of v0.30 was adopted.
    pub adopted: bool,
    /// Number of finished calls that moved out of the journal.
    pub moved: u64,
    /// Number of unreadable lines that moved to a quarantine file, and of missing files of
    /// finished calls.
    pub quarantined: u64,
    /// Number of lost calls that were restored from their receipts.
    pub restored: u64,
    /// Number of checkpoint files that were rewritten from the records of their calls.
    pub restored_checkpoints: u64,
    /// Number of removed files.
    pub removed: u64,
}
