//! What a judge said about a call.

use brigade_core::{Number, RunId};
use serde::{Deserialize, Serialize};

/// What a worker that judges calls said about one, as records have it.
///
/// A judge never approves by itself. If it passes a call, the rules of the policy decide as for a call that nobody
/// judges; otherwise a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schemas", schemars(rename = "Judged"))]
pub struct Judgement {
    /// The id of the worker.
    pub worker: String,
    /// The run of the worker; absent if it was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// How well the call fits, from 0 to 1; absent if the worker did not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Number>,
    /// How sure the worker is, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Number>,
    /// Why, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The least score that passes.
    pub threshold: Number,
    /// Whether the call passed.
    pub passed: bool,
    /// Why there is no score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
