//! Converts between JSON and the values of `toml_edit`.

use brigade_core::{Json, Object};
use toml_edit::{Array, InlineTable, Item, Key, TableLike, Value};

/// Converts an item. A date becomes a string.
pub fn json_of(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => json(value),
        Item::Table(table) => Json::Object(object_of(table)),
        Item::ArrayOfTables(tables) => {
            Json::Array(tables.iter().map(|table| Json::Object(object_of(table))).collect())
        }
    }
}

pub(crate) fn object_of(table: &dyn TableLike) -> Object {
    table.iter().map(|(key, item)| (key.to_owned(), json_of(item))).collect()
}

pub(crate) fn json(value: &Value) -> Json {
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

/// Converts a value. Members that are `null` are left out, because TOML has no `null`.
pub fn to_toml(value: &Json) -> Option<Value> {
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
            let members = members.iter();
            let pairs = members.filter_map(|(key, value)| Some((Key::new(key.as_str()), to_toml(value)?)));
            pairs.collect::<InlineTable>().into()
        }
    })
}
