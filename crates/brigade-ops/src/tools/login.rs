//! Logs in to remote MCP servers, and out.
//!
//! A person decides in a browser. The tokens are stored for this user, outside of every workspace, and only connections
//! to the same URL use them.

use std::ffi::OsString;
use std::thread;
use std::time::Duration;

use brigade_catalog::{RemoteServer, Runtime};
use brigade_core::text::escape_terminal;
use brigade_core::web_url::WebUrl;
use brigade_core::{ErrorCode, NextStep, Timestamp};
use brigade_process::{CancelToken, Control, Program, Spec, Stream, run};
use brigade_remote::oauth::{Callback, LoginChoice, PendingLogin, REQUEST_TIMEOUT, revoke};
use brigade_remote::tokens::{TokenStore, Tokens};
use brigade_remote::{Client, RemoteError};
use brigade_workspace::{WorkspaceContext, load, own_programs};

use crate::error::{Error, ErrorKind};
use crate::find_runtime;
use crate::report::{LoginReport, LogoutReport, Report as _};

/// How long the person may take in the browser.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Programs that open a page in the browser of the person.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// Options of a login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginRequest {
    /// The runtime of the server.
    pub server: String,
    /// A client that is registered at the authorization server. Otherwise one is registered.
    pub client_id: Option<String>,
    /// The requested scopes, separated by spaces. Otherwise those that the server names.
    pub scope: Option<String>,
    /// Whether to only show the URL.
    pub no_browser: bool,
}

/// Logs in to a remote server. `tell` gets the URL that the person opens.
///
/// # Errors
/// Fails if the runtime is not a remote server with logins, the policy does not name its origin, the login is not made,
/// and inside a run.
pub fn login(
    context: &WorkspaceContext,
    request: &LoginRequest,
    show_url: &mut dyn FnMut(&str),
) -> Result<LoginReport, Error> {
    context.require_outside_run()?;
    let RemoteRuntime { id, url, server, origins, store } = remote(context, &request.server)?;
    if let Some(name) = server.headers.keys().find(|name| name.eq_ignore_ascii_case("authorization")) {
        let message = format!("`{id}` sends the header `{name}` of its entry, so it needs no login");
        return Err(Error::new(ErrorKind::Refused, message).coded(ErrorCode::LoginFailed));
    }
    if !origins.contains(&url.origin()) {
        let message = format!("`{}` is not in remote of [mcp] of the policy", url.origin());
        let hint = format!("if you trust this server, add \"{}\" there", url.origin());
        return Err(Error::new(ErrorKind::Refused, message).coded(ErrorCode::PolicyMcpRemote).hint(hint));
    }
    let failed = |error: RemoteError| not_made(&id, &error);
    let client = Client::new(&origins, Some(REQUEST_TIMEOUT));
    let callback = Callback::listen().map_err(|error| {
        Error::new(ErrorKind::Environment, format!("no port for the browser to return to: {}", error.kind()))
    })?;
    let choice = LoginChoice { client_id: request.client_id.as_deref(), scope: request.scope.as_deref() };
    let pending = PendingLogin::new(&client, &url.to_string(), callback.url(), choice).map_err(failed)?;
    show_url(&pending.authorize_url);
    if !request.no_browser {
        open_browser(context, &pending.authorize_url);
    }
    let is_cancelled = || context.cancel.as_ref().is_some_and(CancelToken::is_cancelled);
    let code = callback.wait(&pending, BROWSER_TIMEOUT, &is_cancelled).map_err(failed)?;
    let tokens = pending.redeem(&client, &code, seconds(context.now())).map_err(failed)?;
    store.write(&tokens).map_err(failed)?;
    let Tokens { issuer, scope, expires_at, refresh_token, .. } = &tokens;
    Ok(LoginReport {
        schema: LoginReport::SCHEMA,
        target: context.target(),
        server: id,
        mcp_origin: url.origin(),
        issuer: issuer.clone(),
        scope: scope.clone(),
        expires_at: expires_at.map(|at| Timestamp::from_unix_micros(at.saturating_mul(1_000_000))),
        can_refresh: refresh_token.is_some(),
        tokens_path: store.path(&tokens.url).display().to_string(),
    })
}

/// Removes the tokens for a remote server, and revokes them if the authorization server can.
///
/// # Errors
/// Fails if the runtime is not a remote server, or the tokens cannot be removed, and inside a run.
pub fn logout(context: &WorkspaceContext, server: &str) -> Result<LogoutReport, Error> {
    context.require_outside_run()?;
    let RemoteRuntime { id, url, origins, store, .. } = remote(context, server)?;
    let known = store.read(&url.to_string()).map_err(|error| not_made(&id, &error))?;
    let removed = store.remove(&url.to_string()).map_err(|error| not_made(&id, &error))?;
    if let Some(tokens) = &known {
        revoke(&Client::new(&origins, Some(REQUEST_TIMEOUT)), tokens);
    }
    Ok(LogoutReport {
        schema: LogoutReport::SCHEMA,
        target: context.target(),
        server: id,
        mcp_origin: url.origin(),
        removed,
    })
}

/// A runtime that is a remote server.
struct RemoteRuntime {
    id: String,
    url: WebUrl,
    server: RemoteServer,
    /// The origins that the policy names.
    origins: Vec<String>,
    store: TokenStore,
}

fn remote(context: &WorkspaceContext, id: &str) -> Result<RemoteRuntime, Error> {
    let runtimes = load::runtimes(context)?;
    let runtime: &Runtime = find_runtime(&runtimes, id)?;
    let shown = escape_terminal(runtime.id.as_str());
    if runtime.is_broken {
        let message = format!("the runtime `{shown}` has errors");
        return Err(Error::new(ErrorKind::InvalidConfig, message).hint(NextStep::CheckRuntimes));
    }
    let server = runtime.remote();
    let url = server.as_ref().and_then(|server| WebUrl::parse(&server.url).ok());
    let Some((server, url)) = server.zip(url) else {
        let message = format!("`{shown}` is a local runtime, so it has no login");
        return Err(Error::new(ErrorKind::Usage, message).coded(ErrorCode::LoginFailed));
    };
    let Some(home) = context.environment.home() else {
        return Err(Error::new(ErrorKind::Environment, "there is no home directory for tokens: set HOME"));
    };
    let policy = load::policy(context);
    let origins = policy.policy().map(|policy| policy.mcp_remote.values().cloned().collect());
    Ok(RemoteRuntime {
        id: runtime.id.to_string(),
        url,
        server,
        origins: origins.unwrap_or_default(),
        store: TokenStore::of_home(home),
    })
}

fn not_made(id: &str, error: &RemoteError) -> Error {
    let kind = match error {
        RemoteError::Store(_) | RemoteError::Unreachable { .. } | RemoteError::NoHost(_) => {
            ErrorKind::Environment
        }
        _ => ErrorKind::Refused,
    };
    let message = escape_terminal(&error.to_string()).into_owned();
    Error::new(kind, format!("`{}`: {message}", escape_terminal(id))).coded(ErrorCode::LoginFailed)
}

fn seconds(now: Timestamp) -> i64 {
    now.unix_micros() / 1_000_000
}

/// Opens a page in the browser of the person, if this system knows how.
pub(crate) fn open_browser(context: &WorkspaceContext, url: &str) {
    let root = context.fs.root();
    let programs = own_programs(&*context.fs, &context.environment);
    let Some(program) = OPENERS.iter().find_map(|name| programs.find(name).found()) else { return };
    let mut spec = Spec::new(Program::at(&program), root);
    spec.argv = vec![program.into_os_string(), OsString::from(url)];
    let variables = context.environment.variables();
    spec.environment = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
    // A desktop's opener starts others by name.
    let path = spec.environment.iter_mut().filter(|(name, _)| name == "PATH");
    path.for_each(|(_, value)| *value = programs.path_variable().to_owned());
    // The person may also open the URL that is shown, so nothing waits for this program.
    thread::spawn(move || run(&spec, &mut |_: Stream, _: &[u8]| Ok(()), &Control::default()).map(drop));
}

#[cfg(test)]
mod tests;
