//! The error of operations.

use std::fmt;

use brigade_call::Checkpoint;
use brigade_catalog::NoTool;
use brigade_core::{Hint, NextStep, Place, Spell};
use brigade_fs::{FsError, FsErrorKind};
use brigade_policy::{Blocker, ErrorLine, Fault};
use brigade_queue::QueueError;
use brigade_redact::Redactor;
use brigade_upkeep::UpkeepError;
use miette::Diagnostic;

use crate::codes::{self, ErrorCode};
use crate::exit::Exit;
use crate::refusal::{Refusal, Refused};
use crate::report::RuntimeStopReport;
use crate::room::{CATALOG, Room};

/// Why an operation failed, and what to do next.
///
/// A refusal is also an error. [`Error::kind`] and [`Error::blockers`] say why, and [`Error::refusal`] has the data of
/// the failure document. The cause, if any, is the `source()`.
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

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nothing has this name.
    NotFound,
    /// Several things match.
    Ambiguous,
    /// The state, the policy or a human decision forbids the operation.
    Refused,
    /// A configuration file is invalid.
    InvalidConfig,
    /// The request is invalid, or the target cannot be used.
    Usage,
    /// File access or the environment failed.
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
    /// Returns the code of errors without a specific one.
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
    /// Creates an error from one sentence, in lower case, without a final period.
    ///
    /// Text that looks like a secret, such as one typed instead of an id, is masked.
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

    /// Creates an error with the message of its cause, which becomes the source.
    pub(crate) fn caused(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        let mut error = Error::new(kind, source.to_string());
        error.0.source = Some(Box::new(source));
        error
    }

    /// Sets the stable code. The default is the code of the first reason, or of the kind.
    #[must_use]
    pub fn coded(mut self, code: ErrorCode) -> Error {
        self.0.code = Some(code);
        self
    }

    /// Adds a hint: the next command, or what to change.
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

    /// Adds the candidates of an ambiguous name.
    #[must_use]
    pub fn candidates(mut self, candidates: impl IntoIterator<Item = String>) -> Error {
        self.0.candidates.extend(candidates);
        self
    }

    /// Adds the refusal, unless an inner step added one.
    #[must_use]
    pub(crate) fn refusing(mut self, room: &Room, refusal: Refusal) -> Error {
        // A file error is not a refusal.
        if self.0.kind != ErrorKind::Environment && self.0.refused.is_none() {
            self.0.refused = Some(Refused { target: room.target(), refusal });
        }
        self
    }

    /// Adds the refusal if the error is about the request. Errors of files or the queue stay as they are.
    #[must_use]
    pub(crate) fn missing(self, room: &Room, refusal: Refusal) -> Error {
        if self.is_about_request() { self.refusing(room, refusal) } else { self }
    }

    pub(crate) fn is_about_request(&self) -> bool {
        self.0.kind != ErrorKind::Environment && self.0.source.is_none()
    }

    /// Turns the refusal of a run into the refusal of a resume.
    pub(crate) fn resuming(mut self, checkpoint: Box<Checkpoint>) -> Error {
        if let Some(Refused { refusal, .. }) = &mut self.0.refused
            && let Refusal::Run(run) = refusal
        {
            *refusal = Refusal::Resume { checkpoint: Some(checkpoint), run: std::mem::take(run) };
        }
        self
    }

    /// Turns the refusal of a stop or start into the refusal of a restart.
    pub(crate) fn restarting(
        mut self,
        room: &Room,
        runtime_id: String,
        stop: Option<RuntimeStopReport>,
    ) -> Error {
        let step = self.0.refused.take().map(|refused| Box::new(refused.refusal));
        self.refusing(room, Refusal::RuntimeRestart { runtime_id, stop: stop.map(Box::new), step })
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the stable code, in `snake_case`.
    ///
    /// Without a code of its own, the error has the code of the reason that its message repeats, or of its kind.
    pub fn code(&self) -> &str {
        match (self.0.code, self.reason_itself()) {
            (Some(code), _) => code.as_str(),
            (None, Some(reason)) => reason.code.as_ref(),
            (None, None) => self.0.kind.code().as_str(),
        }
    }

    /// Returns the reason that the error message repeats.
    pub(crate) fn reason_itself(&self) -> Option<&Blocker> {
        self.0.blockers.iter().find(|reason| reason.message == self.0.message)
    }

    /// Returns the reasons; empty if the message is complete.
    pub fn blockers(&self) -> &[Blocker] {
        &self.0.blockers
    }

    /// Returns the places of the reasons.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.0.blockers.iter().filter_map(|blocker| blocker.place.as_ref())
    }

    /// Returns the candidates of an ambiguous name.
    pub fn could_be(&self) -> &[String] {
        &self.0.candidates
    }

    /// Returns the hints for what to do next.
    pub fn hints(&self) -> &[Hint] {
        &self.0.hints
    }

    /// Returns the data of the failure document, if the operation was refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.0.refused.as_ref().map(|refused| &refused.refusal)
    }

    /// Returns the workspace path of a refusal.
    pub fn target(&self) -> Option<&str> {
        self.0.refused.as_ref().map(|refused| refused.target.as_str())
    }

    /// Returns the message followed by its hints, for documents with one text for both.
    pub fn with_hints(&self, speller: &dyn Spell) -> String {
        if self.0.hints.is_empty() {
            return self.0.message.clone();
        }
        let words = |hint: &Hint| hint.clone().spelled(speller, None).to_string();
        let hints: Vec<String> = self.0.hints.iter().map(words).collect();
        format!("{} ({})", self.0.message, hints.join("; "))
    }

    /// Returns the exit code.
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

impl Error {
    /// Returns the error as reports have it, with its hints in the words of a face.
    pub(crate) fn line(&self, speller: &dyn Spell) -> ErrorLine {
        ErrorLine::with(self.with_hints(speller), self.faults().0)
    }

    /// Returns the error itself as a fault, and behind it its reasons, in the order of their files and lines.
    ///
    /// A reason that is the error in its own words is not repeated: the error is where that is.
    pub fn faults(&self) -> (Fault, Vec<Fault>) {
        let own = self.reason_itself();
        let reasons =
            self.blockers().iter().filter(|reason| own.is_none_or(|own| !std::ptr::eq(own, *reason)));
        let mut reasons: Vec<Fault> = reasons.map(Fault::from).collect();
        Fault::sort(&mut reasons);
        let hints = self.hints().iter().cloned().reduce(|hints, hint| hints.then("\n").then(hint));
        let own = own.map(Fault::from);
        let help = hints.or_else(|| own.as_ref()?.help.clone());
        let mut fault = own.unwrap_or_else(|| Fault::new(self.code().to_owned(), self.to_string()));
        fault.code = self.code().to_owned().into();
        (fault.help(help), reasons)
    }
}

impl Diagnostic for Error {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(Error::code(self)))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.faults().0.help.map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.blockers().iter().map(|blocker| blocker as &dyn Diagnostic)))
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

/// Returns `None` if the name matches nothing or several things.
pub(crate) fn if_any<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_about_request() => Ok(None),
        Err(error) => Err(error),
    }
}
