//! The report of a service.

use brigade_cmdline::Argv;
use brigade_core::{Hint, NextStep};
use brigade_kitchen::TaskId;
use brigade_kitchen::life::{Progress, TaskOutcome};
use brigade_kitchen::prd::Lints;
use brigade_kitchen::service::{Outcome, ServiceReport};
use brigade_kitchen::show::{decision_row, pluralize, retry};

use super::main_loop::ServiceLoop;
use crate::gather::PrdSearch;
use crate::journal::set_aside_notes;
use crate::paths::PrdFiles;

impl ServiceLoop<'_> {
    /// Lists problems other than those of single tasks.
    pub(super) fn issues(&self) -> Vec<String> {
        let mut found = self.served.warnings.clone();
        found.extend(self.workplace.notes());
        found.extend(self.set_aside.clone());
        found.extend(set_aside_notes(&*self.host.fs, &PrdFiles::new(&self.served.name)));
        found.extend(self.projections.issues());
        found.extend(self.without_passes());
        found
    }

    /// Returns which finished tasks are not marked in the file.
    fn without_passes(&self) -> Option<String> {
        let life = self.journal.life();
        let done: Vec<&TaskId> =
            self.served.prd.tasks.iter().map(|task| &task.id).filter(|id| life.is_done(id)).collect();
        if done.is_empty() {
            return None;
        }
        let why = match self.kitchen.prd(&PrdSearch::At(self.served.path.clone()), Lints::ALL) {
            Err(failure) => failure.to_string(),
            Ok(found) => {
                let has =
                    |id: &&TaskId| found.reading.prd.tasks.iter().any(|task| task.id == **id && task.passes);
                if done.iter().all(has) {
                    return None;
                }
                match found.reading.errors.len() {
                    0 => "the file was changed meanwhile".to_owned(),
                    count => format!("the file has {} now", pluralize(count as u64, "error")),
                }
            }
        };
        let path = &self.served.path;
        Some(format!("`passes` of tasks that are done is not set in `{path}`: {why}; the journal has them"))
    }

    /// Makes the report of the service.
    pub(super) fn report(
        &self,
        progress: &Progress,
        outcome: Outcome,
        reason: Option<String>,
    ) -> ServiceReport {
        let (life, prd) = (self.journal.life(), &self.served.prd);
        let ids =
            |list: &[usize]| -> Vec<TaskId> { list.iter().map(|at| prd.tasks[*at].id.clone()).collect() };
        let with = |outcome: TaskOutcome| -> Vec<TaskId> {
            let is_it = |(at, task): &(usize, &brigade_kitchen::prd::Task)| {
                self.set.has(*at) && life.outcome(&task.id) == Some(outcome)
            };
            prd.tasks.iter().enumerate().filter(is_it).map(|(_, task)| task.id.clone()).collect()
        };
        let last = prd.tasks.iter().filter_map(|task| {
            let own = life.tasks.get(&task.id)?;
            Some((own.integration, own.commit.clone()?))
        });
        let waiting = life.decisions.iter().filter(|decided| decided.answer.is_none());
        let (target, path) = (self.kitchen.target(), self.served.path.to_string());
        let mut report = ServiceReport::new(target, path, outcome);
        report.reason = reason;
        report.notes = self.served.notes.clone();
        report.done = progress.done.len() as u64;
        report.total = (0..prd.tasks.len()).filter(|at| self.set.has(*at)).count() as u64;
        report.completed = ids(&progress.done);
        report.failed = with(TaskOutcome::Failed);
        report.blocked = with(TaskOutcome::Blocked);
        report.skipped = ids(&progress.skipped);
        report.unreachable = ids(&progress.unreachable);
        report.decisions = waiting.map(|decided| decision_row(&self.served.name, decided)).collect();
        report.branch = self.workplace.branch().map(str::to_owned);
        report.commit = last.max().map(|(_, commit)| commit);
        report.duration_seconds = self.begun.elapsed().as_secs_f64();
        report.cost_usd = life.spent.cost_usd(&self.settings) - self.spent_before.cost_usd(&self.settings);
        report.attempts = life.spent.attempts() - self.spent_before.attempts();
        report
    }
}

/// Lists the next steps. A branch that is checked out needs no merge.
pub(super) fn next_steps(report: &ServiceReport, is_approved: bool, is_checked_out: bool) -> Vec<Hint> {
    let path = || report.prd_path.clone();
    let mut next = Vec::new();
    if !is_approved {
        next.push(Hint::to("review the changes and approve them", NextStep::ApprovePrd(path())));
    }
    if let Some(row) = report.decisions.first() {
        next.push(Hint::to("answer", NextStep::AnswerDecision(row.id.to_string())));
    }
    match report.outcome {
        Outcome::Complete => {
            let is_apart = !report.merged && !is_checked_out && report.commit.is_some();
            let branch = report.branch.as_ref().filter(|_| is_apart);
            let merge =
                branch.and_then(|branch| Argv::new(vec!["git".into(), "merge".into(), branch.clone()]).ok());
            next.extend(merge.map(|merge| Hint::from(format!("to take the work into your branch: {merge}"))));
        }
        Outcome::Interrupted => next.push(Hint::to("continue", NextStep::ResumePrd(path()))),
        Outcome::Paused | Outcome::Aborted => {
            next.push(Hint::to("continue then", NextStep::ResumePrd(path())));
        }
        Outcome::Incomplete if !report.skipped.is_empty() && report.failed.is_empty() => {
            next.extend(
                retry(&report.prd_path)
                    .map(|retry| Hint::from(format!("to retry a skipped task and its dependents: {retry}"))),
            );
        }
        Outcome::Incomplete => next.push(Hint::to("see why", NextStep::KitchenStatus(path()))),
        Outcome::DryRun => {}
    }
    next
}
