//! Tracks whether a kept server is in use, and how long it is kept when idle.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The open requests of the server, and when the last one ended.
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
    /// When the server's thread will check again without being woken.
    looks: Option<Instant>,
}

impl Uses {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self) -> usize {
        self.state().count
    }

    pub(super) fn begin(&self) {
        // The server's thread sees this at its next check.
        self.state().count += 1;
    }

    pub(super) fn end(&self) {
        let mut state = self.state();
        state.count = state.count.saturating_sub(1);
        state.last = Some(Instant::now());
        self.wake(state);
    }

    pub(super) fn keep_for(&self, idle: Option<Duration>) {
        let mut state = self.state();
        state.idle = idle;
        self.wake(state);
    }

    /// Wakes the server's thread if the server must end before the thread's next check.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let is_sooner = state.due().is_some_and(|due| state.looks.is_none_or(|looks| due < looks));
        drop(state);
        if is_sooner {
            self.changed.notify_one();
        }
    }

    /// Records that the server ends.
    pub(super) fn close(&self) {
        self.state().over = true;
    }

    pub(super) fn is_over(&self) -> bool {
        self.state().over
    }

    /// Records that the server ends, if it was idle for long enough.
    fn close_if_due(&self) -> bool {
        let mut state = self.state();
        let is_due = state.due().is_some_and(|due| due <= Instant::now());
        state.over |= is_due;
        is_due
    }

    /// Waits until the server was idle for as long as it is kept. Afterwards it accepts no requests.
    pub(super) async fn idle(&self) {
        loop {
            let due = {
                let mut state = self.state();
                state.looks = state.due();
                state.looks
            };
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
    /// Returns when an idle server must end.
    fn due(&self) -> Option<Instant> {
        match (self.count, self.last, self.idle) {
            (0, Some(last), Some(idle)) => last.checked_add(idle),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs all pending work, and returns whether the server has ended.
    async fn settles(uses: &Uses, idle: &mut std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
        let over = tokio::select! {
            biased;
            () = idle => true,
            () = tokio::task::yield_now() => false,
        };
        assert_eq!(over, uses.is_over());
        over
    }

    #[test]
    fn a_server_ends_after_its_last_use_and_not_before() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let uses = Uses::default();
            let idle = uses.idle();
            tokio::pin!(idle);
            uses.begin();
            uses.keep_for(Some(Duration::from_secs(300)));
            uses.begin();
            uses.end();
            assert!(!settles(&uses, &mut idle).await, "one use is left");
            uses.end();
            assert!(!settles(&uses, &mut idle).await, "it is kept for a while");
            assert!(uses.state().looks.is_some());
            // A shorter time wakes the thread, which would have checked later.
            uses.begin();
            uses.keep_for(Some(Duration::ZERO));
            assert!(!settles(&uses, &mut idle).await, "it is in use");
            uses.end();
            idle.await;
            assert!(uses.is_over());
        });
    }

    #[test]
    fn a_new_use_keeps_an_idle_server() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let uses = Uses::default();
            uses.keep_for(Some(Duration::from_millis(20)));
            let idle = uses.idle();
            tokio::pin!(idle);
            uses.begin();
            uses.end();
            assert!(!settles(&uses, &mut idle).await);
            uses.begin();
            let waited = tokio::time::timeout(Duration::from_millis(60), idle.as_mut()).await;
            assert!(waited.is_err() && !uses.is_over());
            uses.end();
            idle.await;
            assert!(uses.is_over());
        });
    }
}
