//! `service --dry-run`: what a service would do, without an approval and without starting anything.

use brigade_core::{ErrorKind, codes};
use brigade_kitchen::TaskId;
use brigade_kitchen::config::Flags;
use brigade_kitchen::life::{RunSet, TaskLife, progress};
use brigade_kitchen::route;
use brigade_kitchen::service::{Outcome, PlannedTask, ServiceReport};
use brigade_kitchen::show::decision_row;
use brigade_policy::Failure;

use crate::gather::{PrdSearch, Standing};
use crate::kitchen::Kitchen;

/// What a service serves, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceRequest {
    /// The PRDs, in their order; none for the one that somebody works on.
    pub prds: Vec<PrdSearch>,
    /// What a person typed.
    pub flags: Flags,
    /// Only these tasks; empty for all.
    pub only: Vec<String>,
    /// Without these tasks.
    pub skip: Vec<String>,
    /// From this task on, in the order of the file.
    pub from: Option<String>,
    /// Until this task.
    pub until: Option<String>,
}

impl ServiceRequest {
    /// Returns the tasks of a PRD that are meant.
    ///
    /// # Errors
    /// Fails if an id is not in the PRD.
    pub fn run_set(&self, standing: &Standing) -> Result<RunSet, Failure> {
        let (from, until) = (self.from.as_deref(), self.until.as_deref());
        RunSet::of(&standing.prd, &self.only, &self.skip, from, until)
            .map_err(|error| Failure::new(ErrorKind::NotFound, error.to_string()).coded(codes::TASK_MISSING))
    }
}

impl Kitchen<'_> {
    /// Tells what a service would do: tasks, tiers and waves of each PRD.
    ///
    /// # Errors
    /// Fails if there is no such PRD or task, a PRD has errors, or on a disk error.
    pub fn rehearse(&self, request: &ServiceRequest) -> Result<ServiceReport, Failure> {
        let any = [PrdSearch::Any];
        let searches = if request.prds.is_empty() { &any[..] } else { &request.prds };
        let mut reports = Vec::new();
        for search in searches {
            reports.push(self.rehearse_one(search, request)?);
        }
        let mut first = reports.remove(0);
        if !reports.is_empty() {
            first.prds = std::iter::once(first.clone()).chain(reports).collect();
        }
        Ok(first)
    }

    fn rehearse_one(&self, search: &PrdSearch, request: &ServiceRequest) -> Result<ServiceReport, Failure> {
        let standing = self.standing(search)?;
        let set = request.run_set(&standing)?;
        let settings = standing.crew.settings.with_flags(&request.flags);
        if settings.walkaway_mode && !standing.prd.walkaway {
            refuse_patterns(&standing)?;
        }
        let (prd, life) = (&standing.prd, &standing.life);
        let progress = progress(prd, life, &settings, &set, standing.workplace);
        let ids =
            |list: &[usize]| -> Vec<TaskId> { list.iter().map(|at| prd.tasks[*at].id.clone()).collect() };
        let waves = set.waves(prd, life);
        let mut planned: Vec<usize> = waves.iter().flatten().copied().collect();
        planned.sort_unstable();
        let nothing = TaskLife::default();
        let task = |at: &usize| {
            let task = &prd.tasks[*at];
            let route = route(task);
            let own = life.tasks.get(&task.id).unwrap_or(&nothing);
            let reason = match own.tier {
                Some(tier) if tier != route.tier => "it stands there".to_owned(),
                _ => route.reason,
            };
            PlannedTask {
                id: task.id.clone(),
                title: task.title.clone(),
                tier: own.tier.unwrap_or(route.tier),
                reason,
                verification: task.verification.len() as u64,
            }
        };
        let waiting = life.decisions.iter().filter(|decided| decided.answer.is_none());
        let mut report = ServiceReport::new(self.target(), standing.path.to_string(), Outcome::DryRun);
        report.reason = standing.crew.refusals.first().map(|blocker| blocker.message.clone());
        report.done = progress.done.len() as u64;
        report.total = (progress.done.len() + planned.len()) as u64;
        report.completed = ids(&progress.done);
        report.failed = ids(&progress.failed);
        report.blocked = ids(&progress.blocked);
        report.skipped = ids(&progress.skipped);
        report.unreachable = ids(&progress.unreachable);
        report.decisions = waiting.map(|decided| decision_row(&standing.name, decided)).collect();
        report.branch = prd.branch_name.clone();
        report.cost_usd = life.spent.cost_usd(&settings);
        report.attempts = life.spent.attempts();
        report.tasks = Some(planned.iter().map(task).collect());
        report.waves = Some(waves.iter().map(|wave| ids(wave)).collect());
        Ok(report)
    }
}

/// Refuses to serve unwatched what is verified only by the existence of texts.
pub(crate) fn refuse_patterns(standing: &Standing) -> Result<(), Failure> {
    let faults = standing.prd.walkaway_faults();
    if faults.is_empty() {
        return Ok(());
    }
    let reason = |fault: &brigade_kitchen::prd::Fault| {
        let task = fault.task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
        brigade_policy::Blocker::new(fault.code.as_str(), format!("{task}{}", fault.message))
            .at(fault.place.clone())
    };
    let message = "nobody watches, and tasks are verified only by files and texts";
    let failure = Failure::new(ErrorKind::Refused, message).coded(codes::PRD_INVALID);
    Err(failure.because(faults.iter().map(reason)))
}
