//! Caches of reports about long PRDs and journals. Agents and status lines request a status every few seconds. Without
//! changes, the cost is that of reading the cache. Each cache can be deleted at any time.

use brigade_fs::{FileId, Fs, FsError, RelPath};
use brigade_journal::{LineFile, hash};

use super::saved;
use super::sealed::{covered_numbers, sealed, unseal};
use crate::paths::PrdFiles;

/// A kind of cache.
pub(crate) struct Kind {
    magic: [u8; 8],
    file: fn(&PrdFiles) -> RelPath,
    /// The maximum size of the cache.
    max: u64,
}

/// The cache of the brief status.
pub(crate) const GLANCE: Kind = Kind { magic: *b"brgglnc\x02", file: PrdFiles::glance_cache, max: 64 << 10 };

/// The cache of the full status.
pub(crate) const STATUS: Kind = Kind { magic: *b"brgstat\x01", file: PrdFiles::status_cache, max: 256 << 20 };

/// The source of a cached value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// The length and hash of the PRD.
    prd: [u64; 2],
    /// The journal file, and how many bytes of it were read.
    journal: (FileId, u64),
    /// A hash of all other input.
    others: u64,
}

/// Returns the length and hash of the bytes of a PRD.
fn numbers_of(prd: &[u8]) -> [u64; 2] {
    [prd.len() as u64, hash(&[prd])]
}

impl Source {
    pub(crate) fn new(prd: &[u8], journal: (FileId, u64)) -> Source {
        Source { prd: numbers_of(prd), journal, others: hash(&[]) }
    }

    /// Returns whether reading the source takes longer than reading a cache.
    pub(crate) fn is_long(&self) -> bool {
        saved::SAVE_INTERVAL_BYTES <= self.prd[0] + self.journal.1
    }

    /// Adds input other than the PRD and the journal.
    pub(crate) fn and(self, others: &str) -> Source {
        Source { others: hash(&[others.as_bytes()]), ..self }
    }
}

impl Kind {
    /// Returns whether the cache exists, for any source.
    pub(crate) fn exists(&self, fs: &dyn Fs, files: &PrdFiles) -> Result<bool, FsError> {
        fs.exists(&(self.file)(files))
    }

    /// Returns the cached value for these bytes of a PRD, the whole journal, and the other input; `None` if it is not
    /// cached.
    pub(crate) fn recall<T>(
        &self,
        fs: &dyn Fs,
        files: &PrdFiles,
        prd: &[u8],
        others: Option<&str>,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let bytes = fs.read(&(self.file)(files), self.max).ok()?;
        let (numbers, body) = unseal(self.magic, &bytes)?;
        let [offset, device, inode, samples, modified, length, hashed, decided] = numbers;
        let journal = LineFile::new(fs, files.folder(), "journal").open().ok()??;
        let is_its = journal.len().ok()? == offset
            && covered_numbers(&*journal, journal.id().ok()?, offset).ok()?
                == [offset, device, inode, samples]
            && modified_at(fs, files).ok()? == modified
            && numbers_of(prd) == [length, hashed]
            && others.map_or_else(|| hash(&[]), |others| hash(&[others.as_bytes()])) == decided;
        is_its.then(|| read(body)).flatten()
    }

    /// Caches a value for a long PRD or journal.
    pub(crate) fn keep(
        &self,
        fs: &dyn Fs,
        files: &PrdFiles,
        source: &Source,
        body: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Result<(), FsError> {
        let (Source { prd: [length, hashed], others, .. }, (id, offset)) = (source, source.journal);
        let Some(journal) = LineFile::new(fs, files.folder(), "journal").open()? else { return Ok(()) };
        if !source.is_long() || journal.id()? != id || journal.len()? < offset {
            return Ok(());
        }
        let Some(body) = body() else { return Ok(()) };
        let [offset, device, inode, samples] = covered_numbers(&*journal, id, offset)?;
        let modified = modified_at(fs, files)?;
        let numbers = [offset, device, inode, samples, modified, *length, *hashed, *others];
        fs.write_cache(&(self.file)(files), &sealed(self.magic, numbers, &body))
    }
}

/// Returns when the journal was modified. An edit may be between the sampled bytes.
fn modified_at(fs: &dyn Fs, files: &PrdFiles) -> Result<u64, FsError> {
    Ok(fs.metadata(&files.journal())?.modified.unix_micros().cast_unsigned())
}
