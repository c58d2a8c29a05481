//! The in-toto statement about a receipt, which envelopes carry.

use std::collections::BTreeMap;

use brigade_core::{Extra, Fingerprint};
use brigade_macros::record;

use super::Receipt;

/// The type of the statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The predicate type of new statements. Envelopes of earlier versions have
/// `https://brigade.dev/attestation/run-receipt/v1` and still verify, because the signature covers the type.
const PREDICATE_TYPE: &str = "urn:brigade:receipt:v1";

/// The content of an envelope: an in-toto statement about a receipt.
#[record(PartialEq)]
#[non_exhaustive]
pub struct Statement {
    /// The type of the statement.
    #[serde(default)]
    pub _type: String,
    /// The receipt's file and its sha256.
    #[serde(default)]
    pub subject: Vec<Subject>,
    /// The predicate type.
    #[serde(rename = "predicateType", default)]
    pub predicate_type: String,
    /// The receipt.
    pub predicate: Receipt,
}

/// A file that a statement is about.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct Subject {
    /// The file, relative to the workspace.
    pub name: String,
    /// The digests of its bytes by algorithm, such as `sha256`.
    pub digest: BTreeMap<String, String>,
}

impl Statement {
    /// Creates the statement about a receipt whose file has this sha256.
    pub fn new(receipt: Receipt, file: String, sha256: Fingerprint) -> Statement {
        let digest = BTreeMap::from([("sha256".to_owned(), sha256.to_hex())]);
        Statement {
            _type: STATEMENT_TYPE.to_owned(),
            subject: vec![Subject { name: file, digest, ..Subject::default() }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: receipt,
            extra: Extra::default(),
        }
    }
}
