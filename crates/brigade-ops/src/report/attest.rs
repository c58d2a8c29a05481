//! Documents about keys and attestations.

use brigade_core::Exit;
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};

pub use brigade_call::{Statement, Subject};

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

pub use crate::receipts::envelope::{Envelope, EnvelopeSignature};

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
