//! Errors, with their blockers and next steps.

use brigade::gateway::SourceFiles;
use brigade::policy::{BlockerDetail, Diagnosis, Fault};
use brigade::redact::Redactor;
use brigade::report::SchemaId;
use brigade::{Error, ErrorKind, Exit, Report};
use serde::{Deserialize, Serialize};

use super::blockers;
use super::fault;
use super::next::CommandWords;
use super::page::Page;
use super::refusals;
use super::text::{Text, Tone};

/// Any command that could not do its job, and a command line that is not understood.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct ErrorReport {
    #[serde(deserialize_with = "ErrorReport::read_schema")]
    schema: SchemaId,
    /// What went wrong, in one sentence.
    error: String,
    /// `not-found`, `ambiguous`, `refused`, `invalid-config`, `usage`, `environment` or `bug`.
    kind: String,
    /// The exit code.
    exit_code: u8,
    /// Every reason, as sentences.
    blockers: Vec<String>,
    /// The same reasons with code, place and the way to change them.
    blocker_details: Vec<BlockerDetail>,
    /// What could be meant, when more than one thing could.
    candidates: Vec<String>,
    /// What to do next.
    hints: Vec<String>,
    #[serde(flatten)]
    diagnosis: Diagnosis,
}

impl Report for ErrorReport {
    const SCHEMA: SchemaId = "brigade.error.v1";
}

/// Returns the members that every document of a failure has.
pub(crate) fn diagnosis(error: &Error, sources: Option<&SourceFiles>, words: &CommandWords) -> Diagnosis {
    let (fault, reasons) = error.failure().faults();
    // Use the same code and help as in text.
    let (joined, _) = shown_faults(error);
    let (code, help) = (joined.code, joined.help);
    let help = help.map(|help| unsecret(&words.hint(&help)));
    let label = |mut fault: Fault| {
        if let Some(sources) = sources {
            sources.look_up(&mut fault);
        }
        fault.label()
    };
    let labels = std::iter::once(fault).chain(reasons).filter_map(label).collect();
    Diagnosis { code: code.into_owned(), labels, help }
}

impl ErrorReport {
    /// Returns the document of an error.
    pub(crate) fn from_error(error: &Error, diagnosis: Diagnosis, words: &CommandWords) -> ErrorReport {
        ErrorReport {
            diagnosis,
            blockers: error.blockers().iter().map(ToString::to_string).collect(),
            blocker_details: error
                .blockers()
                .iter()
                .map(|blocker| blockers::detail(blocker, words))
                .collect(),
            candidates: error.failure().could_be().to_vec(),
            ..ErrorReport::new(
                unsecret(&error.to_string()),
                error.kind().as_str(),
                error.exit(),
                error.hints().iter().map(|hint| unsecret(&words.hint(hint))).collect(),
            )
        }
    }

    /// Returns the document of a usage error.
    pub(crate) fn misuse(message: String, hints: Vec<String>) -> ErrorReport {
        ErrorReport::new(message, ErrorKind::Usage.as_str(), Exit::Usage, hints)
    }

    /// Returns the document of a bug.
    pub(crate) fn bug(message: String) -> ErrorReport {
        ErrorReport::new(message, "bug", Exit::Bug, Vec::new())
    }

    fn new(error: String, kind: &'static str, exit: Exit, hints: Vec<String>) -> ErrorReport {
        let help = (!hints.is_empty()).then(|| hints.join("\n"));
        let diagnosis = Diagnosis { code: kind.to_owned(), labels: Vec::new(), help };
        ErrorReport {
            schema: ErrorReport::SCHEMA,
            error,
            kind: kind.to_owned(),
            exit_code: exit.code(),
            blockers: Vec::new(),
            blocker_details: Vec::new(),
            candidates: Vec::new(),
            hints,
            diagnosis,
        }
    }
}

/// Masks secrets in a text that may repeat the command line.
pub(crate) fn unsecret(text: &str) -> String {
    Redactor::new(&[]).redact_str(text)
}

/// Adds an error to a page, with its blockers and candidates.
pub(crate) fn show_error(error: &Error, page: &mut Page) {
    if let Some(report) = error.refusal().and_then(refusals::whole_report) {
        return report.show(page);
    }
    refusals::show_before(error, page);
    let (mut fault, reasons) = shown_faults(error);
    if let Some(subject) = error.refusal().and_then(refusals::subject) {
        fault.message = format!("{subject}: {}", fault.message);
    }
    fault.message = unsecret(&fault.message);
    page.trouble.fault(fault);
    fault::list(reasons, &mut page.trouble);
    candidates(error.failure().could_be(), page);
    if let Some(refusal) = error.refusal() {
        refusals::show_behind(error, refusal, page);
    }
}

/// Returns the error as a fault, joined with its only reason, or all reasons separately.
fn shown_faults(error: &Error) -> (Fault, Vec<Fault>) {
    let (fault, mut reasons) = error.failure().faults();
    match reasons.pop() {
        // If there are several blockers, the error keeps its own words.
        Some(only) if error.blockers().len() == 1 => (with_only_reason(fault, only), reasons),
        last => {
            reasons.extend(last);
            (fault, reasons)
        }
    }
}

/// Joins an error and its only blocker, which has the more specific code, place and help.
fn with_only_reason(error: Fault, mut reason: Fault) -> Fault {
    reason.message = if error.message.contains(&reason.message) {
        error.message
    } else {
        format!("{}: {}", error.message, reason.message)
    };
    reason.help = match (reason.help, error.help) {
        (Some(own), Some(other)) if own != other => Some(own.then("\n").then(other)),
        (own, other) => own.or(other),
    };
    reason
}

/// Lists the candidates of an ambiguous id.
pub(crate) fn candidates(candidates: &[String], page: &mut Page) {
    if !candidates.is_empty() {
        page.trouble.line("candidates:");
    }
    for candidate in candidates {
        page.trouble.indented(2, Text::new(Tone::Accent, candidate));
    }
}
