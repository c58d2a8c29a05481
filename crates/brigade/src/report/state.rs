//! Documents about the state as a whole, keys and attestations.

use std::collections::BTreeMap;

pub use brigade_call::{Statement, Subject};
use brigade_core::Hint;
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};
use brigade_core::Exit;

/// `state check`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StateReport {
    /// The schema id.
    #[serde(deserialize_with = "StateReport::read_schema")]
    pub schema: SchemaId,
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

impl Report for StateReport {
    const SCHEMA: &'static str = "brigade.state.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// A quarantine file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Quarantine {
    /// The file.
    pub file: String,
    /// Number of lines.
    pub lines: u64,
}

/// An unreadable record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
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

/// `state compact`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CompactReport {
    /// The schema id.
    #[serde(deserialize_with = "CompactReport::read_schema")]
    pub schema: SchemaId,
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

impl Report for CompactReport {
    const SCHEMA: &'static str = "brigade.state-compact.v1";
}

/// `keys init`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KeyReport {
    /// The schema id.
    #[serde(deserialize_with = "KeyReport::read_schema")]
    pub schema: SchemaId,
    /// The private key file, which stays on this host.
    pub private_key_path: String,
    /// The public key file, which can be shared.
    pub public_key_path: String,
    /// The sha256 of the public key, which signatures refer to.
    pub key_id: String,
}

impl Report for KeyReport {
    const SCHEMA: &'static str = "brigade.key.v1";
}

pub use brigade_attest::{Envelope, EnvelopeSignature};

/// `run verify --envelope`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EnvelopeReport {
    /// The schema id.
    #[serde(deserialize_with = "EnvelopeReport::read_schema")]
    pub schema: SchemaId,
    /// The envelope file.
    pub envelope_path: String,
    /// Whether the signature is by this key and covers this content.
    pub valid: bool,
    /// The statement; `null` unless the signature is valid.
    pub statement: Option<Box<Statement>>,
    /// Why the envelope is not valid.
    #[serde(rename = "error")]
    pub problem: Option<String>,
}

impl Report for EnvelopeReport {
    const SCHEMA: &'static str = "brigade.envelope.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}
