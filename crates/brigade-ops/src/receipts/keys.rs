//! The key of this host.

use std::io;
use std::path::{Path, PathBuf};

use brigade_core::{ErrorCode, ErrorKind, Hint, NextStep, OperationError};
use brigade_fs::{DiskFs, FileMode, Fs, FsError, RelPath};
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
};
use ed25519_dalek::{SigningKey, VerifyingKey};
use thiserror::Error;

/// The private key, in the directory of this host.
const PRIVATE_KEY: &str = "keys/receipts.pem";

/// The public key beside it.
const PUBLIC_KEY: &str = "keys/receipts.pub.pem";

/// The largest key that is read.
const KEY_LIMIT: u64 = 64 << 10;

/// Why the key of this host cannot be made or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The host already has a key.
    #[error("this host already has a key")]
    Exists,
    /// The system has no random bytes.
    #[error("the system has no random bytes for a key: {0}")]
    NoRandomness(io::ErrorKind),
    /// Others can read it.
    #[error("other users can read this host's key (mode {mode:04o}), so nothing is signed")]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file is not a key.
    #[error("this host's key cannot be used: it is not an Ed25519 key in PKCS #8 PEM")]
    Unusable,
    /// File access failed.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl OperationError for KeyError {
    fn kind(&self) -> ErrorKind {
        match self {
            KeyError::Exists => ErrorKind::Usage,
            KeyError::Open { .. } => ErrorKind::Refused,
            _ => ErrorKind::Environment,
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        if let KeyError::Fs(error) = self { error.code() } else { None }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            KeyError::Exists => {
                vec![
                    Hint::from(NextStep::Replace).then("; envelopes of the old one then need its public key"),
                ]
            }
            KeyError::Open { path, .. } => {
                vec![
                    format!("chmod 600 {}", path.display()).into(),
                    Hint::to("make a new one", NextStep::ReplaceKey),
                ]
            }
            KeyError::Unusable => vec![NextStep::ReplaceKey.into()],
            KeyError::Fs(error) => error.hints(),
            KeyError::NoRandomness(_) => Vec::new(),
        }
    }

    fn is_about_request(&self) -> bool {
        self.kind() != ErrorKind::Environment
    }
}

/// The place of this host's key, outside of every workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKeys {
    folder: PathBuf,
}

impl HostKeys {
    /// Uses this directory of the host. It need not exist.
    pub fn new(folder: PathBuf) -> HostKeys {
        HostKeys { folder }
    }

    /// Returns the file of the private key.
    pub fn private_key_path(&self) -> PathBuf {
        self.folder.join(PRIVATE_KEY)
    }

    /// Returns the file of the public key.
    pub fn public_key_path(&self) -> PathBuf {
        self.folder.join(PUBLIC_KEY)
    }

    /// Creates a key with mode 0600, and returns its public key.
    ///
    /// # Errors
    /// Fails if a key exists and may not be replaced, if the system has no random bytes, or on a disk error.
    pub fn make(&self, replace: bool) -> Result<VerifyingKey, KeyError> {
        let fs = DiskFs::make(&self.folder)?;
        if !replace && fs.exists(&RelPath::from_static(PRIVATE_KEY))? {
            return Err(KeyError::Exists);
        }
        let seed = brigade_process::random_bytes::<32>();
        let key = SigningKey::from_bytes(&seed.map_err(|error| KeyError::NoRandomness(error.kind()))?);
        let private = key.to_pkcs8_pem(LineEnding::LF).map_err(|_| KeyError::Unusable)?;
        let public = key.verifying_key().to_public_key_pem(LineEnding::LF).map_err(|_| KeyError::Unusable)?;
        fs.create_dir_all(&RelPath::from_static(PRIVATE_KEY).parent())?;
        fs.write_atomic(&RelPath::from_static(PUBLIC_KEY), public.as_bytes(), FileMode::Exactly(0o644))?;
        fs.write_atomic(&RelPath::from_static(PRIVATE_KEY), private.as_bytes(), FileMode::Private)?;
        Ok(key.verifying_key())
    }

    /// Reads the key, if it exists.
    ///
    /// # Errors
    /// Fails if other users can read it, if it is not a key, or on a disk error.
    pub fn read(&self, fs: &dyn Fs) -> Result<Option<SigningKey>, KeyError> {
        let path = self.private_key_path();
        let found = DiskFs::open(&self.folder).and_then(|fs| fs.metadata(&RelPath::from_static(PRIVATE_KEY)));
        if let Ok(found) = found
            && found.mode & 0o077 != 0
        {
            return Err(KeyError::Open { path, mode: found.mode & 0o7777 });
        }
        match fs.read_outside(&path, KEY_LIMIT) {
            Ok(pem) => {
                let pem = std::str::from_utf8(&pem).map_err(|_| KeyError::Unusable)?;
                SigningKey::from_pkcs8_pem(pem).map(Some).map_err(|_| KeyError::Unusable)
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Reads a public key; `None` if the file does not contain one.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn public_key(fs: &dyn Fs, path: &Path) -> Result<Option<VerifyingKey>, FsError> {
    let pem = fs.read_outside(path, KEY_LIMIT)?;
    Ok(std::str::from_utf8(&pem).ok().and_then(|pem| VerifyingKey::from_public_key_pem(pem).ok()))
}

#[cfg(test)]
mod tests {
    use brigade_core::NextStep;

    use super::*;

    /// Keys in a new directory, and the file system that reads them.
    fn keys() -> (tempfile::TempDir, HostKeys, DiskFs) {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let keys = HostKeys::new(fs.root().join("brigade"));
        (folder, keys, fs)
    }

    #[test]
    fn a_key_is_made_once_and_read_again() {
        let (_folder, keys, fs) = keys();
        assert!(keys.read(&fs).unwrap().is_none(), "without a key nothing is signed");
        let made = keys.make(false).unwrap();
        assert_eq!(keys.read(&fs).unwrap().map(|key| key.verifying_key()), Some(made));
        assert_eq!(public_key(&fs, &keys.public_key_path()).unwrap(), Some(made));
        let mode =
            |path: &str| fs.metadata(&format!("brigade/{path}").parse().unwrap()).unwrap().mode & 0o777;
        assert_eq!((mode(PRIVATE_KEY), mode(PUBLIC_KEY)), (0o600, 0o644));
        assert!(matches!(keys.make(false), Err(KeyError::Exists)));
        assert_eq!(keys.read(&fs).unwrap().map(|key| key.verifying_key()), Some(made));
        assert_ne!(keys.make(true).unwrap(), made);
    }

    #[test]
    fn a_key_that_others_can_read_signs_nothing() {
        let (_folder, keys, fs) = keys();
        keys.make(false).unwrap();
        let path: RelPath = format!("brigade/{PRIVATE_KEY}").parse().unwrap();
        for mode in [0o640, 0o604, 0o666] {
            fs.set_mode(&path, mode).unwrap();
            let Err(KeyError::Open { mode: found, .. }) = keys.read(&fs) else { panic!("{mode:o} is read") };
            assert_eq!(found, mode);
        }
    }

    #[test]
    fn another_file_is_not_a_key() {
        let (_folder, keys, fs) = keys();
        keys.make(false).unwrap();
        for text in [&b""[..], b"\xff", b"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"] {
            for path in [PRIVATE_KEY, PUBLIC_KEY] {
                let path: RelPath = format!("brigade/{path}").parse().unwrap();
                fs.write_atomic(&path, text, FileMode::Private).unwrap();
            }
            assert!(matches!(keys.read(&fs), Err(KeyError::Unusable)));
            assert_eq!(public_key(&fs, &keys.public_key_path()).unwrap(), None);
        }
    }

    #[test]
    fn an_error_says_what_to_do() {
        let steps = |error: &KeyError| {
            let hints = error.hints();
            let steps: Vec<NextStep> = hints.iter().flat_map(Hint::steps).cloned().collect();
            (error.kind(), error.is_about_request(), steps)
        };
        assert_eq!(steps(&KeyError::Exists), (ErrorKind::Usage, true, vec![NextStep::Replace]));
        let open = KeyError::Open { path: "/keys".into(), mode: 0o644 };
        assert_eq!(steps(&open), (ErrorKind::Refused, true, vec![NextStep::ReplaceKey]));
        assert_eq!(open.hints()[0].to_string(), "chmod 600 /keys");
        assert_eq!(steps(&KeyError::Unusable), (ErrorKind::Environment, false, vec![NextStep::ReplaceKey]));
        let random = KeyError::NoRandomness(io::ErrorKind::Other);
        assert_eq!(steps(&random), (ErrorKind::Environment, false, Vec::new()));
    }
}
