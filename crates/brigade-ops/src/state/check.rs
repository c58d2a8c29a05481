//! Finds damage in the state.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use brigade_core::NextStep;
use brigade_queue::{BadReceipt, Chain, Check, DamageRepair, Detail, QueueError, View};
use brigade_workspace::{Config, WorkspaceContext};

use crate::doctor::error::UpkeepError;
use crate::doctor::incoming::left_incoming;
use crate::doctor::temporary::left_temporary;

/// A part of the state that cannot be read or trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDamage {
    /// The file, relative to the workspace.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The problem, without a final period.
    pub problem: String,
    /// The step that fixes it.
    pub next: Option<NextStep>,
}

/// The result of checking the state.
#[derive(Clone, Debug)]
pub struct StateCheck {
    /// The result for the journal. Its temporary files are those of the whole state, sorted.
    pub check: Check,
    /// The damage.
    pub damage: Vec<StateDamage>,
    /// Number of calls by status.
    pub calls: BTreeMap<String, u64>,
    /// Number of runs by status.
    pub runs: BTreeMap<String, u64>,
}

/// Checks calls and receipts, and lists unreadable records. Changes nothing.
pub fn check_state(context: &WorkspaceContext, config: &Config) -> Result<StateCheck, UpkeepError> {
    let queue = context.queue();
    let view = queue.read()?;
    let mut check = match context.journal() {
        Some(journal) => journal.check()?,
        None => Check::default(),
    };
    let of_file = |file: &str, problem: &str, next: NextStep| StateDamage {
        file: file.to_owned(),
        line: None,
        problem: problem.to_owned(),
        next: Some(next),
    };
    let mut damage: Vec<StateDamage> = Vec::new();
    damage.extend(check.damage.iter().map(|damage| StateDamage {
        file: damage.path.clone(),
        line: damage.line,
        problem: damage.problem.to_owned(),
        next: match damage.mending {
            DamageRepair::SetAside => Some(NextStep::CompactState),
            // Compaction cannot restore lost receipts.
            DamageRepair::Stays => damage.path.ends_with(".jsonl").then_some(NextStep::VerifyRuns),
        },
    }));
    let as_adopted: HashSet<&String> = check.bad_when_adopted.iter().collect();
    let bad = bad_receipts(&view, check.lost_receipts.clone())?;
    let of_bad = if check.is_unadopted { NextStep::CompactState } else { NextStep::VerifyRuns };
    let bad = bad.iter().filter(|(path, _)| !as_adopted.contains(path));
    damage.extend(bad.map(|(path, problem)| of_file(path, problem, of_bad.clone())));
    damage.extend(
        check
            .unrecorded_receipts
            .iter()
            .map(|path| of_file(path, "the ledger does not name it", NextStep::VerifyRuns)),
    );
    let forgotten = "its call does not name this run: calls.jsonl is older than the ledger, or lost a part";
    let of_forgotten = |path: &String| of_file(path, forgotten, NextStep::CompactState);
    damage.extend(check.forgotten_receipts.iter().map(of_forgotten));
    damage.extend(view.checkpoints()?.errors.iter().map(|bad| {
        let next = if bad.is_recorded { NextStep::CompactState } else { NextStep::ListCheckpoints };
        of_file(&bad.place, &bad.problem, next)
    }));
    let left = left_incoming(&*context.fs, context.now(), &view)?;
    let left = left.into_iter().chain(left_temporary(&*context.fs, &config.catalog));
    check.temporary.extend(left.map(|path| path.to_string()));
    check.temporary.sort();
    check.temporary.dedup();
    Ok(StateCheck { calls: view.call_counts()?, runs: view.run_counts()?, check, damage })
}

/// Finds invalid and missing receipts, with the problem of each.
fn bad_receipts(view: &View<'_>, gone: Vec<String>) -> Result<BTreeMap<String, String>, QueueError> {
    let bad = Mutex::new(BTreeMap::new());
    view.examine_runs(Detail::Status, Chain::Trust, &|found| {
        if let Err(BadReceipt { place, problem }) = found {
            bad.lock().unwrap_or_else(PoisonError::into_inner).insert(place, problem);
        }
    })?;
    let mut bad = bad.into_inner().unwrap_or_else(PoisonError::into_inner);
    for path in gone {
        bad.entry(path).or_insert_with(|| "the ledger names it, and it does not exist".to_owned());
    }
    Ok(bad)
}
