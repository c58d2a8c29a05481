//! Steps of tasks, and the handling of messages from jobs.

use std::thread::Scope;

use brigade_kitchen::life::{
    AttemptEnd, CommandResult, Decision, DecisionId, Miss, Question, Record, ReviewResult, Stage, Step,
    TaskOutcome, is_ready, judge, next,
};
use brigade_kitchen::prd::Task;
use brigade_kitchen::signal::Ending;
use brigade_kitchen::{Tier, config::Keep};
use brigade_process::random_bytes;

use super::ServeError;
use super::job::{AttemptReport, CheckStep, Fault, JobEvent, RecordedWork, TaskWork};
use super::main_loop::{JobKind, JobSubject, Message, RunningJob, ServiceLoop};
use crate::run::{EndState, StartError};
use crate::workplace::{Integration, PlaceError};

impl<'e> ServiceLoop<'e> {
    /// Makes the steps that need no worker: escalations, ends and decisions. Starts the next check of each claim.
    pub(super) fn move_tasks<'scope>(&mut self, scope: &'scope Scope<'scope, 'e>) -> Result<(), ServeError> {
        self.leave_lane();
        for at in 0..self.served.prd.tasks.len() {
            while self.set.has(at)
                && !self.jobs.contains_key(&JobSubject::Task(at))
                && self.move_task(scope, at)?
            {}
        }
        Ok(())
    }

    /// Frees the integration lane if its task is done, failed, or has a pending decision.
    fn leave_lane(&mut self) {
        let Some(at) = self.lane.filter(|at| !self.jobs.contains_key(&JobSubject::Task(*at))) else { return };
        let (task, life) = (&self.served.prd.tasks[at], self.journal.life());
        if !next(task, life, &self.settings, self.mode).is_check() {
            self.lane = None;
        }
    }

    /// Returns whether a check may start now. Only one task at a time is integrated. The number of other checks is
    /// limited like the number of attempts.
    fn may_check(&mut self, at: usize, check: &CheckStep) -> bool {
        if self.lane == Some(at) {
            return true;
        }
        if matches!(check, CheckStep::Commit | CheckStep::Integrate(_)) {
            let is_free = self.lane.is_none();
            self.lane = self.lane.or(Some(at));
            return is_free;
        }
        let checks = self.jobs.values().filter(|job| matches!(job.what, JobKind::Check(_))).count() as u64;
        checks < self.settings.parallel()
    }

    /// Makes one step of a task. Returns whether another step may follow immediately.
    fn move_task<'scope>(&mut self, scope: &'scope Scope<'scope, 'e>, at: usize) -> Result<bool, ServeError> {
        let (served, settings) = (self.served.clone(), self.settings.clone());
        let task = &served.prd.tasks[at];
        let life = self.journal.life();
        let is_begun = life.tasks.get(&task.id).is_some_and(|own| own.stage != Stage::Open);
        if !is_begun && !is_ready(&served.prd, life, at) {
            return Ok(false);
        }
        if self.stop.as_ref().is_some_and(|stop| !stop.continues_checks) {
            return Ok(false);
        }
        let check = match next(task, life, &settings, self.mode) {
            Step::Escalate { from, to, reason } => {
                self.record(vec![Record::Escalated { task: task.id.clone(), from, to, reason }])?;
                return Ok(true);
            }
            Step::End { outcome, reason, stuck, absorbed_by } => {
                self.end_task(at, task, outcome, reason, stuck, absorbed_by)?;
                return Ok(true);
            }
            Step::Ask(ask) => {
                self.ask(task, ask)?;
                return Ok(false);
            }
            Step::Verify { from } => CheckStep::Verify(from),
            Step::Scan => CheckStep::Scan,
            Step::Test => CheckStep::Test,
            Step::Review => CheckStep::Review,
            Step::Commit => CheckStep::Commit,
            Step::Integrate => {
                let Stage::Checking(checking) = &life.task(&task.id).stage else { return Ok(false) };
                CheckStep::Integrate(checking.commit.clone().unwrap_or_default())
            }
            Step::Attempt { .. } | Step::Running | Step::Wait(_) | Step::Ended(_) => return Ok(false),
        };
        let own = life.task(&task.id);
        let Stage::Checking(checking) = own.stage else { return Ok(false) };
        let recorded = RecordedWork {
            tree: own.tree,
            is_changed: checking.changed,
            is_checked: 0 < checking.verified || checking.tested || checking.commit.is_some(),
        };
        if !self.may_check(at, &check) {
            return Ok(false);
        }
        let (task, step, work) = (task.clone(), check.clone(), self.kept_work.remove(&at));
        self.spawn(
            scope,
            JobSubject::Task(at),
            Tier::Executive,
            JobKind::Check(check),
            move |context, watch| context.step(&task, step, (work, &recorded), &checking.run, watch),
        )?;
        Ok(false)
    }

    fn end_task(
        &mut self,
        at: usize,
        task: &Task,
        outcome: TaskOutcome,
        reason: Option<String>,
        stuck: bool,
        absorbed_by: Option<brigade_kitchen::TaskId>,
    ) -> Result<(), ServeError> {
        let mut records = Vec::new();
        if let Some(absorbed_by) = absorbed_by {
            records.push(Record::Absorbed { task: task.id.clone(), absorbed_by });
        }
        records.push(Record::TaskEnded { task: task.id.clone(), outcome, reason, stuck });
        self.record(records)?;
        if let Some(work) = self.kept_work.remove(&at)
            && outcome.is_done()
            && self.settings.worktree_keep == Keep::Unfinished
            && let Err(error) = self.workplace.finish(&work.place)
        {
            tracing::warn!(%error, task = %task.id, "the folder of a task that is done stays");
        }
        Ok(())
    }

    pub(super) fn ask(&mut self, task: &Task, ask: Question) -> Result<(), ServeError> {
        let context = self.host.redactor().redact_str(&ask.context);
        self.ask_about(Some(task.id.clone()), ask.about, context)
    }

    pub(super) fn ask_about(
        &mut self,
        task: Option<brigade_kitchen::TaskId>,
        about: brigade_kitchen::life::DecisionKind,
        context: String,
    ) -> Result<(), ServeError> {
        let id = DecisionId::of_random(random_bytes::<8>()?);
        let decision = Decision { id, about, task, context, created_at: self.journal.now() };
        self.record(vec![Record::DecisionAsked { decision }])
    }

    /// Handles a message.
    pub(super) fn handle_message(&mut self, message: Message) -> Result<(), ServeError> {
        match message {
            Message::Cancelled => {
                self.cancel_jobs();
                Ok(())
            }
            Message::Answered { id, answer } => self.handle_person_answer(&id, answer),
            Message::JobEnded { subject, work, event } => {
                let job = self.jobs.remove(&subject);
                if let Some(job) = &job {
                    self.show_printed(subject, job, EndState::Yes);
                }
                match subject {
                    JobSubject::Task(at) => self.handle_job_event(at, job, work.map(|work| *work), event),
                    JobSubject::Prd => self.handle_prd_event(event),
                }
            }
        }
    }

    fn handle_job_event(
        &mut self,
        at: usize,
        job: Option<RunningJob>,
        work: Option<TaskWork>,
        event: JobEvent,
    ) -> Result<(), ServeError> {
        let task = self.served.prd.tasks[at].clone();
        let id = task.id.clone();
        let stage = self.journal.life().task(&id).stage;
        let changes = work.as_ref().map(|work| (!work.changes.is_empty(), work.changes.tree.clone()));
        if let Some(work) = work {
            self.kept_work.insert(at, work);
        }
        let run = match &stage {
            Stage::Attempting { run, .. } => Some(run.clone()),
            Stage::Checking(checking) => Some(checking.run.clone()),
            Stage::Open | Stage::Waiting(_) | Stage::Ended(_) => None,
        };
        let record = match (event, run) {
            (JobEvent::Attempt(event), Some(run)) => {
                let (changed, tree) = changes.unwrap_or_default();
                return self.handle_attempt(&task, run, *event, changed, tree);
            }
            (JobEvent::Command { checked, .. }, _) if checked.interrupted => return Ok(()),
            (JobEvent::Command { is_test, index, command, checked }, Some(run)) => {
                let command = self.host.redactor().redact_str(&command);
                let (result, exit_code, output) = (checked.result, checked.exit_code, checked.output);
                let receipt = Some(checked.run);
                let output = if result == CommandResult::Passed { String::new() } else { output };
                if is_test {
                    Record::Test { task: id, run, command, result, exit_code, output, receipt }
                } else {
                    let index = index as u64;
                    Record::Verification { task: id, run, index, command, result, exit_code, output, receipt }
                }
            }
            (JobEvent::Scanned(found), Some(run)) => Record::Todo { task: id, run, found },
            (JobEvent::Reviewed(read), _) if read.interrupted => {
                self.add_executive_usage(Some(&id), &read);
                return Ok(());
            }
            (JobEvent::Reviewed(read), Some(run)) => {
                let result = match &read.verdict {
                    Some(reviewed) if reviewed.pass => ReviewResult::Pass,
                    Some(_) => ReviewResult::Fail,
                    None => ReviewResult::Unclear,
                };
                let reason = read.verdict.and_then(|reviewed| reviewed.reason).or(read.remark);
                let reason = reason.map(|reason| self.host.redactor().redact_str(&reason));
                Record::Review {
                    task: id,
                    run,
                    result,
                    reason,
                    seconds: read.seconds,
                    cost_usd: read.cost_usd,
                    receipt: Some(read.receipt),
                }
            }
            (JobEvent::Committed(made), Some(run)) => {
                let commit = made.commit.map(|commit| commit.to_string());
                Record::Committed { task: id, run, commit, refused: None }
            }
            (JobEvent::Refused(reason), Some(run)) => {
                Record::Committed { task: id, run, commit: None, refused: Some(reason) }
            }
            (JobEvent::Integrated(integration), Some(run)) => {
                let (commit, conflict, tree) = match integration {
                    Integration::Done(commit) => (commit.map(|commit| commit.to_string()), Vec::new(), None),
                    Integration::Moved { changes, .. } => (None, Vec::new(), Some(changes.tree)),
                    Integration::Conflict(files) => (None, files, None),
                };
                Record::Integrated { task: id, run, commit, conflict, moved: tree.is_some(), tree }
            }
            (JobEvent::Decided(read), _) => return self.handle_decision(&task, read),
            (JobEvent::Scoped(read), _) => return self.handle_scope_answer(&task, read),
            (JobEvent::Fault(fault), run) => return self.fault(&task, job, run, fault),
            (
                JobEvent::Attempt(_)
                | JobEvent::Command { .. }
                | JobEvent::Scanned(_)
                | JobEvent::Reviewed(_)
                | JobEvent::Committed(_)
                | JobEvent::Refused(_)
                | JobEvent::Integrated(_)
                | JobEvent::Phase(_)
                | JobEvent::Gate(_),
                _,
            ) => return Ok(()),
        };
        self.record(vec![record])
    }

    fn handle_attempt(
        &mut self,
        task: &Task,
        run: brigade_core::RunId,
        report: AttemptReport,
        changed: bool,
        tree: String,
    ) -> Result<(), ServeError> {
        let AttemptReport { ending, notes, seconds, cost_usd, tokens, setup, spoiled } = report;
        let redactor = self.host.redactor();
        let masked = |text: Option<String>| text.map(|text| redactor.redact_str(&text));
        let judged = judge(&ending, changed, task, self.journal.life(), &self.settings);
        let tier = self.journal.life().task(&task.id).tier.unwrap_or(Tier::Line);
        let (how, signal, reason, miss) = match spoiled {
            Some((miss, reason)) => (AttemptEnd::Iteration, None, Some(reason), Some(miss)),
            None => (judged.how, judged.signal, judged.reason.or(notes.reason), judged.miss),
        };
        if ending == Ending::UnknownLimit && how == AttemptEnd::Interrupted {
            let shown = self.served.name.shown(&task.id);
            self.pause(format!("{shown}: {}", reason.as_deref().unwrap_or_default()), true);
        }
        let until = match &ending {
            Ending::Limit(limit) if how == AttemptEnd::Limit => Some(self.limit_until(tier, limit.until)),
            _ => None,
        };
        let mut records = vec![Record::AttemptEnded {
            task: task.id.clone(),
            run,
            how,
            signal,
            reason: masked(reason),
            miss,
            seconds,
            cost_usd,
            tokens,
            changed,
            tree: (!tree.is_empty()).then_some(tree),
            approach: masked(notes.approach),
            until,
            setup,
        }];
        match until {
            Some(until) => {
                let command = Some(self.settings.worker_of(tier));
                records.push(Record::LimitWait { tier, until, command });
            }
            None => self.forget_limit_wait(tier),
        }
        self.record(records)?;
        self.projections.keep(&notes.learnings, &notes.backlog);
        if let Some(sink) = self.options.backlog.as_ref().filter(|_| !notes.backlog.is_empty()) {
            let redactor = self.host.redactor();
            let found: Vec<String> =
                notes.backlog.iter().map(|text| redactor.redact_str(text.trim())).collect();
            (sink.0)(&self.served.name.shown(&task.id), &found);
        }
        Ok(())
    }

    /// Handles a step that failed. If the attempt is at fault, it counts as a failure of the task. Otherwise the
    /// service pauses.
    fn fault(
        &mut self,
        task: &Task,
        job: Option<RunningJob>,
        run: Option<brigade_core::RunId>,
        fault: Fault,
    ) -> Result<(), ServeError> {
        let text = self.host.redactor().redact_str(&fault.to_string());
        let what = job.map(|job| job.what);
        let shown = self.served.name.shown(&task.id);
        match (what, run, &fault) {
            (Some(JobKind::Attempt), Some(run), _) => {
                let is_its_own = matches!(fault, Fault::NotStarted(StartError::Command(_)));
                let how = if is_its_own { AttemptEnd::Iteration } else { AttemptEnd::Interrupted };
                self.record(vec![Record::AttemptEnded {
                    task: task.id.clone(),
                    run,
                    how,
                    signal: None,
                    reason: Some(text.clone()),
                    miss: is_its_own.then_some(Miss::NotStarted),
                    seconds: 0.0,
                    cost_usd: None,
                    tokens: None,
                    changed: false,
                    tree: None,
                    approach: None,
                    until: None,
                    setup: None,
                }])?;
                if !is_its_own {
                    self.pause(format!("{shown}: {text}"), true);
                }
            }
            (
                Some(JobKind::Check(_)),
                Some(run),
                Fault::Place(
                    PlaceError::Tampered { .. }
                    | PlaceError::Gone(_)
                    | PlaceError::Lost(_)
                    | PlaceError::Nested(_)
                    | PlaceError::Refused(_)
                    | PlaceError::NotForGit(_),
                ),
            ) => {
                let task = task.id.clone();
                self.record(vec![Record::Committed { task, run, commit: None, refused: Some(text) }])?;
            }
            (
                Some(JobKind::Check(CheckStep::Review)),
                Some(run),
                Fault::NotStarted(StartError::Command(_)),
            ) => {
                let (task, result) = (task.id.clone(), ReviewResult::Unclear);
                let reason = Some(text);
                let review =
                    Record::Review { task, run, result, reason, seconds: 0.0, cost_usd: None, receipt: None };
                self.record(vec![review])?;
            }
            _ => self.pause(format!("{shown}: {text}"), false),
        }
        Ok(())
    }
}
