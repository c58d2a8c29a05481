//! Receipts for strangers: DSSE envelopes with an in-toto statement, signed with this host's Ed25519 key.
//!
//! An envelope is JSON: `payloadType`, the base64 of the statement under `payload`, and `signatures` with `keyid` and
//! the base64 of the signature under `sig`. The signature is over `DSSEv1 LEN(type) TYPE LEN(payload) PAYLOAD`, with
//! single spaces and lengths in decimal bytes. A host without a key writes an envelope without signatures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brigade_core::json::from_json;
use brigade_core::{Fingerprint, Hint, IdPrefix, Json, NextStep};
use brigade_facts::{DOCUMENT_LIMIT, parse_json};
use brigade_fs::{DiskFs, FileMode, Fs, FsError};
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
};
use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};

use crate::error::{Error, ErrorKind};
use crate::history;
use crate::history::Runs;
use crate::report::{
    Envelope, EnvelopeReport, EnvelopeSignature, KeyReport, Report as _, Statement, Subject,
};
use crate::room::{Room, rel};
use crate::setup::Existing;

/// What the payload of an envelope is.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The type of the statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// What the statement says of its subject. Envelopes of earlier versions say
/// `https://brigade.dev/attestation/run-receipt/v1`, and verify as well: the signature is over whatever they say.
const PREDICATE_TYPE: &str = "urn:brigade:receipt:v1";

/// The private key, in the folder of this host's keys.
const PRIVATE_KEY: &str = "keys/receipts.pem";

/// The public key beside it.
const PUBLIC_KEY: &str = "keys/receipts.pub.pem";

/// The largest key that is read.
const KEY_LIMIT: u64 = 64 << 10;

impl Runs {
    /// Makes this host's key for signing receipts, 0600, outside of every workspace.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when there is one and it is to be kept; when there is no home folder.
    pub fn init_keys(&self, existing: Existing) -> Result<KeyReport, Error> {
        let folder = key_folder(&self.room)?;
        let fs = make_folder(&folder)?;
        if existing == Existing::Keep && fs.exists(&rel(PRIVATE_KEY))? {
            let error = Error::new(ErrorKind::Usage, "this host has a key already");
            return Err(error.hint("--force replaces it; envelopes of the old one then need its public key"));
        }
        let seed = brigade_process::random_bytes::<32>().map_err(|error| {
            Error::new(ErrorKind::Environment, format!("no randomness to make a key of: {}", error.kind()))
        })?;
        let key = SigningKey::from_bytes(&seed);
        let private = key.to_pkcs8_pem(LineEnding::LF).map_err(|_| unusable_key())?;
        let public = key.verifying_key().to_public_key_pem(LineEnding::LF).map_err(|_| unusable_key())?;
        fs.create_dir_all(&rel(PRIVATE_KEY).parent())?;
        fs.write_atomic(&rel(PUBLIC_KEY), public.as_bytes(), FileMode::Exactly(0o644))?;
        fs.write_atomic(&rel(PRIVATE_KEY), private.as_bytes(), FileMode::Private)?;
        Ok(KeyReport {
            schema: KeyReport::SCHEMA,
            private_key_path: folder.join(PRIVATE_KEY).display().to_string(),
            public_key_path: folder.join(PUBLIC_KEY).display().to_string(),
            key_id: key_id(&key.verifying_key()),
        })
    }

    /// Returns a run's receipt as a DSSE envelope, signed when this host has a key; `signatures` is empty without one.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when the receipt, its logs or its entry in the ledger is not what was written; when there
    /// is no such run; when the key cannot be read, or others can read it.
    pub fn export(&self, prefix: &IdPrefix) -> Result<Envelope, Error> {
        let stored = history::find_run(&self.room, prefix)?;
        // Nobody is to vouch for what `run verify` rejects.
        let verification = self.room.queue().read()?.verify(1)?;
        if let Some(finding) = verification.of_run(stored.receipt.id()) {
            let message = format!("the receipt is not what was recorded: {}", finding.detail);
            return Err(Error::new(ErrorKind::Refused, message).hint(NextStep::VerifyRuns));
        }
        let subject = Subject {
            name: stored.path,
            digest: BTreeMap::from([("sha256".to_owned(), stored.sha256.to_hex())]),
            ..Subject::default()
        };
        let statement = Statement {
            _type: STATEMENT_TYPE.to_owned(),
            subject: vec![subject],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: stored.receipt,
            ..Statement::default()
        };
        let payload = Json::Object(statement.to_members()).to_canonical().into_bytes();
        let signatures = match signing_key(&self.room)? {
            Some(key) => {
                let signature = key.sign(&signed_bytes(&payload));
                vec![EnvelopeSignature {
                    keyid: Some(key_id(&key.verifying_key())),
                    sig: STANDARD.encode(signature.to_bytes()),
                    ..EnvelopeSignature::default()
                }]
            }
            None => Vec::new(),
        };
        Ok(Envelope {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: STANDARD.encode(payload),
            signatures,
            ..Envelope::default()
        })
    }

    /// Checks an envelope against a public key; this host's own when none is named.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn verify_envelope(
        &self,
        envelope: &Path,
        public_key: Option<&Path>,
    ) -> Result<EnvelopeReport, Error> {
        let envelope_path = typed_path(&self.room, envelope);
        let key_path = match public_key {
            Some(path) => typed_path(&self.room, path),
            None => key_folder(&self.room)?.join(PUBLIC_KEY),
        };
        let pem = self.room.fs.read_outside(&key_path, KEY_LIMIT).map_err(unreadable)?;
        let key = std::str::from_utf8(&pem)
            .ok()
            .and_then(|pem| VerifyingKey::from_public_key_pem(pem).ok())
            .ok_or_else(|| Error::new(ErrorKind::Usage, "the key is not an Ed25519 public key in PEM"))?;
        let bytes = self.room.fs.read_outside(&envelope_path, DOCUMENT_LIMIT * 4).map_err(unreadable)?;
        let checked = check_envelope(&bytes, &key);
        Ok(EnvelopeReport {
            schema: EnvelopeReport::SCHEMA,
            envelope_path: envelope_path.display().to_string(),
            valid: checked.is_ok(),
            problem: checked.as_ref().err().map(|problem| (*problem).to_owned()),
            statement: checked.ok().flatten().map(Box::new),
        })
    }
}

fn signing_key(room: &Room) -> Result<Option<SigningKey>, Error> {
    let Ok(folder) = key_folder(room) else { return Ok(None) };
    let path = folder.join(PRIVATE_KEY);
    let mode = DiskFs::open(&folder).and_then(|fs| fs.metadata(&rel(PRIVATE_KEY))).map(|found| found.mode);
    if let Ok(mode) = mode
        && mode & 0o077 != 0
    {
        let message = format!(
            "other users can read this host's key (mode {:04o}), so nothing is signed",
            mode & 0o7777
        );
        let hint = Hint::from(format!("chmod 600 {}, or ", path.display()))
            .then(NextStep::ReplaceKey)
            .then(" makes a new one");
        return Err(Error::new(ErrorKind::Refused, message).hint(hint));
    }
    match room.fs.read_outside(&path, KEY_LIMIT) {
        Ok(pem) => {
            let pem = std::str::from_utf8(&pem).map_err(|_| unusable_key())?;
            SigningKey::from_pkcs8_pem(pem).map(Some).map_err(|_| unusable_key())
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the folder of what belongs to this host and not to a workspace.
fn key_folder(room: &Room) -> Result<PathBuf, Error> {
    let configured = room.env.environment.get("XDG_CONFIG_HOME").map(Path::new);
    let folder = configured
        .filter(|folder| folder.is_absolute())
        .map(Path::to_owned)
        .or_else(|| room.env.home().map(|home| home.join(".config")));
    folder.map(|folder| folder.join("brigade")).ok_or_else(|| {
        Error::new(ErrorKind::Environment, "there is no home folder to keep keys in").hint("set HOME")
    })
}

/// Makes a path absolute that a person typed.
pub(crate) fn typed_path(room: &Room, path: &Path) -> PathBuf {
    let path = room.env.expand(path);
    match brigade_process::current_dir() {
        Ok(folder) => folder.join(path),
        Err(_) => path,
    }
}

fn unusable_key() -> Error {
    Error::new(
        ErrorKind::Environment,
        "this host's key cannot be used: it is not an Ed25519 key in PKCS #8 PEM",
    )
    .hint(NextStep::ReplaceKey)
}

fn unreadable(error: FsError) -> Error {
    Error::new(ErrorKind::Usage, error.to_string())
}

/// Opens a folder that may have to be made first, with those above it.
fn make_folder(folder: &Path) -> Result<DiskFs, Error> {
    for above in folder.ancestors() {
        match DiskFs::open(above) {
            Ok(fs) => {
                let rest = folder.strip_prefix(above).ok().and_then(Path::to_str).unwrap_or_default();
                fs.create_dir_all(&rel(rest))?;
                return Ok(DiskFs::open(folder)?);
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::new(ErrorKind::Environment, "the folder of keys cannot be made"))
}

/// Returns the name of a key: the sha256 of its 32 bytes.
fn key_id(key: &VerifyingKey) -> String {
    Fingerprint::of_bytes(key.as_bytes()).to_hex()
}

/// Returns what is signed: the type and the payload, each behind its length.
fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Returns what an envelope says, if it is signed with this key; nothing of a payload that is no statement.
fn check_envelope(bytes: &[u8], key: &VerifyingKey) -> Result<Option<Statement>, &'static str> {
    let envelope = parse_json(bytes).map_err(|_| "the envelope is not JSON")?;
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
    let statement = parse_json(&payload).map_err(|_| "the payload is not JSON")?;
    Ok(from_json(&statement).ok())
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
        assert!(check_envelope(envelope(payload).as_bytes(), &key.verifying_key()).is_ok());
        assert!(check_envelope(envelope(b"{}").as_bytes(), &key.verifying_key()).is_err());
        let other = SigningKey::from_bytes(&[8; 32]);
        assert!(check_envelope(envelope(payload).as_bytes(), &other.verifying_key()).is_err());
    }

    #[test]
    fn envelopes_of_earlier_versions_verify() {
        let key = SigningKey::from_bytes(&[7; 32]);
        for kind in [PREDICATE_TYPE, "https://brigade.dev/attestation/run-receipt/v1"] {
            let payload = format!(r#"{{"_type":"{STATEMENT_TYPE}","predicateType":"{kind}"}}"#);
            let signature = STANDARD.encode(key.sign(&signed_bytes(payload.as_bytes())).to_bytes());
            let payload = STANDARD.encode(payload);
            let envelope = format!(
                r#"{{"payloadType":"{PAYLOAD_TYPE}","payload":"{payload}","signatures":[{{"sig":"{signature}"}}]}}"#
            );
            let statement = check_envelope(envelope.as_bytes(), &key.verifying_key()).unwrap();
            assert_eq!(statement.unwrap().predicate_type, kind);
        }
    }
}
