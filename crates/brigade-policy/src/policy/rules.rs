//! Reads `[[auto_approve]]`.

use std::collections::BTreeMap;

use brigade_core::{AgentName, Glob, Place, Timestamp};

use crate::AutoApprove;
use crate::document::{LocatedValue, Reader, Value};

const KEYS: &[&str] =
    &["name", "tools", "effects", "agents", "arguments", "env", "max_calls_per_hour", "expires"];
const NEEDED: &[&str] = &["name", "tools", "effects"];

/// Reads the rules.
pub(super) fn read(reader: &mut Reader<'_>, value: &Value<'_>, top: &[&str]) -> Vec<AutoApprove> {
    let mut rules = Vec::new();
    let mut names: BTreeMap<String, Option<usize>> = BTreeMap::new();
    for (index, (place, table)) in reader.tables("auto_approve", value).into_iter().enumerate() {
        let prefix = format!("auto_approve[{}].", index + 1);
        let mut name = None;
        let mut rule = AutoApprove {
            name: String::new(),
            place: place.clone(),
            tools: Vec::new(),
            effects: Vec::new(),
            agents: None,
            arguments: BTreeMap::new(),
            env: Vec::new(),
            max_calls_per_hour: None,
            expires: None,
        };
        for (key, value) in table {
            let field = format!("{prefix}{}", key.get_ref());
            match key.get_ref().as_ref() {
                "name" => name = reader.string(&field, value),
                "tools" => {
                    let globs = reader.some_strings(&field, value).into_iter();
                    let glob = |text: LocatedValue<String>| LocatedValue {
                        value: Glob::of_ids(&text.value),
                        place: text.place,
                    };
                    rule.tools = globs.map(glob).collect();
                }
                "effects" => rule.effects = reader.some_strings(&field, value),
                "agents" => rule.agents = Some(agents(reader, &field, value)),
                "arguments" => rule.arguments = arguments(reader, &field, value),
                "env" => rule.env = reader.some_strings(&field, value),
                "max_calls_per_hour" => rule.max_calls_per_hour = reader.count(&field, value),
                "expires" => rule.expires = expires(reader, &field, value),
                _ => reader.unknown_member(key, &prefix, KEYS, top),
            }
        }
        reader.needed(table, &place, &prefix, NEEDED);
        if let Some(LocatedValue { value, place }) = name {
            if let Some(line) = names.get(&value) {
                let at = line.map_or_else(String::new, |line| format!(", in line {line}"));
                let message = format!("another rule has this name{at}");
                reader.error_at(place, &format!("{prefix}name"), &message, None);
            } else {
                names.insert(value.clone(), place.line);
            }
            rule.name = value;
        }
        rules.push(rule);
    }
    rules
}

fn agents(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Vec<LocatedValue<AgentName>> {
    let mut names = Vec::new();
    for (index, text) in reader.some_strings(field, value).into_iter().enumerate() {
        match text.value.parse() {
            Ok(name) => names.push(LocatedValue { value: name, place: text.place }),
            Err(_) => {
                let field = format!("{field}[{}]", index + 1);
                let message = "expected the name of an agent: letters, digits, `-` and `_`, at most 64";
                reader.error_at(text.place, &field, message, None);
            }
        }
    }
    names
}

fn arguments(
    reader: &mut Reader<'_>,
    field: &str,
    value: &Value<'_>,
) -> BTreeMap<String, LocatedValue<Glob>> {
    let mut globs = BTreeMap::new();
    for (name, value) in reader.table(field, value).into_iter().flatten() {
        let name = name.get_ref().to_string();
        if let Some(text) = reader.string(&format!("{field}.{name}"), value) {
            globs.insert(name, LocatedValue { value: Glob::new(&text.value), place: text.place });
        }
    }
    globs
}

/// Reads the last day on which a rule holds.
fn expires(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Option<LocatedValue<Timestamp>> {
    let text: LocatedValue<String> = reader.string(field, value)?;
    let place: Place = text.place;
    match text.value.parse().ok().filter(|_| text.value.len() == 10) {
        Some(day) => Some(LocatedValue { value: day, place }),
        None => {
            reader.error_at(place, field, "expected a day such as \"2027-01-31\"", None);
            None
        }
    }
}
