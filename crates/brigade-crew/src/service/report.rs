//! The report of a service.

use brigade_kitchen::TaskId;
use brigade_kitchen::life::{Progress, TaskOutcome};
use brigade_kitchen::service::{Outcome, ServiceReport};

use super::floor::Floor;

impl Floor<'_> {
    /// Makes the report of what was done.
    pub(super) fn report(
        &self,
        progress: &Progress,
        outcome: Outcome,
        reason: Option<String>,
    ) -> ServiceReport {
        let (life, prd) = (self.journal.life(), &self.menu.prd);
        let ids =
            |list: &[usize]| -> Vec<TaskId> { list.iter().map(|at| prd.tasks[*at].id.clone()).collect() };
        let with = |wanted: TaskOutcome| -> Vec<TaskId> {
            let is_it = |(at, task): &(usize, &brigade_kitchen::prd::Task)| {
                self.set.has(*at) && life.outcome(&task.id) == Some(wanted)
            };
            prd.tasks.iter().enumerate().filter(is_it).map(|(_, task)| task.id.clone()).collect()
        };
        let last = prd.tasks.iter().filter_map(|task| {
            let own = life.tasks.get(&task.id)?;
            Some((own.ended_at?, own.commit.clone()?))
        });
        let decisions: Vec<_> = life.waiting().cloned().collect();
        ServiceReport {
            prd_path: self.menu.path.to_string(),
            outcome,
            reason,
            done: progress.done.len() as u64,
            total: (0..prd.tasks.len()).filter(|at| self.set.has(*at)).count() as u64,
            completed: ids(&progress.done),
            failed: with(TaskOutcome::Failed),
            blocked: with(TaskOutcome::Blocked),
            skipped: ids(&progress.skipped),
            unreachable: ids(&progress.unreachable),
            decisions,
            branch: self.workplace.branch().map(str::to_owned),
            commit: last.max().map(|(_, commit)| commit),
            merged: false,
            pushed: false,
            duration_seconds: self.begun.elapsed().as_secs_f64(),
            cost_usd: life.spent.cost_usd(&self.settings) - self.spent_before.cost_usd(&self.settings),
            attempts: life.spent.attempts - self.spent_before.attempts,
            next: Vec::new(),
        }
    }
}
