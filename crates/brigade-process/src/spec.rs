//! What to run: program, arguments, environment, directory, limits, sandbox.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Disposal, ProcessIdentity, SandboxProfile};

/// The program of a run: a path, and the opened file when its bytes were checked before.
///
/// With an opened file an ELF binary is executed by its descriptor, so a swap of the path between check and start
/// changes nothing. A `#!` script must be executed by path, because its interpreter opens it again by name; for it the
/// path is compared with the opened file (device and inode) directly before it is executed.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    file: Option<Arc<File>>,
}

impl Program {
    /// Names the program by path only.
    pub fn at(path: impl Into<PathBuf>) -> Program {
        Program { path: path.into(), file: None }
    }

    /// Opens the program for reading, so that [`Program::file`] can be hashed and is what runs.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Program> {
        let path = path.into();
        let file = File::open(&path)?;
        Ok(Program { path, file: Some(Arc::new(file)) })
    }

    /// Binds a path to a file that was opened, and usually hashed, by the caller.
    pub fn opened(path: impl Into<PathBuf>, file: File) -> Program {
        Program { path: path.into(), file: Some(Arc::new(file)) }
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The opened file, when there is one.
    pub fn file(&self) -> Option<&File> {
        self.file.as_deref()
    }
}

/// What the program reads on its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// `/dev/null`.
    #[default]
    Null,
    /// A pipe that carries these bytes and then ends. A program that does not read them is no error.
    Bytes(Vec<u8>),
}

/// Upper bounds the kernel puts on each process of the run; `None` leaves what the caller has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How many processes the user may have (`RLIMIT_NPROC`); the kernel does not apply it to root.
    pub processes: Option<u64>,
    /// Bytes of address space of each process (`RLIMIT_AS`).
    pub memory: Option<u64>,
    /// Bytes of the largest file a process may write (`RLIMIT_FSIZE`).
    pub file_size: Option<u64>,
    /// Descriptors a process may have open (`RLIMIT_NOFILE`).
    pub open_files: Option<u64>,
}

/// One program to start, complete: nothing is inherited that is not named here.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The program. Never looked up on `PATH`; a path that is not absolute is taken from `directory`.
    pub program: Program,
    /// All arguments, the zeroth included. Empty means: the program's path alone.
    pub argv: Vec<OsString>,
    /// The whole environment, in this order. A variable `BRIGADE_RUN_ID` or `BRIGADE_…_RUN_ID` is how strays of the run
    /// are recognised should somebody kill its keeper; so its value must be unique.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder the program starts in.
    pub directory: PathBuf,
    /// Standard input; [`spawn_piped`](crate::spawn_piped) always gives a pipe instead.
    pub stdin: Input,
    /// Limits of each process.
    pub limits: Limits,
    /// Kernel rules for the whole tree; `None` for no sandbox.
    pub sandbox: Option<SandboxProfile>,
    /// The workspace whose use is observed; `None` for no observation. A program that outlives the caller is never
    /// observed.
    pub observe: Option<PathBuf>,
    /// The run's private folder, which its keeper removes when the caller was killed and cannot. A run without a keeper
    /// leaves it.
    pub private: Option<Disposal>,
}

impl Spec {
    /// Starts from no arguments, an empty environment, `/dev/null` as input, no limits and no sandbox.
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
        }
    }
}

/// Tells those who listen that a program was started; never with what it was given.
pub(crate) fn trace_start(spec: &Spec, identity: &ProcessIdentity) {
    tracing::debug!(
        pid = identity.pid(),
        program = ?spec.program.path(),
        directory = ?spec.directory,
        words = spec.argv.len(),
        variables = spec.environment.len(),
        is_sandboxed = spec.sandbox.is_some(),
        "started a program"
    );
}
