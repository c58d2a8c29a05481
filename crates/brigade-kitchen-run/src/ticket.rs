//! `ticket`: works on one task, with the approval, lock and records of a service.

use brigade_core::{ErrorCode, ErrorKind, NextStep};
use brigade_kitchen::TaskId;
use brigade_kitchen::life::UnknownTasks;
use brigade_kitchen::service::{ServiceReport, Ticket};
use brigade_policy::Failure;

use crate::gather::{PrdSearch, PrdState};
use crate::kitchen::Kitchen;
use crate::rehearsal::{refuse_patterns, unapproved, unknown_tasks};
use crate::service::{Follower, ServiceOptions};
use crate::validate::is_approved;

impl Kitchen<'_> {
    /// Works on one task until it ends, or cannot continue.
    ///
    /// # Errors
    /// Fails if nothing was started: the task does not exist or depends on unfinished tasks, the execution is not
    /// approved, or another service works on the PRD.
    pub fn ticket(
        &self,
        search: &PrdSearch,
        task: &str,
        options: &ServiceOptions,
        follower: &dyn Follower,
    ) -> Result<ServiceReport, Failure> {
        let state = self.prd_state(search)?;
        let task = select_task(&state, task)?;
        if !is_approved(state.life.approval.as_ref(), state.fingerprint) {
            return Err(unapproved(&state));
        }
        if options.flags.walkaway || state.crew.settings.walkaway_mode {
            refuse_patterns(&state)?;
        }
        self.retry_skipped(&state.name, &task)?;
        let options = ServiceOptions { only: vec![task.to_string()], ..options.clone() };
        let mut report = self.serve(&state.path, &options, follower, &|order| self.open_place(order))?;
        let outcome = self.life(&state.name)?.outcome(&task);
        report.ticket = Some(Ticket { task, outcome });
        Ok(report)
    }

    /// Reports what [`Kitchen::ticket`] would do. Needs no approval, and starts nothing.
    ///
    /// # Errors
    /// Fails if the PRD or task does not exist, the task depends on unfinished tasks, or on a disk error.
    pub fn rehearse_ticket(
        &self,
        search: &PrdSearch,
        task: &str,
        options: &ServiceOptions,
    ) -> Result<ServiceReport, Failure> {
        let task = select_task(&self.prd_state(search)?, task)?;
        let options = ServiceOptions { only: vec![task.to_string()], ..options.clone() };
        self.rehearse(std::slice::from_ref(search), &options)
    }
}

/// Returns the task with a typed id, if its dependencies are done.
fn select_task(state: &PrdState, typed: &str) -> Result<TaskId, Failure> {
    let (prd, life) = (&state.prd, &state.life);
    let at = typed.parse().ok().and_then(|id| prd.graph().position(&id));
    let Some(at) = at else {
        let known = prd.tasks.iter().map(|task| task.id.clone()).collect();
        return Err(unknown_tasks(UnknownTasks { unknown: vec![typed.to_owned()], known }));
    };
    let id = &prd.tasks[at].id;
    // A finished task stays done, whatever its dependencies are.
    if life.is_done(id) {
        return Ok(id.clone());
    }
    let needs = prd.graph().needs(at).iter().map(|need| &prd.tasks[*need].id);
    let open: Vec<String> =
        needs.filter(|need| !life.is_done(need)).map(|need| format!("`{need}`")).collect();
    if open.is_empty() {
        return Ok(id.clone());
    }
    let are = if open.len() == 1 { "which is" } else { "which are" };
    let message = format!("`{id}` depends on {}, {are} not done", open.join(", "));
    let failure = Failure::new(ErrorKind::Refused, message).coded(ErrorCode::TaskUnready);
    Err(failure.hint(NextStep::KitchenStatus(state.path.to_string())))
}
