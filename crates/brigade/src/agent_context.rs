//! What the profiles of an agent limit its calls to: paths and the like, and how often a minute.

use brigade_access::builtin::{PathProblem, definition, relative};
use brigade_access::{LimitExceeded, LimitViolation, MINUTE, ToolTraits};
use brigade_call::CallSession;
use brigade_core::{Json, RunId, Timestamp};
use brigade_ops::{Error, ErrorKind};
use brigade_policy::Blocker;
use brigade_queue::{FoundReceipt, View};
use brigade_workspace::{AgentTools, command_outside, real_paths};

use crate::agent_calls::AgentCalls;
use crate::memory_rules;

/// Returns the reason against an argument of a built-in tool that is a path out of the workspace.
fn leads_out(tool: &str, argument: &str, args: &Json, root: &str) -> Option<Blocker> {
    definition(tool).filter(|row| row.paths.contains(&argument))?;
    let path = args.get(argument)?.as_str()?;
    relative(path, root).is_none().then(|| PathProblem::Outside.blocker(argument))
}

fn refusal_error(reason: Blocker) -> Error {
    Error::new(ErrorKind::Refused, "the profiles of the agent do not allow the call").because([reason])
}

impl AgentCalls {
    /// Returns the limit of a profile that a call is one too many for in a minute. `view` has the calls, if those of
    /// the tool are queued: they are counted under the lock of the queue, so that none is missed.
    pub(crate) fn over_rate(
        &self,
        shown: &AgentTools,
        tool: &str,
        args: &Json,
        view: Option<&View<'_>>,
    ) -> Result<Option<LimitExceeded>, Error> {
        let Some(callable) = shown.callable(tool, args) else { return Ok(None) };
        for (profile, most) in shown.rights.rates(&ToolTraits::from_tool(callable.entry)) {
            let calls = match view {
                Some(view) => self.requests_in_last_minute(tool, view, most)?,
                None => self.direct_call_times(tool)?,
            };
            if let Some(over) = LimitExceeded::of_minute(profile, most, &calls, self.inner.now()) {
                return Ok(Some(over));
            }
        }
        Ok(None)
    }

    /// Refuses a call whose arguments are outside of what the agent's profiles limit the tool to now, or that waits for
    /// a search of the memory. A call is judged when it is asked for, and again before it runs: links, profiles and the
    /// turn may have changed since. `asked_in` is the session that asked.
    pub(crate) fn check_limits(
        &self,
        shown: &AgentTools,
        tool: &str,
        args: &Json,
        asked_in: Option<&CallSession>,
    ) -> Result<(), Error> {
        let Some(callable) = shown.callable(tool, args) else { return Ok(()) };
        let traits = ToolTraits::from_tool(callable.entry);
        let whole = definition(tool).map_or_else(|| args.clone(), |row| row.with_defaults(args));
        let host = self.inner.host();
        let lane = asked_in.and_then(|session| session.root_of(tool));
        let files = host.files(lane)?;
        let root = files.fs().root().display().to_string();
        let check = |args: &Json| shown.rights.check_call(&traits, args, &root);
        // A path is compared as it is written and, where links lead elsewhere, as where it leads.
        let checked = check(&whole).and_then(|_| check(&real_paths(files.fs(), &traits, whole, &root)));
        if let Err(outside) = checked {
            // A path that no profile could open is the tool's own reason.
            if let Some(reason) = leads_out(tool, &outside.argument, args, &root) {
                return Err(Error::new(ErrorKind::Refused, "the call is blocked").because([reason]));
            }
            let field = format!("args.{}", outside.argument);
            let reason = Blocker::new(LimitViolation::CODE, outside.to_string()).at(outside.place.clone());
            return Err(refusal_error(reason.field(field)));
        }
        let made = shown.config.command(&host, tool, args, &self.inner.env.caller, None, lane);
        if let Some(reason) = made.as_ref().and_then(|made| command_outside(&host, &shown.rights, made, args))
        {
            return Err(refusal_error(reason));
        }
        #[cfg(feature = "builtin")]
        if !made.is_some_and(|made| brigade_workspace::command_only_reads(&host, &made)) {
            self.check_memory(shown, &callable.entry.effects)?;
        }
        Ok(())
    }

    /// Returns when the agent used a tool in the last minute, newest first, but not more calls than are allowed. What
    /// was refused, or remembered nothing, does not count.
    fn requests_in_last_minute(
        &self,
        tool: &str,
        view: &View<'_>,
        most: u64,
    ) -> Result<Vec<Timestamp>, Error> {
        let inner = &*self.inner;
        let may_be_rejected = memory_rules::may_be_rejected(tool);
        let limit = if may_be_rejected { usize::MAX } else { usize::try_from(most).unwrap_or(usize::MAX) };
        let did = |run: &Option<RunId>| {
            let run = run.as_ref().filter(|_| may_be_rejected);
            let receipt = run.and_then(|run| view.receipt(run.as_str()).ok().flatten());
            let receipt = receipt.and_then(FoundReceipt::good);
            !receipt.is_some_and(|stored| memory_rules::is_rejected(&stored.receipt))
        };
        let requests = view.requests_of_tool(&inner.env.caller, tool, (inner.now(), MINUTE), limit)?;
        Ok(requests.into_iter().filter(|(_, run)| did(run)).map(|(at, _)| at).collect())
    }

    /// Returns the same of a tool whose calls are not queued: what it left in the store.
    #[cfg(feature = "builtin")]
    fn direct_call_times(&self, tool: &str) -> Result<Vec<Timestamp>, Error> {
        const ASK: &str = "ask.user";
        let since = self.inner.now().unix_micros().saturating_sub(60_000_000);
        let agent = self.inner.env.caller.agent().filter(|_| tool == ASK);
        match agent.zip(self.inner.stores.reading(&*self.inner.fs)?) {
            Some((agent, store)) => Ok(store.questions_since(agent, Timestamp::from_unix_micros(since))?),
            None => Ok(Vec::new()),
        }
    }

    #[cfg(not(feature = "builtin"))]
    fn direct_call_times(&self, _: &str) -> Result<Vec<Timestamp>, Error> {
        Ok(Vec::new())
    }
}
