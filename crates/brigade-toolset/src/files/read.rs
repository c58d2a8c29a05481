//! Reads files and directories.

use brigade_access::builtin::PathUse;
use brigade_core::{ErrorCode, Fingerprint, FingerprintStream, Json};
use brigade_fs::FileKind;
use serde::{Deserialize, Serialize};

use super::ByteBudget;
use super::ignored::UnreadPath;
use super::place::{failed, place, root};
use crate::context::{Context, Failure, Output};
use crate::run::arguments;

/// The length of the beginning that shows whether a file is binary.
const HEAD: usize = 8 << 10;

/// The result of `fs.read`.
#[derive(Serialize)]
struct ReadResult<'a> {
    status: &'static str,
    path: &'a str,
    size_bytes: u64,
    is_binary: bool,
    truncated: bool,
    sha256: Fingerprint,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

#[derive(Deserialize)]
struct ReadArgs {
    path: String,
    offset: u64,
    limit: u64,
}

/// Collects lines of a file that is read in chunks.
struct Lines {
    /// Lines still to skip.
    before: u64,
    /// Lines still to take.
    left: u64,
    /// The remaining space.
    budget: ByteBudget,
    /// Whole lines taken so far.
    taken: u64,
    text: Vec<u8>,
    is_cut: bool,
    at_line_start: bool,
}

impl Lines {
    fn take(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let ends = part.last() == Some(&b'\n');
            if 0 < self.before {
                self.before -= u64::from(ends);
                continue;
            }
            if self.left == 0 || self.is_cut {
                self.is_cut = true;
                return;
            }
            let (fitting, cost) = self.budget.fitting(part);
            if fitting < part.len() {
                // A line is cut only if it alone does not fit. Otherwise it begins the next part.
                if self.text.is_empty() || !self.at_line_start {
                    self.text.extend_from_slice(&part[..fitting]);
                    self.taken += 1;
                }
                (self.budget, self.is_cut) = (ByteBudget(0), true);
                return;
            }
            self.text.extend_from_slice(part);
            self.budget.0 -= cost;
            self.at_line_start = ends;
            self.taken += u64::from(ends);
            self.left -= u64::from(ends);
        }
    }
}

/// `fs.read`
pub(super) fn read(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: ReadArgs = arguments(input)?;
    let place = place(context, &args.path, PathUse::Read)?;
    if place.path.is_root() {
        return Err(Failure::new(ErrorCode::NotAFile, "the path is the workspace itself"));
    }
    let error = |error| failed(&place.shown, &error);
    let folder = place.folder(context)?;
    let mut file = folder.open(place.path.name()).map_err(error)?;
    let mut sha256 = FingerprintStream::new();
    let budget = ByteBudget::new(context);
    let mut lines = Lines {
        before: args.offset,
        left: args.limit,
        // Read further, to find a secret that extends beyond the end.
        budget: ByteBudget(budget.0.saturating_add(context.redactor.holds_back())),
        taken: 0,
        text: Vec::new(),
        is_cut: false,
        at_line_start: true,
    };
    let (mut size, mut is_binary) = (0_u64, false);
    context.each(&mut file, &place.shown, |piece| {
        sha256.update(piece);
        let head = HEAD.saturating_sub(usize::try_from(size).unwrap_or(usize::MAX)).min(piece.len());
        is_binary |= memchr::memchr(0, &piece[..head]).is_some();
        size += piece.len() as u64;
        if !is_binary {
            lines.take(piece);
        }
    })?;
    let sha256 = sha256.finish();
    context.touch(&place.path, Some(sha256), Some(sha256));
    let mut text = std::mem::take(&mut lines.text);
    if lines.is_cut
        && let Err(error) = std::str::from_utf8(&text)
        && error.error_len().is_none()
    {
        // The cut was within a character.
        text.truncate(error.valid_up_to());
    }
    let mut text = if is_binary { None } else { String::from_utf8(text).ok() };
    let most = text.as_ref().map_or(0, |text| budget.fitting(text.as_bytes()).0);
    if let Some(text) = text.as_mut().filter(|text| most < text.len()) {
        // Keep whole lines, unless the first one does not fit.
        let end = memchr::memrchr(b'\n', &text.as_bytes()[..most]).map_or(most, |at| at + 1);
        lines.taken = memchr::memchr_iter(b'\n', &text.as_bytes()[..end]).count() as u64;
        lines.is_cut = context.redactor.cut(text, end);
    }
    let is_truncated = text.is_some() && lines.is_cut;
    let next = args.offset + lines.taken.max(1);
    // Only a line that alone does not fit is cut.
    let is_in_line = is_truncated && text.as_ref().is_some_and(|text| !text.ends_with('\n'));
    let output = Output::from_result(&ReadResult {
        status: "success",
        path: &place.shown,
        size_bytes: size,
        is_binary: text.is_none(),
        truncated: is_truncated,
        sha256,
        next_offset: is_truncated.then_some(next),
        content: text.as_deref(),
    });
    Ok(match text {
        None => output.text(format!("`{}` is binary, with {size} bytes", place.shown)),
        Some(text) => {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            let what = match is_in_line {
                true => format!("line {next} does not fit, and its rest is left out,  "),
                false => "cut, ".to_owned(),
            };
            let note = format!("{end}[{what}of {size} bytes; `fs.read` with offset {next} reads on]");
            let note = if is_truncated { note } else { String::new() };
            output.text(text + &note)
        }
    })
}

/// The result of `fs.list`.
#[derive(Serialize)]
struct ListResult {
    status: &'static str,
    path: String,
    entries: Vec<Entry>,
    total: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<UnreadPath>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    file_type: &'static str,
}

#[derive(Deserialize)]
struct ListArgs {
    path: String,
    offset: usize,
    limit: usize,
}

/// `fs.list`
pub(super) fn list(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: ListArgs = arguments(input)?;
    let place = place(context, &args.path, PathUse::Search)?;
    let folder = root(context)?.beneath(&place.path).map_err(|error| failed(&place.shown, &error))?;
    let entries = folder.entries().map_err(|error| failed(&place.shown, &error))?;
    let total = entries.len();
    let mut unread = Vec::new();
    let mut row = |(name, kind): &(std::ffi::OsString, FileKind)| {
        let Some(name) = name.to_str() else {
            unread.push(UnreadPath::not_utf8(&name.to_string_lossy()));
            return None;
        };
        let kind = match kind {
            FileKind::File => "file",
            FileKind::Directory => "directory",
            FileKind::Link => "symlink",
            FileKind::Other => "other",
        };
        Some(Entry { name: name.to_owned(), file_type: kind })
    };
    let (mut budget, mut rows, mut next) = (ByteBudget::new(context), Vec::new(), args.offset);
    for entry in entries.iter().skip(args.offset).take(args.limit) {
        if let Some(row) = row(entry) {
            if !budget.take(&row) && !rows.is_empty() {
                break;
            }
            rows.push(row);
        }
        next += 1;
    }
    Ok(Output::from_result(&ListResult {
        status: "success",
        path: place.shown,
        entries: rows,
        total,
        truncated: next < total,
        next_offset: (next < total).then_some(next),
        unread: UnreadPath::shown(&unread, &mut budget),
    }))
}
