//! Documents about keys and attestations.

use brigade_macros::document;

pub use brigade_call::{Statement, Subject};

/// `keys init`.
#[document("brigade.key.v1")]
pub struct KeyReport {
    /// The private key file, which stays on this host.
    pub private_key_path: String,
    /// The public key file, which can be shared.
    pub public_key_path: String,
    /// The sha256 of the public key, which signatures refer to.
    pub key_id: String,
}

pub use crate::receipts::envelope::{Envelope, EnvelopeSignature};

/// `run verify --envelope`.
#[document("brigade.envelope.v1", if self.valid)]
pub struct EnvelopeReport {
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
