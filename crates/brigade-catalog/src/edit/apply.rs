//! Changes the fields of one entry.

use toml_edit::{Decor, InlineTable, Item, RawString, TableLike, Value};

use super::list;
use crate::entry_text::FieldValue;

/// Sets a field, or one key of a table.
pub(super) fn set(table: &mut dyn TableLike, name: &str, key: Option<&str>, value: &FieldValue) {
    match key {
        None => set_whole(table, name, value),
        Some(key) => {
            if let Some(inner) = table.get_mut(name).filter(|item| item.is_table_like()) {
                put(inner, key, value.to_toml());
            } else {
                let mut pairs = InlineTable::new();
                pairs.insert(key, value.to_toml());
                replace(table, name, Value::InlineTable(pairs));
            }
        }
    }
}

fn set_whole(table: &mut dyn TableLike, name: &str, value: &FieldValue) {
    // A table under a header stays there, and its keys keep their comments.
    if let FieldValue::Table(pairs) = value
        && let Some(item) = table.get_mut(name)
        && let Some(inner) = item.as_table_like_mut()
    {
        let gone: Vec<String> =
            inner.iter().map(|(key, _)| key.to_owned()).filter(|key| !pairs.contains_key(key)).collect();
        for key in gone {
            inner.remove(&key);
        }
        for (key, text) in pairs {
            put(item, key, Value::from(text.as_str()));
        }
    } else if let FieldValue::Group(fields) = value
        && let Some(item) = table.get_mut(name)
        && let Some(inner) = item.as_table_like_mut()
    {
        // Keys that Brigade does not know stay.
        for key in crate::fields::group(name).iter().flat_map(|known| known.names()) {
            if !fields.iter().any(|(set, _)| *set == key) {
                inner.remove(key);
            }
        }
        for (key, value) in fields {
            put(item, key, value.to_toml());
        }
    } else {
        replace(table, name, value.to_toml());
    }
}

/// Makes a list field contain exactly these texts. Elements that stay keep their comments.
pub(super) fn set_list(table: &mut dyn TableLike, name: &str, texts: &[String]) {
    let Some(list) = table.get_mut(name).and_then(Item::as_array_mut) else {
        return replace(table, name, FieldValue::List(texts.to_vec()).to_toml());
    };
    let text = |value: &Value| value.as_str().map(|text| text.trim().to_owned());
    let is_gone = |value: &Value| !text(value).is_some_and(|text| texts.contains(&text));
    let gone: Vec<usize> = (0..list.len()).filter(|at| list.get(*at).is_some_and(is_gone)).collect();
    for index in gone.into_iter().rev() {
        list::remove(list, index);
    }
    for new in texts {
        if !list.iter().any(|value| text(value).as_ref() == Some(new)) {
            list::append(list, Value::from(new.as_str()));
        }
    }
}

/// Sets a key of a table field. In an inline table, the space before the closing brace is kept.
fn put(field: &mut Item, key: &str, mut value: Value) {
    if let Some(inline) = field.as_inline_table_mut()
        && !inline.contains_key(key)
        && let Some((_, last)) = inline.iter_mut().last()
        && let Some(blank) = last.decor().suffix().and_then(RawString::as_str).map(str::to_owned)
        && blank.trim_matches([' ', '\t']).is_empty()
    {
        last.decor_mut().set_suffix("");
        *value.decor_mut() = Decor::new(" ", blank);
    }
    if let Some(table) = field.as_table_like_mut() {
        replace(table, key, value);
    }
}

/// Replaces a value and keeps the spacing and comment around it. An equal value is not touched.
fn replace(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            if same(old, &value) {
                return;
            }
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(other) => *other = Item::Value(value),
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}

/// Returns whether two values are equal as text, number, boolean or list of strings.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.value().trim() == b.value(),
        (Value::Integer(a), Value::Integer(b)) => a.value() == b.value(),
        (Value::Float(a), Value::Float(b)) => a.value() == b.value(),
        (Value::Boolean(a), Value::Boolean(b)) => a.value() == b.value(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        _ => false,
    }
}
