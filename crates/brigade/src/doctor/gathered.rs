//! Everything that a diagnosis looks at, read once.

use brigade_apply::find_orphans;
use brigade_core::Timestamp;
use brigade_doctor::{
    CallState, CheckpointState, ConfigFile, Issue, PinState, PolicyFacts, RunnerState, Snapshot, ToolIssues,
    diagnose,
};
use brigade_facts::SummaryFacts;
use brigade_projection::Orphan;
use brigade_runtime::{Checks, RuntimeFacts};

use super::modes::Which;
use super::queue::QueueFacts;
use super::runtimes::FoundRuntimes;
use crate::catalog::enabled;
use crate::error::Error;
use crate::gather;
use crate::gather::Config;
use crate::pins;
use crate::projections;
use crate::room::{CALLS, CATALOG, RUNS, Room, rel};
use crate::survey;
use crate::survey::{Examined, Keep};

/// Which facts are gathered; what is left out gives no issues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// The files and projections of tools.
    pub(crate) tools: bool,
    /// Projections that no tool asks for.
    pub(crate) orphans: bool,
    /// The runtimes.
    pub(crate) runtimes: bool,
    /// Whether health commands are run.
    pub(crate) health: Checks,
    /// What the sandbox can enforce.
    pub(crate) sandbox: bool,
    /// Calls, runs and checkpoints.
    pub(crate) queue: bool,
    /// Whether the chain of receipts is checked.
    pub(crate) ledger: Ledger,
    /// The modes of the state's files, and what lies among them.
    pub(crate) modes: bool,
}

/// Whether the chain of receipts is checked, which reads each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ledger {
    /// It is.
    Check,
    /// It is not.
    Trust,
}

impl Parts {
    /// Everything, as a doctor wants it.
    pub(crate) fn all() -> Parts {
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
    pub(crate) fn none() -> Parts {
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
pub(crate) struct Gathered<'c> {
    pub(crate) now: Timestamp,
    pub(crate) config: &'c Config,
    is_catalog_there: bool,
    /// What lists say of the tools.
    pub(crate) summaries: Vec<SummaryFacts>,
    /// What is wrong with the tools; none when they were not asked for.
    tool_issues: Option<ToolIssues>,
    orphans: Vec<Orphan>,
    pub(crate) runtimes: Option<FoundRuntimes>,
    pins: Vec<PinState>,
    pub(crate) queue: QueueFacts,
    sandbox_gaps: Option<Vec<String>>,
    wide_modes: Vec<String>,
    left_locks: Vec<String>,
}

impl Gathered<'_> {
    /// Returns how the runtimes stand; none when they were not asked for.
    pub(crate) fn runtime_facts(&self) -> &[RuntimeFacts] {
        self.runtimes.as_ref().map(|found| found.facts.as_slice()).unwrap_or_default()
    }
}

/// Reads everything that is asked for.
pub(crate) fn gather_all<'c>(room: &Room, config: &'c Config, parts: &Parts) -> Result<Gathered<'c>, Error> {
    let is_set = |name: &str| room.env.environment.is_set(name);
    let policy = Some(PolicyFacts { state: &config.policy, environment: &is_set });
    // Without a history nothing is planned again.
    let is_planned_again = parts.queue && (room.fs.exists(&rel(CALLS))? || room.fs.exists(&rel(RUNS))?);
    let keep = if is_planned_again { Keep::All } else { Keep::Summaries };
    let examined = if parts.tools {
        survey::examine(room, config, &enabled(&config.catalog), policy, keep)
    } else {
        Examined::default()
    };
    let Examined { issues, summaries, read } = examined;
    let orphans = if parts.orphans {
        find_orphans(gather::host(room), config, &projections::places(room)).orphans
    } else {
        Vec::new()
    };
    let runtimes =
        if parts.runtimes { Some(super::runtimes::find_runtimes(room, config, parts.health)?) } else { None };
    let queue = if parts.queue {
        super::queue::queue_facts(room, &room.queue().read()?, config, &read, parts.ledger)?
    } else {
        QueueFacts::default()
    };
    Ok(Gathered {
        now: room.now(),
        config,
        is_catalog_there: room.fs.exists(&rel(CATALOG))?,
        summaries,
        tool_issues: parts.tools.then_some(issues),
        orphans,
        runtimes,
        pins: if parts.tools { pins::pin_states(room, config)? } else { Vec::new() },
        queue,
        sandbox_gaps: if parts.sandbox { super::sandbox::sandbox_gaps(room, &config.policy) } else { None },
        left_locks: if parts.modes {
            super::locks::left_locks(room).iter().map(ToString::to_string).collect()
        } else {
            Vec::new()
        },
        wide_modes: if parts.modes {
            super::modes::wide_modes(room, Which::First)
                .into_iter()
                .map(|wide| wide.path.to_string())
                .collect()
        } else {
            Vec::new()
        },
    })
}

/// Lists what is wrong.
pub(crate) fn diagnose_all(room: &Room, gathered: &mut Gathered<'_>) -> Vec<Issue> {
    let is_set = |name: &str| room.env.environment.is_set(name);
    let queue = &gathered.queue;
    let catalog = if gathered.is_catalog_there {
        ConfigFile::Read(&gathered.config.catalog)
    } else {
        ConfigFile::Missing { file: CATALOG }
    };
    let snapshot = Snapshot {
        now: gathered.now,
        catalog: Some(catalog),
        tools: gathered.tool_issues.take(),
        orphans: &gathered.orphans,
        runtimes: gathered.runtimes.as_ref().map(FoundRuntimes::snapshot),
        policy: Some(PolicyFacts { state: &gathered.config.policy, environment: &is_set }),
        pins: gathered.pins.clone(),
        calls: queue
            .calls
            .iter()
            .map(|found| CallState {
                call: &found.call,
                changes: found.changes.clone(),
                // A reader of the queue shows a call whose runner is gone as interrupted.
                runner: RunnerState::NotChecked,
            })
            .collect(),
        unreadable: queue.unreadable.clone(),
        quarantines: queue.quarantines.clone(),
        runs: &queue.runs,
        broken_receipts: queue.broken_receipts.clone(),
        ledger: queue.ledger.clone(),
        checkpoints: queue
            .checkpoints
            .iter()
            .map(|found| CheckpointState {
                checkpoint: &found.stored.checkpoint,
                blockers: found.blockers.clone(),
            })
            .collect(),
        broken_checkpoints: queue.broken_checkpoints.clone(),
        sandbox_gaps: gathered.sandbox_gaps.clone(),
        wide_modes: gathered.wide_modes.clone(),
        left_locks: gathered.left_locks.clone(),
    };
    diagnose(snapshot)
}
