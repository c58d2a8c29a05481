//! The files and addresses that a run used, in its receipt.

use std::collections::BTreeMap;

use brigade_core::{Fingerprint, open_words};
use brigade_macros::record;

/// What the kernel reported about a run.
///
/// The lists are present if the run was observed. The kernel reports requests, not their results. An entry listed as
/// read, executed or written existed and access was permitted. Access to an entry listed as denied was forbidden.
#[record(Default, PartialEq)]
pub struct RunObserved {
    /// `observed`; `unchanged` if an equal earlier run was observed; `unavailable` if this system cannot observe.
    pub state: ObservedState,
    /// The earlier run that was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Why the run was not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether everything was seen.
    pub complete: bool,
    /// What may have been missed, in sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Vec<String>>,
    /// Whether a list was full and further entries were left out. A list has at most 2,000 entries.
    pub truncated: bool,
    /// How often each use occurred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<ObservedCounts>,
    /// Workspace files opened for reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<ObservedFile>>,
    /// Workspace files executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executed: Option<Vec<ObservedFile>>,
    /// Workspace files opened for writing, truncated, removed, renamed, linked or created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<Vec<ObservedFile>>,
    /// The addresses that sockets were connected or bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected: Option<Vec<ObservedAddress>>,
    /// Accesses that the sandbox or the mode of the file denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<Vec<ObservedDenial>>,
    /// How often something outside of the workspace was opened or executed, by the first folder of its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<BTreeMap<String, u64>>,
}

impl RunObserved {
    /// Says why the run has no observation.
    pub fn why_not(&self) -> String {
        match (&self.reason, &self.run_id) {
            (Some(reason), _) => reason.clone(),
            (None, Some(run)) => format!("run {run} was observed instead, but it no longer exists"),
            (None, None) => "the run was not observed: it had no sandbox, or `observe` is `never`".to_owned(),
        }
    }
}

impl RunObserved {
    /// Returns whether the run was observed.
    pub fn is_observed(&self) -> bool {
        self.state == ObservedState::Observed
    }

    /// Returns the observation without its lists, for a full disk.
    #[must_use]
    pub fn without_lists(&self) -> RunObserved {
        let said = "its lists were left out, because the disk had no room for them".to_owned();
        RunObserved {
            complete: false,
            unseen: Some(self.unseen.iter().flatten().cloned().chain([said]).collect()),
            truncated: true,
            read: None,
            executed: None,
            written: None,
            connected: None,
            denied: None,
            outside: None,
            ..self.clone()
        }
    }
}

open_words! {
    /// Whether a run was observed.
    ObservedState {
        /// It was observed.
        Observed = "observed",
        /// Not observed again, because its approval binds the same as that of an earlier, observed run.
        Unchanged = "unchanged",
        /// This system could not observe it.
        Unavailable = "unavailable",
    }
}

open_words! {
    /// How a socket was used.
    SocketUse {
        /// It was connected.
        Connect = "connect",
        /// It was bound.
        Bind = "bind",
    }
}

open_words! {
    /// What a run tried to do.
    DeniedUse {
        /// To read.
        Read = "read",
        /// To write.
        Write = "write",
        /// To execute.
        Execute = "execute",
        /// To create a file for reading and writing.
        Create = "create",
    }
}

/// How often a run used the workspace, including repetitions and what the lists leave out.
#[record(Default, PartialEq)]
pub struct ObservedCounts {
    /// Opened a file for reading.
    pub read: u64,
    /// Executed a file.
    pub executed: u64,
    /// Opened a file for writing.
    pub written: u64,
    /// Connected or bound a socket.
    pub connected: u64,
    /// Tried a forbidden access.
    pub denied: u64,
}

/// A file or folder that a run used.
#[record(Default, PartialEq)]
pub struct ObservedFile {
    /// Its path in the workspace, without links. The path of a folder that was listed ends with `/`.
    pub path: String,
    /// The sha256 of a plain file when it was read or executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Fingerprint>,
}

/// An address that a socket was connected or bound to.
#[record(Default, PartialEq)]
pub struct ObservedAddress {
    /// The IP address, or the path of a socket of this machine.
    pub address: String,
    /// The port; sockets of this machine have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How the socket was used: `connect` or `bind`.
    pub what: SocketUse,
}

/// A forbidden access that a run tried.
#[record(Default, PartialEq)]
pub struct ObservedDenial {
    /// The path: in the workspace, or an absolute one.
    pub path: String,
    /// What it tried: `read`, `write` or `execute`; `create` for a new file that is read, too.
    pub what: DeniedUse,
}
