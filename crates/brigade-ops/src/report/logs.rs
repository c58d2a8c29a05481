//! Documents about the logs of runs.

use brigade_runtime::LogStream;
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};

/// `run show --log`: the end of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunLogReport {
    /// The schema id.
    #[serde(deserialize_with = "RunLogReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The run.
    pub run_id: String,
    /// Whether the run is still running, so the log may grow.
    pub running: bool,
    /// The stream.
    pub stream: LogStream,
    /// The log.
    pub path: String,
    /// The length of the log, in bytes.
    pub bytes: u64,
    /// At most the last MiB of the log, without secrets. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Number of bytes of the log before the text.
    pub omitted_bytes: u64,
}

impl Report for RunLogReport {
    const SCHEMA: &'static str = "brigade.run-log.v1";
}
