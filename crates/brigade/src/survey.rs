//! Reading the files of many tools at once, for lists and health.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use brigade_call::{DirectoryFact, FileFact, ProgramFact, SchemaFact};
use brigade_catalog::{Family, Tool};
use brigade_command::missing_script;
use brigade_core::parallel::in_parts;
use brigade_core::{Fingerprint, JsonError};
use brigade_doctor::{McpServer, PolicyFacts, ToolFiles, ToolIssues, ToolState, diagnose_tool, inspect_mcp};
use brigade_projection::{Depth, PathRefusal, ProjectionItem, ProjectionStatus, relative_path};

use crate::files::{Found, ToolReader, compile_schema, parse_json};
use crate::gather::{Config, other_paths_outside};
use crate::projections::Places;
use crate::room::Room;

/// What was found of one tool.
pub(crate) struct Surveyed<'c> {
    pub(crate) tool: &'c Tool,
    pub(crate) files: ToolFiles,
    pub(crate) projections: Vec<ProjectionItem>,
    /// The length of a list `tools` in the tool's schema.
    pub(crate) listed_tools: Option<usize>,
    /// The names of the servers of an MCP config.
    pub(crate) mcp_server_ids: Option<Vec<String>>,
}

impl Room {
    /// Reads the files of tools, on all processors when there are many.
    pub(crate) fn survey<'c>(&self, config: &Config, tools: &[&'c Tool]) -> Vec<Surveyed<'c>> {
        let mut surveyed = Vec::with_capacity(tools.len());
        let part = |tools: &mut dyn Iterator<Item = Surveyed<'c>>| tools.collect::<Vec<_>>();
        self.survey_parts(config, tools, part, |mut part| surveyed.append(&mut part));
        surveyed
    }

    /// Reads the files of tools, and finds what is wrong with them while they are at hand.
    pub(crate) fn examine<'c>(
        &self,
        config: &'c Config,
        tools: &[&'c Tool],
        policy: Option<PolicyFacts<'_>>,
        keep: Keep,
    ) -> Examined<'c> {
        let (catalog, now) = (&config.catalog, self.now());
        let part = |tools: &mut dyn Iterator<Item = Surveyed<'c>>| {
            let mut examined = Examined::default();
            for surveyed in tools {
                let Surveyed { tool, files, projections, .. } = &surveyed;
                let state = ToolState { catalog, tool, files: Some(files), projections, policy };
                diagnose_tool(&state, now, &mut examined.issues);
                examined.summaries.push(surveyed.summary());
                if keep == Keep::All {
                    examined.surveyed.push(surveyed);
                }
            }
            examined
        };
        let mut examined = Examined::default();
        self.survey_parts(config, tools, part, |mut part| {
            examined.issues.append(part.issues);
            examined.summaries.append(&mut part.summaries);
            examined.surveyed.append(&mut part.surveyed);
        });
        examined
    }

    /// Reads the files of tools in parts, and hands on in order what `part` made of each.
    fn survey_parts<'c, P: Send>(
        &self,
        config: &Config,
        tools: &[&'c Tool],
        part: impl Fn(&mut dyn Iterator<Item = Surveyed<'c>>) -> P + Sync,
        take: impl FnMut(P),
    ) {
        let outside: Vec<String> = config
            .policy
            .policy()
            .map(|policy| policy.outside_paths.values().cloned().collect())
            .unwrap_or_default();
        let shared = Shared::default();
        let places = self.places();
        let one = |index: usize| self.survey_one(config, tools[index], &outside, &shared, &places);
        in_parts(tools.len(), |range| part(&mut range.map(one)), take);
    }

    fn survey_one<'c>(
        &self,
        config: &Config,
        tool: &'c Tool,
        outside: &[String],
        shared: &Shared,
        places: &Places<'_>,
    ) -> Surveyed<'c> {
        let reader = ToolReader { workspace: self, tool, outside };
        let (directory, directory_fact) = reader.directory();
        let source = reader.source();
        let manifest = reader.document(tool.manifest_path.as_deref());
        let schema = reader.document(tool.schema_path.as_deref());
        let schema_json = schema.bytes().map(parse_json);
        let health = reader.document(tool.health_path.as_deref());
        let (mcp, mcp_error) = match mcp_config(tool, [&manifest, &schema, &source]) {
            Ok(servers) => (servers, None),
            Err(error) => (None, Some(error)),
        };
        let files = ToolFiles {
            source: source.fact(),
            manifest: manifest.fact(),
            schema: schema.fact(),
            schema_error: schema_json.as_ref().and_then(|json| json.as_ref().err().cloned()),
            input_schema: shared.schemas.of(&reader, tool.input_schema_path.as_deref()),
            output_schema: shared.schemas.of(&reader, tool.output_schema_path.as_deref()),
            examples: reader.document(tool.examples_path.as_deref()).fact(),
            health: health.fact(),
            health_modified: tool
                .health_path
                .as_deref()
                .filter(|_| health.bytes().is_some())
                .and_then(|path| reader.metadata(path))
                .map(|metadata| metadata.modified),
            missing_script: if tool.is_executable() && directory_fact == DirectoryFact::Present {
                shared.scripts.missing(&reader, &directory)
            } else {
                None
            },
            directory: directory_fact,
            program: shared.programs.find(&reader, directory),
            mcp_servers: mcp.clone().unwrap_or_default(),
            mcp_error,
            outside: other_paths_outside(&reader),
            refused_targets: self.refused_targets(tool),
        };
        let listed_tools =
            schema_json.and_then(Result::ok).and_then(|json| Some(json.get("tools")?.as_array()?.len()));
        // A source that does gives no text.
        let leads_out = files.leading_out().into_iter().find(|field| *field != "source_path");
        let projections =
            self.project(places, tool, leads_out, &config.claims, source.into_source(), Depth::Full);
        let mcp_server_ids = mcp.map(|servers| servers.into_iter().map(|server| server.id).collect());
        Surveyed { tool, files, projections, listed_tools, mcp_server_ids }
    }
}

impl Room {
    /// Lists the targets of a tool that are for harnesses which it does not support, and may not be written.
    fn refused_targets(&self, tool: &Tool) -> Vec<(String, PathRefusal)> {
        let unused = tool.projections.iter().filter(|(harness, path)| {
            !path.is_empty() && !tool.supported_harnesses.iter().any(|supported| supported == *harness)
        });
        let root = self.target();
        let refused = unused.filter_map(|(harness, path)| {
            relative_path(&root, path).err().map(|refusal| (harness.clone(), refusal))
        });
        refused.collect()
    }
}

impl Surveyed<'_> {
    /// Returns the input schema, when it can be used.
    pub(crate) fn input_schema(&self) -> Option<&brigade_schema::Schema> {
        SchemaFact::schema(&self.files.input_schema)
    }

    /// Returns what the tool's summary says of its files.
    pub(crate) fn summary(&self) -> SummaryFacts {
        let servers = self.mcp_server_ids.as_ref().map(Vec::len).filter(|count| 0 < *count);
        SummaryFacts {
            source_fingerprint: self.files.source.fingerprint(),
            schema_available: matches!(self.files.schema, FileFact::Present(_)),
            manifest_available: matches!(self.files.manifest, FileFact::Present(_)),
            tool_count: self.listed_tools.or(servers).unwrap_or(1),
            coverage: self.projections.iter().map(|item| (item.harness.clone(), item.status)).collect(),
            mcp_server_ids: self.mcp_server_ids.clone(),
        }
    }
}

/// What was found of tools, and what is wrong with them.
#[derive(Default)]
pub(crate) struct Examined<'c> {
    pub(crate) issues: ToolIssues,
    pub(crate) summaries: Vec<SummaryFacts>,
    /// None when nothing was to be kept.
    pub(crate) surveyed: Vec<Surveyed<'c>>,
}

/// What of the files of tools is kept, when thousands were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All that plans are made of.
    All,
    /// What lists say.
    Summaries,
}

/// What the summary of a tool says of its files.
pub(crate) struct SummaryFacts {
    pub(crate) source_fingerprint: Option<Fingerprint>,
    pub(crate) schema_available: bool,
    pub(crate) manifest_available: bool,
    /// How many tools stand behind the entry.
    pub(crate) tool_count: usize,
    /// How the projection for each harness stands.
    pub(crate) coverage: Vec<(String, ProjectionStatus)>,
    pub(crate) mcp_server_ids: Option<Vec<String>>,
}

/// Looks at the MCP config of an MCP tool: its manifest, else its schema, else its source.
///
/// A tool that says itself which runtime and which of its tools it is needs no such config, so its source may be a page of text.
fn mcp_config(tool: &Tool, candidates: [&Found; 3]) -> Result<Option<Vec<McpServer>>, JsonError> {
    if tool.family != Some(Family::Mcp) {
        return Ok(None);
    }
    let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let is_complete = is_set(&tool.runtime_id) && is_set(&tool.mcp_tool_name);
    let found = candidates.into_iter().enumerate().find(|(_, found)| !matches!(found, Found::NotNamed));
    let Some((index, named)) = found else { return Ok(None) };
    let Some(bytes) = named.bytes() else { return Ok(None) };
    match parse_json(bytes) {
        Ok(document) => Ok(inspect_mcp(&document)),
        // What is wrong with the schema is said of it for every family.
        Err(_) if index == SCHEMA || (index == SOURCE && is_complete) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The positions of schema and source among the candidates for an MCP config.
const SCHEMA: usize = 1;
const SOURCE: usize = 2;

/// What many tools name alike.
#[derive(Default)]
struct Shared {
    programs: Programs,
    schemas: Schemas,
    scripts: Scripts,
}

/// The schemas that were compiled, by the bytes of their files.
#[derive(Default)]
struct Schemas(Mutex<HashMap<Fingerprint, Arc<SchemaFact>>>);

impl Schemas {
    fn of(&self, reader: &ToolReader<'_>, path: Option<&str>) -> Arc<SchemaFact> {
        let found = reader.document(path);
        let Found::Bytes(bytes) = &found else {
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

/// The programs that were looked for: many tools name the same one.
#[derive(Default)]
struct Programs(Mutex<HashMap<(String, PathBuf), ProgramFact>>);

impl Programs {
    fn find(&self, reader: &ToolReader<'_>, directory: PathBuf) -> ProgramFact {
        let Some(argv) = reader.argv() else {
            return ProgramFact::NotExecuted;
        };
        // Only a path depends on the folder.
        let folder = if argv.program().contains('/') { directory.clone() } else { PathBuf::new() };
        let key = (argv.program().to_owned(), folder);
        let mut known = self.0.lock().expect("no thread panics while it holds this");
        known.entry(key).or_insert_with(|| reader.program(&directory).1).clone()
    }
}

/// The scripts that were looked for, by the command that names them and its folder; none for those that are there.
#[derive(Default)]
struct Scripts(Mutex<HashMap<(String, PathBuf), Option<String>>>);

impl Scripts {
    fn missing(&self, reader: &ToolReader<'_>, directory: &Path) -> Option<String> {
        let key = (reader.tool.command.clone()?, directory.to_owned());
        let known = || self.0.lock().expect("no thread panics while it holds this");
        if let Some(missing) = known().get(&key) {
            return missing.clone();
        }
        let missing = missing_script(&reader.argv()?, directory, &reader.seen());
        known().insert(key, missing.clone());
        missing
    }
}
