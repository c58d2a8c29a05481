//! What waits for a person, and answers to it. Each answer does what the command of its owner does.

use std::sync::Arc;

use brigade_call::Step;
use brigade_core::{ErrorCode, Hint, IdPrefix, NextStep};
use brigade_kitchen::show::DecisionRow;
use brigade_kitchen_run::{AnswerRequest, DecisionFilter};
use brigade_ops::{
    AnswerOutcome, CheckpointStep, Daily, Error, ErrorKind, WaitingKind, WaitingRow, WaitingSource,
    WorkAnswerReport,
};
use brigade_policy::Failure;

use crate::kitchens::Kitchen;
use crate::workspace_inner::WorkspaceInner;

/// Why a call is rejected when a person gives no reason.
const DECLINED: &str = "declined";

/// Operations on what waits for a person.
#[derive(Clone)]
pub struct Work {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl WaitingSource for Work {
    fn others(&self) -> Result<(Vec<DecisionRow>, Vec<WaitingRow>), Error> {
        Ok((self.kitchen().decisions(None, DecisionFilter::Waiting)?.decisions, self.questions()?))
    }

    fn question_text(&self, id: &str) -> Result<Option<String>, Error> {
        self.whole_question(id)
    }
}

/// An answer of a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkAnswer {
    /// Choices; with several questions as `ID=VALUE`.
    pub choices: Vec<String>,
    /// A text: the answer, or the reason of a rejection.
    pub text: Option<String>,
    /// Whether the person does not answer, or rejects.
    pub is_declined: bool,
}

impl Work {
    fn kitchen(&self) -> Kitchen {
        Kitchen { inner: self.inner.clone() }
    }

    /// Lists what waits, the oldest first: approvals, checkpoints, decisions of the kitchen, questions of agents.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn waiting(&self) -> Result<Vec<WaitingRow>, Error> {
        let (decisions, questions) = self.others()?;
        Ok(brigade_ops::waiting(&self.inner, &decisions, questions)?)
    }

    /// Answers what an id or its only prefix means. Does not inside of a run.
    ///
    /// # Errors
    /// Fails if nothing with this id waits, if the answer does not fit, and as the command of the owner does.
    pub fn answer(&self, id: &IdPrefix, answer: &WorkAnswer) -> Result<WorkAnswerReport, Error> {
        self.inner.require_outside_run()?;
        let row = self.find(id)?;
        let (outcome, next) = match row.kind {
            WaitingKind::Approval | WaitingKind::Plan => self.review(&row, answer)?,
            WaitingKind::Checkpoint => self.checkpoint(&row, answer)?,
            WaitingKind::Decision => self.decision(&row, answer)?,
            WaitingKind::Question => self.question(&row, answer)?,
        };
        let next = self.inner.spelled(next);
        Ok(WorkAnswerReport::new(self.inner.target(), &row, outcome, next))
    }

    /// Answers what a review showed. The answer counts only for this fingerprint of the review.
    ///
    /// # Errors
    /// As [`Work::answer`], and if what is asked changed since it was shown.
    pub fn answer_reviewed(
        &self,
        id: &str,
        fingerprint: &str,
        answer: &WorkAnswer,
    ) -> Result<WorkAnswerReport, Error> {
        let daily = Daily::new(self.inner.context.clone(), self.inner.calls(), Arc::new(self.clone()));
        daily.review_question(id)?.check(fingerprint)?;
        self.answer(&IdPrefix::new(id), answer)
    }

    fn find(&self, id: &IdPrefix) -> Result<WaitingRow, Error> {
        let typed = id.as_str();
        let mut found = self.waiting()?;
        found.retain(|row| !typed.is_empty() && row.id.starts_with(typed));
        if let Some(exact) = found.iter().position(|row| row.id == typed) {
            return Ok(found.swap_remove(exact));
        }
        match found.len() {
            1 => Ok(found.swap_remove(0)),
            0 => {
                self.gone(typed)?;
                let shown = brigade_core::text::escape_terminal(typed);
                let error = Error::new(ErrorKind::NotFound, format!("nothing with the id `{shown}` waits"));
                Err(error.coded(ErrorCode::WaitingMissing).hint(NextStep::ShowBrief))
            }
            _ => {
                let ids = found.into_iter().map(|row| row.id).collect();
                Err(Failure::ambiguous("answer", typed, ids).into())
            }
        }
    }

    fn review(&self, row: &WaitingRow, answer: &WorkAnswer) -> Result<(AnswerOutcome, Hint), Error> {
        let calls = self.inner.calls();
        let named = IdPrefix::new(&row.id);
        if matches!(read_decision(answer, row)?.as_str(), "approve") {
            let id = calls.find(&named, Step::Approve)?;
            calls.approve(&id)?;
            return Ok((AnswerOutcome::Approved, NextStep::ShowCall(id).into()));
        }
        let id = calls.find(&named, Step::Reject)?;
        calls.reject(&id, answer.text.as_deref().unwrap_or(DECLINED))?;
        Ok((AnswerOutcome::Rejected, NextStep::ShowCall(id).into()))
    }

    fn checkpoint(&self, row: &WaitingRow, answer: &WorkAnswer) -> Result<(AnswerOutcome, Hint), Error> {
        let checkpoints = self.inner.checkpoints();
        let id = checkpoints.find(&IdPrefix::new(&row.id), CheckpointStep::Answer)?;
        if answer.is_declined {
            checkpoints.reject(&id, answer.text.as_deref().unwrap_or(DECLINED))?;
            return Ok((AnswerOutcome::Rejected, NextStep::ShowBrief.into()));
        }
        checkpoints.approve(&id, &single_answer(answer, row)?)?;
        Ok((AnswerOutcome::Answered, NextStep::Resume(id).into()))
    }

    fn decision(&self, row: &WaitingRow, answer: &WorkAnswer) -> Result<(AnswerOutcome, Hint), Error> {
        if answer.is_declined {
            return Err(misfit(row, "a decision of the kitchen cannot be declined"));
        }
        let request = AnswerRequest {
            id: row.id.clone(),
            choice: single_answer(answer, row)?,
            reason: answer.text.clone().filter(|_| !answer.choices.is_empty()),
            guidance: None,
        };
        let report = self.kitchen().answer(&request)?;
        Ok((AnswerOutcome::Answered, report.next_command))
    }
}

/// Reads what a person says to a call.
fn read_decision(answer: &WorkAnswer, row: &WaitingRow) -> Result<String, Error> {
    if answer.is_declined {
        return Ok("reject".to_owned());
    }
    match answer.choices.as_slice() {
        [choice] if row.choices.contains(choice) => Ok(choice.clone()),
        _ => Err(misfit(row, "a call is approved or rejected")),
    }
}

/// Returns the only choice, or the text.
fn single_answer(answer: &WorkAnswer, row: &WaitingRow) -> Result<String, Error> {
    match (answer.choices.as_slice(), &answer.text) {
        ([choice], _) => Ok(choice.clone()),
        ([], Some(text)) => Ok(text.clone()),
        _ => Err(misfit(row, "this needs one answer")),
    }
}

fn misfit(row: &WaitingRow, message: &str) -> Error {
    let error = Error::new(ErrorKind::Usage, message.to_owned());
    match row.choices.is_empty() {
        true => error.hint(NextStep::AnswerByText(row.id.clone())),
        false => {
            let words = format!("answer with one of: {}", row.choices.join(", "));
            error.hint(Hint::to(&words, NextStep::AnswerByChoice(row.id.clone())))
        }
    }
}

#[cfg(not(feature = "builtin"))]
impl Work {
    pub(crate) fn questions(&self) -> Result<Vec<WaitingRow>, Error> {
        Ok(Vec::new())
    }

    fn whole_question(&self, _: &str) -> Result<Option<String>, Error> {
        Ok(None)
    }

    fn gone(&self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn question(&self, row: &WaitingRow, _: &WorkAnswer) -> Result<(AnswerOutcome, Hint), Error> {
        Err(misfit(row, "this cannot be answered here"))
    }
}

#[cfg(feature = "builtin")]
mod questions {
    //! Questions of agents, which are in the store.

    use brigade_core::{ErrorCode, Hint, NextStep};
    use brigade_db::StoreError;
    use brigade_db::questions::{Answer, AnswerInput, Decision, Question, QuestionStatus};
    use brigade_ops::{AnswerOutcome, WaitingRow};
    use brigade_redact::Redactor;
    use brigade_workspace::gather;

    use super::{Work, WorkAnswer};
    use brigade_ops::{Error, ErrorKind};

    impl Work {
        pub(crate) fn questions(&self) -> Result<Vec<WaitingRow>, Error> {
            match self.inner.stores.reading(&*self.inner.fs)? {
                Some(store) => Ok(store.waiting_questions()?.iter().map(row).collect()),
                None => Ok(Vec::new()),
            }
        }

        pub(super) fn whole_question(&self, id: &str) -> Result<Option<String>, Error> {
            let Some(store) = self.inner.stores.reading(&*self.inner.fs)? else { return Ok(None) };
            let waiting = store.waiting_questions()?;
            Ok(waiting.iter().find(|question| question.id == id).map(|question| text_and_choices(question).0))
        }

        /// Says why a question no longer waits.
        pub(super) fn gone(&self, id: &str) -> Result<(), Error> {
            let Some(store) = self.inner.stores.reading(&*self.inner.fs)? else { return Ok(()) };
            let message = match store.question(id).map(|question| question.status) {
                Ok(QuestionStatus::Gone) => format!("the agent that asked `{id}` no longer waits"),
                Ok(QuestionStatus::Answered | QuestionStatus::Delivered) => {
                    format!("`{id}` was answered already")
                }
                Ok(QuestionStatus::Waiting) | Err(StoreError::Refused(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let error = Error::new(ErrorKind::Refused, message).coded(ErrorCode::WrongState);
            Err(error.hint(NextStep::ShowBrief))
        }

        pub(super) fn question(
            &self,
            row: &WaitingRow,
            answer: &WorkAnswer,
        ) -> Result<(AnswerOutcome, Hint), Error> {
            let store = self.inner.stores.writing(&*self.inner.fs)?;
            let given = AnswerInput { choices: answer.choices.clone(), text: answer.text.clone() };
            let question = store.question(&row.id)?;
            let (outcome, given) = match answer.is_declined {
                true => (
                    AnswerOutcome::Declined,
                    Ok(Answer { text: given.text, ..Answer::declined(Decision::Decline) }),
                ),
                false => (AnswerOutcome::Answered, question.asked.answer(&given)),
            };
            let given = given.map_err(|error| Error::new(ErrorKind::Usage, error.to_string()))?;
            let redactor = Redactor::new(&gather::secrets(&self.inner));
            store.answer_question(&row.id, &given, "person", &redactor, self.inner.now())?;
            Ok((outcome, NextStep::ShowBrief.into()))
        }
    }

    /// Writes a question as a row.
    fn row(question: &Question) -> WaitingRow {
        let (text, choices) = text_and_choices(question);
        let agent_and_session = (question.agent.as_str(), question.session.as_str());
        WaitingRow::question(question.id.clone(), agent_and_session, &text, choices, question.created_at)
    }

    /// Returns the text and the choices. Several questions are shown by their ids.
    fn text_and_choices(question: &Question) -> (String, Vec<String>) {
        let asked = &question.asked;
        let heads = [&asked.title, &asked.body].into_iter().flatten().cloned();
        let (texts, choices): (Vec<String>, Vec<String>) = match asked.questions.as_slice() {
            [one] => {
                let labels = one.options.iter().map(|option| option.value().to_owned());
                (vec![one.question.clone()], labels.collect())
            }
            several => {
                let texts = several.iter().map(|one| format!("{}: {}", one.id, one.question));
                let labels = several.iter().flat_map(|one| {
                    one.options.iter().map(move |option| format!("{}={}", one.id, option.value()))
                });
                (texts.collect(), labels.collect())
            }
        };
        let text: Vec<String> = heads.chain(texts).collect();
        (text.join(" — "), choices)
    }
}
