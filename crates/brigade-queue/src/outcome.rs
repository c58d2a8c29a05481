//! The end of a run that cannot be recorded: room that is reserved for it before the run starts, and what is kept there
//! until somebody records it.
//!
//! Each running call has an empty file in `.brigade/tools/outcomes`, with room for its outcome. The runner writes it
//! through the open file, so a full disk or a directory that cannot be written keeps no outcome out. With the record of
//! the run the file is given back as a spare one, which the next run takes: file systems are slow to make a file where
//! others were just removed. If the runner was killed, the next run or repair removes the file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brigade_call::{Call, Checkpoint, RUNS, Receipt, RunObserved};
use brigade_core::json::{from_json, pretty_text};
use brigade_core::{CallId, Dialect, Json, RunId, Timestamp};
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, RelPath, WriteFile};
use brigade_policy::Failure;
use serde::{Deserialize, Serialize};

use crate::error::QueueError;
use crate::journal::TOOLS;
use crate::queue::{Finished, LockedQueue};
use crate::running::{Kept, unrecorded};

/// The room that each run reserves, in bytes. A receipt with all that an observed run may list is longer.
const ROOM: u64 = 256 << 10;

/// The largest outcome that is read, in bytes: a receipt, and the checkpoints that a run may drop.
const OUTCOME_LIMIT: u64 = 64 << 20;

/// A run has certainly been claimed this long after its file was created.
const STARTS_WITHIN: Duration = Duration::from_secs(60 * 60);

/// The form of the file.
const SCHEMA: &str = "brigade.outcome.v1";

/// What a run left that was not recorded.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Outcome {
    /// Its receipt, which names no checkpoints.
    pub receipt: Receipt,
    /// Its checkpoints, which are not stored yet.
    pub checkpoints: Vec<Checkpoint>,
}

/// The file of an outcome.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    receipt: &'a Receipt,
    checkpoints: &'a [Checkpoint],
}

impl Outcome {
    fn to_bytes(&self) -> Vec<u8> {
        let Outcome { receipt, checkpoints } = self;
        let document = pretty_text(&Document { schema: SCHEMA, receipt, checkpoints });
        document.expect("an outcome is JSON").into_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Outcome> {
        let document = Json::parse_bytes(bytes, Dialect::Lenient).ok()?;
        let mut outcome: Outcome = from_json(&document).ok()?;
        outcome.checkpoints.iter_mut().for_each(|checkpoint| checkpoint.extra.complete());
        Some(outcome)
    }

    /// Returns the receipt as it is recorded if the checkpoints keep their ids.
    pub fn as_recorded(&self) -> Receipt {
        self.receipt.with_checkpoints(&self.checkpoints)
    }

    /// Returns what is kept of the run of a call. What was not written completely is not there.
    pub(crate) fn of_run(fs: &dyn Fs, run: &RunId) -> Option<Outcome> {
        let read = || {
            let bytes =
                fs.read(&path(run.as_str())?, OUTCOME_LIMIT).ok().filter(|bytes| !bytes.is_empty())?;
            Outcome::from_bytes(&bytes).filter(|outcome| outcome.receipt.id() == run.as_str())
        };
        read().or_else(|| unwritten().get(&(fs.root().to_owned(), run.clone())).cloned())
    }

    /// Gives the receipt the arguments of its call, which were left out if there was no room for them.
    pub(crate) fn with_arguments_of(mut self, call: &Call) -> Outcome {
        if self.receipt.args == Json::Null {
            self.receipt.args.clone_from(&call.args);
            self.receipt.arguments.clone_from(&call.arguments);
        }
        self
    }

    /// Returns it for a disk without room: without the lists of what the run used, and without the arguments, which the
    /// call has, too.
    fn without_lists(&self) -> Outcome {
        let mut receipt = self.receipt.clone();
        let left_out = "the list of files was left out, because the disk had no room for it".to_owned();
        receipt.observed = receipt.observed.as_ref().map(RunObserved::without_lists);
        if receipt.touched.take_if(|files| !files.is_empty()).is_some() {
            receipt.warnings.get_or_insert_default().push(left_out);
        }
        receipt.args = Json::Null;
        receipt.arguments.clear();
        Outcome { receipt, checkpoints: self.checkpoints.clone() }
    }

    /// Removes what is kept of a run that is recorded.
    pub(crate) fn forget(fs: &dyn Fs, run: &RunId) {
        unwritten().remove(&(fs.root().to_owned(), run.clone()));
        if let Some(path) = path(run.as_str()) {
            // The next run tries again.
            let _ = fs.remove(&path);
        }
    }
}

/// Outcomes of runs of this process that could not be written at all. Only this process knows of them.
static UNWRITTEN: Mutex<Unwritten> = Mutex::new(Unwritten::new());

/// Outcomes by the root of their workspace and their run.
type Unwritten = BTreeMap<(PathBuf, RunId), Outcome>;

fn unwritten() -> MutexGuard<'static, Unwritten> {
    UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Room for the outcome of one run. It is given back when it is dropped before the run is claimed.
pub struct Reserved {
    file: Box<dyn WriteFile>,
    fs: Arc<dyn Fs>,
    path: RelPath,
    /// Whether the file was made here, and belongs to no claimed run yet.
    is_spare: bool,
}

impl Reserved {
    /// Reserves room for the outcome of a run, before it is claimed. Also removes files of recorded runs.
    ///
    /// # Errors
    /// Fails if there is not enough room, and on a file error.
    pub fn make(fs: Arc<dyn Fs>, run: &RunId) -> Result<Reserved, FsError> {
        let (left, spare): (Vec<RelPath>, Vec<RelPath>) =
            files(&*fs).partition(|left| run_of(left).is_some());
        for left in left.iter().filter(|left| is_over(&*fs, left)) {
            let _ = fs.remove(left);
        }
        let path = path(run.as_str()).expect("a run id is a file name");
        let is_new = !left.contains(&path);
        // The first process that renames it has it.
        if spare.iter().any(|spare| is_new && fs.rename(spare, &path).is_ok()) {
            let file = fs.open_append(&path)?;
            let mut reserved = Reserved { file, fs, path, is_spare: true };
            match reserved.file.length()? {
                // It is not an old one any more. Its room may still be reserved.
                0 => reserved.file.touch()?,
                _ => reserved.file.truncate(0)?,
            }
            reserved.file.reserve(ROOM)?;
            return Ok(reserved);
        }
        let create = || fs.create(&path, 0o600);
        let created = match create() {
            Err(error) if error.is_not_found() => fs.create_dir_all(&path.parent()).and_then(|()| create()),
            created => created,
        };
        let (file, is_spare) = match created {
            Ok(file) => (file, true),
            // It is of an attempt that was killed before it claimed the call, or of another that claims it now.
            Err(error) if error.is_exists() => (fs.open_append(&path)?, false),
            Err(error) => return Err(error),
        };
        let mut reserved = Reserved { file, fs, path, is_spare };
        reserved.file.reserve(ROOM)?;
        Ok(reserved)
    }

    /// Keeps the room from now on: the run is claimed.
    #[must_use]
    pub fn claimed(mut self) -> Reserved {
        self.is_spare = false;
        self
    }

    /// Records how the claimed run ended. If that fails, the outcome is kept, unless somebody else has ended the run.
    ///
    /// # Errors
    /// Says what could not be recorded, and what becomes of it.
    pub fn record(
        mut self,
        locked: Result<LockedQueue<'_>, QueueError>,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<Finished, Failure> {
        let receipt = &outcome.receipt;
        let recorded = locked.and_then(|mut locked| {
            let bad = |_| QueueError::Store("a receipt names no call and run".to_owned());
            let call: CallId = receipt.call_id().parse().map_err(bad)?;
            let run: RunId = receipt.id().parse().map_err(bad)?;
            let mut with = |stored: &[Checkpoint]| receipt.with_checkpoints(stored);
            locked.finish(&call, &run, outcome.checkpoints.clone(), &mut with, now)
        });
        match recorded {
            Ok(finished) => {
                give_back(&*self.fs, &self.path);
                Ok(finished)
            }
            Err(error) => {
                let is_ours = !matches!(error, QueueError::NotThisRun { .. });
                let kept = match is_ours.then(|| self.keep(&outcome)) {
                    None => Kept::Nothing,
                    Some(Ok(())) => Kept::Outcome,
                    Some(Err(_)) => Kept::Here,
                };
                let error = unrecorded(error.into(), &outcome.receipt, kept);
                if kept == Kept::Here
                    && let Ok(run) = outcome.receipt.id().parse()
                {
                    unwritten().insert((self.fs.root().to_owned(), run), outcome);
                }
                Err(error)
            }
        }
    }

    /// Keeps the outcome until it is recorded. If there is no room for all of it, its lists are left out, and the
    /// arguments, which its call has.
    fn keep(&mut self, outcome: &Outcome) -> Result<(), FsError> {
        if 0 < self.file.length()? {
            self.file.truncate(0)?;
        }
        let mut bytes = outcome.to_bytes();
        if ROOM < bytes.len() as u64 && self.file.reserve(bytes.len() as u64).is_err() {
            bytes = outcome.without_lists().to_bytes();
        }
        if let Err(error) = self.file.write(&bytes).and_then(|()| self.file.sync()) {
            let _ = self.file.truncate(0);
            return Err(error);
        }
        // The name was not synced when it was made. It may have been removed since.
        let _ = self.fs.sync_dir(&self.path.parent());
        match self.fs.read(&self.path, bytes.len() as u64)? == bytes {
            true => Ok(()),
            false => Err(FsError::new("read", self.path.as_str(), FsErrorKind::NotFound)),
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.is_spare {
            give_back(&*self.fs, &self.path);
        }
    }
}

/// Makes the empty file of a run a spare one. There are sixteen at most.
fn give_back(fs: &dyn Fs, path: &RelPath) {
    let digit = run_of(path).and_then(|run| run.chars().next_back()).unwrap_or('0');
    let spare = folder().join(&format!("spare-{digit}"));
    if !spare.is_ok_and(|spare| fs.rename(path, &spare).is_ok()) {
        // The next run tries again.
        let _ = fs.remove(path);
    }
}

/// Lists the files of runs that are recorded or never started. One that holds an outcome which is not recorded stays.
pub fn left_outcomes(fs: &dyn Fs, now: Timestamp, is_running: &dyn Fn(&str) -> bool) -> Vec<RelPath> {
    let is_old = |path: &RelPath| {
        fs.link_metadata(path).is_ok_and(|found| found.len == 0 && STARTS_WITHIN < now.since(found.modified))
    };
    files(fs)
        .filter(|path| !run_of(path).is_some_and(is_running) && (is_over(fs, path) || is_old(path)))
        .collect()
}

/// Lists the files of all runs.
fn files(fs: &dyn Fs) -> impl Iterator<Item = RelPath> {
    let folder = folder();
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
    let receipt = format!("{RUNS}/{}", path.name()).parse();
    receipt.is_ok_and(|receipt| fs.exists(&receipt).unwrap_or(false))
}

fn folder() -> RelPath {
    RelPath::composed(&format!("{TOOLS}/outcomes"))
}

/// Returns the path of a run's file. The run id may come from another program.
fn path(run: &str) -> Option<RelPath> {
    folder().join(&format!("{run}.json")).ok()
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
        let receipt = Receipt::new("run-1", "call-1", RunStatus::Completed);
        let outcome = Outcome { receipt, checkpoints: vec![checkpoint.clone()] };
        let expect = Json::object([
            ("checkpoints", Json::Array(vec![Json::Object(checkpoint.to_document())])),
            ("receipt", Json::Object(outcome.receipt.to_members())),
            ("schema", Json::from("brigade.outcome.v1")),
        ]);
        let bytes = outcome.to_bytes();
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), expect.to_pretty());
        assert_eq!(Outcome::from_bytes(&bytes), Some(outcome));
        for damaged in ["", "[]", "{}", r#"{"receipt": {}}"#, r#"{"receipt": {}, "checkpoints": [{}]}"#] {
            assert_eq!(Outcome::from_bytes(damaged.as_bytes()), None, "{damaged}");
        }
    }
}
