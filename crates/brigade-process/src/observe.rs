//! What a run really opened, executed and connected to.
//!
//! On Linux the kernel tells the keeper of each such call of the whole tree (seccomp user notification) and waits for
//! its answer, which is always to go on: observing never decides anything. The keeper reads the call's arguments from
//! the caller's memory, finds the file as the caller would, and notes it in memory that it shares with Brigade.
//!
//! The kernel does not tell how a call ended. What is noted as read, written or executed was there, and neither the
//! rules of the sandbox nor the modes of the file forbade it; what is noted as denied, they forbade. A program that
//! changes the text of a path in another thread while the keeper reads it can have something else noted than it opens:
//! this is a record of honest programs, and no protection.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
#[path = "observe/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "observe/unix.rs"]
mod platform;
#[cfg(target_os = "linux")]
mod table;

pub(crate) use platform::{Line, Observer, Watcher};

use crate::Spec;

/// Whether a run is observed.
#[derive(Debug)]
pub(crate) enum Observing {
    No,
    Yes(Arc<Observer>),
    Unavailable(String),
}

impl Observing {
    /// Prepares what the spec asks for. Without a sandbox nothing is observed.
    pub(crate) fn of(spec: &Spec) -> Observing {
        match (&spec.observe, &spec.sandbox) {
            (Some(workspace), Some(_)) => match Observer::prepare(workspace) {
                Ok(observer) => Observing::Yes(observer),
                Err(reason) => Observing::Unavailable(reason),
            },
            _ => Observing::No,
        }
    }

    pub(crate) fn observer(&self) -> Option<Arc<Observer>> {
        match self {
            Observing::Yes(observer) => Some(Arc::clone(observer)),
            Observing::No | Observing::Unavailable(_) => None,
        }
    }

    /// What came of it; when the keeper is gone.
    pub(crate) fn outcome(&self) -> Option<Observation> {
        match self {
            Observing::Yes(observer) => Some(observer.seen()),
            Observing::No => None,
            Observing::Unavailable(reason) => Some(Observation::Unavailable(reason.clone())),
        }
    }
}

/// What came of observing a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// It was observed.
    Done(Box<Observed>),
    /// It could not be observed, for this reason. The run went on without.
    Unavailable(String),
}

/// What a run used. Paths in the workspace are relative to it, without links, each once per content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// What it opened for reading in the workspace.
    pub read: Vec<ObservedFile>,
    /// What it executed in the workspace.
    pub executed: Vec<ObservedFile>,
    /// What it opened for writing in the workspace.
    pub written: Vec<ObservedFile>,
    /// The addresses that it connected or bound sockets to.
    pub connected: Vec<ObservedAddress>,
    /// What it tried, and the sandbox or the modes of the file forbade. Paths outside of the workspace are absolute.
    pub denied: Vec<ObservedDenial>,
    /// How many calls each list stands for.
    pub counts: ObservedCounts,
    /// How often it opened or executed something outside of the workspace, by the first folder of the path.
    pub outside: BTreeMap<PathBuf, u64>,
    /// Whether a list was full, and more left out of it.
    pub is_truncated: bool,
    /// Why something may be missing, in sentences; empty when nothing is.
    pub unseen: Vec<&'static str>,
}

/// How often a run did something in the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObservedCounts {
    /// Opened something for reading.
    pub read: u64,
    /// Executed something.
    pub executed: u64,
    /// Opened something for writing.
    pub written: u64,
    /// Connected or bound a socket.
    pub connected: u64,
    /// Tried what is forbidden.
    pub denied: u64,
}

/// A file or folder of the workspace that a run used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedFile {
    /// Its path in the workspace; empty for the workspace itself.
    pub path: PathBuf,
    /// Whether it is a folder, whose names were read.
    pub is_folder: bool,
    /// The sha256 that a plain file had when it was opened for reading or execution.
    pub sha256: Option<[u8; 32]>,
}

/// An address that a socket was connected or bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedAddress {
    /// The IP address, or the path of a socket of this machine.
    pub address: String,
    /// The port; sockets of this machine have none.
    pub port: Option<u16>,
    /// Whether the socket was bound to it, rather than connected.
    pub is_bound: bool,
}

/// What a run may not do with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedDenial {
    /// Its path: in the workspace, or an absolute one.
    pub path: PathBuf,
    /// What was tried.
    pub what: Attempt,
}

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Opened for reading.
    Read,
    /// Opened for writing, or created.
    Write,
    /// Executed.
    Execute,
}

impl Attempt {
    /// The name that records use: `read`, `write` or `execute`.
    pub fn name(self) -> &'static str {
        match self {
            Attempt::Read => "read",
            Attempt::Write => "write",
            Attempt::Execute => "execute",
        }
    }
}
