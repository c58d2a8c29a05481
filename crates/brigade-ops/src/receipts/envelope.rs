//! DSSE envelopes for other parties, signed with the Ed25519 key of this host.
//!
//! Owns: the key of this host, envelopes, and their verification. Does not know: the content of statements, workspaces.
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
use brigade_core::{Dialect, Fingerprint, Json, Report, SchemaId};
use brigade_macros::record;
use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};

pub use ed25519_dalek::{SigningKey as PrivateKey, VerifyingKey as PublicKey};

/// The payload type of an envelope.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// `run export`: the receipt of a run as a DSSE envelope. Without `--json` the envelope has no `schema`.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct Envelope {
    /// The schema id; absent in the envelope alone, which is for other programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The type of the payload.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// The statement, as base64.
    pub payload: String,
    /// The signatures; empty without a key.
    pub signatures: Vec<EnvelopeSignature>,
}

impl Report for Envelope {
    const SCHEMA: SchemaId = "brigade.run-export.v1";
}

/// A signature of an envelope.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct EnvelopeSignature {
    /// The sha256 of the public key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyid: Option<String>,
    /// The signature, as base64.
    pub sig: String,
}

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

/// Returns the signed bytes: the type and the payload, each after its length.
fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Checks an envelope against a public key, and returns the statement.
///
/// # Errors
/// Returns why the envelope is not valid, as a sentence.
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
    fn signed_bytes_match_the_dsse_specification() {
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

    #[test]
    fn what_is_not_a_signed_statement_says_why() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let check = |bytes: &[u8], why: &str| {
            let problem = verify(bytes, &key.verifying_key()).unwrap_err();
            assert!(problem.contains(why), "{why}: {problem}");
        };
        let text = |change: &dyn Fn(&mut Envelope), payload: &[u8]| {
            let mut made = envelope(payload, Some(&key));
            change(&mut made);
            Json::Object(made.to_members()).to_compact().into_bytes()
        };
        check(b"{", "not JSON");
        check(b"{}", "no in-toto statement");
        check(&text(&|made| made.payload_type = "text/plain".to_owned(), b"{}"), "no in-toto statement");
        check(&text(&|made| made.payload = "?".to_owned(), b"{}"), "not base64");
        check(&text(&|made| made.signatures.clear(), b"{}"), "not signed");
        check(&text(&|made| made.signatures[0].sig = "?".to_owned(), b"{}"), "no signature");
        check(&text(&|made| made.payload = STANDARD.encode(b"[]"), b"{}"), "no signature");
        check(&text(&|_| (), b"{"), "payload is not JSON");
        // A byte order mark is not a part of the text.
        let marked = [&b"\xef\xbb\xbf"[..], &text(&|_| (), b"{}")].concat();
        assert!(verify(&marked, &key.verifying_key()).is_ok());
    }

    #[test]
    fn one_valid_signature_of_several_is_enough() {
        let (key, other) = (SigningKey::from_bytes(&[7; 32]), SigningKey::from_bytes(&[8; 32]));
        let mut made = envelope(b"{}", Some(&other));
        made.signatures.extend(envelope(b"{}", Some(&key)).signatures);
        let names: Vec<Option<String>> = made.signatures.iter().map(|one| one.keyid.clone()).collect();
        assert_eq!(names, [&other, &key].map(|key| Some(key_id(&key.verifying_key()))));
        let bytes = Json::Object(made.to_members()).to_compact().into_bytes();
        assert!(verify(&bytes, &key.verifying_key()).is_ok());
        assert!(envelope(b"{}", None).signatures.is_empty());
    }
}
