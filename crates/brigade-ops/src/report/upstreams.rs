//! The record of a kept server.

use std::collections::BTreeMap;

use brigade_call::{ProgramBinding, RunObserved, SandboxUsed};
use brigade_core::{Fingerprint, Json, Timestamp};
use brigade_core::{Report, SchemaId};
use serde::{Deserialize, Serialize};

/// One start of an MCP server that is kept for the calls of agents: `.brigade/tools/runtime/upstreams/ID.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UpstreamStart {
    /// The schema id.
    #[serde(deserialize_with = "UpstreamStart::read_schema")]
    pub schema: SchemaId,
    /// The start, as receipts of its calls name it.
    pub id: String,
    /// The server, as the catalog names it.
    pub server_id: String,
    /// The agent whose calls it serves; `null` if agents share it.
    pub agent: Option<String>,
    /// The process; `null` until it runs.
    pub pid: Option<u32>,
    /// The process with its start time and boot, so that no other one is taken for it.
    pub process: Option<String>,
    /// The command, without secrets.
    pub command: String,
    /// The directory that it runs in.
    pub cwd: String,
    /// The program and its bytes.
    pub program: ProgramBinding,
    /// The files that it was started from.
    pub files: BTreeMap<String, Fingerprint>,
    /// The tools that it serves.
    pub tools: Vec<String>,
    /// Their effects, which its sandbox is opened for.
    pub effects: Vec<String>,
    /// Patterns of the files that it may read as data.
    #[serde(default)]
    pub data: Vec<String>,
    /// Labels of the variables that it gets.
    pub env_labels: Vec<String>,
    /// What confines it; `null` until it runs.
    pub sandbox: Option<SandboxUsed>,
    /// When it was started.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub started_at: Timestamp,
    /// When it and everything that it started had ended; `null` while it runs, and if the gateway was killed.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub ended_at: Option<Timestamp>,
    /// Why it ended; `null` if it was not needed any more.
    pub failure: Option<String>,
    /// How its process ended, in words.
    pub exit: Option<String>,
    /// The revision of the protocol that it spoke.
    pub protocol_version: Option<String>,
    /// Name and version, as it gave them.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "brigade_core::json::any_value"))]
    pub server: Json,
    /// What it used, if it was observed.
    pub observed: Option<RunObserved>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// The log of its standard output, with bound values masked.
    pub stdout_log_path: String,
    /// The log of its standard error.
    pub stderr_log_path: String,
}

impl Report for UpstreamStart {
    const SCHEMA: &'static str = "brigade.upstream-start.v1";
}
