//! Stores records in an append-only file that survives crashes.
//!
//! It owns the mechanics of one journal: its lines, the segments of finished records, indexes, the lock, compaction,
//! quarantine, and a ledger, which is a hash chain over documents. A record is a JSON object on one line with an id, a
//! status and members that only its owner understands. A later line with the same id replaces an earlier one. A
//! [`Kind`] reads the facts that the journal needs from a record. The journal does not know what its records mean.
//!
//! [`Journal::load`] reads all records without waiting. [`Journal::lock`] waits to become the only writer. Everything
//! that a method of [`Writer`] returns is durable.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use brigade_core::Timestamp;
//! use brigade_fs::MemoryFs;
//! use brigade_journal::{Facts, Journal, Kind, Layout, Members, StatusCode, StatusRule, Words};
//!
//! /// Notes, which are open until they are done.
//! struct Notes;
//!
//! impl Kind for Notes {
//!     fn statuses(&self) -> &'static [StatusRule] {
//!         const OPEN: StatusRule = StatusRule { is_finished: false, is_unique: true };
//!         const DONE: StatusRule = StatusRule { is_finished: true, is_unique: false };
//!         &[OPEN, DONE]
//!     }
//!
//!     fn words(&self) -> &'static Words {
//!         &Words { not_a_record: "not a note", unfinished: "a torn note", lost_segment: "old notes are gone" }
//!     }
//!
//!     fn facts(&self, members: &Members<'_>) -> Option<Facts> {
//!         let status = match &*members[1]?.text()? {
//!             "open" => StatusCode::at(0),
//!             "done" => StatusCode::at(1),
//!             _ => self.other(),
//!         };
//!         Some(Facts { status, is_ours: true, ..Facts::new(members[0]?.text()?) })
//!     }
//!
//!     fn member(&self, key: &str) -> Option<usize> {
//!         ["id", "status"].iter().position(|name| *name == key)
//!     }
//! }
//!
//! let journal = Journal::new(Arc::new(MemoryFs::new()), Layout::new("notes", "notes", "done", &[]), Arc::new(Notes));
//! let now = Timestamp::from_unix_micros(0);
//! let mut writer = journal.lock("4711 example", Duration::from_secs(1))?;
//! writer.append(b"{\"id\":\"n-1\",\"status\":\"open\",\"sequence\":1}\n", now)?;
//! assert!(journal.load()?.find("n-1")?.is_some());
//! # Ok::<(), brigade_journal::JournalError>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod chain;
mod compact;
mod entry;
mod error;
mod index;
mod layout;
mod ledger;
mod line_file;
mod log;
mod merge;
mod quarantine;
mod recover;
mod state;
mod writer;

pub use chain::{ChainFault, ChainFaultKind, check_chain};
pub use compact::Rewrite;
pub use entry::{
    Adoption, BATCH_KEY, BatchMark, Content, Entry, Facts, Kind, MEMBERS, Members, PeekedRecord, Span,
    StatusCode, StatusRule, Words, hash, look_at,
};
pub use error::JournalError;
pub use index::sample;
pub use layout::Layout;
pub use ledger::{
    AppendResult, Ledger, LedgerEnd, LedgerEntry, LedgerLine, NewEntry, find_prefix_if_whole, newest,
};
pub use line_file::LineFile;
pub use log::{LatestLine, ListedLine, Log};
pub use merge::Merge;
pub use quarantine::set_file_aside;
pub use state::{Damage, DamageRepair, Header, Journal, State};
pub use writer::Writer;
