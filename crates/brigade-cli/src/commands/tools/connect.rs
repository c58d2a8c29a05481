//! `brigade tools connect`

use brigade::core::AgentName;
use brigade::daily::{ConnectRequest, ConnectStep};
use brigade::tools::{Scope, Transport};
use brigade::{Error, ErrorCode, Exit};
use clap::{Args, ValueEnum};

use crate::output::Output;
use crate::session::Session;

/// Connect an agent program to this workspace
///
/// Shows the entry `brigade` for the MCP servers of the program, and the file it goes to. With --write, changes that
/// one entry and keeps everything else in the file. On a terminal, offers to add the agent of --as. Known programs are
/// claude, codex, cursor, opencode, gemini, vscode, windsurf and zed; json shows the entry for any other.
#[derive(Args, Debug)]
pub(crate) struct ConnectArgs {
    /// The program, or json
    client: String,

    /// Whose file to use [default: project, if the program has such a file]
    #[arg(long, value_enum)]
    scope: Option<ScopeWord>,

    /// How the program reaches the gateway
    #[arg(long, value_enum, default_value = "stdio")]
    transport: TransportWord,

    /// The agent that the program is
    #[arg(long = "as", value_name = "NAME", default_value = "local")]
    agent: String,

    /// Write the entry
    #[arg(long)]
    write: bool,

    /// Remove the entry
    #[arg(long, conflicts_with = "write")]
    remove: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScopeWord {
    /// The file in the workspace
    Project,
    /// The file of the user, for all workspaces
    User,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TransportWord {
    /// The program starts the gateway
    Stdio,
    /// The program reaches a gateway that runs, with a token from an environment variable
    Http,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ConnectArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let request = request(arguments);
    let workspace = session.workspace()?;
    let mut done = workspace.clients().connect(&request);
    if let (Err(error), Ok(name)) = (&done, request.agent.parse::<AgentName>())
        && error.code() == ErrorCode::AgentMissing
        && output.may_ask(session.surroundings)
        && output.agree(&format!("There is no agent `{name}`. Add it?"))
    {
        done = workspace.agents().add_local(&name).and_then(|_| workspace.clients().connect(&request));
    }
    Ok(output.finish(done?))
}

fn request(arguments: &ConnectArgs) -> ConnectRequest {
    ConnectRequest {
        client: arguments.client.clone(),
        scope: arguments.scope.map(|scope| match scope {
            ScopeWord::Project => Scope::Project,
            ScopeWord::User => Scope::User,
        }),
        transport: match arguments.transport {
            TransportWord::Stdio => Transport::Stdio,
            TransportWord::Http => Transport::Http,
        },
        agent: arguments.agent.clone(),
        step: match (arguments.write, arguments.remove) {
            (true, _) => ConnectStep::Write,
            (false, true) => ConnectStep::Remove,
            (false, false) => ConnectStep::Show,
        },
    }
}
