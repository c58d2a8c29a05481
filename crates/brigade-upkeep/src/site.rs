//! A workspace that is looked over.

use std::time::Duration;

use brigade_call::Caller;
use brigade_core::Timestamp;
use brigade_facts::{Config, Host};
use brigade_fs::Fs;
use brigade_process::CancelToken;
use brigade_queue::{JournalStore, Queue};

/// A workspace, and the seams of its host.
pub struct Site<'a> {
    /// The files, variables and clock.
    pub host: Host<'a>,
    /// The configuration.
    pub config: &'a Config,
    /// The calls.
    pub queue: Queue,
    /// The files that they are kept in; absent when the host keeps them elsewhere.
    pub journal: Option<JournalStore>,
    /// Who asks.
    pub caller: &'a Caller,
    /// What ends health commands early.
    pub cancel: Option<&'a CancelToken>,
    /// How long a writer waits for another one.
    pub timeout: Duration,
}

impl<'a> Site<'a> {
    pub(crate) fn fs(&self) -> &'a dyn Fs {
        self.host.fs
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.host.clock.now()
    }
}
