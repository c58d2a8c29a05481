//! A cache of the state of a long journal, so that only new records must be read. It is bound to the bytes that it
//! covers, and can be deleted at any time. Writers of the journal never read it.

use brigade_core::Timestamp;
use brigade_fs::{FileId, Fs, FsError, ReadFile, RelPath};
use brigade_kitchen::life::Life;

use super::JournalReading;
use super::sealed::{covered_numbers, sealed, unseal};

const MAGIC: [u8; 8] = *b"brglife\x03";

/// The maximum size of the cache.
const MAX: u64 = 256 << 20;

/// How many bytes of the journal must be read again before the cache is rewritten.
pub(super) const SAVE_INTERVAL_BYTES: u64 = 256 << 10;

/// Returns the cached state up to an offset; `None` if there is no cache of this journal.
pub(super) fn recall(
    fs: &dyn Fs,
    path: &RelPath,
    journal: &dyn ReadFile,
    id: FileId,
) -> Option<JournalReading> {
    let bytes = fs.read(path, MAX).ok()?;
    let ([offset, device, inode, samples, line, last_at], body) = unseal(MAGIC, &bytes)?;
    let is_its = offset <= journal.len().ok()?
        && covered_numbers(journal, id, offset).ok()? == [offset, device, inode, samples];
    Some(JournalReading {
        life: is_its.then(|| Life::from_bytes(body)).flatten()?,
        unsigned: 0,
        faults: Vec::new(),
        file: Some(id),
        offset,
        line,
        is_unterminated: false,
        out_of_order: Default::default(),
        last_at: Some(Timestamp::from_unix_micros(last_at.cast_signed())),
    })
}

/// Caches the state of a journal. A damaged journal, or one with records of a newer version, is not cached.
pub(super) fn keep(
    fs: &dyn Fs,
    path: &RelPath,
    journal: &dyn ReadFile,
    id: FileId,
    read: &JournalReading,
) -> Result<(), FsError> {
    let is_whole =
        read.faults.is_empty() && read.life.newer == 0 && read.unsigned == 0 && !read.is_unterminated;
    let (Some(last_at), true) = (read.last_at, is_whole) else { return Ok(()) };
    let Some(body) = read.life.to_bytes() else { return Ok(()) };
    let [offset, device, inode, samples] = covered_numbers(journal, id, read.offset)?;
    let numbers = [offset, device, inode, samples, read.line, last_at.unix_micros().cast_unsigned()];
    fs.write_cache(path, &sealed(MAGIC, numbers, &body))
}
