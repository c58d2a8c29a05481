//! Decisions while a service runs: who answers, and what follows.
//!
//! A person at the terminal is asked first, then a supervisor through its command file. In walkaway mode, the executive
//! decides. An unanswered decision stays pending in the journal, where another command can answer it at any time.

use std::thread::Scope;
use std::time::{Duration, Instant};

use brigade_core::json::from_json;
use brigade_core::{Dialect, Json, Timestamp};
use brigade_fs::RelPath;
use brigade_kitchen::Tier;
use brigade_kitchen::life::{Answer, AnsweredBy, Decision, DecisionId, DecisionKind, walkaway_answer};
use brigade_kitchen::prd::Task;
use brigade_kitchen::service::Outcome;
use brigade_kitchen::show::Event;
use brigade_kitchen::show::pluralize;
use brigade_kitchen::signal::{FailureDecision, ScopeAnswer};
use brigade_process::CancelToken;
use serde::Deserialize;

use super::ServeError;
use super::job::ExecutiveRun;
use super::main_loop::{JobKind, JobSubject, Message, PRD_WAITS, ServiceLoop, Stop, StopRule};
use crate::projections::{configured_path, is_closed_to_agents};

/// The maximum size of a command file.
const MAX_COMMAND: u64 = 64 << 10;

/// Why a valid command is not taken.
const STAYS: &str = "the file cannot be moved away, so the command is not taken";

/// A supervisor's command.
#[derive(Debug, Deserialize)]
struct Command {
    decision: DecisionId,
    action: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    guidance: Option<String>,
}

impl<'e> ServiceLoop<'e> {
    fn waiting(&self) -> Vec<Decision> {
        let is_served = |decision: &&Decision| {
            let at = decision.task.as_ref().and_then(|task| self.served.prd.graph().position(task));
            decision.task.is_none() || at.is_some_and(|at| self.set.has(at))
        };
        self.journal.life().waiting().filter(is_served).cloned().collect()
    }

    fn command_file(&self) -> Option<RelPath> {
        let prefix = self.settings.supervisor_prd_scoped.then_some(&self.served.name);
        let path = configured_path(&*self.host.fs, &self.settings.supervisor_cmd_file, prefix)?;
        is_closed_to_agents(&*self.host.fs, &path, &self.settings).then_some(path)
    }

    /// Returns whether a supervisor may still answer a decision.
    fn waits_for_supervisor(&self, decision: &Decision) -> bool {
        let most = self.settings.supervisor_cmd_timeout;
        let since = self.asked_at.get(&decision.id).map_or(Duration::ZERO, Instant::elapsed);
        self.command_file().is_some() && (most == 0 || since < Duration::from_secs(most))
    }

    fn is_for_executive(&self, decision: &Decision) -> bool {
        self.settings.walkaway_mode
            && match decision.about {
                DecisionKind::Failure => true,
                DecisionKind::Scope => self.settings.walkaway_scope_decisions,
                DecisionKind::Manual | DecisionKind::Verdict | DecisionKind::Phase | DecisionKind::Gate => {
                    false
                }
            }
    }

    /// Returns whether to ask a person at the terminal. In walkaway mode, no person is there.
    fn needs_person(&self) -> bool {
        self.follower.can_ask() && !self.settings.walkaway_mode
    }

    /// Withdraws questions that were answered elsewhere, and all questions when the service ends.
    fn withdraw_questions(&self) {
        if self.asking.is_empty() {
            return;
        }
        let is_over = self.stop.is_some();
        let waiting: Vec<DecisionId> = self.waiting().into_iter().map(|decision| decision.id).collect();
        let answered = self.asking.iter().filter(|(id, _)| is_over || !waiting.contains(id));
        answered.for_each(|(_, withdrawn)| withdrawn.cancel());
    }

    /// Returns whether a pending decision will be answered without another command.
    pub(super) fn will_be_answered(&self) -> bool {
        self.waiting().iter().any(|decision| {
            let is_new = !self.deciding.contains(&decision.id);
            (is_new && (self.needs_person() || self.is_for_executive(decision)))
                || self.waits_for_supervisor(decision)
        })
    }

    /// Requests answers for pending decisions, and applies answers that affect the service.
    pub(super) fn answer_decisions<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'e>,
    ) -> Result<(), ServeError> {
        if self.progress().aborted && self.stop.is_none() {
            let abort = self.journal.life().decisions.iter().rfind(|decided| decided.is_abort());
            let by = abort.and_then(|decided| decided.answer.as_ref()).map(|answer| answer.by);
            let by = by.unwrap_or(AnsweredBy::Person).as_text();
            let (outcome, reason) = (Outcome::Aborted, format!("stopped by {by}"));
            self.stop = Some(Stop { outcome, reason, continues_checks: false, rule: StopRule::Always });
            self.jobs.values().for_each(|busy| busy.watch.interrupt());
        }
        self.apply_pause();
        self.withdraw_questions();
        if self.has_skipped_enough() {
            let skips = self.journal.life().skips_in_a_row;
            let were = if skips == 1 { "was" } else { "were" };
            let tasks = pluralize(skips, "task");
            self.pause(format!("{tasks} in a row {were} skipped without a person"), true);
        }
        if self.stop.is_some() {
            return Ok(());
        }
        self.read_command_file()?;
        for decision in self.waiting() {
            self.asked_at.entry(decision.id.clone()).or_insert_with(Instant::now);
            if self.deciding.contains(&decision.id) {
                continue;
            }
            let at = decision.task.as_ref().and_then(|task| self.served.prd.graph().position(task));
            if self.needs_person() {
                let withdrawn = CancelToken::new()?;
                self.deciding.insert(decision.id.clone());
                self.asking.insert(decision.id.clone(), withdrawn.clone());
                let (follower, sender, prd) = (self.follower, self.sender(), self.served.name.clone());
                scope.spawn(move || {
                    let answer = follower.ask(&prd, &decision, &withdrawn);
                    let _ = sender.send(Message::Answered { id: decision.id, answer });
                });
            } else if !self.waits_for_supervisor(&decision)
                && self.is_for_executive(&decision)
                && let Some(at) = at
                && !self.jobs.contains_key(&JobSubject::Task(at))
            {
                self.deciding.insert(decision.id.clone());
                self.let_executive_answer(scope, at, &decision)?;
            }
        }
        if self.waits_for_prd() && self.asking.is_empty() && !self.will_be_answered() {
            self.pause(PRD_WAITS, true);
        }
        self.review_phase(scope)
    }

    /// Returns whether a decision is pending that must be answered before anything else starts.
    pub(super) fn waits_for_prd(&self) -> bool {
        self.waiting().iter().any(|decision| decision.task.is_none())
    }

    /// Returns whether a decision about a phase review is pending.
    pub(super) fn waits_for_phase(&self) -> bool {
        self.journal.life().waiting().any(|decision| decision.about == DecisionKind::Phase)
    }

    fn let_executive_answer<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'e>,
        at: usize,
        decision: &Decision,
    ) -> Result<(), ServeError> {
        self.check_budgets()?;
        if self.stop.is_some() {
            return Ok(());
        }
        let task = self.served.prd.tasks[at].clone();
        let life = self.journal.life().task(&task.id);
        let dependents = self.served.prd.graph().dependents([at]).iter().filter(|depends| **depends).count();
        let (is_scope, question) = (decision.about == DecisionKind::Scope, decision.context.clone());
        self.spawn(scope, JobSubject::Task(at), Tier::Executive, JobKind::Decision, move |context, watch| {
            let event = if is_scope {
                context.scope(&task, &question, watch)
            } else {
                context.decide(&task, &life, dependents, watch)
            };
            (None, event)
        })
    }

    /// Handles the answer of a person at the terminal.
    pub(super) fn handle_person_answer(
        &mut self,
        id: &DecisionId,
        answer: Option<Answer>,
    ) -> Result<(), ServeError> {
        self.asking.remove(id);
        match answer {
            Some(answer) => self.answer(id, answer).map(drop),
            // The decision stays pending.
            None => Ok(()),
        }
    }

    /// Records a valid answer to a pending decision. Returns whether it was recorded.
    fn answer(&mut self, id: &DecisionId, answer: Answer) -> Result<bool, ServeError> {
        let redactor = self.host.redactor();
        let masked = |text: Option<String>| text.map(|text| redactor.redact_str(&text));
        let choice = redactor.redact_str(&answer.choice);
        let answer =
            Answer { choice, reason: masked(answer.reason), guidance: masked(answer.guidance), ..answer };
        let fits = self
            .journal
            .life()
            .waiting()
            .any(|decision| decision.id == *id && decision.accepts(&answer.choice).is_ok());
        if fits {
            let used = std::mem::take(&mut self.unrecorded_usage);
            let records = self.journal.life().answer_records(id, answer, used);
            self.record(records)?;
            self.apply_pause();
        }
        Ok(fits)
    }

    /// Pauses if a decision said so, here or through another command.
    fn apply_pause(&mut self) {
        if let Some(by) = self.journal.life().paused_by() {
            self.pause_prd(format!("paused by {}", by.as_text()));
        }
    }

    fn decision_about(&self, task: &Task) -> Option<DecisionId> {
        self.journal.life().decision_of(&task.id).map(|decision| decision.id.clone())
    }

    /// Returns whether the limit of tasks skipped in a row without a person is reached.
    fn has_skipped_enough(&self) -> bool {
        let skips = self.journal.life().skips_in_a_row;
        self.settings.walkaway_mode && self.settings.walkaway_max_skips <= skips
    }

    /// Handles the executive's decision about a failure.
    pub(super) fn handle_decision(
        &mut self,
        task: &Task,
        read: ExecutiveRun<FailureDecision>,
    ) -> Result<(), ServeError> {
        self.add_executive_usage(Some(&task.id), &read);
        if read.interrupted {
            return Ok(());
        }
        let Some(id) = self.decision_about(task) else { return Ok(()) };
        let own = self.journal.life().task(&task.id);
        let answer = walkaway_answer(read.verdict, &own, &self.settings);
        if answer.choice == "skip" && self.has_skipped_enough() {
            // Several decisions are made at once. A skip beyond the limit is left to a person.
            return Ok(());
        }
        self.answer(&id, answer).map(drop)
    }

    /// Handles the executive's answer about scope. Without a clear answer, a person must decide.
    pub(super) fn handle_scope_answer(
        &mut self,
        task: &Task,
        read: ExecutiveRun<ScopeAnswer>,
    ) -> Result<(), ServeError> {
        self.add_executive_usage(Some(&task.id), &read);
        let (Some(id), Some(scoped)) = (self.decision_about(task), read.verdict) else { return Ok(()) };
        let answer = Answer {
            choice: scoped.answer,
            by: AnsweredBy::Executive,
            reason: scoped.reason.filter(|reason| !reason.is_empty()),
            guidance: None,
            is_clear: true,
        };
        self.answer(&id, answer).map(drop)
    }

    /// Takes a supervisor's command once. An invalid command is set aside.
    fn read_command_file(&mut self) -> Result<(), ServeError> {
        let Some(path) = self.command_file() else { return Ok(()) };
        let interval = Duration::from_secs(self.settings.supervisor_cmd_poll_interval);
        if self.command_read_at.is_some_and(|looked| looked.elapsed() < interval) {
            return Ok(());
        }
        self.command_read_at = Some(Instant::now());
        if self.stuck_command.is_some() && self.stuck_command == self.command_state(&path) {
            return Ok(());
        }
        let bytes = match self.host.fs.read(&path, MAX_COMMAND) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return self.refuse_command(&path, &error.to_string()),
        };
        let command = Json::parse_bytes(&bytes, Dialect::Strict).ok();
        let Some(command) = command.and_then(|json| from_json::<Command>(&json).ok()) else {
            return self.refuse_command(&path, "it is not a command");
        };
        let answer = Answer {
            choice: command.action,
            by: AnsweredBy::Supervisor,
            reason: command.reason,
            guidance: command.guidance,
            is_clear: true,
        };
        // The file is moved before the answer is recorded. A crash in between loses the command, but does not repeat
        // it.
        let is_waiting = self
            .waiting()
            .iter()
            .any(|decision| decision.id == command.decision && decision.accepts(&answer.choice).is_ok());
        if !is_waiting {
            return self
                .refuse_command(&path, "no such decision waits, or the action is not one of its choices");
        }
        if self.set_command_aside(&path, "done") {
            self.answer(&command.decision, answer)?;
        } else {
            self.event(Event::CommandRefused { reason: STAYS.to_owned() });
        }
        Ok(())
    }

    /// Moves a command file away, so that it is taken once. If that fails, the command is not taken, and the file is
    /// ignored until it changes.
    fn set_command_aside(&mut self, path: &RelPath, word: &str) -> bool {
        let aside = path.parent().join(&format!("{}.{word}", path.name()));
        let aside = aside.expect("a file name with a suffix is a file name");
        let moved = self.host.fs.rename(path, &aside);
        self.stuck_command = if moved.is_err() { self.command_state(path) } else { None };
        let is_moved = moved.is_ok();
        self.projections.written(&aside, moved);
        is_moved
    }

    /// Returns the length and time of a command file, to notice a new one.
    fn command_state(&self, path: &RelPath) -> Option<(u64, Timestamp)> {
        let found = self.host.fs.metadata(path).ok()?;
        Some((found.len, found.modified))
    }

    fn refuse_command(&mut self, path: &RelPath, reason: &str) -> Result<(), ServeError> {
        self.set_command_aside(path, "refused");
        self.event(Event::CommandRefused { reason: reason.to_owned() });
        Ok(())
    }
}
