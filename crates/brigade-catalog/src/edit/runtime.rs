//! Writes a runtime into a runtimes.toml, and keeps everything else.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, Value, value};

use super::EditError;
use crate::model::Runtime;

/// Adds a runtime at the end of the file, or changes the fields of the existing one.
///
/// # Errors
/// If the file is not valid TOML, or `runtime` is not a list of entries.
pub fn put_runtime(text: &str, runtime: &Runtime) -> Result<String, EditError> {
    let broken = || EditError::Broken { line: super::broken_line(text).unwrap_or(1) };
    let mut document: DocumentMut = text.parse().map_err(|_| broken())?;
    let list = document.entry("runtime").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let list = list.as_array_of_tables_mut().ok_or_else(broken)?;
    let fields: [(&str, Value); 5] = [
        ("id", runtime.id.as_str().into()),
        ("name", runtime.name.as_str().into()),
        ("enabled", runtime.enabled.into()),
        ("command", runtime.command.as_str().into()),
        ("on_demand", runtime.on_demand.into()),
    ];
    let is_it = |table: &&mut Table| super::id_of(&**table) == Some(runtime.id.as_str());
    if let Some(table) = list.iter_mut().find(is_it) {
        for (key, new) in fields {
            if let Some(Item::Value(old)) = table.get_mut(key) {
                let decor = old.decor().clone();
                *old = new;
                *old.decor_mut() = decor;
            } else {
                table.insert(key, value(new));
            }
        }
    } else {
        let mut table = Table::new();
        for (key, new) in fields {
            table.insert(key, value(new));
        }
        if !text.trim().is_empty() {
            table.decor_mut().set_prefix("\n");
        }
        list.push(table);
    }
    Ok(document.to_string())
}
