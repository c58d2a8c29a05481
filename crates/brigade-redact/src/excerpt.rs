//! Shows the line of a file that a message refers to, without secrets.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

use brigade_core::Place;
use brigade_core::text::escape_terminal;
use unicode_width::UnicodeWidthChar;

use crate::{MARK, Redactor, is_secret_command, shown_command};

/// How much of the file around a line is scanned for secrets that span lines, in bytes.
const CONTEXT: usize = 32 << 10;

/// The maximum length of a file that is scanned as a whole, in bytes. In a longer file, only the text around a line is.
const WHOLE: usize = 64 << 10;

/// The maximum length of a line that is shown, in bytes.
const LONGEST: usize = 1 << 20;

/// The replacement for a tab.
const TAB: &str = "    ";

/// The replacement for removed parts of a line.
const GAP: &str = "...";

/// The text of a file written by users, from which lines can be shown.
///
/// ```
/// use brigade_core::Place;
/// use brigade_redact::{Redactor, Source};
///
/// let source = Source::new(b"version = 1\ntimeout = \"soon\" # later\n", &Redactor::new(&[]));
/// let excerpt = source.excerpt(&Place::at("tools.toml", 2, 11)).unwrap();
/// assert_eq!(&excerpt.text()[excerpt.marked()], "\"soon\"");
/// assert_eq!(excerpt.length(), 6);
/// ```
#[derive(Debug)]
pub struct Source {
    text: String,
    /// The start of each line.
    starts: Vec<usize>,
    /// Masks the secrets. Absent if the file is known to have none.
    redactor: Option<Redactor>,
}

/// One line of a file, with the part that a message refers to.
///
/// The text is safe to show: secrets are masked, tabs become spaces, and control and bidirectional characters are
/// escaped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Excerpt {
    text: String,
    marked: Range<usize>,
    length: usize,
}

impl Source {
    /// Takes the bytes of a file, which need not be UTF-8, and the redactor for its secrets.
    pub fn new(bytes: &[u8], redactor: &Redactor) -> Source {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes).into_owned();
        let starts =
            iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1)).collect();
        let redactor = redactor.for_settings();
        let is_clean = text.len() <= WHOLE && redactor.redact_str(&text) == text;
        let redactor = (!is_clean).then_some(redactor);
        Source { text, starts, redactor }
    }

    /// Returns the line at a place.
    ///
    /// Marks the key, string, table header or word that starts at the place, or the whole line if the place has no
    /// column. Returns `None` if the place has no line, is past the end of the file, or is in a very long line.
    pub fn excerpt(&self, place: &Place) -> Option<Excerpt> {
        let (start, line) = self.line(place)?;
        let meant = match place.column {
            Some(column) => word_at(line, column),
            None => {
                let text = line.trim_start();
                let indent = line.len() - text.len();
                indent..indent + text.trim_end().len()
            }
        };
        let length = line[meant.clone()].chars().count();
        let redacted = match &self.redactor {
            Some(redactor) => Cow::Owned(self.redacted(start, line, redactor)),
            None => Cow::Borrowed(line),
        };
        let shown = without_secret_commands(&redacted);
        let shown = Excerpt::escaped(&shown, |shown| follow(line, shown, meant));
        Some(Excerpt { length, ..shown })
    }

    /// Finds the column of a word in the line of a place.
    pub fn column_of(&self, place: &Place, word: &str) -> Option<usize> {
        let (_, line) = self.line(place)?;
        let is_whole = |at: &usize| {
            let (before, after) = (&line[..*at], &line[at + word.len()..]);
            !before.ends_with(is_of_word) && !after.starts_with(is_of_word)
        };
        let at = line.match_indices(word).map(|(at, _)| at).find(is_whole)?;
        Some(line[..at].chars().count() + 1)
    }

    /// Returns the line of a place and where it starts.
    fn line(&self, place: &Place) -> Option<(usize, &str)> {
        let number = place.line?;
        let start = *self.starts.get(number.checked_sub(1)?)?;
        let end = self.starts.get(number).map_or(self.text.len(), |next| next - 1);
        let line = self.text[start..end].strip_suffix('\r').unwrap_or(&self.text[start..end]);
        (line.len() <= LONGEST).then_some((start, line))
    }

    /// Masks the secrets of a line, including those that start or end on other lines.
    fn redacted(&self, start: usize, line: &str, redactor: &Redactor) -> String {
        let end = start + line.len();
        let from = self.text.floor_char_boundary(start.saturating_sub(CONTEXT));
        let from =
            if from == 0 { 0 } else { self.text[from..start].find('\n').map_or(from, |at| from + at + 1) };
        let to = self.text.ceil_char_boundary(self.text.len().min(end + CONTEXT));
        let all = redactor.redact_str(&self.text[from..to]);
        if all == self.text[from..to] {
            return redactor.redact_str(line);
        }
        let before = redactor.redact_str(&self.text[from..start]);
        let upto = redactor.redact_str(&self.text[from..end]);
        match upto.strip_prefix(&before) {
            Some(line) if all.starts_with(&upto) => redactor.redact_str(line),
            // A secret starts or ends in the middle of the line.
            Some(_) | None => MARK.to_owned(),
        }
    }
}

impl Excerpt {
    /// Returns the line for display.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the marked byte range. It is empty at the end of the line.
    pub fn marked(&self) -> Range<usize> {
        self.marked.clone()
    }

    /// Returns the number of marked characters in the file.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Cuts the text to at most `columns` around the marked part. Removed text becomes `...`.
    #[must_use]
    pub fn cut(&self, columns: usize) -> Excerpt {
        if width(&self.text) <= columns {
            return self.clone();
        }
        let room = columns.saturating_sub(2 * GAP.len()).max(1);
        let (head, tail) = self.text.split_at(self.marked.start);
        // A third of the remaining width goes before the mark, or more if little follows.
        let marked = width(&self.text[self.marked.clone()]).min(room);
        let before = ((room - marked) / 3).max(room.saturating_sub(width(tail)));
        let start = head.len() - fitting(head.chars().rev(), before);
        let end = start + fitting(self.text[start..].chars(), room);
        let before = if 0 < start { GAP } else { "" };
        let behind = if end < self.text.len() { GAP } else { "" };
        let moved = |at: usize| at.clamp(start, end) - start + before.len();
        Excerpt {
            text: [before, &self.text[start..end], behind].concat(),
            marked: moved(self.marked.start)..moved(self.marked.end),
            length: self.length,
        }
    }

    /// Creates an excerpt in which every invisible character becomes visible.
    fn escaped(line: &str, marked: impl FnOnce(&str) -> Range<usize>) -> Excerpt {
        let marked = marked(line);
        let mut text = String::with_capacity(line.len());
        let mut at = [0; 2];
        for (index, c) in line.char_indices() {
            for (place, bound) in at.iter_mut().zip([marked.start, marked.end]) {
                if index == bound {
                    *place = text.len();
                }
            }
            match c {
                '\t' => text.push_str(TAB),
                c => text.push_str(&escape_terminal(c.encode_utf8(&mut [0; 4]))),
            }
        }
        for (place, bound) in at.iter_mut().zip([marked.start, marked.end]) {
            if line.len() <= bound {
                *place = text.len();
            }
        }
        let [start, end] = at;
        text.truncate(text.trim_end().len().max(end));
        Excerpt { text, marked: start..end, length: 0 }
    }
}

/// Returns how many terminal columns a text takes.
fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Returns how many bytes of the characters fit in `columns`.
fn fitting(chars: impl Iterator<Item = char>, columns: usize) -> usize {
    let mut left = columns;
    let fitting = chars.take_while(|c| match left.checked_sub(c.width().unwrap_or(0)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
    fitting.map(char::len_utf8).sum()
}

/// Masks the strings of a line that are commands with a secret, such as `"curl -u name:password"`, which is recognized
/// only by the order of the words. A line without strings may be such a command as a whole, or after its first `=` or
/// `:`.
fn without_secret_commands(line: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['"', '\'']) {
        let length = quoted(&rest[at..]);
        let (before, string) = rest[..at + length].split_at(at);
        let mark = if string.starts_with("\"\"\"") || string.starts_with("'''") { 3 } else { 1 };
        let command = &string[mark..];
        let command = command.strip_suffix(&string[..mark]).unwrap_or(command).replace("\\\"", "\"");
        shown.push_str(before);
        if is_secret_command(&command) {
            shown.extend([&string[..mark], &*shown_command(&command), &string[..mark]]);
        } else {
            shown.push_str(string);
        }
        rest = &rest[at + length..];
    }
    if shown.is_empty() {
        let value = line.split_once(['=', ':']).map_or(line, |(_, value)| value);
        let is_secret = is_secret_command(value) || is_secret_command(line);
        return Cow::Borrowed(if is_secret { MARK } else { line });
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Maps a range of the original line to the redacted line. If part of the range is masked, the whole mark is included.
fn follow(line: &str, redacted: &str, meant: Range<usize>) -> Range<usize> {
    if line == redacted {
        return meant;
    }
    let pairs = line.chars().zip(redacted.chars());
    let same = pairs.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum::<usize>();
    let pairs = line[same..].chars().rev().zip(redacted[same..].chars().rev());
    let alike = pairs.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum::<usize>();
    let moved = |at: usize, inside: usize| match at {
        at if at <= same => at,
        at if line.len() - at <= alike => redacted.len() - (line.len() - at),
        _ => inside,
    };
    let (start, end) = (moved(meant.start, same), moved(meant.end, redacted.len() - alike));
    start..end.max(start)
}

/// Finds the item that starts at a column: a key, a string, a header, a list or table that ends on the line, or a word.
fn word_at(line: &str, column: usize) -> Range<usize> {
    let start = line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    let rest = &line[start..];
    let first = rest.chars().next();
    let length = match first {
        None => 0,
        Some('"' | '\'') => quoted(rest),
        Some('[' | '{') => bracketed(rest),
        Some(c) if is_of_word(c) => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
        Some(c) => c.len_utf8(),
    };
    start..start + length
}

fn is_of_word(c: char) -> bool {
    !c.is_whitespace() && !"=,[]{}()\"'#:;`".contains(c)
}

/// Returns the length of the string at the start of a text, or up to the end of the line if it is not closed.
fn quoted(text: &str) -> usize {
    let quote = &text[..1];
    let three = text.get(..3).filter(|start| start.bytes().all(|byte| byte == quote.as_bytes()[0]));
    let mark = three.unwrap_or(quote);
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(mark.len()) {
        if escaped {
            escaped = false;
        } else if c == '\\' && quote == "\"" {
            escaped = true;
        } else if text[at..].starts_with(mark) {
            return at + mark.len();
        }
    }
    text.trim_end().len()
}

/// Returns the length of the brackets at the start of a text, or one character if they are not closed on the line.
fn bracketed(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let length = match c {
            '"' | '\'' => quoted(&text[at..]),
            '#' => break,
            c => c.len_utf8(),
        };
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += length;
        if depth == 0 {
            return at;
        }
    }
    1
}

#[cfg(test)]
mod tests;
