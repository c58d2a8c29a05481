//! Reads `.brigade/kitchen.toml`.

use brigade_core::{Place, Severity, closest};
use brigade_policy::document::{Reader, Value};
use brigade_redact::shown_name;
use toml::de::{DeTable, DeValue};

use super::Config;
use super::keys::{KEYS, Key};
use super::value::RawValue;
use crate::adapter;

pub(super) fn read(file: &str, text: &str, config: &mut Config) {
    let mut reader = Reader::new(file, text);
    let table = reader.parse();
    if reader.is_toml() {
        tables(&mut reader, "", &table, config);
    }
    // Text after a syntax error may be misread, so nothing of a broken file is used.
    config.issues.extend(reader.into_issues());
}

fn tables(reader: &mut Reader<'_>, prefix: &str, table: &DeTable<'_>, config: &mut Config) {
    for (name, value) in table {
        let path = format!("{prefix}{}", name.get_ref());
        let place = reader.place(&value.span());
        if let Some(key) = Key::of_toml(&path) {
            config.set(key, &raw(value), place, key.toml);
            continue;
        }
        let below = format!("{path}.");
        match value.get_ref() {
            _ if path == "adapter" => config.adapters = adapter::rows(reader, value),
            DeValue::Table(inner) if KEYS.iter().any(|key| key.toml.starts_with(&below)) => {
                tables(reader, &below, inner, config);
            }
            _ => unknown(&path, reader.place(&name.span()), config),
        }
    }
}

fn unknown(path: &str, place: Place, config: &mut Config) {
    let last = path.rsplit('.').next().unwrap_or(path);
    let tables = KEYS.iter().filter_map(|key| Some(key.toml.rsplit_once('.')?.0));
    let known = KEYS.iter().map(|key| key.toml).chain(tables).chain(["adapter"]);
    // Suggests a key for a name from `brigade.config`, from another table, or with a typo.
    let moved =
        Key::from_shell(last).or_else(|| KEYS.iter().find(|key| key.toml.rsplit('.').next() == Some(last)));
    let near = moved.map(|key| key.toml).or_else(|| closest(path, known));
    let hint = near.map(|near| format!("did you mean `{near}`?"));
    let shown: Vec<&str> = path.split('.').map(shown_name).collect();
    config.issue(Severity::Warning, place, &shown.join("."), "unknown key, so it has no effect", hint);
}

fn raw(value: &Value<'_>) -> RawValue {
    match value.get_ref() {
        DeValue::String(text) => RawValue::Text(text.clone().into_owned()),
        DeValue::Boolean(truth) => RawValue::Truth(*truth),
        DeValue::Integer(number) if number.radix() == 10 => RawValue::Number(number.as_str().to_owned()),
        DeValue::Float(number) => RawValue::Number(number.as_str().to_owned()),
        DeValue::Array(elements) => {
            let text = |element: &Value<'_>| match element.get_ref() {
                DeValue::String(text) => Some(text.clone().into_owned()),
                _ => None,
            };
            elements
                .iter()
                .map(text)
                .collect::<Option<Vec<String>>>()
                .map_or(RawValue::Other, RawValue::Texts)
        }
        _ => RawValue::Other,
    }
}
