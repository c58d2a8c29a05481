//! Documents about runs.

use std::collections::BTreeMap;

use brigade_call::{
    Call, EffectUse, ObservedAddress, ObservedDenial, Receipt, RunInput, StoreKind, UnboundFile,
};
use brigade_core::json::sorted;
use brigade_core::{Hint, NextStep};
use brigade_macros::document;
use brigade_policy::{BlockerDetail, ErrorLine};

use super::{PlanReport, RefusalMember, Rows};

pub use brigade_call::RunSummary;
pub use brigade_queue::{BrokenReceipt, LedgerFinding, Tampering};

/// `run list`.
#[document("brigade.run-list.v1")]
pub struct RunListReport {
    /// The workspace root.
    pub target: String,
    /// The directory of receipts and logs.
    pub runs_path: String,
    /// Summaries, newest first.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<RunSummary>"))]
    pub runs: Rows<RunSummary>,
    /// Number of all runs.
    pub run_count: usize,
    /// Number by status.
    pub counts: BTreeMap<String, u64>,
    /// Unreadable receipts.
    pub errors: Vec<BrokenReceipt>,
    /// Number of entries.
    pub error_count: usize,
    /// The newest run; `null` without runs.
    pub latest: Option<RunSummary>,
    /// The run to list before for the next page, if there is one.
    pub next_before: Option<String>,
    /// Why the list may be empty, such as an unknown tool.
    pub notes: Vec<String>,
}

/// `run show` and `run latest`.
#[document("brigade.run.v1")]
pub struct RunShowReport {
    /// The workspace root.
    pub target: String,
    /// The directory of receipts and logs.
    pub runs_path: String,
    /// The receipt; `null` if no run matches.
    pub run: Box<Receipt>,
    /// Why nothing was found.
    pub(crate) error: RefusalMember<Option<String>>,
    /// Matching ids, if more than one run matches.
    pub(crate) candidates: RefusalMember<Vec<String>>,
    /// The next step that would be accepted now; not in the document.
    #[serde(skip)]
    pub next: Option<NextStep>,
    /// The other host of a team that has the logs; not in the document.
    #[serde(skip)]
    pub logs_on: Option<String>,
}

/// `run show --inputs`.
#[document("brigade.run-inputs.v1")]
pub struct RunInputsReport {
    /// The workspace root.
    pub target: String,
    /// The requested run.
    pub run_id: String,
    /// The tool.
    pub tool_id: String,
    /// The observed run: this one or an earlier equal one, or the start of the kept server that made the call; `null`
    /// without an observation.
    pub observed_run_id: Option<String>,
    /// Why nothing was found.
    pub reason: Option<String>,
    /// Whether the observation is complete.
    pub complete: bool,
    /// Whether a list was full, so entries are missing.
    pub truncated: bool,
    /// Files that were read or executed and are bound by the approval.
    pub bound: Vec<RunInput>,
    /// Files that a word of the command line names, or that are below a directory that it names.
    pub arguments: Vec<RunInput>,
    /// Files that the tool declares as data.
    pub data: Vec<RunInput>,
    /// Files that were read or executed and belong to none of these lists.
    #[serde(rename = "nobody")]
    pub uncovered: Vec<RunInput>,
    /// Directories that were listed.
    pub folders: Vec<String>,
    /// Files that were written.
    pub written: Vec<String>,
    /// Addresses that sockets connected or bound to.
    pub connected: Vec<ObservedAddress>,
    /// Access that was tried and denied.
    pub denied: Vec<ObservedDenial>,
    /// How often files outside of the workspace were used, by the first directory of their path.
    pub outside: BTreeMap<String, u64>,
}

/// Returns whether a document omits the number.
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// `observe`.
#[document("brigade.tool-observe.v1")]
pub struct ObserveReport {
    /// The workspace root.
    pub target: String,
    /// The catalog.
    pub config_path: String,
    /// Errors in the catalog.
    #[serde(default)]
    pub errors: Vec<ErrorLine>,
    /// The tool.
    pub tool_id: String,
    /// Number of examined runs.
    pub run_count: usize,
    /// Their observations, newest first: the run itself, an earlier equal run, or the start of a kept server.
    pub observed_run_ids: Vec<String>,
    /// Why the newest run has no observation; `null` if it has one, or nothing ran.
    #[serde(default)]
    pub reason: Option<String>,
    /// Whether every observation is complete; false without an observation.
    pub complete: bool,
    /// Files that were used and that neither approvals, arguments, `code` nor `data` cover, by path.
    pub unbound: Vec<UnboundFile>,
    /// Patterns to add to `code` of the entry.
    pub code: Vec<String>,
    /// Patterns to add to `data` of the entry.
    pub data: Vec<String>,
    /// Files in `code` of the entry that runs tried to write. They remain code, because only a person can tell that
    /// such a file is state of the tool.
    #[serde(default)]
    pub code_written: Vec<String>,
    /// Files that were moved from `code` to `data` on request. Approvals no longer bind them.
    #[serde(default)]
    pub code_removed: Vec<String>,
    /// Files that earlier observed runs used as code, which approvals bind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<String>,
    /// Number of such files that were forgotten on request.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forgotten: usize,
    /// Further changes to make by hand, as sentences.
    #[serde(default)]
    pub advice: Vec<String>,
    /// Effects that were used, or tried and denied, and are not declared.
    pub effects_undeclared: Vec<EffectUse>,
    /// Declared effects that were not used. Empty unless the observations are complete.
    pub effects_unused: Vec<String>,
    /// Whether the entry was changed.
    pub written: bool,
    /// The next command.
    pub next_command: Hint,
}

/// `run replay`.
#[document("brigade.run-replay.v1")]
pub struct ReplayReport {
    /// The workspace root.
    pub target: String,
    /// The directory of receipts and logs.
    pub runs_path: String,
    /// The queue file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// The replayed run; `null` if no run matches.
    pub run: RunSummary,
    /// The plan of the new call; `null` if no call was planned.
    #[serde(serialize_with = "sorted::serialize")]
    pub plan: Box<PlanReport>,
    /// All reasons against the new call, as sentences.
    pub(crate) blockers: RefusalMember<Vec<String>>,
    /// The same reasons with code, place and fix.
    pub(crate) blocker_details: RefusalMember<Vec<BlockerDetail>>,
    /// 1 if a pending call was stored.
    pub created: u8,
    /// Always 0: a replay runs nothing.
    pub executed: u8,
    /// The stored call.
    pub call: Box<Call>,
}

/// `run verify`.
#[document("brigade.run-verify.v1", if self.valid)]
pub struct LedgerReport {
    /// The workspace root.
    pub target: String,
    /// The directory of receipts and logs.
    pub runs_path: String,
    /// Whether the chain is valid.
    pub valid: bool,
    /// Number of checked entries.
    pub checked: u64,
    /// Whether the receipts are in the ledger. Receipts of v0.30 are added with the first write.
    pub adopted: bool,
    /// The faults, in order.
    pub findings: Vec<LedgerFinding>,
}
