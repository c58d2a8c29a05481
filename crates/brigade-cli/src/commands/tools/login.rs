//! `brigade tools login` and `brigade tools logout`

use brigade::report::LogoutReport;
use brigade::tools::LoginRequest;
use brigade::{Error, Exit};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Log in to a remote MCP server
///
/// Opens the page of its authorization server in the browser, and waits until it returns to this machine. The tokens
/// are stored in ~/.local/state/brigade/oauth, for this user only, and are sent to this server only. The policy must
/// name the origin of the server in remote of [mcp].
#[derive(Args, Debug)]
pub(crate) struct LoginArgs {
    /// Id of the server's runtime
    #[arg(value_name = "SERVER")]
    server: String,
    /// Only print the URL
    #[arg(long)]
    no_browser: bool,
    /// Client that is registered at the authorization server; otherwise one is registered
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Scopes to ask for, separated by spaces; otherwise those that the server names
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
}

/// Remove the tokens for a remote MCP server
///
/// Also revokes them, if the authorization server can.
#[derive(Args, Debug)]
pub(crate) struct LogoutArgs {
    /// Id of the server's runtime
    #[arg(value_name = "SERVER")]
    server: String,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &LoginArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let request = LoginRequest {
        server: arguments.server.clone(),
        client_id: arguments.client_id.clone(),
        scope: arguments.scope.clone(),
        no_browser: arguments.no_browser,
    };
    let mut show_url = |url: &str| output.announce("open this page to log in:", url);
    let report = session.workspace_to_run()?.catalog().login(&request, &mut show_url)?;
    Ok(output.finish(report))
}

pub(crate) fn run_logout(session: &Session<'_>, arguments: &LogoutArgs) -> Result<LogoutReport, Error> {
    session.workspace_to_run()?.catalog().logout(&arguments.server)
}
