//! A workspace with runtimes, all of which are ended at the end of a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brigade_catalog::{Level, Runtime, Runtimes};
use brigade_core::{Dialect, Json, SystemClock};
use brigade_fs::DiskFs;
use brigade_process::{ProcessIdentity, Signal};
use brigade_runtime::{
    Checks, Host, RuntimeFacts, StartOptions, StartOutcome, StartProgress, StopOutcome, Supervisor,
};

/// Longer than any test takes.
pub const LONG_TIMEOUT: Duration = Duration::from_secs(60);

pub struct Workspace {
    folder: tempfile::TempDir,
    pub fs: DiskFs,
    pub host: Host,
    pub runtimes: Vec<Runtime>,
}

impl Workspace {
    /// Creates a workspace with this runtimes.toml.
    pub fn new(toml: &str) -> Workspace {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("w");
        fs::create_dir(&root).unwrap();
        let parsed = Runtimes::parse("runtimes.toml", Level::Project, toml.as_bytes());
        let pair = |name: &str, value: &str| (name.into(), value.into());
        let environment = vec![
            pair("PATH", &format!("{}:/usr/bin:/bin", python_folder().display())),
            pair("HOME", "/nonexistent"),
            pair("SECRET_TOKEN", "never"),
        ];
        Workspace {
            fs: DiskFs::open(&root).unwrap(),
            host: Host { environment, ..Host::default() },
            runtimes: parsed.runtimes().to_vec(),
            folder,
        }
    }

    /// Creates a workspace with one runtime `r` with this command and these further lines.
    pub fn one(command: &str, more: &str) -> Workspace {
        Workspace::new(&format!("[[runtime]]\nid = 'r'\nname = 'R'\ncommand = \"{command}\"\n{more}\n"))
    }

    pub fn supervisor(&self) -> Supervisor<'_> {
        Supervisor::new(&self.fs, &SystemClock, &self.host, &brigade_runtime::NoSandbox)
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join("w").join(relative)
    }

    pub fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    pub fn metadata(&self) -> Json {
        Json::parse_bytes(self.read(".brigade/tools/runtime/r.json").as_bytes(), Dialect::Strict).unwrap()
    }

    /// Replaces members of the metadata; `null` removes one.
    pub fn edit_metadata(&self, members: &[(&str, Json)]) {
        let mut object = self.metadata().as_object().unwrap().clone();
        for (key, value) in members {
            match value {
                Json::Null => object.remove(*key),
                value => object.insert((*key).to_owned(), value.clone()),
            };
        }
        self.write(".brigade/tools/runtime/r.json", &Json::Object(object).to_pretty());
    }

    pub fn start(&self) -> StartOutcome {
        self.start_noting(&mut |_| ())
    }

    pub fn start_noting(&self, progress: &mut dyn FnMut(StartProgress)) -> StartOutcome {
        self.supervisor().start(&self.runtimes[0], &options(), progress).unwrap()
    }

    #[track_caller]
    pub fn must_start(&self) -> ProcessIdentity {
        match self.start() {
            StartOutcome::Started { process, .. } => process,
            other => panic!("{other:?}"),
        }
    }

    pub fn stop(&self) -> StopOutcome {
        self.supervisor().stop(&self.runtimes[0], LONG_TIMEOUT).unwrap()
    }

    pub fn facts(&self, checks: Checks) -> RuntimeFacts {
        self.supervisor().facts_of_one(&self.runtimes[0], checks, None)
    }

    pub fn issue_types(&self) -> Vec<&'static str> {
        self.facts(Checks::Run).issues.iter().map(|issue| issue.issue_type.code()).collect()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        for runtime in &self.runtimes {
            let _ = self.supervisor().stop(runtime, LONG_TIMEOUT);
        }
    }
}

pub fn options() -> StartOptions {
    StartOptions { wait: Some(LONG_TIMEOUT), lock_timeout: LONG_TIMEOUT, cancel: None }
}

/// Ends a process at the end of a test.
pub struct ProcessEnder(pub ProcessIdentity);

impl Drop for ProcessEnder {
    fn drop(&mut self) {
        let _ = self.0.signal(Signal::Kill);
    }
}

/// Polls a condition.
#[track_caller]
pub fn until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < LONG_TIMEOUT, "it never came true");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Returns a port without a listener.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns the directory of the Python that a shim on `PATH` may lead to.
fn python_folder() -> &'static Path {
    static FOUND: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    FOUND.get_or_init(|| {
        let asked =
            std::process::Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let path = PathBuf::from(String::from_utf8(asked.unwrap().stdout).unwrap().trim());
        path.parent().unwrap().to_owned()
    })
}
