//! Mounts the approved bytes of code read-only over its paths, in the run's own view of the file system.
//!
//! The copies are files in a memory file system that has no path when the program starts. Changing or replacing a code
//! file in the workspace does not affect the run: the mount over it stays, or is gone and leaves a file that the rules
//! do not open.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::io::{self, Errno};

use crate::system::{checked, decimal, join_path, write_all};
use crate::{ClosedWorkspace, Code, SandboxError};

use super::mounts::{copy_of, is_in_shared_memory, mount_tmpfs, move_to, set_read_only};
use super::prepared_path::{PreparedPath, c_string};
use super::ruleset::Ruleset;

/// Where the copies are created, before the run's private shared memory is mounted there. The second place is used if
/// the workspace is in the first.
const PLACE: &CStr = c"/dev/shm";
const FALLBACK_PLACE: &CStr = c"/tmp";

/// The size of a page of memory.
pub(super) const PAGE: usize = 4096;

/// The approved bytes of a file, and the mode of its copy.
#[derive(Debug)]
pub(super) struct ApprovedBytes {
    bytes: Arc<[u8]>,
    mode: u32,
}

impl ApprovedBytes {
    pub(super) fn new(code: &Code) -> ApprovedBytes {
        ApprovedBytes { bytes: code.bytes.clone(), mode: if code.is_executable { 0o555 } else { 0o444 } }
    }

    /// Returns how many pages of memory the copy needs.
    pub(super) fn pages(&self) -> usize {
        self.bytes.len().div_ceil(PAGE) + 1
    }

    /// Writes them to an empty file, and grants it as code. Makes only plain system calls.
    pub(super) fn write_to(&self, file: &OwnedFd, ruleset: &Ruleset) -> io::Result<()> {
        if !write_all(file, &self.bytes) {
            return Err(Errno::NOSPC);
        }
        rustix::fs::fchmod(file, Mode::from_raw_mode(self.mode))?;
        ruleset.allow_code(file)
    }
}

#[derive(Debug)]
struct Copy {
    path: PreparedPath,
    /// Workspace links to this file. They cannot be followed.
    links: Vec<PreparedPath>,
    code: ApprovedBytes,
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
    pub(super) fn new(closed: &ClosedWorkspace, workspace: &Path) -> Result<SealedCopies, SandboxError> {
        let mut links_to: BTreeMap<PathBuf, Vec<&Path>> = BTreeMap::new();
        for link in closed.named.iter().filter(|path| path.is_symlink()) {
            if let Ok(real) = link.canonicalize() {
                links_to.entry(real).or_default().push(link);
            }
        }
        let prepared = |path: &Path| PreparedPath::new(path, Some(workspace));
        let copy = |code: &Code| {
            let links = links_to.get(&code.path).into_iter().flatten().map(|path| prepared(path));
            let links = links.collect::<Result<_, _>>()?;
            Ok(Copy { path: prepared(&code.path)?, links, code: ApprovedBytes::new(code) })
        };
        let copies: Vec<Copy> = closed.code.iter().map(copy).collect::<Result<_, SandboxError>>()?;
        let pages: usize = copies.iter().map(|copy| copy.code.pages()).sum();
        let options = format!("mode=0700,size={},nr_inodes={}", (pages + 16) * PAGE, copies.len() + 16);
        let mut outside = Vec::new();
        for (end, links) in links_to.iter().filter(|(end, _)| closed.outside.contains(end)) {
            for link in links {
                outside.push((c_string(end)?, prepared(link)?));
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
    pub(super) fn mount(&self, ruleset: &Ruleset) -> io::Result<()> {
        for (end, link) in &self.outside {
            let file = rustix::fs::open(end.as_c_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            // At its new path, the rules for its directory do not apply to it.
            ruleset.allow_code(&file)?;
            move_to(&copy_of(file.as_raw_fd(), c"", 0)?, &link.open_itself()?)?;
        }
        if self.copies.is_empty() {
            return Ok(());
        }
        mount_tmpfs(self.place, &self.options, 0)?;
        let mounted = self.copies.iter().enumerate().try_for_each(|(number, copy)| {
            let (mut path, mut digits) = ([0; 64], [0; 10]);
            let parts = [self.place.to_bytes(), b"/", decimal(number as i32, &mut digits)];
            copy.mount(join_path(&mut path, &parts).ok_or(Errno::NAMETOOLONG)?, ruleset, &self.device)
        });
        // The mounts elsewhere stay; only this path to the copies is removed.
        // SAFETY: the path ends with NUL.
        let detached = checked(unsafe { libc::umount2(self.place.as_ptr(), libc::MNT_DETACH) });
        mounted.and(detached.map(drop))
    }
}

impl Copy {
    fn mount(&self, path: &CStr, ruleset: &Ruleset, device: &AtomicU64) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let made = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        self.code.write_to(&made, ruleset)?;
        device.store(rustix::fs::fstat(&made)?.st_dev, Ordering::Relaxed);
        for link in &self.links {
            mount_file(&made, &link.open_itself()?)?;
        }
        mount_file(&made, &self.path.open()?)
    }
}

/// Mounts a file read-only over a path. A file that is open for writing must be closed before it can be executed.
fn mount_file(made: &OwnedFd, at: &OwnedFd) -> io::Result<()> {
    let tree = copy_of(made.as_raw_fd(), c"", 0)?;
    set_read_only(tree.as_raw_fd(), c"", true, libc::AT_EMPTY_PATH)?;
    move_to(&tree, at)
}
