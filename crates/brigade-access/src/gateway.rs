//! gateway.toml: the agents, what each may do, and upstream servers.

mod edit;
mod read;

use brigade_cmdline::Argv;
use brigade_core::{AgentName, ConfigIssue, Fingerprint, Glob, Json, Place, words};
use brigade_macros::part;
use brigade_policy::document::text_of;
use brigade_policy::{LocatedValue, RiskLevel};

use crate::profiles::Profiles;
use crate::slot::ProfileName;

pub use edit::{EditError, NewAgent, TOKEN_BYTES, Token, add_agent, remove_agent, rotate_token};

words! {
    /// How `tools/list` writes the tools that an agent may call.
    Listing {
        /// Everything.
        Full = "full",
        /// Names, first sentences and short schemas.
        Compact = "compact",
        /// Only the control tools; the others are found by searching.
        Search = "search",
    }
}

words! {
    /// When the records of a short reading call are synced to the disk.
    SyncTime {
        /// Up to 50 ms after the answer.
        After = "after",
        /// Before the answer.
        Before = "before",
    }
}

words! {
    /// What may approve calls of an agent, apart from people at the command line and rules.
    Confirm {
        /// Nothing.
        None = "none",
        /// The dialogue of its client.
        Elicitation = "elicitation",
    }
}

words! {
    /// Who shares a process of an upstream server.
    Share {
        /// The calls of one agent.
        Agent = "agent",
        /// All agents of the workspace.
        Workspace = "workspace",
    }
}

words! {
    /// Whether an agent that only plans may write memories.
    PlanMemoryWrite {
        /// It may not.
        Deny = "deny",
        /// It may.
        Allow = "allow",
    }
}

/// `[volumes]`: what each agent may store in volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeLimits {
    /// The number of its volumes.
    pub max_count: u64,
    /// The sum of their limits, in bytes.
    pub max_bytes: u64,
    /// The largest file, in bytes.
    pub max_file_bytes: u64,
}

impl Default for VolumeLimits {
    fn default() -> VolumeLimits {
        VolumeLimits { max_count: 16, max_bytes: 1 << 30, max_file_bytes: 16 << 20 }
    }
}

/// `[builtin]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltinSettings {
    /// Whether `permission.plan` shows tools that write to the memory.
    pub plan_memory_write: PlanMemoryWrite,
    /// Patterns of files that built-in tools neither read nor write.
    pub protected: Vec<String>,
}

impl Default for BuiltinSettings {
    fn default() -> BuiltinSettings {
        BuiltinSettings { plan_memory_write: PlanMemoryWrite::Deny, protected: Vec::new() }
    }
}

words! {
    /// How a worker gets its prompt.
    WorkerPrompt {
        /// On standard input.
        Stdin = "stdin",
        /// In the file that BRIGADE_PROMPT_FILE names.
        File = "file",
    }
}

words! {
    /// Where the answer of a worker is read, if it writes no result file.
    WorkerResult {
        /// On standard output.
        Stdout = "stdout",
        /// Nowhere: only the file that BRIGADE_RESULT_FILE names counts.
        File = "file",
    }
}

/// `[web] search`: what `web.search` asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchProvider {
    /// The place of the key.
    pub place: Place,
    /// A program or documents.
    pub source: SearchSource,
}

/// What `web.search` asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchSource {
    /// A program, as its command line. It gets the query and the number of results as further words.
    Command(Argv),
    /// The documents in a directory, relative to the workspace.
    Folder(String),
}

/// `[issues]`: the adapter of an issue tracker, which answers `issue.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueTracker {
    /// The place of the table.
    pub place: Place,
    /// Its command line. It gets each request on standard input.
    pub command: Argv,
    /// The names of variables that it needs. The policy binds them.
    pub env: Vec<String>,
}

/// `[notify]`: the program that learns what waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifyCommand {
    /// The place of the table.
    pub place: Place,
    /// Its command line. It gets one JSON object on standard input.
    pub command: Argv,
    /// Its effects, up to those that the policy gives commands of the kitchen. Without them, it has these.
    pub effects: Option<Vec<String>>,
    /// How many seconds it may take.
    pub timeout: u64,
}

impl NotifyCommand {
    /// The time limit without a configured one, in seconds.
    pub const DEFAULT_TIMEOUT: u64 = 5;
}

/// `[[worker]]`: a program that does the tasks of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its id.
    pub id: String,
    /// The place of the entry.
    pub place: Place,
    /// Its command, without what the adapter adds.
    pub command: Argv,
    /// Its adapter; without one, the first word of the command chooses it.
    pub adapter: Option<String>,
    /// How it gets its prompt, if not as the adapter says.
    pub prompt: Option<WorkerPrompt>,
    /// Where its answer is read, if not as the adapter says.
    pub result: Option<WorkerResult>,
}

/// `[judge]`: the worker that judges outputs of tasks, and calls for which a profile requires it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeSettings {
    /// The place of the table.
    pub place: Place,
    /// The id of a `[[worker]]`.
    pub worker: String,
    /// The minimum score that passes, above 0 and at most 1.
    pub threshold: f64,
}

impl JudgeSettings {
    /// The threshold without a configured one.
    pub const DEFAULT_THRESHOLD: f64 = 0.7;
}

impl Eq for JudgeSettings {}

/// A valid gateway.toml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayConfig {
    /// The file name used in places.
    pub file: String,
    /// Whether the file exists.
    pub exists: bool,
    /// How tools are listed.
    pub list: Listing,
    /// The number of tools on a page, from 1 to 1000.
    pub page_size: usize,
    /// The largest text of one result, in bytes.
    pub max_result_bytes: u64,
    /// The largest description of a tool in a list, in bytes.
    pub max_description_bytes: u64,
    /// The largest message of a client, in bytes.
    pub max_request_bytes: u64,
    /// When the records of a short reading call are synced.
    pub sync: SyncTime,
    /// The HTTP transport.
    pub http: Http,
    /// The agents, in file order.
    pub agents: Vec<Agent>,
    /// Upstream servers that the file configures, in file order.
    pub upstreams: Vec<Upstream>,
    /// The settings of built-in tools.
    pub builtin: BuiltinSettings,
    /// What each agent may store in volumes.
    pub volumes: VolumeLimits,
    /// The programs that do tasks, in file order. The first one serves agents that name none.
    pub workers: Vec<Worker>,
    /// The judge, if one is configured.
    pub judge: Option<JudgeSettings>,
    /// What `web.search` asks, if the file names it.
    pub search: Option<SearchProvider>,
    /// What `issue.*` ask, if the file names it.
    pub issues: Option<IssueTracker>,
    /// The program that learns what waits, if the file names one.
    pub notify: Option<NotifyCommand>,
}

/// `[http]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Http {
    /// The exact origins of web pages that may connect.
    pub allowed_origins: Vec<String>,
    /// Whether the gateway may listen on addresses other than loopback.
    pub public: bool,
}

/// `[[agent]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub name: AgentName,
    /// The place of its entry. The place of the whole file if the file is missing.
    pub place: Place,
    /// The sha256 of its token. Without a token, it can connect only if the transport identifies it.
    pub token_sha256: Option<Fingerprint>,
    /// Its profiles, at most one in each slot except guards. Other slots have their default.
    pub profiles: Vec<LocatedValue<ProfileName>>,
    /// What may approve its calls, apart from people and rules.
    pub confirm: Confirm,
    /// The highest risk that `confirm` approves.
    pub confirm_risk: RiskLevel,
    /// Whether it has a core memory.
    pub has_identity: bool,
    /// Its limits.
    pub limits: AgentLimits,
}

impl Agent {
    /// Creates an agent with default profiles and limits.
    pub fn new(name: AgentName, place: Place) -> Agent {
        Agent {
            name,
            place,
            token_sha256: None,
            profiles: Vec::new(),
            confirm: Confirm::None,
            confirm_risk: RiskLevel::Low,
            has_identity: false,
            limits: AgentLimits::default(),
        }
    }
}

/// `[agent.limits]`. Absent limits are not set.
#[part(Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// Calls in a minute.
    pub calls_per_minute: Option<u64>,
    /// Calls in an hour.
    pub calls_per_hour: Option<u64>,
    /// Seconds that its runs took in an hour.
    pub seconds_per_hour: Option<u64>,
    /// Bytes of output in an hour.
    pub output_per_hour: Option<u64>,
    /// Calls that run at the same time.
    pub concurrent: u64,
    /// Calls that wait for a person at the same time.
    pub pending: u64,
    /// Bytes of their records.
    pub pending_bytes: u64,
}

impl Default for AgentLimits {
    fn default() -> AgentLimits {
        AgentLimits {
            calls_per_minute: None,
            calls_per_hour: None,
            seconds_per_hour: None,
            output_per_hour: None,
            concurrent: 4,
            pending: 100,
            pending_bytes: 16 << 20,
        }
    }
}

/// `[[upstream]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The `mcp_server_id` of catalog entries.
    pub id: String,
    /// The place of the entry.
    pub place: Place,
    /// How many seconds its process is kept after the last call.
    pub keep: u64,
    /// Who shares its process.
    pub share: Share,
    /// Patterns for URIs of resources that are offered.
    pub resources: Vec<Glob>,
    /// Patterns for names of prompts that are offered.
    pub prompts: Vec<Glob>,
    /// The effects of reading them.
    pub effects: Vec<String>,
    /// Whether the server may ask the client's model.
    pub sampling: bool,
}

impl Upstream {
    /// Creates the settings of a server that the file does not name.
    pub fn new(id: &str, place: Place) -> Upstream {
        Upstream {
            id: id.to_owned(),
            place,
            keep: 300,
            share: Share::Agent,
            resources: Vec::new(),
            prompts: Vec::new(),
            effects: Vec::new(),
            sampling: false,
        }
    }
}

impl GatewayConfig {
    /// Returns the configuration without a file: the agent `local`.
    pub fn missing(file: &str) -> GatewayConfig {
        let local = Agent::new(AgentName::local(), Place::file(file));
        GatewayConfig { exists: false, agents: vec![local], ..GatewayConfig::empty(file) }
    }

    /// Returns the configuration of an empty file, which has no agents.
    pub(crate) fn empty(file: &str) -> GatewayConfig {
        GatewayConfig {
            file: file.to_owned(),
            exists: true,
            list: Listing::Full,
            page_size: 100,
            max_result_bytes: 32 << 10,
            max_description_bytes: 16 << 10,
            max_request_bytes: 4 << 20,
            sync: SyncTime::After,
            http: Http::default(),
            agents: Vec::new(),
            upstreams: Vec::new(),
            builtin: BuiltinSettings::default(),
            volumes: VolumeLimits::default(),
            workers: Vec::new(),
            judge: None,
            search: None,
            issues: None,
            notify: None,
        }
    }

    /// Returns the default values, by key.
    pub fn defaults() -> Vec<(&'static str, Json)> {
        let GatewayConfig {
            list,
            page_size,
            max_result_bytes,
            max_description_bytes,
            max_request_bytes,
            sync,
            builtin,
            volumes,
            ..
        } = GatewayConfig::empty("");
        let none = || Json::from(Vec::<Json>::new());
        vec![
            ("list", Json::from(list.as_str())),
            ("page_size", Json::from(page_size)),
            ("max_result_bytes", Json::from(max_result_bytes)),
            ("max_description_bytes", Json::from(max_description_bytes)),
            ("max_request_bytes", Json::from(max_request_bytes)),
            ("sync", Json::from(sync.as_str())),
            ("http.allowed_origins", none()),
            ("http.public", Json::from(false)),
            ("builtin.plan_memory_write", Json::from(builtin.plan_memory_write.as_str())),
            ("builtin.protected", none()),
            ("volumes.max_count", Json::from(volumes.max_count)),
            ("volumes.max_bytes", Json::from(volumes.max_bytes)),
            ("volumes.max_file_bytes", Json::from(volumes.max_file_bytes)),
        ]
    }

    /// Parses a gateway.toml. `None` means that the file does not exist. Agents may name only these profiles.
    ///
    /// # Errors
    /// Returns all issues of the file, in file order. Each is an error, because no part of the file is ignored.
    pub fn parse(
        file: &str,
        bytes: Option<&[u8]>,
        profiles: &Profiles,
    ) -> Result<GatewayConfig, Vec<ConfigIssue>> {
        match bytes {
            None => Ok(GatewayConfig::missing(file)),
            Some(bytes) => {
                let text = text_of(file, bytes).map_err(|issue| vec![*issue])?;
                read::config(file, text, profiles)
            }
        }
    }

    /// Returns the agent of a name.
    pub fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name.as_str() == name)
    }

    /// Returns the names of all agents, in file order.
    pub fn agent_names(&self) -> Vec<AgentName> {
        self.agents.iter().map(|agent| agent.name.clone()).collect()
    }

    /// Returns the agent with this token, in constant time.
    pub fn agent_of_token(&self, token: &[u8]) -> Option<&Agent> {
        let typed = Fingerprint::of_bytes(token).to_hex();
        let mut found = None;
        for agent in &self.agents {
            let stored = agent.token_sha256.unwrap_or_else(|| Fingerprint::of_bytes(b"")).to_hex();
            let pairs = stored.bytes().zip(typed.bytes());
            let different = pairs.fold(0, |different, (stored, typed)| different | (stored ^ typed));
            if std::hint::black_box(different) == 0 && agent.token_sha256.is_some() {
                found = Some(agent);
            }
        }
        found
    }

    /// Returns the settings of an upstream server: those of the file, or the defaults.
    pub fn upstream(&self, id: &str) -> Upstream {
        let named = self.upstreams.iter().find(|upstream| upstream.id == id);
        named.cloned().unwrap_or_else(|| Upstream::new(id, Place::file(&self.file)))
    }
}

#[cfg(test)]
mod tests;
