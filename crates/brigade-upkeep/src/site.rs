//! The workspace to survey.

use std::time::Duration;

use brigade_call::Caller;
use brigade_core::Timestamp;
use brigade_crew::Kitchen;
use brigade_facts::{Config, Host};
use brigade_fs::Fs;
use brigade_process::CancelToken;
use brigade_queue::{JournalStore, Queue};

/// A workspace and the parts of its host that a survey uses.
pub struct Site<'a> {
    /// Files, environment variables and clock.
    pub host: Host<'a>,
    /// The catalog and the policy.
    pub config: &'a Config,
    /// The queue of calls.
    pub queue: Queue,
    /// The journal of the queue; `None` when the host uses another store.
    pub journal: Option<&'a JournalStore>,
    /// The current caller.
    pub caller: &'a Caller,
    /// Cancels health commands.
    pub cancel: Option<&'a CancelToken>,
    /// How long a writer waits for a lock.
    pub timeout: Duration,
    /// The kitchen of the workspace.
    pub kitchen: Kitchen<'a>,
}

impl<'a> Site<'a> {
    pub(crate) fn fs(&self) -> &'a dyn Fs {
        self.host.fs
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.host.clock.now()
    }
}
