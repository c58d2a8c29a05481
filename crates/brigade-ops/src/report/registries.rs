//! `tools registry`.

use brigade_core::{Json, Timestamp};
use brigade_macros::{document, part};

/// A registry of tools that this workspace knows.
#[part(PartialEq, Eq)]
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
#[document("brigade.registries.v1")]
pub struct RegistriesReport {
    /// The workspace root.
    pub target: String,
    /// The registries, in the order in which they are asked.
    pub registries: Vec<KnownRegistry>,
}

/// A server in a registry.
#[part(PartialEq, Eq)]
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
#[document("brigade.registry-search.v1")]
pub struct RegistrySearchReport {
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

/// `tools registry info`: a server, as `tools register registry:NAME` would register it.
#[document("brigade.registry-info.v1")]
pub struct RegistryInfoReport {
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
