//! Flags that make a worker program skip its permission checks, in all spellings.

use brigade_cmdline::{Argv, risk};
use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use super::{Adapter, TABLE};

/// One flag that makes a program skip its permission checks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkipFlag {
    /// The spellings of the flag: long ones, and short ones of one letter.
    pub names: Vec<String>,
    /// The value that the flag needs to have this effect.
    pub says: FlagMatch,
}

/// The value with which a flag skips permission checks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlagMatch {
    /// Any value, or none.
    #[default]
    Anything,
    /// It has this value.
    Value(String),
    /// The flag sets a `key=TOML`, and one of the values is this.
    Setting(String),
}

/// Returns what a word says about a flag: `Some(None)` for the flag alone, `Some(Some(…))` for a flag with a value.
///
/// `shorts` lists the program's letters that take a value. Its short flags may share one word, as in `-pf`.
pub(super) fn flag_in<'a>(word: &'a str, name: &str, shorts: Option<&str>) -> Option<Option<&'a str>> {
    let letter = name.strip_prefix('-').filter(|rest| rest.len() == 1 && *rest != "-");
    if let (Some(letter), Some(shorts)) = (letter, shorts) {
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        for (at, found) in letters.char_indices() {
            if letter.starts_with(found) {
                let rest = &letters[at + 1..];
                return Some((!rest.is_empty()).then(|| rest.strip_prefix('=').unwrap_or(rest)));
            }
            if shorts.contains(found) || !found.is_ascii_alphabetic() {
                return None;
            }
        }
        return None;
    }
    let (found, value) = word.split_once('=').map_or((word, None), |(found, value)| (found, Some(value)));
    (found == name).then_some(value)
}

impl SkipFlag {
    /// Returns the flag as the command spells it, if the command has it.
    fn in_words(&self, words: &[String], shorts: Option<&str>) -> Option<String> {
        words.iter().enumerate().find_map(|(at, word)| {
            let (name, attached) = self
                .names
                .iter()
                .find_map(|name| flag_in(word, name, shorts).map(|attached| (name, attached)))?;
            let value = attached.or(words.get(at + 1).map(String::as_str)).unwrap_or_default();
            match &self.says {
                FlagMatch::Anything => {
                    let is_off = name.starts_with("--") && attached == Some("false");
                    (!is_off).then(|| name.to_owned())
                }
                FlagMatch::Value(skips) => (value == skips.as_str()).then(|| format!("{name} {skips}")),
                FlagMatch::Setting(skips) => sets(value, skips).then(|| format!("{name} …{skips}")),
            }
        })
    }
}

/// Returns whether a setting is this text or contains it. A value that is not TOML is a text, possibly quoted.
fn sets(setting: &str, expected: &str) -> bool {
    fn holds(value: &DeValue<'_>, expected: &str) -> bool {
        match value {
            DeValue::String(text) => text == expected,
            DeValue::Array(items) => items.iter().any(|item| holds(item.get_ref(), expected)),
            DeValue::Table(table) => table.values().any(|item| holds(item.get_ref(), expected)),
            _ => false,
        }
    }
    let Some((_, value)) = setting.split_once('=') else { return false };
    let text = format!("value = {value}");
    match DeTable::parse(&text) {
        Ok(table) => table.get_ref().values().any(|value| holds(value.get_ref(), expected)),
        Err(_) => value.trim().trim_matches(['"', '\'']) == expected,
    }
}

impl Adapter {
    /// Returns the flag with which a command skips permission checks. Checks the flags of this adapter, and those of
    /// the built-in adapters for each program that the command starts, also through a wrapper such as `env`.
    pub(super) fn skipping(&self, argv: &Argv) -> Option<String> {
        let of_row = |row: &Adapter, words: &[String]| {
            row.skip_flags
                .iter()
                .find_map(|flag| flag.in_words(words, row.shorts.as_deref()))
                .or_else(|| row.skip_words(words))
        };
        of_row(self, argv.words()).or_else(|| {
            risk::started_commands(argv).into_iter().find_map(|started| {
                let program = started.words.first()?.rsplit('/').next()?.to_owned();
                let mut rows = TABLE.iter().filter(|row| !row.program.is_empty() && row.program == program);
                rows.find_map(|row| of_row(row, &started.words))
            })
        })
    }
}
