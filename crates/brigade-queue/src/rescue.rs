//! Segments that the journal does not name.
//!
//! One is there after a crash in a compaction, and then holds nothing that the journal and its segments do not hold. Or an
//! older copy of the journal was put back, and then it holds finished calls that the copy knows nothing of, or not the end
//! of. Those are written into the journal again, and only then is the segment removed.

use brigade_core::Timestamp;
use brigade_core::json::{Raw, members};
use brigade_fs::{FileKind, FsErrorKind, Lines};

use crate::compact;
use crate::entry::{Content, look};
use crate::error::QueueError;
use crate::layout;
use crate::locked::LockedJournal;
use crate::state::segments_on_disk;

/// How many bytes are written at a time.
const CHUNK: usize = 4 << 20;

/// Takes in what stands only in segments that the journal does not name, and removes those.
pub(crate) fn rescue(journal: &mut LockedJournal, now: Timestamp) -> Result<(), QueueError> {
    // A journal without a header counts all segments that are there.
    let Some(header) = journal.view.state.header.clone() else { return Ok(()) };
    let fs = journal.view.fs.clone();
    let mut unnamed = segments_on_disk(&*fs)?;
    unnamed.retain(|number| !header.segments.contains(number));
    if unnamed.is_empty() || compact::require_our_version(&journal.view.state).is_err() {
        return Ok(());
    }
    // The newest first: of two lines of a call its is the later one.
    for number in unnamed.into_iter().rev() {
        let file = match fs.open(&layout::segment(number)) {
            Ok(file) => file,
            Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotAFile => continue,
            Err(error) => return Err(error.into()),
        };
        let mut lines = Lines::new(&*file, 0, file.len()?);
        let mut bytes = Vec::new();
        while let Some(line) = lines.next_line()? {
            let Content::Call(peeked) = look(line.bytes) else { continue };
            let known = journal.view.state.find(&peeked.id)?;
            let is_new = known.is_none_or(|known| revision(&known.line) < revision(line.bytes));
            if is_new {
                bytes.extend_from_slice(line.bytes);
                bytes.push(b'\n');
            }
            if CHUNK <= bytes.len() {
                journal.append_lines(&bytes, now)?;
                bytes.clear();
            }
        }
        if !bytes.is_empty() {
            journal.append_lines(&bytes, now)?;
        }
        for path in [layout::segment(number), layout::segment_index(number)] {
            // What cannot be removed is looked at again.
            if fs.link_metadata(&path).is_ok_and(|metadata| metadata.kind == FileKind::File) {
                let _ = fs.remove(&path);
            }
        }
    }
    Ok(())
}

/// Returns how often a call was written.
fn revision(line: &[u8]) -> u64 {
    let mut revision = None;
    let _ = members(line, |key, value| {
        if key.raw() == "revision" {
            revision = Raw::natural(value);
        }
    });
    revision.unwrap_or(0)
}
