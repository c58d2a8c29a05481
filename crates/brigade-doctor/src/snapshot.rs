//! The facts of a workspace, read once by whoever asks for a diagnosis.

use std::sync::Arc;

use brigade_call::{Call, Checkpoint, DirectoryFact, FileFact, ProgramFact, Receipt, SchemaFact};
use brigade_catalog::{Catalog, Runtimes, Tool};
use brigade_core::{Fingerprint, Json, JsonError, Timestamp};
use brigade_policy::{Environment, PolicyState};
use brigade_projection::{Orphan, PathRefusal, ProjectionItem};

use crate::{Issue, McpServer, RuntimeFacts};

/// Everything that can be diagnosed. Parts that were not gathered are empty or absent, and give no issues.
#[derive(Clone)]
pub struct Snapshot<'a> {
    /// The present.
    pub now: Timestamp,
    /// The catalog.
    pub catalog: Option<ConfigFile<'a, Catalog>>,
    /// What is wrong with the tools, by [`diagnose_tool`](crate::diagnose_tool()) of each in the order of the catalog;
    /// when absent, they are diagnosed by their entries alone.
    pub tools: Option<ToolIssues>,
    /// Managed files that no tool asks for.
    pub orphans: &'a [Orphan],
    /// The runtimes and how they stand.
    pub runtimes: Option<FoundRuntimes<'a>>,
    /// The policy, and which variables are set.
    pub policy: Option<PolicyFacts<'a>>,
    /// The pins of MCP tools that do not hold.
    pub pins: Vec<PinState>,
    /// The calls in the queue.
    pub calls: Vec<CallState<'a>>,
    /// Lines of the state that cannot be read and that nobody has set aside yet, by file.
    pub unreadable: Vec<BrokenFile>,
    /// Files of lines that could not be read.
    pub quarantines: Vec<Quarantine>,
    /// The runs.
    pub runs: &'a [RunState],
    /// Receipts that cannot be read.
    pub broken_receipts: Vec<BrokenFile>,
    /// What is wrong with the chain of receipts, by run or file.
    pub ledger: Vec<BrokenFile>,
    /// The checkpoints.
    pub checkpoints: Vec<CheckpointState<'a>>,
    /// Checkpoints that cannot be read.
    pub broken_checkpoints: Vec<BrokenFile>,
    /// What this system cannot enforce of a sandbox, in plain sentences; absent when it was not asked.
    pub sandbox_gaps: Option<Vec<String>>,
    /// Files and folders of the state that are open to others, relative to the workspace. One may stand for those
    /// beside it.
    pub wide_modes: Vec<String>,
    /// Locks of the Python program whose process is gone, relative to the workspace.
    pub left_locks: Vec<String>,
}

impl<'a> Snapshot<'a> {
    /// Starts from nothing but the present.
    pub fn new(now: Timestamp) -> Snapshot<'a> {
        Snapshot {
            now,
            catalog: None,
            tools: None,
            orphans: &[],
            runtimes: None,
            policy: None,
            pins: Vec::new(),
            calls: Vec::new(),
            unreadable: Vec::new(),
            quarantines: Vec::new(),
            runs: &[],
            broken_receipts: Vec::new(),
            ledger: Vec::new(),
            checkpoints: Vec::new(),
            broken_checkpoints: Vec::new(),
            sandbox_gaps: None,
            wide_modes: Vec::new(),
            left_locks: Vec::new(),
        }
    }
}

/// A configuration file.
#[derive(Debug, PartialEq, Eq)]
pub enum ConfigFile<'a, T> {
    /// There is none.
    Missing {
        /// Its name, relative to the workspace.
        file: &'a str,
    },
    /// There is one that cannot be read.
    Unreadable {
        /// Its name, relative to the workspace.
        file: &'a str,
        /// Why, without a final stop.
        why: String,
    },
    /// What was understood of it, and its issues.
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

/// An entry of the catalog, and what was found of it.
#[derive(Clone, Copy)]
pub struct ToolState<'a> {
    /// The catalog.
    pub catalog: &'a Catalog,
    /// One of its entries.
    pub tool: &'a Tool,
    /// The files that it names; absent when they were not looked at.
    pub files: Option<&'a ToolFiles>,
    /// Its projections.
    pub projections: &'a [ProjectionItem],
    /// The policy, and which variables are set.
    pub policy: Option<PolicyFacts<'a>>,
}

/// What is wrong with tools, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolIssues {
    /// Issues of entries, files and projections.
    pub(crate) own: Vec<Issue>,
    /// What the policy refuses.
    pub(crate) policy: Vec<Issue>,
}

impl ToolIssues {
    /// Adds what is wrong with the tools that come next.
    pub fn append(&mut self, mut next: ToolIssues) {
        self.own.append(&mut next.own);
        self.policy.append(&mut next.policy);
    }
}

/// What was found of the files that one tool names. Schemas are shared, because many tools may have the same.
#[derive(Clone, Debug)]
pub struct ToolFiles {
    /// `source_path`
    pub source: FileFact,
    /// `manifest_path`
    pub manifest: FileFact,
    /// `schema_path`
    pub schema: FileFact,
    /// Why that is not JSON, when it is not.
    pub schema_error: Option<JsonError>,
    /// `input_schema_path`
    pub input_schema: Arc<SchemaFact>,
    /// `output_schema_path`
    pub output_schema: Arc<SchemaFact>,
    /// `examples_path`
    pub examples: FileFact,
    /// `health_path`
    pub health: FileFact,
    /// When that was last written.
    pub health_modified: Option<Timestamp>,
    /// `cwd`
    pub directory: DirectoryFact,
    /// The program that `command` names.
    pub program: ProgramFact,
    /// The script that `command` runs, when it is not there.
    pub missing_script: Option<String>,
    /// The servers of the MCP configuration that an MCP tool names, by [`inspect_mcp`](crate::inspect_mcp()).
    pub mcp_servers: Vec<McpServer>,
    /// Why the MCP configuration that an MCP tool names is not JSON, where `schema_error` does not say so.
    pub mcp_error: Option<JsonError>,
    /// Other fields whose paths lead out of the workspace, such as `runtime_health_path`.
    pub outside: Vec<&'static str>,
    /// Targets for harnesses that the tool does not support, by harness, that may not be written, and why.
    pub refused_targets: Vec<(String, PathRefusal)>,
}

impl Default for ToolFiles {
    /// A tool that names no files.
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
            mcp_servers: Vec::new(),
            mcp_error: None,
            outside: Vec::new(),
            refused_targets: Vec::new(),
        }
    }
}

impl ToolFiles {
    /// Lists the fields whose paths lead out of the workspace to where the policy does not allow, each once.
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

/// The runtimes and how they stand.
#[derive(Clone, Debug)]
pub struct FoundRuntimes<'a> {
    /// The file.
    pub config: ConfigFile<'a, Runtimes>,
    /// How each stands.
    pub facts: &'a [RuntimeFacts],
    /// The ids of those that run and have no entry any more.
    pub left: &'a [String],
}

/// The policy, and which variables are set.
#[derive(Clone, Copy)]
pub struct PolicyFacts<'a> {
    /// The policy.
    pub state: &'a PolicyState,
    /// Which variables are set.
    pub environment: &'a (dyn Environment + Sync),
}

/// A pin of an MCP tool that does not hold, or a server whose list changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinState {
    /// Its id.
    pub id: String,
    /// Its file, relative to the workspace.
    pub file: String,
    /// The tool of the catalog that asks for it.
    pub tool_id: Option<String>,
    /// What is wrong.
    pub problem: PinProblem,
}

/// What is wrong with a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinProblem {
    /// The server lists the tool differently.
    Changed {
        /// How, in sentences.
        changes: Vec<String>,
        /// The fingerprint of what it lists.
        offered: Fingerprint,
    },
    /// The server does not list the tool.
    Vanished,
    /// The server lists tools that it did not list before; the text names them.
    Appeared(String),
    /// The server does not list tools any more that are not pinned; the text names them.
    Gone(String),
    /// The file cannot be read; the text says why.
    Unreadable(String),
}

/// A call in the queue.
#[derive(Clone, Debug)]
pub struct CallState<'a> {
    /// The call.
    pub call: &'a Call,
    /// Of an approved call: what no longer matches the approval, in words such as `the contract changed`.
    pub changes: Vec<String>,
    /// Of a running call: whether its runner is there.
    pub runner: RunnerState,
}

/// Whether the runner of a call is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunnerState {
    /// It was not looked for.
    NotChecked,
    /// It is there.
    Alive,
    /// It is gone.
    Gone,
}

/// A file of lines that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// The file, relative to the workspace.
    pub file: String,
    /// How many lines it has.
    pub lines: usize,
}

/// A file of the state that cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenFile {
    /// The file, relative to the workspace.
    pub file: String,
    /// The run or checkpoint that it is about, where that is known.
    pub id: Option<String>,
    /// What is wrong, without a final stop and without text of the file.
    pub problem: String,
    /// Whether a compaction brings it back.
    pub is_restorable: bool,
}

/// What is known of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunState {
    /// Its id.
    pub id: String,
    /// Its call.
    pub call_id: String,
    /// Its tool.
    pub tool_id: String,
    /// The family of that.
    pub family: String,
    /// The word for how it ended.
    pub status: String,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// Whether its timeout ended it.
    pub timed_out: bool,
    /// Why it failed, as its receipt says.
    pub failure: Option<String>,
    /// How its program ended.
    pub exit_code: Option<i64>,
    /// What went wrong with an MCP call, in the word of its receipt.
    pub mcp_fault: Option<String>,
    /// What it asked for: the same for runs of one tool with the same arguments.
    pub asks: Fingerprint,
    /// The logs that its receipt names and that are gone: `stdout`, `stderr`.
    pub missing_logs: Vec<&'static str>,
    /// Why it could not be replayed as things are.
    pub replay_blockers: Vec<String>,
}

impl RunState {
    /// Takes what a receipt says; logs and replay are not looked at.
    pub fn of(receipt: &Receipt) -> RunState {
        RunState {
            id: receipt.id().to_owned(),
            call_id: receipt.call_id().to_owned(),
            tool_id: receipt.tool_id().to_owned(),
            family: receipt.family.clone(),
            status: receipt.status().to_owned(),
            started_at: receipt.started_at(),
            timed_out: receipt.timed_out,
            failure: receipt.failure.clone(),
            exit_code: receipt.exit_code,
            mcp_fault: receipt.mcp_error_kind.clone(),
            asks: asks(receipt.tool_id(), &receipt.args),
            missing_logs: Vec::new(),
            replay_blockers: Vec::new(),
        }
    }
}

/// Fingerprints what a call or run asks for: the same for one tool with the same arguments.
pub fn asks(tool_id: &str, args: &Json) -> Fingerprint {
    Fingerprint::builder("brigade.asks.v1").text("tool_id", tool_id).json("args", args).finish()
}

/// A stored checkpoint.
#[derive(Clone, Debug)]
pub struct CheckpointState<'a> {
    /// The checkpoint.
    pub checkpoint: &'a Checkpoint,
    /// Why it could not be resumed as things are, besides its own status and time.
    pub blockers: Vec<String>,
}
