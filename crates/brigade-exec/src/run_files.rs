//! The files of a run: its logs and its checkpoint directory.
//!
//! Dropped files are raw and may have secrets, so none of them stays. A run removes its own directory, and the next run
//! removes those of killed runs.

use std::time::Duration;

use brigade_call::RUNS;
use brigade_core::{RunId, Timestamp};
use brigade_fs::{FileKind, Fs, FsError, RelPath, WriteFile, in_directory};

use crate::execute::Logs;
use crate::receipt::RunPaths;

/// The parent of all checkpoint directories.
const INCOMING: &str = ".brigade/tools/checkpoints/incoming";

/// A run has certainly been claimed this long after its directory was created.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Whether the program of a run may drop checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drops {
    /// It gets a directory for them.
    Taken,
    /// It does not know where: it was started before, for many calls.
    None,
}

/// The files of a run that is about to start.
pub struct RunFiles {
    /// The open logs.
    pub logs: Logs,
    /// The checkpoint directory.
    pub dropped: RelPath,
    /// Whether an existing log already has output.
    pub is_used: bool,
    /// Logs that did not exist before.
    created: Vec<RelPath>,
}

impl RunFiles {
    /// Creates the files of a run. Files of an earlier attempt that did not claim the call are used again.
    ///
    /// # Errors
    /// Fails if the name of a log is taken by something else than a file, or on a file error.
    pub fn create(fs: &dyn Fs, run_id: &RunId, paths: &RunPaths, drops: Drops) -> Result<RunFiles, FsError> {
        let mut created = Vec::new();
        let mut is_used = false;
        let mut log = |path: RelPath| -> Result<Box<dyn WriteFile>, FsError> {
            match in_directory(fs, &RelPath::from_static(RUNS), || fs.create(&path, 0o600)) {
                Ok(file) => {
                    created.push(path);
                    Ok(file)
                }
                Err(error) if error.is_exists() => {
                    if fs.link_metadata(&path)?.kind != FileKind::File {
                        return Err(error);
                    }
                    let file = fs.open_append(&path)?;
                    is_used |= 0 < file.length()?;
                    Ok(file)
                }
                Err(error) => Err(error),
            }
        };
        let logs = Logs {
            stdout: log(RelPath::composed(&paths.stdout_log))?,
            stderr: log(RelPath::composed(&paths.stderr_log))?,
        };
        let dropped = match drops {
            Drops::Taken => make_drops(fs, run_id)?,
            Drops::None => drops_of(run_id),
        };
        Ok(RunFiles { logs, dropped, created, is_used })
    }

    /// Removes the files of a run that did not start.
    pub fn discard(&self, fs: &dyn Fs) {
        // A leftover is harmless: an empty log of an unknown run.
        for path in &self.created {
            let _ = fs.remove(path);
        }
        if !self.created.is_empty() {
            let _ = fs.remove_tree(&self.dropped);
        }
    }
}

/// Lists checkpoint directories of runs that ended or never started. A run without a receipt may be about to start,
/// unless its directory is old and no call runs as it.
pub fn left_drops(fs: &dyn Fs, now: Timestamp, is_running: &dyn Fn(&str) -> bool) -> Vec<RelPath> {
    let is_old = |path: &RelPath| {
        fs.link_metadata(path).is_ok_and(|metadata| CLAIM_TIMEOUT < now.since(metadata.modified))
    };
    let folder = RelPath::from_static(INCOMING);
    let mut left = Vec::new();
    for entry in fs.list_dir(&folder).unwrap_or_default() {
        let Ok(path) = folder.join(&entry.name) else { continue };
        if !is_running(&entry.name) && (is_over(fs, &entry.name) || is_old(&path)) {
            left.push(path);
        }
    }
    left
}

/// Creates the checkpoint directory of a run, and removes those of runs with a receipt. A run without a receipt may be
/// about to start.
fn make_drops(fs: &dyn Fs, run_id: &RunId) -> Result<RelPath, FsError> {
    let parent = RelPath::from_static(INCOMING);
    for entry in fs.list_dir(&parent).unwrap_or_default() {
        let is_run = entry.name.parse::<RunId>().is_ok();
        if let (true, Ok(folder)) = (is_run && is_over(fs, &entry.name), parent.join(&entry.name)) {
            let _ = fs.remove_tree(&folder);
        }
    }
    let folder = drops_of(run_id);
    fs.create_dir_all(&folder)?;
    Ok(folder)
}

fn drops_of(run_id: &RunId) -> RelPath {
    RelPath::from_static(INCOMING).join(run_id.as_str()).expect("a run id is a file name")
}

/// Tells whether a run has a receipt.
fn is_over(fs: &dyn Fs, run_id: &str) -> bool {
    let receipt = RelPath::from_static(RUNS).join(&format!("{run_id}.json"));
    receipt.is_ok_and(|receipt| fs.exists(&receipt).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use brigade_core::{Clock as _, SystemClock};
    use brigade_fs::{FileMode, MemoryFs};

    use super::*;

    #[test]
    fn a_run_finds_its_own_files_again_and_clears_those_of_others() {
        let fs = MemoryFs::new();
        let run: RunId = "run-1".parse().unwrap();
        let paths = RunPaths::new(&run);
        let first = RunFiles::create(&fs, &run, &paths, Drops::Taken).unwrap();
        assert!(!first.is_used && fs.exists(&first.dropped).unwrap());
        let mut again = RunFiles::create(&fs, &run, &paths, Drops::Taken).unwrap();
        again.discard(&fs);
        assert!(fs.exists(&RelPath::composed(&paths.stdout_log)).unwrap(), "what was there before stays");
        again.logs.stdout.write(b"x").unwrap();
        assert!(RunFiles::create(&fs, &run, &paths, Drops::Taken).unwrap().is_used);

        fs.write_atomic(&RelPath::composed(&paths.receipt), b"{}", FileMode::Private).unwrap();
        assert_eq!(left_drops(&fs, SystemClock.now(), &|_| true), []);
        assert_eq!(left_drops(&fs, SystemClock.now(), &|_| false), std::slice::from_ref(&first.dropped));
        RunFiles::create(
            &fs,
            &"run-2".parse().unwrap(),
            &RunPaths::new(&"run-2".parse().unwrap()),
            Drops::Taken,
        )
        .unwrap();
        assert!(!fs.exists(&first.dropped).unwrap());
    }
}
