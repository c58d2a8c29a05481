//! What to run: program, arguments, environment, directory, limits, sandbox.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brigade_sandbox::system::open_regular;
use brigade_sandbox::{Observer, PlaceholderCleanup, PreparedSandbox, SandboxError, SandboxProfile};
use tracing::span::EnteredSpan;

use crate::{Disposal, ProcessIdentity};

/// The program of a run: a path, and the open file if its bytes were checked before.
///
/// An open ELF binary is executed by its descriptor, so replacing the path between check and start has no effect. A
/// `#!` script must be executed by path, because its interpreter opens it by name. Its path is compared with the open
/// file (device and inode) right before it is executed.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    file: Option<Arc<File>>,
}

impl Program {
    /// Creates a program from a path only.
    pub fn at(path: impl Into<PathBuf>) -> Program {
        Program { path: path.into(), file: None }
    }

    /// Opens the program for reading, so [`Program::file`] can be hashed and is exactly what runs.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Program> {
        let path = path.into();
        let file = open_regular(&path)?;
        Ok(Program { path, file: Some(Arc::new(file)) })
    }

    /// Creates a program from a path and its open file, which the caller has usually hashed.
    pub fn opened(path: impl Into<PathBuf>, file: File) -> Program {
        Program { path: path.into(), file: Some(Arc::new(file)) }
    }

    /// Returns the given path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the open file, if there is one.
    pub fn file(&self) -> Option<&File> {
        self.file.as_deref()
    }
}

/// The standard input of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// `/dev/null`.
    #[default]
    Null,
    /// A pipe with these bytes. A program that does not read them is not an error.
    Bytes(Vec<u8>),
}

/// Kernel limits for each process of the run; `None` keeps the limit of the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Number of processes of the user (`RLIMIT_NPROC`). The kernel does not apply it to root.
    pub processes: Option<u64>,
    /// Address space of each process, in bytes (`RLIMIT_AS`).
    pub memory: Option<u64>,
    /// The largest file that a process may write, in bytes (`RLIMIT_FSIZE`).
    pub file_size: Option<u64>,
    /// Number of open descriptors of a process (`RLIMIT_NOFILE`).
    pub open_files: Option<u64>,
}

impl Limits {
    /// Returns whether a requested limit has no effect because the kernel does not apply it to the user of this
    /// process.
    pub fn is_without_effect(&self) -> bool {
        self.processes.is_some() && rustix::process::geteuid().is_root()
    }
}

/// A complete description of a program to start. It inherits nothing else.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The program. It is not looked up on `PATH`. A relative path is relative to `directory`.
    pub program: Program,
    /// All arguments, including the zeroth. Empty means only the path of the program.
    pub argv: Vec<OsString>,
    /// The complete environment, in this order. If the keeper is killed, a variable `BRIGADE_RUN_ID` or
    /// `BRIGADE_…_RUN_ID` identifies processes of the run, so its value must be unique.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory of the program.
    pub directory: PathBuf,
    /// Standard input; [`spawn_piped`](crate::spawn_piped) always gives a pipe instead.
    pub stdin: Input,
    /// Limits of each process.
    pub limits: Limits,
    /// The sandbox of the whole tree; `None` for none.
    pub sandbox: Option<SandboxProfile>,
    /// The workspace to observe; `None` for no observation. A program that outlives the caller is never observed.
    pub observe: Option<PathBuf>,
    /// The private directory of the run. The keeper removes it if the caller was killed. Without a keeper, it stays.
    pub private: Option<Disposal>,
    /// A file that stays open until every process of the run has ended, even if the caller was killed. A process that
    /// waits for a lock on it therefore waits for the run. Only where the keeper is a process.
    pub held: Option<Arc<File>>,
}

impl Spec {
    /// Creates a spec without arguments, environment, limits and sandbox, and with `/dev/null` as input.
    pub fn new(program: Program, directory: impl Into<PathBuf>) -> Spec {
        Spec {
            program,
            argv: Vec::new(),
            environment: Vec::new(),
            directory: directory.into(),
            stdin: Input::Null,
            limits: Limits::default(),
            sandbox: None,
            observe: None,
            private: None,
            held: None,
        }
    }

    /// Prepares the requested sandbox.
    pub(crate) fn prepare_sandbox(
        &self,
        cleanup: PlaceholderCleanup,
    ) -> Result<Option<PreparedSandbox>, SandboxError> {
        let home = self.environment.iter().find(|(name, _)| name == "HOME");
        let home = home.map(|(_, value)| Path::new(value));
        self.sandbox.as_ref().map(|profile| PreparedSandbox::new(profile, home, cleanup)).transpose()
    }

    /// Prepares the requested observation. Without a sandbox nothing is observed.
    pub(crate) fn prepare_observer(&self) -> Option<Observer> {
        self.sandbox.as_ref().and(self.observe.as_deref()).map(Observer::new)
    }
}

/// Opens the tracing span of a start, which measures the time until the program runs.
pub(crate) fn spawn_span(spec: &Spec) -> EnteredSpan {
    tracing::debug_span!("spawn", program = ?spec.program.path()).entered()
}

/// Logs that a program was started, without its arguments.
pub(crate) fn trace_start(spec: &Spec, identity: &ProcessIdentity) {
    tracing::debug!(
        pid = identity.pid(),
        program = ?spec.program.path(),
        words = spec.argv.len(),
        variables = spec.environment.len(),
        is_sandboxed = spec.sandbox.is_some(),
        "started a program"
    );
}
