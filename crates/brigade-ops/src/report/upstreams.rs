//! The record of a kept server.

use std::collections::BTreeMap;

use brigade_call::{ProgramBinding, RunObserved, SandboxUsed};
use brigade_core::{Fingerprint, Json, Timestamp};
use brigade_macros::document;

/// One start of an MCP server that is kept for the calls of agents: `.brigade/tools/runtime/upstreams/ID.json`.
#[document("brigade.upstream-start.v1")]
pub struct UpstreamStart {
    /// The id of the start, which receipts of its calls name.
    pub id: String,
    /// The name of the server in the catalog.
    pub server_id: String,
    /// The agent whose calls it serves; `null` if agents share it.
    pub agent: Option<String>,
    /// The process; `null` until it runs.
    pub pid: Option<u32>,
    /// The process with its start time and boot, so that it is not confused with another.
    pub process: Option<String>,
    /// The command, without secrets.
    pub command: String,
    /// Its working directory.
    pub cwd: String,
    /// The program and its fingerprint.
    pub program: ProgramBinding,
    /// The files that it was started with.
    pub files: BTreeMap<String, Fingerprint>,
    /// The tools that it serves.
    pub tools: Vec<String>,
    /// Their effects, which its sandbox permits.
    pub effects: Vec<String>,
    /// Patterns of the files that it may read as data.
    #[serde(default)]
    pub data: Vec<String>,
    /// Labels of the variables that it gets.
    pub env_labels: Vec<String>,
    /// Its sandbox; `null` until it runs.
    pub sandbox: Option<SandboxUsed>,
    /// When it was started.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub started_at: Timestamp,
    /// When its process tree had ended; `null` while it runs, and if the gateway was killed.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub ended_at: Option<Timestamp>,
    /// Why it ended; `null` if it was no longer needed.
    pub failure: Option<String>,
    /// How its process ended, as text.
    pub exit: Option<String>,
    /// The revision of the protocol.
    pub protocol_version: Option<String>,
    /// Name and version, as reported by the server.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "brigade_core::json::any_value"))]
    pub server: Json,
    /// Its observation, if it was observed.
    pub observed: Option<RunObserved>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// The log of its standard output, with bound values masked.
    pub stdout_log_path: String,
    /// The log of its standard error.
    pub stderr_log_path: String,
}
