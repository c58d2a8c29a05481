//! A disk that fails or loses power at a chosen step.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::{
    DirEntry, FileId, Fs, FsError, FsErrorKind, Location, Lock, MemoryFs, Metadata, ReadFile, RelPath,
    WriteFile,
};

/// The fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault; steps are only counted.
    None,
    /// The disk is full from this step on, counted from 0. A write stores half of its bytes, then fails.
    NoSpaceFrom(usize),
    /// Only this step fails, with a device error.
    BrokenAt(usize),
    /// Power is lost before this step. It and every later operation fails, including reads.
    PowerLossAt(usize),
}

/// Which changes without a sync survive a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// None of them: only synced data survives.
    SyncedOnly,
    /// All of them, as if only the process was killed.
    Everything,
    /// Some of them, chosen by this seed: names are kept or lost one by one, appended bytes may be torn anywhere.
    Some(u64),
}

/// A disk that injects one fault. It wraps a [`MemoryFs`], which also shows the state after a crash, or any other disk.
#[derive(Clone, Debug)]
pub struct FaultyFs<F = MemoryFs> {
    disk: F,
    control: Arc<Control>,
}

#[derive(Debug)]
struct Control {
    fault: Fault,
    steps: AtomicUsize,
    is_dead: AtomicBool,
}

impl<F: Fs> FaultyFs<F> {
    /// Injects a fault into a disk, which may already contain files.
    pub fn new(disk: F, fault: Fault) -> FaultyFs<F> {
        let control = Control { fault, steps: AtomicUsize::new(0), is_dead: AtomicBool::new(false) };
        FaultyFs { disk, control: Arc::new(control) }
    }

    /// Returns the number of steps that changed the disk.
    pub fn steps(&self) -> usize {
        self.control.steps.load(Ordering::SeqCst)
    }
}

impl FaultyFs {
    /// Returns the disk as it is found after a restart.
    pub fn after_crash(&self, crash: Crash) -> MemoryFs {
        match crash {
            Crash::SyncedOnly => self.disk.after_crash(|_| 0),
            Crash::Everything => self.disk.after_crash(|possibilities| possibilities - 1),
            Crash::Some(seed) => {
                let mut state = seed;
                self.disk.after_crash(|possibilities| {
                    // splitmix64, so that a seed always gives the same crash.
                    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let mut mixed = state;
                    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                    usize::try_from((mixed ^ (mixed >> 31)) % possibilities as u64)
                        .expect("less than a number of this size")
                })
            }
        }
    }
}

/// The outcome of a step that changes the disk.
enum Verdict {
    Do,
    DoHalf(FsErrorKind),
    Fail(FsErrorKind),
}

fn device_error() -> FsErrorKind {
    FsErrorKind::Other { kind: io::ErrorKind::Other, text: "input/output error".to_owned() }
}

fn power_loss() -> FsErrorKind {
    FsErrorKind::Other { kind: io::ErrorKind::BrokenPipe, text: "the power is lost".to_owned() }
}

impl Control {
    fn verdict(&self) -> Verdict {
        if self.is_dead.load(Ordering::SeqCst) {
            return Verdict::Fail(power_loss());
        }
        let step = self.steps.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::NoSpaceFrom(first) if first <= step => Verdict::DoHalf(FsErrorKind::NoSpace),
            Fault::BrokenAt(broken) if broken == step => Verdict::Fail(device_error()),
            Fault::PowerLossAt(last) if last <= step => {
                self.is_dead.store(true, Ordering::SeqCst);
                Verdict::Fail(power_loss())
            }
            Fault::None | Fault::NoSpaceFrom(_) | Fault::BrokenAt(_) | Fault::PowerLossAt(_) => Verdict::Do,
        }
    }

    /// Performs or fails a step that needs disk space.
    fn step(&self, operation: &'static str, path: &str) -> Result<(), FsError> {
        match self.verdict() {
            Verdict::Do => Ok(()),
            Verdict::DoHalf(kind) | Verdict::Fail(kind) => Err(FsError::new(operation, path, kind)),
        }
    }

    /// Performs or fails a step that succeeds even on a full disk.
    fn small_step(&self, operation: &'static str, path: &str) -> Result<(), FsError> {
        match self.verdict() {
            Verdict::Do | Verdict::DoHalf(_) => Ok(()),
            Verdict::Fail(kind) => Err(FsError::new(operation, path, kind)),
        }
    }

    fn alive(&self, operation: &'static str, path: &str) -> Result<(), FsError> {
        if self.is_dead.load(Ordering::SeqCst) {
            return Err(FsError::new(operation, path, power_loss()));
        }
        Ok(())
    }
}

impl<F: Fs> Fs for FaultyFs<F> {
    fn root(&self) -> &Path {
        self.disk.root()
    }

    fn bound_file_limit(&self) -> &crate::BoundFileLimit {
        self.disk.bound_file_limit()
    }

    fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError> {
        self.control.alive("resolve", path)?;
        self.disk.resolve(path, home)
    }

    fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError> {
        self.control.alive("read", path.as_str())?;
        let file = self.disk.open(path)?;
        Ok(Box::new(FaultyReader { file, path: path.to_string(), control: self.control.clone() }))
    }

    fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError> {
        self.control.alive("read", &path.to_string_lossy())?;
        self.disk.open_outside(path)
    }

    fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError> {
        self.control.step("create", path.as_str())?;
        let file = self.disk.create(path, mode)?;
        Ok(Box::new(FaultyWriter { file, path: path.to_string(), control: self.control.clone() }))
    }

    fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError> {
        self.control.alive("write", path.as_str())?;
        let file = self.disk.open_append(path)?;
        Ok(Box::new(FaultyWriter { file, path: path.to_string(), control: self.control.clone() }))
    }

    fn create_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.control.step("create", path.as_str())?;
        self.disk.create_dir(path)
    }

    fn sync_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.control.small_step("sync", path.as_str())?;
        self.disk.sync_dir(path)
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError> {
        self.control.small_step("rename", from.as_str())?;
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &RelPath) -> Result<(), FsError> {
        self.control.small_step("remove", path.as_str())?;
        self.disk.remove(path)
    }

    fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError> {
        self.control.alive("list", path.as_str())?;
        self.disk.list_dir(path)
    }

    fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.control.alive("read", path.as_str())?;
        self.disk.metadata(path)
    }

    fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.control.alive("read", path.as_str())?;
        self.disk.link_metadata(path)
    }

    fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError> {
        self.control.alive("read", &path.to_string_lossy())?;
        self.disk.metadata_outside(path)
    }

    fn remove_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.control.small_step("remove", path.as_str())?;
        self.disk.remove_dir(path)
    }

    fn sync_file_system(&self) -> Result<(), FsError> {
        self.control.small_step("sync", ".")?;
        self.disk.sync_file_system()
    }

    fn set_mode(&self, path: &RelPath, mode: u32) -> Result<(), FsError> {
        self.control.small_step("change the mode of", path.as_str())?;
        self.disk.set_mode(path, mode)
    }

    fn take_left(&self, path: &RelPath) -> Option<Lock> {
        self.control.alive("lock", path.as_str()).ok()?;
        self.disk.take_left(path)
    }

    fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError> {
        self.control.alive("lock", path.as_str())?;
        self.disk.lock(path, holder, timeout)
    }
}

struct FaultyReader {
    file: Box<dyn ReadFile>,
    path: String,
    control: Arc<Control>,
}

impl ReadFile for FaultyReader {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, FsError> {
        self.control.alive("read", &self.path)?;
        self.file.read_at(offset, buffer)
    }

    fn len(&self) -> Result<u64, FsError> {
        self.control.alive("read", &self.path)?;
        self.file.len()
    }

    fn id(&self) -> Result<FileId, FsError> {
        self.control.alive("read", &self.path)?;
        self.file.id()
    }
}

struct FaultyWriter {
    file: Box<dyn WriteFile>,
    path: String,
    control: Arc<Control>,
}

impl WriteFile for FaultyWriter {
    fn hold(&mut self) -> Result<bool, FsError> {
        self.control.alive("write", &self.path)?;
        self.file.hold()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        match self.control.verdict() {
            Verdict::Do => self.file.write(bytes),
            Verdict::DoHalf(kind) => {
                self.file.write(&bytes[..bytes.len() / 2])?;
                Err(FsError::new("write", &self.path, kind))
            }
            Verdict::Fail(kind) => Err(FsError::new("write", &self.path, kind)),
        }
    }

    fn sync(&mut self) -> Result<(), FsError> {
        self.control.small_step("sync", &self.path)?;
        self.file.sync()
    }

    fn length(&self) -> Result<u64, FsError> {
        self.control.alive("write", &self.path)?;
        self.file.length()
    }

    fn truncate(&mut self, length: u64) -> Result<(), FsError> {
        self.control.small_step("write", &self.path)?;
        self.file.truncate(length)
    }

    fn reserve(&mut self, length: u64) -> Result<(), FsError> {
        match self.control.verdict() {
            Verdict::Do => self.file.reserve(length),
            Verdict::DoHalf(kind) | Verdict::Fail(kind) => {
                Err(FsError::new("reserve room in", &self.path, kind))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileMode;

    const CRASHES: [Crash; 6] = [
        Crash::SyncedOnly,
        Crash::Everything,
        Crash::Some(1),
        Crash::Some(2),
        Crash::Some(3),
        Crash::Some(4),
    ];

    fn path(text: &str) -> RelPath {
        text.parse().unwrap()
    }

    fn start() -> MemoryFs {
        let fs = MemoryFs::new();
        fs.create_dir_all(&path("a")).unwrap();
        fs.write_atomic(&path("a/f"), b"old\n", FileMode::Private).unwrap();
        fs
    }

    /// Tries an operation with each fault at each of its steps, and checks the file afterwards.
    fn at_every_step(
        operation: impl Fn(&dyn Fs) -> Result<(), FsError>,
        look: impl Fn(&MemoryFs, bool /* acknowledged */),
    ) {
        let count = {
            let fs = FaultyFs::new(start(), Fault::None);
            operation(&fs).unwrap();
            fs.steps()
        };
        assert!(1 < count);
        for step in 0..=count {
            for fault in [Fault::PowerLossAt(step), Fault::BrokenAt(step), Fault::NoSpaceFrom(step)] {
                let fs = FaultyFs::new(start(), fault);
                let acknowledged = operation(&fs).is_ok();
                for crash in CRASHES {
                    look(&fs.after_crash(crash), acknowledged);
                }
            }
        }
    }

    #[test]
    fn replacing_leaves_the_old_or_the_new_file() {
        let write = |fs: &dyn Fs| fs.write_atomic(&path("a/f"), b"new\n", FileMode::Private);
        at_every_step(write, |fs, acknowledged| {
            let found = fs.read(&path("a/f"), 99).unwrap();
            assert!(found == b"new\n" || (found == b"old\n" && !acknowledged));
        });
    }

    #[test]
    fn appending_keeps_acknowledged_bytes() {
        let append = |fs: &dyn Fs| fs.append_durable(&path("a/f"), b"more\n");
        at_every_step(append, |fs, acknowledged| {
            let found = fs.read(&path("a/f"), 99).unwrap();
            assert!(b"old\nmore\n".starts_with(found.as_slice()) && b"old\n".len() <= found.len());
            assert!(found == b"old\nmore\n" || !acknowledged);
        });
    }

    #[test]
    fn a_full_disk_creates_no_empty_file() {
        let append = |fs: &dyn Fs| fs.append_durable(&path("a/new"), b"first\n");
        for step in 0..4 {
            let fs = FaultyFs::new(start(), Fault::NoSpaceFrom(step));
            let is_there = fs.exists(&path("a/new")).unwrap() || append(&fs).is_ok();
            assert_eq!(fs.exists(&path("a/new")).unwrap(), is_there, "{step}");
        }
    }

    #[test]
    fn a_new_file_is_complete_or_absent() {
        let create = |fs: &dyn Fs| {
            fs.create_dir_all(&path("b/c"))?;
            fs.create_new_durable(&path("b/c/f"), b"new\n")
        };
        at_every_step(create, |fs, acknowledged| match fs.read(&path("b/c/f"), 99) {
            Ok(found) => assert_eq!(found, b"new\n"),
            Err(error) => assert!(error.is_not_found() && !acknowledged),
        });
    }

    #[test]
    fn a_write_that_is_not_synced_can_be_lost() {
        let fs = FaultyFs::new(start(), Fault::None);
        fs.write_cache(&path("a/f"), b"cached").unwrap();
        assert_eq!(fs.after_crash(Crash::SyncedOnly).read(&path("a/f"), 99).unwrap(), b"old\n");
        assert_eq!(fs.after_crash(Crash::Everything).read(&path("a/f"), 99).unwrap(), b"cached");
    }
}
