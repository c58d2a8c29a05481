//! Documents about agent programs.

use brigade_core::{Hint, Object};
use brigade_harness::{Scope, Transport};
use brigade_macros::document;

use crate::clients::ConnectStatus;

/// `tools connect`: the entry of a client.
#[document("brigade.connect.v1")]
pub struct ConnectReport {
    /// The workspace root.
    pub target: String,
    /// The client.
    pub client: String,
    /// Its name for people.
    pub title: String,
    /// Whose file it is; absent for the client `json`, which has none.
    pub scope: Option<Scope>,
    /// How the client reaches the gateway.
    pub transport: Transport,
    /// The agent that the client is.
    #[serde(rename = "as")]
    pub agent: String,
    /// The file; absent for the client `json`.
    pub path: Option<String>,
    /// The entry `brigade`; after a removal, the one that was there.
    pub entry: Option<Object>,
    /// What became of the entry, or would become of it.
    pub status: ConnectStatus,
    /// The change of the file as a unified diff, without secrets; empty if nothing changes.
    pub diff: String,
    /// For the client `json`: a whole file with the entry.
    pub text: Option<String>,
    /// What to know about it.
    pub notes: Vec<String>,
    /// The next command to try.
    pub next_command: Option<Hint>,
}
