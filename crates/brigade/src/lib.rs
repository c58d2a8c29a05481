//! Governed tool calls for coding agents: catalog, plan, approval, run, receipt.
//!
//! ```rust
//! use brigade::{Env, Error, Request, Workspace};
//!
//! fn greet(directory: &std::path::Path) -> Result<String, Error> {
//!     let workspace = Workspace::open(directory, Env::of_process())?;
//!     let queued = workspace.calls().queue(Request::new("greet").arg("name", "world"))?;
//!     workspace.calls().approve(&queued.call.id)?;
//!     let run = workspace.calls().run(&queued.call.id)?;
//!     Ok(run.receipt.stdout_summary)
//! }
//! ```
//!
//! A `Workspace` is a directory with a catalog of tools. An operation reads its facts once, decides, acts, and returns
//! a report, or an error with all reasons. A report is a JSON document with a schema id.
//!
//! A call runs only after approval, and exactly as approved. Arguments, contract, program, script, policy decision and
//! caller are compared right before the run.
//!
//! A workspace has a handle for each subject:
//!
//! | handles | subject |
//! | --- | --- |
//! | `calls`, `runs`, `checkpoints`, `pins` | calls from plan to receipt, questions of running scripts, pinned MCP tools |
//! | `catalog`, `registry`, `packs`, `runtimes` | tools, tools of other agent programs, tool packs, local runtimes |
//! | `policy`, `projections`, `parity` | what may run, the files written for agent programs, how those differ |
//! | `agents`, `agent_calls`, `clients` | agents of the gateway, their calls, the programs that are connected |
//! | `work`, `inbox`, `doctor`, `state`, `sources` | what waits for a person, problems, the stored files, lines for messages |
//! | `web_logins` | one-time tokens of the page |
//! | `kitchen` | several workers on a list of tasks |
//! | `memories`, `pull_requests` | what built-in tools stored; only with the feature `builtin` |
//!
//! The features are on by default:
//!
//! * `mcp` calls tools of MCP servers. Without it, `tokio` is not built and such calls are refused.
//! * `builtin` has the functions of the built-in tools, and brings SQLite. Without it, their calls fail with
//!   `not_available_here`.
//! * `team` lets several people and hosts share one queue, and brings the client of PostgreSQL.
//!
//! The crate does not read arguments, does not print, and installs no signal handler; a host sets clock, variables,
//! files and store through `Env`.
//!
//! The page `docs/library.md` has a longer example, and says which crates are public API.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod agent_calls;
mod agent_context;
mod agent_review;
mod agents;
mod brief;
mod builtin_call;
mod catalog;
mod defaults;
#[cfg(feature = "builtin")]
mod delegated_calls;
mod doctor;
mod env;
mod inbox;
mod kitchens;
#[cfg(feature = "builtin")]
mod memories;
#[cfg(feature = "builtin")]
mod memory_guard;
mod memory_rules;
mod offers;
mod packs;
mod parity;
mod policies;
mod projections;
mod provider_answer;
#[cfg(feature = "builtin")]
mod pull_requests;
mod registry;
mod report;
mod reviewer;
mod run;
mod sample;
#[cfg(feature = "builtin")]
mod scripts;
mod state;
mod work;
mod workspace;
mod workspace_inner;

/// Compiles the example of the library page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
mod library_page {}

/// The words of the kitchen: PRDs, tasks, tiers, statuses, approvals.
pub mod kitchen {
    pub use brigade_kitchen::adapter::Permissions;
    pub use brigade_kitchen::approval::{Change, ChangeKind, CommandKind, CommandRow, PrdOrigin, TierRow};
    pub use brigade_kitchen::config::{Flags, PhaseGate};
    pub use brigade_kitchen::format::{PrdFormat, ResultFormat};
    pub use brigade_kitchen::life::{
        Answer, AnsweredBy, AttemptEnd, CommandResult, Decision, DecisionKind, Life, Line, Record,
        ReviewResult, TaskOutcome,
    };
    pub use brigade_kitchen::prd::{Fault, FaultCode};
    pub use brigade_kitchen::service::{Outcome, PlannedTask, Ticket};
    pub use brigade_kitchen::show::{Brief, DecisionRow, Marker, TaskRow, TaskStatus, duration, pluralize};
    pub use brigade_kitchen::signal::Signal;
    pub use brigade_kitchen::{PrdName, TaskId, Tier};
    pub use brigade_kitchen_run::{
        AbandonedWork, Activity, FollowTarget, Follower, KeptWorktree, KitchenReceipt, LogText, NoFollower,
        PrdNames, PrintedLines, ReceiptFinding, RunEnd, RunKind, RunningRow, ServiceView, SkillRow,
        WatchView, WriteOutcome,
    };
}

/// Paths of a workspace's files, relative to its root.
pub mod paths {
    pub use brigade_call::{CALLS, CHECKPOINTS, RUNS};
    pub use brigade_mcp::PINS;
    pub use brigade_ops::{INBOX, RUNTIMES, STATE};
    pub use brigade_workspace::{CATALOG, GATEWAY, PACKAGE, POLICY, PROFILES, TARGETS, TRUSTED};
}

pub use brigade_access as profile;
pub use brigade_call::{
    ApprovedBy, ArgumentChange, Binding, BoundBy, BoundCode, BoundFile, Call, CallStatus, Caller, Checkpoint,
    CheckpointChoice, CheckpointStatus, CodeNote, ContractLabels, Difference, EffectUse, FileUse, MayLoad,
    NoteCode, ObservedAddress, ObservedDenial, OutputCompaction, Plan, PlanSummary, Preview, Race, Receipt,
    RunInput, RunStatus, RuntimeHealth, RuntimeIssueRecord, RuntimeMetadata, RuntimeStatus, SandboxUsed,
    Step, StoreKind, UnboundFile, is_of_execution, typed_value,
};
pub use brigade_catalog::{
    ApprovalMode, Availability, CONNECT, Effect, Family, FindQuery, Level, MatchKind, OrBuiltin, Quantity,
    Reads, RunsIn, Tool, ToolSource, ToolState, starter::StarterTools,
};
pub use brigade_cmdline as command;
pub use brigade_core as core;
pub use brigade_core::{ErrorCode, Exit, RecordedWord, Word};
#[cfg(feature = "builtin")]
pub use brigade_db as store;
pub use brigade_doctor::{Area, Closeout, InboxItem, InboxMetadata, InboxStatus, IssueType, Remedy, Verdict};
pub use brigade_exec::Progress;
pub use brigade_fs::{FileVersion, Fs, Mark, MemoryFs};
pub use brigade_kitchen::approval::{ApprovalReport, ValidationReport, WorkersReport};
pub use brigade_kitchen::map::KitchenMapReport;
pub use brigade_kitchen::plan::KitchenPlanReport;
pub use brigade_kitchen::service::ServiceReport;
pub use brigade_kitchen::show::{KitchenCostReport, StatusReport, SummaryReport};
pub use brigade_kitchen_run::{
    AnswerReport, AnswerRequest, ApproveStep, DecisionFilter, DecisionsReport, FailOn, FailureChoice,
    InitRequest, KitchenCleanReport, KitchenInitReport, KitchenLogReport, KitchenReceiptsReport,
    KitchenVerifyReport, LogRequest, LogSink, MapRequest, PlanWish, ServiceOptions,
};
pub use brigade_mcp::{
    Listener, McpLog, McpProgress, Members, OfferSet, OfferedArgument, OfferedPrompt, OfferedResource,
    Question, QuestionKind, Reply, ReplyError, Requester, ToolResult, shrink,
};
pub use brigade_policy::approval::ApprovalNeed;
pub use brigade_policy::{
    Access, Blocker, BlockerDetail, CallKind, Diagnosis, ErrorLine, Failure, Fault, Gate, Label,
    PolicyDecision, PolicyRules, RiskLevel, SandboxMode, SourceLine, Standing,
};
pub use brigade_process::{
    CancelSignal, CancelToken, NamedPipes, OwnSocket, PeerAddress, ProcessIdentity, StopEvent, StopSignals,
    Stream as OutputStream, TypedKeys, TypedLine, discard_typed, leave_no_core_file, listener_of,
    local_offset_minutes, random_bytes, read_typed_keys, read_typed_line, survive_file_size_limit,
};
pub use brigade_projection::{Header as ProjectionHeader, ProjectionSummary, SummaryRow};
pub use brigade_redact as redact;
pub use brigade_remote::bridge::run as run_bridge;
pub use brigade_runtime::{LogStream, StartProgress};
pub use brigade_schema as schema;
pub use brigade_workspace::{
    AgentConfig, AgentOffer, AgentTool, AgentTools, CallTarget, OwnName, SchemaText, SourceFiles,
};

pub use agent_calls::{AgentCall, AgentCalls, Output, RequestOutcome, RunRequestOutcome};
pub use agents::Agents;
pub use brigade_access::{AgentUsage, Limit, LimitExceeded, LimitUnit};
pub use brigade_harness::{Scope, Transport};
#[cfg(feature = "team")]
pub use brigade_ops::team;
pub use brigade_ops::{
    ArgsSource, CallFilter, CallList, CallPage, Calls, CheckpointStep, Checkpoints, Clients, ConnectRequest,
    ConnectStep, Declare, EnableChange, EnableRequest, Error, ErrorKind, HistoryFilter, ImportMcpRequest,
    LogReach, LoginRequest, OnBlocked, Pins, Refusal, Request, RunFilter, RunRefusal, RunTarget, Runs,
    Runtimes, ShownThing, UpdateRequest, WaitingGroup,
};
pub use brigade_ops::{
    CallDecision, ChosenCall, Daily, Ignore, NamedThing, OnExisting, Onboarding, PendingChoice,
    ReviewDifference, ReviewPart, RuleProposal, SetupChoice, SetupGrant, SetupUndo, StagedSetup, WebLogin,
    WebLogins, arguments_line, caller_name, upstreams::Upstreams, visible_word,
};
pub use brigade_workspace::TaskSessions;
pub use builtin_call::{DirectCallResult, documentation};
pub use catalog::{
    CheckSelection, InstallRequest, InstallSelection, ListFilter, RegisterRequest, RegisterSource, RunChecks,
};
pub use defaults::DefaultsRequest;
pub use doctor::DoctorRequest;
pub use env::{CallEnder, DEFAULT_LOCK_TIMEOUT, Env};
pub use inbox::{InboxFilter, InboxStep};
pub use kitchens::{Kitchen, KitchenLogReach, PlanOptions};
#[cfg(feature = "builtin")]
pub use memories::{Memories, MemoryFilter, MemoryListReport, MemoryReport, WorkTurnReport};
pub use offers::ServerOffers;
pub use projections::{ApplyRequest, Selection, SyncRequest};
#[cfg(feature = "builtin")]
pub use pull_requests::{
    NewThread, PullRequestListReport, PullRequestReport, PullRequestRow, PullRequests, ThreadRow,
};
pub use registry::{
    ChangedEntry, DiscoverRequest, DiscoveredEntry, DiscoveryIssue, EntryFamily, EntryOrigin, EntrySource,
    FileState, FileStatus, HarnessFiles, Registry, ServerTransport, harness_labels,
};
pub use report::*;
pub use reviewer::Reviewer;
pub use sample::NewFile;
pub use state::{AdoptStep, ExportLine};
pub use work::{Work, WorkAnswer};
pub use workspace::Workspace;
