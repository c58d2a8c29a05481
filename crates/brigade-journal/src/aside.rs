//! Setting aside what cannot be read: nothing is erased, it moves to a quarantine.

use brigade_core::Json;
use brigade_fs::{FileKind, Fs, FsError, RelPath};

use crate::error::JournalError;
use crate::layout::Layout;
use crate::state::{Journal, State};

/// Copies unreadable lines of the journal and of segments to a quarantine file, with a line for each segment that is
/// gone; returns how many lines these are. Rewriting the files then leaves them out.
pub(crate) fn quarantine(state: &State) -> Result<u64, JournalError> {
    let (fs, layout) = (&*state.place.fs, &state.place.layout);
    let mut bytes = Vec::new();
    let mut count = 0;
    for log in state.logs() {
        for span in log.scanned()?.set_aside() {
            // A line longer than a span can say goes in as far as it reaches.
            bytes.extend_from_slice(&log.line(span)?);
            bytes.push(b'\n');
            count += 1;
        }
    }
    // The new journal does not name them any more, so this is what is left to tell of them.
    for path in &state.lost_segments {
        let line = Json::object([("lost", Json::from(path.as_str()))]).to_compact();
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        count += 1;
    }
    if count == 0 {
        return Ok(0);
    }
    let number = free_quarantine(fs, layout)?;
    // After a crash between this and the new journal, the same lines come again.
    let is_there = 1 < number
        && matches!(fs.read(&layout.quarantine(number - 1), bytes.len() as u64), Ok(last) if last == bytes);
    if !is_there {
        fs.create_new_durable(&layout.quarantine(number), &bytes)?;
    }
    tracing::info!(lines = count, "what cannot be read is set aside");
    Ok(count)
}

/// Moves what has the name of one of our folders and is none to a quarantine; returns how many things these are.
pub(crate) fn move_folders(place: &Journal) -> Result<u64, FsError> {
    let mut moved = 0;
    for folder in not_folders(place) {
        set_file_aside(&*place.fs, &folder)?;
        moved += 1;
    }
    Ok(moved)
}

/// Moves a file, whatever it is, to `NAME.quarantine-N` beside it.
///
/// # Errors
/// When the disk fails.
pub fn set_file_aside(fs: &dyn Fs, path: &RelPath) -> Result<RelPath, FsError> {
    let folder = path.parent();
    let mut number = 1;
    let aside = loop {
        let aside = folder.join(&format!("{}.quarantine-{number}", path.name()));
        let aside = aside.expect("a name with a suffix is a file name");
        if !fs.exists(&aside)? {
            break aside;
        }
        number += 1;
    };
    fs.rename(path, &aside)?;
    fs.sync_dir(&folder)?;
    tracing::info!(file = %path, "a file is set aside");
    Ok(aside)
}

/// Lists what has the name of one of our folders and is none.
pub(crate) fn not_folders(place: &Journal) -> Vec<RelPath> {
    let mut folders = place.layout.folders();
    folders.retain(|folder| place.fs.metadata(folder).is_ok_and(|found| found.kind != FileKind::Directory));
    folders
}

/// Returns the first number that no quarantine has.
pub(crate) fn free_quarantine(fs: &dyn Fs, layout: &Layout) -> Result<u64, FsError> {
    let mut number = 1;
    while fs.exists(&layout.quarantine(number))? {
        number += 1;
    }
    Ok(number)
}

/// Counts the segments, from the oldest on, before the first one with lines that cannot be read.
pub(crate) fn whole_segments(state: &State) -> Result<usize, FsError> {
    for (number, segment) in state.segments.iter().enumerate() {
        if !segment.scanned()?.set_aside().is_empty() {
            return Ok(number);
        }
    }
    Ok(state.segments.len())
}
