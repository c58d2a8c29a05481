//! Imports the tools of an MCP server into the catalog, disabled until a person reviews them.
//!
//! The server is the command of a runtime. It is started with the checks of a call, lists its tools, and is ended. An
//! imported entry always asks for approval and has no permissions or effects. Its calls are refused until a person adds
//! them. Existing entries and files are never replaced.

use std::collections::BTreeSet;

use brigade_call::SchemaFact;
use brigade_catalog::edit::{self, EditError};
use brigade_catalog::{Catalog, Level, Tool};
use brigade_core::text::escape_terminal;
use brigade_core::{NextStep, closest};
use brigade_facts::{Config, compile_schema};
use brigade_fs::FileMode;
use brigade_mcp::{
    Exchange, FirstTime, ListedTool, McpTool, import_ids, import_tool, imported_tool, stored_schema,
};

use crate::catalog::Tools;
use crate::codes;
use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::live;
use crate::load;
use crate::pins;
use crate::report::{ImportMcpReport, ImportedTool, Report as _};
use crate::room::{CATALOG, CONFIG_LIMIT, Room, rel};
use crate::runtimes;
use crate::setup;

/// The directory of imported input schemas.
const SCHEMAS: &str = ".brigade/tools/schemas";

/// Options of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportMcpRequest {
    /// The runtime whose command is the server.
    pub runtime_id: String,
    /// Names of the tools at the server; all tools if empty.
    pub tools: Vec<String>,
    /// Whether to only report what would be done.
    pub dry_run: bool,
}

impl Tools {
    /// Lists the tools of a runtime's server and adds them to the catalog, disabled, with their input schemas.
    ///
    /// # Errors
    /// Fails if the runtime cannot be used, the server does not answer or does not list a requested tool, or the
    /// catalog is not UTF-8. Also returns file errors.
    pub fn import_mcp(&self, request: &ImportMcpRequest) -> Result<ImportMcpReport, Error> {
        let runtimes = runtimes::runtimes(&self.room)?;
        let runtime = runtimes::runtime(&runtimes, &request.runtime_id)?;
        let shown = escape_terminal(runtime.id.as_str());
        if runtime.is_broken || !runtime.enabled {
            let why = if runtime.is_broken { "has errors" } else { "is disabled" };
            let message = format!("the runtime `{shown}` {why}");
            return Err(Error::new(ErrorKind::InvalidConfig, message).hint(NextStep::CheckRuntimes));
        }
        // The catalog has no entry for a server that is not a tool yet.
        let nothing = Catalog::new(Vec::new(), Vec::new());
        let config = Config::new(&gather::host(&self.room), nothing, load::policy(&self.room));
        let most =
            config.policy.policy().and_then(|policy| policy.max_timeout.as_ref()).map(|most| most.value);
        let asking = import_tool(runtime, most);
        let exchange = live::ask(&self.room, &config, &asking).map_err(|why| {
            let message = format!("the server of the runtime `{shown}` listed no tools: {why}");
            let error = Error::new(ErrorKind::Refused, message);
            if why.is_of_the_policy() { error.hint(NextStep::CheckPolicy) } else { error }
        })?;
        let wanted = wanted(&exchange, &request.tools)?;
        // Held from reading to writing, because another process may import at the same time.
        let _lock = if request.dry_run { None } else { Some(setup::lock_catalog(&self.room)?) };
        let text = text_of_catalog(&self.room)?;
        if let Some(line) = edit::broken_line(&text) {
            let message = format!("{CATALOG}: line {line}: the TOML is broken there, so nothing is added");
            return Err(Error::new(ErrorKind::InvalidConfig, message).hint("mend that line by hand first"));
        }
        let catalog = Catalog::parse(CATALOG, Level::Project, text.as_bytes());
        let ids = import_ids(runtime, &exchange.tools, &catalog);
        let mut new = text.clone();
        let mut files = Vec::new();
        let mut tools = Vec::new();
        for listed in wanted {
            let id = &ids[listed.name.as_str()];
            let schema_path = format!("{SCHEMAS}/{id}.input.json");
            let tool = imported_tool(&asking, listed, id, &schema_path);
            let mut line = ImportedTool::new(id, &listed.name, self.room.absolute(&schema_path));
            line.description = tool.description.clone();
            let same = |known: &&Tool| McpTool::of_tool(known) == McpTool::of_tool(&tool);
            let times = exchange.tools.iter().filter(|other| other.name == listed.name).count();
            let schema = stored_schema(listed);
            line.schema_problems = schema_problems(&schema);
            line.detail = if listed.name.trim() != listed.name || listed.name.is_empty() {
                Some(
                    "its name is empty, or begins or ends with white space, which no entry can say"
                        .to_owned(),
                )
            } else if 1 < times {
                Some(format!("the server lists it {times} times, so it is never called"))
            } else if let Some(known) = catalog.tools().iter().find(same) {
                Some(format!("the catalog has it as `{}`", escape_terminal(known.id.as_str())))
            } else if self
                .room
                .fs
                .read(&rel(&schema_path), CONFIG_LIMIT)
                .is_ok_and(|old| old != schema.as_bytes())
            {
                Some(format!("`{schema_path}` is there and says something else"))
            } else {
                match edit::add_tool(&new, &tool) {
                    Ok(text) => {
                        new = text;
                        files.push((schema_path, schema));
                        None
                    }
                    Err(error @ EditError::Exists) => Some(error.to_string()),
                    Err(error) => {
                        return Err(Error::new(ErrorKind::InvalidConfig, format!("{CATALOG}: {error}")));
                    }
                }
            };
            line.action = match (&line.detail, request.dry_run) {
                (Some(_), _) => "skip",
                (None, true) => "would-add",
                (None, false) => "add",
            }
            .into();
            tools.push(line);
        }
        if !request.dry_run && new != text {
            self.room.fs.create_dir_all(&rel(SCHEMAS))?;
            // Schemas are written first, so no entry names a missing file.
            for (path, schema) in &files {
                self.room.fs.write_atomic(&rel(path), schema.as_bytes(), FileMode::KeepOr(0o600))?;
            }
            self.room.fs.write_atomic(&rel(CATALOG), new.as_bytes(), FileMode::KeepOr(0o600))?;
        }
        if !request.dry_run {
            // With the new catalog, the imported tools do not count as appeared.
            let catalog = load::catalog(&self.room)?;
            let names = exchange.tools.iter().map(|tool| tool.name.as_str());
            pins::pin_store(&self.room).note_names(&catalog, &asking, names, FirstTime::Begin)?;
        }
        let count = |action: &str| tools.iter().filter(|tool| tool.action == action).count();
        Ok(ImportMcpReport {
            schema: ImportMcpReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(CATALOG),
            runtime_id: runtime.id.as_str().to_owned(),
            dry_run: request.dry_run,
            server_info: exchange.server.clone().unwrap_or_default(),
            protocol_version: exchange.protocol_version.clone(),
            listed_count: exchange.tools.len(),
            added_count: files.len(),
            skipped_count: count("skip"),
            tools,
        })
    }
}

pub(crate) fn text_of_catalog(room: &Room) -> Result<String, Error> {
    match room.fs.read(&rel(CATALOG), CONFIG_LIMIT) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| {
            Error::new(ErrorKind::InvalidConfig, format!("{CATALOG}: the file is not UTF-8 text"))
        }),
        Err(error) if error.is_not_found() => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

/// Selects the requested tools in list order, each name once.
fn wanted<'e>(exchange: &'e Exchange, names: &[String]) -> Result<Vec<&'e ListedTool>, Error> {
    let listed: Vec<&str> = exchange.tools.iter().map(|tool| tool.name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !listed.contains(&name.as_str())) {
        let message = format!("the server lists no tool `{}`", escape_terminal(name));
        let error = Error::new(ErrorKind::NotFound, message).coded(codes::SERVER_TOOL_MISSING);
        return Err(match closest(name, listed.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{}`?", escape_terminal(near))),
            None => error.hint("without --tool and with --dry-run, every tool is shown"),
        });
    }
    let mut seen = BTreeSet::new();
    let wanted = exchange.tools.iter().filter(|tool| names.is_empty() || names.contains(&tool.name));
    Ok(wanted.filter(|tool| seen.insert(tool.name.clone())).collect())
}

/// Finds what of the stored schema of a tool is not supported.
fn schema_problems(schema: &str) -> Vec<String> {
    match compile_schema(schema.as_bytes()) {
        SchemaFact::Unsound(problems) => problems.iter().map(ToString::to_string).collect(),
        SchemaFact::NotJson(error) => vec![error.to_string()],
        SchemaFact::File(_) | SchemaFact::Sound { .. } => Vec::new(),
    }
}
