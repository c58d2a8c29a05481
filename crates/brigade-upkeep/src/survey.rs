//! Everything that a diagnosis looks at, read once.

use brigade_apply::find_orphans;
use brigade_call::{CALLS, RUNS};
use brigade_catalog::Tool;
use brigade_core::Timestamp;
use brigade_doctor::{
    CallState, CheckpointState, ConfigFile, Issue, PinState, PolicyFacts, RunnerState, Snapshot, ToolIssues,
    diagnose,
};
use brigade_facts::{CATALOG, Config, Places, SummaryFacts};
use brigade_mcp::PinStore;
use brigade_projection::Orphan;
use brigade_runtime::{Checks, RuntimeFacts};

use crate::error::UpkeepError;
use crate::examine::{Examined, Keep, examine};
use crate::history::{HistoryFacts, history_facts};
use crate::locks::left_locks;
use crate::modes::{Which, wide_modes};
use crate::pins::pin_states;
use crate::rel;
use crate::runtimes::{FoundRuntimes, find_runtimes};
use crate::sandbox::sandbox_gaps;
use crate::site::Site;

/// Which facts are gathered; what is left out gives no issues.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The files and projections of tools.
    pub tools: bool,
    /// Projections that no tool asks for.
    pub orphans: bool,
    /// The runtimes.
    pub runtimes: bool,
    /// Whether health commands are run.
    pub health: Checks,
    /// What the sandbox can enforce.
    pub sandbox: bool,
    /// Calls, runs and checkpoints.
    pub queue: bool,
    /// Whether the chain of receipts is checked.
    pub ledger: Ledger,
    /// The modes of the state's files, and what lies among them.
    pub modes: bool,
}

/// Whether the chain of receipts is checked, which reads each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ledger {
    /// It is.
    Check,
    /// It is not.
    Trust,
}

impl Parts {
    /// Everything, as a doctor wants it.
    pub fn all() -> Parts {
        Parts {
            tools: true,
            orphans: true,
            runtimes: true,
            health: Checks::Run,
            sandbox: true,
            queue: true,
            ledger: Ledger::Check,
            modes: true,
        }
    }

    /// Nothing but catalog and policy.
    pub fn none() -> Parts {
        Parts {
            tools: false,
            orphans: false,
            runtimes: false,
            health: Checks::Skip,
            sandbox: false,
            queue: false,
            ledger: Ledger::Trust,
            modes: false,
        }
    }
}

/// What was found.
pub struct Survey<'c> {
    /// When it was read.
    pub now: Timestamp,
    /// The configuration.
    pub config: &'c Config,
    is_catalog_there: bool,
    /// What lists say of the tools.
    pub summaries: Vec<SummaryFacts>,
    /// What is wrong with the tools; none when they were not asked for.
    tool_issues: Option<ToolIssues>,
    orphans: Vec<Orphan>,
    runtimes: Option<FoundRuntimes>,
    pins: Vec<PinState>,
    /// Calls, runs and checkpoints.
    pub history: HistoryFacts,
    sandbox_gaps: Option<Vec<String>>,
    wide_modes: Vec<String>,
    left_locks: Vec<String>,
}

impl<'c> Survey<'c> {
    /// Reads everything that is asked for.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn read(site: &Site<'c>, parts: &Parts) -> Result<Survey<'c>, UpkeepError> {
        let (fs, host, config) = (site.fs(), site.host, site.config);
        let is_set = |name: &str| host.environment.is_set(name);
        let policy = Some(PolicyFacts { state: &config.policy, environment: &is_set });
        // Without a history nothing is planned again.
        let is_planned_again = parts.queue && (fs.exists(&rel(CALLS))? || fs.exists(&rel(RUNS))?);
        let keep = if is_planned_again { Keep::All } else { Keep::Summaries };
        let examined = if parts.tools {
            let tools: Vec<&Tool> = config.catalog.tools().iter().filter(|tool| tool.enabled).collect();
            examine(host, config, &tools, policy, keep)
        } else {
            Examined::default()
        };
        let Examined { issues, summaries, read } = examined;
        let orphans = if parts.orphans {
            find_orphans(host, config, &Places::new(fs, host.root())).orphans
        } else {
            Vec::new()
        };
        let runtimes = if parts.runtimes { Some(find_runtimes(site, parts.health)?) } else { None };
        let history = if parts.queue {
            history_facts(site, &site.queue.read()?, &read, parts.ledger)?
        } else {
            HistoryFacts::default()
        };
        let pins = if parts.tools {
            pin_states(PinStore { fs, clock: host.clock }, &config.catalog)?
        } else {
            Vec::new()
        };
        let sandbox_gaps = if parts.sandbox { sandbox_gaps(fs.root(), &config.policy) } else { None };
        let (left_locks, wide_modes) = if parts.modes {
            let locks = left_locks(fs, site.now());
            let modes = wide_modes(fs, Which::First);
            (
                locks.iter().map(ToString::to_string).collect(),
                modes.iter().map(|wide| wide.path.to_string()).collect(),
            )
        } else {
            (Vec::new(), Vec::new())
        };
        Ok(Survey {
            now: site.now(),
            config,
            is_catalog_there: fs.exists(&rel(CATALOG))?,
            summaries,
            tool_issues: parts.tools.then_some(issues),
            orphans,
            runtimes,
            pins,
            history,
            sandbox_gaps,
            wide_modes,
            left_locks,
        })
    }

    /// Lists what is wrong.
    pub fn diagnose(&mut self, site: &Site<'_>) -> Vec<Issue> {
        let is_set = |name: &str| site.host.environment.is_set(name);
        let history = &self.history;
        let catalog = if self.is_catalog_there {
            ConfigFile::Read(&self.config.catalog)
        } else {
            ConfigFile::Missing { file: CATALOG }
        };
        // A reader of the queue shows a call whose runner is gone as interrupted.
        let runner = RunnerState::NotChecked;
        let calls = history.calls.iter();
        let calls =
            calls.map(|found| CallState { call: &found.call, changes: found.changes.clone(), runner });
        let checkpoints = history.checkpoints.iter().map(|found| CheckpointState {
            checkpoint: &found.stored.checkpoint,
            blockers: found.blockers.clone(),
        });
        diagnose(Snapshot {
            now: self.now,
            catalog: Some(catalog),
            tools: self.tool_issues.take(),
            orphans: &self.orphans,
            runtimes: self.runtimes.as_ref().map(FoundRuntimes::snapshot),
            policy: Some(PolicyFacts { state: &self.config.policy, environment: &is_set }),
            pins: self.pins.clone(),
            calls: calls.collect(),
            unreadable: history.unreadable.clone(),
            quarantines: history.quarantines.clone(),
            runs: &history.runs,
            broken_receipts: history.broken_receipts.clone(),
            ledger: history.ledger.clone(),
            checkpoints: checkpoints.collect(),
            broken_checkpoints: history.broken_checkpoints.clone(),
            sandbox_gaps: self.sandbox_gaps.clone(),
            wide_modes: self.wide_modes.clone(),
            left_locks: self.left_locks.clone(),
        })
    }

    /// Returns how the runtimes stand; none when they were not asked for.
    pub fn runtime_facts(&self) -> &[RuntimeFacts] {
        self.runtimes.as_ref().map(|found| found.facts.as_slice()).unwrap_or_default()
    }
}
