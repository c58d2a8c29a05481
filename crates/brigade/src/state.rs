//! Operations on the whole state, for operators.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

use brigade_call::{Call, Receipt};
use brigade_core::NextStep;
use brigade_queue::{BadReceipt, Calls, Chain, Check, Mending, View};
use brigade_upkeep::{Compacted, compact, left_incoming, left_temporary};

use crate::error::Error;
use crate::gather;
use crate::load;
use crate::report::{CompactReport, DamageReport, Quarantine, Report as _, StateReport};
use crate::room::Room;

/// One line of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum Exported<'e> {
    /// The latest revision of a call.
    Call(&'e Call),
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
        let queue = self.room.queue();
        let view = queue.read()?;
        let check = match self.room.journal() {
            Some(journal) => journal.check()?,
            None => Check::default(),
        };
        let step = |step: NextStep| Some(self.room.spelled(step));
        let mut damage: Vec<DamageReport> = check
            .damage
            .iter()
            .map(|damage| DamageReport {
                file: self.room.absolute(&damage.path),
                line: damage.line,
                problem: damage.problem.to_owned(),
                next: match damage.mending {
                    Mending::SetAside => step(NextStep::CompactState),
                    // Compaction cannot restore lost receipts.
                    Mending::Stays if damage.path.ends_with(".jsonl") => step(NextStep::VerifyRuns),
                    Mending::Stays => None,
                },
            })
            .collect();
        let as_adopted: HashSet<&String> = check.bad_when_adopted.iter().collect();
        let bad = bad_receipts(&view, check.lost_receipts.clone())?;
        damage.extend(bad.into_iter().filter(|bad| !as_adopted.contains(&bad.0)).map(|(path, problem)| {
            let next = step(if check.is_unadopted { NextStep::CompactState } else { NextStep::VerifyRuns });
            DamageReport { file: self.room.absolute(&path), line: None, problem, next }
        }));
        let of_receipts = |paths: &[String], problem: &str, next: NextStep| -> Vec<DamageReport> {
            let one = |path: &String| DamageReport {
                file: self.room.absolute(path),
                line: None,
                problem: problem.to_owned(),
                next: step(next.clone()),
            };
            paths.iter().map(one).collect()
        };
        damage.extend(of_receipts(
            &check.unrecorded_receipts,
            "the ledger does not name it",
            NextStep::VerifyRuns,
        ));
        damage.extend(of_receipts(
            &check.forgotten_receipts,
            "its call does not know of this run: calls.jsonl is older than the ledger, or lost a part",
            NextStep::CompactState,
        ));
        damage.extend(view.checkpoints()?.errors.into_iter().map(|bad| DamageReport {
            file: self.room.absolute(&bad.path),
            line: None,
            problem: bad.problem,
            next: step(if bad.is_recorded { NextStep::CompactState } else { NextStep::ListCheckpoints }),
        }));
        let mut temporary = check.temporary;
        let left = left_incoming(&*self.room.fs, self.room.now(), &view)?
            .into_iter()
            .chain(left_temporary(&*self.room.fs, &load::catalog(&self.room)?));
        temporary.extend(left.map(|path| path.to_string()));
        temporary.sort();
        temporary.dedup();
        Ok(StateReport {
            schema: StateReport::SCHEMA,
            target: self.room.target(),
            valid: damage.is_empty(),
            calls: view.call_counts()?,
            runs: view.run_counts()?,
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
            temporary: temporary.iter().map(|file| self.room.absolute(file)).collect(),
        })
    }

    /// Passes every call in order of creation, then every receipt, newest first.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn export(&self, found: &mut dyn FnMut(Exported<'_>) -> ControlFlow<()>) -> Result<(), Error> {
        let queue = self.room.queue();
        let view = queue.read()?;
        if let Some(journal) = self.room.journal() {
            journal.require_calls()?;
        }
        let mut stopped = false;
        view.for_each_call(&Calls::All, &mut |stored| {
            let flow = found(Exported::Call(&stored.call));
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

/// Finds invalid and missing receipts, with the problem of each.
fn bad_receipts(view: &View<'_>, gone: Vec<String>) -> Result<BTreeMap<String, String>, Error> {
    let bad = Mutex::new(BTreeMap::new());
    view.examine_runs(&[], Chain::Trust, &|found| {
        if let Err(BadReceipt { path, problem }) = found {
            bad.lock().unwrap_or_else(PoisonError::into_inner).insert(path, problem);
        }
    })?;
    let mut bad = bad.into_inner().unwrap_or_else(PoisonError::into_inner);
    for path in gone {
        bad.entry(path).or_insert_with(|| "the ledger names it, and there is no such file".to_owned());
    }
    Ok(bad)
}
