//! Opens files below a directory without following links.
//!
//! Every directory on the path is opened by its name in its parent, and links are refused. So an existing link, or one
//! that is created during an operation, is never followed. A caller that wants to follow links first resolves them with
//! [`Fs::resolve`](crate::Fs::resolve).

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use brigade_core::{Fingerprint, FingerprintStream};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use crate::error::Explain;
use crate::{FileKind, FsError, FsErrorKind, RelPath};

/// Opens a directory only to reach its entries. Refuses links.
const PASSAGE: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The number of bytes that are read at a time.
const CHUNK: usize = 256 << 10;

/// The smallest number of bytes that are read at a time. Files that the system generates while they are read report no
/// length.
const MIN_CHUNK_BYTES: usize = 4 << 10;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A directory that was reached without following links.
#[derive(Debug)]
pub struct Folder {
    folder: OwnedFd,
    /// The path below the root, for messages.
    path: RelPath,
}

/// The metadata of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryMetadata {
    /// The kind. Links are not followed.
    pub kind: FileKind,
    /// The length in bytes.
    pub len: u64,
    /// The permission bits.
    mode: u32,
    owner: (u32, u32),
    /// Device, inode, and the time of the last change. They show whether the file is unchanged.
    mark: (u64, u64, i64, i64),
}

impl EntryMetadata {
    /// Returns a text that differs if the file was changed or replaced.
    pub fn stamp(&self) -> String {
        format!("{:?} {} {:o} {:?}", self.kind, self.len, self.mode, self.mark)
    }
}

/// A file that is open for reading.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    path: String,
    /// The metadata when the file was opened.
    pub look: EntryMetadata,
}

impl EntryMetadata {
    fn from_stat(stat: &Stat) -> EntryMetadata {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Other,
        };
        #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "the types differ between systems")]
        EntryMetadata {
            kind,
            len: u64::try_from(stat.st_size).unwrap_or_default(),
            mode: stat.st_mode as u32 & 0o7777,
            owner: (stat.st_uid, stat.st_gid),
            mark: (stat.st_dev as u64, stat.st_ino as u64, stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        }
    }

    /// Returns whether this is the same file, unchanged according to its times.
    pub fn is_still(&self, other: &EntryMetadata) -> bool {
        self.mark == other.mark && self.len == other.len && self.kind == other.kind
    }
}

fn kind_error(operation: &'static str, path: &str, errno: Errno) -> FsError {
    match errno {
        // A directory or file was replaced by a link.
        Errno::LOOP => FsError::new(operation, path, FsErrorKind::Outside),
        errno => FsError::io(operation, path, &errno.into()),
    }
}

impl Folder {
    /// Opens the root. Links on the path to it are followed.
    ///
    /// # Errors
    /// Fails if it is not a directory or cannot be opened.
    pub fn root(path: &Path) -> Result<Folder, FsError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(rustix::fs::CWD, path, flags, Mode::empty());
        Ok(Folder { folder: folder.explain("open", &path.to_string_lossy())?, path: RelPath::root() })
    }

    /// Returns its path below the root.
    pub fn path(&self) -> &RelPath {
        &self.path
    }

    fn named(&self, name: &str) -> String {
        if self.path.is_root() { name.to_owned() } else { format!("{}/{name}", self.path.as_str()) }
    }

    /// Opens a directory below this one.
    ///
    /// # Errors
    /// Fails if a part of the path is missing, a link, or not a directory.
    pub fn beneath(&self, path: &RelPath) -> Result<Folder, FsError> {
        self.walk(path, |_, _| Ok(()))
    }

    /// Opens a directory below this one, and creates its missing parts.
    ///
    /// # Errors
    /// Fails if a part of the path is a link or not a directory, or cannot be created.
    pub fn make_beneath(&self, path: &RelPath) -> Result<Folder, FsError> {
        self.walk(path, |here, name| {
            match rustix::fs::mkdirat(&here.folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(errno) => Err(kind_error("create", &here.named(name), errno)),
            }
        })
    }

    fn walk(
        &self,
        path: &RelPath,
        before: impl Fn(&Folder, &str) -> Result<(), FsError>,
    ) -> Result<Folder, FsError> {
        let duplicate =
            rustix::io::fcntl_dupfd_cloexec(&self.folder, 0).explain("open", self.path.as_str())?;
        let mut here = Folder { folder: duplicate, path: self.path.clone() };
        for name in path.as_str().split('/').filter(|name| !name.is_empty()) {
            before(&here, name)?;
            here = here.folder(name)?;
        }
        Ok(here)
    }

    /// Opens a directory that is an entry of this one.
    ///
    /// # Errors
    /// Fails if it is missing, a link, or not a directory.
    pub fn folder(&self, name: &str) -> Result<Folder, FsError> {
        let path = self.named(name);
        let opened = rustix::fs::openat(&self.folder, name, PASSAGE, Mode::empty());
        let folder = opened.map_err(|errno| match errno {
            // With `O_DIRECTORY`, the kernel reports a link as `ENOTDIR`.
            Errno::NOTDIR if self.look(name).is_ok_and(|look| look.kind == FileKind::Link) => {
                FsError::new("open", &*path, FsErrorKind::Outside)
            }
            errno => kind_error("open", &path, errno),
        })?;
        let path = self.path.join(name).map_err(|_| FsError::new("open", path, FsErrorKind::Outside))?;
        Ok(Folder { folder, path })
    }

    /// Returns the metadata of an entry.
    ///
    /// # Errors
    /// Fails if it is missing.
    pub fn look(&self, name: &str) -> Result<EntryMetadata, FsError> {
        let stat = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
        Ok(EntryMetadata::from_stat(&stat.explain("read", &self.named(name))?))
    }

    /// Opens a file that is an entry of this directory.
    ///
    /// # Errors
    /// Fails if it is missing, a link, or not a regular file.
    pub fn open(&self, name: &str) -> Result<OpenFile, FsError> {
        let path = self.named(name);
        // Without this flag, opening a pipe would wait for the other end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.folder, name, flags, Mode::empty());
        let opened = opened.map_err(|errno| match errno {
            // A socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV => FsError::new("read", &*path, FsErrorKind::NotAFile),
            errno => kind_error("read", &path, errno),
        })?;
        let look = EntryMetadata::from_stat(&rustix::fs::fstat(&opened).explain("read", &path)?);
        if look.kind != FileKind::File {
            return Err(FsError::new("read", path, FsErrorKind::NotAFile));
        }
        Ok(OpenFile { file: File::from(opened), path, look })
    }

    /// Replaces a file in one step, or creates it. At any time, including after a crash, it is the old file or the new
    /// one. Mode and owner of the old file are kept.
    ///
    /// `old` is the known metadata of the file. If the file was changed since, nothing is written.
    ///
    /// # Errors
    /// Fails with [`FsErrorKind::Exists`] if the name is not a file, or if the file was changed since `old`. Also fails
    /// if the owner cannot be kept, or on a disk error.
    pub fn replace(&self, name: &str, bytes: &[u8], old: Option<&EntryMetadata>) -> Result<(), FsError> {
        let path = self.named(name);
        let (temporary, mut file) = self.temporary(name, old.map_or(0o666, |_| 0o600))?;
        let mut write = || -> Result<(), FsError> {
            file.write_all(bytes).explain("write", &path)?;
            if let Some(old) = old {
                let now = EntryMetadata::from_stat(&rustix::fs::fstat(&file).explain("write", &path)?);
                if now.owner != old.owner {
                    let owner = (Some(Uid::from_raw(old.owner.0)), Some(Gid::from_raw(old.owner.1)));
                    rustix::fs::fchown(&file, owner.0, owner.1).explain("keep the owner of", &path)?;
                }
                // The new bytes do not get special rights of the old file's owner.
                let mode = old.mode & !0o6000;
                rustix::fs::fchmod(&file, Mode::from_raw_mode(mode as _)).explain("write", &path)?;
            }
            file.sync_all().explain("write", &path)?;
            let is_old = match (self.look(name), old) {
                (Ok(now), Some(old)) => now.is_still(old),
                (Err(error), None) => error.is_not_found(),
                (Ok(_), None) | (Err(_), Some(_)) => false,
            };
            if !is_old {
                return Err(FsError::new("write", &*path, FsErrorKind::Exists));
            }
            rustix::fs::renameat(&self.folder, &*temporary, &self.folder, name).explain("write", &path)?;
            rustix::fs::fsync(&self.folder).explain("write", &path)
        };
        let written = write();
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.folder, &*temporary, AtFlags::empty());
        }
        written
    }

    fn temporary(&self, name: &str, mode: u32) -> Result<(String, File), FsError> {
        let stem = if name.len() <= 200 { name } else { "long" };
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let temporary = format!(".{stem}.{}-{number}.tmp", std::process::id());
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match rustix::fs::openat(&self.folder, &*temporary, flags, Mode::from_raw_mode(mode as _)) {
                Ok(file) => return Ok((temporary, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(kind_error("write", &self.named(name), errno)),
            }
        }
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// Fails if it is missing or a directory.
    pub fn remove(&self, name: &str) -> Result<(), FsError> {
        rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()).explain("remove", &self.named(name))?;
        rustix::fs::fsync(&self.folder).explain("remove", &self.named(name))
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Fails if it is missing, no directory, or not empty.
    pub fn remove_folder(&self, name: &str) -> Result<(), FsError> {
        rustix::fs::unlinkat(&self.folder, name, AtFlags::REMOVEDIR).explain("remove", &self.named(name))?;
        rustix::fs::fsync(&self.folder).explain("remove", &self.named(name))
    }

    /// Lists the entries, sorted by name, including names that are not UTF-8.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn entries(&self) -> Result<Vec<(OsString, FileKind)>, FsError> {
        let path = self.path.as_str();
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.folder).explain("read", path)? {
            let entry = entry.explain("read", path)?;
            let bytes = entry.file_name().to_bytes();
            if bytes == b"." || bytes == b".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::RegularFile => FileKind::File,
                FileType::Directory => FileKind::Directory,
                FileType::Symlink => FileKind::Link,
                // Some file systems do not report the kind of an entry.
                FileType::Unknown => {
                    let stat = rustix::fs::statat(&self.folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                    stat.map_or(FileKind::Other, |stat| EntryMetadata::from_stat(&stat).kind)
                }
                _ => FileKind::Other,
            };
            entries.push((OsString::from_vec(bytes.to_vec()), kind));
        }
        entries.sort_by(|(left, _), (right, _)| left.cmp(right));
        Ok(entries)
    }
}

impl OpenFile {
    /// Returns the open file, for other libraries.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Reads the rest in pieces, until the end or until `take` returns false.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn each(&mut self, mut take: impl FnMut(&[u8]) -> bool) -> Result<(), FsError> {
        // One byte more, so that the end of a short file is seen in the first read.
        let length = self.file.metadata().ok().and_then(|found| usize::try_from(found.len()).ok());
        let mut buffer = vec![0; length.unwrap_or(CHUNK).saturating_add(1).clamp(MIN_CHUNK_BYTES, CHUNK)];
        loop {
            match self.file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    if !take(&buffer[..count]) {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(FsError::io("read", &*self.path, &error)),
            }
        }
    }

    /// Reads the rest, at most `limit` bytes.
    ///
    /// # Errors
    /// Fails if there is more, or on a disk error.
    pub fn rest(&mut self, limit: u64) -> Result<Vec<u8>, FsError> {
        let mut bytes = Vec::new();
        let mut is_too_large = false;
        self.each(|piece| {
            bytes.extend_from_slice(piece);
            is_too_large = limit < bytes.len() as u64;
            !is_too_large
        })?;
        if is_too_large {
            return Err(FsError::new("read", &*self.path, FsErrorKind::TooLarge { limit }));
        }
        Ok(bytes)
    }

    /// Reads the rest, and returns the sha256 of it.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn sha256(&mut self) -> Result<Fingerprint, FsError> {
        let mut stream = FingerprintStream::new();
        self.each(|piece| {
            stream.update(piece);
            true
        })?;
        Ok(stream.finish())
    }
}

#[cfg(test)]
mod tests;
