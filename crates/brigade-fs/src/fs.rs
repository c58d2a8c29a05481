//! The file system interface that the rest of Brigade uses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use brigade_core::Timestamp;

use crate::replacement::{Replacement, create_temporary, remove_left};
use crate::{FsError, FsErrorKind, Lock, RelPath};

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. Only [`Fs::link_metadata`] and [`Fs::list_dir`] report one.
    Link,
    /// A device, pipe or socket.
    Other,
}

/// Metadata that is known without reading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The kind of file.
    pub kind: FileKind,
    /// Length in bytes.
    pub len: u64,
    /// When the content last changed.
    pub modified: Timestamp,
    /// Permission bits, without the file kind.
    pub mode: u32,
    /// The account that owns the file; `None` for files that are not on a disk.
    pub uid: Option<u32>,
    /// The identity of the file; `None` for files that are not on a disk.
    pub id: Option<FileId>,
}

impl Metadata {
    /// Returns who owns the file.
    pub fn owner(&self) -> Owner {
        match self.uid {
            None => Owner::Us,
            Some(0) => Owner::Root,
            Some(uid) if uid == rustix::process::geteuid().as_raw() => Owner::Us,
            Some(_) => Owner::Other,
        }
    }
}

/// Who owns a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user of this process.
    Us,
    /// The administrator.
    Root,
    /// Another account.
    Other,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The file name.
    pub name: String,
    /// The kind of the entry itself; links are not followed.
    pub kind: FileKind,
}

/// The permissions of a written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// Mode 0600.
    Private,
    /// The mode of the replaced file, or this mode for a new file.
    KeepOr(u32),
    /// Exactly this mode.
    Exactly(u32),
}

/// Where a path from a configuration file leads after following links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Beneath the root.
    Inside(RelPath),
    /// Outside the root, at this absolute path.
    Outside(PathBuf),
}

/// Identifies a file regardless of its name. Opening the same file twice gives equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The device.
    pub device: u64,
    /// The inode number on that device.
    pub inode: u64,
}

/// Ranges up to this length are read without asking for the file length first.
const SHORT_RANGE: usize = 64 << 10;

/// An open file that can be read at any offset. It remains the same file if another file takes over its name.
pub trait ReadFile: Send + Sync {
    /// Reads up to `buffer.len()` bytes at `offset`. Zero means the end of the file.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, FsError>;

    /// Returns the current length.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn len(&self) -> Result<u64, FsError>;

    /// Returns the identity of the file.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn id(&self) -> Result<FileId, FsError>;

    /// Returns whether the file is currently empty.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn is_empty(&self) -> Result<bool, FsError> {
        Ok(self.len()? == 0)
    }

    /// Reads a range, which ends early at the end of the file.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn read_range(&self, offset: u64, length: usize) -> Result<Vec<u8>, FsError> {
        let mut length = length;
        // Limit long ranges to the length of the file before allocating. Short ranges do not need the check.
        if SHORT_RANGE < length {
            let end = self.len()?;
            length = length.min(usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX));
        }
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.read_at(offset + filled as u64, &mut bytes[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

/// An open file that is written at its end.
pub trait WriteFile: Send {
    /// Appends all bytes.
    ///
    /// # Errors
    /// Fails on a disk error. Some of the bytes may have been written.
    fn write(&mut self, bytes: &[u8]) -> Result<(), FsError>;

    /// Returns once all written bytes are on disk.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn sync(&mut self) -> Result<(), FsError>;

    /// Returns the current length.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn length(&self) -> Result<u64, FsError>;

    /// Truncates the file to a length.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn truncate(&mut self, length: u64) -> Result<(), FsError>;

    /// Sets the modification time to now, and keeps the [reserved](WriteFile::reserve) space.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn touch(&mut self) -> Result<(), FsError> {
        self.truncate(self.length()?)
    }

    /// Reserves space for the first `length` bytes, so that writing them cannot fail on a full disk. The length of the
    /// file does not change. Does nothing if the system or file system does not support it.
    ///
    /// # Errors
    /// Fails if the disk does not have enough space.
    fn reserve(&mut self, _length: u64) -> Result<(), FsError> {
        Ok(())
    }

    /// Prevents other processes, including those in other containers, from taking the open file for a
    /// [leftover](Fs::take_left). Returns false if another process already took it.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn hold(&mut self) -> Result<bool, FsError> {
        Ok(true)
    }
}

/// A directory tree. Every relative path is opened beneath its root.
///
/// The required methods are single disk steps, and the provided methods combine them. Tests can therefore inject a
/// fault between any two steps.
pub trait Fs: Send + Sync {
    /// Returns the absolute path of the root, for messages and child processes.
    fn root(&self) -> &Path;

    /// Returns where a path from a configuration file leads. Relative paths start at the root, `~/` at `home`, and
    /// links are followed. The file need not exist.
    ///
    /// # Errors
    /// Fails if a directory on the path cannot be searched, or a name is not UTF-8.
    fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// Fails if the file does not exist, is not a regular file, or is outside the root.
    fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError>;

    /// Opens a file anywhere on the machine: one named on the command line, a program to hash, or a file in a directory
    /// that the policy allows.
    ///
    /// # Errors
    /// Fails if the file does not exist or is not a regular file.
    fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError>;

    /// Reads a file that a person named on the command line, of at most `limit` bytes. It may be a pipe, such as the
    /// shell creates for `<(…)`; a pipe is read until its writers have closed it.
    ///
    /// # Errors
    /// Fails if it does not exist, is longer than `limit`, or is a directory.
    fn read_given(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FsError> {
        self.read_outside(path, limit)
    }

    /// Returns the limit of files that are [bound](crate::bound_fingerprint).
    fn bound_file_limit(&self) -> &crate::BoundFileLimit {
        static DEFAULT: crate::BoundFileLimit = crate::BoundFileLimit::new();
        &DEFAULT
    }

    /// Creates a new file.
    ///
    /// # Errors
    /// Fails if the name is taken or the directory is not writable.
    fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError>;

    /// Opens an existing file for appending.
    ///
    /// # Errors
    /// Fails if the file does not exist, is not a regular file, or is outside the root.
    fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError>;

    /// Creates one directory with mode 0700.
    ///
    /// # Errors
    /// Fails if the name is taken or the parent does not exist.
    fn create_dir(&self, path: &RelPath) -> Result<(), FsError>;

    /// Returns once the names in a directory are on disk.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn sync_dir(&self, path: &RelPath) -> Result<(), FsError>;

    /// Renames a file or directory, replacing an existing target. Durable only after [`Fs::sync_dir`].
    ///
    /// # Errors
    /// Fails if the file does not exist, or the target is a directory that is not empty.
    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError>;

    /// Removes a file, or a link itself. Durable only after [`Fs::sync_dir`].
    ///
    /// # Errors
    /// Fails if the name does not exist or is a directory.
    fn remove(&self, path: &RelPath) -> Result<(), FsError>;

    /// Lists a directory, sorted by name. Names that are not UTF-8 are omitted, because Brigade creates none.
    ///
    /// # Errors
    /// Fails if the path does not exist or is not a directory.
    fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError>;

    /// Lists the first `most` entries that the system returns, sorted by name, and counts the others. Uses memory only
    /// for the listed ones.
    ///
    /// # Errors
    /// Fails if the path does not exist or is not a directory.
    fn list_some(&self, path: &RelPath, most: usize) -> Result<(Vec<DirEntry>, u64), FsError> {
        let mut entries = self.list_dir(path)?;
        let others = entries.len().saturating_sub(most) as u64;
        entries.truncate(most);
        Ok((entries, others))
    }

    /// Lists the names that [`Fs::list_dir`] omits because they are not UTF-8, converted lossily.
    ///
    /// # Errors
    /// Fails if the path does not exist or is not a directory.
    fn unreadable_names(&self, path: &RelPath) -> Result<Vec<String>, FsError> {
        self.list_dir(path).map(|_| Vec::new())
    }

    /// Returns the metadata of a file, following links inside the root.
    ///
    /// # Errors
    /// Fails if the file does not exist or is outside the root.
    fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError>;

    /// Returns the metadata of a directory entry without following a link.
    ///
    /// # Errors
    /// Fails if the name does not exist.
    fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError>;

    /// Returns the metadata of a file anywhere on the machine, following links.
    ///
    /// # Errors
    /// Fails if the file does not exist, or a directory on the path cannot be searched.
    fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError>;

    /// Removes an empty directory. Durable only after [`Fs::sync_dir`].
    ///
    /// # Errors
    /// Fails if the directory does not exist or is not empty.
    fn remove_dir(&self, path: &RelPath) -> Result<(), FsError>;

    /// Returns once everything written to the root's file system is on disk, including names.
    ///
    /// One call covers thousands of files, but it also waits for data that other programs wrote. For a single file,
    /// [`WriteFile::sync`] is cheaper.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn sync_file_system(&self) -> Result<(), FsError>;

    /// Sets the permission bits.
    ///
    /// # Errors
    /// Fails if the file does not exist or belongs to another user.
    fn set_mode(&self, path: &RelPath, mode: u32) -> Result<(), FsError>;

    /// Acquires the lock that the file represents, and writes `holder` into the file. The lock is released when the
    /// [`Lock`] is dropped or the process dies. The file remains.
    ///
    /// # Errors
    /// Returns [`FsErrorKind::Locked`] with the holder's text if `timeout` elapses first.
    fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError>;

    /// Locks a temporary file that no process [holds](WriteFile::hold). Returns `None` if a process holds it, or if
    /// that is unknown.
    fn take_left(&self, _path: &RelPath) -> Option<Lock> {
        None
    }

    /// Records that a path is about to be read by other means. Only [`TracingFs`](crate::TracingFs) uses this.
    fn note(&self, _path: &Path) {}

    /// Writes a cache file: atomically, but not durably.
    ///
    /// # Errors
    /// Fails on a disk error. No temporary file remains.
    fn write_cache(&self, path: &RelPath, bytes: &[u8]) -> Result<(), FsError> {
        remove_left(self, path);
        let (temporary, mut file) = create_temporary(self, path, 0o600)?;
        let written = file.write(bytes).and_then(|()| self.rename(&temporary, path));
        if written.is_err() {
            let _ = self.remove(&temporary);
        }
        written
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// Fails if the file does not exist, is longer than `limit`, is not a regular file, or is outside the root.
    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, FsError> {
        let file = self.open(path)?;
        read_all(&*file, file.len()?, path.as_str(), limit)
    }

    /// Reads a whole file of at most `limit` bytes from anywhere on the machine.
    ///
    /// # Errors
    /// Fails if the file does not exist, is longer than `limit`, or is not a regular file.
    fn read_outside(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FsError> {
        let file = self.open_outside(path)?;
        read_all(&*file, file.len()?, &path.to_string_lossy(), limit)
    }

    /// Returns the identity and length of the file at a path, for comparison with a file that was opened here.
    ///
    /// Unlike all other methods, this may follow a link out of the root.
    ///
    /// # Errors
    /// Fails if the file does not exist.
    fn identity(&self, path: &RelPath) -> Result<(FileId, u64), FsError> {
        let file = self.open(path)?;
        Ok((file.id()?, file.len()?))
    }

    /// Returns whether a path exists.
    ///
    /// # Errors
    /// Fails on a disk error, or if the path leads outside.
    fn exists(&self, path: &RelPath) -> Result<bool, FsError> {
        match self.link_metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a directory and its content, however deep it is and whatever its names are. Links are removed, not
    /// followed.
    ///
    /// # Errors
    /// Fails if the path does not exist, is not a directory, or an entry cannot be removed. Other entries may already
    /// be removed.
    fn remove_tree(&self, path: &RelPath) -> Result<(), FsError> {
        for entry in self.list_dir(path)? {
            let Ok(inside) = path.join(&entry.name) else { continue };
            match entry.kind {
                FileKind::Directory => self.remove_tree(&inside)?,
                FileKind::File | FileKind::Link | FileKind::Other => self.remove(&inside)?,
            }
        }
        self.remove_dir(path)
    }

    /// Creates a directory and its missing parents, each durably.
    ///
    /// # Errors
    /// Fails if a name is taken by a file, or on a disk error.
    fn create_dir_all(&self, path: &RelPath) -> Result<(), FsError> {
        if path.is_root() {
            return Ok(());
        }
        match self.metadata(path) {
            Ok(metadata) if metadata.kind == FileKind::Directory => return Ok(()),
            Ok(_) => return Err(FsError::new("create", path.as_str(), FsErrorKind::NotADirectory)),
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                // Report the directory that leads outside, not one inside it.
                let outermost = match error.kind {
                    FsErrorKind::Outside if !path.parent().is_root() => self.metadata(&path.parent()).err(),
                    _ => None,
                };
                return Err(FsError { operation: "create", ..outermost.unwrap_or(error) });
            }
        }
        self.create_dir_all(&path.parent())?;
        match self.create_dir(path) {
            Err(error) if error.is_exists() => {}
            result => result?,
        }
        self.sync_dir(&path.parent())
    }

    /// Replaces a file in one step. At any time, including after a crash, it is either the old file or the new one.
    ///
    /// # Errors
    /// Fails on a disk error. The old file then remains, unless only the last step failed, which makes the name
    /// durable.
    fn write_atomic(&self, path: &RelPath, bytes: &[u8], mode: FileMode) -> Result<(), FsError> {
        let mut replacement = Replacement::begin(self, path, mode)?;
        replacement.write(bytes)?;
        replacement.commit()
    }

    /// Creates a new file, durably.
    ///
    /// The name appears with the whole content or not at all, even after a crash.
    ///
    /// # Errors
    /// Returns [`FsErrorKind::Exists`] if the name is taken. Also fails on a disk error.
    fn create_new_durable(&self, path: &RelPath, bytes: &[u8]) -> Result<(), FsError> {
        let taken = || FsError::new("create", path.as_str(), FsErrorKind::Exists);
        if self.exists(path)? {
            return Err(taken());
        }
        // The file is written under a temporary name, so a crash cannot leave half of it under the real one. Callers
        // hold a lock, which makes the check and the rename one step.
        let mut replacement = Replacement::of_new(self, path)?;
        replacement.write(bytes)?;
        replacement.commit()
    }

    /// Appends to a file, durably. A missing file is created with mode 0600.
    ///
    /// # Errors
    /// Fails on a disk error. Bytes that were already written are truncated if the disk allows it, and a file created
    /// by this call is removed.
    fn append_durable(&self, path: &RelPath, bytes: &[u8]) -> Result<(), FsError> {
        let (mut file, is_new) = match self.open_append(path) {
            Ok(file) => (file, false),
            Err(error) if error.is_not_found() => (self.create(path, 0o600)?, true),
            Err(error) => return Err(error),
        };
        let before = file.length()?;
        let appended = file.write(bytes).and_then(|()| file.sync());
        if let Err(error) = appended {
            let _ = file.truncate(before).and_then(|()| file.sync());
            drop(file);
            if is_new {
                let _ = self.remove(path);
            }
            return Err(error);
        }
        if is_new { self.sync_dir(&path.parent()) } else { Ok(()) }
    }
}

/// Reads a file to its end. `length` is its length when it was opened.
pub(crate) fn read_all(file: &dyn ReadFile, length: u64, path: &str, limit: u64) -> Result<Vec<u8>, FsError> {
    let too_large = || FsError::new("read", path, FsErrorKind::TooLarge { limit });
    if limit < length {
        return Err(too_large());
    }
    // Files in /proc report a length of zero, and a file may grow while it is read, so read to the end.
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| too_large())? + 1];
    let mut filled = 0;
    loop {
        match file.read_at(filled as u64, &mut bytes[filled..])? {
            0 => break,
            count => filled += count,
        }
        if limit < filled as u64 {
            return Err(too_large());
        }
        // The buffer had room for more, and the file has its reported length: this is the end.
        if 0 < length && filled as u64 == length {
            break;
        }
        if filled == bytes.len() {
            bytes.resize(filled * 2, 0);
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
