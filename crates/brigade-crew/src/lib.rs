//! The hands of the kitchen: reads what `brigade-kitchen` decides on, and does what it decided.
//!
//! Owns the places of the kitchen's files ([`PrdFiles`]), the journal of a PRD ([`PrdJournal`]), and which process
//! serves it ([`ServiceLock`]).

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod journal;
mod lock;
mod paths;
pub mod workplace;

pub use journal::{JournalError, JournalFault, JournalProblem, PrdJournal, Recorded};
pub use lock::{Holder, ServiceLock, ServiceLockError};
pub use paths::{KITCHEN, PrdFiles, RUNS};
