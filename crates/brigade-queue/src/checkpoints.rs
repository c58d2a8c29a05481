//! Checkpoints: one file each, with the call's record as the truth.
//!
//! An answer changes a checkpoint and its call together. The call's record carries its checkpoints, so one line of the
//! journal changes both; the file is a copy that is written afterwards. A file that a crash left behind before its
//! call's record named it does not count.

use std::collections::HashMap;

use brigade_call::{Checkpoint, RecordVersion};
use brigade_core::{CallId, Dialect, IdPrefix, Json};
use brigade_fs::{FileMode, Fs, FsError, FsErrorKind, RelPath, read_many};

use crate::error::QueueError;
use crate::queue::{CANDIDATES, Match};
use crate::record::StoredCall;
use crate::{layout, view::View};

/// The longest checkpoint file that is read, in bytes.
const CHECKPOINT_LIMIT: u64 = 16 * 1024 * 1024;

/// A checkpoint as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Its file, relative to the workspace.
    pub path: String,
}

/// A checkpoint's file that cannot be read as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCheckpoint {
    /// The file, relative to the workspace.
    pub path: String,
    /// What is wrong, with the place and without quoting.
    pub problem: String,
}

/// Checkpoints, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckpointList {
    /// Those that can be read.
    pub checkpoints: Vec<StoredCheckpoint>,
    /// Those that cannot.
    pub errors: Vec<BadCheckpoint>,
}

/// Reads a checkpoint's document.
fn parse(bytes: Result<Vec<u8>, FsError>) -> Result<Checkpoint, String> {
    let bytes = bytes.map_err(|error| error.kind.to_string())?;
    let json = Json::parse_bytes(&bytes, Dialect::Lenient).map_err(|error| error.to_string())?;
    Checkpoint::from_document(json).map_err(|error| error.to_string())
}

fn files(fs: &dyn Fs) -> Result<Vec<RelPath>, FsError> {
    let entries = match fs.list_dir(&layout::checkpoints()) {
        Ok(entries) => entries,
        // That it is no folder is damage, and is said there.
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

/// A file in the folder of checkpoints, and what it holds or why not.
type CheckpointFile = (RelPath, Result<Checkpoint, String>);

/// Reads all files that are there, whether or not they count.
pub(crate) fn read_all(fs: &dyn Fs) -> Result<Vec<CheckpointFile>, FsError> {
    let paths = files(fs)?;
    let read = read_many(fs, &paths, CHECKPOINT_LIMIT, |_, bytes| parse(bytes));
    Ok(paths.into_iter().zip(read).collect())
}

/// Returns the checkpoint as its call's record has it; none when the record does not know it.
fn as_recorded(file: Checkpoint, call: Option<&StoredCall>) -> Option<Checkpoint> {
    let Some(call) = call else { return Some(file) };
    if let Some(recorded) = call.checkpoints.get(file.id.as_str()) {
        return Some(Checkpoint::from_document(recorded.clone()).unwrap_or(file));
    }
    let is_known = call.version != RecordVersion::Current || call.call.checkpoint_ids.contains(&file.id);
    is_known.then_some(file)
}

pub(crate) fn list(view: &View) -> Result<CheckpointList, QueueError> {
    let mut list = CheckpointList::default();
    let mut calls: HashMap<String, Option<StoredCall>> = HashMap::new();
    for (path, result) in read_all(&*view.fs)? {
        let path = path.to_string();
        match result {
            Err(problem) => list.errors.push(BadCheckpoint { path, problem }),
            Ok(file) => {
                if !calls.contains_key(&file.call_id) {
                    calls.insert(file.call_id.clone(), call_of(view, &file)?);
                }
                let call = calls.get(&file.call_id).and_then(Option::as_ref);
                if let Some(checkpoint) = as_recorded(file, call) {
                    list.checkpoints.push(StoredCheckpoint { checkpoint, path });
                }
            }
        }
    }
    list.checkpoints.sort_by_key(|stored| std::cmp::Reverse(stored.checkpoint.created_at));
    Ok(list)
}

fn call_of(view: &View, checkpoint: &Checkpoint) -> Result<Option<StoredCall>, QueueError> {
    match checkpoint.call_id.parse::<CallId>() {
        Ok(id) => Ok(view.stored(&id)?.map(|stored| view.as_it_stands(stored))),
        Err(_) => Ok(None),
    }
}

pub(crate) fn find(view: &View, prefix: &IdPrefix) -> Result<Match<StoredCheckpoint>, QueueError> {
    let text = prefix.as_str();
    if text.is_empty() {
        return Ok(Match::None);
    }
    let list = list(view)?;
    let with_prefix = |stored: &&StoredCheckpoint| stored.checkpoint.id.as_str().starts_with(text);
    let mut found: Vec<&StoredCheckpoint> = list.checkpoints.iter().filter(with_prefix).collect();
    if let Some(exact) = found.iter().find(|stored| stored.checkpoint.id.as_str() == text) {
        return Ok(Match::One((*exact).clone()));
    }
    found.sort_by(|left, right| left.checkpoint.id.cmp(&right.checkpoint.id));
    Ok(match found.as_slice() {
        [] => Match::None,
        [one] => Match::One((*one).clone()),
        many => {
            let ids = many.iter().take(CANDIDATES).map(|stored| stored.checkpoint.id.to_string());
            Match::Ambiguous(ids.collect())
        }
    })
}

/// The bytes of a checkpoint's file.
fn bytes(checkpoint: &Checkpoint) -> Vec<u8> {
    Json::Object(checkpoint.to_document()).to_pretty().into_bytes()
}

/// Stores new checkpoints under ids that are free.
pub(crate) fn create(fs: &dyn Fs, checkpoints: Vec<Checkpoint>) -> Result<Vec<StoredCheckpoint>, QueueError> {
    let mut stored = Vec::with_capacity(checkpoints.len());
    if !checkpoints.is_empty() {
        fs.create_dir_all(&layout::checkpoints())?;
    }
    for mut checkpoint in checkpoints {
        let wanted = checkpoint.id.as_str().to_owned();
        let mut number = 2;
        loop {
            let path = layout::checkpoint(&checkpoint.id);
            match fs.create_new_durable(&path, &bytes(&checkpoint)) {
                Ok(()) => {
                    stored.push(StoredCheckpoint { checkpoint, path: path.to_string() });
                    break;
                }
                Err(error) if error.is_exists() => {
                    // An id may be so long that a suffix does not fit; then its end makes room.
                    let suffix = format!("-{number}");
                    let room = 200 - suffix.len();
                    let stem = &wanted[..wanted.len().min(room)];
                    checkpoint.id = format!("{stem}{suffix}").parse().expect("an id with a suffix is an id");
                    number += 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(stored)
}

/// Writes the files of the checkpoints that a call's record carries, after the record is durable.
pub(crate) fn copy_out(fs: &dyn Fs, call: &StoredCall) -> Result<(), FsError> {
    for document in call.checkpoints.values() {
        let Ok(checkpoint) = Checkpoint::from_document(document.clone()) else { continue };
        let (path, bytes) = (layout::checkpoint(&checkpoint.id), bytes(&checkpoint));
        if !matches!(fs.read(&path, CHECKPOINT_LIMIT), Ok(existing) if existing == bytes) {
            fs.create_dir_all(&layout::checkpoints())?;
            fs.write_atomic(&path, &bytes, FileMode::Private)?;
        }
    }
    Ok(())
}
