//! How a run went, and why one could not be started.

use std::fmt;
use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::{Enforcement, Observation, ProcessIdentity, SandboxError};

/// How the main process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Nobody saw it end: its keeper was killed from outside.
    Unknown,
}

impl Exit {
    /// Says whether the main process exited with code 0.
    pub fn success(self) -> bool {
        self == Exit::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => write!(f, "signal {signal}"),
            Exit::Unknown => f.write_str("unknown"),
        }
    }
}

/// What brought the run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// The main process ended by itself.
    Itself,
    /// The timeout passed.
    Timeout,
    /// The [`CancelToken`](crate::CancelToken) was triggered.
    Cancel,
    /// The sink refused output.
    Sink,
    /// The caller asked for it ([`Child::finish`](crate::Child::finish)).
    Caller,
}

impl Outcome {
    /// Tells those who listen how a tree of processes ended.
    pub(crate) fn trace(&self) {
        tracing::debug!(
            pid = self.identity.pid(),
            exit = %self.exit,
            ended_by = ?self.ended_by,
            milliseconds = self.duration.as_millis(),
            stdout_bytes = self.stdout.bytes,
            stderr_bytes = self.stderr.bytes,
            outlived = self.outlived,
            survivors = self.survivors.len(),
            "a program and everything it started have ended"
        );
    }
}

/// How far ending a run reaches on this platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillMethod {
    /// Every descendant, whatever its session, group or parent.
    ProcessTree,
    /// The process group of the run; a descendant that left it is not reached.
    ProcessGroup,
}

impl KillMethod {
    /// The name that records use: `process tree` or `process group`.
    pub fn name(self) -> &'static str {
        match self {
            KillMethod::ProcessTree => "process tree",
            KillMethod::ProcessGroup => "process group",
        }
    }
}

impl fmt::Display for KillMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the main process, and the descendants it waited for, used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Largest resident size of any one of these processes, in bytes.
    pub peak_memory: u64,
    /// Processor time in user code.
    pub user_time: Duration,
    /// Processor time in the kernel.
    pub system_time: Duration,
}

/// How much of one stream arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Bytes handed to the sink.
    pub bytes: u64,
    /// Bytes over the cap: read, counted and dropped.
    pub dropped: u64,
}

/// A run that was started, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The main process.
    pub identity: ProcessIdentity,
    /// How the main process ended.
    pub exit: Exit,
    /// What brought the end.
    pub ended_by: EndedBy,
    /// From start until everything had ended.
    pub duration: Duration,
    /// What was used.
    pub usage: Usage,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// How many descendants still lived after the main process had ended (and the linger time had passed).
    pub outlived: u32,
    /// What could not be ended: processes that a killing signal did not end in time. Empty is the rule.
    pub survivors: Vec<ProcessIdentity>,
    /// How far ending reaches here.
    pub method: KillMethod,
    /// What the sandbox enforced, when there was one.
    pub enforcement: Option<Enforcement>,
    /// What it used, when it was to be observed.
    pub observation: Option<Observation>,
    /// How long it was from the beginning of the last look until the program was executed; `None` when nobody looked.
    pub check_gap: Option<Duration>,
}

impl Outcome {
    /// Says whether the timeout ended the run.
    pub fn timed_out(&self) -> bool {
        self.ended_by == EndedBy::Timeout
    }

    /// Says whether a cancel request ended the run.
    pub fn cancelled(&self) -> bool {
        self.ended_by == EndedBy::Cancel
    }
}

/// The step of starting a program that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Pipes and descriptors.
    Pipes,
    /// Creating a process.
    Fork,
    /// Getting an own session.
    Session,
    /// Entering the folder.
    Directory,
    /// Setting limits.
    Limits,
    /// Making private mounts for the sandbox.
    Namespace,
    /// Applying the sandbox.
    Sandbox,
    /// Comparing the program with the file that was checked: it was replaced.
    Program,
    /// Executing the program.
    Execute,
}

impl Step {
    const ALL: [Step; 9] = [
        Step::Pipes,
        Step::Fork,
        Step::Session,
        Step::Directory,
        Step::Limits,
        Step::Namespace,
        Step::Sandbox,
        Step::Program,
        Step::Execute,
    ];

    /// A number for the pipe between the processes of one run.
    pub(crate) fn number(self) -> u32 {
        Step::ALL.iter().position(|step| *step == self).unwrap_or(0) as u32
    }

    pub(crate) fn from_number(number: u32) -> Option<Step> {
        Step::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Pipes => "open its pipes",
            Step::Fork => "create a process",
            Step::Session => "start a session",
            Step::Directory => "enter its folder",
            Step::Limits => "set its limits",
            Step::Namespace => "make private mounts",
            Step::Sandbox => "apply the sandbox",
            Step::Program => "find the program as it was checked",
            Step::Execute => "execute the program",
        })
    }
}

/// Why a program could not be started. Nothing of it is running.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// A system call failed on the way.
    #[error("could not {step}: {source}")]
    Failed {
        /// What was being done.
        step: Step,
        /// The system's reason.
        source: io::Error,
    },
    /// The program's path, an argument, a variable or the folder holds a NUL byte.
    #[error("{0} holds a NUL byte")]
    Nul(&'static str),
    /// A variable's name is empty or holds `=`.
    #[error("the name of an environment variable is empty or holds `=`")]
    VariableName,
    /// The sandbox cannot be applied as asked.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The last look before the start found something against it.
    #[error("{0}")]
    Refused(io::Error),
    /// The keeper ended before it could report.
    #[error("the process that supervises the run ended before the program was started")]
    Keeper,
}

impl SpawnError {
    pub(crate) fn at(step: Step, source: impl Into<io::Error>) -> SpawnError {
        SpawnError::Failed { step, source: source.into() }
    }
}

/// Why a run has no ordinary outcome.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// It was never started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The sink refused output (a full disk, say); the tree was ended.
    #[error("could not store the output: {source}")]
    Sink {
        /// The sink's reason.
        source: io::Error,
        /// How the run ended.
        outcome: Box<Outcome>,
    },
    /// Waiting for the run failed; the tree was ended.
    #[error("could not supervise the run: {0}")]
    Supervise(io::Error),
}
