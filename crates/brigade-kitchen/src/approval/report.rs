//! The documents of `validate`, `approve` and `workers`.

use brigade_core::{Fingerprint, Report, explained_words};
use brigade_macros::{document, part};
use brigade_policy::ErrorLine;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Change, Execution, Tiers};
use crate::adapter::Permissions;
use crate::names::{TaskId, Tier};
use crate::prd::{CoverageKind, Fault, Graph, PrdReading, VerificationKind, coverage_kind, waves};
use crate::route::route;

/// How the PRD of a command was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemas", schemars(rename = "Taken"))]
pub enum PrdOrigin {
    /// The command named it.
    Named,
    /// `latest.json` leads to it.
    Latest,
    /// It has an interrupted task.
    Interrupted,
    /// It is the newest one with pending tasks.
    Newest,
    /// It is the newest one, and none has pending tasks.
    Done,
}

/// What `validate` reports.
#[document("brigade.kitchen-validation.v1", if self.valid && (!self.strict || self.warnings.is_empty()))]
#[derive(PartialEq)]
pub struct ValidationReport {
    /// The workspace root.
    pub target: String,
    /// The PRD, relative to the workspace.
    pub prd_path: String,
    /// How it was found.
    pub taken: PrdOrigin,
    /// Whether warnings count as errors.
    pub strict: bool,
    /// Whether it has no errors.
    pub valid: bool,
    /// The errors, which keep Brigade from working on it.
    pub errors: Vec<Fault>,
    /// The warnings, for the author of the PRD.
    pub warnings: Vec<Fault>,
    /// The execution fingerprint, if it is valid and nothing refuses to start it.
    pub fingerprint: Option<Fingerprint>,
    /// Whether this fingerprint is approved.
    pub approved: bool,
    /// The tasks.
    pub tasks: Vec<ValidatedTask>,
    /// The ids of the tasks in waves. Each wave depends only on the waves before it.
    pub waves: Vec<Vec<TaskId>>,
    /// What is wrong with the configuration of the kitchen.
    pub config_issues: Vec<ErrorLine>,
    /// Other reasons why nothing would be started for it.
    pub refusals: Vec<ErrorLine>,
    /// What a person should know before the start, such as that tasks are worked on in place.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A task in a validation.
#[part(PartialEq)]
pub struct ValidatedTask {
    /// Its id.
    pub id: TaskId,
    /// The tier that starts the task.
    pub tier: Tier,
    /// Why this tier was chosen.
    pub reason: String,
    /// What its title asks for.
    pub kind: CoverageKind,
    /// Its verification.
    pub verification: Vec<ValidatedVerification>,
}

/// A verification command in a validation.
#[part(PartialEq)]
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

/// Makes the report of a validation. The caller adds workspace, fingerprint and configuration.
pub fn validation(path: &str, taken: PrdOrigin, reading: &PrdReading) -> ValidationReport {
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
            kind: coverage_kind(task),
            verification: task.verification.iter().map(entry).collect(),
        }
    };
    let graph = Graph::new(&prd.tasks);
    let ids = |wave: Vec<usize>| wave.into_iter().map(|at| prd.tasks[at].id.clone()).collect();
    ValidationReport {
        schema: ValidationReport::SCHEMA,
        target: String::new(),
        prd_path: path.to_owned(),
        taken,
        strict: false,
        valid: reading.errors.is_empty(),
        errors: reading.errors.clone(),
        warnings: reading.warnings.clone(),
        fingerprint: None,
        approved: false,
        tasks: prd.tasks.iter().map(task).collect(),
        waves: waves(&graph, |_| true).into_iter().map(ids).collect(),
        config_issues: Vec::new(),
        refusals: Vec::new(),
        notes: Vec::new(),
    }
}

/// What `approve` reports.
#[document("brigade.kitchen-approval.v1", if self.approved || self.revoked)]
#[derive(Default, PartialEq)]
pub struct ApprovalReport {
    /// The workspace root.
    pub target: String,
    /// The PRD, relative to the workspace; absent if only the tiers are approved.
    pub prd_path: Option<String>,
    /// How it was found.
    pub taken: Option<PrdOrigin>,
    /// The execution fingerprint; absent when an approval was revoked.
    pub fingerprint: Option<Fingerprint>,
    /// Whether it is approved now.
    pub approved: bool,
    /// Whether this command revoked an approval.
    pub revoked: bool,
    /// Every command that can be started.
    pub commands: Vec<CommandRow>,
    /// What changed since the last approval.
    pub changes: Vec<Change>,
    /// What a person should know before approving.
    pub notes: Vec<String>,
    /// What is wrong with the configuration of the kitchen.
    pub config_issues: Vec<ErrorLine>,
}

impl ApprovalReport {
    /// Makes a report without commands and changes.
    pub fn new(target: String) -> ApprovalReport {
        ApprovalReport { schema: ApprovalReport::SCHEMA, target, ..ApprovalReport::default() }
    }
}

explained_words! {
    /// What a command is started for.
    CommandKind {
        /// A worker.
        Worker = "worker",
        /// The setup of a worktree.
        Setup = "setup",
        /// The verification of a task.
        Verification = "verification",
        /// The test command.
        Test = "test",
        /// The notification of a person.
        Notification = "notification",
    }
}

/// A command that can be started.
#[part(PartialEq, Eq)]
pub struct CommandRow {
    /// What it is started for.
    pub kind: CommandKind,
    /// The tier, of a worker.
    pub tier: Option<Tier>,
    /// The words, masked.
    pub argv: Vec<String>,
    /// Whether a shell reads it.
    pub shell: bool,
    /// What it may do.
    pub effects: Vec<String>,
    /// The resolved program of a worker.
    pub program: Option<String>,
    /// How a worker handles its permission checks.
    pub permissions: Option<Permissions>,
    /// Paths outside its worktree that a worker may write.
    pub write_paths: Vec<String>,
    /// The variables that a worker gets.
    pub env_labels: Vec<String>,
}

/// Masks the words of a command so that it can be shown.
pub type ShownCommand<'a> = &'a dyn Fn(&[String]) -> Vec<String>;

/// Lists the commands of the tiers.
pub fn worker_commands(tiers: &Tiers<'_>, shown: ShownCommand<'_>) -> Vec<CommandRow> {
    let grants = tiers.grants;
    let row = |worker: &super::WorkerPlan<'_>| CommandRow {
        kind: CommandKind::Worker,
        tier: Some(worker.tier),
        argv: shown(&worker.argv),
        shell: false,
        effects: grants.worker_effects.clone(),
        program: worker.program.clone(),
        permissions: Some(worker.permissions),
        write_paths: worker.adapter.write_paths.iter().chain(&grants.worker_write_paths).cloned().collect(),
        env_labels: worker.env_labels.clone(),
    };
    tiers.workers.iter().map(row).collect()
}

/// Lists every command that can be started, without duplicates: workers, setup, verification, test, notification.
pub fn commands(execution: &Execution<'_>, shown: ShownCommand<'_>) -> Vec<CommandRow> {
    let (settings, grants) = (execution.tiers.settings, execution.tiers.grants);
    let mut rows = worker_commands(&execution.tiers, shown);
    // Verification never gets more effects than the policy grants.
    let effects: Vec<String> = match &settings.verification_effects {
        Some(requested) => {
            grants.verification_effects.iter().filter(|effect| requested.contains(effect)).cloned().collect()
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
        if seen.insert((kind, command.text())) {
            rows.push(CommandRow {
                kind,
                tier: None,
                argv: shown(command.argv()),
                shell: command.needs_shell(),
                effects: effects.clone(),
                program: None,
                permissions: None,
                write_paths: Vec::new(),
                env_labels: Vec::new(),
            });
        }
    }
    rows
}

/// What `workers` reports.
#[document("brigade.kitchen-workers.v1")]
#[derive(Default, PartialEq)]
pub struct WorkersReport {
    /// The workspace root.
    pub target: String,
    /// The tiers.
    pub tiers: Vec<TierRow>,
    /// The fingerprint of the workers alone; absent if something refuses to start them.
    pub fingerprint: Option<Fingerprint>,
    /// Whether that was approved.
    pub approved: bool,
    /// What workers may do.
    pub effects: Vec<String>,
    /// What is wrong with the configuration of the kitchen.
    pub config_issues: Vec<ErrorLine>,
    /// Why nothing would be started.
    pub refusals: Vec<ErrorLine>,
    /// What a person should know before approving.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl WorkersReport {
    /// Makes a report without tiers.
    pub fn new(target: String) -> WorkersReport {
        WorkersReport { schema: WorkersReport::SCHEMA, target, ..WorkersReport::default() }
    }
}

/// Why the program of a worker cannot be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemas", schemars(rename = "WhyMissing"))]
pub enum MissingProgramReason {
    /// The program was not found.
    #[error("not found")]
    NotFound,
    /// Its file is not executable.
    #[error("not executable")]
    NotExecutable,
}

/// A tier and its worker.
#[part(PartialEq, Eq)]
pub struct TierRow {
    /// The tier.
    pub tier: Tier,
    /// Its command, as it is configured, masked.
    pub command: String,
    /// Its adapter; absent if the configured name is unknown.
    pub adapter: Option<String>,
    /// The resolved program.
    pub program: Option<String>,
    /// Whether the program is there.
    pub found: bool,
    /// Why the program cannot be started, if it cannot.
    #[serde(default)]
    pub missing: Option<MissingProgramReason>,
    /// The command line to start, masked; absent if the command cannot be started.
    pub argv: Option<Vec<String>>,
    /// How it handles its permission checks.
    pub permissions: Option<Permissions>,
    /// Paths outside its worktree that it may write.
    pub write_paths: Vec<String>,
    /// The variables that it gets.
    pub env_labels: Vec<String>,
}

impl TierRow {
    /// Makes a row that has only the tier and its command.
    pub fn new(tier: Tier, command: String) -> TierRow {
        TierRow {
            tier,
            command,
            adapter: None,
            program: None,
            found: false,
            missing: None,
            argv: None,
            permissions: None,
            write_paths: Vec::new(),
            env_labels: Vec::new(),
        }
    }
}
