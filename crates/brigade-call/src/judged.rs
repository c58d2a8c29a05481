//! A judge's answer about a call.

use brigade_core::{Number, RunId};
use serde::{Deserialize, Serialize};

/// The answer of a worker that judges calls, as records have it.
///
/// A judge never approves a call. If a call passes, the rules of the policy decide as they do without a judge;
/// otherwise a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schemas", schemars(rename = "Judged"))]
pub struct Judgement {
    /// The id of the worker.
    pub worker: String,
    /// The run of the worker; absent if it was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// How well the call fits, from 0 to 1; absent if the worker gave no score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Number>,
    /// The confidence of the worker, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Number>,
    /// The reasoning, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The lowest score that passes.
    pub threshold: Number,
    /// Whether the call passed.
    pub passed: bool,
    /// Why the score is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
