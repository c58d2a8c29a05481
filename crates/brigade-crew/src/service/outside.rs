//! What others see of a running service: who is slow or silent, notifications, and where the finished branch goes.

use std::thread;
use std::time::{Duration, Instant};

use brigade_core::Json;
use brigade_kitchen::service::{Outcome, ServiceReport};
use brigade_kitchen::show::{Event, EventLine, slow};
use brigade_kitchen::{TaskId, Tier};

use super::RunningRow;
use super::floor::{About, Floor, What, json};
use crate::check::{Check, check};
use crate::receipts::RunKind;
use crate::run::Watch;
use crate::workplace::PlaceError;

/// How many notifications may be on their way at once.
const MOST_NOTIFICATIONS: usize = 8;

impl Floor<'_> {
    /// Looks at what runs: who is slow, who is silent, what people see.
    pub(super) fn tick(&mut self) {
        let mut said: Vec<(Event, Option<String>)> = Vec::new();
        let mut rows = Vec::new();
        for (about, busy) in &mut self.busy {
            let (About::Task(at), What::Attempt) = (about, &busy.what) else { continue };
            let task = &self.menu.prd.tasks[*at].id;
            let elapsed = busy.watch.elapsed().as_secs();
            rows.push(RunningRow {
                task: self.menu.name.shown(task),
                tier: busy.tier,
                seconds: elapsed,
                last_line: busy.watch.last_line(),
            });
            if let Some(minutes) = self.settings.slow_after(busy.tier)
                && !busy.slow_said
                && minutes * 60 <= elapsed
            {
                busy.slow_said = true;
                let event = Event::TaskSlow { task: task.clone(), elapsed, expected: minutes * 60 };
                said.push((event, Some(slow(&self.menu.name, task, busy.tier, elapsed / 60, minutes))));
            }
            let (threshold, silent) = (self.settings.output_stall_threshold, busy.watch.silent().as_secs());
            if 0 < threshold && threshold <= silent {
                if !busy.stall_said {
                    busy.stall_said = true;
                    said.push((Event::OutputStall { task: task.clone(), silent }, None));
                }
                if self.settings.stall == brigade_kitchen::config::Stall::Kill {
                    busy.watch.end_as_stalled();
                }
            } else {
                busy.stall_said = false;
            }
        }
        rows.sort_by(|a, b| a.task.cmp(&b.task));
        self.follower.running(&rows);
        for (event, note) in said {
            self.event(event);
            if let Some(note) = note {
                self.projections.note(&note);
            }
        }
        if Duration::from_secs(self.settings.activity_log_interval) <= self.activity_at.elapsed() {
            self.activity_at = Instant::now();
            let now = self.journal.now();
            let running: Vec<(TaskId, Tier, u64)> = self
                .busy
                .iter()
                .filter_map(|(about, busy)| match (about, &busy.what) {
                    (About::Task(at), What::Attempt) => {
                        let task = self.menu.prd.tasks[*at].id.clone();
                        Some((task, busy.tier, busy.watch.elapsed().as_secs()))
                    }
                    _ => None,
                })
                .collect();
            self.projections.working(now, &running);
        }
    }

    /// Tells a person of an event, if that is asked for. Never waits for it, and never fails.
    pub(super) fn notify(&mut self, event: EventLine) {
        let json = json(&event);
        let word = json.get("event").and_then(Json::as_str).unwrap_or_default();
        if self.settings.notify_command.is_none() || !self.settings.notify_events.iter().any(|it| it == word)
        {
            return;
        }
        self.notifications.retain(|running| !running.is_finished());
        if MOST_NOTIFICATIONS <= self.notifications.len() {
            tracing::warn!(event = word, "too many notifications are on their way, so one is left out");
            return;
        }
        let input = self.host.redactor().redact_json(&json).to_compact() + "\n";
        let (host, menu, settings) = (self.host.clone(), self.menu.clone(), self.settings.clone());
        let approved = self.approved;
        self.notifications.push(thread::spawn(move || {
            let (Some(command), Ok(watch)) = (&settings.notify_command, Watch::new()) else { return };
            let closed = menu.closed();
            let told = check(&Check {
                host: &host,
                policy: &menu.policy,
                approved,
                kind: RunKind::Notification,
                prd: &menu.name,
                task: None,
                command,
                effects: settings.verification_effects.as_deref(),
                timeout: Duration::from_secs(settings.notify_timeout),
                directory: host.fs.root(),
                own: None,
                closed: &closed,
                input: input.into_bytes(),
                max_log_bytes: settings.max_log_bytes.0,
                watch: &watch,
            });
            if let Err(error) = told {
                tracing::warn!(%error, "nobody could be notified");
            }
        }));
    }

    /// Merges and pushes what is complete, where a person asked for it and the policy allows it.
    pub(super) fn deliver(&self, report: &mut ServiceReport) {
        if report.outcome != Outcome::Complete || !self.is_all_done() {
            return;
        }
        let mut refuse = |what: &str, error: &PlaceError| {
            report.reason = Some(self.host.redactor().redact_str(&format!("{what}: {error}")));
        };
        let into = Some(self.settings.default_branch.as_str()).filter(|branch| !branch.is_empty());
        let mut merged = false;
        if self.settings.merge && self.menu.grants.merge {
            match self.workplace.merge(into) {
                Ok(_) => merged = true,
                Err(error) => refuse("it was not merged", &error),
            }
        }
        let mut pushed = false;
        if self.settings.push && self.menu.grants.push {
            match self.workplace.push() {
                Ok(_) => pushed = true,
                Err(error) => refuse("it was not pushed", &error),
            }
        }
        (report.merged, report.pushed) = (merged, pushed);
    }
}
