//! The queue in files of one workspace: the default implementation of [`Queue`].

use std::sync::Arc;
use std::time::Duration;

use brigade_call::Runner;
use brigade_core::Timestamp;
use brigade_fs::Fs;
use brigade_process::ProcessIdentity;

use crate::error::QueueError;
use crate::layout;
use crate::locked::LockedJournal;
use crate::queue::{LockedQueue, Queue, QueueView};
use crate::state::State;
use crate::view::{IsAlive, View};

/// The queue of a workspace, in `.brigade/tools`.
pub struct JournalQueue {
    fs: Arc<dyn Fs>,
    holder: String,
    lock_timeout: Duration,
    is_alive: Arc<IsAlive>,
}

impl JournalQueue {
    /// Opens the queue of a workspace; touches nothing.
    ///
    /// `holder` is what others read who wait for the lock in vain: process id, command, since when. `is_alive` tells
    /// whether the process that runs a call is still there; [`is_alive`] asks the system.
    pub fn new(
        fs: Arc<dyn Fs>,
        holder: impl Into<String>,
        lock_timeout: Duration,
        is_alive: Arc<IsAlive>,
    ) -> JournalQueue {
        JournalQueue { fs, holder: holder.into(), lock_timeout, is_alive }
    }

    fn view(&self) -> Result<View, QueueError> {
        Ok(View { fs: self.fs.clone(), state: State::load(&self.fs)?, is_alive: self.is_alive.clone() })
    }
}

/// Asks the system whether a runner is still there: a process with its number, start time and boot.
pub fn is_alive(runner: &Runner) -> bool {
    ProcessIdentity::from_record(runner.pid, runner.start_time, &runner.boot_id)
        .is_ok_and(|identity| identity.is_alive())
}

impl Queue for JournalQueue {
    fn read(&self) -> Result<Box<dyn QueueView + '_>, QueueError> {
        Ok(Box::new(self.view()?))
    }

    fn lock(&self, now: Timestamp) -> Result<Box<dyn LockedQueue + '_>, QueueError> {
        self.fs.create_dir_all(&layout::tools())?;
        let lock = self.fs.lock(&layout::lock(), &self.holder, self.lock_timeout)?;
        Ok(Box::new(LockedJournal::new(self.view()?, lock, now)?))
    }
}
