//! Describes TOML syntax errors without quoting the file.
//!
//! The errors are those of a parser, as byte positions and messages. Their text is only compared with known prefixes.

/// A syntax error with a message that contains no text of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TomlError {
    /// The byte at which it is reported.
    pub at: usize,
    /// What is wrong.
    pub message: &'static str,
}

/// Describes the errors that a parser found in a text, in any order. A list, table or string without its end is one
/// error, because the text after it is read as part of it.
pub fn explain(text: &str, errors: &[(usize, &str)]) -> Vec<TomlError> {
    let named = |&(at, message): &(usize, &str)| TomlError { at, message: describe_at(message, text, at) };
    let mut found: Vec<TomlError> = errors.iter().map(named).collect();
    if let Some(&(at, message)) = errors.iter().min_by_key(|(at, _)| *at) {
        if let Some(start) = unclosed_text(text, at) {
            found = vec![TomlError { at: start, message: NO_CLOSING_QUOTES }];
        } else if let Some(unclosed) = unclosed(text, at, message) {
            found = vec![unclosed];
        } else if has_no_end(text, at) {
            found.retain(|error| error.at <= at);
        }
    }
    found
}

/// The message for a wrong backslash in a string with escapes.
const ESCAPE: &str =
    "a backslash must be followed by an escape such as `n` or `\\`; in '…' a backslash is itself";

/// The message for an invalid value.
const NO_VALUE: &str = "a value is missing, or a string is not quoted";

/// The message for an invalid number.
const NO_NUMBER: &str = "not a number; a string must be quoted";

/// Returns a message that contains no text of the file.
///
/// The parser's messages may quote the file. They are only compared with known prefixes and never passed on. `None` for
/// a message that is not known.
pub fn describe(message: &str) -> Option<&'static str> {
    const KNOWN_MESSAGES: &[(&str, &str)] = &[
        ("duplicate key", "duplicate key"),
        ("cannot extend value", "duplicate key, given as a value and as a table"),
        ("cannot recurse", "lists and tables are nested too deeply"),
        ("recursion limit", "keys have too many parts"),
        ("string values must be quoted", NO_VALUE),
        ("invalid unquoted key", "this key must be quoted"),
        ("unquoted keys cannot be empty", "a key is missing"),
        ("missing key", "a key is missing"),
        ("key with no value", "a value is missing"),
        ("missing value", "a value is missing"),
        ("missing assignment", "`=` is missing"),
        ("missing comma", "a comma is missing"),
        ("extra comma", "extra comma"),
        ("extra `=`", "extra `=`"),
        ("extra assignment", "extra `=`"),
        ("unclosed array table", "`]]` is missing"),
        ("unclosed array", "`]` is missing"),
        ("unclosed table", "`]` is missing"),
        ("unclosed inline table", "`}` is missing"),
        ("invalid inline table element", "not allowed in an inline table"),
        ("invalid basic string", "the string has no closing quote, or a character must be escaped"),
        (
            "invalid multi-line basic string",
            "the string has no closing quotes, or a character must be escaped",
        ),
        ("invalid literal string", "the string has no closing quote, or a character is not allowed"),
        (
            "invalid multi-line literal string",
            "the string has no closing quotes, or a character is not allowed",
        ),
        ("missing escaped value", ESCAPE),
        ("too few unicode", ESCAPE),
        ("missing opening quote", "a string has no opening quote"),
        ("invalid float", NO_NUMBER),
        ("invalid value", NO_VALUE),
        ("unexpected key or value", "unexpected text after the value"),
        ("carriage return", "a carriage return must be followed by a line feed"),
        ("invalid comment character", "a comment contains a control character"),
        ("unexpected leading zero", "a number may not start with 0"),
        ("unexpected", "unexpected text"),
    ];
    KNOWN_MESSAGES.iter().find(|(start, _)| message.starts_with(start)).map(|(_, words)| *words)
}

/// Describes an error by the text at its position, if that is more precise than the parser's message.
fn describe_at(message: &str, text: &str, at: usize) -> &'static str {
    let (before, rest) = text.split_at(text.floor_char_boundary(at));
    let line = rest.lines().next().unwrap_or_default();
    let has_no_equals =
        message.starts_with("key with no value") || message.starts_with("invalid unquoted key");
    match line.trim_start().as_bytes() {
        [b':', ..] if has_no_equals => "expected `=` between key and value, found `:`",
        [b'"' | b'\'' | b'[' | b'{' | b'-' | b'0'..=b'9', ..] if has_no_equals => {
            "`=` is missing between key and value"
        }
        [b'N' | b'n', ..] if ["None", "null", "nil"].iter().any(|word| line.starts_with(word)) => {
            "TOML has no empty value; leave the key out"
        }
        [b'T' | b'F', ..] if ["True", "False"].iter().any(|word| line.starts_with(word)) => {
            "`true` and `false` are written in lower case"
        }
        _ => describe(message).unwrap_or_else(|| {
            // For a word such as `ten`, the parser expects `true`, because of the first letter.
            let is_value = before.trim_end_matches([' ', '\t']).ends_with(['=', '[', ',']);
            let is_behind_value = before.lines().next_back().is_some_and(|line| line.contains('='));
            match (is_value, is_behind_value) {
                (true, _) => NO_VALUE,
                (false, true) => NO_NUMBER,
                (false, false) => "not valid TOML: expected `key = value`, a [table] or a comment",
            }
        }),
    }
}

/// Finds a list or inline table that is still open at the first error: one that began on an earlier line, or one with a
/// string that does not end. The position is after the last text before the error.
fn unclosed(text: &str, error: usize, message: &str) -> Option<TomlError> {
    let before = &text[..text.floor_char_boundary(error)];
    let mut scan = BracketScan::new(before, 0);
    while scan.step() {}
    let &(start, bracket) = scan.open.last()?;
    if message.starts_with("invalid basic string") || message.starts_with("invalid literal string") {
        return describe(message).map(|message| TomlError { at: error, message });
    }
    let is_earlier = before[start..].contains('\n') || text.trim_end().len() <= error;
    let message = match bracket {
        b'[' => "`]` is missing: expected `,` or `]`",
        _ => "`}` is missing: expected `,` or `}`",
    };
    is_earlier.then_some(TomlError { at: scan.end, message })
}

/// The message for a string of several lines that does not end.
const NO_CLOSING_QUOTES: &str = "the string has no closing quotes";

/// Finds the string of several lines in which the text ends, if the first error is not before it.
fn unclosed_text(text: &str, error: usize) -> Option<usize> {
    let mut scan = BracketScan::new(text, 0);
    let mut last = 0;
    while scan.at < text.len() {
        last = scan.at;
        scan.step();
    }
    let fence = text[last..].get(..3)?;
    let is_closed = text.len() >= last + 6 && text.ends_with(fence);
    (matches!(fence, "\"\"\"" | "'''") && !is_closed && last <= error).then_some(last)
}

/// Returns whether the first error is in a list or inline table without an end, or with the wrong closing bracket. The
/// text after it is read as part of it.
fn has_no_end(text: &str, error: usize) -> bool {
    let mut scan = BracketScan::new(&text[..text.floor_char_boundary(error)], 0);
    while scan.step() {}
    let Some(&(start, _)) = scan.open.first() else { return false };
    let mut scan = BracketScan::inside(text, start);
    while !scan.open.is_empty() && scan.step() {}
    !scan.open.is_empty() || scan.is_crossed
}

/// A walk over a text by its comments, strings and single characters.
struct BracketScan<'t> {
    text: &'t str,
    at: usize,
    line_start: usize,
    /// The position after the last text that is not a comment.
    end: usize,
    /// The open brackets.
    open: Vec<(usize, u8)>,
    /// Whether a bracket was closed by one of another kind.
    is_crossed: bool,
}

impl BracketScan<'_> {
    fn new(text: &str, at: usize) -> BracketScan<'_> {
        BracketScan { text, at, line_start: at, end: at, open: Vec::new(), is_crossed: false }
    }

    /// Begins with the bracket at a position.
    fn inside(text: &str, bracket: usize) -> BracketScan<'_> {
        let open = vec![(bracket, text.as_bytes()[bracket])];
        BracketScan { open, ..BracketScan::new(text, bracket + 1) }
    }

    /// Advances by one piece. Returns `false` at the end.
    fn step(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let Some(&first) = rest.as_bytes().first() else { return false };
        let to_line_end = || rest.find('\n').unwrap_or(rest.len());
        let length = match first {
            b'#' => to_line_end(),
            // A header, not a list.
            b'[' if self.open.is_empty() && self.text[self.line_start..self.at].trim().is_empty() => {
                to_line_end()
            }
            b'"' | b'\'' => string(rest),
            b'[' | b'{' => {
                self.open.push((self.at, first));
                1
            }
            b']' | b'}' => {
                let opened = self.open.pop();
                self.is_crossed |= opened.is_some_and(|(_, bracket)| (bracket == b'[') != (first == b']'));
                1
            }
            byte => {
                if byte == b'\n' {
                    self.line_start = self.at + 1;
                }
                rest.chars().next().map_or(1, char::len_utf8)
            }
        };
        if first != b'#' && !first.is_ascii_whitespace() {
            self.end = self.at + length;
        }
        self.at += length;
        true
    }
}

/// Returns the length of the string at the start of a text, or the length of the text if the string does not end.
fn string(text: &str) -> usize {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let fence = if text.starts_with(&triple) { triple.as_str() } else { quote };
    let mut at = fence.len();
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(fence.as_bytes()) {
            return at + fence.len();
        }
        at += if quote == "\"" && rest[0] == b'\\' { 2 } else { 1 };
    }
    text.len()
}
