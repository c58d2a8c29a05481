//! Recovers records from segments that the journal does not name.
//!
//! Such a segment exists after a crash during a compaction; it then contains nothing new. Or an older copy of the
//! journal was restored; the segment then contains finished records that the copy lacks, or later revisions of them.
//! These records are appended to the journal again before the segment is removed.

use brigade_core::Timestamp;
use brigade_core::json::{RawJson, members};
use brigade_fs::{FileKind, FsErrorKind, Lines};

use crate::entry::{Content, look_at};
use crate::error::JournalError;
use crate::state::segments_on_disk;
use crate::writer::Writer;

/// The number of bytes written at a time.
const CHUNK: usize = 4 << 20;

/// Appends records that exist only in unnamed segments to the journal, and removes those segments.
pub(crate) fn recover(writer: &mut Writer, now: Timestamp) -> Result<(), JournalError> {
    // Without a header, every segment on disk is in use.
    let Some(header) = writer.state.header.clone() else { return Ok(()) };
    let place = writer.state.place.clone();
    let (fs, layout) = (&*place.fs, &place.layout);
    let mut unnamed = segments_on_disk(fs, layout)?;
    unnamed.retain(|number| !header.segments.contains(number));
    if unnamed.is_empty() || writer.state.require_our_version().is_err() {
        return Ok(());
    }
    // Newest first: of two lines of a record, the one in the newer segment is later.
    tracing::info!(segments = unnamed.len(), "recovering segments that the journal does not name");
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
            // A segment that cannot be removed is processed again next time.
            if fs.link_metadata(&path).is_ok_and(|metadata| metadata.kind == FileKind::File) {
                let _ = fs.remove(&path);
            }
        }
    }
    Ok(())
}

/// Returns the revision number of a record, or 0.
fn revision(line: &[u8]) -> u64 {
    let mut revision = None;
    let _ = members(line, |key, value| {
        if key.raw() == "revision" {
            revision = RawJson::natural(value);
        }
    });
    revision.unwrap_or(0)
}
