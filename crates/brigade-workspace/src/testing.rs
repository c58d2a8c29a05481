//! A workspace for tests, in memory or in a temporary directory.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use brigade_call::Plan;
use brigade_core::{Dialect, Json, Timestamp};
use brigade_exec::HostEnvironment;
use brigade_fs::{DiskFs, FileMode, Fs, MemoryFs, RelPath};
use brigade_policy::Blocker;
use brigade_testkit::TickingClock;

use crate::{Config, Host, WorkspaceContext, gather};

/// The largest file that a test reads.
const LIMIT: u64 = 1 << 20;

/// A workspace whose clock advances by a second with each reading.
pub(crate) struct Bench {
    pub(crate) context: WorkspaceContext,
    _folder: Option<tempfile::TempDir>,
}

impl Bench {
    /// Creates a workspace in memory, which has no links and no programs, with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Bench {
        Bench::over(Arc::new(MemoryFs::new()), None, files)
    }

    /// Creates a workspace in a temporary directory with these files.
    pub(crate) fn on_disk(files: &[(&str, &str)]) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let fs = Arc::new(DiskFs::open(folder.path()).unwrap());
        Bench::over(fs, Some(folder), files)
    }

    fn over(fs: Arc<dyn Fs>, folder: Option<tempfile::TempDir>, files: &[(&str, &str)]) -> Bench {
        let mut context = WorkspaceContext::new(fs);
        context.clock = Arc::new(TickingClock::new());
        let bench = Bench { context, _folder: folder };
        files.iter().for_each(|(path, text)| bench.write(path, text));
        bench
    }

    /// Sets the variables of the host.
    pub(crate) fn with_variables(mut self, variables: &[(&str, &str)]) -> Bench {
        let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        self.context.environment = Arc::new(HostEnvironment::new(variables));
        self
    }

    /// Makes a home directory in the workspace.
    pub(crate) fn with_home(self) -> Bench {
        let home = self.path("home").display().to_string();
        self.with_variables(&[("HOME", &home)])
    }

    /// Stops the clock long after every file was changed.
    pub(crate) fn much_later(mut self) -> Bench {
        let late = Timestamp::from_unix_micros(i64::MAX / 2);
        self.context.clock = Arc::new(TickingClock::starting(late, Duration::ZERO));
        self
    }

    /// Returns an absolute path.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.context.fs.root().join(path)
    }

    /// Writes a file, with the directories above it.
    #[track_caller]
    pub(crate) fn write(&self, path: &str, text: &str) {
        self.write_as(path, text, FileMode::Private);
    }

    /// Writes a file that may be executed.
    #[track_caller]
    pub(crate) fn program(&self, path: &str) {
        self.write_as(path, "#!/bin/sh\n", FileMode::Exactly(0o755));
    }

    #[track_caller]
    fn write_as(&self, path: &str, text: &str, mode: FileMode) {
        let path: RelPath = path.parse().unwrap();
        self.context.fs.create_dir_all(&path.parent()).unwrap();
        self.context.fs.write_atomic(&path, text.as_bytes(), mode).unwrap();
    }

    /// Creates a directory, with those above it.
    #[track_caller]
    pub(crate) fn folder(&self, path: &str) {
        self.context.fs.create_dir_all(&path.parse().unwrap()).unwrap();
    }

    /// Makes git track every file, as far as it can be known.
    #[track_caller]
    pub(crate) fn track_all(&self) {
        self.write(".git/index", "DIRC\0\0\0\x05");
    }

    /// Reads a file; `None` if it is missing.
    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        match self.context.fs.read(&path.parse().unwrap(), LIMIT) {
            Ok(bytes) => Some(String::from_utf8(bytes).unwrap()),
            Err(error) if error.is_not_found() => None,
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn host(&self) -> Host<'_> {
        self.context.host()
    }

    /// Reads catalog and policy.
    #[track_caller]
    pub(crate) fn config(&self) -> Arc<Config> {
        gather::config(&self.context).unwrap()
    }

    /// Plans a call of the tool with this id.
    #[track_caller]
    pub(crate) fn plan(&self, id: &str, args: &str) -> Plan {
        gather::plan_of(&self.context, &self.config(), id, Ok(json(args)), None, None).unwrap().0.plan
    }
}

/// Parses JSON.
#[track_caller]
pub(crate) fn json(text: &str) -> Json {
    Json::parse_bytes(text.as_bytes(), Dialect::Strict).unwrap()
}

/// Returns an entry of the catalog with these lines.
pub(crate) fn entry(id: &str, lines: &str) -> String {
    format!("[[tool]]\nid = '{id}'\nname = 'Tool {id}'\nfamily = 'script'\n{lines}\n")
}

/// Returns the codes of blockers.
pub(crate) fn codes(blockers: &[Blocker]) -> Vec<&str> {
    blockers.iter().map(|blocker| &*blocker.code).collect()
}
