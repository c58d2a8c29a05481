//! The document of `brigade serve`.

use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};

/// `brigade serve` over HTTP: where it listens, in one line.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
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

impl ServeReport {
    /// Says where this process listens.
    pub fn new(address: Option<String>, socket: Option<String>, tools: usize) -> ServeReport {
        ServeReport { schema: ServeReport::SCHEMA, address, socket, pid: std::process::id(), tools }
    }
}

impl Report for ServeReport {
    const SCHEMA: SchemaId = "brigade.serve.v1";
}
