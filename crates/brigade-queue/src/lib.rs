//! Decides how calls, runs and checkpoints change, and stores them.
//!
//! [`Queue`] has the rules: duplicates, reviews, claims, ends of runs, answers, and runs whose runner is gone. It works
//! with any [`Store`], which keeps records and decides nothing. [`JournalStore`] keeps them in files under
//! `.brigade/tools`: `calls.jsonl` (a journal of `brigade-journal`) with its segments, receipts and their ledger in
//! `runs/`, and `checkpoints/`. `brigade-call` defines which steps a call can take. This crate executes nothing, and
//! does not know tools, policies or the files of a workspace.
//!
//! [`Queue::read`] reads the queue without waiting. [`Queue::lock`] waits to become the only writer. Everything that a
//! method of [`LockedQueue`] returns is durable.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use brigade_fs::{Fs, MemoryFs, WorkspaceKey};
//! use brigade_queue::{JournalStore, LocalHost, Queue};
//!
//! let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
//! let key = Arc::new(WorkspaceKey::for_given_files());
//! let store = JournalStore::new(fs.clone(), key, "an example", Duration::from_secs(10));
//! let queue = Queue::new(Arc::new(store), Arc::new(LocalHost::new(fs)));
//! assert!(queue.read()?.call_counts()?.is_empty());
//! # Ok::<(), brigade_queue::QueueError>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod enqueue;
mod error;
mod find;
mod finish;
mod host;
mod journal;
mod listed;
mod observed;
mod outcome;
mod queue;
mod recent;
mod report;
mod resolve;
mod running;
mod short_ids;
mod store;
mod texts;

pub use brigade_journal::{Damage, DamageRepair};
pub use enqueue::{EnqueueOutcome, MakeCall, OnDuplicate};
pub use error::QueueError;
pub use find::check_status;
pub use finish::unrecorded_receipt;
pub use host::{Host, LocalHost, SharedHost};
pub use journal::{
    ChainedReceipt, Check, Compaction, JournalStore, OutcomeReservation, TOOLS, left_outcomes,
};
pub use listed::{CallFilter, ListedRun, RunFilter, RunPage};
pub use outcome::Outcome;
pub use queue::{CANDIDATES, Calls, FinishedRun, LockedQueue, Match, Queue, Review, View};
pub use recent::{CallerUsage, RecentCalls, WaitingCalls};
pub use report::{Answer, BrokenReceipt, LedgerFinding};
pub use resolve::{OpenRun, ResolvedRun};
pub use running::this_runner;
pub use short_ids::shortened;
pub use store::{
    BadCheckpoint, BadReceipt, CallQuery, CallRecord, Chain, ChainEnd, CheckpointList, Checkpoints, Detail,
    Durability, ExaminedReceipt, ExaminedRun, Finding, FoundCall, FoundReceipt, FoundRecord, KeptLog,
    NewReceipt, OnRunTaken, Order, ReceiptQuery, RecordedReceipt, Records, RunList, Snapshot, Store,
    StoredCall, StoredCheckpoint, StoredReceipt, Tampering, Transaction, Verification, receipt_name,
};
