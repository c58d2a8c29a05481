//! Finds the values bound to a run, in every form in which they may appear.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::window::{Extent, Window};
use super::{MARK, SecretValue};

/// Shorter values are found only as whole words. Their encoded forms are too common to mask.
const SHORTEST_INSIDE_WORDS: usize = 3;

/// Shorter values are not searched in encoded form, and never cause a refusal.
pub(super) const SHORTEST_TELLING: usize = 4;

/// Shorter lines of a value are not searched separately.
const SHORTEST_LINE: usize = 8;

/// How many bytes of a form the automaton searches. The rest is compared, so that a long value costs little to prepare.
const ANCHOR: usize = 32;

/// How many bytes are searched with a table of all states of the automaton.
const MOST_TABLED: usize = 8 << 10;

/// How many bytes at the end of a stream are searched again with each piece of it.
const MOST_REPEATED: usize = 256 << 10;

/// The bound values, prepared for searching.
pub(super) struct Bound {
    /// Finds the beginnings of the forms.
    automaton: AhoCorasick,
    /// For each beginning: the forms that may start there, the longest first.
    starts: Vec<Vec<usize>>,
    forms: Vec<Form>,
    longest: usize,
}

struct Form {
    bytes: Vec<u8>,
    /// Whether it must be a whole word.
    is_word: bool,
    /// Whether it is a part of the mark.
    is_in_mark: bool,
}

impl Bound {
    /// Prepares the values. Returns `None` if there is nothing to find.
    pub(super) fn new(values: &[SecretValue]) -> Option<Bound> {
        let mut forms = BTreeSet::new();
        for value in values {
            forms_of(value.expose(), &mut forms);
        }
        Bound::from_forms(forms.into_iter().collect())
    }

    /// Leaves out values that are too short to prove that a text has them.
    pub(super) fn telling(&self) -> Option<Bound> {
        let forms = self.forms.iter().map(|form| form.bytes.clone());
        Bound::from_forms(forms.filter(|form| SHORTEST_TELLING <= form.len()).collect())
    }

    /// Prepares sorted forms.
    fn from_forms(forms: Vec<Vec<u8>>) -> Option<Bound> {
        let (anchors, starts) = anchors(&forms);
        let longest = forms.iter().map(Vec::len).max()?;
        let kind = if anchors.iter().map(|anchor| anchor.len()).sum::<usize>() <= MOST_TABLED {
            None
        } else {
            Some(AhoCorasickKind::ContiguousNFA)
        };
        // Building fails only if memory is exhausted.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(kind)
            .build(&anchors)
            .expect("the forms of the bound values fit an automaton");
        let forms = forms
            .into_iter()
            .map(|bytes| Form {
                is_word: bytes.len() < SHORTEST_INSIDE_WORDS,
                is_in_mark: memchr::memmem::find(MARK.as_bytes(), &bytes).is_some(),
                bytes,
            })
            .collect();
        Some(Bound { automaton, starts, forms, longest })
    }

    /// The number of bytes at the end of a stream that may be undecided.
    pub(super) fn holds_back(&self) -> usize {
        // A short value needs the byte after it, and a part of a mark needs the rest of the mark.
        self.longest.max(MARK.len()) + MARK.len()
    }

    /// Returns whether this many undecided bytes are worth a search. A possible part of a long form is examined again
    /// with each search. Without this limit, the time for a stream would grow with the product of both lengths.
    pub(super) fn is_due(&self, undecided: usize) -> bool {
        let longest = self.holds_back();
        longest <= MOST_REPEATED || longest.saturating_mul(2) <= undecided
    }

    /// Finds the values that start at `from` or later. Returns the position before which everything is decided.
    pub(super) fn find(&self, window: Window<'_>, from: usize, masks: &mut Vec<Range<usize>>) -> usize {
        let length = window.bytes.len();
        let decided = match window.extent {
            Extent::Ended => length,
            Extent::GoesOn => length.saturating_sub(self.holds_back()).max(from),
        };
        let mut position = from;
        // Every start is tried, so that overlapping values are masked as one.
        while position < decided {
            let input = aho_corasick::Input::new(window.bytes).span(position..length);
            let Some(found) = self.automaton.find(input).filter(|found| found.start() < decided) else {
                break;
            };
            position = found.start() + 1;
            let rest = &window.bytes[found.start()..];
            let forms = self.starts[found.pattern().as_usize()].iter().map(|index| &self.forms[*index]);
            let Some(form) = forms.into_iter().find(|form| rest.starts_with(&form.bytes)) else { continue };
            let found = found.start()..found.start() + form.bytes.len();
            let hidden = form.is_in_mark && is_within_mark(window.bytes, found.clone());
            let alone = !form.is_word || is_word(window.bytes, found.clone());
            if !hidden && alone {
                masks.push(found);
            }
        }
        decided
    }
}

/// Returns the beginnings of sorted forms, and for each the forms that may start where it is found, the longest first.
fn anchors(forms: &[Vec<u8>]) -> (Vec<&[u8]>, Vec<Vec<usize>>) {
    let (mut anchors, mut starts): (Vec<&[u8]>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    // The last beginning and the earlier ones that are prefixes of it, shortest first.
    let mut nested: Vec<usize> = Vec::new();
    for (index, form) in forms.iter().enumerate() {
        let anchor = &form[..form.len().min(ANCHOR)];
        if anchors.last() != Some(&anchor) {
            while nested.last().is_some_and(|outer| !anchor.starts_with(anchors[*outer])) {
                nested.pop();
            }
            // Where the longer beginning is found, the shorter ones are not reported.
            starts.push(nested.last().map(|outer| starts[*outer].clone()).unwrap_or_default());
            nested.push(anchors.len());
            anchors.push(anchor);
        }
        starts.last_mut().expect("an anchor was added").push(index);
    }
    for forms_there in &mut starts {
        forms_there.sort_by_key(|index| std::cmp::Reverse(forms[*index].len()));
    }
    (anchors, starts)
}

/// Returns whether a match is inside a mark that the text already contains.
fn is_within_mark(bytes: &[u8], found: Range<usize>) -> bool {
    let earliest = found.end.saturating_sub(MARK.len());
    (earliest..=found.start).any(|start| bytes[start..].starts_with(MARK.as_bytes()))
}

fn is_word(bytes: &[u8], found: Range<usize>) -> bool {
    let is_letter = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let before = found.start.checked_sub(1).and_then(|before| bytes.get(before));
    !is_letter(before) && !is_letter(bytes.get(found.end))
}

/// Adds a value and the forms in which programs write it.
fn forms_of(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    // The value as it remains after `$(…)` in a shell, or after reading it as a line.
    let trimmed = value.trim_ascii();
    if trimmed.is_empty() {
        return;
    }
    for text in [value, trimmed] {
        forms.insert(text.to_vec());
        if SHORTEST_TELLING <= text.len() {
            quoted(text, forms);
            encoded(text, forms);
        }
    }
    let lines: Vec<&[u8]> = trimmed.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
    if 1 < lines.len() {
        for line in lines.iter().filter(|line| SHORTEST_LINE <= line.len()) {
            forms.insert(line.to_vec());
            quoted(line, forms);
            encoded(line, forms);
        }
    }
}

/// Adds the value as it is written in a shell and in JSON, also one within the other, up to three levels of JSON.
fn quoted(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    let Ok(text) = std::str::from_utf8(value) else { return };
    let escaped = |special: fn(char) -> bool| -> String {
        text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
    };
    let in_shell = [
        text.to_owned(),
        text.replace('\'', "'\\''"),
        text.replace('\'', "'\"'\"'"),
        escaped(|c| "\\\"$`".contains(c)),
        escaped(|c| c.is_ascii() && !c.is_ascii_alphanumeric() && !"-_./:=@%+,".contains(c)),
    ];
    // Writers differ in whether they escape a slash, DEL, what HTML reserves, and non-ASCII characters, and in the case
    // of digits.
    let escapes =
        [Escape::Needed, Escape::Html, Escape::Ascii { is_upper: false }, Escape::Ascii { is_upper: true }];
    for escape in escapes {
        for (form, is_slash_escaped) in in_shell.iter().flat_map(|form| [(form, false), (form, true)]) {
            let mut form = form.clone();
            for level in 0..4 {
                forms.insert(form.clone().into_bytes());
                form = json(&form, escape, is_slash_escaped && level == 0);
            }
        }
    }
}

/// Which characters a writer of JSON escapes.
#[derive(Clone, Copy)]
enum Escape {
    /// Only those that must be escaped.
    Needed,
    /// Also what HTML reserves, as Go does.
    Html,
    /// All except printable ASCII.
    Ascii { is_upper: bool },
}

/// Writes a text as JSON does, without the quotes around it.
fn json(text: &str, escape: Escape, is_slash_escaped: bool) -> String {
    let mut written = String::with_capacity(text.len());
    let code = |unit: u16| match escape {
        Escape::Ascii { is_upper: true } => format!("\\u{unit:04X}"),
        _ => format!("\\u{unit:04x}"),
    };
    for c in text.chars() {
        match c {
            '"' | '\\' => written.extend(['\\', c]),
            '/' if is_slash_escaped => written.push_str("\\/"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            '<' | '>' | '&' if matches!(escape, Escape::Html) => written.push_str(&code(c as u16)),
            ' '..='~' => written.push(c),
            '\u{7f}'.. if matches!(escape, Escape::Needed | Escape::Html) => written.push(c),
            c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| written.push_str(&code(*unit))),
        }
    }
    written
}

/// Adds the value in base64, hexadecimal and URL encoding.
fn encoded(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    for alphabet in [STANDARD, URL_SAFE] {
        for offset in 0..3 {
            forms.insert(base64_core(value, offset, alphabet));
        }
    }
    lines_of_base64(value, forms);
    for is_upper in [true, false] {
        forms.insert(value.iter().flat_map(|byte| hexadecimal(*byte, is_upper)).collect());
        // Writers keep different characters: RFC 3986, two functions of JavaScript, Python's `quote`, HTML forms.
        for kept in [&b"-_.~"[..], b"-_.~!'()*", b"-_.~!'()*;,/?:@&=+$#", b"-_.~/", b"*-._"] {
            forms.insert(percent(value, kept, is_upper, b"%20"));
            if value.contains(&b' ') {
                forms.insert(percent(value, kept, is_upper, b"+"));
            }
        }
    }
}

/// Adds the lines of an encoded value, as `base64` and `openssl` break them.
fn lines_of_base64(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    let text = base64_core(value, 0, STANDARD);
    for width in [64, 76].into_iter().filter(|width| *width < text.len()) {
        forms.extend(text.chunks(width).filter(|line| SHORTEST_LINE <= line.len()).map(<[u8]>::to_vec));
    }
}

fn percent(value: &[u8], kept: &[u8], is_upper: bool, space: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len() * 3);
    for byte in value {
        match byte {
            b' ' => text.extend_from_slice(space),
            byte if byte.is_ascii_alphanumeric() || kept.contains(byte) => text.push(*byte),
            byte => {
                text.push(b'%');
                text.extend_from_slice(&hexadecimal(*byte, is_upper));
            }
        }
    }
    text
}

fn hexadecimal(byte: u8, is_upper: bool) -> [u8; 2] {
    let digits = if is_upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    [byte >> 4, byte & 15].map(|digit| digits[usize::from(digit)])
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns the base64 characters that depend only on the value, if `offset` bytes of the last group of three precede
/// it.
fn base64_core(value: &[u8], offset: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let first = (offset * 8).div_ceil(6);
    let last = (offset + value.len()) * 8 / 6;
    let sextet = |index: usize| {
        let bit = index * 6 - offset * 8;
        let high = usize::from(value[bit / 8]);
        let low = usize::from(value.get(bit / 8 + 1).copied().unwrap_or(0));
        (high << 8 | low) >> (10 - bit % 8) & 0x3f
    };
    (first..last).map(|index| alphabet[sextet(index)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_encoded_by_common_writers_are_masked() {
        let redactor = crate::Redactor::bound_only(&[SecretValue::from("v\u{e9}'4\"2<Ab/c")]);
        for form in [
            "v\u{e9}'4\"2<Ab/c",
            "v\u{e9}'\"'\"'4\"2<Ab/c",
            "v\u{e9}'\\''4\"2<Ab/c",
            "v\u{e9}'4\\\"2<Ab/c",
            "v\\u00e9'4\\\"2<Ab\\/c",
            "v\\u00E9'4\\\"2<Ab/c",
            "v\\\\u00e9'4\\\\\\\"2<Ab/c",
            "v%c3%a9%274%222%3cAb%2fc",
            "v%C3%A9'4%222%3CAb%2Fc",
            "76c3a9273422323c41622f63",
        ] {
            assert_eq!(redactor.redact_str(form), MARK, "{form}");
        }
    }

    #[test]
    fn a_form_that_is_a_prefix_of_another_is_found() {
        let long = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
        let values = [long, "abcd", "abcdefghijklmnopqrstuvwxyz012345678-"].map(SecretValue::from);
        let redactor = crate::Redactor::bound_only(&values);
        for (text, expect) in [
            (long, "[redacted]"),
            ("abcdefghijklmnopqrstuvwxyz0123456789ABCD-", "[redacted]efghijklmnopqrstuvwxyz0123456789ABCD-"),
            ("abcdefghijklmnopqrstuvwxyz012345678-", "[redacted]"),
            ("abcde", "[redacted]e"),
        ] {
            assert_eq!(redactor.redact_str(text), expect);
        }
    }

    #[test]
    fn base64_cores_agree_with_an_encoder() {
        // The output of `printf 'EXAMPLE' | base64`, and with one and two bytes before it.
        assert_eq!(base64_core(b"EXAMPLE", 0, STANDARD), b"RVhBTVBMR");
        assert_eq!(base64_core(b"EXAMPLE", 1, STANDARD), b"VYQU1QTE");
        assert_eq!(base64_core(b"EXAMPLE", 2, STANDARD), b"FWEFNUExF");
    }
}
