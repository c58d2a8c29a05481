//! Finds the parts of command words that are values: of variables, of headers, and of URLs.
//!
//! `brigade-redact` decides which of them are secrets. Discovery output, saved results, fingerprints and registrations
//! all use the words without their literal values.

use std::ops::Range;

use brigade_cmdline::{Program, Role};
use brigade_redact::{MARK, ShellToken, secret_at, shell_tokens};

use crate::beside::{
    Pair, VARIABLE_OPTIONS, is_header_option, is_variable_option, name_of_pair, object_with_values, pair_at,
};
use crate::container::{container_options, is_of_bundle, is_program};
use crate::curl::header_of_curl;
use crate::spelling::is_secret;
use crate::urls::{has_literal_user, hidden_credentials, is_unclear, rest_of_url, without_path};
use crate::variables::references;

/// Shell builtins and environment tools that take `NAME=VALUE` as the first argument, in any case of the name. They do
/// not start a command after it, so the table of programs does not list them here.
const ASSIGNING: &[&str] =
    &["declare", "dotenv", "dotenvx", "export", "local", "readonly", "set", "setx", "typeset"];

/// Returns whether a program or command takes `NAME=VALUE` as the first argument.
fn sets_variables(word: &str) -> bool {
    let sets = |program: Program| program.sets_variables() || program.role() == Role::Privilege;
    is_program(word, ASSIGNING) || Program::from_word(word).is_some_and(sets)
}

/// The maximum nesting of shell commands.
const MAX_SHELL_DEPTH: usize = 8;

/// What a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An environment variable.
    Variable,
    /// A header.
    Header,
    /// A URL: its user, path or query.
    Url,
    /// An option that takes a key.
    Key,
}

/// A word that contains a value.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct HeldValue {
    pub(crate) kind: ValueKind,
    /// Whether the word has literal text, and not only a reference to a variable of the harness.
    pub(crate) is_literal: bool,
    /// Whether the preceding words show that it is a secret.
    pub(crate) is_secret: bool,
    /// The word without literal values.
    pub(crate) shown: String,
    /// The name and the value of a variable, if the word contains nothing else, as ranges of the word.
    pub(crate) variable: Option<(Range<usize>, Range<usize>)>,
}

/// Returns for each word of a command whether it contains a value, and the word without it.
pub(crate) fn values(words: &[String]) -> Vec<Option<HeldValue>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let starts: Vec<bool> = words.iter().map(|_| false).collect();
    read(&words, &starts, 0)
}

/// Reads words. `starts` marks words at the start of a command within a shell text.
fn read(words: &[&str], starts: &[bool], depth: usize) -> Vec<Option<HeldValue>> {
    let in_container = container_options(words);
    let mut assigns = false;
    let mut is_operand = false;
    let mut found = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        assigns |= starts[at];
        found.push(value_of(words, at, assigns, &in_container, depth));
        let is_known = sets_variables(word);
        let stays = word.contains('=') || word.starts_with('-') || is_operand;
        is_operand =
            assigns && matches!(*word, "-u" | "-C" | "-S" | "-f" | "-g" | "-p" | "--unset" | "--chdir");
        assigns = is_known || (assigns && stays);
    }
    found
}

fn value_of(
    words: &[&str],
    at: usize,
    assigns: bool,
    in_container: &[bool],
    depth: usize,
) -> Option<HeldValue> {
    let word = words[at];
    let before = at.checked_sub(1).map_or("", |before| words[before]);
    if is_header_option(before)
        && let Some(held) = header(word, 0)
    {
        return Some(held);
    }
    if let Some(from) = attached_header(word).or_else(|| header_of_curl(words, at))
        && let Some(held) = header(word, from)
    {
        return Some(held);
    }
    if is_variable_option(before)
        && let Some(held) = variable(word, 0, false)
    {
        return Some(held);
    }
    if let Some(pair) = pair_at(words, at, in_container) {
        let kind = match pair {
            Pair::Variable => ValueKind::Variable,
            Pair::Header => ValueKind::Header,
        };
        let is_secret = is_secret(name_of_pair(words, at), word, &references(word));
        return Some(HeldValue { is_secret, ..held(kind, word, 0) });
    }
    let key_at = |from: usize| {
        let held = held(ValueKind::Key, word, from);
        Some(HeldValue { is_secret: held.is_literal, ..held })
    };
    if let Some(held) = attached_variable(word) {
        return Some(held);
    }
    if !word.contains(char::is_whitespace)
        && let Some(from) = secret_at(words, at)
    {
        return key_at(from);
    }
    if let Some(held) = object(word, is_variable_option(before)) {
        return Some(held);
    }
    if assigns
        && word.starts_with('-')
        && let Some(from) = split_string(word)
    {
        return text(word, from, depth);
    }
    // `sh -c`, `bash -lc`: in another word with spaces, everything after the name may be the value.
    let is_code = before.starts_with('-') && !before.starts_with("--") && before.ends_with('c');
    if is_code && word.contains(char::is_whitespace) {
        return text(word, 0, depth);
    }
    if !word.starts_with('-')
        && let Some(held) = variable(word, 0, !assigns)
    {
        return Some(held);
    }
    if let Some(from) = hidden_credentials(word) {
        let held = held(ValueKind::Url, word, from);
        return Some(HeldValue { is_secret: held.is_literal, ..held });
    }
    if let Some(from) = secret_at(words, at) {
        return key_at(from);
    }
    if 0 < at + depth && word.contains(char::is_whitespace) {
        return text(word, 0, depth);
    }
    let base = references(word).shown;
    let shown = without_path(&base);
    (shown != base).then(|| HeldValue {
        kind: ValueKind::Url,
        is_literal: references(&rest_of_url(word)).is_literal(),
        is_secret: is_unclear(word) || has_literal_user(word),
        shown: shown.into_owned(),
        variable: None,
    })
}

/// Returns a word whose value begins at a byte.
fn held(kind: ValueKind, word: &str, from: usize) -> HeldValue {
    let found = references(&word[from..]);
    let is_literal = found.is_literal() || found.has_default;
    let shown = if is_literal { MARK.to_owned() } else { found.shown.into_owned() };
    let shown = format!("{}{shown}", &word[..from]);
    HeldValue { kind, is_literal, is_secret: false, shown, variable: None }
}

/// Reads a word that is JSON with headers or variables.
fn object(word: &str, is_below: bool) -> Option<HeldValue> {
    let from = object_with_values(word, is_below, |text| references(text).is_literal())?;
    let held = held(ValueKind::Header, word, from);
    Some(HeldValue { is_secret: held.is_literal, ..held })
}

/// Reads `NAME=VALUE` from a byte on. `is_loud` accepts only names in the usual form of variables.
fn variable(word: &str, from: usize, is_loud: bool) -> Option<HeldValue> {
    let rest = &word[from..];
    // PowerShell: `$env:NAME='value'`.
    let (from, is_loud) = match rest.strip_prefix("$env:").or_else(|| rest.strip_prefix("$Env:")) {
        Some(inner) => (word.len() - inner.len(), false),
        None => (from, is_loud),
    };
    let (name, value) = word[from..].split_once('=')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-+".contains(&byte));
    let is_quiet = name.bytes().any(|byte| byte.is_ascii_lowercase() || b".-".contains(&byte));
    if !is_name || value.is_empty() || (is_loud && is_quiet) {
        return None;
    }
    let end = from + name.len();
    Some(HeldValue {
        variable: Some((from..end, end + 1..word.len())),
        ..held(ValueKind::Variable, word, end + 1)
    })
}

/// Reads an option that contains `NAME=VALUE`: `--env=NAME=VALUE`, `-eNAME=VALUE`, `-ie=NAME=VALUE`.
fn attached_variable(word: &str) -> Option<HeldValue> {
    let long = VARIABLE_OPTIONS
        .iter()
        .find(|option| word.strip_prefix(**option).is_some_and(|rest| rest.starts_with('=')));
    if let Some(option) = long {
        return variable(word, option.len() + 1, false);
    }
    let bundle = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-'))?;
    let rest = bundle.trim_start_matches(is_of_bundle).strip_prefix(['e', 'E'])?;
    let rest = rest.strip_prefix('=').unwrap_or(rest);
    variable(word, word.len() - rest.len(), false)
}

/// Returns where a header begins in the word of its option.
fn attached_header(word: &str) -> Option<usize> {
    if let Some((option, rest)) = word.split_once('=')
        && is_header_option(option)
    {
        return Some(word.len() - rest.len());
    }
    (word.starts_with("-H") && word.contains(':')).then_some(2)
}

/// Reads `Name: value` from a byte on. Text in another form is a value as a whole.
fn header(word: &str, from: usize) -> Option<HeldValue> {
    let rest = &word[from..];
    let at = rest.find([':', '=']).filter(|_| !rest.starts_with('@'))?;
    let is_name =
        0 < at && rest[..at].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !is_name {
        return Some(held(ValueKind::Header, word, from));
    }
    let value = rest[at + 1..].trim_start();
    let is_none = value.is_empty() || rest[at + 1..].starts_with("//");
    (!is_none).then(|| held(ValueKind::Header, word, word.len() - value.len()))
}

/// Returns where the text of `env -S` begins in the word of its option.
fn split_string(word: &str) -> Option<usize> {
    if word.starts_with("--s") {
        return word.find('=').map(|at| at + 1);
    }
    word.find('S').filter(|_| !word.starts_with("--")).map(|at| at + 1).filter(|at| *at < word.len())
}

/// Reads a text that may be shell commands. If a quote is not closed, everything from the first value on is a value.
fn text(word: &str, from: usize, depth: usize) -> Option<HeldValue> {
    let whole = || Some(held(ValueKind::Variable, word, from));
    if depth == MAX_SHELL_DEPTH {
        return whole();
    }
    let quoted = shell_tokens(&word[from..]);
    let is_open = quoted.is_none();
    let tokens = quoted.unwrap_or_else(|| plain_tokens(&word[from..]));
    let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    let starts: Vec<bool> = tokens.iter().map(|token| token.starts).collect();
    let mut shown = word[..from].to_owned();
    let mut at = from;
    let mut kind = None;
    let mut is_literal = false;
    let mut is_secret = false;
    for (token, held) in tokens.iter().zip(read(&words, &starts, depth + 1)) {
        let Some(held) = held else { continue };
        shown.push_str(&word[at..from + token.range.start]);
        shown.push_str(&held.shown);
        at = from + token.range.end;
        kind = kind.or(Some(held.kind));
        is_literal |= held.is_literal;
        is_secret |= held.is_secret;
        if is_open && held.is_literal {
            at = word.len();
            break;
        }
    }
    shown.push_str(&word[at..]);
    Some(HeldValue { kind: kind?, is_literal, is_secret, shown, variable: None })
}

fn plain_tokens(text: &str) -> Vec<ShellToken> {
    let mut starts = true;
    let of = |part: &str| {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        let token = ShellToken { range: start..start + part.len(), text: part.to_owned(), starts };
        starts = false;
        token
    };
    text.split_whitespace().map(of).collect()
}

#[cfg(test)]
mod tests;
