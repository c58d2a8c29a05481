//! Paths of the state that the journal does not own, relative to the workspace.

use brigade_core::CheckpointId;
use brigade_fs::RelPath;

/// The directory of all state.
pub const TOOLS: &str = ".brigade/tools";

fn path(text: &str) -> RelPath {
    RelPath::composed(text)
}

/// The directory of receipts, logs and the ledger.
pub(crate) fn runs() -> RelPath {
    path(brigade_call::RUNS)
}

/// Returns the id that a receipt or a checkpoint is stored under: the name of its file.
pub(crate) fn stored_id(file: &RelPath) -> String {
    file.name().strip_suffix(".json").unwrap_or(file.name()).to_owned()
}

/// The directory of checkpoints.
pub(crate) fn checkpoints() -> RelPath {
    path(brigade_call::CHECKPOINTS)
}

/// The directory of kept outcomes.
pub(crate) fn outcomes() -> RelPath {
    path(&format!("{TOOLS}/outcomes"))
}

/// The cache of approved calls.
pub(crate) fn approved() -> RelPath {
    path(&format!("{TOOLS}/approved.json"))
}

/// The file of a checkpoint.
pub(crate) fn checkpoint(id: &CheckpointId) -> RelPath {
    path(&format!("{}/{id}.json", brigade_call::CHECKPOINTS))
}
