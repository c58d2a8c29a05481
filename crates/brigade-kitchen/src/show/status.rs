//! The status of a PRD: the report of `status`.

use brigade_core::{Fingerprint, Object, Report, Timestamp, explained_words};
use brigade_macros::{document, part};
use brigade_policy::ErrorLine;
use serde::Deserialize;

use super::brief::Glance;
use crate::approval::PrdOrigin;
use crate::config::Settings;
use crate::life::{
    AnsweredBy, DecisionId, DecisionKind, DecisionState, Life, Limits, RunSet, Stage, StateFile, TaskLife,
    TaskOutcome, Workplace, adopt::rows, is_reviewed, progress, unreachable,
};
use crate::names::{PrdName, TaskId, Tier};
use crate::prd::{Complexity, Task, ValidPrd, waves};
use crate::route::route;
use crate::service::Outcome;

/// The input of a status.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The PRD.
    pub prd: &'a ValidPrd,
    /// Its name.
    pub name: &'a PrdName,
    /// Its path, relative to the workspace.
    pub path: &'a str,
    /// The state from its journal.
    pub life: &'a Life,
    /// The settings.
    pub settings: &'a Settings,
    /// Where its tasks are worked on.
    pub workplace: Workplace,
    /// The current execution fingerprint.
    pub fingerprint: Option<Fingerprint>,
    /// Whether a service works on it.
    pub running: bool,
    /// Its budget limits.
    pub limits: Limits,
    /// The current time.
    pub now: Timestamp,
}

/// The status of a PRD.
#[document("brigade.kitchen-status.v1")]
#[derive(PartialEq)]
pub struct StatusReport {
    /// The workspace root.
    pub target: String,
    /// How the PRD was found.
    pub taken: PrdOrigin,
    /// The name of the feature.
    pub feature_name: String,
    /// The PRD.
    pub prd_path: String,
    /// How many tasks there are.
    pub total_tasks: u64,
    /// How many tasks are done.
    pub completed_tasks: u64,
    /// How many tasks are not done.
    pub pending_tasks: u64,
    /// The task that runs or waits.
    pub current_task: Option<CurrentTask>,
    /// The number of escalations.
    pub escalations: u64,
    /// Reviews of the PRD.
    pub phase_reviews: PhaseReviews,
    /// Whether a person needs to act.
    pub needs_attention: bool,
    /// Why a person needs to act.
    pub attention_reason: Option<String>,
    /// The tasks, in the order of the file.
    pub tasks: Vec<TaskRow>,
    /// The prefix shown before the ids of the tasks.
    pub prefix: String,
    /// How the last service ended.
    pub outcome: Option<Outcome>,
    /// Whether a service runs.
    pub running: bool,
    /// The last service.
    pub service: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit of the last integrated task.
    pub commit: Option<String>,
    /// The current execution fingerprint.
    pub fingerprint: Option<Fingerprint>,
    /// Whether this fingerprint is approved.
    pub approved: bool,
    /// Decisions that wait for a person.
    pub decisions: Vec<DecisionRow>,
    /// The newest escalations.
    pub escalation_history: Vec<EscalationRow>,
    /// What was spent, and the limits.
    pub budget: BudgetRow,
    /// Problems of the configuration.
    pub config_issues: Vec<ErrorLine>,
    /// Problems of the PRD's state.
    pub issues: Vec<String>,
}

/// The task that runs or waits.
#[part(PartialEq, Eq)]
pub struct CurrentTask {
    /// The task.
    pub id: TaskId,
    /// The tier.
    pub worker: Tier,
    /// Its status.
    pub status: TaskStatus,
}

/// Reviews of a PRD.
#[part(Default, PartialEq, Eq)]
pub struct PhaseReviews {
    /// The number of reviews.
    pub count: u64,
    /// The last one.
    pub last: Option<PhaseRow>,
    /// The newest ones.
    pub history: Vec<PhaseRow>,
}

/// A review of a PRD.
#[part(PartialEq, Eq)]
pub struct PhaseRow {
    /// How many tasks were done.
    pub completed_tasks: u64,
    /// How many tasks there were.
    pub total_tasks: u64,
    /// The verdict.
    pub status: String,
    /// The text.
    pub content: String,
    /// When it was made.
    pub timestamp: Timestamp,
}

explained_words! {
    /// The status of a task, as a word.
    #[allow(missing_docs, reason = "the words are those of the reference")]
    TaskStatus {
        Pending = "pending",
        Running = "running",
        Waiting = "waiting",
        Complete = "complete",
        AlreadyDone = "already_done",
        Absorbed = "absorbed",
        Blocked = "blocked",
        Failed = "failed",
        Skipped = "skipped",
        Interrupted = "interrupted",
        Unreachable = "unreachable",
    }
}

explained_words! {
    /// The marker before a task.
    Marker {
        /// Done, and reviewed if reviews are on for it.
        Done = "✓",
        /// Running.
        Running = "→",
        /// An attempt is done; review, verification or a decision is pending.
        Waiting = "◐",
        /// Not started.
        Open = "○",
    }
}

/// A task in a status.
#[part(PartialEq)]
pub struct TaskRow {
    /// Its id.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// Its complexity, as written in the file.
    pub complexity: Option<Complexity>,
    /// Its wave, from 1. A wave depends only on the waves before it.
    #[serde(default)]
    pub wave: usize,
    /// The tasks that it depends on.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// Whether it is done.
    pub completed: bool,
    /// Whether it runs or waits.
    pub is_current: bool,
    /// Its status.
    pub status: TaskStatus,
    /// Its marker.
    pub marker: Marker,
    /// Its current tier, or the one that will start it.
    pub tier: Tier,
    /// Why that tier starts it.
    pub route_reason: String,
    /// How many attempts were started.
    pub attempts: u64,
    /// Whether it was escalated to a higher tier.
    pub escalated: bool,
    /// Whether it was reviewed.
    pub reviewed: bool,
    /// Its commit.
    pub commit: Option<String>,
    /// Its worktree, until the task is done.
    pub worktree: Option<String>,
    /// The task that did its work.
    pub absorbed_by: Option<TaskId>,
    /// Its cost in dollars.
    pub cost_usd: f64,
    /// Seconds since it started; for an ended task, until its end.
    pub elapsed: Option<u64>,
    /// The last error.
    pub last_error: Option<String>,
    /// The pending decision about it.
    pub decision: Option<DecisionId>,
}

/// A decision, as shown to people and programs.
#[part(PartialEq, Eq)]
pub struct DecisionRow {
    /// Its id.
    pub id: DecisionId,
    /// The kind of decision.
    pub kind: DecisionKind,
    /// The PRD's name.
    pub prd: PrdName,
    /// The task.
    pub task: Option<TaskId>,
    /// The possible answers; empty if the answer is a text.
    pub choices: Vec<String>,
    /// What happened.
    pub context: String,
    /// When it was asked.
    pub created_at: Timestamp,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AnsweredBy>,
    /// The reason for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Guidance for the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
}

/// An escalation.
#[part(PartialEq, Eq)]
pub struct EscalationRow {
    /// The task.
    pub task: TaskId,
    /// The tier before it.
    pub from: Tier,
    /// The tier after it.
    pub to: Tier,
    /// Why it was escalated.
    pub reason: String,
    /// When it was escalated.
    pub timestamp: Timestamp,
}

/// What was spent, and the limits.
#[part(PartialEq)]
pub struct BudgetRow {
    /// Dollars.
    pub cost_usd: f64,
    /// Minutes of workers.
    pub minutes: f64,
    /// Starts of workers.
    pub attempts: u64,
    /// The limits.
    pub limits: Limits,
}

/// Returns a decision as shown to people and programs.
pub fn decision_row(prd: &PrdName, decided: &DecisionState) -> DecisionRow {
    let (decision, answer) = (&decided.decision, decided.answer.as_ref());
    DecisionRow {
        id: decision.id.clone(),
        kind: decision.about,
        prd: prd.clone(),
        task: decision.task.clone(),
        choices: decision.about.choices().iter().map(|choice| (*choice).to_owned()).collect(),
        context: decision.context.clone(),
        created_at: decision.created_at,
        choice: answer.map(|answer| answer.choice.clone()),
        by: answer.map(|answer| answer.by),
        reason: answer.and_then(|answer| answer.reason.clone()),
        guidance: answer.and_then(|answer| answer.guidance.clone()),
    }
}

/// Reads a list of rows of the adopted state.
fn adopted<T: serde::de::DeserializeOwned>(life: &Life, list: fn(&StateFile) -> &[Object]) -> Vec<T> {
    life.history.adopted.as_ref().map(|theirs| rows(list(theirs.file()))).unwrap_or_default()
}

/// An escalation in the state file of another program.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AdoptedEscalation {
    task_id: TaskId,
    from: Tier,
    to: Tier,
    #[serde(default)]
    reason: String,
    timestamp: Timestamp,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AdoptedPhase {
    completed_tasks: u64,
    total_tasks: u64,
    status: String,
    #[serde(default)]
    content: String,
    timestamp: Timestamp,
}

/// Lists the newest escalations. Those of another program come first.
fn escalations(life: &Life) -> Vec<EscalationRow> {
    let before = adopted::<AdoptedEscalation>(life, |theirs| &theirs.escalations).into_iter().map(|row| {
        EscalationRow {
            task: row.task_id,
            from: row.from,
            to: row.to,
            reason: row.reason,
            timestamp: row.timestamp,
        }
    });
    let ours = life.history.escalations.iter().map(|(at, task, from, to, reason)| EscalationRow {
        task: task.clone(),
        from: *from,
        to: *to,
        reason: reason.clone(),
        timestamp: *at,
    });
    before.chain(ours).collect()
}

/// Lists the newest phase reviews. Those of another program come first.
fn phases(life: &Life) -> Vec<PhaseRow> {
    let before =
        adopted::<AdoptedPhase>(life, |theirs| &theirs.phase_reviews).into_iter().map(|row| PhaseRow {
            completed_tasks: row.completed_tasks,
            total_tasks: row.total_tasks,
            status: row.status,
            content: row.content,
            timestamp: row.timestamp,
        });
    let ours = life.history.phase_reviews.iter().map(|event| PhaseRow {
        completed_tasks: event.completed,
        total_tasks: event.total,
        status: event.status.clone(),
        content: event.content.clone(),
        timestamp: event.at,
    });
    before.chain(ours).collect()
}

fn task_status(own: &TaskLife, is_unreachable: bool, is_served: bool) -> TaskStatus {
    match &own.stage {
        Stage::Ended(TaskOutcome::Complete) => TaskStatus::Complete,
        Stage::Ended(TaskOutcome::AlreadyDone) => TaskStatus::AlreadyDone,
        Stage::Ended(TaskOutcome::Absorbed) => TaskStatus::Absorbed,
        Stage::Ended(TaskOutcome::Blocked) => TaskStatus::Blocked,
        Stage::Ended(TaskOutcome::Failed) => TaskStatus::Failed,
        Stage::Ended(TaskOutcome::Skipped) => TaskStatus::Skipped,
        Stage::Attempting { .. } if is_served => TaskStatus::Running,
        // Without a service, the attempt no longer runs.
        Stage::Attempting { .. } => TaskStatus::Interrupted,
        Stage::Checking(_) | Stage::Waiting(_) => TaskStatus::Waiting,
        Stage::Open if own.interrupted => TaskStatus::Interrupted,
        Stage::Open if is_unreachable => TaskStatus::Unreachable,
        Stage::Open if 0 < own.attempts => TaskStatus::Waiting,
        Stage::Open => TaskStatus::Pending,
    }
}

fn marker(status: TaskStatus, own: &TaskLife, needs_review: bool) -> Marker {
    match status {
        TaskStatus::Complete if needs_review && !own.reviewed => Marker::Waiting,
        TaskStatus::Complete | TaskStatus::AlreadyDone | TaskStatus::Absorbed => Marker::Done,
        TaskStatus::Running => Marker::Running,
        TaskStatus::Pending | TaskStatus::Unreachable => Marker::Open,
        TaskStatus::Skipped if own.attempts == 0 => Marker::Open,
        TaskStatus::Waiting
        | TaskStatus::Interrupted
        | TaskStatus::Blocked
        | TaskStatus::Failed
        | TaskStatus::Skipped => Marker::Waiting,
    }
}

fn task_row(view: &View<'_>, task: &Task, wave: usize, is_unreachable: bool) -> TaskRow {
    let nothing = TaskLife::default();
    let own = view.life.tasks.get(&task.id).unwrap_or(&nothing);
    let decision = view.life.decision_of(&task.id).map(|decision| decision.id.clone());
    let status = match task_status(own, is_unreachable, view.running) {
        TaskStatus::Pending if decision.is_some() => TaskStatus::Waiting,
        status => status,
    };
    let route = route(task);
    let tier = own.tier.unwrap_or(route.tier);
    let needs_review = is_reviewed(tier, view.settings) && own.commit.is_some();
    let elapsed = own.started_at.map(|started| own.ended_at.unwrap_or(view.now).since(started).as_secs());
    let completed = view.life.is_done(&task.id);
    // Between two attempts, a task is current only while a service runs.
    let is_held = matches!(own.stage, Stage::Checking(_) | Stage::Waiting(_));
    TaskRow {
        id: task.id.clone(),
        title: task.title.clone(),
        complexity: task.complexity,
        wave,
        depends_on: task.depends_on.clone(),
        completed,
        is_current: status == TaskStatus::Running
            || status == TaskStatus::Waiting && (view.running || is_held || decision.is_some()),
        status,
        marker: marker(status, own, needs_review),
        tier,
        route_reason: route.reason,
        attempts: own.attempts,
        escalated: own.escalated,
        reviewed: own.reviewed,
        commit: own.commit.clone(),
        // The worktree is removed when the task is done.
        worktree: own.worktree.clone().filter(|_| !completed),
        absorbed_by: own.absorbed_by.clone(),
        cost_usd: own.spent.cost_usd(view.settings),
        elapsed,
        last_error: own.last_error.clone(),
        decision,
    }
}

/// Makes a status. The caller adds the workspace, and problems of the configuration and the journal.
pub fn status(view: &View<'_>) -> StatusReport {
    let life = view.life;
    let unreachable = unreachable(view.prd, life);
    let mut wave_of = vec![0; view.prd.tasks.len()];
    for (number, wave) in waves(view.prd.graph(), |_| true).into_iter().enumerate() {
        wave.into_iter().for_each(|at| wave_of[at] = number + 1);
    }
    let row = |(at, task): (usize, &Task)| task_row(view, task, wave_of[at], unreachable[at]);
    let tasks: Vec<TaskRow> = view.prd.tasks.iter().enumerate().map(row).collect();
    let done = tasks.iter().filter(|task| task.completed).count() as u64;
    let total = tasks.len() as u64;
    let current = tasks
        .iter()
        .find(|task| task.status == TaskStatus::Running)
        .or_else(|| tasks.iter().find(|task| task.is_current));
    let phases = phases(life);
    let escalations = escalations(life);
    let surplus = |count: u64, kept: usize| count.saturating_sub(kept as u64);
    let ended = view.prd.tasks.iter().filter_map(|task| life.tasks.get(&task.id));
    let last = ended.filter(|own| own.commit.is_some()).max_by_key(|own| own.integration);
    let attention_reason = Glance::new(view.prd, life).attention(view.running);
    let waiting = life.decisions.iter().filter(|decided| decided.answer.is_none());
    let approved = life.approval.as_ref().map(|approval| approval.fingerprint);
    StatusReport {
        schema: StatusReport::SCHEMA,
        target: String::new(),
        taken: PrdOrigin::Named,
        feature_name: view.prd.feature_name.clone(),
        prd_path: view.path.to_owned(),
        total_tasks: total,
        completed_tasks: done,
        pending_tasks: total - done,
        current_task: current.map(|task| CurrentTask {
            id: task.id.clone(),
            worker: task.tier,
            status: task.status,
        }),
        // Older escalations that were dropped from the history count, too.
        escalations: escalations.len() as u64
            + surplus(life.history.escalation_count, life.history.escalations.len()),
        phase_reviews: PhaseReviews {
            count: phases.len() as u64
                + surplus(life.history.phase_review_count, life.history.phase_reviews.len()),
            last: phases.last().cloned(),
            history: phases,
        },
        needs_attention: attention_reason.is_some(),
        attention_reason,
        prefix: view.name.prefix().to_owned(),
        outcome: outcome(view),
        running: view.running,
        service: life.service.as_ref().map(|service| service.id.clone()),
        branch: life
            .service
            .as_ref()
            .and_then(|service| service.branch.clone())
            .or(view.prd.branch_name.clone()),
        commit: last.and_then(|own| own.commit.clone()),
        fingerprint: view.fingerprint,
        approved: approved.is_some() && approved == view.fingerprint,
        decisions: waiting.map(|decided| decision_row(view.name, decided)).collect(),
        escalation_history: escalations,
        budget: BudgetRow {
            cost_usd: life.spent.cost_usd(view.settings),
            minutes: life.spent.minutes(),
            attempts: life.spent.attempts(),
            limits: view.limits,
        },
        config_issues: Vec::new(),
        issues: issues(view),
        tasks,
    }
}

/// Returns how the last service ended. A PRD with a failed or skipped task is not complete.
fn outcome(view: &View<'_>) -> Option<Outcome> {
    let service = view.life.service.as_ref().filter(|_| !view.running)?;
    match service.ended {
        None => Some(Outcome::Interrupted),
        Some(Outcome::Paused) if service.is_paused => Some(Outcome::Paused),
        // Since then, tasks may have been answered or reopened.
        Some(Outcome::Complete | Outcome::Paused) => {
            let set = RunSet::all(view.prd);
            Some(progress(view.prd, view.life, view.settings, &set, view.workplace).outcome())
        }
        ended => ended,
    }
}

/// Lists tasks that only the file marks as done.
fn issues(view: &View<'_>) -> Vec<String> {
    let mut found = Vec::new();
    if view.life.approval.is_some() {
        for task in view.prd.tasks.iter().filter(|task| task.passes && !view.life.is_done(&task.id)) {
            found.push(format!(
                "{}: `passes` is true in the file, but the task was not done here; it counts after the PRD is approved again",
                view.name.shown(&task.id)
            ));
        }
    }
    if view.life.approval.is_some() && !view.running {
        for task in view.prd.tasks.iter().filter(|task| !task.passes && view.life.is_done(&task.id)) {
            found.push(format!(
                "{}: done, but `passes` is not set in the file; the next service sets it",
                view.name.shown(&task.id)
            ));
        }
    }
    if 0 < view.life.newer {
        let are = if view.life.newer == 1 { "is" } else { "are" };
        let records = super::pluralize(view.life.newer, "record");
        found.push(format!("{records} {are} of a newer version of Brigade"));
    }
    found
}
