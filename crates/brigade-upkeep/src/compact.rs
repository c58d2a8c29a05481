//! Clearing the state.

use brigade_queue::Compaction;

use crate::error::UpkeepError;
use crate::incoming::left_incoming;
use crate::site::Site;
use crate::temporary::left_temporary;

/// What clearing the state came to.
#[derive(Clone, Debug, Default)]
pub struct Compacted {
    /// What became of the journal.
    pub compaction: Compaction,
    /// How many files and folders are gone, those of the journal included.
    pub removed: u64,
}

/// Moves finished calls out of the journal, unreadable lines to a quarantine, and removes what crashes left. Adopts
/// the state of the Python program.
///
/// # Errors
/// When the disk fails; everything is as before then.
pub fn compact(site: &Site<'_>) -> Result<Compacted, UpkeepError> {
    let now = site.now();
    // Runs whose runner is gone are recorded first, as by every writer.
    drop(site.queue.lock(now)?);
    let compaction = match &site.journal {
        Some(journal) => journal.compact(now)?,
        None => Compaction::default(),
    };
    let left = left_incoming(site.fs(), site.now(), &site.queue.read()?)?;
    for folder in &left {
        // What cannot be removed is tried again next time.
        let _ = site.fs().remove_tree(folder);
    }
    let temporary = left_temporary(site.fs(), &site.config.catalog);
    let removed: u64 = temporary.iter().map(|path| u64::from(site.fs().remove(path).is_ok())).sum();
    Ok(Compacted { removed: compaction.removed + left.len() as u64 + removed, compaction })
}
