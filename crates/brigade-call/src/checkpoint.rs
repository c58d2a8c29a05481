//! A pause that a running script requested, and a person's answer.

use brigade_core::json::exact;
use brigade_core::{
    CallId, CheckpointId, ErrorCode, ErrorKind, Extra, Json, Object, OperationError, RunId, Timestamp,
    open_words,
};
use brigade_macros::record;
use thiserror::Error;

use crate::CHECKPOINTS;
use crate::receipt::Receipt;

open_words! {
    /// The status of a checkpoint.
    CheckpointStatus {
        /// Waits for a person.
        Pending = "pending",
        /// The person chose to continue.
        Approved = "approved",
        /// The person chose not to continue.
        Rejected = "rejected",
        /// The call was resumed.
        Resumed = "resumed",
        /// The call was resumed and failed.
        Failed = "failed",
    }
}

/// A stored checkpoint.
#[record(PartialEq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// Its id, and the name of its file.
    pub id: CheckpointId,
    /// Its status.
    pub status: CheckpointStatus,
    /// The tool that asked.
    #[serde(default)]
    pub tool_id: String,
    /// The call that waits.
    pub call_id: CallId,
    /// The run that asked.
    #[serde(default)]
    pub run_id: String,
    /// Why the script paused.
    pub reason: Option<String>,
    /// The next action.
    pub requested_action: Option<String>,
    /// The question.
    pub prompt: Option<String>,
    /// The context of the question, without secrets.
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schemars(schema_with = "brigade_core::json::any_value"))]
    pub context: Json,
    /// The allowed answers; empty allows any.
    #[serde(default)]
    pub choices: Vec<String>,
    /// The person's answer.
    pub selected_choice: Option<String>,
    /// When the script paused.
    pub created_at: Option<Timestamp>,
    /// When the checkpoint expires.
    pub expires_at: Option<Timestamp>,
    /// When the person answered.
    pub reviewed_at: Option<Timestamp>,
    /// The reason, if it was rejected.
    pub review_reason: Option<String>,
    /// The run that resumed the call.
    pub resume_run_id: Option<RunId>,
    /// The path of the file, if a report, a receipt or 0.30.0 names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_path: Option<String>,
}

/// The answer, as recorded in a receipt.
#[record(PartialEq)]
#[non_exhaustive]
pub struct CheckpointChoice {
    /// The checkpoint.
    pub checkpoint_id: CheckpointId,
    /// The answer.
    pub selected_choice: Option<String>,
    /// When the person answered.
    #[serde(default, deserialize_with = "exact")]
    pub reviewed_at: Option<Timestamp>,
    /// The reason, if it was rejected.
    pub review_reason: Option<String>,
    /// For the first checkpoint of a run: the answers to all checkpoints that the run resumed after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<CheckpointChoice>,
}

impl OperationError for CheckpointRefusal {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Refused
    }

    fn code(&self) -> Option<ErrorCode> {
        Some(ErrorCode::WrongState)
    }
}

/// Why a checkpoint cannot be answered or resumed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckpointRefusal {
    /// It has the wrong status.
    #[error("the checkpoint is {}, not {expected}", .status.as_str())]
    WrongStatus {
        /// Its status.
        status: CheckpointStatus,
        /// The required status.
        expected: &'static str,
    },
    /// It has expired.
    #[error("the checkpoint expired at {0}")]
    Expired(Timestamp),
    /// The answer is not allowed.
    #[error("not one of the checkpoint's choices: {}", .0.join(", "))]
    NotAChoice(Vec<String>),
}

/// A JSON value that is not a stored checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a checkpoint: {0}")]
pub struct NotACheckpoint(&'static str);

impl Checkpoint {
    /// Creates a checkpoint that waits for an answer.
    ///
    /// ```
    /// use brigade_call::{Checkpoint, CheckpointStatus};
    ///
    /// let mut checkpoint = Checkpoint::new("check-1".parse()?, "call-1".parse()?, "run-1");
    /// checkpoint.prompt = Some("Deploy?".to_owned());
    /// assert_eq!(checkpoint.status, CheckpointStatus::Pending);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(id: CheckpointId, call_id: CallId, run_id: impl Into<String>) -> Checkpoint {
        Checkpoint {
            id,
            status: CheckpointStatus::Pending,
            tool_id: String::new(),
            call_id,
            run_id: run_id.into(),
            reason: None,
            requested_action: None,
            prompt: None,
            context: Json::Null,
            choices: Vec::new(),
            selected_choice: None,
            created_at: None,
            expires_at: None,
            reviewed_at: None,
            review_reason: None,
            resume_run_id: None,
            checkpoint_path: None,
            extra: Extra::default(),
        }
    }

    /// Returns the answer for a receipt.
    pub fn to_choice(&self) -> CheckpointChoice {
        CheckpointChoice {
            checkpoint_id: self.id.clone(),
            selected_choice: self.selected_choice.clone(),
            reviewed_at: self.reviewed_at,
            review_reason: self.review_reason.clone(),
            choices: Vec::new(),
            extra: Extra::default(),
        }
    }

    /// Returns the answers for the receipt of a run that resumed after these checkpoints, the named one first.
    pub fn to_choices<'a>(&'a self, all: impl IntoIterator<Item = &'a Checkpoint>) -> CheckpointChoice {
        CheckpointChoice { choices: all.into_iter().map(Checkpoint::to_choice).collect(), ..self.to_choice() }
    }

    /// Returns whether it has expired.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at < now)
    }

    /// Records an answer.
    ///
    /// # Errors
    /// Fails if it was already answered, has expired, or the answer is not one of its choices.
    pub fn approve(mut self, choice: &str, at: Timestamp) -> Result<Checkpoint, CheckpointRefusal> {
        self.must_be(CheckpointStatus::Pending, "pending")?;
        self.must_be_in_time(at)?;
        let is_meant = |allowed: &&String| *allowed == choice;
        // A person types the choice as it was shown.
        let is_shown = |allowed: &&String| brigade_core::text::escape_terminal(allowed) == choice;
        let allowed = self.choices.iter().find(is_meant).or_else(|| self.choices.iter().find(is_shown));
        let choice = match allowed {
            Some(allowed) => allowed.clone(),
            None if self.choices.is_empty() => choice.to_owned(),
            None => return Err(CheckpointRefusal::NotAChoice(self.choices)),
        };
        self.status = CheckpointStatus::Approved;
        self.selected_choice = Some(choice);
        self.reviewed_at = Some(at);
        self.review_reason = None;
        Ok(self)
    }

    /// Records a rejection.
    ///
    /// # Errors
    /// Fails if it was already answered.
    pub fn reject(mut self, reason: &str, at: Timestamp) -> Result<Checkpoint, CheckpointRefusal> {
        self.must_be(CheckpointStatus::Pending, "pending")?;
        self.status = CheckpointStatus::Rejected;
        self.reviewed_at = Some(at);
        self.review_reason = Some(reason.to_owned());
        Ok(self)
    }

    /// Records that its call was rejected, so that no answer is needed. An answered checkpoint does not change.
    #[must_use]
    pub fn void(mut self, reason: &str, at: Timestamp) -> Checkpoint {
        if matches!(self.status, CheckpointStatus::Pending | CheckpointStatus::Approved) {
            self.status = CheckpointStatus::Rejected;
            self.reviewed_at = Some(at);
            self.review_reason = Some(reason.to_owned());
        }
        self
    }

    /// Takes back an answer that does not count.
    #[must_use]
    pub fn unanswered(mut self) -> Checkpoint {
        if self.status == CheckpointStatus::Approved {
            self.status = CheckpointStatus::Pending;
            self.selected_choice = None;
            self.reviewed_at = None;
        }
        self
    }

    /// Checks that the call may resume after it.
    ///
    /// # Errors
    /// Fails if it is not approved or has expired.
    pub fn check_resumable(&self, now: Timestamp) -> Result<(), CheckpointRefusal> {
        self.must_be(CheckpointStatus::Approved, "approved")?;
        self.must_be_in_time(now)
    }

    fn must_be(&self, status: CheckpointStatus, expected: &'static str) -> Result<(), CheckpointRefusal> {
        if self.status == status {
            Ok(())
        } else {
            Err(CheckpointRefusal::WrongStatus { status: self.status.clone(), expected })
        }
    }

    fn must_be_in_time(&self, now: Timestamp) -> Result<(), CheckpointRefusal> {
        match self.expires_at {
            Some(expires_at) if self.is_expired(now) => Err(CheckpointRefusal::Expired(expires_at)),
            _ => Ok(()),
        }
    }

    /// Writes the stored document.
    pub fn to_document(&self) -> Object {
        self.to_members()
    }

    /// Reads a stored document.
    ///
    /// # Errors
    /// Fails if it has no usable `id`, `status` or `call_id`.
    pub fn from_document(document: Json) -> Result<Checkpoint, NotACheckpoint> {
        let Json::Object(document) = document else {
            return Err(NotACheckpoint("expected an object"));
        };
        let text = |name: &str| document.get(name).and_then(Json::as_str);
        if text("id").is_none_or(|id| id.parse::<CheckpointId>().is_err()) {
            return Err(NotACheckpoint("`id` must be an id"));
        }
        text("status").ok_or(NotACheckpoint("`status` must be a word"))?;
        text("call_id").ok_or(NotACheckpoint("`call_id` must be a text"))?;
        let checkpoint = Checkpoint::from_members(document);
        let mut checkpoint = checkpoint.map_err(|_| NotACheckpoint("`call_id` must be the id of a call"))?;
        checkpoint.extra.complete();
        Ok(checkpoint)
    }
}

impl Receipt {
    /// Sets the first checkpoint that the run resumed after, and the answers to all of them.
    pub fn resumed_after<'a>(
        &mut self,
        first: &'a Checkpoint,
        all: impl IntoIterator<Item = &'a Checkpoint>,
    ) {
        self.resumed_checkpoint_id = Some(first.id.clone());
        self.checkpoint_id = Some(first.id.clone());
        self.original_call_id = Some(self.call_id.clone());
        self.original_run_id = first.run_id.parse().ok();
        self.resume_run_id = Some(self.id.clone());
        self.resume = Some(first.to_choices(all));
    }

    /// Returns the receipt of a run with its stored checkpoints.
    #[must_use]
    pub fn with_checkpoints(&self, checkpoints: &[Checkpoint]) -> Receipt {
        let Some(first) = checkpoints.first() else {
            return self.clone();
        };
        let path = format!("{CHECKPOINTS}/{}.json", first.id);
        Receipt {
            checkpoint_id: Some(first.id.clone()),
            checkpoint: Some(Box::new(Checkpoint { checkpoint_path: Some(path), ..first.clone() })),
            checkpoint_ids: Some(checkpoints.iter().map(|checkpoint| checkpoint.id.clone()).collect()),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests;
