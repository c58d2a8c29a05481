//! A pause that a running script asked for, and a person's answer.

use brigade_core::{CheckpointId, Json, Object, Timestamp};
use thiserror::Error;

/// Where a checkpoint stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointStatus {
    /// Waits for a person.
    Pending,
    /// The person chose to go on.
    Approved,
    /// The person chose not to go on.
    Rejected,
    /// The call went on.
    Resumed,
    /// The call went on and failed.
    Failed,
    /// A status that another program wrote.
    Other(String),
}

impl CheckpointStatus {
    /// Returns the word that stands in files and on screen.
    pub fn as_str(&self) -> &str {
        match self {
            CheckpointStatus::Pending => "pending",
            CheckpointStatus::Approved => "approved",
            CheckpointStatus::Rejected => "rejected",
            CheckpointStatus::Resumed => "resumed",
            CheckpointStatus::Failed => "failed",
            CheckpointStatus::Other(word) => word,
        }
    }

    /// Reads the word; one that is not ours is kept.
    pub fn from_word(word: &str) -> CheckpointStatus {
        match word {
            "pending" => CheckpointStatus::Pending,
            "approved" => CheckpointStatus::Approved,
            "rejected" => CheckpointStatus::Rejected,
            "resumed" => CheckpointStatus::Resumed,
            "failed" => CheckpointStatus::Failed,
            other => CheckpointStatus::Other(other.to_owned()),
        }
    }
}

/// A stored checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Its id, and the name of its file.
    pub id: CheckpointId,
    /// Where it stands.
    pub status: CheckpointStatus,
    /// The tool that asked.
    pub tool_id: String,
    /// The call that waits.
    pub call_id: String,
    /// The run that asked.
    pub run_id: String,
    /// Why the script paused.
    pub reason: Option<String>,
    /// What it wants to do next.
    pub requested_action: Option<String>,
    /// The question to the person.
    pub prompt: Option<String>,
    /// What the person should know, without secrets.
    pub context: Json,
    /// The answers that are allowed; any is when empty.
    pub choices: Vec<String>,
    /// The person's answer.
    pub selected_choice: Option<String>,
    /// When the script paused.
    pub created_at: Option<Timestamp>,
    /// When the question is void.
    pub expires_at: Option<Timestamp>,
    /// When the person answered.
    pub reviewed_at: Option<Timestamp>,
    /// Why, when rejected.
    pub review_reason: Option<String>,
    /// The run that went on.
    pub resume_run_id: Option<String>,
    /// Everything else that the file holds.
    pub extra: Object,
}

/// Why a checkpoint cannot be answered or resumed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckpointRefusal {
    /// It does not stand where it must.
    #[error("the checkpoint is {}, not {expected}", .status.as_str())]
    WrongStatus {
        /// Where it stands.
        status: CheckpointStatus,
        /// Where it must stand.
        expected: &'static str,
    },
    /// Its time is over.
    #[error("the checkpoint expired at {0}")]
    Expired(Timestamp),
    /// The answer is none of those allowed.
    #[error("not one of the checkpoint's choices: {}", .0.join(", "))]
    NotAChoice(Vec<String>),
}

/// A JSON value that is not a stored checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a checkpoint: {0}")]
pub struct NotACheckpoint(&'static str);

impl Checkpoint {
    /// Returns what a receipt says of the answer: which checkpoint, which choice, when and why.
    pub fn to_choice(&self) -> Json {
        Json::object([
            ("checkpoint_id", Json::from(self.id.as_str())),
            ("selected_choice", Json::from(self.selected_choice.clone())),
            ("reviewed_at", Json::from(self.reviewed_at.map(|at| at.to_string()))),
            ("review_reason", Json::from(self.review_reason.clone())),
        ])
    }

    /// Tells whether its time is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at < now)
    }

    /// Records the answer to go on.
    ///
    /// # Errors
    /// When it was answered already, its time is over, or the answer is none of its choices.
    pub fn approve(mut self, choice: &str, at: Timestamp) -> Result<Checkpoint, CheckpointRefusal> {
        self.must_be(CheckpointStatus::Pending, "pending")?;
        self.must_be_in_time(at)?;
        let is_meant = |allowed: &&String| *allowed == choice;
        // What a person can type is what they were shown.
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

    /// Records the answer not to go on.
    ///
    /// # Errors
    /// When it was answered already.
    pub fn reject(mut self, reason: &str, at: Timestamp) -> Result<Checkpoint, CheckpointRefusal> {
        self.must_be(CheckpointStatus::Pending, "pending")?;
        self.status = CheckpointStatus::Rejected;
        self.reviewed_at = Some(at);
        self.review_reason = Some(reason.to_owned());
        Ok(self)
    }

    /// Records that its call was rejected, so that nobody needs to answer it; one that is settled stays as it is.
    #[must_use]
    pub fn void(mut self, reason: &str, at: Timestamp) -> Checkpoint {
        if matches!(self.status, CheckpointStatus::Pending | CheckpointStatus::Approved) {
            self.status = CheckpointStatus::Rejected;
            self.reviewed_at = Some(at);
            self.review_reason = Some(reason.to_owned());
        }
        self
    }

    /// Checks that the call may go on behind it.
    ///
    /// # Errors
    /// When it is not approved or its time is over.
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
        let mut document = self.extra.clone();
        let time = |at: Option<Timestamp>| Json::from(at.map(|at| at.to_string()));
        for (key, value) in [
            ("id", Json::from(self.id.as_str())),
            ("status", Json::from(self.status.as_str())),
            ("tool_id", Json::from(self.tool_id.as_str())),
            ("call_id", Json::from(self.call_id.as_str())),
            ("run_id", Json::from(self.run_id.as_str())),
            ("reason", Json::from(self.reason.clone())),
            ("requested_action", Json::from(self.requested_action.clone())),
            ("prompt", Json::from(self.prompt.clone())),
            ("context", self.context.clone()),
            ("choices", Json::from(self.choices.clone())),
            ("selected_choice", Json::from(self.selected_choice.clone())),
            ("created_at", time(self.created_at)),
            ("expires_at", time(self.expires_at)),
            ("reviewed_at", time(self.reviewed_at)),
            ("review_reason", Json::from(self.review_reason.clone())),
            ("resume_run_id", Json::from(self.resume_run_id.clone())),
        ] {
            document.insert(key.to_owned(), value);
        }
        document
    }

    /// Reads a stored document.
    ///
    /// # Errors
    /// When it has no usable `id`, `status` or `call_id`.
    pub fn from_document(document: Json) -> Result<Checkpoint, NotACheckpoint> {
        let Json::Object(mut document) = document else {
            return Err(NotACheckpoint("expected an object"));
        };
        let mut text = |key: &str| match document.get(key) {
            Some(Json::String(_)) => document.remove(key).and_then(|json| json.as_str().map(str::to_owned)),
            _ => None,
        };
        let id = text("id").and_then(|id| id.parse().ok()).ok_or(NotACheckpoint("`id` must be an id"))?;
        let status = text("status").ok_or(NotACheckpoint("`status` must be a word"))?;
        let call_id = text("call_id").ok_or(NotACheckpoint("`call_id` must be a text"))?;
        let mut checkpoint = Checkpoint {
            id,
            status: CheckpointStatus::from_word(&status),
            tool_id: text("tool_id").unwrap_or_default(),
            call_id,
            run_id: text("run_id").unwrap_or_default(),
            reason: text("reason"),
            requested_action: text("requested_action"),
            prompt: text("prompt"),
            context: Json::Null,
            choices: Vec::new(),
            selected_choice: text("selected_choice"),
            created_at: text("created_at").and_then(|at| at.parse().ok()),
            expires_at: text("expires_at").and_then(|at| at.parse().ok()),
            reviewed_at: text("reviewed_at").and_then(|at| at.parse().ok()),
            review_reason: text("review_reason"),
            resume_run_id: text("resume_run_id"),
            extra: Object::new(),
        };
        checkpoint.context = document.remove("context").unwrap_or_default();
        if let Some(choices) = document.remove("choices") {
            let texts = choices.as_array().unwrap_or_default().iter().filter_map(Json::as_str);
            checkpoint.choices = texts.map(str::to_owned).collect();
        }
        checkpoint.extra = document;
        Ok(checkpoint)
    }
}

#[cfg(test)]
mod tests;
