//! Pending decisions, and the next command to type.

use std::ops::ControlFlow;

use brigade_call::{Call, CallStatus, CheckpointStatus};
use brigade_core::{NextStep, Report as _, Timestamp};
use brigade_doctor::{Area, InboxStatus, Issue, PendingWork};
use brigade_fs::RelPath;
use brigade_kitchen::show::DecisionRow;
use brigade_policy::{Failure, PolicyValidity};
use brigade_queue::Calls;
use brigade_runtime::Checks;
use brigade_workspace::{CATALOG, WorkspaceContext, gather, load};

use crate::calls::waiting::waiting_rows;
use crate::closeouts::closeouts;
use crate::discovery::remember::{Memory, read_remembered};
use crate::discovery::sync;
use crate::doctor::history::FoundCall;
use crate::doctor::shown::top_issue_of;
use crate::doctor::{Parts, Survey};
use crate::inbox::InboxStore;
use crate::report::{BriefReport, HistoryRow, WaitingRow};
use crate::views::history::{HistoryFilter, search};
use crate::work::inbox_counts;

/// The maximum number of failed runs.
const MAX_FAILURES: usize = 5;

/// The maximum number of waiting rows.
const MAX_WAITING: usize = 200;

/// Summarizes pending decisions, including those of the kitchen, oldest first. Changes and starts nothing, and runs no
/// health command.
///
/// A workspace with a kitchen needs no catalog. `questions` are the open questions of agents.
pub fn brief(
    context: &WorkspaceContext,
    kitchen_decisions: Vec<DecisionRow>,
    has_kitchen: bool,
    questions: Vec<WaitingRow>,
) -> Result<BriefReport, Failure> {
    let config = gather::config(context)?;
    let mut survey = Survey::read(context, &config, &Parts { health: Checks::Skip, ..Parts::all() })?;
    let found = survey.diagnose(context);
    let listed = closeouts(&*context.fs).fingerprints();
    let issues = brigade_doctor::quiet(found, listed.as_ref(), &context.target()).issues;
    let inbox = InboxStore::new(context).read()?;
    let queue = &survey.history;
    let count = |status: &str| queue.call_counts.get(status).copied().unwrap_or(0);
    let is_stale =
        |found: &&FoundCall| found.call.status == CallStatus::Approved && !found.changes.is_empty();
    let stale = queue.calls.iter().filter(is_stale).count() as u64;
    let oldest = oldest_pending(context)?;
    let checkpoint =
        queue.checkpoints.iter().filter(|found| found.stored.checkpoint.status == CheckpointStatus::Pending);
    let pending_checkpoints: Vec<_> = checkpoint.collect();
    // Only these can continue after an answer.
    let mut answerable = pending_checkpoints.iter().rev().filter(|found| found.blockers.is_empty());
    let runtimes = load::runtimes(context)?;
    let is_on_demand = |id: &str| runtimes.runtime(id).is_some_and(|runtime| runtime.on_demand);
    let is_down = |facts: &&brigade_runtime::RuntimeFacts| {
        facts.enabled && !facts.running() && !is_on_demand(&facts.id)
    };
    let top =
        |areas: &[Area]| top_issue_of(context, issues.iter().filter(|issue| areas.contains(&issue.area())));
    let pending_rows = inbox.rows().filter(|row| row.status == Some(InboxStatus::Pending)).count();
    let has_no_catalog = has_kitchen && !context.fs.exists(&RelPath::from_static(CATALOG))?;
    // Without a catalog, issues of tools do not decide the next step.
    let pressing: Vec<Issue> = match has_no_catalog {
        true => issues.iter().filter(|issue| issue.area() != Area::Catalog).cloned().collect(),
        false => issues.clone(),
    };
    let waiting = PendingWork {
        is_valid: has_no_catalog || config.catalog.is_valid(),
        is_policy_valid: config.policy.validity() != PolicyValidity::Invalid,
        oldest: oldest.as_ref(),
        checkpoint: answerable.next().map(|found| &found.stored.checkpoint.id),
        runnable: count("approved").saturating_sub(stale),
        pending_rows,
        issues: &pressing,
    };
    let (mut next, mut next_reason) = waiting.next();
    if has_no_catalog && next == NextStep::ListTools {
        next = NextStep::ListDecisions;
    }
    if let Some(oldest) = kitchen_decisions.first().filter(|_| waiting.is_valid) {
        next = NextStep::AnswerDecision(oldest.id.to_string());
        next_reason = "the kitchen waits for a decision".to_owned();
    }
    if let Some(oldest) = questions.first() {
        next = match oldest.choices.is_empty() {
            true => NextStep::AnswerByText(oldest.id.clone()),
            false => NextStep::AnswerByChoice(oldest.id.clone()),
        };
        next_reason = "an agent waits for an answer".to_owned();
    }
    let checkpoints = pending_checkpoints.iter().map(|found| &found.stored.checkpoint);
    let mut waiting = waiting_rows(context, checkpoints, &kitchen_decisions, questions)?;
    waiting.truncate(MAX_WAITING);
    Ok(BriefReport {
        schema: BriefReport::SCHEMA,
        target: context.target(),
        valid: config.catalog.is_valid(),
        tool_count: load::enabled(&config.catalog).len(),
        pending_approval_count: count("pending"),
        oldest_pending_call: oldest.as_ref().map(|call| Box::new(call.clone().shown(context))),
        held_count: count("held"),
        approved_count: count("approved"),
        stale_approval_count: stale,
        pending_checkpoint_count: pending_checkpoints.len(),
        call_counts: queue.call_counts.clone(),
        top_tool_issue: top(&[Area::Catalog, Area::Tool, Area::State]),
        top_projection_issue: top(&[Area::Projection]),
        top_policy_issue: top(&[Area::Policy]),
        top_runtime_issue: top(&[Area::Runtime]),
        top_call_issue: top(&[Area::Call]),
        top_run_issue: top(&[Area::Run]),
        top_checkpoint_issue: top(&[Area::Checkpoint]),
        top_kitchen_issue: top(&[Area::Kitchen]),
        issue_count: issues.len(),
        runtimes_down: survey.runtime_facts().iter().filter(is_down).map(|facts| facts.id.clone()).collect(),
        recent_failures: recent_failures(context)?,
        machine_changes: machine_changes(context)?,
        interrupted_prds: survey.interrupted_prds(),
        inbox: inbox_counts(&inbox),
        kitchen_decisions,
        waiting,
        next_command: context.spelled(next),
        next_reason,
    })
}

/// Lists what agent programs have that the cache does not know. Without a cache, nothing is compared.
fn machine_changes(context: &WorkspaceContext) -> Result<Vec<String>, Failure> {
    if !matches!(read_remembered(&*context.fs, &load::masks_of(context))?, Memory::Found(_)) {
        return Ok(Vec::new());
    }
    let found = sync(context, true)?;
    let changed: Vec<String> = found.changed.into_iter().map(|entry| entry.id).collect();
    let rows = [("new", found.added), ("changed", changed), ("gone", found.removed)];
    Ok(rows
        .into_iter()
        .flat_map(|(what, ids)| ids.into_iter().map(move |id| format!("{what} {id}")))
        .collect())
}

/// Lists the newest runs of the last day that failed.
fn recent_failures(context: &WorkspaceContext) -> Result<Vec<HistoryRow>, Failure> {
    let day_ago = context.now().unix_micros() - 24 * 3_600 * 1_000_000;
    let filter = HistoryFilter {
        since: Some(Timestamp::from_unix_micros(day_ago)),
        failed: true,
        limit: MAX_FAILURES,
        ..HistoryFilter::default()
    };
    Ok(search(context, &filter)?.runs)
}

fn oldest_pending(context: &WorkspaceContext) -> Result<Option<Call>, Failure> {
    let mut oldest = None;
    context.queue().read()?.for_each_call(&Calls::Of(CallStatus::Pending), &mut |stored| {
        oldest = Some(stored.call);
        ControlFlow::Break(())
    })?;
    Ok(oldest)
}
