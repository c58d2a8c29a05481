//! The text of a new `kitchen.toml`: keys with their explanations and defaults.

use std::fmt::Write as _;

use super::keys::{KEYS, Key, Settings};

const HEAD: &str = include_str!("starter/head.toml");

const SHORT_HEAD: &str = include_str!("starter/short.toml");

/// The keys that most people set.
const SHORT_KEYS: [&str; 6] = [
    "test_cmd",
    "review_enabled",
    "max_parallel",
    "tier.executive.command",
    "tier.sous.command",
    "tier.line.command",
];

/// Which keys a new `kitchen.toml` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StarterKeys {
    /// Those that most people set.
    Short,
    /// All.
    Full,
}

/// The maximum length of a line.
const WIDTH: usize = 100;

const ADAPTER: &str = include_str!("starter/adapter.toml");

/// Returns the text of a new `kitchen.toml`. All keys are commented out, so it changes nothing.
pub fn starter(keys: StarterKeys) -> String {
    render(&Settings::default(), keys, &|_| false)
}

/// Renders keys, and those that are set. The others are commented out.
pub(super) fn render(settings: &Settings, keys: StarterKeys, is_set: &dyn Fn(&Key) -> bool) -> String {
    let is_listed = |key: &&Key| keys == StarterKeys::Full || SHORT_KEYS.contains(&key.toml) || is_set(key);
    let listed: Vec<&Key> = KEYS.iter().filter(is_listed).collect();
    let mut text = if keys == StarterKeys::Full { HEAD } else { SHORT_HEAD }.to_owned();
    let mut tables = vec![""];
    for key in &listed {
        let table = table_of(key);
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    for table in tables {
        if !table.is_empty() {
            let _ = write!(text, "\n[{table}]\n");
        }
        for key in listed.iter().filter(|key| table_of(key) == table) {
            entry(&mut text, key, settings, is_set(key));
        }
    }
    if keys == StarterKeys::Full {
        text.push('\n');
        text.push_str(ADAPTER);
    }
    text
}

fn table_of(key: &Key) -> &'static str {
    key.toml.rsplit_once('.').map_or("", |(table, _)| table)
}

fn entry(text: &mut String, key: &Key, settings: &Settings, is_set: bool) {
    let name = key.toml.rsplit('.').next().unwrap_or(key.toml);
    let range = match key.range() {
        Some((least, u64::MAX)) => format!(" (from {least})"),
        Some((least, most)) => format!(" ({least} to {most})"),
        None => String::new(),
    };
    let bound = if key.bound { " [approved]" } else { "" };
    text.push('\n');
    let mut line = String::from("#");
    for word in format!("{}{range}{bound}", key.meaning.trim()).split(' ') {
        if WIDTH < line.chars().count() + 1 + word.chars().count() {
            text.push_str(&std::mem::replace(&mut line, String::from("#")));
            text.push('\n');
        }
        line.extend([" ", word]);
    }
    text.push_str(&line);
    text.push('\n');
    let _ = match settings.shown(key) {
        Some(value) if is_set => writeln!(text, "{name} = {value}"),
        Some(value) => writeln!(text, "#{name} = {value}"),
        None => writeln!(text, "# {name} is not set"),
    };
}
