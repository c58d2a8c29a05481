//! Calls that are made in the name of a caller: those that a built-in tool asks for, and those of workflows. Each has
//! its own plan, approval and receipt.

use std::ops::ControlFlow;
use std::sync::Arc;

use brigade_access::builtin::CommandOutput;
use brigade_access::{LimitExceeded, LiveSession, NameStyle};
use brigade_call::{Call, CallStatus, Caller};
use brigade_core::{CallId, ErrorCode, Json};
use brigade_mcp::ToolResult;
use brigade_ops::{Error, ErrorKind, Request};
use brigade_process::CancelToken;
use brigade_queue::{Calls, QueueError, StoredCall};
use brigade_runtime::LogStream;
use brigade_tasks::{CallerContext, Callers, TaskContext};
use brigade_toolset::{
    CallResult, CallState, Calls as FurtherCalls, Failure, FurtherCall, RequestedCall, Steps,
};
use brigade_workspace::{AgentTools, FactReader, gather};

use crate::agent_calls::{AgentCall, AgentCalls, RequestOutcome};
use crate::agents::Agents;
use crate::env::Env;
use crate::workspace_inner::WorkspaceInner;

/// The most calls that are looked through.
const MAX_INSPECTED_CALLS: usize = 1_000;

/// How much of what a program printed is kept of each stream.
const PRINTED: usize = 64 << 10;

/// Asks for calls as the caller would: a rule of the policy may approve one, and a call names only what the caller is
/// shown.
pub(crate) struct DelegatedCalls {
    /// The workspace as the caller sees it.
    pub(crate) room: Arc<WorkspaceInner>,
    /// The session whose profiles the caller has.
    pub(crate) session: Option<Arc<LiveSession>>,
    /// Names of the profiles that decided about the call that asks, or that the execution began with. They only
    /// narrow.
    pub(crate) laid: Vec<String>,
}

impl WorkspaceInner {
    /// Returns what tasks and workflows of the caller work with.
    pub(crate) fn desk(self: &Arc<WorkspaceInner>) -> TaskContext {
        TaskContext {
            context: self.context.clone(),
            session: self.env.session.clone(),
            sessions: self.env.task_sessions.clone(),
            serves: self.env.upstreams.is_some(),
            stores: self.stores.clone(),
            running: self.running.clone(),
            callers: self.clone(),
        }
    }
}

impl Callers for WorkspaceInner {
    fn on_behalf(&self, caller: Caller, session: Arc<LiveSession>, laid: Vec<String>) -> CallerContext {
        let session = Some(session);
        let room = Arc::new(self.with_env(|env| Env {
            caller,
            session: session.clone(),
            cancel: None,
            progress: None,
            listener: None,
            requester: None,
            ..env
        }));
        CallerContext { desk: room.desk(), steps: Box::new(DelegatedCalls { room, session, laid }) }
    }
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

fn environment(error: &Error) -> Failure {
    Failure::new(ErrorCode::Environment, error.to_string())
}

impl DelegatedCalls {
    /// Returns what the caller is shown now.
    fn shown(&self, agent: &str) -> Result<AgentTools, Error> {
        let agents = Agents { room: self.room.clone() };
        let read = Arc::new(agents.read()?);
        let session = self.session.as_ref().map(|session| session.profiles()).unwrap_or_default();
        agents.tools_with(read, agent, &session, &self.laid, NameStyle::Dotted)
    }

    fn queue(&self, tool: &str, args: Json) -> Result<Call, Error> {
        let calls = self.room.calls();
        Ok(calls.queue(Request::new(tool).args(args))?.call)
    }

    fn calls(&self) -> AgentCalls {
        AgentCalls { room: self.room.clone() }
    }

    fn request_as(&self, agent: &str, tool: &str, args: &Json) -> Result<RequestedCall, Error> {
        let shown = self.shown(agent)?;
        let Some(target) = shown.callable(tool, args) else {
            return Ok(RequestedCall::Done(CallResult::failed(ErrorCode::NotFound, "there is no such tool")));
        };
        let asked = match target.is_direct() {
            true => self.calls().at_once(&shown, tool, args)?,
            false => self.calls().ask(&shown, tool, args.clone())?,
        };
        Ok(match asked {
            RequestOutcome::Stored { call, .. } => RequestedCall::Queued(call.id.to_string()),
            RequestOutcome::Answered(done) => RequestedCall::Done(of_result(done.result)),
            RequestOutcome::Over(_) => RequestedCall::Later,
        })
    }

    /// Returns the state of a call.
    fn stands(&self, shown: AgentCall) -> Result<CallState, Failure> {
        let AgentCall { call, receipt, answer } = shown;
        Ok(match call.status {
            CallStatus::Pending | CallStatus::Held | CallStatus::Running | CallStatus::Waiting => {
                CallState::Waits
            }
            CallStatus::Approved | CallStatus::ResumePending => CallState::Ready,
            CallStatus::Interrupted | CallStatus::Other(_) => CallState::Unknown,
            CallStatus::Rejected => {
                let why = call.review_reason.clone().unwrap_or_default();
                CallState::Ended(CallResult::failed(
                    ErrorCode::ApprovalRejected,
                    format!("call {} is rejected: {why}", call.id),
                ))
            }
            CallStatus::Completed | CallStatus::Failed | CallStatus::TimedOut => {
                let run = call.claim.as_ref().map(|claim| claim.run_id.clone());
                let answer = match (answer, &run) {
                    (None, Some(run)) => self.calls().answer(run).map_err(|error| environment(&error))?,
                    (answer, _) => answer,
                };
                if let Some(answer) = answer {
                    let none = || {
                        CallResult::failed(ErrorCode::InvalidOutput, "the answer is not the result of a tool")
                    };
                    return Ok(CallState::Ended(ToolResult::read(&answer).map_or_else(none, of_result)));
                }
                let printed = |stream| {
                    let run = run.as_ref()?;
                    let output = self.calls().output(run, stream, 0, PRINTED).ok().flatten()?;
                    Some(output.content)
                };
                let exit_code = receipt.as_ref().and_then(|receipt| receipt.exit_code);
                let failure = receipt.as_ref().and_then(|receipt| receipt.failure.clone());
                let is_success = call.status == CallStatus::Completed;
                let output = CommandOutput {
                    stdout: printed(LogStream::Stdout),
                    stderr: printed(LogStream::Stderr),
                    exit_code,
                    timed_out: call.status == CallStatus::TimedOut,
                    truncated: None,
                };
                let output = output.to_json();
                let code = receipt.and_then(|receipt| receipt.error_code);
                let error = failure.filter(|_| !is_success);
                let error = error.map(|why| (code.unwrap_or_else(|| "failed".to_owned()), why));
                CallState::Ended(CallResult { is_success, output, exit_code, error })
            }
        })
    }

    /// Turns a refusal into the end of a call. Other errors stay errors.
    fn refused(error: &Error) -> Result<CallResult, Failure> {
        if error.kind() == ErrorKind::Environment {
            return Err(environment(error));
        }
        let first = error.blockers().first();
        let code =
            first.map_or_else(|| error.failure().code_word().to_owned(), |blocker| blocker.code.to_string());
        let message =
            first.map_or_else(|| error.to_string(), |blocker| format!("{error}: {}", blocker.message));
        Ok(CallResult::failed(code, message))
    }
}

/// Turns a result into the end of a call.
fn of_result(result: ToolResult) -> CallResult {
    let text = result.text();
    if result.is_error == Some(true) {
        let code = result.error().map(|error| error.code);
        return CallResult::failed(code.as_deref().unwrap_or("failed"), text);
    }
    let output = result.structured_content.unwrap_or_else(|| Json::from(text));
    CallResult { is_success: true, output, ..CallResult::default() }
}

fn id(call: &str) -> Result<CallId, Failure> {
    call.parse().map_err(|_| Failure::new(ErrorCode::Environment, "the id of a call cannot be read"))
}

impl Steps for DelegatedCalls {
    fn ask(&self, tool: &str, args: &Json) -> Result<RequestedCall, Failure> {
        let asked = match self.room.env.caller.agent() {
            Some(agent) => self.request_as(agent, tool, args),
            None => self.queue(tool, args.clone()).map(|call| RequestedCall::Queued(call.id.to_string())),
        };
        asked.or_else(|error| Ok(RequestedCall::Done(DelegatedCalls::refused(&error)?)))
    }

    fn look(&self, call: &str) -> Result<CallState, Failure> {
        match self.calls().show(&id(call)?) {
            Ok(shown) => self.stands(shown),
            Err(error) => Ok(CallState::Ended(DelegatedCalls::refused(&error)?)),
        }
    }

    fn go_on(&self, call: &str, cancel: &CancelToken) -> Result<CallState, Failure> {
        let agents = Agents { room: self.room.clone() };
        let agent = self.room.env.caller.agent();
        let most = agents.config().ok().and_then(|config| Some(config.agent(agent?)?.limits.concurrent));
        let room = self.room.with_env(|env| Env { cancel: Some(cancel.clone()), at_once: most, ..env });
        let calls = AgentCalls { room: Arc::new(room) };
        let shown = agent.map(|agent| self.shown(agent)).transpose();
        let gone_on = id(call).map(|id| shown.and_then(|shown| calls.go_on(shown.as_ref(), &id)))?;
        match gone_on {
            Ok(shown) => self.stands(shown),
            Err(error) if error.code() == ErrorCode::NotItsTurn => Ok(CallState::Waits),
            Err(error) => match self.look(call)? {
                // It may not run after all, as it was approved.
                CallState::Ready => {
                    self.withdraw(call);
                    Ok(CallState::Ended(DelegatedCalls::refused(&error)?))
                }
                stands => Ok(stands),
            },
        }
    }

    fn withdraw(&self, call: &str) {
        if let Ok(id) = id(call) {
            // One that has run stays as it is.
            drop(self.calls().withdraw(&id));
        }
    }

    fn changed(&self) {
        self.room.running.notify();
    }
}

impl FurtherCalls for DelegatedCalls {
    fn ask(&self, tool: &str, args: Json) -> Result<FurtherCall, Failure> {
        let failed = |error: Error| failed(&error);
        let Some(agent) = self.room.env.caller.agent() else {
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
        let Some(agent) = self.room.env.caller.agent() else { return true };
        let none = Json::object::<&str>([]);
        self.shown(agent).is_ok_and(|shown| shown.callable(tool, &none).is_some())
    }

    fn standing(&self, id: &str) -> Result<Option<FurtherCall>, Failure> {
        let id: CallId = id.parse().map_err(|_| no_call())?;
        let find = || -> Result<Option<StoredCall>, Error> { Ok(self.room.queue().read()?.call(&id)?) };
        Ok(find().map_err(|error| failed(&error))?.map(|stored| row(&stored.call)))
    }

    fn runs_in(&self, root: &str) -> Result<bool, Failure> {
        let look = || -> Result<bool, QueueError> {
            let mut is_found = false;
            self.room.queue().read()?.for_each_call(&Calls::Of(CallStatus::Running), &mut |stored| {
                let session = stored.call.session.as_ref();
                is_found |= session.and_then(|session| session.root_of(&stored.call.tool_id)) == Some(root);
                if is_found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            Ok(is_found)
        };
        look().map_err(|error| failed(&error.into()))
    }

    fn takes(&self, tool: &str, argument: &str) -> bool {
        let Ok(config) = gather::config(&self.room) else { return false };
        let Some(tool) = config.suites().find(|suite| suite.id == tool) else { return false };
        let facts = FactReader::new(self.room.host(), &config).plan(tool, self.room.env.caller.clone());
        let facts = facts.ok().map(|input| input.facts);
        let schema = facts.as_ref().and_then(|facts| facts.input_schema.schema());
        schema.is_some_and(|schema| schema.property(argument).is_some())
    }

    fn end(&self, id: &str) -> Result<bool, Failure> {
        let id: CallId = id.parse().map_err(|_| no_call())?;
        let call = self.calls().show(&id).map_err(|error| failed(&error))?.call;
        let ends = |id: &CallId| {
            self.room.env.ender.as_ref().is_some_and(|ender| ender.end(id, &self.room.env.caller.as_record()))
        };
        Ok(match call.status {
            _ if ends(&id) => true,
            CallStatus::Running => false,
            _ => self.calls().withdraw(&id).is_ok(),
        })
    }
}
