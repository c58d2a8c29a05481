//! Quarantine: unreadable lines and misplaced files are moved, never erased.

use brigade_core::json::to_json;
use brigade_fs::{FileKind, Fs, FsError, RelPath};
use serde::Serialize;

use crate::error::JournalError;
use crate::layout::Layout;
use crate::state::{Journal, State};

/// The line that records a missing segment.
#[derive(Serialize)]
struct LostSegment<'a> {
    /// Its path.
    lost: &'a str,
}

/// Copies unreadable lines of the journal and segments to a quarantine file, with a line for each missing segment.
/// Returns the number of lines. Rewriting the files then omits them.
pub(crate) fn copy_unreadable(state: &State) -> Result<u64, JournalError> {
    let (fs, layout) = (&*state.place.fs, &state.place.layout);
    let mut bytes = Vec::new();
    let mut count = 0;
    for log in state.logs() {
        for span in log.scanned()?.unreadable() {
            // A line that is longer than a span can express is copied up to that length.
            bytes.extend_from_slice(&log.line(span)?);
            bytes.push(b'\n');
            count += 1;
        }
    }
    // The new journal no longer names these segments, so this is the only trace of them.
    for path in &state.lost_segments {
        let line = to_json(&LostSegment { lost: path.as_str() }).expect("a path is JSON");
        bytes.extend_from_slice(line.to_compact().as_bytes());
        bytes.push(b'\n');
        count += 1;
    }
    if count == 0 {
        return Ok(0);
    }
    let number = free_quarantine(fs, layout)?;
    // If an earlier attempt crashed before writing the new journal, the same lines are in the last quarantine already.
    let is_there = 1 < number
        && matches!(fs.read(&layout.quarantine(number - 1), bytes.len() as u64), Ok(last) if last == bytes);
    if !is_there {
        fs.create_new_durable(&layout.quarantine(number), &bytes)?;
    }
    tracing::info!(lines = count, "unreadable lines are moved to a quarantine");
    Ok(count)
}

/// Moves everything that occupies the name of one of our directories to a quarantine. Returns how many were moved.
pub(crate) fn move_not_directories(place: &Journal) -> Result<u64, FsError> {
    let mut moved = 0;
    for path in not_directories(place) {
        set_file_aside(&*place.fs, &path)?;
        moved += 1;
    }
    Ok(moved)
}

/// Moves a file of any kind to `NAME.quarantine-N` next to it.
///
/// # Errors
/// Fails on a disk error.
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
    tracing::info!(file = %path, "a file is moved to a quarantine");
    Ok(aside)
}

/// Lists everything that occupies the name of one of our directories but is not a directory.
pub(crate) fn not_directories(place: &Journal) -> Vec<RelPath> {
    let mut directories = place.layout.directories();
    directories.retain(|directory| {
        place.fs.metadata(directory).is_ok_and(|found| found.kind != FileKind::Directory)
    });
    directories
}

/// Returns the first unused quarantine number.
pub(crate) fn free_quarantine(fs: &dyn Fs, layout: &Layout) -> Result<u64, FsError> {
    let mut number = 1;
    while fs.exists(&layout.quarantine(number))? {
        number += 1;
    }
    Ok(number)
}

/// Counts the segments, from the oldest on, before the first one with unreadable lines.
pub(crate) fn whole_segments(state: &State) -> Result<usize, FsError> {
    for (number, segment) in state.segments.iter().enumerate() {
        if !segment.scanned()?.unreadable().is_empty() {
            return Ok(number);
        }
    }
    Ok(state.segments.len())
}
