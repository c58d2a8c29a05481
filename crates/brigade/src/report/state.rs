//! Documents about the state as a whole, keys and attestations.

use std::collections::BTreeMap;

pub use brigade_call::{Statement, Subject};
use brigade_core::Hint;
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};
use crate::exit::Exit;

/// `state check`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StateReport {
    /// The schema id.
    #[serde(deserialize_with = "StateReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// Whether everything can be read and nothing is missing.
    pub valid: bool,
    /// How many calls of each status.
    pub calls: BTreeMap<String, u64>,
    /// How many runs of each status.
    pub runs: BTreeMap<String, u64>,
    /// Bytes of the journal.
    pub journal_bytes: u64,
    /// Files of finished calls.
    pub segments: u64,
    /// Whether the state is ours; that of the Python program is adopted with the first write.
    pub adopted: bool,
    /// What cannot be read.
    pub damage: Vec<DamageReport>,
    /// Quarantine files and their number of lines.
    pub quarantined: Vec<Quarantine>,
    /// Receipts of the Python program that could not be read when they were adopted, and are as they were then.
    pub unreadable_when_adopted: Vec<String>,
    /// Files that a crash left, or that are being written.
    pub temporary: Vec<String>,
}

impl Report for StateReport {
    const SCHEMA: &'static str = "brigade.state.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// A file of what could not be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Quarantine {
    /// The file.
    pub file: String,
    /// How many lines it has.
    pub lines: u64,
}

/// One thing that cannot be read.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DamageReport {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// What is wrong, without the text.
    pub problem: String,
    /// The command that mends it, or shows more of what nothing can mend; absent where only a person can say what to
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
    /// The workspace.
    pub target: String,
    /// Whether the state of the Python program was taken over.
    pub adopted: bool,
    /// Finished calls that moved out of the journal.
    pub moved: u64,
    /// Unreadable lines of calls and of the ledger that moved to a quarantine, and files of finished calls that are
    /// gone.
    pub quarantined: u64,
    /// Calls that were gone and that their receipts brought back.
    pub restored: u64,
    /// Files of checkpoints that were written anew, as the records of their calls have them.
    pub restored_checkpoints: u64,
    /// Files that were removed.
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
    /// The private key's file, which stays on this host.
    pub private_key_path: String,
    /// The public key's file, which may be given away.
    pub public_key_path: String,
    /// The sha256 of the public key, as signatures name it.
    pub key_id: String,
}

impl Report for KeyReport {
    const SCHEMA: &'static str = "brigade.key.v1";
}

pub use brigade_attest::{Envelope, EnvelopeSignature};

impl Report for Envelope {
    const SCHEMA: SchemaId = "brigade.run-export.v1";
}

/// `run verify --envelope`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EnvelopeReport {
    /// The schema id.
    #[serde(deserialize_with = "EnvelopeReport::read_schema")]
    pub schema: SchemaId,
    /// The envelope's file.
    pub envelope_path: String,
    /// Whether the signature is of this key and over this content.
    pub valid: bool,
    /// The statement; `null` unless the signature is valid.
    pub statement: Option<Box<Statement>>,
    /// Why it is not valid.
    #[serde(rename = "error")]
    pub problem: Option<String>,
}

impl Report for EnvelopeReport {
    const SCHEMA: &'static str = "brigade.envelope.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}
