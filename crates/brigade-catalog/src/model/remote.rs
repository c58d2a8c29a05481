//! Remote MCP servers.

use std::collections::BTreeMap;

use brigade_core::Label;
use brigade_core::web_url::{WebProblem, WebUrl};
use brigade_redact::looks_secret_value;

use super::ServerTransport;
use crate::register::quoted;

/// The subcommand that connects to a remote server and passes its messages through standard streams.
pub const CONNECT: &str = "mcp-bridge";

/// Headers that the connection itself sets.
const OWN_HEADERS: [&str; 9] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "transfer-encoding",
];

/// How a remote server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteServer {
    /// Its URL.
    pub url: String,
    /// The transport: `http` (streamable HTTP) or `sse`.
    pub transport: ServerTransport,
    /// Headers of every request, with labels in braces.
    pub headers: BTreeMap<String, String>,
}

impl RemoteServer {
    /// Returns scheme, host and port of the URL; empty if it is not a URL.
    pub fn origin(&self) -> String {
        WebUrl::parse(&self.url).map(|url| url.origin()).unwrap_or_default()
    }

    /// Returns the command line that connects to it.
    pub fn command(&self) -> String {
        format!("brigade {CONNECT} {}", quoted(&self.url))
    }

    /// Lists the labels in its headers, each once.
    pub fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> =
            self.headers.values().flat_map(|text| RemoteServer::labels_of(text)).collect();
        let mut seen = std::collections::BTreeSet::new();
        labels.retain(|label| seen.insert(label.clone()));
        labels
    }

    /// Lists the labels in the text of a header.
    pub fn labels_of(text: &str) -> Vec<String> {
        let parts = text.split('{').skip(1).filter_map(|part| part.split_once('}'));
        parts
            .map(|(label, _)| label)
            .filter(|label| label.parse::<Label>().is_ok())
            .map(str::to_owned)
            .collect()
    }

    /// Returns the text of a header with the values of its labels; `None` if a label has no value.
    pub fn filled(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let mut filled = text.to_owned();
        for label in RemoteServer::labels_of(text) {
            filled = filled.replace(&format!("{{{label}}}"), &value(&label)?);
        }
        Some(filled)
    }

    /// Returns why a URL cannot be used.
    pub fn url_problem(url: &str) -> Option<&'static str> {
        match WebUrl::parse(url) {
            Err(WebProblem::Credentials) => {
                Some("the URL holds credentials; send them in `headers`, as a label")
            }
            Err(_) => Some("expected a URL such as `https://mcp.example.com/mcp`"),
            Ok(url) if !url.is_secure() && !url.is_loopback() => {
                Some("`http` is not encrypted, so it is only for this machine; write `https`")
            }
            Ok(_) => None,
        }
    }

    /// Returns why a header cannot be used.
    pub fn header_problem(name: &str, value: &str) -> Option<&'static str> {
        let is_token = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let is_plain = value.chars().all(|c| c.is_ascii_graphic() || c == ' ');
        let is_own = || OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str());
        match (is_token && is_plain, is_own()) {
            (false, _) => Some("expected names and values of HTTP headers"),
            (true, true) => Some("the connection sets this header itself"),
            (true, false)
                if looks_secret_value(value).is_some() && RemoteServer::labels_of(value).is_empty() =>
            {
                Some("a header holds what looks like a secret; write a label such as `Bearer {API_TOKEN}`")
            }
            (true, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Level, Runtimes};

    #[track_caller]
    fn check(fields: &str, expect: &[&str]) {
        let text = format!("[[runtime]]\nid = 'far'\nname = 'Far'\n{fields}");
        let runtimes = Runtimes::parse("runtimes.toml", Level::Project, text.as_bytes());
        let fields: Vec<&str> =
            runtimes.issues().iter().map(|issue| issue.field.as_deref().unwrap_or_default()).collect();
        assert_eq!(fields, expect, "{text}");
        assert_eq!(runtimes.runtimes()[0].is_broken, !expect.is_empty());
    }

    const URL: &str = "url = 'https://mcp.example.com/mcp'\n";

    #[test]
    fn a_runtime_has_a_command_or_a_url() {
        check(URL, &[]);
        check("", &["command"]);
        check(&format!("{URL}command = 'x'"), &["command"]);
        check(&format!("{URL}cwd = 'x'"), &["cwd"]);
        check(&format!("{URL}transport = 'sse'"), &[]);
        check(&format!("{URL}transport = 'stdio'"), &["transport"]);
        check("command = 'x'\ntransport = 'http'", &["transport"]);
        check("command = 'x'\nheaders = { A = 'b' }", &["headers"]);
        check("url = 'http://127.0.0.1:8000/mcp'", &[]);
        check("url = 'http://localhost:8000/mcp'", &[]);
        check("url = 'http://mcp.example.com/mcp'", &["url"]);
        check("url = 'https://u:p@mcp.example.com/mcp'", &["url"]);
        check("url = 'ftp://x'", &["url"]);
        check(&format!("{URL}headers = {{ Authorization = 'Bearer {{FAR_TOKEN}}' }}"), &[]);
        check(&format!("{URL}headers = {{ Host = 'x' }}"), &["headers"]);
        check(
            &format!("{URL}headers = {{ X-Key = 'ghp_EXAMPLEexampleEXAMPLEexampleEXAMPLE12' }}"),
            &["headers"],
        );
    }

    #[test]
    fn a_remote_runtime_needs_the_labels_of_its_headers() {
        let headers = [("Authorization", "Bearer {FAR_TOKEN}"), ("X-Team", "{TEAM}/{FAR_TOKEN}")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let remote = RemoteServer {
            url: "https://mcp.example.com:8443/mcp?a=1&b".to_owned(),
            transport: ServerTransport::Http,
            headers,
        };
        assert_eq!(remote.origin(), "https://mcp.example.com:8443");
        assert_eq!(remote.command(), "brigade mcp-bridge 'https://mcp.example.com:8443/mcp?a=1&b'");
        let runtime = crate::Runtime::connecting("far", remote).unwrap();
        assert!(runtime.on_demand);
        assert_eq!(runtime.env_labels, ["FAR_TOKEN", "TEAM"]);
        let value = |label: &str| (label == "FAR_TOKEN").then(|| "v".to_owned());
        assert_eq!(RemoteServer::filled("Bearer {FAR_TOKEN}", value).as_deref(), Some("Bearer v"));
        assert_eq!(RemoteServer::filled("{TEAM}", value), None);
        // The file has the URL, and nothing that follows from it.
        let text = crate::edit::put_runtime("", &runtime).unwrap();
        assert!(text.contains("url = ") && !text.contains("command"), "{text}");
        assert!(Runtimes::parse("runtimes.toml", Level::Project, text.as_bytes()).is_valid(), "{text}");
    }
}
