//! Calls that are made in the name of a caller: those that a built-in tool asks for, and those of workflows. Each has
//! its own plan, approval and receipt.

use std::ops::ControlFlow;
use std::sync::Arc;

use brigade_access::{LimitExceeded, LiveSession, NameStyle};
use brigade_call::{Call, CallStatus};
use brigade_core::{CallId, ErrorCode, Json};
use brigade_ops::{Error, Request};
use brigade_queue::{Calls, QueueError, StoredCall};
use brigade_toolset::{Calls as FurtherCalls, Failure, FurtherCall};
use brigade_workspace::{AgentTools, FactReader, gather};

use crate::agent_calls::{AgentCalls, RequestOutcome};
use crate::agents::Agents;
use crate::workspace_inner::WorkspaceInner;

/// The most calls that are looked through.
const MAX_INSPECTED_CALLS: usize = 1_000;

/// Asks for calls as the caller would: a rule of the policy may approve one, and a call names only what the caller is
/// shown.
pub(crate) struct DelegatedCalls {
    /// The workspace as the caller sees it.
    pub(crate) inner: Arc<WorkspaceInner>,
    /// The session whose profiles the caller has.
    pub(crate) session: Option<Arc<LiveSession>>,
    /// Names of the profiles that decided about the call that asks, or that the execution began with. They only
    /// narrow.
    pub(crate) profiles: Vec<String>,
}

fn failed(error: &Error) -> Failure {
    let code = error.blockers().first().map(|blocker| blocker.code.to_string());
    let message = match code {
        Some(code) => format!("{error} ({code})"),
        None => error.to_string(),
    };
    Failure::new(ErrorCode::Refused, message)
}

fn no_tool() -> Failure {
    Failure::new(ErrorCode::NotFound, "there is no such tool")
}

fn no_call() -> Failure {
    Failure::new(ErrorCode::NotFound, "there is no such call")
}

fn row(call: &Call) -> FurtherCall {
    FurtherCall {
        id: call.id.to_string(),
        status: call.status.as_str().to_owned(),
        is_running: call.status == CallStatus::Running,
        waits_for_a_person: call.status.waits_for_a_person(),
        run: call.claim.as_ref().map(|claim| claim.run_id.to_string()),
        created_at: call.created_at,
    }
}

impl DelegatedCalls {
    /// Returns what the caller is shown now.
    pub(crate) fn shown(&self, agent: &str) -> Result<AgentTools, Error> {
        let agents = Agents { inner: self.inner.clone() };
        let read = Arc::new(agents.read()?);
        let session = self.session.as_ref().map(|session| session.profiles()).unwrap_or_default();
        agents.tools_with(read, agent, &session, &self.profiles, NameStyle::Dotted)
    }

    pub(crate) fn queue(&self, tool: &str, args: Json) -> Result<Call, Error> {
        let calls = self.inner.calls();
        Ok(calls.queue(Request::new(tool).args(args))?.call)
    }

    pub(crate) fn calls(&self) -> AgentCalls {
        AgentCalls { inner: self.inner.clone() }
    }
}

impl FurtherCalls for DelegatedCalls {
    fn ask(&self, tool: &str, args: Json) -> Result<FurtherCall, Failure> {
        let failed = |error: Error| failed(&error);
        let Some(agent) = self.inner.env.caller.agent() else {
            return Ok(row(&self.queue(tool, args).map_err(failed)?));
        };
        let shown = self.shown(agent).map_err(failed)?;
        if shown.callable(tool, &args).is_none() {
            return Err(no_tool());
        }
        match self.calls().ask(&shown, tool, args).map_err(failed)? {
            RequestOutcome::Stored { call, .. } => Ok(row(&call)),
            RequestOutcome::Over(LimitExceeded { code, what, .. }) => Err(Failure::new(code, what)),
            // Its answer needs no call, so none is named.
            RequestOutcome::Answered(done) => {
                let message = "it was refused before it became a call";
                Err(Failure::new(ErrorCode::Refused, message).data([("result", done.result.to_json())]))
            }
        }
    }

    fn of_tool(&self, tool: &str) -> Result<Vec<FurtherCall>, Failure> {
        let calls = self.calls().list(0, MAX_INSPECTED_CALLS).map_err(|error| failed(&error))?;
        Ok(calls.iter().filter(|call| call.tool_id == tool).map(row).collect())
    }

    fn shows(&self, tool: &str) -> bool {
        let Some(agent) = self.inner.env.caller.agent() else { return true };
        let none = Json::object::<&str>([]);
        self.shown(agent).is_ok_and(|shown| shown.callable(tool, &none).is_some())
    }

    fn find_call(&self, id: &str) -> Result<Option<FurtherCall>, Failure> {
        let id: CallId = id.parse().map_err(|_| no_call())?;
        let find = || -> Result<Option<StoredCall>, Error> { Ok(self.inner.queue().read()?.call(&id)?) };
        Ok(find().map_err(|error| failed(&error))?.map(|stored| row(&stored.call)))
    }

    fn runs_in(&self, root: &str) -> Result<bool, Failure> {
        let look = || -> Result<bool, QueueError> {
            let mut is_found = false;
            self.inner.queue().read()?.for_each_call(&Calls::Of(CallStatus::Running), &mut |stored| {
                let session = stored.call.session.as_ref();
                is_found |= session.and_then(|session| session.root_of(&stored.call.tool_id)) == Some(root);
                if is_found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            Ok(is_found)
        };
        look().map_err(|error| failed(&error.into()))
    }

    fn takes(&self, tool: &str, argument: &str) -> bool {
        let Ok(config) = gather::config(&self.inner) else { return false };
        let Some(tool) = config.suites().find(|suite| suite.id == tool) else { return false };
        let facts = FactReader::new(self.inner.host(), &config).plan(tool, self.inner.env.caller.clone());
        let facts = facts.ok().map(|input| input.facts);
        let schema = facts.as_ref().and_then(|facts| facts.input_schema.schema());
        schema.is_some_and(|schema| schema.property(argument).is_some())
    }

    fn end(&self, id: &str) -> Result<bool, Failure> {
        let id: CallId = id.parse().map_err(|_| no_call())?;
        let call = self.calls().show(&id).map_err(|error| failed(&error))?.call;
        let ends = |id: &CallId| {
            self.inner
                .env
                .ender
                .as_ref()
                .is_some_and(|ender| ender.end(id, &self.inner.env.caller.as_record()))
        };
        Ok(match call.status {
            _ if ends(&id) => true,
            CallStatus::Running => false,
            _ => self.calls().withdraw(&id).is_ok(),
        })
    }
}
