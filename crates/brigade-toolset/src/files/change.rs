//! Writes, edits and deletes files.

use std::time::Duration;

use brigade_access::builtin::{PathProblem, PathUse};
use brigade_access::lane_lock;
use brigade_core::json::from_json;
use brigade_core::{ErrorCode, Fingerprint, Json};
use brigade_exec::ClosedPlaces;
use brigade_fs::{EntryMetadata, FileKind, Folder, FsError, FsErrorKind, Lock, RelPath, in_directory};
use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::MAX_DEPTH;
use super::place::{Place, check_seen, failed, place, root};
use crate::context::{Context, Failure, Output};
use crate::references::ArgumentReferences;
use crate::run::arguments;

/// The maximum size of a file before and after an edit.
const MAX_EDIT_BYTES: u64 = 64 << 20;

/// The maximum number of entries of a deleted directory.
const MAX_DELETED_ENTRIES: usize = 10_000;

/// The lock for changing files of the workspace. Each lane has a separate lock.
const LOCK: &str = ".brigade/tools/files.lock";

/// How long a call waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits for other calls that change files, so that the replaced file is the one that was read.
fn lock_workspace(context: &Context<'_>) -> Result<Lock, Failure> {
    let name = context.root.map_or_else(|| LOCK.to_owned(), lane_lock);
    locked(context, &name, "another call changes files; try again")
}

/// Takes a lock in Brigade's state and waits a limited time for it. `busy` is the message if another call holds it.
pub(crate) fn locked(context: &Context<'_>, name: &str, busy: &str) -> Result<Lock, Failure> {
    let path = RelPath::composed(name);
    let holder = format!("process {}", std::process::id());
    let lock = || context.fs.lock(&path, &holder, LOCK_TIMEOUT);
    in_directory(context.fs, &path.parent(), lock).map_err(|error| match error.kind {
        FsErrorKind::Locked { .. } => Failure::new(ErrorCode::Busy, busy),
        _ => failed(name, &error),
    })
}

/// What every change returns: the result of `fs.create_dir` and `fs.delete`.
#[derive(Serialize)]
struct ChangeResult {
    status: &'static str,
    path: String,
}

impl ChangeResult {
    fn new(shown: String) -> ChangeResult {
        ChangeResult { status: "success", path: shown }
    }
}

/// How often a text to replace occurs, and in which of several edits.
#[derive(Default, Deserialize, Serialize)]
struct Occurrences {
    #[serde(skip_serializing_if = "Option::is_none")]
    edit: Option<usize>,
    count: Option<usize>,
}

/// The result of `fs.write`.
#[derive(Serialize)]
struct WriteResult {
    #[serde(flatten)]
    changed: ChangeResult,
    bytes_written: usize,
}

/// The result of `fs.edit`.
#[derive(Serialize)]
struct EditResult {
    #[serde(flatten)]
    changed: ChangeResult,
    message: String,
    replacements: usize,
}

/// The result of `fs.multi_edit`.
#[derive(Serialize)]
struct MultiEditResult {
    #[serde(flatten)]
    changed: ChangeResult,
    applied: usize,
}

#[derive(Deserialize)]
struct WriteArgs {
    path: String,
    content: String,
    expected_sha256: Option<String>,
}

/// `fs.write`
pub(super) fn write(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: WriteArgs = arguments(input)?;
    let place = named(context, &args.path)?;
    if place.is_folder {
        return Err(Failure::new(ErrorCode::NotAFile, format!("`{}/` names a directory", place.shown)));
    }
    let _alone = lock_workspace(context)?;
    let folder =
        root(context)?.make_beneath(&place.path.parent()).map_err(|error| failed(&place.shown, &error))?;
    let old = place.old(&folder)?;
    let before = old.map(|_| sha256_of(context, &place, &folder)).transpose()?;
    check_seen(&place.shown, args.expected_sha256.as_deref(), before)?;
    store(context, &place, &folder, old.as_ref(), before, args.content.as_bytes())?;
    let changed = ChangeResult::new(place.shown);
    Ok(Output::from_result(&WriteResult { changed, bytes_written: args.content.len() }))
}

/// Resolves the path of a file to change. The root is refused.
fn named(context: &Context<'_>, path: &str) -> Result<Place, Failure> {
    let place = place(context, path, PathUse::Change)?;
    if place.path.is_root() {
        return Err(Failure::new(ErrorCode::NotAFile, "the path is the workspace itself"));
    }
    Ok(place)
}

fn sha256_of(context: &Context<'_>, place: &Place, folder: &Folder) -> Result<Fingerprint, Failure> {
    let mut file = folder.open(place.path.name()).map_err(|error| failed(&place.shown, &error))?;
    context.sha256(&mut file, &place.shown)
}

/// Replaces a file atomically, unless it changed since it was read.
fn store(
    context: &mut Context<'_>,
    place: &Place,
    folder: &Folder,
    old: Option<&EntryMetadata>,
    before: Option<Fingerprint>,
    bytes: &[u8],
) -> Result<(), Failure> {
    context.check_cancelled()?;
    folder.replace(place.path.name(), bytes, old).map_err(|error| failed(&place.shown, &error))?;
    context.touch(&place.path, before, Some(Fingerprint::of_bytes(bytes)));
    Ok(())
}

#[derive(Deserialize)]
struct PathArgs {
    path: String,
}

/// `fs.create_dir`
pub(super) fn create_dir(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: PathArgs = arguments(input)?;
    let place = place(context, &args.path, PathUse::Change)?;
    root(context)?.make_beneath(&place.path).map_err(|error| failed(&place.shown, &error))?;
    Ok(Output::from_result(&ChangeResult::new(place.shown)))
}

#[derive(Clone, Deserialize)]
struct Edit {
    target_content: String,
    replacement_content: String,
    #[serde(default)]
    replace_all: bool,
}

impl Edit {
    /// Replaces the target in `bytes`, unless the result would be too large. Returns the number of replacements.
    fn apply(
        &self,
        bytes: &mut Vec<u8>,
        may_become: &dyn Fn(u64) -> Result<(), Failure>,
    ) -> Result<usize, Failure> {
        let target = self.target_content.as_bytes();
        if target.is_empty() {
            return Err(Failure::new(ErrorCode::EmptyTarget, "the text to replace is empty"));
        }
        let places: Vec<usize> = memmem::find_iter(bytes, target).collect();
        // Overlapping occurrences are counted, too.
        let overlaps = |first: &usize| memmem::find(&bytes[first + 1..], target).is_some();
        let count = match places.as_slice() {
            [only] if overlaps(only) => 2,
            places => places.len(),
        };
        match count {
            0 => return Err(Failure::new(ErrorCode::TargetNotFound, "the text to replace does not occur")),
            1 => {}
            _ if self.replace_all => {}
            count => {
                let message =
                    format!("the text to replace occurs {count} times; include more of the surrounding text");
                let found = Occurrences { edit: None, count: Some(count) };
                return Err(Failure::new(ErrorCode::TargetNotUnique, message).data_of(&found));
            }
        }
        let length = self.length_of_result(bytes.len(), places.len());
        may_become(length.map_or(u64::MAX, |length| length as u64))?;
        let mut edited = Vec::with_capacity(length.unwrap_or_default());
        let mut from = 0;
        for place in &places {
            edited.extend_from_slice(&bytes[from..*place]);
            edited.extend_from_slice(self.replacement_content.as_bytes());
            from = place + target.len();
        }
        edited.extend_from_slice(&bytes[from..]);
        *bytes = edited;
        Ok(places.len())
    }

    /// Returns the length after so many replacements; `None` if it overflows.
    fn length_of_result(&self, length: usize, times: usize) -> Option<usize> {
        let left = length.checked_sub(self.target_content.len().checked_mul(times)?)?;
        left.checked_add(self.replacement_content.len().checked_mul(times)?)
    }
}

/// A file that is being edited.
struct FileEdit {
    place: Place,
    folder: Folder,
    old: EntryMetadata,
    before: Fingerprint,
    bytes: Vec<u8>,
    _alone: Lock,
}

impl FileEdit {
    fn begin(context: &Context<'_>, path: &str, expected: Option<&str>) -> Result<FileEdit, Failure> {
        let place = named(context, path)?;
        let alone = lock_workspace(context)?;
        let folder = place.folder(context)?;
        let missing = || Failure::new(ErrorCode::NotFound, format!("`{}` does not exist", place.shown));
        place.old(&folder)?.ok_or_else(missing)?;
        let mut file = folder.open(place.path.name()).map_err(|error| failed(&place.shown, &error))?;
        let old = file.look;
        let bytes = file.rest(MAX_EDIT_BYTES).map_err(|error| failed(&place.shown, &error))?;
        let before = Fingerprint::of_bytes(&bytes);
        check_seen(&place.shown, expected, Some(before))?;
        Ok(FileEdit { place, folder, old, before, bytes, _alone: alone })
    }

    /// Replaces one text in the file. Returns the number of replacements.
    fn apply(&mut self, context: &Context<'_>, edit: &Edit) -> Result<usize, Failure> {
        let FileEdit { place, old, bytes, .. } = self;
        let may_become = |length: u64| {
            if MAX_EDIT_BYTES < length {
                let error = FsErrorKind::TooLarge { limit: MAX_EDIT_BYTES };
                let mut failure = failed(&place.shown, &FsError::new("write", place.shown.as_str(), error));
                failure.message = format!("`{}` would be larger than {MAX_EDIT_BYTES} bytes", place.shown);
                return Err(failure);
            }
            // A file that is already too large may become smaller.
            if old.len < length {
                context.limits()?.check_bytes(&place.shown, length)?;
            }
            Ok(())
        };
        edit.apply(bytes, &may_become)
    }

    fn end(self, context: &mut Context<'_>) -> Result<String, Failure> {
        let FileEdit { place, folder, old, before, bytes, _alone } = self;
        store(context, &place, &folder, Some(&old), Some(before), &bytes)?;
        Ok(place.shown)
    }
}

#[derive(Deserialize)]
struct EditArgs {
    path: String,
    #[serde(flatten)]
    edit: Edit,
    expected_sha256: Option<String>,
}

/// `fs.edit`
pub(super) fn edit(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let EditArgs { path, edit, expected_sha256 } = arguments(input)?;
    let mut editing = FileEdit::begin(context, &path, expected_sha256.as_deref())?;
    let count = editing.apply(context, &edit)?;
    let changed = ChangeResult::new(editing.end(context)?);
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    Ok(Output::from_result(&EditResult {
        changed,
        message: format!("replaced {times}"),
        replacements: count,
    }))
}

#[derive(Deserialize)]
struct MultiEditArgs {
    path: String,
    edits: Vec<Edit>,
    expected_sha256: Option<String>,
}

/// `fs.multi_edit`
pub(super) fn multi_edit(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let MultiEditArgs { path, edits, expected_sha256 } = arguments(input)?;
    let mut editing = FileEdit::begin(context, &path, expected_sha256.as_deref())?;
    if edits.is_empty() {
        return Err(Failure::new(ErrorCode::EmptyTarget, "there are no edits"));
    }
    for (at, edit) in edits.iter().enumerate() {
        editing.apply(context, edit).map_err(|failure| {
            let message = format!("edit {}: {}; nothing was changed", at + 1, failure.message);
            let found = failure.data.as_ref().and_then(|data| from_json::<Occurrences>(data).ok());
            let found = Occurrences { edit: Some(at + 1), ..found.unwrap_or_default() };
            Failure { message, ..failure }.data_of(&found)
        })?;
    }
    let changed = ChangeResult::new(editing.end(context)?);
    Ok(Output::from_result(&MultiEditResult { changed, applied: edits.len() }))
}

#[derive(Deserialize)]
struct DeleteArgs {
    path: String,
    recursive: bool,
    expected_sha256: Option<String>,
}

/// `fs.delete`
pub(super) fn delete(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: DeleteArgs = arguments(input)?;
    let place = named(context, &args.path)?;
    let _alone = lock_workspace(context)?;
    let folder = place.folder(context)?;
    let name = place.path.name();
    let error = |error| failed(&place.shown, &error);
    let look = place.look(&folder)?;
    let look =
        look.ok_or_else(|| Failure::new(ErrorCode::NotFound, format!("`{}` does not exist", place.shown)))?;
    match look.kind {
        FileKind::Directory if args.expected_sha256.is_some() => {
            return Err(Failure::new(
                ErrorCode::NotAFile,
                format!("`{}` is a directory and has no sha256", place.shown),
            ));
        }
        FileKind::Directory if !args.recursive => {
            let message = format!("`{}` is a directory; set `recursive` to delete it", place.shown);
            return Err(Failure::new(ErrorCode::IsADirectory, message));
        }
        FileKind::Directory => {
            let inside = folder.folder(name).map_err(error)?;
            let mut found = 0;
            let places = context.closed_places(context.files.root());
            look_through(context, &places, &inside, &place.shown, &mut found, 0)?;
            context.check_cancelled()?;
            clear_directory(context, &inside, &place.shown, 0)?;
            folder.remove_folder(name).map_err(error)?;
        }
        FileKind::File => {
            let before = sha256_of(context, &place, &folder)?;
            check_seen(&place.shown, args.expected_sha256.as_deref(), Some(before))?;
            context.check_cancelled()?;
            folder.remove(name).map_err(error)?;
            context.touch(&place.path, Some(before), None);
        }
        FileKind::Link | FileKind::Other => {
            folder.remove(name).map_err(error)?;
            context.touch(&place.path, None, None);
        }
    }
    Ok(Output::from_result(&ChangeResult::new(place.shown)))
}

/// Adds the files that a call would delete, if it deletes a directory.
pub(crate) fn add_deleted_files(
    input: &Json,
    context: &Context<'_>,
    things: &mut ArgumentReferences,
) -> Result<(), Failure> {
    let args: DeleteArgs = arguments(input)?;
    let place = named(context, &args.path)?;
    let folder = place.folder(context)?;
    let is_folder = |look: EntryMetadata| look.kind == FileKind::Directory;
    if !args.recursive || !place.look(&folder)?.is_some_and(is_folder) {
        return Ok(());
    }
    let inside = folder.folder(place.path.name()).map_err(|error| failed(&place.shown, &error))?;
    let mut found = Vec::new();
    list(&inside, &place.shown, &mut found, 0)?;
    things.add_files(&format!("{} with", place.shown), found);
    Ok(())
}

/// Lists everything in a directory, with data that shows whether it changed.
fn list(
    folder: &Folder,
    shown: &str,
    found: &mut Vec<(String, String)>,
    depth: usize,
) -> Result<(), Failure> {
    let error = |error| failed(shown, &error);
    for (name, kind) in folder.entries().map_err(error)? {
        if MAX_DELETED_ENTRIES <= found.len() {
            // The call itself refuses it.
            return Ok(());
        }
        let path = child_path(folder, &name)?;
        if kind == FileKind::Directory {
            list(&open_child(folder, &path, shown, depth)?, shown, found, depth + 1)?;
        } else {
            found.push((path.to_string(), folder.look(path.name()).map_err(error)?.stamp()));
        }
    }
    Ok(())
}

/// Opens a subdirectory at this depth.
fn open_child(folder: &Folder, path: &RelPath, shown: &str, depth: usize) -> Result<Folder, Failure> {
    if MAX_DEPTH <= depth {
        let message = format!(
            "`{shown}` is nested more than {MAX_DEPTH} directories deep; delete the deepest ones first"
        );
        return Err(Failure::new(ErrorCode::TooManyFiles, message));
    }
    folder.folder(path.name()).map_err(|error| failed(shown, &error))
}

fn child_path(folder: &Folder, name: &std::ffi::OsStr) -> Result<RelPath, Failure> {
    let odd = || {
        Failure::new(ErrorCode::FileError, "a name in the directory is not UTF-8; a person must remove it")
    };
    let name = name.to_str().ok_or_else(odd)?;
    folder.path().join(name).map_err(|_| odd())
}

/// Refuses a directory that contains protected paths, before anything is removed.
fn look_through(
    context: &Context<'_>,
    places: &ClosedPlaces,
    folder: &Folder,
    shown: &str,
    found: &mut usize,
    depth: usize,
) -> Result<(), Failure> {
    for (name, kind) in folder.entries().map_err(|error| failed(shown, &error))? {
        *found += 1;
        if MAX_DELETED_ENTRIES < *found {
            return Err(Failure::new(
                ErrorCode::TooManyFiles,
                format!("`{shown}` holds more than {MAX_DELETED_ENTRIES} entries"),
            ));
        }
        let path = child_path(folder, &name)?;
        let closed = || places.closes(path.as_str()).map(PathProblem::Closed);
        if let Some(problem) = context.guards.refusal(path.as_str(), PathUse::Change).or_else(closed) {
            return Err(Failure::new(problem.code(), format!("`{path}`: {problem}")));
        }
        if kind == FileKind::Directory {
            let inside = open_child(folder, &path, shown, depth)?;
            look_through(context, places, &inside, shown, found, depth + 1)?;
        }
    }
    Ok(())
}

/// Removes everything in a directory. Links are removed, not followed.
fn clear_directory(
    context: &mut Context<'_>,
    folder: &Folder,
    shown: &str,
    depth: usize,
) -> Result<(), Failure> {
    let error = |error| failed(shown, &error);
    for (name, kind) in folder.entries().map_err(error)? {
        let path = child_path(folder, &name)?;
        match kind {
            FileKind::Directory => {
                clear_directory(context, &open_child(folder, &path, shown, depth)?, shown, depth + 1)?;
                folder.remove_folder(path.name()).map_err(error)?;
            }
            FileKind::File => {
                let mut file = folder.open(path.name()).map_err(error)?;
                let before = context.sha256(&mut file, shown)?;
                folder.remove(path.name()).map_err(error)?;
                context.touch(&path, Some(before), None);
            }
            FileKind::Link | FileKind::Other => {
                folder.remove(path.name()).map_err(error)?;
                context.touch(&path, None, None);
            }
        }
    }
    Ok(())
}
