//! Documents about runs.

use brigade_core::{Json, NextStep};
use serde::Serialize;

use super::{Report, Rows, Unfilled};
use crate::exit::Exit;

/// `run list`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunListReport {
    /// The schema id.
    pub schema: &'static str,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// Summaries, newest first.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<Json>"))]
    pub runs: Rows<Json>,
    /// How many runs there are in all.
    pub run_count: usize,
    /// How many of each status.
    pub counts: Json,
    /// Receipts that cannot be read.
    pub errors: Vec<Json>,
    /// How many.
    pub error_count: usize,
    /// The newest run; `null` when there is none.
    pub latest: Json,
    /// The run that the next page comes before, when there are more than were asked for.
    pub next_before: Option<String>,
    /// Why nothing may be listed, such as a tool that is not there.
    pub notes: Vec<String>,
}

impl Report for RunListReport {
    const SCHEMA: &'static str = "brigade.run-list.v1";
}

/// `run show` and `run latest`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunShowReport {
    /// The schema id.
    pub schema: &'static str,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// The receipt; `null` when there is none.
    pub run: Json,
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

/// `run replay`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReplayReport {
    /// The schema id.
    pub schema: &'static str,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// The queue's file.
    pub calls_path: String,
    /// The run that is replayed; `null` when there is none.
    pub run: Json,
    /// The plan of the new call; `null` when there is none.
    pub plan: Json,
    /// Every reason against the new call, as sentences.
    pub(crate) blockers: Unfilled<Vec<String>>,
    /// The same reasons with code, place and the way to change them.
    pub(crate) blocker_details: Unfilled<Vec<Json>>,
    /// 1 when a pending call was stored.
    pub created: u8,
    /// Always 0: a replay never runs by itself.
    pub executed: u8,
    /// The stored call.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub call: Json,
    /// Why nothing was stored.
    #[serde(skip_serializing_if = "Unfilled::is_left_out")]
    pub(crate) error: Unfilled<Option<String>>,
}

impl Report for ReplayReport {
    const SCHEMA: &'static str = "brigade.run-replay.v1";
}

/// `run verify`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LedgerReport {
    /// The schema id.
    pub schema: &'static str,
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

/// One thing that does not fit.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LedgerFinding {
    /// The place in the ledger, from 1.
    pub sequence: Option<u64>,
    /// The line of the ledger, from 1, where that is what is damaged.
    pub line: Option<u64>,
    /// The run; empty where none is meant.
    pub run_id: String,
    /// `changed`, `removed`, `reordered`, `added`, `cut-off` or `forgotten`.
    pub problem: &'static str,
    /// What was found.
    pub detail: &'static str,
}
