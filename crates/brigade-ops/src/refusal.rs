//! The data of refusals, for the failure documents that a face writes.

use crate::{ApplyReport, DefaultsReport, ProjectionPlanReport, SyncPlanReport};
use crate::{PackImportReport, RegisterReport};
use brigade_call::{Call, Checkpoint, RuntimeStatus, StoreKind};
use brigade_doctor::InboxItem;
use brigade_policy::ErrorLine;

use crate::report::{
    PassedOver, PinReport, PinSummary, PlanReport, RunSummary, RuntimeStopReport, RuntimesSummary,
};

/// A refusal and its workspace.
#[derive(Debug)]
pub(crate) struct WorkspaceRefusal {
    pub(crate) target: String,
    pub(crate) calls_path: String,
    pub(crate) store: StoreKind,
    pub(crate) refusal: Refusal,
}

/// The data of a refusal, one variant per document.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// A call cannot be planned because the tool does not exist.
    Plan(Box<PlanReport>),
    /// A call cannot be queued.
    Queue {
        /// The call that would have been stored, without secrets.
        call: Box<Call>,
    },
    /// A call, or its current plan, cannot be shown.
    Call {
        /// The call; `None` if no call matches.
        call: Option<Box<Call>>,
    },
    /// A call cannot be approved, rejected or held.
    Review {
        /// The current call; `None` if no call matches.
        call: Option<Box<Call>>,
        /// The pin of the call's MCP tool.
        pin: Option<PinSummary>,
    },
    /// A call cannot run.
    Run(RunRefusal),
    /// A run cannot be shown.
    RunShow,
    /// A run cannot be repeated.
    Replay {
        /// The run; `None` if no run matches.
        run: Option<Box<RunSummary>>,
        /// The plan of the new call; `None` if the tool no longer exists.
        plan: Option<Box<PlanReport>>,
    },
    /// A checkpoint cannot be shown.
    Checkpoint,
    /// A checkpoint cannot be answered.
    CheckpointReview {
        /// The checkpoint; `None` if no checkpoint matches.
        checkpoint: Option<Box<Checkpoint>>,
        /// Its call; `None` if the queue does not have it.
        call: Option<Box<Call>>,
    },
    /// A call cannot resume after a checkpoint.
    Resume {
        /// The checkpoint; `None` if no checkpoint matches.
        checkpoint: Option<Box<Checkpoint>>,
        /// Why the call cannot run.
        run: RunRefusal,
    },
    /// A pin cannot be shown or accepted.
    Pin(Option<Box<PinReport>>),
    /// An inbox row cannot be shown or decided.
    InboxItem {
        /// The row; `None` if no row matches.
        item: Option<Box<InboxItem>>,
    },
    /// A tool cannot be shown.
    Tool,
    /// A tool cannot be described.
    Contract {
        /// Errors in the catalog.
        errors: Vec<ErrorLine>,
    },
    /// A runtime cannot be shown.
    Runtime(Box<RuntimesSummary>),
    /// A runtime was not started.
    RuntimeStart {
        /// The requested id.
        runtime_id: String,
        /// The runtime; `None` if no runtime has this id.
        runtime: Option<Box<RuntimeStatus>>,
        /// The end of standard output, without secrets.
        stdout: String,
        /// The end of standard error, without secrets.
        stderr: String,
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
    /// A runtime was not stopped.
    RuntimeStop {
        /// The requested id.
        runtime_id: String,
        /// The runtime; `None` if no runtime has this id.
        runtime: Option<Box<RuntimeStatus>>,
        /// Its process.
        pid: Option<u32>,
        /// What to do.
        fix: Option<String>,
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
    /// A runtime was not stopped and started again.
    RuntimeRestart {
        /// The requested id.
        runtime_id: String,
        /// The report of the stop, if the start failed.
        stop: Option<Box<RuntimeStopReport>>,
        /// Why the stop or start failed; `None` if no runtime has this id.
        step: Option<Box<Refusal>>,
    },
    /// No tool was registered.
    Register(Box<RegisterReport>),
    /// A pack was not imported.
    PackImport(Box<PackImportReport>),
    /// The built-in tools were not added.
    Defaults(Box<DefaultsReport>),
    /// The projections of a tool that does not exist, or of an unreadable catalog, cannot be planned.
    ProjectionPlan(Box<ProjectionPlanReport>),
    /// The projections of a tool that does not exist, or of an unreadable catalog, cannot be planned for `sync apply`.
    SyncPlan(Box<SyncPlanReport>),
    /// The projections of a tool that does not exist, or of an unreadable catalog, cannot be written.
    Apply(Box<ApplyReport>),
}

/// The data of a call that cannot run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RunRefusal {
    /// The current call; `None` if no call matches.
    pub call: Option<Box<Call>>,
    /// Names of what changed since the approval.
    pub changed: Vec<String>,
    /// Approved calls that were skipped, and why.
    pub passed_over: Vec<PassedOver>,
}
