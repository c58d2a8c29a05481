//! `tools registry`.

use brigade_core::{Json, Report, SchemaId, Timestamp};
use serde::{Deserialize, Serialize};

/// A registry of tools that this workspace knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KnownRegistry {
    /// Its name here.
    pub name: String,
    /// The URL of its API, or the path of its file.
    pub location: String,
    /// The sha256 of the file, as it was when it was added; `null` for a URL.
    pub digest: Option<String>,
    /// When it was added.
    pub added_at: Timestamp,
}

/// `tools registry list`, `add` and `remove`: the registries as they are then.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegistriesReport {
    /// The schema id.
    #[serde(deserialize_with = "RegistriesReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The registries, in the order in which they are asked.
    pub registries: Vec<KnownRegistry>,
}

impl Report for RegistriesReport {
    const SCHEMA: &'static str = "brigade.registries.v1";
}

/// A server in a registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegistryServer {
    /// Its name, such as `io.github.example/weather`.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// The description.
    pub description: String,
    /// The registry.
    pub registry: String,
}

/// `tools registry search`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegistrySearchReport {
    /// The schema id.
    #[serde(deserialize_with = "RegistrySearchReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The words.
    pub query: String,
    /// The servers, by registry.
    pub servers: Vec<RegistryServer>,
    /// Number of servers.
    pub server_count: usize,
    /// Registries that did not answer, or have more servers.
    pub notes: Vec<String>,
}

impl Report for RegistrySearchReport {
    const SCHEMA: &'static str = "brigade.registry-search.v1";
}

/// `tools registry info`: a server, as `tools register registry:NAME` would register it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegistryInfoReport {
    /// The schema id.
    #[serde(deserialize_with = "RegistryInfoReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The server.
    pub server: RegistryServer,
    /// The sha256 of its `server.json` in a normal form. Other content for this version is refused.
    pub digest: String,
    /// Whether it was read from the cache, without asking the registry.
    pub cached: bool,
    /// The whole `server.json`.
    pub manifest: Json,
}

impl Report for RegistryInfoReport {
    const SCHEMA: &'static str = "brigade.registry-info.v1";
}
