//! Which tasks begin now, and how far a PRD is.

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
    /// What was typed.
    pub unknown: Vec<String>,
    /// The ids that there are.
    pub known: Vec<TaskId>,
}

/// Why tasks cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectTasksError {
    /// Ids are not in the PRD.
    #[error(transparent)]
    Unknown(#[from] UnknownTasks),
    /// The choice leaves none.
    #[error("no task is left of those that were chosen: {0}")]
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
    /// All tasks of a PRD.
    pub fn all(prd: &ValidPrd) -> RunSet {
        RunSet(vec![true; prd.tasks.len()])
    }

    /// Chooses tasks: `only` these, without `skip`, from one on until another, in the order of the file.
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

    /// Returns whether a task is served.
    pub fn has(&self, task: usize) -> bool {
        self.0.get(task).copied().unwrap_or_default()
    }

    /// Returns the waves of the tasks that would run: those that are not done, and wait for nobody, neither themselves
    /// nor by what they depend on.
    pub fn waves(&self, prd: &ValidPrd, life: &Life, progress: &Progress) -> Vec<Vec<usize>> {
        let Progress { failed, blocked, skipped, waiting, .. } = progress;
        let stopped: Vec<usize> =
            [failed, blocked, skipped, waiting].into_iter().flatten().copied().collect();
        let mut is_out = prd.graph().behind(stopped.iter().copied());
        stopped.iter().for_each(|at| is_out[*at] = true);
        waves(prd.graph(), |at| self.has(at) && !is_out[at] && !life.is_done(&prd.tasks[at].id))
    }
}

/// A task whose attempt begins now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptStart {
    /// The position of the task.
    pub task: usize,
    /// The tier.
    pub tier: Tier,
    /// The number of the attempt, over all tiers.
    pub number: u64,
}

/// Chooses the tasks whose attempts begin now, in the order of the file.
///
/// A task begins when everything that it depends on is done, when there is room in its tier and in all, when its tier
/// does not wait for a provider, and when no other task of the same exclusive name is on its way. In place, and where
/// one attempt may run at once, one task is on its way at a time: the next one stands on its work.
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
    // A claim of a task that is not served is checked by a later service, and holds up none of this one.
    for (_, task) in prd.tasks.iter().enumerate().filter(|(at, _)| set.has(*at)) {
        let Some(own) = life.tasks.get(&task.id) else { continue };
        let is_running = matches!(own.stage, Stage::Attempting { .. });
        if is_running {
            all += 1;
            by_tier[own.tier.unwrap_or(Tier::Line) as usize] += 1;
        }
        if is_running || matches!(own.stage, Stage::Checking(_)) {
            // One that waits for somebody holds up no other, except in place.
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
    /// Returns until when a tier waits for its provider. With another command, it need not wait.
    pub fn limit(&self, tier: Tier, settings: &Settings) -> Option<Timestamp> {
        let (until, command) = self.limits.get(&tier)?;
        command.is_none_or(|command| command == settings.worker_of(tier)).then_some(*until)
    }
}

/// Returns whether everything that a task depends on is done.
pub fn is_ready(prd: &ValidPrd, life: &Life, task: usize) -> bool {
    prd.graph().needs(task).iter().all(|need| life.is_done(&prd.tasks[*need].id))
}

/// Marks the tasks that can never begin, because they depend on a skipped one.
pub fn unreachable(prd: &ValidPrd, life: &Life) -> Vec<bool> {
    let is_skipped = |at: &usize| life.outcome(&prd.tasks[*at].id) == Some(TaskOutcome::Skipped);
    let mut marked = prd.graph().behind((0..prd.tasks.len()).filter(is_skipped));
    for (at, task) in prd.tasks.iter().enumerate() {
        marked[at] &= life.outcome(&task.id).is_none();
    }
    marked
}

/// How far a service is with the tasks that it serves, by their positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Done.
    pub done: Vec<usize>,
    /// Failed.
    pub failed: Vec<usize>,
    /// Blocked.
    pub blocked: Vec<usize>,
    /// Left out.
    pub skipped: Vec<usize>,
    /// Behind a skipped task.
    pub unreachable: Vec<usize>,
    /// On their way: an attempt runs, or its claim is checked.
    pub running: Vec<usize>,
    /// A decision waits, or would have to be asked.
    pub waiting: Vec<usize>,
    /// They could begin, now or when a provider lets them.
    pub ready: Vec<usize>,
    /// They depend on tasks that are not done.
    pub held: Vec<usize>,
    /// Whether somebody said that the service ends.
    pub aborted: bool,
}

impl Progress {
    /// Returns whether nothing can go on by itself.
    pub fn is_at_end(&self) -> bool {
        self.aborted || (self.running.is_empty() && self.ready.is_empty())
    }

    /// Returns how the service ends when nothing can go on.
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

/// The most tasks that a reason names.
const MAX_NAMED: usize = 3;

impl Progress {
    /// Says why not every task that was served is done, as far as nobody is asked.
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

/// Tells how far a service is.
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
