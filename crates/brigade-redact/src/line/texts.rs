//! Texts that name the field of a secret and hold none: formats, patterns, replacements and sentences.

use crate::option::reads_like_words;
use crate::rules::is_placeholder;
use crate::shape::{Secret, in_a_line, plain_letters, secrets_in};
use crate::words::PROSE;
use crate::{MARK, SecretKind};

/// Returns whether a word is one replacement as `sed` and Perl take it: `s/pattern/text/g`.
pub(super) fn is_replacement(word: &str) -> bool {
    let mut parts = parts_of_script(word).collect::<Vec<_>>();
    let flags = parts.pop().unwrap_or_default();
    word.starts_with('s') && parts.len() == 2 && flags.bytes().all(|flag| flag.is_ascii_alphanumeric())
}

/// Splits a replacement into its parts. Another word is one part.
fn parts_of_script(word: &str) -> impl Iterator<Item = &str> {
    let delimiter =
        word.strip_prefix('s').and_then(|rest| rest.chars().next()).filter(char::is_ascii_punctuation);
    let text = delimiter.map_or(word, |delimiter| &word[1 + delimiter.len_utf8()..]);
    text.split(move |c| Some(c) == delimiter)
}

/// Returns whether ordinary words or patterns stand behind each name of a secret, to the end of its part.
pub(super) fn script_says_none(word: &str) -> bool {
    parts_of_script(word).all(|part| {
        values_in(part)
            .into_iter()
            .all(|value| value.is_some_and(|value| has_words(&part[start_of(value, part)..])))
    })
}

/// Returns whether a text consists of ordinary words, directives of formats, and signs of patterns.
pub(super) fn has_words(text: &str) -> bool {
    let text = without_directives(text);
    let words = text.split(|c: char| c.is_whitespace() || "=:".contains(c));
    let words = words.map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_plain = |word: &&str| {
        let is_written = |is_kind: fn(&u8) -> bool| word.bytes().all(|byte| is_kind(&byte));
        let is_loud = is_written(u8::is_ascii_uppercase) && reads_like_words(&word.to_ascii_lowercase());
        let is_title = || 1 < words.len() && word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase());
        let is_word = word.len() < 2 || is_placeholder(word) || reads_like_words(word);
        (is_word && (!word.contains(char::is_uppercase) || is_title())) || is_loud
    };
    words.iter().all(is_plain)
}

/// Returns where a part of a text begins in it.
fn start_of(part: &str, text: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Returns whether every value behind the name of a secret is a format, as `printf` takes it: `token: %s\n`.
pub(super) fn format_says_none(text: &str) -> bool {
    let is_format = |value: &str| {
        let rest = &text[start_of(value, text)..];
        let has_directive = value.char_indices().any(|(at, _)| 0 < directive_length(&rest[at..]));
        has_directive && has_words(rest)
    };
    values_in(text).into_iter().all(|value| value.is_some_and(is_format))
}

/// Returns whether every name of a secret is that of a label or of a field, and a sentence follows: `Secret: ready`,
/// `the token: see below`. Words behind `password:` at the beginning of a line are a passphrase, unless they begin as a
/// sentence does.
pub(super) fn is_sentence(text: &str) -> bool {
    let is_sentence = |value: &str| {
        let at = start_of(value, text);
        let (before, rest) = text.split_at(at);
        let Some(before) = before.trim_end_matches(' ').strip_suffix(':') else { return false };
        let name = before.rsplit(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).next();
        let name = name.unwrap_or_default();
        let is_title = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.bytes().skip(1).any(|byte| byte.is_ascii_lowercase());
        let words: Vec<&str> = rest.split([' ', ':']).filter(|word| !word.is_empty()).collect();
        // `X-Api-Key: open`, and the words of a phrase, which are the secret.
        let lower = name.to_ascii_lowercase();
        let is_header = (is_title && name.contains('-')) || lower.ends_with("authorization");
        let line = before[..before.len() - name.len()].rsplit('\n').next().unwrap_or_default();
        let is_key = PASSPHRASES.iter().any(|name| lower.ends_with(name))
            && line.chars().all(|c| c.is_whitespace() || c == '-');
        let begins_sentence = words.first().is_some_and(|word| {
            let is_capital = is_title && word.starts_with(|c: char| c.is_ascii_uppercase());
            is_capital || PROSE.contains(&word.to_ascii_lowercase().as_str())
        });
        let is_long = 1 < words.len();
        !is_header
            && !lower.contains("phrase")
            && (is_title || is_long)
            && (!is_key || !is_long || begins_sentence)
            && text[..at].ends_with(' ')
            && has_words(rest)
    };
    values_in(text).into_iter().all(|value| value.is_some_and(is_sentence))
}

/// Last words of names whose value may be a phrase of ordinary words.
const PASSPHRASES: &[&str] = &["passcode", "passwd", "password", "pwd", "secret", "token"];

/// Lists what stands behind each name of a secret in a text; `None` for a secret without a name, or one whose letters
/// hide it.
pub(super) fn values_in(text: &str) -> Vec<Option<&str>> {
    if plain_letters(text) != text {
        return vec![None];
    }
    let value = |secret: Secret| match secret.kind {
        SecretKind::NamedValue | SecretKind::Authorization => text.get(secret.range),
        _ => None,
    };
    let found = secrets_in(&in_a_line(text)).map(value).collect::<Vec<_>>();
    found.into_iter().filter(|value| *value != Some(MARK)).collect()
}

/// Cuts directives and escapes of formats, and what other languages put in their place, out of a text: `%s`, `%-10s`,
/// `%{http_code}`, `%(name)s`, `#{name}`, `\n`, `\w`.
fn without_directives(text: &str) -> String {
    let text = without_escapes(text);
    let mut rest = text.as_str();
    let mut cut = String::with_capacity(rest.len());
    while let Some(at) = rest.find(['%', '#', '$', '{', '\\']) {
        let (before, directive) = rest.split_at(at);
        cut.push_str(before);
        let length = directive_length(directive);
        cut.push_str(if length == 0 { &directive[..1] } else { "" });
        rest = &directive[length.max(1)..];
    }
    cut + rest
}

/// Cuts escapes out of a text: `\n`, `\w`, `\1`.
fn without_escapes(text: &str) -> String {
    let mut cut = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next_if(char::is_ascii_alphanumeric).is_some() {
            continue;
        }
        cut.push(c);
    }
    cut
}

/// Returns the length of the directive of a format that a text begins with, or 0.
fn directive_length(text: &str) -> usize {
    let enclosed = |open: &str, close: char| {
        let inner = text.strip_prefix(open)?;
        let end = inner.find(close)?;
        let is_name =
            inner[..end].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.- ".contains(&byte));
        (is_name && reads_like_words(&inner[..end]) || end == 0)
            .then_some(open.len() + end + close.len_utf8())
    };
    let named = [("%{", '}'), ("#{", '}'), ("${", '}'), ("{", '}'), ("\\(", ')')];
    if let Some(length) = named.into_iter().find_map(|(open, close)| enclosed(open, close)) {
        return length;
    }
    let Some(rest) = text.strip_prefix('%') else { return 0 };
    let bytes = rest.as_bytes();
    // `%41` is a character of a URL.
    if bytes.len() >= 2 && matches!(bytes[0], b'2'..=b'9') && bytes[1].is_ascii_hexdigit() {
        return 0;
    }
    let name = enclosed("%(", ')').unwrap_or(1);
    let flags = text[name..].trim_start_matches(|c: char| "-+ .*".contains(c) || c.is_ascii_digit());
    let is_letter = flags.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%');
    if is_letter { text.len() - flags.len() + 1 } else { 0 }
}
