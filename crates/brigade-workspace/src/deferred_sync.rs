//! Syncs what was written late, a moment after the first such write, together.
//!
//! Only records of calls that read and that a rule approved are written so: a power loss within the moment loses the
//! last of them, and a killed process none.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brigade_fs::{DeferredFs, Fs, FsError};

/// How long what was written waits for what is written next.
const SYNC_DELAY: Duration = Duration::from_millis(40);

/// Files that are synced late, and the thread that does it.
pub struct DeferredSync {
    shared: Arc<SharedWrites>,
}

struct SharedWrites {
    late: Arc<DeferredFs>,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    /// When the first write is to be synced.
    due: Option<Instant>,
    has_thread: bool,
    is_over: bool,
    /// Whether a sync failed. From then on, everything is synced at once, so that each writer learns why.
    is_broken: bool,
}

impl SharedWrites {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs when it is due, until it is over.
    fn run(&self) {
        let mut state = self.state();
        while !state.is_over {
            state = match state.due {
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(due) => {
                    let left = due.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        state.due = None;
                        drop(state);
                        let synced = self.late.sync();
                        state = self.state();
                        if let Err(error) = synced {
                            tracing::warn!(%error, "records could not be synced; the next ones are synced at once");
                            state.is_broken = true;
                        }
                        state
                    } else {
                        self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                    }
                }
            };
        }
    }
}

impl DeferredSync {
    /// Syncs files that are written through [`DeferredSync::files`].
    pub fn new(fs: Arc<dyn Fs>) -> DeferredSync {
        let late = Arc::new(DeferredFs::new(fs));
        DeferredSync {
            shared: Arc::new(SharedWrites { late, state: Mutex::default(), wake: Condvar::new() }),
        }
    }

    /// Returns the files whose syncs are deferred.
    pub fn files(&self) -> &Arc<DeferredFs> {
        &self.shared.late
    }

    /// Returns whether records can be synced late: there is a thread for it, and no sync has failed.
    pub fn is_working(&self) -> bool {
        let mut state = self.shared.state();
        if !state.has_thread && !state.is_broken && !state.is_over {
            let shared = self.shared.clone();
            let started = std::thread::Builder::new().name("sync".to_owned()).spawn(move || shared.run());
            state.has_thread = started.is_ok();
        }
        state.has_thread && !state.is_broken && !state.is_over
    }

    /// Makes the thread sync what is written until the result is dropped, within a moment after that.
    #[must_use]
    pub fn soon_after(&self) -> SyncGuard<'_> {
        SyncGuard(self)
    }

    /// Makes the thread sync what was written, within a moment.
    fn soon(&self) {
        let mut state = self.shared.state();
        if state.due.is_none() {
            state.due = Some(Instant::now() + SYNC_DELAY);
            self.shared.wake.notify_one();
        }
    }

    /// Syncs what was written, now.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn now(&self) -> Result<(), FsError> {
        self.shared.late.sync()
    }
}

/// Makes the thread sync what was written, when it is dropped.
pub struct SyncGuard<'a>(&'a DeferredSync);

impl Drop for SyncGuard<'_> {
    fn drop(&mut self) {
        if self.0.shared.late.is_pending() {
            self.0.soon();
        }
    }
}

impl Drop for DeferredSync {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.wake.notify_one();
        // A caller that needs to know asks before.
        let _ = self.shared.late.sync();
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::{Crash, Fault, FaultyFs, MemoryFs};

    use super::*;

    fn path() -> brigade_fs::RelPath {
        "log".parse().unwrap()
    }

    #[test]
    fn what_is_written_is_synced_within_the_moment() {
        let disk = FaultyFs::new(MemoryFs::new(), Fault::None);
        let writes = DeferredSync::new(Arc::new(disk.clone()));
        assert!(writes.is_working());
        writes.files().append_durable(&path(), b"one\n").unwrap();
        let is_synced = || disk.after_crash(Crash::SyncedOnly).exists(&path()).unwrap();
        assert!(!is_synced());
        let asked = Instant::now();
        writes.soon();
        while !is_synced() {
            assert!(asked.elapsed() < Duration::from_secs(30));
            std::thread::yield_now();
        }
        assert!(
            SYNC_DELAY <= asked.elapsed() + Duration::from_millis(1),
            "what comes next has time to come along"
        );
    }

    #[test]
    fn after_a_failure_everything_is_synced_at_once() {
        let disk = FaultyFs::new(MemoryFs::new(), Fault::BrokenAt(2));
        let writes = DeferredSync::new(Arc::new(disk));
        assert!(writes.is_working());
        writes.files().append_durable(&path(), b"one\n").unwrap();
        writes.soon();
        let until = Instant::now() + Duration::from_secs(30);
        while writes.is_working() {
            assert!(Instant::now() < until);
            std::thread::yield_now();
        }
        assert!(writes.files().is_pending());
        writes.now().unwrap();
    }
}
