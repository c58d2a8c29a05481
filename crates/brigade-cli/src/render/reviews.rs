//! Decisions about several calls.

use brigade::core::IdPrefix;
use brigade::policy::Diagnosis;
use brigade::records::StoreKind;
use brigade::report::SchemaId;
use brigade::{Call, Error, Report, Workspace};
use serde::{Deserialize, Serialize};

use super::CommandWords;
use super::failure::{diagnosis, unsecret};

/// `call approve`, `call reject` and `call hold` with several calls.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct ReviewsReport {
    #[serde(deserialize_with = "ReviewsReport::read_schema")]
    schema: SchemaId,
    target: String,
    calls_path: String,
    store: StoreKind,
    /// The result for each call, in the order of the command line.
    calls: Vec<ReviewOutcome>,
}

impl Report for ReviewsReport {
    const SCHEMA: SchemaId = brigade::report::ReviewReport::SCHEMA;
}

impl ReviewsReport {
    pub(crate) fn new(workspace: &Workspace, calls: Vec<ReviewOutcome>) -> ReviewsReport {
        let (calls_path, store) = workspace.calls_path();
        let target = workspace.root().display().to_string();
        ReviewsReport { schema: ReviewsReport::SCHEMA, target, calls_path, store, calls }
    }
}

/// The result of one decision of several.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
#[cfg_attr(feature = "schemas", schemars(rename = "Reviewed"))]
pub(crate) enum ReviewOutcome {
    /// The call after the decision.
    Done { call: Box<Call> },
    /// Why nothing was decided.
    Refused {
        id: String,
        error: String,
        /// What could be meant, when more than one call could.
        candidates: Vec<String>,
        /// Code, places and help.
        #[serde(flatten)]
        diagnosis: Diagnosis,
    },
}

impl ReviewOutcome {
    /// Returns the row of a result. `id` is the id as it was typed.
    pub(crate) fn from_result(
        id: &IdPrefix,
        result: Result<brigade::report::ReviewReport, Error>,
        words: &CommandWords,
    ) -> ReviewOutcome {
        match result {
            Ok(report) => ReviewOutcome::Done { call: Box::new(report.call) },
            Err(error) => ReviewOutcome::Refused {
                id: unsecret(id.as_str()),
                error: error_text(&error, words),
                candidates: error.failure().could_be().to_vec(),
                diagnosis: diagnosis(&error, None, words),
            },
        }
    }
}

/// Formats an error with its reasons and hints as one text.
fn error_text(error: &Error, words: &CommandWords) -> String {
    let reasons = error.blockers().iter().map(ToString::to_string);
    let reasons: Vec<String> = reasons.filter(|reason| *reason != error.to_string()).collect();
    let text = error.failure().with_hints(words);
    if reasons.is_empty() { text } else { format!("{text}: {}", reasons.join("; ")) }
}
