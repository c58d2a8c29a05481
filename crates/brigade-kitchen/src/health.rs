//! Facts about a kitchen, read once, from which `doctor` makes its diagnosis.

use brigade_core::ConfigIssue;
use brigade_policy::Blocker;

use crate::life::{Decision, DecisionState, Life, Stage, TaskOutcome};
use crate::names::{PrdName, TaskId, Tier};
use crate::prd::{Fault, ValidPrd};
use crate::service::Outcome;

/// The facts of a kitchen.
#[derive(Clone, Debug, Default)]
pub struct KitchenHealth {
    /// Issues of the configuration files.
    pub config: Vec<ConfigIssue>,
    /// Why nothing can be started, apart from errors of the configuration and the policy.
    pub refusals: Vec<Blocker>,
    /// The tiers whose programs were not found, with the first word of each command.
    pub missing: Vec<(Tier, String)>,
    /// The PRDs, by name.
    pub prds: Vec<PrdHealth>,
    /// Problems of receipts: the run, if known, and a sentence.
    pub receipts: Vec<(String, String)>,
    /// The receipt chain, relative to the workspace.
    pub ledger: String,
}

/// The facts of one PRD.
#[derive(Clone, Debug)]
pub struct PrdHealth {
    /// Its name.
    pub name: PrdName,
    /// Its file, relative to the workspace; `None` if there is only a journal.
    pub path: Option<String>,
    /// What is wrong in the file.
    pub faults: Vec<Fault>,
    /// Its journal, relative to the workspace.
    pub journal: String,
    /// Damage of the journal.
    pub damage: Vec<JournalDamage>,
    /// Files with set-aside parts of the journal, relative to the workspace.
    pub set_aside: Vec<String>,
    /// The number of records of a newer version.
    pub newer: u64,
    /// The number of records that approve or answer, and that this host has not signed.
    pub unsigned: u64,
    /// Whether the last service was killed.
    pub is_interrupted: bool,
    /// Whether the last service was killed or interrupted, so that the PRD can be continued.
    pub can_continue: bool,
    /// What changed since the last approval, for unfinished tasks. Empty if nothing was approved.
    pub changed: Vec<String>,
    /// Tasks that failed or are blocked and have no pending decision, with the last error.
    pub failed: Vec<(TaskId, TaskOutcome, Option<String>)>,
    /// Pending decisions.
    pub waiting: Vec<Decision>,
    /// Tasks that are marked as done in the PRD, but not by Brigade.
    pub marked: Vec<TaskId>,
    /// Work of finished tasks that the branch lacks, as a sentence without a final stop.
    pub branch: Option<String>,
    /// Finished tasks whose worktrees still exist.
    pub left: Vec<TaskId>,
}

/// Damage of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalDamage {
    /// The line, from 1, if the damage is on one line.
    pub line: Option<u64>,
    /// What is wrong, without a final stop.
    pub problem: String,
    /// Whether records are lost. If not, the next writer sets the line aside.
    pub is_loss: bool,
}

impl PrdHealth {
    /// Collects the facts of a PRD. `is_served` says whether a service works on it.
    pub fn new(name: PrdName, journal: String, life: &Life, is_served: bool) -> PrdHealth {
        let is_open = |service: &crate::life::ServiceLife| service.ended.is_none() && !is_served;
        let is_asked = |task: &TaskId| life.decision_of(task).is_some();
        let failed = life.tasks.iter().filter_map(|(task, own)| match own.stage {
            Stage::Ended(outcome @ (TaskOutcome::Failed | TaskOutcome::Blocked)) if !is_asked(task) => {
                Some((task.clone(), outcome, own.last_error.clone()))
            }
            _ => None,
        });
        PrdHealth {
            path: None,
            faults: Vec::new(),
            journal,
            damage: Vec::new(),
            set_aside: Vec::new(),
            newer: life.newer,
            unsigned: 0,
            is_interrupted: life.service.as_ref().is_some_and(is_open),
            can_continue: life.service.as_ref().is_some_and(|service| {
                is_open(service) || !is_served && service.ended == Some(Outcome::Interrupted)
            }),
            changed: Vec::new(),
            failed: if is_served { Vec::new() } else { failed.collect() },
            waiting: waiting(life),
            marked: Vec::new(),
            branch: None,
            left: Vec::new(),
            name,
        }
    }

    /// Adds the facts of a valid PRD file.
    pub fn with_file(&mut self, prd: &ValidPrd, life: &Life) {
        let tasks = prd.tasks.iter();
        if life.approval.is_some() {
            let is_marked = |task: &&crate::prd::Task| task.passes && !life.is_done(&task.id);
            self.marked = tasks.clone().filter(is_marked).map(|task| task.id.clone()).collect();
        }
        self.failed.retain(|(task, ..)| prd.graph().position(task).is_some());
    }
}

fn waiting(life: &Life) -> Vec<Decision> {
    let is_open = |decided: &&DecisionState| decided.answer.is_none();
    life.decisions.iter().filter(is_open).map(|decided| decided.decision.clone()).collect()
}
