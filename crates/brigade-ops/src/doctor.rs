//! Reads all facts for a diagnosis, each once.

pub(crate) mod error;
pub(crate) mod examine;
pub(crate) mod fix;
pub(crate) mod history;
pub(crate) mod incoming;
pub(crate) mod locks;
pub(crate) mod modes;
pub(crate) mod sandbox;
pub(crate) mod sections;
pub(crate) mod shown;
pub(crate) mod temporary;

use std::path::Path;

use crate::find_orphans;
use brigade_call::{CALLS, RUNS};
use brigade_catalog::{Reads, Tool};
use brigade_core::{ConfigIssue, Place, Timestamp};
use brigade_doctor::{
    AgentFailures, BrokenFile, CallState, CheckpointState, ClientState, ConfigFile, Issue, PinState,
    PolicyFacts, RunnerState, ServerOffer, Snapshot, ToolIssues, diagnose,
};
use brigade_fs::{FileKind, Fs, RelPath};
use brigade_kitchen::health::KitchenHealth;
use brigade_kitchen_run::{Kitchen, ReceiptCheck};
use brigade_mcp::OfferedNames;
use brigade_projection::Orphan;
use brigade_queue::{QueueError, View};
use brigade_runtime::{Checks, RuntimeError, RuntimeFacts};
use brigade_workspace::{
    CATALOG, Config, Host, POLICY, Places, SummaryFacts, WorkspaceContext, masks, policy_on_disk,
    tracked_state,
};

use crate::clients::{ClientFiles, client_states};
use crate::doctor::error::UpkeepError;
use crate::doctor::examine::{FactRetention, ToolExamination, examine};
use crate::doctor::history::{HistoryFacts, history_facts};
use crate::doctor::locks::left_locks;
use crate::doctor::modes::{ListExtent, wide_modes};
use crate::doctor::sandbox::sandbox_gaps;
use crate::pins::states::pin_states;
use crate::runtimes::host::{FoundRuntimes, find_runtimes};

/// Which facts to read. A part that is not read has no issues.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Files and projections of tools.
    pub tools: bool,
    /// Projections that no tool asks for.
    pub orphans: bool,
    /// The state of runtimes.
    pub runtimes: bool,
    /// Whether to run health commands.
    pub health: Checks,
    /// Whether this system can enforce the sandbox of the policy.
    pub sandbox: bool,
    /// Calls, runs and checkpoints.
    pub queue: bool,
    /// Whether to check the chain of receipts.
    pub ledger: LedgerCheck,
    /// File modes of the state, and leftover locks.
    pub modes: bool,
    /// The files of clients that were connected.
    pub clients: bool,
    /// The kitchen.
    pub kitchen: bool,
    /// Which failures of agents are issues.
    pub failures: AgentFailures,
    /// How many calls and runs to read.
    pub extent: HistoryExtent,
}

/// How many calls and runs to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryExtent {
    /// All.
    All,
    /// At most this many runs, and finished calls of each status, the newest. Listings of their directories are left
    /// out, too.
    Newest(usize),
}

impl HistoryExtent {
    /// Returns the extent that reads all of a history up to a limit, and of a longer one only the newest part.
    pub(crate) fn up_to(limit: usize, view: &View<'_>) -> Result<HistoryExtent, QueueError> {
        let runs: u64 = view.run_counts()?.values().sum();
        let calls: u64 = view.call_counts()?.values().sum();
        let is_short = runs.max(calls) <= limit as u64;
        Ok(if is_short { HistoryExtent::All } else { HistoryExtent::Newest(limit) })
    }
}

/// Whether to check the chain of receipts, which reads every receipt in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerCheck {
    /// Check it.
    Check,
    /// Skip the check.
    Trust,
}

impl Parts {
    /// Selects every part.
    pub fn all() -> Parts {
        Parts {
            tools: true,
            orphans: true,
            runtimes: true,
            health: Checks::Run,
            sandbox: true,
            queue: true,
            ledger: LedgerCheck::Check,
            modes: true,
            clients: true,
            kitchen: true,
            failures: AgentFailures::Recent,
            extent: HistoryExtent::All,
        }
    }

    /// Selects only the catalog and the policy.
    pub fn none() -> Parts {
        Parts {
            tools: false,
            orphans: false,
            runtimes: false,
            health: Checks::Skip,
            sandbox: false,
            queue: false,
            ledger: LedgerCheck::Trust,
            modes: false,
            clients: false,
            kitchen: false,
            failures: AgentFailures::Recent,
            extent: HistoryExtent::All,
        }
    }
}

/// Paths that calls use, with their expected kind.
const NEEDED: [(&str, FileKind); 4] = [
    (".brigade/tools/checkpoints", FileKind::Directory),
    (".brigade/tools/queue.lock", FileKind::File),
    (".brigade/tools/outcomes", FileKind::Directory),
    (".brigade/tools/checkpoints/incoming", FileKind::Directory),
];

/// The facts of a workspace, read once.
pub struct Survey<'c> {
    /// The time of the survey.
    pub now: Timestamp,
    /// The catalog and the policy.
    pub config: &'c Config,
    failures: AgentFailures,
    is_catalog_there: bool,
    /// Tool facts for lists.
    pub summaries: Vec<SummaryFacts>,
    /// Issues of the tools; `None` when tools were not read.
    tool_issues: Option<ToolIssues>,
    orphans: Vec<Orphan>,
    runtimes: Option<FoundRuntimes>,
    pins: Vec<PinState>,
    /// Calls, runs and checkpoints.
    pub history: HistoryFacts,
    sandbox_gaps: Option<Vec<String>>,
    wide_modes: Vec<String>,
    left_locks: Vec<String>,
    unread: Vec<BrokenFile>,
    clients: Vec<ClientState>,
    kitchen: Option<KitchenHealth>,
    gateway: Vec<ConfigIssue>,
    policy_tracked: Option<Place>,
    tracked: Vec<String>,
    offered: Vec<ServerOffer>,
    upstreams: Vec<(String, Place)>,
}

impl<'c> Survey<'c> {
    /// Reads the requested parts.
    ///
    /// # Errors
    /// Returns file, queue and runtime errors.
    pub fn read(
        context: &WorkspaceContext,
        config: &'c Config,
        parts: &Parts,
    ) -> Result<Survey<'c>, UpkeepError> {
        let (fs, host, own_kitchen) = (&*context.fs, context.host(), Kitchen::new(context));
        let is_set = |name: &str| host.environment.is_set(name);
        let policy = Some(PolicyFacts { state: &config.policy, environment: &is_set });
        // Only calls and runs are planned again.
        let mut unread = UnreadFiles(if parts.queue { of_another_kind(fs) } else { Vec::new() });
        let is_there = |path| fs.exists(&RelPath::from_static(path)).unwrap_or_default();
        let is_planned_again = parts.queue && (is_there(CALLS) || is_there(RUNS));
        let keep = if is_planned_again { FactRetention::All } else { FactRetention::Summaries };
        let examined = if parts.tools {
            let tools: Vec<&Tool> = config.catalog.tools().iter().filter(|tool| tool.enabled).collect();
            examine(host, config, &tools, policy, keep)
        } else {
            ToolExamination::default()
        };
        let ToolExamination { issues, summaries, read } = examined;
        let orphans = if parts.orphans {
            find_orphans(host, config, &Places::new(fs, host.root())).orphans
        } else {
            Vec::new()
        };
        let runtimes = if parts.runtimes {
            unread.ok_or_note(fs, find_runtimes(context, config, parts.health))?
        } else {
            None
        };
        let history = if parts.queue {
            let queue = context.queue();
            let view = queue.read().map_err(UpkeepError::from);
            let facts = view.and_then(|view| history_facts(context, config, &view, &read, parts));
            unread.ok_or_note(fs, facts)?.unwrap_or_default()
        } else {
            HistoryFacts::default()
        };
        let pins = if parts.tools {
            let states = pin_states(host.pins(), &config.catalog);
            unread.ok_or_note(fs, states.map_err(UpkeepError::from))?.unwrap_or_default()
        } else {
            Vec::new()
        };
        let sandbox_gaps = if parts.sandbox { sandbox_gaps(fs.root(), &config.policy) } else { None };
        let (left_locks, wide_modes) = if parts.modes {
            let locks = left_locks(fs, context.now());
            let modes = wide_modes(fs, ListExtent::First);
            (
                locks.iter().map(ToString::to_string).collect(),
                modes.iter().map(|wide| wide.path.to_string()).collect(),
            )
        } else {
            (Vec::new(), Vec::new())
        };
        let clients = if parts.clients {
            let runtimes = runtimes.as_ref().and_then(FoundRuntimes::read);
            client_states(&ClientFiles::new(context), config, runtimes)
        } else {
            Vec::new()
        };
        let receipts = match parts.ledger {
            LedgerCheck::Check => ReceiptCheck::All,
            LedgerCheck::Trust => ReceiptCheck::Nothing,
        };
        let tracked_journals = own_kitchen.tracked_journals().unwrap_or_default();
        // A journal that git tracks is not read.
        let kitchen = if parts.kitchen && tracked_journals.is_empty() {
            unread.ok_or_note(fs, own_kitchen.health(receipts).map_err(UpkeepError::from))?.flatten()
        } else {
            None
        };
        let tracked = host.trust.tracked_config(fs).into_iter().map(|config| config.file.to_owned());
        let tracked: Vec<String> = tracked.chain(tracked_state(fs)).chain(tracked_journals).collect();
        let is_policy_tracked = tracked.iter().any(|file| file == POLICY);
        let rule = is_policy_tracked
            .then(|| policy_on_disk(fs).auto_approve().first().map(|rule| rule.place.clone()));
        let agents = config.checked_agents(&host);
        let upstreams = agents.iter().flat_map(|agents| &agents.gateway.upstreams);
        Ok(Survey {
            upstreams: upstreams.map(|upstream| (upstream.id.clone(), upstream.place.clone())).collect(),
            gateway: agents.err().unwrap_or_default().to_vec(),
            offered: server_offers(host, config),
            now: context.now(),
            config,
            failures: parts.failures,
            is_catalog_there: fs.exists(&RelPath::from_static(CATALOG))?,
            summaries,
            tool_issues: parts.tools.then_some(issues),
            orphans,
            runtimes,
            pins,
            history,
            sandbox_gaps,
            wide_modes,
            left_locks,
            unread: unread.0.into_iter().filter(|part| !tracked.contains(&part.file)).collect(),
            policy_tracked: rule.flatten(),
            tracked,
            clients,
            kitchen,
        })
    }

    /// Lists the issues.
    pub fn diagnose(&mut self, context: &WorkspaceContext) -> Vec<Issue> {
        let is_set = |name: &str| context.environment.is_set(name);
        let history = &self.history;
        let catalog = if self.is_catalog_there {
            ConfigFile::Read(&self.config.catalog)
        } else {
            ConfigFile::Missing { file: CATALOG }
        };
        // The queue already shows a call without a live runner as interrupted.
        let runner = RunnerState::NotChecked;
        let calls = history.calls.iter();
        let calls = calls.map(|found| CallState {
            call: &found.call,
            changes: found.changes.clone(),
            is_only_moved: found.is_only_moved,
            runner,
        });
        let checkpoints = history.checkpoints.iter().map(|found| CheckpointState {
            checkpoint: &found.stored.checkpoint,
            blockers: found.blockers.clone(),
        });
        let mut found = diagnose(Snapshot {
            now: self.now,
            failures: self.failures,
            home: context.host().home(),
            catalog: Some(catalog),
            tools: self.tool_issues.take(),
            orphans: &self.orphans,
            runtimes: self.runtimes.as_ref().map(FoundRuntimes::snapshot),
            policy: Some(PolicyFacts { state: &self.config.policy, environment: &is_set }),
            gateway: self.gateway.clone(),
            policy_tracked: self.policy_tracked.clone(),
            tracked: self.tracked.clone(),
            offered: self.offered.clone(),
            upstreams: self.upstreams.clone(),
            pins: self.pins.clone(),
            calls: calls.collect(),
            unreadable: history.unreadable.clone(),
            quarantines: history.quarantines.clone(),
            is_of_v030: history.is_of_v030,
            runs: &history.runs,
            uses: &history.uses,
            broken_receipts: history.broken_receipts.clone(),
            ledger: history.ledger.clone(),
            checkpoints: checkpoints.collect(),
            broken_checkpoints: history.broken_checkpoints.clone(),
            sandbox_gaps: self.sandbox_gaps.clone(),
            wide_modes: self.wide_modes.clone(),
            key_problem: context.trust.key().problem().map(|error| error.to_string()),
            left_locks: self.left_locks.clone(),
            unread: self.unread.clone(),
            clients: self.clients.clone(),
            kitchen: self.kitchen.as_ref(),
        });
        let masks = masks(&context.environment, &self.config.policy);
        found.iter_mut().for_each(|issue| masks.hide(&mut issue.detail));
        found
    }

    /// Lists the PRDs whose last service was killed or interrupted, by their files.
    pub fn interrupted_prds(&self) -> Vec<String> {
        let prds = self.kitchen.iter().flat_map(|kitchen| &kitchen.prds).filter(|prd| prd.can_continue);
        prds.map(|prd| prd.path.clone().unwrap_or_else(|| prd.name.to_string())).collect()
    }

    /// Returns the facts of the runtimes; empty when runtimes were not read.
    pub fn runtime_facts(&self) -> &[RuntimeFacts] {
        self.runtimes.as_ref().map(|found| found.facts.as_slice()).unwrap_or_default()
    }
}

/// The files that could not be read. The survey continues without them.
struct UnreadFiles(Vec<BrokenFile>);

impl UnreadFiles {
    /// Returns the value that was read. On a file error, returns `None` and records the file.
    fn ok_or_note<T>(&mut self, fs: &dyn Fs, read: Result<T, UpkeepError>) -> Result<Option<T>, UpkeepError> {
        let error = match read {
            Ok(read) => return Ok(Some(read)),
            Err(
                UpkeepError::Fs(error)
                | UpkeepError::Queue(QueueError::Fs(error))
                | UpkeepError::Runtime(RuntimeError::Fs(error)),
            ) => error,
            Err(other) => return Err(other),
        };
        let is_said = |part: &BrokenFile| Path::new(&error.path).starts_with(&part.file);
        if !self.0.iter().any(is_said) {
            let path = error.path.parse::<RelPath>();
            let file = path.map_or(error.path, |path| existing_ancestor(fs, path).to_string());
            self.0.push(unreadable_file(file, error.kind.to_string()));
        }
        Ok(None)
    }
}

/// Returns the longest existing prefix of a path. A file may be where a directory of the path should be.
fn existing_ancestor(fs: &dyn Fs, mut path: RelPath) -> RelPath {
    while !path.is_root() && fs.link_metadata(&path).is_err() {
        path = path.parent();
    }
    path
}

/// Lists the paths of [`NEEDED`] that exist with another kind.
fn of_another_kind(fs: &dyn Fs) -> Vec<BrokenFile> {
    let is_another = |(path, kind): &(&str, FileKind)| {
        fs.metadata(&RelPath::composed(path)).is_ok_and(|found| found.kind != *kind)
    };
    let wrong = NEEDED.into_iter().filter(is_another);
    let problem =
        |kind| if kind == FileKind::Directory { "it is not a directory" } else { "it is not a file" };
    wrong.map(|(path, kind)| unreadable_file(path.to_owned(), problem(kind).to_owned())).collect()
}

fn unreadable_file(file: String, problem: String) -> BrokenFile {
    BrokenFile { file, id: None, problem, is_restorable: false }
}

/// Returns the last listed offers of the servers in gateway.toml that are still configured.
fn server_offers(host: Host<'_>, config: &Config) -> Vec<ServerOffer> {
    let mut all: Vec<ServerOffer> = Vec::new();
    for offer in config.offers(&host) {
        let names = OfferedNames::read(host.fs, &offer.server);
        let still = |names: Vec<String>| names.into_iter().filter(|name| offer.includes(name)).collect();
        let mut by = ServerOffer {
            server: offer.server.clone(),
            place: offer.place.clone(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
        };
        match offer.reads {
            Reads::Resource => {
                by.resources = still(names.resources);
                by.templates = still(names.templates);
            }
            Reads::Prompt => by.prompts = still(names.prompts),
        }
        all.push(by);
    }
    all
}

#[cfg(test)]
mod tests;
