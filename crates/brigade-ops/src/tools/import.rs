//! Adds the tools that a server lists to the catalog, disabled, with their schemas.

use brigade_call::SchemaFact;
use brigade_catalog::edit::{self, EditError};
use brigade_catalog::{Catalog, Level, Runtime, Tool};
use brigade_core::ErrorKind;
use brigade_core::text::escape_terminal;
use brigade_fs::{FileMode, Fs, NewFile, RelPath, write_together};
use brigade_mcp::{
    ImportAction, ImportedTool, ListedTool, McpTool, SchemaPaths, import_ids, imported_tool, stored_schema,
};
use brigade_policy::Failure;
use brigade_workspace::{CATALOG, CONFIG_LIMIT, compile_schema};

use crate::setup::Setup;

/// The directory of imported schemas.
pub(crate) const SCHEMAS: &str = ".brigade/tools/schemas";

/// The tool list of a server.
pub struct ServerListing<'l> {
    /// The runtime whose command is the server.
    pub runtime: &'l Runtime,
    /// The tool that the server was asked with.
    pub asking: &'l Tool,
    /// The listed tools.
    pub tools: &'l [ListedTool],
}

/// What an import of listed tools adds.
pub struct ImportPlan {
    /// The tools, in list order.
    pub tools: Vec<ImportedTool>,
    /// The new text of the catalog.
    pub text: String,
    /// The files with schemas.
    pub(crate) files: Vec<NewFile>,
}

impl ImportPlan {
    /// Returns the number of tools that are added.
    pub fn added(&self) -> usize {
        self.tools.iter().filter(|tool| tool.action != ImportAction::Skip).count()
    }
}

impl Setup<'_> {
    /// Reads the catalog to add entries to it.
    ///
    /// # Errors
    /// Fails if the catalog is not text, or not valid TOML, or on a disk error.
    pub(crate) fn editable_catalog(&self) -> Result<String, Failure> {
        self.editable(CATALOG)
    }

    /// Like [`Setup::editable_catalog`], for any configuration file.
    pub(crate) fn editable(&self, file: &'static str) -> Result<String, Failure> {
        let text = self.text_of(file)?;
        match edit::broken_line(&text) {
            None => Ok(text),
            Some(line) => {
                let message = format!("{file}: line {line}: the TOML is broken there, so nothing is changed");
                Err(Failure::new(ErrorKind::InvalidConfig, message).hint("fix that line by hand first"))
            }
        }
    }

    /// Plans to add wanted tools of a list to a catalog. Existing entries and schemas are never replaced.
    ///
    /// # Errors
    /// Fails if the catalog cannot be edited.
    pub fn plan_import(
        &self,
        text: &str,
        listed: &ServerListing<'_>,
        selected: &[&ListedTool],
        added: ImportAction,
        absolute: impl Fn(&str) -> String,
    ) -> Result<ImportPlan, Failure> {
        let catalog = Catalog::parse(CATALOG, Level::Project, text.as_bytes());
        let ids = import_ids(listed.runtime, listed.tools, &catalog);
        let mut plan = ImportPlan { tools: Vec::new(), text: text.to_owned(), files: Vec::new() };
        for tool in selected {
            let id = &ids[tool.name.as_str()];
            let paths = SchemaPaths::new(SCHEMAS, id, tool);
            let entry = imported_tool(listed.asking, tool, id, &paths);
            let files = schema_files(tool, &paths);
            let mut row = ImportedTool::new(id, &tool.name, absolute(&paths.input));
            row.description.clone_from(&entry.description);
            row.proposed_effects.clone_from(&entry.proposed_effects);
            row.output_schema_path = paths.output.as_deref().map(&absolute);
            row.schema_problems = schema_problems(&stored_schema(tool));
            row.detail = why_skipped(&*self.context.fs, listed, &catalog, tool, &entry, &files);
            if row.detail.is_none() {
                match edit::add_tool(&plan.text, &entry) {
                    Ok(text) => {
                        plan.text = text;
                        plan.files.extend(files);
                    }
                    Err(error @ EditError::Exists) => row.detail = Some(error.to_string()),
                    Err(error) => {
                        return Err(Failure::new(ErrorKind::InvalidConfig, format!("{CATALOG}: {error}")));
                    }
                }
            }
            row.action = if row.detail.is_some() { ImportAction::Skip } else { added };
            plan.tools.push(row);
        }
        Ok(plan)
    }

    /// Writes schemas and the catalog, all or none. Schemas are written first, so no entry names a missing file.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub(crate) fn write_catalog_with(&self, mut files: Vec<NewFile>, text: String) -> Result<(), Failure> {
        files.push((RelPath::from_static(CATALOG), text.into(), FileMode::KeepOr(0o600)));
        Ok(write_together(&*self.context.fs, &files, CONFIG_LIMIT)?)
    }
}

/// Returns the files with the schemas of a listed tool.
pub(crate) fn schema_files(tool: &ListedTool, paths: &SchemaPaths) -> Vec<NewFile> {
    let file = |path: &str, text: String| -> NewFile {
        (RelPath::composed(path), text.into(), FileMode::KeepOr(0o600))
    };
    let output = paths.output.as_deref().zip(tool.output_schema.as_ref());
    let output = output.map(|(path, schema)| file(path, schema.to_pretty()));
    std::iter::once(file(&paths.input, stored_schema(tool))).chain(output).collect()
}

/// Returns why a listed tool is not added, if there is a reason.
fn why_skipped(
    fs: &dyn Fs,
    listed: &ServerListing<'_>,
    catalog: &Catalog,
    tool: &ListedTool,
    entry: &Tool,
    files: &[NewFile],
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
    let differs =
        |(path, bytes, _): &&NewFile| fs.read(path, CONFIG_LIMIT).is_ok_and(|old| old[..] != bytes[..]);
    let (path, ..) = files.iter().find(differs)?;
    Some(format!("`{}` already exists with another content", path.as_str()))
}

/// Finds the unsupported parts of a tool's stored schema.
fn schema_problems(schema: &str) -> Vec<String> {
    match compile_schema(schema.as_bytes()) {
        SchemaFact::Unsound(problems) => problems.iter().map(ToString::to_string).collect(),
        SchemaFact::NotJson(error) => vec![error.to_string()],
        SchemaFact::File(_) | SchemaFact::Sound { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
