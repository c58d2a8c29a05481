//! Resolves the paths in arguments.

use brigade_access::builtin::{PathProblem, PathUse};
use brigade_core::{ErrorCode, Fingerprint, FingerprintStream, Json};
use brigade_fs::{EntryMetadata, FileKind, Folder, FsError, FsErrorKind, Location, OpenFile, RelPath};

use crate::context::{Context, Failure, TouchedPath};

/// A resolved path that is allowed for its use.
pub(super) struct Place {
    /// The path without links.
    pub(super) path: RelPath,
    /// The path as given, for results.
    pub(super) shown: String,
    /// Whether the path is written as a directory, with a final slash.
    pub(super) is_folder: bool,
}

impl From<PathProblem> for Failure {
    fn from(problem: PathProblem) -> Failure {
        Failure::new(problem.code(), problem.to_string())
    }
}

/// Converts a file error to a failure.
pub(super) fn failed(shown: &str, error: &FsError) -> Failure {
    let (code, message) = match &error.kind {
        FsErrorKind::NotFound => (ErrorCode::NotFound, format!("`{shown}` does not exist")),
        FsErrorKind::Outside => (ErrorCode::PathOutside, format!("`{shown}` leads out of the workspace")),
        FsErrorKind::NotAFile => (ErrorCode::NotAFile, format!("`{shown}` is not a regular file")),
        FsErrorKind::NotADirectory => {
            (ErrorCode::NotADirectory, format!("a part of `{shown}` is not a directory"))
        }
        FsErrorKind::DanglingLink => (ErrorCode::NotFound, format!("`{shown}` is a link to nothing")),
        FsErrorKind::TooLarge { limit } => {
            return Failure::new(ErrorCode::FileTooLarge, format!("`{shown}` is larger than {limit} bytes"))
                .data([("limit_bytes", Json::from(*limit))]);
        }
        FsErrorKind::Exists => {
            (ErrorCode::ChangedSinceRead, format!("`{shown}` changed while the call was running"))
        }
        FsErrorKind::Permission => (ErrorCode::PermissionDenied, format!("permission denied for `{shown}`")),
        FsErrorKind::NoSpace => (ErrorCode::DiskFull, "the disk is full".to_owned()),
        kind => (ErrorCode::FileError, format!("`{shown}`: {kind}")),
    };
    Failure::new(code, message)
}

/// Resolves a path. Links in it are followed here, once. The last component is followed only for reading.
pub(super) fn place(context: &Context<'_>, given: &str, usage: PathUse) -> Result<Place, Failure> {
    let root = context.files.root().display().to_string();
    let shown = context.guards.check(given, &root, usage)?;
    let (folder, name) = match (usage, shown.rsplit_once('/')) {
        (PathUse::Change, Some((folder, name))) => (folder, Some(name)),
        (PathUse::Change, None) => ("", Some(shown.as_str())),
        (PathUse::Read | PathUse::Search, _) => (shown.as_str(), None),
    };
    let real = match context.files.resolve(if folder.is_empty() { "." } else { folder }, None) {
        Ok(Location::Inside(real)) => real,
        Ok(Location::Outside(_)) => return Err(PathProblem::Outside.into()),
        Err(error) => return Err(failed(&shown, &error)),
    };
    let path = match name.filter(|name| !name.is_empty()) {
        Some(name) => real.join(name).map_err(|_| PathProblem::Outside)?,
        None => real,
    };
    let closed = || {
        let places = (usage == PathUse::Change).then(|| context.closed_places(context.files.root()))?;
        places.closes(path.as_str()).map(PathProblem::Closed)
    };
    if let Some(problem) = context.guards.refusal(path.as_str(), usage).or_else(closed) {
        return Err(problem.into());
    }
    let shown = if shown.is_empty() { ".".to_owned() } else { shown };
    let place = Place { path, shown, is_folder: path_names_a_folder(given) };
    // A path with a final slash must be a directory, if it exists.
    if place.is_folder && !place.path.is_root() {
        let found = context.files.link_metadata(&place.path).map(|found| found.kind);
        if found.is_ok_and(|kind| kind != FileKind::Directory) {
            return Err(Failure::new(
                ErrorCode::NotADirectory,
                format!("`{}` is not a directory", place.shown),
            ));
        }
    }
    Ok(place)
}

/// Returns whether a path ends like that of a directory.
fn path_names_a_folder(path: &str) -> bool {
    path.ends_with('/') || path.ends_with("/.")
}

impl Place {
    /// Opens the parent directory.
    pub(super) fn folder(&self, context: &Context<'_>) -> Result<Folder, Failure> {
        let root = root(context)?;
        root.beneath(&self.path.parent()).map_err(|error| failed(&self.shown, &error))
    }

    /// Returns the metadata; `None` if the path does not exist.
    pub(super) fn look(&self, folder: &Folder) -> Result<Option<EntryMetadata>, Failure> {
        match folder.look(self.path.name()) {
            Ok(look) => Ok(Some(look)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(failed(&self.shown, &error)),
        }
    }

    /// Returns the metadata of a file to change; `None` if it does not exist. Refuses links.
    pub(super) fn old(&self, folder: &Folder) -> Result<Option<EntryMetadata>, Failure> {
        let look = self.look(folder)?;
        match look.map(|look| look.kind) {
            None | Some(FileKind::File) => Ok(look),
            Some(FileKind::Link) => {
                Err(Failure::new(ErrorCode::IsALink, format!("`{}` is a link", self.shown)))
            }
            Some(FileKind::Directory | FileKind::Other) => {
                Err(Failure::new(ErrorCode::NotAFile, format!("`{}` is not a regular file", self.shown)))
            }
        }
    }
}

/// Opens the root of the files.
pub(super) fn root(context: &Context<'_>) -> Result<Folder, Failure> {
    Folder::root(context.files.root()).map_err(|error| failed(".", &error))
}

/// Checks that a file still has the sha256 that the caller saw.
pub(super) fn check_seen(
    shown: &str,
    expected: Option<&str>,
    actual: Option<Fingerprint>,
) -> Result<(), Failure> {
    let actual = actual.map(Fingerprint::to_hex);
    match expected {
        Some(expected) if Some(expected.to_ascii_lowercase()) != actual => {
            let message = format!("`{shown}` is not what was read; read it again");
            Err(Failure::new(ErrorCode::ChangedSinceRead, message).data([("sha256", Json::from(actual))]))
        }
        _ => Ok(()),
    }
}

impl Context<'_> {
    /// Records a change of a file, for the receipt.
    pub(super) fn touch(&mut self, path: &RelPath, before: Option<Fingerprint>, after: Option<Fingerprint>) {
        let path = self.in_workspace(path.as_str());
        self.touched.push(TouchedPath { path, before, after });
    }

    /// Returns the sha256 of an open file. Cancelling the call stops the hashing.
    pub(super) fn sha256(&self, file: &mut OpenFile, shown: &str) -> Result<Fingerprint, Failure> {
        let mut sha256 = FingerprintStream::new();
        self.each(file, shown, |piece| sha256.update(piece))?;
        Ok(sha256.finish())
    }

    /// Reads a file to its end, unless the call is cancelled or the file is larger than any that is bound.
    pub(super) fn each(
        &self,
        file: &mut OpenFile,
        shown: &str,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Failure> {
        let limit = self.fs.bound_file_limit().get();
        let mut left = limit.checked_sub(file.look.len);
        let mut size = 0;
        if left.is_some() {
            let read = file.each(|piece| {
                size += piece.len() as u64;
                left = limit.checked_sub(size);
                take(piece);
                left.is_some() && self.check_cancelled().is_ok()
            });
            read.map_err(|error| failed(shown, &error))?;
        }
        self.check_cancelled()?;
        match left {
            Some(_) => Ok(()),
            None => Err(failed(shown, &FsError::new("read", shown, FsErrorKind::TooLarge { limit }))),
        }
    }

    /// Fails if the call was cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), Failure> {
        match self.cancel {
            Some(cancel) if cancel.is_cancelled() => {
                Err(Failure::new(ErrorCode::Cancelled, "the call was cancelled"))
            }
            _ => Ok(()),
        }
    }
}
