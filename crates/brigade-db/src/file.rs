//! The database file: finds it, refuses links, and sets a broken file aside.

use std::path::PathBuf;
use std::time::Duration;

use brigade_fs::{FileId, FileKind, Fs, FsError, FsErrorKind, Location, Metadata, RelPath};
use brigade_journal::set_file_aside;

use crate::error::StoreError;

/// The path of the database, relative to the workspace.
pub const STATE_DB: &str = ".brigade/tools/state.db";

/// Files that SQLite keeps next to the database while it is open or after a crash.
const COMPANION_SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The location of the database.
pub(crate) struct DatabaseFile {
    /// The identity of the file.
    pub(crate) id: Option<FileId>,
    /// The path of the file with all links resolved.
    pub(crate) file: RelPath,
    /// The absolute path of the file.
    pub(crate) absolute: PathBuf,
}

/// Finds the file. Returns `None` if it does not exist.
///
/// # Errors
/// Fails if the path is a link or not a file, or if its directory is outside of the workspace.
pub(crate) fn find(fs: &dyn Fs) -> Result<Option<DatabaseFile>, FsError> {
    let path = RelPath::from_static(STATE_DB);
    let folder = path.parent();
    if !fs.exists(&folder)? {
        return Ok(None);
    }
    // Directories may be links within the workspace. SQLite gets a path without links.
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

/// Returns the metadata of the file if it exists. Refuses links.
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

/// Creates the empty file, readable only by its owner, and its directories.
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

/// Takes the lock for creating, migrating and setting aside the file.
pub(crate) fn lock(fs: &dyn Fs, timeout: Duration) -> Result<brigade_fs::Lock, FsError> {
    fs.create_dir_all(&RelPath::from_static(STATE_DB).parent())?;
    fs.lock(
        &RelPath::composed(&format!("{STATE_DB}.lock")),
        &format!("process {}", std::process::id()),
        timeout,
    )
}

/// Moves a broken file and its companion files, so that a person can try to recover them.
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
    fn companions_of_a_broken_file_are_moved_with_it() {
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
