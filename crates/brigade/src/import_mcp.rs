//! Imports the tools of an MCP server into the catalog, disabled until a person reviews them.
//!
//! The server is the command of a runtime. It is started with the checks of a call, lists its tools, and is ended. An
//! imported entry always asks for approval and has no permissions or effects. Its calls are refused until a person adds
//! them. Existing entries and files are never replaced.

use std::collections::{BTreeMap, BTreeSet};

use brigade_call::SchemaFact;
use brigade_catalog::edit::{self, EditError};
use brigade_catalog::{ApprovalMode, Catalog, Family, Level, Runtime, Seconds, Tool};
use brigade_core::text::{escape_terminal, short};
use brigade_core::{Json, NextStep, closest};
use brigade_facts::{Config, compile_schema};
use brigade_fs::FileMode;
use brigade_mcp::{Exchange, FirstTime, ListedTool, McpTool};
use brigade_policy::PolicyState;

use crate::catalog::Tools;
use crate::codes;
use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::live;
use crate::live::server_name;
use crate::load;
use crate::pins;
use crate::report::{ImportMcpReport, ImportedTool, Report as _};
use crate::room::{CATALOG, CONFIG_LIMIT, Room, rel};
use crate::runtimes;
use crate::setup;

/// The directory of imported input schemas.
const SCHEMAS: &str = ".brigade/tools/schemas";

/// The timeout of an imported tool without one in its runtime, in seconds.
const TIMEOUT: f64 = 30.0;

/// The maximum length of an imported description, in characters.
const DESCRIPTION: usize = 300;

/// The maximum length of an imported name, in characters.
const NAME: usize = 80;

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
        let asking = asking(runtime, &config.policy);
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
        let ids = ids(runtime, &exchange, &catalog);
        let mut new = text.clone();
        let mut files = Vec::new();
        let mut tools = Vec::new();
        for listed in wanted {
            let (mut line, tool) = entry(&asking, listed, &ids[listed.name.as_str()]);
            let same = |known: &&Tool| McpTool::of_tool(known) == McpTool::of_tool(&tool);
            let times = exchange.tools.iter().filter(|other| other.name == listed.name).count();
            let schema_path = tool.input_schema_path.clone().unwrap_or_default();
            let schema = schema_text(listed);
            if listed.name.trim() != listed.name || listed.name.is_empty() {
                line.skip(
                    "its name is empty, or begins or ends with white space, which no entry can say"
                        .to_owned(),
                );
            } else if 1 < times {
                line.skip(format!("the server lists it {times} times, so it is never called"));
            } else if let Some(known) = catalog.tools().iter().find(same) {
                line.skip(format!("the catalog has it as `{}`", escape_terminal(known.id.as_str())));
            } else if self
                .room
                .fs
                .read(&rel(&schema_path), CONFIG_LIMIT)
                .is_ok_and(|old| old != schema.as_bytes())
            {
                line.skip(format!("`{schema_path}` is there and says something else"));
            } else {
                match edit::add_tool(&new, &tool) {
                    Ok(text) => {
                        new = text;
                        files.push((schema_path, schema));
                    }
                    Err(error @ EditError::Exists) => line.skip(error.to_string()),
                    Err(error) => {
                        return Err(Error::new(ErrorKind::InvalidConfig, format!("{CATALOG}: {error}")));
                    }
                }
            }
            tools.push(line.finish(request.dry_run, |path| self.room.absolute(path)));
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
            server_info: server_name(&exchange),
            protocol_version: exchange.protocol_version.clone(),
            listed_count: exchange.tools.len(),
            added_count: files.len(),
            skipped_count: count("skip"),
            tools,
        })
    }
}

fn text_of_catalog(room: &Room) -> Result<String, Error> {
    match room.fs.read(&rel(CATALOG), CONFIG_LIMIT) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| {
            Error::new(ErrorKind::InvalidConfig, format!("{CATALOG}: the file is not UTF-8 text"))
        }),
        Err(error) if error.is_not_found() => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

/// Builds a tool for listing the server, with only the file access of every run.
///
/// Its timeout is that of the runtime, by default 30 s, limited by the policy.
fn asking(runtime: &Runtime, policy: &PolicyState) -> Tool {
    let own = runtime.timeout.or(Seconds::new(TIMEOUT).ok());
    let most = policy.policy().and_then(|policy| policy.max_timeout.as_ref()).map(|most| most.value);
    let timeout = match (own, most) {
        (Some(own), Some(most)) if most.get() < own.get() => Some(most),
        (own, _) => own,
    };
    let tool = Tool::new(runtime.id.as_str(), Family::Mcp).expect("a runtime's id is one of a tool");
    Tool {
        command: Some(runtime.command.clone()),
        cwd: runtime.cwd.clone(),
        runtime_id: Some(runtime.id.as_str().to_owned()),
        requires_runtime: true,
        timeout,
        approval_mode: Some(ApprovalMode::Always),
        ..tool
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

/// Chooses an id for every listed tool: its existing id, or an unused one from its name. Equal ids are numbered in list
/// order, independent of which tools were requested.
fn ids<'e>(runtime: &Runtime, exchange: &'e Exchange, catalog: &Catalog) -> BTreeMap<&'e str, String> {
    let mut taken: BTreeSet<String> =
        catalog.tools().iter().map(|tool| tool.id.as_str().to_owned()).collect();
    let known = |name: &str| {
        let wanted = McpTool { server: runtime.id.as_str().to_owned(), tool: name.to_owned(), variant: None };
        let known = catalog.tools().iter().find(|tool| McpTool::of_tool(tool).as_ref() == Some(&wanted));
        known.map(|tool| tool.id.as_str().to_owned())
    };
    let mut ids = BTreeMap::new();
    for listed in &exchange.tools {
        if ids.contains_key(listed.name.as_str()) {
            continue;
        }
        let id = known(&listed.name).unwrap_or_else(|| {
            let plain = format!("{}-{}", slug(runtime.id.as_str()), slug(&listed.name));
            let numbered = (2..).map(|number| format!("{plain}-{number}"));
            let mut candidates = std::iter::once(plain.clone()).chain(numbered);
            candidates.find(|id| !taken.contains(id)).expect("there are more numbers than tools")
        });
        taken.insert(id.clone());
        ids.insert(listed.name.as_str(), id);
    }
    ids
}

/// The result for one tool so far.
struct Line {
    tool_id: String,
    mcp_tool_name: String,
    description: Option<String>,
    schema_path: String,
    schema_problems: Vec<String>,
    skipped: Option<String>,
}

impl Line {
    fn skip(&mut self, why: String) {
        self.skipped = Some(why);
    }

    fn finish(self, dry_run: bool, absolute: impl Fn(&str) -> String) -> ImportedTool {
        ImportedTool {
            tool_id: self.tool_id,
            mcp_tool_name: self.mcp_tool_name,
            description: self.description,
            action: match (&self.skipped, dry_run) {
                (Some(_), _) => "skip",
                (None, true) => "would-add",
                (None, false) => "add",
            }
            .into(),
            detail: self.skipped,
            input_schema_path: absolute(&self.schema_path),
            schema_problems: self.schema_problems,
        }
    }
}

fn entry(asking: &Tool, listed: &ListedTool, id: &str) -> (Line, Tool) {
    let schema_path = format!("{SCHEMAS}/{id}.input.json");
    let text = |text: &Option<String>, limit: usize| {
        let text =
            text.as_deref().map(|text| short(text, limit)).map(|text| escape_terminal(&text).into_owned());
        text.filter(|text| !text.is_empty())
    };
    let asking = asking.clone();
    let bare = Tool::new(id, Family::Mcp).expect("letters, digits and dashes are an id");
    let tool = Tool {
        name: text(&listed.title, NAME)
            .or_else(|| text(&Some(listed.name.clone()), NAME))
            .unwrap_or(id.to_owned()),
        enabled: false,
        description: text(&listed.description, DESCRIPTION),
        mcp_tool_name: Some(listed.name.clone()),
        input_schema_path: Some(schema_path.clone()),
        id: bare.id,
        ..asking
    };
    let schema_problems = match compile_schema(schema_text(listed).as_bytes()) {
        SchemaFact::Unsound(problems) => problems.iter().map(ToString::to_string).collect(),
        SchemaFact::NotJson(error) => vec![error.to_string()],
        SchemaFact::File(_) | SchemaFact::Sound { .. } => Vec::new(),
    };
    let line = Line {
        tool_id: id.to_owned(),
        mcp_tool_name: listed.name.clone(),
        description: tool.description.clone(),
        schema_path,
        schema_problems,
        skipped: None,
    };
    (line, tool)
}

/// Returns the schema to store. Without a schema, any object is accepted.
fn schema_text(listed: &ListedTool) -> String {
    match &listed.input_schema {
        Json::Null => Json::object([("type", Json::from("object"))]).to_pretty(),
        schema => schema.to_pretty(),
    }
}

/// Converts a name to a part of an id: lower-case letters, digits and single dashes.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for character in name.chars() {
        let character = character.to_ascii_lowercase();
        if character.is_ascii_lowercase() || character.is_ascii_digit() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug: String = slug.trim_end_matches('-').chars().take(60).collect();
    if slug.is_empty() { "tool".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> PolicyState {
        PolicyState::parse("policy.toml", None)
    }

    #[test]
    fn a_server_gets_the_time_of_its_runtime_and_no_more_than_the_policy_allows() {
        let check = |own: Option<f64>, policy: &str, expect: f64| {
            let timeout = own.map(|own| Seconds::new(own).unwrap());
            let runtime = Runtime { timeout, ..Runtime::new("voice", "python3 server.py").unwrap() };
            let policy = PolicyState::parse("policy.toml", Some(policy.as_bytes()));
            assert_eq!(asking(&runtime, &policy).timeout.unwrap().get(), expect);
        };
        check(None, "", 30.0);
        check(Some(2.0), "", 2.0);
        check(Some(40.0), "max_timeout = 60", 40.0);
        check(None, "max_timeout = 1", 1.0);
        check(Some(5.0), "max_timeout = 3", 3.0);
    }

    #[test]
    fn names_become_parts_of_ids() {
        for (name, expect) in [
            ("read_file", "read-file"),
            ("getHTTP", "gethttp"),
            ("../x  y/", "x-y"),
            ("é", "tool"),
            ("", "tool"),
        ] {
            assert_eq!(slug(name), expect);
        }
    }

    #[test]
    fn names_that_make_the_same_id_are_numbered_and_keep_their_number() {
        let runtime = Runtime::new("voice", "python3 server.py").unwrap();
        let listed = |name: &str| ListedTool::from_json(&Json::object([("name", Json::from(name))])).unwrap();
        let names = ["a/b", "a.b", "a-b", "日本", "", "a.b"];
        let exchange = Exchange { tools: names.map(listed).to_vec(), ..Exchange::default() };
        let catalog = |text: &str| Catalog::parse(CATALOG, Level::Project, text.as_bytes());
        let found = ids(&runtime, &exchange, &catalog(""));
        let found: Vec<&str> = names.iter().map(|name| found[name].as_str()).collect();
        assert_eq!(
            found,
            ["voice-a-b", "voice-a-b-2", "voice-a-b-3", "voice-tool", "voice-tool-2", "voice-a-b-2"]
        );
        let (_, tool) = entry(&asking(&runtime, &nothing()), &exchange.tools[1], "voice-a-b-2");
        let kept = edit::add_tool("", &tool).unwrap();
        let exchange = Exchange { tools: vec![listed("a.b"), listed("a-b")], ..Exchange::default() };
        let found = ids(&runtime, &exchange, &catalog(&kept));
        assert_eq!((found["a.b"].as_str(), found["a-b"].as_str()), ("voice-a-b-2", "voice-a-b"));
    }

    #[test]
    fn an_entry_is_off_asks_always_and_may_do_nothing() {
        let runtime = Runtime::new("voice", "python3 server.py").unwrap();
        let listed = Json::parse(
            r#"{"name": "say it", "description": "a\u001b[31mb", "inputSchema": {"type": "object"}}"#,
        );
        let (line, tool) = entry(
            &asking(&runtime, &nothing()),
            &ListedTool::from_json(&listed.unwrap()).unwrap(),
            "voice-say-it",
        );
        assert_eq!((tool.id.as_str(), tool.enabled, tool.requires_runtime), ("voice-say-it", false, true));
        assert_eq!(tool.approval_mode, Some(ApprovalMode::Always));
        assert!(tool.effects.is_empty() && tool.permissions.is_empty());
        assert!(!tool.description.unwrap().contains('\u{1b}'));
        assert_eq!(line.schema_problems, Vec::<String>::new());
        let text = edit::add_tool("", &Tool { description: None, ..asking(&runtime, &nothing()) }).unwrap();
        assert!(Catalog::parse(CATALOG, Level::Project, text.as_bytes()).is_valid());
    }
}
