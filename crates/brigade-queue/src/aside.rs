//! Setting aside what cannot be read of calls: nothing is erased, it moves to `calls.quarantine-N.jsonl`.

use brigade_core::Json;
use brigade_fs::{FileKind, Fs, FsError, RelPath};

use crate::error::QueueError;
use crate::layout;
use crate::state::State;

/// Copies unreadable lines of the journal and of segments to a quarantine file, with a line for each segment that is gone;
/// returns how many lines these are. Rewriting the files then leaves them out.
pub(crate) fn quarantine(fs: &dyn Fs, state: &State) -> Result<u64, QueueError> {
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
    let number = free_quarantine(fs)?;
    // After a crash between this and the new journal, the same lines come again.
    let is_there = 1 < number
        && matches!(fs.read(&layout::quarantine(number - 1), bytes.len() as u64), Ok(last) if last == bytes);
    if !is_there {
        fs.create_new_durable(&layout::quarantine(number), &bytes)?;
    }
    Ok(count)
}

/// Moves what has the name of one of our folders and is none to a quarantine; returns how many things these are.
pub(crate) fn move_folders(fs: &dyn Fs) -> Result<u64, FsError> {
    let mut moved = 0;
    for folder in not_folders(fs) {
        let mut number = 1;
        let aside = loop {
            let aside = layout::tools().join(&format!("{}.quarantine-{number}", folder.name()));
            let aside = aside.expect("a name with a suffix is a file name");
            if !fs.exists(&aside)? {
                break aside;
            }
            number += 1;
        };
        fs.rename(&folder, &aside)?;
        fs.sync_dir(&layout::tools())?;
        moved += 1;
    }
    Ok(moved)
}

/// Lists what has the name of one of our folders and is none.
pub(crate) fn not_folders(fs: &dyn Fs) -> Vec<RelPath> {
    let mut folders = vec![layout::segments(), layout::runs(), layout::checkpoints()];
    folders.retain(|folder| fs.metadata(folder).is_ok_and(|found| found.kind != FileKind::Directory));
    folders
}

/// Returns the first number that no quarantine has.
pub(crate) fn free_quarantine(fs: &dyn Fs) -> Result<u64, FsError> {
    let mut number = 1;
    while fs.exists(&layout::quarantine(number))? {
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
