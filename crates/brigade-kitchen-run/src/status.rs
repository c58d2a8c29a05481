//! `status`, `summary` and `cost`: reports about a PRD. Changes and starts nothing.

mod before;

use std::ops::ControlFlow;
use std::time::Duration;

use brigade_core::{ErrorCode, ErrorKind, NextStep, RunId};
use brigade_fs::{FileMode, Metadata, RelPath};
use brigade_kitchen::life::{Stage, UnknownTasks};
use brigade_kitchen::prd::Lints;
use brigade_kitchen::show::{
    Brief, Glance, KitchenCostReport, SUMMARY_HEAD, StatusReport, SummaryReport, cost, status, summary,
};
use brigade_kitchen::{PrdName, TaskId, Tier};
use brigade_policy::Failure;
use brigade_process::CancelToken;

use crate::branch::SearchDepth;
use crate::gather::{Configuration, PrdSearch, PrdState};
use crate::journal::seen::{self, Source};
use crate::journal::set_aside_notes;
use crate::kitchen::Kitchen;
use crate::lock::ServiceLock;
use crate::paths::PrdFiles;
use crate::receipts::Receipts;
use crate::rehearsal::unknown_tasks;
use crate::run_log::is_part;
use crate::service::{Activity, RunningRow, ServiceView};

/// How often a watcher polls. Nothing in this module polls faster.
const POLL: Duration = Duration::from_secs(1);

/// The maximum size of a file that a summary may replace.
const SUMMARY_LIMIT: u64 = 16 << 20;

/// How much of the end of a log is searched for its last line.
const TAIL: u64 = 4 << 10;

/// What a watcher follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowTarget {
    /// The states of tasks.
    Status,
    /// The states of tasks, and the output of workers.
    Output,
}

/// What a watcher receives.
#[derive(Clone, Debug)]
pub struct WatchView {
    /// The status of the PRD.
    pub report: StatusReport,
    /// What runs now.
    pub scene: ServiceView,
    /// Whether no service runs yet, and the watcher waits for one.
    pub waits: bool,
}

impl Kitchen<'_> {
    /// Returns the status of a PRD.
    ///
    /// # Errors
    /// Fails if the PRD does not exist or has errors, or on a disk error.
    pub fn status(&self, search: &PrdSearch) -> Result<StatusReport, Failure> {
        let search = search.to_show();
        let configuration = self.configuration()?;
        if let Some(report) = self.status_before(&search, &configuration)? {
            return Ok(report);
        }
        let state = self.prd_state_under(configuration, &search)?;
        let report = self.status_of(&state);
        self.keep_status(&state, &report)?;
        Ok(report)
    }

    /// Returns the status of the PRD of a task, with only this task.
    ///
    /// # Errors
    /// As [`Kitchen::status`], and if there is no such task.
    pub fn task_status(&self, search: &PrdSearch, task: &str) -> Result<StatusReport, Failure> {
        let mut report = self.status(search)?;
        let known: Vec<TaskId> = report.tasks.iter().map(|row| row.id.clone()).collect();
        report.tasks.retain(|row| row.id.as_str() == task);
        match report.tasks.is_empty() {
            true => Err(unknown_tasks(UnknownTasks { unknown: vec![task.to_owned()], known })),
            false => Ok(report),
        }
    }

    fn status_of(&self, state: &PrdState) -> StatusReport {
        let mut report = status(&state.view(self.now()));
        self.mask(&mut report, &state.configuration);
        report.target = self.target();
        report.taken = state.taken;
        report.config_issues = state.configuration.issues();
        report.config_issues.extend(state.crew.refusal_lines().into_iter().filter(|line| {
            // An error of the configuration is also a refusal.
            line.fault().code != ErrorCode::KitchenConfigInvalid
        }));
        report.issues.extend(self.namesake(state).map(|other| {
            format!("what is recorded is of `{other}`, which has the same name; give one of them another one")
        }));
        report.issues.extend(state.state_problem.as_ref().map(ToString::to_string));
        report.issues.extend(self.branch_problem(state, SearchDepth::Short));
        report.issues.extend(state.faults.iter().map(|fault| match fault.line {
            Some(line) => format!("journal line {line}: {}", fault.problem),
            None => format!("journal: {}", fault.problem),
        }));
        report.issues.extend(set_aside_notes(&*self.fs, &PrdFiles::new(&state.name)));
        report
    }

    /// Masks what a person wrote into the PRD. The journal is already masked.
    fn mask(&self, report: &mut StatusReport, configuration: &Configuration) {
        let redactor = self.redactor(configuration);
        report.feature_name = redactor.redact_str(&report.feature_name);
        for task in &mut report.tasks {
            task.title = redactor.redact_str(&task.title);
        }
    }

    /// Returns the brief status of a PRD.
    ///
    /// # Errors
    /// Fails if the PRD does not exist or has errors, or on a disk error.
    pub fn brief(&self, search: &PrdSearch) -> Result<Brief, Failure> {
        let search = search.to_show();
        if let Some(named) = self.seen_before(&search, &seen::GLANCE)?
            && let Some(glance) =
                seen::GLANCE.recall(&*self.fs, &named.files, &named.bytes, None, Glance::from_bytes)
        {
            return self.brief_of(&glance, &named.name);
        }
        let (found, recorded) = self.prd_and_journal(&search, Lints::NONE)?;
        let (path, name) = (found.path.clone(), found.name.clone());
        let source = recorded.covered.map(|covered| Source::new(&found.bytes, covered));
        let prd = found.valid()?;
        let life = self.life_of(&path, &name, &prd, recorded)?.life;
        let glance = Glance::new(&prd, &life);
        if let Some(source) = source
            && let Err(error) =
                seen::GLANCE.keep(&*self.fs, &PrdFiles::new(&name), &source, || glance.to_bytes())
        {
            tracing::debug!(%error, "a cache is not written");
        }
        self.brief_of(&glance, &name)
    }

    fn brief_of(&self, glance: &Glance, name: &PrdName) -> Result<Brief, Failure> {
        Ok(glance.brief(ServiceLock::holder(&*self.fs, name)?.is_some(), self.now()))
    }

    /// Calls `show` with the status at once, after each change, and at least every `STATUS_WATCH_INTERVAL`. Ends when
    /// no service runs, `show` breaks, or the token is cancelled. With [`FollowTarget::Output`], also calls it every
    /// second while something runs, and waits for a service that has not begun if tasks are not done.
    ///
    /// # Errors
    /// Same as [`Kitchen::status`].
    pub fn watch(
        &self,
        search: &PrdSearch,
        follow: FollowTarget,
        cancel: Option<&CancelToken>,
        show: &mut dyn FnMut(&WatchView) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        let mut state = self.prd_state(&search.to_show())?;
        // Later calls use the same PRD, even if another one starts.
        let search = PrdSearch::At(state.path.clone());
        let taken = state.taken;
        let mut was_served = false;
        loop {
            state.taken = taken;
            let (signs, interval) = (self.signs(&state), state.crew.settings.status_watch_interval);
            was_served |= state.holder.is_some();
            let (report, scene) = (self.status_of(&state), self.scene(&state));
            let can_begin = !was_served && follow == FollowTarget::Output && 0 < report.pending_tasks;
            let is_over = state.holder.is_none() && !can_begin;
            let mut watched = WatchView { report, scene, waits: state.holder.is_none() && can_begin };
            if show(&watched).is_break() || is_over {
                return Ok(());
            }
            let Some(cancel) = cancel else { return Ok(()) };
            for _ in 0..interval.max(1) {
                // `true` means that the token was cancelled.
                if cancel.wait(POLL) {
                    return Ok(());
                }
                if self.signs(&state) != signs {
                    break;
                }
                if follow == FollowTarget::Output {
                    watched.scene = self.scene(&state);
                    if show(&watched).is_break() {
                        return Ok(());
                    }
                }
            }
            state = self.prd_state(&search)?;
        }
    }

    /// Returns what a service does now, according to its files.
    fn scene(&self, state: &PrdState) -> ServiceView {
        let (life, now) = (&state.life, self.now());
        let service = life.service.as_ref().filter(|_| state.holder.is_some());
        let mut rows: Vec<RunningRow> = Vec::new();
        for (task, own) in life.tasks.iter().filter(|_| service.is_some()) {
            let (doing, seconds) = match &own.stage {
                Stage::Attempting { since, .. } => (Activity::Working, now.since(*since).as_secs()),
                Stage::Checking(checking) if checking.commit.is_some() => (Activity::Integrating, 0),
                Stage::Checking(checking) if checking.tested => (Activity::Reviewing, 0),
                Stage::Checking(_) => (Activity::Verifying, 0),
                Stage::Open | Stage::Waiting(_) | Stage::Ended(_) => continue,
            };
            rows.push(RunningRow {
                task: state.name.shown(task),
                doing,
                tier: own.tier.unwrap_or(Tier::Line),
                attempt: own.attempts,
                escalated: own.escalated,
                seconds,
                last_line: own.runs.last().map(|run| self.last_line(&run.run)).unwrap_or_default(),
            });
        }
        let is_done = |task: &&brigade_kitchen::prd::Task| life.is_done(&task.id);
        ServiceView {
            prd: state.name.prefix().to_owned(),
            done: state.prd.tasks.iter().filter(is_done).count() as u64,
            total: state.prd.tasks.len() as u64,
            waiting: life.waiting().count() as u64,
            cost_usd: life.spent.cost_usd(&state.crew.settings),
            seconds: service.map_or(0, |service| now.since(service.started_at).as_secs()),
            rows,
        }
    }

    /// Returns the last line of the log of a running attempt.
    fn last_line(&self, run: &RunId) -> String {
        let (stdout, stderr) = Receipts::new(&*self.fs).logs(run);
        // While an attempt runs, the end of a long output is in part files.
        let folder = self.fs.list_dir(&stdout.parent()).unwrap_or_default();
        let is_its = |name: &str| {
            [&stdout, &stderr].iter().any(|log| {
                name == log.name() || (name.starts_with(&format!("{}.", log.name())) && is_part(name))
            })
        };
        let logs = folder.iter().filter(|entry| is_its(&entry.name));
        let paths = logs.filter_map(|entry| stdout.parent().join(&entry.name).ok());
        let newest = paths
            .filter_map(|path| {
                Some((self.fs.metadata(&path).ok().filter(|found| 0 < found.len)?.modified, path))
            })
            .max_by_key(|(modified, _)| *modified);
        let tail = newest.and_then(|(_, path)| {
            let file = self.fs.open(&path).ok()?;
            file.read_range(
                file.len().ok()?.saturating_sub(TAIL),
                usize::try_from(TAIL).unwrap_or(usize::MAX),
            )
            .ok()
        });
        let text = String::from_utf8_lossy(&tail.unwrap_or_default()).into_owned();
        text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
    }

    /// Returns values that change with the status: metadata of the journal, the lock and the PRD.
    fn signs(&self, state: &PrdState) -> Vec<Option<Metadata>> {
        let files = PrdFiles::new(&state.name);
        let paths = [files.journal(), files.service_lock(), state.path.clone()];
        paths.iter().map(|path| self.fs.metadata(path).ok()).collect()
    }

    /// Renders the summary of a PRD, and writes it to a file if requested.
    ///
    /// # Errors
    /// Fails if the PRD does not exist or has errors, the file exists and is not a summary, or on a disk error.
    pub fn summary(
        &self,
        search: &PrdSearch,
        file: Option<&RelPath>,
        may_replace: bool,
    ) -> Result<SummaryReport, Failure> {
        let state = self.prd_state(&search.to_show())?;
        let redactor = self.redactor(&state.configuration);
        let report = self.status_of(&state);
        let text = summary(&report, &state.life, &state.crew.settings);
        let text = redactor.redact_str(&text);
        let mut made = SummaryReport::new(self.target(), &report, text);
        if let Some(file) = file {
            let file = self.inside(file)?;
            if self.fs.exists(&file)? && !may_replace {
                let bytes = self.fs.read(&file, SUMMARY_LIMIT)?;
                if !bytes.starts_with(SUMMARY_HEAD.as_bytes()) {
                    let failure =
                        Failure::new(ErrorKind::Usage, format!("`{file}` exists and is not a summary"));
                    return Err(failure.coded(ErrorCode::FileExists).hint(NextStep::Replace));
                }
            }
            self.fs.write_atomic(&file, made.text.as_bytes(), FileMode::KeepOr(0o644))?;
            made.path = Some(file.to_string());
        }
        Ok(made)
    }

    /// Returns the costs of a PRD.
    ///
    /// # Errors
    /// Fails if the PRD does not exist or has errors, or on a disk error.
    pub fn cost(&self, search: &PrdSearch) -> Result<KitchenCostReport, Failure> {
        let state = self.prd_state(&search.to_show())?;
        let report = self.status_of(&state);
        Ok(cost(self.target(), &report, &state.life, &state.crew.settings))
    }
}
