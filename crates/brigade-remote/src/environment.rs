//! What the bridge learns from its environment.

use std::collections::BTreeMap;

use brigade_catalog::ServerTransport;
use brigade_core::Json;

/// The variable with the terms of a connection. Its text has labels, not their values.
pub const VARIABLE: &str = "BRIGADE_MCP_SERVER";

/// The terms of a connection, apart from the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The runtime of the server, as a person logs in to it.
    pub server: String,
    /// Whether the server speaks the older transport, `sse`.
    pub is_sse: bool,
    /// Headers of every request, with labels in braces.
    pub headers: BTreeMap<String, String>,
    /// The origins that the policy names.
    pub origins: Vec<String>,
}

impl Environment {
    /// Returns the text of the variable.
    pub fn to_text(&self) -> String {
        let transport = if self.is_sse { ServerTransport::Sse } else { ServerTransport::Http };
        let headers = self.headers.iter().map(|(name, text)| (name.as_str(), Json::from(text.as_str())));
        Json::object([
            ("server", Json::from(self.server.as_str())),
            ("transport", Json::from(transport.as_str())),
            ("headers", Json::object(headers)),
            ("origins", Json::Array(self.origins.iter().map(|origin| Json::from(origin.as_str())).collect())),
        ])
        .to_compact()
    }

    /// Reads the text of the variable.
    pub fn parse(text: &str) -> Option<Environment> {
        let json = Json::parse(text).ok()?;
        let headers = json.get("headers")?.as_object()?.iter();
        let headers = headers.map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())));
        let origins = json.get("origins")?.as_array()?.iter();
        Some(Environment {
            server: json.get("server")?.as_str()?.to_owned(),
            is_sse: json.get("transport")?.as_str()? == ServerTransport::Sse.as_str(),
            headers: headers.collect::<Option<_>>()?,
            origins: origins.map(|origin| origin.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        })
    }
}
