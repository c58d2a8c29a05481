//! The document of `brigade serve`.

use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};

/// `brigade serve` over HTTP: where it listens, in one line.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ServeReport {
    /// The schema id.
    #[serde(deserialize_with = "ServeReport::read_schema")]
    pub schema: SchemaId,
    /// The address of the HTTP endpoint; absent without `--http`.
    pub address: Option<String>,
    /// The path of the socket; absent without `--unix`.
    pub socket: Option<String>,
    /// The process.
    pub pid: u32,
    /// How many tools the agent is shown; of several agents, how many the first is shown.
    pub tools: usize,
}

impl Report for ServeReport {
    const SCHEMA: SchemaId = "brigade.serve.v1";
}
