//! The state and the main loop of a running service.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use brigade_core::json::to_json;
use brigade_core::{Fingerprint, Json, Timestamp};
use brigade_kitchen::config::{Keep, Settings};
use brigade_kitchen::life::{
    Answer, DecisionId, ExecutiveUsage, Life, Limits, Line, Progress, Record, RunSet, Stage, TaskLife, Usage,
    Workplace as Mode, next, progress, select,
};
use brigade_kitchen::service::{Outcome, ServiceReport};
use brigade_kitchen::show::{Event, EventLine, View, worker_log};
use brigade_kitchen::{TaskId, Tier};
use brigade_process::{CancelToken, PrivateFolder};

use super::job::{AttemptOrder, CheckStep, ExecutiveRun, JobContext, JobEvent, TaskWork};
use super::outside::AttemptWarnings;
use super::report::next_steps;
use super::served_prd::{FileStamps, ServedPrd};
use super::{Follower, ServeError, ServiceInput, ServiceOptions};
use crate::journal::PrdJournal;
use crate::kitchen::Kitchen;
use crate::lock::ServiceLock;
use crate::map::PromptContext;
use crate::projections::{ForeignStateFile, Projections, configured_path, foreign_state};
use crate::receipts::Receipts;
use crate::run::{Host, Watch, random_hex};
use crate::workplace::Workplace;

/// The maximum time between checks of things that send no message.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// The time between checks for a second request to end.
const SECOND_REQUEST: Duration = Duration::from_millis(200);

/// How long a detached thread waits for a request before it checks whether the service has ended.
const SIGNAL_SLICE: Duration = Duration::from_secs(5);

/// The reason of a pause while a decision about the PRD is pending.
pub(super) const PRD_WAITS: &str = "a decision about the PRD waits";

/// The subject of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum JobSubject {
    Task(usize),
    Prd,
}

/// A running job.
pub(super) struct RunningJob {
    pub(super) watch: Arc<Watch>,
    pub(super) what: JobKind,
    pub(super) tier: Tier,
    pub(super) warnings: AttemptWarnings,
}

#[derive(Clone, Debug)]
pub(super) enum JobKind {
    Attempt,
    Check(CheckStep),
    Decision,
}

/// A message to the loop.
pub(super) enum Message {
    JobEnded { subject: JobSubject, work: Option<Box<TaskWork>>, event: JobEvent },
    Answered { id: DecisionId, answer: Option<Answer> },
    Cancelled,
}

/// Why the service ends early.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    pub(super) outcome: Outcome,
    pub(super) reason: String,
    /// Whether claims are still checked.
    pub(super) continues_checks: bool,
    pub(super) rule: StopRule,
}

/// Whether a stop still applies when all tasks are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopRule {
    /// It only applies while tasks are open.
    WithOpenTasks,
    /// It always applies, because it concerns the PRD as a whole.
    Always,
}

/// The progress after a record.
struct KnownProgress {
    seq: u64,
    settings: Arc<Settings>,
    served: Arc<ServedPrd>,
    progress: Rc<Progress>,
}

/// A running service.
pub(super) struct ServiceLoop<'e> {
    pub(super) kitchen: &'e Kitchen<'e>,
    pub(super) host: Arc<Host>,
    pub(super) served: Arc<ServedPrd>,
    pub(super) settings: Arc<Settings>,
    /// The context of prompts about the code base and other PRDs, from when the service started.
    pub(super) prompt_context: Arc<PromptContext>,
    pub(super) set: RunSet,
    pub(super) journal: PrdJournal,
    pub(super) lock: ServiceLock,
    pub(super) projections: Projections,
    pub(super) workplace: &'e dyn Workplace,
    pub(super) mode: Mode,
    pub(super) options: &'e ServiceOptions,
    pub(super) follower: &'e dyn Follower,
    pub(super) approved: Option<Fingerprint>,
    pub(super) service: String,
    pub(super) begun: Instant,
    pub(super) spent_before: Usage,
    /// The number of the last record for which derived files were written.
    pub(super) projected_seq: u64,
    /// Usage of the executive that no record has yet.
    pub(super) unrecorded_usage: Vec<ExecutiveUsage>,
    pub(super) jobs: HashMap<JobSubject, RunningJob>,
    pub(super) kept_work: HashMap<usize, TaskWork>,
    /// Decisions that are being answered, or cannot be answered here.
    pub(super) deciding: HashSet<DecisionId>,
    /// Decisions that a person is being asked.
    pub(super) asking: HashMap<DecisionId, CancelToken>,
    pub(super) asked_at: HashMap<DecisionId, Instant>,
    pub(super) command_read_at: Option<Instant>,
    /// The length and time of a command file that cannot be moved away.
    pub(super) stuck_command: Option<(u64, Timestamp)>,
    pub(super) stop: Option<Stop>,
    pub(super) stamps: FileStamps,
    /// The fingerprint of the PRD file as last read, or as written by this service.
    pub(super) prd_bytes: Fingerprint,
    pub(super) passed: HashSet<TaskId>,
    pub(super) limit_waits: BTreeMap<Tier, u32>,
    /// Running notifications.
    pub(super) notifications: Vec<thread::JoinHandle<()>>,
    pub(super) activity_at: Instant,
    /// The task that is being integrated. Others wait, because each move of the branch would require new verification.
    pub(super) lane: Option<usize>,
    /// Whether what would be executed no longer matches the approval.
    pub(super) lost_approval: bool,
    /// A state file that was set aside because it could not be adopted.
    pub(super) set_aside: Option<String>,
    /// Whether a second request to end was passed on.
    was_killed: bool,
    known_progress: RefCell<Option<KnownProgress>>,
    pub(super) sender: Sender<Message>,
    pub(super) receiver: Option<Receiver<Message>>,
}

impl<'e> ServiceLoop<'e> {
    pub(super) fn new(start: ServiceInput<'e>) -> Result<ServiceLoop<'e>, ServeError> {
        let ServiceInput {
            kitchen,
            served,
            settings,
            set,
            journal,
            lock,
            targets,
            workplace,
            options,
            follower,
        } = start;
        let secrets = served.secrets.clone();
        let host = Host::new(kitchen.fs.clone(), kitchen.clock.clone(), kitchen.environment.clone(), secrets);
        let host = Arc::new(host.holding(lock.held()));
        let offset = options.local_offset_minutes;
        let projections = Projections::new(
            kitchen.fs.clone(),
            served.name.clone(),
            targets,
            host.redactor(),
            offset,
            settings.learnings_max,
        );
        let random = random_hex::<4>()?;
        let (sender, receiver) = channel();
        Ok(ServiceLoop {
            service: format!("service-{}-{random}", journal.now().compact()),
            spent_before: journal.life().spent.clone(),
            projected_seq: 0,
            unrecorded_usage: Vec::new(),
            approved: Some(served.fingerprint),
            stamps: served.stamps.clone(),
            prd_bytes: served.bytes,
            prompt_context: Arc::new(kitchen.prompt_context(Some((&served.name, &served.prd)), &settings)),
            settings: Arc::new(settings),
            begun: Instant::now(),
            jobs: HashMap::new(),
            kept_work: HashMap::new(),
            deciding: HashSet::new(),
            asking: HashMap::new(),
            asked_at: HashMap::new(),
            notifications: Vec::new(),
            lane: None,
            lost_approval: false,
            set_aside: None,
            was_killed: false,
            known_progress: RefCell::new(None),
            command_read_at: None,
            stuck_command: None,
            stop: None,
            passed: HashSet::new(),
            limit_waits: BTreeMap::new(),
            activity_at: Instant::now(),
            receiver: Some(receiver),
            sender,
            kitchen,
            host,
            served,
            set,
            journal,
            lock,
            projections,
            workplace,
            mode: workplace.mode(),
            options,
            follower,
        })
    }

    /// Serves until everything is done, or no task can continue.
    pub(super) fn serve(mut self) -> Result<ServiceReport, ServeError> {
        let is_over = Arc::new(AtomicBool::new(false));
        self.listen(&is_over);
        self.served.warnings.iter().chain(&self.workplace.notes()).for_each(|warning| self.warn(warning));
        let result = self.begin_service().and_then(|()| {
            thread::scope(|scope| {
                let result = self.run(scope);
                if result.is_err() {
                    // Work that cannot be recorded must stop.
                    self.jobs.values().for_each(|job| {
                        job.watch.interrupt();
                        job.watch.interrupt();
                    });
                    self.asking.values().for_each(CancelToken::cancel);
                }
                result
            })
        });
        is_over.store(true, Ordering::SeqCst);
        // After an interruption, files are not removed. The next service uses them.
        let is_cancelled = self.options.cancel.as_ref().is_some_and(CancelToken::is_cancelled);
        let (life, keeps) = (self.journal.life(), self.settings.worktree_keep != Keep::Unfinished);
        let is_over = |task: &TaskId| !keeps && life.is_done(task) && !life.task(task).passed;
        if !is_cancelled && let Err(error) = self.workplace.leave(&self.served.name, &is_over) {
            tracing::warn!(%error, "unused worktrees were not removed");
        }
        result?;
        self.end_service()
    }

    /// Passes on a request to end.
    fn listen(&self, is_over: &Arc<AtomicBool>) {
        let Some(cancel) = self.options.cancel.clone() else { return };
        let (sender, is_over) = (self.sender.clone(), is_over.clone());
        thread::spawn(move || {
            while !is_over.load(Ordering::SeqCst) {
                if cancel.wait(SIGNAL_SLICE) || cancel.is_cancelled() {
                    // The loop itself checks for more requests.
                    let _ = sender.send(Message::Cancelled);
                    return;
                }
            }
        });
    }

    fn begin_service(&mut self) -> Result<(), ServeError> {
        PrivateFolder::remove_leftovers();
        Receipts::new(&*self.host.fs).repair(&*self.host.clock)?;
        let mut records = Vec::new();
        let life = self.journal.life();
        if life.service.is_none() && life.history.adopted.is_none() {
            match foreign_state(&*self.host.fs, &self.served.path, &self.served.name)? {
                ForeignStateFile::None => {}
                ForeignStateFile::State(state) => records.push(Record::Adopted { state }),
                ForeignStateFile::Unusable(problem) => self.set_aside = problem.set_aside(&*self.host.fs)?,
            }
        }
        let running = attempted_tasks(life);
        if !running.is_empty() {
            // Their keepers ended with the service that started them.
            records.push(Record::Interrupted { tasks: running });
        }
        self.write_missed_events();
        let total = (0..self.served.prd.tasks.len()).filter(|at| self.set.has(*at)).count() as u64;
        records.push(Record::ServiceStarted {
            service: self.service.clone(),
            process: self.process(),
            walkaway: self.settings.walkaway_mode,
            branch: self.workplace.branch().map(str::to_owned),
            total,
        });
        self.record(records)
    }

    pub(super) fn process(&self) -> Option<String> {
        Some(self.lock.process().to_string())
    }

    fn end_service(mut self) -> Result<ServiceReport, ServeError> {
        let running = attempted_tasks(self.journal.life());
        if !running.is_empty() {
            self.record(vec![Record::Interrupted { tasks: running }])?;
        }
        if self.waits_for_phase() {
            self.pause_prd(PRD_WAITS);
        }
        let progress = self.progress();
        let (outcome, reason) = match &self.stop {
            Some(stop)
                if stop.rule == StopRule::Always
                    || progress.outcome() != Outcome::Complete
                    || self.gate_is_closed() =>
            {
                (stop.outcome, Some(stop.reason.clone()))
            }
            _ => {
                let outcome = progress.outcome();
                let reason = match (outcome, progress.waiting.len()) {
                    (Outcome::Paused, 1) => Some("a decision waits".to_owned()),
                    (Outcome::Paused, waiting) => Some(format!("{waiting} decisions wait")),
                    (Outcome::Incomplete, _) => {
                        progress.incomplete_reason(&self.served.prd, self.journal.life(), &self.set)
                    }
                    _ => None,
                };
                (outcome, reason)
            }
        };
        let (service, used) = (self.service.clone(), std::mem::take(&mut self.unrecorded_usage));
        let ended = Record::ServiceEnded { service, outcome, reason: reason.clone(), used };
        self.record(vec![ended])?;
        if outcome == Outcome::Complete && self.is_all_done() && self.settings.learnings_archive {
            self.projections.archive_learnings();
        }
        let mut report = self.report(&progress, outcome, reason);
        report.issues = self.issues();
        self.deliver(&mut report);
        report.next = next_steps(&report, !self.lost_approval, self.workplace.is_checked_out());
        for notification in self.notifications.drain(..) {
            // Each ends at its time limit.
            let _ = notification.join();
        }
        Ok(report)
    }

    /// Returns whether every task of the PRD is done, including those not selected.
    pub(super) fn is_all_done(&self) -> bool {
        self.served.prd.tasks.iter().all(|task| self.journal.life().is_done(&task.id))
    }

    /// Returns the progress. It is cached until the next record.
    pub(super) fn progress(&self) -> Rc<Progress> {
        let seq = self.journal.life().seq;
        let mut known = self.known_progress.borrow_mut();
        if let Some(known) = &*known
            && known.seq == seq
            && Arc::ptr_eq(&known.settings, &self.settings)
            && Arc::ptr_eq(&known.served, &self.served)
        {
            return known.progress.clone();
        }
        let life = self.journal.life();
        let progress = Rc::new(progress(&self.served.prd, life, &self.settings, &self.set, self.mode));
        let (settings, served) = (self.settings.clone(), self.served.clone());
        *known = Some(KnownProgress { seq, settings, served, progress: progress.clone() });
        progress
    }

    /// Appends records, then writes the derived files.
    pub(super) fn record(&mut self, records: Vec<Record>) -> Result<(), ServeError> {
        let lines = self.journal.append_all(records)?;
        self.project(&lines);
        Ok(())
    }

    /// Writes events that the last service could not write, such as of an answer while it ended.
    fn write_missed_events(&mut self) {
        self.projected_seq = self.journal.life().seq;
        if let Some(seq) = self.projections.last_written_seq().filter(|seq| *seq < self.projected_seq) {
            let journal = &self.journal;
            self.projections.write_missed_events(&self.served.prd, &|| journal.lines_after(0), seq);
        }
    }

    /// Writes the derived files for these records, or for all since the last time if other processes added records.
    fn project(&mut self, lines: &[Line]) {
        let (seq, projected_seq) = (self.journal.life().seq, self.projected_seq);
        self.projected_seq = seq;
        let missed =
            (projected_seq + lines.len() as u64 != seq).then(|| self.journal.lines_after(projected_seq));
        let missed = missed.and_then(Result::ok);
        let lines = missed.as_deref().unwrap_or(lines);
        let ServiceLoop { journal, served, settings, projections, .. } = self;
        let view = View {
            prd: &served.prd,
            name: &served.name,
            path: served.path.as_str(),
            life: journal.life(),
            settings,
            workplace: self.mode,
            fingerprint: Some(served.fingerprint),
            running: true,
            limits: Limits::from_settings(settings, ceiling(served)),
            now: journal.now(),
        };
        let events = projections.after(&view, lines, &|| journal.lines_after(0));
        for line in lines {
            self.follower.recorded(&served.name, line, journal.life());
        }
        // Without such a record, no further task is done.
        let may_be_due = lines.is_empty()
            || lines.iter().any(|line| {
                matches!(
                    line.record,
                    Record::TaskEnded { .. } | Record::Approved { .. } | Record::ServiceStarted { .. }
                )
            });
        if !may_be_due {
            events.into_iter().for_each(|event| self.notify(event));
            return;
        }
        // Brigade's own change of the PRD does not require reading it again. An earlier change by another program does.
        if let Some((before, after)) = projections.passes(&served.prd, journal.life(), &mut self.passed)
            && before == self.prd_bytes
        {
            self.prd_bytes = after;
            self.stamps.of_prd(self.kitchen, &self.served.path);
        }
        for event in events {
            self.notify(event);
        }
    }

    /// Collects usage of the executive in a role without its own record.
    pub(super) fn add_executive_usage<V>(&mut self, task: Option<&TaskId>, read: &ExecutiveRun<V>) {
        let (seconds, cost_usd, receipt) = (read.seconds, read.cost_usd, Some(read.receipt.clone()));
        self.unrecorded_usage.push(ExecutiveUsage { task: task.cloned(), seconds, cost_usd, receipt });
    }

    /// Writes an event that has no record.
    pub(super) fn event(&mut self, event: Event) {
        let line = EventLine {
            ts: self.journal.now(),
            prd: self.served.name.prefix().to_owned(),
            seq: self.journal.life().seq,
            event,
        };
        if self.projections.lacks_events() {
            self.project(&[]);
        }
        self.projections.event(&line);
        self.notify(line);
    }

    pub(super) fn pause(&mut self, reason: impl Into<String>, continues_checks: bool) {
        if self.stop.is_none() {
            let reason = self.host.redactor().redact_str(&reason.into());
            let (outcome, rule) = (Outcome::Paused, StopRule::WithOpenTasks);
            self.stop = Some(Stop { outcome, reason, continues_checks, rule });
        }
    }

    /// Pauses for a reason about the PRD as a whole. It replaces the reason of another pause.
    pub(super) fn pause_prd(&mut self, reason: impl Into<String>) {
        if self.stop.as_ref().is_none_or(|stop| stop.rule == StopRule::WithOpenTasks) {
            let continues_checks = self.stop.as_ref().is_none_or(|stop| stop.continues_checks);
            self.stop = None;
            self.pause(reason, continues_checks);
            self.stop.iter_mut().for_each(|stop| stop.rule = StopRule::Always);
        }
    }

    fn run<'scope>(&mut self, scope: &'scope Scope<'scope, 'e>) -> Result<(), ServeError> {
        let receiver = self.receiver.take().expect("the loop runs once");
        loop {
            if self.journal.refresh()? {
                self.project(&[]);
            }
            self.move_tasks(scope)?;
            self.answer_decisions(scope)?;
            self.begin_attempts(scope)?;
            if self.is_over() && !self.ask_at_gate(scope)? {
                return Ok(());
            }
            match receiver.recv_timeout(self.poll_timeout()) {
                Ok(message) => {
                    self.handle_message(message)?;
                    while let Ok(message) = receiver.try_recv() {
                        self.handle_message(message)?;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            self.kill_on_second_request();
            self.tick();
        }
    }

    /// Returns how long the loop may sleep. A message wakes it immediately.
    fn poll_timeout(&self) -> Duration {
        // A second request sends no message, and ending takes at most two seconds.
        let is_ending = self.stop.as_ref().is_some_and(|stop| stop.outcome == Outcome::Interrupted);
        if is_ending { SECOND_REQUEST } else { TICK_INTERVAL }
    }

    fn is_over(&self) -> bool {
        if !self.jobs.is_empty() || !self.asking.is_empty() {
            return false;
        }
        if let Some(stop) = &self.stop {
            return !stop.continues_checks || !self.has_checks();
        }
        self.progress().is_at_end() && !self.will_be_answered()
    }

    /// Returns whether a claim must still be checked.
    fn has_checks(&self) -> bool {
        let life = self.journal.life();
        let is_check =
            |task: &brigade_kitchen::prd::Task| next(task, life, &self.settings, self.mode).is_check();
        self.served.prd.tasks.iter().enumerate().any(|(at, task)| self.set.has(at) && is_check(task))
    }

    pub(super) fn job_context(&self) -> JobContext<'e> {
        JobContext {
            host: self.host.clone(),
            served: self.served.clone(),
            settings: self.settings.clone(),
            workplace: self.workplace,
            approved: self.approved,
            offset: self.options.local_offset_minutes,
            learnings: Arc::new(self.projections.learnings()),
            prompt_context: self.prompt_context.clone(),
        }
    }

    /// Starts a job in a separate thread.
    pub(super) fn spawn<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'e>,
        subject: JobSubject,
        tier: Tier,
        what: JobKind,
        run_job: impl FnOnce(&JobContext<'e>, &Watch) -> (Option<TaskWork>, JobEvent) + Send + 'scope,
    ) -> Result<(), ServeError> {
        let is_worker =
            matches!(what, JobKind::Attempt | JobKind::Decision | JobKind::Check(CheckStep::Review));
        let keeps = is_worker && !self.settings.quiet_workers && self.follower.shows_output();
        let watch = Arc::new(if keeps { Watch::keeping_output()? } else { Watch::new()? });
        let (context, sender, followed) = (self.job_context(), self.sender.clone(), watch.clone());
        self.jobs.insert(subject, RunningJob { watch, what, tier, warnings: AttemptWarnings::default() });
        scope.spawn(move || {
            let (work, event) = run_job(&context, &followed);
            // The loop outlives its jobs, so the receiver exists.
            let _ = sender.send(Message::JobEnded { subject, work: work.map(Box::new), event });
        });
        Ok(())
    }

    pub(super) fn sender(&self) -> Sender<Message> {
        self.sender.clone()
    }

    /// Starts the attempts that are due now.
    fn begin_attempts<'scope>(&mut self, scope: &'scope Scope<'scope, 'e>) -> Result<(), ServeError> {
        // A phase review that may pause the service comes before new attempts.
        let is_reviewed = self.jobs.contains_key(&JobSubject::Prd)
            && self.settings.phase_review_action != brigade_kitchen::config::PhaseAction::Continue;
        if self.stop.is_some() || self.waits_for_prd() || is_reviewed {
            return Ok(());
        }
        let now = self.journal.now();
        let choose = |service: &ServiceLoop<'e>| {
            select(
                &service.served.prd,
                service.journal.life(),
                &service.settings,
                &service.set,
                service.mode,
                now,
            )
        };
        if choose(self).is_empty() {
            self.check_limits(now);
            return Ok(());
        }
        self.reload()?;
        for begin in choose(self) {
            // Each start may use up a budget.
            self.check_budgets()?;
            if self.jobs.contains_key(&JobSubject::Task(begin.task)) || self.stop.is_some() {
                continue;
            }
            self.begin_attempt(scope, begin.task, begin.tier, begin.number)?;
        }
        Ok(())
    }

    fn begin_attempt<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'e>,
        at: usize,
        tier: Tier,
        number: u64,
    ) -> Result<(), ServeError> {
        let task = self.served.prd.tasks[at].clone();
        let (place, origin) = match self.workplace.begin(&self.job_context().task_name(&task)) {
            Ok(found) => found,
            Err(error) => {
                self.pause(format!("{}: {error}", self.served.name.shown(&task.id)), true);
                return Ok(());
            }
        };
        let run = self.host.new_run()?;
        let own = self.journal.life().task(&task.id);
        let base = place.base.as_ref().map(ToString::to_string);
        let mut records = Vec::new();
        if own.started_at.is_none() || own.base != base || own.worktree != place.worktree {
            let (task, worktree) = (task.id.clone(), place.worktree.clone());
            records.push(Record::TaskStarted { task, tier, base, worktree });
        }
        records.push(Record::AttemptStarted {
            task: task.id.clone(),
            run: run.clone(),
            tier,
            attempt: number,
            process: self.process(),
        });
        self.record(records)?;
        let named_log = self.named_log(&task.id, tier);
        let order = AttemptOrder { place, origin, tier, number, run, named_log };
        self.spawn(scope, JobSubject::Task(at), tier, JobKind::Attempt, move |context, watch| {
            context.attempt(&task, &own, order, watch)
        })
    }

    /// Returns an unused name for the readable log of an attempt, if such logs are on.
    fn named_log(&self, task: &TaskId, tier: Tier) -> Option<brigade_fs::RelPath> {
        let folder = configured_path(&*self.host.fs, &self.settings.worker_log_dir, None)?;
        (1..1000).find_map(|number| {
            let name = worker_log(&self.served.name, task, tier, self.journal.now(), number);
            let path = folder.join(&name).ok()?;
            (!self.host.fs.exists(&path).unwrap_or(true)).then_some(path)
        })
    }

    pub(super) fn cancel_jobs(&mut self) {
        let outcome = Outcome::Interrupted;
        let reason = "it was interrupted".to_owned();
        self.stop = Some(Stop { outcome, reason, continues_checks: false, rule: StopRule::Always });
        self.jobs.values().for_each(|job| job.watch.interrupt());
        self.asking.values().for_each(CancelToken::cancel);
    }

    /// Kills everything that is ending, after a second request.
    fn kill_on_second_request(&mut self) {
        let requests = self.options.cancel.as_ref().map_or(0, CancelToken::requests);
        if 1 < requests && !self.was_killed {
            self.was_killed = true;
            self.jobs.values().for_each(|job| job.watch.interrupt());
        }
    }
}

/// Returns the ceilings of the policy.
pub(super) fn ceiling(served: &ServedPrd) -> Limits {
    Limits { cost_usd: served.grants.max_cost_usd, minutes: served.grants.max_minutes, attempts: None }
}

/// Serializes a value to JSON. This cannot fail for these types.
pub(super) fn json(value: &impl serde::Serialize) -> Json {
    to_json(value).unwrap_or_default()
}

/// Lists the tasks with an attempt whose end is not recorded.
fn attempted_tasks(life: &Life) -> Vec<TaskId> {
    let is_open = |own: &TaskLife| matches!(own.stage, Stage::Attempting { .. });
    life.tasks.iter().filter(|(_, own)| is_open(own)).map(|(task, _)| task.clone()).collect()
}
