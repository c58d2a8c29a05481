//! A private view of the file system in which everything is read-only, except writable paths.
//!
//! Landlock can only grant, and does not control modes, owners and times. Read-only mounts complete it: they protect
//! `.git` in a writable workspace, and they refuse `chmod` everywhere else.
//!
//! A privileged user needs only a mount namespace for that. Other users also need a user namespace, in which files of
//! other users appear to belong to the overflow user (65534). Some programs object to that: ssh refuses included system
//! configuration. System V shared memory and message queues get a private namespace, too.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io;

use crate::system::{checked, fork_into, reap};
use crate::{SandboxError, SandboxProfile};

use super::cover::Cover;
use super::prepared_path::PreparedPath;
use super::ruleset::is_beneath;

/// The mode of a placeholder, by which other runs recognize it. The user can put files there meanwhile.
const PLACEHOLDER_MODE: u32 = 0o710;

/// `MOUNT_ATTR_NOSYMFOLLOW`.
const NO_LINKS: u64 = 0x0020_0000;

/// `MOUNT_ATTR_NOEXEC`.
const NO_CODE: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Privileged,
    WithUser,
}

/// Files in the home that git reads. A missing file is fine, but git aborts if one exists and reading it is not
/// permitted.
const CONFIGURATION: [&str; 4] =
    [".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes"];

/// The kind of a path in the new view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum View {
    Writable,
    ReadOnly,
    /// A file that appears empty.
    Empty,
}

/// A path with its own mount.
#[derive(Debug)]
struct MountPoint {
    path: PathBuf,
    prepared: PreparedPath,
    view: View,
    /// Whether the cover of a directory already includes it.
    is_covered: bool,
    /// Whether it belongs to a closed workspace: no link below it is followed, and no file in it is executed or mapped
    /// into memory as code.
    is_closed: bool,
}

/// The mounts of one run, outermost first.
#[derive(Debug)]
pub(super) struct Mounts {
    kind: Kind,
    user_map: CString,
    group_map: CString,
    places: Vec<MountPoint>,
    covers: Vec<Cover>,
    /// Whether the run has private shared memory.
    has_shared_memory: bool,
}

/// Where the shared memory of the machine is.
const SHARED_MEMORY: &str = "/dev/shm";

/// Returns whether a path is in shared memory.
pub(super) fn is_in_shared_memory(path: &Path) -> bool {
    path.starts_with(SHARED_MEMORY)
}

/// Returns whether the run opens a path in shared memory. Then no mount may cover it.
fn opens_shared_memory(profile: &SandboxProfile) -> bool {
    let opened =
        profile.workspace.iter().chain(&profile.installed).chain(&profile.read).chain(&profile.write);
    opened.into_iter().any(|path| is_in_shared_memory(path))
}

/// The paths that need protection, because they are below a writable path.
pub(super) fn protected(profile: &SandboxProfile) -> impl Iterator<Item = &Path> {
    let within = |path: &&PathBuf| {
        profile.write.iter().any(|write| path.starts_with(write) && write.exists() && *path != write)
    };
    profile.deny_write.iter().filter(within).map(PathBuf::as_path)
}

/// The paths that only a placeholder protects: those of [`SandboxProfile::deny_new`] whose directory is writable.
pub(super) fn reserved(profile: &SandboxProfile) -> impl Iterator<Item = &Path> {
    let is_open = |path: &&PathBuf| {
        let is_closed = profile.deny_write.iter().any(|denied| path.starts_with(denied));
        !is_closed
            && path.parent().is_some_and(|folder| profile.write.iter().any(|write| folder.starts_with(write)))
    };
    profile.deny_new.iter().filter(is_open).map(PathBuf::as_path)
}

/// The files of [`CONFIGURATION`] that exist and may not be read.
pub(super) fn closed_configuration<'a>(
    profile: &'a SandboxProfile,
    home: &'a Path,
) -> impl Iterator<Item = PathBuf> + 'a {
    let granted = |path: &Path| {
        let granted = profile.installed.iter().chain(&profile.read).chain(&profile.write);
        granted.into_iter().any(|granted| path.starts_with(granted))
    };
    CONFIGURATION
        .iter()
        .filter_map(|name| home.join(name).canonicalize().ok())
        .filter(move |path| path.is_file() && !granted(path))
}

/// Returns whether mounts of this process can refuse to follow links (from Linux 5.14). This is tried once, in a child.
pub(super) fn refuse_links() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    let refuse = || set_attributes(libc::AT_FDCWD, c"/", (NO_LINKS, 0), libc::AT_RECURSIVE);
    *KNOWN.get_or_init(|| kind().is_some_and(|kind| is_possible(kind, refuse)))
}

/// Returns whether this process may create such mounts. This is tried once, in a child.
pub(super) fn supported() -> bool {
    kind().is_some()
}

fn kind() -> Option<Kind> {
    static KIND: OnceLock<Option<Kind>> = OnceLock::new();
    *KIND.get_or_init(|| {
        [Kind::Privileged, Kind::WithUser].into_iter().find(|kind| is_possible(*kind, || Ok(())))
    })
}

/// Returns whether a child of this process can enter a new view and then do something.
fn is_possible(kind: Kind, then: impl Fn() -> io::Result<()>) -> bool {
    let trial = Mounts::with_places(kind, Vec::new());
    let child = fork_into(|| {
        let code = i32::from(trial.enter().and_then(|()| then()).is_err());
        // SAFETY: ends the process, runs nothing.
        unsafe { libc::_exit(code) }
    });
    child.is_ok_and(|pid| reap(pid) == Some(0))
}

impl Mounts {
    /// Prepares the mounts of a run, in which `private` files are empty. With `refuses_links` no link below the
    /// workspace is followed, and only files with their own mount are executable there.
    pub(super) fn new(
        profile: &SandboxProfile,
        home: Option<&Path>,
        private: Vec<PathBuf>,
        refuses_links: bool,
    ) -> Result<Mounts, SandboxError> {
        let kind = kind().ok_or_else(|| SandboxError::Unsupported("no mount namespaces".to_owned()))?;
        let mut places: Vec<(PathBuf, View)> = Vec::new();
        let covers = Cover::all(profile)?;
        for path in profile.write.iter().filter(|path| path.exists()) {
            let view = if is_read_only(path) { View::ReadOnly } else { View::Writable };
            places.push((path.clone(), view));
        }
        let kept = protected(profile).chain(reserved(profile));
        places.extend(kept.filter(|path| path.exists()).map(|path| (path.to_owned(), View::ReadOnly)));
        if let Some(home) = home {
            places.extend(closed_configuration(profile, home).map(|path| (path, View::Empty)));
        }
        places.extend(private.into_iter().map(|path| (path, View::Empty)));
        let workspace = profile.workspace.as_deref().filter(|_| refuses_links);
        if let Some(workspace) = workspace.filter(|path| !places.iter().any(|(place, _)| place == path)) {
            places.push((workspace.to_owned(), View::ReadOnly));
        }
        // A deeper path comes later. Of two views of the same path, the last one grants less.
        places.sort_by_key(|(path, view)| (path.components().count(), *view));
        let places = places
            .into_iter()
            .map(|(path, view)| {
                let prepared = PreparedPath::new(&path, profile.workspace.as_deref())?;
                let is_covered = !covers.is_empty() && Cover::covers(profile, &path);
                let is_closed = workspace.is_some_and(|workspace| path.starts_with(workspace));
                Ok(MountPoint { prepared, path, view, is_covered, is_closed })
            })
            .collect::<Result<_, SandboxError>>()?;
        let has_shared_memory = !opens_shared_memory(profile);
        Ok(Mounts { covers, has_shared_memory, ..Mounts::with_places(kind, places) })
    }

    /// Returns whether a path without links is writable in the new view. Does not allocate.
    pub(super) fn allows_write(&self, path: &[u8]) -> bool {
        let reaches = |place: &&MountPoint| is_beneath(path, place.path.as_os_str().as_bytes());
        // A deeper cover comes later.
        if let Some(is_writable) = self.covers.iter().find_map(|cover| cover.allows_write(path)) {
            return is_writable;
        }
        let place = self.places.iter().rev().find(reaches);
        place.is_some_and(|place| place.view == View::Writable) || self.is_shared_memory(path)
    }

    /// Returns whether a path is in the private shared memory of the run. Does not allocate.
    pub(super) fn is_shared_memory(&self, path: &[u8]) -> bool {
        self.has_shared_memory && is_beneath(path, SHARED_MEMORY.as_bytes())
    }

    pub(super) fn has_shared_memory(&self) -> bool {
        self.has_shared_memory
    }

    fn with_places(kind: Kind, places: Vec<MountPoint>) -> Mounts {
        let map = |id: u32| CString::new(format!("{id} {id} 1")).unwrap_or_default();
        Mounts {
            kind,
            user_map: map(rustix::process::geteuid().as_raw()),
            group_map: map(rustix::process::getegid().as_raw()),
            places,
            covers: Vec::new(),
            has_shared_memory: true,
        }
    }

    /// Moves the calling process, right after fork, into the new view. Makes only plain system calls.
    pub(super) fn enter(&self) -> io::Result<()> {
        let flags = match self.kind {
            Kind::Privileged => libc::CLONE_NEWNS | libc::CLONE_NEWIPC,
            Kind::WithUser => libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUSER,
        };
        // SAFETY: no memory is involved.
        checked(unsafe { libc::unshare(flags) })?;
        if self.kind == Kind::WithUser {
            // `/proc` entries of a process that leaves no core file belong to root, so it could not write its own maps.
            let dumpable = set_dumpable(1);
            write_to(c"/proc/self/setgroups", b"deny")?;
            write_to(c"/proc/self/uid_map", self.user_map.as_bytes())?;
            write_to(c"/proc/self/gid_map", self.group_map.as_bytes())?;
            set_dumpable(dumpable);
        }
        let none = std::ptr::null();
        // SAFETY: the path ends with NUL; with these flags the other pointers are not read.
        checked(unsafe {
            libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast())
        })?;
        set_read_only(libc::AT_FDCWD, c"/", true, libc::AT_RECURSIVE)?;
        for place in self.places.iter().filter(|place| !place.is_covered) {
            let mounted = place.mount();
            // Without the mount the file is closed, which is as safe.
            if place.view != View::Empty {
                mounted?;
            }
        }
        self.covers.iter().try_for_each(Cover::mount)
    }
}

impl MountPoint {
    /// Mounts the path. Makes only plain system calls.
    fn mount(&self) -> io::Result<()> {
        let at = self.prepared.open()?;
        let tree = match self.view {
            View::Writable | View::ReadOnly => copy_of(at.as_raw_fd(), c"", libc::AT_RECURSIVE)?,
            View::Empty => copy_of(libc::AT_FDCWD, c"/dev/null", 0)?,
        };
        let set =
            |read_only, flags| set_read_only(tree.as_raw_fd(), c"", read_only, flags | libc::AT_EMPTY_PATH);
        match self.view {
            // Changes only this mount, not others below it, which may have been read-only before.
            View::Writable => set(false, 0)?,
            View::ReadOnly => set(true, libc::AT_RECURSIVE)?,
            View::Empty => {}
        }
        if self.is_closed {
            let flags = libc::AT_RECURSIVE | libc::AT_EMPTY_PATH;
            set_attributes(tree.as_raw_fd(), c"", (NO_LINKS | NO_CODE, 0), flags)?;
        }
        move_to(&tree, &at)
    }
}

/// Attaches a detached mount over an open path. Makes one plain system call.
pub(super) fn move_to(tree: &OwnedFd, at: &OwnedFd) -> io::Result<()> {
    let empty: u32 = libc::MOVE_MOUNT_F_EMPTY_PATH | libc::MOVE_MOUNT_T_EMPTY_PATH;
    let (from, to) = (tree.as_raw_fd(), at.as_raw_fd());
    // SAFETY: both descriptors are open, and the empty paths end with NUL.
    let moved = unsafe { libc::syscall(libc::SYS_move_mount, from, c"".as_ptr(), to, c"".as_ptr(), empty) };
    checked(moved).map(drop)
}

/// Copies the mount of a path, detached. Makes one plain system call.
pub(super) fn copy_of(folder: RawFd, path: &CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    let flags = libc::OPEN_TREE_CLONE
        | libc::OPEN_TREE_CLOEXEC
        | (flags | if path.is_empty() { libc::AT_EMPTY_PATH } else { 0 }) as libc::c_uint;
    // SAFETY: the path ends with NUL.
    let tree = checked(unsafe { libc::syscall(libc::SYS_open_tree, folder, path.as_ptr(), flags) })?;
    // SAFETY: the kernel returned this descriptor a moment ago, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(tree as RawFd) })
}

/// Covers `/dev/shm`, which all processes of the machine share, with an empty one that ends with the run. Makes plain
/// system calls only; returns `None` if that is not possible.
pub(super) fn private_shared_memory() -> Option<OwnedFd> {
    let path = c"/dev/shm";
    mount_tmpfs(path, c"mode=1777,size=128m", libc::MS_NOEXEC).ok()?;
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Covers a directory with an empty file system in memory. Makes one plain system call.
pub(super) fn mount_tmpfs(path: &CStr, options: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    let kind = c"tmpfs".as_ptr();
    let flags = flags | libc::MS_NOSUID | libc::MS_NODEV;
    // SAFETY: all strings end with NUL.
    checked(unsafe { libc::mount(kind, path.as_ptr(), kind, flags, options.as_ptr().cast()) }).map(drop)
}

/// Sets whether the process may leave a core file, and returns the earlier setting.
fn set_dumpable(dumpable: libc::c_int) -> libc::c_int {
    // SAFETY: no memory is involved.
    unsafe {
        let before = libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0);
        libc::prctl(libc::PR_SET_DUMPABLE, dumpable, 0, 0, 0);
        before
    }
}

/// Writes a short text to a file in `/proc`, without allocation.
fn write_to(path: &CStr, text: &[u8]) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    io::write(&file, text).map(drop)
}

pub(super) fn set_read_only(
    folder: RawFd,
    path: &CStr,
    read_only: bool,
    flags: libc::c_int,
) -> io::Result<()> {
    const READ_ONLY: u64 = 1;
    set_attributes(folder, path, if read_only { (READ_ONLY, 0) } else { (0, READ_ONLY) }, flags)
}

/// Prevents files of a detached mount, and of the mounts in it, from being executed or mapped as code. Makes one plain
/// system call.
pub(super) fn refuse_code(tree: &OwnedFd) -> io::Result<()> {
    set_attributes(tree.as_raw_fd(), c"", (NO_CODE, 0), libc::AT_RECURSIVE | libc::AT_EMPTY_PATH)
}

/// Sets and clears attributes of a mount. Makes one plain system call.
fn set_attributes(
    folder: RawFd,
    path: &CStr,
    (set, clear): (u64, u64),
    flags: libc::c_int,
) -> io::Result<()> {
    /// `struct mount_attr` of the kernel, version 0.
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attributes = Attributes { set, clear, propagation: 0, user_namespace: 0 };
    // SAFETY: the path ends with NUL, and the structure has the size that is passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder,
            path.as_ptr(),
            flags,
            std::ptr::from_ref(&attributes),
            size_of::<Attributes>(),
        )
    };
    checked(result).map(drop)
}

fn is_read_only(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|info| info.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// An empty directory in place of a missing protected path, so that a mount can cover it.
///
/// Each run that uses it holds a shared lock on it; the last one removes it.
#[derive(Debug)]
pub(super) struct Placeholder {
    path: CString,
    folder: File,
}

/// Creates missing placeholders, and shares those of other runs.
pub(super) fn make_placeholders<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<Placeholder> {
    paths.filter_map(Placeholder::join).collect()
}

impl Placeholder {
    fn join(path: &Path) -> Option<Placeholder> {
        // Twice, because the last run that used it may remove it in between.
        for _ in 0..2 {
            match std::fs::DirBuilder::new().mode(PLACEHOLDER_MODE).create(path) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return None,
                Ok(()) | Err(_) => {}
            }
            let found = path.symlink_metadata().ok()?;
            if !found.is_dir() || found.mode() & 0o7777 != PLACEHOLDER_MODE {
                // A real directory.
                return None;
            }
            let folder = File::open(path).ok()?;
            let locked = rustix::fs::flock(&folder, FlockOperation::NonBlockingLockShared).is_ok();
            let same = path.metadata().is_ok_and(|now| (now.dev(), now.ino()) == (found.dev(), found.ino()));
            if locked && same {
                return Some(Placeholder { path: CString::new(path.as_os_str().as_bytes()).ok()?, folder });
            }
        }
        None
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.folder.as_raw_fd()
    }

    /// Removes the placeholder if it is unused and empty. Makes only plain system calls.
    pub(super) fn remove(&self) {
        if rustix::fs::flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = rustix::fs::rmdir(self.path.as_c_str());
        }
    }
}
