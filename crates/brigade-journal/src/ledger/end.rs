//! The end of a ledger. With it, the last writer need not read the ledger again.

use brigade_fs::FileId;

use super::{Ledger, LedgerEntry};

/// The end of a ledger, as its last writer left it.
#[derive(Clone, Debug)]
pub struct LedgerEnd {
    id: FileId,
    length: u64,
    pub(super) last: LedgerEntry,
}

impl LedgerEnd {
    /// Returns the sequence of the last entry.
    pub fn sequence(&self) -> u64 {
        self.last.sequence
    }
}

impl Ledger<'_> {
    /// Returns whether the ledger still has this end.
    pub fn ends_so(&self, end: &LedgerEnd) -> bool {
        self.look().is_some_and(|found| found == (end.id, end.length))
    }

    pub(super) fn end_with(&self, last: LedgerEntry) -> Option<LedgerEnd> {
        let (id, length) = self.look()?;
        Some(LedgerEnd { id, length, last })
    }

    fn look(&self) -> Option<(FileId, u64)> {
        self.file.fs.identity(&self.path()).ok()
    }
}
