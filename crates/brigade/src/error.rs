//! Why an operation could not do its job.

use brigade_core::Hint;
use brigade_fs::{FsError, FsErrorKind};
use brigade_policy::Blocker;
use brigade_queue::QueueError;
use brigade_redact::Redactor;
use thiserror::Error;

use crate::exit::Exit;

/// Why an operation could not be done, and what to do next.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    blockers: Vec<Blocker>,
    candidates: Vec<String>,
    hints: Vec<Hint>,
}

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nothing has that name.
    NotFound,
    /// More than one thing could be meant.
    Ambiguous,
    /// The state, the policy or a person's decision does not allow it.
    Refused,
    /// A configuration file is broken.
    InvalidConfig,
    /// The request itself makes no sense, or the target cannot be used.
    Usage,
    /// The disk or the environment does not allow it.
    Environment,
}

impl Error {
    /// Makes an error of one sentence, lower-case, without a final stop.
    ///
    /// What looks like a secret in it, such as one that was typed in the place of an id, is masked.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: Redactor::new(&[]).redact_str(&message.into()),
            blockers: Vec::new(),
            candidates: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Adds the next command to try, or what to change.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Error {
        self.hints.push(hint.into().map_texts(|text| Redactor::new(&[]).redact_str(text)));
        self
    }

    /// Adds the reasons.
    #[must_use]
    pub fn because(mut self, blockers: impl IntoIterator<Item = Blocker>) -> Error {
        self.blockers.extend(blockers);
        self
    }

    /// Adds what could be meant.
    #[must_use]
    pub fn candidates(mut self, candidates: impl IntoIterator<Item = String>) -> Error {
        self.candidates.extend(candidates);
        self
    }

    /// Returns what kind of trouble it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the reasons; empty when the message says it all.
    pub fn blockers(&self) -> &[Blocker] {
        &self.blockers
    }

    /// Returns what could be meant, when more than one thing could.
    pub fn could_be(&self) -> &[String] {
        &self.candidates
    }

    /// Returns what to do next.
    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }

    /// Returns the message with its hints behind it, for documents that have one text for both.
    pub(crate) fn with_hints(&self) -> String {
        if self.hints.is_empty() {
            return self.message.clone();
        }
        let hints: Vec<String> = self.hints.iter().map(ToString::to_string).collect();
        format!("{} ({})", self.message, hints.join("; "))
    }

    /// Returns the exit code that stands for it.
    pub fn exit(&self) -> Exit {
        match self.kind {
            ErrorKind::NotFound | ErrorKind::Ambiguous | ErrorKind::Refused | ErrorKind::InvalidConfig => {
                Exit::Refused
            }
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Environment => Exit::Environment,
        }
    }
}

impl From<FsError> for Error {
    fn from(error: FsError) -> Error {
        let hint = match &error.kind {
            FsErrorKind::Permission => Some("check who owns the workspace's .brigade folder"),
            _ => None,
        };
        let made = Error::new(ErrorKind::Environment, error.to_string());
        match hint {
            Some(hint) => made.hint(hint),
            None => made,
        }
    }
}

impl From<QueueError> for Error {
    fn from(error: QueueError) -> Error {
        match error {
            QueueError::Fs(error) => error.into(),
            blocked @ QueueError::Blocked(_) => Error::new(ErrorKind::Environment, blocked.to_string())
                .hint("brigade tools state compact moves it aside"),
            failed @ QueueError::Store(_) => Error::new(ErrorKind::Environment, failed.to_string()),
            error => Error::new(ErrorKind::Refused, error.to_string()),
        }
    }
}
