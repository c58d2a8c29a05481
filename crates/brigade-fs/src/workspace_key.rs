//! The key of this host: a file outside of every workspace, made on first use.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use brigade_core::HostKey;
use rustix::fs::OFlags;

use crate::{FsError, FsErrorKind};

/// The name of the file.
const NAME: &str = "host.key";

/// The length of a key in bytes.
const KEY_BYTES: usize = 32;

/// How many directories are made for the key.
const MAX_MISSING: usize = 3;

/// The key of this host for the records of one workspace. It is read when the first MAC is verified, and made when the
/// first record is signed.
///
/// It is derived from the key of the host and the path of the workspace. So a record that was copied from another
/// workspace has no valid MAC here, and neither has one of this workspace after it was moved.
#[derive(Debug)]
pub struct WorkspaceKey {
    place: Option<KeyPlace>,
    key: OnceLock<HostKey>,
}

/// The directory of the key, and the workspace that it is for.
#[derive(Debug)]
struct KeyPlace {
    directory: Option<PathBuf>,
    workspace: PathBuf,
}

impl WorkspaceKey {
    /// Names the key in this directory for a workspace. Reads nothing. Without a directory, nothing can be signed.
    pub fn new(directory: Option<PathBuf>, workspace: &Path) -> WorkspaceKey {
        let place = KeyPlace { directory, workspace: workspace.to_owned() };
        WorkspaceKey { place: Some(place), key: OnceLock::new() }
    }

    /// Makes a key that nothing else knows, and that is gone with the value.
    pub fn temporary() -> WorkspaceKey {
        // Without random numbers nothing can be signed.
        let key = random_bytes().map(|bytes| OnceLock::from(HostKey::from_bytes(&bytes)));
        WorkspaceKey { place: None, key: key.unwrap_or_default() }
    }

    /// Uses a known key, for files that an embedding program keeps. It answers for their content.
    pub fn for_given_files() -> WorkspaceKey {
        WorkspaceKey { place: None, key: HostKey::from_bytes(&[0; KEY_BYTES]).into() }
    }

    /// Returns the MAC of a record. Makes the key of the host on first use.
    ///
    /// # Errors
    /// Fails if the key cannot be read or made, or is not safe.
    pub fn sign(&self, domain: &str, content: &[u8]) -> Result<String, FsError> {
        Ok(self.get(IfMissing::Make)?.mac(domain, content))
    }

    /// Returns whether a record has this MAC from this host. `false` if the key cannot be read. Makes no key.
    pub fn verify(&self, domain: &str, content: &[u8], mac: Option<&str>) -> bool {
        let Some(mac) = mac else { return false };
        self.get(IfMissing::Fail).is_ok_and(|key| key.verify(domain, content, mac))
    }

    /// Returns why no MAC can be verified although there is a key.
    pub fn problem(&self) -> Option<FsError> {
        self.get(IfMissing::Fail).err().filter(|error| !error.is_not_found())
    }

    fn get(&self, missing: IfMissing) -> Result<&HostKey, FsError> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let no_place = || unsafe_key(Path::new(NAME), "there are no random numbers");
        let key = self.place.as_ref().ok_or_else(no_place)?.read(missing)?;
        Ok(self.key.get_or_init(|| key))
    }
}

/// What to do without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IfMissing {
    Make,
    Fail,
}

impl KeyPlace {
    fn read(&self, missing: IfMissing) -> Result<HostKey, FsError> {
        let Some(directory) = &self.directory else {
            return Err(unsafe_key(
                Path::new(NAME),
                "there is no home directory; set HOME or XDG_STATE_HOME",
            ));
        };
        let path = directory.join(NAME);
        let bytes = match self.read_file(directory, &path) {
            Err(error) if error.is_not_found() && missing == IfMissing::Make => {
                make_directory(directory).map_err(|error| failed("make", directory, &error))?;
                self.require_outside(directory)?;
                make_file(directory, &path).map_err(|error| failed("make", &path, &error))?;
                self.read_file(directory, &path)?
            }
            bytes => bytes?,
        };
        let workspace = self.workspace.as_os_str().as_encoded_bytes();
        Ok(HostKey::from_bytes(&bytes).derive("brigade.workspace.v1", workspace))
    }

    /// Reads the key, unless another account or something in the workspace may have written it.
    fn read_file(&self, directory: &Path, path: &Path) -> Result<[u8; KEY_BYTES], FsError> {
        let read = |error: &io::Error| failed("read", path, error);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let flags = i32::try_from(flags.bits()).expect("flags of open are an int");
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = match opened {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                return Err(unsafe_key(path, "it is a link; replace it with the file"));
            }
            opened => opened.map_err(|error| read(&error))?,
        };
        self.require_outside(directory)?;
        let metadata = file.metadata().map_err(|error| read(&error))?;
        if !metadata.is_file() {
            return Err(unsafe_key(path, "it is not a file"));
        }
        require_private(path, &metadata, "the key", 0o077)?;
        let metadata = directory.metadata().map_err(|error| failed("read", directory, &error))?;
        require_private(directory, &metadata, "the directory", 0o022)?;
        let mut bytes = Vec::with_capacity(KEY_BYTES + 1);
        file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| read(&error))?;
        bytes.try_into().map_err(|_| unsafe_key(path, "it is not a key; move it away, and a new one is made"))
    }

    /// Refuses a key where programs of the workspace could read or replace it.
    fn require_outside(&self, directory: &Path) -> Result<(), FsError> {
        let real = directory.canonicalize().map_err(|error| failed("read", directory, &error))?;
        match real.starts_with(&self.workspace) {
            true => {
                Err(unsafe_key(directory, "it is in the workspace; set XDG_STATE_HOME to another directory"))
            }
            false => Ok(()),
        }
    }
}

fn require_private(
    path: &Path,
    metadata: &std::fs::Metadata,
    what: &str,
    forbidden: u32,
) -> Result<(), FsError> {
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(unsafe_key(path, &format!("{what} belongs to another account")));
    }
    match metadata.mode() & forbidden {
        0 => Ok(()),
        _ => {
            Err(unsafe_key(path, &format!("other accounts have access; run `chmod go= {}`", path.display())))
        }
    }
}

/// Makes the directory of the key, such as `.local/state/brigade` in a home that exists.
fn make_directory(directory: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|path| !path.exists()).collect();
    if MAX_MISSING < missing.len() {
        return Err(io::ErrorKind::NotFound.into());
    }
    for path in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    Ok(())
}

/// Makes the key under another name, and then gives it its name unless another process was faster.
fn make_file(directory: &Path, path: &Path) -> io::Result<()> {
    let random = random_bytes()?;
    let suffix = HostKey::from_bytes(&random_bytes()?).mac("name", b"");
    let temporary = directory.join(format!(".{NAME}.{}", &suffix[..16]));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let made = file.write_all(&random).and_then(|()| file.sync_all());
    let linked = made.and_then(|()| std::fs::hard_link(&temporary, path));
    std::fs::remove_file(&temporary)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked.and_then(|()| File::open(directory)?.sync_all()),
    }
}

fn random_bytes() -> io::Result<[u8; KEY_BYTES]> {
    let mut bytes = [0; KEY_BYTES];
    let mut filled = 0;
    while filled < KEY_BYTES {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

fn failed(operation: &'static str, path: &Path, error: &io::Error) -> FsError {
    FsError::io(operation, path.display().to_string(), error)
}

fn unsafe_key(path: &Path, why: &str) -> FsError {
    FsError::new("use the host key", path.display().to_string(), FsErrorKind::UnsafeKey(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn key(home: &Path, workspace: &str) -> WorkspaceKey {
        WorkspaceKey::new(Some(home.join("state/brigade")), Path::new(workspace))
    }

    #[test]
    fn concurrent_first_use_makes_one_key() {
        let home = tempfile::tempdir().unwrap();
        let macs: Vec<String> = std::thread::scope(|scope| {
            let sign = || key(home.path(), "/w").sign("call", b"1").unwrap();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(sign)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(macs.iter().all(|mac| *mac == macs[0]), "{macs:?}");
        let directory = home.path().join("state/brigade");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&directory), mode(&directory.join(NAME))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        let mac = Some(macs[0].as_str());
        assert!(key(home.path(), "/w").verify("call", b"1", mac));
        assert!(!key(home.path(), "/w").verify("call", b"1", None));
        assert!(!key(home.path(), "/other").verify("call", b"1", mac));
    }

    #[test]
    fn verifying_makes_no_key() {
        let home = tempfile::tempdir().unwrap();
        assert!(!key(home.path(), "/w").verify("call", b"1", Some("00")));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_unsafe_key_signs_and_verifies_nothing() {
        #[track_caller]
        fn check(change: impl FnOnce(&Path, &Path), why: &str) {
            let home = tempfile::tempdir().unwrap();
            let directory = home.path().join("state/brigade");
            let mac = key(home.path(), "/w").sign("call", b"1").unwrap();
            change(&directory, &directory.join(NAME));
            let error = key(home.path(), "/w").sign("call", b"1").unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(!key(home.path(), "/w").verify("call", b"1", Some(&mac)));
            assert!(key(home.path(), "/w").problem().is_some_and(|error| error.to_string().contains(why)));
        }
        let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        check(|_, file| chmod(file, 0o620), "other accounts");
        check(|_, file| chmod(file, 0o604), "other accounts");
        check(|directory, _| chmod(directory, 0o770), "other accounts");
        check(|_, file| fs::write(file, "short").unwrap(), "not a key");
        let link = |directory: &Path, file: &Path| {
            fs::rename(file, directory.join("elsewhere")).unwrap();
            symlink("elsewhere", file).unwrap();
        };
        check(link, "it is a link");
        let directory = |_: &Path, file: &Path| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        };
        check(directory, "not a file");
    }

    #[test]
    fn a_key_in_the_workspace_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let error = key(&root, root.to_str().unwrap()).sign("call", b"1").unwrap_err().to_string();
        assert!(error.contains("in the workspace"), "{error}");
        let far = WorkspaceKey::new(Some(root.join("no/home/.local/state/brigade")), Path::new("/w"));
        assert!(far.sign("call", b"1").is_err() && !root.join("no").exists());
        let error = WorkspaceKey::new(None, &root).sign("call", b"1").unwrap_err().to_string();
        assert!(error.contains("set HOME"), "{error}");
    }
}
