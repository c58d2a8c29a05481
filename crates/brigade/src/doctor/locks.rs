//! Locks that the Python program left behind: folders beside the queue that nobody releases any more.

use std::time::Duration;

use brigade_fs::{FileKind, RelPath};
use brigade_process::ProcessIdentity;

use crate::error::Error;
use crate::room::{Room, rel};

/// The lock itself.
const HELD: &str = "calls.jsonl.lock";

/// What it is called while it is taken, released or taken away from a process that is gone.
const PASSING: &str = ".calls.jsonl.lock.";

/// How old one that names no ended process must be, so that nobody is just taking or leaving it.
const AGE: Duration = Duration::from_secs(60 * 60);

/// The longest file with a process id that is read.
const PID_LIMIT: u64 = 64;

/// Lists such locks whose process is gone.
pub(crate) fn left_locks(room: &Room) -> Vec<RelPath> {
    let folder = rel(brigade_queue::TOOLS);
    let entries = room.fs.list_dir(&folder).unwrap_or_default();
    let named = entries.iter().filter(|entry| entry.kind == FileKind::Directory);
    let named = named.filter(|entry| entry.name == HELD || entry.name.starts_with(PASSING));
    let paths = named.filter_map(|entry| Some((entry.name == HELD, folder.join(&entry.name).ok()?)));
    paths.filter(|(is_held, path)| is_left(room, *is_held, path)).map(|(_, path)| path).collect()
}

fn is_left(room: &Room, is_held: bool, path: &RelPath) -> bool {
    let is_running = |pid| ProcessIdentity::of(pid).is_ok_and(|process| process.is_alive());
    match holder(room, path) {
        Some(pid) if !is_running(pid) => true,
        // The number of a process that is gone may belong to another one by now.
        Some(_) if is_held => false,
        Some(_) | None => {
            let is_old = |modified| AGE < room.now().since(modified);
            room.fs.link_metadata(path).is_ok_and(|metadata| is_old(metadata.modified))
        }
    }
}

fn holder(room: &Room, path: &RelPath) -> Option<u32> {
    let bytes = room.fs.read(&path.join("pid").ok()?, PID_LIMIT).ok()?;
    std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
}

/// Removes a folder with the two files that such a lock has.
pub(crate) fn remove_lock(room: &Room, path: &RelPath) -> Result<(), Error> {
    for name in ["pid", "owner.json"] {
        if let Ok(file) = path.join(name)
            && let Err(error) = room.fs.remove(&file)
            && !error.is_not_found()
        {
            return Err(error.into());
        }
    }
    Ok(room.fs.remove_dir(path)?)
}
