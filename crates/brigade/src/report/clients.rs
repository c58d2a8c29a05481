//! Documents about agent programs.

use brigade_core::{Hint, Object};
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};

/// `tools connect`: the entry of a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConnectReport {
    /// The schema id.
    #[serde(deserialize_with = "ConnectReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The client.
    pub client: String,
    /// Its name for people.
    pub title: String,
    /// Whose file it is: `project` or `user`; absent for the client `json`, which has none.
    pub scope: Option<String>,
    /// How the client reaches the gateway: `stdio` or `http`.
    pub transport: String,
    /// The agent that the client is.
    #[serde(rename = "as")]
    pub agent: String,
    /// The file; absent for the client `json`.
    pub path: Option<String>,
    /// The entry `brigade`; after a removal, the one that was there.
    pub entry: Option<Object>,
    /// `would-write`, `written`, `unchanged`, `removed` or `absent`.
    pub status: String,
    /// The change of the file as a unified diff, without secrets; empty if nothing changes.
    pub diff: String,
    /// For the client `json`: a whole file with the entry.
    pub text: Option<String>,
    /// What to know about it.
    pub notes: Vec<String>,
    /// The next command to try.
    pub next_command: Option<Hint>,
}

impl Report for ConnectReport {
    const SCHEMA: SchemaId = "brigade.connect.v1";
}
