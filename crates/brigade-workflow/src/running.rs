//! The tasks and workflows that run in this process.

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brigade_core::{ErrorCode, Timestamp};
use brigade_db::executions::{ExecutionEnd, ExecutionStatus};
use brigade_db::flows::FlowStatus;
use brigade_db::{Store, StoreError};
use brigade_process::CancelToken;
use brigade_toolset::Failure;

use crate::environment;

/// The tasks and workflows that run in this process.
#[derive(Debug, Default)]
pub struct RunningTasks {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    tasks: HashMap<String, CancelToken>,
    is_ending: bool,
}

impl RunningTasks {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all threads that wait for a change.
    pub fn notify(&self) {
        self.changed.notify_all();
    }

    /// Waits until a task or workflow changes, at most this long.
    pub(crate) fn await_change(&self, longest: Duration) {
        drop(self.changed.wait_timeout(self.state(), longest));
    }

    /// Cancels a task or workflow. Returns whether it runs here.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let state = self.state();
        self.notify();
        state.tasks.get(id).map(CancelToken::cancel).is_some()
    }

    /// Ends the executions that one execution began, recursively. Another process ends its own when it sees the status.
    pub(crate) fn end_children(&self, store: &Store, parent: &str, now: Timestamp) -> Result<(), StoreError> {
        let ending = ExecutionEnd { status: ExecutionStatus::Cancelled, error: None };
        for task in store.open_executions(Some(parent))? {
            store.end_execution(&task.id, &ending, now)?;
            self.cancel(&task.id);
            self.end_children(store, &task.id, now)?;
        }
        for flow in store.open_flows(Some(parent))? {
            store.end_flow(&flow.id, FlowStatus::Cancelled, None, now)?;
            self.cancel(&flow.id);
            self.end_children(store, &flow.id, now)?;
        }
        Ok(())
    }

    /// Registers a task or workflow. Returns `None` if it already runs.
    pub(crate) fn begin(self: &Arc<RunningTasks>, id: &str) -> Result<Option<RunningEntry>, Failure> {
        let cancel = CancelToken::new().map_err(|error| environment(&error))?;
        let mut state = self.state();
        if state.is_ending {
            return Err(Failure::new(ErrorCode::Busy, "the gateway is ending"));
        }
        if state.tasks.contains_key(id) {
            return Ok(None);
        }
        state.tasks.insert(id.to_owned(), cancel.clone());
        Ok(Some(RunningEntry { running: self.clone(), id: id.to_owned(), cancel }))
    }

    /// Cancels all tasks, and waits until their workers have ended.
    pub fn end(&self, patience: Duration) {
        let mut state = self.state();
        state.is_ending = true;
        for token in state.tasks.values() {
            token.cancel();
        }
        self.notify();
        let until = Instant::now() + patience;
        while !state.tasks.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The entry of a running task or workflow. Dropping it removes the entry, even after a panic.
pub(crate) struct RunningEntry {
    pub(crate) running: Arc<RunningTasks>,
    id: String,
    pub(crate) cancel: CancelToken,
}

impl Drop for RunningEntry {
    fn drop(&mut self) {
        self.running.state().tasks.remove(&self.id);
        self.running.notify();
    }
}

/// Runs `act`. Meanwhile calls `ends` at intervals in another thread, until it returns `true`.
pub(crate) fn watched<T>(
    interval: Duration,
    mut ends: impl FnMut() -> bool + Send,
    act: impl FnOnce() -> T,
) -> T {
    let (alive, gone) = channel::<()>();
    std::thread::scope(|scope| {
        scope
            .spawn(move || while gone.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) && !ends() {});
        let done = act();
        drop(alive);
        done
    })
}
