//! Reads and replaces a file of a client, in the workspace or elsewhere.

use std::path::{Path, PathBuf};

use brigade_fs::{DiskFs, FileMode, Fs, FsError, FsErrorKind, Location, RelPath};
use brigade_harness::Scope;
use brigade_policy::Failure;

use super::ClientFiles;
use crate::setup::Setup;
use brigade_workspace::no_home;

/// The largest file that is read. Some programs keep much else in it.
const LIMIT: u64 = 64 << 20;

/// A file of a client.
pub(super) struct ClientFile {
    /// The path as recorded: relative to the workspace, beginning with `~/`, or absolute.
    pub(super) noted: String,
    scope: Scope,
    location: Location,
}

impl ClientFile {
    /// Resolves a path of the client table. Links are followed, but those in a workspace must stay in it.
    pub(super) fn find(clients: &ClientFiles<'_>, path: &Path, scope: Scope) -> Result<ClientFile, Failure> {
        let home = clients.home();
        if path.starts_with("~") && home.is_none() {
            return Err(no_home(&clients.context.environment));
        }
        let in_home =
            home.and_then(|home| path.strip_prefix(home).ok()).map(|rest| Path::new("~").join(rest));
        let noted = in_home.as_deref().unwrap_or(path).display().to_string();
        ClientFile::open(clients, &noted, scope).map_err(Failure::from)
    }

    /// Resolves a recorded file.
    pub(super) fn open(clients: &ClientFiles<'_>, noted: &str, scope: Scope) -> Result<ClientFile, FsError> {
        let location = clients.context.fs.resolve(noted, clients.home())?;
        if scope == Scope::Project && matches!(location, Location::Outside(_)) {
            return Err(FsError::new("use", noted, FsErrorKind::Outside));
        }
        Ok(ClientFile { noted: noted.to_owned(), scope, location })
    }

    /// Reads the file; `None` if it is missing.
    pub(super) fn read(&self, clients: &ClientFiles<'_>) -> Result<Option<Vec<u8>>, FsError> {
        let read = match &self.location {
            Location::Inside(path) => clients.context.fs.read(path, LIMIT),
            Location::Outside(path) => clients.context.fs.read_outside(path, LIMIT),
        };
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces or removes the file if its content is still `before`. Returns whether it was.
    ///
    /// A program without the lock can still write between the comparison and the rename.
    pub(super) fn replace(
        &self,
        clients: &ClientFiles<'_>,
        before: Option<&[u8]>,
        after: Option<&str>,
    ) -> Result<bool, FsError> {
        // A file of the workspace is shared, and one of the user is private.
        let mode = FileMode::KeepOr(if self.scope == Scope::Project { 0o644 } else { 0o600 });
        match &self.location {
            Location::Inside(path) => {
                if after.is_some() {
                    Setup::new(clients.context).create_folder(&path.parent())?;
                }
                self.exchange(clients, &*clients.context.fs, path, before, after, mode)
            }
            Location::Outside(path) => {
                let unfit = || FsError::new("write", path.to_string_lossy(), FsErrorKind::NotAFile);
                let folder = path.parent().ok_or_else(unfit)?;
                let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(unfit)?;
                let name: RelPath = name.parse().map_err(|_| unfit())?;
                let named = |error: FsError| FsError { path: self.shown(clients), ..error };
                let fs = DiskFs::make(folder).map_err(named)?;
                self.exchange(clients, &fs, &name, before, after, mode).map_err(named)
            }
        }
    }

    fn exchange(
        &self,
        clients: &ClientFiles<'_>,
        fs: &dyn Fs,
        path: &RelPath,
        before: Option<&[u8]>,
        after: Option<&str>,
        mode: FileMode,
    ) -> Result<bool, FsError> {
        if self.read(clients)?.as_deref() != before {
            return Ok(false);
        }
        match after {
            Some(text) => fs.write_atomic(path, text.as_bytes(), mode)?,
            None => {
                fs.remove(path)?;
                fs.sync_dir(&path.parent())?;
            }
        }
        Ok(true)
    }

    /// Returns where the file is, with links followed.
    fn real(&self, clients: &ClientFiles<'_>) -> PathBuf {
        match &self.location {
            Location::Inside(path) => clients.context.fs.root().join(path.as_path()),
            Location::Outside(path) => path.clone(),
        }
    }

    /// Counts the directories above the file that do not exist.
    pub(super) fn missing_folders(&self, clients: &ClientFiles<'_>) -> usize {
        let path = self.real(clients);
        let is_missing = |folder: &&Path| {
            clients.context.fs.metadata_outside(folder).is_err_and(|error| error.is_not_found())
        };
        path.ancestors().skip(1).take_while(is_missing).count()
    }

    /// Removes directories above the file, the nearest first, as long as they are empty.
    pub(super) fn remove_folders(&self, clients: &ClientFiles<'_>, count: usize) {
        let path = self.real(clients);
        for folder in path.ancestors().skip(1).take(count) {
            let removed = match folder.strip_prefix(clients.context.fs.root()).map(RelPath::try_from) {
                Ok(Ok(inside)) => clients.context.fs.remove_dir(&inside),
                Ok(Err(_)) => return,
                Err(_) => remove_outside(folder),
            };
            // A directory that is no longer empty is kept.
            if removed.is_err() {
                return;
            }
        }
    }

    /// Returns the path for messages.
    pub(super) fn shown(&self, clients: &ClientFiles<'_>) -> String {
        match self.scope {
            Scope::Project => self.noted.clone(),
            Scope::User => clients.absolute(&self.noted).display().to_string(),
        }
    }
}

fn remove_outside(folder: &Path) -> Result<(), FsError> {
    let unfit = || FsError::new("remove", folder.to_string_lossy(), FsErrorKind::NotADirectory);
    let above = folder.parent().ok_or_else(unfit)?;
    let name = folder.file_name().and_then(|name| name.to_str()).ok_or_else(unfit)?;
    DiskFs::open(above)?.remove_dir(&name.parse().map_err(|_| unfit())?)
}
