//! Finds the authorization server of an MCP server.

use brigade_core::Json;
use brigade_core::web_url::WebUrl;
use ureq::http::Method;

use super::{MAX_DOCUMENT_BYTES, login, safe_url};
use crate::error::RemoteError;
use crate::http::{Ask, Client};

/// A request that every server understands.
const PROBE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;

/// The authorization server of an MCP server, and what to ask it for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoginServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    /// The server that tokens are for.
    pub(super) resource: String,
    pub(super) scope: Option<String>,
}

/// Finds the authorization server by the metadata that the MCP server names, or by the usual places.
pub(super) fn find(client: &Client, url: &str) -> Result<LoginServer, RemoteError> {
    let server = WebUrl::parse(url).map_err(|problem| RemoteError::Url(problem.to_string()))?;
    let challenge = challenge(client, &server)?;
    let named = challenge.as_deref().and_then(|text| parameter(text, "resource_metadata"));
    let resource = match named {
        Some(named) => {
            let named = safe_url(&named, "resource_metadata")?;
            let found = client.document(&named.to_string(), MAX_DOCUMENT_BYTES)?;
            Some(found.ok_or_else(|| login(format!("{named} has no metadata of the server")))?)
        }
        None => {
            let path = server.target().split('?').next().unwrap_or_default().trim_end_matches('/');
            let place =
                |path: &str| format!("{}/.well-known/oauth-protected-resource{path}", server.origin());
            first(client, &[place(path), place("")])?
        }
    };
    if resource.is_none() && challenge.is_none() {
        return Err(login("the server does not ask for a login"));
    }
    let text = |json: &Json, key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
    if let Some(stated) = resource.as_ref().and_then(|resource| text(resource, "resource")) {
        check_resource(&stated, &server)?;
    }
    let words = |json: &Json, key: &str| -> Option<String> {
        let words: Vec<&str> = json.get(key)?.as_array()?.iter().filter_map(Json::as_str).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let issuers = resource.as_ref().and_then(|json| json.get("authorization_servers")?.as_array());
    // A server without these metadata is its own authorization server, as in the revision of 2025-03-26.
    let issuer = issuers.and_then(|issuers| issuers.first()?.as_str()).map(str::to_owned);
    let issuer = issuer.unwrap_or_else(|| server.origin());
    let base = safe_url(&issuer, "authorization_servers")?;
    let path = base.target().split('?').next().unwrap_or_default().trim_end_matches('/');
    let origin = base.origin();
    let places = [
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
        format!("{origin}{path}/.well-known/openid-configuration"),
    ];
    let found = first(client, &places)?
        .ok_or_else(|| login(format!("{origin} has no metadata of an authorization server")))?;
    let stated = text(&found, "issuer").unwrap_or_default();
    if stated.trim_end_matches('/') != issuer.trim_end_matches('/') {
        return Err(login(format!(
            "wrong issuer: the metadata of {issuer} name another authorization server as their issuer"
        )));
    }
    let supports_pkce = found.get("code_challenge_methods_supported").and_then(Json::as_array);
    if !supports_pkce.is_some_and(|methods| methods.iter().any(|method| method.as_str() == Some("S256"))) {
        return Err(login(format!("{issuer} does not support PKCE with S256")));
    }
    let endpoint = |key: &str| -> Result<String, RemoteError> {
        let stated = text(&found, key).ok_or_else(|| login(format!("{issuer} names no `{key}`")))?;
        safe_url(&stated, key).map(|_| stated)
    };
    let scope = challenge.as_deref().and_then(|text| parameter(text, "scope"));
    Ok(LoginServer {
        issuer: stated,
        authorization_endpoint: endpoint("authorization_endpoint")?,
        token_endpoint: endpoint("token_endpoint")?,
        registration_endpoint: text(&found, "registration_endpoint"),
        revocation_endpoint: text(&found, "revocation_endpoint"),
        resource: url.to_owned(),
        scope: scope.or_else(|| words(resource.as_ref()?, "scopes_supported")),
    })
}

/// Asks the server without a token. Returns its challenge; `None` if it does not ask for a login.
fn challenge(client: &Client, server: &WebUrl) -> Result<Option<String>, RemoteError> {
    let headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    let answer = client.ask(&Ask {
        method: Method::POST,
        url: server,
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        own_headers: Vec::new(),
        body: PROBE.as_bytes().to_vec(),
    })?;
    Ok((answer.status == 401).then(|| answer.header("www-authenticate").unwrap_or_default()))
}

/// Refuses metadata for another server: its tokens would be for that one.
fn check_resource(stated: &str, server: &WebUrl) -> Result<(), RemoteError> {
    let resource = WebUrl::parse(stated).ok().filter(|resource| resource.origin() == server.origin());
    let is_above = |resource: &WebUrl| {
        let path = resource.target().trim_end_matches('/');
        server.target().strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    };
    match resource.is_some_and(|resource| is_above(&resource)) {
        true => Ok(()),
        false => Err(login("the metadata of the server are for another server")),
    }
}

/// Reads the first document that is there.
fn first(client: &Client, places: &[String]) -> Result<Option<Json>, RemoteError> {
    for place in places {
        if let Some(found) = client.document(place, MAX_DOCUMENT_BYTES)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns a parameter of a `WWW-Authenticate` header.
fn parameter(header: &str, name: &str) -> Option<String> {
    let start = header.match_indices(name).find_map(|(at, _)| {
        let before = header[..at].chars().next_back();
        let value = header[at + name.len()..].trim_start().strip_prefix('=')?;
        before.is_none_or(|c| c == ' ' || c == ',').then_some(value.trim_start())
    })?;
    let value = match start.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => start.split([',', ' ']).next(),
    };
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_challenge_are_read() {
        let text =
            r#"Bearer error="invalid_token", resource_metadata="https://h/.well-known/x", scope="a b""#;
        assert_eq!(parameter(text, "resource_metadata").as_deref(), Some("https://h/.well-known/x"));
        assert_eq!(parameter(text, "scope").as_deref(), Some("a b"));
        assert_eq!(parameter("Bearer scope=a,x=b", "scope").as_deref(), Some("a"));
        assert_eq!(parameter("Bearer my_scope=a", "scope"), None);
        assert_eq!(parameter("", "scope"), None);
    }

    #[test]
    fn metadata_are_of_the_server_or_above_it() {
        let server = WebUrl::parse("https://h.example/a/mcp?x").unwrap();
        let check = |stated: &str| check_resource(stated, &server).is_ok();
        assert!(
            check("https://h.example/a/mcp") && check("https://h.example/a") && check("https://h.example")
        );
        assert!(
            !check("https://h.example/a/m") && !check("https://other.example/a/mcp") && !check("h.example")
        );
    }
}
