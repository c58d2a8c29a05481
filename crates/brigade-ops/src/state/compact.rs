//! Compacts the state.

use brigade_fs::remove_if_left;
use brigade_queue::Compaction;

use crate::doctor::error::UpkeepError;
use crate::doctor::incoming::left_incoming;
use crate::doctor::site::Site;
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
pub fn compact(site: &Site<'_>) -> Result<CompactResult, UpkeepError> {
    let now = site.now();
    // Taking the lock records the runs whose runner is gone.
    drop(site.queue.lock(now)?);
    let compaction = match site.journal {
        Some(journal) => journal.compact(now)?,
        None => Compaction::default(),
    };
    let left = left_incoming(site.fs(), site.now(), &site.queue.read()?)?;
    for path in &left {
        // The next compaction tries again.
        let _ = site.fs().remove_tree(path).or_else(|_| site.fs().remove(path));
    }
    let temporary = left_temporary(site.fs(), &site.config.catalog);
    let removed: u64 = temporary.iter().map(|path| u64::from(remove_if_left(site.fs(), path))).sum();
    Ok(CompactResult { removed: compaction.removed + left.len() as u64 + removed, compaction })
}
