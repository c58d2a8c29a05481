//! Facts about processes and ports that are not part of a process identity.

use std::collections::BTreeMap;

use brigade_core::Timestamp;
use brigade_process::ProcessIdentity;

#[cfg(target_os = "linux")]
#[path = "system/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "system/unix.rs"]
mod platform;

pub(crate) use platform::{holders, wait};

/// A running process.
#[derive(Clone, Debug)]
pub(crate) struct ObservedProcess {
    pub(crate) identity: ProcessIdentity,
    /// When it started.
    pub(crate) started: Option<Timestamp>,
    /// Its arguments, the zeroth included.
    pub(crate) argv: Option<Vec<String>>,
    /// Whether it leads a session, as every runtime does.
    pub(crate) leads_session: Option<bool>,
}

/// Returns the process with this pid; `None` if it has ended.
pub(crate) fn observe(pid: u32) -> Option<ObservedProcess> {
    let identity = ProcessIdentity::from_pid(pid).ok().filter(ProcessIdentity::is_alive)?;
    let observed = ObservedProcess {
        started: platform::started(&identity),
        argv: platform::argv(pid),
        leads_session: platform::leads_session(pid),
        identity,
    };
    // The pid may have been reused meanwhile.
    observed.identity.is_alive().then_some(observed)
}

/// The holder of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The process, if known.
    pub(crate) pid: Option<u32>,
    /// The name of its program.
    pub(crate) program: Option<String>,
    /// Whether a local client can reach it: it listens on a loopback address or on all addresses.
    pub(crate) is_local: bool,
}

impl Holder {
    /// Describes the holder, for a sentence.
    pub(crate) fn describe(&self) -> String {
        match (self.pid, &self.program) {
            (Some(pid), Some(program)) => format!("process {pid} ({program})"),
            (Some(pid), None) => format!("process {pid}"),
            (None, _) => "a process of another user".to_owned(),
        }
    }

    /// Returns whether the holder is the process, descends from it or is in its session; `None` if the system does not
    /// report the holder.
    pub(crate) fn belongs_to(&self, root: &ProcessIdentity) -> Option<bool> {
        self.pid.map(|pid| belongs(pid, root))
    }
}

/// Returns whether a process is another one, descends from it or is in its session. Systems other than Linux only
/// report whether it is the process.
pub(crate) fn belongs(pid: u32, root: &ProcessIdentity) -> bool {
    platform::belongs(pid, root.pid())
}

/// Ports with a listening process.
pub(crate) type Holders = BTreeMap<u16, Holder>;
