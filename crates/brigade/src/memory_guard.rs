//! `guard.memory`: an agent looks into its memory before it changes something.

use brigade_core::ErrorCode;
use brigade_ops::{Error, ErrorKind};
use brigade_policy::Blocker;
use brigade_workspace::AgentTools;

use crate::agent_calls::AgentCalls;

/// The profile that asks for it.
const GUARD: &str = "guard.memory";

/// Effects of calls that wait for a search.
const CHANGES: &[&str] = &["local-write", "local-delete", "process-exec"];

impl AgentCalls {
    /// Refuses a call that changes something while the turn of the agent needs a search of its memory. Without turns,
    /// or without the profile, it refuses nothing.
    pub(crate) fn check_memory(&self, shown: &AgentTools, effects: &[String]) -> Result<(), Error> {
        let has_guard = shown.rights.profiles().iter().any(|profile| profile.name.as_str() == GUARD);
        if !has_guard || !effects.iter().any(|effect| CHANGES.contains(&effect.as_str())) {
            return Ok(());
        }
        let Some(agent) = self.inner.env.caller.agent() else { return Ok(()) };
        let Some(store) = self.inner.stores.reading(&*self.inner.fs)? else { return Ok(()) };
        let Some(turn) = store.turn(agent)?.filter(|turn| turn.needs_search()) else { return Ok(()) };
        let why = format!(
            "turn {} asks for a change, so `memory.search` comes first; then the same call again",
            turn.number
        );
        let error = Error::new(ErrorKind::Refused, "the memory was not searched in this turn");
        Err(error.because([Blocker::new(ErrorCode::MemorySearchFirst, why)]))
    }
}
