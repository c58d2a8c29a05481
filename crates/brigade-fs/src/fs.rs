//! The seam: what the rest of Brigade may do with files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brigade_core::Timestamp;

use crate::{FsError, FsErrorKind, Lock, RelPath};

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link; only [`Fs::link_metadata`] and [`Fs::list_dir`] show one.
    Link,
    /// A device, pipe or socket.
    Other,
}

/// What the disk knows of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// Length in bytes.
    pub len: u64,
    /// When its content last changed.
    pub modified: Timestamp,
    /// Permission bits, without the kind.
    pub mode: u32,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name.
    pub name: String,
    /// What it names; links are not followed.
    pub kind: FileKind,
}

/// Which permissions a written file gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// 0600.
    Private,
    /// Those of the file that is replaced; for a new one, these.
    KeepOr(u32),
    /// These.
    Exactly(u32),
}

/// Where a path of a configuration file leads, links followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Into the root, to here.
    Inside(RelPath),
    /// Elsewhere, to this absolute path.
    Outside(PathBuf),
}

/// Tells two files apart, whatever their names; equal for the same file opened twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The device.
    pub device: u64,
    /// The file on it.
    pub inode: u64,
}

/// Up to this length, a range is asked for without a look at how long the file is.
const SHORT_RANGE: usize = 64 << 10;

/// An open file that is read at any place. It stays the same file when its name is given to another one.
pub trait ReadFile: Send + Sync {
    /// Reads up to `buffer.len()` bytes at `offset`; zero means that the file ends there.
    ///
    /// # Errors
    /// When the disk fails.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, FsError>;

    /// Returns the length at this moment.
    ///
    /// # Errors
    /// When the disk fails.
    fn len(&self) -> Result<u64, FsError>;

    /// Returns which file it is.
    ///
    /// # Errors
    /// When the disk fails.
    fn id(&self) -> Result<FileId, FsError>;

    /// Tells whether the file is empty at this moment.
    ///
    /// # Errors
    /// When the disk fails.
    fn is_empty(&self) -> Result<bool, FsError> {
        Ok(self.len()? == 0)
    }

    /// Reads a range; what lies behind the end of the file is left out.
    ///
    /// # Errors
    /// When the disk fails.
    fn read_range(&self, offset: u64, length: usize) -> Result<Vec<u8>, FsError> {
        let mut length = length;
        // So that no more is asked for than there can be; what is short is asked for as it is.
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
    /// Writes all bytes at the end.
    ///
    /// # Errors
    /// When the disk fails; some of the bytes may be there then.
    fn write(&mut self, bytes: &[u8]) -> Result<(), FsError>;

    /// Returns after everything written is on the disk.
    ///
    /// # Errors
    /// When the disk fails.
    fn sync(&mut self) -> Result<(), FsError>;

    /// Returns the length at this moment.
    ///
    /// # Errors
    /// When the disk fails.
    fn length(&self) -> Result<u64, FsError>;

    /// Cuts the file off at a length.
    ///
    /// # Errors
    /// When the disk fails.
    fn truncate(&mut self, length: u64) -> Result<(), FsError>;
}

/// A folder of files, with every path beneath it.
///
/// The first methods are single steps of the disk; the ones with a body are made of them, so that a fault between any
/// two steps can be tried out.
pub trait Fs: Send + Sync {
    /// Returns the absolute path of the root, for messages and child processes.
    fn root(&self) -> &Path;

    /// Finds where a path of a configuration file leads: relative ones start at the root, `~/` at `home`, links are
    /// followed. The file itself need not exist.
    ///
    /// # Errors
    /// When a folder on the way cannot be looked into, or a name is not UTF-8.
    fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// When it is not there, not a regular file, or outside.
    fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError>;

    /// Opens a file anywhere on the machine: what a person named on the command line, a program to be hashed, a folder
    /// that the policy allows.
    ///
    /// # Errors
    /// When it is not there or not a regular file.
    fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError>;

    /// Creates a file that must not exist.
    ///
    /// # Errors
    /// When the name is taken or the folder cannot be written.
    fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError>;

    /// Opens an existing file for writing at its end.
    ///
    /// # Errors
    /// When it is not there, not a regular file, or outside.
    fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError>;

    /// Creates one folder with mode 0700.
    ///
    /// # Errors
    /// When the name is taken or the parent is not there.
    fn create_dir(&self, path: &RelPath) -> Result<(), FsError>;

    /// Returns after the names in a folder are on the disk.
    ///
    /// # Errors
    /// When the disk fails.
    fn sync_dir(&self, path: &RelPath) -> Result<(), FsError>;

    /// Gives a file or folder another name, which is taken from whatever had it. Not durable before [`Fs::sync_dir`].
    ///
    /// # Errors
    /// When it is not there, or the new name is a folder that is not empty.
    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError>;

    /// Removes a file, or a link itself. Not durable before [`Fs::sync_dir`].
    ///
    /// # Errors
    /// When it is not there or a folder.
    fn remove(&self, path: &RelPath) -> Result<(), FsError>;

    /// Lists a folder, sorted by name. Names that are not UTF-8 are left out: nothing of ours has such a name.
    ///
    /// # Errors
    /// When it is not there or not a folder.
    fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError>;

    /// Lists the names in a folder that are not UTF-8, which [`Fs::list_dir`] leaves out, as far as they can be shown.
    ///
    /// # Errors
    /// When it is not there or not a folder.
    fn unreadable_names(&self, path: &RelPath) -> Result<Vec<String>, FsError> {
        self.list_dir(path).map(|_| Vec::new())
    }

    /// Looks at what a path leads to, links inside the root followed.
    ///
    /// # Errors
    /// When it is not there or outside.
    fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError>;

    /// Looks at what has the name, a link itself included.
    ///
    /// # Errors
    /// When it is not there.
    fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError>;

    /// Looks at a file anywhere on the machine, links followed.
    ///
    /// # Errors
    /// When it is not there, or a folder on the way cannot be looked into.
    fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError>;

    /// Removes a folder that is empty. Not durable before [`Fs::sync_dir`].
    ///
    /// # Errors
    /// When it is not there or not empty.
    fn remove_dir(&self, path: &RelPath) -> Result<(), FsError>;

    /// Returns after all that was written on the root's file system is on the disk, names included.
    ///
    /// One call for thousands of files; a single file is better off with [`WriteFile::sync`], since this also waits for
    /// what other programs wrote.
    ///
    /// # Errors
    /// When the disk fails.
    fn sync_file_system(&self) -> Result<(), FsError>;

    /// Sets the permission bits.
    ///
    /// # Errors
    /// When it is not there or somebody else's.
    fn set_mode(&self, path: &RelPath, mode: u32) -> Result<(), FsError>;

    /// Waits for the one lock that the file stands for, and writes `holder` into it. Released when the [`Lock`] is
    /// dropped, or by the kernel when the process dies. The file stays.
    ///
    /// # Errors
    /// [`FsErrorKind::Locked`] with the holder's words when `timeout` passes first.
    fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError>;

    /// Writes a file that nothing depends on: atomically, but not durably. For caches.
    ///
    /// # Errors
    /// When the disk fails; no temporary file is left behind then.
    fn write_cache(&self, path: &RelPath, bytes: &[u8]) -> Result<(), FsError> {
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
    /// When it is not there, longer than that, not a regular file, or outside.
    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, FsError> {
        let file = self.open(path)?;
        read_all(&*file, file.len()?, path.as_str(), limit)
    }

    /// Reads a whole file from anywhere on the machine.
    ///
    /// # Errors
    /// When it is not there, longer than `limit`, or not a regular file.
    fn read_outside(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FsError> {
        let file = self.open_outside(path)?;
        read_all(&*file, file.len()?, &path.to_string_lossy(), limit)
    }

    /// Tells whether something is there, and fails on nothing but trouble.
    ///
    /// # Errors
    /// When the disk fails or the path leads outside.
    fn exists(&self, path: &RelPath) -> Result<bool, FsError> {
        match self.link_metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a folder with everything in it, whatever it is called and however deep it lies. Links are removed and
    /// not followed.
    ///
    /// # Errors
    /// When it is not there, not a folder, or something in it cannot be removed; then the rest may be gone.
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

    /// Creates a folder and those it lies in, each durable.
    ///
    /// # Errors
    /// When a name is taken by a file, or the disk fails.
    fn create_dir_all(&self, path: &RelPath) -> Result<(), FsError> {
        if path.is_root() {
            return Ok(());
        }
        match self.metadata(path) {
            Ok(metadata) if metadata.kind == FileKind::Directory => return Ok(()),
            Ok(_) => return Err(FsError::new("create", path.as_str(), FsErrorKind::NotADirectory)),
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                // The folder that leads out is the one to be named, not one inside it.
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

    /// Replaces a file as one step: afterwards, and after a crash at any moment, it is the old one or the new one.
    ///
    /// # Errors
    /// When the disk fails. The file is the old one then, unless only the last step failed: that its name is durable.
    fn write_atomic(&self, path: &RelPath, bytes: &[u8], mode: FileMode) -> Result<(), FsError> {
        let mut replacement = Replacement::begin(self, path, mode)?;
        replacement.write(bytes)?;
        replacement.commit()
    }

    /// Creates a file that must not exist, durable when this returns.
    ///
    /// The name appears with the whole content or not at all, a crash included.
    ///
    /// # Errors
    /// [`FsErrorKind::Exists`] when the name is taken; otherwise when the disk fails.
    fn create_new_durable(&self, path: &RelPath, bytes: &[u8]) -> Result<(), FsError> {
        let taken = || FsError::new("create", path.as_str(), FsErrorKind::Exists);
        if self.exists(path)? {
            return Err(taken());
        }
        // Written under a temporary name, so that a crash cannot leave half of it under the real one; the callers of
        // this hold a lock, which makes check and rename one step.
        self.write_atomic(path, bytes, FileMode::Private)
    }

    /// Appends to a file, durable when this returns; a file that is not there is created with mode 0600.
    ///
    /// # Errors
    /// When the disk fails; what was written of `bytes` is cut off again as far as the disk allows, and a file that was
    /// created for it removed.
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

/// Reads a file to its end; `length` is what it had when it was opened.
pub(crate) fn read_all(file: &dyn ReadFile, length: u64, path: &str, limit: u64) -> Result<Vec<u8>, FsError> {
    let too_large = || FsError::new("read", path, FsErrorKind::TooLarge { limit });
    if limit < length {
        return Err(too_large());
    }
    // Files of /proc say that they are empty, and a file may grow while it is read, so read until the end.
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
        // There was room for more, and the file is as long as it was said to be: this is its end.
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

static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(0);

fn create_temporary<F: Fs + ?Sized>(
    fs: &F,
    path: &RelPath,
    mode: u32,
) -> Result<(RelPath, Box<dyn WriteFile>), FsError> {
    loop {
        let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
        // The name of the target is left out where it would make the name too long.
        let stem = if path.name().len() <= 200 { path.name() } else { "long" };
        let name = format!(".{stem}.{}-{number}.tmp", std::process::id());
        let temporary = path.parent().join(&name).expect("a name without slashes is a path");
        match fs.create(&temporary, mode) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.is_exists() => {}
            Err(error) => return Err(FsError { operation: "write", path: path.to_string(), ..error }),
        }
    }
}

/// Tells whether a name is one that [`Fs::write_atomic`] and [`Replacement`] use before they rename: a file of that
/// name is left over from a crash, or being written right now.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}

/// A file that is being written and takes the place of another when it is complete.
///
/// Dropped without [`Replacement::commit`], it leaves nothing behind.
pub struct Replacement<'a, F: Fs + ?Sized> {
    fs: &'a F,
    target: RelPath,
    temporary: RelPath,
    file: Option<Box<dyn WriteFile>>,
}

impl<'a, F: Fs + ?Sized> Replacement<'a, F> {
    /// Starts an empty temporary file beside the target.
    ///
    /// # Errors
    /// When the folder cannot be written, or the target is a folder.
    pub fn begin(fs: &'a F, target: &RelPath, mode: FileMode) -> Result<Replacement<'a, F>, FsError> {
        let existing = match fs.link_metadata(target) {
            Ok(metadata) if metadata.kind == FileKind::Directory => {
                return Err(FsError::new("write", target.as_str(), FsErrorKind::NotAFile));
            }
            Ok(metadata) => Some(metadata),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let mode = match mode {
            FileMode::Private => 0o600,
            FileMode::Exactly(mode) => mode,
            FileMode::KeepOr(mode) => match existing {
                Some(Metadata { kind: FileKind::File, mode, .. }) => mode,
                Some(_) | None => mode,
            },
        };
        let (temporary, file) = create_temporary(fs, target, mode)?;
        Ok(Replacement { fs, target: target.clone(), temporary, file: Some(file) })
    }

    /// Writes at the end of the temporary file.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        let file = self.file.as_mut().expect("the file is there until it is committed");
        file.write(bytes).map_err(|error| FsError { path: self.target.to_string(), ..error })
    }

    /// Makes it durable and gives it the target's name.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn commit(mut self) -> Result<(), FsError> {
        let named = |error| FsError { operation: "write", path: self.target.to_string(), ..error };
        let file = self.file.as_mut().expect("the file is there until it is committed");
        file.sync().map_err(named)?;
        self.fs.rename(&self.temporary, &self.target).map_err(named)?;
        self.file = None;
        self.fs.sync_dir(&self.target.parent())
    }
}

impl<F: Fs + ?Sized> Drop for Replacement<'_, F> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = self.fs.remove(&self.temporary);
        }
    }
}
