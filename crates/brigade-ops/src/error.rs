//! The error of operations.

use std::fmt;

use brigade_call::{Checkpoint, StoreKind};
use brigade_core::{ErrorCode, Exit, Hint};
use brigade_policy::{Blocker, Failure, FailureReport};
use brigade_redact::Redactor;
use brigade_workspace::WorkspaceContext;
use miette::Diagnostic;

use crate::refusal::{Refusal, WorkspaceRefusal};
use crate::report::RuntimeStopReport;

pub use brigade_core::ErrorKind;

/// Why an operation failed, and what to do next.
///
/// A refusal is also an error. Kind and reasons, which say why, are those of its [`Failure`], and [`Error::refusal`]
/// has the data of the failure document. The cause, if any, is the `source()`.
#[derive(Debug)]
pub struct Error {
    failure: Failure,
    refused: Option<Box<WorkspaceRefusal>>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.failure)
    }
}

impl<E: Into<Failure>> From<E> for Error {
    fn from(failure: E) -> Error {
        Error { failure: failure.into(), refused: None }
    }
}

impl Error {
    /// Creates an error from one sentence; see [`Failure::new`].
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Failure::new(kind, message).into()
    }

    /// Returns the failure: message, kind, reasons, candidates and hints.
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.failure.kind()
    }

    /// Returns the stable code; see [`Failure::code`].
    pub fn code(&self) -> ErrorCode {
        self.failure.code()
    }

    /// Returns the reasons; empty if the message is complete.
    pub fn blockers(&self) -> &[Blocker] {
        self.failure.blockers()
    }

    /// Returns the hints for what to do next.
    pub fn hints(&self) -> &[Hint] {
        self.failure.hints()
    }

    /// Returns whether only the request is wrong, so that files and records need not be checked.
    pub fn is_about_request(&self) -> bool {
        self.failure.is_about_request()
    }

    /// Sets the stable code; see [`Failure::coded`].
    #[must_use]
    pub fn coded(self, code: ErrorCode) -> Error {
        Error { failure: self.failure.coded(code), ..self }
    }

    /// Adds a hint; see [`Failure::hint`].
    #[must_use]
    pub fn hint(self, hint: impl Into<Hint>) -> Error {
        Error { failure: self.failure.hint(hint), ..self }
    }

    /// Adds the reasons.
    #[must_use]
    pub fn because(self, blockers: impl IntoIterator<Item = Blocker>) -> Error {
        Error { failure: self.failure.because(blockers), ..self }
    }

    /// Masks values in all texts; see [`Failure::masked`].
    #[must_use]
    pub fn masked(self, redactor: &Redactor) -> Error {
        Error { failure: self.failure.masked(redactor), ..self }
    }

    /// Adds the candidates of an ambiguous name.
    #[must_use]
    pub fn candidates(self, candidates: impl IntoIterator<Item = String>) -> Error {
        Error { failure: self.failure.candidates(candidates), ..self }
    }

    /// Adds the refusal, unless an inner step added one.
    #[must_use]
    pub fn refusing(mut self, context: &WorkspaceContext, refusal: Refusal) -> Error {
        // A file error is not a refusal.
        if self.kind() != ErrorKind::Environment && self.refused.is_none() {
            let (target, calls_path, store) = (context.target(), context.calls_path(), context.store_kind());
            self.refused = Some(Box::new(WorkspaceRefusal { target, calls_path, store, refusal }));
        }
        self
    }

    /// Adds the refusal if the error is about the request. Errors of files or the queue stay as they are.
    #[must_use]
    pub fn missing(self, context: &WorkspaceContext, refusal: Refusal) -> Error {
        if self.is_about_request() { self.refusing(context, refusal) } else { self }
    }

    /// Creates the error of an operation that was not done. A refusal carries the report of the operation.
    pub fn not_done<T>(
        context: &WorkspaceContext,
        not_done: FailureReport<T>,
        refusal: impl FnOnce(T) -> Refusal,
    ) -> Error {
        let error = Error::from(not_done.failure);
        match not_done.report {
            Some(report) => error.refusing(context, refusal(report)),
            None => error,
        }
    }

    /// Turns the refusal of a run into the refusal of a resume.
    pub(crate) fn resuming(mut self, checkpoint: Box<Checkpoint>) -> Error {
        if let Some(refused) = &mut self.refused
            && let Refusal::Run(run) = &mut refused.refusal
        {
            refused.refusal = Refusal::Resume { checkpoint: Some(checkpoint), run: std::mem::take(run) };
        }
        self
    }

    /// Turns the refusal of a stop or start into the refusal of a restart.
    pub(crate) fn restarting(
        mut self,
        context: &WorkspaceContext,
        runtime_id: String,
        stop: Option<RuntimeStopReport>,
    ) -> Error {
        let step = self.refused.take().map(|refused| Box::new(refused.refusal));
        self.refusing(context, Refusal::RuntimeRestart { runtime_id, stop: stop.map(Box::new), step })
    }

    /// Returns the data of the failure document, if the operation was refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refused.as_ref().map(|refused| &refused.refusal)
    }

    /// Returns the workspace path of a refusal.
    pub fn target(&self) -> Option<&str> {
        self.refused.as_ref().map(|refused| refused.target.as_str())
    }

    /// Returns where the calls of a refusal are stored, and in what.
    pub fn calls_path(&self) -> Option<(&str, StoreKind)> {
        self.refused.as_ref().map(|refused| (refused.calls_path.as_str(), refused.store))
    }

    /// Returns the exit code.
    pub fn exit(&self) -> Exit {
        match self.kind() {
            _ if self.code() == ErrorCode::ServiceBusy => Exit::Busy,
            _ if self.code() == ErrorCode::JournalLost => Exit::Paused,
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Environment => Exit::Environment,
            _ => Exit::Refused,
        }
    }
}

impl Diagnostic for Error {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Diagnostic::code(&self.failure)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.failure.help()
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        self.failure.related()
    }
}

/// Returns `None` if the name matches nothing or several things.
pub(crate) fn ok_if_found<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_about_request() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::{NextStep, OperationError as _};
    use brigade_fs::{FsError, FsErrorKind};

    use super::*;
    use crate::refusal::RunRefusal;
    use crate::testing::Bench;

    fn refused() -> Error {
        Error::new(ErrorKind::Refused, "no")
    }

    #[test]
    fn the_exit_code_follows_the_kind_and_two_codes() {
        for (error, exit) in [
            (refused(), Exit::Refused),
            (Error::new(ErrorKind::NotFound, "no"), Exit::Refused),
            (Error::new(ErrorKind::Ambiguous, "no"), Exit::Refused),
            (Error::new(ErrorKind::InvalidConfig, "no"), Exit::Refused),
            (Error::new(ErrorKind::Usage, "no"), Exit::Usage),
            (Error::new(ErrorKind::Environment, "no"), Exit::Environment),
            (refused().coded(ErrorCode::ServiceBusy), Exit::Busy),
            (Error::new(ErrorKind::Environment, "no").coded(ErrorCode::JournalLost), Exit::Paused),
        ] {
            assert_eq!(error.exit(), exit, "{error:?}");
        }
    }

    #[test]
    fn the_first_refusal_stays() {
        let bench = Bench::new(&[]);
        let error =
            refused().refusing(&bench.context, Refusal::Tool).refusing(&bench.context, Refusal::RunShow);
        assert!(matches!(error.refusal(), Some(Refusal::Tool)));
        assert_eq!(error.target(), Some("/memory"));
        assert_eq!(error.calls_path(), Some(("/memory/.brigade/tools/calls.jsonl", StoreKind::Files)));
        assert_eq!(
            (refused().refusal().is_none(), refused().target(), refused().calls_path()),
            (true, None, None)
        );
    }

    #[test]
    fn a_file_error_is_not_a_refusal() {
        let bench = Bench::new(&[]);
        let failed = || Error::from(FsError::new("read", "x", FsErrorKind::NotAFile));
        assert_eq!(failed().kind(), FsError::new("read", "x", FsErrorKind::NotAFile).kind());
        let disk = Error::new(ErrorKind::Environment, "the disk is full");
        assert!(disk.refusing(&bench.context, Refusal::Tool).refusal().is_none());
        // Only an error about the request means that nothing was found.
        assert!(refused().missing(&bench.context, Refusal::Tool).refusal().is_some());
        assert!(ok_if_found::<()>(Err(refused())).unwrap().is_none());
        assert!(ok_if_found::<()>(Err(Error::new(ErrorKind::Environment, "disk"))).is_err());
        assert_eq!(ok_if_found(Ok(1)).unwrap(), Some(1));
    }

    #[test]
    fn the_refusal_of_a_run_becomes_that_of_its_resume() {
        let bench = Bench::new(&[]);
        let checkpoint =
            || Box::new(Checkpoint::new("ask".parse().unwrap(), "call-1".parse().unwrap(), "run-1"));
        let run = RunRefusal { changed: vec!["source".to_owned()], ..RunRefusal::default() };
        let error = refused().refusing(&bench.context, Refusal::Run(run)).resuming(checkpoint());
        let Some(Refusal::Resume { checkpoint: Some(_), run }) = error.refusal() else { panic!("{error:?}") };
        assert_eq!(run.changed, ["source"]);
        let other = refused().refusing(&bench.context, Refusal::Tool).resuming(checkpoint());
        assert!(matches!(other.refusal(), Some(Refusal::Tool)));
    }

    #[test]
    fn a_step_of_a_restart_is_kept_inside() {
        let bench = Bench::new(&[]);
        let inner = refused().refusing(&bench.context, Refusal::Tool);
        let error = inner.restarting(&bench.context, "db".to_owned(), None);
        let Some(Refusal::RuntimeRestart { runtime_id, stop: None, step: Some(step) }) = error.refusal()
        else {
            panic!("{error:?}")
        };
        assert_eq!((runtime_id.as_str(), matches!(**step, Refusal::Tool)), ("db", true));
    }

    #[test]
    fn an_operation_that_was_not_done_keeps_its_report() {
        let bench = Bench::new(&[]);
        let failure = || Failure::new(ErrorKind::Refused, "no").hint(NextStep::Fix);
        let with = FailureReport::refused(failure(), ());
        let error = Error::not_done(&bench.context, with, |()| Refusal::Tool);
        assert!(matches!(error.refusal(), Some(Refusal::Tool)));
        let without = FailureReport { failure: failure(), report: None };
        let error = Error::not_done(&bench.context, without, |()| Refusal::Tool);
        assert_eq!((error.refusal().is_none(), error.hints().len()), (true, 1));
    }
}
