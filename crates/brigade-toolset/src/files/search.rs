//! Searches file contents and file names.

use std::io;

use brigade_access::builtin::PathUse;
use brigade_core::{ErrorCode, Fingerprint, Json};
use brigade_fs::{FileKind, Folder, FsErrorKind, OpenFile, RelPath};
use brigade_redact::Redactor;
use globset::{GlobBuilder, GlobSet};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use serde::{Deserialize, Serialize};

use super::ByteBudget;
use super::ignored::{FileWalk, UnreadPath, WalkControl};
use super::place::{Place, failed, place, root};
use crate::context::{Context, Failure, Output};
use crate::run::arguments;

/// The maximum length of a line in a result, in bytes.
const MAX_LINE_BYTES: usize = 2000;

/// The maximum length of a searched line with its context, in bytes.
const MAX_READ_BYTES: usize = 32 << 20;

#[derive(Deserialize)]
struct GrepArgs {
    pattern: String,
    path: String,
    glob: Option<String>,
    context: usize,
    limit: usize,
}

/// A line that the pattern matches.
#[derive(Clone, Serialize)]
struct MatchedLine {
    path: String,
    line: u64,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
}

/// The result of `fs.grep` and `fs.glob`, whose matches are lines or paths.
#[derive(Serialize)]
struct Matches<M> {
    status: &'static str,
    count: usize,
    matches: Vec<M>,
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<UnreadPath>,
}

impl<M: Serialize> Matches<M> {
    fn output(matches: Vec<M>, truncated: bool, unread: &[UnreadPath], budget: &mut ByteBudget) -> Output {
        let (count, unread) = (matches.len(), UnreadPath::shown(unread, budget));
        Output::from_result(&Matches { status: "success", count, matches, truncated, unread })
    }
}

/// Collects the matching lines of one file.
struct LineCollector<'f> {
    path: &'f str,
    found: &'f mut Vec<MatchedLine>,
    redactor: &'f Redactor,
    limit: usize,
    /// Context lines before the next match.
    before: Vec<String>,
    /// Whether the space is used up.
    is_full: bool,
}

fn line_of(bytes: &[u8], redactor: &Redactor) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut text = text.trim_end_matches(['\n', '\r']).to_owned();
    if redactor.cut(&mut text, MAX_LINE_BYTES) {
        text.push('…');
    }
    text
}

impl Sink for LineCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.limit <= self.found.len() {
            self.is_full = true;
            return Ok(false);
        }
        self.found.push(MatchedLine {
            path: self.path.to_owned(),
            line: matched.line_number().unwrap_or_default(),
            content: line_of(matched.bytes(), self.redactor),
            before: std::mem::take(&mut self.before),
            after: Vec::new(),
        });
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let line = line_of(context.bytes(), self.redactor);
        match (context.kind(), self.found.last_mut()) {
            (SinkContextKind::After, Some(last)) => last.after.push(line),
            _ => self.before.push(line),
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.before.clear();
        Ok(true)
    }
}

fn pattern(text: &str) -> Result<RegexMatcher, Failure> {
    // The matcher does not backtrack, and its size is limited, so the time is linear in the text.
    let built = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).size_limit(10 << 20).build(text);
    built.map_err(|_| {
        Failure::new(
            ErrorCode::InvalidPattern,
            "the pattern is not a regular expression for single lines, or too large",
        )
    })
}

/// The maximum length of a glob, in bytes. Parsing is recursive, and no path is longer.
const MAX_GLOB_BYTES: usize = 4 << 10;

fn glob_of(text: &str) -> Result<GlobSet, Failure> {
    let wrong = || Failure::new(ErrorCode::InvalidPattern, "the pattern is not a valid glob, or too large");
    if MAX_GLOB_BYTES < text.len() {
        return Err(wrong());
    }
    let built = GlobBuilder::new(text).literal_separator(true).build().map_err(|_| wrong())?;
    // A single glob does not report that its regular expression is too large; a set does.
    GlobSet::builder().add(built).build().map_err(|_| wrong())
}

/// Returns a path relative to the start of the search.
fn relative_path<'p>(path: &'p RelPath, start: &RelPath) -> &'p str {
    let rest = path.as_str().strip_prefix(start.as_str()).unwrap_or(path.as_str());
    rest.trim_start_matches('/')
}

/// A search in files.
struct Search<'r> {
    redactor: &'r Redactor,
    searcher: Searcher,
    matcher: RegexMatcher,
    limit: usize,
    found: Vec<MatchedLine>,
    /// The files with matches.
    files: Vec<(RelPath, Fingerprint)>,
    is_full: bool,
}

impl Search<'_> {
    fn file(&mut self, path: &RelPath, mut file: OpenFile) -> Result<(), FsErrorKind> {
        let first = self.found.len();
        let mut collect = LineCollector {
            path: path.as_str(),
            found: &mut self.found,
            redactor: self.redactor,
            limit: self.limit,
            before: Vec::new(),
            is_full: false,
        };
        let searched = self.searcher.search_file(&self.matcher, file.file(), &mut collect);
        self.is_full |= collect.is_full;
        searched.map_err(|error| match error.raw_os_error() {
            Some(_) => FsErrorKind::from(&error),
            // The searcher fails only if a line is too long.
            None => FsErrorKind::Other {
                kind: error.kind(),
                text: format!("a line has more than {MAX_READ_BYTES} bytes"),
            },
        })?;
        if first < self.found.len() {
            use std::io::{Seek, SeekFrom};
            let mut handle = file.file();
            handle.seek(SeekFrom::Start(0)).map_err(|error| FsErrorKind::from(&error))?;
            self.files.push((path.clone(), file.sha256().map_err(|error| error.kind)?));
        }
        Ok(())
    }
}

/// The start of a search.
enum SearchRoot {
    File(Folder),
    Folder(Folder),
}

fn start(context: &Context<'_>, place: &Place) -> Result<SearchRoot, Failure> {
    let error = |error| failed(&place.shown, &error);
    if place.path.is_root() {
        return Ok(SearchRoot::Folder(root(context)?));
    }
    let folder = place.folder(context)?;
    match folder.look(place.path.name()).map_err(error)?.kind {
        FileKind::Directory => Ok(SearchRoot::Folder(folder.folder(place.path.name()).map_err(error)?)),
        _ => Ok(SearchRoot::File(folder)),
    }
}

/// `fs.grep`
pub(super) fn grep(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: GrepArgs = arguments(input)?;
    let place = place(context, &args.path, PathUse::Search)?;
    let glob = args.glob.as_deref().map(glob_of).transpose()?;
    let is_of_names = !args.glob.as_ref().is_some_and(|glob| glob.contains('/'));
    let searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(args.context)
        .after_context(args.context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_READ_BYTES))
        .build();
    let mut search = Search {
        redactor: context.redactor,
        searcher,
        matcher: pattern(&args.pattern)?,
        limit: args.limit,
        found: Vec::new(),
        files: Vec::new(),
        is_full: false,
    };
    let mut walk = FileWalk::new(context, &place.path)?;
    // A glob without a slash matches names, as in other search programs.
    let is_wanted = |path: &RelPath, start: &RelPath| {
        glob.as_ref().is_none_or(|glob| {
            glob.is_match(relative_path(path, start)) || (is_of_names && glob.is_match(path.name()))
        })
    };
    match start(context, &place)? {
        SearchRoot::File(folder) => {
            // The file itself is named, so it must be readable.
            let named = super::place::place(context, &args.path, PathUse::Read)?;
            let file = folder.open(named.path.name()).map_err(|error| failed(&place.shown, &error))?;
            if is_wanted(&named.path, &named.path.parent())
                && let Err(kind) = search.file(&named.path, file)
            {
                walk.unread.push(UnreadPath::new(&place.shown, &kind));
            }
        }
        SearchRoot::Folder(folder) => {
            let is_wanted = |path: &RelPath| is_wanted(path, &place.path);
            walk.files(&folder, &mut |unread, folder, path| {
                if is_wanted(path) {
                    let opened = folder.open(path.name()).map_err(|error| error.kind);
                    if let Err(kind) = opened.and_then(|file| search.file(path, file)) {
                        unread.push(UnreadPath::new(path.as_str(), &kind));
                    }
                }
                Ok(if search.is_full { WalkControl::End } else { WalkControl::On })
            })?;
            walk.note_closed(is_wanted);
        }
    }
    let unread = std::mem::take(&mut walk.unread);
    for (path, sha256) in &search.files {
        context.touch(path, Some(*sha256), Some(*sha256));
    }
    let (mut budget, mut rows, mut text) = (ByteBudget::new(context), Vec::new(), Vec::new());
    for found in &search.found {
        if budget.take(found) {
            rows.push(found.clone());
        } else {
            // The context of a single match may exceed the space.
            search.is_full = true;
            let bare = MatchedLine { before: Vec::new(), after: Vec::new(), ..found.clone() };
            budget = if rows.is_empty() { ByteBudget::new(context) } else { budget };
            if !rows.is_empty() || !budget.take(&bare) {
                break;
            }
            rows.push(bare);
        }
        text.push(format!("{}:{}:{}", found.path, found.line, found.content));
    }
    if search.is_full {
        text.push(cut_after(rows.len()));
    }
    Ok(Matches::output(rows, search.is_full, &unread, &mut budget).text(text.join("\n")))
}

/// Returns a note that there are more matches, and how to get them.
fn cut_after(count: usize) -> String {
    let matches = if count == 1 { "match" } else { "matches" };
    format!(
        "[cut after {count} {matches}; a larger `limit`, or a narrower `pattern` or `path`, shows others]"
    )
}

#[derive(Deserialize)]
struct GlobArgs {
    pattern: String,
    path: String,
    limit: usize,
}

/// `fs.glob`
pub(super) fn glob(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: GlobArgs = arguments(input)?;
    let place = place(context, &args.path, PathUse::Search)?;
    let glob = glob_of(args.pattern.trim_start_matches("./"))?;
    let folder = root(context)?.beneath(&place.path).map_err(|error| failed(&place.shown, &error))?;
    let mut walk = FileWalk::new(context, &place.path)?;
    let mut found: Vec<String> = Vec::new();
    walk.files(&folder, &mut |_, _, path| {
        if glob.is_match(relative_path(path, &place.path)) {
            found.push(path.to_string());
        }
        Ok(WalkControl::On)
    })?;
    walk.note_closed(|path| glob.is_match(relative_path(path, &place.path)));
    found.sort_unstable();
    let (total, mut budget) = (found.len(), ByteBudget::new(context));
    let fitting = found.iter().take(args.limit).take_while(|path| budget.take(path)).count();
    found.truncate(fitting);
    let (is_full, mut text) = (found.len() < total, found.join("\n"));
    if is_full {
        text = format!("{text}\n{}", cut_after(found.len()));
    }
    Ok(Matches::output(found, is_full, &walk.unread, &mut budget).text(text))
}
