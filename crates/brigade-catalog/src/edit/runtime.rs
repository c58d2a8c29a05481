//! Writes a runtime into a runtimes.toml, and keeps everything else.

use toml_edit::{ArrayOfTables, Item, Table, value};

use super::EditError;
use crate::fields;
use crate::model::Runtime;

/// Fields that are removed if the definition lacks them. Other fields, such as the health command, stay.
const DEFINITION_FIELDS: &[&str] = &["cwd", "timeout", "env_labels", "url", "transport", "headers"];

/// Adds a runtime at the end of the file, or changes the fields of the existing one.
///
/// # Errors
/// Fails if the file is not valid TOML, or `runtime` is not a list of entries.
pub fn put_runtime(text: &str, runtime: &Runtime) -> Result<String, EditError> {
    let mut document = super::document(text)?;
    let list = document.entry("runtime").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let list = list.as_array_of_tables_mut().ok_or_else(|| super::broken(text))?;
    // The command of a remote server follows from its URL.
    let is_written = |name: &str| runtime.url.is_none() || !matches!(name, "command" | "on_demand");
    let names = fields::RUNTIME.names().filter(|name| is_written(name));
    let fields = names.map(|name| (name, runtime.field(name).map(|value| value.to_toml())));
    let is_it = |table: &&mut Table| super::id_of(&**table) == Some(runtime.id.as_str());
    if let Some(table) = list.iter_mut().find(is_it) {
        for (key, new) in fields {
            match (new, table.get_mut(key)) {
                (Some(new), Some(Item::Value(old))) => {
                    let decor = old.decor().clone();
                    *old = new;
                    *old.decor_mut() = decor;
                }
                (Some(new), _) => {
                    table.insert(key, value(new));
                }
                (None, _) if DEFINITION_FIELDS.contains(&key) => {
                    table.remove(key);
                }
                (None, _) => {}
            }
        }
    } else {
        let mut table = Table::new();
        for (key, new) in fields {
            if let Some(new) = new {
                table.insert(key, value(new));
            }
        }
        if !text.trim().is_empty() {
            table.decor_mut().set_prefix("\n");
        }
        list.push(table);
    }
    Ok(document.to_string())
}
