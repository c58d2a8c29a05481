//! The file of the store: where it is, that no link leads to it, and setting a broken one aside.

use std::path::PathBuf;
use std::time::Duration;

use brigade_fs::{FileId, FileKind, Fs, FsError, FsErrorKind, Location, Metadata, RelPath};
use brigade_journal::set_file_aside;

use crate::error::StoreError;

/// The file of the store, relative to the workspace.
pub const STATE_DB: &str = ".brigade/tools/state.db";

/// The files that SQLite keeps beside it while it is open, or after a crash.
const COMPANION_SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Where the store is.
pub(crate) struct DatabaseFile {
    /// Which file it is.
    pub(crate) id: Option<FileId>,
    /// The file, without a link on the way.
    pub(crate) file: RelPath,
    /// The same, absolute.
    pub(crate) absolute: PathBuf,
}

/// Finds the file; `None` if there is none.
///
/// # Errors
/// Fails if it is a link or no file, or its directory leads out of the workspace.
pub(crate) fn find(fs: &dyn Fs) -> Result<Option<DatabaseFile>, FsError> {
    let path = RelPath::from_static(STATE_DB);
    let folder = path.parent();
    if !fs.exists(&folder)? {
        return Ok(None);
    }
    // Directories may be links within the workspace; SQLite is given a path that has none.
    let folder = match fs.resolve(folder.as_str(), None)? {
        Location::Inside(folder) => folder,
        Location::Outside(_) => return Err(FsError::new("open", folder.as_str(), FsErrorKind::Outside)),
    };
    let file = folder.join(path.name()).expect("a name is a path");
    for suffix in COMPANION_SUFFIXES {
        let beside = folder.join(&format!("{}{suffix}", path.name())).expect("a name is a path");
        check(fs, &beside)?;
    }
    let Some(found) = check(fs, &file)? else { return Ok(None) };
    let absolute = fs.root().join(file.as_path());
    Ok(Some(DatabaseFile { id: found.id, file, absolute }))
}

/// Returns the file if one is there, which is no link.
fn check(fs: &dyn Fs, path: &RelPath) -> Result<Option<Metadata>, FsError> {
    match fs.link_metadata(path) {
        Ok(found) if found.kind == FileKind::File => Ok(Some(found)),
        Ok(found) if found.kind == FileKind::Link => {
            Err(FsError::new("open", path.as_str(), FsErrorKind::Outside))
        }
        Ok(_) => Err(FsError::new("open", path.as_str(), FsErrorKind::NotAFile)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the empty file, private, and its directories.
pub(crate) fn make(fs: &dyn Fs) -> Result<DatabaseFile, FsError> {
    let path = RelPath::from_static(STATE_DB);
    fs.create_dir_all(&path.parent())?;
    if let Some(place) = find(fs)? {
        return Ok(place);
    }
    match fs.create(&path, 0o600) {
        Ok(mut file) => file.sync()?,
        Err(error) if error.is_exists() => {}
        Err(error) => return Err(error),
    }
    fs.sync_dir(&path.parent())?;
    find(fs)?.ok_or_else(|| FsError::new("open", STATE_DB, FsErrorKind::NotFound))
}

/// Holds the lock under which the file is made, migrated or set aside.
pub(crate) fn lock(fs: &dyn Fs, timeout: Duration) -> Result<brigade_fs::Lock, FsError> {
    fs.create_dir_all(&RelPath::from_static(STATE_DB).parent())?;
    fs.lock(
        &RelPath::composed(&format!("{STATE_DB}.lock")),
        &format!("process {}", std::process::id()),
        timeout,
    )
}

/// Moves a broken file and what SQLite keeps beside it, so that a person can still try to recover it.
pub(crate) fn set_aside(fs: &dyn Fs, place: &DatabaseFile) -> Result<String, StoreError> {
    let aside = set_file_aside(fs, &place.file)?;
    for suffix in COMPANION_SUFFIXES {
        let with = |path: &RelPath| {
            path.parent().join(&format!("{}{suffix}", path.name())).expect("a name is a path")
        };
        match fs.rename(&with(&place.file), &with(&aside)) {
            Ok(()) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    fs.sync_dir(&place.file.parent())?;
    Ok(aside.to_string())
}

#[cfg(test)]
mod tests {
    use brigade_fs::{FileMode, MemoryFs};

    use super::*;

    #[test]
    fn what_stands_beside_a_broken_file_is_moved_with_it() {
        let fs = MemoryFs::new();
        fs.create_dir_all(&RelPath::from_static(STATE_DB).parent()).unwrap();
        for name in [STATE_DB.to_owned(), format!("{STATE_DB}-wal"), format!("{STATE_DB}.quarantine-1")] {
            fs.write_atomic(&RelPath::composed(&name), name.as_bytes(), FileMode::Private).unwrap();
        }
        let place = find(&fs).unwrap().unwrap();
        assert_eq!(set_aside(&fs, &place).unwrap(), format!("{STATE_DB}.quarantine-2"));
        let read = |name: &str| fs.read(&RelPath::composed(&format!("{STATE_DB}{name}")), 100).ok();
        assert_eq!(read(".quarantine-2"), Some(STATE_DB.as_bytes().to_vec()));
        assert_eq!(read(".quarantine-2-wal"), Some(format!("{STATE_DB}-wal").into_bytes()));
        assert_eq!((read(""), read("-wal")), (None, None));
    }
}
