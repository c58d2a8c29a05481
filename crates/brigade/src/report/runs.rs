//! Documents about runs.

use std::collections::BTreeMap;

pub use brigade_call::RunSummary;
use brigade_call::{Call, ObservedAddress, ObservedDenial, Receipt, RunInput};
use brigade_core::NextStep;
use brigade_core::json::sorted;
use brigade_policy::BlockerDetail;
pub use brigade_queue::{BrokenReceipt, LedgerFinding};
use serde::{Deserialize, Serialize};

use super::{PlanReport, Report, Rows, SchemaId, Unfilled};
use crate::exit::Exit;

/// `run list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunListReport {
    /// The schema id.
    #[serde(deserialize_with = "RunListReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// Summaries, newest first.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<RunSummary>"))]
    pub runs: Rows<RunSummary>,
    /// How many runs there are in all.
    pub run_count: usize,
    /// How many of each status.
    pub counts: BTreeMap<String, u64>,
    /// Receipts that cannot be read.
    pub errors: Vec<BrokenReceipt>,
    /// How many.
    pub error_count: usize,
    /// The newest run; `null` when there is none.
    pub latest: Option<RunSummary>,
    /// The run that the next page comes before, when there are more than were asked for.
    pub next_before: Option<String>,
    /// Why nothing may be listed, such as a tool that is not there.
    pub notes: Vec<String>,
}

impl Report for RunListReport {
    const SCHEMA: &'static str = "brigade.run-list.v1";
}

/// `run show` and `run latest`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunShowReport {
    /// The schema id.
    #[serde(deserialize_with = "RunShowReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// The receipt; `null` when there is none.
    pub run: Box<Receipt>,
    /// Why there is none.
    pub(crate) error: Unfilled<Option<String>>,
    /// What could be meant, when more than one run could.
    pub(crate) candidates: Unfilled<Vec<String>>,
    /// What would be accepted now; not part of the document.
    #[serde(skip)]
    pub next: Option<NextStep>,
}

impl Report for RunShowReport {
    const SCHEMA: &'static str = "brigade.run.v1";
}

/// `run show --inputs`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunInputsReport {
    /// The schema id.
    #[serde(deserialize_with = "RunInputsReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The run that was asked for.
    pub run_id: String,
    /// The tool.
    pub tool_id: String,
    /// The run that was observed: this one, or an earlier one of the same; `null` when there is none.
    pub observed_run_id: Option<String>,
    /// Why there is none.
    pub reason: Option<String>,
    /// Whether nothing was kept from view.
    pub complete: bool,
    /// Whether a list was full, and more left out of it.
    pub truncated: bool,
    /// Files that were read or executed, and that the approval binds.
    pub bound: Vec<RunInput>,
    /// Files that a word of the command line names, or that are below a folder that one names.
    pub arguments: Vec<RunInput>,
    /// Files that the tool declares as data.
    pub data: Vec<RunInput>,
    /// Files that were read or executed, and that nothing of these stands for.
    pub nobody: Vec<RunInput>,
    /// Folders whose names were read.
    pub folders: Vec<String>,
    /// Files that were written.
    pub written: Vec<String>,
    /// Addresses that sockets were connected or bound to.
    pub connected: Vec<ObservedAddress>,
    /// What was tried and is forbidden.
    pub denied: Vec<ObservedDenial>,
    /// How often something outside of the workspace was used, by the first folder of its path.
    pub outside: BTreeMap<String, u64>,
}

impl Report for RunInputsReport {
    const SCHEMA: SchemaId = "brigade.run-inputs.v1";
}

/// `run replay`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReplayReport {
    /// The schema id.
    #[serde(deserialize_with = "ReplayReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// The queue's file.
    pub calls_path: String,
    /// The run that is replayed; `null` when there is none.
    pub run: RunSummary,
    /// The plan of the new call; `null` when there is none.
    #[serde(serialize_with = "sorted::serialize")]
    pub plan: Box<PlanReport>,
    /// Every reason against the new call, as sentences.
    pub(crate) blockers: Unfilled<Vec<String>>,
    /// The same reasons with code, place and the way to change them.
    pub(crate) blocker_details: Unfilled<Vec<BlockerDetail>>,
    /// 1 when a pending call was stored.
    pub created: u8,
    /// Always 0: a replay never runs by itself.
    pub executed: u8,
    /// The stored call.
    pub call: Box<Call>,
}

impl Report for ReplayReport {
    const SCHEMA: &'static str = "brigade.run-replay.v1";
}

/// `run verify`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LedgerReport {
    /// The schema id.
    #[serde(deserialize_with = "LedgerReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// Whether everything fits together.
    pub valid: bool,
    /// How many entries were checked.
    pub checked: u64,
    /// Whether the receipts are in the ledger; those of the Python program enter it with the first write.
    pub adopted: bool,
    /// What does not fit, the first one first.
    pub findings: Vec<LedgerFinding>,
}

impl Report for LedgerReport {
    const SCHEMA: &'static str = "brigade.run-verify.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}
