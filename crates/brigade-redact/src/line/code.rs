//! Programs in a word of a command line. In a program, a secret is a string: calls, variables and members are none.

use std::ops::Range;

use super::texts::{format_says_none, has_words, is_sentence, values_in};
use crate::looks_secret_value;
use crate::option::reads_like_words;
use crate::words::SCHEMES;

/// Returns whether a program holds no secret: what stands behind each name of one is an expression without a string
/// that may be one.
pub(super) fn code_says_none(text: &str) -> bool {
    let code = Code { text, strings: strings(text) };
    let is_token = |word: &str| looks_secret_value(word).is_some();
    let is_none = |value: &str| {
        let mut words = value.split(|c: char| !(c.is_alphanumeric() || "_-".contains(c)));
        !words.any(is_token) && code.is_none(value.as_ptr() as usize - text.as_ptr() as usize)
    };
    values_in(text).into_iter().all(|value| value.is_some_and(is_none))
}

/// Returns whether no string that may be a secret stands in a program from a byte on, to the end of the expression.
pub(super) fn is_expression(text: &str, from: usize) -> bool {
    Code { text, strings: strings(text) }.is_expression(from)
}

struct Code<'t> {
    text: &'t str,
    /// What stands between quotes.
    strings: Vec<Range<usize>>,
}

impl Code<'_> {
    /// Returns whether a value that begins at a byte is no secret.
    fn is_none(&self, at: usize) -> bool {
        let Some(string) = self.strings.iter().find(|string| string.contains(&at)) else {
            return self.is_expression(at);
        };
        let content = &self.text[string.clone()];
        let before = &self.text[string.start..at];
        if before.contains([':', '=', '>']) || before.contains("--") {
            // The string has the name, too.
            return format_says_none(content) || is_sentence(content);
        }
        is_scheme(content) && self.is_expression(string.end + 1)
    }

    fn is_expression(&self, from: usize) -> bool {
        let is_sign = |c: char| c.is_whitespace() || ",+.&".contains(c);
        let start = self.text.len() - self.text[from..].trim_start_matches(is_sign).len();
        let Some(end) = self.end_of_harmless(start) else { return false };
        let expression = &self.text[start..end];
        let head = expression.trim_start_matches(['!', '&', '*', '@']);
        let rest = head.trim_start_matches(is_of_name);
        let name = &head[..head.len() - rest.len()];
        if name.is_empty() {
            let is_open = head.is_empty() || head.starts_with(['$', '(', '[', '{', '"', '\'', '`', ';']);
            return is_open || has_words(expression);
        }
        let goes_on = ["(", ".", "[", "::", "->", "?."].iter().any(|sign| rest.starts_with(sign));
        let is_constant =
            || name.contains('_') && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let is_name = name.len() <= 2 || is_constant() || reads_like_words(name);
        // What stands behind these is a string in Perl: `q(text)`.
        let is_quote = || matches!(name, "q" | "qq" | "qw") && !rest.is_empty();
        !name.starts_with(|c: char| c.is_ascii_digit()) && (goes_on || is_name) && !is_quote()
    }

    /// Returns where an expression ends; `None` if it has a string that may be a secret. Within parentheses, words and
    /// names are none.
    fn end_of_harmless(&self, start: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let mut at = start;
        while let Some(c) = self.text[at..].chars().next() {
            if let Some(string) = self.strings.iter().find(|string| string.start == at + 1) {
                let content = &self.text[string.clone()];
                let is_name = |text: &str| {
                    let is_prompt = text.trim_end().ends_with(':');
                    text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
                        || has_words(text)
                        || (is_prompt && has_words(&text.to_ascii_lowercase()))
                };
                if !(content.is_empty() || is_scheme(content) || (0 < depth && is_name(content))) {
                    return None;
                }
                at = string.end + 1;
                continue;
            }
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth == 0 => break,
                ')' | ']' | '}' => depth -= 1,
                ';' | '\n' | ',' if depth == 0 => break,
                _ => {}
            }
            at += c.len_utf8();
        }
        Some(at)
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns whether a string is the scheme of an authorization, to which a token is added.
fn is_scheme(content: &str) -> bool {
    SCHEMES.iter().any(|scheme| content.trim().eq_ignore_ascii_case(scheme))
}

/// Lists what stands between quotes. A quote that is never closed opens none.
fn strings(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find(['"', '\'', '`']).map(|open| at + open) {
        let quote = text.as_bytes()[open];
        at = match end_of_string(text.as_bytes(), open + 1, quote) {
            Some(end) => {
                found.push(open + 1..end);
                end + 1
            }
            None => open + 1,
        };
    }
    found
}

fn end_of_string(bytes: &[u8], from: usize, quote: u8) -> Option<usize> {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            byte if *byte == quote => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}
