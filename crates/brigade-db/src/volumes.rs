//! Volumes: folders of an agent in `.brigade/volumes/ID/`, with a size limit, and their files.

use brigade_core::{ErrorCode, Timestamp};
use brigade_fs::{DiskFs, FileKind, FileMode, Fs, FsError, FsErrorKind, Lock, RelPath};
use brigade_macros::part;
use rusqlite::{Row, Transaction, params};
use std::time::Duration;

use crate::error::StoreError;
use crate::store::{Store, find, list, new_id, time};

/// The folder of all volumes, relative to the workspace.
pub const VOLUMES: &str = ".brigade/volumes";

/// The maximum length of a label, in bytes.
pub const MAX_LABEL: usize = 128;

/// Limits for volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of volumes of one agent.
    pub max_count: u64,
    /// The maximum sum of the size limits of one agent's volumes, in bytes.
    pub max_bytes: u64,
    /// The maximum size of a file, in bytes.
    pub max_file_bytes: u64,
    /// The maximum number of files and folders of one volume.
    pub max_entries: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_count: 16, max_bytes: 1 << 30, max_file_bytes: 16 << 20, max_entries: 20_000 }
    }
}

/// A volume.
#[part(PartialEq, Eq)]
pub struct Volume {
    /// Its id, which is the name of its folder.
    pub id: String,
    /// The agent that created it, or `person`.
    pub owner: String,
    /// Its label.
    pub label: String,
    /// The maximum total size of its files, in bytes.
    pub size_limit_bytes: u64,
    /// When it was created.
    pub created_at: Timestamp,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeEntry {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: FileKind,
    /// The length of a file, in bytes.
    pub bytes: u64,
}

fn read(row: &Row<'_>) -> rusqlite::Result<Volume> {
    let limit: i64 = row.get("size_limit_bytes")?;
    Ok(Volume {
        id: row.get("id")?,
        owner: row.get("owner")?,
        label: row.get("label")?,
        size_limit_bytes: u64::try_from(limit).unwrap_or(0),
        created_at: time(row, "created_at")?,
    })
}

fn by_id(transaction: &Transaction<'_>, owner: Option<&str>, id: &str) -> Result<Volume, StoreError> {
    let sql = "SELECT * FROM volume WHERE id = ?1 AND (?2 IS NULL OR owner = ?2)";
    find(transaction, "volume", sql, params![id, owner], read)
}

/// Returns the folder of a volume, relative to the workspace.
pub fn folder(id: &str) -> Result<RelPath, StoreError> {
    let path = RelPath::from_static(VOLUMES);
    path.join(id).map_err(|_| StoreError::missing("volume"))
}

/// Returns the lock for changing files in the folder of a volume.
fn lock_of(folder: &RelPath) -> RelPath {
    RelPath::composed(&format!("{folder}.lock"))
}

impl Store {
    /// Creates a volume with its folder.
    ///
    /// # Errors
    /// Returns `invalid_arguments`, `too_many` or `quota_exceeded`. Also fails on a disk error.
    pub fn create_volume(
        &self,
        fs: &dyn Fs,
        owner: &str,
        label: &str,
        size_limit_bytes: u64,
        limits: &Limits,
        now: Timestamp,
    ) -> Result<Volume, StoreError> {
        if label.trim().is_empty() || MAX_LABEL < label.len() || label.chars().any(char::is_control) {
            let message = format!("a label has 1 to {MAX_LABEL} bytes and no control characters");
            return Err(StoreError::refused(ErrorCode::InvalidArguments, message));
        }
        if size_limit_bytes == 0 || i64::try_from(size_limit_bytes).is_err() {
            return Err(StoreError::refused(
                ErrorCode::InvalidArguments,
                "`size_limit_bytes` must be at least 1",
            ));
        }
        self.change(|transaction| {
            let (count, sum): (i64, i64) = transaction.query_row(
                "SELECT count(*), coalesce(sum(size_limit_bytes), 0) FROM volume WHERE owner = ?1",
                [owner],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            if i64::try_from(limits.max_count).is_ok_and(|most| most <= count) {
                return Err(StoreError::refused(ErrorCode::TooMany, format!("there may be {} volumes", limits.max_count)));
            }
            let left = limits.max_bytes.saturating_sub(u64::try_from(sum).unwrap_or(u64::MAX));
            if left < size_limit_bytes {
                let message = format!("{left} of {} bytes are left for new volumes", limits.max_bytes);
                return Err(StoreError::refused(ErrorCode::QuotaExceeded, message));
            }
            let id = new_id(transaction, "vol")?;
            transaction.execute(
                "INSERT INTO volume (id, owner, label, size_limit_bytes, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id, owner, label, size_limit_bytes as i64, now.unix_micros()],
            )?;
            // The folder comes first: a folder without a row is harmless, but a row without a folder is not.
            fs.create_dir_all(&folder(&id)?)?;
            by_id(transaction, Some(owner), &id)
        })
    }

    /// Lists volumes, oldest first. `None` as owner lists those of all owners.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn volumes(&self, owner: Option<&str>) -> Result<Vec<Volume>, StoreError> {
        self.look(|transaction| {
            let sql = "SELECT * FROM volume WHERE ?1 IS NULL OR owner = ?1 ORDER BY created_at, id";
            list(transaction, sql, [owner], read)
        })
    }

    /// Returns a volume. `None` as owner finds those of all owners.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn volume(&self, owner: Option<&str>, id: &str) -> Result<Volume, StoreError> {
        self.look(|transaction| by_id(transaction, owner, id))
    }

    /// Deletes a volume with its files.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn delete_volume(&self, fs: &dyn Fs, owner: Option<&str>, id: &str) -> Result<Volume, StoreError> {
        self.change(|transaction| {
            let volume = by_id(transaction, owner, id)?;
            let folder = folder(&volume.id)?;
            match fs.link_metadata(&folder) {
                Ok(found) if found.kind == FileKind::Directory => fs.remove_tree(&folder)?,
                Ok(_) => fs.remove(&folder)?,
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
            transaction.execute("DELETE FROM volume WHERE id = ?1", [id])?;
            // Without the folder, the lock is useless. If removing it fails, only a small file remains.
            drop(fs.remove(&lock_of(&folder)));
            Ok(volume)
        })
    }
}

/// The files of a volume. Paths and links cannot leave its folder.
pub struct VolumeFiles {
    fs: DiskFs,
    limit: u64,
    max_file_bytes: u64,
    max_entries: usize,
    /// Held during changes, so that two writers cannot both use the last free bytes.
    lock: Option<Lock>,
}

/// Resolves the path of a request within the volume.
fn inside(path: &str) -> Result<RelPath, StoreError> {
    path.trim_start_matches('/')
        .parse()
        .map_err(|_| StoreError::refused(ErrorCode::PathOutside, "the path leads out of its folder"))
}

/// Converts a disk error into a refusal with a code.
fn explained(error: FsError) -> StoreError {
    match error.kind {
        FsErrorKind::NotFound => StoreError::missing("file or folder"),
        FsErrorKind::Outside | FsErrorKind::DanglingLink => {
            StoreError::refused(ErrorCode::PathOutside, "the path leads out of its folder")
        }
        FsErrorKind::NotAFile => StoreError::refused(ErrorCode::NotAFile, "this is not a file"),
        FsErrorKind::NotADirectory => StoreError::refused(ErrorCode::NotADirectory, "this is not a folder"),
        FsErrorKind::TooLarge { limit } => {
            StoreError::refused(ErrorCode::FileTooLarge, format!("the file has more than {limit} bytes"))
        }
        _ => error.into(),
    }
}

/// Refuses a folder that is missing or a link.
fn real_folder(fs: &dyn Fs, folder: &RelPath) -> Result<(), StoreError> {
    for path in [folder.parent().parent(), folder.parent(), folder.clone()] {
        let found = fs.link_metadata(&path).map_err(|_| StoreError::missing("volume"))?;
        if found.kind != FileKind::Directory {
            return Err(StoreError::missing("volume"));
        }
    }
    Ok(())
}

impl VolumeFiles {
    /// Opens the folder of a volume.
    ///
    /// # Errors
    /// Returns `not_found` if the folder is missing or a link.
    pub fn open(
        fs: &dyn Fs,
        volume: &Volume,
        limits: &Limits,
        changes: Option<Duration>,
    ) -> Result<VolumeFiles, StoreError> {
        let folder = folder(&volume.id)?;
        real_folder(fs, &folder)?;
        let lock = match changes {
            None => None,
            Some(patience) => {
                Some(fs.lock(&lock_of(&folder), &format!("process {}", std::process::id()), patience)?)
            }
        };
        Ok(VolumeFiles {
            fs: DiskFs::open(&fs.root().join(folder.as_path()))?,
            limit: volume.size_limit_bytes,
            max_file_bytes: limits.max_file_bytes,
            max_entries: limits.max_entries,
            lock,
        })
    }

    /// Opens a folder that another part of Brigade left, for reading.
    ///
    /// # Errors
    /// Returns `not_found` if the folder is missing or a link.
    pub fn of_folder(fs: &dyn Fs, folder: &RelPath, limits: &Limits) -> Result<VolumeFiles, StoreError> {
        real_folder(fs, folder)?;
        let opened = DiskFs::open(&fs.root().join(folder.as_path()))?;
        Ok(VolumeFiles {
            fs: opened,
            limit: 0,
            max_file_bytes: limits.max_file_bytes,
            max_entries: limits.max_entries,
            lock: None,
        })
    }

    /// Counts the bytes of all files.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn used(&self) -> Result<u64, StoreError> {
        self.usage().map(|(bytes, _)| bytes)
    }

    /// Refuses a path if creating its missing parts would exceed the maximum number of entries.
    fn check_limits(&self, path: &RelPath, entries: usize) -> Result<(), StoreError> {
        let mut missing = 0;
        let mut part = path.clone();
        while !part.is_root() && !self.fs.exists(&part).map_err(explained)? {
            missing += 1;
            part = part.parent();
        }
        if 0 < missing && self.max_entries < entries + missing {
            let message = format!("a volume holds at most {} files and folders", self.max_entries);
            return Err(StoreError::refused(ErrorCode::TooMany, message));
        }
        Ok(())
    }

    /// Returns the total size of all files, and the number of files and folders.
    fn usage(&self) -> Result<(u64, usize), StoreError> {
        let (mut bytes, mut entries) = (0u64, 0);
        let mut folders = vec![RelPath::root()];
        while let Some(folder) = folders.pop() {
            for entry in self.fs.list_dir(&folder)? {
                entries += 1;
                if self.max_entries < entries {
                    // Another program added them. Counting stops here, and nothing can be added.
                    return Ok((bytes, entries));
                }
                let path = folder.join(&entry.name).map_err(|_| StoreError::missing("volume"))?;
                match entry.kind {
                    FileKind::Directory => folders.push(path),
                    FileKind::File => match self.fs.link_metadata(&path) {
                        Ok(found) => bytes = bytes.saturating_add(found.len),
                        Err(error) if error.is_not_found() => {}
                        Err(error) => return Err(error.into()),
                    },
                    FileKind::Link | FileKind::Other => {}
                }
            }
        }
        Ok((bytes, entries))
    }

    /// Lists a folder, sorted by name.
    ///
    /// # Errors
    /// Returns `not_found`, `not_a_directory` or `path_outside`. Also fails on a disk error.
    pub fn list(&self, path: &str) -> Result<Vec<VolumeEntry>, StoreError> {
        let folder = inside(path)?;
        let entries = self.fs.list_dir(&folder).map_err(explained)?;
        let entry = |entry: brigade_fs::DirEntry| {
            let path = folder.join(&entry.name).ok()?;
            let found = self.fs.link_metadata(&path).ok()?;
            let bytes = if found.kind == FileKind::File { found.len } else { 0 };
            Some(VolumeEntry { name: entry.name, kind: found.kind, bytes })
        };
        Ok(entries.into_iter().filter_map(entry).collect())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Returns `not_found`, `not_a_file`, `file_too_large` or `path_outside`. Also fails on a disk error.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, StoreError> {
        self.fs.read(&inside(path)?, self.max_file_bytes).map_err(explained)
    }

    /// Writes a file and creates its parent folders. Checks the limits before anything is written.
    ///
    /// # Errors
    /// Returns `quota_exceeded`, `too_many`, `file_too_large`, `not_a_file` or `path_outside`. Also fails on a disk
    /// error.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), StoreError> {
        debug_assert!(self.lock.is_some(), "files are changed under the lock of the volume");
        let target = inside(path)?;
        let new = bytes.len() as u64;
        if self.max_file_bytes < new {
            let message = format!("a file has at most {} bytes", self.max_file_bytes);
            return Err(StoreError::refused(ErrorCode::FileTooLarge, message));
        }
        let old = match self.fs.link_metadata(&target) {
            Ok(found) if found.kind == FileKind::File => found.len,
            Ok(_) => {
                return Err(StoreError::refused(ErrorCode::NotAFile, "a folder or a link has this name"));
            }
            Err(error) if error.is_not_found() => 0,
            Err(error) => return Err(explained(error)),
        };
        let (used, entries) = self.usage()?;
        self.check_limits(&target, entries)?;
        if self.limit < used.saturating_sub(old).saturating_add(new) {
            let message =
                format!("{used} of {} bytes are used, so a file of {new} bytes does not fit", self.limit);
            return Err(StoreError::refused(ErrorCode::QuotaExceeded, message));
        }
        self.fs.create_dir_all(&target.parent()).map_err(explained)?;
        self.fs.write_atomic(&target, bytes, FileMode::Private).map_err(explained)
    }

    /// Creates a folder and its parents.
    ///
    /// # Errors
    /// Returns `not_a_directory`, `too_many` or `path_outside`. Also fails on a disk error.
    pub fn make_folder(&self, path: &str) -> Result<(), StoreError> {
        let folder = inside(path)?;
        if folder.is_root() {
            return Err(StoreError::refused(ErrorCode::InvalidArguments, "give the folder a name"));
        }
        self.check_limits(&folder, self.usage()?.1)?;
        self.fs.create_dir_all(&folder).map_err(explained)
    }

    /// Deletes a file, a link or a folder. A folder that is not empty needs `recursive`.
    ///
    /// # Errors
    /// Returns `not_found`, `not_empty` or `path_outside`. Also fails on a disk error.
    pub fn delete(&self, path: &str, recursive: bool) -> Result<(), StoreError> {
        let target = inside(path)?;
        if target.is_root() {
            let message = "the root of a volume cannot be deleted; use `volume.delete` for the volume";
            return Err(StoreError::refused(ErrorCode::InvalidArguments, message));
        }
        let found = self.fs.link_metadata(&target).map_err(explained)?;
        if found.kind != FileKind::Directory {
            return self.fs.remove(&target).map_err(explained);
        }
        if !recursive {
            return Err(StoreError::refused(
                ErrorCode::IsADirectory,
                "this folder is not empty; set `recursive` to delete it with its content",
            ));
        }
        self.fs.remove_tree(&target).map_err(explained)
    }
}
