//! Questions of agents to a person.

mod signed;

use std::collections::BTreeMap;

use brigade_core::{ErrorCode, Timestamp, words};
use brigade_fs::WorkspaceKey;
use brigade_redact::Redactor;
use rusqlite::{Row, Transaction, params};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::store::{Store, find, list, new_id, stored, time};

use signed::{sign, signed};

words! {
    /// The status of a question.
    QuestionStatus {
        /// It is not answered.
        Waiting = "waiting",
        /// A person answered, but the agent has not read the answer.
        Answered = "answered",
        /// The agent has read the answer.
        Delivered = "delivered",
        /// The agent no longer waits for an answer.
        Gone = "gone",
    }
}

words! {
    /// The decision of a person.
    Decision {
        /// They answered.
        Accept = "accept",
        /// They declined to answer.
        Decline = "decline",
        /// They closed the question.
        Cancel = "cancel",
    }
}

/// The maximum number of questions in one request.
pub const MAX_QUESTIONS: usize = 10;
/// The maximum number of options of a question.
pub const MAX_OPTIONS: usize = 20;
/// The maximum length of a question or an answer, in characters.
pub const MAX_TEXT: usize = 4_000;
/// How long a question is kept after it was delivered or withdrawn, in days.
const RETENTION_DAYS: i64 = 30;

/// One option of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedOption {
    /// The text that the person sees.
    pub label: String,
    /// The value that the agent gets. Without it, the agent gets the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// An explanation of the option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the agent recommends it.
    #[serde(default)]
    pub recommended: bool,
}

impl AskedOption {
    /// Returns the value that the agent gets.
    pub fn value(&self) -> &str {
        self.value.as_deref().unwrap_or(&self.label)
    }
}

/// One question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskedQuestion {
    /// Its id within the request.
    pub id: String,
    /// A short heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The text.
    pub question: String,
    /// The options.
    #[serde(default)]
    pub options: Vec<AskedOption>,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub multi_select: bool,
    /// Whether free text is also an answer. Without options it always is.
    #[serde(default)]
    pub allows_freeform: bool,
    /// What the agent assumes if there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_assumption: Option<String>,
    /// What the answer affects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<String>,
}

/// The questions of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionForm {
    /// A title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// An introduction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The questions, at least one.
    pub questions: Vec<AskedQuestion>,
}

/// The answer of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What the person decided.
    #[serde(with = "decision")]
    pub decision: Decision,
    /// The answers by question id.
    #[serde(default)]
    pub answers: BTreeMap<String, Vec<String>>,
    /// Free text of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Serializes a decision as a word.
mod decision {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Decision;

    pub(super) fn serialize<S: Serializer>(decision: &Decision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(decision.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decision, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A question with its answer, if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// Its id.
    pub id: String,
    /// The agent that asks.
    pub agent: String,
    /// The session that asks.
    pub session: String,
    /// What is asked.
    pub asked: QuestionForm,
    /// The status.
    pub status: QuestionStatus,
    /// The answer.
    pub answer: Option<Answer>,
    /// Who answered: `person`, or `elicitation` for the dialogue of the agent's client.
    pub answered_by: Option<String>,
    /// When it was asked.
    pub created_at: Timestamp,
}

/// The input of a person who answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerInput {
    /// Chosen options by label or value. With several questions, `ID=VALUE`.
    pub choices: Vec<String>,
    /// Free text.
    pub text: Option<String>,
}

impl QuestionForm {
    /// Checks that the questions can be shown and answered.
    ///
    /// # Errors
    /// Returns `invalid_arguments` or `too_long`.
    pub fn check(&self) -> Result<(), StoreError> {
        let invalid = |message: String| Err(StoreError::refused(ErrorCode::InvalidArguments, message));
        if self.questions.is_empty() || MAX_QUESTIONS < self.questions.len() {
            return invalid(format!("a request has 1 to {MAX_QUESTIONS} questions"));
        }
        for (index, question) in self.questions.iter().enumerate() {
            if question.question.trim().is_empty() {
                return invalid("a question has no text".to_owned());
            }
            if self.questions[..index].iter().any(|other| other.id == question.id) {
                return invalid("two questions have the same id".to_owned());
            }
            if MAX_OPTIONS < question.options.len() {
                return invalid(format!("a question has at most {MAX_OPTIONS} options"));
            }
            let is_twice = |(index, option): (usize, &AskedOption)| {
                question.options[..index].iter().any(|other| other.value() == option.value())
            };
            if question.options.iter().enumerate().any(is_twice) {
                return invalid("two options of a question have the same value".to_owned());
            }
        }
        let texts = self.questions.iter().flat_map(|question| {
            let options = question
                .options
                .iter()
                .flat_map(|option| [Some(&option.label), option.value.as_ref(), option.description.as_ref()]);
            [Some(&question.id), question.header.as_ref(), Some(&question.question)]
                .into_iter()
                .chain(options)
        });
        let longest = texts.chain([self.title.as_ref(), self.body.as_ref()]).flatten();
        if longest.into_iter().any(|text| MAX_TEXT < text.chars().count()) {
            return Err(StoreError::refused(
                ErrorCode::TooLong,
                format!("a text has at most {MAX_TEXT} characters"),
            ));
        }
        Ok(())
    }

    /// Masks secrets in all texts.
    #[must_use]
    pub fn masked(&self, redactor: &Redactor) -> QuestionForm {
        let mask = |text: &String| redactor.redact_str(text);
        let mask_some = |text: &Option<String>| text.as_ref().map(mask);
        let questions = self.questions.iter().map(|question| AskedQuestion {
            id: question.id.clone(),
            header: mask_some(&question.header),
            question: mask(&question.question),
            options: question
                .options
                .iter()
                .map(|option| AskedOption {
                    label: mask(&option.label),
                    value: mask_some(&option.value),
                    description: mask_some(&option.description),
                    recommended: option.recommended,
                })
                .collect(),
            multi_select: question.multi_select,
            allows_freeform: question.allows_freeform,
            default_assumption: mask_some(&question.default_assumption),
            impact: mask_some(&question.impact),
        });
        QuestionForm {
            title: mask_some(&self.title),
            body: mask_some(&self.body),
            questions: questions.collect(),
        }
    }

    /// Parses the answer of a person.
    ///
    /// # Errors
    /// Returns `invalid_answer` if a question is not answered; the message names it.
    pub fn answer(&self, given: &AnswerInput) -> Result<Answer, StoreError> {
        let invalid = |message: String| StoreError::refused(ErrorCode::InvalidAnswer, message);
        let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let is_one = self.questions.len() == 1;
        for choice in &given.choices {
            let named = self.questions.iter().find_map(|question| {
                let rest = choice.strip_prefix(question.id.as_str())?.strip_prefix('=')?;
                Some((question, rest))
            });
            let (question, value) = match (named, is_one) {
                (Some(named), _) => named,
                (None, true) => (&self.questions[0], choice.as_str()),
                (None, false) => {
                    let ids: Vec<&str> = self.questions.iter().map(|question| question.id.as_str()).collect();
                    let message = format!(
                        "with several questions, write each choice as ID=VALUE; the ids are {}",
                        ids.join(", ")
                    );
                    return Err(invalid(message));
                }
            };
            let value = question.value_of(value).ok_or_else(|| {
                let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
                invalid(format!("not an option of the question; the options are: {}", labels.join(", ")))
            })?;
            let chosen = answers.entry(question.id.clone()).or_default();
            if !chosen.contains(&value) {
                chosen.push(value);
            }
        }
        let text = given.text.as_ref().map(|text| text.trim()).filter(|text| !text.is_empty());
        if text.is_some_and(|text| MAX_TEXT < text.chars().count()) {
            return Err(invalid(format!("a text has at most {MAX_TEXT} characters")));
        }
        // No question accepts free text.
        if text.is_some() && !self.questions.iter().any(AskedQuestion::takes_text) {
            let message = "the question does not accept free text; choose one of the options";
            return Err(invalid(message.to_owned()));
        }
        for question in &self.questions {
            let chosen = answers.get(&question.id).map_or(0, Vec::len);
            if 1 < chosen && !question.multi_select {
                return Err(invalid("only one option of the question may be chosen".to_owned()));
            }
            if chosen == 0 {
                match text.filter(|_| question.takes_text()) {
                    Some(text) => {
                        answers.insert(question.id.clone(), vec![text.to_owned()]);
                    }
                    None if question.options.is_empty() => {
                        return Err(invalid("the question needs a text".to_owned()));
                    }
                    None => return Err(invalid(format!("the question `{}` needs a choice", question.id))),
                }
            }
        }
        Ok(Answer { decision: Decision::Accept, answers, text: text.map(str::to_owned) })
    }
}

impl AskedQuestion {
    /// Returns whether free text is an answer.
    pub fn takes_text(&self) -> bool {
        self.allows_freeform || self.options.is_empty()
    }

    /// Returns the value of an option by its value or label. Returns other text only where free text is accepted.
    fn value_of(&self, typed: &str) -> Option<String> {
        let typed = typed.trim();
        let by = |is: fn(&AskedOption, &str) -> bool| self.options.iter().find(|option| is(option, typed));
        let option = by(|option, typed| option.value() == typed)
            .or_else(|| by(|option, typed| option.label == typed))
            .or_else(|| by(|option, typed| option.label.eq_ignore_ascii_case(typed)));
        match option {
            Some(option) => Some(option.value().to_owned()),
            None => (self.takes_text() && !typed.is_empty()).then(|| typed.to_owned()),
        }
    }
}

impl Answer {
    /// Returns an answer that declines or cancels.
    pub fn declined(decision: Decision) -> Answer {
        Answer { decision, answers: BTreeMap::new(), text: None }
    }

    fn masked(&self, redactor: &Redactor) -> Answer {
        let mask = |text: &String| redactor.redact_str(text);
        Answer {
            decision: self.decision,
            answers: self
                .answers
                .iter()
                .map(|(id, values)| (id.clone(), values.iter().map(mask).collect()))
                .collect(),
            text: self.text.as_ref().map(mask),
        }
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Question> {
    let status: String = row.get("status")?;
    let answer: Option<String> = row.get("answer")?;
    Ok(Question {
        id: row.get("id")?,
        agent: row.get("agent")?,
        session: row.get("session")?,
        asked: stored(row, "asked")?,
        status: QuestionStatus::from_word(&status).unwrap_or(QuestionStatus::Gone),
        answer: answer.map(|_| stored(row, "answer")).transpose()?,
        answered_by: row.get("answered_by")?,
        created_at: time(row, "created_at")?,
    })
}

fn by_id(transaction: &Transaction<'_>, id: &str) -> Result<Question, StoreError> {
    find(transaction, "question", "SELECT * FROM question WHERE id = ?1", [id], read)
}

fn written(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Database(error.to_string()))
}

/// Stores a question and returns its id.
pub(crate) fn insert(
    transaction: &Transaction<'_>,
    agent: &str,
    session: &str,
    form: &QuestionForm,
    now: Timestamp,
) -> Result<String, StoreError> {
    let id = new_id(transaction, "ask")?;
    transaction.execute(
        "INSERT INTO question (id, agent, session, asked, status, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![id, agent, session, written(form)?, QuestionStatus::Waiting.as_str(), now.unix_micros()],
    )?;
    Ok(id)
}

/// Returns a question if it is not answered.
pub(crate) fn waiting(
    transaction: &Transaction<'_>,
    key: &WorkspaceKey,
    id: &str,
) -> Result<Option<Question>, StoreError> {
    let question = signed(transaction, key, by_id(transaction, id)?)?;
    Ok(Some(question).filter(|question| question.status == QuestionStatus::Waiting))
}

/// Records the answer of a person, and signs it. Masks secrets.
pub(crate) fn answer(
    transaction: &Transaction<'_>,
    key: &WorkspaceKey,
    question: &Question,
    answer: &Answer,
    by: &str,
    redactor: &Redactor,
    now: Timestamp,
) -> Result<(), StoreError> {
    match question.status {
        QuestionStatus::Waiting => {}
        QuestionStatus::Answered | QuestionStatus::Delivered => {
            return Err(StoreError::refused(ErrorCode::AlreadyAnswered, "the question is already answered"));
        }
        QuestionStatus::Gone => {
            return Err(StoreError::refused(ErrorCode::Gone, "the agent no longer waits for an answer"));
        }
    }
    let text = written(&answer.masked(redactor))?;
    transaction.execute(
        "UPDATE question SET status = ?2, answer = ?3, answered_by = ?4, answered_at = ?5 WHERE id = ?1",
        params![question.id, QuestionStatus::Answered.as_str(), text, by, now.unix_micros()],
    )?;
    sign(transaction, key, &question.id)
}

/// Withdraws a question, because the agent no longer waits for an answer.
pub(crate) fn withdraw(transaction: &Transaction<'_>, id: &str) -> Result<(), StoreError> {
    transaction.execute(
        "UPDATE question SET status = CASE status WHEN 'waiting' THEN 'gone' ELSE 'delivered' END \
         WHERE id = ?1 AND status IN ('waiting', 'answered')",
        [id],
    )?;
    Ok(())
}

/// Returns when an agent asked its questions since a moment, newest first.
fn asked_since(transaction: &Transaction<'_>, agent: &str, since: i64) -> Result<Vec<Timestamp>, StoreError> {
    let sql =
        "SELECT created_at FROM question WHERE agent = ?1 AND created_at >= ?2 ORDER BY created_at DESC";
    list(transaction, sql, params![agent, since], |row| time(row, "created_at"))
}

/// The agent that asks.
pub struct Asker<'a> {
    /// Its name.
    pub agent: &'a str,
    /// Its session; empty without one.
    pub session: &'a str,
    /// Returns whether a question of another session counts as the asker's question.
    pub is_same: &'a dyn Fn(&str) -> bool,
    /// The maximum number of questions per minute.
    pub a_minute: Option<u64>,
}

impl Store {
    /// Asks a person. If the asker already has the same question, and it is waiting or its answer is unread, returns
    /// that question. Masks secrets first.
    ///
    /// # Errors
    /// Returns what [`QuestionForm::check`] returns, and `rate_limited`. Also fails on a disk error.
    pub fn ask(
        &self,
        asker: &Asker<'_>,
        form: &QuestionForm,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<Question, StoreError> {
        let Asker { agent, session, .. } = *asker;
        form.check()?;
        let masked = form.masked(redactor);
        let text = written(&masked)?;
        let oldest = now.unix_micros() - RETENTION_DAYS * 86_400_000_000;
        self.change(|transaction| {
            transaction.execute(
                "DELETE FROM question WHERE status IN ('delivered', 'gone') AND created_at < ?1",
                [oldest],
            )?;
            let sql =
                "SELECT * FROM question WHERE agent = ?1 AND asked = ?2 AND status IN ('waiting', 'answered')";
            for same in list(transaction, sql, params![agent, text], read)? {
                let same = signed(transaction, &self.key, same)?;
                if (asker.is_same)(&same.session) {
                    return Ok(same);
                }
            }
            if let Some(most) = asker.a_minute
                && most <= asked_since(transaction, agent, now.unix_micros() - 60_000_000)?.len() as u64
            {
                let message = format!("{most} questions a minute are allowed");
                return Err(StoreError::refused(ErrorCode::RateLimited, message));
            }
            let id = insert(transaction, agent, session, &masked, now)?;
            by_id(transaction, &id)
        })
    }

    /// Records the answer of a person. Masks secrets.
    ///
    /// # Errors
    /// Returns `not_found`, or `already_answered` or `gone` if it no longer waits. Also fails on a disk error.
    pub fn answer_question(
        &self,
        id: &str,
        answer: &Answer,
        by: &str,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<Question, StoreError> {
        self.change(|transaction| {
            let question = signed(transaction, &self.key, by_id(transaction, id)?)?;
            self::answer(transaction, &self.key, &question, answer, by, redactor, now)?;
            by_id(transaction, id)
        })
    }

    /// Returns a question. If it is answered, it is then marked as delivered.
    ///
    /// # Errors
    /// Returns `not_found` for a question of another agent. Also fails on a disk error.
    pub fn take_answer(&self, agent: &str, id: &str) -> Result<Question, StoreError> {
        let found = self.question(id)?;
        if found.agent != agent {
            return Err(StoreError::missing("question"));
        }
        if found.status != QuestionStatus::Answered {
            return Ok(found);
        }
        self.change(|transaction| {
            let delivered = QuestionStatus::Delivered.as_str();
            transaction.execute("UPDATE question SET status = ?2 WHERE id = ?1", params![id, delivered])?;
            by_id(transaction, id)
        })
    }

    /// Withdraws a question that is not answered, because the agent no longer waits.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn withdraw_question(&self, id: &str) -> Result<(), StoreError> {
        self.change(|transaction| {
            transaction.execute(
                "UPDATE question SET status = ?2 WHERE id = ?1 AND status = ?3",
                params![id, QuestionStatus::Gone.as_str(), QuestionStatus::Waiting.as_str()],
            )?;
            Ok(())
        })
    }

    /// Returns when an agent asked its questions since a moment, newest first.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn questions_since(&self, agent: &str, since: Timestamp) -> Result<Vec<Timestamp>, StoreError> {
        self.look(|transaction| asked_since(transaction, agent, since.unix_micros()))
    }

    /// Lists the waiting questions, oldest first.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn waiting_questions(&self) -> Result<Vec<Question>, StoreError> {
        self.look(|transaction| {
            let sql =
                "SELECT * FROM question WHERE status IN ('waiting', 'answered') ORDER BY created_at, id";
            let questions = list(transaction, sql, [], read)?;
            let questions = questions.into_iter().map(|question| signed(transaction, &self.key, question));
            let is_waiting = |question: &Question| question.status == QuestionStatus::Waiting;
            questions.filter(|question| question.as_ref().map_or(true, is_waiting)).collect()
        })
    }

    /// Returns a question of any agent by its id. An answer that this host has not signed does not count.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn question(&self, id: &str) -> Result<Question, StoreError> {
        self.look(|transaction| signed(transaction, &self.key, by_id(transaction, id)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_questions() -> QuestionForm {
        let option = |label: &str, value: Option<&str>| AskedOption {
            label: label.to_owned(),
            value: value.map(str::to_owned),
            ..AskedOption::default()
        };
        let question = |id: &str, options: Vec<AskedOption>| AskedQuestion {
            id: id.to_owned(),
            question: "What?".to_owned(),
            options,
            ..AskedQuestion::default()
        };
        let colours = vec![option("Red", None), option("Dark green", Some("green"))];
        QuestionForm {
            questions: vec![question("colour", colours), question("name", Vec::new())],
            ..QuestionForm::default()
        }
    }

    #[track_caller]
    fn check(form: &QuestionForm, choices: &[&str], text: Option<&str>, expect: Option<&[(&str, &[&str])]>) {
        let given = AnswerInput {
            choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
            text: text.map(str::to_owned),
        };
        let expect = expect.map(|answers| {
            let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
            answers.iter().map(|(id, values)| ((*id).to_owned(), owned(values))).collect::<BTreeMap<_, _>>()
        });
        assert_eq!(form.answer(&given).ok().map(|answer| answer.answers), expect);
    }

    #[test]
    fn every_question_needs_an_answer_that_fits() {
        let both = two_questions();
        check(&both, &["colour=green"], Some("Ada"), Some(&[("colour", &["green"]), ("name", &["Ada"])]));
        check(
            &both,
            &["colour=dark green", "name=Ada"],
            None,
            Some(&[("colour", &["green"]), ("name", &["Ada"])]),
        );
        check(&both, &["green"], Some("Ada"), None);
        check(&both, &["colour=blue"], Some("Ada"), None);
        check(&both, &["colour=Red", "colour=green"], Some("Ada"), None);
        check(&both, &[], Some("Ada"), None);
        let one = QuestionForm { questions: vec![both.questions[0].clone()], ..QuestionForm::default() };
        check(&one, &["Red"], None, Some(&[("colour", &["Red"])]));
        check(&one, &[], Some("blue"), None);
        // Issue 17: free text next to an option was accepted but never read.
        check(&one, &["Red"], Some("blue"), None);
        let mut free = one.clone();
        free.questions[0].allows_freeform = true;
        check(&free, &[], Some("blue"), Some(&[("colour", &["blue"])]));
        let mut several = one;
        several.questions[0].multi_select = true;
        check(&several, &["Red", "green", "Red"], None, Some(&[("colour", &["Red", "green"])]));
    }

    #[test]
    fn questions_that_cannot_be_answered_are_refused() {
        assert_eq!(two_questions().check(), Ok(()));
        assert!(QuestionForm::default().check().is_err());
        let mut twice = two_questions();
        twice.questions[1].id = "colour".to_owned();
        assert!(twice.check().is_err());
        let mut blank = two_questions();
        blank.questions[0].question = " ".to_owned();
        assert!(blank.check().is_err());
        let mut long = two_questions();
        long.questions[0].question = "x".repeat(MAX_TEXT + 1);
        assert_eq!(long.check().unwrap_err().answered_code(), ErrorCode::TooLong);
    }
}
