//! The tokens of this user, one file for each server, readable only by the user.

use std::path::{Path, PathBuf};
use std::time::Duration;

use brigade_core::web_url::WebUrl;
use brigade_core::{Fingerprint, Json};
use brigade_fs::{DiskFs, FileMode, Fs as _, FsError, Lock, RelPath};

use crate::error::RemoteError;

/// The directory of the tokens, below the home directory.
pub const FOLDER: &str = ".local/state/brigade/oauth";

/// The maximum size of a file.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// How long another process may hold the lock, which includes a refresh.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// The tokens for one server, and how they are refreshed.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    /// The URL of the server. Other servers never get these tokens.
    pub url: String,
    /// The authorization server.
    pub issuer: String,
    /// Where tokens are refreshed.
    pub token_endpoint: String,
    /// Where tokens are revoked.
    pub revocation_endpoint: Option<String>,
    /// The client that the tokens were made for.
    pub client_id: String,
    /// Its secret, if the server gave one.
    pub client_secret: Option<String>,
    /// The token of requests.
    pub access_token: String,
    /// The token that gives the next one.
    pub refresh_token: Option<String>,
    /// When the token of requests expires, in Unix seconds.
    pub expires_at: Option<i64>,
    /// What was granted.
    pub scope: Option<String>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("url", &self.url).field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl Tokens {
    /// Lists the values that no output may show.
    pub fn secrets(&self) -> Vec<String> {
        let others = [&self.refresh_token, &self.client_secret];
        std::iter::once(self.access_token.clone()).chain(others.into_iter().flatten().cloned()).collect()
    }

    /// Returns whether the token of requests expires within `seconds`.
    pub fn expires_within(&self, seconds: i64, now: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= now.saturating_add(seconds))
    }

    fn to_json(&self) -> Json {
        let optional = |text: &Option<String>| text.as_deref().map(Json::from).unwrap_or_default();
        Json::object([
            ("schema", Json::from("brigade.oauth.v1")),
            ("url", Json::from(self.url.as_str())),
            ("issuer", Json::from(self.issuer.as_str())),
            ("token_endpoint", Json::from(self.token_endpoint.as_str())),
            ("revocation_endpoint", optional(&self.revocation_endpoint)),
            ("client_id", Json::from(self.client_id.as_str())),
            ("client_secret", optional(&self.client_secret)),
            ("access_token", Json::from(self.access_token.as_str())),
            ("refresh_token", optional(&self.refresh_token)),
            ("expires_at", self.expires_at.map(Json::from).unwrap_or_default()),
            ("scope", optional(&self.scope)),
        ])
    }

    fn from_json(json: &Json) -> Option<Tokens> {
        let text = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
        Some(Tokens {
            url: text("url")?,
            issuer: text("issuer")?,
            token_endpoint: text("token_endpoint")?,
            revocation_endpoint: text("revocation_endpoint"),
            client_id: text("client_id")?,
            client_secret: text("client_secret"),
            access_token: text("access_token")?,
            refresh_token: text("refresh_token"),
            expires_at: json.get("expires_at").and_then(Json::as_i64),
            scope: text("scope"),
        })
    }
}

/// The tokens of this user.
#[derive(Clone, Debug)]
pub struct TokenStore {
    folder: PathBuf,
}

fn failed(error: &FsError) -> RemoteError {
    RemoteError::Store(format!("{}: {}", FOLDER, error.kind))
}

impl TokenStore {
    /// Creates the store of a user with this home directory. Touches no file.
    pub fn of_home(home: &Path) -> TokenStore {
        TokenStore { folder: home.join(FOLDER) }
    }

    /// Returns the file for a server.
    pub fn path(&self, url: &str) -> PathBuf {
        self.folder.join(file_name(url).as_str())
    }

    /// Reads the tokens for a server; `None` without a login.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn read(&self, url: &str) -> Result<Option<Tokens>, RemoteError> {
        let bytes = match DiskFs::open(&self.folder).and_then(|fs| fs.read(&file_name(url), MAX_FILE_BYTES)) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let json = std::str::from_utf8(&bytes).ok().and_then(|text| Json::parse(text).ok());
        let tokens = json.and_then(|json| Tokens::from_json(&json));
        Ok(tokens.filter(|tokens| tokens.url == normal(url)))
    }

    /// Lists the values for a server that no output may show. Empty if they cannot be read.
    pub fn secrets(&self, url: &str) -> Vec<String> {
        self.read(url).ok().flatten().map(|tokens| tokens.secrets()).unwrap_or_default()
    }

    /// Stores the tokens for a server.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn write(&self, tokens: &Tokens) -> Result<(), RemoteError> {
        let text = Tokens { url: normal(&tokens.url), ..tokens.clone() }.to_json().to_pretty();
        let fs = DiskFs::make(&self.folder).map_err(|error| failed(&error))?;
        fs.write_atomic(&file_name(&tokens.url), text.as_bytes(), FileMode::Private)
            .map_err(|error| failed(&error))
    }

    /// Removes the tokens for a server. Returns whether there were some.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn remove(&self, url: &str) -> Result<bool, RemoteError> {
        match DiskFs::open(&self.folder).and_then(|fs| fs.remove(&file_name(url))) {
            Ok(()) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Locks the tokens, so that one process refreshes them. `None` if the directory is missing.
    pub(crate) fn lock(&self) -> Result<Option<Lock>, RemoteError> {
        let Ok(fs) = DiskFs::open(&self.folder) else { return Ok(None) };
        let lock = fs.lock(&RelPath::from_static("lock"), "a refresh of tokens", LOCK_TIMEOUT);
        lock.map(Some).map_err(|error| failed(&error))
    }
}

/// Returns a URL in its normal form, so that two spellings have one file.
fn normal(url: &str) -> String {
    WebUrl::parse(url).map_or_else(|_| url.to_owned(), |url| url.to_string())
}

/// Returns the name of the file for a server: its host, and a fingerprint of its URL.
fn file_name(url: &str) -> RelPath {
    let url = normal(url);
    let host = url.split("://").nth(1).unwrap_or_default().split('/').next().unwrap_or_default();
    let host: String =
        host.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '.' }).take(60).collect();
    let host = host.trim_matches(['.', '-']);
    let name = format!("{host}-{}.json", Fingerprint::of_bytes(url.as_bytes()).short());
    name.parse().expect("letters, digits, dots and dashes are a file name")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(url: &str) -> Tokens {
        Tokens {
            url: url.to_owned(),
            issuer: "https://login.example".to_owned(),
            token_endpoint: "https://login.example/token".to_owned(),
            revocation_endpoint: None,
            client_id: "client".to_owned(),
            client_secret: None,
            access_token: "access-EXAMPLE".to_owned(),
            refresh_token: Some("refresh-EXAMPLE".to_owned()),
            expires_at: Some(1_000),
            scope: Some("read".to_owned()),
        }
    }

    #[test]
    fn tokens_are_private_and_for_one_server() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let store = TokenStore::of_home(home.path());
        let (url, other) = ("https://mcp.example/mcp", "https://mcp.example/other");
        assert_eq!(store.read(url).unwrap(), None);
        assert!(!store.remove(url).unwrap());
        store.write(&tokens(url)).unwrap();
        assert_eq!(store.read(url).unwrap(), Some(tokens(url)));
        assert_eq!(store.secrets(url), ["access-EXAMPLE", "refresh-EXAMPLE"]);
        assert_eq!(store.read("https://MCP.example:443/mcp").unwrap(), Some(tokens(url)));
        assert_eq!(store.read(other).unwrap(), None);
        #[allow(clippy::disallowed_methods, reason = "the test looks at the mode of the file")]
        let mode = std::fs::metadata(store.path(url)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(store.path(url).starts_with(home.path().join(FOLDER)));
        assert!(store.remove(url).unwrap());
        assert_eq!(store.read(url).unwrap(), None);
        assert!(tokens(url).expires_within(30, 970) && !tokens(url).expires_within(30, 969));
    }
}
