//! Jobs of a service: each does one step of one task in a thread.

mod leftovers;
mod wording;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brigade_core::{Fingerprint, RunId};
use brigade_kitchen::adapter::Tokens;
use brigade_kitchen::config::Settings;
use brigade_kitchen::life::{CommandResult, Miss, TaskLife, Workplace as Mode};
use brigade_kitchen::prd::Task;
use brigade_kitchen::prompt::{self, Context};
use brigade_kitchen::signal::{
    AttemptNotes, Ending, Evidence, FailureDecision, GateStatus, PhaseStatus, PhaseVerdict, ReviewVerdict,
    Role, ScopeAnswer, classify_ending, read_decision, read_gate, read_phase_review, read_review,
    read_scope_answer, reported_cost,
};
use brigade_kitchen::{Command, Tier};

use thiserror::Error;
use wording::{changed_by_reviewer, result_text, setup_failed};

use crate::attempt::{Attempt, AttemptOutcome, attempt, capped_timeout};
use crate::check::{Check, CheckOutcome, check};
use crate::map::PromptContext;
use crate::named_files::{BoundFiles, named_paths};
use crate::receipts::RunKind;
use crate::run::{Host, StartError, Watch};
use crate::service::served_prd::ServedPrd;
use crate::workplace::{
    ChangedFile, Changes, CommitId, FolderOrigin, Guard, Integration, Marker, Place, PlaceError,
    RestoreOutcome, TaskCommit, TaskName, Workplace,
};

/// How many bytes of a diff a reviewer gets.
const PATCH_LIMIT: usize = 64 << 10;

/// The time limit of a review or an answer about scope.
const READER_TIMEOUT: Duration = Duration::from_secs(900);

/// The context of all jobs.
#[derive(Clone)]
pub(crate) struct JobContext<'e> {
    pub(crate) host: Arc<Host>,
    pub(crate) served: Arc<ServedPrd>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) workplace: &'e dyn Workplace,
    pub(crate) approved: Option<Fingerprint>,
    pub(crate) offset: i32,
    /// The learnings of earlier workers, the best first.
    pub(crate) learnings: Arc<Vec<String>>,
    /// The map excerpt and related PRDs.
    pub(crate) prompt_context: Arc<PromptContext>,
}

/// What is known about the work on a task beyond its records. It can be recomputed.
#[derive(Clone)]
pub(crate) struct TaskWork {
    pub(crate) place: Place,
    pub(crate) guard: Guard,
    pub(crate) changes: Changes,
    pub(crate) made: Option<TaskCommit>,
    pub(crate) summary: Option<String>,
    /// Commands and their results, for the review.
    pub(crate) results: Vec<(String, String)>,
}

/// The recorded facts about work of an earlier service.
pub(crate) struct RecordedWork {
    /// The tree of the attempt.
    pub(crate) tree: Option<String>,
    /// Whether the attempt changed something.
    pub(crate) is_changed: bool,
    /// Whether commands succeeded on it, or it was committed.
    pub(crate) is_checked: bool,
}

/// The report of an attempt.
pub(crate) struct AttemptReport {
    pub(crate) ending: Ending,
    pub(crate) notes: AttemptNotes,
    pub(crate) seconds: f64,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) tokens: Option<Tokens>,
    /// The run of the setup before it.
    pub(crate) setup: Option<RunId>,
    /// Why it does not count, regardless of its signal.
    pub(crate) spoiled: Option<(Miss, String)>,
}

impl AttemptReport {
    /// Makes the report of an attempt whose worker was not started.
    fn not_started(ending: Ending, setup: Option<RunId>, spoiled: Option<(Miss, String)>) -> AttemptReport {
        let notes = AttemptNotes::default();
        AttemptReport { ending, notes, seconds: 0.0, cost_usd: None, tokens: None, setup, spoiled }
    }
}

impl TaskWork {
    /// Makes an empty value for a place that was not looked at yet.
    fn empty(place: &Place) -> TaskWork {
        TaskWork {
            place: place.clone(),
            guard: Guard::default(),
            changes: Changes::default(),
            made: None,
            summary: None,
            results: Vec::new(),
        }
    }
}

/// A finished run of the executive in some role.
pub(crate) struct ExecutiveRun<V> {
    pub(crate) verdict: Option<V>,
    pub(crate) seconds: f64,
    pub(crate) cost_usd: Option<f64>,
    /// Why there is no verdict, unless the executive simply gave none.
    pub(crate) remark: Option<String>,
    /// The run, which has a receipt.
    pub(crate) receipt: RunId,
    pub(crate) interrupted: bool,
}

/// The result of a job.
pub(crate) enum JobEvent {
    Attempt(Box<AttemptReport>),
    Command { is_test: bool, index: usize, command: String, checked: CheckOutcome },
    Scanned(Vec<String>),
    Reviewed(ExecutiveRun<ReviewVerdict>),
    Committed(TaskCommit),
    Refused(String),
    Integrated(Integration),
    Decided(ExecutiveRun<FailureDecision>),
    Scoped(ExecutiveRun<ScopeAnswer>),
    Phase(ExecutiveRun<PhaseVerdict<PhaseStatus>>),
    Gate(ExecutiveRun<PhaseVerdict<GateStatus>>),
    Fault(Fault),
}

/// Why a job could not do its step. Only the reason is recorded.
#[derive(Debug, Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    NotStarted(#[from] StartError),
    #[error("the program of the {0} tier is missing")]
    Missing(Tier),
}

impl<'e> JobContext<'e> {
    pub(crate) fn task_name(&self, task: &Task) -> TaskName {
        TaskName { prd: self.served.name.clone(), task: task.id.clone(), title: task.title.clone() }
    }

    fn context<'a>(&'a self, tier: Tier, nonce: &'a str) -> Context<'a> {
        Context {
            tier,
            role_text: self.served.role_text(tier),
            prd: &self.served.prd,
            name: &self.served.name,
            nonce,
            map: self.prompt_context.map.as_deref(),
            learnings: if self.settings.knowledge_sharing { &self.learnings } else { &[] },
            retries_are_smart: self.settings.smart_retry_enabled,
            max_approaches: usize::try_from(self.settings.smart_retry_approach_history_max)
                .unwrap_or(usize::MAX),
            related: &self.prompt_context.related,
        }
    }

    fn closed(&self) -> Vec<PathBuf> {
        self.served.closed()
    }

    fn start(
        &self,
        start: WorkerStart<'_>,
        watch: &Watch,
        text: &dyn Fn(&Context<'_>) -> String,
    ) -> Result<AttemptOutcome, Fault> {
        let worker = self.served.worker(start.tier).ok_or(Fault::Missing(start.tier))?;
        let closed = self.closed();
        let run = match start.run {
            Some(run) => run.clone(),
            None => self.host.new_run().map_err(StartError::from)?,
        };
        let timeout = capped_timeout(start.timeout, &self.served.grants);
        let root = self.host.fs.root();
        let order = Attempt {
            host: &self.host,
            policy: &self.served.policy,
            approved: self.approved,
            run: &run,
            worker,
            role: start.role,
            prd: Some(&self.served.name),
            task: start.task.map(|task| &task.id),
            number: start.number,
            timeout,
            directory: start.place.map_or(root, |place| &place.folder),
            own: start.place.and_then(|place| place.root.as_deref()),
            reviewed: start.reviewed,
            closed: &closed,
            max_log_bytes: self.settings.max_log_bytes.0,
            named_log: start.named_log,
            local_offset_minutes: self.offset,
            gateway: None,
            watch,
        };
        Ok(attempt(&order, &|nonce| text(&self.context(start.tier, nonce)))?)
    }

    /// Makes an attempt at a task.
    pub(crate) fn attempt(
        &self,
        task: &Task,
        life: &TaskLife,
        order: AttemptOrder,
        watch: &Watch,
    ) -> (Option<TaskWork>, JobEvent) {
        match self.try_attempt(task, life, &order, watch) {
            Ok((work, event)) => (Some(work), event),
            Err(fault) => (None, JobEvent::Fault(fault)),
        }
    }

    fn try_attempt(
        &self,
        task: &Task,
        life: &TaskLife,
        order: &AttemptOrder,
        watch: &Watch,
    ) -> Result<(TaskWork, JobEvent), Fault> {
        // An unchanged folder is moved to the tip of the branch, so that the worker sees the work of others.
        let place = &match order.origin {
            FolderOrigin::Found => {
                self.workplace.freshen(&order.place)?.unwrap_or_else(|| order.place.clone())
            }
            FolderOrigin::New | FolderOrigin::Remade => order.place.clone(),
        };
        let (mut spoiled, mut setup) = (None, None);
        if let Some(command) = &self.settings.worktree_setup
            && self.workplace.begin_setup(place)?
        {
            let timeout = Duration::from_secs(self.settings.worktree_setup_timeout);
            let checked = self.command(RunKind::Setup, task, command, timeout, place, watch)?;
            if checked.interrupted {
                let report = AttemptReport::not_started(Ending::Interrupted, Some(checked.run), None);
                return Ok((TaskWork::empty(place), JobEvent::Attempt(Box::new(report))));
            }
            if checked.result == CommandResult::Passed {
                self.workplace.end_setup(place, &self.workplace.guard(place)?)?;
            } else {
                spoiled = Some((Miss::Setup, setup_failed(&checked)));
            }
            setup = Some(checked.run);
        }
        let guard = self.workplace.guard(place)?;
        let attempted = match &spoiled {
            Some(_) => None,
            None => {
                let start = WorkerStart {
                    role: Role::Work,
                    tier: order.tier,
                    run: Some(&order.run),
                    task: Some(task),
                    number: order.number,
                    timeout: self.settings.timeout(order.tier).map(Duration::from_secs),
                    place: Some(place),
                    reviewed: None,
                    named_log: order.named_log.clone(),
                };
                let mut attempted = self.start(start, watch, &|context| prompt::work(context, task, life))?;
                // The answer may be long, so it is dropped before git runs.
                let read = classify_ending(&attempted.evidence());
                attempted.answer = None;
                Some((attempted, read))
            }
        };
        let changes = match self.workplace.look(place, &guard) {
            Ok(changes) => changes,
            // Changes of git settings make the attempt fail. Git was not run.
            Err(error @ (PlaceError::Tampered { .. } | PlaceError::Gone(_) | PlaceError::NotForGit(_))) => {
                spoiled = Some((Miss::Git, error.to_string()));
                Changes::default()
            }
            Err(error) => return Err(error.into()),
        };
        if spoiled.is_none()
            && let Some((path, tier)) = self.changed_start(place, &changes)
        {
            let reason = format!("it changed `{path}`, which the command of the {tier} tier names");
            spoiled = Some((Miss::Git, reason));
        }
        // Without a committed change, verification must not depend on files that only the worktree has.
        let is_ignoring = |file: &ChangedFile| file.path.rsplit('/').next() == Some(".gitignore");
        if spoiled.is_none() && changes.nested.is_empty() && changes.files.iter().all(is_ignoring) {
            let dropped = self.workplace.drop_ignored(place)?;
            if !dropped.is_empty() {
                tracing::info!(task = %task.id, ?dropped, "ignored files of an attempt without a change are removed");
            }
        }
        let work = |summary| TaskWork {
            place: place.clone(),
            guard: guard.clone(),
            changes: changes.clone(),
            made: None,
            summary,
            results: Vec::new(),
        };
        let Some((attempted, (ending, notes))) = attempted else {
            let report = AttemptReport::not_started(Ending::Interrupted, setup, spoiled);
            return Ok((work(None), JobEvent::Attempt(Box::new(report))));
        };
        let report = AttemptReport {
            ending,
            seconds: attempted.seconds,
            cost_usd: notes.cost_usd.or(attempted.cost_usd),
            tokens: notes.tokens.or(attempted.tokens),
            setup,
            spoiled,
            notes,
        };
        Ok((work(report.notes.summary.clone()), JobEvent::Attempt(Box::new(report))))
    }

    /// Returns a changed file that the command of a tier names, and the tier. A later worker or reviewer would run it.
    fn changed_start(&self, place: &Place, changes: &Changes) -> Option<(String, Tier)> {
        let below = place.root.as_ref().and_then(|root| place.folder.strip_prefix(root).ok());
        let changed: Vec<&Path> = changes
            .files
            .iter()
            .filter_map(|file| Path::new(&file.path).strip_prefix(below.unwrap_or(Path::new(""))).ok())
            .collect();
        let root = self.host.fs.root();
        Tier::ALL.iter().copied().find_map(|tier| {
            let words = self.served.worker(tier)?.command.words().iter().map(String::as_str);
            let mut named = named_paths(root, words);
            let (_, found) = named.find(|(_, inside)| changed.iter().any(|path| path == inside))?;
            Some((found.to_string_lossy().into_owned(), tier))
        })
    }

    fn command(
        &self,
        kind: RunKind,
        task: &Task,
        command: &Command,
        timeout: Duration,
        place: &Place,
        watch: &Watch,
    ) -> Result<CheckOutcome, Fault> {
        let closed = self.closed();
        let effects = self.settings.verification_effects.as_deref();
        Ok(check(&Check {
            host: &self.host,
            policy: &self.served.policy,
            approved: self.approved,
            kind,
            prd: Some(&self.served.name),
            task: Some(&task.id),
            command,
            effects,
            timeout,
            directory: &place.folder,
            own: place.root.as_deref(),
            closed: &closed,
            files: &BoundFiles::new(),
            input: Vec::new(),
            max_log_bytes: self.settings.max_log_bytes.0,
            watch,
        })?)
    }

    /// Restores the work of an attempt of an earlier service: the tree that was verified, if known. Unverified work
    /// never replaces it.
    fn restore_work(
        &self,
        task: &Task,
        work: Option<TaskWork>,
        recorded: &RecordedWork,
        step: Option<&CheckStep>,
    ) -> Result<TaskWork, Fault> {
        if let Some(work) = work {
            return Ok(work);
        }
        let (place, _) = self.workplace.begin(&self.task_name(task))?;
        let guard = self.workplace.guard(&place)?;
        let known = match &recorded.tree {
            Some(tree) => self.workplace.recall(&place, tree)?,
            None => None,
        };
        let commit = match step {
            Some(CheckStep::Integrate(commit)) if known.is_none() => CommitId::new(commit),
            _ => None,
        };
        let moved = commit.map(|commit| self.workplace.recall_moved(&place, &commit)).transpose()?.flatten();
        let changes = match known.or(moved) {
            Some(changes) => changes,
            // In place, verification may have left files. A claim without changes loses nothing, even if the folder was
            // moved to the tip of the branch.
            None if recorded.is_checked
                && recorded.is_changed
                && self.workplace.mode() == Mode::Worktrees =>
            {
                return Err(PlaceError::Lost(task.id.clone()).into());
            }
            None => self.workplace.look(&place, &guard)?,
        };
        if recorded.is_changed && changes.is_empty() {
            return Err(PlaceError::Lost(task.id.clone()).into());
        }
        Ok(TaskWork { place, guard, changes, made: None, summary: None, results: Vec::new() })
    }

    /// Does one step of checking a claim. Without `work`, restores it by its tree.
    pub(crate) fn step(
        &self,
        task: &Task,
        step: CheckStep,
        (work, recorded): (Option<TaskWork>, &RecordedWork),
        run: &RunId,
        watch: &Watch,
    ) -> (Option<TaskWork>, JobEvent) {
        if work.is_none() && matches!(step, CheckStep::Integrate(_)) {
            // A killed service may have moved the branch already.
            match self.workplace.find_integrated(&self.task_name(task), run) {
                Ok(None) => {}
                Ok(Some(commit)) => {
                    let integration = Integration::Done(Some(commit));
                    return (
                        self.restore_work(task, None, recorded, None).ok(),
                        JobEvent::Integrated(integration),
                    );
                }
                Err(error) => return (None, JobEvent::Fault(error.into())),
            }
        }
        let mut work = match self.restore_work(task, work, recorded, Some(&step)) {
            Ok(work) => work,
            Err(fault) => return (None, JobEvent::Fault(fault)),
        };
        match self.try_step(task, step, &mut work, run, watch) {
            Ok(event) => {
                self.drop_leftovers(&work, &event);
                (Some(work), event)
            }
            Err(fault) => (Some(work), JobEvent::Fault(fault)),
        }
    }

    fn try_step(
        &self,
        task: &Task,
        step: CheckStep,
        work: &mut TaskWork,
        run: &RunId,
        watch: &Watch,
    ) -> Result<JobEvent, Fault> {
        match step {
            CheckStep::Verify(index) => {
                let Some(entry) = task.verification.get(index) else {
                    return Ok(JobEvent::Scanned(Vec::new()));
                };
                if index == 0
                    && work.changes.is_empty()
                    && let Some(place) = self.workplace.freshen(&work.place)?
                {
                    // A claim without changes is about the current branch.
                    work.guard = self.workplace.guard(&place)?;
                    work.changes = self.workplace.look(&place, &work.guard)?;
                    work.place = place;
                }
                let timeout = Duration::from_secs(self.settings.verification_timeout);
                let command = &entry.command;
                let checked =
                    self.command(RunKind::Verification, task, command, timeout, &work.place, watch)?;
                work.results.push((command.text().to_owned(), result_text(&checked)));
                Ok(JobEvent::Command { is_test: false, index, command: command.text().to_owned(), checked })
            }
            CheckStep::Test => {
                let Some(command) = &self.settings.test_cmd else { return Ok(JobEvent::Scanned(Vec::new())) };
                let timeout = Duration::from_secs(self.settings.test_timeout);
                let checked = self.command(RunKind::Test, task, command, timeout, &work.place, watch)?;
                work.results.push((command.text().to_owned(), result_text(&checked)));
                Ok(JobEvent::Command { is_test: true, index: 0, command: command.text().to_owned(), checked })
            }
            CheckStep::Scan => {
                Ok(JobEvent::Scanned(work.changes.markers.iter().map(ToString::to_string).collect()))
            }
            CheckStep::Review => {
                let diff = self.workplace.patch(&work.place, &work.changes, PATCH_LIMIT)?;
                let folder = work.place.folder.to_string_lossy();
                let evidence = prompt::Evidence {
                    diff: &diff,
                    folder: &folder,
                    results: &work.results,
                    summary: work.summary.as_deref(),
                };
                // Verification may have left files. They are not committed, and not the reviewer's fault.
                let before = self.workplace.look(&work.place, &work.guard).ok();
                let review_place = self.workplace.begin_review(&work.place)?;
                let at = review_place.as_ref().unwrap_or(&work.place);
                let reader = WorkerStart::reader(Role::Review, Some(task), Some(at), READER_TIMEOUT);
                let start = WorkerStart {
                    reviewed: review_place.as_ref().map(|_| work.place.folder.as_path()),
                    ..reader
                };
                let attempted = self.start(start, watch, &|context| prompt::review(context, task, &evidence));
                // A reviewer must not change anything.
                let mut left = review_place
                    .as_ref()
                    .map_or(Ok(Vec::new()), |review_place| self.workplace.end_review(review_place))?;
                let attempted = attempted?;
                let mut read = ExecutiveRun::new(&attempted, read_review(&attempted.evidence()));
                let put_back = before
                    .map(|before| self.workplace.put_back(&work.place, &work.guard, &work.changes, &before));
                let (mut is_known, mut is_restored) = (true, true);
                match put_back.transpose()? {
                    Some(RestoreOutcome::Unchanged) => {}
                    None => is_known = false,
                    Some(RestoreOutcome::Done(files)) => left.extend(files),
                    Some(RestoreOutcome::Stays(files)) => {
                        left.extend(files);
                        is_restored = false;
                    }
                }
                read.remark = (!left.is_empty()).then(|| changed_by_reviewer(&left));
                // A clear FAIL counts in any case.
                let passes = read.verdict.as_ref().is_none_or(|verdict| verdict.pass);
                if !is_restored {
                    // The current files were never verified, even if the review was interrupted.
                    if passes {
                        read.verdict = Some(ReviewVerdict { pass: false, reason: read.remark.clone() });
                    }
                    read.interrupted = false;
                } else if passes && (!is_known || !left.is_empty()) {
                    read.verdict = None;
                }
                Ok(JobEvent::Reviewed(read))
            }
            CheckStep::Commit if work.changes.markers.iter().any(Marker::is_of_conflict) => {
                let left = work.changes.markers.iter().filter(|marker| marker.is_of_conflict());
                let left: Vec<String> =
                    left.map(|marker| format!("{}:{}", marker.path, marker.line)).collect();
                Ok(JobEvent::Refused(format!("the markers of a conflict are left in {}", left.join(", "))))
            }
            CheckStep::Commit => match self.workplace.commit(&work.place, &work.changes, run) {
                Ok(made) => {
                    work.made = Some(made.clone());
                    Ok(JobEvent::Committed(made))
                }
                Err(
                    error @ (PlaceError::Nested(_) | PlaceError::Refused(_) | PlaceError::Tampered { .. }),
                ) => Ok(JobEvent::Refused(error.to_string())),
                Err(error) => Err(error.into()),
            },
            CheckStep::Integrate(commit) => {
                let made = work.made.clone();
                let made = made.unwrap_or(TaskCommit { commit: CommitId::new(&commit), squashed: None });
                let integration = self.workplace.integrate(&work.place, &made)?;
                if let Integration::Moved { place, changes } = &integration {
                    (work.place, work.changes, work.made) = ((**place).clone(), (**changes).clone(), None);
                    work.guard = self.workplace.guard(place)?;
                    work.results.clear();
                }
                Ok(JobEvent::Integrated(integration))
            }
        }
    }

    /// Asks the executive, and reads its answer.
    fn consult<V>(
        &self,
        start: WorkerStart<'_>,
        watch: &Watch,
        text: &dyn Fn(&Context<'_>) -> String,
        read: fn(&Evidence<'_>) -> Option<V>,
        event: fn(ExecutiveRun<V>) -> JobEvent,
    ) -> JobEvent {
        match self.start(start, watch, text) {
            Ok(attempted) => event(ExecutiveRun::new(&attempted, read(&attempted.evidence()))),
            Err(fault) => JobEvent::Fault(fault),
        }
    }

    /// Lets the executive decide about a failure.
    pub(crate) fn decide(&self, task: &Task, life: &TaskLife, dependents: usize, watch: &Watch) -> JobEvent {
        let timeout = Duration::from_secs(self.settings.walkaway_decision_timeout);
        let start = WorkerStart::reader(Role::Decide, Some(task), None, timeout);
        let text = |context: &Context<'_>| prompt::decide(context, task, life, dependents);
        self.consult(start, watch, &text, read_decision, JobEvent::Decided)
    }

    /// Lets the executive answer a question about scope.
    pub(crate) fn scope(&self, task: &Task, question: &str, watch: &Watch) -> JobEvent {
        let timeout = Duration::from_secs(self.settings.walkaway_decision_timeout);
        let start = WorkerStart::reader(Role::Scope, Some(task), None, timeout);
        let text = |context: &Context<'_>| prompt::scope(context, task, question);
        self.consult(start, watch, &text, read_scope_answer, JobEvent::Scoped)
    }

    /// Lets the executive review the PRD.
    pub(crate) fn phase(&self, state: &str, watch: &Watch) -> JobEvent {
        let timeout = Duration::from_secs(self.settings.phase_review_timeout);
        let start = WorkerStart::reader(Role::Phase, None, None, timeout);
        let text = |context: &Context<'_>| prompt::phase(context, Role::Phase, state);
        self.consult(start, watch, &text, read_phase_review, JobEvent::Phase)
    }

    /// Lets the executive decide whether the next PRD begins.
    pub(crate) fn gate(&self, state: &str, watch: &Watch) -> JobEvent {
        let timeout = Duration::from_secs(self.settings.phase_review_timeout);
        let start = WorkerStart::reader(Role::Gate, None, None, timeout);
        let text = |context: &Context<'_>| prompt::phase(context, Role::Gate, state);
        self.consult(start, watch, &text, read_gate, JobEvent::Gate)
    }
}

/// A step of checking a claim.
#[derive(Clone, Debug)]
pub(crate) enum CheckStep {
    Verify(usize),
    Scan,
    Test,
    Review,
    Commit,
    Integrate(String),
}

/// An attempt to make.
pub(crate) struct AttemptOrder {
    pub(crate) place: Place,
    pub(crate) origin: FolderOrigin,
    pub(crate) tier: Tier,
    pub(crate) number: u64,
    pub(crate) run: RunId,
    pub(crate) named_log: Option<brigade_fs::RelPath>,
}

struct WorkerStart<'a> {
    role: Role,
    tier: Tier,
    run: Option<&'a RunId>,
    task: Option<&'a Task>,
    number: u64,
    timeout: Option<Duration>,
    place: Option<&'a Place>,
    /// The directory of the work to review, if the reviewer starts elsewhere.
    reviewed: Option<&'a Path>,
    named_log: Option<brigade_fs::RelPath>,
}

impl<'a> WorkerStart<'a> {
    /// Makes the work of a reading role of the executive, which must not change anything.
    fn reader(
        role: Role,
        task: Option<&'a Task>,
        place: Option<&'a Place>,
        timeout: Duration,
    ) -> WorkerStart<'a> {
        let (tier, timeout) = (Tier::Executive, Some(timeout));
        WorkerStart {
            role,
            tier,
            run: None,
            task,
            number: 1,
            timeout,
            place,
            reviewed: None,
            named_log: None,
        }
    }
}

impl<V> ExecutiveRun<V> {
    fn new(attempted: &AttemptOutcome, verdict: Option<V>) -> ExecutiveRun<V> {
        ExecutiveRun {
            verdict,
            seconds: attempted.seconds,
            cost_usd: reported_cost(&attempted.evidence()).or(attempted.cost_usd),
            remark: None,
            receipt: attempted.run.clone(),
            interrupted: attempted.exit == brigade_kitchen::signal::Exit::Interrupted,
        }
    }
}
