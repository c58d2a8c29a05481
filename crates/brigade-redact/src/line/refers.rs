//! Words of a command line that only refer to a secret, or are about one: names, patterns and messages.

use brigade_command::Program;

use super::runs_before;
use crate::option::{names_a_way, reads_like_words};
use crate::rules::{is_placeholder, is_reference};
use crate::words::{COMMITTING, QUERYING, SEARCHING, TEXT_OPTIONS};
use crate::{is_secret_name, looks_secret_value};

/// What of a command line only refers to secrets.
pub(super) struct References {
    /// `--secret NAME` refers to a secret that is stored elsewhere.
    stores_secrets: bool,
}

impl References {
    pub(super) fn of(words: &[&str]) -> References {
        let program = words.first().and_then(|word| Program::of(word));
        References { stores_secrets: program.is_some_and(Program::stores_secrets) }
    }

    /// Returns whether a word refers to a secret, or names a field of one in a query, a pattern or a message.
    pub(super) fn is_one(&self, words: &[&str], at: usize) -> bool {
        let word = words[at];
        let before = at.checked_sub(1).map(|before| words[before]);
        let before = before.filter(|word| word.starts_with('-') && !word.contains('='));
        let of_name = word.split_once('=').is_some_and(|(name, value)| self.refers(name, value));
        of_name || before.is_some_and(|flag| self.refers(flag, word)) || is_about(words, at)
    }

    fn refers(&self, flag: &str, value: &str) -> bool {
        let is_one =
            || is_reference(value) || names_a_way(value) || (self.stores_secrets && flag == "--secret");
        // In a list of names, each has its own name before it.
        let is_list = flag.ends_with("-secrets") && maps_secrets(value);
        is_secret_name(flag.trim_start_matches('-'))
            && (is_list || (is_one() && looks_secret_value(value).is_none()))
    }
}

/// Returns whether a value says under which names stored secrets are given: `DB_PASS=db-pass:latest,/etc/a=key:1`.
fn maps_secrets(value: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-/.".contains(&byte);
    value.split(',').all(|pair| {
        let parts = pair.split_once('=').and_then(|(name, rest)| Some((name, rest.rsplit_once(':')?)));
        parts.is_some_and(|(name, (secret, version))| {
            let is_version = version == "latest" || version.parse::<u16>().is_ok();
            !name.is_empty()
                && !secret.is_empty()
                && name.bytes().chain(secret.bytes()).all(is_name)
                && is_version
        })
    })
}

/// Returns whether a word names the field of a secret and shows none: a query, a pattern, or a message for people.
fn is_about(words: &[&str], at: usize) -> bool {
    let word = words[at];
    if at == 0 || looks_secret_value(word).is_none() {
        return false;
    }
    if runs_before(words, at, QUERYING) {
        let mut names = word.split(|c: char| !(c.is_alphanumeric() || "_-".contains(c)));
        return names.all(|name| looks_secret_value(name).is_none())
            && looks_secret_value(&without_members(word)).is_none();
    }
    let before = words[at - 1];
    let is_message = before == "-m" && runs_before(words, at, COMMITTING);
    let is_text = is_message || TEXT_OPTIONS.contains(&before) || runs_before(words, at, SEARCHING);
    is_text
        && parts_of_script(word).all(|part| looks_secret_value(part).is_none() || has_words_for_values(part))
}

/// Cuts the names off members that are values in a query: `{token: .token}` becomes `{token: .}`.
fn without_members(query: &str) -> String {
    let mut cut = String::with_capacity(query.len());
    let mut is_member = false;
    for c in query.chars() {
        if is_member && (c.is_alphanumeric() || "_.".contains(c)) {
            continue;
        }
        is_member = c == '.' && cut.trim_end().ends_with([':', '=']);
        cut.push(c);
    }
    cut
}

/// Splits a replacement as `sed` takes it into its parts: `s/pattern/text/g`. Another word is one part.
fn parts_of_script(word: &str) -> impl Iterator<Item = &str> {
    let delimiter =
        word.strip_prefix('s').and_then(|rest| rest.chars().next()).filter(char::is_ascii_punctuation);
    let text = delimiter.map_or(word, |delimiter| &word[1 + delimiter.len_utf8()..]);
    text.split(move |c| Some(c) == delimiter)
}

/// Returns whether a text looks secret by a name in it alone: each part behind `=` or `:` consists of ordinary words or
/// of a pattern.
fn has_words_for_values(text: &str) -> bool {
    let mut parts = text.split(['=', ':']);
    let name = parts.next().unwrap_or_default();
    let mut values = parts.peekable();
    values.peek().is_some()
        && looks_secret_value(name).is_none()
        && values.all(|value| {
            value.split_whitespace().all(|word| {
                let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
                let is_plain = word.len() < 2 || is_placeholder(word) || reads_like_words(word);
                is_plain && !word.contains(char::is_uppercase)
            })
        })
}
