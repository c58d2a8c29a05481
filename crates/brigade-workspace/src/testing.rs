//! A workspace for tests, in memory or in a temporary directory.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics if it fails")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brigade_call::Plan;
use brigade_core::testing::TickingClock;
use brigade_core::{Dialect, Json, Timestamp};
use brigade_exec::HostEnvironment;
use brigade_fs::{DiskFs, FileKind, FileMode, Fs, MemoryFs, RelPath};
use brigade_policy::Blocker;

use crate::{Config, Host, WorkspaceContext, gather};

/// The largest file that a test reads.
pub const LIMIT: u64 = 4 << 20;

/// A workspace whose clock advances by a second with each reading.
pub struct Bench {
    /// The workspace.
    pub context: WorkspaceContext,
    _folder: Option<tempfile::TempDir>,
}

/// Variables of a user whose home directory and programs are in the workspace.
const VARIABLES: [(&str, &str); 2] = [("HOME", "home"), ("PATH", "bin")];

impl Bench {
    /// Creates a workspace in memory, which has no links and no programs, with these files.
    pub fn new(files: &[(&str, &str)]) -> Bench {
        Bench::over(Arc::new(MemoryFs::new()), None, files)
    }

    /// Creates a workspace in a temporary directory with these files.
    pub fn on_disk(files: &[(&str, &str)]) -> Bench {
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
    pub fn with_variables(mut self, variables: &[(&str, &str)]) -> Bench {
        let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        self.context.environment = Arc::new(HostEnvironment::new(variables));
        self
    }

    /// Makes a home directory in the workspace.
    pub fn with_home(self) -> Bench {
        let home = self.path("home").display().to_string();
        self.with_variables(&[("HOME", &home)])
    }

    /// Stops the clock long after every file was changed.
    pub fn much_later(mut self) -> Bench {
        let late = Timestamp::from_unix_micros(i64::MAX / 2);
        self.context.clock = Arc::new(TickingClock::starting(late, Duration::ZERO));
        self
    }

    /// Returns an absolute path.
    pub fn path(&self, path: &str) -> PathBuf {
        self.context.fs.root().join(path)
    }

    /// Writes a file, with the directories above it.
    #[track_caller]
    pub fn write(&self, path: &str, text: &str) {
        let path: RelPath = path.parse().unwrap();
        self.context.fs.create_dir_all(&path.parent()).unwrap();
        self.context.fs.write_atomic(&path, text.as_bytes(), FileMode::Private).unwrap();
    }

    /// Writes a program, or makes a file one.
    #[track_caller]
    pub fn program(&self, path: &str, text: &str) {
        self.write(path, text);
        self.context.fs.set_mode(&path.parse().unwrap(), 0o755).unwrap();
    }

    /// Creates a directory, with those above it.
    #[track_caller]
    pub fn folder(&self, path: &str) {
        self.context.fs.create_dir_all(&path.parse().unwrap()).unwrap();
    }

    /// Makes git track every file, as far as it can be known.
    #[track_caller]
    pub fn track_all(&self) {
        self.write(".git/index", "DIRC\0\0\0\x05");
    }

    /// Creates a workspace whose user has the home directory `home` and the programs in `bin`.
    pub fn of_user(files: &[(&str, &str)]) -> Bench {
        Bench::new(files).with_user()
    }

    /// Sets a variable of the host.
    pub fn variable(mut self, name: &str, value: &str) -> Bench {
        let known = self.context.environment.variables().map(|(name, value)| (name.clone(), value.clone()));
        let all = known.chain([(name.into(), value.into())]).collect::<Vec<_>>();
        self.context.environment = Arc::new(HostEnvironment::new(all));
        self
    }

    /// Returns the same workspace for operations that share it, with the same keys.
    pub fn shared(&self) -> Arc<WorkspaceContext> {
        let context = &self.context;
        Arc::new(WorkspaceContext {
            key: context.key.clone(),
            trust: context.trust.clone(),
            files_of_calls: context.files_of_calls.clone(),
            ..context.over(context.fs.clone())
        })
    }

    /// Changes the text of a file.
    #[track_caller]
    pub fn replace(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path).expect("the file is there");
        assert!(text.contains(old), "no `{old}` in {text}");
        self.write(path, &text.replace(old, new));
    }

    /// Removes a file.
    #[track_caller]
    pub fn remove(&self, path: &str) {
        self.context.fs.remove(&path.parse().unwrap()).unwrap();
    }

    /// Copies a directory of the disk, such as one of the fixtures.
    #[track_caller]
    pub fn copy(&self, from: &Path, to: &str) {
        let disk = DiskFs::open(from).unwrap();
        for path in paths(&disk) {
            let bytes = disk.read(&path.parse().unwrap(), LIMIT).unwrap();
            let target = if to.is_empty() { path } else { format!("{to}/{path}") };
            self.write(&target, &String::from_utf8(bytes).unwrap());
        }
    }

    /// Checks that only these files contain a text.
    #[track_caller]
    pub fn assert_nowhere(&self, text: &str, except: &[&str]) {
        for path in self.paths().iter().filter(|path| !except.contains(&path.as_str())) {
            let bytes = self.context.fs.read(&path.parse().unwrap(), LIMIT).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(text), "{path} holds {text}");
        }
    }

    /// Gives the user the home directory `home` and the programs in `bin`.
    #[must_use]
    pub fn with_user(self) -> Bench {
        let root = self.context.target();
        VARIABLES.iter().fold(self, |bench, (name, path)| bench.variable(name, &format!("{root}/{path}")))
    }

    /// Returns the paths of all files, sorted.
    pub fn paths(&self) -> Vec<String> {
        paths(&*self.context.fs)
    }

    /// Reads a file; `None` if it is missing.
    #[track_caller]
    pub fn read(&self, path: &str) -> Option<String> {
        match self.context.fs.read(&path.parse().unwrap(), LIMIT) {
            Ok(bytes) => Some(String::from_utf8(bytes).unwrap()),
            Err(error) if error.is_not_found() => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the host.
    pub fn host(&self) -> Host<'_> {
        self.context.host()
    }

    /// Reads catalog and policy.
    #[track_caller]
    pub fn config(&self) -> Arc<Config> {
        gather::config(&self.context).unwrap()
    }

    /// Plans a call of the tool with this id.
    #[track_caller]
    pub fn plan(&self, id: &str, args: &str) -> Plan {
        gather::plan_of(&self.context, &self.config(), id, Ok(json(args)), None, None).unwrap().0.plan
    }
}

/// Parses JSON.
#[track_caller]
pub fn json(text: &str) -> Json {
    Json::parse_bytes(text.as_bytes(), Dialect::Strict).unwrap()
}

/// Returns an entry of the catalog with these lines.
pub fn entry(id: &str, lines: &str) -> String {
    format!("[[tool]]\nid = '{id}'\nname = 'Tool {id}'\nfamily = 'script'\n{lines}\n")
}

/// Returns the codes of blockers.
pub fn codes(blockers: &[Blocker]) -> Vec<&str> {
    blockers.iter().map(|blocker| &*blocker.code).collect()
}

/// Returns the paths of all files, sorted.
fn paths(fs: &dyn Fs) -> Vec<String> {
    let (mut paths, mut folders) = (Vec::new(), vec![RelPath::root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs.list_dir(&folder).unwrap() {
            let path = folder.join(&entry.name).unwrap();
            match entry.kind {
                FileKind::Directory => folders.push(path),
                _ => paths.push(path.to_string()),
            }
        }
    }
    paths.sort();
    paths
}
