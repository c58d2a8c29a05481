//! Where the state lies, relative to the workspace.

use brigade_core::{CheckpointId, RunId};
use brigade_fs::RelPath;

/// The folder of all state.
pub const TOOLS: &str = ".brigade/tools";

fn path(text: &str) -> RelPath {
    text.parse().expect("paths made of checked names stay beneath the root")
}

/// `.brigade/tools`
pub(crate) fn tools() -> RelPath {
    path(TOOLS)
}

/// The journal of calls.
pub(crate) fn calls() -> RelPath {
    path(".brigade/tools/calls.jsonl")
}

/// The lock that every writer takes.
pub(crate) fn lock() -> RelPath {
    path(".brigade/tools/queue.lock")
}

/// A quarantine of unreadable lines of the journal.
pub(crate) fn quarantine(number: u64) -> RelPath {
    path(&format!(".brigade/tools/calls.quarantine-{number}.jsonl"))
}

/// A copy of the file that the Python program wrote.
pub(crate) fn original_copy(number: u64) -> RelPath {
    path(&match number {
        0 => ".brigade/tools/calls.jsonl.0.30.0".to_owned(),
        number => format!(".brigade/tools/calls.jsonl.0.30.0-{number}"),
    })
}

/// The folder of segments and caches.
pub(crate) fn segments() -> RelPath {
    path(".brigade/tools/calls")
}

/// The cache of places in the journal.
pub(crate) fn journal_index() -> RelPath {
    path(".brigade/tools/calls/journal.index")
}

/// A file of finished calls.
pub(crate) fn segment(number: u64) -> RelPath {
    path(&format!(".brigade/tools/calls/segment-{number}.jsonl"))
}

/// The cache of places in a segment.
pub(crate) fn segment_index(number: u64) -> RelPath {
    path(&format!(".brigade/tools/calls/segment-{number}.index"))
}

/// Reads the number of a segment out of its file name.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    name.strip_prefix("segment-")?.strip_suffix(".jsonl")?.parse().ok()
}

/// The folder of receipts, logs and the ledger.
pub(crate) fn runs() -> RelPath {
    path(".brigade/tools/runs")
}

/// The receipt of a run.
pub(crate) fn receipt(run: &RunId) -> RelPath {
    path(&format!(".brigade/tools/runs/{run}.json"))
}

/// The hash chain over the receipts.
pub(crate) fn ledger() -> RelPath {
    path(".brigade/tools/runs/ledger.jsonl")
}

/// A quarantine of the ledger's unreadable end.
pub(crate) fn ledger_quarantine(number: u64) -> RelPath {
    path(&format!(".brigade/tools/runs/ledger.quarantine-{number}.jsonl"))
}

/// The folder of checkpoints.
pub(crate) fn checkpoints() -> RelPath {
    path(".brigade/tools/checkpoints")
}

/// The file of a checkpoint.
pub(crate) fn checkpoint(id: &CheckpointId) -> RelPath {
    path(&format!(".brigade/tools/checkpoints/{id}.json"))
}
