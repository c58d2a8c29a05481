//! Statements for strangers: DSSE envelopes, signed with the Ed25519 key of this host.
//!
//! Owns: the key of this host, envelopes, and their verification. Does not know: what a statement says, workspaces.
//!
//! An envelope is JSON: `payloadType`, the base64 of the statement under `payload`, and `signatures` with `keyid` and
//! the base64 of the signature under `sig`. The signature is over `DSSEv1 LEN(type) TYPE LEN(payload) PAYLOAD`, with
//! single spaces and lengths in decimal bytes. A host without a key writes an envelope without signatures.
//!
//! ```
//! use brigade_ops::{HostKeys, envelope, verify};
//! use brigade_core::Json;
//! use brigade_fs::DiskFs;
//!
//! let folder = tempfile::tempdir()?;
//! let keys = HostKeys::new(folder.path().join("brigade"));
//! let made = keys.make(false)?;
//! let signed = envelope(b"{}", keys.read(&DiskFs::open(folder.path())?)?.as_ref());
//! assert!(verify(Json::Object(signed.to_members()).to_compact().as_bytes(), &made).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brigade_core::json::from_json;
use brigade_core::{Dialect, Extra, Fingerprint, Json, Report, SchemaId, record};
use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};
use serde::{Deserialize, Serialize};

pub use ed25519_dalek::{SigningKey as PrivateKey, VerifyingKey as PublicKey};

/// What the payload of an envelope is.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// `run export`: the receipt of a run as a DSSE envelope. Without `--json` the envelope has no `schema`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(remote = "Self", default)]
#[non_exhaustive]
pub struct Envelope {
    /// The schema id; absent in the envelope alone, which is for other programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// What the payload is.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// The statement, as base64.
    pub payload: String,
    /// The signatures; empty without a key.
    pub signatures: Vec<EnvelopeSignature>,
    /// Members that this version does not know.
    #[serde(skip)]
    pub extra: Extra,
}

record!(Envelope);

impl Report for Envelope {
    const SCHEMA: SchemaId = "brigade.run-export.v1";
}

/// A signature of an envelope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(remote = "Self", default)]
#[non_exhaustive]
pub struct EnvelopeSignature {
    /// The sha256 of the public key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyid: Option<String>,
    /// The signature, as base64.
    pub sig: String,
    /// Members that this version does not know.
    #[serde(skip)]
    pub extra: Extra,
}

record!(EnvelopeSignature);

/// Wraps a statement; the envelope has no signatures without a key.
pub fn envelope(payload: &[u8], key: Option<&SigningKey>) -> Envelope {
    let sign = |key: &SigningKey| EnvelopeSignature {
        keyid: Some(key_id(&key.verifying_key())),
        sig: STANDARD.encode(key.sign(&signed_bytes(payload)).to_bytes()),
        ..EnvelopeSignature::default()
    };
    Envelope {
        payload_type: PAYLOAD_TYPE.to_owned(),
        payload: STANDARD.encode(payload),
        signatures: key.map(sign).into_iter().collect(),
        ..Envelope::default()
    }
}

/// Returns the name of a key: the sha256 of its 32 bytes.
pub fn key_id(key: &VerifyingKey) -> String {
    Fingerprint::of_bytes(key.as_bytes()).to_hex()
}

/// Returns what is signed: the type and the payload, each after its length.
fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Checks an envelope against a public key, and returns the statement.
///
/// # Errors
/// Why it does not hold, in a sentence.
pub fn verify(bytes: &[u8], key: &VerifyingKey) -> Result<Json, &'static str> {
    let parse = |bytes: &[u8]| {
        Json::parse_bytes(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), Dialect::Strict)
    };
    let envelope = parse(bytes).map_err(|_| "the envelope is not JSON")?;
    let envelope: Envelope = from_json(&envelope).unwrap_or_default();
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err("the envelope holds no in-toto statement");
    }
    let payload = STANDARD.decode(&envelope.payload).map_err(|_| "the payload is not base64")?;
    if envelope.signatures.is_empty() {
        return Err("the envelope is not signed");
    }
    let is_valid = |signature: &EnvelopeSignature| {
        let signature = STANDARD.decode(&signature.sig).ok();
        let signature = signature.and_then(|bytes| Signature::from_slice(&bytes).ok());
        signature.is_some_and(|signature| key.verify(&signed_bytes(&payload), &signature).is_ok())
    };
    if !envelope.signatures.iter().any(is_valid) {
        return Err("no signature of the envelope is of this key and over this content");
    }
    parse(&payload).map_err(|_| "the payload is not JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_bytes_are_those_of_the_dsse_specification() {
        let expect = b"DSSEv1 28 application/vnd.in-toto+json 11 hello world";
        assert_eq!(signed_bytes(b"hello world"), expect);
    }

    #[test]
    fn only_what_was_signed_is_valid() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let payload = br#"{"a":1}"#;
        let signature = STANDARD.encode(key.sign(&signed_bytes(payload)).to_bytes());
        let envelope = |payload: &[u8]| {
            format!(
                r#"{{"payloadType":"{PAYLOAD_TYPE}","payload":"{}","signatures":[{{"sig":"{signature}"}}]}}"#,
                STANDARD.encode(payload)
            )
        };
        assert!(verify(envelope(payload).as_bytes(), &key.verifying_key()).is_ok());
        assert!(verify(envelope(b"{}").as_bytes(), &key.verifying_key()).is_err());
        let other = SigningKey::from_bytes(&[8; 32]);
        assert!(verify(envelope(payload).as_bytes(), &other.verifying_key()).is_err());
    }

    #[test]
    fn envelopes_of_earlier_versions_verify() {
        let key = SigningKey::from_bytes(&[7; 32]);
        for kind in ["urn:brigade:receipt:v1", "https://brigade.dev/attestation/run-receipt/v1"] {
            let payload =
                format!(r#"{{"_type":"https://in-toto.io/Statement/v1","predicateType":"{kind}"}}"#);
            let signature = STANDARD.encode(key.sign(&signed_bytes(payload.as_bytes())).to_bytes());
            let payload = STANDARD.encode(payload);
            let envelope = format!(
                r#"{{"payloadType":"{PAYLOAD_TYPE}","payload":"{payload}","signatures":[{{"sig":"{signature}"}}]}}"#
            );
            let statement = verify(envelope.as_bytes(), &key.verifying_key()).unwrap();
            assert_eq!(statement.get("predicateType").and_then(Json::as_str), Some(kind));
        }
    }
}
