//! Lists everything that waits for a person, from all stores.

use std::ops::ControlFlow;

use brigade_call::{Call, CallStatus, Checkpoint, CheckpointStatus};
use brigade_core::text::short;
use brigade_core::{Hint, Json, NextStep};
use brigade_kitchen::show::DecisionRow;
use brigade_policy::Failure;
use brigade_queue::Calls;

use crate::report::{WaitingKind, WaitingRow};
use brigade_workspace::WorkspaceContext;

/// The tool whose calls are plans.
const EXIT_PLAN: &str = "session.exit_plan";

/// Lists everything that waits, oldest first. Stores nothing.
pub fn waiting(
    context: &WorkspaceContext,
    decisions: &[DecisionRow],
    questions: Vec<WaitingRow>,
) -> Result<Vec<WaitingRow>, Failure> {
    let checkpoints = context.queue().read()?.checkpoints()?.checkpoints;
    let pending = checkpoints
        .iter()
        .map(|stored| &stored.checkpoint)
        .filter(|checkpoint| checkpoint.status == CheckpointStatus::Pending);
    waiting_rows(context, pending, decisions, questions)
}

/// Lists the same with checkpoints that were already read.
pub(crate) fn waiting_rows<'a>(
    context: &WorkspaceContext,
    checkpoints: impl Iterator<Item = &'a Checkpoint>,
    decisions: &[DecisionRow],
    questions: Vec<WaitingRow>,
) -> Result<Vec<WaitingRow>, Failure> {
    let mut rows = questions;
    context.queue().read()?.for_each_call(&Calls::Of(CallStatus::Pending), &mut |stored| {
        rows.push(of_call(&stored.call));
        ControlFlow::Continue(())
    })?;
    rows.extend(checkpoints.map(of_checkpoint));
    rows.extend(decisions.iter().map(of_decision));
    rows.sort_by(|left, right| left.created_at.cmp(&right.created_at).then_with(|| left.id.cmp(&right.id)));
    for row in &mut rows {
        row.next = context.spelled(row.next.clone());
    }
    Ok(rows)
}

pub(crate) fn of_call(call: &Call) -> WaitingRow {
    let plan = call.args.get("plan").and_then(Json::as_str).filter(|_| call.tool_id == EXIT_PLAN);
    let text = match plan {
        Some(plan) => plan.to_owned(),
        None => format!("{} {}", call.tool_id, call.args.to_compact()),
    };
    WaitingRow {
        id: call.id.to_string(),
        kind: if plan.is_some() { WaitingKind::Plan } else { WaitingKind::Approval },
        who: WaitingRow::who(
            &call.caller.as_record(),
            call.session.as_ref().map(|session| session.id.as_str()),
        ),
        text: short(&text, WaitingRow::TEXT),
        choices: vec!["approve".to_owned(), "reject".to_owned()],
        created_at: call.created_at,
        next: Hint::from(NextStep::ShowCall(call.id.clone())),
    }
}

fn of_checkpoint(checkpoint: &Checkpoint) -> WaitingRow {
    let text = [&checkpoint.prompt, &checkpoint.requested_action, &checkpoint.reason];
    let text = text.into_iter().flatten().next().map_or("", String::as_str);
    WaitingRow {
        id: checkpoint.id.to_string(),
        kind: WaitingKind::Checkpoint,
        who: checkpoint.tool_id.clone(),
        text: short(text, WaitingRow::TEXT),
        choices: checkpoint.choices.clone(),
        created_at: checkpoint.created_at,
        next: Hint::from(NextStep::ShowCheckpoint(checkpoint.id.clone())),
    }
}

fn of_decision(decision: &DecisionRow) -> WaitingRow {
    let about = decision.task.as_ref().map_or_else(String::new, |task| format!(" {task}"));
    WaitingRow {
        id: decision.id.to_string(),
        kind: WaitingKind::Decision,
        who: format!("kitchen {}{about}", decision.prd),
        text: short(&decision.context, WaitingRow::TEXT),
        choices: decision.choices.clone(),
        created_at: Some(decision.created_at),
        next: Hint::from(NextStep::AnswerDecision(decision.id.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::Timestamp;

    use super::*;
    use crate::testing::{CallBench, RunEnding};

    fn call(tool: &str, args: &str, more: &str) -> Call {
        let text = format!(
            r#"{{"id": "call-1", "status": "pending", "tool_id": "{tool}", "args": {args},
                "created_at": "2026-01-02T00:00:00Z", "caller": "agent:ann"{more}}}"#
        );
        Call::from_record(Json::parse(&text).unwrap()).unwrap().0
    }

    #[test]
    fn a_call_is_an_approval_or_a_plan() {
        let plan = call(EXIT_PLAN, r#"{"plan": "First this."}"#, "");
        assert_eq!((of_call(&plan).kind, of_call(&plan).text.as_str()), (WaitingKind::Plan, "First this."));
        // Another tool may have an argument of this name, and a plan is a text.
        for (tool, args) in [("tool", r#"{"plan": "x"}"#), (EXIT_PLAN, "{}"), (EXIT_PLAN, r#"{"plan": 1}"#)] {
            let row = of_call(&call(tool, args, ""));
            assert_eq!(row.kind, WaitingKind::Approval);
            assert!(row.text.starts_with(&format!("{tool} {{")), "{row:?}");
        }
        let row = of_call(&plan);
        assert_eq!((row.who.as_str(), row.choices.join(" ").as_str()), ("agent:ann", "approve reject"));
        assert_eq!(row.next.step(), Some(&NextStep::ShowCall("call-1".parse().unwrap())));
    }

    #[test]
    fn a_long_text_is_cut() {
        let row = of_call(&call(EXIT_PLAN, &format!(r#"{{"plan": "{}"}}"#, "x".repeat(1_000)), ""));
        assert_eq!(row.text.chars().count(), WaitingRow::TEXT);
    }

    #[test]
    fn a_checkpoint_shows_its_prompt_or_what_it_has() {
        let checkpoint = |prompt: Option<&str>, action: Option<&str>, reason: Option<&str>| {
            let mut made = Checkpoint::new("ask".parse().unwrap(), "call-1".parse().unwrap(), "run-1");
            made.prompt = prompt.map(str::to_owned);
            made.requested_action = action.map(str::to_owned);
            made.reason = reason.map(str::to_owned);
            of_checkpoint(&made).text
        };
        assert_eq!(checkpoint(Some("prompt"), Some("action"), Some("reason")), "prompt");
        assert_eq!(checkpoint(None, Some("action"), Some("reason")), "action");
        assert_eq!(checkpoint(None, None, Some("reason")), "reason");
        assert_eq!(checkpoint(None, None, None), "");
    }

    #[test]
    fn only_pending_things_wait_and_the_oldest_is_first() {
        let bench = CallBench::new("");
        bench.ran("{}", RunEnding::waiting(&[("one", &["yes"]), ("two", &["yes"])]));
        bench.checkpoints().approve(&"one".parse().unwrap(), "yes").unwrap();
        let call = bench.queue(r#"{"a":1}"#);
        let held = bench.queue(r#"{"a":2}"#);
        bench.calls.hold(&held, "later").unwrap();
        let old = Timestamp::from_unix_micros(0);
        let question = WaitingRow::question("q-1".to_owned(), ("ann", "s-1"), "Go on?", Vec::new(), old);
        let rows = waiting(&bench.context, &[], vec![question]).unwrap();
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["q-1", "two", call.as_str()]);
    }
}
