//! Mounts the approved bytes of code read-only over its paths, in the run's own view of the file system.
//!
//! The copies are files in a memory file system that has no path when the program starts. Changing or replacing a code
//! file in the workspace does not affect the run: the mount over it stays, or is gone and leaves a file that the rules
//! do not open.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};

use crate::system::{decimal, join_path, last_errno, write_all};
use crate::{ClosedWorkspace, SandboxError};

use super::mounts::{copy_of, is_in_shared_memory, move_to, set_read_only};
use super::prepared_path::PreparedPath;
use super::ruleset::Ruleset;

/// Where the copies are created, before the run's private shared memory is mounted there. The second place is used if
/// the workspace is in the first.
const PLACE: &CStr = c"/dev/shm";
const FALLBACK_PLACE: &CStr = c"/tmp";

#[derive(Debug)]
struct Copy {
    way: PreparedPath,
    /// Workspace links to this file. They cannot be followed.
    links: Vec<PreparedPath>,
    bytes: Arc<[u8]>,
    mode: u32,
}

/// The copies for one run, ready to be created with plain system calls.
#[derive(Debug)]
pub(super) struct SealedCopies {
    copies: Vec<Copy>,
    /// Files outside of the workspace, with the workspace links to them.
    outside: Vec<(CString, PreparedPath)>,
    options: CString,
    place: &'static CStr,
    /// The device of the copies. Only set in the child.
    device: AtomicU64,
}

impl SealedCopies {
    pub(super) fn new(
        closed: &ClosedWorkspace,
        workspace: Option<&Path>,
    ) -> Result<SealedCopies, SandboxError> {
        let code = &closed.code;
        const PAGE: usize = 4096;
        let mut pages = 16;
        let mut copies = Vec::with_capacity(code.len());
        let mut links_to: BTreeMap<PathBuf, Vec<&Path>> = BTreeMap::new();
        for link in closed.named.iter().filter(|path| path.is_symlink()) {
            if let Ok(real) = link.canonicalize() {
                links_to.entry(real).or_default().push(link);
            }
        }
        for file in code {
            let links =
                links_to.get(&file.path).into_iter().flatten().map(|path| PreparedPath::new(path, workspace));
            pages += file.bytes.len().div_ceil(PAGE) + 1;
            copies.push(Copy {
                way: PreparedPath::new(&file.path, workspace)?,
                links: links.collect::<Result<_, _>>()?,
                bytes: file.bytes.clone(),
                mode: if file.is_executable { 0o555 } else { 0o444 },
            });
        }
        let options = format!("mode=0700,size={},nr_inodes={}", pages * PAGE, copies.len() + 16);
        let mut outside = Vec::new();
        for (end, links) in links_to.iter().filter(|(end, _)| closed.outside.contains(end)) {
            for link in links {
                let end = CString::new(end.as_os_str().as_bytes()).unwrap_or_default();
                outside.push((end, PreparedPath::new(link, workspace)?));
            }
        }
        let options = CString::new(options).unwrap_or_default();
        let place = if is_in_shared_memory(workspace) { FALLBACK_PLACE } else { PLACE };
        Ok(SealedCopies { copies, outside, options, place, device: AtomicU64::new(0) })
    }

    /// Returns the device of the copies, once they were created. Does not allocate.
    pub(super) fn device(&self) -> u64 {
        self.device.load(Ordering::Relaxed)
    }

    /// Creates the copies, opens them by the rules, and mounts them over their paths. Makes plain system calls only.
    pub(super) fn place(&self, ruleset: Option<&Ruleset>) -> Result<(), i32> {
        for (end, link) in &self.outside {
            let errno = rustix::io::Errno::raw_os_error;
            let handle = OFlags::PATH | OFlags::CLOEXEC;
            let file = rustix::fs::open(end.as_c_str(), handle, Mode::empty()).map_err(errno)?;
            // At its new path, the rules for its directory do not apply to it.
            if let Some(ruleset) = ruleset {
                ruleset.allow_code(&file)?;
            }
            let tree = copy_of(file.as_raw_fd(), c"", 0)?;
            move_to(&tree, &link.open_itself().map_err(errno)?)?;
        }
        if self.copies.is_empty() {
            return Ok(());
        }
        let kind = c"tmpfs";
        let flags = libc::MS_NOSUID | libc::MS_NODEV;
        // SAFETY: all strings end with NUL.
        let mounted = unsafe {
            libc::mount(
                kind.as_ptr(),
                self.place.as_ptr(),
                kind.as_ptr(),
                flags,
                self.options.as_ptr().cast(),
            )
        };
        if mounted != 0 {
            return Err(last_errno());
        }
        let placed = self.copies.iter().enumerate().try_for_each(|(number, copy)| {
            let mut digits = [0; 10];
            let mut path = [0; 64];
            let parts = [self.place.to_bytes(), b"/", decimal(number as i32, &mut digits)];
            let path = join_path(&mut path, &parts).ok_or(libc::ENAMETOOLONG)?;
            copy.place(path, ruleset, &self.device)
        });
        // The mounts elsewhere stay; only this path to the copies is removed.
        // SAFETY: the path ends with NUL.
        let detached = unsafe { libc::umount2(self.place.as_ptr(), libc::MNT_DETACH) };
        placed?;
        if detached != 0 { Err(last_errno()) } else { Ok(()) }
    }
}

impl Copy {
    fn place(&self, path: &CStr, ruleset: Option<&Ruleset>, device: &AtomicU64) -> Result<(), i32> {
        let errno = rustix::io::Errno::raw_os_error;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let made = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).map_err(errno)?;
        if !write_all(&made, &self.bytes) {
            return Err(libc::ENOSPC);
        }
        rustix::fs::fchmod(&made, Mode::from_raw_mode(self.mode)).map_err(errno)?;
        if let Some(ruleset) = ruleset {
            ruleset.allow_code(&made)?;
        }
        device.store(rustix::fs::fstat(&made).map_err(errno)?.st_dev, Ordering::Relaxed);
        for link in &self.links {
            put(&made, &link.open_itself().map_err(errno)?)?;
        }
        put(&made, &self.way.open().map_err(errno)?)
    }
}

/// Mounts a file read-only over a path. A file that is open for writing must be closed before it can be executed.
fn put(made: &OwnedFd, at: &OwnedFd) -> Result<(), i32> {
    let tree = copy_of(made.as_raw_fd(), c"", 0)?;
    set_read_only(tree.as_raw_fd(), c"", true, libc::AT_EMPTY_PATH)?;
    move_to(&tree, at)
}
