//! Test suites: tools of the catalog with the category `test`. A run of one is a call of it, with its own plan,
//! approval and receipt.

use std::sync::Arc;

use brigade_builtin::{Failure, Output};
use brigade_call::{Call, Caller};
use brigade_core::Json;
use brigade_facts::Config;
use brigade_profile::NameStyle;

use crate::agent_calls::{AgentCalls, Asked};
use crate::agents::Agents;
use crate::calls::Calls;
use crate::error::Error;
use crate::request::Request;
use crate::room::Room;

/// The most calls that are looked through for runs.
const LOOKED_AT: usize = 1_000;

/// The most runs that are listed.
const LISTED: usize = 50;

/// Does what a tool for test suites does. `None` for every other tool. `profiles` are those by which the caller was shown
/// the tool.
pub(crate) fn run(
    room: &Room,
    config: &Config,
    id: &str,
    args: &Json,
    caller: &Caller,
    profiles: &[String],
) -> Option<Result<Output, Failure>> {
    let suite = args.get("suite").and_then(Json::as_str).unwrap_or_default();
    let is_there = || match config.suites().any(|tool| tool.id.as_str() == suite) {
        true => Ok(()),
        false => Err(Failure::new("not_found", "there is no such test suite")),
    };
    Some(match id {
        "test.list" => {
            let ids = config.suites().map(|tool| Json::from(tool.id.as_str())).collect::<Vec<_>>();
            Ok(Output::new([("suites", Json::from(ids))]))
        }
        "test.run" => is_there().and_then(|()| ask(room, suite, caller, profiles)),
        "test.runs" => is_there().and_then(|()| runs(room, suite, caller)),
        _ => return None,
    })
}

/// Returns the workspace as the caller sees it.
fn seen_by(room: &Room, caller: &Caller) -> Arc<Room> {
    let caller = caller.clone();
    Arc::new(room.with_env(|env| crate::env::Env { caller, ..env }))
}

fn failed(error: &Error) -> Failure {
    let code = error.blockers().first().map(|blocker| blocker.code.to_string());
    let message = match code {
        Some(code) => format!("{error} ({code})"),
        None => error.to_string(),
    };
    Failure::new("refused", message)
}

/// Asks for a call of a suite, as the caller would: a rule of the policy may approve it, and nobody sees what the
/// caller is not shown. The profiles of the session that asked are laid over the agent's own, so a suite that is hidden
/// there is hidden here.
fn ask(room: &Room, suite: &str, caller: &Caller, profiles: &[String]) -> Result<Output, Failure> {
    let room = seen_by(room, caller);
    let call = match caller.agent() {
        Some(agent) => {
            let agents = Agents { room: room.clone() };
            let shown = agents.tools(agent, profiles, NameStyle::Dotted).map_err(|error| failed(&error))?;
            let none = Json::Object(Default::default());
            if shown.callable(suite, &none).is_none() {
                return Err(Failure::new("not_found", "there is no such test suite"));
            }
            match (AgentCalls { room }).ask(&shown, suite, none).map_err(|error| failed(&error))? {
                Asked::Stored { call, .. } => call.id,
                Asked::Over { what, .. } => return Err(Failure::new("rate_limited", what)),
                // Only a tool of Brigade answers without a call.
                Asked::Answered(_) => return Err(Failure::new("not_found", "there is no such test suite")),
            }
        }
        None => {
            let queued = Calls { room }.queue(Request::new(suite)).map_err(|error| failed(&error))?;
            queued.call.id
        }
    };
    let id = call.to_string();
    let text = format!("call {id} of the suite; `call.wait` with this id runs it when it is approved");
    Ok(Output::new([("call_id", Json::from(id))]).text(text))
}

/// Lists the calls of a suite that the caller asked for, the newest first.
fn runs(room: &Room, suite: &str, caller: &Caller) -> Result<Output, Failure> {
    let calls = AgentCalls { room: seen_by(room, caller) };
    let calls = calls.list(0, LOOKED_AT).map_err(|error| failed(&error))?;
    let row = |call: &Call| {
        let run = call.claim.as_ref().map(|claim| Json::from(claim.run_id.to_string()));
        Json::object([
            ("call_id", Json::from(call.id.to_string())),
            ("status", Json::from(call.status.as_str())),
            ("run_id", run.unwrap_or_default()),
            ("created_at", call.created_at.map_or(Json::Null, |at| Json::from(at.to_string()))),
        ])
    };
    let rows: Vec<Json> = calls.iter().filter(|call| call.tool_id == suite).take(LISTED).map(row).collect();
    Ok(Output::new([("runs", Json::from(rows))]))
}
