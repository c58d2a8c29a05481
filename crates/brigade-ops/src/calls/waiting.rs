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
