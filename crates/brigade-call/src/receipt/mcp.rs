//! The part of a receipt about the exchange with an MCP server.

use brigade_core::json::exact;
use brigade_core::{Fingerprint, Json, Object, Timestamp};
use brigade_macros::record;
use serde::{Deserialize, Serialize};

/// The id of a request to an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum McpRequestId {
    /// As this version writes it.
    Number(i64),
    /// As another program wrote it.
    Text(String),
}

/// The pin of an MCP tool, as a run saw it.
#[record(Default, PartialEq)]
pub struct McpPinState {
    /// `first use`, `unchanged`, `changed` or `unknown`.
    pub state: String,
    /// The fingerprint of the tool as its server lists it.
    pub listed: Option<Fingerprint>,
    /// The fingerprint of the tool as it is pinned.
    pub pinned: Option<Fingerprint>,
    /// When it was pinned.
    #[serde(deserialize_with = "exact")]
    pub pinned_at: Option<Timestamp>,
}

/// A block of an answer: its kind and the beginning of its text, without its data.
#[record(Default, PartialEq)]
pub struct ContentBlock {
    /// The kind that the server names: `text`, `image`, `resource` and others.
    pub kind: String,
    /// The media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The URI of a resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// How many bytes of data it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How many characters its text has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub characters: Option<u64>,
    /// The beginning of its text, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The response of a server: its result or its error, shortened and without secrets. Empty without a response.
#[record(Default, PartialEq)]
pub struct McpResponse {
    /// `2.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jsonrpc: Option<String>,
    /// The id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<McpRequestId>,
    /// The result.
    #[serde(skip_serializing_if = "Json::is_null")]
    #[cfg_attr(feature = "schemas", schemars(schema_with = "brigade_core::json::any_value"))]
    pub result: Json,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Object>,
}
