//! Files of the workspace: `fs.*`, and files of web applications: `frontend.*`.
//!
//! A path is checked three times: its text when the call is planned, the targets of its links when the call runs, and
//! each directory on the path when it is opened. Opening follows no links, so the opened file is the checked one.

mod change;
mod frontend;
mod ignored;
mod place;
mod read;
mod search;
#[cfg(test)]
mod tests;

use brigade_access::builtin::PathUse;
use brigade_core::json::to_json;
use brigade_core::{ErrorCode, Fingerprint};
use brigade_fs::FileKind;
use serde::Serialize;

use crate::context::{Context, Failure};
use crate::run::Function;
use ignored::{FileWalk, WalkControl};
use place::{failed, place, root};

pub(crate) use change::{add_deleted_files, locked};

/// The functions of this family.
pub(crate) const FUNCTIONS: &[(&str, Function)] = &[
    ("frontend.entries", frontend::entries),
    ("frontend.pages", frontend::pages),
    ("frontend.routes", frontend::routes),
    ("frontend.summary", frontend::summary),
    ("fs.create_dir", change::create_dir),
    ("fs.delete", change::delete),
    ("fs.edit", change::edit),
    ("fs.glob", search::glob),
    ("fs.grep", search::grep),
    ("fs.list", read::list),
    ("fs.multi_edit", change::multi_edit),
    ("fs.read", read::read),
    ("fs.write", change::write),
];

/// Space for everything in a result other than its rows or text, in bytes.
const ASIDE: usize = 1 << 10;

/// The remaining space for the rows or the text of a result, as JSON. The gateway limits the total size.
#[derive(Clone, Copy)]
struct ByteBudget(usize);

impl ByteBudget {
    fn new(context: &Context<'_>) -> ByteBudget {
        let most = usize::try_from(context.max_bytes).unwrap_or(usize::MAX);
        ByteBudget(most - ASIDE.min(most / 2))
    }

    /// Reserves space for a row. Returns false if there is not enough.
    fn take(&mut self, row: &impl Serialize) -> bool {
        let size = to_json(row).expect("a row is JSON").to_compact().len() + 1;
        let left = self.0.checked_sub(size);
        self.0 = left.unwrap_or_default();
        left.is_some()
    }

    /// Returns how many bytes of a text fit, and how much space they take.
    fn fitting(self, bytes: &[u8]) -> (usize, usize) {
        let cost = |byte: u8| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            0..0x20 => 6,
            _ => 1,
        };
        let all = bytes.iter().map(|byte| cost(*byte)).sum();
        if all <= self.0 {
            return (bytes.len(), all);
        }
        let mut taken = 0;
        let fitting = bytes.iter().take_while(|byte| {
            let with = taken + cost(**byte);
            let fits = with <= self.0;
            taken = if fits { with } else { taken };
            fits
        });
        (fitting.count(), taken)
    }
}

/// The maximum depth of directories to search or remove. A greater depth could overflow the stack.
const MAX_DEPTH: usize = 200;

/// The maximum size of a searched document, in bytes.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// The maximum total size of searched documents, in bytes.
const ALL_TEXTS: usize = 64 << 20;

/// The documents below a directory.
pub(crate) struct Texts {
    /// Their workspace paths and contents.
    pub(crate) texts: Vec<(String, String)>,
    /// Whether all documents are included. Binary and large files do not count.
    pub(crate) is_all: bool,
}

/// Reads the documents below a directory. Leaves out ignored, protected and binary files.
pub(crate) fn texts_beneath(context: &Context<'_>, folder: &str) -> Result<Texts, Failure> {
    let place = place(context, folder, PathUse::Search)?;
    let beneath = root(context)?.beneath(&place.path).map_err(|error| failed(&place.shown, &error))?;
    let mut walk = FileWalk::new(context, &place.path)?;
    let (mut texts, mut left) = (Vec::new(), ALL_TEXTS);
    let go = walk.files(&beneath, &mut |_, folder, path| {
        let read = folder.open(path.name()).and_then(|mut file| file.rest(MAX_TEXT_BYTES));
        let text = read.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(text) = text.filter(|text| !text.contains('\0')) {
            if left < text.len() {
                return Ok(WalkControl::End);
            }
            left -= text.len();
            texts.push((path.to_string(), text));
        }
        Ok(WalkControl::On)
    })?;
    Ok(Texts { texts, is_all: matches!(go, WalkControl::On) })
}

/// The content at a path of the workspace.
pub(crate) enum PathContent {
    /// A file: its path without links, and its sha256.
    File(String, Fingerprint),
    /// A file over the limit. It was not read.
    LargeFile,
    /// A directory.
    Directory,
    /// Anything else, or the root.
    Nothing,
}

/// Returns the content at a readable path of the workspace. Hashes a file up to a limit.
pub(crate) fn look_at(context: &Context<'_>, path: &str, limit: u64) -> Result<PathContent, Failure> {
    let place = place(context, path, PathUse::Read)?;
    if place.path.is_root() {
        return Ok(PathContent::Nothing);
    }
    [place.shown.as_str(), place.path.as_str()]
        .iter()
        .try_for_each(|path| context.limits()?.check_path(path).map_err(Failure::from))?;
    let folder = place.folder(context)?;
    match place.look(&folder)?.map(|look| (look.kind, look.len)) {
        Some((FileKind::File, len)) if limit < len => return Ok(PathContent::LargeFile),
        Some((FileKind::File, _)) => {}
        Some((FileKind::Directory, _)) => return Ok(PathContent::Directory),
        Some((FileKind::Link | FileKind::Other, _)) | None => return Ok(PathContent::Nothing),
    }
    let unreadable =
        || Failure::new(ErrorCode::Unreadable, format!("`{}` is there and cannot be read", place.shown));
    let mut file = folder.open(place.path.name()).map_err(|_| unreadable())?;
    let hash = context.sha256(&mut file, &place.shown)?;
    Ok(PathContent::File(place.path.to_string(), hash))
}

/// Reads a whole file of the workspace, up to a limit. Also returns its path for results.
pub(crate) fn read_whole(
    context: &Context<'_>,
    path: &str,
    limit: u64,
) -> Result<(String, Vec<u8>), Failure> {
    let place = place(context, path, PathUse::Read)?;
    let error = |error| failed(&place.shown, &error);
    let folder = place.folder(context)?;
    if place.look(&folder)?.is_some_and(|look| look.kind == FileKind::Directory) {
        return Err(Failure::new(ErrorCode::NotAFile, format!("`{}` is not a regular file", place.shown)));
    }
    let mut file = folder.open(place.path.name()).map_err(error)?;
    let (mut bytes, mut is_over) = (Vec::new(), false);
    file.each(|piece| {
        is_over |= limit < (bytes.len() + piece.len()) as u64;
        if !is_over {
            bytes.extend_from_slice(piece);
        }
        !is_over
    })
    .map_err(error)?;
    if is_over {
        let message = format!("`{}` is larger than {limit} bytes", place.shown);
        return Err(Failure::new(ErrorCode::FileTooLarge, message));
    }
    Ok((place.path.to_string(), bytes))
}
