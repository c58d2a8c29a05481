//! Reads the two files: bytes in, entries and issues out; never fails.
//!
//! The file is cut at the headers of its entries (`cut`), so that what is broken in one entry cannot reach another,
//! and so that no structure grows with the file. Each piece goes through the `plain` reader, which knows the everyday
//! subset of TOML and gives up on anything else: other syntax, unknown keys, wrong values. What it gives up on is read
//! by `full`, through the toml crate, which also says what is wrong. Both fill entries through the same slots
//! ([`entry::Slot`]), and a property test holds them to the same result.

pub(crate) mod cut;
mod entry;
mod full;
mod locate;
mod plain;
mod syntax;

use std::borrow::Cow;

use brigade_core::parallel::in_parts;
use brigade_core::{ConfigIssue, Place, Severity};

use crate::model::{Catalog, Level, Runtime, Runtimes, Tool};
use cut::Piece;
use entry::Entry;
use locate::Locator;

impl Catalog {
    /// Reads a tools.toml; `file` is its name as places show it.
    ///
    /// Never fails. What cannot be understood becomes an issue, and the entry that it concerns is marked broken;
    /// other entries are not affected. An empty file is an empty catalog. Of several entries with one id all but the
    /// first are broken.
    pub fn parse(file: &str, level: Level, bytes: &[u8]) -> Catalog {
        let (tools, issues) = read::<Tool>(file, level, bytes, Reader::PlainFirst);
        Catalog::new(tools, issues)
    }
}

impl Runtimes {
    /// Reads a runtimes.toml, by the rules of [`Catalog::parse`]; a file without any runtime is an error.
    pub fn parse(file: &str, level: Level, bytes: &[u8]) -> Runtimes {
        let (runtimes, mut issues) = read::<Runtime>(file, level, bytes, Reader::PlainFirst);
        if runtimes.is_empty() && issues.iter().all(|issue| issue.severity != Severity::Error) {
            issues.push(ConfigIssue {
                severity: Severity::Error,
                place: Place::file(file),
                entry: None,
                field: Some("runtime".to_owned()),
                message: "no runtime is configured".to_owned(),
                hint: Some("add a [[runtime]] entry".to_owned()),
            });
        }
        Runtimes::new(runtimes, issues)
    }
}

/// Which readers are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// The plain one, and the full one for what it gives up on.
    PlainFirst,
    /// The full one only; the reference that the plain one is tested against.
    #[cfg(test)]
    FullOnly,
}

/// From this number of pieces on, a second thread is worth its start.
const MANY: usize = 512;

/// What one file gives, while it is read.
struct Output<'a, E> {
    file: &'a str,
    level: Level,
    entries: Vec<E>,
    issues: Vec<ConfigIssue>,
    /// Whether a value that lists entries came last. TOML knows no list that is partly a value and partly under headers;
    /// what the entries say is clear all the same.
    list_before: bool,
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

impl<E: Entry> Output<'_, E> {
    /// Reports what is wrong with a whole piece, and marks the entries that it gave broken: those from `first` on.
    fn break_entries(&mut self, first: usize, at: (usize, usize), message: &'static str, hint: Option<&str>) {
        let entries = &mut self.entries[first..];
        entries.iter_mut().for_each(Entry::set_broken);
        let id = if let [entry] = entries { Some(entry.id().to_owned()) } else { None };
        self.report(
            Severity::Error,
            at,
            Finding { entry: id.as_deref(), field: None, message, hint: hint.map(str::to_owned) },
        );
    }
}

/// What an issue says, apart from its place.
struct Finding<'a> {
    entry: Option<&'a str>,
    field: Option<&'a str>,
    message: &'static str,
    hint: Option<String>,
}

fn read<E: Entry + Send>(
    file: &str,
    level: Level,
    bytes: &[u8],
    reader: Reader,
) -> (Vec<E>, Vec<ConfigIssue>) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut output = Output { file, level, entries: Vec::new(), issues: Vec::new(), list_before: false };
    let pieces = cut::cut(bytes, E::KIND);
    output.entries.reserve_exact(pieces.len());
    let mut ahead = pieces.iter();
    let mut take = |plain: Vec<Option<E>>| {
        // The entries first: what they do not match stays ahead.
        for (plain, piece) in plain.into_iter().zip(ahead.by_ref()) {
            output.add(piece, plain);
        }
    };
    let read = |pieces: &[Piece<'_>]| read_plain(pieces, file, level, reader);
    if pieces.len() < MANY {
        take(read(&pieces));
    } else {
        in_parts(pieces.len(), |range| read(&pieces[range]), take);
    }
    mark_duplicates(&mut output);
    // Stable, so issues of one place stay in the order in which they were found.
    output.issues.sort_by_key(|issue| (issue.place.line, issue.place.column));
    (output.entries, output.issues)
}

/// Reads those of the pieces that are plain.
fn read_plain<'t, E: Entry>(
    pieces: &[Piece<'t>],
    file: &str,
    level: Level,
    reader: Reader,
) -> Vec<Option<E>> {
    let mut plain = plain::Reader::default();
    let one = |piece: &Piece<'t>| match reader {
        Reader::PlainFirst => {
            let text = std::str::from_utf8(piece.bytes).ok().filter(|_| piece.starts_with_header)?;
            plain.read::<E>(text, piece.first_line, file, level)
        }
        #[cfg(test)]
        Reader::FullOnly => None,
    };
    pieces.iter().map(one).collect()
}

impl<E: Entry> Output<'_, E> {
    /// Adds what is in a piece: its entry when it is plain, else what the full reader makes of it.
    fn add(&mut self, piece: &Piece<'_>, plain: Option<E>) {
        let before = self.entries.len();
        let start = (piece.first_line, 1);
        let decoded = std::str::from_utf8(piece.bytes);
        let text = match decoded {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(piece.bytes),
        };
        match plain {
            Some(entry) => self.entries.push(entry),
            None => self.list_before |= full::read(&text, piece.first_line, self),
        }
        if piece.starts_with_header && std::mem::take(&mut self.list_before) {
            let hint = format!("write every entry under its own [[{}]] header", E::KIND);
            let message = "entries are given both as a list and under headers";
            self.report(
                Severity::Error,
                start,
                Finding { entry: None, field: Some(E::KIND), message, hint: Some(hint) },
            );
        }
        if piece.is_uncertain {
            let message = "this comes after a multi-line text that is not closed";
            self.break_entries(before, start, message, None);
        }
        if let Err(error) = decoded {
            let at = Locator::new(&text, piece.first_line).locate(error.valid_up_to());
            self.break_entries(before, at, "not UTF-8 text", Some("save the file as UTF-8"));
        }
    }
}

/// Reports every entry whose id was taken by an earlier one, and marks it broken.
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
            hint: Some("ids are unique in a file".to_owned()),
        });
    }
}

#[cfg(test)]
mod tests;
