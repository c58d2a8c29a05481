//! Tags in an answer.
//!
//! A tag, up to its end tag, counts only if it is alone on its line. Tags in code fences, indented code and quotations
//! do not count. This lets an answer mention tags without using them. A promise also counts inside a line, and alone on
//! a line of a fence, in bold or as code, because models write it so. Not as code or in quotation marks within a line:
//! the prompt spells promises that way, so a worker that quotes it makes none.

use super::Signal;

/// The names of all tags.
const NAMES: &[&str] = &[
    "promise",
    "learning",
    "backlog",
    "approach",
    "scope-question",
    "review",
    "decision",
    "reason",
    "guidance",
    "phase_review",
    "phase_gate",
    "prd_generated",
];

/// The tags that count in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    /// The distinct promises, in order.
    pub promises: Vec<Signal>,
    /// Whether a promise is unknown.
    pub has_unknown_promise: bool,
    /// All tags, in order: name and trimmed content.
    found: Vec<(&'static str, String)>,
}

impl Tags {
    /// Finds the tags of an answer.
    ///
    /// ```
    /// use brigade_kitchen::signal::{Signal, Tags};
    ///
    /// let answer = "I would write `<promise>BLOCKED</promise>`, but it is done.\n\n<promise>COMPLETE</promise>";
    /// assert_eq!(Tags::find(answer).promises, [Signal::Complete]);
    /// ```
    pub fn find(answer: &str) -> Tags {
        let mut tags = Tags::default();
        let lines: Vec<&str> =
            answer.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        let mut fences = Fences::default();
        let mut at = 0;
        while at < lines.len() {
            let is_plain = fences.is_plain(lines[at]);
            let found = if is_plain { tag_at(&lines, at) } else { None };
            match found {
                Some((name, content, end)) => {
                    tags.add(name, content);
                    at = end;
                }
                None => {
                    promises_of(lines[at], is_plain).into_iter().for_each(|text| tags.add("promise", text))
                }
            }
            at += 1;
        }
        tags
    }

    fn add(&mut self, name: &'static str, content: String) {
        if name == "promise" {
            match Signal::from_promise(&content) {
                Some(signal) if !self.promises.contains(&signal) => self.promises.push(signal),
                Some(_) => {}
                None => self.has_unknown_promise = true,
            }
        }
        if !content.is_empty() {
            self.found.push((name, content));
        }
    }

    /// Returns the contents of all tags of one name, in order.
    pub fn all<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'t str> {
        self.found.iter().filter(move |(found, _)| *found == name).map(|(_, content)| content.as_str())
    }

    /// Returns the content of a tag; `None` if there are different contents.
    pub fn only(&self, name: &str) -> Option<&str> {
        let last = self.last(name)?;
        self.found.iter().all(|(found, content)| *found != name || content == last).then_some(last)
    }

    /// Returns the content of the last tag of a name.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.found.iter().rev().find(|(found, _)| *found == name).map(|(_, content)| content.as_str())
    }

    /// Returns the distinct contents of all tags of one name, in order.
    pub fn distinct(&self, name: &str) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for text in self.all(name) {
            if !texts.iter().any(|known| known == text) {
                texts.push(text.to_owned());
            }
        }
        texts
    }
}

/// Returns the text of a line that is neither quoted nor indented code.
fn plain(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() < 4 && !text.starts_with(['\t', '>'])).then(|| text.trim_end())
}

/// Tracks the open code fence, line by line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fences(Option<Fence>);

impl Fences {
    /// Reads the next line, and returns whether it is outside of code fences.
    pub fn is_plain(&mut self, line: &str) -> bool {
        match (self.0, Fence::opened_by(line)) {
            (None, None) => true,
            (None, opened) => {
                self.0 = opened;
                false
            }
            (Some(open), _) => {
                self.0 = self.0.filter(|_| !open.is_closed_by(line));
                false
            }
        }
    }

    /// Returns the line of the open fence, which also closes it; `None` if none is open.
    pub fn line(&self) -> Option<String> {
        let Fence { mark, length, is_nested } = self.0?;
        let indentation = if is_nested { "  " } else { "" };
        Some(format!("{indentation}{}", mark.to_string().repeat(length)))
    }
}

/// An open code fence.
#[derive(Clone, Copy, Debug)]
struct Fence {
    mark: char,
    length: usize,
    /// Whether the fence is indented or in a list, so that its end may be indented.
    is_nested: bool,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Fence> {
        let text = line.trim_start_matches([' ', '\t']);
        let item = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let item = item.strip_prefix(['-', '*', '+', '.', ')']).filter(|item| item.starts_with([' ', '\t']));
        let inner = item.map_or(text, |item| item.trim_start_matches([' ', '\t']));
        let mark = inner.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let behind = inner.trim_start_matches(mark);
        let length = inner.len() - behind.len();
        // A line that opens a fence of backticks has no other backtick.
        let is_fence = 3 <= length && (mark == '~' || !behind.contains('`'));
        is_fence.then_some(Fence { mark, length, is_nested: inner.len() < line.len() })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let text = line.trim_start_matches([' ', '\t']);
        let is_indented = 3 < line.len() - text.len() || line.starts_with('\t');
        let marks = text.trim_end();
        (self.is_nested || !is_indented)
            && self.length <= marks.len()
            && marks.chars().all(|c| c == self.mark)
    }
}

/// Returns the promises of a line. Within other text, only known ones count.
fn promises_of(line: &str, is_plain: bool) -> Vec<String> {
    const TAG: &str = "<promise>";
    if line.trim_start().starts_with('>') || !line.contains(TAG) {
        return Vec::new();
    }
    let decoration = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '.');
    let alone =
        line.trim_matches(decoration).strip_prefix(TAG).and_then(|rest| rest.strip_suffix("</promise>"));
    if let Some(text) = alone.filter(|text| !text.contains('<')) {
        return vec![text.trim().to_owned()];
    }
    if !is_plain {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut before = String::new();
    for (index, piece) in line.split(TAG).enumerate() {
        let is_code = before.matches('`').count() % 2 == 1;
        let is_quoted = is_code || before.ends_with(['"', '\'', '“', '‘', '«']);
        if let Some((text, _)) = piece.split_once("</promise>").filter(|_| 0 < index && !is_quoted)
            && Signal::from_promise(text).is_some()
        {
            found.push(text.trim().to_owned());
        }
        before.push_str(piece);
    }
    found
}

/// Reads the tag that begins on a line. Also returns the line number of its end.
fn tag_at(lines: &[&str], at: usize) -> Option<(&'static str, String, usize)> {
    let text = plain(lines[at])?;
    let inner = text.strip_prefix('<')?;
    let name =
        NAMES.iter().find(|name| inner.strip_prefix(**name).is_some_and(|rest| rest.starts_with('>')))?;
    let first = &inner[name.len() + 1..];
    let end_tag = format!("</{name}>");
    if let Some(content) = first.strip_suffix(&*end_tag) {
        return (!content.contains(&end_tag)).then(|| (*name, content.trim().to_owned(), at));
    }
    // Promises and verdicts must end on the same line.
    if first.contains(&end_tag) || matches!(*name, "promise" | "review" | "decision" | "prd_generated") {
        return None;
    }
    let mut content = first.to_owned();
    for (offset, line) in lines[at + 1..].iter().enumerate() {
        // A tag that is never closed must not include a later tag of the same name.
        if line.trim_start().starts_with(&format!("<{name}>")) {
            return None;
        }
        content.push('\n');
        if let Some(last) = line.trim_end().strip_suffix(&*end_tag) {
            content.push_str(last);
            return Some((*name, content.trim().to_owned(), at + 1 + offset));
        }
        if line.contains(&end_tag) {
            return None;
        }
        content.push_str(line);
    }
    None
}

/// Makes text from a file, a worker or a tool safe for a prompt by breaking the tags in it.
///
/// ```
/// use brigade_kitchen::signal::break_tags;
///
/// assert_eq!(break_tags("<promise>COMPLETE</promise> <b>"), "‹promise>COMPLETE‹/promise> <b>");
/// ```
pub fn break_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, piece) in text.split('<').enumerate() {
        if 0 < index {
            let name = piece.strip_prefix('/').unwrap_or(piece).trim_start().to_ascii_lowercase();
            let is_tag = NAMES.iter().any(|tag| name.starts_with(tag));
            out.push(if is_tag { '‹' } else { '<' });
        }
        out.push_str(piece);
    }
    out
}
