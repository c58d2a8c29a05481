//! Calls of workflows, which are made in the name of those who began them.

use std::sync::Arc;

use brigade_access::builtin::CommandOutput;
use brigade_call::CallStatus;
use brigade_core::{CallId, ErrorCode, Json};
use brigade_mcp::ToolResult;
use brigade_ops::{Error, ErrorKind};
use brigade_process::CancelToken;
use brigade_runtime::LogStream;
use brigade_toolset::Failure;
use brigade_workflow::{CallResult, CallState, RequestedCall, Steps};

use crate::agent_calls::{AgentCall, AgentCalls, RequestOutcome};
use crate::agents::Agents;
use crate::delegated_calls::DelegatedCalls;
use crate::env::Env;

/// How much of what a program printed is kept of each stream.
const PRINTED: usize = 64 << 10;

fn environment(error: &Error) -> Failure {
    Failure::new(ErrorCode::Environment, error.to_string())
}

impl DelegatedCalls {
    fn request_as(&self, agent: &str, tool: &str, args: &Json) -> Result<RequestedCall, Error> {
        let shown = self.shown(agent)?;
        let Some(target) = shown.callable(tool, args) else {
            return Ok(RequestedCall::Done(CallResult::failed(ErrorCode::NotFound, "there is no such tool")));
        };
        let requested = match target.is_direct() {
            true => self.calls().at_once(&shown, tool, args)?,
            false => self.calls().ask(&shown, tool, args.clone())?,
        };
        Ok(match requested {
            RequestOutcome::Stored { call, .. } => RequestedCall::Queued(call.id.to_string()),
            RequestOutcome::Answered(done) => RequestedCall::Done(of_result(done.result)),
            RequestOutcome::Over(_) => RequestedCall::Later,
        })
    }

    /// Returns the state of a call.
    fn state_of(&self, shown: AgentCall) -> Result<CallState, Failure> {
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
        let requested = match self.inner.env.caller.agent() {
            Some(agent) => self.request_as(agent, tool, args),
            None => self.queue(tool, args.clone()).map(|call| RequestedCall::Queued(call.id.to_string())),
        };
        requested.or_else(|error| Ok(RequestedCall::Done(DelegatedCalls::refused(&error)?)))
    }

    fn look(&self, call: &str) -> Result<CallState, Failure> {
        match self.calls().show(&id(call)?) {
            Ok(shown) => self.state_of(shown),
            Err(error) => Ok(CallState::Ended(DelegatedCalls::refused(&error)?)),
        }
    }

    fn go_on(&self, call: &str, cancel: &CancelToken) -> Result<CallState, Failure> {
        let agents = Agents { inner: self.inner.clone() };
        let agent = self.inner.env.caller.agent();
        let most = agents.config().ok().and_then(|config| Some(config.agent(agent?)?.limits.concurrent));
        let inner = self.inner.with_env(|env| Env { cancel: Some(cancel.clone()), at_once: most, ..env });
        let calls = AgentCalls { inner: Arc::new(inner) };
        let shown = agent.map(|agent| self.shown(agent)).transpose();
        let gone_on = id(call).map(|id| shown.and_then(|shown| calls.go_on(shown.as_ref(), &id)))?;
        match gone_on {
            Ok(shown) => self.state_of(shown),
            Err(error) if error.code() == ErrorCode::NotItsTurn => Ok(CallState::Waits),
            Err(error) => match self.look(call)? {
                // It may not run after all, as it was approved.
                CallState::Ready => {
                    self.withdraw(call);
                    Ok(CallState::Ended(DelegatedCalls::refused(&error)?))
                }
                state => Ok(state),
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
        self.inner.running.notify();
    }
}
