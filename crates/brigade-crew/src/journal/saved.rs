//! A cache of what a long journal said when it was read the last time, so that reading it again takes as long as its
//! end is. It is bound to the bytes that it covers, and can be deleted at any time. Who writes the journal never reads
//! it.

use brigade_core::Timestamp;
use brigade_fs::{FileId, Fs, FsError, ReadFile, RelPath};
use brigade_journal::{hash, sample};
use brigade_kitchen::life::Life;

use super::Read;

const MAGIC: &[u8; 8] = b"brglife\x01";

/// Magic, covered length and lines, device and inode, samples, time of the last record, hash of the rest.
const HEADER: usize = 8 * 8;

/// The largest cache that is read.
const MAX: u64 = 256 << 20;

/// How much of a journal is read again before the cache is written again.
pub(super) const EVERY: u64 = 256 << 10;

fn number(bytes: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(bytes[8 * place..8 * (place + 1)].try_into().expect("eight bytes"))
}

/// Returns what the journal said, up to a place in it; `None` if there is no cache of this journal.
pub(super) fn recall(fs: &dyn Fs, path: &RelPath, journal: &dyn ReadFile, id: FileId) -> Option<Read> {
    let bytes = fs.read(path, MAX).ok()?;
    if bytes.len() < HEADER || !bytes.starts_with(MAGIC) {
        return None;
    }
    let (header, body) = bytes.split_at(HEADER);
    let covered = number(header, 1);
    let is_its = (number(header, 3), number(header, 4)) == (id.device, id.inode)
        && covered <= journal.len().ok()?
        && number(header, 5) == sample(journal, covered).ok()?
        && number(header, 7) == hash(&[body]);
    if !is_its {
        return None;
    }
    Some(Read {
        life: Life::from_bytes(body)?,
        faults: Vec::new(),
        file: Some(id),
        offset: covered,
        line: number(header, 2),
        is_unterminated: false,
        last_at: Some(Timestamp::from_unix_micros(number(header, 6).cast_signed())),
    })
}

/// Keeps what the journal said. One that is damaged, or has records of a newer version, is read whole each time.
pub(super) fn keep(
    fs: &dyn Fs,
    path: &RelPath,
    journal: &dyn ReadFile,
    id: FileId,
    read: &Read,
) -> Result<(), FsError> {
    let is_whole = read.faults.is_empty() && read.life.newer == 0 && !read.is_unterminated;
    let (Some(last_at), true) = (read.last_at, is_whole) else { return Ok(()) };
    let Some(body) = read.life.to_bytes() else { return Ok(()) };
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(MAGIC);
    let samples = sample(journal, read.offset)?;
    let last_at = last_at.unix_micros().cast_unsigned();
    for number in [read.offset, read.line, id.device, id.inode, samples, last_at, hash(&[&body])] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&body);
    fs.write_cache(path, &bytes)
}
