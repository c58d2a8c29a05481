//! Whether a kept server is in use, and how long it is kept when it is not.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The requests in a server, and when the last one ended.
#[derive(Debug, Default)]
pub(super) struct Uses {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    count: usize,
    last: Option<Instant>,
    idle: Option<Duration>,
    /// Set once the server ends.
    over: bool,
}

impl Uses {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self) -> usize {
        self.state().count
    }

    pub(super) fn begin(&self) {
        self.state().count += 1;
        self.changed.notify_one();
    }

    pub(super) fn end(&self) {
        {
            let mut state = self.state();
            state.count = state.count.saturating_sub(1);
            state.last = Some(Instant::now());
        }
        self.changed.notify_one();
    }

    pub(super) fn keep_for(&self, idle: Option<Duration>) {
        self.state().idle = idle;
        self.changed.notify_one();
    }

    /// Notes that the server ends.
    pub(super) fn close(&self) {
        self.state().over = true;
    }

    pub(super) fn is_over(&self) -> bool {
        self.state().over
    }

    /// Notes that the server ends, if nothing was asked of it for long enough.
    fn close_if_due(&self) -> bool {
        let mut state = self.state();
        let is_due = state.due().is_some_and(|due| due <= Instant::now());
        state.over |= is_due;
        is_due
    }

    /// Waits until nothing was asked for as long as the server is kept. From then on it is over.
    pub(super) async fn idle(&self) {
        loop {
            let due = self.state().due();
            let passed = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = passed => if self.close_if_due() {
                    return;
                },
                () = self.changed.notified() => {}
            }
        }
    }
}

impl State {
    /// Returns when a server that nobody asks any more is to end.
    fn due(&self) -> Option<Instant> {
        match (self.count, self.last, self.idle) {
            (0, Some(last), Some(idle)) => last.checked_add(idle),
            _ => None,
        }
    }
}
