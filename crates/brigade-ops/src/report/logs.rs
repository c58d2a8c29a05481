//! Documents about the logs of runs.

use brigade_macros::document;
use brigade_runtime::LogStream;

/// `run show --log`: the end of a log.
#[document("brigade.run-log.v1")]
pub struct RunLogReport {
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
