//! Documents about the logs of runs.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::{Report, SchemaId};

/// `run show --log`: the end of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunLogReport {
    /// The schema id.
    #[serde(deserialize_with = "RunLogReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The run.
    pub run_id: String,
    /// Whether it is still running, so that the log may grow.
    pub running: bool,
    /// Which log: `stdout` or `stderr`.
    pub stream: Cow<'static, str>,
    /// The log.
    pub path: String,
    /// How long the log is, in bytes.
    pub bytes: u64,
    /// The log without secrets, at most its last MiB; what is no UTF-8 is replaced.
    pub text: String,
    /// How many bytes of the log are too far from its end to be in the text.
    pub omitted_bytes: u64,
}

impl Report for RunLogReport {
    const SCHEMA: &'static str = "brigade.run-log.v1";
}
