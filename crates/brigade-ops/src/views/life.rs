//! The life of one call in order: who asked, what the plan said, what decided, what was bound, each run, and what
//! would happen now.

use brigade_call::{ApprovedBy, Call, CallStatus, Receipt};
use brigade_core::{IdPrefix, Report as _, Timestamp};
use brigade_queue::{FoundReceipt, View};
use brigade_workspace::WorkspaceContext;

use super::arguments_line;
use crate::calls::Calls;
use crate::error::Error;
use crate::report::{CallReport, LifeEvent, LifeReport};

/// The maximum number of runs of a call that are shown, and of bound files.
const MAX_RUNS: usize = 20;
const MAX_FILES: usize = 20;

/// Tells the life of a call. Changes nothing.
pub fn life(context: &WorkspaceContext, calls: &Calls, prefix: &IdPrefix) -> Result<LifeReport, Error> {
    let shown = calls.show(prefix)?;
    let view = context.queue().read()?;
    let call = &shown.call;
    let events = events(&view, call)?;
    Ok(LifeReport {
        schema: LifeReport::SCHEMA,
        target: context.target(),
        call_id: call.id.to_string(),
        short_id: view.short_call_id(call.id.as_str())?,
        tool_id: call.tool_id.clone(),
        status: call.status.as_str().to_owned(),
        events,
        now: now(&shown),
        next: shown.next.clone().map(|step| context.spelled(step)),
    })
}

/// Lists what happened to a call, oldest first.
pub(crate) fn events(view: &View<'_>, call: &Call) -> Result<Vec<LifeEvent>, Error> {
    let mut events = vec![asked(call), planned(call)];
    events.extend(judged(call));
    if let Some(approval) = &call.approval {
        events.push(approved(call, &approval.by));
        events.push(bound(call, call.reviewed_at));
    } else if call.reviewed_at.is_some() {
        events.push(declined(call));
    }
    for receipt in receipts(view, call)?.iter().rev() {
        events.push(started(receipt));
        events.push(ended(receipt));
    }
    if call.status == CallStatus::Running {
        let run = call.claim.as_ref().map_or("", |claim| claim.run_id.as_str());
        events.push(event(call.started_at, "started", format!("runs as {run}"), Vec::new()));
    }
    // A review after a run, such as the answer to a checkpoint, keeps its place. Other events have a fixed order.
    events.sort_by_key(|event| event.at.map_or(i64::MIN, Timestamp::unix_micros));
    let first = events.iter().position(|event| event.at.is_some()).unwrap_or(0);
    events.rotate_left(first);
    Ok(events)
}

fn event(at: Option<Timestamp>, kind: &str, text: String, details: Vec<String>) -> LifeEvent {
    LifeEvent { at, kind: kind.to_owned(), text, details }
}

fn asked(call: &Call) -> LifeEvent {
    let session = call.session.as_ref();
    let profiles = session.map(|session| session.profiles.join(", ")).unwrap_or_default();
    let details = [
        Some(arguments_line(&call.args))
            .filter(|text| !text.is_empty())
            .map(|text| format!("arguments: {text}")),
        session.map(|session| format!("session {}", session.id)),
        Some(profiles).filter(|names| !names.is_empty()).map(|names| format!("profiles: {names}")),
        call.replay.as_ref().map(|replay| format!("replays {}", replay.run_id)),
    ];
    let text = format!("{} asked for {}", call.caller, call.tool_id);
    event(call.created_at, "asked", text, details.into_iter().flatten().collect())
}

fn planned(call: &Call) -> LifeEvent {
    let text = match call.blockers.len() {
        0 => "the plan had no blockers".to_owned(),
        1 => "the plan had 1 blocker".to_owned(),
        count => format!("the plan had {count} blockers"),
    };
    let effects = Some(call.contract.effects.join(", ")).filter(|effects| !effects.is_empty());
    let effects = effects.map(|effects| format!("effects: {effects}"));
    let mode = call.contract.approval_mode.as_ref().map(|mode| format!("approval_mode = \"{mode}\""));
    let blockers = call.blockers.iter().map(ToString::to_string);
    event(call.created_at, "planned", text, effects.into_iter().chain(mode).chain(blockers).collect())
}

fn judged(call: &Call) -> Option<LifeEvent> {
    let judge = call.judge.as_ref()?;
    let verdict = if judge.passed { "passed it" } else { "did not pass it" };
    let details = judge.problem.iter().chain(&judge.reasoning).cloned().collect();
    Some(event(call.created_at, "judged", format!("the judge {} {verdict}", judge.worker), details))
}

fn approved(call: &Call, by: &ApprovedBy) -> LifeEvent {
    let text = match by {
        ApprovedBy::Rule { rule, file, line } => format!("the rule {rule} approved it ({file} line {line})"),
        ApprovedBy::Person { reviewer } => format!("a person approved it ({reviewer})"),
        ApprovedBy::NotNeeded { row } => {
            format!("no approval was needed (approval of the built-in tool: {row})")
        }
        ApprovedBy::Elicitation { agent } => format!("a person approved it in the client of {agent}"),
    };
    event(call.reviewed_at, "approved", text, Vec::new())
}

fn bound(call: &Call, at: Option<Timestamp>) -> LifeEvent {
    let Some(approval) = &call.approval else { return event(at, "bound", "nothing".to_owned(), Vec::new()) };
    let binding = &approval.binding;
    let program = binding.program.iter().map(|program| format!("program {}", program.path));
    let directory = binding.directory.iter().map(|directory| format!("directory {directory}"));
    let pin = binding.pin.iter().map(|_| "the server's listing of the tool".to_owned());
    let files = binding.files.keys().chain(binding.named.keys()).cloned();
    let mut details: Vec<String> = program.chain(directory).chain(pin).chain(files).collect();
    let more = details.len().saturating_sub(MAX_FILES);
    details.truncate(MAX_FILES);
    details.extend((0 < more).then(|| format!("{more} more")));
    let text = "the approval bound the arguments, the contract, the policy's decision".to_owned();
    let text = if details.is_empty() { text } else { text + ", and:" };
    event(at, "bound", text, details)
}

fn declined(call: &Call) -> LifeEvent {
    let (kind, text) = match &call.status {
        CallStatus::Rejected if call.withdrawn => ("rejected", "it was withdrawn"),
        CallStatus::Rejected => ("rejected", "a person rejected it"),
        CallStatus::Held => ("held", "a person put it on hold"),
        _ => ("reopened", "its approval was withdrawn"),
    };
    event(call.reviewed_at, kind, text.to_owned(), call.review_reason.iter().cloned().collect())
}

/// Returns the receipts of the runs of a call, newest first.
fn receipts(view: &View<'_>, call: &Call) -> Result<Vec<Receipt>, Error> {
    let mut next = call.claim.as_ref().map(|claim| claim.run_id.clone());
    let mut found: Vec<Receipt> = Vec::new();
    while let Some(run) = next.take().filter(|_| found.len() < MAX_RUNS) {
        if let Some(FoundReceipt::Good(stored)) = view.receipt(run.as_str())? {
            next = stored.receipt.original_run_id.clone().filter(|first| *first != run);
            found.push(stored.receipt);
        }
    }
    Ok(found)
}

fn started(receipt: &Receipt) -> LifeEvent {
    let mode = receipt.sandbox.as_ref().map(|sandbox| format!("sandbox: {}", sandbox.mode));
    let resumed = receipt.resumed_checkpoint_id.as_ref().map(|id| format!("resumed after {id}"));
    let details = resumed.into_iter().chain(mode).collect();
    event(receipt.started_at(), "started", format!("run {} started", receipt.id), details)
}

fn ended(receipt: &Receipt) -> LifeEvent {
    let took = receipt.duration_seconds.as_ref().map(|seconds| format!(" after {} s", seconds.as_f64()));
    let text = format!("it ended: {}{}", receipt.status.as_str(), took.unwrap_or_default());
    let code = receipt.exit_code.map(|code| format!("exit code {code}"));
    let checkpoints = receipt.checkpoint_ids.iter().flatten().map(|id| format!("checkpoint {id}"));
    let failure = receipt.failure.iter().cloned();
    event(receipt.completed_at, "ended", text, code.into_iter().chain(failure).chain(checkpoints).collect())
}

/// Says what would happen now.
fn now(shown: &CallReport) -> Vec<String> {
    let call = &shown.call;
    let blocked = |what: &str| {
        let because = shown.blocker_details.iter().map(|blocker| blocker.message.clone());
        let changed = shown.changed.iter().map(|changed| format!("changed since the approval: {changed}"));
        let reasons: Vec<String> = because.chain(changed).collect();
        match reasons.is_empty() {
            true => vec![format!("it can be {what}")],
            false => std::iter::once(format!("it cannot be {what}:")).chain(reasons).collect(),
        }
    };
    match &call.status {
        CallStatus::Pending | CallStatus::Held => blocked("approved"),
        CallStatus::Approved => blocked("run"),
        CallStatus::ResumePending => blocked("resumed"),
        CallStatus::Waiting => vec!["it waits for the answer to a checkpoint".to_owned()],
        CallStatus::Running => vec!["it is running".to_owned()],
        status => vec![format!("nothing: it is {}, and a call runs only once", status.as_str())],
    }
}

#[cfg(test)]
mod tests;
