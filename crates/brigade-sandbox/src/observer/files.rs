//! Finds the files that processes use, and hashes their bytes.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::system::{decimal, join_path, last_errno};

use super::lookup::{self, Lookup, LookupError, PathBuffer};

/// The largest file that is hashed. The process that opens it waits meanwhile.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The maximum number of bytes hashed in one run.
const MAX_HASHED_BYTES: u64 = 512 << 20;

/// A found file.
#[derive(Debug)]
pub(super) struct OpenedFile {
    pub(super) file: OwnedFd,
    pub(super) stat: rustix::fs::Stat,
    /// The length of its path in `real`.
    pub(super) length: usize,
}

impl OpenedFile {
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Returns a number that changes when the file changes.
    pub(super) fn stamp(&self, keys: &RandomState) -> u64 {
        let mut hasher = keys.build_hasher();
        let stat = &self.stat;
        hasher.write_u64(stat.st_dev);
        hasher.write_u64(stat.st_ino);
        hasher.write_i64(stat.st_size);
        for part in [stat.st_mtime, stat.st_mtime_nsec as i64, stat.st_ctime] {
            hasher.write_i64(part);
        }
        hasher.write_i64(stat.st_ctime_nsec as i64);
        hasher.finish()
    }

    /// Returns whether this is a file in memory (`memfd_create`), to which no rule applies.
    pub(super) fn is_in_memory(&self, real: &[u8]) -> bool {
        self.stat.st_nlink == 0 && real.starts_with(b"/memfd:") && real.ends_with(b" (deleted)")
    }

    /// Returns whether the mode of the file allows this user to use it.
    pub(super) fn is_permitted(&self, access: libc::c_int) -> bool {
        let flags = libc::AT_EMPTY_PATH | libc::AT_EACCESS;
        let file = self.file.as_raw_fd();
        // SAFETY: the path ends with NUL.
        let done = unsafe { libc::syscall(libc::SYS_faccessat2, file, c"".as_ptr(), access, flags) };
        // If the kernel cannot check it, record no denial.
        done == 0 || last_errno() != libc::EACCES
    }
}

/// Reads the kind of an open file, and writes its path without links to `real`. Makes only plain system calls.
pub(super) fn opened(file: OwnedFd, buffer: &mut [u8], real: &mut [u8]) -> Result<OpenedFile, LookupError> {
    let stat = rustix::fs::fstat(&file)?;
    let length = real_path(&file, buffer, real).ok_or(LookupError::Unseen)?;
    Ok(OpenedFile { file, stat, length })
}

/// Appends a path to the first `length` bytes of `real`, without following links, and returns the new length.
pub(super) fn append(real: &mut [u8], length: usize, path: &[u8]) -> Option<usize> {
    let mut length = if real[..length] == *b"/" { 0 } else { length };
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => length = real[..length].iter().rposition(|byte| *byte == b'/').unwrap_or(0),
            name => {
                let end = length + 1 + name.len();
                let room = real.get_mut(length..end)?;
                room[0] = b'/';
                room[1..].copy_from_slice(name);
                length = end;
            }
        }
    }
    Some(length)
}

/// Returns whether a file exists at an absolute path, as the keeper sees it. Links before the last part are followed.
/// Makes only plain system calls.
pub(super) fn exists(path: &[u8], buffer: &mut [u8]) -> bool {
    let Some(path) = join_path(buffer, &[path]) else { return false };
    let how = lookup::HANDLE | OFlags::NOFOLLOW;
    // With this flag the kernel refuses only links on the path, not one as the last part.
    let found =
        rustix::fs::openat2(rustix::fs::CWD, path, how, Mode::empty(), rustix::fs::ResolveFlags::NO_SYMLINKS);
    match found {
        Ok(_) => true,
        // The path leads through a link.
        Err(Errno::LOOP) => rustix::fs::open(path, how, Mode::empty()).is_ok(),
        Err(_) => false,
    }
}

/// Replaces the absolute path in the first `length` bytes of `real` by the same path without links, as the keeper sees
/// it. Makes only plain system calls.
pub(super) fn without_links(real: &mut [u8], length: usize, buffer: &mut [u8]) -> Option<usize> {
    let path = join_path(buffer, &[&real[..length]])?;
    let file = rustix::fs::open(path, lookup::HANDLE, Mode::empty()).ok()?;
    real_path(&file, buffer, real)
}

/// Resolves a path of a process, and writes the path without links to `real`. Makes only plain system calls.
pub(super) fn find(
    lookup: &Lookup<'_>,
    buffer: &mut [u8],
    rest: &mut PathBuffer,
    real: &mut [u8],
) -> Result<OpenedFile, LookupError> {
    let file = lookup::open(lookup, buffer, rest)?;
    opened(file, buffer, real)
}

/// Calls `accept` with the identity (device and inode) of a file and of each directory above it, until it returns true.
///
/// `real` is the path of the file without links. Returns whether `accept` returned true; `None` if a directory cannot
/// be opened. Makes only plain system calls.
pub(super) fn around(
    process: u32,
    found: &OpenedFile,
    buffer: &mut [u8],
    real: &[u8],
    mut accept: impl FnMut((u64, u64)) -> bool,
) -> Option<bool> {
    let mut own = (found.stat.st_dev, found.stat.st_ino);
    if accept(own) {
        return Some(true);
    }
    let parent = match found.kind() {
        FileType::Directory => rustix::fs::openat(&found.file, c"..", lookup::HANDLE, Mode::empty()),
        _ => {
            let end = real.iter().rposition(|byte| *byte == b'/')?;
            let mut digits = [0; 10];
            let process = decimal(process as i32, &mut digits);
            let parts: [&[u8]; 5] = [b"/proc/", process, b"/root", &real[..end], b"/"];
            rustix::fs::open(join_path(buffer, &parts)?, lookup::HANDLE, Mode::empty())
        }
    };
    let mut at = parent.ok()?;
    loop {
        let stat = rustix::fs::fstat(&at).ok()?;
        let identity = (stat.st_dev, stat.st_ino);
        // The parent of the root is the root.
        if identity == own {
            return Some(false);
        }
        if accept(identity) {
            return Some(true);
        }
        own = identity;
        at = rustix::fs::openat(&at, c"..", lookup::HANDLE, Mode::empty()).ok()?;
    }
}

/// Resolves where a missing file would be created, writes that path to `real`, and returns its length.
pub(super) fn find_place(
    lookup: &Lookup<'_>,
    buffer: &mut [u8],
    rest: &mut PathBuffer,
    real: &mut [u8],
) -> Result<usize, LookupError> {
    let (folder, name) = match lookup.path.iter().rposition(|byte| *byte == b'/') {
        Some(0) => (&b"/"[..], &lookup.path[1..]),
        Some(place) => (&lookup.path[..place], &lookup.path[place + 1..]),
        None => (&b"."[..], lookup.path),
    };
    if name.is_empty() || name == b"." || name == b".." {
        return Err(LookupError::Missing);
    }
    let found = find(&Lookup { path: folder, follows: true, ..*lookup }, buffer, rest, real)?;
    let mut length = found.length;
    if real[..length] != *b"/" {
        *real.get_mut(length).ok_or(LookupError::Unseen)? = b'/';
        length += 1;
    }
    let end = length + name.len();
    real.get_mut(length..end).ok_or(LookupError::Unseen)?.copy_from_slice(name);
    Ok(end)
}

fn own_descriptor<'a>(file: &OwnedFd, buffer: &'a mut [u8]) -> Option<&'a std::ffi::CStr> {
    let mut digits = [0; 10];
    join_path(buffer, &[b"/proc/self/fd/", decimal(file.as_raw_fd(), &mut digits)])
}

/// Reads the path of an open file, without links, and returns its length; `None` if it does not fit.
fn real_path(file: &OwnedFd, buffer: &mut [u8], real: &mut [u8]) -> Option<usize> {
    let link = own_descriptor(file, buffer)?;
    let length = rustix::fs::readlinkat_raw(rustix::fs::CWD, link, &mut *real).ok()?;
    // A result that fills the buffer was truncated.
    (length < real.len()).then_some(length)
}

/// The result of hashing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HashResult {
    Sha256([u8; 32]),
    /// The file is too large, or too much was hashed.
    TooMuch,
    /// The file cannot be read.
    Unreadable,
}

/// Hashes a regular file and counts its bytes. Makes only plain system calls.
pub(super) fn hash(
    found: &OpenedFile,
    hashed_bytes: &mut u64,
    buffer: &mut [u8],
    piece: &mut [u8],
) -> HashResult {
    let size = found.stat.st_size as u64;
    if MAX_FILE_BYTES < size || MAX_HASHED_BYTES < *hashed_bytes + size {
        return HashResult::TooMuch;
    }
    // A lease of another process must not block the keeper.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = own_descriptor(&found.file, buffer).map(|path| rustix::fs::open(path, flags, Mode::empty()));
    let Some(Ok(file)) = opened else { return HashResult::Unreadable };
    let mut hasher = Sha256::new();
    let mut left = MAX_FILE_BYTES;
    loop {
        match rustix::io::read(&file, &mut *piece) {
            Ok(0) => return HashResult::Sha256(hasher.finalize().into()),
            Ok(read) => {
                *hashed_bytes += read as u64;
                let Some(rest) = left.checked_sub(read as u64) else { return HashResult::TooMuch };
                left = rest;
                hasher.update(&piece[..read]);
            }
            Err(Errno::INTR) => {}
            Err(_) => return HashResult::Unreadable,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::fs::ResolveFlags;

    use super::*;

    fn look(folder: &OwnedFd, path: &str) -> Result<(OpenedFile, String), LookupError> {
        let (mut buffer, mut real) = ([0; 4224], [0; 4352]);
        let lookup = Lookup {
            process: std::process::id(),
            folder: folder.as_raw_fd(),
            path: path.as_bytes(),
            follows: true,
            resolve: ResolveFlags::empty(),
        };
        let found = find(&lookup, &mut buffer, &mut [0; 3 * 4096], &mut real)?;
        let real = String::from_utf8(real[..found.length].to_vec()).unwrap();
        Ok((found, real))
    }

    #[test]
    fn a_path_is_found_as_its_process_means_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/file"), "text").unwrap();
        std::os::unix::fs::symlink("sub/file", root.join("link")).unwrap();
        let folder: OwnedFd = std::fs::File::open(&root).unwrap().into();
        let real = root.join("sub/file");
        let own = format!("/proc/self/fd/{}/link", folder.as_raw_fd());
        let shell = format!("/dev/fd/{}/sub/../link", folder.as_raw_fd());
        for path in ["sub/file", "link", "./sub//../link", real.to_str().unwrap(), &own, &shell] {
            let (found, path) = look(&folder, path).unwrap();
            assert_eq!((Path::new(&path), found.kind()), (real.as_path(), FileType::RegularFile));
            let mut hashed = 0;
            let sha256 = hash(&found, &mut hashed, &mut [0; 64], &mut [0; 3]);
            assert_eq!((sha256, hashed), (HashResult::Sha256(Sha256::digest(b"text").into()), 4));
        }
        assert_eq!(look(&folder, "").unwrap().1, root.to_str().unwrap());
        assert_eq!(look(&folder, "gone").err(), Some(LookupError::Missing));
        assert_eq!(look(&folder, "sub/file/x").err(), Some(LookupError::Missing));
    }

    /// Issue 12: every path below a link was taken to exist.
    #[test]
    fn missing_files_below_a_link_are_missing() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/file"), "text").unwrap();
        for (target, link) in [("sub", "link"), ("gone", "dead")] {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        let is_there = |path: &str| exists(root.join(path).to_str().unwrap().as_bytes(), &mut [0; 4224]);
        for (path, expect) in [
            ("sub/file", true),
            ("link/file", true),
            ("dead", true),
            ("link", true),
            ("sub/gone", false),
            ("link/gone", false),
            ("dead/file", false),
        ] {
            assert_eq!(is_there(path), expect, "{path}");
        }
    }

    #[test]
    fn the_place_of_a_new_file_is_found() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::os::unix::fs::symlink("sub", root.join("link")).unwrap();
        let folder: OwnedFd = std::fs::File::open(&root).unwrap().into();
        let place = |path: &str| {
            let (mut buffer, mut real) = ([0; 4224], [0; 4352]);
            let lookup = Lookup {
                process: std::process::id(),
                folder: folder.as_raw_fd(),
                path: path.as_bytes(),
                follows: true,
                resolve: ResolveFlags::empty(),
            };
            let length = find_place(&lookup, &mut buffer, &mut [0; 3 * 4096], &mut real).ok()?;
            Some(Path::new(std::str::from_utf8(&real[..length]).unwrap()).to_owned())
        };
        assert_eq!(place("new"), Some(root.join("new")));
        assert_eq!(place("link/new"), Some(root.join("sub/new")));
        assert_eq!(place("/new"), Some("/new".into()));
        assert_eq!(place("gone/new"), None);
        assert_eq!(place("sub/"), None);
    }
}
