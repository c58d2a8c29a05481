//! Reads the two files: bytes in, entries and issues out. Never fails.
//!
//! The file is cut at the headers of its entries (`cut`), so that an error in one entry cannot affect another, and
//! no parser state grows with the file. Each piece becomes a table of values with places (`value`), on all processors
//! if there are many pieces. `fill` stores them in the slots of an entry ([`Slot`](crate::fields::Slot)), and reports
//! what is wrong.

pub(crate) mod cut;
mod entry;
mod fill;
mod settings;
pub(crate) mod value;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use brigade_core::parallel::in_parts;
use brigade_core::{ConfigIssue, Hint, Place, Severity};

use crate::model::{Catalog, Level, LostEntries, Runtime, Runtimes, Settings, Tool};
use crate::source::Locator;
use cut::Piece;
use entry::Entry;
use value::{Buffers, Table};

impl Catalog {
    /// Reads a tools.toml. `file` is the name used in places.
    ///
    /// Never fails. Text that cannot be understood becomes an issue, and its entry is marked broken; other entries are
    /// not affected. An empty file is an empty catalog. If several entries have the same id, all but the first are
    /// broken.
    pub fn parse(file: &str, level: Level, bytes: &[u8]) -> Catalog {
        let (tools, issues, settings) = read::<Tool>(file, level, bytes);
        let lost = if issues.is_empty() { LostEntries::default() } else { lost(bytes, &tools) };
        Catalog::new(tools, issues).with_settings(settings).with_lost(lost)
    }
}

impl Runtimes {
    /// Reads a runtimes.toml by the rules of [`Catalog::parse`]. A file without runtimes is an error.
    pub fn parse(file: &str, level: Level, bytes: &[u8]) -> Runtimes {
        let (runtimes, mut issues, _) = read::<Runtime>(file, level, bytes);
        if runtimes.is_empty() && issues.iter().all(|issue| issue.severity != Severity::Error) {
            let meant = Some(Hint::did_you_mean(Runtime::KIND));
            match issues.iter_mut().find(|issue| issue.entry.is_none() && issue.hint == meant) {
                // A misspelt header caused it.
                Some(slip) => slip.severity = Severity::Error,
                None => issues.push(ConfigIssue {
                    severity: Severity::Error,
                    place: Place::file(file),
                    entry: None,
                    field: Some(Runtime::KIND.to_owned()),
                    message: "no runtime is configured".to_owned(),
                    hint: Some("add a [[runtime]] entry".into()),
                }),
            }
        }
        Runtimes::new(runtimes, issues)
    }
}

/// Returns the probable ids of entries that could not be read. Such an entry still hides entries with its id.
fn lost(bytes: &[u8], tools: &[Tool]) -> LostEntries {
    let Ok(text) = std::str::from_utf8(bytes) else { return LostEntries::Unknown };
    let ids = text.lines().filter_map(|line| {
        let value = line.trim_start().strip_prefix("id")?.trim_start().strip_prefix('=')?;
        let value = value.trim().trim_start_matches(['"', '\'']);
        let end = value.find(['"', '\'', '#']).unwrap_or(value.len());
        Some(value[..end].trim())
    });
    let mut known: Vec<&str> = tools.iter().map(|tool| tool.id.as_str()).collect();
    known.sort_unstable();
    LostEntries::Ids(ids.filter(|id| known.binary_search(id).is_err()).map(str::to_owned).collect())
}

/// Below this number of pieces, threads cost more than they save.
const MIN_PARALLEL_PIECES: usize = 1_000;

/// The result so far for a file, or for some of its pieces.
struct Output<'a, E> {
    file: &'a str,
    level: Level,
    entries: Vec<E>,
    issues: Vec<ConfigIssue>,
    settings: Settings,
    buffers: Buffers,
    /// Keys that are known not to look secret.
    harmless_keys: HashSet<String>,
}

impl<E> Output<'_, E> {
    /// Adds an issue at a line and column.
    fn report(&mut self, severity: Severity, at: (usize, usize), text: Finding<'_>) {
        self.issues.push(ConfigIssue {
            severity,
            place: Place::at(self.file, at.0, at.1),
            entry: text.entry.map(str::to_owned),
            field: text.field.map(str::to_owned),
            message: text.message.to_owned(),
            hint: text.hint,
        });
    }
}

impl<'a, E: Entry> Output<'a, E> {
    fn new(file: &'a str, level: Level, pieces: usize) -> Output<'a, E> {
        Output {
            file,
            level,
            entries: Vec::with_capacity(pieces),
            issues: Vec::new(),
            settings: Settings::default(),
            buffers: Buffers::default(),
            harmless_keys: HashSet::new(),
        }
    }

    /// Reads a piece. `follows_list` is set if an earlier piece has entries as a list. Returns whether this piece has.
    fn read(&mut self, piece: &Piece<'_>, follows_list: bool) -> bool {
        let before = self.entries.len();
        let start = (piece.first_line, 1);
        let text = String::from_utf8_lossy(piece.bytes);
        let is_list = fill::read(&text, piece.first_line, self);
        if piece.starts_with_header && follows_list {
            let hint = format!("write every entry under its own [[{}]] header", E::KIND);
            let message = "entries are given both as a list and under headers";
            self.report(
                Severity::Error,
                start,
                Finding { entry: None, field: Some(E::KIND), message, hint: Some(hint.into()) },
            );
        }
        if piece.is_uncertain {
            self.break_entries(before, start, "this follows a multi-line string that is not closed", None);
        }
        if let Cow::Owned(_) = text
            && let Err(error) = std::str::from_utf8(piece.bytes)
        {
            let at = Locator::new(&text, piece.first_line).locate(error.valid_up_to());
            self.break_entries(before, at, "not UTF-8 text", Some("save the file as UTF-8"));
        }
        is_list
    }

    /// Adds the result of later pieces of the file.
    fn append(&mut self, mut later: Output<'_, E>) {
        self.entries.append(&mut later.entries);
        self.issues.append(&mut later.issues);
        let Settings { schema, harnesses, harness_tools, schema_place, registry: _ } = later.settings;
        let settings = &mut self.settings;
        settings.schema = schema.or(settings.schema);
        settings.schema_place = schema_place.or_else(|| settings.schema_place.take());
        settings.harnesses = harnesses.or_else(|| settings.harnesses.take());
        settings.harness_tools = harness_tools.or(settings.harness_tools);
    }

    /// Reports an error in a whole piece, and marks its entries broken: those from `first` on.
    fn break_entries(&mut self, first: usize, at: (usize, usize), message: &'static str, hint: Option<&str>) {
        let entries = &mut self.entries[first..];
        entries.iter_mut().for_each(Entry::set_broken);
        let id = if let [entry] = entries { Some(entry.id().to_owned()) } else { None };
        self.report(
            Severity::Error,
            at,
            Finding {
                entry: id.as_deref(),
                field: None,
                message,
                hint: hint.map(|hint| hint.to_owned().into()),
            },
        );
    }
}

/// An issue without its place.
struct Finding<'a> {
    entry: Option<&'a str>,
    field: Option<&'a str>,
    message: &'static str,
    hint: Option<Hint>,
}

/// Reads a tool from a table that is not in a catalog file. The places of its issues have no meaning.
pub(crate) fn tool_of(table: &Table<'_>) -> (Option<Tool>, Vec<ConfigIssue>) {
    let mut output = Output::new("", Level::Project, 1);
    fill::read_table(table, &mut output);
    (output.entries.pop(), output.issues)
}

fn read<E: Entry>(file: &str, level: Level, bytes: &[u8]) -> (Vec<E>, Vec<ConfigIssue>, Settings) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let pieces = cut::cut(bytes, E::KIND);
    // Space is reserved once, so that thousands of entries are never moved.
    let mut output = Output::new(file, level, pieces.len());
    // TOML does not allow a list that is partly a value and partly under headers, but the entries are still readable.
    let has_list = pieces.first().is_some_and(|first| output.read(first, false));
    let later = pieces.get(1..).unwrap_or_default();
    if later.len() < MIN_PARALLEL_PIECES {
        later.iter().enumerate().for_each(|(index, piece)| _ = output.read(piece, has_list && index == 0));
    } else {
        let part = |range: Range<usize>| {
            let mut part = Output::<E>::new(file, level, range.len());
            range.for_each(|index| _ = part.read(&later[index], has_list && index == 0));
            part
        };
        in_parts(later.len(), part, |part| output.append(part));
    }
    mark_duplicates(&mut output);
    // The sort is stable, so issues at one place stay in the order in which they were found.
    output.issues.sort_by_key(|issue| (issue.place.line, issue.place.column));
    (output.entries, output.issues, output.settings)
}

/// Reports every entry whose id is already taken, and marks it broken.
fn mark_duplicates<E: Entry>(output: &mut Output<'_, E>) {
    let mut order: Vec<usize> = (0..output.entries.len()).collect();
    order.sort_by(|a, b| output.entries[*a].id().cmp(output.entries[*b].id()));
    for pair in order.windows(2) {
        if output.entries[pair[0]].id() != output.entries[pair[1]].id() {
            continue;
        }
        let first = order.partition_point(|at| output.entries[*at].id() < output.entries[pair[1]].id());
        let first = output.entries[order[first]].origin().place.clone();
        let again = &mut output.entries[pair[1]];
        again.set_broken();
        output.issues.push(ConfigIssue {
            severity: Severity::Error,
            place: again.origin().find(0, 0),
            entry: Some(again.id().to_owned()),
            field: Some("id".to_owned()),
            message: format!("the id is taken by the entry at {first}"),
            hint: Some("ids are unique in a file".into()),
        });
    }
}

#[cfg(test)]
mod tests;
