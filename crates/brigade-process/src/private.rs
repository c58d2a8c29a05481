//! Creates and removes the private directory of a run.
//!
//! The process that created the directory removes it. If that process was killed, the keeper of its run does. Without a
//! keeper, the next process that creates such a directory does, because the name contains its owner.
//!
//! Nothing that belongs to others is removed. Links are not followed and other file systems are not entered. A
//! directory is identified by device and inode, or by name and owner if the process in its name has ended.

use std::ffi::CString;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::{ProcessIdentity, boot_id, random_bytes};

/// The prefix of these directory names.
const PREFIX: &str = "brigade-run-";

/// How many names are tried.
const MAX_NAME_ATTEMPTS: usize = 16;

/// A directory with mode 0700 for one run. Dropping it removes the directory with its content.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    disposal: Disposal,
}

/// The information with which a keeper removes a [`PrivateFolder`] after its creator has died.
#[derive(Clone, Debug)]
pub struct Disposal {
    path: CString,
    device: u64,
    inode: u64,
}

impl PrivateFolder {
    /// Creates one in the system's temporary directory, and removes directories of killed processes there.
    ///
    /// # Errors
    /// Fails if it cannot be created.
    pub fn create() -> io::Result<PrivateFolder> {
        PrivateFolder::create_in(&std::env::temp_dir())
    }

    /// Removes the directories of killed processes in the system's temporary directory.
    pub fn remove_leftovers() {
        sweep(&std::env::temp_dir());
    }

    /// Like [`PrivateFolder::create`], in another directory.
    ///
    /// # Errors
    /// Fails if it cannot be created.
    pub fn create_in(folder: &Path) -> io::Result<PrivateFolder> {
        let folder = folder.canonicalize()?;
        sweep(&folder);
        let owner = Owner::current()?;
        for _ in 0..MAX_NAME_ATTEMPTS {
            let random: String = random_bytes::<8>()?.iter().map(|byte| format!("{byte:02x}")).collect();
            let path = folder.join(format!("{PREFIX}{owner}.{random}"));
            match rustix::fs::mkdir(&path, rustix::fs::Mode::RWXU) {
                Ok(()) => {}
                Err(rustix::io::Errno::EXIST) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let metadata = path.symlink_metadata()?;
            let disposal = Disposal::new(&path, &metadata)?;
            return Ok(PrivateFolder { path, disposal });
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Returns the absolute path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory. Returns its path if a part of it could not be removed.
    pub fn remove(self) -> Option<PathBuf> {
        self.disposal.remove();
        self.path.symlink_metadata().is_ok().then(|| self.path.clone())
    }

    /// Returns the information with which a keeper removes the directory.
    pub fn disposal(&self) -> Disposal {
        self.disposal.clone()
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        self.disposal.remove();
    }
}

impl Disposal {
    fn new(path: &Path, metadata: &Metadata) -> io::Result<Disposal> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        Ok(Disposal { path, device: metadata.dev(), inode: metadata.ino() })
    }

    /// Removes the directory if it is still the same one. What cannot be removed stays.
    ///
    /// Makes only plain system calls, so it can be used after a fork.
    #[cfg(target_os = "linux")]
    pub(crate) fn remove(&self) {
        linux::remove(self);
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn remove(&self) {
        let path = Path::new(std::ffi::OsStr::from_bytes(self.path.as_bytes()));
        let is_it = |metadata: Metadata| metadata.dev() == self.device && metadata.ino() == self.inode;
        if path.symlink_metadata().is_ok_and(is_it) {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// The owner in the name of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    pid: u32,
    start_time: u64,
    /// The start of the boot id.
    boot: String,
    /// The namespace of the process id.
    namespace: u64,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Owner { pid, start_time, boot, namespace } = self;
        write!(f, "{pid}.{start_time}.{boot}.{namespace}")
    }
}

/// Returns the process that created the private directory at this path, if its name has the form of one.
#[cfg(target_os = "linux")]
pub(crate) fn owner_of(path: &Path) -> Option<u32> {
    Owner::of_name(path.file_name()?.to_str()?).map(|owner| owner.pid)
}

impl Owner {
    fn current() -> io::Result<Owner> {
        let me = ProcessIdentity::current()?;
        Ok(Owner { pid: me.pid(), start_time: me.start_time(), boot: short_boot()?, namespace: namespace() })
    }

    /// Parses a name; `None` if it is not exactly in the written form.
    fn of_name(name: &str) -> Option<Owner> {
        let mut parts = name.strip_prefix(PREFIX)?.split('.');
        let owner = Owner {
            pid: parts.next()?.parse().ok()?,
            start_time: parts.next()?.parse().ok()?,
            boot: parts.next()?.to_owned(),
            namespace: parts.next()?.parse().ok()?,
        };
        let random = parts.next().filter(|random| random.len() == 16)?;
        let is_whole = parts.next().is_none() && format!("{PREFIX}{owner}.{random}") == name;
        is_whole.then_some(owner)
    }

    /// Returns whether the process has certainly ended. For another process namespace this is unknown, so false.
    fn has_ended(&self) -> bool {
        let (Ok(boot), Ok(whole)) = (short_boot(), boot_id()) else { return false };
        if self.boot != boot {
            return true;
        }
        self.namespace == namespace()
            && ProcessIdentity::from_record(self.pid, self.start_time, whole)
                .is_ok_and(|process| !process.is_alive())
    }
}

fn short_boot() -> io::Result<String> {
    Ok(boot_id()?.chars().filter(char::is_ascii_alphanumeric).take(8).collect())
}

/// Returns the namespace of process ids; 0 if the system has none.
fn namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino())
}

/// Removes the directories of killed processes.
fn sweep(folder: &Path) {
    let me = rustix::process::geteuid().as_raw();
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(Owner::of_name) else { continue };
        // Checks the entry itself, not the target of a link.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir()
            && metadata.uid() == me
            && owner.has_ended()
            && let Ok(disposal) = Disposal::new(&entry.path(), &metadata)
        {
            disposal.remove();
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

    use brigade_sandbox::system::{decimal, join_path};
    use rustix::fs::{AtFlags, Mode, OFlags, RawDir, fstat, open, openat, rmdir, unlinkat};
    use rustix::io::Errno;

    use super::Disposal;

    /// How many directories of the current path stay open at once.
    const MAX_OPEN_DEPTH: usize = 128;

    /// The maximum number of rounds. Each round brings up one directory that was too deep.
    const MAX_ROUNDS: i32 = 100_000;

    const FOLDER: OFlags =
        OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    /// A directory on the current path, the number of removals when it was entered, and how many of its directories
    /// cannot be removed. Those are listed first, because each was the first remaining one when it was found.
    struct Level {
        folder: OwnedFd,
        removed: u64,
        stuck: usize,
    }

    pub(super) fn remove(disposal: &Disposal) {
        let is_it = |opened: &OwnedFd| {
            fstat(opened).is_ok_and(|stat| stat.st_dev == disposal.device && stat.st_ino == disposal.inode)
        };
        let mut opened = open(&*disposal.path, FOLDER, Mode::empty());
        if matches!(opened, Err(Errno::ACCESS)) {
            // The run may have removed the owner's rights on the directory.
            let handle = open(&*disposal.path, FOLDER | OFlags::PATH, Mode::empty());
            if let Ok(handle) = handle.as_ref()
                && is_it(handle)
                && open_up(handle).is_ok()
            {
                opened = open(&*disposal.path, FOLDER, Mode::empty());
            }
        }
        let Ok(top) = opened else { return };
        if !is_it(&top) {
            return;
        }
        // Directories that are too deep are moved to the top, so each round gets further.
        let _ = rustix::fs::fchmod(&top, Mode::RWXU);
        for round in 0..MAX_ROUNDS {
            match empty(&top, disposal.device, round) {
                Leftover::Deeper => {}
                Leftover::Nothing | Leftover::Something => break,
            }
        }
        // Removes a directory only if it is empty.
        let _ = rmdir(&*disposal.path);
    }

    /// What one round could not remove.
    enum Leftover {
        Nothing,
        /// A directory that was too deep. It was moved to the top.
        Deeper,
        /// An entry that cannot be removed.
        Something,
    }

    /// Moves a directory to the top under a new name.
    fn bring_up(top: &OwnedFd, around: &OwnedFd, round: i32) -> Option<()> {
        let (mut name, mut digits) = ([0u8; 32], [0u8; 10]);
        let name = join_path(&mut name, &[b"brought-up-", decimal(round, &mut digits)])?;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(around.as_fd(), &mut buffer);
        rustix::fs::seek(around, rustix::fs::SeekFrom::Start(0)).ok()?;
        while let Some(Ok(entry)) = entries.next() {
            let own = entry.file_name();
            if !matches!(own.to_bytes(), b"." | b"..")
                && open_closed(around, own).is_ok()
                && rustix::fs::renameat(around, own, top, name).is_ok()
            {
                return Some(());
            }
        }
        None
    }

    fn empty(top: &OwnedFd, device: u64, round: i32) -> Leftover {
        let Ok(first) = top.try_clone() else { return Leftover::Something };
        let mut levels: [Option<Level>; MAX_OPEN_DEPTH] = [const { None }; MAX_OPEN_DEPTH];
        levels[0] = Some(Level { folder: first, removed: 0, stuck: 0 });
        let (mut depth, mut removed) = (0usize, 0u64);
        loop {
            let Some(level) = &levels[depth] else { return Leftover::Nothing };
            let before = removed;
            match pass(&level.folder, device, level.stuck, &mut removed) {
                Some(deeper) if depth + 1 < MAX_OPEN_DEPTH => {
                    depth += 1;
                    levels[depth] = Some(Level { folder: deeper, removed, stuck: 0 });
                }
                Some(_) => {
                    return if bring_up(top, &level.folder, round).is_some() {
                        Leftover::Deeper
                    } else {
                        Leftover::Something
                    };
                }
                // A listing that changes while it is read may miss entries.
                None if before != removed => {}
                None if depth == 0 => return Leftover::Something,
                None => {
                    // A directory from which nothing can be removed would be entered forever.
                    let is_stuck = removed == level.removed;
                    levels[depth] = None;
                    depth -= 1;
                    if let Some(around) = levels[depth].as_mut().filter(|_| is_stuck) {
                        around.stuck += 1;
                    }
                }
            }
        }
    }

    /// Opens a directory for reading and changing, even if its mode forbids that.
    fn open_closed(around: &OwnedFd, name: &std::ffi::CStr) -> rustix::io::Result<OwnedFd> {
        let opened = openat(around, name, FOLDER, Mode::empty());
        if let Ok(opened) = &opened {
            let _ = rustix::fs::fchmod(opened, Mode::RWXU);
        }
        if !matches!(opened, Err(Errno::ACCESS)) {
            return opened;
        }
        // Reads the mode of the entry itself. A link is not followed, because it has no mode.
        let found = rustix::fs::statat(around, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Directory {
            open_up(&openat(around, name, FOLDER | OFlags::PATH, Mode::empty())?)?;
        }
        openat(around, name, FOLDER, Mode::empty())
    }

    /// Gives the owner all rights on an open handle.
    fn open_up(handle: &OwnedFd) -> rustix::io::Result<()> {
        let (mut path, mut digits) = ([0u8; 32], [0u8; 10]);
        let parts: [&[u8]; 2] = [b"/proc/self/fd/", decimal(handle.as_raw_fd(), &mut digits)];
        let path = join_path(&mut path, &parts).ok_or(Errno::ACCESS)?;
        rustix::fs::chmod(path, Mode::RWXU)
    }

    /// Removes what it can in a directory, and returns the first directory in it that is not empty. Skips the first
    /// `stuck` such directories.
    fn pass(folder: &OwnedFd, device: u64, mut stuck: usize, removed: &mut u64) -> Option<OwnedFd> {
        let _ = rustix::fs::seek(folder, rustix::fs::SeekFrom::Start(0));
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(folder.as_fd(), &mut buffer);
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            match unlinkat(folder, name, AtFlags::empty()) {
                Ok(()) => *removed += 1,
                Err(Errno::ISDIR | Errno::PERM) => match unlinkat(folder, name, AtFlags::REMOVEDIR) {
                    Ok(()) => *removed += 1,
                    Err(Errno::NOTEMPTY | Errno::EXIST) => {
                        let deeper = open_closed(folder, name);
                        let is_here =
                            |deeper: &OwnedFd| fstat(deeper).is_ok_and(|stat| stat.st_dev == device);
                        if let Ok(deeper) = deeper
                            && is_here(&deeper)
                        {
                            if stuck == 0 {
                                return Some(deeper);
                            }
                            stuck -= 1;
                        }
                    }
                    Err(_) => {}
                },
                Err(_) => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn removal_takes_its_content_and_nothing_else() {
        let around = tempfile::tempdir().unwrap();
        let kept = around.path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "x").unwrap();
        let folder = PrivateFolder::create_in(around.path()).unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let mut deep = path.clone();
        for level in 0..40 {
            deep.push(format!("level{level}"));
            fs::create_dir(&deep).unwrap();
            fs::write(deep.join("file"), "x").unwrap();
            fs::create_dir(deep.join("empty")).unwrap();
        }
        for number in 0..2000 {
            fs::write(path.join(format!("file{number}")), "").unwrap();
        }
        symlink(&kept, path.join("link")).unwrap();
        symlink(&kept, deep.join("link")).unwrap();
        drop(folder);
        assert!(!path.exists());
        assert_eq!(fs::read_to_string(kept.join("file")).unwrap(), "x");
    }

    /// Issue 12: entries that stay are reported.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_cannot_be_removed_is_named() {
        let around = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create_in(around.path()).unwrap();
        let path = folder.path().to_owned();
        assert_eq!(folder.remove(), None);
        assert!(!path.exists());

        let folder = PrivateFolder::create_in(around.path()).unwrap();
        let path = folder.path().to_owned();
        for name in ["a", "b", "sub", "sub/a", "y", "z"] {
            fs::create_dir(path.join(name)).unwrap();
            fs::write(path.join(name).join("file"), "x").unwrap();
        }
        fs::write(path.join("sub/kept"), "x").unwrap();
        let file = fs::File::open(path.join("sub/kept")).unwrap();
        if rustix::fs::ioctl_setflags(&file, rustix::fs::IFlags::IMMUTABLE).is_err() {
            eprintln!("skipped: no file can be made immutable here");
            return;
        }
        let left = folder.remove();
        rustix::fs::ioctl_setflags(&file, rustix::fs::IFlags::empty()).unwrap();
        assert_eq!(left.as_deref(), Some(path.as_path()));
        assert!(path.join("sub/kept").exists());
        // Its neighbours are removed nevertheless, wherever the listing has them.
        let names = |folder: &Path| -> Vec<_> {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        assert_eq!((names(&path), names(&path.join("sub"))), (vec!["sub".into()], vec!["kept".into()]));
    }

    #[test]
    fn deep_and_closed_folders_are_removed() {
        let around = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create_in(around.path()).unwrap();
        let path = folder.path().to_owned();
        // The tree is deeper than the longest possible path.
        let mut at = rustix::fs::open(&path, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
        for _ in 0..1500 {
            rustix::fs::mkdirat(&at, "deeper", rustix::fs::Mode::RWXU).unwrap();
            rustix::fs::mkdirat(&at, "beside", rustix::fs::Mode::RWXU).unwrap();
            let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
            at = rustix::fs::openat(&at, "deeper", flags, rustix::fs::Mode::empty()).unwrap();
        }
        fs::create_dir_all(path.join("closed/within")).unwrap();
        fs::write(path.join("closed/within/file"), "x").unwrap();
        for name in ["closed/within", "closed"] {
            fs::set_permissions(path.join(name), fs::Permissions::from_mode(0o000)).unwrap();
        }
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn another_folder_of_its_name_stays() {
        let around = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create_in(around.path()).unwrap();
        let path = folder.path().to_owned();
        fs::rename(&path, around.path().join("moved")).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        drop(folder);
        assert!(path.join("file").exists());
    }

    #[test]
    fn only_folders_of_killed_processes_are_swept() {
        let around = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("/bin/true").spawn().unwrap();
        let ended = ProcessIdentity::from_pid(child.id()).unwrap();
        child.wait().unwrap();
        let me = Owner::current().unwrap();
        let dead = Owner { pid: ended.pid(), start_time: ended.start_time(), ..me.clone() };
        let make = |name: String, mode: u32| {
            let path = around.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let random = "0123456789abcdef";
        let older = Owner { boot: "00000000".to_owned(), ..me.clone() };
        let elsewhere = Owner { namespace: 1, ..dead.clone() };
        let gone = [
            make(format!("{PREFIX}{dead}.{random}"), 0o700),
            make(format!("{PREFIX}{dead}.fedcba9876543210"), 0o755),
            make(format!("{PREFIX}{older}.{random}"), 0o700),
        ];
        let kept = [
            make(format!("{PREFIX}{me}.{random}"), 0o700),
            make(format!("{PREFIX}{elsewhere}.{random}"), 0o700),
            make(format!("{PREFIX}{dead}.{random}1"), 0o700),
            make(format!("{PREFIX}0{dead}.{random}"), 0o700),
        ];
        let link = around.path().join(format!("{PREFIX}{dead}.aaaaaaaaaaaaaaaa"));
        symlink(&kept[0], &link).unwrap();
        let folder = PrivateFolder::create_in(around.path()).unwrap();
        for path in gone {
            assert!(!path.exists(), "{}", path.display());
        }
        for path in kept.iter().map(|path| path.join("file")).chain([link.join("file")]) {
            assert!(path.exists(), "{}", path.display());
        }
        drop(folder);
    }
}
