//! Writes a whole entry, and reads entries with the keys that Brigade does not know.

use toml_edit::{Item, Key, RawString, TableLike};

use brigade_core::Object;

use super::json::{json_of, object_of, to_toml};
use super::{EditError, add_tool, apply, place};
use crate::fields;
use crate::model::Tool;

/// Adds an entry, or makes the existing one equal to it. `unknown` are the keys that a [`Tool`] does not have.
///
/// Fields keep their comments, and unchanged ones are not touched. A field that the new entry lacks is removed; the
/// comments above it stay.
pub fn put_entry(text: &str, tool: &Tool, unknown: &Object) -> Result<String, EditError> {
    let text = match add_tool(text, tool) {
        Err(EditError::Exists) => text.to_owned(),
        added => added?,
    };
    place::change(&text, tool.id.as_str(), |table| {
        let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
        let mut comments = String::new();
        for key in keys {
            if tool.field(&key).is_none() && !unknown.contains_key(&key) {
                comments.push_str(&comments_above(table, &key));
                table.remove(&key);
            } else if !comments.is_empty() && table.get(&key).is_some_and(Item::is_value) {
                put_above(table, &key, &std::mem::take(&mut comments));
            }
        }
        for name in fields::TOOL.names() {
            if let Some(value) = tool.field(name) {
                apply::set(table, name, None, &value);
            }
        }
        // A new field may follow the last field that stays.
        let last = table.iter().filter(|(_, item)| item.is_value()).last().map(|(key, _)| key.to_owned());
        if let Some(last) = last.filter(|_| !comments.is_empty()) {
            put_above(table, &last, &comments);
        }
        for (key, value) in unknown {
            if table.get(key).map(json_of).as_ref() != Some(value)
                && let Some(value) = to_toml(value)
            {
                table.insert(key, Item::Value(value));
            }
        }
    })
}

/// Returns the lines of comments above a field.
fn comments_above(table: &dyn TableLike, key: &str) -> String {
    let prefix = table.key(key).and_then(|key| key.leaf_decor().prefix()).and_then(RawString::as_str);
    let comment = prefix.filter(|prefix| prefix.contains('#'));
    comment.unwrap_or_default().to_owned()
}

fn put_above(table: &mut dyn TableLike, key: &str, comments: &str) {
    let own = table.key(key).and_then(|key| key.leaf_decor().prefix()).and_then(RawString::as_str);
    let prefix = format!("{comments}{}", own.unwrap_or_default());
    if let Some(mut key) = table.key_mut(key) {
        key.leaf_decor_mut().set_prefix(prefix);
    }
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
