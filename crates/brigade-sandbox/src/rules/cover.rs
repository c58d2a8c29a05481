//! Covers a directory with an empty one that has only some of its entries, or with a writable one.
//!
//! A covered entry cannot be opened, so a process in the new view cannot even lock it for reading.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::{self, Errno};

use crate::{ReplacedPath, SandboxError, SandboxProfile};

use super::mounts::{View, copy_of, mount_tmpfs, move_to, protected, set_read_only};
use super::prepared_path::{PreparedPath, c_parts, c_string};
use super::ruleset::is_beneath;

/// A covered directory and the entries of it that stay visible.
#[derive(Debug)]
pub(super) struct Cover {
    folder: PreparedPath,
    path: CString,
    /// The directory that covers it, writable; `None` for an empty read-only one.
    by: Option<PreparedPath>,
    visible: Vec<CoverEntry>,
}

#[derive(Debug)]
struct CoverEntry {
    prepared: PreparedPath,
    /// The parts of its path below the directory.
    parts: Vec<CString>,
    is_folder: bool,
    /// The same path as one text.
    below: Vec<u8>,
    view: View,
    /// Its mount, from the time when it is copied until it is attached again. Only used in the child.
    tree: AtomicI32,
}

impl Cover {
    /// Prepares one cover for each existing directory.
    pub(super) fn all(profile: &SandboxProfile) -> Result<Vec<Cover>, SandboxError> {
        let covers = profile.hidden.iter().map(|folder| Cover::new(profile, folder));
        let replaced = profile.replaced.iter().map(|replaced| Cover::replacing(profile, replaced).map(Some));
        covers.chain(replaced).filter_map(Result::transpose).collect()
    }

    /// Prepares the cover that replaces a directory by another one.
    fn replacing(profile: &SandboxProfile, replaced: &ReplacedPath) -> Result<Cover, SandboxError> {
        let write = replaced.write.iter().map(|path| (path.as_path(), View::Writable));
        let read = replaced.read.iter().map(|path| (path.as_path(), View::ReadOnly));
        let mut visible = CoverEntry::all(profile, &replaced.folder, write.chain(read))?;
        // A deeper path comes later.
        visible.sort_by_key(|entry| entry.parts.len());
        let workspace = profile.workspace.as_deref();
        Ok(Cover {
            folder: PreparedPath::new(&replaced.folder, workspace)?,
            path: c_string(&replaced.folder)?,
            by: Some(PreparedPath::new(&replaced.by, workspace)?),
            visible,
        })
    }

    /// Returns whether a path is writable, if another directory replaces the one that contains it. Does not allocate.
    pub(super) fn allows_write(&self, path: &[u8]) -> Option<bool> {
        self.by.as_ref()?;
        let below = path.strip_prefix(self.path.as_bytes())?;
        let below = if below.is_empty() { below } else { below.strip_prefix(b"/")? };
        // A deeper entry comes later.
        let entry = self.visible.iter().rev().find(|entry| is_beneath(below, &entry.below));
        Some(entry.is_none_or(|entry| entry.view == View::Writable))
    }

    /// Prepares a cover; `None` if the directory does not exist.
    fn new(profile: &SandboxProfile, folder: &Path) -> Result<Option<Cover>, SandboxError> {
        let workspace = profile.workspace.as_deref();
        if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Ok(None);
        }
        let read = profile.read.iter().map(|path| (path.as_path(), View::ReadOnly));
        let write = profile.write.iter().map(|path| (path.as_path(), View::Writable));
        // Closed paths below a writable one are shown, too.
        let closed = protected(profile).map(|path| (path, View::ReadOnly));
        let mut visible = CoverEntry::all(profile, folder, write.chain(read).chain(closed))?;
        // A deeper path comes later. Of two views of the same path, the last one grants more.
        visible.sort_by_key(|entry| (entry.parts.len(), entry.view != View::ReadOnly));
        Ok(Some(Cover {
            folder: PreparedPath::new(folder, workspace)?,
            path: c_string(folder)?,
            by: None,
            visible,
        }))
    }

    /// Returns whether a path is covered by a hidden directory or shown in one.
    pub(super) fn covers(profile: &SandboxProfile, path: &Path) -> bool {
        profile.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    /// Covers the directory for the calling process. Makes plain system calls only.
    pub(super) fn mount(&self) -> io::Result<()> {
        for entry in &self.visible {
            // An entry that was removed meanwhile is not shown.
            let Ok(at) = entry.prepared.open() else { continue };
            let tree = copy_of(at.as_raw_fd(), c"", libc::AT_RECURSIVE)?;
            let (is_closed, flags) = match entry.view {
                View::Writable => (false, 0),
                View::ReadOnly | View::Empty => (true, libc::AT_RECURSIVE),
            };
            set_read_only(tree.as_raw_fd(), c"", is_closed, flags | libc::AT_EMPTY_PATH)?;
            entry.tree.store(tree.into_raw_fd(), Ordering::Relaxed);
        }
        // Opened without following links: the path was checked, and other runs cannot replace its parts.
        let place = self.folder.open()?;
        if let Some(by) = &self.by {
            let by = by.open()?;
            let tree = copy_of(by.as_raw_fd(), c"", libc::AT_RECURSIVE)?;
            set_read_only(tree.as_raw_fd(), c"", false, libc::AT_EMPTY_PATH)?;
            move_to(&tree, &place)?;
            return self.mount_shown();
        }
        mount_tmpfs(&self.path, c"mode=0755,size=1m", libc::MS_NOEXEC)?;
        self.mount_shown()?;
        set_read_only(libc::AT_FDCWD, &self.path, true, 0)
    }

    /// Mounts the visible entries into the covering directory.
    fn mount_shown(&self) -> io::Result<()> {
        let empty = self.folder.open()?;
        for entry in &self.visible {
            let tree: RawFd = entry.tree.load(Ordering::Relaxed);
            if tree < 0 {
                continue;
            }
            // SAFETY: the descriptor was taken out of its earlier owner above, and nothing else uses it.
            let tree = unsafe { OwnedFd::from_raw_fd(tree) };
            entry.mount(&empty, &tree)?;
        }
        Ok(())
    }
}

impl CoverEntry {
    /// Prepares the given paths that exist below a directory.
    fn all<'p>(
        profile: &SandboxProfile,
        folder: &Path,
        paths: impl Iterator<Item = (&'p Path, View)>,
    ) -> Result<Vec<CoverEntry>, SandboxError> {
        let mut all = Vec::new();
        for (path, view) in paths {
            let below = path.strip_prefix(folder).ok().filter(|below| !below.as_os_str().is_empty());
            let (Some(below), Ok(found)) = (below, path.symlink_metadata()) else { continue };
            all.push(CoverEntry {
                prepared: PreparedPath::new(path, profile.workspace.as_deref())?,
                parts: c_parts(below)?,
                is_folder: found.is_dir(),
                below: below.as_os_str().as_bytes().to_vec(),
                view,
                tree: AtomicI32::new(-1),
            });
        }
        Ok(all)
    }

    fn mount(&self, cover: &OwnedFd, tree: &OwnedFd) -> io::Result<()> {
        const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
        let mut at = openat(cover, c".", HANDLE, Mode::empty())?;
        for (index, part) in self.parts.iter().enumerate() {
            let is_last = index + 1 == self.parts.len();
            make_mount_point(&at, part, if is_last { self.is_folder } else { true })?;
            at = openat(&at, part.as_c_str(), HANDLE, Mode::empty())?;
        }
        move_to(tree, &at)
    }
}

/// Creates a mount point for an entry, unless it exists.
fn make_mount_point(folder: &OwnedFd, name: &CStr, is_folder: bool) -> io::Result<()> {
    if is_folder {
        return match mkdirat(folder, name, Mode::from_raw_mode(0o755)) {
            Err(Errno::EXIST) => Ok(()),
            result => result,
        };
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::from_raw_mode(0o644)) {
        Ok(_) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}
