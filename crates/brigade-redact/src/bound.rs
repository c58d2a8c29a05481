//! Finds the values bound to a run, in every form in which they may appear.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::spelled::Spelled;
use super::window::{Extent, Window};
use super::{MARK, SecretValue};

/// Shorter values are found only as whole words. Their encoded forms are too common to mask.
const SHORTEST_INSIDE_WORDS: usize = 3;

/// Shorter values are not searched in encoded form, and nothing is refused because of them.
pub(super) const SHORTEST_TELLING: usize = 4;

/// Shorter values are not searched in upper and lower case, and shorter lines are not searched separately.
const SHORTEST_VARIED: usize = 8;

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
    /// Finds values whose characters are escaped with backslashes.
    spelled: Spelled,
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
        let forms: Vec<Vec<u8>> = forms.into_iter().collect();
        let (anchors, starts) = anchors(&forms);
        let spelled = Spelled::new(values.iter().flat_map(|value| escapable(value.expose())));
        let longest = forms.iter().map(Vec::len).max()?.max(spelled.longest());
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
        Some(Bound { automaton, starts, forms, spelled, longest })
    }

    /// The number of bytes at the end of a stream that may be undecided.
    pub(super) fn holds_back(&self) -> usize {
        // A short value needs the byte after it, and a part of the mark needs the rest of the mark.
        self.longest.max(MARK.len()) + MARK.len()
    }

    /// Tells whether so many undecided bytes are worth a search. What may be a part of a long form is looked at again
    /// with each search, so the time for a stream would grow with the product of both lengths.
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
        self.spelled.find(window.bytes, from..decided, masks);
        decided
    }
}

/// Returns the beginnings of sorted forms, and for each the forms that may start where it is found, the longest first.
fn anchors(forms: &[Vec<u8>]) -> (Vec<&[u8]>, Vec<Vec<usize>>) {
    let (mut anchors, mut starts): (Vec<&[u8]>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    // The beginnings, each a prefix of the next, that the last one starts with.
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

/// Lists the texts of a value to search with escapes.
fn escapable(value: &[u8]) -> Vec<Vec<u8>> {
    let trimmed = value.trim_ascii();
    let lines: Vec<&[u8]> = trimmed.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).collect();
    let lines = lines.iter().filter(|line| 1 < lines.len() && SHORTEST_VARIED <= line.len());
    let whole = Some(&trimmed).filter(|text| SHORTEST_TELLING <= text.len());
    whole.into_iter().chain(lines).map(|text| text.to_vec()).collect()
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

fn forms_of(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    // The value as it remains after `$(…)` in a shell, or after reading it as a line.
    let trimmed = value.trim_ascii();
    if trimmed.is_empty() {
        return;
    }
    let lines: Vec<&[u8]> = trimmed.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).collect();
    for text in [value, trimmed] {
        forms.insert(text.to_vec());
        if SHORTEST_TELLING <= text.len() {
            escaped(text, forms);
            encoded(text, forms);
        }
    }
    if SHORTEST_VARIED <= trimmed.len() {
        forms.insert(trimmed.to_ascii_uppercase());
        forms.insert(trimmed.to_ascii_lowercase());
        if let Some(text) = std::str::from_utf8(trimmed).ok().filter(|text| !text.is_ascii()) {
            for text in [text.to_uppercase(), text.to_lowercase()] {
                percent_forms(text.as_bytes(), forms);
                forms.insert(text.into_bytes());
            }
        }
        percent_forms(&trimmed.to_ascii_lowercase(), forms);
    }
    if 1 < lines.len() {
        for line in lines.iter().filter(|line| SHORTEST_VARIED <= line.len()) {
            forms.insert(line.to_vec());
            encoded(line, forms);
        }
    }
}

/// Adds the value as escaped in HTML and in single quotes of a shell. Escapes with backslashes are searched separately.
fn escaped(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    if let Ok(text) = std::str::from_utf8(value) {
        html(text, forms);
    }
    for quote in ["'\\''", "'\"'\"'"] {
        forms.insert(String::from_utf8_lossy(value).replace('\'', quote).into_bytes());
    }
}

/// Adds the value as escaped in HTML. Writers differ in how they escape quotes and non-ASCII characters.
fn html(text: &str, forms: &mut BTreeSet<Vec<u8>>) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let numbered: String = text
        .chars()
        .map(|c| if c.is_ascii() { c.to_string() } else { format!("&#{};", u32::from(c)) })
        .collect();
    for text in [text, numbered] {
        for (double, single) in [
            ("\"", "'"),
            ("&quot;", "'"),
            ("&quot;", "&#x27;"),
            ("&quot;", "&#39;"),
            ("&quot;", "&apos;"),
            ("&#34;", "&#39;"),
        ] {
            forms.insert(text.replace('"', double).replace('\'', single).into_bytes());
        }
    }
}

/// Adds the value in base64, hexadecimal and URL encoding.
fn encoded(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    for alphabet in [STANDARD, URL_SAFE] {
        for offset in 0..3 {
            forms.insert(base64_core(value, offset, alphabet));
        }
    }
    let mut hex = |before: &str, between: &str| {
        for upper in [true, false] {
            let mut text = Vec::with_capacity(value.len() * (2 + before.len() + between.len()));
            for (index, byte) in value.iter().enumerate() {
                text.extend_from_slice(if index == 0 { b"" } else { between.as_bytes() });
                text.extend_from_slice(before.as_bytes());
                text.extend_from_slice(&hexadecimal(*byte, upper));
            }
            forms.insert(text);
        }
    };
    // The formats of digests, certificates, dumps and URLs.
    for (before, between) in [("", ""), ("", ":"), ("", " "), ("%", "")] {
        hex(before, between);
    }
    for width in [64, 76] {
        lines_of_base64(value, width, forms);
    }
    percent_forms(value, forms);
}

/// Adds the URL-encoded value.
fn percent_forms(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    // Writers keep different characters unescaped: RFC 3986, two functions of JavaScript, Python's `quote`, HTML forms,
    // none.
    for kept in [&b"-_.~"[..], b"-_.~!'()*", b"-_.~!'()*;,/?:@&=+$#", b"-_.~/", b"*-._"] {
        for upper in [true, false] {
            forms.insert(percent(value, kept, upper, b"%20"));
            if value.contains(&b' ') {
                forms.insert(percent(value, kept, upper, b"+"));
            }
        }
    }
}

/// Adds the lines of a value that is encoded on its own, as `base64` and `openssl` break them.
fn lines_of_base64(value: &[u8], width: usize, forms: &mut BTreeSet<Vec<u8>>) {
    let text = base64_core(value, 0, STANDARD);
    if width < text.len() {
        forms.extend(text.chunks(width).filter(|line| SHORTEST_VARIED <= line.len()).map(<[u8]>::to_vec));
    }
}

fn percent(value: &[u8], kept: &[u8], upper: bool, space: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len() * 3);
    for byte in value {
        match byte {
            b' ' => text.extend_from_slice(space),
            byte if byte.is_ascii_alphanumeric() || kept.contains(byte) => text.push(*byte),
            byte => {
                text.push(b'%');
                text.extend_from_slice(&hexadecimal(*byte, upper));
            }
        }
    }
    text
}

fn hexadecimal(byte: u8, upper: bool) -> [u8; 2] {
    let digits = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
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
            "v\u{e9}&#x27;4&quot;2&lt;Ab/c",
            "v\u{e9}&#39;4&#34;2&lt;Ab/c",
            "v&#233;&#x27;4&quot;2&lt;Ab/c",
            "v\u{e9}'\"'\"'4\"2<Ab/c",
            "v\u{e9}'\\''4\"2<Ab/c",
            "V\u{c9}'4\"2<AB/C",
            "v\\\\u00e9'4\\\\\\\"2<Ab/c",
            "v%c3%a9%274%222%3cAb%2fc",
            "v%c3%a9%274%222%3cab%2fc",
        ] {
            assert_eq!(redactor.redact_str(form), MARK, "{form}");
        }
    }

    #[test]
    fn a_short_form_is_found_where_a_longer_one_begins_too() {
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
