//! [`Fs`] on a real disk.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt as _};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use brigade_core::Timestamp;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

use crate::error::Explain;
use crate::fs::read_all;
use crate::root::Root;
use crate::{
    BoundFileLimit, DirEntry, FileId, FileKind, Fs, FsError, FsErrorKind, Location, Lock, Metadata, ReadFile,
    RelPath, WriteFile,
};

/// A directory on disk. Every path is opened beneath it; neither `..` nor a link can lead out.
#[derive(Debug)]
pub struct DiskFs {
    path: PathBuf,
    root: Root,
    bound_files: BoundFileLimit,
}

impl DiskFs {
    /// Opens a directory as the root. Links on the path to it are followed.
    ///
    /// # Errors
    /// Fails if the path does not exist, is not a directory, or is not permitted.
    pub fn open(path: &Path) -> Result<DiskFs, FsError> {
        let shown = path.to_string_lossy();
        let path = std::fs::canonicalize(path).explain("open", &shown)?;
        let root = Root::open(&path).explain("open", &shown)?;
        Ok(DiskFs { path, root, bound_files: BoundFileLimit::new() })
    }

    /// Opens a directory as the root. Creates it and its parents if they are missing.
    ///
    /// # Errors
    /// Fails if it cannot be created or opened.
    pub fn make(path: &Path) -> Result<DiskFs, FsError> {
        let unclear = || FsError::new("make", path.to_string_lossy(), FsErrorKind::NotADirectory);
        for above in path.ancestors() {
            match DiskFs::open(above) {
                Ok(fs) if above == path => return Ok(fs),
                Ok(fs) => {
                    let rest = path.strip_prefix(above).ok().and_then(Path::to_str);
                    let rest: RelPath = rest.and_then(|rest| rest.parse().ok()).ok_or_else(unclear)?;
                    fs.create_dir_all(&rest).map_err(|error| error.below(above))?;
                    return DiskFs::open(path);
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Err(unclear())
    }

    fn open_fd(&self, operation: &'static str, path: &RelPath, flags: OFlags) -> Result<OwnedFd, FsError> {
        self.root.open_beneath(path.as_path(), flags, Mode::empty()).explain(operation, path.as_str())
    }

    /// Returns the path relative to the root if it has no links, as nearly all paths. The last name may be missing.
    fn without_links(&self, path: &Path) -> Option<RelPath> {
        let inside = if path.is_absolute() { path.strip_prefix(&self.path).ok()? } else { path };
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !inside.components().all(plain) {
            return None;
        }
        let path = RelPath::try_from(inside).ok()?;
        if path.is_root() || self.root.is_without_links(path.as_path()) {
            return Some(path);
        }
        let parent = path.parent();
        if !parent.is_root() && !self.root.is_without_links(parent.as_path()) {
            return None;
        }
        self.link_metadata(&path).is_err_and(|error| error.is_not_found()).then_some(path)
    }

    pub(crate) fn parent<'a>(
        &self,
        operation: &'static str,
        path: &'a RelPath,
    ) -> Result<(OwnedFd, &'a Path), FsError> {
        self.root.open_parent(path.as_path()).explain(operation, path.as_str())
    }
}

impl Fs for DiskFs {
    fn root(&self) -> &Path {
        &self.path
    }

    fn bound_file_limit(&self) -> &BoundFileLimit {
        &self.bound_files
    }

    fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError> {
        let expanded = expand(path, home);
        if let Some(plain) = self.without_links(&expanded) {
            return Ok(Location::Inside(plain));
        }
        let resolved = resolve_links(&self.path.join(expanded)).explain("resolve", path)?;
        match resolved.strip_prefix(&self.path) {
            Ok(inside) => RelPath::try_from(inside).map(Location::Inside).map_err(|_| {
                let text = "its name is not UTF-8".to_owned();
                let kind = FsErrorKind::Other { kind: std::io::ErrorKind::InvalidFilename, text };
                FsError::new("resolve", path, kind)
            }),
            Err(_) => Ok(Location::Outside(resolved)),
        }
    }

    fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError> {
        // Non-blocking, because opening a pipe must not wait for its writer.
        let file = File::from(self.open_fd("read", path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        open_regular(file, path.as_str())
    }

    fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError> {
        let shown = path.to_string_lossy();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(rustix::fs::CWD, self.path.join(path), flags, Mode::empty());
        open_regular(File::from(file.explain("read", &shown)?), &shown)
    }

    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, FsError> {
        let file = File::from(self.open_fd("read", path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        let length = regular_length(&file, "read", path.as_str())?;
        read_all(&DiskReader { file, path: path.to_string() }, length, path.as_str(), limit)
    }

    fn read_given(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FsError> {
        let path = self.path.join(path);
        let shown = path.to_string_lossy();
        let kind = std::fs::metadata(&path).explain("read", &shown)?.file_type();
        if kind.is_file() || kind.is_dir() {
            return self.read_outside(&path, limit);
        }
        let file = File::open(&path).explain("read", &shown)?;
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).explain("read", &shown)?;
        if limit < bytes.len() as u64 {
            return Err(FsError::new("read", shown, FsErrorKind::TooLarge { limit }));
        }
        Ok(bytes)
    }

    fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let bits = Mode::from_raw_mode(mode & 0o7777);
        let file = self.root.open_beneath(path.as_path(), flags, bits).explain("create", path.as_str())?;
        // The umask may have removed bits; set exactly the requested mode.
        if mode & 0o077 != 0 {
            rustix::fs::fchmod(&file, bits).explain("create", path.as_str())?;
        }
        Ok(Box::new(DiskWriter { file: File::from(file), path: path.to_string() }))
    }

    fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError> {
        let file =
            File::from(self.open_fd("write", path, OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK)?);
        require_regular(&file, "write", path.as_str())?;
        Ok(Box::new(DiskWriter { file, path: path.to_string() }))
    }

    fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError> {
        let stat = rustix::fs::stat(self.path.join(path));
        Ok(metadata_of(&stat.explain("read", &path.to_string_lossy())?))
    }

    fn remove_dir(&self, path: &RelPath) -> Result<(), FsError> {
        let (parent, name) = self.parent("remove", path)?;
        rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR).explain("remove", path.as_str())
    }

    fn sync_file_system(&self) -> Result<(), FsError> {
        #[cfg(target_os = "linux")]
        {
            let folder = self.open_fd("sync", &RelPath::root(), OFlags::RDONLY | OFlags::DIRECTORY)?;
            rustix::fs::syncfs(folder).explain("sync", ".")
        }
        #[cfg(not(target_os = "linux"))]
        {
            rustix::fs::sync();
            Ok(())
        }
    }

    fn remove_tree(&self, path: &RelPath) -> Result<(), FsError> {
        self.remove_everything(path)
    }

    fn create_dir(&self, path: &RelPath) -> Result<(), FsError> {
        let (parent, name) = self.parent("create", path)?;
        rustix::fs::mkdirat(&parent, name, Mode::RWXU).explain("create", path.as_str())
    }

    fn sync_dir(&self, path: &RelPath) -> Result<(), FsError> {
        let folder = self.open_fd("sync", path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        synced(path.as_str(), || rustix::fs::fsync(folder)).explain("sync", path.as_str())
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError> {
        let (from_parent, from_name) = self.parent("rename", from)?;
        if from.parent() == to.parent() {
            let to_name = Path::new(to.name());
            return rustix::fs::renameat(&from_parent, from_name, &from_parent, to_name)
                .explain("rename", from.as_str());
        }
        let (to_parent, to_name) = self.parent("rename", to)?;
        rustix::fs::renameat(&from_parent, from_name, &to_parent, to_name).explain("rename", from.as_str())
    }

    fn remove(&self, path: &RelPath) -> Result<(), FsError> {
        let (parent, name) = self.parent("remove", path)?;
        rustix::fs::unlinkat(&parent, name, AtFlags::empty()).explain("remove", path.as_str())
    }

    fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError> {
        self.list_some(path, usize::MAX).map(|(entries, _)| entries)
    }

    fn list_some(&self, path: &RelPath, most: usize) -> Result<(Vec<DirEntry>, u64), FsError> {
        let folder = self.open_fd("list", path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut folder = rustix::fs::Dir::new(folder).explain("list", path.as_str())?;
        let (mut entries, mut others) = (Vec::new(), 0);
        while let Some(entry) = folder.read() {
            let entry = entry.explain("list", path.as_str())?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") {
                continue;
            }
            if most <= entries.len() {
                others += 1;
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not report the kind of an entry.
                FileType::Unknown => {
                    let stat = folder
                        .fd()
                        .and_then(|fd| rustix::fs::statat(fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW));
                    kind_of(FileType::from_raw_mode(stat.explain("list", path.as_str())?.st_mode))
                }
                kind => kind_of(kind),
            };
            entries.push(DirEntry { name: name.to_owned(), kind });
        }
        entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        Ok((entries, others))
    }

    fn unreadable_names(&self, path: &RelPath) -> Result<Vec<String>, FsError> {
        let folder = self.open_fd("list", path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut folder = rustix::fs::Dir::new(folder).explain("list", path.as_str())?;
        let mut names = Vec::new();
        while let Some(entry) = folder.read() {
            let entry = entry.explain("list", path.as_str())?;
            if entry.file_name().to_str().is_err() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        #[cfg(target_os = "linux")]
        let flags = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let file = self.open_fd("read", path, flags)?;
        Ok(metadata_of(&rustix::fs::fstat(&file).explain("read", path.as_str())?))
    }

    fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        if path.is_root() {
            return self.metadata(path);
        }
        let (parent, name) = self.parent("read", path)?;
        let stat = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW);
        Ok(metadata_of(&stat.explain("read", path.as_str())?))
    }

    #[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between platforms")]
    fn identity(&self, path: &RelPath) -> Result<(FileId, u64), FsError> {
        let stat = self.root.look(path.as_path()).explain("read", path.as_str())?;
        let id = FileId { device: stat.st_dev as u64, inode: stat.st_ino as u64 };
        Ok((id, u64::try_from(stat.st_size).unwrap_or(0)))
    }

    /// Opens the path itself instead of listing its directory.
    #[cfg(target_os = "linux")]
    fn exists(&self, path: &RelPath) -> Result<bool, FsError> {
        match self.open_fd("read", path, OFlags::PATH | OFlags::NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn set_mode(&self, path: &RelPath, mode: u32) -> Result<(), FsError> {
        let bits = Mode::from_raw_mode(mode & 0o7777);
        let file = match self.open_fd("change the mode of", path, OFlags::RDONLY | OFlags::NONBLOCK) {
            // A file that may not be read has a mode, too.
            #[cfg(target_os = "linux")]
            Err(error) if error.kind == FsErrorKind::Permission => {
                use std::os::fd::AsRawFd as _;

                let handle = self.open_fd("change the mode of", path, OFlags::PATH)?;
                let way = format!("/proc/self/fd/{}", handle.as_raw_fd());
                return rustix::fs::chmod(way, bits).explain("change the mode of", path.as_str());
            }
            file => file?,
        };
        rustix::fs::fchmod(file, bits).explain("change the mode of", path.as_str())
    }

    fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK;
        let opened = self.root.open_beneath(path.as_path(), flags, Mode::RUSR | Mode::WUSR);
        let file = File::from(opened.explain("lock", path.as_str())?);
        let length = regular_length(&file, "lock", path.as_str())?;
        Lock::of_file(file, length, path, holder, timeout)
    }

    fn take_left(&self, path: &RelPath) -> Option<Lock> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let file = File::from(self.open_fd("lock", path, flags).ok()?);
        require_regular(&file, "lock", path.as_str()).ok()?;
        let opened = file.metadata().ok()?;
        let lock = Lock::of_free(file)?;
        // The writer may have renamed the file before it released the lock.
        let id = FileId { device: opened.dev(), inode: opened.ino() };
        self.link_metadata(path).is_ok_and(|found| found.id == Some(id)).then_some(lock)
    }
}

/// Replaces `~` with the home directory.
pub(crate) fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        (Some(_) | None, _) => PathBuf::from(path),
    }
}

/// Resolves the links of an absolute path as far as it exists. The remaining components are applied lexically.
fn resolve_links(path: &Path) -> std::io::Result<PathBuf> {
    // Resolves an existing path in one call. Component by component, each part of a deep path would start at the root.
    match std::fs::canonicalize(path) {
        Err(error) if may_be_followed_further(&error) => {}
        resolved => return resolved,
    }
    let mut resolved = PathBuf::from("/");
    let mut names: Vec<Component<'_>> = path.components().collect();
    names.reverse();
    while let Some(component) = names.pop() {
        match component {
            Component::RootDir | Component::Prefix(_) | Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Normal(name) => {
                resolved.push(name);
                match std::fs::canonicalize(&resolved) {
                    Ok(real) => resolved = real,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        // Nothing exists here, or only a dangling link. Such a link still has a target to follow.
                        if let Ok(target) = std::fs::read_link(&resolved) {
                            resolved.pop();
                            let target = resolved.join(target);
                            let rest = names.iter().rev();
                            return Ok(by_words(&rest.fold(target, |path, name| path.join(name))));
                        }
                    }
                    Err(error) if may_be_followed_further(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(resolved)
}

/// Returns whether the rest of the path is resolved lexically, because the path does not exist.
fn may_be_followed_further(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Resolves `.` and `..` of an absolute path lexically, as if it had no links.
pub fn by_words(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::RootDir | Component::Prefix(_) | Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Normal(name) => resolved.push(name),
        }
    }
    resolved
}

fn require_regular(file: &File, operation: &'static str, path: &str) -> Result<(), FsError> {
    regular_length(file, operation, path).map(drop)
}

/// Returns the length of a regular file.
fn regular_length(file: &File, operation: &'static str, path: &str) -> Result<u64, FsError> {
    let metadata = file.metadata().explain(operation, path)?;
    if metadata.is_file() {
        Ok(metadata.len())
    } else {
        Err(FsError::new(operation, path, FsErrorKind::NotAFile))
    }
}

fn open_regular(file: File, path: &str) -> Result<Box<dyn ReadFile>, FsError> {
    require_regular(&file, "read", path)?;
    Ok(Box::new(DiskReader { file, path: path.to_owned() }))
}

fn kind_of(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Link,
        _ => FileKind::Other,
    }
}

#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between platforms")]
fn metadata_of(stat: &Stat) -> Metadata {
    let micros =
        (stat.st_mtime as i64).saturating_mul(1_000_000).saturating_add(stat.st_mtime_nsec as i64 / 1_000);
    Metadata {
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        len: u64::try_from(stat.st_size).unwrap_or(0),
        modified: Timestamp::from_unix_micros(micros),
        mode: stat.st_mode as u32 & 0o7777,
        uid: Some(stat.st_uid),
        id: Some(FileId { device: stat.st_dev as u64, inode: stat.st_ino as u64 }),
    }
}

struct DiskReader {
    file: File,
    path: String,
}

impl ReadFile for DiskReader {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, FsError> {
        loop {
            match self.file.read_at(buffer, offset) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                result => return result.explain("read", &self.path),
            }
        }
    }

    fn len(&self) -> Result<u64, FsError> {
        Ok(self.file.metadata().explain("read", &self.path)?.len())
    }

    #[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between platforms")]
    fn id(&self) -> Result<FileId, FsError> {
        let stat = rustix::fs::fstat(&self.file).explain("read", &self.path)?;
        Ok(FileId { device: stat.st_dev as u64, inode: stat.st_ino as u64 })
    }
}

struct DiskWriter {
    file: File,
    path: String,
}

/// Syncs a file or the names in a directory, and logs how long that took.
fn synced<E>(path: &str, sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let started = tracing::enabled!(tracing::Level::DEBUG).then(Instant::now);
    let done = sync();
    if let Some(started) = started {
        let ok = done.is_ok();
        tracing::debug!(file = path, ok, took_us = started.elapsed().as_micros(), "synced");
    }
    done
}

impl WriteFile for DiskWriter {
    fn hold(&mut self) -> Result<bool, FsError> {
        match self.file.try_lock() {
            Ok(()) => Ok(self.file.metadata().explain("write", &self.path)?.nlink() != 0),
            Err(TryLockError::WouldBlock) => Ok(false),
            // A file system without locks has no leftovers to protect.
            Err(TryLockError::Error(_)) => Ok(true),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        self.file.write_all(bytes).explain("write", &self.path)
    }

    fn sync(&mut self) -> Result<(), FsError> {
        synced(&self.path, || self.file.sync_data()).explain("sync", &self.path)
    }

    fn length(&self) -> Result<u64, FsError> {
        Ok(self.file.metadata().explain("write", &self.path)?.len())
    }

    fn truncate(&mut self, length: u64) -> Result<(), FsError> {
        self.file.set_len(length).explain("write", &self.path)
    }

    fn touch(&mut self) -> Result<(), FsError> {
        self.file.set_modified(SystemTime::now()).explain("write", &self.path)
    }

    #[cfg(target_os = "linux")]
    fn reserve(&mut self, length: u64) -> Result<(), FsError> {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;

        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, length) {
            // Only a lack of space is an error. File systems that cannot reserve report that in several ways.
            Err(error @ (Errno::NOSPC | Errno::DQUOT)) => Err(error).explain("reserve room in", &self.path),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileMode;

    fn path(text: &str) -> RelPath {
        text.parse().unwrap()
    }

    fn workspace() -> (tempfile::TempDir, DiskFs) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("w")).unwrap();
        let fs = DiskFs::open(&folder.path().join("w")).unwrap();
        (folder, fs)
    }

    #[test]
    fn written_files_are_private_and_complete() {
        let (_folder, fs) = workspace();
        fs.create_dir_all(&path("a/b")).unwrap();
        fs.write_atomic(&path("a/b/file"), b"one", FileMode::Private).unwrap();
        fs.append_durable(&path("a/b/file"), b" two").unwrap();
        assert_eq!(fs.read(&path("a/b/file"), 100).unwrap(), b"one two");
        assert_eq!(fs.metadata(&path("a/b/file")).unwrap().mode, 0o600);
        assert_eq!(fs.metadata(&path("a")).unwrap().mode, 0o700);
        assert_eq!(fs.read(&path("a/b/file"), 3).unwrap_err().kind, FsErrorKind::TooLarge { limit: 3 });
        let names: Vec<String> =
            fs.list_dir(&path("a/b")).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["file"]);
    }

    #[test]
    fn reserved_room_leaves_the_length() {
        let (_folder, fs) = workspace();
        let mut file = fs.create(&path("file"), 0o600).unwrap();
        file.reserve(64 << 10).unwrap();
        assert_eq!(file.length().unwrap(), 0);
        file.write(b"text").unwrap();
        assert_eq!(fs.read(&path("file"), 100).unwrap(), b"text");
        assert_eq!(file.length().unwrap(), 4);
    }

    #[test]
    fn a_replaced_file_can_keep_its_mode() {
        let (_folder, fs) = workspace();
        fs.write_atomic(&path("run.sh"), b"1", FileMode::Exactly(0o755)).unwrap();
        fs.write_atomic(&path("run.sh"), b"2", FileMode::KeepOr(0o644)).unwrap();
        assert_eq!(fs.metadata(&path("run.sh")).unwrap().mode, 0o755);
        fs.write_atomic(&path("new"), b"", FileMode::KeepOr(0o644)).unwrap();
        assert_eq!(fs.metadata(&path("new")).unwrap().mode, 0o644);
    }

    #[test]
    fn a_state_directory_that_links_outside_is_refused() {
        let (folder, fs) = workspace();
        std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", folder.path().join("w/.brigade")).unwrap();
        let expect = "cannot create `.brigade`: it leads out of the workspace, perhaps through a link; \
            replace the link with a directory or a file";
        let error = fs.create_dir_all(&path(".brigade/tools")).unwrap_err();
        assert_eq!(error.to_string(), expect);
        let kinds = [
            fs.read(&path(".brigade/x"), 9).unwrap_err().kind,
            fs.write_atomic(&path(".brigade/x"), b"", FileMode::Private).unwrap_err().kind,
            fs.remove(&path(".brigade/x")).unwrap_err().kind,
            fs.list_dir(&path(".brigade")).unwrap_err().kind,
            fs.lock(&path(".brigade/lock"), "", Duration::ZERO).unwrap_err().kind,
        ];
        assert!(kinds.iter().all(|kind| *kind == FsErrorKind::Outside), "{kinds:?}");
        assert_eq!(std::fs::read_dir(folder.path().join("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn errors_distinguish_kinds_of_files() {
        let (_folder, fs) = workspace();
        fs.create_dir(&path("folder")).unwrap();
        let pipe = fs.root().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(fs.read(&path("folder"), 9).unwrap_err().kind, FsErrorKind::NotAFile);
        assert_eq!(fs.read(&path("pipe"), 9).unwrap_err().kind, FsErrorKind::NotAFile);
        assert!(fs.read(&path("none"), 9).unwrap_err().is_not_found());
        let onto_folder = fs.write_atomic(&path("folder"), b"", FileMode::Private).unwrap_err();
        assert_eq!(onto_folder.kind, FsErrorKind::NotAFile);
        fs.write_atomic(&path("file"), b"", FileMode::Private).unwrap();
        assert_eq!(fs.create_dir_all(&path("file/x")).unwrap_err().kind, FsErrorKind::NotADirectory);
        assert!(fs.create_new_durable(&path("file"), b"").unwrap_err().is_exists());
        assert_eq!(fs.list_dir(&RelPath::root()).unwrap().len(), 3, "no temporary file is left");
    }

    #[test]
    fn config_paths_are_classified_through_links() {
        let (folder, fs) = workspace();
        let base = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir(base.join("w/src")).unwrap();
        let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, base.join(name)).unwrap();
        link(&base.join("w/src"), "w/inner");
        link(&base, "w/outer");
        link(Path::new("../missing"), "w/dangling");
        let check = |text: &str, expect: Location| {
            assert_eq!(fs.resolve(text, Some(&base.join("home"))).unwrap(), expect, "{text}");
        };
        let inside = |text: &str| Location::Inside(path(text));
        let outside = |text: &str| Location::Outside(base.join(text));
        check("src/new.md", inside("src/new.md"));
        check("src/../src/./x", inside("src/x"));
        check("../w/src", inside("src"));
        check("inner/x", inside("src/x"));
        check(base.join("w/a").to_str().unwrap(), inside("a"));
        check("", inside(""));
        check("..", outside(""));
        check("../other", outside("other"));
        check("outer/secret", outside("secret"));
        check("dangling", outside("missing"));
        check("~/x", outside("home/x"));
        check("~", outside("home"));
        check("~x", inside("~x"));
        check("/etc/../etc", Location::Outside("/etc".into()));
    }

    #[test]
    fn an_open_file_stays_the_same_file() {
        let (_folder, fs) = workspace();
        fs.write_atomic(&path("f"), b"old", FileMode::Private).unwrap();
        let file = fs.open(&path("f")).unwrap();
        fs.write_atomic(&path("f"), b"new", FileMode::Private).unwrap();
        assert_eq!(file.read_range(0, 10).unwrap(), b"old");
        assert_ne!(file.id().unwrap(), fs.open(&path("f")).unwrap().id().unwrap());
    }
}
