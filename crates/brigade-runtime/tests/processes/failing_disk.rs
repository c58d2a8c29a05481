//! Tests a disk that fails while a runtime is started or stopped.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use brigade_core::SystemClock;
use brigade_fs::{
    DirEntry, DiskFs, Fs, FsError, FsErrorKind, Location, Lock, Metadata, ReadFile, RelPath, WriteFile,
};
use brigade_runtime::{Checks, StartOutcome, Supervisor};
use brigade_testkit::run_trials;

use crate::workspace::{LONG_TIMEOUT, Workspace, options};

/// A disk on which every changing step fails after this many steps.
struct FailingDisk<'a> {
    disk: &'a DiskFs,
    left: AtomicUsize,
}

impl FailingDisk<'_> {
    fn step(&self, operation: &'static str, path: &RelPath) -> Result<(), FsError> {
        let less = |left: usize| left.checked_sub(1);
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
            Ok(_) => Ok(()),
            Err(_) => Err(FsError { operation, path: path.to_string(), kind: FsErrorKind::NoSpace }),
        }
    }
}

impl Fs for FailingDisk<'_> {
    fn root(&self) -> &Path {
        self.disk.root()
    }
    fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError> {
        self.disk.resolve(path, home)
    }
    fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError> {
        self.disk.open(path)
    }
    fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError> {
        self.disk.open_outside(path)
    }
    fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError> {
        self.step("create", path)?;
        self.disk.create(path, mode)
    }
    fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError> {
        self.disk.open_append(path)
    }
    fn create_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.step("create", path)?;
        self.disk.create_dir(path)
    }
    fn sync_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.step("sync", path)?;
        self.disk.sync_dir(path)
    }
    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError> {
        self.step("rename", from)?;
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &RelPath) -> Result<(), FsError> {
        self.step("remove", path)?;
        self.disk.remove(path)
    }
    fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError> {
        self.disk.list_dir(path)
    }
    fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.disk.metadata(path)
    }
    fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.disk.link_metadata(path)
    }
    fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError> {
        self.disk.metadata_outside(path)
    }

    fn remove_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.step("remove", path)?;
        self.disk.remove_dir(path)
    }

    fn sync_file_system(&self) -> Result<(), FsError> {
        self.step("sync", &RelPath::root())?;
        self.disk.sync_file_system()
    }

    fn set_mode(&self, path: &RelPath, mode: u32) -> Result<(), FsError> {
        self.step("change the mode of", path)?;
        self.disk.set_mode(path, mode)
    }
    fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError> {
        self.step("lock", path)?;
        self.disk.lock(path, holder, timeout)
    }
}

/// Returns how many processes of this workspace are alive.
fn living(workspace: &Workspace) -> usize {
    let home = format!("HOME={}", workspace.path("home").display());
    let carries = |entry: std::io::Result<std::fs::DirEntry>| {
        let environment = std::fs::read(entry.unwrap().path().join("environ")).unwrap_or_default();
        environment.split(|b| *b == 0).any(|pair| pair == home.as_bytes())
    };
    std::fs::read_dir("/proc").unwrap().map(carries).filter(|carries| *carries).count()
}

#[test]
fn no_unrecorded_process_survives_a_failed_step() {
    let failures = AtomicUsize::new(0);
    run_trials(0.., |steps| {
        let mut workspace = Workspace::one("sleep 300", "timeout = 0.01");
        let home = workspace.path("home");
        workspace.host.environment.retain(|(name, _)| name != "HOME");
        workspace.host.environment.push(("HOME".into(), home.into()));
        let disk = FailingDisk { disk: &workspace.fs, left: AtomicUsize::new(steps) };
        let supervisor = Supervisor::new(&disk, &SystemClock, &workspace.host, &brigade_runtime::NoSandbox);
        let started = supervisor.start(&workspace.runtimes[0], &options(), &mut |_| ());
        let facts = workspace.facts(Checks::Skip);
        assert_eq!(living(&workspace), usize::from(facts.managed), "after {steps} steps: {started:?}");
        let left = disk.left.load(Ordering::SeqCst);
        match &started {
            Ok(StartOutcome::Started { .. }) => assert!(facts.managed),
            Ok(other) => panic!("{other:?}"),
            Err(_) => _ = failures.fetch_add(1, Ordering::SeqCst),
        }
        // Whatever the failed start has left, the next start succeeds, and so does a stop.
        let again = workspace.start();
        assert!(!matches!(again, StartOutcome::Failed { .. } | StartOutcome::Refused { .. }), "{again:?}");
        assert_eq!(living(&workspace), 1);
        let disk = FailingDisk { disk: &workspace.fs, left: AtomicUsize::new(steps) };
        let supervisor = Supervisor::new(&disk, &SystemClock, &workspace.host, &brigade_runtime::NoSandbox);
        let stopped = supervisor.stop(&workspace.runtimes[0], LONG_TIMEOUT);
        assert!(workspace.stop().is_stopped(), "after {stopped:?}");
        assert_eq!((living(&workspace), workspace.facts(Checks::Skip).stale_pid()), (0, false));
        started.is_err() || left == 0
    });
    let failures = failures.into_inner();
    assert!(8 < failures, "{failures}");
}
