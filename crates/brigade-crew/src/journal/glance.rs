//! A cache of the shortest form of a status. Agents and status lines ask for it every few seconds; of a long PRD it
//! costs no more than reading the file then.

use brigade_fs::{FileId, Fs, FsError};
use brigade_journal::{LineFile, hash};
use brigade_kitchen::show::Glance;

use super::saved;
use super::sealed::{covered, opened, sealed};
use crate::paths::PrdFiles;

const MAGIC: [u8; 8] = *b"brgglnc\x01";

/// The largest cache that is read.
const MAX: u64 = 64 << 10;

/// Returns the glance that was kept of these bytes of a PRD and everything in its journal; `None` if there is none.
pub(crate) fn recall(fs: &dyn Fs, files: &PrdFiles, prd: &[u8]) -> Option<Glance> {
    let bytes = fs.read(&files.glance_cache(), MAX).ok()?;
    let ([offset, device, inode, samples, modified, length, hashed], body) = opened(MAGIC, &bytes)?;
    let journal = LineFile::new(fs, files.folder(), "journal").open().ok()??;
    let is_its = journal.len().ok()? == offset
        && covered(&*journal, journal.id().ok()?, offset).ok()? == [offset, device, inode, samples]
        && modified_at(fs, files).ok()? == modified
        && prd.len() as u64 == length
        && hash(&[prd]) == hashed;
    is_its.then(|| Glance::from_bytes(body)).flatten()
}

/// Keeps a glance of a long PRD or journal.
pub(crate) fn keep(
    fs: &dyn Fs,
    files: &PrdFiles,
    prd: &[u8],
    (id, offset): (FileId, u64),
    glance: &Glance,
) -> Result<(), FsError> {
    let Some(journal) = LineFile::new(fs, files.folder(), "journal").open()? else { return Ok(()) };
    let is_long = saved::EVERY <= prd.len() as u64 + offset;
    let is_same = journal.id()? == id && offset <= journal.len()?;
    let Some(body) = glance.to_bytes().filter(|_| is_long && is_same) else { return Ok(()) };
    let [offset, device, inode, samples] = covered(&*journal, id, offset)?;
    let modified = modified_at(fs, files)?;
    let numbers = [offset, device, inode, samples, modified, prd.len() as u64, hash(&[prd])];
    fs.write_cache(&files.glance_cache(), &sealed(MAGIC, numbers, &body))
}

/// Returns when the journal was modified. Somebody may have edited it where nothing is sampled.
fn modified_at(fs: &dyn Fs, files: &PrdFiles) -> Result<u64, FsError> {
    Ok(fs.metadata(&files.journal())?.modified.unix_micros().cast_unsigned())
}
