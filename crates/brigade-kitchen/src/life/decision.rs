//! Decisions that people or the executive make, and their answers.

use std::fmt;
use std::str::FromStr;

use brigade_core::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::names::{TaskId, text_form};

/// The id of a decision: `d-` and 12 to 32 lower-case hex digits. It is random, and made after the worker's processes
/// have ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionId(String);

/// A text that is not the id of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected `d-` and 12 to 32 hex digits")]
pub struct InvalidDecisionId;

impl DecisionId {
    /// Makes an id from random bytes.
    pub fn of_random(bytes: [u8; 8]) -> DecisionId {
        DecisionId(format!("d-{}", bytes.map(|byte| format!("{byte:02x}")).concat()))
    }
}

impl FromStr for DecisionId {
    type Err = InvalidDecisionId;

    fn from_str(text: &str) -> Result<DecisionId, InvalidDecisionId> {
        let digits = text.strip_prefix("d-").ok_or(InvalidDecisionId)?;
        let legal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if (12..=32).contains(&digits.len()) && digits.bytes().all(legal) {
            Ok(DecisionId(text.to_owned()))
        } else {
            Err(InvalidDecisionId)
        }
    }
}

text_form!(DecisionId, "^d-[0-9a-f]{12,32}$");

/// The kind of decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// A task failed or is blocked.
    Failure,
    /// A worker asks about the scope of its task.
    Scope,
    /// A person checks a task by hand.
    Manual,
    /// A review of the PRD needs attention.
    Phase,
    /// The next PRD could begin.
    Gate,
    /// A review gave no clear verdict.
    Verdict,
}

impl DecisionKind {
    /// Returns the possible answers; empty if the answer is a text.
    pub const fn choices(self) -> &'static [&'static str] {
        match self {
            DecisionKind::Failure => &["retry", "skip", "abort"],
            DecisionKind::Scope => &[],
            DecisionKind::Manual | DecisionKind::Verdict => &["pass", "fail"],
            DecisionKind::Phase | DecisionKind::Gate => &["continue", "pause", "abort"],
        }
    }
}

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Decision {
    /// Its id.
    pub id: DecisionId,
    /// The kind of decision.
    pub about: DecisionKind,
    /// The task, if the decision concerns one.
    pub task: Option<TaskId>,
    /// What happened, masked.
    pub context: String,
    /// When it was asked.
    pub created_at: Timestamp,
}

/// Who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AnsweredBy {
    /// A person.
    Person,
    /// A supervisor, by the command file.
    Supervisor,
    /// The executive.
    Executive,
}

impl AnsweredBy {
    /// Returns the words of a sentence.
    pub const fn as_text(self) -> &'static str {
        match self {
            AnsweredBy::Person => "a person",
            AnsweredBy::Supervisor => "the supervisor",
            AnsweredBy::Executive => "the executive",
        }
    }
}

/// An answer to a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Answer {
    /// One of the choices, or a text.
    pub choice: String,
    /// Who answered.
    pub by: AnsweredBy,
    /// The reason for the answer.
    #[serde(default)]
    pub reason: Option<String>,
    /// Guidance for the next attempt.
    #[serde(default)]
    pub guidance: Option<String>,
    /// Whether the choice is the given answer. An unclear answer of the executive is replaced by a default.
    #[serde(default = "default_true", skip_serializing_if = "is_yes")]
    pub is_clear: bool,
}

fn default_true() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_yes(is_clear: &bool) -> bool {
    *is_clear
}

/// Why an answer is not valid for a decision.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AnswerFault {
    /// It is not one of the choices.
    #[error("expected one of {}", .0.join(", "))]
    NoChoice(&'static [&'static str]),
    /// It is empty.
    #[error("expected a text")]
    Empty,
}

impl Decision {
    /// Checks that an answer is valid.
    ///
    /// # Errors
    /// Fails if the answer is not one of the choices, or is an empty text.
    pub fn accepts(&self, choice: &str) -> Result<(), AnswerFault> {
        let choices = self.about.choices();
        if choices.is_empty() {
            return if choice.trim().is_empty() { Err(AnswerFault::Empty) } else { Ok(()) };
        }
        if choices.contains(&choice) { Ok(()) } else { Err(AnswerFault::NoChoice(choices)) }
    }
}
