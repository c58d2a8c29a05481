//! Reviews of the PRD as a whole, and the gate between two PRDs.

use std::thread::Scope;

use brigade_core::Json;
use brigade_fs::FileMode;
use brigade_kitchen::Tier;
use brigade_kitchen::config::{PhaseAction, PhaseGate};
use brigade_kitchen::life::{DecisionKind, Record};
use brigade_kitchen::prd::{AddTasksError, Task, add_tasks};
use brigade_kitchen::service::Outcome;
use brigade_kitchen::show::Event;
use brigade_kitchen::signal::{GateStatus, PhaseStatus, PhaseVerdict};

use super::ServeError;
use super::job::{ExecutiveRun, JobEvent};
use super::main_loop::{JobKind, JobSubject, ServiceLoop};

/// The maximum size of a PRD to which tasks are added.
const MAX_PRD: u64 = 64 << 20;

impl<'e> ServiceLoop<'e> {
    /// Starts a phase review when enough tasks are done.
    pub(super) fn review_phase<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'e>,
    ) -> Result<(), ServeError> {
        let life = self.journal.life();
        let is_due = self.settings.phase_review_enabled
            && self.settings.phase_review_after <= life.done_since_phase_review
            && !self.jobs.contains_key(&JobSubject::Prd)
            && !self.budget_is_used_up();
        if !is_due {
            return Ok(());
        }
        let state = self.state_of_tasks();
        self.spawn(scope, JobSubject::Prd, Tier::Executive, JobKind::Decision, move |context, watch| {
            (None, context.phase(&state, watch))
        })
    }

    /// Handles the result of a phase review.
    pub(super) fn handle_prd_event(&mut self, event: JobEvent) -> Result<(), ServeError> {
        let read = match event {
            JobEvent::Phase(read) => read,
            JobEvent::Gate(read) => return self.handle_gate(read),
            JobEvent::Fault(fault) => {
                self.pause_prd(fault.to_string());
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.add_executive_usage(None, &read);
        if read.interrupted {
            return Ok(());
        }
        let redactor = self.host.redactor();
        let (status, content, remediation) = match read.verdict {
            Some(phased) => (Some(phased.status), phased.content, phased.remediation),
            None => (None, "the review gave no clear verdict".to_owned(), Vec::new()),
        };
        let word = status.map_or("unclear", PhaseStatus::as_str).to_owned();
        let content = redactor.redact_str(&content);
        let completed =
            self.served.prd.tasks.iter().filter(|task| self.journal.life().is_done(&task.id)).count();
        let total = self.served.prd.tasks.len() as u64;
        let completed = completed as u64;
        let (text, used) = (content.clone(), std::mem::take(&mut self.unrecorded_usage));
        self.record(vec![Record::PhaseReview { completed, total, status: word, content: text, used }])?;
        let is_bad = matches!(status, None | Some(PhaseStatus::NeedsAttention));
        match self.settings.phase_review_action {
            PhaseAction::Continue => Ok(()),
            PhaseAction::Pause if is_bad => self.ask_about(None, DecisionKind::Phase, content),
            PhaseAction::Remediate if !remediation.is_empty() => self.add_tasks(&content, &remediation),
            PhaseAction::Remediate if is_bad => self.ask_about(None, DecisionKind::Phase, content),
            PhaseAction::Pause | PhaseAction::Remediate => Ok(()),
        }
    }

    fn state_of_tasks(&self) -> String {
        let life = self.journal.life();
        let row = |task: &Task| {
            let stage = match life.outcome(&task.id) {
                Some(outcome) => outcome.as_str(),
                None => "open",
            };
            format!("{} ({stage}): {}", task.id, task.title)
        };
        let state: Vec<String> = self.served.prd.tasks.iter().map(row).collect();
        state.join("\n")
    }

    /// Adds the tasks that a review proposes to the PRD. They need approval, so the service pauses. If they do not fit,
    /// a person must decide.
    fn add_tasks(&mut self, content: &str, tasks: &[Json]) -> Result<(), ServeError> {
        let redactor = self.host.redactor();
        let tasks: Vec<Json> = tasks.iter().map(|task| redactor.redact_json(task)).collect();
        let path = self.served.path.clone();
        let bytes = self.host.fs.read(&path, MAX_PRD)?;
        match add_tasks(path.as_str(), &bytes, &tasks) {
            Ok((bytes, ids)) => {
                self.host.fs.write_atomic(&path, &bytes, FileMode::KeepOr(0o644))?;
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                let reason = format!("a review of the PRD added {}, which needs approval", ids.join(", "));
                self.lost_approval = true;
                self.event(Event::ApprovalChanged { reason: reason.clone() });
                self.pause_prd(reason);
                Ok(())
            }
            Err(fault) => {
                let why = match fault {
                    AddTasksError::NoTasks => "the PRD no longer has a list of tasks".to_owned(),
                    AddTasksError::Faults(faults) => {
                        faults.first().map(|fault| fault.message.clone()).unwrap_or_default()
                    }
                };
                let number = tasks.len();
                let context = format!("{content}\n{number} proposed tasks do not fit into the PRD: {why}");
                self.ask_about(None, DecisionKind::Phase, context)
            }
        }
    }

    /// Returns whether the gate between this PRD and the next one is not open yet.
    pub(super) fn gate_is_closed(&self) -> bool {
        self.options.next.is_some()
            && self.settings.phase_gate != PhaseGate::Continue
            && !self.journal.life().gate_is_open
    }

    /// Asks whether the next PRD may begin when this one is complete. Returns whether an answer is expected.
    pub(super) fn ask_at_gate<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'e>,
    ) -> Result<bool, ServeError> {
        let is_complete = self.progress().outcome() == Outcome::Complete;
        if self.stop.is_some() || !is_complete || !self.gate_is_closed() || self.waits_for_prd() {
            return Ok(false);
        }
        let Some(next) = self.options.next.clone() else { return Ok(false) };
        match self.settings.phase_gate {
            PhaseGate::Continue => return Ok(false),
            PhaseGate::Pause => {
                let context = format!("the next PRD is {next}");
                self.ask_about(None, DecisionKind::Gate, context)?;
            }
            PhaseGate::Review if self.budget_is_used_up() => {
                let context = format!("the next PRD is {next}, and no budget is left for a review");
                self.ask_about(None, DecisionKind::Gate, context)?;
            }
            PhaseGate::Review => {
                let state = format!("{}\n\nthe next PRD is {next}", self.state_of_tasks());
                self.spawn(
                    scope,
                    JobSubject::Prd,
                    Tier::Executive,
                    JobKind::Decision,
                    move |context, watch| (None, context.gate(&state, watch)),
                )?;
            }
        }
        Ok(true)
    }

    /// Handles the executive's verdict at the gate. Only a clear consent opens it. Otherwise a person decides.
    fn handle_gate(&mut self, read: ExecutiveRun<PhaseVerdict<GateStatus>>) -> Result<(), ServeError> {
        self.add_executive_usage(None, &read);
        if read.interrupted {
            return Ok(());
        }
        let (status, content) = match read.verdict {
            Some(phased) => (phased.status.as_str(), phased.content),
            None => ("unclear", "the executive gave no clear verdict".to_owned()),
        };
        let content = self.host.redactor().redact_str(&content);
        let (text, used) = (content.clone(), std::mem::take(&mut self.unrecorded_usage));
        self.record(vec![Record::PhaseGate { status: status.to_owned(), content: text, used }])?;
        if self.journal.life().gate_is_open {
            return Ok(());
        }
        self.ask_about(None, DecisionKind::Gate, format!("the executive says {status}: {content}"))
    }
}
