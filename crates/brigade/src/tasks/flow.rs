//! Workflows: the calls of their states are calls of who began them, with the rights of the session that did.

use std::sync::Arc;

use brigade_builtin::{AskedCall, CallResult, Engine, Failure, Stands, Steps, Tasks};
use brigade_call::{CallSession, CallStatus, Caller};
use brigade_core::{CallId, Json, codes};
use brigade_facts::AgentTools;
use brigade_process::CancelToken;
use brigade_profile::builtin::definition;
use brigade_profile::{LiveSession, NameStyle, SessionProfiles};
use brigade_redact::Redactor;
use brigade_runtime::LogStream;
use brigade_store::flows::{Flow, FlowStatus};

use super::{Hands, Place, environment};
use crate::agent_calls::{AgentCall, AgentCalls, Asked};
use crate::agents::Agents;
use crate::calls::Calls;
use crate::env::Env;
use crate::error::{Error, ErrorKind};
use crate::request::Request;
use crate::room::Room;
use brigade_upkeep::gather;

/// Writes what the calls of an execution may do: what those of the session may that asked for it.
pub(super) fn rights(session: Option<&LiveSession>, asked_in: Option<&CallSession>) -> Json {
    let profiles = asked_in.map(|session| session.profiles.as_slice()).unwrap_or_default();
    let names: Vec<Json> = profiles.iter().map(|name| Json::from(name.as_str())).collect();
    let root = asked_in.and_then(|session| session.root.as_deref()).map_or(Json::Null, Json::from);
    Json::object([
        ("profiles", Json::from(names)),
        ("root", root),
        (
            "session",
            session
                .map_or_else(|| SessionProfiles::default().to_json(), |session| session.profiles().to_json()),
        ),
    ])
}

/// Makes the calls of an execution.
struct CallsOf {
    room: Arc<Room>,
    /// The profiles of the session that began it, which are laid over those of the caller.
    profiles: Vec<String>,
}

impl CallsOf {
    fn of(room: &Room, flow: &Flow) -> Result<CallsOf, Failure> {
        let broken =
            || Failure::new("invalid_rights", "the record of what the execution may do cannot be read");
        let session = flow.rights.get("session").and_then(SessionProfiles::from_json).ok_or_else(broken)?;
        let names = flow.rights.get("profiles").and_then(Json::as_array).ok_or_else(broken)?;
        let names = names.iter().map(|name| name.as_str().map(str::to_owned));
        let profiles = names.collect::<Option<Vec<String>>>().ok_or_else(broken)?;
        let root = flow.rights.get("root").and_then(Json::as_str).map(str::to_owned);
        let session = Arc::new(LiveSession::like(flow.id.clone(), session, root));
        let caller = Caller::from_record(Some(&flow.caller));
        let room = room.with_env(|env| Env {
            caller,
            session: Some(session),
            cancel: None,
            progress: None,
            listener: None,
            requester: None,
            ..env
        });
        Ok(CallsOf { room: Arc::new(room), profiles })
    }

    /// Returns what the caller is shown now, narrowed to what the execution may do.
    fn shown(&self, agent: &str) -> Result<AgentTools, Error> {
        let agents = Agents { room: self.room.clone() };
        let read = Arc::new(agents.read()?);
        let session = self.room.env.session.as_ref().map(|session| session.profiles()).unwrap_or_default();
        agents.tools_with(read, agent, &session, &self.profiles, NameStyle::Dotted)
    }

    fn calls(&self) -> AgentCalls {
        AgentCalls { room: self.room.clone() }
    }

    fn ask_as(&self, agent: &str, tool: &str, args: &Json) -> Result<AskedCall, Error> {
        let shown = self.shown(agent)?;
        if shown.callable(tool, args).is_none() {
            return Ok(AskedCall::Done(CallResult::failed("not_found", "there is no such tool")));
        }
        if definition(tool).is_some_and(|row| !row.is_queued()) {
            let done = self.calls().at_once(&shown, tool, args)?;
            return Ok(AskedCall::Done(of_answer(&done.result)));
        }
        Ok(match self.calls().ask(&shown, tool, args.clone())? {
            Asked::Stored { call, .. } => AskedCall::Queued(call.id.to_string()),
            Asked::Answered(done) => AskedCall::Done(of_answer(&done.result)),
            Asked::Over { .. } => AskedCall::Later,
        })
    }

    /// Returns how a call stands.
    fn stands(&self, shown: AgentCall) -> Result<Stands, Failure> {
        let AgentCall { call, receipt, answer } = shown;
        Ok(match call.status {
            CallStatus::Pending | CallStatus::Held | CallStatus::Running | CallStatus::Waiting => {
                Stands::Waits
            }
            CallStatus::Approved | CallStatus::ResumePending => Stands::Ready,
            CallStatus::Interrupted | CallStatus::Other(_) => Stands::Unknown,
            CallStatus::Rejected => {
                let why = call.review_reason.clone().unwrap_or_default();
                Stands::Ended(CallResult::failed(
                    "approval_rejected",
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
                    return Ok(Stands::Ended(of_answer(&answer)));
                }
                let printed = |stream| {
                    let run = run.as_ref()?;
                    let output = self.calls().output(run, stream, 0, PRINTED).ok().flatten()?;
                    Some(Json::from(output.content))
                };
                let exit_code = receipt.as_ref().and_then(|receipt| receipt.exit_code);
                let failure = receipt.as_ref().and_then(|receipt| receipt.failure.clone());
                let is_success = call.status == CallStatus::Completed;
                let output = Json::object([
                    ("stdout", printed(LogStream::Stdout).unwrap_or_default()),
                    ("stderr", printed(LogStream::Stderr).unwrap_or_default()),
                    ("exit_code", exit_code.map_or(Json::Null, Json::from)),
                    ("timed_out", Json::from(call.status == CallStatus::TimedOut)),
                ]);
                let code = receipt.and_then(|receipt| receipt.error_code);
                let error = failure.filter(|_| !is_success);
                let error = error.map(|why| (code.unwrap_or_else(|| "failed".to_owned()), why));
                Stands::Ended(CallResult { is_success, output, exit_code, error })
            }
        })
    }

    /// Turns a refusal into the end of a call. What is no refusal stays an error.
    fn refused(error: &Error) -> Result<CallResult, Failure> {
        if error.kind() == ErrorKind::Environment {
            return Err(environment(error));
        }
        let first = error.blockers().first();
        let code = first.map_or_else(|| error.code().to_string(), |blocker| blocker.code.to_string());
        let message =
            first.map_or_else(|| error.to_string(), |blocker| format!("{error}: {}", blocker.message));
        Ok(CallResult::failed(code, message))
    }
}

/// How much of what a program printed is kept of each stream.
const PRINTED: usize = 64 << 10;

/// Reads a result as MCP has it.
fn of_answer(answer: &Json) -> CallResult {
    let blocks = answer.get("content").and_then(Json::as_array).unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    let text = texts.join("\n");
    if answer.get("isError").and_then(Json::as_bool) == Some(true) {
        let error = answer.get("_meta").and_then(|meta| meta.get("brigade/error")?.get("code")?.as_str());
        return CallResult::failed(error.unwrap_or("failed"), text);
    }
    let output = answer.get("structuredContent").cloned().unwrap_or_else(|| Json::from(text));
    CallResult { is_success: true, output, ..CallResult::default() }
}

fn id(call: &str) -> Result<CallId, Failure> {
    call.parse().map_err(|_| Failure::new("environment", "the id of a call cannot be read"))
}

impl Steps for CallsOf {
    fn ask(&self, tool: &str, args: &Json) -> Result<AskedCall, Failure> {
        let asked = match self.room.env.caller.agent() {
            Some(agent) => self.ask_as(agent, tool, args),
            None => {
                let calls = Calls { room: self.room.clone() };
                let queued = calls.queue(Request::new(tool).args(args.clone()));
                queued.map(|queued| AskedCall::Queued(queued.call.id.to_string()))
            }
        };
        asked.or_else(|error| Ok(AskedCall::Done(CallsOf::refused(&error)?)))
    }

    fn look(&self, call: &str) -> Result<Stands, Failure> {
        match self.calls().show(&id(call)?) {
            Ok(shown) => self.stands(shown),
            Err(error) => Ok(Stands::Ended(CallsOf::refused(&error)?)),
        }
    }

    fn go_on(&self, call: &str, cancel: &CancelToken) -> Result<Stands, Failure> {
        let agents = Agents { room: self.room.clone() };
        let agent = self.room.env.caller.agent();
        let most = agents.config().ok().and_then(|config| Some(config.agent(agent?)?.limits.concurrent));
        let room = self.room.with_env(|env| Env { cancel: Some(cancel.clone()), at_once: most, ..env });
        let calls = AgentCalls { room: Arc::new(room) };
        match calls.go_on(&id(call)?) {
            Ok(shown) => self.stands(shown),
            Err(error) if error.code() == codes::NOT_ITS_TURN.as_str() => Ok(Stands::Waits),
            Err(error) => match self.look(call)? {
                // It may not run after all, as it was approved.
                Stands::Ready => {
                    self.withdraw(call);
                    Ok(Stands::Ended(CallsOf::refused(&error)?))
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
        self.room.running.changed.notify_all();
    }
}

/// Begins to drive an execution that belongs to this process, or to one that is gone.
pub(super) fn drive(hands: &Hands<'_>, flow: &Flow) -> Result<(), Failure> {
    let (room, gateway) = (hands.room, hands.gateway()?);
    let serves = room.env.upstreams.is_some();
    let store = room.stores.writing(&*room.fs)?;
    if flow.gateway != gateway {
        // Only who serves goes on with what others began.
        if !serves || !hands.is_gone(&flow.gateway) || !store.take_flow_over(flow, &gateway, room.now())? {
            return Ok(());
        }
    }
    let running = room.running.clone();
    let cancel = CancelToken::new().map_err(|error| environment(&error))?;
    {
        let mut state = running.state();
        if state.is_ending {
            return Err(Failure::new("busy", "the gateway is ending"));
        }
        if state.tasks.contains_key(&flow.id) {
            return Ok(());
        }
        state.tasks.insert(flow.id.clone(), cancel.clone());
    }
    let place = Place { running, id: flow.id.clone() };
    let (steps, id) = (CallsOf::of(room, flow)?, flow.id.clone());
    let config = gather::config(&steps.room).map_err(|error| environment(&error))?;
    let work = move || {
        let room = &*steps.room;
        let redactor = Redactor::new(&gather::bound_secrets(room, &config.policy));
        let engine = Engine {
            store: &store,
            steps: &steps,
            tasks: &Hands::new(room, &config),
            clock: &*room.env.clock,
            redactor: &redactor,
            cancel: &cancel,
            waits: serves,
        };
        if let Err(failure) = engine.drive(&id) {
            tracing::warn!(flow = %id, code = failure.code, error = %failure.message, "a workflow does not go on");
            let error = Some((failure.code, failure.message.as_str()));
            drop(store.end_flow(&id, FlowStatus::Failed, error, room.now()));
        }
        drop(place);
    };
    if !serves {
        work();
        return Ok(());
    }
    let thread = std::thread::Builder::new().name("workflow".to_owned());
    thread.spawn(work).map(drop).map_err(|error| environment(&error))
}

/// Goes on with the executions whose processes are gone.
///
/// # Errors
/// Returns file errors.
pub(crate) fn take_over(room: &Room) -> Result<(), Error> {
    let Some(store) = room.stores.reading(&*room.fs)? else { return Ok(()) };
    let config = gather::config(room)?;
    let hands = Hands::new(room, &config);
    for flow in store.open_flows(None)? {
        if let Err(failure) = hands.drive(&flow) {
            tracing::warn!(flow = %flow.id, code = failure.code, error = %failure.message, "a workflow does not go on");
        }
    }
    Ok(())
}
