//! One-time tokens for the page of a workspace.
//!
//! `.brigade/tools/web.json` names the page that was served last, and holds the SHA-256 of each unused token. A MAC of
//! this host covers the file, so neither a repository nor a program of a run can add a token.

use std::sync::Arc;
use std::time::Duration;

use brigade_access::Token;
use brigade_core::json::{from_json, pretty_text};
use brigade_core::{Dialect, Fingerprint, Json, Timestamp};
use brigade_fs::{FileMode, FsError, RelPath};
use brigade_process::ProcessIdentity;
use brigade_workspace::WorkspaceContext;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::tools::login::open_browser;

/// The file of the tokens, its lock, and the directory of both.
const FOLDER: &str = ".brigade/tools";
const TOKENS: &str = ".brigade/tools/web.json";
const LOCK: &str = ".brigade/tools/web.lock";

/// Its format, which the MAC covers.
const SCHEMA: &str = "brigade.web.v1";

/// The domain of its MAC.
const DOMAIN: &str = "brigade.web";

/// The maximum size of the file, and the maximum number of tokens in it.
const MAX_BYTES: u64 = 64 << 10;
const MAX_TOKENS: usize = 16;

/// How long a token can be used.
const TOKEN_LIFETIME: Duration = Duration::from_secs(300);

/// How long a writer waits for another.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes and takes the tokens of a page.
#[derive(Clone)]
pub struct WebLogins {
    context: Arc<WorkspaceContext>,
}

/// A token that logs in at the page that is served.
#[derive(Clone, Debug)]
pub struct WebLogin {
    /// The address of the page.
    pub url: String,
    /// The process of its server.
    pub pid: u32,
    /// The token.
    pub token: Token,
}

/// The content of the file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct OpenTokens {
    schema: String,
    /// The address of the page that was served last, and the process of its server.
    url: String,
    server: String,
    tokens: Vec<OpenToken>,
    mac: String,
}

/// A token that was not used.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct OpenToken {
    /// The page it is for.
    url: String,
    sha256: Fingerprint,
    until: Timestamp,
}

impl OpenTokens {
    fn content(&self) -> Vec<u8> {
        let row = |token: &OpenToken| (token.sha256.to_hex(), format!("{} {}", token.until, token.url));
        let tokens: Vec<(String, String)> = self.tokens.iter().map(row).collect();
        let tokens = tokens.iter().map(|(sha256, rest)| (sha256, rest));
        let page = Fingerprint::builder(SCHEMA).text("url", &*self.url).text("server", &*self.server);
        page.table("tokens", tokens).finish().to_hex().into_bytes()
    }
}

impl WebLogins {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> WebLogins {
        WebLogins { context }
    }

    /// Makes the first token of a page that is served from now on.
    ///
    /// # Errors
    /// Fails inside a run, and on file errors.
    pub fn begin(&self, url: &str) -> Result<Token, Error> {
        self.context.require_outside_run()?;
        let server = ProcessIdentity::current().map_err(|error| {
            Error::new(ErrorKind::Environment, format!("the process is not known: {}", error.kind()))
        })?;
        let begun = self.add(|open| (open.url, open.server) = (url.to_owned(), server.to_string()));
        begun.map(|(_, token)| token)
    }

    /// Makes another token for the page that is served.
    ///
    /// # Errors
    /// Fails if no page is served, inside a run, and on file errors.
    pub fn another(&self) -> Result<WebLogin, Error> {
        self.context.require_outside_run()?;
        let server = self.read().server.parse::<ProcessIdentity>().ok();
        let Some(server) = server.filter(ProcessIdentity::is_alive) else {
            return Err(Error::new(ErrorKind::NotFound, "no page of this workspace is served"));
        };
        let (url, token) = self.add(|_| {})?;
        Ok(WebLogin { url, pid: server.pid(), token })
    }

    /// Uses a token up. Returns whether it was one of this page that was not used and is not too old.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn take(&self, url: &str, token: &str) -> Result<bool, Error> {
        let (sha256, now) = (Fingerprint::of_bytes(token.as_bytes()), self.context.now());
        self.change(|open| {
            let before = open.tokens.len();
            open.tokens.retain(|open| open.url != url || open.sha256 != sha256 || open.until <= now);
            Ok(open.tokens.len() < before)
        })
    }

    /// Opens a page in the browser of the person, if this system knows how.
    pub fn open(&self, url: &str) {
        open_browser(&self.context, url);
    }

    fn add(&self, page: impl FnOnce(&mut OpenTokens)) -> Result<(String, Token), Error> {
        let random = brigade_process::random_bytes().map_err(|error| {
            Error::new(ErrorKind::Environment, format!("no random numbers: {}", error.kind()))
        })?;
        let (token, now) = (Token::of_random(random), self.context.now());
        let until = Timestamp::from_unix_micros(now.unix_micros() + TOKEN_LIFETIME.as_micros() as i64);
        self.change(|open| {
            page(open);
            open.tokens.retain(|token| now < token.until);
            let surplus = (open.tokens.len() + 1).saturating_sub(MAX_TOKENS);
            open.tokens.drain(..surplus);
            open.tokens.push(OpenToken { url: open.url.clone(), sha256: token.sha256(), until });
            Ok((open.url.clone(), token))
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut OpenTokens) -> Result<T, Error>) -> Result<T, Error> {
        let context = &*self.context;
        context.fs.create_dir_all(&RelPath::from_static(FOLDER))?;
        let holder = format!("process {} (page)", std::process::id());
        let _lock = context.fs.lock(&RelPath::from_static(LOCK), &holder, LOCK_TIMEOUT)?;
        let mut open = OpenTokens { schema: SCHEMA.to_owned(), ..self.read() };
        let before = open.content();
        let result = change(&mut open)?;
        let content = open.content();
        if content != before {
            open.mac = context.key.sign(DOMAIN, &content)?;
            let text = pretty_text(&open).expect("hashes and times are JSON");
            context.fs.write_atomic(&RelPath::from_static(TOKENS), text.as_bytes(), FileMode::Private)?;
        }
        Ok(result)
    }

    /// Reads the tokens that this host made. A damaged or foreign file has none.
    fn read(&self) -> OpenTokens {
        let read = || -> Option<OpenTokens> {
            let bytes: Result<Vec<u8>, FsError> =
                self.context.fs.read(&RelPath::from_static(TOKENS), MAX_BYTES);
            let json = Json::parse_bytes(&bytes.ok()?, Dialect::Strict).ok()?;
            let open: OpenTokens = from_json(&json).ok()?;
            let is_ours = open.schema == SCHEMA;
            (is_ours && self.context.key.verify(DOMAIN, &open.content(), Some(&open.mac))).then_some(open)
        };
        read().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
