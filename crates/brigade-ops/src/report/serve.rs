//! The document of `brigade serve`.

use brigade_core::Report;
use brigade_macros::{document, part};

/// `brigade serve` over HTTP, or with a page: where it listens, in one line.
#[document("brigade.serve.v1")]
#[derive(PartialEq, Eq)]
pub struct ServeReport {
    /// The address of the HTTP endpoint; absent without `--http`.
    pub address: Option<String>,
    /// The path of the socket; absent without `--unix`.
    pub socket: Option<String>,
    /// The process.
    pub pid: u32,
    /// How many tools the agent is shown; of several agents, how many the first is shown.
    pub tools: usize,
    /// The page of `--web`; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<ServedPage>,
}

/// The page that a server serves.
#[part(PartialEq, Eq)]
pub struct ServedPage {
    /// Its address.
    pub url: String,
    /// A token that logs in once, within five minutes. The link to open is `URL/login#TOKEN`.
    pub login_token: String,
}

impl ServedPage {
    /// Describes a page.
    pub fn new(url: String, login_token: String) -> ServedPage {
        ServedPage { url, login_token }
    }

    /// Returns the link that logs in.
    pub fn link(&self) -> String {
        format!("{}/login#{}", self.url, self.login_token)
    }
}

impl ServeReport {
    /// Says where this process listens.
    pub fn new(address: Option<String>, socket: Option<String>, tools: usize) -> ServeReport {
        ServeReport {
            schema: ServeReport::SCHEMA,
            address,
            socket,
            pid: std::process::id(),
            tools,
            web: None,
        }
    }
}
