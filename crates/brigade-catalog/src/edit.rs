//! Edits a tools.toml, keeping comments, order, spacing and line endings.
//!
//! Each function takes the text of the file and returns the new text. Only the piece with the entry is parsed, by
//! toml_edit; all other bytes are copied. So a file with errors in other entries can be edited.

mod apply;
mod json;
mod list;
mod merge;
mod place;
mod put;
mod runtime;
mod settings;

use brigade_core::{ConfigIssue, Place, Severity};
use thiserror::Error;
use toml_edit::{DocumentMut, Item, TableLike};

use crate::entry_text::FieldValue;
use crate::fields::{FieldPath, Slot, Slots};
use crate::model::{Catalog, Level, Origin, SCHEMA, Tool, ToolId};

pub(crate) use json::json;
pub use json::{json_of, to_toml};
pub use merge::{Conflict, MergeResult, OnExisting, merge};
pub use put::put_entry;
pub(crate) use put::{entries, format_entry};
pub use runtime::put_runtime;
pub use settings::set_harness_tools;

/// Why a file was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// The tool does not exist.
    #[error("the catalog has no such tool")]
    NotFound,
    /// The id is already taken.
    #[error("the catalog already has a tool with this id")]
    Exists,
    /// The entry, or the text before it, is not valid TOML.
    #[error("line {line}: invalid TOML; fix it by hand first")]
    Broken {
        /// The first line of the invalid piece.
        line: usize,
    },
    /// `tool` is not a list of entries, so nothing can be added.
    #[error(
        "line {line}: `tool` is not a list of entries there; write every entry under its own [[tool]] header"
    )]
    NotAList {
        /// The line of the key.
        line: usize,
    },
    /// Tools have no field with this name.
    #[error("a tool has no such field")]
    UnknownField,
    /// The value has the wrong type or form for the field.
    #[error("field {field}: {expected}")]
    WrongValue {
        /// The field.
        field: &'static str,
        /// The expected value.
        expected: &'static str,
    },
    /// The file has a newer schema, which may have another meaning.
    #[error(
        "line {line}: the file has a schema newer than {known}; change it with a newer version of Brigade"
    )]
    NewerSchema {
        /// The line of `schema`.
        line: usize,
        /// The newest schema that this version writes.
        known: u64,
    },
    /// The file has an invalid schema version, so its meaning is unknown.
    #[error("line {line}: `schema` is not a whole number from 1 on; fix it by hand first")]
    NoSchema {
        /// The line of `schema`.
        line: usize,
    },
}

/// Sets a field of a tool, such as `timeout`, or one key of a table, such as `projections.claude`.
///
/// Keeps the comment on the field's line. A new field is added at the end of the entry. To change the id, set `id`.
pub fn set_field(text: &str, id: &str, field: &str, value: &FieldValue) -> Result<String, EditError> {
    let path = FieldPath::parse(field);
    let name = check_value(path.name, path.rest, value)?;
    if name == "id"
        && let FieldValue::Text(new) = value
        && new.trim() != id
        && place::find(text, new.trim()).is_ok()
    {
        return Err(EditError::Exists);
    }
    place::change(text, id, |table| apply::set(table, name, path.rest, value))
}

/// Makes a list field of a tool contain exactly these texts. Elements that stay keep their place, spacing and comments.
/// An empty list is not added.
pub fn set_list(text: &str, id: &str, field: &str, texts: &[String]) -> Result<String, EditError> {
    let name = check_value(field, None, &FieldValue::List(texts.to_vec()))?;
    place::change(text, id, |table| {
        if !texts.is_empty() || table.contains_key(name) {
            apply::set_list(table, name, texts);
        }
    })
}

/// Adds a tool at the end of the file, or of the list if the file defines `tool` as a list.
pub fn add_tool(text: &str, tool: &Tool) -> Result<String, EditError> {
    match place::find(text, tool.id.as_str()) {
        Ok(_) => return Err(EditError::Exists),
        Err(EditError::NotFound) => {}
        Err(other) => return Err(other),
    }
    place::append(text, tool)
}

/// Returns the line of the first invalid TOML, if there is one. Tools are not added to an invalid file.
pub fn broken_line(text: &str) -> Option<usize> {
    let error = text.parse::<DocumentMut>().err()?;
    let start = error.span().map_or(0, |span| span.start);
    Some(1 + text.as_bytes().iter().take(start).filter(|byte| **byte == b'\n').count())
}

/// Parses the file for editing.
fn document(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|_| broken(text))
}

fn broken(text: &str) -> EditError {
    EditError::Broken { line: broken_line(text).unwrap_or(1) }
}

/// Refuses a file of a newer schema, which is never written.
fn check_schema(text: &str) -> Result<(), EditError> {
    // Fast path: a file with another schema contains the word.
    if !text.contains("schema") {
        return Ok(());
    }
    let catalog = Catalog::parse("", Level::Project, text.as_bytes());
    let Some(place) = catalog.settings().newer_schema() else { return Ok(()) };
    let line = place.line.unwrap_or(1);
    let is_none =
        |issue: &ConfigIssue| issue.severity == Severity::Error && issue.field.as_deref() == Some("schema");
    if catalog.issues().iter().any(is_none) {
        return Err(EditError::NoSchema { line });
    }
    Err(EditError::NewerSchema { line, known: SCHEMA })
}

/// Checks that the reader accepts the value for a field of a tool. Returns the name of the field.
fn check_value(name: &str, key: Option<&str>, value: &FieldValue) -> Result<&'static str, EditError> {
    let blank = Origin::new(Level::Project, Place::file(""));
    check_slot(&mut Tool::bare(ToolId::unset(), blank), name, key, value)
}

fn check_slot(
    owner: &mut dyn Slots,
    name: &str,
    key: Option<&str>,
    value: &FieldValue,
) -> Result<&'static str, EditError> {
    let fields = owner.fields();
    let index = fields.position(name).ok_or(EditError::UnknownField)?;
    let field = fields.0[usize::from(index)].0;
    let result = match (owner.slot(index), key, value) {
        (Slot::Group(group), Some(key), value) => return check_slot(group, key, None, value).map(|_| field),
        (Slot::Table(_), Some(_), FieldValue::Text(_)) => Ok(()),
        (_, Some(_), _) => Err("expected text for a key of a table"),
        (slot, None, FieldValue::Text(text)) => slot.set_text(text),
        (slot, None, FieldValue::Boolean(value)) => slot.set_boolean(*value),
        (slot, None, FieldValue::Seconds(seconds)) => slot.set_number(seconds.get(), false),
        (slot, None, FieldValue::Amount(amount)) => slot.set_number(*amount, false),
        (slot, None, FieldValue::Whole(number)) => slot.set_number(f64::from(*number), true),
        (Slot::List(_) | Slot::Lines(_), None, FieldValue::List(items))
            if items.iter().all(|item| !item.trim().is_empty()) =>
        {
            Ok(())
        }
        (Slot::Table(_), None, FieldValue::Table(_)) => Ok(()),
        (Slot::Group(group), None, FieldValue::Group(values)) => {
            values.iter().try_for_each(|(key, value)| check_slot(group, key, None, value).map(drop))?;
            Ok(())
        }
        (slot, None, FieldValue::List(_) | FieldValue::Table(_) | FieldValue::Group(_)) => {
            Err(slot.expected())
        }
    };
    result.map(|()| field).map_err(|expected| EditError::WrongValue { field, expected })
}

/// Returns the id of an entry, trimmed as in the reader.
fn id_of(table: &dyn TableLike) -> Option<&str> {
    table.get("id").and_then(Item::as_str).map(str::trim)
}

#[cfg(test)]
mod tests;
