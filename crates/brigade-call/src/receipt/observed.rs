//! What a run really used, in its receipt.

use std::collections::BTreeMap;

use brigade_core::{Extra, Fingerprint, open_words, record};
use serde::{Deserialize, Serialize};

/// What the kernel told of a run.
///
/// The lists are there when the run was observed. The kernel tells what is asked for, not what comes of it: what is
/// listed as read, executed or written was there and permitted, what is listed as denied was forbidden.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(remote = "Self", default)]
pub struct RunObserved {
    /// `observed`; `unchanged`, when an earlier run of the same was observed; `unavailable`, when this system cannot.
    pub state: ObservedState,
    /// The earlier run that was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Why the run was not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether nothing was kept from view.
    pub complete: bool,
    /// What may have been, in sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Vec<String>>,
    /// Whether a list was full, and more left out of it; a list has at most 2,000 entries.
    pub truncated: bool,
    /// How often each was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<ObservedCounts>,
    /// What was opened for reading in the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<ObservedFile>>,
    /// What was executed in the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executed: Option<Vec<ObservedFile>>,
    /// What was opened for writing, truncated, removed, renamed, linked or made in the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<Vec<ObservedFile>>,
    /// The addresses that sockets were connected or bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected: Option<Vec<ObservedAddress>>,
    /// What was tried and is forbidden, by the sandbox or by the modes of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<Vec<ObservedDenial>>,
    /// How often something outside of the workspace was opened or executed, by the first folder of its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<BTreeMap<String, u64>>,
    /// Members that this version does not know.
    #[serde(skip)]
    pub extra: Extra,
}

record!(RunObserved);

impl RunObserved {
    /// Says why there is no observation of the run.
    pub fn why_not(&self) -> String {
        match (&self.reason, &self.run_id) {
            (Some(reason), _) => reason.clone(),
            (None, Some(run)) => format!("run {run} was observed in its place, and is not there any more"),
            (None, None) => "the run was not observed: it had no sandbox, or `observe` is `never`".to_owned(),
        }
    }
}

impl RunObserved {
    /// Returns whether the run was observed.
    pub fn is_observed(&self) -> bool {
        self.state == ObservedState::Observed
    }

    /// Returns it for a disk without room for its lists.
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
        /// It was.
        Observed = "observed",
        /// Not again: nothing that its approval binds is different from an earlier run that was.
        Unchanged = "unchanged",
        /// This system could not.
        Unavailable = "unavailable",
    }
}

open_words! {
    /// What was done with a socket.
    SocketUse {
        /// It was connected.
        Connect = "connect",
        /// It was bound.
        Bind = "bind",
    }
}

open_words! {
    /// What a run tried.
    DeniedUse {
        /// To read.
        Read = "read",
        /// To write.
        Write = "write",
        /// To execute.
        Execute = "execute",
        /// To make a file that is read, too.
        Create = "create",
    }
}

/// How often a run did something in the workspace, repetitions and what the lists leave out included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(remote = "Self", default)]
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
    /// Members that this version does not know.
    #[serde(skip)]
    pub extra: Extra,
}

record!(ObservedCounts);

/// A file or folder that a run used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(remote = "Self", default)]
pub struct ObservedFile {
    /// Its path in the workspace, without links; that of a folder, whose names were read, ends with `/`.
    pub path: String,
    /// The sha256 that a plain file had when it was read or executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Fingerprint>,
    /// Members that this version does not know.
    #[serde(skip)]
    pub extra: Extra,
}

record!(ObservedFile);

/// An address that a socket was connected or bound to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(remote = "Self", default)]
pub struct ObservedAddress {
    /// The IP address, or the path of a socket of this machine.
    pub address: String,
    /// The port; sockets of this machine have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// What was done with it: `connect` or `bind`.
    pub what: SocketUse,
    /// Members that this version does not know.
    #[serde(skip)]
    pub extra: Extra,
}

record!(ObservedAddress);

/// What a run tried and may not do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(remote = "Self", default)]
pub struct ObservedDenial {
    /// The path: in the workspace, or an absolute one.
    pub path: String,
    /// What it tried: `read`, `write` or `execute`; `create` for a new file that is read, too.
    pub what: DeniedUse,
    /// Members that this version does not know.
    #[serde(skip)]
    pub extra: Extra,
}

record!(ObservedDenial);
