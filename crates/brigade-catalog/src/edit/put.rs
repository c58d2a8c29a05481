//! Writes a whole entry, and reads entries with the keys that Brigade does not know.

use toml_edit::{Array, InlineTable, Item, Key, TableLike, Value};

use brigade_core::{Json, Object};

use super::{EditError, add_tool, apply, place};
use crate::fields;
use crate::model::Tool;

/// Adds an entry, or makes the existing one equal to it. `unknown` are the keys that a [`Tool`] does not have.
///
/// Fields keep their comments, and unchanged ones are not touched. A field that the new entry lacks is removed.
pub fn put_entry(text: &str, tool: &Tool, unknown: &Object) -> Result<String, EditError> {
    let text = match add_tool(text, tool) {
        Err(EditError::Exists) => text.to_owned(),
        added => added?,
    };
    place::change(&text, tool.id.as_str(), |table| {
        let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
        for key in keys {
            if tool.field(&key).is_none() && !unknown.contains_key(&key) {
                table.remove(&key);
            }
        }
        for name in fields::TOOL.names() {
            if let Some(value) = tool.field(name) {
                apply::set(table, name, None, &value);
            }
        }
        for (key, value) in unknown {
            if table.get(key).and_then(json_of).as_ref() != Some(value)
                && let Some(value) = to_toml(value)
            {
                table.insert(key, Item::Value(value));
            }
        }
    })
}

/// Returns every entry of a text with all its keys. Pieces whose TOML is invalid are left out.
pub(crate) fn entries(text: &str) -> Vec<Object> {
    place::tables(text, |table| object_of(table))
}

/// Formats an entry under its header, known fields first.
pub(crate) fn format_entry(entry: &Object) -> String {
    let known = fields::TOOL.names().filter_map(|name| entry.get_key_value(name));
    let unknown = entry.iter().filter(|(key, _)| fields::TOOL.position(key).is_none());
    let mut text = String::from("[[tool]]\n");
    for (key, value) in known.chain(unknown) {
        if let Some(value) = to_toml(value) {
            text.push_str(&format!("{} = {value}\n", Key::new(key.as_str())));
        }
    }
    text
}

fn object_of(table: &dyn TableLike) -> Object {
    table.iter().filter_map(|(key, item)| Some((key.to_owned(), json_of(item)?))).collect()
}

fn json_of(item: &Item) -> Option<Json> {
    item.clone().into_value().ok().map(|value| json(&value))
}

/// Converts a value; a date becomes its text.
fn json(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::from(text.value().as_str()),
        Value::Integer(number) => Json::from(*number.value()),
        Value::Float(number) => Json::from(*number.value()),
        Value::Boolean(value) => Json::from(*value.value()),
        Value::Datetime(date) => Json::from(date.value().to_string()),
        Value::Array(items) => Json::Array(items.iter().map(json).collect()),
        Value::InlineTable(table) => Json::Object(object_of(table)),
    }
}

/// Converts a value; TOML has no `null`, so members with it are left out.
fn to_toml(value: &Json) -> Option<Value> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().filter_map(to_toml).collect::<Array>().into(),
        Json::Object(members) => {
            let pairs =
                members.iter().filter_map(|(key, value)| Some((Key::new(key.as_str()), to_toml(value)?)));
            pairs.collect::<InlineTable>().into()
        }
    })
}
