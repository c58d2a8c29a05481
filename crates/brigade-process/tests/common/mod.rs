//! Runs a program with a mark in its environment, so that every process it leaves can be found.

#![allow(dead_code, reason = "each test file uses its part")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use brigade_process::{Control, Outcome, Program, Spec, Stream, run};

/// A spec whose processes all carry a unique mark.
pub struct Trial {
    pub spec: Spec,
    pub mark: String,
}

/// Returns the path of a program of the corpus.
pub fn fixture(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/misbehaving").join(name);
    path.canonicalize().unwrap()
}

/// Returns the Python that the shim on `PATH` leads to, so that trials start fast.
pub fn python() -> PathBuf {
    static FOUND: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let ask = || {
        let asked =
            std::process::Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        PathBuf::from(String::from_utf8(asked.unwrap().stdout).unwrap().trim())
    };
    FOUND.get_or_init(ask).clone()
}

impl Trial {
    /// Creates a trial of a program. Python programs run through [`python`].
    pub fn new(program: PathBuf) -> Trial {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("BRIGADE_TRIAL={}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let (name, value) = mark.split_once('=').unwrap();
        let mut argv: Vec<OsString> = vec![program.clone().into()];
        let mut path = program;
        if path.extension().is_some_and(|extension| extension == "py") {
            path = python();
            argv.insert(0, path.clone().into());
        }
        let mut spec = Spec::new(Program::at(path), "/");
        spec.argv = argv;
        spec.environment =
            vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()), (name.into(), value.into())];
        Trial { spec, mark }
    }

    /// Creates a trial of a shell line.
    pub fn shell(script: &str) -> Trial {
        let mut trial = Trial::new("/bin/sh".into());
        trial.spec.argv = vec!["sh".into(), "-c".into(), script.into()];
        trial
    }

    /// Creates a trial of a line of Python.
    pub fn python(script: &str) -> Trial {
        let mut trial = Trial::new(python());
        trial.spec.argv = vec![python().into(), "-c".into(), script.into()];
        trial
    }

    /// Runs it and returns its output, both streams in one.
    pub fn output(&self, control: &Control) -> (Outcome, String) {
        let mut seen = Vec::new();
        let mut sink = |_: Stream, bytes: &[u8]| {
            seen.extend_from_slice(bytes);
            Ok(())
        };
        let outcome = run(&self.spec, &mut sink, control).unwrap();
        (outcome, String::from_utf8_lossy(&seen).into_owned())
    }

    /// Fails if a process with the mark is alive.
    #[track_caller]
    pub fn check_nothing_left(&self) {
        assert_eq!(living(&self.mark), Vec::<String>::new());
    }
}

/// Returns the states and names of living processes that were started with this `NAME=value`.
pub fn living(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|&b| b == 0).any(|pair| pair == mark.as_bytes()) {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            if !stat.is_empty() && !stat.contains(") Z ") {
                found.push(stat);
            }
        }
    }
    found
}
