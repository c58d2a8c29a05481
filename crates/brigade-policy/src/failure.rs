//! Failures of operations: message, kind, code, reasons, candidates and next steps.

use std::fmt;

use brigade_core::text::escape_terminal;
use brigade_core::{ConfigIssue, ErrorCode, ErrorKind, Hint, OperationError, Place, StepFormatter, closest};
use brigade_redact::Redactor;
use miette::Diagnostic;

use crate::{Blocker, ErrorLine, Fault};

/// Why an operation failed, and what to do next.
///
/// [`Failure::kind`] and [`Failure::blockers`] say why. The cause, if any, is the `source()`.
#[derive(Debug)]
pub struct Failure(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    code: Option<ErrorCode>,
    message: String,
    blockers: Vec<Blocker>,
    candidates: Vec<String>,
    hints: Vec<Hint>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    is_about_request: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl<E: OperationError + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        let mut failure = Failure::new(error.kind(), error.to_string());
        failure.0.code = error.code();
        failure.0.hints = error.hints();
        failure.0.is_about_request = error.is_about_request();
        failure.0.source = Some(Box::new(error));
        failure
    }
}

impl Failure {
    /// Creates a failure from one sentence, in lower case, without a final period.
    ///
    /// Text that looks like a secret is masked, because it may have been typed instead of an id.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Failure {
        Failure(Box::new(Inner {
            kind,
            code: None,
            message: Redactor::new(&[]).for_output().redact_str(&message.into()),
            blockers: Vec::new(),
            candidates: Vec::new(),
            hints: Vec::new(),
            source: None,
            is_about_request: true,
        }))
    }

    /// Creates the failure of a configuration file with these errors. Each has its place and what to do.
    pub fn invalid_config(code: ErrorCode, file: &str, issues: &[ConfigIssue]) -> Failure {
        let message = match issues.len() {
            1 => format!("{file} has an error"),
            count => format!("{file} has {count} errors"),
        };
        let reason = |issue: &ConfigIssue| {
            let fault = Fault::from(issue);
            let mut blocker = Blocker::new(code, fault.message).at(issue.place.clone());
            (blocker.field, blocker.hint) = (issue.field.clone(), issue.hint.clone());
            blocker
        };
        Failure::new(ErrorKind::InvalidConfig, message).coded(code).because(issues.iter().map(reason))
    }

    /// Sets the stable code. The default is the code of the first reason, or of the kind.
    #[must_use]
    pub fn coded(mut self, code: ErrorCode) -> Failure {
        self.0.code = Some(code);
        self
    }

    /// Adds a hint: the next command, or what to change.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Failure {
        self.0.hints.push(hint.into().map_texts(|text| Redactor::new(&[]).for_output().redact_str(text)));
        self
    }

    /// Adds the reasons.
    #[must_use]
    pub fn because(mut self, blockers: impl IntoIterator<Item = Blocker>) -> Failure {
        self.0.blockers.extend(blockers);
        self
    }

    /// Masks values in all texts, for readers who may not see them.
    #[must_use]
    pub fn masked(mut self, redactor: &Redactor) -> Failure {
        let mask = |text: &mut String| *text = redactor.redact_str(text);
        mask(&mut self.0.message);
        self.0.candidates.iter_mut().for_each(mask);
        for blocker in &mut self.0.blockers {
            mask(&mut blocker.message);
            blocker.field.iter_mut().for_each(mask);
            blocker.hint = blocker.hint.take().map(|hint| hint.map_texts(|text| redactor.redact_str(text)));
        }
        let hints = std::mem::take(&mut self.0.hints).into_iter();
        self.0.hints = hints.map(|hint| hint.map_texts(|text| redactor.redact_str(text))).collect();
        self
    }

    /// Adds the candidates of an ambiguous name.
    #[must_use]
    pub fn candidates(mut self, candidates: impl IntoIterator<Item = String>) -> Failure {
        self.0.candidates.extend(candidates);
        self
    }

    /// Creates the failure of a name that matches several things.
    pub fn ambiguous(what: &str, name: &str, candidates: Vec<String>) -> Failure {
        let message = format!("`{}` could be more than one {what}", escape_terminal(name));
        Failure::new(ErrorKind::Ambiguous, message)
            .candidates(candidates)
            .hint("type more characters of the id")
    }

    /// Adds the most similar known word as a hint, if one is similar enough.
    #[must_use]
    pub fn near<'a>(self, word: &str, known: impl Iterator<Item = &'a str>) -> Failure {
        match closest(word, known) {
            Some(near) => self.hint(format!("did you mean `{}`?", escape_terminal(near))),
            None => self,
        }
    }

    /// Returns whether only the request is wrong, so that files and records need not be checked.
    pub fn is_about_request(&self) -> bool {
        self.0.kind != ErrorKind::Environment && self.0.is_about_request
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the stable code.
    ///
    /// Without an explicit code, returns the code of the reason that its message repeats, or of its kind.
    pub fn code(&self) -> ErrorCode {
        let of_reason = || self.reason_itself()?.code.parse().ok();
        self.0.code.or_else(of_reason).unwrap_or(self.0.kind.code())
    }

    /// Returns the code as documents have it: that of the reason may be one of an issue or of a fault in a PRD.
    pub fn code_word(&self) -> &str {
        match (self.0.code, self.reason_itself()) {
            (None, Some(reason)) => &reason.code,
            _ => self.code().as_str(),
        }
    }

    /// Returns the reason that the error message repeats.
    fn reason_itself(&self) -> Option<&Blocker> {
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

    /// Returns the message followed by its hints, for documents with one text for both. Hints that are steps are left
    /// out, because documents list steps separately.
    pub fn with_hints(&self, speller: &dyn StepFormatter) -> String {
        let words = |hint: &Hint| hint.clone().spelled(speller, None).to_string();
        let told = self.0.hints.iter().filter(|hint| hint.step().is_none());
        let hints: Vec<String> = told.map(words).collect();
        if hints.is_empty() {
            return self.0.message.clone();
        }
        format!("{} ({})", self.0.message, hints.join("; "))
    }

    /// Returns the error for reports, with its hints spelled by `speller`.
    pub fn line(&self, speller: &dyn StepFormatter) -> ErrorLine {
        ErrorLine::with(self.with_hints(speller), self.faults().0)
    }

    /// Returns the error as a fault, and its reasons as faults, sorted by file and line.
    ///
    /// A reason with the same message is not repeated; the error gets its place.
    pub fn faults(&self) -> (Fault, Vec<Fault>) {
        let own = self.reason_itself();
        let reasons =
            self.blockers().iter().filter(|reason| own.is_none_or(|own| !std::ptr::eq(own, *reason)));
        let mut reasons: Vec<Fault> = reasons.map(Fault::from).collect();
        Fault::sort(&mut reasons);
        let hints = self.hints().iter().cloned().reduce(|hints, hint| hints.then("\n").then(hint));
        let own = own.map(Fault::from);
        let help = hints.or_else(|| own.as_ref()?.help.clone());
        let mut fault = own.unwrap_or_else(|| Fault::new(self.code_word().to_owned(), self.to_string()));
        fault.code = self.code_word().to_owned().into();
        (fault.help(help), reasons)
    }
}

/// Why an operation was not done, with the report of a refusal.
#[derive(Debug)]
pub struct FailureReport<T> {
    /// The failure.
    pub failure: Failure,
    /// The report of a refusal: what would have been done, with every reason. `None` if the operation failed earlier.
    pub report: Option<T>,
}

impl<T> FailureReport<T> {
    /// Creates the refusal of an operation.
    pub fn refused(failure: Failure, report: T) -> FailureReport<T> {
        FailureReport { failure, report: Some(report) }
    }

    /// Converts the report of the refusal.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> FailureReport<U> {
        FailureReport { failure: self.failure, report: self.report.map(change) }
    }
}

impl<T, E: Into<Failure>> From<E> for FailureReport<T> {
    fn from(failure: E) -> FailureReport<T> {
        FailureReport { failure: failure.into(), report: None }
    }
}

impl<T> fmt::Display for FailureReport<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl<T: fmt::Debug> std::error::Error for FailureReport<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failure.source()
    }
}

impl Diagnostic for Failure {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code_word()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.faults().0.help.map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.blockers().iter().map(|blocker| blocker as &dyn Diagnostic)))
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("it failed")]
    struct ExplainedFailure {
        is_about_request: bool,
    }

    impl OperationError for ExplainedFailure {
        fn kind(&self) -> ErrorKind {
            ErrorKind::Refused
        }

        fn is_about_request(&self) -> bool {
            self.is_about_request
        }
    }

    #[test]
    fn a_failure_keeps_its_cause() {
        for is_about_request in [true, false] {
            let failure = Failure::from(ExplainedFailure { is_about_request });
            assert_eq!(failure.is_about_request(), is_about_request);
            assert_eq!(failure.source().map(ToString::to_string).as_deref(), Some("it failed"));
        }
        assert!(Failure::new(ErrorKind::NotFound, "nothing").is_about_request());
        assert!(!Failure::new(ErrorKind::Environment, "no disk").is_about_request());
    }
}
