//! Adds the tools that a server lists to the catalog, disabled, with their input schemas.

use brigade_call::SchemaFact;
use brigade_catalog::edit::{self, EditError};
use brigade_catalog::{Catalog, Level, Runtime, Tool};
use brigade_core::ErrorKind;
use brigade_core::text::escape_terminal;
use brigade_fs::{FileMode, Fs, RelPath};
use brigade_mcp::{
    ImportAction, ImportedTool, ListedTool, McpTool, import_ids, imported_tool, stored_schema,
};
use brigade_policy::Failure;
use brigade_workspace::{CATALOG, CONFIG_LIMIT, compile_schema};

use crate::setup::Setup;

/// The directory of imported input schemas.
const SCHEMAS: &str = ".brigade/tools/schemas";

/// The tool list of a server.
pub struct ServerListing<'l> {
    /// The runtime whose command is the server.
    pub runtime: &'l Runtime,
    /// The tool that the server was asked with.
    pub asking: &'l Tool,
    /// The listed tools.
    pub tools: &'l [ListedTool],
}

/// The result of importing listed tools.
pub struct ImportResult {
    /// The tools, in list order.
    pub tools: Vec<ImportedTool>,
    /// Number of added tools; in a dry run, of tools that would be added.
    pub added: usize,
}

impl Setup<'_> {
    /// Adds wanted tools of a list to the catalog. Existing entries and schemas are never replaced.
    ///
    /// # Errors
    /// Fails if the catalog is not text or cannot be edited, or on a disk error.
    pub fn import_listed(
        &self,
        listed: &ServerListing<'_>,
        wanted: Vec<&ListedTool>,
        dry_run: bool,
        absolute: impl Fn(&str) -> String,
    ) -> Result<ImportResult, Failure> {
        // The lock is held from reading to writing, because another process may import at the same time.
        let _lock = if dry_run { None } else { Some(self.lock_catalog()?) };
        let text = self.text_of_catalog()?;
        if let Some(line) = edit::broken_line(&text) {
            let message = format!("{CATALOG}: line {line}: the TOML is broken there, so nothing is added");
            return Err(Failure::new(ErrorKind::InvalidConfig, message).hint("fix that line by hand first"));
        }
        let catalog = Catalog::parse(CATALOG, Level::Project, text.as_bytes());
        let ids = import_ids(listed.runtime, listed.tools, &catalog);
        let (mut new, mut files, mut tools) = (text.clone(), Vec::new(), Vec::new());
        for tool in wanted {
            let id = &ids[tool.name.as_str()];
            let schema_path = format!("{SCHEMAS}/{id}.input.json");
            let entry = imported_tool(listed.asking, tool, id, &schema_path);
            let schema = stored_schema(tool);
            let mut row = ImportedTool::new(id, &tool.name, absolute(&schema_path));
            row.description.clone_from(&entry.description);
            row.schema_problems = schema_problems(&schema);
            row.detail = why_skipped(self.fs, listed, &catalog, tool, &entry, (&schema_path, &schema));
            if row.detail.is_none() {
                match edit::add_tool(&new, &entry) {
                    Ok(text) => {
                        new = text;
                        files.push((schema_path, schema));
                    }
                    Err(error @ EditError::Exists) => row.detail = Some(error.to_string()),
                    Err(error) => {
                        return Err(Failure::new(ErrorKind::InvalidConfig, format!("{CATALOG}: {error}")));
                    }
                }
            }
            row.action = match (&row.detail, dry_run) {
                (Some(_), _) => ImportAction::Skip,
                (None, true) => ImportAction::WouldAdd,
                (None, false) => ImportAction::Add,
            };
            tools.push(row);
        }
        if !dry_run && new != text {
            self.fs.create_dir_all(&RelPath::from_static(SCHEMAS))?;
            // Schemas are written first, so no entry names a missing file.
            for (path, schema) in &files {
                self.fs.write_atomic(&RelPath::composed(path), schema.as_bytes(), FileMode::KeepOr(0o600))?;
            }
            self.fs.write_atomic(&RelPath::from_static(CATALOG), new.as_bytes(), FileMode::KeepOr(0o600))?;
        }
        Ok(ImportResult { tools, added: files.len() })
    }
}

/// Returns why a listed tool is not added, if there is a reason.
fn why_skipped(
    fs: &dyn Fs,
    listed: &ServerListing<'_>,
    catalog: &Catalog,
    tool: &ListedTool,
    entry: &Tool,
    (schema_path, schema): (&str, &str),
) -> Option<String> {
    if tool.name.trim() != tool.name || tool.name.is_empty() {
        let why = "its name is empty, or begins or ends with white space";
        return Some(why.to_owned());
    }
    let times = listed.tools.iter().filter(|other| other.name == tool.name).count();
    if 1 < times {
        return Some(format!("the server lists it {times} times, so it is never called"));
    }
    let same = |known: &&Tool| McpTool::of_tool(known) == McpTool::of_tool(entry);
    if let Some(known) = catalog.tools().iter().find(same) {
        return Some(format!("the catalog has it as `{}`", escape_terminal(known.id.as_str())));
    }
    let old = fs.read(&RelPath::composed(schema_path), CONFIG_LIMIT);
    let differs = old.is_ok_and(|old| old != schema.as_bytes());
    differs.then(|| format!("`{schema_path}` already exists with another content"))
}

/// Finds the unsupported parts of a tool's stored schema.
fn schema_problems(schema: &str) -> Vec<String> {
    match compile_schema(schema.as_bytes()) {
        SchemaFact::Unsound(problems) => problems.iter().map(ToString::to_string).collect(),
        SchemaFact::NotJson(error) => vec![error.to_string()],
        SchemaFact::File(_) | SchemaFact::Sound { .. } => Vec::new(),
    }
}
