//! Reads the facts of tools.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use brigade_call::{DirectoryFact, FileFact, ProgramFact, SchemaFact};
use brigade_catalog::{Family, Tool};
use brigade_cmdline::missing_script;
use brigade_core::parallel::in_parts;
use brigade_core::{Fingerprint, JsonError};
use brigade_doctor::{McpServer, ToolFiles, inspect_mcp};
use brigade_projection::{
    Overwrite, PathRefusal, ProjectionItem, ProjectionStatus, ToolFacts as Projected, plan_tool,
    relative_path,
};

use crate::config::Config;
use crate::files::{EntryFile, ToolReader, compile_schema, parse_json};
use crate::host::Host;
use crate::places::Places;
use crate::searched_files::NotedFiles;
use crate::similar_paths::near_path;

/// How much of a tool is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// Every file that its entry names, for lists and health.
    Summary,
    /// The files for a plan: schemas, examples, source, and whether projections are in their place.
    Plan,
}

/// Reads the facts of tools, each file once, and shares facts between tools.
pub struct FactReader<'h, 'c> {
    pub(crate) host: Host<'h>,
    pub(crate) config: &'c Config,
    outside: Vec<String>,
    places: Places<'h>,
    shared: SharedFacts,
}

/// The facts of one tool.
pub struct ToolFacts<'c> {
    /// The tool.
    pub tool: &'c Tool,
    /// Its files; with [`Depth::Plan`], only those that a plan needs.
    pub files: ToolFiles,
    /// The directory that its program starts in.
    pub directory: PathBuf,
    /// The state of its projections.
    pub projections: Vec<ProjectionItem>,
    listed: ListingFacts,
}

/// Facts for lists only.
#[derive(Default)]
struct ListingFacts {
    /// The length of a list `tools` in the tool's schema.
    tools: Option<usize>,
    /// The names of the servers of an MCP config.
    mcp_server_ids: Option<Vec<String>>,
}

impl<'h, 'c> FactReader<'h, 'c> {
    /// Creates a reader with nothing read.
    pub fn new(host: Host<'h>, config: &'c Config) -> FactReader<'h, 'c> {
        let places = Places::new(host.fs, host.root());
        FactReader { host, config, outside: config.outside(), places, shared: SharedFacts::default() }
    }

    /// Returns the host that facts are read from.
    pub fn host(&self) -> Host<'h> {
        self.host
    }

    /// Returns the reader of one tool's files. Files outside of the workspace are read only if the policy lists their
    /// directory.
    pub fn reader<'r>(&'r self, tool: &'r Tool) -> ToolReader<'r> {
        ToolReader { host: self.host, tool, outside: &self.outside }
    }

    /// Looks for the scripts that the command of a tool runs.
    pub(crate) fn scripts(&self, reader: &ToolReader<'_>, directory: &Path) -> ScriptSearch {
        self.shared.scripts.look(reader, directory)
    }

    /// Reads the facts of many tools in parts, on all processors. Returns the results of `part` in order.
    pub fn read_parts<P: Send>(
        &self,
        tools: &[&'c Tool],
        part: impl Fn(&mut dyn Iterator<Item = ToolFacts<'c>>) -> P + Sync,
        take: impl FnMut(P),
    ) {
        let one = |index: usize| self.read(tools[index], Depth::Summary);
        in_parts(tools.len(), |range| part(&mut range.map(one)), take);
    }

    /// Reads the facts of tools, on all processors when there are many.
    pub fn read_all(&self, tools: &[&'c Tool]) -> Vec<ToolFacts<'c>> {
        let mut all = Vec::with_capacity(tools.len());
        let part = |tools: &mut dyn Iterator<Item = ToolFacts<'c>>| tools.collect::<Vec<_>>();
        self.read_parts(tools, part, |mut part| all.append(&mut part));
        all
    }

    /// Reads the facts of one tool.
    pub fn read(&self, tool: &'c Tool, depth: Depth) -> ToolFacts<'c> {
        let reader = self.reader(tool);
        let (directory, directory_fact) = reader.directory();
        let source = reader.source();
        let output = reader.output_schema();
        let entry = ToolFiles {
            source: source.fact(),
            examples: reader.document(tool.examples_path.as_deref()).fact(),
            directory: directory_fact,
            outside: other_paths_outside(&reader),
            ..ToolFiles::default()
        };
        let (mut files, listed) = match depth {
            Depth::Plan => {
                let files = ToolFiles {
                    input_schema: Arc::new(reader.compiled_input_schema()),
                    output_schema: Arc::new(SchemaFact::File(output.fact())),
                    ..entry
                };
                (files, ListingFacts::default())
            }
            Depth::Summary => self.listed(&reader, entry, &source, &output, &directory),
        };
        if let SchemaFact::File(FileFact::Missing) = &*files.input_schema
            && let Some(path) = tool.input_schema_path.as_deref()
        {
            files.near_schema = near_path(path.as_ref(), &self.host.fs.root().join(path));
        }
        // A source outside is handled as a source without text.
        let leads_out = files.leading_out().into_iter().find(|field| *field != "source_path");
        let source = source.into_source();
        let facts = Projected::gather(self.places.root(), tool, &source, |path| self.places.look(path))
            .leading_out(leads_out);
        let depth = match depth {
            Depth::Plan => brigade_projection::Depth::Status,
            Depth::Summary => brigade_projection::Depth::Full,
        };
        let projections = plan_tool(&facts, &self.config.claims, Overwrite::Never, depth);
        ToolFacts { tool, files, directory, projections, listed }
    }

    /// Reads the facts for lists and health that a plan does not need.
    fn listed(
        &self,
        reader: &ToolReader<'_>,
        entry: ToolFiles,
        source: &EntryFile,
        output: &EntryFile,
        directory: &Path,
    ) -> (ToolFiles, ListingFacts) {
        let (tool, shared) = (reader.tool, &self.shared);
        let manifest = reader.document(tool.manifest_path.as_deref());
        let schema = reader.document(tool.schema_path.as_deref());
        let schema_json = schema.bytes().map(parse_json);
        let health = reader.document(tool.health_path.as_deref());
        let (mcp, mcp_error) = match mcp_config(tool, [&manifest, &schema, source]) {
            Ok(servers) => (servers, None),
            Err(error) => (None, Some(error)),
        };
        let is_there = entry.directory == DirectoryFact::Present;
        let missing_script =
            if tool.is_executable() && is_there { self.scripts(reader, directory).missing } else { None };
        let files = ToolFiles {
            manifest: manifest.fact(),
            schema: schema.fact(),
            schema_error: schema_json.as_ref().and_then(|json| json.as_ref().err().cloned()),
            input_schema: shared.schemas.fact(&reader.input_schema()),
            output_schema: shared.schemas.fact(output),
            health: health.fact(),
            health_modified: tool
                .health_path
                .as_deref()
                .filter(|_| health.bytes().is_some())
                .and_then(|path| reader.metadata(path))
                .map(|metadata| metadata.modified),
            near_script: missing_script
                .as_deref()
                .and_then(|path| near_path(path.as_ref(), &directory.join(path))),
            missing_script,
            program: shared.programs.find(reader, directory),
            mcp_servers: mcp.clone().unwrap_or_default(),
            mcp_error,
            refused_targets: self.refused_targets(tool),
            ..entry
        };
        let tools =
            schema_json.and_then(Result::ok).and_then(|json| Some(json.get("tools")?.as_array()?.len()));
        let mcp_server_ids = mcp.map(|servers| servers.into_iter().map(|server| server.id).collect());
        (files, ListingFacts { tools, mcp_server_ids })
    }

    /// Lists the targets of a tool for harnesses that it does not support, if they may not be written.
    fn refused_targets(&self, tool: &Tool) -> Vec<(String, PathRefusal)> {
        let unused = tool.projections.iter().filter(|(harness, path)| {
            !path.is_empty() && !tool.supported_harnesses.iter().any(|supported| supported == *harness)
        });
        let refused = unused.filter_map(|(harness, path)| {
            relative_path(self.places.root(), path).err().map(|refusal| (harness.clone(), refusal))
        });
        refused.collect()
    }
}

/// Lists fields that a plan does not read, and whose paths lead out.
pub(crate) fn other_paths_outside(reader: &ToolReader<'_>) -> Vec<&'static str> {
    let fields = [
        ("manifest_path", &reader.tool.manifest_path),
        ("schema_path", &reader.tool.schema_path),
        ("health_path", &reader.tool.health_path),
        ("runtime_health_path", &reader.tool.runtime_health_path),
    ];
    let outside = fields.into_iter().filter(|(_, path)| reader.leads_out(path.as_deref()));
    outside.map(|(field, _)| field).collect()
}

impl ToolFacts<'_> {
    /// Returns the input schema, if it is usable.
    pub fn input_schema(&self) -> Option<&brigade_schema::Schema> {
        SchemaFact::schema(&self.files.input_schema)
    }

    /// Returns the facts about files for the tool's summary.
    pub fn summary(&self) -> SummaryFacts {
        let servers = self.listed.mcp_server_ids.as_ref().map(Vec::len).filter(|count| 0 < *count);
        SummaryFacts {
            source_fingerprint: self.files.source.fingerprint(),
            schema_available: matches!(self.files.schema, FileFact::Present(_)),
            manifest_available: matches!(self.files.manifest, FileFact::Present(_)),
            tool_count: self.listed.tools.or(servers).unwrap_or(1),
            coverage: self.projections.iter().map(|item| (item.harness.clone(), item.status)).collect(),
            mcp_server_ids: self.listed.mcp_server_ids.clone(),
        }
    }
}

/// Facts about files in the summary of a tool.
pub struct SummaryFacts {
    /// The sha256 of the source.
    pub source_fingerprint: Option<Fingerprint>,
    /// Whether its schema exists.
    pub schema_available: bool,
    /// Whether its manifest exists.
    pub manifest_available: bool,
    /// The number of tools of the entry.
    pub tool_count: usize,
    /// The state of the projection for each harness.
    pub coverage: Vec<(String, ProjectionStatus)>,
    /// The names of the servers of an MCP config.
    pub mcp_server_ids: Option<Vec<String>>,
}

/// Parses the MCP config of an MCP tool: its manifest, else its schema, else its source.
///
/// An entry that names its server and tool needs no config, so its source may be any text.
fn mcp_config(tool: &Tool, candidates: [&EntryFile; 3]) -> Result<Option<Vec<McpServer>>, JsonError> {
    if tool.family != Some(Family::Mcp) {
        return Ok(None);
    }
    let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let is_complete = is_set(&tool.runtime_id) && is_set(&tool.mcp_tool_name);
    let found = candidates.into_iter().enumerate().find(|(_, found)| !matches!(found, EntryFile::NotNamed));
    let Some((index, named)) = found else { return Ok(None) };
    let Some(bytes) = named.bytes() else { return Ok(None) };
    match parse_json(bytes) {
        Ok(document) => Ok(inspect_mcp(&document)),
        // Problems of the schema are reported for every family elsewhere.
        Err(_) if index == SCHEMA || (index == SOURCE && is_complete) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The positions of schema and source among the candidates for an MCP config.
const SCHEMA: usize = 1;
const SOURCE: usize = 2;

/// Facts that tools share.
#[derive(Default)]
struct SharedFacts {
    programs: Programs,
    schemas: Schemas,
    scripts: Scripts,
}

/// The compiled schemas, by the fingerprint of their files.
#[derive(Default)]
struct Schemas(Mutex<HashMap<Fingerprint, Arc<SchemaFact>>>);

impl Schemas {
    fn fact(&self, found: &EntryFile) -> Arc<SchemaFact> {
        let EntryFile::Bytes(bytes) = found else {
            return Arc::new(SchemaFact::File(found.fact()));
        };
        let fingerprint = Fingerprint::of_bytes(bytes);
        let known = || self.0.lock().expect("no thread panics while it holds this");
        if let Some(schema) = known().get(&fingerprint) {
            return schema.clone();
        }
        let schema = Arc::new(compile_schema(bytes));
        known().insert(fingerprint, schema.clone());
        schema
    }
}

/// The programs that were looked up, by word and directory.
#[derive(Default)]
struct Programs(Mutex<HashMap<(String, PathBuf), ProgramFact>>);

impl Programs {
    fn find(&self, reader: &ToolReader<'_>, directory: &Path) -> ProgramFact {
        let Some(argv) = reader.argv() else {
            return ProgramFact::NotExecuted;
        };
        // Only paths depend on the directory.
        let folder = if argv.program().contains('/') { directory.to_owned() } else { PathBuf::new() };
        let key = (argv.program().to_owned(), folder);
        let mut known = self.0.lock().expect("no thread panics while it holds this");
        known.entry(key).or_insert_with(|| reader.program(directory).1).clone()
    }
}

/// The scripts of a command.
#[derive(Clone, Default)]
pub(crate) struct ScriptSearch {
    /// The first missing one, as written in the command.
    pub(crate) missing: Option<String>,
    /// The inspected paths. A missing one is the last.
    pub(crate) paths: Vec<PathBuf>,
}

/// The scripts that were looked up, by command and directory.
#[derive(Default)]
struct Scripts(Mutex<HashMap<(String, PathBuf), ScriptSearch>>);

impl Scripts {
    fn look(&self, reader: &ToolReader<'_>, directory: &Path) -> ScriptSearch {
        let (Some(command), Some(argv)) = (reader.tool.command.clone(), reader.argv()) else {
            return ScriptSearch::default();
        };
        let key = (command, directory.to_owned());
        let known = || self.0.lock().expect("no thread panics while it holds this");
        if let Some(found) = known().get(&key) {
            return found.clone();
        }
        let files = NotedFiles { files: reader.seen(), looked_for: RefCell::default() };
        let missing = missing_script(&argv, directory, &files);
        let found = ScriptSearch { missing, paths: files.looked_for.into_inner() };
        known().insert(key, found.clone());
        found
    }
}

#[cfg(test)]
mod tests;
