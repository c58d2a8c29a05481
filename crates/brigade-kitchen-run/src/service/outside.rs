//! The outside view of a running service: slow and stalled attempts, notifications, and delivery of the branch.

use std::thread;
use std::time::{Duration, Instant};

use brigade_kitchen::config::{Settings, Stall};
use brigade_kitchen::life::CommandResult;
use brigade_kitchen::service::{Outcome, ServiceReport};
use brigade_kitchen::show::{Event, EventLine, slow};
use brigade_kitchen::{TaskId, Tier};

use super::job::CheckStep;
use super::main_loop::{JobKind, JobSubject, RunningJob, ServiceLoop, json};
use super::{Activity, RunningRow, ServiceView};
use crate::check::{Check, check};
use crate::receipts::RunKind;
use crate::run::{EndState, Watch};
use crate::workplace::PlaceError;

/// The maximum number of concurrent notifications.
const MAX_NOTIFICATIONS: usize = 8;

/// The warnings that were already given about an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AttemptWarnings {
    slow: bool,
    stalled: bool,
}

/// The warnings that are due for an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DueWarnings {
    /// It is slow: the minutes after which it counts as slow. Reported once.
    slow: Option<u64>,
    /// It printed nothing for too long. Reported again only after new output.
    stalled: bool,
    /// It is ended for that.
    ends: bool,
}

fn due_warnings(
    settings: &Settings,
    tier: Tier,
    elapsed: Duration,
    silent: Duration,
    warnings: &mut AttemptWarnings,
) -> DueWarnings {
    let slow =
        settings.slow_after(tier).filter(|minutes| !warnings.slow && minutes * 60 <= elapsed.as_secs());
    warnings.slow |= slow.is_some();
    let threshold = settings.output_stall_threshold;
    let is_silent = 0 < threshold && threshold <= silent.as_secs();
    let stalled = is_silent && !warnings.stalled;
    warnings.stalled = is_silent;
    DueWarnings { slow, stalled, ends: is_silent && settings.stall == Stall::Kill }
}

impl ServiceLoop<'_> {
    /// Checks the running attempts, and updates the display.
    pub(super) fn tick(&mut self) {
        let mut events: Vec<(Event, Option<String>)> = Vec::new();
        for (subject, job) in &mut self.jobs {
            let (JobSubject::Task(at), JobKind::Attempt) = (subject, &job.what) else { continue };
            let task = &self.served.prd.tasks[*at].id;
            let (elapsed, silent) = (job.watch.elapsed(), job.watch.silent());
            let due = due_warnings(&self.settings, job.tier, elapsed, silent, &mut job.warnings);
            if let Some(minutes) = due.slow {
                let elapsed = elapsed.as_secs();
                let event = Event::TaskSlow { task: task.clone(), elapsed, expected: minutes * 60 };
                events.push((event, Some(slow(&self.served.name, task, job.tier, elapsed / 60, minutes))));
            }
            if due.stalled {
                events.push((Event::OutputStall { task: task.clone(), silent: silent.as_secs() }, None));
            }
            if due.ends {
                job.watch.end_as_stalled();
            }
        }
        self.show();
        for (event, note) in events {
            self.event(event);
            if let Some(note) = note {
                self.projections.note(&note);
            }
        }
        if Duration::from_secs(self.settings.activity_log_interval) <= self.activity_at.elapsed() {
            self.activity_at = Instant::now();
            let now = self.journal.now();
            let running: Vec<(TaskId, Tier, u64)> = self
                .jobs
                .iter()
                .filter_map(|(subject, job)| match (subject, &job.what) {
                    (JobSubject::Task(at), JobKind::Attempt) => {
                        let task = self.served.prd.tasks[*at].id.clone();
                        Some((task, job.tier, job.watch.elapsed().as_secs()))
                    }
                    _ => None,
                })
                .collect();
            self.projections.working(now, &running);
        }
    }

    /// Reports running jobs and new output to the follower.
    fn show(&self) {
        for (subject, job) in &self.jobs {
            self.show_printed(*subject, job, EndState::No);
        }
        let progress = self.progress();
        let life = self.journal.life();
        let mut rows: Vec<RunningRow> =
            self.jobs.iter().map(|(subject, job)| self.running_row(*subject, job)).collect();
        rows.sort_by(|a, b| a.task.cmp(&b.task));
        self.follower.running(&ServiceView {
            prd: self.served.name.prefix().to_owned(),
            done: progress.done.len() as u64,
            total: (0..self.served.prd.tasks.len()).filter(|at| self.set.has(*at)).count() as u64,
            waiting: life.waiting().count() as u64,
            cost_usd: life.spent.cost_usd(&self.settings),
            seconds: self.begun.elapsed().as_secs(),
            rows,
        });
    }

    fn shown(&self, subject: JobSubject) -> String {
        match subject {
            JobSubject::Task(at) => self.served.name.shown(&self.served.prd.tasks[at].id),
            JobSubject::Prd => self.served.name.prefix().to_owned(),
        }
    }

    fn running_row(&self, subject: JobSubject, job: &RunningJob) -> RunningRow {
        let own = match subject {
            JobSubject::Task(at) => self.journal.life().tasks.get(&self.served.prd.tasks[at].id),
            JobSubject::Prd => None,
        };
        RunningRow {
            task: self.shown(subject),
            doing: match (&job.what, subject) {
                (JobKind::Attempt, _) => Activity::Working,
                (JobKind::Decision, JobSubject::Task(_)) => Activity::Deciding,
                (JobKind::Decision, JobSubject::Prd) | (JobKind::Check(CheckStep::Review), _) => {
                    Activity::Reviewing
                }
                (JobKind::Check(CheckStep::Verify(_) | CheckStep::Scan), _) => Activity::Verifying,
                (JobKind::Check(CheckStep::Test), _) => Activity::Testing,
                (JobKind::Check(CheckStep::Commit | CheckStep::Integrate(_)), _) => Activity::Integrating,
            },
            tier: own.and_then(|own| own.tier).unwrap_or(job.tier),
            attempt: own.map_or(1, |own| own.attempts),
            escalated: own.is_some_and(|own| own.escalated),
            seconds: job.watch.elapsed().as_secs(),
            last_line: job.watch.last_line(),
        }
    }

    /// Reports new output of a worker to the follower.
    pub(super) fn show_printed(&self, subject: JobSubject, job: &RunningJob, at_end: EndState) {
        let printed = job.watch.take_printed(at_end);
        if !printed.lines.is_empty() || 0 < printed.left_out {
            self.follower.printed(&self.shown(subject), &printed);
        }
    }

    /// Notifies a person of an event, if configured. Never waits, and never fails.
    pub(super) fn notify(&mut self, event: EventLine) {
        let word = event.event.kind();
        if self.settings.notify_command.is_none()
            || !self.settings.notify_events.iter().any(|event| event == word)
        {
            return;
        }
        self.notifications.retain(|running| !running.is_finished());
        if MAX_NOTIFICATIONS <= self.notifications.len() {
            tracing::warn!(event = word, "too many notifications are on their way, so one is left out");
            return;
        }
        let input = self.host.redactor().redact_json(&json(&event)).to_compact() + "\n";
        let (host, served, settings) = (self.host.clone(), self.served.clone(), self.settings.clone());
        let approved = self.approved;
        self.notifications.push(thread::spawn(move || {
            let (Some(command), Ok(watch)) = (&settings.notify_command, Watch::new()) else { return };
            let closed = served.closed();
            let outcome = check(&Check {
                host: &host,
                policy: &served.policy,
                approved,
                kind: RunKind::Notification,
                prd: Some(&served.name),
                task: None,
                command,
                effects: settings.verification_effects.as_deref(),
                timeout: Duration::from_secs(settings.notify_timeout),
                directory: host.fs.root(),
                own: None,
                closed: &closed,
                files: &served.files,
                input: input.into_bytes(),
                max_log_bytes: settings.max_log_bytes.0,
                watch: &watch,
            });
            match outcome {
                Ok(checked) if checked.result == CommandResult::NotStarted => {
                    tracing::warn!(why = checked.output, "a notification failed");
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "a notification failed"),
            }
        }));
    }

    /// Merges and pushes a complete branch, if requested and allowed by the policy.
    pub(super) fn deliver(&self, report: &mut ServiceReport) {
        if report.outcome != Outcome::Complete || !self.is_all_done() {
            return;
        }
        let mut refuse = |what: &str, error: &PlaceError| {
            report.reason = Some(self.host.redactor().redact_str(&format!("{what}: {error}")));
        };
        let into = Some(self.settings.default_branch.as_str()).filter(|branch| !branch.is_empty());
        let mut merged = false;
        if self.settings.merge && self.served.grants.merge {
            match self.workplace.merge(into) {
                Ok(_) => merged = true,
                Err(error) => refuse("it was not merged", &error),
            }
        }
        let mut pushed = false;
        if self.settings.push && self.served.grants.push {
            match self.workplace.push() {
                Ok(_) => pushed = true,
                Err(error) => refuse("it was not pushed", &error),
            }
        }
        (report.merged, report.pushed) = (merged, pushed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_is_reported_once_and_stalled_each_time() {
        let settings = Settings { output_stall_threshold: 300, ..Settings::default() };
        let mut warnings = AttemptWarnings::default();
        let mut check = |tier, minutes: u64, silent, expect: (Option<u64>, bool)| {
            let (elapsed, silent) = (Duration::from_secs(minutes * 60), Duration::from_secs(silent));
            let due = due_warnings(&settings, tier, elapsed, silent, &mut warnings);
            assert_eq!((due.slow, due.stalled), expect, "{tier} after {minutes} minutes");
            assert!(!due.ends);
        };
        check(Tier::Line, 9, 299, (None, false));
        check(Tier::Line, 10, 300, (Some(10), true));
        check(Tier::Line, 11, 400, (None, false));
        check(Tier::Line, 12, 0, (None, false));
        check(Tier::Line, 20, 301, (None, true));
        let after = |tier, minutes: u64, settings: &Settings| {
            let elapsed = Duration::from_secs(minutes * 60);
            due_warnings(settings, tier, elapsed, Duration::ZERO, &mut AttemptWarnings::default()).slow
        };
        assert_eq!([Tier::Sous, Tier::Executive].map(|tier| after(tier, 19, &settings)), [None, None]);
        assert_eq!(
            [Tier::Sous, Tier::Executive].map(|tier| after(tier, 20, &settings)),
            [Some(20), Some(20)]
        );
        let never = Settings {
            task_timeout_warning_junior: 0,
            output_stall_threshold: 0,
            stall: Stall::Kill,
            ..Settings::default()
        };
        let long = Duration::from_secs(1 << 30);
        assert_eq!(
            due_warnings(&never, Tier::Line, long, long, &mut AttemptWarnings::default()),
            DueWarnings::default()
        );
        let ends = Settings { stall: Stall::Kill, ..Settings::default() };
        assert!(due_warnings(&ends, Tier::Line, long, long, &mut AttemptWarnings::default()).ends);
    }
}
