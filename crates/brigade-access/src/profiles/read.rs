//! Reads profiles.toml.

use std::sync::Arc;

use brigade_core::{ConfigIssue, Place};
use brigade_policy::LocatedValue;
use brigade_policy::document::{Reader, Value};
use toml::de::{DeTable, DeValue};

use super::{Action, Profile, Profiles, Rule, RuleLimits};
use crate::matcher::Matcher;
use crate::slot::ProfileName;

const TOP_LEVEL_KEYS: &[&str] = &["profile"];
const PROFILE: &[&str] = &["name", "show", "hide", "rule"];
const RULE: &[&str] = &["match", "action", "constrain"];
/// Effects that a profile may grant to commands.
const GRANTABLE_EFFECTS: &[&str] = &["local-write", "network"];
const CONSTRAIN: &[&str] = &["paths", "commands", "effects", "domains", "max_bytes", "calls_per_minute"];

/// Reads the profiles of a text and adds them to the shipped ones, whose names cannot be used again.
pub(super) fn profiles(file: &str, text: &str, shipped: Option<&Profiles>) -> (Profiles, Vec<ConfigIssue>) {
    let mut reader = Reader::new(file, text);
    let table = reader.parse();
    let mut profiles = shipped.cloned().unwrap_or_default();
    for (key, value) in &table {
        match key.get_ref().as_ref() {
            "profile" => {
                for (index, (place, table)) in reader.tables("profile", value).into_iter().enumerate() {
                    let prefix = format!("profile[{}].", index + 1);
                    let Some(profile) = profile(&mut reader, &prefix, place, table, shipped.is_none()) else {
                        continue;
                    };
                    add(&mut reader, &prefix, &mut profiles, profile);
                }
            }
            _ => reader.unknown_member(key, "", TOP_LEVEL_KEYS, TOP_LEVEL_KEYS),
        }
    }
    (profiles, reader.into_issues())
}

fn add(
    reader: &mut Reader<'_>,
    prefix: &str,
    profiles: &mut Profiles,
    (name_place, profile): (Place, Profile),
) {
    let field = format!("{prefix}name");
    match profiles.by_name.get(&profile.name) {
        Some(known) if known.is_shipped && !profile.is_shipped => {
            let message = "this profile is part of Brigade and cannot be defined again";
            reader.error_at(name_place, &field, message, Some("give it another name".to_owned()));
        }
        Some(known) => {
            let line = known.place.line.unwrap_or_default();
            reader.error_at(name_place, &field, &format!("line {line} defines a profile of this name"), None);
        }
        None => {
            profiles.by_name.insert(profile.name.clone(), Arc::new(profile));
        }
    }
}

fn profile(
    reader: &mut Reader<'_>,
    prefix: &str,
    place: Place,
    table: &DeTable<'_>,
    is_shipped: bool,
) -> Option<(Place, Profile)> {
    let mut name: Option<LocatedValue<ProfileName>> = None;
    let (mut show, mut show_place, mut hide, mut rules) = (None, None, Vec::new(), Vec::new());
    for (key, value) in table {
        let field = format!("{prefix}{}", key.get_ref());
        match key.get_ref().as_ref() {
            "name" => name = profile_name(reader, &field, value),
            "show" => {
                show_place = Some(reader.place(&key.span()));
                show = Some(matchers(reader, &field, value));
            }
            "hide" => hide = matchers(reader, &field, value),
            "rule" => {
                for (index, (place, table)) in reader.tables(&field, value).into_iter().enumerate() {
                    let prefix = format!("{field}[{}].", index + 1);
                    rules.extend(rule(reader, &prefix, place, table));
                }
            }
            _ => reader.unknown_member(key, prefix, PROFILE, TOP_LEVEL_KEYS),
        }
    }
    reader.needed(table, &place, prefix, &["name"]);
    let LocatedValue { value: name, place: name_place } = name?;
    Some((name_place, Profile { name, place, is_shipped, show, show_place, hide, rules }))
}

fn profile_name(
    reader: &mut Reader<'_>,
    field: &str,
    value: &Value<'_>,
) -> Option<LocatedValue<ProfileName>> {
    let text = reader.string(field, value)?;
    match text.value.parse::<ProfileName>() {
        Ok(name) => Some(LocatedValue { value: name, place: text.place }),
        Err(error) => {
            reader.error_at(text.place, field, &error.to_string(), None);
            None
        }
    }
}

/// Reads one matcher, or a list of them.
fn matchers(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Vec<LocatedValue<Matcher>> {
    let texts = match value.get_ref() {
        DeValue::String(_) => reader.string(field, value).into_iter().collect(),
        _ => reader.strings(field, value),
    };
    let mut found = Vec::new();
    for text in texts {
        match Matcher::parse(&text.value) {
            Ok(matcher) => found.push(LocatedValue { value: matcher, place: text.place }),
            Err(error) => {
                let hint = error.near.map(|near| format!("did you mean `{near}`?"));
                reader.error_at(text.place, field, &error.message, hint);
            }
        }
    }
    found
}

fn rule(reader: &mut Reader<'_>, prefix: &str, place: Place, table: &DeTable<'_>) -> Option<Rule> {
    let (mut matches, mut action, mut limits) = (Vec::new(), None, None);
    for (key, value) in table {
        let field = format!("{prefix}{}", key.get_ref());
        match key.get_ref().as_ref() {
            "match" => {
                matches = matchers(reader, &field, value);
                if matches!(value.get_ref(), DeValue::Array(elements) if elements.is_empty()) {
                    reader.error(value.span(), Some(&field), "an empty list matches no tool", None);
                }
            }
            "action" => action = reader.word(&field, value, Action::ALL, Action::as_str),
            "constrain" => limits = constrain(reader, &field, value),
            _ => reader.unknown_member(key, prefix, RULE, TOP_LEVEL_KEYS),
        }
    }
    reader.needed(table, &place, prefix, &["match", "action"]);
    Some(Rule { place, matches, action: action?.value, constrain: limits })
}

fn constrain(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Option<RuleLimits> {
    let table = reader.table(field, value)?;
    let mut limits = RuleLimits::default();
    let prefix = format!("{field}.");
    let texts = |found: Vec<LocatedValue<String>>| Some(found.into_iter().map(|text| text.value).collect());
    for (key, value) in table {
        let field = format!("{prefix}{}", key.get_ref());
        match key.get_ref().as_ref() {
            "paths" => limits.paths = texts(reader.strings(&field, value)),
            "commands" => limits.commands = texts(reader.strings(&field, value)),
            "effects" => limits.effects = Some(effects(reader, &field, value)),
            "domains" => limits.domains = texts(reader.strings(&field, value)),
            "max_bytes" => limits.max_bytes = reader.size(&field, value).map(|size| size.value),
            "calls_per_minute" => {
                limits.calls_per_minute = reader.count(&field, value).map(|count| count.value);
            }
            _ => reader.unknown_member(key, &prefix, CONSTRAIN, TOP_LEVEL_KEYS),
        }
    }
    Some(limits)
}

/// Reads the effects that a rule grants to commands.
fn effects(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for text in reader.strings(field, value) {
        if GRANTABLE_EFFECTS.contains(&text.value.as_str()) {
            found.push(text.value);
        } else {
            let message = format!("commands are granted {} alone", GRANTABLE_EFFECTS.join(", "));
            reader.error_at(text.place, field, &message, None);
        }
    }
    found
}
