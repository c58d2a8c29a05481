//! Which parts of the words of a command are values: of variables, of headers, and of URLs.
//!
//! This is the only rule for it. What discovery shows, what `sync` remembers, the fingerprint and what is registered
//! are made of words without their literal values.

use std::ops::Range;

use brigade_core::{Dialect, Json};
use brigade_redact::{MARK, container_options, is_of_bundle, is_program, key_in};

use crate::spelling::{is_secret, is_variable};
use crate::urls::{has_literal_user, hidden_credentials, is_unclear, rest_of_url, without_path};
use crate::variables::references;

/// Programs and commands of shells that take `NAME=VALUE` before anything else, in any case of the name.
const ASSIGNING: &[&str] = &[
    "cross-env",
    "cross-env-shell",
    "declare",
    "doas",
    "dotenv",
    "dotenvx",
    "env",
    "export",
    "genv",
    "local",
    "readonly",
    "set",
    "setx",
    "sudo",
    "typeset",
];

/// Long options whose value is `NAME=VALUE`.
const VARIABLE_OPTIONS: &[&str] = &[
    "--build-arg",
    "--env",
    "--env-add",
    "--environment",
    "--set-env",
    "--set-env-vars",
    "--setenv",
    "-env",
];

/// Words behind `--env` that name where something runs, and no variable.
const ENVIRONMENTS: &[&str] = &[
    "default",
    "dev",
    "development",
    "live",
    "local",
    "preview",
    "prod",
    "production",
    "qa",
    "sandbox",
    "stage",
    "staging",
    "test",
    "testing",
];

/// How deep texts for shells are read in each other.
const DEEPEST: usize = 8;

/// What a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A variable of the environment.
    Variable,
    /// A header.
    Header,
    /// A URL: its user, path or query.
    Url,
    /// An option for a key.
    Key,
}

/// A word with a value.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) kind: ValueKind,
    /// Whether the word says something itself, and does not only refer to a variable of the harness.
    pub(crate) is_literal: bool,
    /// Whether the words before it show that it is a secret.
    pub(crate) is_secret: bool,
    /// The word without literal values.
    pub(crate) shown: String,
    /// The name and the value of a variable that the word holds alone, as ranges of the word.
    pub(crate) variable: Option<(Range<usize>, Range<usize>)>,
}

/// Returns for each word of a command whether it holds a value, and the word without it.
pub(crate) fn values(words: &[String]) -> Vec<Option<Held>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let starts: Vec<bool> = words.iter().map(|_| false).collect();
    read(&words, &starts, 0)
}

/// Reads words, of which some are at the start of a command in a text for a shell.
fn read(words: &[&str], starts: &[bool], depth: usize) -> Vec<Option<Held>> {
    let in_container = container_options(words);
    let mut assigns = false;
    let mut is_operand = false;
    let mut found = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        assigns |= starts[at];
        found.push(value_of(words, at, assigns, &in_container, depth));
        let is_known = is_program(word, ASSIGNING);
        let stays = word.contains('=') || word.starts_with('-') || is_operand;
        is_operand =
            assigns && matches!(*word, "-u" | "-C" | "-S" | "-f" | "-g" | "-p" | "--unset" | "--chdir");
        assigns = is_known || (assigns && stays);
    }
    found
}

fn value_of(words: &[&str], at: usize, assigns: bool, in_container: &[bool], depth: usize) -> Option<Held> {
    let word = words[at];
    let before = at.checked_sub(1).map_or("", |before| words[before]);
    if is_header_option(before)
        && let Some(held) = header(word, 0)
    {
        return Some(held);
    }
    if let Some(from) = attached_header(word)
        && let Some(held) = header(word, from)
    {
        return Some(held);
    }
    if is_variable_option(before)
        && let Some(held) = variable(word, 0, false)
    {
        return Some(held);
    }
    if let Some(kind) = kind_of_pair(words, at, in_container) {
        let is_secret = is_secret(before, word, &references(word));
        return Some(Held { is_secret, ..held(kind, word, 0) });
    }
    let key_at = |from: usize| {
        let held = held(ValueKind::Key, word, from);
        Some(Held { is_secret: held.is_literal, ..held })
    };
    if let Some(held) = attached_variable(word) {
        return Some(held);
    }
    if let Some(from) = key_in(words, at, in_container) {
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
    // `sh -c`, `bash -lc`: of another word with spaces, all behind the name may be the value.
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
        return Some(Held { is_secret: held.is_literal, ..held });
    }
    if 0 < at + depth && word.contains(char::is_whitespace) {
        return text(word, 0, depth);
    }
    let base = references(word).shown;
    let shown = without_path(&base);
    (shown != base).then(|| Held {
        kind: ValueKind::Url,
        is_literal: references(&rest_of_url(word)).is_literal(),
        is_secret: is_unclear(word) || has_literal_user(word),
        shown,
        variable: None,
    })
}

/// Returns a word whose value begins at a byte.
fn held(kind: ValueKind, word: &str, from: usize) -> Held {
    let found = references(&word[from..]);
    let is_literal = found.is_literal() || found.has_default;
    let shown = if is_literal { MARK.to_owned() } else { found.shown.into_owned() };
    let shown = format!("{}{shown}", &word[..from]);
    Held { kind, is_literal, is_secret: false, shown, variable: None }
}

/// Returns what a word is the value of where its name is the word before: `--headers NAME VALUE`, `-e NAME VALUE`.
fn kind_of_pair(words: &[&str], at: usize, in_container: &[bool]) -> Option<ValueKind> {
    let option_at = at.checked_sub(2)?;
    let (option, name) = (words[option_at], words[at - 1]);
    if option == "--setenv" && !name.contains('=') {
        return Some(ValueKind::Variable);
    }
    if words[at].starts_with('-') {
        return None;
    }
    let is_header_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_home =
        || option == "-H" && option_at.checked_sub(1).is_some_and(|at| is_program(words[at], &["sudo"]));
    if is_header_option(option) && is_header_name && !name.starts_with('-') && !is_home() {
        return Some(ValueKind::Header);
    }
    let is_pair = is_variable_option(option)
        && is_variable(name)
        && !ENVIRONMENTS.contains(&name)
        && !in_container[option_at];
    is_pair.then_some(ValueKind::Variable)
}

/// Keys of objects whose members are values.
const OBJECTS: &[&str] = &["env", "environment", "envs", "header", "headers"];

/// Reads a word that is JSON, or has it behind `=`, with the headers or variables of something: below a key for them,
/// all of it behind an option for them, or as a list of names with values.
fn object(word: &str, is_below: bool) -> Option<Held> {
    let (from, is_below) = match word.split_once('=') {
        Some((option, rest)) if option.starts_with('-') => {
            (word.len() - rest.len(), is_below || is_variable_option(option))
        }
        _ => (0, is_below),
    };
    let text = &word[from..];
    if !text.starts_with(['{', '[']) || !text.contains('"') {
        return None;
    }
    let json = Json::parse_bytes(text.as_bytes(), Dialect::WithComments).ok()?;
    has_values(&json, is_below).then(|| {
        let held = held(ValueKind::Header, word, from);
        Held { is_secret: held.is_literal, ..held }
    })
}

/// Returns whether JSON has texts below a key for values.
fn has_values(json: &Json, is_below: bool) -> bool {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
        Json::String(text) => is_below && references(text).is_literal(),
        Json::Array(items) => items.iter().any(|item| has_values(item, is_below)),
        Json::Object(members) => {
            let is_pair = named_value(json).is_some();
            members.iter().any(|(key, value)| {
                let is_value = is_pair && key == "value";
                has_values(
                    value,
                    is_below || is_value || OBJECTS.contains(&key.to_ascii_lowercase().as_str()),
                )
            })
        }
    }
}

/// Reads a variable or a header that is written as an object of its own: `{"name": "X", "value": "V"}`.
pub(crate) fn named_value(json: &Json) -> Option<(&str, &Json)> {
    let name = json.get("name").or_else(|| json.get("key"))?.as_str()?;
    Some((name, json.get("value")?))
}

/// Reads `NAME=VALUE` from a byte on. `is_loud` takes only names as variables usually have them.
fn variable(word: &str, from: usize, is_loud: bool) -> Option<Held> {
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
    Some(Held {
        variable: Some((from..end, end + 1..word.len())),
        ..held(ValueKind::Variable, word, end + 1)
    })
}

fn is_variable_option(option: &str) -> bool {
    let is_bundle = || {
        let bundle = option.strip_prefix('-').and_then(|bundle| bundle.strip_suffix('e'));
        bundle.is_some_and(|bundle| bundle.chars().all(is_of_bundle))
    };
    VARIABLE_OPTIONS.contains(&option) || is_bundle()
}

/// Reads an option with `NAME=VALUE` in its own word: `--env=NAME=VALUE`, `-eNAME=VALUE`, `-ie=NAME=VALUE`.
fn attached_variable(word: &str) -> Option<Held> {
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

fn is_header_option(option: &str) -> bool {
    let is_long = || option.starts_with('-') && (option.ends_with("header") || option.ends_with("headers"));
    option == "-H" || is_long()
}

/// Returns where a header begins that stands in the word of its option.
fn attached_header(word: &str) -> Option<usize> {
    if let Some((option, rest)) = word.split_once('=')
        && is_header_option(option)
    {
        return Some(word.len() - rest.len());
    }
    (word.starts_with("-H") && word.contains(':')).then_some(2)
}

/// Reads `Name: value` from a byte on; what is no header in another form is a value as a whole.
fn header(word: &str, from: usize) -> Option<Held> {
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

/// A word of a text for a shell.
struct Token {
    range: Range<usize>,
    text: String,
    starts: bool,
}

/// Reads a text that may be commands for a shell. Of one with open quotes, all from its first value on is a value.
fn text(word: &str, from: usize, depth: usize) -> Option<Held> {
    let whole = || Some(held(ValueKind::Variable, word, from));
    if depth == DEEPEST {
        return whole();
    }
    let quoted = tokens(&word[from..]);
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
    Some(Held { kind: kind?, is_literal, is_secret, shown, variable: None })
}

fn plain_tokens(text: &str) -> Vec<Token> {
    let mut starts = true;
    let of = |part: &str| {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        let token = Token { range: start..start + part.len(), text: part.to_owned(), starts };
        starts = false;
        token
    };
    text.split_whitespace().map(of).collect()
}

/// Splits a text as shells do; `None` if a quote stays open.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut starts = true;
    let mut current: Option<(usize, String)> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                current.get_or_insert_with(|| (at, String::new()));
                quote = Some(c);
            }
            (None | Some('"'), '\\') => {
                let (_, next) = chars.next().unwrap_or((at, '\\'));
                current.get_or_insert_with(|| (at, String::new())).1.push(next);
            }
            (None, c) if c.is_whitespace() || ";&|()`<>".contains(c) => {
                if let Some((start, text)) = current.take() {
                    found.push(Token { range: start..at, text, starts });
                    starts = false;
                }
                starts |= !c.is_whitespace() || c == '\n';
            }
            (_, c) => current.get_or_insert_with(|| (at, String::new())).1.push(c),
        }
    }
    if quote.is_some() {
        return None;
    }
    found.extend(current.map(|(start, word)| Token { range: start..text.len(), text: word, starts }));
    Some(found)
}

#[cfg(test)]
mod tests;
