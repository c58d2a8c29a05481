//! Errors: what went wrong, every reason, and what to do next.

use brigade::core::Json;
use brigade::redact::Redactor;
use brigade::{Error, ErrorKind, Exit};
use serde::Serialize;

use super::blockers;
use super::next::hint_text;
use super::page::Page;
use super::refusals;
use super::text::{Text, Tone};

/// The document of a command that could not do its job.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorReport {
    schema: &'static str,
    error: String,
    kind: &'static str,
    exit_code: u8,
    blockers: Vec<String>,
    blocker_details: Vec<Json>,
    candidates: Vec<String>,
    hints: Vec<String>,
}

impl ErrorReport {
    /// Makes the document of an error.
    pub(crate) fn of(error: &Error) -> ErrorReport {
        ErrorReport {
            blockers: error.blockers().iter().map(ToString::to_string).collect(),
            blocker_details: error.blockers().iter().map(blockers::detail).collect(),
            candidates: error.could_be().to_vec(),
            ..ErrorReport::new(
                unsecret(&error.to_string()),
                error.kind().as_str(),
                error.exit(),
                error.hints().iter().map(|hint| unsecret(&hint_text(hint))).collect(),
            )
        }
    }

    /// Makes the document of a command line that cannot be understood.
    pub(crate) fn misuse(message: String, hints: Vec<String>) -> ErrorReport {
        ErrorReport::new(message, ErrorKind::Usage.as_str(), Exit::Usage, hints)
    }

    /// Makes the document of a mistake of ours.
    pub(crate) fn bug(message: String) -> ErrorReport {
        ErrorReport::new(message, "bug", Exit::Bug, Vec::new())
    }

    fn new(error: String, kind: &'static str, exit: Exit, hints: Vec<String>) -> ErrorReport {
        ErrorReport {
            schema: "brigade.error.v1",
            error,
            kind,
            exit_code: exit.code(),
            blockers: Vec::new(),
            blocker_details: Vec::new(),
            candidates: Vec::new(),
            hints,
        }
    }
}

/// Masks secrets in a text that may repeat what was typed.
fn unsecret(text: &str) -> String {
    Redactor::new(&[]).redact_str(text)
}

/// Puts an error on a page.
pub(crate) fn show_error(error: &Error, page: &mut Page) {
    refusals::show_before(error, page);
    let sentence = unsecret(&error.to_string());
    match error.refusal().and_then(refusals::subject) {
        Some(subject) => page.error(&format!("{subject}: {sentence}")),
        None => page.error(&sentence),
    }
    // A reason in the words of the error says nothing more.
    let more = error.blockers().iter().filter(|blocker| blocker.message != sentence);
    let details: Vec<Json> = more.map(blockers::detail).collect();
    blockers::show(&details, &mut page.trouble);
    candidates(error.could_be(), page);
    for hint in error.hints() {
        page.trouble.line(Text::new(Tone::Faint, "hint: ").then(Tone::Plain, &unsecret(&hint_text(hint))));
    }
    if let Some(refusal) = error.refusal() {
        refusals::show_behind(error, refusal, page);
    }
}

/// Lists what could have been meant.
pub(crate) fn candidates(candidates: &[String], page: &mut Page) {
    if !candidates.is_empty() {
        page.trouble.line("it could be:");
    }
    for candidate in candidates {
        page.trouble.indented(2, Text::new(Tone::Accent, candidate));
    }
}
