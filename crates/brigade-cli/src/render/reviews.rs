//! Decisions about several calls.

use brigade::core::IdPrefix;
use brigade::paths::CALLS;
use brigade::{Call, Diagnosis, Error, Report, SchemaId, Workspace};
use serde::{Deserialize, Serialize};

use super::Words;
use super::failure::{diagnosis, unsecret};

/// `call approve`, `call reject` and `call hold` with several calls.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct ReviewsReport {
    #[serde(deserialize_with = "ReviewsReport::read_schema")]
    schema: SchemaId,
    target: String,
    calls_path: String,
    /// The result for each call, in the order of the command line.
    calls: Vec<Reviewed>,
}

impl Report for ReviewsReport {
    const SCHEMA: SchemaId = brigade::ReviewReport::SCHEMA;
}

impl ReviewsReport {
    pub(crate) fn new(workspace: &Workspace, calls: Vec<Reviewed>) -> ReviewsReport {
        ReviewsReport {
            schema: ReviewsReport::SCHEMA,
            target: workspace.root().display().to_string(),
            calls_path: workspace.root().join(CALLS).display().to_string(),
            calls,
        }
    }
}

/// The result of one decision of several.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Reviewed {
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

impl Reviewed {
    /// Returns the row of a result. `id` is the id as it was typed.
    pub(crate) fn of(id: &IdPrefix, result: Result<brigade::ReviewReport, Error>, words: &Words) -> Reviewed {
        match result {
            Ok(report) => Reviewed::Done { call: Box::new(report.call) },
            Err(error) => Reviewed::Refused {
                id: unsecret(id.as_str()),
                error: detailed(&error, words),
                candidates: error.could_be().to_vec(),
                diagnosis: diagnosis(&error, None, words),
            },
        }
    }
}

/// Returns an error with its reasons and hints as one text.
fn detailed(error: &Error, words: &Words) -> String {
    let reasons = error.blockers().iter().map(ToString::to_string);
    let reasons: Vec<String> = reasons.filter(|reason| *reason != error.to_string()).collect();
    let text = error.with_hints(words);
    if reasons.is_empty() { text } else { format!("{text}: {}", reasons.join("; ")) }
}
