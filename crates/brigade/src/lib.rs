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
//! * `workflow` has those for agents, tasks and workflows, the judge of calls, and notifications that a call waits.
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
mod kitchens;
#[cfg(feature = "builtin")]
mod memories;
#[cfg(feature = "builtin")]
mod memory_guard;
mod memory_rules;
mod offers;
mod policies;
mod provider_answer;
#[cfg(feature = "builtin")]
mod pull_requests;
pub mod report;
mod reviewer;
mod run;
mod sample;
#[cfg(feature = "builtin")]
mod scripts;
mod state;
#[cfg(test)]
mod tests;
mod work;
#[cfg(feature = "workflow")]
mod workflow;
#[cfg(not(feature = "workflow"))]
#[path = "workflow/absent.rs"]
mod workflow;
mod workspace;
mod workspace_inner;

/// Compiles the example of the library page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
mod library_page {}

/// Agents of the gateway, their calls, and the servers and clients between which it passes messages.
pub mod gateway {
    pub use brigade_access::{AgentUsage, Limit, LimitExceeded, LimitUnit};
    pub use brigade_mcp::{
        Listener, McpLog, McpProgress, Members, OfferSet, OfferedArgument, OfferedPrompt, OfferedResource,
        Question, QuestionKind, Reply, ReplyError, Requester, ToolResult, shrink,
    };
    pub use brigade_ops::{refusing_policy, upstreams::Upstreams};
    pub use brigade_remote::bridge::run as run_bridge;
    pub use brigade_workspace::{
        AgentConfig, AgentOffer, AgentTool, AgentTools, CallTarget, OwnName, SchemaText, SourceFiles,
        TaskSessions,
    };

    pub use crate::agent_calls::{AgentCall, Output, RequestOutcome, RunRequestOutcome};
    pub use crate::builtin_call::{DirectCallResult, documentation};
    pub use crate::env::CallEnder;
    pub use crate::offers::ServerOffers;
}

/// What waits for a person, decisions, and setting up agent programs.
pub mod daily {
    pub use brigade_ops::{
        CallDecision, ChosenCall, ConnectRequest, ConnectStep, Ignore, NamedThing, OnExisting, PendingChoice,
        ReviewDifference, ReviewPart, RuleProposal, SetupChoice, SetupGrant, SetupUndo, ShownThing,
        StagedSetup, WaitingGroup, WebLogin, arguments_line, caller_name, visible_word,
    };

    pub use crate::work::WorkAnswer;
}

/// Problems of a workspace, and the inbox.
pub mod health {
    pub use brigade_doctor::{
        Area, Closeout, InboxItem, InboxMetadata, InboxStatus, IssueType, Remedy, Verdict,
    };

    pub use brigade_ops::work::InboxStep;

    pub use crate::doctor::DoctorRequest;
}

/// The kitchen: PRDs, tasks, tiers, statuses, approvals, requests and reports.
pub mod kitchen {
    pub use brigade_kitchen::adapter::Permissions;
    pub use brigade_kitchen::approval::{
        ApprovalReport, Change, ChangeKind, CommandKind, CommandRow, PrdOrigin, TierRow, ValidationReport,
        WorkersReport,
    };
    pub use brigade_kitchen::config::{Flags, PhaseGate};
    pub use brigade_kitchen::format::{PrdFormat, ResultFormat};
    pub use brigade_kitchen::life::{
        Answer, AnsweredBy, AttemptEnd, CommandResult, Decision, DecisionKind, Life, Line, Record,
        ReviewResult, TaskOutcome,
    };
    pub use brigade_kitchen::map::KitchenMapReport;
    pub use brigade_kitchen::plan::KitchenPlanReport;
    pub use brigade_kitchen::prd::{Fault, FaultCode};
    pub use brigade_kitchen::service::{Outcome, PlannedTask, ServiceReport, Ticket};
    pub use brigade_kitchen::show::{
        Brief, DecisionRow, KitchenCostReport, Marker, StatusReport, SummaryReport, TaskRow, TaskStatus,
        duration, pluralize,
    };
    pub use brigade_kitchen::signal::Signal;
    pub use brigade_kitchen::{PrdName, TaskId, Tier};
    pub use brigade_kitchen_run::{
        AbandonedWork, Activity, AnswerReport, AnswerRequest, ApproveStep, DecisionFilter, DecisionsReport,
        FailOn, FailureChoice, FollowTarget, Follower, InitRequest, KeptWorktree, KitchenCleanReport,
        KitchenInitReport, KitchenLogReport, KitchenReceipt, KitchenReceiptsReport, KitchenVerifyReport,
        LogRequest, LogSink, LogText, MapRequest, NoFollower, PlanWish, PrdNames, PrintedLines,
        ReceiptFinding, RunEnd, RunKind, RunningRow, ServiceOptions, ServiceView, SkillRow, WatchView,
        WriteOutcome,
    };

    pub use crate::kitchens::{KitchenLogReach, PlanOptions};
}

/// Paths of a workspace's files, relative to its root.
pub mod paths {
    pub use brigade_call::{CALLS, CHECKPOINTS, RUNS};
    pub use brigade_mcp::PINS;
    pub use brigade_ops::{INBOX, RUNTIMES, STATE};
    pub use brigade_workspace::{CATALOG, GATEWAY, PACKAGE, POLICY, PROFILES, TARGETS, TRUSTED};
}

/// Decisions of the host's policy, and why a call is blocked.
pub mod policy {
    pub use brigade_policy::approval::ApprovalNeed;
    pub use brigade_policy::{
        Access, Blocker, BlockerDetail, CallKind, Diagnosis, ErrorLine, Failure, Fault, Gate, Label,
        PolicyDecision, PolicyRules, PolicyValidity, RiskLevel, SandboxMode, SourceLine,
    };
}

/// Processes, signals, sockets and terminals, as programs like the command line need them.
pub mod process {
    pub use brigade_process::{
        CancelSignal, NamedPipes, OwnSocket, PeerAddress, ProcessIdentity, StopEvent, StopSignals,
        Stream as OutputStream, TypedInput, TypedKeys, TypedLine, discard_typed, leave_no_core_file,
        listener_of, local_offset_minutes, random_bytes, read_typed_keys, read_typed_line,
        survive_file_size_limit,
    };
}

/// The parts of calls, plans and receipts.
pub mod records {
    pub use brigade_call::{
        ApprovedBy, ArgumentChange, Binding, BoundBy, BoundCode, BoundFile, CodeNote, ContractLabels,
        Difference, EffectUse, FileUse, MayLoad, NoteCode, ObservedAddress, ObservedDenial, OutputCompaction,
        PlanSummary, Race, RunInput, RuntimeHealth, RuntimeIssueRecord, RuntimeMetadata, RuntimeStatus,
        SandboxUsed, StoreKind, UnboundFile, is_of_execution, typed_value,
    };
    pub use brigade_ops::{LogReach, OpenCall};

    pub use crate::state::{AdoptStep, ExportLine};
}

/// Tools: catalog, discovery, registration, projections and runtimes.
pub mod tools {
    pub use brigade_catalog::{
        ApprovalMode, Availability, CONNECT, Level, MatchKind, OrBuiltin, Quantity, Reads, RunsIn,
        ServerTransport, ToolSource, ToolState, starter::StarterTools,
    };
    pub use brigade_harness::{
        ChangedEntry, DiscoveredEntry, DiscoveryIssue, EntryFamily, EntryOrigin, EntrySource, FileState,
        FileStatus, HarnessFiles, Scope, Transport,
    };
    pub use brigade_ops::projections::{ApplyRequest, Selection, SyncRequest};
    pub use brigade_ops::{
        Declare, DiscoverRequest, EnableChange, EnableRequest, ImportMcpRequest, LoginRequest, UpdateRequest,
        harness_labels,
    };
    pub use brigade_projection::{Header as ProjectionHeader, ProjectionSummary, SummaryRow};
    pub use brigade_runtime::StartProgress;

    pub use crate::catalog::{
        CheckSelection, InstallRequest, InstallSelection, RegisterRequest, RegisterSource, RunChecks,
    };
    pub use crate::defaults::DefaultsRequest;
}

pub use brigade_access as profile;
pub use brigade_call::{
    Call, CallStatus, Caller, Checkpoint, CheckpointChoice, CheckpointStatus, Plan, Preview, Receipt,
    RunStatus, Step,
};
pub use brigade_catalog::{Effect, Family, FindQuery, Tool};
pub use brigade_cmdline as command;
pub use brigade_core as core;
pub use brigade_core::{CallId, CheckpointId, ErrorCode, Exit, IdPrefix, RecordedWord, Report, RunId, Word};
#[cfg(feature = "builtin")]
pub use brigade_db as store;
pub use brigade_exec::Progress;
pub use brigade_fs::{FileVersion, Fs, Mark, MemoryFs};
#[cfg(feature = "team")]
pub use brigade_ops::team;
pub use brigade_ops::work::InboxFilter;
pub use brigade_ops::{
    ArgsSource, CallFilter, CallList, CallPage, Calls, CheckpointStep, Checkpoints, Clients, Daily, Error,
    ErrorKind, HistoryFilter, Inbox, OnBlocked, Onboarding, Packs, Parity, Pins, Projections, Refusal,
    Registry, Request, RunFilter, RunRefusal, RunTarget, Runs, Runtimes, WebLogins,
};
pub use brigade_process::CancelToken;
pub use brigade_redact as redact;
pub use brigade_runtime::LogStream;
pub use brigade_schema as schema;

pub use agent_calls::AgentCalls;
pub use agents::Agents;
pub use catalog::ListFilter;
pub use env::{DEFAULT_LOCK_TIMEOUT, Env};
pub use kitchens::Kitchen;
#[cfg(feature = "builtin")]
pub use memories::{Memories, MemoryFilter};
#[cfg(feature = "builtin")]
pub use pull_requests::PullRequests;
pub use reviewer::Reviewer;
pub use sample::NewFile;
pub use work::Work;
pub use workspace::Workspace;
