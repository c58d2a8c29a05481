//! Changes a tools.toml and keeps what a person wrote: comments, order, spacing, line ends.
//!
//! All functions take the text of the file and return the new one. Only the piece of the file that holds the entry
//! is taken apart (by toml_edit); all other bytes are copied. A file with errors elsewhere can be edited, an entry
//! whose own TOML is broken cannot.

mod apply;
mod list;
mod merge;
mod place;

use thiserror::Error;
use toml_edit::{Item, TableLike};

use crate::entry_text::FieldValue;
use crate::fields::{self, FieldPath, Shape};
use crate::model::{ApprovalMode, Family, RiskClass, Tool, ToolId};

pub use merge::{Conflict, Existing, Merged, merge};

/// Why a file was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// There is no such tool.
    #[error("the catalog has no such tool")]
    NotFound,
    /// The id is taken.
    #[error("the catalog has a tool with this id already")]
    Exists,
    /// The entry, or what is before it, is not valid TOML.
    #[error("line {line}: the TOML is broken there; mend it by hand first")]
    Broken {
        /// Where the piece starts that cannot be taken apart.
        line: usize,
    },
    /// `tool` is something else than a list of entries, so there is nothing to add to.
    #[error(
        "line {line}: `tool` is not a list of entries there; write every entry under its own [[tool]] header"
    )]
    NotAList {
        /// Where it stands.
        line: usize,
    },
    /// The field is none that a tool has.
    #[error("a tool has no such field")]
    UnknownField,
    /// The value does not suit the field.
    #[error("field {field}: {expected}")]
    WrongValue {
        /// The field.
        field: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// The field may not be removed.
    #[error("field {field} is required")]
    Required {
        /// The field.
        field: &'static str,
    },
}

/// Sets a field of a tool, such as `timeout`, or one key of a table, such as `projections.claude`.
///
/// The comment on the field's line stays. A field that was not there is added at the end of the entry. To change the
/// id, set `id`.
pub fn set_field(text: &str, id: &str, field: &str, value: &FieldValue) -> Result<String, EditError> {
    let path = FieldPath::of(field);
    let (name, shape) = known(path.name)?;
    check_value(name, shape, path.rest.is_some(), value)?;
    if name == "id"
        && let FieldValue::Text(new) = value
        && new.trim() != id
        && place::find(text, new.trim()).is_ok()
    {
        return Err(EditError::Exists);
    }
    place::change(text, id, |table| apply::set(table, name, path.rest, value))
}

/// Removes a field of a tool, or one key of a table; nothing changes when it is not there.
pub fn remove_field(text: &str, id: &str, field: &str) -> Result<String, EditError> {
    let path = FieldPath::of(field);
    let (name, shape) = known(path.name)?;
    if shape == Shape::Required {
        return Err(EditError::Required { field: name });
    }
    place::change(text, id, |table| match path.rest {
        None => {
            table.remove(name);
        }
        Some(key) => {
            if let Some(inner) = table.get_mut(name).and_then(Item::as_table_like_mut) {
                inner.remove(key);
            }
        }
    })
}

/// Adds a tool at the end of the file, or of the list where the file gives its tools as the value of a key.
pub fn add_tool(text: &str, tool: &Tool) -> Result<String, EditError> {
    match place::find(text, tool.id.as_str()) {
        Ok(_) => return Err(EditError::Exists),
        Err(EditError::NotFound) => {}
        Err(other) => return Err(other),
    }
    place::append(text, tool)
}

/// Removes a tool, with the comment lines directly above its header; those at the top of the file stay.
pub fn remove_tool(text: &str, id: &str) -> Result<String, EditError> {
    place::remove(text, id)
}

/// Tells in which line the TOML of a file is broken, when it is. A file that is broken anywhere is not one to add to.
pub fn broken_line(text: &str) -> Option<usize> {
    let error = text.parse::<toml_edit::DocumentMut>().err()?;
    let start = error.span().map_or(0, |span| span.start);
    Some(1 + text.as_bytes().iter().take(start).filter(|byte| **byte == b'\n').count())
}

fn known(name: &str) -> Result<(&'static str, Shape), EditError> {
    fields::TOOL.0.iter().find(|(known, _)| *known == name).copied().ok_or(EditError::UnknownField)
}

/// Checks that a value is one that the reader accepts.
fn check_value(field: &'static str, shape: Shape, is_key: bool, value: &FieldValue) -> Result<(), EditError> {
    let text = match value {
        FieldValue::Text(text) => Some(text.trim()),
        _ => None,
    };
    let is = |good: bool, expected: &'static str| {
        if good { Ok(()) } else { Err(EditError::WrongValue { field, expected }) }
    };
    if is_key {
        return is(shape == Shape::Table && text.is_some(), "expected text for a key of a table");
    }
    match field {
        "id" => is(text.is_some_and(|text| text.parse::<ToolId>().is_ok()), "expected text of one line"),
        "family" => is(text.is_some_and(|text| text.parse::<Family>().is_ok()), "expected a known family"),
        "approval_mode" => is(
            text.is_some_and(|text| text.parse::<ApprovalMode>().is_ok()),
            "expected never, on-request or always",
        ),
        "risk_class" => is(
            text.is_some_and(|text| text.parse::<RiskClass>().is_ok()),
            "expected read, local-write, network or privileged",
        ),
        _ => match (shape, value) {
            (Shape::Required, FieldValue::Text(text)) => {
                is(!text.trim().is_empty(), "expected text that is not empty")
            }
            (Shape::Text, FieldValue::Text(_))
            | (Shape::Boolean, FieldValue::Boolean(_))
            | (Shape::Seconds, FieldValue::Seconds(_))
            | (Shape::Table, FieldValue::Table(_)) => Ok(()),
            (Shape::List, FieldValue::List(items)) => {
                is(items.iter().all(|item| !item.trim().is_empty()), "expected texts that are not empty")
            }
            (Shape::Required | Shape::Text, _) => is(false, "expected text"),
            (Shape::Boolean, _) => is(false, "expected true or false"),
            (Shape::Seconds, _) => is(false, "expected a number of seconds"),
            (Shape::Port, _) => is(false, "expected a port"),
            (Shape::List, _) => is(false, "expected a list"),
            (Shape::Table, _) => is(false, "expected a table"),
        },
    }
}

/// Returns the id of an entry, trimmed as the reader does it.
fn id_of(table: &dyn TableLike) -> Option<&str> {
    table.get("id").and_then(Item::as_str).map(str::trim)
}

#[cfg(test)]
mod tests;
