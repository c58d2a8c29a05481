//! The store in memory, for tests and for programs without files.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brigade_call::{ApprovedBy, CallStatus, Checkpoint, LedgerLink, Receipt};
use brigade_core::{CallId, Fingerprint, Timestamp};

use crate::error::QueueError;
use crate::queue::checkpoint_of;
use crate::store::{
    CallQuery, Chain, ChainEnd, CheckpointList, Checkpoints, Detail, Durability, ExaminedReceipt,
    ExaminedRun, Finding, FoundRecord, NewReceipt, OnRunTaken, Order, ReceiptQuery, RecordedReceipt, Records,
    RunList, Snapshot, Store, StoredCall, StoredCheckpoint, StoredReceipt, Tampering, Transaction,
    Verification,
};

/// Keeps calls, receipts and checkpoints in memory. Clones share them.
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<SharedContent>,
}

#[derive(Default)]
struct SharedContent {
    /// Held by the one writer.
    writer: Mutex<()>,
    kept: Mutex<Arc<StoreContent>>,
}

/// The content of the store at one moment.
#[derive(Clone, Default)]
struct StoreContent {
    calls: BTreeMap<CallId, StoredCall>,
    /// By run id.
    receipts: BTreeMap<String, StoredReceipt>,
    /// Run ids in the order in which their receipts entered the ledger.
    ledger: Vec<String>,
    /// As they were added. The records have their current state.
    checkpoints: BTreeMap<String, Checkpoint>,
    sequence: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    fn kept(&self) -> Arc<StoreContent> {
        locked(&self.shared.kept).clone()
    }
}

impl Store for MemoryStore {
    fn read(&self) -> Result<Arc<dyn Snapshot>, QueueError> {
        Ok(Arc::new(MemorySnapshot(self.kept())))
    }

    fn begin(
        &self,
        _now: Timestamp,
        _durability: Durability,
    ) -> Result<Box<dyn Transaction + '_>, QueueError> {
        let writer = locked(&self.shared.writer);
        Ok(Box::new(MemoryTransaction {
            moment: MemorySnapshot(self.kept()),
            shared: &self.shared,
            _writer: writer,
        }))
    }
}

/// An immutable view of one moment.
struct MemorySnapshot(Arc<StoreContent>);

impl MemorySnapshot {
    fn newest(&self, skip: usize, limit: usize) -> Vec<StoredReceipt> {
        let mut receipts: Vec<&StoredReceipt> = self.0.receipts.values().collect();
        receipts.sort_by_cached_key(|stored| Reverse(stored.receipt.sort_key()));
        receipts.into_iter().skip(skip).take(limit).cloned().collect()
    }
}

fn created(stored: &StoredCall) -> i64 {
    stored.call.created_at.map_or(i64::MAX, Timestamp::unix_micros)
}

fn add_up(words: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

impl Snapshot for MemorySnapshot {
    fn calls(&self, query: &CallQuery<'_>, found: &mut FoundRecord<'_>) -> Result<(), QueueError> {
        let all = self.0.calls.values();
        let mut calls: Vec<&StoredCall> = match *query {
            CallQuery::Id(id) => self.0.calls.get(id).into_iter().collect(),
            CallQuery::List { status: None, .. } | CallQuery::Shown => all.collect(),
            CallQuery::List { status: Some(status), .. } => {
                all.filter(|stored| stored.call.status == *status).collect()
            }
            CallQuery::Abandoned => all.filter(|stored| stored.call.status == CallStatus::Running).collect(),
            CallQuery::Similar(call) => {
                use CallStatus::{Approved, Pending, Rejected};
                let may_count = |stored: &&StoredCall| {
                    stored.call.tool_id == call.tool_id
                        && matches!(stored.call.status, Pending | Approved | Rejected)
                };
                all.filter(may_count).collect()
            }
            CallQuery::LastApproved(tool_id) => {
                let is_one = |stored: &&StoredCall| {
                    let by = stored.call.approval.as_ref().map(|approval| &approval.by);
                    stored.call.tool_id == tool_id && by.is_some_and(ApprovedBy::is_person)
                };
                all.filter(is_one).collect()
            }
        };
        match *query {
            CallQuery::List { order: Order::Newest, .. } => {
                calls.sort_by_key(|stored| Reverse(stored.sequence));
            }
            CallQuery::List { order: Order::Oldest, .. } | CallQuery::Abandoned => {
                calls.sort_by_key(|stored| (created(stored), stored.sequence));
            }
            CallQuery::LastApproved(_) => {
                calls.sort_by_key(|stored| Reverse((stored.call.reviewed_at, stored.sequence)));
            }
            _ => calls.sort_by_key(|stored| stored.sequence),
        }
        let _ = calls.into_iter().try_for_each(|stored| found(stored.clone().into()));
        Ok(())
    }

    fn receipts(&self, query: &ReceiptQuery<'_>) -> Result<RunList, QueueError> {
        let of_memory = &self.0.receipts;
        let receipts = match *query {
            ReceiptQuery::Run(run) => of_memory.get(run).cloned().into_iter().collect(),
            ReceiptQuery::Newest(limit) => self.newest(0, limit),
            ReceiptQuery::Part { skip, limit } => self.newest(skip, limit),
            ReceiptQuery::Misplaced => Vec::new(),
        };
        Ok(RunList { receipts, errors: Vec::new() })
    }

    fn examine(
        &self,
        chain: Chain,
        found: Option<(Detail, &ExaminedRun<'_>)>,
    ) -> Result<Verification, QueueError> {
        if let Some((detail, found)) = found {
            for stored in self.0.receipts.values() {
                let receipt = detail.examined(&stored.receipt);
                found(Ok(ExaminedReceipt { receipt, stored_id: stored.stored_id.clone() }));
            }
        }
        match chain {
            Chain::From(first) => Ok(self.verify(first)),
            Chain::Trust => Ok(Verification::default()),
        }
    }

    fn ids(&self, of: Records, prefix: &str, limit: usize) -> Result<Vec<String>, QueueError> {
        let starts = |id: &&str| id.starts_with(prefix);
        Ok(match of {
            Records::Calls => self
                .0
                .calls
                .keys()
                .map(CallId::as_str)
                .filter(starts)
                .take(limit)
                .map(str::to_owned)
                .collect(),
            Records::Runs => self
                .0
                .receipts
                .keys()
                .map(String::as_str)
                .filter(starts)
                .take(limit)
                .map(str::to_owned)
                .collect(),
        })
    }

    fn counts(&self, of: Records) -> Result<BTreeMap<String, u64>, QueueError> {
        Ok(match of {
            Records::Calls => {
                add_up(self.0.calls.values().map(|stored| stored.call.status.as_str().to_owned()))
            }
            Records::Runs => {
                add_up(self.0.receipts.values().map(|stored| stored.receipt.status.as_str().to_owned()))
            }
        })
    }

    fn checkpoints(&self, which: Checkpoints<'_>) -> Result<CheckpointList, QueueError> {
        let recorded = self.0.calls.values().flat_map(|stored| stored.checkpoints.values());
        let mut found: Vec<Checkpoint> = match which {
            Checkpoints::Known => recorded.filter_map(checkpoint_of).collect(),
            Checkpoints::AddedFor(run) => self
                .0
                .checkpoints
                .values()
                .filter(|checkpoint| checkpoint.run_id == run.as_str())
                .cloned()
                .collect(),
        };
        found.sort_by_key(|checkpoint| Reverse(checkpoint.created_at));
        Ok(CheckpointList {
            checkpoints: found.into_iter().map(StoredCheckpoint::recorded).collect(),
            errors: Vec::new(),
        })
    }
}

impl MemorySnapshot {
    fn verify(&self, from: u64) -> Verification {
        let StoreContent { calls, receipts, ledger, .. } = &*self.0;
        // Only the writer changes memory, so a missing entry can only belong to a run that is just being recorded.
        let is_running = |run: &str| {
            let runs_as = |stored: &StoredCall| {
                stored.call.claim.as_ref().is_some_and(|claim| claim.run_id.as_str() == run)
            };
            calls.values().any(|stored| stored.call.status == CallStatus::Running && runs_as(stored))
        };
        let added = receipts.keys().filter(|run| !ledger.contains(run) && !is_running(run));
        let findings = added.map(|run| Finding {
            sequence: None,
            line: None,
            run_id: run.clone(),
            tampering: Tampering::Added,
            detail: "it has no ledger entry",
        });
        let last = ledger.len() as u64;
        Verification {
            checked: (last + 1).saturating_sub(from.max(1)),
            findings: findings.collect(),
            last,
            is_unadopted: false,
        }
    }
}

struct MemoryTransaction<'s> {
    moment: MemorySnapshot,
    shared: &'s SharedContent,
    _writer: MutexGuard<'s, ()>,
}

impl MemoryTransaction<'_> {
    /// Applies a change and publishes the result to readers.
    fn change<T>(&mut self, change: impl FnOnce(&mut StoreContent) -> T) -> T {
        let changed = change(Arc::make_mut(&mut self.moment.0));
        *locked(&self.shared.kept) = self.moment.0.clone();
        changed
    }

    /// Stores a receipt, unless it is already stored.
    fn store(&mut self, receipt: &Receipt, taken: OnRunTaken) -> Result<StoredReceipt, QueueError> {
        let run = receipt.id.to_string();
        let sha256 = Fingerprint::of_bytes(&receipt.to_bytes());
        if let Some(existing) = self.moment.0.receipts.get(&run) {
            if existing.sha256 == sha256 {
                return Ok(existing.clone());
            }
            if taken == OnRunTaken::Refuse {
                return Err(QueueError::RunTaken(receipt.id.clone()));
            }
        }
        let stored = StoredReceipt { receipt: receipt.clone(), stored_id: run.clone(), sha256 };
        self.change(|kept| {
            if let Some(other) = kept.receipts.insert(run.clone(), stored.clone()) {
                kept.receipts.insert(format!("{run}.quarantine-{}", kept.receipts.len()), other);
            }
        });
        Ok(stored)
    }
}

impl Transaction for MemoryTransaction<'_> {
    fn snapshot(&self) -> &dyn Snapshot {
        &self.moment
    }

    fn put(&mut self, calls: &mut [StoredCall]) -> Result<(), QueueError> {
        self.change(|kept| {
            for stored in calls {
                if stored.sequence == 0 {
                    kept.sequence += 1;
                    stored.sequence = kept.sequence;
                }
                kept.calls.insert(stored.call.id.clone(), stored.clone());
            }
        });
        Ok(())
    }

    fn add_checkpoints(&mut self, checkpoints: Vec<Checkpoint>) -> Result<Vec<StoredCheckpoint>, QueueError> {
        Ok(self.change(|kept| {
            let mut stored = Vec::with_capacity(checkpoints.len());
            for mut checkpoint in checkpoints {
                let wanted = checkpoint.id.as_str().to_owned();
                for number in 2.. {
                    if !kept.checkpoints.contains_key(checkpoint.id.as_str()) {
                        break;
                    }
                    checkpoint.id = StoredCheckpoint::numbered(&wanted, number);
                }
                kept.checkpoints.insert(checkpoint.id.as_str().to_owned(), checkpoint.clone());
                stored.push(StoredCheckpoint::recorded(checkpoint));
            }
            stored
        }))
    }

    fn record(&mut self, receipt: NewReceipt<'_>) -> Result<RecordedReceipt, QueueError> {
        let receipt = match receipt {
            NewReceipt::Unstored(receipt, taken) => self.store(receipt, taken)?,
            NewReceipt::Stored(receipt) => *receipt,
        };
        let run = receipt.receipt.id.as_str();
        let known = self.moment.0.ledger.iter().position(|entered| entered == run);
        let place = match known {
            Some(place) => place,
            None => self.change(|kept| {
                kept.ledger.push(run.to_owned());
                kept.ledger.len() - 1
            }),
        };
        let link = LedgerLink { sequence: place as u64 + 1, sha256: receipt.sha256 };
        Ok(RecordedReceipt { receipt, link, chain: ChainEnd::Whole })
    }
}
