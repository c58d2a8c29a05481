//! `service` for several PRDs, and `service --dry-run`, which needs no approval.

use brigade_core::{ErrorCode, ErrorKind, NextStep};
use brigade_kitchen::TaskId;
use brigade_kitchen::approval::changes;
use brigade_kitchen::life::{SelectTasksError, TaskLife, UnknownTasks, progress};
use brigade_kitchen::route;
use brigade_kitchen::service::{Outcome, PlannedTask, ServiceReport};
use brigade_kitchen::show::decision_row;
use brigade_policy::Failure;

use crate::approve::crew_refusal;
use crate::gather::{PrdSearch, PrdState};
use crate::kitchen::Kitchen;
use crate::service::{Follower, ServeError, ServiceOptions};
use crate::validate::is_approved;

impl Kitchen<'_> {
    /// Reports what a service would do: the tasks, tiers and waves of each PRD.
    ///
    /// # Errors
    /// Fails if a PRD or task does not exist, a PRD has errors, or on a disk error.
    pub fn rehearse(
        &self,
        searches: &[PrdSearch],
        options: &ServiceOptions,
    ) -> Result<ServiceReport, Failure> {
        let any = [PrdSearch::Any];
        let searches = if searches.is_empty() { &any[..] } else { searches };
        let reports: Vec<ServiceReport> =
            searches.iter().map(|search| self.rehearse_one(search, options)).collect::<Result<_, _>>()?;
        Ok(ServiceReport::joined(reports, may_be_several(searches, options)))
    }

    /// Serves PRDs one after the other, until one is not complete.
    ///
    /// # Errors
    /// Fails if nothing was started. Errors after the first served PRD are in the report.
    pub fn serve_all(
        &self,
        searches: &[PrdSearch],
        options: &ServiceOptions,
        follower: &dyn Follower,
    ) -> Result<ServiceReport, Failure> {
        let any = [PrdSearch::Any];
        let searches = if searches.is_empty() { &any[..] } else { searches };
        let mut states = Vec::new();
        for search in searches {
            let state = self.prd_state(search)?;
            // All PRDs must be approved before the first one starts.
            if !is_approved(state.life.approval.as_ref(), state.fingerprint) {
                return Err(unapproved(&state));
            }
            if options.flags.walkaway || state.crew.settings.walkaway_mode {
                refuse_patterns(&state)?;
            }
            states.push(state);
        }
        let mut reports = Vec::new();
        for (at, state) in states.iter().enumerate() {
            let next = states.get(at + 1).map(|next| next.name.clone());
            let options = ServiceOptions { next, ..options.clone() };
            let report = self.serve(&state.path, &options, follower, &|order| self.open_place(order))?;
            let is_complete = report.outcome == Outcome::Complete;
            reports.push(report);
            if !is_complete {
                break;
            }
        }
        Ok(ServiceReport::joined(reports, may_be_several(searches, options)))
    }

    fn rehearse_one(&self, search: &PrdSearch, options: &ServiceOptions) -> Result<ServiceReport, Failure> {
        let state = self.prd_state(search)?;
        let set = options.select(&state.prd).map_err(no_such_tasks)?;
        let settings = state.crew.settings_with(&options.flags);
        if settings.walkaway_mode && !state.prd.walkaway {
            refuse_patterns(&state)?;
        }
        let (prd, life) = (&state.prd, &state.life);
        let progress = progress(prd, life, &settings, &set, state.workplace);
        let ids =
            |list: &[usize]| -> Vec<TaskId> { list.iter().map(|at| prd.tasks[*at].id.clone()).collect() };
        let waves = set.waves(prd, life, &progress);
        let mut planned: Vec<usize> = waves.iter().flatten().copied().collect();
        planned.sort_unstable();
        let nothing = TaskLife::default();
        let redactor = self.redactor(&state.configuration);
        let task = |at: &usize| {
            let task = &prd.tasks[*at];
            let route = route(task);
            let own = life.tasks.get(&task.id).unwrap_or(&nothing);
            let reason = match own.tier {
                Some(tier) if tier != route.tier => "it is in the list".to_owned(),
                _ => route.reason,
            };
            PlannedTask {
                id: task.id.clone(),
                title: redactor.redact_str(&task.title),
                tier: own.tier.unwrap_or(route.tier),
                reason,
                verification: task.verification.len() as u64,
            }
        };
        let waiting = life.decisions.iter().filter(|decided| decided.answer.is_none());
        let mut report = ServiceReport::new(self.target(), state.path.to_string(), Outcome::DryRun);
        report.issues = state.configuration.warnings();
        report.notes.extend(state.crew.sandbox_note());
        report.reason = state.crew.refusals.first().map(|blocker| blocker.message.clone());
        report.done = progress.done.len() as u64;
        report.total = (0..prd.tasks.len()).filter(|at| set.has(*at)).count() as u64;
        report.completed = ids(&progress.done);
        report.failed = ids(&progress.failed);
        report.blocked = ids(&progress.blocked);
        report.skipped = ids(&progress.skipped);
        report.unreachable = ids(&progress.unreachable);
        report.decisions = waiting.map(|decided| decision_row(&state.name, decided)).collect();
        report.branch = prd.branch_name.clone();
        report.cost_usd = life.spent.cost_usd(&settings);
        report.attempts = life.spent.attempts();
        report.tasks = Some(planned.iter().map(task).collect());
        report.waves = Some(waves.iter().map(|wave| ids(wave)).collect());
        Ok(report)
    }
}

/// Returns whether several PRDs may be served one after the other.
fn may_be_several(searches: &[PrdSearch], options: &ServiceOptions) -> bool {
    1 < searches.len() || options.flags.auto_continue
}

/// Returns the error for a PRD that is not approved, or that changed after its approval.
pub(crate) fn unapproved(state: &PrdState) -> Failure {
    let Some(ready) = state.crew.ready() else { return crew_refusal(&state.crew) };
    let items = ready.execution(&state.prd).items();
    let before = state.life.approval.as_ref();
    let changes = before.map(|before| changes(&before.items, &items)).unwrap_or_default();
    let failure = Failure::from(ServeError::NotApproved { changes });
    failure.hint(NextStep::ApprovePrd(state.path.to_string()))
}

/// Returns the error for typed ids that are not in the PRD, or an empty selection.
pub(crate) fn no_such_tasks(error: SelectTasksError) -> Failure {
    match error {
        SelectTasksError::Unknown(error) => unknown_tasks(error),
        SelectTasksError::Empty(_) => Failure::new(ErrorKind::Usage, error.to_string()),
    }
}

/// Returns the error for typed ids that are not in the PRD.
pub(crate) fn unknown_tasks(error: UnknownTasks) -> Failure {
    Failure::new(ErrorKind::NotFound, error.to_string()).coded(ErrorCode::TaskMissing)
}

/// Refuses an unattended service if tasks are verified only by the existence of files and texts.
pub(crate) fn refuse_patterns(state: &PrdState) -> Result<(), Failure> {
    let faults = state.prd.walkaway_faults();
    if faults.is_empty() {
        return Ok(());
    }
    let reason = |fault: &brigade_kitchen::prd::Fault| {
        let task = fault.task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
        brigade_policy::Blocker::new(fault.code, format!("{task}{}", fault.message)).at(fault.place.clone())
    };
    let message = "the service runs unattended, and only checks of files and texts verify its tasks";
    let failure = Failure::new(ErrorKind::Refused, message).coded(ErrorCode::PrdInvalid);
    Err(failure.because(faults.iter().map(reason)))
}
