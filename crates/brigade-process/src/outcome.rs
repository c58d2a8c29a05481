//! The outcome of a run, and why one could not start.

use std::fmt;
use std::io;
use std::time::Duration;

use brigade_sandbox::{Enforcement, Observation, SandboxError};
use thiserror::Error;

use crate::ProcessIdentity;

/// How the main process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Unknown, because its keeper was killed.
    Unknown,
}

impl Exit {
    /// Returns whether the main process exited with code 0.
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

/// Why the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// The main process ended on its own.
    Itself,
    /// The timeout passed.
    Timeout,
    /// Every process slept for the limit of [`Control::idle`](crate::Control::idle).
    Idle,
    /// The [`CancelToken`](crate::CancelToken) was triggered.
    Cancel,
    /// The sink refused output.
    Sink,
    /// The caller requested it ([`Child::finish`](crate::Child::finish)).
    Caller,
}

impl Outcome {
    /// Logs how a process tree ended.
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

/// How completely this platform can end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillMethod {
    /// Every descendant, with any session, group or parent.
    ProcessTree,
    /// The process group of the run; a descendant that left it is not reached.
    ProcessGroup,
}

impl KillMethod {
    /// Returns the name in records: `process tree` or `process group`.
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

/// Resource usage of the main process and the descendants it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The largest resident size of a single process, in bytes.
    pub peak_memory: u64,
    /// Processor time in user code.
    pub user_time: Duration,
    /// Processor time in the kernel.
    pub system_time: Duration,
}

/// The number of bytes of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapturedBytes {
    /// Bytes passed to the sink.
    pub bytes: u64,
    /// Bytes over the cap: read, counted and dropped.
    pub dropped: u64,
}

impl CapturedBytes {
    /// Counts bytes, and returns how many of them the sink gets.
    pub fn count(&mut self, length: usize, cap: u64) -> usize {
        let left = usize::try_from(cap.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let accepted = length.min(left);
        self.bytes += accepted as u64;
        self.dropped += (length - accepted) as u64;
        accepted
    }
}

/// The outcome of a started run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The main process.
    pub identity: ProcessIdentity,
    /// How the main process ended.
    pub exit: Exit,
    /// Why it ended.
    pub ended_by: EndedBy,
    /// From start until everything had ended.
    pub duration: Duration,
    /// Resource usage.
    pub usage: Usage,
    /// Standard output.
    pub stdout: CapturedBytes,
    /// Standard error.
    pub stderr: CapturedBytes,
    /// Number of descendants that were alive after the main process had ended and the linger time had passed.
    pub outlived: u32,
    /// Processes that `SIGKILL` did not end in time. Usually empty.
    pub survivors: Vec<ProcessIdentity>,
    /// How completely this system can end a tree.
    pub method: KillMethod,
    /// What the sandbox enforced, if there was one.
    pub enforcement: Option<Enforcement>,
    /// What the run used, if it was observed.
    pub observation: Option<Observation>,
    /// The time from the beginning of the last look until the program was executed; `None` without a last look.
    pub check_gap: Option<Duration>,
}

impl Outcome {
    /// Returns whether the timeout ended the run.
    pub fn timed_out(&self) -> bool {
        self.ended_by == EndedBy::Timeout
    }

    /// Returns whether a cancel request ended the run.
    pub fn cancelled(&self) -> bool {
        self.ended_by == EndedBy::Cancel
    }
}

/// The failed step of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Creating pipes and descriptors.
    Pipes,
    /// Creating a process.
    Fork,
    /// Creating a session.
    Session,
    /// Entering the working directory.
    Directory,
    /// Setting limits.
    Limits,
    /// Creating private mounts for the sandbox.
    Namespace,
    /// Applying the sandbox.
    Sandbox,
    /// Comparing the program with the checked file: it was replaced.
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

    /// Returns a number for the pipe between the processes of a run.
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
            Step::Directory => "enter its directory",
            Step::Limits => "set its limits",
            Step::Namespace => "make private mounts",
            Step::Sandbox => "apply the sandbox",
            Step::Program => "find the program as it was checked",
            Step::Execute => "execute the program",
        })
    }
}

/// Why a program could not start. No process of it is running.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// A system call failed.
    #[error("could not {step}: {source}")]
    Failed {
        /// The failed step.
        step: Step,
        /// The error of the system.
        source: io::Error,
    },
    /// The program path, an argument, a variable or the directory has a NUL byte.
    #[error("{0} contains a NUL byte")]
    Nul(&'static str),
    /// The name of a variable is empty or has `=`.
    #[error("the name of an environment variable is empty or contains `=`")]
    VariableName,
    /// The requested sandbox cannot be applied.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The last look before the start refused it.
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
    /// It never started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The sink refused output, such as on a full disk, and the tree was ended.
    #[error("could not store the output: {source}")]
    Sink {
        /// The error of the sink.
        source: io::Error,
        /// How the run ended.
        outcome: Box<Outcome>,
    },
    /// Waiting for the run failed, and the tree was ended.
    #[error("could not supervise the run: {0}")]
    Supervise(io::Error),
}
