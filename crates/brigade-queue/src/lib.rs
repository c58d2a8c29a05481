//! Keeps calls, checkpoints and receipts on disk.
//!
//! Owns the files under `.brigade/tools`: `calls.jsonl` (the journal, one line a revision, the last one wins) with its
//! segments of finished calls and its caches in `calls/`, receipts and their ledger in `runs/`, and `checkpoints/`; the
//! lock; what a crash left; and the state of the Python program. Knows nothing of what a call may do: steps and duplicates
//! are `brigade-call`'s, and nothing is executed here.
//!
//! [`Queue::read`] looks at the queue without waiting; [`Queue::lock`] waits for the one writer's place. Everything that a
//! method of [`LockedQueue`] returns is durable.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use brigade_fs::MemoryFs;
//! use brigade_queue::{JournalQueue, Queue, is_alive};
//!
//! let queue =
//!     JournalQueue::new(Arc::new(MemoryFs::new()), "4711 example", Duration::from_secs(10), Arc::new(is_alive));
//! assert!(queue.read()?.call_counts()?.is_empty());
//! # Ok::<(), brigade_queue::QueueError>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod adopt;
mod aside;
mod catch_up;
mod check;
mod checkpoints;
mod compact;
mod entry;
mod error;
mod finish;
mod index;
mod journal;
mod layout;
mod ledger;
mod locked;
mod log;
mod queue;
mod record;
mod rescue;
mod runs;
mod state;
mod verify;
mod view;

pub use check::{Check, Compaction};
pub use checkpoints::{BadCheckpoint, CheckpointList, StoredCheckpoint};
pub use entry::OWN_MEMBERS;
pub use error::QueueError;
pub use finish::interrupted_receipt;
pub use journal::{JournalQueue, is_alive};
pub use layout::TOOLS;
pub use ledger::LedgerEntry;
pub use queue::{
    Answer, CANDIDATES, Calls, Chain, ChainEnd, Enqueued, ExaminedRun, Finished, FoundRun, LockedQueue,
    MakeCall, Match, OnDuplicate, Queue, QueueView, Review,
};
pub use record::{ListedCall, StoredCall};
pub use runs::{BadReceipt, ExaminedReceipt, RunFolder, RunList, Runs, StoredReceipt};
pub use state::{Damage, Mending};
pub use verify::{Finding, Tampering, Verification};
pub use view::IsAlive;
