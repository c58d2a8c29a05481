//! Checkpoints: one file each. The record of the call is authoritative.
//!
//! An answer changes a checkpoint and its call together. The record of the call contains its checkpoints, so one line
//! of the journal changes both. The file is a copy that is written afterwards. A file that its call's record does not
//! name is ignored, because a crash left it. A crash can also leave a file one change older than the record; that is
//! accepted. Any other difference means that the file was edited, and its call cannot be resumed until the file is
//! rewritten.

use std::collections::{BTreeSet, HashMap};

use brigade_call::{CallStatus, Checkpoint, CheckpointStatus, RecordVersion};
use brigade_core::json::pretty_text;
use brigade_core::text::escape_terminal;
use brigade_core::{CallId, Dialect, Json, Object, RunId};
use brigade_fs::{FileMode, Fs, FsError, FsErrorKind, RelPath, read_many};
use brigade_journal::{State, set_file_aside};

use super::{layout, snapshot};
use crate::error::QueueError;
use crate::queue::checkpoint_of;
use crate::store::{BadCheckpoint, CheckpointList, StoredCall, StoredCheckpoint};

/// The maximum size of a checkpoint file, in bytes.
const CHECKPOINT_LIMIT: u64 = 16 * 1024 * 1024;

/// Reads a checkpoint's document.
fn parse(bytes: Result<Vec<u8>, FsError>) -> Result<Checkpoint, String> {
    let bytes = bytes.map_err(|error| error.kind.to_string())?;
    let json = Json::parse_bytes(&bytes, Dialect::Lenient).map_err(|error| error.to_string())?;
    Checkpoint::from_document(json).map_err(|error| error.to_string())
}

fn files(fs: &dyn Fs) -> Result<Vec<RelPath>, FsError> {
    let entries = match fs.list_dir(&layout::checkpoints()) {
        Ok(entries) => entries,
        // A path that is not a directory is damage and reported as such.
        Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotADirectory => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let names = entries.iter().map(|entry| &entry.name);
    Ok(names
        .filter(|name| name.ends_with(".json") && !name.starts_with('.'))
        .filter_map(|name| layout::checkpoints().join(name).ok())
        .collect())
}

/// A file in the directory of checkpoints, with its content or the problem.
type CheckpointFile = (RelPath, Result<Checkpoint, String>);

/// Reads all files, including those that no record names.
pub(crate) fn read_all(fs: &dyn Fs) -> Result<Vec<CheckpointFile>, FsError> {
    let paths = files(fs)?;
    let read = read_many(fs, &paths, CHECKPOINT_LIMIT, |_, bytes| parse(bytes));
    Ok(paths.into_iter().zip(read).collect())
}

/// Returns the checkpoint as stored in its call's record, or `None` if the record does not know it.
fn as_recorded(file: Checkpoint, call: Option<&StoredCall>) -> Option<Checkpoint> {
    let Some(call) = call else { return Some(file) };
    if let Some(recorded) = call.checkpoints.get(file.id.as_str()) {
        return Some(Checkpoint::from_document(recorded.clone()).unwrap_or(file));
    }
    let is_known = call.version != RecordVersion::Current || call.call.checkpoint_ids.contains(&file.id);
    is_known.then_some(file)
}

/// Lists the members in which a file differs from the record, unless the file is only one change older.
fn differences(file: &Checkpoint, recorded: &Checkpoint) -> Vec<String> {
    let file = members(file);
    let now = members(recorded);
    if file == now || earlier(recorded).iter().any(|earlier| members(earlier) == file) {
        return Vec::new();
    }
    let keys: BTreeSet<&String> = file.keys().chain(now.keys()).collect();
    let differs = keys.into_iter().filter(|key| file.get(*key) != now.get(*key));
    differs.map(|key| escape_terminal(key).into_owned()).collect()
}

/// Returns the members of a checkpoint that are not null.
fn members(checkpoint: &Checkpoint) -> Object {
    checkpoint.to_document().into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// Lists the earlier states of a checkpoint, in which a crash may have left its file.
fn earlier(recorded: &Checkpoint) -> Vec<Checkpoint> {
    let with = |status| {
        let mut earlier = recorded.clone();
        earlier.status = status;
        earlier
    };
    let mut approved = with(CheckpointStatus::Approved);
    approved.resume_run_id = None;
    let mut pending = approved.clone();
    pending.status = CheckpointStatus::Pending;
    pending.selected_choice = None;
    pending.reviewed_at = None;
    pending.review_reason = None;
    match recorded.status {
        CheckpointStatus::Pending | CheckpointStatus::Other(_) => Vec::new(),
        CheckpointStatus::Approved | CheckpointStatus::Rejected => vec![pending],
        CheckpointStatus::Resumed => vec![pending, approved],
        CheckpointStatus::Failed => vec![pending, approved, with(CheckpointStatus::Resumed)],
    }
}

/// How often files that differ from the records are read again, because an answer may have been written in between.
const MAX_ATTEMPTS: usize = 3;

pub(crate) fn list(state: &State) -> Result<CheckpointList, QueueError> {
    let mut found = list_once(state)?;
    for _ in 1..MAX_ATTEMPTS {
        if !found.errors.iter().any(|bad| bad.is_recorded) {
            break;
        }
        found = list_once(&state.place().load()?)?;
    }
    Ok(found)
}

fn list_once(state: &State) -> Result<CheckpointList, QueueError> {
    let mut list = CheckpointList::default();
    let mut calls: HashMap<CallId, Option<StoredCall>> = HashMap::new();
    for (path, result) in read_all(&**state.place().fs())? {
        let place = path.to_string();
        match result {
            Err(problem) => list.errors.push(BadCheckpoint { place, problem, is_recorded: false }),
            Ok(file) => {
                if !calls.contains_key(&file.call_id) {
                    calls.insert(file.call_id.clone(), call_of(state, &file)?);
                }
                let call = calls.get(&file.call_id).and_then(Option::as_ref);
                if let Some(checkpoint) = as_recorded(file.clone(), call) {
                    let differs = differences(&file, &checkpoint);
                    if !differs.is_empty() {
                        let problem =
                            format!("it differs from the record of its call: {}", differs.join(", "));
                        list.errors.push(BadCheckpoint { place, problem, is_recorded: true });
                    }
                    let stored_id = layout::stored_id(&path);
                    list.checkpoints.push(StoredCheckpoint { checkpoint, stored_id, differs });
                }
            }
        }
    }
    for_waiting(state, &mut |call| add_recorded(&mut list, call))?;
    list.checkpoints.sort_by_key(|stored| std::cmp::Reverse(stored.checkpoint.created_at));
    Ok(list)
}

/// Calls `found` for calls that wait for an answer or can be resumed.
fn for_waiting(state: &State, found: &mut dyn FnMut(&StoredCall)) -> Result<(), QueueError> {
    for status in [CallStatus::Waiting, CallStatus::ResumePending] {
        snapshot::living(state, &status)?.iter().for_each(&mut *found);
    }
    Ok(())
}

/// Adds the checkpoints that exist only in a call's record, and reports the missing files.
fn add_recorded(list: &mut CheckpointList, call: &StoredCall) {
    for document in call.checkpoints.values() {
        let Some(checkpoint) = checkpoint_of(document) else { continue };
        let is_this = |stored: &StoredCheckpoint| stored.checkpoint.id == checkpoint.id;
        // A file with this name that belongs to another call, or to none, is not changed.
        let place = layout::checkpoint(&checkpoint.id).to_string();
        match list.checkpoints.iter_mut().find(|stored| is_this(stored)) {
            Some(stored) if stored.checkpoint.call_id == checkpoint.call_id => continue,
            Some(stored) => {
                let differs = vec!["call_id".to_owned()];
                *stored = StoredCheckpoint { differs, ..StoredCheckpoint::recorded(checkpoint) };
            }
            None => list.checkpoints.push(StoredCheckpoint::recorded(checkpoint)),
        }
        match list.errors.iter_mut().find(|bad| bad.place == place) {
            Some(bad) => bad.is_recorded = true,
            None => {
                let problem =
                    "it is in the record of its call, but its file is missing or invalid".to_owned();
                list.errors.push(BadCheckpoint { place, problem, is_recorded: true });
            }
        }
    }
}

/// Rewrites the checkpoint files that differ from the records of their calls, and returns how many. Files that cannot
/// be written are still reported.
pub(crate) fn restore(state: &State) -> Result<u64, QueueError> {
    let bad: Vec<String> =
        list(state)?.errors.into_iter().filter(|bad| bad.is_recorded).map(|bad| bad.place).collect();
    if bad.is_empty() {
        return Ok(0);
    }
    let fs = &**state.place().fs();
    fs.create_dir_all(&layout::checkpoints())?;
    let mut restored = 0;
    let mut write = |call: &StoredCall| {
        for document in call.checkpoints.values() {
            let Some(checkpoint) = checkpoint_of(document) else { continue };
            let path = layout::checkpoint(&checkpoint.id);
            let is_bad = bad.iter().any(|bad| *bad == path.to_string());
            if is_bad && write_anew(fs, &checkpoint).is_ok() {
                restored += 1;
            }
        }
    };
    for_waiting(state, &mut write)?;
    // Include finished calls if one of their files differs.
    for stored in list(state)?.checkpoints.into_iter().filter(|stored| !stored.differs.is_empty()) {
        if let Some(call) = call_of(state, &stored.checkpoint)? {
            write(&call);
        }
    }
    Ok(restored)
}

fn call_of(state: &State, checkpoint: &Checkpoint) -> Result<Option<StoredCall>, QueueError> {
    snapshot::stored(state, &checkpoint.call_id)
}

/// Lists the checkpoints that were added for a run, including those that no record knows.
pub(crate) fn added_for(fs: &dyn Fs, run: &RunId) -> Result<CheckpointList, FsError> {
    let read = read_all(fs)?.into_iter().filter_map(|(path, result)| Some((path, result.ok()?)));
    let of_run = read.filter(|(_, checkpoint)| checkpoint.run_id == run.as_str());
    let stored = of_run.map(|(path, checkpoint)| StoredCheckpoint {
        checkpoint,
        stored_id: layout::stored_id(&path),
        differs: Vec::new(),
    });
    Ok(CheckpointList { checkpoints: stored.collect(), errors: Vec::new() })
}

/// Formats a checkpoint file.
fn bytes(checkpoint: &Checkpoint) -> Vec<u8> {
    pretty_text(checkpoint).expect("a checkpoint is JSON").into_bytes()
}

/// Stores new checkpoints under unused ids.
pub(crate) fn create(fs: &dyn Fs, checkpoints: Vec<Checkpoint>) -> Result<Vec<StoredCheckpoint>, QueueError> {
    let mut stored = Vec::with_capacity(checkpoints.len());
    if !checkpoints.is_empty() {
        fs.create_dir_all(&layout::checkpoints())?;
    }
    for mut checkpoint in checkpoints {
        let wanted_id = checkpoint.id.as_str().to_owned();
        let mut number = 2;
        loop {
            let path = layout::checkpoint(&checkpoint.id);
            match fs.create_new_durable(&path, &bytes(&checkpoint)) {
                Ok(()) => {
                    stored.push(StoredCheckpoint::recorded(checkpoint));
                    break;
                }
                Err(error) if error.is_exists() => {
                    checkpoint.id = StoredCheckpoint::numbered(&wanted_id, number);
                    number += 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(stored)
}

/// Rewrites a checkpoint file from the record. A file that was edited is moved to a quarantine first.
fn write_anew(fs: &dyn Fs, checkpoint: &Checkpoint) -> Result<(), FsError> {
    let (path, bytes) = (layout::checkpoint(&checkpoint.id), bytes(checkpoint));
    let found = fs.read(&path, CHECKPOINT_LIMIT);
    if matches!(&found, Ok(existing) if *existing == bytes) {
        return Ok(());
    }
    let is_missing = found.as_ref().is_err_and(FsError::is_not_found);
    if !is_missing {
        let is_behind = parse(found).is_ok_and(|found| differences(&found, checkpoint).is_empty());
        if !is_behind {
            set_file_aside(fs, &path)?;
        }
    }
    fs.create_dir_all(&layout::checkpoints())?;
    fs.write_atomic(&path, &bytes, FileMode::Private)
}

/// Writes the checkpoint files of a call, after its record is durable.
pub(crate) fn copy_out(fs: &dyn Fs, call: &StoredCall) -> Result<(), FsError> {
    for document in call.checkpoints.values() {
        let Some(checkpoint) = checkpoint_of(document) else { continue };
        write_anew(fs, &checkpoint)?;
    }
    Ok(())
}
