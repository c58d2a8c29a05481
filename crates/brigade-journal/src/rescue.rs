//! Segments that the journal does not name.
//!
//! One is there after a crash in a compaction, and then holds nothing that the journal and its segments do not hold. Or
//! an older copy of the journal was put back, and then it holds finished records that the copy knows nothing of, or not
//! the end of. Those are written into the journal again, and only then is the segment removed.

use brigade_core::Timestamp;
use brigade_core::json::{Raw, members};
use brigade_fs::{FileKind, FsErrorKind, Lines};

use crate::entry::{Content, look_at};
use crate::error::JournalError;
use crate::state::segments_on_disk;
use crate::writer::Writer;

/// How many bytes are written at a time.
const CHUNK: usize = 4 << 20;

/// Takes in what stands only in segments that the journal does not name, and removes those.
pub(crate) fn rescue(writer: &mut Writer, now: Timestamp) -> Result<(), JournalError> {
    // A journal without a header counts all segments that are there.
    let Some(header) = writer.state.header.clone() else { return Ok(()) };
    let place = writer.state.place.clone();
    let (fs, layout) = (&*place.fs, &place.layout);
    let mut unnamed = segments_on_disk(fs, layout)?;
    unnamed.retain(|number| !header.segments.contains(number));
    if unnamed.is_empty() || writer.state.require_our_version().is_err() {
        return Ok(());
    }
    // The newest first: of two lines of a record its is the later one.
    tracing::info!(segments = unnamed.len(), "segments that the journal does not name are looked at");
    for number in unnamed.into_iter().rev() {
        let file = match fs.open(&layout.segment(number)) {
            Ok(file) => file,
            Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotAFile => continue,
            Err(error) => return Err(error.into()),
        };
        let mut lines = Lines::new(&*file, 0, file.len()?);
        let mut bytes = Vec::new();
        while let Some(line) = lines.next_line()? {
            let Content::Record(peeked) = look_at(&*place.kind, line.bytes) else { continue };
            let known = writer.state.find(&peeked.facts.id)?;
            let is_new = known.is_none_or(|known| revision(&known.line) < revision(line.bytes));
            if is_new {
                bytes.extend_from_slice(line.bytes);
                bytes.push(b'\n');
            }
            if CHUNK <= bytes.len() {
                writer.append(&bytes, now)?;
                bytes.clear();
            }
        }
        if !bytes.is_empty() {
            writer.append(&bytes, now)?;
        }
        for path in [layout.segment(number), layout.segment_index(number)] {
            // What cannot be removed is looked at again.
            if fs.link_metadata(&path).is_ok_and(|metadata| metadata.kind == FileKind::File) {
                let _ = fs.remove(&path);
            }
        }
    }
    Ok(())
}

/// Returns how often a record was written.
fn revision(line: &[u8]) -> u64 {
    let mut revision = None;
    let _ = members(line, |key, value| {
        if key.raw() == "revision" {
            revision = Raw::natural(value);
        }
    });
    revision.unwrap_or(0)
}
