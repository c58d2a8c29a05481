//! The facts of a workspace, gathered by the caller.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use brigade_call::{
    Call, Checkpoint, DirectoryFact, FileFact, ProgramFact, Receipt, RunStatus, SchemaFact, ToolUse,
};
use brigade_catalog::{Catalog, Family, Presence, Runtimes, Tool, UnsafeUserFile};
use brigade_core::{
    CallId, ConfigIssue, Fingerprint, Json, JsonError, Place, RecordedWord, RunId, Timestamp,
};
use brigade_kitchen::health::KitchenHealth;
use brigade_policy::{Environment, PolicyState};
use brigade_projection::{Orphan, PathRefusal, ProjectionItem};

use crate::diagnose::CommandRead;
use crate::{Issue, McpServer, RuntimeFacts};

/// The facts to diagnose. Parts that were not gathered are empty or absent, and cause no issues.
#[derive(Clone)]
pub struct Snapshot<'a> {
    /// The current time.
    pub now: Timestamp,
    /// Which failures of agents are issues.
    pub failures: AgentFailures,
    /// The home directory of the person, used to explain paths that begin with `~`.
    pub home: Option<&'a Path>,
    /// The catalog.
    pub catalog: Option<ConfigFile<'a, Catalog>>,
    /// The issues of the tools, from [`diagnose_tool`](crate::diagnose_tool()) in the order of the catalog. If absent,
    /// only the entries are diagnosed.
    pub tools: Option<ToolIssues>,
    /// Managed files that no tool in the catalog projects.
    pub orphans: &'a [Orphan],
    /// The runtimes and their state.
    pub runtimes: Option<FoundRuntimes<'a>>,
    /// The policy and the environment.
    pub policy: Option<PolicyFacts<'a>>,
    /// The issues of gateway.toml and profiles.toml.
    pub gateway: Vec<ConfigIssue>,
    /// The first rule that approves calls, if the policy does not count because git tracks it.
    pub policy_tracked: Option<Place>,
    /// Files of the state and configuration that git tracks, relative to the workspace.
    pub tracked: Vec<String>,
    /// The resources and prompts that servers of gateway.toml listed last.
    pub offered: Vec<ServerOffer>,
    /// The ids of `[[upstream]]` in gateway.toml.
    pub upstreams: Vec<(String, Place)>,
    /// The pins of MCP tools that do not match.
    pub pins: Vec<PinState>,
    /// The calls in the queue.
    pub calls: Vec<CallState<'a>>,
    /// Unreadable lines of the state that are not quarantined yet, by file.
    pub unreadable: Vec<BrokenFile>,
    /// Quarantine files.
    pub quarantines: Vec<Quarantine>,
    /// Whether v0.30 was used in the workspace.
    pub is_of_v030: bool,
    /// The runs.
    pub runs: &'a [RunState],
    /// What the last observed runs of tools used, by tool id.
    pub uses: &'a BTreeMap<String, ToolUse>,
    /// Receipts that cannot be read.
    pub broken_receipts: Vec<BrokenFile>,
    /// Problems of the chain of receipts, by run or file.
    pub ledger: Vec<BrokenFile>,
    /// The checkpoints.
    pub checkpoints: Vec<CheckpointState<'a>>,
    /// Checkpoints that cannot be read.
    pub broken_checkpoints: Vec<BrokenFile>,
    /// The sandbox rules that this system cannot enforce, as sentences; absent if not checked.
    pub sandbox_gaps: Option<Vec<String>>,
    /// State files and directories that are open to other users, relative to the workspace. One of several siblings is
    /// enough.
    pub wide_modes: Vec<String>,
    /// Why the key of this host cannot be used, so that no approval counts.
    pub key_problem: Option<String>,
    /// Locks of v0.30 whose process no longer exists, relative to the workspace.
    pub left_locks: Vec<String>,
    /// Parts of the state that cannot be read.
    pub unread: Vec<BrokenFile>,
    /// Entries in the files of clients that differ from what was written, and servers that clients start without the
    /// gateway.
    pub clients: Vec<ClientState>,
    /// The kitchen, if the workspace has one.
    pub kitchen: Option<&'a KitchenHealth>,
}

static NO_USES: BTreeMap<String, ToolUse> = BTreeMap::new();

impl<'a> Snapshot<'a> {
    /// Creates a snapshot without facts.
    pub fn new(now: Timestamp) -> Snapshot<'a> {
        Snapshot {
            now,
            failures: AgentFailures::All,
            home: None,
            catalog: None,
            tools: None,
            orphans: &[],
            runtimes: None,
            policy: None,
            gateway: Vec::new(),
            policy_tracked: None,
            tracked: Vec::new(),
            offered: Vec::new(),
            upstreams: Vec::new(),
            pins: Vec::new(),
            calls: Vec::new(),
            unreadable: Vec::new(),
            quarantines: Vec::new(),
            is_of_v030: false,
            runs: &[],
            uses: &NO_USES,
            broken_receipts: Vec::new(),
            ledger: Vec::new(),
            checkpoints: Vec::new(),
            broken_checkpoints: Vec::new(),
            sandbox_gaps: None,
            wide_modes: Vec::new(),
            key_problem: None,
            left_locks: Vec::new(),
            unread: Vec::new(),
            clients: Vec::new(),
            kitchen: None,
        }
    }
}

/// Which failures of calls and runs of agents are issues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentFailures {
    /// Those of the last day. Agents go on after a failure, and few older ones need a person.
    #[default]
    Recent,
    /// All.
    All,
}

/// The resources and prompts that a server listed last and gateway.toml offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOffer {
    /// The server.
    pub server: String,
    /// The place of its entry in gateway.toml.
    pub place: Place,
    /// URIs of resources.
    pub resources: Vec<String>,
    /// Templates of URIs.
    pub templates: Vec<String>,
    /// Names of prompts.
    pub prompts: Vec<String>,
}

/// A configuration file.
#[derive(Debug, PartialEq, Eq)]
pub enum ConfigFile<'a, T> {
    /// The file does not exist.
    Missing {
        /// Its name, relative to the workspace.
        file: &'a str,
    },
    /// The file cannot be read.
    Unreadable {
        /// Its name, relative to the workspace.
        file: &'a str,
        /// The reason, without a final stop.
        why: String,
    },
    /// The parsed file, with its issues.
    Read(&'a T),
}

impl<T> Clone for ConfigFile<'_, T> {
    fn clone(&self) -> Self {
        match self {
            ConfigFile::Missing { file } => ConfigFile::Missing { file },
            ConfigFile::Unreadable { file, why } => ConfigFile::Unreadable { file, why: why.clone() },
            ConfigFile::Read(read) => ConfigFile::Read(read),
        }
    }
}

/// A catalog entry with the facts about it.
#[derive(Clone, Copy)]
pub struct ToolState<'a> {
    /// The catalog.
    pub catalog: &'a Catalog,
    /// One of its entries.
    pub tool: &'a Tool,
    /// The facts about its files; absent if they were not gathered.
    pub files: Option<&'a ToolFiles>,
    /// The home directory of the person, used to explain paths that begin with `~`.
    pub home: Option<&'a Path>,
    /// Its projections.
    pub projections: &'a [ProjectionItem],
    /// The policy and the environment.
    pub policy: Option<PolicyFacts<'a>>,
    /// Whether the tool is installed, for an entry that [claims it](Tool::claims_presence).
    pub presence: Option<&'a Presence>,
}

/// The issues of tools, in the order of the catalog.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolIssues {
    /// Issues of entries, files and projections.
    pub(crate) own: Vec<Issue>,
    /// Refusals by the policy.
    pub(crate) policy: Vec<Issue>,
    /// Arguments that v0.30 writes differently, for workspaces in which it was used.
    pub(crate) switching: Vec<Issue>,
    /// The parsed command of the last tool.
    pub(crate) command: Option<CommandRead>,
}

impl ToolIssues {
    /// Appends the issues of the next tools.
    pub fn append(&mut self, mut next: ToolIssues) {
        self.own.append(&mut next.own);
        self.policy.append(&mut next.policy);
        self.switching.append(&mut next.switching);
    }
}

/// The facts about the files of one tool. Schemas are shared, because many tools may use the same one.
#[derive(Clone, Debug)]
pub struct ToolFiles {
    /// `source_path`
    pub source: FileFact,
    /// `manifest_path`
    pub manifest: FileFact,
    /// `schema_path`
    pub schema: FileFact,
    /// Why the schema is not JSON.
    pub schema_error: Option<JsonError>,
    /// `input_schema_path`
    pub input_schema: Arc<SchemaFact>,
    /// `output_schema_path`
    pub output_schema: Arc<SchemaFact>,
    /// `examples_path`
    pub examples: FileFact,
    /// `health_path`
    pub health: FileFact,
    /// When the health file was last written.
    pub health_modified: Option<Timestamp>,
    /// `cwd`
    pub directory: DirectoryFact,
    /// The program that `command` names.
    pub program: ProgramFact,
    /// The script that `command` runs, if it is missing.
    pub missing_script: Option<String>,
    /// The file whose path is most similar to the missing one of `input_schema_path`.
    pub near_schema: Option<String>,
    /// The file whose path is most similar to that of the missing script.
    pub near_script: Option<String>,
    /// The servers of the MCP configuration that an MCP tool names, by [`inspect_mcp`](crate::inspect_mcp()).
    pub mcp_servers: Vec<McpServer>,
    /// Why the MCP configuration of an MCP tool is not JSON, unless `schema_error` says so.
    pub mcp_error: Option<JsonError>,
    /// Other fields whose paths lead out of the workspace, such as `runtime_health_path`.
    pub outside: Vec<&'static str>,
    /// Targets that are not allowed, for harnesses that the tool does not support, with the reason.
    pub refused_targets: Vec<(String, PathRefusal)>,
}

impl Default for ToolFiles {
    /// Creates the facts of a tool that names no files.
    fn default() -> ToolFiles {
        let not_named = Arc::new(SchemaFact::File(FileFact::NotNamed));
        ToolFiles {
            source: FileFact::NotNamed,
            manifest: FileFact::NotNamed,
            schema: FileFact::NotNamed,
            schema_error: None,
            input_schema: not_named.clone(),
            output_schema: not_named,
            examples: FileFact::NotNamed,
            health: FileFact::NotNamed,
            health_modified: None,
            directory: DirectoryFact::Present,
            program: ProgramFact::NotExecuted,
            missing_script: None,
            near_schema: None,
            near_script: None,
            mcp_servers: Vec::new(),
            mcp_error: None,
            outside: Vec::new(),
            refused_targets: Vec::new(),
        }
    }
}

impl ToolFiles {
    /// Lists the fields whose paths lead out of the workspace without permission of the policy.
    pub fn leading_out(&self) -> Vec<&'static str> {
        let schema = |fact: &SchemaFact| matches!(fact, SchemaFact::File(FileFact::Outside));
        let named = [
            ("cwd", self.directory == DirectoryFact::Outside),
            ("source_path", self.source == FileFact::Outside),
            ("manifest_path", self.manifest == FileFact::Outside),
            ("schema_path", self.schema == FileFact::Outside),
            ("input_schema_path", schema(&self.input_schema)),
            ("output_schema_path", schema(&self.output_schema)),
            ("examples_path", self.examples == FileFact::Outside),
            ("health_path", self.health == FileFact::Outside),
        ];
        let mut found: Vec<&str> =
            named.into_iter().filter(|(_, leads_out)| *leads_out).map(|(field, _)| field).collect();
        found.extend(self.outside.iter().filter(|field| !named.iter().any(|(other, _)| *other == **field)));
        found
    }
}

/// The runtimes and their state.
#[derive(Clone, Debug)]
pub struct FoundRuntimes<'a> {
    /// The file.
    pub config: ConfigFile<'a, Runtimes>,
    /// The state of each runtime.
    pub facts: &'a [RuntimeFacts],
    /// The ids of runtimes that run without an entry.
    pub left: &'a [String],
}

/// The policy and the environment.
#[derive(Clone, Copy)]
pub struct PolicyFacts<'a> {
    /// The policy.
    pub state: &'a PolicyState,
    /// The environment variables.
    pub environment: &'a (dyn Environment + Sync),
}

/// A pin that does not match, or a server whose list changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinState {
    /// Its id.
    pub id: String,
    /// Its file, relative to the workspace.
    pub file: String,
    /// The tool in the catalog that uses the pin.
    pub tool_id: Option<String>,
    /// The problem.
    pub problem: PinProblem,
}

/// A problem of a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinProblem {
    /// The server's listing of the tool changed.
    Changed {
        /// The changes, as sentences.
        changes: Vec<String>,
        /// The fingerprint of the new listing.
        offered: Fingerprint,
    },
    /// The server no longer lists the tool.
    Vanished,
    /// The server lists new tools; the text names them.
    Appeared(String),
    /// The server no longer lists tools that are not pinned; the text names them.
    Gone(String),
    /// The server lists something else than pins and catalog; the text says what.
    Updated(String),
    /// The pin file cannot be read; the text says why.
    Unreadable(String),
}

/// A call in the queue.
#[derive(Clone, Debug)]
pub struct CallState<'a> {
    /// The call.
    pub call: &'a Call,
    /// For an approved call, what no longer matches the approval, such as `the contract changed`. For a pending call of
    /// v0.30, why it cannot be approved.
    pub changes: Vec<String>,
    /// Whether the only change is that `PATH` finds another program.
    pub is_only_moved: bool,
    /// For a running call: whether its runner is alive.
    pub runner: RunnerState,
}

/// Whether the runner of a call is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunnerState {
    /// Not checked.
    NotChecked,
    /// The runner is alive.
    Alive,
    /// The runner is gone.
    Gone,
}

/// A quarantine file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// The file, relative to the workspace.
    pub file: String,
    /// The number of lines.
    pub lines: usize,
}

/// A damaged state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenFile {
    /// The file, relative to the workspace.
    pub file: String,
    /// The run or checkpoint of the file, if known.
    pub id: Option<String>,
    /// The problem, without a final stop and without text from the file.
    pub problem: String,
    /// Whether a compaction restores it.
    pub is_restorable: bool,
}

/// The facts of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunState {
    /// Its id.
    pub id: RunId,
    /// Its call.
    pub call_id: CallId,
    /// Its tool.
    pub tool_id: String,
    /// The family of the tool.
    pub family: RecordedWord<Family>,
    /// How it ended.
    pub status: RunStatus,
    /// Whether an agent asked for it.
    pub is_of_agent: bool,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// Whether it timed out.
    pub timed_out: bool,
    /// The reason of a failure, from the receipt.
    pub failure: Option<String>,
    /// The exit code of the program.
    pub exit_code: Option<i64>,
    /// The error kind of an MCP call, from the receipt.
    pub mcp_fault: Option<String>,
    /// The fingerprint of tool and arguments.
    pub asks: Fingerprint,
    /// The logs in the receipt that no longer exist: `stdout`, `stderr`.
    pub missing_logs: Vec<&'static str>,
    /// Why it cannot be replayed.
    pub replay_blockers: Vec<String>,
}

impl RunState {
    /// Creates the facts from a receipt, without checking logs and replay.
    pub fn from_receipt(receipt: &Receipt) -> RunState {
        RunState {
            id: receipt.id.clone(),
            call_id: receipt.call_id.clone(),
            tool_id: receipt.tool_id.to_owned(),
            family: receipt.family.clone(),
            status: receipt.status.clone(),
            is_of_agent: receipt.caller().agent().is_some(),
            started_at: receipt.started_at(),
            timed_out: receipt.timed_out,
            failure: receipt.failure.clone(),
            exit_code: receipt.exit_code,
            mcp_fault: receipt.mcp_error_kind.clone(),
            asks: request_fingerprint(&receipt.tool_id, &receipt.args),
            missing_logs: Vec::new(),
            replay_blockers: Vec::new(),
        }
    }
}

/// Returns a fingerprint of the tool and the arguments of a call or run.
pub fn request_fingerprint(tool_id: &str, args: &Json) -> Fingerprint {
    Fingerprint::builder("brigade.asks.v1").text("tool_id", tool_id).json("args", args).finish()
}

/// A stored checkpoint.
#[derive(Clone, Debug)]
pub struct CheckpointState<'a> {
    /// The checkpoint.
    pub checkpoint: &'a Checkpoint,
    /// Why it cannot be resumed, except for its own status and expiry.
    pub blockers: Vec<String>,
}

/// A problem in a client's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientState {
    /// The client; empty if the list of entries itself is unreadable.
    pub client: String,
    /// `project` or `user`.
    pub scope: String,
    /// `stdio` or `http`.
    pub transport: String,
    /// The agent that the client is.
    pub agent: String,
    /// The file as it is recorded: relative to the workspace, or beginning with `~/`.
    pub noted: String,
    /// The file for people: relative to the workspace, or absolute.
    pub file: String,
    /// The line of the server.
    pub line: Option<usize>,
    /// The problem.
    pub problem: ClientProblem,
}

/// A problem in a client's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientProblem {
    /// The file does not exist.
    FileGone,
    /// The file has no entry of ours.
    EntryGone,
    /// The entry differs from the written one.
    Changed,
    /// The program that the entry starts does not exist.
    ProgramGone,
    /// gateway.toml does not name the agent of the entry.
    AgentGone,
    /// The entry starts the gateway of another workspace.
    OtherTarget,
    /// The file cannot be read; the text says why.
    Unreadable(String),
    /// The cache of discovered tools cannot be used, or only in part; the text says why.
    CacheUnfit(String),
    /// A name has several definitions in the files of clients.
    Differs {
        /// The name, with its source.
        id: String,
        /// The places of the definitions.
        refs: Vec<String>,
        /// When that was found.
        found_at: Timestamp,
    },
    /// An entry contains secrets.
    LiteralSecrets {
        /// The entry.
        id: String,
        /// The keys of the secrets.
        keys: Vec<String>,
        /// When that was found.
        found_at: Timestamp,
    },
    /// The definition differs from the one that a tool was registered from.
    SourceChanged {
        /// The tool.
        tool_id: String,
        /// Its level.
        level: String,
        /// The place of the definition.
        reference: String,
        /// What changed.
        message: String,
        /// When that was found.
        found_at: Timestamp,
    },
    /// The definition that a tool was registered from is gone.
    SourceGone {
        /// The tool.
        tool_id: String,
        /// The missing definition, as a sentence.
        message: String,
        /// When that was found.
        found_at: Timestamp,
    },
    /// A source of the user's tools is not used, because others could have written the file.
    UserFileUnsafe(UnsafeUserFile),
    /// Hooks start commands that exist only in v0.30.
    OldHooks {
        /// The number of hooks.
        count: usize,
    },
    /// Another entry starts a server of the catalog.
    Bypass {
        /// The name of that entry.
        server: String,
        /// A tool of that server.
        tool_id: String,
        /// When that was found; `None` for a new result.
        found_at: Option<Timestamp>,
    },
}
