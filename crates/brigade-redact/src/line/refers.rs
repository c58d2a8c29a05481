//! Words of a command line that only refer to a secret, or are about one: names, patterns and messages.

use brigade_command::Program;

use super::code::code_says_none;
use super::texts::{format_says_none, is_replacement, is_sentence, script_says_none};
use super::{is_of_shell, runs_before};
use crate::option::names_a_way;
use crate::rules::is_reference;
use crate::shape::{in_a_line, secrets_in};
use crate::words::{COMMITTING, QUERYING, SEARCHING, TESTING, TEXT_OPTIONS};
use crate::{
    ShellToken, is_header_option, is_secret_name, is_variable_option, looks_secret_value, shell_tokens,
};

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

/// The longest word that is looked at whether it is only about secrets.
const LONGEST: usize = 8 << 10;

/// Returns whether a word names the field of a secret and shows none: a program, a query, a format, a pattern, or a
/// message for people.
fn is_about(words: &[&str], at: usize) -> bool {
    let word = words[at];
    if at == 0 || LONGEST < word.len() || looks_secret_value(word).is_none() {
        return false;
    }
    if is_of_shell(words, at) {
        return shell_says_none(word);
    }
    if is_code(words, at) {
        return is_replacement(word) && script_says_none(word) || code_says_none(word);
    }
    let before = words[at - 1];
    let is_bundle = before.len() <= 4 && !before.starts_with("--") && before.ends_with('m');
    let is_message = before.starts_with('-') && is_bundle && runs_before(words, at, COMMITTING);
    let option = word.split_once('=').map_or(before, |(option, _)| option);
    let is_text = is_message
        || TEXT_OPTIONS.contains(&option)
        || TEXT_OPTIONS.contains(&before)
        || runs_before(words, at, SEARCHING)
        || is_name_of_test(words, at);
    let is_header = is_header_option(before) || is_variable_option(before) || word.starts_with('-');
    (is_text || is_replacement(word)) && script_says_none(word)
        || format_says_none(word)
        || !is_header && is_sentence(word)
}

/// Returns whether a word is a program in a language: behind `python3 -c`, or the operand of `jq`.
pub(super) fn is_code(words: &[&str], at: usize) -> bool {
    let Some((option, before)) = words[..at].split_last() else { return false };
    let takes_code = |word: &&str| Program::of(word).is_some_and(|program| program.takes_code(option));
    let is_operand = || words[at].contains(['{', '(', '"', '|']) && runs_before(words, at, QUERYING);
    (option.starts_with('-') && before.iter().any(takes_code)) || is_operand()
}

/// Returns whether a word chooses tests by their names.
fn is_name_of_test(words: &[&str], at: usize) -> bool {
    let chooses = |(program, options): &(&str, &[&str])| {
        options.contains(&words[at - 1]) && runs_before(words, at, &[program])
    };
    words[at].contains(".py::") || TESTING.iter().any(chooses)
}

/// Returns whether each secret in a text for a shell stands in one word of it that is only about a secret.
fn shell_says_none(text: &str) -> bool {
    let Some(tokens) = shell_tokens(text) else { return false };
    let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    secrets_in(&in_a_line(text)).all(|secret| {
        let is_around = |token: &ShellToken| token.range.contains(&secret.range.start);
        tokens.iter().position(is_around).is_some_and(|at| {
            let start = tokens[..=at].iter().rposition(|token| token.starts).unwrap_or_default();
            let command = &words[start..=at];
            References::of(command).is_one(command, at - start)
        })
    })
}
