//! Documents about checkpoints.

use std::collections::BTreeMap;

use brigade_call::{Call, Checkpoint, Receipt};
use brigade_policy::BlockerDetail;
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId, Unfilled};
use crate::exit::Exit;

/// `checkpoint list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckpointListReport {
    /// The schema id.
    #[serde(deserialize_with = "CheckpointListReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The folder of checkpoints.
    pub checkpoints_path: String,
    /// The checkpoints, newest first.
    pub checkpoints: Vec<Checkpoint>,
    /// How many.
    pub checkpoint_count: usize,
    /// How many of each status.
    pub counts: BTreeMap<String, u64>,
    /// Files that cannot be read.
    pub errors: Vec<BrokenCheckpoint>,
    /// How many.
    pub error_count: usize,
}

impl Report for CheckpointListReport {
    const SCHEMA: &'static str = "brigade.checkpoint-list.v1";
}

/// A checkpoint that cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BrokenCheckpoint {
    /// The file.
    pub checkpoint_path: String,
    /// What is wrong.
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
    /// The workspace.
    pub target: String,
    /// The folder of checkpoints.
    pub checkpoints_path: String,
    /// The checkpoint; `null` when there is none.
    pub checkpoint: Box<Checkpoint>,
    /// Where its call stands; `null` when there is none.
    pub call_status: Option<String>,
    /// Why there is none.
    pub(crate) error: Unfilled<Option<String>>,
    /// What could be meant, when more than one checkpoint could.
    pub(crate) candidates: Unfilled<Vec<String>>,
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
    /// The workspace.
    pub target: String,
    /// The folder of checkpoints.
    pub checkpoints_path: String,
    /// The checkpoint as it stands now; `null` when there is none.
    pub checkpoint: Box<Checkpoint>,
    /// Its call as it stands now; `null` when nothing was decided.
    pub call: Call,
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
    /// The workspace.
    pub target: String,
    /// The queue's file.
    pub calls_path: String,
    /// The folder of checkpoints.
    pub checkpoints_path: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// The checkpoint as it stands now; `null` when there is none.
    pub checkpoint: Box<Checkpoint>,
    /// Its call as it stands now.
    pub call: Call,
    /// The receipt; `null` when nothing ran.
    pub receipt: Box<Receipt>,
    /// Every reason why nothing ran, as sentences.
    pub(crate) blockers: Unfilled<Vec<String>>,
    /// The same reasons with code, place and the way to change them.
    pub(crate) blocker_details: Unfilled<Vec<BlockerDetail>>,
    /// The names of what changed since the approval.
    pub(crate) changed: Unfilled<Vec<String>>,
    /// Why nothing ran, or why the run failed.
    #[serde(rename = "error", skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether the run ended well; not part of the document.
    #[serde(skip)]
    pub succeeded: bool,
}

impl Report for ResumeReport {
    const SCHEMA: &'static str = "brigade.checkpoint-resume.v1";

    fn exit(&self) -> Exit {
        if self.succeeded { Exit::Done } else { Exit::Refused }
    }
}
