//! Runs the kitchen: reads the input of the decisions in `brigade-kitchen`, and carries them out.
//!
//! This crate owns:
//!
//! * the operations on the kitchen of a workspace ([`Kitchen`]), and their input ([`Configuration`], [`Crew`],
//!   [`PrdFile`]);
//! * the paths of the kitchen's files ([`PrdFiles`]) and the journal of a PRD ([`PrdJournal`]);
//! * the service of a PRD ([`Kitchen::serve`]), and the lock for it ([`ServiceLock`]);
//! * starts of workers ([`attempt()`]) and of approved commands ([`check()`]), with their receipts ([`Receipts`]);
//! * the [`workplace`] of tasks: worktrees of [`mod@git`], or the workspace itself ([in place](in_place)).
//!
//! It does not decide which task or tier comes next, and it does not print anything.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod adopt;
mod approve;
mod attempt;
mod branch;
mod check;
mod clean;
mod decisions;
mod derived_files;
mod executive;
mod gather;
pub mod git;
mod health;
pub mod in_place;
mod init;
mod journal;
mod kitchen;
mod lock;
mod log;
mod map;
mod named_files;
mod paths;
mod plan;
mod projections;
mod receipts;
mod rehearsal;
mod repository;
mod run;
mod run_log;
mod service;
mod status;
mod ticket;
mod validate;
pub mod workplace;

pub use adopt::UnsignedJournal;
pub use approve::{ApproveStep, ApproveWhat};
pub use attempt::{Attempt, AttemptOutcome, TierWorker, attempt};
pub use check::{Check, CheckOutcome, check};
pub use clean::{AbandonedWork, KeptWorktree, KitchenCleanReport};
pub use decisions::{AnswerReport, AnswerRequest, DecisionFilter, DecisionsReport, FailureChoice};
pub use gather::{
    Configuration, Crew, KITCHEN_TOML, PrdFile, PrdNames, PrdSearch, PrdState, SHELL_CONFIGS, Worker,
};
pub use health::ReceiptCheck;
pub use init::{InitRequest, KitchenInitReport, SkillRow, WriteOutcome};
pub use journal::{JournalError, JournalFault, JournalProblem, JournalState, PrdJournal};
pub use kitchen::Kitchen;
pub use lock::{Holder, ServiceLock, ServiceLockError};
pub use log::{KitchenLogReport, LogEnd, LogRequest, LogSink, LogText};
pub use map::MapRequest;
pub use named_files::BoundFiles;
pub use paths::{KITCHEN, PrdFiles, RUNS};
pub use plan::{PlanRequest, PlanWish};
pub use receipts::{
    KitchenReceipt, KitchenReceiptsReport, KitchenVerifyReport, ReceiptFinding, Receipts, RunEnd, RunKind,
};
pub use run::{Host, KeepReceipts, StartError, Watch};
pub use run_log::LogRow;
pub use service::{
    Activity, BacklogSink, Follower, MissingProgram, NoFollower, OpenPlace, PrintedLines, RunningRow,
    ServeError, ServiceOptions, ServiceView, WorkplaceRequest,
};
pub use status::{FollowTarget, WatchView};
pub use validate::FailOn;
