//! Documents about calls.

pub use brigade_call::{BatchRow, PassedOver};
use brigade_call::{Call, PlanSummary, Receipt};
use brigade_core::NextStep;
use brigade_core::json::sorted;
use brigade_policy::{BlockerDetail, PolicyDecision};
use brigade_projection::ProjectionSummary;
use serde::{Deserialize, Serialize};

use super::{PinSummary, ProjectionReport, Report, SchemaId, Unfilled};
use crate::exit::Exit;

/// `call plan`: what a call would be, and every reason why it may not run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PlanReport {
    /// The schema id.
    #[serde(deserialize_with = "PlanReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether nothing speaks against the call.
    pub valid: bool,
    /// The tool.
    pub tool_id: String,
    /// The plan, without secrets; of a tool that is not there it says nothing.
    #[serde(serialize_with = "sorted::serialize")]
    pub plan: PlanSummary,
    /// Every reason against the call, as sentences.
    pub blockers: Vec<String>,
    /// The same reasons with code, place and the way to change them.
    pub blocker_details: Vec<BlockerDetail>,
    /// What the policy decides.
    pub policy: PolicyDecision,
    /// What the policy's author probably did not mean, such as a key that has no effect; none of it stops the call.
    pub warnings: Vec<String>,
    /// What the input schema has against the arguments.
    pub validation_errors: Vec<String>,
    /// The projections that block the call.
    #[serde(serialize_with = "sorted::serialize")]
    pub projection_blockers: Vec<ProjectionReport>,
    /// Counts and places of the projections.
    pub projection_summary: ProjectionSummary,
    /// The contract's fingerprint.
    pub contract_fingerprint: Option<String>,
    /// The source's fingerprint.
    pub source_fingerprint: Option<String>,
    /// The fingerprint of what is asked.
    pub call_fingerprint: Option<String>,
    /// The words of the command line, without secrets; empty when it cannot be put together.
    pub argv: Vec<String>,
}

impl Report for PlanReport {
    const SCHEMA: &'static str = "brigade.call-plan.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// `call queue`: what became of a planned call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QueueReport {
    /// The schema id.
    #[serde(deserialize_with = "QueueReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The queue's file.
    pub calls_path: String,
    /// 1 when the call was stored.
    pub created: u8,
    /// 1 when one that asks for the same was there.
    pub skipped: u8,
    /// 1 when the call has blockers.
    pub blocked: u8,
    /// The stored call, or the one that was there, or, when nothing was stored, the one that would have been, without
    /// secrets.
    pub call: Call,
    /// Why nothing was stored.
    pub reason: Option<String>,
    /// Every reason against the call, as sentences.
    pub blockers: Vec<String>,
    /// The same reasons with code, place and the way to change them.
    pub blocker_details: Vec<BlockerDetail>,
}

impl Report for QueueReport {
    const SCHEMA: &'static str = "brigade.call-queue.v1";
}

/// `call show`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CallReport {
    /// The schema id.
    #[serde(deserialize_with = "CallReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The queue's file.
    pub calls_path: String,
    /// The call; `null` when there is none.
    pub call: Call,
    /// What changed since the call was approved, so that it cannot run; empty when nothing did.
    pub changed: Vec<String>,
    /// The pin of the MCP tool that it asks for, and what the server changed since; `null` without one.
    pub pin: Option<PinSummary>,
    /// Why there is none.
    pub(crate) error: Unfilled<Option<String>>,
    /// What could be meant, when more than one call could.
    pub(crate) candidates: Unfilled<Vec<String>>,
    /// What would be accepted now; not part of the document.
    #[serde(skip)]
    pub next: Option<NextStep>,
}

impl Report for CallReport {
    const SCHEMA: &'static str = "brigade.call.v1";
}

/// `call approve`, `call reject`, `call hold`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReviewReport {
    /// The schema id.
    #[serde(deserialize_with = "ReviewReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The queue's file.
    pub calls_path: String,
    /// The call as it stands now; `null` when there is none.
    pub call: Call,
    /// The pin of the MCP tool that it asks for, as it is now; `null` without one.
    pub pin: Option<PinSummary>,
    /// What the server changed of that tool and this approval took, in sentences: the pin was renewed to exactly that.
    pub accepted_changes: Vec<String>,
    /// Every reason against it, as sentences.
    pub(crate) blockers: Unfilled<Vec<String>>,
    /// The same reasons with code, place and the way to change them.
    pub(crate) blocker_details: Unfilled<Vec<BlockerDetail>>,
    /// What could be meant, when more than one call could.
    pub(crate) candidates: Unfilled<Vec<String>>,
}

impl Report for ReviewReport {
    const SCHEMA: &'static str = "brigade.call-review.v1";
}

/// `call run`: what came of a run, or why there was none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunReport {
    /// The schema id.
    #[serde(deserialize_with = "RunReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The queue's file.
    pub calls_path: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// The call as it stands now; `null` when there is none.
    pub call: Call,
    /// The receipt; `null` when nothing ran.
    pub receipt: Box<Receipt>,
    /// Every reason why nothing ran, as sentences.
    pub(crate) blockers: Unfilled<Vec<String>>,
    /// The same reasons with code, place and the way to change them.
    pub(crate) blocker_details: Unfilled<Vec<BlockerDetail>>,
    /// The names of what changed since the approval.
    pub(crate) changed: Unfilled<Vec<String>>,
    /// Approved calls that `--next` passed over, and why.
    pub passed_over: Vec<PassedOver>,
    /// What the run came upon that somebody should look at; it was no reason not to run.
    pub warnings: Vec<String>,
    /// Why nothing ran.
    #[serde(rename = "error", skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What could be meant, when more than one call could.
    pub(crate) candidates: Unfilled<Vec<String>>,
    /// Whether the run ended well; not part of the document.
    #[serde(skip)]
    pub succeeded: bool,
}

impl Report for RunReport {
    const SCHEMA: &'static str = "brigade.call-run.v1";

    fn exit(&self) -> Exit {
        if self.succeeded { Exit::Done } else { Exit::Refused }
    }
}

/// `call queue --stdin`: how many calls were stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BatchReport {
    /// The schema id.
    #[serde(deserialize_with = "BatchReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The queue's file.
    pub calls_path: String,
    /// Calls that were stored.
    pub created: usize,
    /// Calls that were there, or were rejected before.
    pub skipped: usize,
    /// Lines that are no call, or whose call is blocked.
    pub refused: usize,
}

impl Report for BatchReport {
    const SCHEMA: &'static str = "brigade.call-batch.v1";

    fn exit(&self) -> Exit {
        if self.refused == 0 { Exit::Done } else { Exit::Refused }
    }
}
