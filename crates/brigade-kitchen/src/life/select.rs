//! Selects the tasks that start now, and computes the progress of a PRD.

use brigade_core::{Timestamp, closest};
use thiserror::Error;

use super::next::{Step, Workplace, next};
use super::record::TaskOutcome;
use super::{Life, Stage};
use crate::config::Settings;
use crate::names::{TaskId, Tier};
use crate::prd::{ValidPrd, waves};
use crate::service::Outcome;

/// The tasks that a service serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSet(Vec<bool>);

/// Ids that are not in the PRD.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", unknown_tasks_text(.unknown, .known))]
pub struct UnknownTasks {
    /// The unknown ids.
    pub unknown: Vec<String>,
    /// The ids in the PRD.
    pub known: Vec<TaskId>,
}

/// Why a selection of tasks is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectTasksError {
    /// Some ids are not in the PRD.
    #[error(transparent)]
    Unknown(#[from] UnknownTasks),
    /// The selection has no tasks.
    #[error("no task is left in the selection: {0}")]
    Empty(String),
}

fn unknown_tasks_text(unknown: &[String], known: &[TaskId]) -> String {
    const MAX_SHOWN: usize = 20;
    let names: Vec<String> = unknown
        .iter()
        .map(|id| {
            let near = closest(id, known.iter().map(TaskId::as_str));
            let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
            format!("`{}`{near}", brigade_core::text::escape_terminal(id))
        })
        .collect();
    let mut ids: Vec<&str> = known.iter().take(MAX_SHOWN).map(TaskId::as_str).collect();
    if MAX_SHOWN < known.len() {
        ids.push("…");
    }
    format!("no such task: {}; there are {}", names.join(", "), ids.join(", "))
}

impl RunSet {
    /// Selects all tasks of a PRD.
    pub fn all(prd: &ValidPrd) -> RunSet {
        RunSet(vec![true; prd.tasks.len()])
    }

    /// Selects tasks: `only` these, without `skip`, from one task up to another, in the order of the file.
    ///
    /// # Errors
    /// Fails if an id is not in the PRD, or no task is left.
    pub fn select(
        prd: &ValidPrd,
        only: &[String],
        skip: &[String],
        from: Option<&str>,
        until: Option<&str>,
    ) -> Result<RunSet, SelectTasksError> {
        let position = |id: &str| id.parse::<TaskId>().ok().and_then(|id| prd.graph().position(&id));
        let typed = only.iter().chain(skip).map(String::as_str).chain(from).chain(until);
        let unknown: Vec<String> = typed.filter(|id| position(id).is_none()).map(str::to_owned).collect();
        if !unknown.is_empty() {
            let known = prd.tasks.iter().map(|task| task.id.clone()).collect();
            return Err(UnknownTasks { unknown, known }.into());
        }
        let listed = |ids: &[String]| ids.iter().filter_map(|id| position(id)).collect::<Vec<usize>>();
        let (listed_only, listed_skip) = (listed(only), listed(skip));
        let first = from.and_then(position).unwrap_or(0);
        let last = until.and_then(position).unwrap_or(usize::MAX);
        let chosen = |at: usize| {
            (listed_only.is_empty() || listed_only.contains(&at))
                && !listed_skip.contains(&at)
                && first <= at
                && at <= last
        };
        let set = RunSet((0..prd.tasks.len()).map(chosen).collect());
        if !set.0.contains(&true) && !prd.tasks.is_empty() {
            let flag =
                |name: &str, ids: &[String]| (!ids.is_empty()).then(|| format!("{name} {}", ids.join(",")));
            let edge = |name: &str, id: Option<&str>| id.map(|id| format!("{name} {id}"));
            let flags = [flag("only", only), flag("skip", skip), edge("from", from), edge("until", until)];
            return Err(SelectTasksError::Empty(flags.into_iter().flatten().collect::<Vec<_>>().join(", ")));
        }
        Ok(set)
    }

    /// Returns whether a task is selected.
    pub fn has(&self, task: usize) -> bool {
        self.0.get(task).copied().unwrap_or_default()
    }

    /// Returns the waves of the tasks that would run. Tasks that are done are left out, and so are tasks that wait for
    /// a decision, directly or through a dependency.
    pub fn waves(&self, prd: &ValidPrd, life: &Life, progress: &Progress) -> Vec<Vec<usize>> {
        let Progress { failed, blocked, skipped, waiting, .. } = progress;
        let stopped: Vec<usize> =
            [failed, blocked, skipped, waiting].into_iter().flatten().copied().collect();
        let mut is_out = prd.graph().dependents(stopped.iter().copied());
        stopped.iter().for_each(|at| is_out[*at] = true);
        waves(prd.graph(), |at| self.has(at) && !is_out[at] && !life.is_done(&prd.tasks[at].id))
    }
}

/// A task that starts an attempt now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptStart {
    /// The position of the task.
    pub task: usize,
    /// The tier.
    pub tier: Tier,
    /// The number of the attempt, across all tiers.
    pub number: u64,
}

/// Selects the tasks that start an attempt now, in the order of the file.
///
/// A task starts when its dependencies are done, a slot is free in its tier and in total, its tier does not wait for a
/// provider, and no other task with the same exclusive name is in progress. In place, or with a limit of one attempt,
/// only one task is in progress at a time, because the next task builds on its work.
pub fn select(
    prd: &ValidPrd,
    life: &Life,
    settings: &Settings,
    set: &RunSet,
    workplace: Workplace,
    now: Timestamp,
) -> Vec<AttemptStart> {
    let mut all = 0;
    let mut by_tier = [0_u64; 3];
    let mut exclusive: Vec<&str> = Vec::new();
    let mut on_the_way = 0_u64;
    // Claims of tasks that are not selected are checked by a later service. They do not hold up this one.
    for (_, task) in prd.tasks.iter().enumerate().filter(|(at, _)| set.has(*at)) {
        let Some(own) = life.tasks.get(&task.id) else { continue };
        let is_running = matches!(own.stage, Stage::Attempting { .. });
        if is_running {
            all += 1;
            by_tier[own.tier.unwrap_or(Tier::Line) as usize] += 1;
        }
        if is_running || matches!(own.stage, Stage::Checking(_)) {
            // A task with a pending decision does not hold up others, except in place.
            let waits = workplace == Workplace::Worktrees && life.decision_of(&task.id).is_some();
            on_the_way += u64::from(!waits);
            exclusive.extend(task.exclusive.as_deref());
        }
    }
    let most = match workplace {
        Workplace::Worktrees => settings.parallel(),
        Workplace::InPlace => 1,
    };
    let mut chosen = Vec::new();
    for (at, task) in prd.tasks.iter().enumerate() {
        if most <= all || (most == 1 && 0 < on_the_way) {
            break;
        }
        if !set.has(at) || !is_ready(prd, life, at) {
            continue;
        }
        let Step::Attempt { tier, number } = next(task, life, settings, workplace) else { continue };
        let waits = life.limit(tier, settings).is_some_and(|until| now < until);
        let is_taken = task.exclusive.as_deref().is_some_and(|name| exclusive.contains(&name));
        if waits || is_taken || settings.parallel_of(tier) <= by_tier[tier as usize] {
            continue;
        }
        all += 1;
        on_the_way += 1;
        by_tier[tier as usize] += 1;
        exclusive.extend(task.exclusive.as_deref());
        chosen.push(AttemptStart { task: at, tier, number });
    }
    chosen
}

impl Life {
    /// Returns when the provider's limit of a tier ends. A limit of another command does not count.
    pub fn limit(&self, tier: Tier, settings: &Settings) -> Option<Timestamp> {
        let (until, command) = self.limits.get(&tier)?;
        command.is_none_or(|command| command == settings.worker_of(tier)).then_some(*until)
    }
}

/// Returns whether all dependencies of a task are done.
pub fn is_ready(prd: &ValidPrd, life: &Life, task: usize) -> bool {
    prd.graph().needs(task).iter().all(|need| life.is_done(&prd.tasks[*need].id))
}

/// Marks the tasks that can never start because they depend on a skipped task.
pub fn unreachable(prd: &ValidPrd, life: &Life) -> Vec<bool> {
    let is_skipped = |at: &usize| life.outcome(&prd.tasks[*at].id) == Some(TaskOutcome::Skipped);
    let mut marked = prd.graph().dependents((0..prd.tasks.len()).filter(is_skipped));
    for (at, task) in prd.tasks.iter().enumerate() {
        marked[at] &= life.outcome(&task.id).is_none();
    }
    marked
}

/// The progress of a service: the positions of its tasks by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Tasks that are done.
    pub done: Vec<usize>,
    /// Tasks that failed.
    pub failed: Vec<usize>,
    /// Tasks that are blocked.
    pub blocked: Vec<usize>,
    /// Tasks that were skipped.
    pub skipped: Vec<usize>,
    /// Tasks that depend on a skipped task.
    pub unreachable: Vec<usize>,
    /// Tasks with a running attempt or a claim that is being checked.
    pub running: Vec<usize>,
    /// Tasks with a pending decision, or that need one.
    pub waiting: Vec<usize>,
    /// Tasks that can start, now or when a provider's limit ends.
    pub ready: Vec<usize>,
    /// Tasks that depend on unfinished tasks.
    pub held: Vec<usize>,
    /// Whether a decision aborted the service.
    pub aborted: bool,
}

impl Progress {
    /// Returns whether no task can continue without a decision.
    pub fn is_at_end(&self) -> bool {
        self.aborted || (self.running.is_empty() && self.ready.is_empty())
    }

    /// Returns the outcome of a service in which no task can continue.
    pub fn outcome(&self) -> Outcome {
        let open = [
            &self.failed,
            &self.blocked,
            &self.skipped,
            &self.unreachable,
            &self.running,
            &self.ready,
            &self.held,
        ];
        if self.aborted {
            Outcome::Aborted
        } else if !self.waiting.is_empty() {
            Outcome::Paused
        } else if open.iter().all(|list| list.is_empty()) {
            Outcome::Complete
        } else {
            Outcome::Incomplete
        }
    }
}

/// The maximum number of tasks that a reason names.
const MAX_NAMED: usize = 3;

impl Progress {
    /// Returns why some selected tasks are not done. Pending decisions are not considered.
    pub fn incomplete_reason(&self, prd: &ValidPrd, life: &Life, set: &RunSet) -> Option<String> {
        let id = |at: usize| &prd.tasks[at].id;
        let mut found: Vec<String> = Vec::new();
        let words =
            [(&self.failed, "failed"), (&self.blocked, "is blocked"), (&self.skipped, "was left out")];
        for (list, word) in words {
            found.extend(list.iter().map(|at| format!("{} {word}", id(*at))));
        }
        for at in self.held.iter().chain(&self.unreachable) {
            let needs = prd.graph().needs(*at).iter().filter(|need| !life.is_done(id(**need)));
            let needs = needs.map(|need| match set.has(*need) {
                true => format!("{}, which is not done", id(*need)),
                false => format!("{}, which is not done and was not to be served", id(*need)),
            });
            found.push(format!("{} depends on {}", id(*at), needs.collect::<Vec<_>>().join(", and on ")));
        }
        let more = found.len().saturating_sub(MAX_NAMED);
        found.truncate(MAX_NAMED);
        if 0 < more {
            found.push(format!("and {more} more"));
        }
        (!found.is_empty()).then(|| found.join("; "))
    }
}

/// Computes the progress of a service.
pub fn progress(
    prd: &ValidPrd,
    life: &Life,
    settings: &Settings,
    set: &RunSet,
    workplace: Workplace,
) -> Progress {
    let mut progress = Progress::default();
    let unreachable = unreachable(prd, life);
    progress.aborted = life.decisions.iter().any(super::DecisionState::is_abort);
    for (at, task) in prd.tasks.iter().enumerate().filter(|(at, _)| set.has(*at)) {
        let step = next(task, life, settings, workplace);
        let list = match (life.outcome(&task.id), &step) {
            (Some(outcome), _) if outcome.is_done() => &mut progress.done,
            (_, Step::Wait(_) | Step::Ask(_)) => &mut progress.waiting,
            (Some(TaskOutcome::Failed), _) => &mut progress.failed,
            (Some(TaskOutcome::Blocked), _) => &mut progress.blocked,
            (Some(TaskOutcome::Skipped), _) => &mut progress.skipped,
            _ if unreachable[at] => &mut progress.unreachable,
            _ if !is_ready(prd, life, at) => &mut progress.held,
            (_, Step::Attempt { .. } | Step::Escalate { .. } | Step::End { .. }) => &mut progress.ready,
            _ => &mut progress.running,
        };
        list.push(at);
    }
    progress
}
