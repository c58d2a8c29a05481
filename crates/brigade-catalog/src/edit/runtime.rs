//! Writes a runtime into a runtimes.toml, and keeps everything else.

use toml_edit::{ArrayOfTables, Item, Table, Value};

use super::{EditError, apply};
use crate::entry_text::FieldValue;
use crate::fields;
use crate::model::Runtime;

/// Fields that are removed if the definition lacks them. Other fields, such as the health command, stay.
const DEFINITION_FIELDS: &[&str] = &["cwd", "timeout", "env_labels", "env", "url", "transport", "headers"];

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
    let fields = names.map(|name| (name, runtime.field(name)));
    let is_it = |table: &&mut Table| super::id_of(&**table) == Some(runtime.id.as_str());
    if let Some(table) = list.iter_mut().find(is_it) {
        for (key, new) in fields {
            match new {
                Some(new) => put(table, key, &new),
                None if DEFINITION_FIELDS.contains(&key) => drop(table.remove(key)),
                None => {}
            }
        }
    } else {
        let mut table = Table::new();
        for (key, new) in fields {
            if let Some(new) = new {
                put(&mut table, key, &new);
            }
        }
        if !text.trim().is_empty() {
            table.decor_mut().set_prefix("\n");
        }
        list.push(table);
    }
    Ok(document.to_string())
}

/// Sets a field. A new table gets its own header.
fn put(table: &mut Table, key: &str, new: &FieldValue) {
    match new {
        FieldValue::Table(pairs) if !table.contains_key(key) => {
            let pairs = pairs.iter().map(|(key, text)| (key, Item::Value(Value::from(text.as_str()))));
            table.insert(key, Item::Table(pairs.collect()));
        }
        new => apply::set(table, key, None, new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Level, RuntimeHome, Runtimes};

    #[test]
    fn a_runtime_gets_its_home_and_variables_in_place() {
        let before = "# mine\n[[runtime]]\nid = \"a\" # it\nname = \"A\"\ncommand = \"x\"\nenv_labels = [\n  \"T\", # t\n]\n";
        let read = Runtimes::parse("r", Level::Project, before.as_bytes());
        let env = [("DATA".to_owned(), "d.json".to_owned())].into();
        let home = Some(RuntimeHome::Private);
        let runtime = Runtime { home, env, ..read.runtime("a").unwrap().clone() };
        let after = put_runtime(before, &runtime).unwrap();
        let end = "enabled = true\nhome = \"private\"\n\n[runtime.env]\nDATA = \"d.json\"\n";
        assert_eq!(after, format!("{before}{end}"));
        let again = Runtimes::parse("r", Level::Project, after.as_bytes());
        assert!(again.is_valid() && again.runtime("a").unwrap().env == runtime.env);
        assert_eq!(put_runtime(&after, again.runtime("a").unwrap()), Ok(after));
    }
}
