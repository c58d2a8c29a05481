//! Counts of the entries of a ledger by status.
//!
//! They are kept in a cache beside the ledger, so that counting reads only the entries after it. The cache names the
//! last entry that it counts, and has a digest. It is not used if that entry is not where it was, or the digest is
//! wrong: then all entries are counted.

use std::collections::BTreeMap;

use brigade_core::json::{compact_text, from_json};
use brigade_core::{Dialect, Fingerprint, Json};
use brigade_fs::{FileMode, FsError, Lines, ReadFile, RelPath};
use serde::{Deserialize, Serialize};

use super::{Ledger, LedgerEntry};

/// After this many entries, the cache is written again.
const CACHE_INTERVAL: u64 = 256;

/// The maximum length of the cache. There are only a few statuses.
const MAX_CACHE_BYTES: u64 = 64 << 10;

/// The counts up to an entry.
#[derive(Default, Serialize, Deserialize)]
struct Counts {
    /// Where the line of the last counted entry starts and ends.
    start: u64,
    end: u64,
    /// The number of the last counted entry, and its hash.
    sequence: u64,
    hash: Option<Fingerprint>,
    by_status: BTreeMap<String, u64>,
    /// Over everything else.
    digest: Option<Fingerprint>,
}

impl Counts {
    fn right_digest(&self) -> Fingerprint {
        let counts = self.by_status.iter().map(|(status, count)| format!("{status} {count}"));
        Fingerprint::builder("brigade.ledger-counts.v1")
            .list("entry", [self.start, self.end, self.sequence].map(|number| number.to_string()))
            .text("hash", self.hash.map(Fingerprint::to_hex).as_deref())
            .list("counts", counts)
            .finish()
    }

    /// Returns whether the last counted entry is where it was.
    fn fit(&self, file: &dyn ReadFile) -> Result<bool, FsError> {
        let length = self.end.checked_sub(self.start).filter(|length| *length <= MAX_CACHE_BYTES);
        let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else { return Ok(false) };
        if self.digest != Some(self.right_digest()) {
            return Ok(false);
        }
        let line = file.read_range(self.start, length)?;
        let Some(entry) = line.strip_suffix(b"\n").and_then(LedgerEntry::from_line) else { return Ok(false) };
        Ok(entry.sequence == self.sequence && Some(entry.hash) == self.hash)
    }

    /// Counts the entries that follow. Returns whether nothing else follows.
    fn count_on(&mut self, file: &dyn ReadFile) -> Result<bool, FsError> {
        let mut lines = Lines::new(file, self.end, file.len()?);
        while let Some(line) = lines.next_line()? {
            match LedgerEntry::from_line(line.bytes) {
                Some(entry) if entry.sequence == self.sequence + 1 => {
                    *self.by_status.entry(entry.status).or_default() += 1;
                    self.start = line.offset;
                    self.end = line.offset + line.bytes.len() as u64 + u64::from(line.is_complete);
                    (self.sequence, self.hash) = (entry.sequence, Some(entry.hash));
                }
                None if !line.is_complete => {}
                Some(_) | None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl Ledger<'_> {
    /// Counts the entries by status. Reads only the newest ones. Returns `None` without a ledger, and if a line among
    /// them is not an entry or an entry is missing, because the ledger is then incomplete.
    ///
    /// # Errors
    /// Fails on a disk error, or if the path is not a file.
    pub fn counts(&self) -> Result<Option<BTreeMap<String, u64>>, FsError> {
        Ok(self.count()?.map(|counts| counts.by_status))
    }

    fn count(&self) -> Result<Option<Counts>, FsError> {
        let Some(file) = self.open()? else { return Ok(None) };
        let cached = self.file.fs.read(&self.counts_path(), MAX_CACHE_BYTES);
        let cached = cached.ok().and_then(|bytes| Json::parse_bytes(&bytes, Dialect::Strict).ok());
        let cached = cached.and_then(|cached| from_json::<Counts>(&cached).ok());
        let mut counts = match cached {
            Some(cached) if cached.fit(&*file)? => cached,
            Some(_) | None => Counts::default(),
        };
        Ok(counts.count_on(&*file)?.then_some(counts))
    }

    /// Writes the cache after some appends. The caller must hold the lock.
    pub(super) fn keep_counts(&self, before: u64, now: u64) {
        if before / CACHE_INTERVAL == now / CACHE_INTERVAL {
            return;
        }
        let Ok(Some(mut counts)) = self.count() else { return };
        counts.digest = Some(counts.right_digest());
        if let Ok(text) = compact_text(&counts) {
            // Without it, counting reads more.
            let _ = self.file.fs.write_atomic(&self.counts_path(), text.as_bytes(), FileMode::Private);
        }
    }

    fn counts_path(&self) -> RelPath {
        self.file.beside(".index")
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::Timestamp;
    use brigade_fs::{Fs, MemoryFs};

    use super::*;
    use crate::ledger::NewEntry;

    fn append(ledger: &Ledger<'_>, count: u64, status: &str) {
        let entry = |number| NewEntry {
            run_id: format!("run-{number}"),
            record_id: None,
            sha256: Fingerprint::of_bytes(b""),
            started_at: "1".to_owned(),
            status: status.to_owned(),
            is_adopted: false,
        };
        let new: Vec<NewEntry> = (0..count).map(entry).collect();
        ledger.append(&new, 0, Timestamp::from_unix_micros(0)).unwrap();
    }

    #[track_caller]
    fn check(ledger: &Ledger<'_>, expect: &[(&str, u64)]) {
        let expect = expect.iter().map(|(status, count)| ((*status).to_owned(), *count)).collect();
        assert_eq!(ledger.counts().unwrap(), Some(expect));
    }

    #[test]
    fn only_entries_after_the_cache_are_counted() {
        let (fs, folder) = (MemoryFs::new(), RelPath::from_static("runs"));
        let ledger = Ledger::new(&fs, &folder);
        assert_eq!(ledger.counts().unwrap(), None);
        append(&ledger, CACHE_INTERVAL - 1, "completed");
        assert!(!fs.exists(&ledger.counts_path()).unwrap());
        append(&ledger, 2, "failed");
        check(&ledger, &[("completed", 255), ("failed", 2)]);
        let text = String::from_utf8(fs.read(&ledger.counts_path(), MAX_CACHE_BYTES).unwrap()).unwrap();
        let edited = text.replace("255", "3");
        fs.write_atomic(&ledger.counts_path(), edited.as_bytes(), FileMode::Private).unwrap();
        append(&ledger, 1, "failed");
        check(&ledger, &[("completed", 255), ("failed", 3)]);
        // Counts that are not true show that nothing before them is read.
        let edited: Counts =
            from_json(&Json::parse_bytes(edited.as_bytes(), Dialect::Strict).unwrap()).unwrap();
        let edited = Counts { digest: Some(edited.right_digest()), ..edited };
        let edited = compact_text(&edited).unwrap();
        fs.write_atomic(&ledger.counts_path(), edited.as_bytes(), FileMode::Private).unwrap();
        check(&ledger, &[("completed", 3), ("failed", 3)]);
    }

    #[test]
    fn a_cache_of_another_ledger_is_not_used() {
        let (fs, folder) = (MemoryFs::new(), RelPath::from_static("runs"));
        let ledger = Ledger::new(&fs, &folder);
        append(&ledger, CACHE_INTERVAL, "completed");
        fs.remove(&ledger.path()).unwrap();
        append(&ledger, 5, "failed");
        check(&ledger, &[("failed", 5)]);
        for damaged in ["", "{}", r#"{"start": 9, "end": 3, "sequence": 1, "hash": null, "by_status": {}}"#] {
            fs.write_atomic(&ledger.counts_path(), damaged.as_bytes(), FileMode::Private).unwrap();
            check(&ledger, &[("failed", 5)]);
        }
    }
}
