//! Writes `[registry]` of a tools.toml, and keeps everything else.

use toml_edit::{Item, Table, value};

use super::{EditError, check_schema};

/// Sets `harness_tools` under `[registry]`.
///
/// # Errors
/// Fails if the file is not valid TOML or has a newer schema, or `registry` is not a table.
pub fn set_harness_tools(text: &str, truth: bool) -> Result<String, EditError> {
    check_schema(text)?;
    let mut document = super::document(text)?;
    if let Some(registry) = document.get_mut("registry") {
        let registry = registry.as_table_like_mut().ok_or_else(|| super::broken(text))?;
        match registry.get_mut("harness_tools") {
            Some(item) => *item = value(truth),
            None => {
                registry.insert("harness_tools", value(truth));
            }
        }
        return Ok(document.to_string());
    }
    let mut registry = Table::new();
    registry.insert("harness_tools", value(truth));
    if !text.trim().is_empty() {
        registry.decor_mut().set_prefix("\n");
    }
    document.insert("registry", Item::Table(registry));
    Ok(document.to_string())
}
