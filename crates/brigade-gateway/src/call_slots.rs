//! Decides which call runs next when not all can run at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, OwnedMutexGuard};

/// The maximum number of waiting calls of one agent.
const MAX_WAITING_CALLS: usize = 64;

/// The slots of all agents. Each agent has a separate quota, so that the calls of one agent never block those of
/// another. Executions of an agent have a separate quota as well, so that the agent can always end them.
#[derive(Default)]
pub(crate) struct CallSlots {
    agents: Mutex<HashMap<QuotaKey, Arc<Places>>>,
}

/// The quota that a call uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QuotaKey {
    pub(crate) agent: Arc<str>,
    /// Whether the call belongs to a task or workflow of the agent.
    pub(crate) of_execution: bool,
}

#[derive(Default)]
struct Places {
    state: Mutex<State>,
    freed: Notify,
    /// Locked by the call that writes in the workspace.
    writing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    running: usize,
    waiting: usize,
    /// The calls that wait for an answer of their client, and have no place.
    paused: usize,
}

/// The right of a call to run. Dropping it passes it to the next call.
pub(crate) struct CallSlot {
    place: Arc<Place>,
    _writing: Option<OwnedMutexGuard<()>>,
}

/// The place of a call.
struct Place {
    places: Arc<Places>,
    most: usize,
    /// Whether the call has the place.
    hold: Mutex<Hold>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Running,
    Paused,
    Ended,
}

/// The pause of a call that waits for an answer of its client. Dropping it ends the pause at once.
pub(crate) struct PausedSlot(Arc<Place>);

impl CallSlot {
    /// Gives the place to other calls.
    pub(crate) fn pause(&self) -> PausedSlot {
        self.place.change(Hold::Running, Hold::Paused);
        PausedSlot(self.place.clone())
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        self.place.change(Hold::Running, Hold::Ended);
        self.place.change(Hold::Paused, Hold::Ended);
    }
}

impl PausedSlot {
    /// Waits for a place, and ends the pause.
    pub(crate) async fn resume(self) {
        let Place { places, most, .. } = &*self.0;
        places.wait(*most).await;
        // The place that was waited for is that of the call, unless the call has ended.
        places.state().running -= 1;
        self.0.change(Hold::Paused, Hold::Running);
        places.freed.notify_one();
    }
}

impl Drop for PausedSlot {
    fn drop(&mut self) {
        self.0.change(Hold::Paused, Hold::Running);
    }
}

impl Place {
    /// Changes what the call has, if it is in the first state.
    fn change(&self, from: Hold, to: Hold) {
        let mut hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        if *hold != from {
            return;
        }
        *hold = to;
        let mut state = self.places.state();
        for (hold, is_after) in [(from, false), (to, true)] {
            let count = match hold {
                Hold::Running => &mut state.running,
                Hold::Paused => &mut state.paused,
                Hold::Ended => continue,
            };
            *count = if is_after { *count + 1 } else { *count - 1 };
        }
        drop(state);
        if from == Hold::Running {
            self.places.freed.notify_one();
        }
    }
}

impl Places {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a free place. Returns whether one was free.
    fn take(self: &Arc<Places>, most: usize) -> bool {
        let mut state = self.state();
        let is_free = state.running < most;
        state.running += usize::from(is_free);
        is_free
    }

    /// Waits for a place, and takes it.
    async fn wait(self: &Arc<Places>, most: usize) {
        loop {
            let freed = self.freed.notified();
            if self.take(most.max(1)) {
                return;
            }
            freed.await;
        }
    }

    fn slot(self: &Arc<Places>, most: usize, writing: Option<OwnedMutexGuard<()>>) -> CallSlot {
        let place = Place { places: self.clone(), most, hold: Mutex::new(Hold::Running) };
        CallSlot { place: Arc::new(place), _writing: writing }
    }
}

/// A waiting call. Dropping it ends the wait.
struct WaitingCall(Arc<Places>);

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

impl CallSlots {
    /// Takes a slot of the agent if one is free and no call waits for it.
    pub(crate) fn try_take(&self, quota_key: &QuotaKey, writes: bool, most: usize) -> Option<CallSlot> {
        let places = self.places(quota_key);
        if 0 < places.state().waiting {
            return None;
        }
        let writing = match writes {
            true => Some(places.writing.clone().try_lock_owned().ok()?),
            false => None,
        };
        places.take(most.max(1)).then(|| places.slot(most, writing))
    }

    fn places(&self, quota_key: &QuotaKey) -> Arc<Places> {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.entry(quota_key.clone()).or_default().clone()
    }

    /// Waits for a slot of the agent, of which at most `most` run at once. `None` if too many wait already.
    pub(crate) async fn take(&self, quota_key: &QuotaKey, writes: bool, most: usize) -> Option<CallSlot> {
        let places = self.places(quota_key);
        let waiting = {
            let mut state = places.state();
            if MAX_WAITING_CALLS <= state.waiting && most <= state.running {
                return None;
            }
            state.waiting += 1;
            WaitingCall(places.clone())
        };
        // Writing calls run one after the other. Each takes a place only once it may write.
        let writing = match writes {
            true => Some(places.writing.clone().lock_owned().await),
            false => None,
        };
        places.wait(most).await;
        drop(waiting);
        Some(places.slot(most, writing))
    }

    /// Returns the number of calls that wait for an answer of their client.
    pub(crate) fn paused(&self, quota_key: &QuotaKey) -> usize {
        self.places(quota_key).state().paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    async fn is_ready<T>(future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            value = future => Some(value),
            () = tokio::task::yield_now() => None,
        }
    }

    fn own(agent: &str) -> QuotaKey {
        QuotaKey { agent: Arc::from(agent), of_execution: false }
    }

    #[test]
    fn executions_do_not_block_their_agent() {
        block_on(async {
            let (slots, a) = (CallSlots::default(), own("a"));
            let executions = QuotaKey { of_execution: true, ..a.clone() };
            let _task = slots.take(&executions, true, 1).await.unwrap();
            assert!(is_ready(slots.take(&executions, false, 1)).await.is_none());
            assert!(slots.try_take(&a, true, 1).is_some());
        });
    }

    #[test]
    fn a_flood_of_one_agent_stops_no_other() {
        block_on(async {
            let (slots, a, b) = (CallSlots::default(), own("a"), own("b"));
            let first = slots.take(&a, false, 1).await.unwrap();
            assert!(is_ready(slots.take(&a, false, 1)).await.is_none(), "the second of `a` waits");
            assert!(is_ready(slots.take(&b, false, 1)).await.is_some(), "`b` has its own slots");
            assert!(slots.try_take(&a, false, 1).is_none() && slots.try_take(&b, false, 1).is_some());
            drop(first);
            assert!(is_ready(slots.take(&a, false, 1)).await.is_some());
            assert!(slots.try_take(&a, true, 1).is_some());
        });
    }

    #[test]
    fn a_paused_call_has_no_place() {
        block_on(async {
            let (slots, a) = (CallSlots::default(), own("a"));
            let first = slots.take(&a, false, 1).await.unwrap();
            let pause = first.pause();
            assert_eq!(slots.paused(&a), 1);
            let second = slots.try_take(&a, false, 1).unwrap();
            let mut resumes = Box::pin(pause.resume());
            assert!(is_ready(resumes.as_mut()).await.is_none(), "the second call has the place");
            drop(second);
            assert!(is_ready(resumes).await.is_some());
            assert!(slots.paused(&a) == 0 && slots.try_take(&a, false, 1).is_none());
            // A pause that outlives its call takes no place.
            let pause = first.pause();
            drop(first);
            drop(pause);
            assert!(slots.paused(&a) == 0 && slots.try_take(&a, false, 1).is_some());
        });
    }

    #[test]
    fn nobody_passes_those_who_wait() {
        block_on(async {
            let (slots, a) = (CallSlots::default(), own("a"));
            let writer = slots.try_take(&a, true, 4).unwrap();
            assert!(slots.try_take(&a, true, 4).is_none());
            let mut waiting = Box::pin(slots.take(&a, true, 4));
            let is_waiting = std::future::poll_fn(|context| {
                std::task::Poll::Ready(waiting.as_mut().poll(context).is_pending())
            });
            assert!(is_waiting.await);
            drop(writer);
            assert!(slots.try_take(&a, true, 4).is_none());
            assert!(is_ready(waiting).await.is_some());
        });
    }

    #[test]
    fn writers_of_one_agent_go_one_after_the_other() {
        block_on(async {
            let (slots, a) = (CallSlots::default(), own("a"));
            let writer = slots.take(&a, true, 4).await.unwrap();
            assert!(is_ready(slots.take(&a, true, 4)).await.is_none());
            assert!(is_ready(slots.take(&a, false, 4)).await.is_some(), "readers continue");
            drop(writer);
            assert!(is_ready(slots.take(&a, true, 4)).await.is_some());
        });
    }

    #[test]
    fn too_many_waiting_calls_are_told_so() {
        block_on(async {
            let (slots, a) = (Arc::new(CallSlots::default()), own("a"));
            let running = slots.take(&a, false, 1).await.unwrap();
            let waiting: Vec<_> = (0..MAX_WAITING_CALLS)
                .map(|_| {
                    let (slots, a) = (slots.clone(), a.clone());
                    tokio::spawn(async move { slots.take(&a, false, 1).await.map(drop) })
                })
                .collect();
            while slots.agents.lock().unwrap()[&a].state().waiting < MAX_WAITING_CALLS {
                tokio::task::yield_now().await;
            }
            assert!(slots.take(&a, false, 1).await.is_none());
            drop(running);
            for one in waiting {
                assert!(one.await.unwrap().is_some());
            }
        });
    }
}
