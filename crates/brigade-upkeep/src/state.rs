//! Operations on the whole state, for operators.

use std::ops::ControlFlow;

use brigade_call::{Call, Receipt};
use brigade_core::Report as _;
use brigade_policy::Failure;
use brigade_queue::Calls;

use crate::check::{StateCheck, check_state};
use crate::compact::Compacted;
use crate::gather;
use crate::report::{CompactReport, DamageReport, Quarantine, StateReport};
use crate::seams::Seams;

/// One line of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum Exported {
    /// The latest revision of a call.
    Call(Box<Call>),
    /// A receipt.
    Receipt(Box<Receipt>),
}

/// Checks calls and receipts, and lists unreadable records. Changes nothing.
///
/// # Errors
/// Returns file errors.
pub fn check(seams: &Seams) -> Result<StateReport, Failure> {
    let config = gather::config(seams)?;
    let StateCheck { check, damage, calls, runs } = check_state(&seams.site(&config))?;
    let damage: Vec<DamageReport> = damage
        .into_iter()
        .map(|damage| DamageReport {
            file: seams.absolute(&damage.file),
            line: damage.line,
            problem: damage.problem,
            next: damage.next.map(|step| seams.spelled(step)),
        })
        .collect();
    Ok(StateReport {
        schema: StateReport::SCHEMA,
        target: seams.target(),
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
            .map(|(file, lines)| Quarantine { file: seams.absolute(file), lines: *lines })
            .collect(),
        unreadable_when_adopted: check.bad_when_adopted.iter().map(|file| seams.absolute(file)).collect(),
        temporary: check.temporary.iter().map(|file| seams.absolute(file)).collect(),
    })
}

/// Passes every call in order of creation, then every receipt, newest first.
///
/// # Errors
/// Returns file errors.
pub fn export(seams: &Seams, found: &mut dyn FnMut(Exported) -> ControlFlow<()>) -> Result<(), Failure> {
    let queue = seams.queue();
    let view = queue.read()?;
    if let Some(journal) = seams.journal() {
        journal.require_calls()?;
    }
    let mut stopped = false;
    view.for_each_call(&Calls::All, &mut |stored| {
        let flow = found(Exported::Call(Box::new(stored.call.shown(seams))));
        stopped = flow.is_break();
        flow
    })?;
    if stopped {
        return Ok(());
    }
    for stored in view.receipts(usize::MAX)?.receipts {
        let receipt = Box::new(stored.receipt.shown(seams));
        if found(Exported::Receipt(receipt)).is_break() {
            break;
        }
    }
    Ok(())
}

/// Moves old finished calls out of the queue file, and removes what crashes left.
///
/// # Errors
/// Returns file errors.
pub fn compact(seams: &Seams) -> Result<CompactReport, Failure> {
    let config = gather::config(seams)?;
    let Compacted { compaction, removed } = crate::compact::compact(&seams.site(&config))?;
    Ok(CompactReport {
        schema: CompactReport::SCHEMA,
        target: seams.target(),
        adopted: compaction.is_adoption,
        moved: compaction.moved,
        quarantined: compaction.quarantined,
        restored: compaction.restored,
        restored_checkpoints: compaction.restored_checkpoints,
        removed,
    })
}
