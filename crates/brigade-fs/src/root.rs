//! Opens paths below a directory, so that neither `..` nor a link leads out of it.
//!
//! On Linux the kernel does this (`openat2` with `RESOLVE_BENEATH`). On other systems, and on older kernels, the path
//! is walked component by component and links are followed manually.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;

/// The directory below which paths are opened.
#[derive(Debug)]
pub(crate) struct Root {
    folder: OwnedFd,
}

/// Flags for opening a directory only to reach its entries.
#[cfg(target_os = "linux")]
const PASSAGE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PASSAGE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// How often an open is retried, how many of these retries come at once, and how long to wait before each of the
/// others.
#[cfg(target_os = "linux")]
const MAX_RETRIES: u32 = 564;
#[cfg(target_os = "linux")]
const IMMEDIATE_RETRIES: u32 = 64;
#[cfg(target_os = "linux")]
const RETRY_INTERVAL: std::time::Duration = std::time::Duration::from_millis(10);

/// The maximum number of links on one path, as in the kernel.
const MAX_LINKS: usize = 40;

impl Root {
    pub(crate) fn open(path: &Path) -> io::Result<Root> {
        Ok(Root { folder: rustix::fs::openat(rustix::fs::CWD, path, PASSAGE, Mode::empty())? })
    }

    /// Opens a path. A path that leads outside fails with `EXDEV`.
    pub(crate) fn open_beneath(&self, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            // The kernel asks for a retry if a directory on the path was renamed, and while a process has a lease on
            // the file. A lease takes longer.
            for attempt in 0..MAX_RETRIES {
                let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
                match rustix::fs::openat2(&self.folder, path, flags | OFlags::CLOEXEC, mode, resolve) {
                    Err(Errno::AGAIN) if attempt + 1 == MAX_RETRIES => return Err(Errno::AGAIN.into()),
                    Err(Errno::AGAIN) if attempt < IMMEDIATE_RETRIES => {}
                    Err(Errno::AGAIN) => std::thread::sleep(RETRY_INTERVAL),
                    Err(Errno::NOSYS | Errno::PERM) => break,
                    result => return Ok(result?),
                }
            }
        }
        self.walk(path, flags | OFlags::CLOEXEC, mode)
    }

    /// Returns whether a path exists and has no links. Always false on other systems and older kernels.
    pub(crate) fn is_without_links(&self, path: &Path) -> bool {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            rustix::fs::openat2(&self.folder, path, flags, Mode::empty(), resolve).is_ok()
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = path;
            false
        }
    }

    /// Returns the metadata of a path's target, also outside of the root.
    pub(crate) fn look(&self, path: &Path) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.folder, path, AtFlags::empty())?)
    }

    /// Opens the parent directory of a path, and returns it with the last name.
    pub(crate) fn open_parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a Path)> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) | None => Path::new("."),
        };
        Ok((self.open_beneath(parent, PASSAGE, Mode::empty())?, Path::new(name)))
    }

    /// Walks a path as `openat2` does in the kernel.
    pub(crate) fn walk(&self, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let mut passed: Vec<OwnedFd> = Vec::new();
        let mut ahead = names(path)?;
        let mut links = 0;
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                passed.pop().ok_or(Errno::XDEV)?;
                continue;
            }
            let here: BorrowedFd<'_> = passed.last().map_or(self.folder.as_fd(), OwnedFd::as_fd);
            let is_last = ahead.is_empty();
            let keeps_link = is_last && (flags.contains(OFlags::NOFOLLOW) || flags.contains(OFlags::EXCL));
            if !keeps_link && let Ok(target) = rustix::fs::readlinkat(here, &name, Vec::new()) {
                links += 1;
                if MAX_LINKS < links {
                    return Err(Errno::LOOP.into());
                }
                let target = OsString::from_vec(target.into_bytes());
                for name in names(Path::new(&target))?.into_iter().rev() {
                    ahead.push_front(name);
                }
                continue;
            }
            if is_last {
                return Ok(rustix::fs::openat(here, &name, flags | OFlags::NOFOLLOW, mode)?);
            }
            let folder = rustix::fs::openat(here, &name, PASSAGE | OFlags::NOFOLLOW, Mode::empty())?;
            passed.push(folder);
        }
        let here = passed.last().map_or(self.folder.as_fd(), OwnedFd::as_fd);
        Ok(rustix::fs::openat(here, ".", flags, mode)?)
    }
}

fn names(path: &Path) -> io::Result<VecDeque<OsString>> {
    let mut names = VecDeque::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push_back(name.to_owned()),
            Component::ParentDir => names.push_back("..".into()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV.into()),
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Returns the content of an opened file, or the kind of error.
    fn content(result: io::Result<OwnedFd>) -> Result<String, io::ErrorKind> {
        let mut text = String::new();
        result
            .and_then(|file| std::fs::File::from(file).read_to_string(&mut text))
            .map_err(|error| error.kind())?;
        Ok(text)
    }

    #[test]
    fn both_implementations_agree_on_paths_beneath() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("root/a/b")).unwrap();
        std::fs::write(at("root/a/file"), "inside").unwrap();
        std::fs::write(at("secret"), "outside").unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, at(name)).unwrap();
        link("../a/file", "root/a/up");
        link("b", "root/a/folder");
        link("../../secret", "root/a/out");
        link("../..", "root/a/outfolder");
        link("loop", "root/loop");
        std::os::unix::fs::symlink(at("secret"), at("root/absolute")).unwrap();
        let root = Root::open(&at("root")).unwrap();
        let check = |path: &str, expect: Result<&str, io::ErrorKind>| {
            let expect = expect.map(str::to_owned);
            let path = Path::new(path);
            assert_eq!(content(root.open_beneath(path, OFlags::RDONLY, Mode::empty())), expect, "{path:?}");
            assert_eq!(content(root.walk(path, OFlags::RDONLY, Mode::empty())), expect, "walked {path:?}");
        };
        check("a/file", Ok("inside"));
        check("a/up", Ok("inside"));
        check("a/folder/../file", Ok("inside"));
        check("a/out", Err(io::ErrorKind::CrossesDevices));
        check("a/outfolder/secret", Err(io::ErrorKind::CrossesDevices));
        check("../secret", Err(io::ErrorKind::CrossesDevices));
        check("absolute", Err(io::ErrorKind::CrossesDevices));

        assert!(content(root.walk(Path::new("loop"), OFlags::RDONLY, Mode::empty())).is_err());
        check("a/none", Err(io::ErrorKind::NotFound));
        check("a/file/x", Err(io::ErrorKind::NotADirectory));
    }
}
