//! Documents about work: the inbox and the brief.

use std::collections::BTreeMap;

use brigade_call::Call;
use brigade_core::Hint;
use brigade_core::json::sorted;
use brigade_doctor::InboxItem;
use serde::{Deserialize, Serialize};

use super::{IssueReport, Report, SchemaId, Unfilled};

/// `work inbox list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InboxReport {
    /// The schema id.
    #[serde(deserialize_with = "InboxReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The inbox.
    pub imports_path: String,
    /// The rows, in the order of the file.
    pub items: Vec<InboxItem>,
    /// How many.
    pub item_count: usize,
    /// How many rows of each status the inbox has, listed or not.
    pub counts: BTreeMap<String, u64>,
    /// How many lines cannot be read; the next change sets them aside.
    pub unreadable_count: usize,
}

impl Report for InboxReport {
    const SCHEMA: &'static str = "brigade.inbox.v1";
}

/// `work inbox show`, `promote`, `dismiss` and `done`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InboxItemReport {
    /// The schema id.
    #[serde(deserialize_with = "InboxItemReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The inbox.
    pub imports_path: String,
    /// The row as it stands now; `null` when there is none.
    pub item: InboxItem,
    /// Why there is none, or why it was not changed.
    pub(crate) error: Unfilled<Option<String>>,
    /// What could be meant, when more than one row could.
    pub(crate) candidates: Unfilled<Vec<String>>,
}

impl Report for InboxItemReport {
    const SCHEMA: &'static str = "brigade.inbox-item.v1";
}

/// `work brief`: what waits for a person, and the next command to type.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BriefReport {
    /// The schema id.
    #[serde(deserialize_with = "BriefReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// Whether the catalog has no error.
    pub valid: bool,
    /// How many tools are enabled.
    pub tool_count: usize,
    /// How many calls wait for a decision.
    pub pending_approval_count: u64,
    /// The oldest of them; `null` when there is none.
    pub oldest_pending_call: Option<Box<Call>>,
    /// How many approved calls wait to be run.
    pub approved_count: u64,
    /// How many of them are no longer what was approved, so that they do not run.
    pub stale_approval_count: u64,
    /// How many checkpoints wait for an answer.
    pub pending_checkpoint_count: usize,
    /// Calls by status.
    pub call_counts: BTreeMap<String, u64>,
    /// The issue of the catalog or a tool that matters most.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_tool_issue: Option<IssueReport>,
    /// The issue of a projection that matters most.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_projection_issue: Option<IssueReport>,
    /// The issue of the policy that matters most.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_policy_issue: Option<IssueReport>,
    /// The issue of a runtime that matters most.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_runtime_issue: Option<IssueReport>,
    /// The issue of a call that matters most.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_call_issue: Option<IssueReport>,
    /// The issue of a run that matters most.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_run_issue: Option<IssueReport>,
    /// The issue of a checkpoint that matters most.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_checkpoint_issue: Option<IssueReport>,
    /// How many issues there are in all.
    pub issue_count: usize,
    /// The enabled runtimes that do not run.
    pub runtimes_down: Vec<String>,
    /// Rows of the inbox by status.
    pub inbox: BTreeMap<String, u64>,
    /// The next command to type.
    pub next_command: Hint,
    /// Why that one.
    pub next_reason: String,
}

impl Report for BriefReport {
    const SCHEMA: &'static str = "brigade.work-brief.v1";
}
