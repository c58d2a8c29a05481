//! Receipts for strangers: exported as signed envelopes, and verified.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brigade_attest::{HostKeys, KeyError, envelope, key_id, verify};
use brigade_core::json::from_json;
use brigade_core::{Hint, IdPrefix, Json, NextStep};
use brigade_facts::DOCUMENT_LIMIT;
use brigade_fs::FsError;

use crate::error::{Error, ErrorKind};
use crate::history;
use crate::history::Runs;
use crate::report::{Envelope, EnvelopeReport, KeyReport, Report as _, Statement, Subject};
use crate::room::Room;
use crate::setup::Existing;

/// The type of the statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// What the statement says of its subject. Envelopes of earlier versions say
/// `https://brigade.dev/attestation/run-receipt/v1`, and verify as well: the signature is over whatever they say.
const PREDICATE_TYPE: &str = "urn:brigade:receipt:v1";

impl Runs {
    /// Makes this host's key for signing receipts, 0600, outside of every workspace.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when there is one and it is to be kept; when there is no home folder.
    pub fn init_keys(&self, existing: Existing) -> Result<KeyReport, Error> {
        let keys = host_keys(&self.room)?;
        let public = keys.make(existing == Existing::Overwrite)?;
        Ok(KeyReport {
            schema: KeyReport::SCHEMA,
            private_key_path: keys.private_key_path().display().to_string(),
            public_key_path: keys.public_key_path().display().to_string(),
            key_id: key_id(&public),
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
        let key = match host_keys(&self.room) {
            Ok(keys) => keys.read(&*self.room.fs)?,
            Err(_) => None,
        };
        Ok(envelope(&payload, key.as_ref()))
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
            None => host_keys(&self.room)?.public_key_path(),
        };
        let key = brigade_attest::public_key(&*self.room.fs, &key_path)
            .map_err(unreadable)?
            .ok_or_else(|| Error::new(ErrorKind::Usage, "the key is not an Ed25519 public key in PEM"))?;
        let bytes = self.room.fs.read_outside(&envelope_path, DOCUMENT_LIMIT * 4).map_err(unreadable)?;
        let checked = verify(&bytes, &key);
        Ok(EnvelopeReport {
            schema: EnvelopeReport::SCHEMA,
            envelope_path: envelope_path.display().to_string(),
            valid: checked.is_ok(),
            problem: checked.as_ref().err().map(|problem| (*problem).to_owned()),
            statement: checked.ok().and_then(|statement| from_json(&statement).ok()).map(Box::new),
        })
    }
}

/// Returns the folder of what belongs to this host and not to a workspace.
fn host_keys(room: &Room) -> Result<HostKeys, Error> {
    let configured = room.env.environment.get("XDG_CONFIG_HOME").map(Path::new);
    let folder = configured
        .filter(|folder| folder.is_absolute())
        .map(Path::to_owned)
        .or_else(|| room.env.home().map(|home| home.join(".config")));
    folder.map(|folder| HostKeys::new(folder.join("brigade"))).ok_or_else(|| {
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

fn unreadable(error: FsError) -> Error {
    Error::new(ErrorKind::Usage, error.to_string())
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Error {
        let made = |kind| Error::new(kind, error.to_string());
        match &error {
            KeyError::Exists => made(ErrorKind::Usage)
                .hint("--force replaces it; envelopes of the old one then need its public key"),
            KeyError::Open { path, .. } => made(ErrorKind::Refused).hint(
                Hint::from(format!("chmod 600 {}, or ", path.display()))
                    .then(NextStep::ReplaceKey)
                    .then(" makes a new one"),
            ),
            KeyError::Unusable => made(ErrorKind::Environment).hint(NextStep::ReplaceKey),
            KeyError::Fs(error) => error.clone().into(),
            _ => made(ErrorKind::Environment),
        }
    }
}
