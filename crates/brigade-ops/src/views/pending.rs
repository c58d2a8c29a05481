//! Everything that waits for a person, one row for each decision.

use std::collections::HashMap;
use std::ops::ControlFlow;

use brigade_call::{Call, CallStatus};
use brigade_core::text::short;
use brigade_core::{IdPrefix, Json, Report as _};
use brigade_kitchen::show::DecisionRow;
use brigade_policy::{Failure, RiskLevel, risk_of};
use brigade_queue::{Calls, View, shortened};
use brigade_workspace::{WorkspaceContext, load};

use super::numbers::{ShownThing, number_rows};
use super::{arguments_line, who};
use crate::calls::waiting::{of_call, waiting_rows};
use crate::report::{PendingReport, PendingRow, WaitingItem, WaitingKind, WaitingReport, WaitingRow};

/// A row that is not numbered yet, with its calls or other things as they are now.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingGroup {
    /// The row, with number 0.
    pub row: PendingRow,
    /// The things.
    pub things: Vec<ShownThing>,
    request: Option<String>,
}

/// A call that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: CallStatus,
    /// Its revision.
    pub revision: u64,
}

/// Lists the calls that are not finished.
pub(crate) fn open_calls(context: &WorkspaceContext) -> Result<Vec<OpenCall>, Failure> {
    let (view, mut open) = (context.queue().read()?, Vec::new());
    for status in CallStatus::ALL.iter().filter(|status| !status.is_finished()) {
        view.for_each_call(&Calls::Of(status.clone()), &mut |stored| {
            let (id, status) = (stored.call.id.to_string(), stored.call.status);
            open.push(OpenCall { id, status, revision: stored.revision });
            ControlFlow::Continue(())
        })?;
    }
    Ok(open)
}

/// Whether equal requests of a caller are one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// Equal requests are one group.
    Equal,
    /// Each request is a group.
    None,
}

/// Lists everything that waits, oldest first: calls that are pending or held, checkpoints, decisions of the kitchen and
/// questions of agents.
///
/// Reads only what waits, however long the history is. Stores nothing.
pub(crate) fn waiting_groups(
    context: &WorkspaceContext,
    grouping: Grouping,
    decisions: &[DecisionRow],
    questions: Vec<WaitingRow>,
) -> Result<Vec<WaitingGroup>, Failure> {
    let mut groups: Vec<WaitingGroup> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let view = context.queue().read()?;
    for status in [CallStatus::Pending, CallStatus::Held] {
        view.for_each_call(&Calls::Of(status), &mut |stored| {
            let request = request_of(&stored.call);
            let thing = ShownThing { id: stored.call.id.to_string(), revision: stored.revision };
            if let Some(place) = known.get(&request).filter(|_| grouping == Grouping::Equal) {
                groups[*place].row.ids.push(thing.id.clone());
                groups[*place].things.push(thing);
            } else {
                known.insert(request.clone(), groups.len());
                let row = row_of_call(context, &stored.call);
                groups.push(WaitingGroup { row, things: vec![thing], request: Some(request) });
            }
            ControlFlow::Continue(())
        })?;
    }
    let open = view.open_checkpoints()?;
    let others = waiting_rows(context, open.iter(), decisions, questions)?;
    let others = others.into_iter().filter(|row| !is_of_call(row.kind));
    groups.extend(others.map(|row| WaitingGroup {
        things: vec![ShownThing { id: row.id.clone(), revision: 0 }],
        row: row_of_other(row),
        request: None,
    }));
    groups.sort_by(|left, right| {
        let key = |group: &WaitingGroup| (group.row.created_at, group.row.ids.first().cloned());
        key(left).cmp(&key(right))
    });
    // Decisions and questions are found among what waits. The names of checkpoints are chosen by their scripts.
    let others: Vec<String> = groups.iter().flat_map(|group| group.row.ids.clone()).collect();
    for row in groups.iter_mut().map(|group| &mut group.row) {
        let id = row.ids.first().map_or("", String::as_str);
        row.short_id = match row.kind {
            WaitingKind::Approval | WaitingKind::Plan => view.short_call_id(id)?,
            WaitingKind::Decision | WaitingKind::Question => shortened(id, &others),
            WaitingKind::Checkpoint => id.to_owned(),
        };
    }
    Ok(groups)
}

fn is_of_call(kind: WaitingKind) -> bool {
    matches!(kind, WaitingKind::Approval | WaitingKind::Plan)
}

/// Lists what waits with its risk: riskiest first, then oldest.
pub(crate) fn waiting_items(
    context: &WorkspaceContext,
    groups: Vec<WaitingGroup>,
) -> Result<WaitingReport, Failure> {
    let catalog = load::catalog(context)?;
    let risk = |tool: &str, effects: &[String]| {
        risk_of(load::named(&catalog, tool).and_then(|tool| tool.risk_class), effects)
    };
    let view = context.queue().read()?;
    let mut report = WaitingReport {
        schema: WaitingReport::SCHEMA,
        target: context.target(),
        waiting_count: groups.len(),
        ..WaitingReport::default()
    };
    view.for_each_call(&Calls::Of(CallStatus::Approved), &mut |stored| {
        if stored.call.caller.agent().is_none() {
            let row = row_of_call(context, &stored.call);
            let risk = risk(&row.subject, &row.effects);
            report.approved.push(WaitingItem { row, risk, revision: stored.revision });
        }
        ControlFlow::Continue(())
    })?;
    for item in &mut report.approved {
        item.row.short_id = view.short_call_id(item.id())?;
    }
    for WaitingGroup { row, things, .. } in groups {
        let revision = things.first().map_or(0, |thing| thing.revision);
        let (list, risk) = match row.kind {
            WaitingKind::Approval | WaitingKind::Plan => {
                (&mut report.calls, risk(&row.subject, &row.effects))
            }
            // Its answer continues a call.
            WaitingKind::Checkpoint => {
                let call = row.ids.first().and_then(|id| of_checkpoint(&view, id).transpose());
                let effects = call.transpose()?.map(|call| call.contract.effects).unwrap_or_default();
                (&mut report.checkpoints, risk(&row.who, &effects))
            }
            WaitingKind::Decision => (&mut report.decisions, RiskLevel::Low),
            WaitingKind::Question => (&mut report.questions, RiskLevel::Low),
        };
        list.push(WaitingItem { row, risk, revision });
    }
    for list in [&mut report.calls, &mut report.checkpoints, &mut report.decisions, &mut report.questions] {
        list.sort_by(|left, right| left.order().cmp(&right.order()));
    }
    Ok(report)
}

/// Returns the call of a checkpoint.
fn of_checkpoint(view: &View<'_>, id: &str) -> Result<Option<Call>, Failure> {
    let checkpoint = view.the_checkpoint(&IdPrefix::new(id))?.checkpoint;
    Ok(view.call(&checkpoint.call_id)?.map(|stored| stored.call))
}

/// Lists what waits, by number, and remembers the numbers.
pub fn pending(context: &WorkspaceContext, groups: Vec<WaitingGroup>) -> PendingReport {
    let things: Vec<Vec<ShownThing>> = groups.iter().map(|group| group.things.clone()).collect();
    let numbers = number_rows(context, &things);
    let rows = groups.into_iter().zip(numbers);
    let mut rows: Vec<PendingRow> = rows.map(|(group, number)| PendingRow { number, ..group.row }).collect();
    // New rows have the highest numbers, whatever their place was.
    rows.sort_by_key(|row| row.number);
    PendingReport {
        schema: PendingReport::SCHEMA,
        target: context.target(),
        waiting_count: rows.iter().map(|row| row.ids.len()).sum(),
        rows,
    }
}

/// Returns what equal requests share: who asks for what, and its state.
fn request_of(call: &Call) -> String {
    let parts = [
        call.status.as_str(),
        &call.caller.as_record(),
        call.session.as_ref().and_then(|session| session.root_of(&call.tool_id)).unwrap_or_default(),
        call.kind().as_str(),
        &call.tool_id,
        &call.args.to_compact(),
        call.review_reason.as_deref().unwrap_or_default(),
        &call.planned_binding.map(|binding| binding.to_hex()).unwrap_or_default(),
    ];
    parts.join("\n")
}

fn row_of_call(context: &WorkspaceContext, call: &Call) -> PendingRow {
    let waiting = of_call(call);
    let text = if waiting.kind == WaitingKind::Plan { waiting.text } else { arguments_line(&call.args) };
    PendingRow {
        number: 0,
        kind: waiting.kind,
        ids: vec![waiting.id],
        short_id: String::new(),
        who: who(&call.caller),
        subject: call.tool_id.clone(),
        text,
        args: call.args.clone(),
        effects: call.contract.effects.clone(),
        held: call.status == CallStatus::Held,
        reason: call.review_reason.clone(),
        blocker_count: call.blockers.len(),
        choices: waiting.choices,
        created_at: call.created_at,
        next: context.spelled(waiting.next),
    }
}

fn row_of_other(row: WaitingRow) -> PendingRow {
    PendingRow {
        number: 0,
        short_id: String::new(),
        ids: vec![row.id],
        subject: row.kind.to_string(),
        kind: row.kind,
        who: row.who,
        text: short(&row.text, WaitingRow::TEXT),
        args: Json::Null,
        effects: Vec::new(),
        held: false,
        reason: None,
        blocker_count: 0,
        choices: row.choices,
        created_at: row.created_at,
        next: row.next,
    }
}

#[cfg(test)]
mod tests;
