//! Compacts the state.

use brigade_fs::remove_if_left;
use brigade_queue::Compaction;
use brigade_workspace::{Config, WorkspaceContext};

use crate::doctor::error::UpkeepError;
use crate::doctor::incoming::left_incoming;
use crate::doctor::temporary::left_temporary;

/// The result of compacting the state.
#[derive(Clone, Debug, Default)]
pub struct CompactResult {
    /// The result for the journal.
    pub compaction: Compaction,
    /// Number of removed files and directories, including those of the journal.
    pub removed: u64,
}

/// Moves finished calls out of the journal and unreadable lines to a quarantine file, and removes what crashes left.
/// Adopts the state of v0.30.
///
/// # Errors
/// Returns errors of files and of the queue.
pub fn compact(context: &WorkspaceContext, config: &Config) -> Result<CompactResult, UpkeepError> {
    let (fs, now, queue) = (&*context.fs, context.now(), context.queue());
    // Taking the lock records the runs whose runner is gone.
    drop(queue.lock(now)?);
    let compaction = match context.journal() {
        Some(journal) => journal.compact(now)?,
        None => Compaction::default(),
    };
    let left = left_incoming(fs, context.now(), &queue.read()?)?;
    for path in &left {
        // The next compaction tries again.
        let _ = fs.remove_tree(path).or_else(|_| fs.remove(path));
    }
    let temporary = left_temporary(fs, &config.catalog);
    let removed: u64 = temporary.iter().map(|path| u64::from(remove_if_left(fs, path))).sum();
    Ok(CompactResult { removed: compaction.removed + left.len() as u64 + removed, compaction })
}
