//! What was found on the way to a refusal: the data of the documents that a face writes then.

use brigade_call::{Call, Checkpoint, RuntimeStatus};
use brigade_doctor::InboxItem;

use crate::fault::ErrorLine;
use crate::report::{
    PassedOver, PinReport, PinSummary, PlanReport, RunSummary, RuntimeStopReport, RuntimesSummary,
};

/// A refusal and the workspace that it concerns.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) target: String,
    pub(crate) refusal: Refusal,
}

/// What an operation had found when it refused, one variant for each document.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// A call cannot be planned: there is no such tool.
    Plan(Box<PlanReport>),
    /// A call cannot be queued.
    Queue {
        /// The call that would have been stored, without secrets.
        call: Box<Call>,
    },
    /// A call cannot be shown.
    Call,
    /// A call cannot be approved, rejected or held.
    Review {
        /// The call as it stands; `None` when there is none.
        call: Option<Box<Call>>,
        /// The pin of the MCP tool that it asks for.
        pin: Option<PinSummary>,
    },
    /// A call cannot run.
    Run(RunRefusal),
    /// A run cannot be shown.
    RunShow,
    /// A run cannot be repeated.
    Replay {
        /// The run; `None` when there is none.
        run: Option<Box<RunSummary>>,
        /// The plan of the new call; `None` when there is no such tool any more.
        plan: Option<Box<PlanReport>>,
    },
    /// A checkpoint cannot be shown.
    Checkpoint,
    /// A checkpoint cannot be answered.
    CheckpointReview {
        /// The checkpoint; `None` when there is none.
        checkpoint: Option<Box<Checkpoint>>,
    },
    /// A call cannot go on behind a checkpoint.
    Resume {
        /// The checkpoint; `None` when there is none.
        checkpoint: Option<Box<Checkpoint>>,
        /// Why the call cannot run.
        run: RunRefusal,
    },
    /// A pin cannot be shown or accepted.
    Pin(Option<Box<PinReport>>),
    /// A row of the inbox cannot be shown or decided.
    InboxItem {
        /// The row; `None` when there is none.
        item: Option<Box<InboxItem>>,
    },
    /// A tool cannot be shown.
    Tool,
    /// A tool cannot be described.
    Contract {
        /// The errors of the catalog.
        errors: Vec<ErrorLine>,
    },
    /// A runtime cannot be shown.
    Runtime(Box<RuntimesSummary>),
    /// A runtime was not started.
    RuntimeStart {
        /// The id that was asked for.
        runtime_id: String,
        /// The runtime; `None` when there is none of that id.
        runtime: Option<Box<RuntimeStatus>>,
        /// The end of what it wrote to standard output, without secrets.
        stdout: String,
        /// The same of standard error.
        stderr: String,
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
    /// A runtime was not stopped.
    RuntimeStop {
        /// The id that was asked for.
        runtime_id: String,
        /// The runtime; `None` when there is none of that id.
        runtime: Option<Box<RuntimeStatus>>,
        /// The process that it is.
        pid: Option<u32>,
        /// What to do about it.
        fix: Option<String>,
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
    /// A runtime was not stopped and started again.
    RuntimeRestart {
        /// The id that was asked for.
        runtime_id: String,
        /// What came of the stop, when the start is what failed.
        stop: Option<Box<RuntimeStopReport>>,
        /// Why it was not stopped or not started; `None` when there is none of that id.
        step: Option<Box<Refusal>>,
    },
}

/// What is known of a call that cannot run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RunRefusal {
    /// The call as it stands; `None` when there is none.
    pub call: Option<Box<Call>>,
    /// The names of what changed since the approval.
    pub changed: Vec<String>,
    /// Approved calls that were passed over, and why.
    pub passed_over: Vec<PassedOver>,
}
