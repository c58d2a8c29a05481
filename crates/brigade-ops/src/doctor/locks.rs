//! Locks that v0.30 left: directories beside the queue without a living holder.

use std::time::Duration;

use brigade_core::Timestamp;
use brigade_fs::{FileKind, Fs, FsError, RelPath};
use brigade_process::ProcessIdentity;

/// The lock directory.
const LOCK_DIRECTORY: &str = "calls.jsonl.lock";

/// The prefix of its name while it is taken, released or taken over.
const PASSING: &str = ".calls.jsonl.lock.";

/// The minimum age of a leftover lock that names no ended process. A younger one may be in use.
const MIN_LOCK_AGE: Duration = Duration::from_secs(60 * 60);

/// The largest pid file that is read.
const PID_LIMIT: u64 = 64;

/// Lists the locks without a living holder.
pub(crate) fn left_locks(fs: &dyn Fs, now: Timestamp) -> Vec<RelPath> {
    let folder = RelPath::from_static(brigade_queue::TOOLS);
    let entries = fs.list_dir(&folder).unwrap_or_default();
    let named = entries.iter().filter(|entry| entry.kind == FileKind::Directory);
    let named = named.filter(|entry| entry.name == LOCK_DIRECTORY || entry.name.starts_with(PASSING));
    let paths =
        named.filter_map(|entry| Some((entry.name == LOCK_DIRECTORY, folder.join(&entry.name).ok()?)));
    paths.filter(|(is_held, path)| is_left(fs, now, *is_held, path)).map(|(_, path)| path).collect()
}

fn is_left(fs: &dyn Fs, now: Timestamp, is_held: bool, path: &RelPath) -> bool {
    let is_running = |pid| ProcessIdentity::from_pid(pid).is_ok_and(|process| process.is_alive());
    match holder(fs, path) {
        Some(pid) if !is_running(pid) => true,
        // The system may have given the number of an ended holder to another process.
        Some(_) if is_held => false,
        Some(_) | None => {
            let is_old = |modified| MIN_LOCK_AGE < now.since(modified);
            fs.link_metadata(path).is_ok_and(|metadata| is_old(metadata.modified))
        }
    }
}

fn holder(fs: &dyn Fs, path: &RelPath) -> Option<u32> {
    let bytes = fs.read(&path.join("pid").ok()?, PID_LIMIT).ok()?;
    std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
}

/// Removes the directory of a lock and its two files.
pub(crate) fn remove_lock(fs: &dyn Fs, path: &RelPath) -> Result<(), FsError> {
    for name in ["pid", "owner.json"] {
        if let Ok(file) = path.join(name)
            && let Err(error) = fs.remove(&file)
            && !error.is_not_found()
        {
            return Err(error);
        }
    }
    fs.remove_dir(path)
}
