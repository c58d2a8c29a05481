//! OAuth 2.1 as MCP uses it: metadata of the server and of its authorization server, registration of a client, the code
//! flow with PKCE, and refresh.

mod callback;
mod metadata;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brigade_core::Json;
use brigade_core::web_url::WebUrl;
use sha2::{Digest as _, Sha256};
use ureq::http::Method;

use crate::error::RemoteError;
use crate::http::{Ask, Client};
use crate::tokens::Tokens;

pub use callback::Callback;
use metadata::{LoginServer, find};

/// The maximum size of a document.
const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// The maximum time of one request.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A login that waits for the person's decision in a browser.
#[derive(Debug)]
pub struct PendingLogin {
    /// The page where the person decides.
    pub authorize_url: String,
    /// The authorization server.
    pub issuer: String,
    state: String,
    verifier: String,
    redirect: String,
    client_id: String,
    client_secret: Option<String>,
    server: LoginServer,
    url: String,
}

/// What a person may choose for a login.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoginChoice<'a> {
    /// A client that is registered already. Otherwise one is registered.
    pub client_id: Option<&'a str>,
    /// The requested scopes, separated by spaces. Otherwise those that the server names.
    pub scope: Option<&'a str>,
}

fn login(why: impl Into<String>) -> RemoteError {
    RemoteError::Login(why.into())
}

/// Returns a random text of 256 bits.
fn random() -> Result<String, RemoteError> {
    let bytes = brigade_process::random_bytes::<32>();
    let bytes = bytes.map_err(|_| login("the system has no random bytes"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl PendingLogin {
    /// Finds the authorization server, registers a client if none is given, and makes the URL for the person.
    ///
    /// `redirect` is the local address that the browser returns to.
    ///
    /// # Errors
    /// Fails if the server asks for no login, or its metadata are missing, contradictory or unsafe.
    pub fn new(
        client: &Client,
        url: &str,
        redirect: &str,
        choice: LoginChoice<'_>,
    ) -> Result<PendingLogin, RemoteError> {
        let server = find(client, url)?;
        let (client_id, client_secret) = match choice.client_id {
            Some(client_id) => (client_id.to_owned(), None),
            None => register(client, &server, redirect)?,
        };
        let (state, verifier) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let scope = choice.scope.map(str::to_owned).or_else(|| server.scope.clone());
        let mut query = vec![
            ("response_type", "code"),
            ("client_id", &client_id),
            ("redirect_uri", redirect),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &server.resource),
        ];
        query.extend(scope.as_deref().map(|scope| ("scope", scope)));
        let joint = if server.authorization_endpoint.contains('?') { '&' } else { '?' };
        let authorize_url = format!("{}{joint}{}", server.authorization_endpoint, form(&query));
        Ok(PendingLogin {
            authorize_url,
            issuer: server.issuer.clone(),
            state,
            verifier,
            redirect: redirect.to_owned(),
            client_id,
            client_secret,
            server,
            url: url.to_owned(),
        })
    }

    /// Exchanges the code that the browser brought for tokens.
    ///
    /// # Errors
    /// Fails if the authorization server refuses.
    pub fn redeem(&self, client: &Client, code: &str, now: i64) -> Result<Tokens, RemoteError> {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect),
            ("client_id", &self.client_id),
            ("code_verifier", &self.verifier),
            ("resource", &self.server.resource),
        ];
        fields.extend(self.client_secret.as_deref().map(|secret| ("client_secret", secret)));
        let answer = match ask_for_tokens(client, &self.server.token_endpoint, &fields)? {
            TokenAnswer::Given(answer) => answer,
            TokenAnswer::Refused(word) => {
                return Err(login(format!("the authorization server answers `{word}`")));
            }
        };
        let tokens = Tokens {
            url: self.url.clone(),
            issuer: self.server.issuer.clone(),
            token_endpoint: self.server.token_endpoint.clone(),
            revocation_endpoint: self.server.revocation_endpoint.clone(),
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone(),
            access_token: String::new(),
            refresh_token: None,
            expires_at: None,
            scope: None,
        };
        renewed(tokens, &answer, now)
    }
}

/// Returns new tokens for a server.
///
/// # Errors
/// Returns [`RemoteError::LoginRequired`] if the person must log in again.
pub fn refresh(client: &Client, tokens: &Tokens, now: i64) -> Result<Tokens, RemoteError> {
    let Some(token) = &tokens.refresh_token else { return Err(RemoteError::LoginRequired) };
    let mut fields = vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", token.as_str()),
        ("client_id", &tokens.client_id),
        ("resource", &tokens.url),
    ];
    fields.extend(tokens.client_secret.as_deref().map(|secret| ("client_secret", secret)));
    match ask_for_tokens(client, &tokens.token_endpoint, &fields)? {
        TokenAnswer::Given(answer) => renewed(tokens.clone(), &answer, now),
        // The grant was revoked or has expired.
        TokenAnswer::Refused(_) => Err(RemoteError::LoginRequired),
    }
}

/// Revokes the tokens at the authorization server, if it can. Fails silently: the local copies are removed anyway.
pub fn revoke(client: &Client, tokens: &Tokens) {
    let Some(url) = tokens.revocation_endpoint.as_deref().and_then(|url| WebUrl::parse(url).ok()) else {
        return;
    };
    let token = tokens.refresh_token.as_deref().unwrap_or(&tokens.access_token);
    let body = form(&[("token", token), ("client_id", &tokens.client_id)]);
    let _ = client.ask(&post(&url, "application/x-www-form-urlencoded", body));
}

/// Takes the tokens of an answer.
fn renewed(tokens: Tokens, answer: &Json, now: i64) -> Result<Tokens, RemoteError> {
    let text = |key: &str| answer.get(key).and_then(Json::as_str).map(str::to_owned);
    let kind = text("token_type").unwrap_or_default();
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(login("the authorization server gives no bearer token"));
    }
    let is_plain = |token: &String| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let access_token = text("access_token").filter(is_plain);
    let access_token = access_token.ok_or_else(|| login("the authorization server gives no token"))?;
    let lasts = answer.get("expires_in").and_then(Json::as_f64).filter(|lasts| (0.0..1e10).contains(lasts));
    Ok(Tokens {
        access_token,
        refresh_token: text("refresh_token").or(tokens.refresh_token),
        expires_at: lasts.map(|lasts| now.saturating_add(lasts as i64)),
        scope: text("scope").or(tokens.scope),
        ..tokens
    })
}

/// The answer to a request for tokens.
enum TokenAnswer {
    Given(Json),
    /// The authorization server refuses, with this word.
    Refused(String),
}

/// Makes a request for tokens.
fn ask_for_tokens(
    client: &Client,
    endpoint: &str,
    fields: &[(&str, &str)],
) -> Result<TokenAnswer, RemoteError> {
    let url = safe_url(endpoint, "token_endpoint")?;
    let answer = client.ask(&post(&url, "application/x-www-form-urlencoded", form(fields)))?;
    let (status, origin) = (answer.status, url.origin());
    let json = document(&answer.read(MAX_DOCUMENT_BYTES)?);
    match status {
        200..=299 => {
            json.map(TokenAnswer::Given).ok_or_else(|| login(format!("the answer of {origin} is not JSON")))
        }
        400 | 401 | 403 => {
            let word = json.as_ref().and_then(|json| json.get("error")).and_then(Json::as_str);
            Ok(TokenAnswer::Refused(plain_word(word.unwrap_or("error"))))
        }
        status => Err(RemoteError::Status { origin, status }),
    }
}

/// Registers a client. Returns its id, and its secret if it got one.
fn register(
    client: &Client,
    server: &LoginServer,
    redirect: &str,
) -> Result<(String, Option<String>), RemoteError> {
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(login(
            "the authorization server registers no clients; register one there, and give its id",
        ));
    };
    let url = safe_url(endpoint, "registration_endpoint")?;
    let words = |words: &[&str]| Json::Array(words.iter().map(|word| Json::from(*word)).collect());
    let body = Json::object([
        ("client_name", Json::from("Brigade")),
        ("redirect_uris", words(&[redirect])),
        ("grant_types", words(&["authorization_code", "refresh_token"])),
        ("response_types", words(&["code"])),
        ("token_endpoint_auth_method", Json::from("none")),
        ("application_type", Json::from("native")),
    ]);
    let answer = client.ask(&post(&url, "application/json", body.to_compact()))?;
    let (status, origin) = (answer.status, url.origin());
    let json = document(&answer.read(MAX_DOCUMENT_BYTES)?);
    if !(200..300).contains(&status) {
        return Err(login(format!("{origin} refuses to register a client, with status {status}")));
    }
    let text = |key: &str| json.as_ref().and_then(|json| json.get(key)).and_then(Json::as_str);
    let id = text("client_id").ok_or_else(|| login(format!("{origin} gives the new client no id")))?;
    Ok((id.to_owned(), text("client_secret").map(str::to_owned)))
}

fn post<'a>(url: &'a WebUrl, kind: &str, body: String) -> Ask<'a> {
    let headers = [("Content-Type", kind), ("Accept", "application/json")];
    Ask {
        method: Method::POST,
        url,
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        own_headers: Vec::new(),
        body: body.into_bytes(),
    }
}

fn document(bytes: &[u8]) -> Option<Json> {
    Json::parse(std::str::from_utf8(bytes).ok()?).ok()
}

/// Reads a URL of the metadata. It must be encrypted, except on this machine.
fn safe_url(text: &str, what: &str) -> Result<WebUrl, RemoteError> {
    let url = WebUrl::parse(text).ok().filter(|url| url.is_secure() || url.is_loopback());
    url.ok_or_else(|| login(format!("`{what}` of the metadata is not an https URL")))
}

/// Returns a word of a server for a message.
fn plain_word(word: &str) -> String {
    word.chars().filter(|c| c.is_ascii_alphanumeric() || "_-. ".contains(*c)).take(80).collect()
}

/// Encodes fields as a form.
fn form(fields: &[(&str, &str)]) -> String {
    let encoded = fields.iter().map(|(name, value)| format!("{name}={}", percent(value)));
    encoded.collect::<Vec<_>>().join("&")
}

fn percent(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Decodes a value of a query.
fn unpercent(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code =
            after.get(..2).and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        match (first, code) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (first, _) => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_encoded_and_decoded() {
        let text = "a b+c&d=é/ü?%";
        assert_eq!(unpercent(&percent(text)), text);
        assert_eq!(form(&[("a", "x y"), ("b", "https://h/?q")]), "a=x%20y&b=https%3A%2F%2Fh%2F%3Fq");
        assert_eq!(unpercent("a+b%2"), "a b%2");
    }
}
