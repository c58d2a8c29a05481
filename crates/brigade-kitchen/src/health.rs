//! What a diagnosis of a kitchen is made from: facts that were read once.

use brigade_core::ConfigIssue;
use brigade_policy::Blocker;

use crate::life::{Decision, DecisionState, Life, Stage, TaskOutcome};
use crate::names::{PrdName, TaskId, Tier};
use crate::prd::{Fault, ValidPrd};

/// The facts of a kitchen.
#[derive(Clone, Debug, Default)]
pub struct KitchenHealth {
    /// What is wrong in the files of the configuration.
    pub config: Vec<ConfigIssue>,
    /// Why nothing is started, besides errors of the configuration and the policy.
    pub refusals: Vec<Blocker>,
    /// The tiers whose programs are not there, with the words that name them.
    pub missing: Vec<(Tier, String)>,
    /// The PRDs, by name.
    pub prds: Vec<PrdHealth>,
    /// What is wrong with the receipts: the run, if it is known, and a sentence.
    pub receipts: Vec<(String, String)>,
    /// The chain of receipts, relative to the workspace.
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
    /// What is damaged of the journal.
    pub damage: Vec<JournalDamage>,
    /// Files of what was set aside from it, relative to the workspace.
    pub set_aside: Vec<String>,
    /// Records of a newer version.
    pub newer: u64,
    /// Whether the last service was killed.
    pub is_interrupted: bool,
    /// What changed since the last approval, as far as tasks are left. Empty if nothing was approved.
    pub changed: Vec<String>,
    /// Tasks that failed or are blocked, and that no decision waits for, with the last error.
    pub failed: Vec<(TaskId, TaskOutcome, Option<String>)>,
    /// Decisions that wait.
    pub waiting: Vec<Decision>,
    /// Tasks that somebody else marked as done.
    pub marked: Vec<TaskId>,
    /// What the branch lacks of tasks that are done, in a sentence without a final stop.
    pub branch: Option<String>,
    /// Tasks that are done, and whose worktrees are still there.
    pub left: Vec<TaskId>,
}

/// Damage of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalDamage {
    /// The line, from 1, if it is about one.
    pub line: Option<u64>,
    /// What is wrong, without a final stop.
    pub problem: String,
    /// Whether records are lost. Otherwise the next writer sets the line aside.
    pub is_loss: bool,
}

impl PrdHealth {
    /// Takes what the life of a PRD says. `is_served` tells whether a service has it.
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
            is_interrupted: life.service.as_ref().is_some_and(is_open),
            changed: Vec::new(),
            failed: if is_served { Vec::new() } else { failed.collect() },
            waiting: waiting(life),
            marked: Vec::new(),
            branch: None,
            left: Vec::new(),
            name,
        }
    }

    /// Adds what the file says, which has no errors.
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
