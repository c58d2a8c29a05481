//! What a run opened, changed, executed and connected to.

use std::collections::BTreeMap;
use std::path::PathBuf;

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
