//! Operations on the whole state, for operators.

use std::ops::ControlFlow;
use std::sync::Arc;

use brigade_call::{Call, Receipt};
use brigade_queue::Calls;
use brigade_upkeep::{Compacted, StateCheck, check_state, compact};

use crate::error::Error;
use crate::report::{CompactReport, DamageReport, Quarantine, Report as _, StateReport};
use crate::room::Room;
use brigade_upkeep::gather;

/// One line of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum Exported {
    /// The latest revision of a call.
    Call(Box<Call>),
    /// A receipt.
    Receipt(Box<Receipt>),
}

/// Operations on the stored state.
#[derive(Clone)]
pub struct State {
    pub(crate) room: Arc<Room>,
}

impl State {
    /// Checks calls and receipts, and lists unreadable records. Changes nothing.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn check(&self) -> Result<StateReport, Error> {
        let config = gather::config(&self.room)?;
        let StateCheck { check, damage, calls, runs } = check_state(&self.room.site(&config))?;
        let damage: Vec<DamageReport> = damage
            .into_iter()
            .map(|damage| DamageReport {
                file: self.room.absolute(&damage.file),
                line: damage.line,
                problem: damage.problem,
                next: damage.next.map(|step| self.room.spelled(step)),
            })
            .collect();
        Ok(StateReport {
            schema: StateReport::SCHEMA,
            target: self.room.target(),
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
                .map(|(file, lines)| Quarantine { file: self.room.absolute(file), lines: *lines })
                .collect(),
            unreadable_when_adopted: check
                .bad_when_adopted
                .iter()
                .map(|file| self.room.absolute(file))
                .collect(),
            temporary: check.temporary.iter().map(|file| self.room.absolute(file)).collect(),
        })
    }

    /// Passes every call in order of creation, then every receipt, newest first.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn export(&self, found: &mut dyn FnMut(Exported) -> ControlFlow<()>) -> Result<(), Error> {
        let queue = self.room.queue();
        let view = queue.read()?;
        if let Some(journal) = self.room.journal() {
            journal.require_calls()?;
        }
        let mut stopped = false;
        view.for_each_call(&Calls::All, &mut |stored| {
            let flow = found(Exported::Call(Box::new(stored.call.shown(&*self.room))));
            stopped = flow.is_break();
            flow
        })?;
        if stopped {
            return Ok(());
        }
        for stored in view.receipts(usize::MAX)?.receipts {
            let receipt = Box::new(stored.receipt.shown(&*self.room));
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
    pub fn compact(&self) -> Result<CompactReport, Error> {
        let config = gather::config(&self.room)?;
        let Compacted { compaction, removed } = compact(&self.room.site(&config))?;
        Ok(CompactReport {
            schema: CompactReport::SCHEMA,
            target: self.room.target(),
            adopted: compaction.is_adoption,
            moved: compaction.moved,
            quarantined: compaction.quarantined,
            restored: compaction.restored,
            restored_checkpoints: compaction.restored_checkpoints,
            removed,
        })
    }
}
