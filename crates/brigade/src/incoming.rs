//! The folders that running scripts drop checkpoints into: one for each run, gone when the run is over.
//!
//! What a script drops is raw and may hold what no file may, so nothing of it stays: a run removes its own folder, and
//! the next run those of runs that were killed before they could.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use brigade_call::CallStatus;
use brigade_core::RunId;
use brigade_fs::{FsError, RelPath};
use brigade_queue::{Calls, View};

use crate::error::Error;
use crate::room::{RUNS, Room, rel};

/// The folder that holds them.
const INCOMING: &str = ".brigade/tools/checkpoints/incoming";

/// How long after its folder was made a run has been claimed for certain.
const STARTS_WITHIN: Duration = Duration::from_secs(60 * 60);

/// Makes the folder of a run.
///
/// # Errors
/// When the disk fails.
pub(crate) fn make_incoming(room: &Room, run_id: &RunId) -> Result<RelPath, FsError> {
    sweep_incoming(room);
    let folder = rel(INCOMING).join(run_id.as_str()).expect("a run id is a file name");
    room.fs.create_dir_all(&folder)?;
    Ok(folder)
}

/// Removes a folder with everything in it. What cannot be removed is tried again by the next run.
pub(crate) fn remove_incoming(room: &Room, folder: &RelPath) {
    let _ = room.fs.remove_tree(folder);
}

/// Finds the folders of runs that are over, or that never came to be: those without a receipt are about to start,
/// unless they are old and no call runs as them.
pub(crate) fn left_incoming(room: &Room, view: &View<'_>) -> Result<Vec<RelPath>, Error> {
    let mut running = HashSet::new();
    view.for_each_call(&Calls::Of(CallStatus::Running), &mut |stored| {
        running.extend(stored.call.claim.map(|claim| claim.run_id.as_str().to_owned()));
        ControlFlow::Continue(())
    })?;
    let now = room.now();
    let is_old = |path: &RelPath| {
        room.fs.link_metadata(path).is_ok_and(|metadata| STARTS_WITHIN < now.since(metadata.modified))
    };
    let folder = rel(INCOMING);
    let mut left = Vec::new();
    for entry in room.fs.list_dir(&folder).unwrap_or_default() {
        let Ok(path) = folder.join(&entry.name) else { continue };
        let receipt = rel(RUNS).join(&format!("{}.json", entry.name));
        let is_over = receipt.is_ok_and(|receipt| room.fs.exists(&receipt).unwrap_or(false));
        if !running.contains(&entry.name) && (is_over || is_old(&path)) {
            left.push(path);
        }
    }
    Ok(left)
}

/// Removes the folders of runs that have a receipt, so are over. One without may be about to start.
fn sweep_incoming(room: &Room) {
    for entry in room.fs.list_dir(&rel(INCOMING)).unwrap_or_default() {
        let Ok(run_id) = entry.name.parse::<RunId>() else { continue };
        let is_over = room.fs.exists(&rel(&format!("{RUNS}/{run_id}.json"))).unwrap_or(false);
        if let (true, Ok(folder)) = (is_over, rel(INCOMING).join(&entry.name)) {
            remove_incoming(room, &folder);
        }
    }
}
