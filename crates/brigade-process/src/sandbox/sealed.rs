//! Code whose bytes were read before the start, put read-only over its paths in the run's own view of the file system.
//!
//! The copies are files of a file system in memory that nobody can reach by a path any more when the program starts.
//! Whoever changes or replaces the file in the workspace changes nothing for the run: the mount over it stays, or is
//! gone and leaves a file that the rules do not open.

use std::ffi::{CStr, CString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use crate::launch::{last_errno, write_all};
use crate::tree::decimal;

use super::beneath::Way;
use super::files::Ruleset;
use super::mounts::{copy_of, move_to, set_read_only};
use super::{Code, SandboxError};

/// Where the copies are made, before the run's own shared memory is put there.
const PLACE: &CStr = c"/dev/shm";

#[derive(Debug)]
struct Copy {
    path: PathBuf,
    way: Way,
    bytes: Arc<[u8]>,
    mode: u32,
}

/// The copies for one run, ready to be created with plain system calls.
#[derive(Debug)]
pub(super) struct Sealed {
    copies: Vec<Copy>,
    options: CString,
}

impl Sealed {
    pub(super) fn new(code: &[Code], workspace: Option<&Path>) -> Result<Sealed, SandboxError> {
        const PAGE: usize = 4096;
        let mut pages = 16;
        let mut copies = Vec::with_capacity(code.len());
        for file in code {
            pages += file.bytes.len().div_ceil(PAGE) + 1;
            copies.push(Copy {
                path: file.path.clone(),
                way: Way::new(&file.path, workspace)?,
                bytes: file.bytes.clone(),
                mode: if file.is_executable { 0o555 } else { 0o444 },
            });
        }
        let options = format!("mode=0700,size={},nr_inodes={}", pages * PAGE, copies.len() + 16);
        Ok(Sealed { copies, options: CString::new(options).unwrap_or_default() })
    }

    /// Returns the path of one of the copies. Does not allocate.
    pub(super) fn a_path(&self) -> Option<&[u8]> {
        self.copies.first().map(|copy| copy.path.as_os_str().as_bytes())
    }

    /// Makes the copies, opens them by the rules, and puts them over their paths. Makes plain system calls only.
    pub(super) fn place(&self, ruleset: Option<&Ruleset>) -> Result<(), i32> {
        if self.copies.is_empty() {
            return Ok(());
        }
        let kind = c"tmpfs";
        let flags = libc::MS_NOSUID | libc::MS_NODEV;
        // SAFETY: all strings end with NUL.
        let mounted = unsafe {
            libc::mount(kind.as_ptr(), PLACE.as_ptr(), kind.as_ptr(), flags, self.options.as_ptr().cast())
        };
        if mounted != 0 {
            return Err(last_errno());
        }
        let placed = self.copies.iter().enumerate().try_for_each(|(number, copy)| {
            let mut digits = [0; 10];
            let mut path = [0; 64];
            let parts = [PLACE.to_bytes(), b"/", decimal(number as i32, &mut digits)];
            let path = crate::launch::join_path(&mut path, &parts).ok_or(libc::ENAMETOOLONG)?;
            copy.place(path, ruleset)
        });
        // What is mounted elsewhere stays; by this path nobody finds the copies any more.
        // SAFETY: the path ends with NUL.
        let detached = unsafe { libc::umount2(PLACE.as_ptr(), libc::MNT_DETACH) };
        placed?;
        if detached != 0 { Err(last_errno()) } else { Ok(()) }
    }
}

impl Copy {
    fn place(&self, path: &CStr, ruleset: Option<&Ruleset>) -> Result<(), i32> {
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
        let tree = copy_of(made.as_raw_fd(), c"", 0)?;
        // A file that is open for writing cannot be executed.
        drop(made);
        set_read_only(tree.as_raw_fd(), c"", true, libc::AT_EMPTY_PATH)?;
        move_to(&tree, &self.way.open().map_err(errno)?)
    }
}
