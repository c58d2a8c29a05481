//! Plans, reviews and verifies calls of tools.
//!
//! It owns calls and their lifecycle: the plan with its blockers, fingerprints and bindings, the steps from pending to
//! finished, duplicates, and the gate before a run. It does not know disks, processes or clocks: the caller passes
//! facts and the current time.
//!
//! [`plan`] creates a [`Plan`] from [`PlanFacts`]. [`Plan::to_call`] creates the pending [`Call`]. [`verify`] compares
//! an approved call with a new plan; it is the only way to a [`VerifiedCall`], and nothing else is executed. Programs
//! that are not calls, such as runtimes, pass [`plan_start`] or [`plan_crew_start`], which create a [`VerifiedStart`]
//! with the same checks.
//!
//! ```
//! use brigade_call::{CallStatus, Step};
//!
//! assert!(CallStatus::Pending.allows(Step::Approve));
//! assert!(!CallStatus::Waiting.allows(Step::Approve));
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod advice;
mod approver;
mod binding;
mod call;
#[cfg(test)]
mod cases;
mod checkpoint;
mod code;
mod contract;
mod facts;
mod inputs;
mod judged;
mod next;
mod offer;
mod plan;
mod preview;
mod queueing;
mod receipt;
mod record;
mod report;
mod seen;
mod session;
mod shown;
mod start;
mod status;
mod template;
mod verify;

/// The journal of calls, relative to the workspace.
pub const CALLS: &str = ".brigade/tools/calls.jsonl";

/// The file that says which team the workspace has joined, relative to the workspace.
pub const TEAM: &str = ".brigade/tools/team.toml";

/// The directory of receipts and logs, relative to the workspace.
pub const RUNS: &str = ".brigade/tools/runs";

/// The directory of checkpoints, relative to the workspace.
pub const CHECKPOINTS: &str = ".brigade/tools/checkpoints";

pub use advice::{EffectUse, FileUse, PYTHON_CACHE, Patterns, SeenRun, ToolUse, UnboundFile, pattern_of};
pub use approver::{ApprovedBy, ApproverKind};
pub use binding::{Binding, Caller, Change, ProgramBinding, RULE_VERSION};
pub use brigade_access::is_of_execution;
pub use call::{
    Approval, Approvals, Call, Claim, Duplicate, LedgerLink, NOT_APPROVED_HERE, ReceiptLink, Replan,
    ReplayOf, RunEnd, Runner, find_duplicate,
};
pub use checkpoint::{Checkpoint, CheckpointChoice, CheckpointRefusal, CheckpointStatus, NotACheckpoint};
pub use code::{
    BoundBy, BoundCode, BoundFile, CodeFacts, CodeNote, LearnedCode, MayLoad, NoteCode, declare_code,
    is_open, undeclared_code,
};
pub use contract::{ContractFiles, ContractLabels, approval_required, contract_fingerprint};
pub use facts::{
    ArgsProblem, BuiltinFacts, DirectoryFact, FileFact, NamedThings, PinFact, PlanFacts, ProgramFact,
    ProjectionFacts, RuntimeFact, SchemaFact, ServerFact,
};
pub use inputs::{
    RunInput, RunInputs, binds, binds_file, data_folder, group_inputs, paths_of_words, spelled,
};
pub use judged::Judgement;
pub use next::OnBlocked;
pub use offer::HostOffer;
pub use plan::{
    MissingTool, Plan, PlanSummary, absent_name, argument_is_code, entry_blocker, install_command,
    meant_in_schema, plan, plan_missing, shell_blocker, standing_blockers, telling_values, typed_value,
    unset_for_mcp, words_of_arguments,
};
pub use preview::{ArgumentChange, Difference, Preview};
pub use receipt::{
    ContentBlock, DeniedUse, InstallRun, LogWriter, McpPinState, McpRequestId, McpResponse, NotAReceipt,
    ObservedAddress, ObservedCounts, ObservedDenial, ObservedFile, ObservedState, OutputCompaction, Race,
    Receipt, RunObserved, RunOutput, RunProcess, RunReview, RunStatus, RunSummary, RuntimeHealth,
    RuntimeIssueRecord, RuntimeMetadata, RuntimeStatus, SandboxUsed, SocketUse, Statement, StreamOutput,
    Subject, TouchedFile,
};
pub use record::{ADOPTED_STATUS, NotACall, RECORD_VERSION, RecordVersion};
pub use report::{BatchLine, BatchRow, PassedOver};
pub use seen::SeenPart;
pub use session::CallSession;
pub use shown::{Paths, StoreKind, shown_policy, shown_projections};
pub use start::{
    CrewStart, Objection, StartFacts, StartProgram, StartPurpose, VerifiedStart, no_home, plan_crew_start,
    plan_start,
};
pub use status::{CallStatus, Step, WrongStep};
pub use template::{RenderedWord, Template};
pub use verify::{MovedProgram, Purpose, Refusal, Resume, VerifiedCall, verify, way_on};
