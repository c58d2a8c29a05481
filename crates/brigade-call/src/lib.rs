//! Plans, reviews and verifies calls of tools.
//!
//! Owns what a call is and how it lives: the plan with every reason against it, the fingerprints and what an approval
//! binds, the steps from pending to finished, duplicates, and the gate before a run. Knows nothing of disks, processes
//! and clocks: it is given facts that were read once, and the present.
//!
//! [`plan`] makes a [`Plan`] of [`PlanFacts`]; [`Plan::to_call`] makes the [`Call`] that waits for a person;
//! [`verify`] compares an approved call with a new plan and is the only way to a [`VerifiedCall`], which is the only
//! thing that is ever executed. What is started without being a call, such as a runtime, passes [`plan_start`], which
//! makes a [`VerifiedStart`] by the same checks.
//!
//! ```
//! use brigade_call::{CallStatus, Step};
//!
//! assert!(CallStatus::Pending.allows(Step::Approve));
//! assert!(!CallStatus::Waiting.allows(Step::Approve));
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod binding;
mod call;
#[cfg(test)]
mod cases;
mod checkpoint;
mod contract;
mod facts;
mod plan;
mod queueing;
mod receipt;
mod record;
mod start;
mod status;
mod template;
mod verify;

/// Where calls are kept, relative to the workspace.
pub const CALLS: &str = ".brigade/tools/calls.jsonl";

/// Where receipts and logs are kept, relative to the workspace.
pub const RUNS: &str = ".brigade/tools/runs";

/// Where checkpoints are kept, relative to the workspace.
pub const CHECKPOINTS: &str = ".brigade/tools/checkpoints";

pub use binding::{Binding, Caller, Change, ProgramBinding};
pub use call::{
    Approval, Call, Claim, Duplicate, LedgerLink, ReceiptLink, Replan, ReplayOf, RunEnd, Runner,
    find_duplicate,
};
pub use checkpoint::{Checkpoint, CheckpointChoice, CheckpointRefusal, CheckpointStatus, NotACheckpoint};
pub use contract::{ContractFiles, ContractLabels, approval_required, contract_fingerprint};
pub use facts::{
    ArgsProblem, DirectoryFact, FileFact, PinFact, PlanFacts, ProgramFact, ProjectionFacts, RuntimeFact,
    SchemaFact,
};
pub use plan::{Plan, PlanSummary, SHORTEST_BOUND, plan};
pub use receipt::{
    LogWriter, McpPinState, McpRequestId, NotAReceipt, OutputCompaction, Receipt, RunOutput, RunProcess,
    RunReview, RuntimeHealth, RuntimeIssueRecord, RuntimeMetadata, RuntimeStatus, SandboxUsed, StreamOutput,
};
pub use record::{NotACall, RECORD_VERSION, RecordVersion, STORED_BLOCKER};
pub use start::{NO_HOME, Objection, StartFacts, StartProgram, StartPurpose, VerifiedStart, plan_start};
pub use status::{CallStatus, Step, WrongStep};
pub use template::{Rendered, Template};
pub use verify::{Purpose, Refusal, Resume, VerifiedCall, verify, way_on};
