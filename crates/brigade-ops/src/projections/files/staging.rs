//! Writes many files at once. Each appears completely or not at all, with as few syncs as possible.
//!
//! 1. Every file is written to the staging directory inside `.brigade`. A crash leaves nothing in directories
//!    that harnesses read, and a full disk fails before any file is replaced.
//! 2. The staged bytes are made durable: file by file if there are few, otherwise with one sync of the file system.
//! 3. Each file is renamed to its target, after the target was compared with the plan again.
//! 4. The names are made durable in the same way.
//!
//! The caller must hold the apply lock throughout.

use std::collections::BTreeSet;
use std::sync::Mutex;

use brigade_core::parallel::in_parallel;
use brigade_fs::{FileKind, FileMode, Fs, FsError, FsErrorKind, RelPath};

/// The staging directory.
const STAGING: &str = ".brigade/tools/staging";

/// From this number of files on, one sync of the file system is cheaper than syncing each file and directory.
const WORTH_ONE_SYNC: usize = 16;

/// The largest file that is compared before it is replaced.
const FILE_LIMIT: u64 = 64 << 20;

/// The mode of a new directory. It belongs to the repository, not to the private state.
const FOLDER_MODE: u32 = 0o755;

/// The mode of a new file.
const NEW_MODE: u32 = 0o644;

/// One file to write.
pub(crate) struct Write<'b> {
    /// The target, with links resolved.
    pub(crate) path: RelPath,
    /// The new content.
    pub(crate) bytes: &'b [u8],
    /// The expected current content; `None` if the target must not exist.
    pub(crate) before: Option<&'b [u8]>,
}

/// The result of one write.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The file was written.
    Written,
    /// The target changed since it was planned, and was left alone.
    Changed,
    /// The write failed.
    Failed(FsError),
}

/// Writes files and returns the result of each.
///
/// # Errors
/// Fails if the bytes cannot be staged or made durable. Nothing was replaced then, unless only the last sync failed.
pub(crate) fn write_all(fs: &dyn Fs, writes: &[Write<'_>]) -> Result<Vec<Outcome>, FsError> {
    if writes.is_empty() {
        return Ok(Vec::new());
    }
    let batch = Batch { fs, is_large: WORTH_ONE_SYNC <= writes.len(), folders: Mutex::default() };
    let staging = RelPath::from_static(STAGING);
    fs.create_dir_all(&staging)?;
    clear_staging(fs, &staging);
    let staged = in_parallel(writes.len(), |index| batch.stage(&at(index), &writes[index]));
    let stored = staged
        .into_iter()
        .collect::<Result<Vec<()>, FsError>>()
        .and_then(|_| if batch.is_large { fs.sync_file_system() } else { Ok(()) });
    if let Err(error) = stored {
        clear_staging(fs, &staging);
        return Err(error);
    }
    let outcomes = in_parallel(writes.len(), |index| batch.place(&at(index), &writes[index]));
    clear_staging(fs, &staging);
    let folders = batch.folders.into_inner().expect("no thread panics while it holds this");
    if batch.is_large {
        fs.sync_file_system()?;
    } else {
        sync_names(fs, &folders)?;
    }
    Ok(outcomes)
}

/// Makes changed names in directories durable.
pub(crate) fn sync_names(fs: &dyn Fs, folders: &BTreeSet<RelPath>) -> Result<(), FsError> {
    if WORTH_ONE_SYNC <= folders.len() {
        return fs.sync_file_system();
    }
    for folder in folders {
        match fs.sync_dir(folder) {
            Err(error) if error.is_not_found() => {}
            result => result?,
        }
    }
    Ok(())
}

/// Returns whether a file still has the content that the plan was made for.
pub(crate) fn is_unchanged(fs: &dyn Fs, path: &RelPath, before: Option<&[u8]>) -> Result<bool, FsError> {
    let Some(before) = before else { return fs.exists(path).map(|exists| !exists) };
    match fs.read(path, FILE_LIMIT) {
        Ok(bytes) => Ok(bytes == before),
        Err(error) => match error.kind {
            FsErrorKind::NotFound | FsErrorKind::NotAFile | FsErrorKind::TooLarge { .. } => Ok(false),
            _ => Err(error),
        },
    }
}

struct Batch<'w> {
    fs: &'w dyn Fs,
    is_large: bool,
    /// The directories with new names.
    folders: Mutex<BTreeSet<RelPath>>,
}

impl Batch<'_> {
    fn stage(&self, temporary: &RelPath, write: &Write<'_>) -> Result<(), FsError> {
        let mode = match write.before {
            Some(_) => self.fs.metadata(&write.path).map_or(NEW_MODE, |metadata| metadata.mode),
            None => NEW_MODE,
        };
        let named = |error| FsError { operation: "write", path: write.path.to_string(), ..error };
        let mut file = self.fs.create(temporary, mode).map_err(named)?;
        file.write(write.bytes).map_err(named)?;
        if self.is_large { Ok(()) } else { file.sync().map_err(named) }
    }

    fn place(&self, temporary: &RelPath, write: &Write<'_>) -> Outcome {
        match self.try_place(temporary, write) {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Failed(error),
        }
    }

    fn try_place(&self, temporary: &RelPath, write: &Write<'_>) -> Result<Outcome, FsError> {
        let folder = write.path.parent();
        if write.before.is_none() {
            self.make_folder(&folder)?;
        }
        if !is_unchanged(self.fs, &write.path, write.before)? {
            return Ok(Outcome::Changed);
        }
        if self.fs.rename(temporary, &write.path).is_err() {
            // The target may be on another file system than the staging directory.
            self.fs.write_atomic(&write.path, write.bytes, FileMode::KeepOr(NEW_MODE))?;
        }
        self.note(folder);
        Ok(Outcome::Written)
    }

    /// Creates a directory and its parents with the mode of a repository directory.
    fn make_folder(&self, folder: &RelPath) -> Result<(), FsError> {
        match self.fs.metadata(folder) {
            Ok(metadata) if metadata.kind == FileKind::Directory => return Ok(()),
            Err(error) if error.is_not_found() => self.make_folder(&folder.parent())?,
            // Creating it returns the error.
            Ok(_) | Err(_) => {}
        }
        match self.fs.create_dir(folder) {
            // Another thread created it, or the name is taken by something else, and writing into it fails.
            Err(error) if error.is_exists() => return Ok(()),
            result => result?,
        }
        self.fs.set_mode(folder, FOLDER_MODE)?;
        self.note(folder.parent());
        Ok(())
    }

    fn note(&self, folder: RelPath) {
        if !self.is_large {
            self.folders.lock().expect("no thread panics while it holds this").insert(folder);
        }
    }
}

fn at(index: usize) -> RelPath {
    RelPath::composed(&format!("{STAGING}/{index}"))
}

/// Empties the staging directory. A file that cannot be removed is tried again next time.
fn clear_staging(fs: &dyn Fs, staging: &RelPath) {
    for entry in fs.list_dir(staging).unwrap_or_default() {
        if let Ok(path) = staging.join(&entry.name) {
            let _ = fs.remove(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::MemoryFs;

    use super::Outcome::{Changed, Failed, Written};
    use super::*;

    #[test]
    fn a_target_that_changes_meanwhile_is_left() {
        let fs = MemoryFs::new();
        for (path, text) in [("changed", "theirs"), ("same", "old"), ("appeared", "theirs")] {
            fs.write_atomic(&RelPath::composed(path), text.as_bytes(), FileMode::KeepOr(0o644)).unwrap();
        }
        let write = |path, before| Write { path: RelPath::composed(path), bytes: b"ours", before };
        let writes = [
            write("changed", Some(&b"old"[..])),
            write("same", Some(&b"old"[..])),
            write("appeared", None),
            write("vanished", Some(&b"old"[..])),
            write("new/file", None),
            write("same/below-a-file", None),
        ];
        let outcomes = write_all(&fs, &writes).unwrap();
        assert!(
            matches!(outcomes[..], [Changed, Written, Changed, Changed, Written, Failed(_)]),
            "{outcomes:?}"
        );
        let read =
            |path| String::from_utf8(fs.read(&RelPath::composed(path), 100).unwrap_or_default()).unwrap();
        assert_eq!(
            ["changed", "same", "appeared", "vanished", "new/file"].map(read),
            ["theirs", "ours", "theirs", "", "ours"]
        );
    }
}
