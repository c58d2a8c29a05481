//! Further calls that a built-in tool asks for, each with its own plan, approval and receipt.

use std::sync::Arc;

use brigade_builtin::{Calls as FurtherCalls, Failure, FurtherCall};
use brigade_call::{Call, CallStatus, Caller};
use brigade_core::{CallId, Json};
use brigade_facts::Config;
use brigade_profile::{NameStyle, SessionProfiles};

use crate::agent_calls::{AgentCalls, Asked};
use crate::agents::Agents;
use crate::calls::Calls;
use crate::error::Error;
use crate::request::Request;
use crate::room::Room;

/// The most calls that are looked through.
const LOOKED_AT: usize = 1_000;

/// Asks for calls as the caller would: a rule of the policy may approve one, and nobody calls what the caller is not
/// shown.
pub(crate) struct Further<'a> {
    room: &'a Room,
    config: &'a Config,
    caller: &'a Caller,
    /// The profiles that the caller itself has now.
    session: SessionProfiles,
    /// Names of the profiles that decided about the call that asks. They only narrow.
    laid: Vec<String>,
}

fn failed(error: &Error) -> Failure {
    let code = error.blockers().first().map(|blocker| blocker.code.to_string());
    let message = match code {
        Some(code) => format!("{error} ({code})"),
        None => error.to_string(),
    };
    Failure::new("refused", message)
}

fn no_tool() -> Failure {
    Failure::new("not_found", "there is no such tool")
}

fn row(call: &Call) -> FurtherCall {
    FurtherCall {
        id: call.id.to_string(),
        status: call.status.as_str().to_owned(),
        is_running: call.status == CallStatus::Running,
        run: call.claim.as_ref().map(|claim| claim.run_id.to_string()),
        created_at: call.created_at,
    }
}

impl<'a> Further<'a> {
    pub(crate) fn new(
        room: &'a Room,
        config: &'a Config,
        caller: &'a Caller,
        session: SessionProfiles,
        laid: Vec<String>,
    ) -> Further<'a> {
        Further { room, config, caller, session, laid }
    }

    /// Returns the workspace as the caller sees it.
    fn seen(&self) -> Arc<Room> {
        let caller = self.caller.clone();
        Arc::new(self.room.with_env(|env| crate::env::Env { caller, ..env }))
    }
}

impl FurtherCalls for Further<'_> {
    fn suites(&self) -> Vec<String> {
        self.config.suites().map(|tool| tool.id.to_string()).collect()
    }

    fn ask(&self, tool: &str, args: Json) -> Result<FurtherCall, Failure> {
        let room = self.seen();
        let call = match self.caller.agent() {
            Some(agent) => {
                let agents = Agents { room: room.clone() };
                let read = agents.read().map(Arc::new).map_err(|error| failed(&error))?;
                let shown = agents.tools_with(read, agent, &self.session, &self.laid, NameStyle::Dotted);
                let shown = shown.map_err(|error| failed(&error))?;
                if shown.callable(tool, &args).is_none() {
                    return Err(no_tool());
                }
                match (AgentCalls { room }).ask(&shown, tool, args).map_err(|error| failed(&error))? {
                    Asked::Stored { call, .. } => *call,
                    Asked::Over { what, .. } => return Err(Failure::new("rate_limited", what)),
                    // Its answer needs no call, so there is none to name.
                    Asked::Answered(done) => {
                        let message = "it was refused before it became a call";
                        return Err(Failure::new("refused", message).data([("result", done.result)]));
                    }
                }
            }
            None => {
                let request = Request::new(tool).args(args);
                (Calls { room }).queue(request).map_err(|error| failed(&error))?.call
            }
        };
        Ok(row(&call))
    }

    fn of_tool(&self, tool: &str) -> Result<Vec<FurtherCall>, Failure> {
        let calls = AgentCalls { room: self.seen() };
        let calls = calls.list(0, LOOKED_AT).map_err(|error| failed(&error))?;
        Ok(calls.iter().filter(|call| call.tool_id == tool).map(row).collect())
    }

    fn end(&self, id: &str) -> Result<bool, Failure> {
        let id: CallId = id.parse().map_err(|_| Failure::new("not_found", "there is no such call"))?;
        let calls = AgentCalls { room: self.seen() };
        let call = calls.show(&id).map_err(|error| failed(&error))?.call;
        let ends = |id: &CallId| {
            self.room.env.ender.as_ref().is_some_and(|ender| ender.end(id, &self.caller.as_record()))
        };
        Ok(match call.status {
            _ if ends(&id) => true,
            CallStatus::Running => false,
            _ => calls.withdraw(&id).is_ok(),
        })
    }
}
