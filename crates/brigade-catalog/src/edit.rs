//! Edits a tools.toml and keeps comments, order, spacing and line ends.
//!
//! Each function takes the text of the file and returns the new one. Only the piece of the file that contains the entry
//! is parsed (by toml_edit); all other bytes are copied. A file with errors elsewhere can be edited, but not an entry
//! whose own TOML is invalid.

mod apply;
mod list;
mod merge;
mod place;
mod put;
mod runtime;
mod settings;

use brigade_core::{ConfigIssue, Severity};
use thiserror::Error;
use toml_edit::{DocumentMut, Item, TableLike};

use crate::entry_text::FieldValue;
use crate::fields::{self, FieldPath, Fields, Shape};
use crate::model::{
    ApprovalMode, Availability, Catalog, Family, Level, RiskClass, SCHEMA, Tool, ToolId, ToolSource,
    Transport, VersionRequirement,
};

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
    /// The file is of a newer version, which may mean other things.
    #[error(
        "line {line}: the file has a schema newer than {known}; change it with a newer version of Brigade"
    )]
    NewerSchema {
        /// The line of `schema`.
        line: usize,
        /// The newest schema that this version writes.
        known: u64,
    },
    /// The file names no valid schema version, so what it means is not known.
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
    let (name, shape) = known(path.name)?;
    check_value(name, shape, path.rest, value)?;
    if name == "id"
        && let FieldValue::Text(new) = value
        && new.trim() != id
        && place::find(text, new.trim()).is_ok()
    {
        return Err(EditError::Exists);
    }
    place::change(text, id, |table| apply::set(table, name, path.rest, value))
}

/// Makes a list field of a tool hold exactly these texts. Elements that stay keep their place, spacing and comments. An
/// empty list that is not in the entry is not added.
pub fn set_list(text: &str, id: &str, field: &str, texts: &[String]) -> Result<String, EditError> {
    let (name, shape) = known(field)?;
    check_value(name, shape, None, &FieldValue::List(texts.to_vec()))?;
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

/// Reads the file to change it.
fn document(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|_| broken(text))
}

fn broken(text: &str) -> EditError {
    EditError::Broken { line: broken_line(text).unwrap_or(1) }
}

fn known(name: &str) -> Result<(&'static str, Shape), EditError> {
    known_in(fields::TOOL, name)
}

fn known_in(fields: Fields, name: &str) -> Result<(&'static str, Shape), EditError> {
    fields.0.iter().find(|(known, _)| *known == name).copied().ok_or(EditError::UnknownField)
}

/// Refuses a file of a newer schema, which is read and never written.
fn check_schema(text: &str) -> Result<(), EditError> {
    // Every file of another schema says so above its entries, or in a piece that looks like this.
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

/// Checks that the reader would accept a value.
fn check_value(
    field: &'static str,
    shape: Shape,
    key: Option<&str>,
    value: &FieldValue,
) -> Result<(), EditError> {
    let text = match value {
        FieldValue::Text(text) => Some(text.trim()),
        _ => None,
    };
    let is = |good: bool, expected: &'static str| {
        if good { Ok(()) } else { Err(EditError::WrongValue { field, expected }) }
    };
    if let (Shape::Group(fields), Some(key)) = (shape, key) {
        let (name, shape) = known_in(fields, key)?;
        return check_value(name, shape, None, value);
    }
    if key.is_some() {
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
        "availability" => is(
            text.is_some_and(|text| text.parse::<Availability>().is_ok()),
            "expected always, installed or conditional",
        ),
        "version" => is(
            text.is_some_and(|text| text.parse::<VersionRequirement>().is_ok()),
            "expected conditions such as >=1.2, <2",
        ),
        "kind" => {
            is(text.is_some_and(|text| text.parse::<ToolSource>().is_ok()), "expected a known kind of source")
        }
        "transport" => {
            is(text.is_some_and(|text| text.parse::<Transport>().is_ok()), "expected stdio, http or sse")
        }
        _ => match (shape, value) {
            (Shape::Required, FieldValue::Text(text)) => {
                is(!text.trim().is_empty(), "expected non-empty text")
            }
            (Shape::Text, FieldValue::Text(_))
            | (Shape::Boolean, FieldValue::Boolean(_))
            | (Shape::Seconds, FieldValue::Seconds(_))
            | (Shape::Table, FieldValue::Table(_)) => Ok(()),
            (Shape::List, FieldValue::List(items)) => {
                is(items.iter().all(|item| !item.trim().is_empty()), "expected non-empty strings")
            }
            (Shape::Lines, FieldValue::Text(_)) => Ok(()),
            (Shape::Lines, FieldValue::List(items)) => {
                is(items.iter().all(|item| !item.trim().is_empty()), "expected non-empty strings")
            }
            (Shape::Amount, FieldValue::Amount(amount)) => {
                is(amount.is_finite() && 0.0 <= *amount, "expected a number of at least 0")
            }
            (Shape::Group(fields), FieldValue::Group(values)) => {
                values.iter().try_for_each(|(key, value)| {
                    let (name, shape) = known_in(fields, key)?;
                    check_value(name, shape, None, value)
                })
            }
            (Shape::Required | Shape::Text, _) => is(false, "expected text"),
            (Shape::Boolean, _) => is(false, "expected true or false"),
            (Shape::Seconds, _) => is(false, "expected a number of seconds"),
            (Shape::Port, _) => is(false, "expected a port"),
            (Shape::List, _) => is(false, "expected a list"),
            (Shape::Lines, _) => is(false, "expected text or a list"),
            (Shape::Amount, _) => is(false, "expected a number"),
            (Shape::Table | Shape::Group(_), _) => is(false, "expected a table"),
        },
    }
}

/// Returns the id of an entry, trimmed as in the reader.
fn id_of(table: &dyn TableLike) -> Option<&str> {
    table.get("id").and_then(Item::as_str).map(str::trim)
}

#[cfg(test)]
mod tests;
