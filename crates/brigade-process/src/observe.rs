//! Records what a run opened, changed, executed and connected to.
//!
//! On Linux the kernel notifies the keeper of each such call in the tree (seccomp user notification), and waits for its
//! answer. The answer is always to continue: observing decides nothing. The keeper reads the arguments from the memory
//! of the process, finds the file like the process would, and records it in memory shared with Brigade.
//!
//! The kernel does not report how a call ended. A file recorded as read, written or executed existed, and neither the
//! sandbox nor its mode denied the access. Accesses that they denied are recorded as denied. A program that changes a
//! path in another thread while the keeper reads it can cause a wrong record. So this documents honest programs; it
//! does not protect against others.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(target_os = "linux")]
mod addresses;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod passing;
#[cfg(target_os = "linux")]
#[path = "observe/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "observe/unix.rs"]
mod platform;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod ways;

pub(crate) use platform::{Line, Observer, Watcher};

use crate::Spec;

/// Whether to observe a run.
#[derive(Debug)]
pub(crate) enum ObservationMode {
    No,
    Yes(Arc<Observer>),
    Unavailable(String),
}

impl ObservationMode {
    /// Prepares the observation that the spec requests. Without a sandbox nothing is observed.
    pub(crate) fn prepare(spec: &Spec) -> ObservationMode {
        match (&spec.observe, &spec.sandbox) {
            (Some(workspace), Some(_)) => match Observer::prepare(workspace) {
                Ok(observer) => ObservationMode::Yes(observer),
                Err(reason) => ObservationMode::Unavailable(reason),
            },
            _ => ObservationMode::No,
        }
    }

    pub(crate) fn observer(&self) -> Option<Arc<Observer>> {
        match self {
            ObservationMode::Yes(observer) => Some(Arc::clone(observer)),
            ObservationMode::No | ObservationMode::Unavailable(_) => None,
        }
    }

    /// Returns the result, after the keeper has ended.
    pub(crate) fn outcome(&self) -> Option<Observation> {
        match self {
            ObservationMode::Yes(observer) => Some(observer.seen()),
            ObservationMode::No => None,
            ObservationMode::Unavailable(reason) => Some(Observation::Unavailable(reason.clone())),
        }
    }
}

/// The result of observing a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// The run was observed.
    Done(Box<ObservedUse>),
    /// The run could not be observed, for this reason, and ran without observation.
    Unavailable(String),
}

/// What a run used. Paths in the workspace are relative and without links, each once per content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedUse {
    /// Workspace files opened for reading.
    pub read: Vec<ObservedFile>,
    /// Workspace files executed.
    pub executed: Vec<ObservedFile>,
    /// Workspace files opened for writing, truncated, removed, renamed or created.
    pub written: Vec<ObservedFile>,
    /// Addresses that sockets connected or bound to.
    pub connected: Vec<ObservedAddress>,
    /// Access that the sandbox or the mode of the file denied. Paths outside of the workspace are absolute.
    pub denied: Vec<ObservedDenial>,
    /// Number of system calls for each list.
    pub counts: ObservedCounts,
    /// Number of files opened or executed outside of the workspace, by the first directory of the path.
    pub outside: BTreeMap<PathBuf, u64>,
    /// Whether a list was full, so entries are missing.
    pub is_truncated: bool,
    /// Why entries may be missing, as sentences; empty if the list is complete.
    pub unseen: Vec<&'static str>,
}

/// How often a run used the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObservedCounts {
    /// Files opened for reading.
    pub read: u64,
    /// Files executed.
    pub executed: u64,
    /// Files opened for writing, truncated, removed, renamed, linked or created.
    pub written: u64,
    /// Sockets connected or bound.
    pub connected: u64,
    /// Denied access.
    pub denied: u64,
}

/// A workspace file or directory that a run used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedFile {
    /// The path in the workspace; empty for the workspace itself.
    pub path: PathBuf,
    /// Whether it is a directory that was listed.
    pub is_folder: bool,
    /// The sha256 of a regular file when it was opened for reading or executed.
    pub sha256: Option<[u8; 32]>,
}

/// An address that a socket connected or bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedAddress {
    /// The IP address, or the path of a local socket.
    pub address: String,
    /// The port; `None` for local sockets.
    pub port: Option<u16>,
    /// Whether the socket was bound instead of connected.
    pub is_bound: bool,
}

/// A denied access to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedDenial {
    /// The path: relative in the workspace, absolute outside.
    pub path: PathBuf,
    /// The tried access.
    pub what: Attempt,
}

/// The kind of access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Opened for reading.
    Read,
    /// Opened for writing, or created.
    Write,
    /// Executed.
    Execute,
    /// Created for reading and writing. The file was made, but the rules deny reading it.
    Create,
}

impl Attempt {
    /// Returns the name in records: `read`, `write`, `execute` or `create`.
    pub fn name(self) -> &'static str {
        match self {
            Attempt::Read => "read",
            Attempt::Write => "write",
            Attempt::Execute => "execute",
            Attempt::Create => "create",
        }
    }
}
