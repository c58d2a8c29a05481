//! `decisions` and `answer`: lists pending decisions and records answers.

use brigade_core::{ErrorCode, ErrorKind, Hint, NextStep, Report, StepFormatter, words};
use brigade_fs::{FileKind, FsError, FsErrorKind, OrAbsent, RelPath};
use brigade_kitchen::life::{
    Answer, AnsweredBy, Decision, DecisionId, DecisionKind, DecisionState, Life, Record, TaskOutcome,
};
use brigade_kitchen::show::{DecisionRow, decision_row};
use brigade_kitchen::{PrdName, TaskId};
use brigade_macros::document;
use brigade_policy::Failure;
use brigade_process::random_bytes;

use crate::gather::{KITCHEN_TOML, PrdSearch, SHELL_CONFIGS};
use crate::journal::PrdJournal;
use crate::kitchen::Kitchen;
use crate::lock::ServiceLock;
use crate::paths::{KITCHEN, PrdFiles};

/// The maximum number of answered decisions that are listed.
const MAX_ANSWERED: usize = 100;

/// The report of `decisions`.
#[document("brigade.kitchen-decisions.v1")]
#[derive(PartialEq)]
pub struct DecisionsReport {
    /// The workspace root.
    pub target: String,
    /// The number of pending decisions.
    pub waiting: usize,
    /// Pending decisions, the oldest first; then answered ones, if requested.
    pub decisions: Vec<DecisionRow>,
}

/// The report of `answer`.
#[document("brigade.kitchen-answer.v1")]
#[derive(PartialEq)]
pub struct AnswerReport {
    /// The workspace root.
    pub target: String,
    /// The decision with its answer.
    pub decision: DecisionRow,
    /// How many decisions of the same PRD are still pending.
    pub waiting: usize,
    /// The next command to try.
    pub next_command: Hint,
}

impl AnswerReport {
    /// Writes the next command in the words of one interface.
    #[must_use]
    pub fn spelled(self, speller: &dyn StepFormatter) -> AnswerReport {
        AnswerReport { next_command: self.next_command.spelled(speller, None), ..self }
    }
}

/// Which decisions to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionFilter {
    /// Pending ones.
    Waiting,
    /// Pending and answered ones.
    All,
}

words! {
    /// What to do with a failed task.
    FailureChoice {
        /// Try it again, in its current tier.
        Retry = "retry",
        /// Skip it, and all tasks that depend on it.
        Skip = "skip",
    }
}

/// An answer of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRequest {
    /// The id of the decision, or a prefix of it.
    pub id: String,
    /// One of the choices, or a text.
    pub choice: String,
    /// The reason for the answer.
    pub reason: Option<String>,
    /// Guidance for the next attempt.
    pub guidance: Option<String>,
}

impl Kitchen<'_> {
    /// Lists the decisions of a PRD, or of all PRDs with a journal.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, or on a disk error.
    pub fn decisions(
        &self,
        prd: Option<&PrdSearch>,
        which: DecisionFilter,
    ) -> Result<DecisionsReport, Failure> {
        let names = match prd {
            None => self.prds_with_journal()?,
            Some(search) => {
                let lints = brigade_kitchen::prd::Lints::NONE;
                vec![self.prd(search, lints)?.name]
            }
        };
        let (mut waiting, mut answered) = (Vec::new(), Vec::new());
        for name in names {
            let recorded = PrdJournal::read(&*self.fs, &self.key, &PrdFiles::new(&name))?;
            for decided in &recorded.life.decisions {
                let list = if decided.answer.is_none() { &mut waiting } else { &mut answered };
                list.push(decision_row(&name, decided));
            }
        }
        waiting.sort_by_key(|row| row.created_at);
        let count = waiting.len();
        if which == DecisionFilter::All {
            answered.sort_by_key(|row| std::cmp::Reverse(row.created_at));
            answered.truncate(MAX_ANSWERED);
            waiting.extend(answered);
        }
        Ok(DecisionsReport {
            schema: DecisionsReport::SCHEMA,
            target: self.target(),
            waiting: count,
            decisions: waiting,
        })
    }

    /// Records a person's answer.
    ///
    /// # Errors
    /// Fails if no such decision is pending, the answer is invalid, or on a disk error.
    pub fn answer(&self, request: &AnswerRequest) -> Result<AnswerReport, Failure> {
        let (name, id) = self.waiting_decision(&request.id)?;
        let redactor = self.redactor(&self.configuration()?);
        let masked = |text: &Option<String>| text.as_ref().map(|text| redactor.redact_str(text));
        let answer = Answer {
            choice: redactor.redact_str(request.choice.trim()),
            by: AnsweredBy::Person,
            reason: masked(&request.reason),
            guidance: masked(&request.guidance),
            is_clear: true,
        };
        let mut journal = self.journal(PrdFiles::new(&name))?;
        let mut fault = None;
        let recorded = journal.append_with(|life, _| {
            let waiting = life.waiting().find(|decision| decision.id == id);
            match waiting.map(|decision| decision.accepts(&answer.choice)) {
                None => Vec::new(),
                Some(Err(found)) => {
                    fault = Some(found);
                    Vec::new()
                }
                Some(Ok(())) => life.answer_records(&id, answer.clone(), Vec::new()),
            }
        })?;
        if let Some(fault) = fault {
            return Err(Failure::new(ErrorKind::Usage, format!("this does not answer `{id}`: {fault}")));
        }
        let life = journal.life();
        let decided = life.decisions.iter().find(|decided| decided.decision.id == id);
        let Some(decided) = decided.filter(|_| !recorded.is_empty()) else {
            let message = format!("`{id}` was answered meanwhile");
            return Err(Failure::new(ErrorKind::Refused, message).coded(ErrorCode::ChangedMeanwhile));
        };
        self.update_derived_files(&name, &journal, &recorded);
        let waiting = life.waiting().count();
        let next = match (waiting, ServiceLock::holder(&*self.fs, &name)?) {
            (0, None) => NextStep::ResumePrd(name.to_string()),
            (0, Some(_)) => NextStep::KitchenStatus(name.to_string()),
            _ => NextStep::ListDecisions,
        };
        Ok(AnswerReport {
            schema: AnswerReport::SCHEMA,
            target: self.target(),
            decision: decision_row(&name, decided),
            waiting,
            next_command: next.into(),
        })
    }

    /// Answers failures of a PRD as a person. Pending decisions come first, the oldest first, then failures without a
    /// decision, such as after an abort. For a retry, skipped tasks come last. Answers the first failure, or all.
    /// Returns their number.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, no task failed or was skipped, or on a disk error.
    pub fn answer_failures(
        &self,
        search: &PrdSearch,
        choice: FailureChoice,
        all: bool,
    ) -> Result<usize, Failure> {
        let waiting = self.decisions(Some(search), DecisionFilter::Waiting)?.decisions;
        let failures = waiting.iter().filter(|row| row.kind == DecisionKind::Failure);
        let most = if all { usize::MAX } else { 1 };
        let mut answered = 0;
        for row in failures.take(most) {
            self.answer(&AnswerRequest {
                id: row.id.to_string(),
                choice: choice.as_str().to_owned(),
                reason: None,
                guidance: None,
            })?;
            answered += 1;
        }
        let found = self.prd(search, brigade_kitchen::prd::Lints::NONE)?;
        let ids: Vec<TaskId> = found.reading.prd.tasks.iter().map(|task| task.id.clone()).collect();
        let failed = [TaskOutcome::Failed, TaskOutcome::Blocked];
        answered += self.answer_unasked(&found.name, &ids, &failed, choice, most - answered)?;
        if choice == FailureChoice::Retry {
            let skipped = [TaskOutcome::Skipped];
            answered += self.answer_unasked(&found.name, &ids, &skipped, choice, most - answered)?;
        }
        if answered == 0 {
            let message = match choice {
                FailureChoice::Retry => "no task has failed or was skipped, so there is nothing to retry",
                FailureChoice::Skip => "no task has failed, so there is nothing to skip",
            };
            let failure = Failure::new(ErrorKind::Refused, message).coded(ErrorCode::DecisionMissing);
            return Err(failure.hint(NextStep::ListDecisions));
        }
        Ok(answered)
    }

    /// Retries a skipped task at a person's request.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub(crate) fn retry_skipped(&self, name: &PrdName, task: &TaskId) -> Result<(), Failure> {
        let (tasks, skipped) = (std::slice::from_ref(task), [TaskOutcome::Skipped]);
        self.answer_unasked(name, tasks, &skipped, FailureChoice::Retry, 1).map(|_| ())
    }

    /// Asks and answers decisions about tasks with these outcomes that have no pending decision.
    fn answer_unasked(
        &self,
        name: &PrdName,
        ids: &[TaskId],
        outcomes: &[TaskOutcome],
        choice: FailureChoice,
        most: usize,
    ) -> Result<usize, Failure> {
        let ended_so = |life: &Life, task: &TaskId| {
            life.outcome(task).is_some_and(|outcome| outcomes.contains(&outcome))
                && life.decision_of(task).is_none()
        };
        let recorded = PrdJournal::read(&*self.fs, &self.key, &PrdFiles::new(name))?.life;
        if most == 0 || !ids.iter().any(|task| ended_so(&recorded, task)) {
            return Ok(0);
        }
        let mut journal = self.journal(PrdFiles::new(name))?;
        let fresh = ids.iter().map(|_| random_bytes::<8>()).collect::<Result<Vec<_>, _>>();
        let fresh = fresh.map_err(|error| Failure::new(ErrorKind::Environment, error.to_string()))?;
        let recorded = journal.append_with(|life, now| {
            let ended = ids.iter().filter(|task| ended_so(life, task)).zip(&fresh).take(most);
            let both = ended.flat_map(|(task, random)| {
                let id = DecisionId::of_random(*random);
                let context = life.task(task).last_error.unwrap_or_else(|| "the task failed".to_owned());
                let (about, task) = (DecisionKind::Failure, Some(task.clone()));
                let decision = Decision { id: id.clone(), about, task, context, created_at: now };
                let answer = Answer {
                    choice: choice.as_str().to_owned(),
                    by: AnsweredBy::Person,
                    reason: None,
                    guidance: None,
                    is_clear: true,
                };
                [
                    Record::DecisionAsked { decision },
                    Record::DecisionAnswered { id, answer, used: Vec::new() },
                ]
            });
            both.collect()
        })?;
        self.update_derived_files(name, &journal, &recorded);
        Ok(recorded.len() / 2)
    }

    /// Returns whether the workspace has a kitchen: a configuration or a state.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn exists(&self) -> Result<bool, Failure> {
        for path in SHELL_CONFIGS.into_iter().chain([KITCHEN_TOML, KITCHEN]) {
            match self.fs.exists(&RelPath::composed(path)) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                // `brigade` may be a file.
                Err(error) if error.kind == FsErrorKind::NotADirectory => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// Lists the PRDs that have a journal, by name.
    pub(crate) fn prds_with_journal(&self) -> Result<Vec<PrdName>, FsError> {
        let Some(entries) = self.fs.list_dir(&RelPath::from_static(KITCHEN)).or_absent()? else {
            return Ok(Vec::new());
        };
        let folders = entries.into_iter().filter(|entry| entry.kind == FileKind::Directory);
        let mut names = Vec::new();
        for entry in folders {
            let Ok(name) = entry.name.parse::<PrdName>() else { continue };
            if self.fs.exists(&PrdFiles::new(&name).journal())? {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Finds the pending decision with an id or prefix.
    fn waiting_decision(&self, typed: &str) -> Result<(PrdName, DecisionId), Failure> {
        let typed = typed.trim();
        let (mut found, mut others) = (Vec::new(), Vec::new());
        let mut answered = None;
        for name in self.prds_with_journal()? {
            let life = PrdJournal::read(&*self.fs, &self.key, &PrdFiles::new(&name))?.life;
            for DecisionState { decision, answer, .. } in life.decisions {
                let is_meant = !typed.is_empty() && decision.id.as_str().starts_with(typed);
                match (is_meant, answer) {
                    (true, None) => found.push((name.clone(), decision.id)),
                    (true, Some(answer)) => answered = Some((decision.id, answer)),
                    (false, None) => others.push(decision.id.to_string()),
                    (false, Some(_)) => {}
                }
            }
        }
        if let Some(exact) = found.iter().position(|(_, id)| id.as_str() == typed) {
            return Ok(found.swap_remove(exact));
        }
        match (found.len(), answered) {
            (1, _) => Ok(found.swap_remove(0)),
            (0, Some((id, answer))) => {
                let message = format!("`{id}` was answered already: {}", answer.choice);
                Err(Failure::new(ErrorKind::Refused, message).coded(ErrorCode::WrongState))
            }
            (0, None) => {
                let message = format!("no decision `{}` waits", brigade_core::text::escape_terminal(typed));
                let failure = Failure::new(ErrorKind::NotFound, message).coded(ErrorCode::DecisionMissing);
                Err(if others.is_empty() { failure } else { failure.hint(NextStep::ListDecisions) })
            }
            _ => {
                let ids = found.into_iter().map(|(_, id)| id.to_string()).collect();
                Err(Failure::ambiguous("decision", typed, ids))
            }
        }
    }
}
