//! Operations on the whole state, for operators.

pub(crate) mod adopt;
pub(crate) mod check;
pub(crate) mod compact;

use std::ops::ControlFlow;

use brigade_call::{Call, Receipt};
use brigade_core::Report as _;
use brigade_policy::Failure;
use brigade_queue::Calls;

use crate::report::{CompactReport, DamageReport, Quarantine, StateReport};
use crate::state::check::{StateCheck, check_state};
use crate::state::compact::CompactResult;
use brigade_workspace::{WorkspaceContext, gather};

pub use adopt::adopt;
pub use brigade_workspace::AdoptStep;

/// One line of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportLine {
    /// The latest revision of a call.
    Call(Box<Call>),
    /// A receipt.
    Receipt(Box<Receipt>),
}

/// Checks calls and receipts, and lists unreadable records. Changes nothing.
pub fn check(context: &WorkspaceContext) -> Result<StateReport, Failure> {
    let config = gather::config(context)?;
    let StateCheck { check, damage, calls, runs } = check_state(context, &config)?;
    let damage: Vec<DamageReport> = damage
        .into_iter()
        .map(|damage| DamageReport {
            file: context.absolute(&damage.file),
            line: damage.line,
            problem: damage.problem,
            next: damage.next.map(|step| context.spelled(step)),
        })
        .collect();
    Ok(StateReport {
        schema: StateReport::SCHEMA,
        target: context.target(),
        valid: damage.is_empty(),
        calls,
        runs,
        journal_bytes: check.journal_bytes,
        segments: check.segments,
        adopted: !check.is_unadopted,
        damage,
        quarantined: check
            .quarantined
            .iter()
            .map(|(file, lines)| Quarantine { file: context.absolute(file), lines: *lines })
            .collect(),
        unreadable_when_adopted: check.bad_when_adopted.iter().map(|file| context.absolute(file)).collect(),
        temporary: check.temporary.iter().map(|file| context.absolute(file)).collect(),
    })
}

/// Passes every call in order of creation, then every receipt, newest first.
pub fn export(
    context: &WorkspaceContext,
    found: &mut dyn FnMut(ExportLine) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let queue = context.queue();
    let view = queue.read()?;
    if let Some(journal) = context.journal() {
        journal.require_calls()?;
    }
    let mut stopped = false;
    view.for_each_call(&Calls::All, &mut |stored| {
        let flow = found(ExportLine::Call(Box::new(stored.call.shown(context))));
        stopped = flow.is_break();
        flow
    })?;
    if stopped {
        return Ok(());
    }
    for stored in view.receipts(usize::MAX)?.receipts {
        let receipt = Box::new(stored.receipt.shown(context));
        if found(ExportLine::Receipt(receipt)).is_break() {
            break;
        }
    }
    Ok(())
}

/// Moves old finished calls out of the queue file, and removes what crashes left.
pub fn compact(context: &WorkspaceContext) -> Result<CompactReport, Failure> {
    let config = gather::config(context)?;
    let CompactResult { compaction, removed } = compact::compact(context, &config)?;
    Ok(CompactReport {
        schema: CompactReport::SCHEMA,
        target: context.target(),
        adopted: compaction.is_adoption,
        moved: compaction.moved,
        quarantined: compaction.quarantined,
        restored: compaction.restored,
        restored_checkpoints: compaction.restored_checkpoints,
        removed,
    })
}

#[cfg(test)]
mod tests;
