//! Follows the path of another process to the file that the kernel would open for it.
//!
//! Absolute links start at the root of the process, and links in `/proc` have a different target for each process. If
//! the keeper opened such a path, the kernel would follow them as the keeper's. So the keeper passes the kernel only
//! paths that have no links or whose links all stay below the root of the process. It follows other paths part by part.
//! The kernel also stops at links that leave a file system (`/proc/self/cwd`); the keeper then follows those. Makes
//! only plain system calls.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::system::{decimal, join_path};

/// The maximum number of links on one path; the same as the kernel's.
const MAX_LINKS: usize = 40;

/// The inode of the root of `/proc`.
const ROOT_OF_PROC: u64 = 1;

/// Space for the rest of a path whose links are being followed.
pub(super) type PathBuffer = [u8; 3 * 4096];

/// The flags to open a file without reading it.
pub(super) const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Why no file was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookupError {
    /// It does not exist, or the process may not see it.
    Missing,
    /// The keeper cannot find it, but the kernel may.
    Unseen,
}

impl From<Errno> for LookupError {
    fn from(errno: Errno) -> LookupError {
        match errno {
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::NAMETOOLONG
            | Errno::ACCESS
            | Errno::PERM
            | Errno::XDEV
            | Errno::BADF
            | Errno::INVAL => LookupError::Missing,
            _ => LookupError::Unseen,
        }
    }
}

/// Files of another process may be closed to the keeper but open to that process.
fn of_process(errno: Errno) -> LookupError {
    match errno {
        Errno::ACCESS | Errno::PERM => LookupError::Unseen,
        other => other.into(),
    }
}

/// How to resolve a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup<'a> {
    /// The thread that asks.
    pub(super) process: u32,
    /// A descriptor of the process, or `AT_FDCWD`.
    pub(super) folder: i32,
    /// Empty for the descriptor itself.
    pub(super) path: &'a [u8],
    /// Whether the last part may be a link.
    pub(super) follows: bool,
    /// The restrictions of `openat2`.
    pub(super) resolve: ResolveFlags,
}

/// Opens the file of a path as a handle.
pub(super) fn open(
    lookup: &Lookup<'_>,
    buffer: &mut [u8],
    rest: &mut PathBuffer,
) -> Result<OwnedFd, LookupError> {
    let Lookup { process, path, follows, .. } = *lookup;
    // Whether the keeper has everything in its caches says nothing about the process.
    let resolve = lookup.resolve.difference(ResolveFlags::CACHED);
    let is_scoped = resolve.intersects(ResolveFlags::IN_ROOT | ResolveFlags::BENEATH);
    let is_absolute = path.starts_with(b"/");
    let start = if is_absolute && !is_scoped {
        root_of(process, buffer)?
    } else {
        folder_of(process, lookup.folder, buffer)?
    };
    if path.is_empty() {
        return Ok(start);
    }
    let link = if follows { OFlags::empty() } else { OFlags::NOFOLLOW };
    let mut open_at = |path: &[u8], resolve: ResolveFlags| -> Result<OwnedFd, Errno> {
        let path = join_path(buffer, &[path]).ok_or(Errno::NAMETOOLONG)?;
        rustix::fs::openat2(&start, path, HANDLE | link, Mode::empty(), resolve)
    };
    if is_scoped {
        let root = resolve.contains(ResolveFlags::IN_ROOT).then(|| start.try_clone());
        let root = root.transpose().map_err(|_| LookupError::Unseen)?;
        return match open_at(path, resolve) {
            Ok(file) => Ok(file),
            Err(Errno::NOENT) => {
                let mut walk = PathWalk { process, at: rest.len(), rest, resolve, root };
                walk.prepend(path)?;
                // The file exists for the process, and only its restrictions can have made the call fail.
                walk.follow(start, follows, buffer).and(Err(LookupError::Unseen))
            }
            Err(errno) => Err(errno.into()),
        };
    }
    let below = if is_absolute { below_root(path) } else { path };
    match open_at(below, ResolveFlags::NO_SYMLINKS) {
        Ok(file) => return Ok(file),
        Err(Errno::LOOP) if resolve.contains(ResolveFlags::NO_SYMLINKS) => return Err(LookupError::Missing),
        // The path has a link, or the kernel is too old, or does not permit the call.
        Err(Errno::LOOP | Errno::NOSYS | Errno::PERM) => {}
        Err(errno) => return Err(errno.into()),
    }
    if is_absolute && let Ok(file) = open_at(below, ResolveFlags::IN_ROOT) {
        return Ok(file);
    }
    let mut walk = PathWalk { process, at: rest.len(), rest, resolve, root: None };
    walk.prepend(path)?;
    walk.follow(start, follows, buffer)
}

/// Returns an absolute path relative to the root.
fn below_root(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|byte| *byte != b'/');
    start.map_or(b".", |start| &path[start..])
}

fn root_of(process: u32, buffer: &mut [u8]) -> Result<OwnedFd, LookupError> {
    open_entry(process, &[b"/root"], buffer)
}

fn folder_of(process: u32, folder: i32, buffer: &mut [u8]) -> Result<OwnedFd, LookupError> {
    let mut digits = [0; 10];
    match folder {
        libc::AT_FDCWD => open_entry(process, &[b"/cwd"], buffer),
        number if 0 <= number => open_entry(process, &[b"/fd/", decimal(number, &mut digits)], buffer),
        _ => Err(LookupError::Missing),
    }
}

/// Opens an entry of the directory of a process in `/proc`.
fn open_entry(process: u32, entry: &[&[u8]], buffer: &mut [u8]) -> Result<OwnedFd, LookupError> {
    let mut digits = [0; 10];
    let mut parts: [&[u8]; 4] = [b"/proc/", decimal(process as i32, &mut digits), b"", b""];
    parts[2..2 + entry.len()].copy_from_slice(entry);
    let path = join_path(buffer, &parts).ok_or(LookupError::Unseen)?;
    rustix::fs::open(path, HANDLE, Mode::empty()).map_err(of_process)
}

/// A path that is being followed. The rest of it is at the end of the buffer.
struct PathWalk<'a> {
    process: u32,
    rest: &'a mut PathBuffer,
    at: usize,
    resolve: ResolveFlags,
    /// Where absolute links start, if not at the root of the process.
    root: Option<OwnedFd>,
}

/// The next part of a path.
struct Part {
    start: usize,
    end: usize,
    /// Whether this is the last part.
    is_last: bool,
    /// Whether it must be a directory.
    has_slash: bool,
}

impl PathWalk<'_> {
    /// Puts the target of a link in front of the rest of the path.
    fn prepend(&mut self, target: &[u8]) -> Result<(), LookupError> {
        let at = self.at.checked_sub(target.len()).ok_or(LookupError::Unseen)?;
        self.rest[at..self.at].copy_from_slice(target);
        self.at = at;
        Ok(())
    }

    /// Takes the next part of the rest.
    fn next(&mut self) -> Option<Part> {
        let start = self.at + self.rest[self.at..].iter().position(|byte| *byte != b'/')?;
        let length = self.rest[start..].iter().position(|byte| *byte == b'/');
        let end = length.map_or(self.rest.len(), |length| start + length);
        self.at = end;
        let is_last = self.rest[end..].iter().all(|byte| *byte == b'/');
        Some(Part { start, end, is_last, has_slash: length.is_some() })
    }

    /// Follows the rest of the path from a directory.
    fn follow(&mut self, start: OwnedFd, follows: bool, buffer: &mut [u8]) -> Result<OwnedFd, LookupError> {
        let mut at = start;
        let mut links = 0;
        while let Some(part) = self.next() {
            let name = join_path(buffer, &[&self.rest[part.start..part.end]]).ok_or(LookupError::Missing)?;
            let next = rustix::fs::openat(&at, name, HANDLE | OFlags::NOFOLLOW, Mode::empty())?;
            let kind = FileType::from_raw_mode(rustix::fs::fstat(&next)?.st_mode);
            if kind != FileType::Symlink {
                if part.has_slash && kind != FileType::Directory {
                    return Err(LookupError::Missing);
                }
                at = next;
                continue;
            }
            if part.is_last && !part.has_slash && !follows {
                return Ok(next);
            }
            links += 1;
            if MAX_LINKS < links {
                return Err(LookupError::Missing);
            }
            match self.link(&at, &part, buffer)? {
                Link::Leads(folder) => at = folder,
                Link::Text => {
                    let length = read_link(&next, buffer).ok_or(LookupError::Unseen)?;
                    self.prepend(&buffer[..length])?;
                    if buffer.starts_with(b"/") {
                        at = match &self.root {
                            Some(root) => root.try_clone().map_err(|_| LookupError::Unseen)?,
                            None => root_of(self.process, buffer)?,
                        };
                    }
                }
            }
        }
        Ok(at)
    }

    /// Returns the kind of a link in a directory.
    fn link(&self, folder: &OwnedFd, part: &Part, buffer: &mut [u8]) -> Result<Link, LookupError> {
        if rustix::fs::fstatfs(folder)?.f_type != rustix::fs::PROC_SUPER_MAGIC {
            return Ok(Link::Text);
        }
        let name = &self.rest[part.start..part.end];
        let mut digits = [[0; 10]; 2];
        if rustix::fs::fstat(folder)?.st_ino != ROOT_OF_PROC {
            // The target of such a link cannot be read as text.
            if self.resolve.contains(ResolveFlags::NO_MAGICLINKS) {
                return Err(LookupError::Missing);
            }
            let name = join_path(buffer, &[name]).ok_or(LookupError::Missing)?;
            return open_in(folder, name).map(Link::Leads);
        }
        let own = match name {
            b"self" | b"thread-self" => leader_of(self.process, buffer).ok_or(LookupError::Unseen)?,
            _ => return Ok(Link::Text),
        };
        let [leader, thread] = &mut digits;
        let (leader, thread) = (decimal(own as i32, leader), decimal(self.process as i32, thread));
        let own = match name {
            b"self" => join_path(buffer, &[leader]),
            _ => join_path(buffer, &[leader, b"/task/", thread]),
        };
        // In another `/proc` the process may have another number.
        open_in(folder, own.ok_or(LookupError::Unseen)?).map(Link::Leads).map_err(|_| LookupError::Unseen)
    }
}

/// A link on a path.
enum Link {
    /// A link whose text is followed.
    Text,
    /// A link of `/proc`, with its target for this process.
    Leads(OwnedFd),
}

fn open_in(folder: &OwnedFd, name: &CStr) -> Result<OwnedFd, LookupError> {
    rustix::fs::openat(folder, name, HANDLE, Mode::empty()).map_err(of_process)
}

/// Returns the process of a thread.
fn leader_of(thread: u32, buffer: &mut [u8]) -> Option<u32> {
    let mut digits = [0; 10];
    let path = join_path(buffer, &[b"/proc/", decimal(thread as i32, &mut digits), b"/status"])?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let status = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let mut text = [0; 1024];
    let length = rustix::io::read(&status, &mut text).ok()?;
    let mut lines = text[..length].split(|byte| *byte == b'\n');
    let number = lines.find_map(|line| line.strip_prefix(b"Tgid:"))?.trim_ascii();
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Reads the text of a link, and returns its length; `None` if it does not fit.
fn read_link(link: &OwnedFd, text: &mut [u8]) -> Option<usize> {
    let length = rustix::fs::readlinkat_raw(link, c"", &mut *text).ok()?;
    // A result that fills the buffer was truncated.
    (length < text.len()).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn this_thread() -> u32 {
        let own = std::fs::read_link("/proc/thread-self").unwrap();
        own.file_name().unwrap().to_str().unwrap().parse().unwrap()
    }

    fn look(
        folder: &OwnedFd,
        path: &str,
        follows: bool,
        resolve: ResolveFlags,
    ) -> Result<(u64, u64), LookupError> {
        let lookup = Lookup {
            process: this_thread(),
            folder: folder.as_raw_fd(),
            path: path.as_bytes(),
            follows,
            resolve,
        };
        let file = open(&lookup, &mut [0; 4224], &mut [0; 3 * 4096])?;
        let stat = rustix::fs::fstat(&file).unwrap();
        Ok((stat.st_dev, stat.st_ino))
    }

    #[test]
    fn paths_resolve_as_for_the_process() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("sub/deep")).unwrap();
        std::fs::write(root.join("sub/file"), "text").unwrap();
        let folder: OwnedFd = std::fs::File::open(&root).unwrap().into();
        let number = folder.as_raw_fd();
        for (link, target) in [
            ("link", "sub/file"),
            ("folder", "sub"),
            ("sub/up", "../link"),
            ("absolute", root.join("link").to_str().unwrap()),
            ("own", &format!("/proc/self/fd/{number}/link")),
            ("thread", &format!("/proc/thread-self/fd/{number}/sub")),
            ("chain", "own"),
            ("around", &format!("//proc/.//self/../self/root/proc/self/fd/{number}/folder/")),
            ("dangling", "gone"),
            ("turn", "turn"),
            ("root", "/"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        let base = root.to_str().unwrap();
        let paths = [
            "sub/file",
            "link",
            "absolute",
            "sub/up",
            "own",
            "chain",
            "thread/file",
            "around/file",
            "folder/../link",
            &format!("root{base}/chain"),
            &format!("{base}/chain"),
            &format!("{base}/folder/deep/../up"),
            &format!("/dev/fd/{number}/chain"),
            &format!("/proc/self/task/../../thread-self/fd/{number}/own"),
            &format!("/proc/self/../self/fd/{number}/sub/file"),
            &format!(".{}sub/file", "/".repeat(4000)),
        ];
        let expect =
            std::fs::metadata(root.join("sub/file")).map(|found| (found.dev(), found.ino())).unwrap();
        for path in paths {
            assert_eq!(look(&folder, path, true, ResolveFlags::empty()), Ok(expect), "{path}");
        }
        for path in ["gone", "dangling", "sub/file/x", "link/", "link/.", "turn", "folder/gone", "own/x"] {
            assert_eq!(look(&folder, path, true, ResolveFlags::empty()), Err(LookupError::Missing), "{path}");
        }
        // The last link itself, unless a slash follows.
        let own = |path: &str| {
            let found = root.join(path).symlink_metadata().unwrap();
            (found.dev(), found.ino())
        };
        for path in ["link", "chain", "dangling", "folder/up"] {
            assert_eq!(look(&folder, path, false, ResolveFlags::empty()), Ok(own(path)), "{path}");
        }
        assert_eq!(look(&folder, "folder/", false, ResolveFlags::empty()), Ok(own("sub")));
        assert_eq!(look(&folder, "", true, ResolveFlags::empty()), Ok(own(".")));
        // The same with the restrictions of the process.
        for (path, resolve, expect) in [
            ("link", ResolveFlags::NO_SYMLINKS, Err(LookupError::Missing)),
            ("sub/file", ResolveFlags::NO_SYMLINKS, Ok(expect)),
            ("chain", ResolveFlags::NO_MAGICLINKS, Err(LookupError::Missing)),
            ("absolute", ResolveFlags::NO_MAGICLINKS, Ok(expect)),
            ("/folder/file", ResolveFlags::IN_ROOT, Ok(expect)),
            ("absolute", ResolveFlags::BENEATH, Err(LookupError::Missing)),
            ("chain", ResolveFlags::BENEATH, Err(LookupError::Missing)),
            ("sub/up", ResolveFlags::BENEATH | ResolveFlags::CACHED, Ok(expect)),
        ] {
            assert_eq!(look(&folder, path, true, resolve), expect, "{path} {resolve:?}");
        }
        // A path with more links than the keeper can follow is not a missing file.
        for (link, target) in [("0", "sub"), ("1", "0"), ("2", "1"), ("3", "2")] {
            symlink(format!("{target}/{}", "./".repeat(2000)), root.join(link)).unwrap();
        }
        assert!(root.join("3/file").exists());
        assert_eq!(look(&folder, "3/file", true, ResolveFlags::empty()), Err(LookupError::Unseen));
    }
}
