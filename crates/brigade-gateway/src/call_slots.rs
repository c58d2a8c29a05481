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
    agents: Mutex<HashMap<QuotaKey, Arc<AgentSlots>>>,
}

/// The quota that a call uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QuotaKey {
    pub(crate) agent: Arc<str>,
    /// Whether the call belongs to a task or workflow of the agent.
    pub(crate) of_execution: bool,
}

#[derive(Default)]
struct AgentSlots {
    state: Mutex<State>,
    freed: Notify,
    /// Locked by the call that writes in the workspace.
    writing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    running: usize,
    waiting: usize,
    /// The calls that wait for an answer of their client, and have no slot.
    paused: usize,
}

/// The right of a call to run. Dropping it passes it to the next call.
pub(crate) struct CallSlot {
    state: Arc<SlotState>,
    _writing: Option<OwnedMutexGuard<()>>,
}

/// What a call has of the slots of its agent.
struct SlotState {
    slots: Arc<AgentSlots>,
    most: usize,
    /// Whether the call has its slot.
    hold: Mutex<Hold>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Running,
    Paused,
    Ended,
}

/// The pause of a call that waits for an answer of its client. Dropping it ends the pause at once.
pub(crate) struct PausedSlot(Arc<SlotState>);

impl CallSlot {
    /// Gives the slot to other calls.
    pub(crate) fn pause(&self) -> PausedSlot {
        self.state.change(Hold::Running, Hold::Paused);
        PausedSlot(self.state.clone())
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        self.state.change(Hold::Running, Hold::Ended);
        self.state.change(Hold::Paused, Hold::Ended);
    }
}

impl PausedSlot {
    /// Waits for a slot, and ends the pause.
    pub(crate) async fn resume(self) {
        let SlotState { slots, most, .. } = &*self.0;
        slots.wait(*most).await;
        // The slot that was waited for is that of the call, unless the call has ended.
        slots.state().running -= 1;
        self.0.change(Hold::Paused, Hold::Running);
        slots.freed.notify_one();
    }
}

impl Drop for PausedSlot {
    fn drop(&mut self) {
        self.0.change(Hold::Paused, Hold::Running);
    }
}

impl SlotState {
    /// Changes what the call has, if it is in the first state.
    fn change(&self, from: Hold, to: Hold) {
        let mut hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        if *hold != from {
            return;
        }
        *hold = to;
        let mut state = self.slots.state();
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
            self.slots.freed.notify_one();
        }
    }
}

impl AgentSlots {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a free slot. Returns whether one was free.
    fn take(self: &Arc<AgentSlots>, most: usize) -> bool {
        let mut state = self.state();
        let is_free = state.running < most;
        state.running += usize::from(is_free);
        is_free
    }

    /// Waits for a slot, and takes it.
    async fn wait(self: &Arc<AgentSlots>, most: usize) {
        loop {
            let freed = self.freed.notified();
            if self.take(most.max(1)) {
                return;
            }
            freed.await;
        }
    }

    fn slot(self: &Arc<AgentSlots>, most: usize, writing: Option<OwnedMutexGuard<()>>) -> CallSlot {
        let state = SlotState { slots: self.clone(), most, hold: Mutex::new(Hold::Running) };
        CallSlot { state: Arc::new(state), _writing: writing }
    }
}

/// A waiting call. Dropping it ends the wait.
struct WaitingCall(Arc<AgentSlots>);

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

impl CallSlots {
    /// Takes a slot of the agent if one is free and no call waits for it.
    pub(crate) fn try_take(&self, quota_key: &QuotaKey, writes: bool, most: usize) -> Option<CallSlot> {
        let slots = self.agent(quota_key);
        if 0 < slots.state().waiting {
            return None;
        }
        let writing = match writes {
            true => Some(slots.writing.clone().try_lock_owned().ok()?),
            false => None,
        };
        slots.take(most.max(1)).then(|| slots.slot(most, writing))
    }

    fn agent(&self, quota_key: &QuotaKey) -> Arc<AgentSlots> {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.entry(quota_key.clone()).or_default().clone()
    }

    /// Waits for a slot. At most `most` calls of the agent run at once. Returns `None` if too many wait already.
    pub(crate) async fn take(&self, quota_key: &QuotaKey, writes: bool, most: usize) -> Option<CallSlot> {
        let slots = self.agent(quota_key);
        let waiting = {
            let mut state = slots.state();
            if MAX_WAITING_CALLS <= state.waiting && most <= state.running {
                return None;
            }
            state.waiting += 1;
            WaitingCall(slots.clone())
        };
        // Writing calls run one after the other. Each takes a slot only once it may write.
        let writing = match writes {
            true => Some(slots.writing.clone().lock_owned().await),
            false => None,
        };
        slots.wait(most).await;
        drop(waiting);
        Some(slots.slot(most, writing))
    }

    /// Returns the number of calls that wait for an answer of their client.
    pub(crate) fn paused(&self, quota_key: &QuotaKey) -> usize {
        self.agent(quota_key).state().paused
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
            assert!(is_ready(resumes.as_mut()).await.is_none(), "the second call has the slot");
            drop(second);
            assert!(is_ready(resumes).await.is_some());
            assert!(slots.paused(&a) == 0 && slots.try_take(&a, false, 1).is_none());
            // A pause that outlives its call takes no slot.
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
