//! The folders that running scripts drop checkpoints into: one for each run, gone when the run is over.
//!
//! What a script drops is raw and may hold what no file may, so nothing of it stays: a run removes its own folder, and
//! the next run those of runs that were killed before they could.

use brigade_core::RunId;
use brigade_fs::{Fs, FsError, RelPath};

use crate::workspace::{RUNS, Workspace, rel};

/// The folder that holds them.
const INCOMING: &str = ".brigade/tools/checkpoints/incoming";

impl Workspace {
    /// Makes the folder of a run.
    ///
    /// # Errors
    /// When the disk fails.
    pub(crate) fn make_incoming(&self, run_id: &RunId) -> Result<RelPath, FsError> {
        self.sweep_incoming();
        let folder = rel(INCOMING).join(run_id.as_str()).expect("a run id is a file name");
        self.fs.create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Removes a folder with everything in it. What cannot be removed is tried again by the next run.
    pub(crate) fn remove_incoming(&self, folder: &RelPath) {
        let _ = self.fs.remove_tree(folder);
    }

    /// Removes the folders of runs that have a receipt, so are over. One without may be about to start.
    fn sweep_incoming(&self) {
        for entry in self.fs.list_dir(&rel(INCOMING)).unwrap_or_default() {
            let Ok(run_id) = entry.name.parse::<RunId>() else { continue };
            let is_over = self.fs.exists(&rel(&format!("{RUNS}/{run_id}.json"))).unwrap_or(false);
            if let (true, Ok(folder)) = (is_over, rel(INCOMING).join(&entry.name)) {
                self.remove_incoming(&folder);
            }
        }
    }
}
