//! Exports receipts as signed envelopes, and verifies envelopes.

pub(crate) mod envelope;
pub(crate) mod keys;

use std::path::Path;

use crate::OnExisting;
use crate::{HostKeys, envelope, key_id, verify};
use brigade_core::json::from_json;
use brigade_core::{IdPrefix, Json, NextStep};
use brigade_fs::FsError;
use brigade_workspace::{DOCUMENT_LIMIT, WorkspaceContext};

use crate::error::{Error, ErrorKind};
use crate::report::{Envelope, EnvelopeReport, KeyReport, Report as _, Statement};
use crate::runs;
use crate::runs::Runs;

impl Runs {
    /// Creates the signing key of this host, with mode 0600, outside of every workspace.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] if a key exists and may not be replaced. Also fails without a home directory, and
    /// inside a run.
    pub fn init_keys(&self, existing: OnExisting) -> Result<KeyReport, Error> {
        self.context.require_outside_run()?;
        let keys = host_keys(&self.context)?;
        let public = keys.make(existing == OnExisting::Overwrite)?;
        Ok(KeyReport {
            schema: KeyReport::SCHEMA,
            private_key_path: keys.private_key_path().display().to_string(),
            public_key_path: keys.public_key_path().display().to_string(),
            key_id: key_id(&public),
        })
    }

    /// Returns a receipt as a DSSE envelope. Without a host key, `signatures` is empty.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Refused`] if the receipt, its logs or its ledger entry were changed. Also fails if no run
    /// matches, or if the key cannot be read or is readable by others.
    pub fn export(&self, prefix: &IdPrefix) -> Result<Envelope, Error> {
        let stored = runs::find_run(&self.context, prefix)?;
        // A receipt that `run verify` rejects must not be signed.
        let verification = self.context.queue().read()?.verify(1)?;
        if let Some(finding) = verification.of_run(stored.receipt.id.as_str()) {
            let message = format!("the receipt is not what was recorded: {}", finding.detail);
            return Err(Error::new(ErrorKind::Refused, message).hint(NextStep::VerifyRuns));
        }
        let path = stored.name();
        let statement = Statement::new(stored.receipt, path, stored.sha256);
        let payload = Json::Object(statement.to_members()).to_canonical().into_bytes();
        let key = match host_keys(&self.context) {
            Ok(keys) => keys.read(&*self.context.fs)?,
            Err(_) => None,
        };
        Ok(envelope(&payload, key.as_ref()))
    }

    /// Verifies an envelope with a public key, by default the key of this host.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn verify_envelope(
        &self,
        envelope: &Path,
        public_key: Option<&Path>,
    ) -> Result<EnvelopeReport, Error> {
        let envelope_path = self.context.typed_path(envelope);
        let key_path = match public_key {
            Some(path) => self.context.typed_path(path),
            None => host_keys(&self.context)?.public_key_path(),
        };
        let key = crate::public_key(&*self.context.fs, &key_path)
            .map_err(unreadable)?
            .ok_or_else(|| Error::new(ErrorKind::Usage, "the key is not an Ed25519 public key in PEM"))?;
        let bytes = self.context.fs.read_outside(&envelope_path, DOCUMENT_LIMIT * 4).map_err(unreadable)?;
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

/// Returns the keys of this host, which are outside of every workspace.
fn host_keys(context: &WorkspaceContext) -> Result<HostKeys, Error> {
    Ok(HostKeys::new(context.config_folder()?.join("brigade")))
}

fn unreadable(error: FsError) -> Error {
    Error::new(ErrorKind::Usage, error.to_string())
}

#[cfg(test)]
mod tests {
    use brigade_core::ErrorCode;

    use super::*;
    use crate::testing::{CallBench, RunEnding};

    #[test]
    fn an_exported_receipt_verifies_with_its_key() {
        let home = tempfile::tempdir().unwrap();
        let bench = CallBench::new("").with_home(home.path());
        let run = bench.ran("{}", RunEnding::completed()).receipt.id;
        let made = bench.runs().init_keys(OnExisting::Keep).unwrap();
        let again = bench.runs().init_keys(OnExisting::Keep).unwrap_err();
        assert_eq!(
            (again.kind(), again.hints()[0].steps().next()),
            (ErrorKind::Usage, Some(&NextStep::Replace))
        );
        let envelope = bench.runs().export(&IdPrefix::new(run.as_str())).unwrap();
        assert_eq!(envelope.signatures[0].keyid.as_deref(), Some(made.key_id.as_str()));
        let text = Json::Object(envelope.to_members()).to_compact();
        bench.write("envelope.json", &text);
        let path = Path::new("/memory/envelope.json");
        let report = bench.runs().verify_envelope(path, None).unwrap();
        assert_eq!((report.valid, report.problem), (true, None));
        assert_eq!(report.statement.map(|statement| statement.predicate.id), Some(run));
        // Another key of the host does not verify it, and the old public key would.
        bench.runs().init_keys(OnExisting::Overwrite).unwrap();
        let report = bench.runs().verify_envelope(path, None).unwrap();
        assert!(!report.valid && report.problem.is_some() && report.statement.is_none());
        bench.write("envelope.json", "{");
        let report = bench.runs().verify_envelope(path, Some(Path::new(&made.public_key_path))).unwrap();
        assert_eq!(report.problem.as_deref(), Some("the envelope is not JSON"));
    }

    #[test]
    fn files_that_cannot_be_used_are_usage_errors() {
        let home = tempfile::tempdir().unwrap();
        let bench = CallBench::new("").with_home(home.path());
        bench.write("envelope.json", "{}");
        bench.write("key.pem", "no key");
        let verify = |envelope: &str, key: Option<&str>| {
            let error = bench.runs().verify_envelope(Path::new(envelope), key.map(Path::new)).unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Usage, ErrorCode::Usage), "{error:?}");
            error.to_string()
        };
        assert!(verify("/memory/envelope.json", None).contains("receipts.pub.pem"));
        let no_key = verify("/memory/envelope.json", Some("/memory/key.pem"));
        assert_eq!(no_key, "the key is not an Ed25519 public key in PEM");
        bench.runs().init_keys(OnExisting::Keep).unwrap();
        assert!(verify("/memory/gone.json", None).contains("gone.json"));
    }
}
