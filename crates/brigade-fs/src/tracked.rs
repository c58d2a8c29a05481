//! Checks whether git tracks files that count only on this host, such as its state and policy. Reads the indexes of
//! repositories, and runs nothing.
//!
//! The workspace may be in a repository, be a repository, or contain one. So every directory from the file's up to
//! the root of the file system is inspected. Its `.git` is a directory, or a file that names one (for worktrees and
//! submodules). An unreadable index counts as tracking the file.

mod index;

use std::path::{Path, PathBuf};

use crate::{FileKind, Fs, FsError, FsErrorKind, Location};
use index::Tracks;

/// The maximum size of an index.
const INDEX_LIMIT: u64 = 1 << 30;

/// The maximum size of a `.git` file.
const LINK_LIMIT: u64 = 64 << 10;

/// Returns whether any repository above a file of the workspace tracks it, or what it links to.
pub fn is_tracked(fs: &dyn Fs, file: &str) -> bool {
    let root = fs.root();
    let mut paths = vec![root.join(file)];
    match fs.resolve(file, None) {
        Ok(Location::Inside(path)) => paths.push(root.join(path.as_path())),
        Ok(Location::Outside(path)) => paths.push(path),
        // The file itself is unreadable, too.
        Err(_) => {}
    }
    paths.dedup();
    paths.iter().any(|path| is_tracked_at(fs, path))
}

/// Refuses a file of the workspace that git tracks, because a cloned repository may have brought it.
///
/// # Errors
/// Returns [`FsErrorKind::Tracked`].
pub fn require_untracked(fs: &dyn Fs, file: &str) -> Result<(), FsError> {
    match is_tracked(fs, file) {
        true => Err(FsError::new("use", file, FsErrorKind::Tracked)),
        false => Ok(()),
    }
}

fn is_tracked_at(fs: &dyn Fs, file: &Path) -> bool {
    file.ancestors().skip(1).any(|directory| {
        let Ok(path) = file.strip_prefix(directory) else { return false };
        let Some(path) = path.to_str() else { return true };
        match repository(fs, directory) {
            Repository::None => false,
            Repository::Unreadable => true,
            Repository::At(repository) => tracks(fs, &repository, path),
        }
    })
}

enum Repository {
    None,
    Unreadable,
    At(PathBuf),
}

/// Finds the repository with this directory as its work tree.
fn repository(fs: &dyn Fs, directory: &Path) -> Repository {
    let git = directory.join(".git");
    match fs.metadata_outside(&git) {
        Ok(metadata) if metadata.kind == FileKind::Directory => Repository::At(git),
        Ok(metadata) if metadata.kind == FileKind::File => {
            let Ok(bytes) = fs.read_outside(&git, LINK_LIMIT) else { return Repository::Unreadable };
            let text = String::from_utf8_lossy(&bytes);
            match text.strip_prefix("gitdir:").map(str::trim) {
                Some(named) if !named.is_empty() => Repository::At(directory.join(named)),
                _ => Repository::None,
            }
        }
        Err(error) if is_permission(&error.kind) => Repository::Unreadable,
        Ok(_) | Err(_) => Repository::None,
    }
}

fn is_permission(kind: &FsErrorKind) -> bool {
    matches!(kind, FsErrorKind::Permission)
}

/// Returns whether the index of a repository holds a path.
fn tracks(fs: &dyn Fs, repository: &Path, path: &str) -> bool {
    let read = |file: &Path| fs.read_outside(file, INDEX_LIMIT);
    let bytes = match read(&repository.join("index")) {
        Ok(bytes) => bytes,
        // A repository without an index tracks nothing.
        Err(error) => return !error.is_not_found(),
    };
    match index::tracks(&bytes, path.as_bytes()) {
        Ok(Tracks::Yes) | Err(index::InvalidIndex) => true,
        Ok(Tracks::No) => false,
        Ok(Tracks::Shared(id)) => match read(&repository.join(format!("sharedindex.{id}"))) {
            Ok(bytes) => !matches!(index::tracks(&bytes, path.as_bytes()), Ok(Tracks::No)),
            Err(_) => true,
        },
    }
}
