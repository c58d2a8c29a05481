//! Values whose names precede them on a command line: `--headers NAME VALUE`, `-e NAME VALUE`, and members of objects
//! with headers or variables.

use brigade_core::{Dialect, Json};

use crate::container::{is_of_bundle, is_program};

/// Long options whose value is `NAME=VALUE`.
pub(crate) const VARIABLE_OPTIONS: &[&str] = &[
    "--build-arg",
    "--env",
    "--env-add",
    "--environment",
    "--set-env",
    "--set-env-vars",
    "--setenv",
    "-env",
];

/// Programs that search for patterns: `grep -e TOKEN -e SECRET src`.
const SEARCHING: &[&str] = &["ack", "ag", "egrep", "fgrep", "grep", "gsed", "rg", "sed", "zgrep"];

/// Words after `--env` that name a deployment environment instead of a variable.
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

/// What the value of a name-value pair belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pair {
    /// An environment variable.
    Variable,
    /// A header.
    Header,
}

/// Returns what kind of value a word is, if the previous word is its name: `--headers NAME VALUE`, `-e NAME VALUE`.
pub(crate) fn pair_at(words: &[&str], at: usize, in_container: &[bool]) -> Option<Pair> {
    let option_at = at.checked_sub(2)?;
    let (option, name) = (words[option_at], words[at - 1]);
    if option == "--setenv" && !name.contains('=') {
        return Some(Pair::Variable);
    }
    if is_pair_of_shell(&words[..option_at], option, name) {
        return Some(Pair::Variable);
    }
    if words[at].starts_with('-') {
        return None;
    }
    let is_header_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_home =
        || option == "-H" && option_at.checked_sub(1).is_some_and(|at| is_program(words[at], &["sudo"]));
    if is_header_option(option) && is_header_name && !name.starts_with('-') && !is_home() {
        return Some(Pair::Header);
    }
    // `-e` also has other meanings: `grep -e TOKEN -e SECRET src`, `xterm -e vim src`.
    let is_written_so = || {
        let is_loud = !name.bytes().any(|byte| byte.is_ascii_lowercase());
        let is_pattern = words[..option_at].iter().any(|word| is_program(word, SEARCHING));
        option.starts_with("--") || (is_loud && !is_pattern)
    };
    let is_pair = is_variable_option(option)
        && is_variable(name)
        && is_written_so()
        && !ENVIRONMENTS.contains(&name)
        && !in_container[option_at];
    is_pair.then_some(Pair::Variable)
}

/// Returns the name for the value at `at`, if the two are a [pair](pair_at).
pub(crate) fn name_of_pair<'w>(words: &[&'w str], at: usize) -> &'w str {
    match words[at - 1] {
        "=" => words[at - 2].split_once(':').map_or("", |(_, name)| name),
        name => name,
    }
}

/// Returns whether a shell assigns the next word to a variable: Windows `setx NAME VALUE`, fish `set -gx NAME VALUE`,
/// PowerShell `$env:NAME = VALUE`.
fn is_pair_of_shell(before: &[&str], option: &str, name: &str) -> bool {
    let exports = |option: &str| {
        option == "--export"
            || option
                .strip_prefix('-')
                .is_some_and(|bundle| !bundle.starts_with('-') && bundle.ends_with('x'))
    };
    // In other shells `set -x` turns on tracing: `set -x; npx x`.
    let is_loud = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_of_fish = || is_loud && exports(option) && before.last() == Some(&"set");
    let is_of_powershell = || {
        let scope = option.get(..5).filter(|scope| scope.eq_ignore_ascii_case("$env:"));
        scope.is_some_and(|scope| is_variable(&option[scope.len()..]))
    };
    (is_variable(name) && (is_program(option, &["setx"]) || is_of_fish()))
        || (name == "=" && is_of_powershell())
}

/// Returns whether a text is a name of an environment variable.
pub(crate) fn is_variable(name: &str) -> bool {
    name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns whether an option takes `NAME=VALUE` for a variable.
pub(crate) fn is_variable_option(option: &str) -> bool {
    let is_bundle = || {
        let bundle = option.strip_prefix('-').and_then(|bundle| bundle.strip_suffix('e'));
        bundle.is_some_and(|bundle| bundle.chars().all(is_of_bundle))
    };
    VARIABLE_OPTIONS.contains(&option) || is_bundle()
}

/// Returns whether an option takes a header.
pub(crate) fn is_header_option(option: &str) -> bool {
    let is_long = || option.starts_with('-') && (option.ends_with("header") || option.ends_with("headers"));
    option == "-H" || is_long()
}

/// Keys of objects whose members hold values.
const OBJECTS: &[&str] = &["env", "environment", "envs", "header", "headers"];

/// Returns where JSON begins in a word, alone or after `=`, if it holds literal values of headers or variables: below a
/// key for them, anywhere after an option for them, or as a list of names with values.
pub(crate) fn object_with_values(
    word: &str,
    is_below: bool,
    is_value: impl Fn(&str) -> bool,
) -> Option<usize> {
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
    has_values(&json, is_below, &is_value).then_some(from)
}

/// Returns whether JSON has literal texts below a key for values.
fn has_values(json: &Json, is_below: bool, is_literal: &impl Fn(&str) -> bool) -> bool {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
        Json::String(text) => is_below && is_literal(text),
        Json::Array(items) => items.iter().any(|item| has_values(item, is_below, is_literal)),
        Json::Object(members) => {
            let is_pair = named_value(json).is_some();
            members.iter().any(|(key, value)| {
                let is_value = is_pair && key == "value";
                has_values(
                    value,
                    is_below || is_value || OBJECTS.contains(&key.to_ascii_lowercase().as_str()),
                    is_literal,
                )
            })
        }
    }
}

/// Reads a variable or a header in the form of an object: `{"name": "X", "value": "V"}`.
pub(crate) fn named_value(json: &Json) -> Option<(&str, &Json)> {
    let name = json.get("name").or_else(|| json.get("key"))?.as_str()?;
    Some((name, json.get("value")?))
}
