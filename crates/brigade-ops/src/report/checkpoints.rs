//! Documents about checkpoints.

use std::collections::BTreeMap;

use brigade_call::{Call, Checkpoint, Receipt, StoreKind};
use brigade_core::{Exit, NextStep};
use brigade_policy::BlockerDetail;
use serde::{Deserialize, Serialize};

use super::{RefusalMember, Report, SchemaId};

/// `checkpoint list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckpointListReport {
    /// The schema id.
    #[serde(deserialize_with = "CheckpointListReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The directory of checkpoints.
    pub checkpoints_path: String,
    /// The checkpoints, newest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Number of entries.
    pub checkpoint_count: usize,
    /// Number by status.
    pub counts: BTreeMap<String, u64>,
    /// Unreadable files.
    pub errors: Vec<BrokenCheckpoint>,
    /// Number of entries.
    pub error_count: usize,
}

impl Report for CheckpointListReport {
    const SCHEMA: &'static str = "brigade.checkpoint-list.v1";
}

/// An unreadable checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BrokenCheckpoint {
    /// The file.
    pub checkpoint_path: String,
    /// The problem.
    pub error: String,
}

/// `checkpoint show`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckpointReport {
    /// The schema id.
    #[serde(deserialize_with = "CheckpointReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The directory of checkpoints.
    pub checkpoints_path: String,
    /// The checkpoint; `null` if no checkpoint matches.
    pub checkpoint: Box<Checkpoint>,
    /// The status of its call; `null` if the queue does not have the call.
    pub call_status: Option<String>,
    /// Why nothing was found.
    pub(crate) error: RefusalMember<Option<String>>,
    /// Matching ids, if more than one checkpoint matches.
    pub(crate) candidates: RefusalMember<Vec<String>>,
    /// The next step that would be accepted now; not in the document.
    #[serde(skip)]
    pub next: Option<NextStep>,
}

impl Report for CheckpointReport {
    const SCHEMA: &'static str = "brigade.checkpoint.v1";
}

/// `checkpoint approve` and `checkpoint reject`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckpointReviewReport {
    /// The schema id.
    #[serde(deserialize_with = "CheckpointReviewReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The directory of checkpoints.
    pub checkpoints_path: String,
    /// The current checkpoint; `null` if no checkpoint matches.
    pub checkpoint: Box<Checkpoint>,
    /// The current call; `null` if nothing was decided.
    pub call: Call,
    /// The other host of a team that made the run, on which the call is resumed; not in the document.
    #[serde(skip)]
    pub resumes_on: Option<String>,
}

impl Report for CheckpointReviewReport {
    const SCHEMA: &'static str = "brigade.checkpoint-review.v1";
}

/// `checkpoint resume`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ResumeReport {
    /// The schema id.
    #[serde(deserialize_with = "ResumeReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The queue file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// The directory of checkpoints.
    pub checkpoints_path: String,
    /// The directory of receipts and logs.
    pub runs_path: String,
    /// The current checkpoint; `null` if no checkpoint matches.
    pub checkpoint: Box<Checkpoint>,
    /// The current call.
    pub call: Call,
    /// The receipt; `null` if nothing ran.
    pub receipt: Box<Receipt>,
    /// All reasons why nothing ran, as sentences.
    pub(crate) blockers: RefusalMember<Vec<String>>,
    /// The same reasons with code, place and fix.
    pub(crate) blocker_details: RefusalMember<Vec<BlockerDetail>>,
    /// Names of what changed since the approval.
    pub(crate) changed: RefusalMember<Vec<String>>,
    /// Why nothing ran, or why the run failed.
    #[serde(rename = "error", skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether the run succeeded; not in the document.
    #[serde(skip)]
    pub succeeded: bool,
}

impl Report for ResumeReport {
    const SCHEMA: &'static str = "brigade.checkpoint-resume.v1";

    fn exit(&self) -> Exit {
        if self.succeeded { Exit::Done } else { Exit::Refused }
    }
}
