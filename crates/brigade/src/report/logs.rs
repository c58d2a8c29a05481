//! Documents about the logs of runs.

use serde::Serialize;

use super::Report;

/// `run show --log`: the end of a log.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunLogReport {
    /// The schema id.
    pub schema: &'static str,
    /// The workspace.
    pub target: String,
    /// The run.
    pub run_id: String,
    /// Whether it is still running, so that the log may grow.
    pub running: bool,
    /// Which log: `stdout` or `stderr`.
    pub stream: &'static str,
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
