//! The documents of `validate`, `approve` and `workers`. The façade adds their names.

use brigade_core::Fingerprint;
use serde::{Deserialize, Serialize};

use super::{Change, Execution};
use crate::names::{TaskId, Tier};
use crate::prd::{Fault, Graph, Reading, VerificationKind, coverage_kind, waves};
use crate::route::route;

/// What `validate` reports: schema `brigade.kitchen-validation.v1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ValidationReport {
    /// The PRD.
    pub prd_path: String,
    /// Whether it has no errors.
    pub valid: bool,
    /// Why it cannot be worked on.
    pub errors: Vec<Fault>,
    /// What its author should look at.
    pub warnings: Vec<Fault>,
    /// The execution fingerprint, if it is valid.
    pub fingerprint: Option<Fingerprint>,
    /// Whether that was approved.
    pub approved: bool,
    /// The tasks.
    pub tasks: Vec<ValidatedTask>,
    /// The ids of the tasks, each wave behind those that it depends on.
    pub waves: Vec<Vec<TaskId>>,
}

/// A task in a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ValidatedTask {
    /// Its id.
    pub id: TaskId,
    /// The tier that begins.
    pub tier: Tier,
    /// Why.
    pub reason: String,
    /// What its title asks for: `create`, `connect`, `flow` or `other`.
    pub kind: String,
    /// Its verification.
    pub verification: Vec<ValidatedVerification>,
}

/// A verification command in a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ValidatedVerification {
    /// What it verifies.
    #[serde(rename = "type")]
    pub kind: VerificationKind,
    /// The command.
    pub cmd: String,
    /// Whether the type was inferred.
    pub inferred: bool,
    /// Whether a shell reads it.
    pub shell: bool,
}

/// Makes the report of a validation. The fingerprint is added by the caller, who knows the workers.
pub fn validation(path: &str, reading: &Reading) -> ValidationReport {
    let prd = &reading.prd;
    let task = |task: &crate::prd::Task| {
        let route = route(task);
        let entry = |entry: &crate::prd::Verification| ValidatedVerification {
            kind: entry.kind,
            cmd: entry.command.text().to_owned(),
            inferred: entry.inferred,
            shell: entry.command.needs_shell(),
        };
        ValidatedTask {
            id: task.id.clone(),
            tier: route.tier,
            reason: route.reason,
            kind: coverage_kind(task).to_owned(),
            verification: task.verification.iter().map(entry).collect(),
        }
    };
    let graph = Graph::of(&prd.tasks);
    let ids = |wave: Vec<usize>| wave.into_iter().map(|at| prd.tasks[at].id.clone()).collect();
    ValidationReport {
        prd_path: path.to_owned(),
        valid: reading.errors.is_empty(),
        errors: reading.errors.clone(),
        warnings: reading.warnings.clone(),
        fingerprint: None,
        approved: false,
        tasks: prd.tasks.iter().map(task).collect(),
        waves: waves(&graph, |_| true).into_iter().map(ids).collect(),
    }
}

/// What `approve` reports: schema `brigade.kitchen-approval.v1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ApprovalReport {
    /// The PRD.
    pub prd_path: String,
    /// The execution fingerprint.
    pub fingerprint: Fingerprint,
    /// Whether it was approved.
    pub approved: bool,
    /// Every command that can be started.
    pub commands: Vec<CommandRow>,
    /// What changed since the last approval.
    pub changes: Vec<Change>,
}

/// What a command is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CommandKind {
    /// A worker.
    Worker,
    /// The setup of a worktree.
    Setup,
    /// The verification of a task.
    Verification,
    /// The test command.
    Test,
    /// The notification of a person.
    Notification,
}

/// A command that can be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CommandRow {
    /// What it is started for.
    pub kind: CommandKind,
    /// The tier, of a worker.
    pub tier: Option<Tier>,
    /// The words.
    pub argv: Vec<String>,
    /// Whether a shell reads it.
    pub shell: bool,
    /// What it may do.
    pub effects: Vec<String>,
}

/// Lists every command that can be started, each once: workers, setup, verification, test, notification.
pub fn commands(execution: &Execution<'_>) -> Vec<CommandRow> {
    let (settings, grants) = (execution.settings, execution.grants);
    let mut rows: Vec<CommandRow> = Vec::new();
    for worker in execution.workers {
        let (argv, effects) = (worker.argv.clone(), grants.worker_effects.clone());
        rows.push(CommandRow {
            kind: CommandKind::Worker,
            tier: Some(worker.tier),
            argv,
            shell: false,
            effects,
        });
    }
    // At most what the policy gives.
    let effects: Vec<String> = match &settings.verification_effects {
        Some(asked) => {
            grants.verification_effects.iter().filter(|effect| asked.contains(effect)).cloned().collect()
        }
        None => grants.verification_effects.clone(),
    };
    let verification =
        execution.prd.tasks.iter().flat_map(|task| &task.verification).map(|entry| &entry.command);
    let all = (settings.worktree_setup.iter().map(|command| (CommandKind::Setup, command)))
        .chain(verification.filter(|_| settings.verification_enabled).map(|c| (CommandKind::Verification, c)))
        .chain(settings.test_cmd.iter().map(|command| (CommandKind::Test, command)))
        .chain(settings.notify_command.iter().map(|command| (CommandKind::Notification, command)));
    let mut seen = std::collections::HashSet::new();
    for (kind, command) in all {
        if seen.insert((kind as u8, command.text())) {
            let (argv, shell) = (command.argv().to_vec(), command.needs_shell());
            rows.push(CommandRow { kind, tier: None, argv, shell, effects: effects.clone() });
        }
    }
    rows
}

/// What `workers` reports: schema `brigade.kitchen-workers.v1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WorkersReport {
    /// The tiers.
    pub tiers: Vec<TierRow>,
    /// The fingerprint of the workers alone.
    pub fingerprint: Option<Fingerprint>,
    /// Whether that was approved.
    pub approved: bool,
}

/// A tier and its worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TierRow {
    /// The tier.
    pub tier: Tier,
    /// Its command, as it is configured.
    pub command: String,
    /// Its adapter.
    pub adapter: String,
    /// The resolved program.
    pub program: Option<String>,
    /// Whether the program is there.
    pub found: bool,
}
