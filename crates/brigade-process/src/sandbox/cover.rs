//! Covers a directory with an empty one in which only some entries of it are found, or with another one to write.
//!
//! What is covered cannot be opened, so nobody in the new view can lock it, even for reading.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::fs::{Mode, OFlags, mkdirat, openat};

use crate::launch::last_errno;

use super::beneath::PreparedPath;
use super::files::is_beneath;
use super::mounts::{View, copy_of, move_to, protected, set_read_only};
use super::{Replaced, SandboxError, SandboxProfile};

/// A directory and what of it stays to be seen.
#[derive(Debug)]
pub(super) struct Cover {
    folder: PreparedPath,
    path: CString,
    /// What is put over it, to write; `None` for an empty directory to read.
    by: Option<PreparedPath>,
    shown: Vec<CoverEntry>,
}

#[derive(Debug)]
struct CoverEntry {
    way: PreparedPath,
    /// The parts of its path below the directory.
    parts: Vec<CString>,
    is_folder: bool,
    /// The same below the directory as one text.
    below: Vec<u8>,
    view: View,
    /// Its mount, between the time when it is copied and the time when it is put in its place. Only in the child.
    tree: AtomicI32,
}

impl Cover {
    /// Prepares one for each directory that is there.
    pub(super) fn all(profile: &SandboxProfile) -> Result<Vec<Cover>, SandboxError> {
        let covers = profile.hidden.iter().map(|folder| Cover::new(profile, folder));
        let replaced = profile.replaced.iter().map(|replaced| Cover::replacing(profile, replaced).map(Some));
        covers.chain(replaced).filter_map(Result::transpose).collect()
    }

    /// Prepares one that puts another directory in the place of one.
    fn replacing(profile: &SandboxProfile, replaced: &Replaced) -> Result<Cover, SandboxError> {
        let write = replaced.write.iter().map(|path| (path.as_path(), View::Writable));
        let read = replaced.read.iter().map(|path| (path.as_path(), View::ReadOnly));
        let mut shown = CoverEntry::all(profile, &replaced.folder, write.chain(read))?;
        // What is beneath comes later.
        shown.sort_by_key(|shown| shown.parts.len());
        let workspace = profile.workspace.as_deref();
        Ok(Cover {
            folder: PreparedPath::new(&replaced.folder, workspace)?,
            path: text(replaced.folder.as_os_str().as_bytes())?,
            by: Some(PreparedPath::new(&replaced.by, workspace)?),
            shown,
        })
    }

    /// Tells whether a path is writable if it lies in a directory that another one replaces. Does not allocate.
    pub(super) fn lets_write(&self, path: &[u8]) -> Option<bool> {
        self.by.as_ref()?;
        let below = path.strip_prefix(self.path.as_bytes())?;
        let below = if below.is_empty() { below } else { below.strip_prefix(b"/")? };
        // What is beneath comes later.
        let shown = self.shown.iter().rev().find(|shown| is_beneath(below, &shown.below));
        Some(shown.is_none_or(|shown| shown.view == View::Writable))
    }

    /// Prepares it; none when there is no such directory.
    fn new(profile: &SandboxProfile, folder: &Path) -> Result<Option<Cover>, SandboxError> {
        let workspace = profile.workspace.as_deref();
        if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Ok(None);
        }
        let read = profile.read.iter().map(|path| (path.as_path(), View::ReadOnly));
        let write = profile.write.iter().map(|path| (path.as_path(), View::Writable));
        // What stays closed beneath one that is written is seen, too.
        let closed = protected(profile).map(|path| (path, View::ReadOnly));
        let mut shown = CoverEntry::all(profile, folder, write.chain(read).chain(closed))?;
        // What is beneath comes later; of two for the same path the one that gives more comes last.
        shown.sort_by_key(|shown| (shown.parts.len(), shown.view != View::ReadOnly));
        Ok(Some(Cover {
            folder: PreparedPath::new(folder, workspace)?,
            path: text(folder.as_os_str().as_bytes())?,
            by: None,
            shown,
        }))
    }

    /// Says whether a path is covered, or seen nevertheless.
    pub(super) fn covers(profile: &SandboxProfile, path: &Path) -> bool {
        profile.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    /// Covers the directory in the view of the calling process. Makes plain system calls only.
    pub(super) fn put(&self) -> Result<(), i32> {
        for shown in &self.shown {
            // One that is gone by now is not seen.
            let Ok(at) = shown.way.open() else { continue };
            let tree = copy_of(at.as_raw_fd(), c"", libc::AT_RECURSIVE)?;
            let (is_closed, flags) = match shown.view {
                View::Writable => (false, 0),
                View::ReadOnly | View::Empty => (true, libc::AT_RECURSIVE),
            };
            set_read_only(tree.as_raw_fd(), c"", is_closed, flags | libc::AT_EMPTY_PATH)?;
            shown.tree.store(std::os::fd::IntoRawFd::into_raw_fd(tree), Ordering::Relaxed);
        }
        // Not through a link: the way is checked, and what is on it cannot be replaced by other runs.
        let place = self.folder.open().map_err(rustix::io::Errno::raw_os_error)?;
        if let Some(by) = &self.by {
            let by = by.open().map_err(rustix::io::Errno::raw_os_error)?;
            let tree = copy_of(by.as_raw_fd(), c"", libc::AT_RECURSIVE)?;
            set_read_only(tree.as_raw_fd(), c"", false, libc::AT_EMPTY_PATH)?;
            move_to(&tree, &place)?;
            return self.put_shown();
        }
        let (kind, options) = (c"tmpfs", c"mode=0755,size=1m");
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        // SAFETY: all strings end with NUL.
        let done = unsafe {
            libc::mount(kind.as_ptr(), self.path.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast())
        };
        if done != 0 {
            return Err(last_errno());
        }
        self.put_shown()?;
        set_read_only(libc::AT_FDCWD, &self.path, true, 0)
    }

    /// Puts what stays to be seen into the directory that covers this one now.
    fn put_shown(&self) -> Result<(), i32> {
        let empty = self.folder.open().map_err(rustix::io::Errno::raw_os_error)?;
        for shown in &self.shown {
            let tree: RawFd = shown.tree.load(Ordering::Relaxed);
            if tree < 0 {
                continue;
            }
            // SAFETY: the descriptor was taken out of its owner above, and nobody else uses it.
            let tree = unsafe { OwnedFd::from_raw_fd(tree) };
            shown.put(&empty, &tree).map_err(rustix::io::Errno::raw_os_error)?;
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> Result<CString, SandboxError> {
    CString::new(bytes).map_err(|_| SandboxError::Build("a path holds a NUL byte".to_owned()))
}

impl CoverEntry {
    /// Prepares those of the paths that are there below a directory.
    fn all<'p>(
        profile: &SandboxProfile,
        folder: &Path,
        paths: impl Iterator<Item = (&'p Path, View)>,
    ) -> Result<Vec<CoverEntry>, SandboxError> {
        let mut all = Vec::new();
        for (path, view) in paths {
            let below = path.strip_prefix(folder).ok().filter(|below| !below.as_os_str().is_empty());
            let (Some(below), Ok(found)) = (below, path.symlink_metadata()) else { continue };
            let parts = below.components().map(|part| text(part.as_os_str().as_bytes()));
            all.push(CoverEntry {
                way: PreparedPath::new(path, profile.workspace.as_deref())?,
                parts: parts.collect::<Result<_, _>>()?,
                is_folder: found.is_dir(),
                below: below.as_os_str().as_bytes().to_vec(),
                view,
                tree: AtomicI32::new(-1),
            });
        }
        Ok(all)
    }

    fn put(&self, cover: &OwnedFd, tree: &OwnedFd) -> rustix::io::Result<()> {
        const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
        let mut at = openat(cover, c".", HANDLE, Mode::empty())?;
        for (index, part) in self.parts.iter().enumerate() {
            let is_last = index + 1 == self.parts.len();
            make(&at, part, if is_last { self.is_folder } else { true })?;
            at = openat(&at, part.as_c_str(), HANDLE, Mode::empty())?;
        }
        move_to(tree, &at).map_err(rustix::io::Errno::from_raw_os_error)
    }
}

/// Makes an entry to be mounted over, unless it is there.
fn make(folder: &OwnedFd, name: &CStr, is_folder: bool) -> rustix::io::Result<()> {
    if is_folder {
        return match mkdirat(folder, name, Mode::from_raw_mode(0o755)) {
            Err(rustix::io::Errno::EXIST) => Ok(()),
            result => result,
        };
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::from_raw_mode(0o644)) {
        Ok(_) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}
