//! Where the state lies, relative to the workspace, besides what the journal owns.

use brigade_core::CheckpointId;
use brigade_fs::RelPath;

/// The folder of all state.
pub const TOOLS: &str = ".brigade/tools";

fn path(text: &str) -> RelPath {
    text.parse().expect("paths made of checked names stay beneath the root")
}

/// The folder of receipts, logs and the ledger.
pub(crate) fn runs() -> RelPath {
    path(crate::finish::RUNS)
}

/// The folder of checkpoints.
pub(crate) fn checkpoints() -> RelPath {
    path(".brigade/tools/checkpoints")
}

/// The file of a checkpoint.
pub(crate) fn checkpoint(id: &CheckpointId) -> RelPath {
    path(&format!(".brigade/tools/checkpoints/{id}.json"))
}
