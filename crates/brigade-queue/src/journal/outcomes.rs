//! Files that keep the outcome of a run until it is recorded. Their space is reserved before the run starts.
//!
//! Each running call has an empty file in `.brigade/tools/outcomes`, with space for its outcome. The runner writes
//! through the open file, so neither a full disk nor a read-only directory can lose an outcome. When the run is
//! recorded, the file becomes a spare one for the next run, because file systems are slow to create a file where others
//! were just removed. If the runner was killed, the next run or repair removes the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brigade_call::{Checkpoint, Receipt};
use brigade_core::json::{from_json, pretty_text};
use brigade_core::{Dialect, Json, RunId, Timestamp};
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, RelPath, WriteFile, in_directory};
use serde::Serialize;

use super::{layout, receipts};
use crate::outcome::Outcome;
use crate::running::RunRemains;

/// The space that each run reserves, in bytes. Only a receipt with very long lists of an observed run is larger.
const RESERVED_BYTES: u64 = 256 << 10;

/// The largest outcome that is read, in bytes: a receipt and the checkpoints of a run.
const OUTCOME_LIMIT: u64 = 64 << 20;

/// This long after the file was created, the claim of its run is certainly in the journal.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The schema id of the file.
const SCHEMA: &str = "brigade.outcome.v1";

/// The content of the file.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    receipt: &'a Receipt,
    checkpoints: &'a [Checkpoint],
}

fn to_bytes(outcome: &Outcome) -> Vec<u8> {
    let Outcome { receipt, checkpoints } = outcome;
    let document = pretty_text(&Document { schema: SCHEMA, receipt, checkpoints });
    document.expect("an outcome is JSON").into_bytes()
}

fn from_bytes(bytes: &[u8]) -> Option<Outcome> {
    let document = Json::parse_bytes(bytes, Dialect::Lenient).ok()?;
    let mut outcome: Outcome = from_json(&document).ok()?;
    outcome.checkpoints.iter_mut().for_each(|checkpoint| checkpoint.extra.complete());
    Some(outcome)
}

/// Returns the kept outcome of a run. An incomplete one is ignored.
pub(crate) fn kept_outcome(fs: &dyn Fs, run: &RunId) -> Option<Outcome> {
    let read = || {
        let bytes = fs.read(&path(run.as_str())?, OUTCOME_LIMIT).ok().filter(|bytes| !bytes.is_empty())?;
        from_bytes(&bytes).filter(|outcome| outcome.receipt.id == *run)
    };
    read().or_else(|| unwritten().get(&(fs.root().to_owned(), run.clone())).cloned())
}

/// Lists the kept outcomes of all runs.
pub(crate) fn kept_outcomes(fs: &dyn Fs) -> Vec<Outcome> {
    let in_files = files(fs).filter_map(|path| run_of(&path)?.parse().ok());
    let in_memory: Vec<RunId> =
        unwritten().keys().filter(|(root, _)| root == fs.root()).map(|(_, run)| run.clone()).collect();
    let runs: BTreeSet<RunId> = in_files.chain(in_memory).collect();
    runs.iter().filter_map(|run| kept_outcome(fs, run)).collect()
}

/// Removes the kept outcome of a recorded run.
pub(crate) fn forget_outcome(fs: &dyn Fs, run: &RunId) {
    unwritten().remove(&(fs.root().to_owned(), run.clone()));
    if let Some(path) = path(run.as_str()) {
        // The next run tries again.
        let _ = fs.remove(&path);
    }
}

/// Outcomes of this process that could not be written to a file.
static UNWRITTEN: Mutex<UnwrittenOutcomes> = Mutex::new(UnwrittenOutcomes::new());

/// Outcomes by workspace root and run.
type UnwrittenOutcomes = BTreeMap<(PathBuf, RunId), Outcome>;

fn unwritten() -> MutexGuard<'static, UnwrittenOutcomes> {
    UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reserved space for the outcome of one run. Dropping it before the run is claimed gives the space back.
pub struct OutcomeReservation {
    file: Box<dyn WriteFile>,
    fs: Arc<dyn Fs>,
    path: RelPath,
    /// Whether no claimed run uses the file yet.
    is_spare: bool,
}

impl OutcomeReservation {
    /// Reserves space for the outcome of a run, before the run is claimed. Also removes files of recorded runs.
    ///
    /// # Errors
    /// Fails if there is not enough space, and on a file error.
    pub fn make(fs: Arc<dyn Fs>, run: &RunId) -> Result<OutcomeReservation, FsError> {
        let (left, spare): (Vec<RelPath>, Vec<RelPath>) =
            files(&*fs).partition(|left| run_of(left).is_some());
        for left in left.iter().filter(|left| is_over(&*fs, left)) {
            let _ = fs.remove(left);
        }
        let path = path(run.as_str()).expect("a run id is a file name");
        let is_new = !left.contains(&path);
        // The first process that renames the spare file gets it.
        if spare.iter().any(|spare| is_new && fs.rename(spare, &path).is_ok()) {
            let file = fs.open_append(&path)?;
            let mut reserved = OutcomeReservation { file, fs, path, is_spare: true };
            match reserved.file.length()? {
                // The new time marks the file as in use. Its space may still be reserved.
                0 => reserved.file.touch()?,
                _ => reserved.file.truncate(0)?,
            }
            reserved.file.reserve(RESERVED_BYTES)?;
            return Ok(reserved);
        }
        let (file, is_spare) = match in_directory(&*fs, &path.parent(), || fs.create(&path, 0o600)) {
            Ok(file) => (file, true),
            // The file belongs to an attempt that was killed before it claimed the call, or to one that claims it now.
            Err(error) if error.is_exists() => (fs.open_append(&path)?, false),
            Err(error) => return Err(error),
        };
        let mut reserved = OutcomeReservation { file, fs, path, is_spare };
        reserved.file.reserve(RESERVED_BYTES)?;
        Ok(reserved)
    }

    /// Keeps the file when this is dropped, because the run is claimed.
    #[must_use]
    pub fn claimed(mut self) -> OutcomeReservation {
        self.is_spare = false;
        self
    }

    /// Makes the file a spare one, because the run is recorded or not claimed. At most sixteen spare files are kept.
    pub(crate) fn give_back(&self) {
        let digit = run_of(&self.path).and_then(|run| run.chars().next_back()).unwrap_or('0');
        let spare = layout::outcomes().join(&format!("spare-{digit}"));
        if !spare.is_ok_and(|spare| self.fs.rename(&self.path, &spare).is_ok()) {
            // The next run tries again.
            let _ = self.fs.remove(&self.path);
        }
    }

    /// Keeps the outcome until it is recorded: in its file, or in the memory of this process if that fails.
    pub(crate) fn keep(&mut self, outcome: &Outcome) -> RunRemains {
        if self.write(outcome).is_ok() {
            return RunRemains::Outcome;
        }
        unwritten().insert((self.fs.root().to_owned(), outcome.receipt.id.clone()), outcome.clone());
        RunRemains::Here
    }

    /// Writes the outcome. If the space is too small, omits its lists and the arguments, which its call has, too.
    fn write(&mut self, outcome: &Outcome) -> Result<(), FsError> {
        if 0 < self.file.length()? {
            self.file.truncate(0)?;
        }
        let mut bytes = to_bytes(outcome);
        if RESERVED_BYTES < bytes.len() as u64 && self.file.reserve(bytes.len() as u64).is_err() {
            bytes = to_bytes(&outcome.without_lists());
        }
        if let Err(error) = self.file.write(&bytes).and_then(|()| self.file.sync()) {
            let _ = self.file.truncate(0);
            return Err(error);
        }
        // The name was not synced when the file was created, and may have been removed since.
        let _ = self.fs.sync_dir(&self.path.parent());
        match self.fs.read(&self.path, bytes.len() as u64)? == bytes {
            true => Ok(()),
            false => Err(FsError::new("read", self.path.as_str(), FsErrorKind::NotFound)),
        }
    }
}

impl Drop for OutcomeReservation {
    fn drop(&mut self) {
        if self.is_spare {
            self.give_back();
        }
    }
}

/// Lists the files of runs that are recorded or never started, except files with an unrecorded outcome.
pub fn left_outcomes(fs: &dyn Fs, now: Timestamp, is_running: &dyn Fn(&str) -> bool) -> Vec<RelPath> {
    let is_old = |path: &RelPath| {
        fs.link_metadata(path).is_ok_and(|found| found.len == 0 && CLAIM_TIMEOUT < now.since(found.modified))
    };
    files(fs)
        .filter(|path| !run_of(path).is_some_and(is_running) && (is_over(fs, path) || is_old(path)))
        .collect()
}

/// Lists the files of all runs.
fn files(fs: &dyn Fs) -> impl Iterator<Item = RelPath> {
    let folder = layout::outcomes();
    let entries = fs.list_dir(&folder).unwrap_or_default().into_iter();
    entries
        .filter(|entry| entry.kind == FileKind::File)
        .filter_map(move |entry| folder.join(&entry.name).ok())
}

fn run_of(path: &RelPath) -> Option<&str> {
    path.name().strip_suffix(".json")
}

/// Returns whether the run of a file has a receipt.
fn is_over(fs: &dyn Fs, path: &RelPath) -> bool {
    let receipt = run_of(path).and_then(receipts::receipt_path);
    receipt.is_some_and(|receipt| fs.exists(&receipt).unwrap_or(false))
}

/// Returns the path of a run's file. The run id may come from another program.
fn path(run: &str) -> Option<RelPath> {
    layout::outcomes().join(&format!("{run}.json")).ok()
}

#[cfg(test)]
mod tests {
    use brigade_call::RunStatus;

    use super::*;

    #[test]
    fn an_outcome_is_read_as_it_was_written() {
        let checkpoint =
            r#"{"id": "checkpoint-1", "status": "waiting", "call_id": "call-1", "theirs": 1.50}"#;
        let checkpoint = Checkpoint::from_document(Json::parse(checkpoint).unwrap()).unwrap();
        let receipt = Receipt::new("run-1".parse().unwrap(), "call-1".parse().unwrap(), RunStatus::Completed);
        let outcome = Outcome { receipt, checkpoints: vec![checkpoint.clone()] };
        let expect = Json::object([
            ("checkpoints", Json::Array(vec![Json::Object(checkpoint.to_document())])),
            ("receipt", Json::Object(outcome.receipt.to_members())),
            ("schema", Json::from("brigade.outcome.v1")),
        ]);
        let bytes = to_bytes(&outcome);
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), expect.to_pretty());
        assert_eq!(from_bytes(&bytes), Some(outcome));
        for damaged in ["", "[]", "{}", r#"{"receipt": {}}"#, r#"{"receipt": {}, "checkpoints": [{}]}"#] {
            assert_eq!(from_bytes(damaged.as_bytes()), None, "{damaged}");
        }
    }
}
