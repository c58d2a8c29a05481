//! Diagnoses calls, runs and checkpoints.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use brigade_call::{Call, CallStatus, Checkpoint, CheckpointStatus, RunStatus};
use brigade_catalog::Family;
use brigade_core::text::{escape_terminal, short};
use brigade_core::{Fingerprint, NextStep, Place, Timestamp};
use brigade_redact::Redactor;

use crate::snapshot::request_fingerprint;
use crate::{
    AgentFailures, BrokenFile, CallState, CheckpointState, Issue, IssueType, RunState, RunnerState, Snapshot,
};

/// The maximum length of the reason of a failure, in characters.
const REASON: usize = 300;

/// How long a call or a checkpoint may wait for a person.
const MAX_WAIT: Duration = Duration::from_secs(72 * 60 * 60);

/// The usual maximum duration of a call.
const MAX_RUN: Duration = Duration::from_secs(2 * 60 * 60);

/// How long a failure for an agent is an issue.
const RECENT_FAILURE: Duration = Duration::from_secs(24 * 60 * 60);

/// When each request last succeeded.
type Successes = HashMap<Fingerprint, Timestamp>;

pub(super) fn calls(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    let unreadable = snapshot.unreadable.iter();
    found.extend(unreadable.map(|broken| of_broken(IssueType::UnreadableLines, broken)));
    // Quarantines of the kitchen's journals are issues of their PRDs.
    let is_of_journal = |file: &String| {
        snapshot.kitchen.is_some_and(|kitchen| kitchen.prds.iter().any(|prd| prd.set_aside.contains(file)))
    };
    for quarantine in snapshot.quarantines.iter().filter(|found| !is_of_journal(&found.file)) {
        let file = &quarantine.file;
        let detail = match quarantine.lines {
            0 => "a file that Brigade did not write was set aside".to_owned(),
            1 => "1 line could not be read and was set aside".to_owned(),
            count => format!("{count} lines could not be read and were set aside"),
        };
        let issue = Issue::new(IssueType::QuarantinedLines, detail);
        let evidence = quarantine.lines.to_string();
        found.push(
            issue.subject(file.as_str()).evidence(evidence).at(Place::file(file)).object(file.as_str()),
        );
    }
    let mut successes = Successes::new();
    if snapshot.calls.iter().any(|state| has_failed(&state.call.status)) {
        for call in snapshot.calls.iter().map(|state| state.call) {
            if let (CallStatus::Completed, Some(at)) = (&call.status, call.completed_at.or(call.created_at)) {
                succeeded(&mut successes, request_fingerprint(&call.tool_id, &call.args), at);
            }
        }
    }
    let (moved, others): (Vec<&CallState<'_>>, Vec<_>) =
        snapshot.calls.iter().partition(|state| state.is_only_moved);
    // The run of a call that failed says more.
    let of_runs = snapshot.runs.iter().filter(|run| is_failed_run(run)).map(|run| run.call_id.as_str());
    let of_runs: HashSet<&str> = of_runs.collect();
    for state in others {
        let is_explained = has_failed(&state.call.status) && of_runs.contains(state.call.id.as_str());
        if !is_explained && !is_old(snapshot, state.call) {
            call(state, snapshot.now, &successes, found);
        }
    }
    moved_programs(&moved, found);
}

/// Reports approved calls for which `PATH` finds another program, once for each program.
fn moved_programs(moved: &[&CallState<'_>], found: &mut Vec<Issue>) {
    let mut by_program: BTreeMap<&[String], Vec<&Call>> = BTreeMap::new();
    for state in moved {
        by_program.entry(&state.changes).or_default().push(state.call);
    }
    for (changes, calls) in by_program {
        let why = changes.join("; ");
        let detail = match calls.len() {
            1 => format!("no longer what was approved: {why}"),
            count => format!("{count} approved calls are no longer what was approved: {why}"),
        };
        found.push(of_call(IssueType::CallStaleApproved, calls[0], detail).evidence(why));
    }
}

/// Returns whether a failure or a rejection of an agent's call is too old to be an issue.
fn is_old(snapshot: &Snapshot<'_>, call: &Call) -> bool {
    let is_over = has_failed(&call.status) || call.status == CallStatus::Rejected;
    let at = call.completed_at.or(call.reviewed_at).or(call.created_at);
    is_over && call.caller.agent().is_some() && is_aged(snapshot, at)
}

/// Returns whether something that failed for an agent at this time is too old to be an issue.
fn is_aged(snapshot: &Snapshot<'_>, at: Option<Timestamp>) -> bool {
    snapshot.failures == AgentFailures::Recent && at.is_some_and(|at| RECENT_FAILURE < snapshot.now.since(at))
}

/// Returns whether a run failed in a way that is an issue of the run.
fn is_failed_run(run: &RunState) -> bool {
    run.timed_out || matches!(run.status, RunStatus::TimedOut | RunStatus::Failed)
}

fn has_failed(status: &CallStatus) -> bool {
    matches!(status, CallStatus::Failed | CallStatus::TimedOut | CallStatus::Interrupted)
}

fn succeeded(successes: &mut Successes, asks: Fingerprint, at: Timestamp) {
    let last = successes.entry(asks).or_insert(at);
    *last = at.max(*last);
}

/// Returns whether the same request succeeded later.
fn is_made_good(successes: &Successes, asks: &Fingerprint, at: Option<Timestamp>) -> bool {
    successes.get(asks).is_some_and(|success| at.is_none_or(|at| at < *success))
}

fn of_call(kind: IssueType, call: &Call, detail: String) -> Issue {
    Issue {
        tool_id: Some(call.tool_id.clone()),
        family: Some(call.family.as_str().to_owned()),
        call_id: Some(call.id.as_str().to_owned()),
        ..Issue::new(kind, detail)
    }
}

fn call(state: &CallState<'_>, now: Timestamp, successes: &Successes, found: &mut Vec<Issue>) {
    let call = state.call;
    let mut say = |kind: IssueType, detail: String| found.push(of_call(kind, call, detail));
    let since = |at: Option<Timestamp>, limit: Duration| at.filter(|at| limit < now.since(*at));
    match &call.status {
        CallStatus::Pending => {
            if call.is_approved_elsewhere() {
                say(IssueType::NotApprovedHere, "its approval was not given on this host".to_owned());
            }
            if let Some(at) = since(call.created_at, MAX_WAIT) {
                say(IssueType::CallStalePending, format!("waits for a decision since {at}"));
            }
            if !call.blockers.is_empty() {
                let count = call.blockers.len();
                let reasons = if count == 1 { "reason" } else { "reasons" };
                say(IssueType::CallBlocked, format!("cannot be approved for {count} {reasons}"));
            }
        }
        CallStatus::Approved => {
            if call.approval.is_none() {
                let detail = "approved without binding the program's bytes, so it must be approved again";
                say(IssueType::CallStaleApproved, detail.to_owned());
            } else if !state.changes.is_empty() {
                let issue = of_call(
                    IssueType::CallStaleApproved,
                    call,
                    format!("no longer what was approved: {}", state.changes.join("; ")),
                );
                found.push(issue.evidence(state.changes.join("; ")));
            }
        }
        CallStatus::Running => {
            if state.runner == RunnerState::Gone {
                say(IssueType::CallInterrupted, "its runner is gone, and its effects are unknown".to_owned());
            } else if let Some(at) = since(call.started_at, MAX_RUN) {
                say(IssueType::CallRunningStale, format!("runs since {at}"));
            }
        }
        status @ (CallStatus::Failed | CallStatus::TimedOut | CallStatus::Interrupted) => {
            let at = call.completed_at.or(call.created_at);
            if is_made_good(successes, &request_fingerprint(&call.tool_id, &call.args), at) {
                return;
            }
            match (status, call.exit_code) {
                // A program that was ended has an exit code.
                (CallStatus::Interrupted, Some(_)) => {
                    let detail = "was interrupted before it was done; the receipt says how it ended";
                    say(IssueType::CallInterrupted, detail.to_owned());
                }
                (CallStatus::Interrupted, None) => {
                    let detail = "its runner ended, and its effects are unknown";
                    say(IssueType::CallInterrupted, detail.to_owned());
                }
                (CallStatus::TimedOut, _) => {
                    say(IssueType::CallFailed, "was ended at its timeout".to_owned());
                }
                (_, Some(0)) => say(
                    IssueType::CallFailed,
                    "failed although its program ended with exit code 0; the receipt says why".to_owned(),
                ),
                // The server of an MCP tool is ended after each call, so its exit code means nothing.
                (_, Some(_)) if call.family == Family::Mcp => {
                    say(IssueType::CallFailed, "failed; the receipt says why".to_owned());
                }
                (_, Some(code)) => say(IssueType::CallFailed, format!("failed with exit code {code}")),
                (_, None) => say(IssueType::CallFailed, "failed".to_owned()),
            }
        }
        CallStatus::Held => {
            say(IssueType::CallHeld, with_reason("was put aside", call.review_reason.as_deref()))
        }
        CallStatus::Rejected => {
            say(IssueType::CallRejected, with_reason("was rejected", call.review_reason.as_deref()));
        }
        CallStatus::Waiting | CallStatus::ResumePending | CallStatus::Completed | CallStatus::Other(_) => {}
    }
}

fn of_broken(kind: IssueType, broken: &BrokenFile) -> Issue {
    Issue::new(kind, broken.problem.as_str())
        .subject(broken.file.as_str())
        .evidence(broken.problem.as_str())
        .at(Place::file(&broken.file))
        .object(broken.file.as_str())
}

pub(super) fn runs(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    for broken in &snapshot.broken_receipts {
        found.push(Issue { run_id: broken.id.clone(), ..of_broken(IssueType::RunReceiptInvalid, broken) });
    }
    for broken in &snapshot.ledger {
        found.push(Issue { run_id: broken.id.clone(), ..of_broken(IssueType::RunLedgerBroken, broken) });
    }
    let mut successes = Successes::new();
    for run in snapshot.runs {
        if let Some(at) = run.started_at.filter(|_| run.status.is_success()) {
            succeeded(&mut successes, run.asks, at);
        }
    }
    // Only the newest failure of a request is an issue. Runs are sorted newest first.
    let mut failed: HashSet<Fingerprint> = HashSet::new();
    for run in snapshot.runs {
        let is_counted = is_failed_run(run) && run.is_of_agent && !failed.insert(run.asks);
        let is_old = run.is_of_agent && is_aged(snapshot, run.started_at);
        if !is_counted && !is_old {
            run_issues(run, &successes, found);
        }
    }
}

fn run_issues(run: &RunState, successes: &Successes, found: &mut Vec<Issue>) {
    let of_run = |kind: IssueType, detail: String| Issue {
        tool_id: Some(run.tool_id.clone()),
        family: Some(run.family.as_str().to_owned()),
        call_id: Some(run.call_id.to_string()),
        run_id: Some(run.id.to_string()),
        ..Issue::new(kind, detail)
    };
    if !is_made_good(successes, &run.asks, run.started_at) {
        if run.timed_out || run.status == RunStatus::TimedOut {
            found.push(of_run(IssueType::RunTimedOut, "was ended at its timeout".to_owned()));
        } else if run.status == RunStatus::Failed {
            let (kind, what) = failure(run);
            found.push(of_run(kind, failed(run, what)));
        }
    }
    if !run.missing_logs.is_empty() {
        let logs = run.missing_logs.join(" and ");
        found.push(of_run(IssueType::RunMissingLog, format!("the log of {logs} is gone")).evidence(logs));
    }
    if !run.replay_blockers.is_empty() {
        let reasons = run.replay_blockers.join("; ");
        found.push(
            of_run(IssueType::RunReplayBlocked, format!("cannot be replayed: {reasons}")).evidence(reasons),
        );
    }
}

/// Returns the kind of a failed run, and a sentence.
fn failure(run: &RunState) -> (IssueType, &'static str) {
    match run.mcp_fault.as_deref() {
        Some("malformed_message" | "oversized_message" | "unsupported_answer") => {
            (IssueType::McpMalformedResponse, "failed, because its server gave a malformed response")
        }
        Some("tool_not_listed" | "duplicate_tool" | "list_failed") => {
            (IssueType::McpToolMismatch, "failed, because the list of tools of its server does not fit")
        }
        Some("pin_changed") => {
            (IssueType::McpToolMismatch, "was not called, because its server changed the tool")
        }
        Some(_) | None if run.family == Family::Mcp => (IssueType::McpExecutionFailed, "failed"),
        Some(_) | None => (IssueType::RunFailed, "failed"),
    }
}

/// Returns the sentence that a run failed, with the reason from its receipt.
fn failed(run: &RunState, what: &str) -> String {
    match run.failure.as_deref().map(|why| short(why, REASON)).filter(|why| !why.is_empty()) {
        Some(why) => format!("{what}: {}", escape_terminal(&why)),
        None => match run.exit_code {
            Some(code) if code != 0 && run.mcp_fault.is_none() => format!("{what} with exit code {code}"),
            Some(_) | None => what.to_owned(),
        },
    }
}

/// Describes a person's decision and its reason.
fn with_reason(what: &str, reason: Option<&str>) -> String {
    // v0.30 stores reasons exactly as they were typed.
    let reason = reason.map(|reason| short(&Redactor::new(&[]).for_output().redact_str(reason), REASON));
    match reason.filter(|reason| !reason.is_empty()) {
        Some(reason) => format!("{what}: {}", escape_terminal(&reason)),
        None => what.to_owned(),
    }
}

pub(super) fn checkpoints(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    for broken in &snapshot.broken_checkpoints {
        let issue = of_broken(IssueType::CheckpointInvalid, broken);
        // A directory or a device cannot be read.
        let is_none = broken.problem.starts_with("it is not a file");
        let other_fix = match (broken.is_restorable, is_none) {
            (true, _) => Some(NextStep::CompactState),
            (false, true) => Some(NextStep::ListCheckpoints),
            (false, false) => None,
        };
        found.push(Issue { checkpoint_id: broken.id.clone(), other_fix, ..issue });
    }
    for state in &snapshot.checkpoints {
        found.extend(checkpoint(state, snapshot.now));
    }
}

fn checkpoint(state: &CheckpointState<'_>, now: Timestamp) -> Vec<Issue> {
    let checkpoint: &Checkpoint = state.checkpoint;
    let of_checkpoint = |kind: IssueType, detail: String| Issue {
        tool_id: Some(checkpoint.tool_id.clone()),
        call_id: Some(checkpoint.call_id.to_string()),
        run_id: Some(checkpoint.run_id.clone()),
        checkpoint_id: Some(checkpoint.id.as_str().to_owned()),
        ..Issue::new(kind, detail)
    };
    let mut found = Vec::new();
    match &checkpoint.status {
        CheckpointStatus::Pending | CheckpointStatus::Approved => {
            if let Some(at) = checkpoint.expires_at.filter(|_| checkpoint.is_expired(now)) {
                found.push(of_checkpoint(IssueType::CheckpointExpired, format!("expired at {at}")));
            }
            if let Some(at) = checkpoint.created_at.filter(|at| MAX_WAIT < now.since(*at)) {
                found.push(of_checkpoint(IssueType::CheckpointStale, format!("waits since {at}")));
            }
            if !state.blockers.is_empty() {
                let reasons = state.blockers.join("; ");
                let issue =
                    of_checkpoint(IssueType::CheckpointBlocked, format!("cannot be resumed: {reasons}"));
                found.push(issue.evidence(reasons));
            }
        }
        CheckpointStatus::Rejected => {
            let detail = with_reason("was rejected", checkpoint.review_reason.as_deref());
            found.push(of_checkpoint(IssueType::CheckpointRejected, detail));
        }
        CheckpointStatus::Failed => {
            found.push(of_checkpoint(IssueType::CheckpointFailed, "its resume failed".to_owned()));
        }
        CheckpointStatus::Resumed | CheckpointStatus::Other(_) => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use brigade_call::Receipt;
    use brigade_core::Json;

    use super::*;

    #[track_caller]
    fn check(fault: &str, why: &str, kind: IssueType, expect: &str) {
        let run = ["id", "call_id", "tool_id", "status"].map(|key| (key, Json::from("failed")));
        let why = [("family", Json::from("mcp")), ("mcp_error_kind", fault.into()), ("failure", why.into())];
        let receipt = Receipt::from_json(Json::object(run.into_iter().chain(why))).unwrap();
        let run = RunState::from_receipt(&receipt);
        let (found, what) = failure(&run);
        assert_eq!((found, failed(&run, what).as_str()), (kind, expect));
    }

    #[test]
    fn the_reason_of_a_failed_run_is_reported() {
        let execution = IssueType::McpExecutionFailed;
        let malformed = IssueType::McpMalformedResponse;
        let mismatch = IssueType::McpToolMismatch;
        check("tool_error", "it said: no\nsuch\u{1b}", execution, "failed: it said: no such\\u{1b}");
        check("malformed_message", "x", malformed, "failed, because its server gave a malformed response: x");
        let list = "failed, because the list of tools of its server does not fit: x";
        check("tool_not_listed", "x", mismatch, list);
        check("pin_changed", "x", mismatch, "was not called, because its server changed the tool: x");
        check("tool_error", "", execution, "failed");
    }

    #[test]
    fn failed_runs_without_a_reason_show_the_exit_code() {
        let run = ["id", "call_id", "tool_id", "status"].map(|key| (key, Json::from("failed")));
        let code = [("exit_code", Json::from(3_i64))];
        let receipt = Receipt::from_json(Json::object(run.into_iter().chain(code))).unwrap();
        let run = RunState::from_receipt(&receipt);
        assert_eq!(failed(&run, failure(&run).1), "failed with exit code 3");
    }

    /// Issue 45: agents go on after a failure, so an old one needs no person, and equal ones are one issue.
    #[test]
    fn old_and_equal_failures_of_agents_are_left_out() {
        let run = |id: &str, caller: &str, started_at: &str| {
            let members = [("id", id), ("call_id", id), ("tool_id", "t"), ("status", "failed")];
            let about = [("family", "script"), ("caller", caller), ("started_at", started_at)];
            let members = members.into_iter().chain(about).map(|(key, value)| (key, Json::from(value)));
            RunState::from_receipt(&Receipt::from_json(Json::object(members)).unwrap())
        };
        let check = |runs: &[RunState], failures: AgentFailures, expect: &[&str]| {
            let now = "2026-11-29T12:00:00Z".parse().unwrap();
            let found = crate::diagnose(Snapshot { runs, failures, ..Snapshot::new(now) });
            let ids: Vec<&str> = found.iter().filter_map(|issue| issue.run_id.as_deref()).collect();
            assert_eq!(ids, expect);
        };
        let old = [
            run("a", "agent:codex", "2026-11-28T11:00:00Z"),
            run("b", "command-line", "2026-11-27T11:00:00Z"),
        ];
        check(&old, AgentFailures::Recent, &["b"]);
        check(&old, AgentFailures::All, &["a", "b"]);
        let equal = ["c", "d"].map(|id| run(id, "agent:codex", "2026-11-29T11:00:00Z"));
        check(&equal, AgentFailures::Recent, &["c"]);
    }

    #[test]
    fn a_decision_is_reported_without_secrets() {
        assert_eq!(with_reason("was rejected", Some(" not\nnow ")), "was rejected: not now");
        assert_eq!(with_reason("was rejected", None), "was rejected");
        let masked = with_reason("was rejected", Some("password=hunter2-4711"));
        assert!(!masked.contains("hunter2"), "{masked}");
    }
}
