//! Why an operation could not do its job.

use std::fmt;

use brigade_call::Checkpoint;
use brigade_catalog::NoTool;
use brigade_core::{Hint, NextStep, Place, Spell};
use brigade_fs::{FsError, FsErrorKind};
use brigade_policy::Blocker;
use brigade_queue::QueueError;
use brigade_redact::Redactor;
use brigade_upkeep::UpkeepError;

use crate::codes::{self, ErrorCode};
use crate::exit::Exit;
use crate::refusal::{Refusal, Refused};
use crate::report::RuntimeStopReport;
use crate::room::{CATALOG, Room};

/// Why an operation could not be done, and what to do next.
///
/// A refusal is one of these, too: [`Error::kind`] and [`Error::blockers`] say why, [`Error::refusal`] what was found
/// on the way. The cause, where there is one, is its `source()`.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    code: Option<ErrorCode>,
    message: String,
    blockers: Vec<Blocker>,
    candidates: Vec<String>,
    hints: Vec<Hint>,
    refused: Option<Refused>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

impl ErrorKind {
    /// Returns the word for it, such as `not-found`.
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "not-found",
            ErrorKind::Ambiguous => "ambiguous",
            ErrorKind::Refused => "refused",
            ErrorKind::InvalidConfig => "invalid-config",
            ErrorKind::Usage => "usage",
            ErrorKind::Environment => "environment",
        }
    }
}

impl ErrorKind {
    /// Returns the code of errors that have none of their own.
    pub const fn code(self) -> ErrorCode {
        match self {
            ErrorKind::NotFound => codes::NOT_FOUND,
            ErrorKind::Ambiguous => codes::AMBIGUOUS,
            ErrorKind::Refused => codes::REFUSED,
            ErrorKind::InvalidConfig => codes::CONFIG_INVALID,
            ErrorKind::Usage => codes::USAGE,
            ErrorKind::Environment => codes::ENVIRONMENT,
        }
    }
}

impl Error {
    /// Makes an error of one sentence, lower-case, without a final stop.
    ///
    /// What looks like a secret in it, such as one that was typed in the place of an id, is masked.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            code: None,
            message: Redactor::new(&[]).redact_str(&message.into()),
            blockers: Vec::new(),
            candidates: Vec::new(),
            hints: Vec::new(),
            refused: None,
            source: None,
        }))
    }

    /// Makes an error in the words of its cause, which it keeps.
    pub(crate) fn caused(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        let mut error = Error::new(kind, source.to_string());
        error.0.source = Some(Box::new(source));
        error
    }

    /// Sets the code that scripts can rely on; without one, it is that of the first reason, or the word for the kind.
    #[must_use]
    pub fn coded(mut self, code: ErrorCode) -> Error {
        self.0.code = Some(code);
        self
    }

    /// Adds the next command to try, or what to change.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Error {
        self.0.hints.push(hint.into().map_texts(|text| Redactor::new(&[]).redact_str(text)));
        self
    }

    /// Adds the reasons.
    #[must_use]
    pub fn because(mut self, blockers: impl IntoIterator<Item = Blocker>) -> Error {
        self.0.blockers.extend(blockers);
        self
    }

    /// Adds what could be meant.
    #[must_use]
    pub fn candidates(mut self, candidates: impl IntoIterator<Item = String>) -> Error {
        self.0.candidates.extend(candidates);
        self
    }

    /// Adds what was found on the way; what an inner step added stays.
    #[must_use]
    pub(crate) fn refusing(mut self, room: &Room, refusal: Refusal) -> Error {
        // A disk that fails is no refusal.
        if self.0.kind != ErrorKind::Environment && self.0.refused.is_none() {
            self.0.refused = Some(Refused { target: room.target(), refusal });
        }
        self
    }

    /// Adds what was found on the way when the error is about what was asked for; one about files or the queue stays as
    /// it is.
    #[must_use]
    pub(crate) fn missing(self, room: &Room, refusal: Refusal) -> Error {
        if self.is_about_request() { self.refusing(room, refusal) } else { self }
    }

    pub(crate) fn is_about_request(&self) -> bool {
        self.0.kind != ErrorKind::Environment && self.0.source.is_none()
    }

    /// Makes the refusal of a run one of going on behind a checkpoint.
    pub(crate) fn resuming(mut self, checkpoint: Box<Checkpoint>) -> Error {
        if let Some(Refused { refusal, .. }) = &mut self.0.refused
            && let Refusal::Run(run) = refusal
        {
            *refusal = Refusal::Resume { checkpoint: Some(checkpoint), run: std::mem::take(run) };
        }
        self
    }

    /// Makes why a runtime was not stopped or not started the reason that it was not restarted.
    pub(crate) fn restarting(
        mut self,
        room: &Room,
        runtime_id: String,
        stop: Option<RuntimeStopReport>,
    ) -> Error {
        let step = self.0.refused.take().map(|refused| Box::new(refused.refusal));
        self.refusing(room, Refusal::RuntimeRestart { runtime_id, stop: stop.map(Box::new), step })
    }

    /// Returns what kind of trouble it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the code, in `snake_case`; it never changes its meaning.
    ///
    /// That of the reason, when the error says nothing more; that of the kind, when there is none of its own.
    pub fn code(&self) -> &str {
        match (self.0.code, self.reason_itself()) {
            (Some(code), _) => code.as_str(),
            (None, Some(reason)) => reason.code.as_ref(),
            (None, None) => self.0.kind.code().as_str(),
        }
    }

    /// Returns the reason that the error has in its own words.
    pub(crate) fn reason_itself(&self) -> Option<&Blocker> {
        self.0.blockers.iter().find(|reason| reason.message == self.0.message)
    }

    /// Returns the reasons; empty when the message says it all.
    pub fn blockers(&self) -> &[Blocker] {
        &self.0.blockers
    }

    /// Returns the places in files that the reasons name.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.0.blockers.iter().filter_map(|blocker| blocker.place.as_ref())
    }

    /// Returns what could be meant, when more than one thing could.
    pub fn could_be(&self) -> &[String] {
        &self.0.candidates
    }

    /// Returns what to do next.
    pub fn hints(&self) -> &[Hint] {
        &self.0.hints
    }

    /// Returns what was found on the way to a refusal.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.0.refused.as_ref().map(|refused| &refused.refusal)
    }

    /// Returns the workspace of a refusal, as reports name it.
    pub fn target(&self) -> Option<&str> {
        self.0.refused.as_ref().map(|refused| refused.target.as_str())
    }

    /// Returns the message with its hints behind it, in the words of a face, for documents that have one text for both.
    pub fn with_hints(&self, speller: &dyn Spell) -> String {
        if self.0.hints.is_empty() {
            return self.0.message.clone();
        }
        let words = |hint: &Hint| hint.clone().spelled(speller, None).to_string();
        let hints: Vec<String> = self.0.hints.iter().map(words).collect();
        format!("{} ({})", self.0.message, hints.join("; "))
    }

    /// Returns the exit code that stands for it.
    pub fn exit(&self) -> Exit {
        match self.0.kind {
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
        let is_forbidden = matches!(error.kind, FsErrorKind::Permission);
        let code = of_file(&error.kind);
        let made = Error::caused(ErrorKind::Environment, error).coded(code);
        if is_forbidden { made.hint("check who owns the workspace's .brigade folder") } else { made }
    }
}

impl From<QueueError> for Error {
    fn from(error: QueueError) -> Error {
        match error {
            QueueError::Fs(error) => error.into(),
            blocked @ QueueError::Blocked(_) => Error::caused(ErrorKind::Environment, blocked)
                .coded(codes::JOURNAL_BLOCKED)
                .hint(Hint::from(NextStep::CompactState).then(" moves it aside")),
            failed @ QueueError::Store(_) => Error::caused(ErrorKind::Environment, failed),
            error => {
                let code = of_queue(&error);
                Error::caused(ErrorKind::Refused, error).coded(code)
            }
        }
    }
}

impl From<UpkeepError> for Error {
    fn from(error: UpkeepError) -> Error {
        match error {
            UpkeepError::Fs(error) => error.into(),
            UpkeepError::Queue(error) => error.into(),
            UpkeepError::Runtime(error) => error.into(),
            error => Error::new(ErrorKind::Refused, error.to_string()),
        }
    }
}

impl From<NoTool> for Error {
    fn from(none: NoTool) -> Error {
        let message = none.to_string();
        match none {
            NoTool::Unreadable(_) => Error::new(ErrorKind::InvalidConfig, message),
            NoTool::Disabled { line, .. } => {
                let line = line.map_or_else(String::new, |line| format!(" at line {line}"));
                Error::new(ErrorKind::NotFound, message)
                    .coded(codes::TOOL_DISABLED)
                    .hint(format!("set `enabled = true` in {CATALOG}{line}"))
            }
            NoTool::Unknown { near, .. } => Error::new(ErrorKind::NotFound, message)
                .coded(codes::TOOL_MISSING)
                .hint(near.map_or(NextStep::ListTools.into(), |near| {
                    Hint::from(format!("did you mean `{near}`?"))
                })),
        }
    }
}

fn of_file(kind: &FsErrorKind) -> ErrorCode {
    match kind {
        FsErrorKind::NotFound => codes::FILE_MISSING,
        FsErrorKind::Exists => codes::FILE_EXISTS,
        FsErrorKind::NoSpace => codes::DISK_FULL,
        FsErrorKind::ReadOnly => codes::DISK_READ_ONLY,
        FsErrorKind::Permission => codes::PERMISSION_DENIED,
        FsErrorKind::NotAFile | FsErrorKind::NotADirectory => codes::NOT_A_FILE,
        FsErrorKind::Outside | FsErrorKind::DanglingLink => codes::PATH_OUTSIDE,
        FsErrorKind::TooLarge { .. } | FsErrorKind::SizeLimit => codes::FILE_TOO_LARGE,
        FsErrorKind::Locked { .. } => codes::LOCKED,
        _ => codes::ENVIRONMENT,
    }
}

fn of_queue(error: &QueueError) -> ErrorCode {
    match error {
        QueueError::NoSuchCall(_) => codes::CALL_MISSING,
        QueueError::NoSuchCheckpoint(_) => codes::CHECKPOINT_MISSING,
        QueueError::Changed { .. } | QueueError::CheckpointChanged { .. } => codes::CHANGED_MEANWHILE,
        QueueError::WrongStep { .. } | QueueError::Checkpoint { .. } | QueueError::NotWaiting { .. } => {
            codes::WRONG_STATE
        }
        QueueError::HasRun { .. } => codes::ALREADY_RUN,
        QueueError::Newer(_) => codes::NEWER_VERSION,
        QueueError::BadRecord { .. } => codes::RECORD_INVALID,
        _ => codes::REFUSED,
    }
}

/// Takes it for an answer that nothing, or more than one thing, has a name.
pub(crate) fn if_any<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_about_request() => Ok(None),
        Err(error) => Err(error),
    }
}
