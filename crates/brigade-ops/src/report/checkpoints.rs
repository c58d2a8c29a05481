//! Documents about checkpoints.

use std::collections::BTreeMap;

use brigade_call::{Call, Checkpoint, Receipt, StoreKind};
use brigade_core::NextStep;
use brigade_macros::{document, part};
use brigade_policy::BlockerDetail;

use super::RefusalMember;

/// `checkpoint list`.
#[document("brigade.checkpoint-list.v1")]
pub struct CheckpointListReport {
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

/// An unreadable checkpoint.
#[part(PartialEq)]
pub struct BrokenCheckpoint {
    /// The file.
    pub checkpoint_path: String,
    /// The problem.
    pub error: String,
}

/// `checkpoint show`.
#[document("brigade.checkpoint.v1")]
pub struct CheckpointReport {
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

/// `checkpoint approve` and `checkpoint reject`.
#[document("brigade.checkpoint-review.v1")]
pub struct CheckpointReviewReport {
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

/// `checkpoint resume`.
#[document("brigade.checkpoint-resume.v1", if self.succeeded)]
pub struct ResumeReport {
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
