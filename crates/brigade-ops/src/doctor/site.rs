//! The workspace to survey.

use std::time::Duration;

use brigade_call::Caller;
use brigade_core::Timestamp;
use brigade_fs::Fs;
use brigade_kitchen_run::Kitchen;
use brigade_process::CancelToken;
use brigade_queue::{JournalStore, Queue};
use brigade_workspace::{Config, Host, WorkspaceContext};

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
    /// Describes the workspace of a context.
    pub fn new(context: &'a WorkspaceContext, config: &'a Config) -> Site<'a> {
        Site {
            host: context.host(),
            config,
            queue: context.queue(),
            journal: context.journal(),
            caller: &context.caller,
            cancel: context.cancel.as_ref(),
            timeout: context.timeout,
            kitchen: Kitchen::new(context),
        }
    }

    pub(crate) fn fs(&self) -> &'a dyn Fs {
        self.host.fs
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.host.clock.now()
    }
}
