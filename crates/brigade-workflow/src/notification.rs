//! Tells the program of `[notify]` in gateway.toml that a call waits for a person.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use brigade_call::Call;
use brigade_core::json::to_json;
use brigade_core::{CallId, Fingerprint, Json, NextStep, Timestamp};
use brigade_kitchen::Command;
use brigade_kitchen::life::CommandResult;
use brigade_kitchen_run::{Check, Host, RunKind, Watch, check};
use brigade_workspace::{WorkspaceContext, gather};
use serde::Serialize;

use crate::receipt::{TaskDetails, TaskReceiptStore};

/// The cap of each log, in bytes.
const MAX_LOG: u64 = 1 << 20;

/// What receipts record of the object.
const RECORDED: [&str; 2] = ["event", "call_id"];

/// The tool in receipts of notifications.
const TOOL: &str = "notify";

/// What the program is given on standard input.
#[derive(Serialize)]
struct WaitingNotification<'c> {
    ts: Timestamp,
    event: &'static str,
    target: String,
    agent: &'c str,
    call_id: &'c CallId,
    tool_id: &'c str,
    arguments: &'c Json,
    effects: &'c [String],
    next: String,
}

impl<'c> WaitingNotification<'c> {
    fn new(context: &WorkspaceContext, call: &'c Call) -> WaitingNotification<'c> {
        WaitingNotification {
            ts: context.now(),
            event: "call_waiting",
            target: context.target(),
            agent: call.caller.agent().unwrap_or_default(),
            call_id: &call.id,
            tool_id: &call.tool_id,
            arguments: &call.args,
            effects: &call.contract.effects,
            next: context.spelled(NextStep::Approve(call.id.clone())).to_string(),
        }
    }
}

/// Starts the program of `[notify]` with one JSON object on standard input, as the kitchen starts its own: confined by
/// the policy, with a time limit and a receipt. Waits for its end. Without `[notify]`, does nothing.
///
/// # Errors
/// Returns why it was not started or failed.
pub fn notify(context: &Arc<WorkspaceContext>, call: &Call) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let config = gather::config(context).map_err(|error| text(&error))?;
    let (facts, policy) = (context.host(), &config.policy);
    let Some(notify) = config.gateway(&facts).and_then(|gateway| gateway.notify.as_ref()) else {
        return Ok(());
    };
    if let Some(problem) = facts.reviewed_notify(policy, notify).problem() {
        let review = context.spelled(NextStep::Trust(TOOL.to_owned()));
        return Err(format!("{problem}; `{review}` shows it and asks"));
    }
    let words: Vec<Json> = notify.command.words().iter().map(|word| Json::from(word.as_str())).collect();
    let command = Command::parse(&notify.command.to_string()).map_err(|error| text(&error))?;
    let secrets = gather::bound_secrets(context, policy);
    let environment = (*context.environment).clone();
    let host = Host::new(context.fs.clone(), context.clock.clone(), environment, secrets);
    let event = to_json(&WaitingNotification::new(context, call)).map_err(|error| text(&error))?;
    let event = host.redactor().redact_json(&event);
    let run = host.new_run().map_err(|error| text(&error))?;
    let random = run.as_str().rsplit('-').next().unwrap_or_default();
    let of_event = |member: &str| Some((member.to_owned(), event.get(member)?.clone()));
    let task = TaskDetails {
        execution: format!("{TOOL}-{random}").parse().expect("the end of a run id follows"),
        tool: TOOL.to_owned(),
        caller: context.caller.clone(),
        args: Json::object(RECORDED.iter().filter_map(|member| of_event(member))),
    };
    let host = host.keeping(Arc::new(TaskReceiptStore { workspace: context.clone(), task }));
    let watch = Watch::until(context.cancel.clone()).map_err(|error| text(&error))?;
    let outcome = check(&Check {
        host: &host,
        policy,
        // A person wrote the file that names it, which git does not track, and reviewed its bytes.
        approved: Some(
            Fingerprint::builder("brigade.notify.v1").json("command", &Json::from(words)).finish(),
        ),
        kind: RunKind::Notification,
        prd: None,
        task: None,
        command: &command,
        effects: notify.effects.as_deref(),
        timeout: Duration::from_secs(notify.timeout),
        directory: context.fs.root(),
        own: None,
        closed: &[],
        files: &BTreeMap::new(),
        input: (event.to_compact() + "\n").into_bytes(),
        max_log_bytes: MAX_LOG,
        watch: &watch,
    });
    let outcome = outcome.map_err(|error| text(&error))?;
    match outcome.result {
        CommandResult::Passed => Ok(()),
        CommandResult::TimedOut => Err(format!("it took more than {} s", notify.timeout)),
        CommandResult::NotStarted => Err(outcome.output.trim().to_owned()),
        CommandResult::Failed if outcome.interrupted => Ok(()),
        CommandResult::Failed => Err(match outcome.exit_code {
            Some(code) => format!("exit code {code}"),
            None => "it was ended by a signal".to_owned(),
        }),
    }
}
