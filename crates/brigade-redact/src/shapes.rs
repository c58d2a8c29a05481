//! The shapes of tokens: a prefix, and how many bytes of which alphabet follow. The table is generated from
//! `rules.toml`.

use super::find::{Ending, FoundSecret};
use super::kind::SecretKind;
use super::window::{More, Window};

/// The shape of the tokens of one kind.
pub(crate) struct Shape {
    issuer: &'static str,
    pub(crate) prefix: &'static str,
    alphabet: Alphabet,
    length: Length,
    need: Need,
    /// How many letters or digits come before the prefix.
    before: usize,
    /// How many digits come before the prefix, at least and at most.
    digits: (usize, usize),
    /// Whether the prefix is a name that stays readable.
    keeps_prefix: bool,
}

/// The bytes of a token after its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alphabet {
    Alnum,
    Hex,
    Upper,
    Lower,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits, `_` and `-`.
    Dashed,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    Base64,
    /// The characters of tokens in headers and URLs.
    Token,
}

/// How many bytes follow the prefix.
#[derive(Clone, Copy)]
enum Length {
    Exactly(usize),
    AtLeast(usize),
}

/// What the bytes after a prefix must contain.
#[derive(Clone, Copy)]
enum Need {
    Nothing,
    /// A digit, or a small and a capital letter.
    Varied,
    /// A digit, a small and a capital letter.
    Mixed,
}

include!(concat!(env!("OUT_DIR"), "/shapes.rs"));

/// How many bytes are searched for the required characters.
const SEARCHED: usize = 128;

/// A text with fewer different bytes is a placeholder: `xxxxxxxx`.
const LEAST_DIFFERENT: usize = 3;

impl Alphabet {
    pub(crate) fn has(self, byte: u8) -> bool {
        match self {
            Alphabet::Alnum => byte.is_ascii_alphanumeric(),
            Alphabet::Hex => byte.is_ascii_hexdigit(),
            Alphabet::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alphabet::Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Alphabet::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Alphabet::Dashed => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Alphabet::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Alphabet::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Alphabet::Token => byte.is_ascii_alphanumeric() || b"-._~+/=%".contains(&byte),
        }
    }
}

impl Shape {
    /// Returns where the token begins whose prefix is at a position.
    fn start(&self, window: Window<'_>, prefix: usize) -> Option<usize> {
        let (least, most) = self.digits;
        if 0 < most {
            let before = window.bytes[..prefix].iter().rev().take(most + 1);
            let count = before.take_while(|byte| byte.is_ascii_digit()).count();
            return (least..=most).contains(&count).then(|| prefix - count);
        }
        let start = prefix.checked_sub(self.before)?;
        let is_word = self.keeps_prefix || window.begins_word(start);
        (is_word && window.bytes[start..prefix].iter().all(u8::is_ascii_alphanumeric)).then_some(start)
    }

    /// Finds a token whose prefix is at a position.
    pub(crate) fn find(&self, window: Window<'_>, prefix: usize) -> Result<Option<FoundSecret>, More> {
        let Some(start) = self.start(window, prefix) else { return Ok(None) };
        let body = prefix + self.prefix.len();
        let end = window.skip(body, SEARCHED, |byte| self.alphabet.has(byte))?;
        let text = &window.bytes[body..end];
        let (is_long, length) = match self.length {
            Length::Exactly(length) => {
                let ends = !window.at(end)?.is_some_and(|byte| byte.is_ascii_alphanumeric());
                (text.len() == length && ends, length)
            }
            Length::AtLeast(length) => (length <= text.len(), length),
        };
        let start = if self.keeps_prefix { body } else { start };
        let found = FoundSecret {
            start,
            ending: Ending::Alphabet { skipped: body - start, alphabet: self.alphabet },
            kind: SecretKind::TokenPrefix { issuer: self.issuer },
        };
        let is_random = length < LEAST_DIFFERENT || has_different(text, LEAST_DIFFERENT);
        Ok((is_long && self.need.is_met(text) && is_random).then_some(found))
    }
}

impl Need {
    fn is_met(self, text: &[u8]) -> bool {
        let has = |kind: fn(&u8) -> bool| text.iter().any(kind);
        let has_both_cases = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
        match self {
            Need::Nothing => true,
            Need::Varied => has(u8::is_ascii_digit) || has_both_cases,
            Need::Mixed => has(u8::is_ascii_digit) && has_both_cases,
        }
    }
}

/// Returns whether a text has at least this many different bytes.
pub(crate) fn has_different(text: &[u8], least: usize) -> bool {
    let mut seen = 0_u128;
    text.iter().for_each(|byte| seen |= 1 << (byte & 127));
    least <= seen.count_ones() as usize
}

#[cfg(test)]
mod tests {
    use toml::{Table, Value};

    use crate::{MARK, Redactor};

    /// Every example of `rules.toml`, alone and within a line.
    #[test]
    fn examples_of_the_rules_are_masked() {
        let table: Table = include_str!("../rules.toml").parse().unwrap();
        let redactor = Redactor::new(&[]);
        let mut wrong = Vec::new();
        let mut ids = Vec::new();
        for rule in table["rule"].as_array().unwrap() {
            let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
            let examples = |key: &str| -> Vec<&str> {
                rule[key].as_array().unwrap().iter().map(|example| example.as_str().unwrap()).collect()
            };
            ids.push(text("id").to_owned());
            assert!(!text("source").is_empty(), "{}", text("id"));
            let keeps = rule.get("keep").is_some_and(|keep| keep.as_bool() == Some(true));
            let masked = if keeps { format!("{}{MARK}", text("prefix")) } else { MARK.to_owned() };
            let (positive, negative) = (examples("positive"), examples("negative"));
            assert!(2 <= positive.len() && 2 <= negative.len(), "{}", text("id"));
            let cases = positive.iter().map(|example| (*example, masked.as_str()));
            for (example, expect) in cases.chain(negative.iter().map(|example| (*example, *example))) {
                for (before, after) in [("", ""), ("key = \"", "\"\n"), ("see ", ", and")] {
                    let shown = redactor.redact_str(&format!("{before}{example}{after}"));
                    if shown != format!("{before}{expect}{after}") {
                        wrong.push(format!("{}: {before}{example}{after} gives {shown}", text("id")));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "two rules have one id");
    }
}
