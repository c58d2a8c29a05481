//! Connects agent programs to the gateway of a workspace.

use std::path::Path;
use std::sync::Arc;

use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, NextStep};
use brigade_harness::{Client, Connection, NAME, Scope, Transport, client, clients, put};
use brigade_redact::Redactor;
use brigade_workspace::{WorkspaceContext, gather};

use super::agents::{agent_config, find_agent};
use super::{ClientEntry, ClientFiles, ConnectOutcome, ConnectStatus, ConnectStep};
use crate::error::{Error, ErrorKind};
use crate::report::{ConnectReport, Report as _};

/// The address of a gateway that was started without one.
const GATEWAY: &str = "http://127.0.0.1:8766/mcp";

/// Operations on agent programs.
#[derive(Clone)]
pub struct Clients {
    pub(crate) context: Arc<WorkspaceContext>,
}

/// Which client to connect, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectRequest {
    /// The client.
    pub client: String,
    /// Whose file is meant; the usual one of the client by default.
    pub scope: Option<Scope>,
    /// How the client reaches the gateway.
    pub transport: Transport,
    /// The agent that the client is.
    pub agent: String,
    /// Whether to show, write or remove the entry.
    pub step: ConnectStep,
}

impl Clients {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> Clients {
        Clients { context }
    }

    /// Shows, writes or removes the entry of a client.
    ///
    /// The client `json` has no file: its entry is shown for others to copy.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`] for an unknown client or agent, and [`ErrorKind::Refused`] if the client cannot
    /// be connected this way or has another entry of our name, or if a program of a run wants to write one. Also
    /// returns errors of the client's file and of the disk.
    pub fn connect(&self, request: &ConnectRequest) -> Result<ConnectReport, Error> {
        let client = client(request.client.trim()).ok_or_else(|| unknown(&request.client))?;
        let (context, agent) = (&*self.context, request.agent.as_str());
        let scope = request.scope.unwrap_or_else(|| client.usual_scope());
        if request.step == ConnectStep::Write {
            context.require_outside_run()?;
            // The user's file starts the gateway for every program of the user, whatever workspace it serves.
            if let Some(home) = context.environment.home().filter(|_| scope == Scope::User) {
                context.require_outside_run_at(home)?;
            }
        }
        // An entry can be removed after its agent.
        if request.step != ConnectStep::Remove {
            find_agent(&agent_config(context)?.gateway, agent)?;
        }
        let files = ClientFiles::new(context);
        let connection = match request.transport {
            // A file of the project is shared, so it names no directory of this machine.
            Transport::Stdio if client.has_files() && scope == Scope::Project => {
                Connection::stdio(NAME, agent, client.folder)
            }
            Transport::Stdio => Connection::stdio(&files.own_program(), agent, Some(&context.target())),
            Transport::Http => Connection::http(GATEWAY, agent),
        };
        let report = ConnectReport {
            schema: ConnectReport::SCHEMA,
            target: context.target(),
            client: client.label.to_owned(),
            title: client.title.to_owned(),
            scope: client.has_files().then_some(scope),
            transport: request.transport,
            agent: agent.to_owned(),
            path: None,
            entry: None,
            status: ConnectStatus::WouldWrite,
            diff: String::new(),
            text: None,
            notes: Vec::new(),
            next_command: None,
        };
        if !client.has_files() {
            return generic(client, &connection, request.step, report);
        }
        let redactor = Redactor::new(&gather::secrets(context)).for_settings();
        let client_entry = ClientEntry { client, scope, agent, connection };
        let ConnectOutcome { path, entry, status, diff, mut notes } =
            files.connect(&client_entry, request.step, &redactor)?;
        let own = files.own_program();
        if request.step != ConnectStep::Remove && request.transport == Transport::Stdio && own != NAME {
            notes.extend((scope == Scope::Project).then(|| not_on_path(&own)));
        }
        let is_confirmed = client.files(scope).is_some_and(|files| files.are_confirmed());
        let next = (status == ConnectStatus::WouldWrite && is_confirmed).then(|| NextStep::ConnectAgain {
            client: client.label.to_owned(),
            scope: scope.as_str().to_owned(),
            transport: request.transport.as_str().to_owned(),
            agent: agent.to_owned(),
        });
        let next_command = next.map(|next| context.spelled(next));
        Ok(ConnectReport { path: Some(path), entry, status, diff, notes, next_command, ..report })
    }
}

/// Reports the entry for programs that are not in the table.
fn generic(
    client: &Client,
    connection: &Connection,
    step: ConnectStep,
    report: ConnectReport,
) -> Result<ConnectReport, Error> {
    if step != ConnectStep::Show {
        let error = Error::new(ErrorKind::Usage, "the client `json` has no file to write");
        return Err(error
            .coded(ErrorCode::ClientUnsupported)
            .hint("copy the entry to the file of your client"));
    }
    let entry = client.entry(connection).map_err(|reason| Error::new(ErrorKind::Refused, reason))?;
    let mut notes = Vec::new();
    if let Connection::Http { variable, .. } = connection {
        notes.push(format!("the token is in the variable {variable}; refer to it in the way of your client"));
    }
    let text = put(client, None, &entry, None)?.text;
    Ok(ConnectReport { entry: entry.to_json().as_object().cloned(), text: Some(text), notes, ..report })
}

/// Returns the note for an entry of the project whose program is not on `PATH`.
fn not_on_path(own: &str) -> String {
    let folder = Path::new(own).parent().unwrap_or(Path::new(own)).display();
    format!(
        "the entry starts `{NAME}`, which is not on PATH: add `{folder}` to it, or write the file of the user, \
         which may name a directory"
    )
}

fn unknown(name: &str) -> Error {
    let shown = escape_terminal(name);
    let labels = || clients().iter().map(|client| client.label);
    let error = Error::new(ErrorKind::NotFound, format!("no client `{shown}` is known"));
    let error = error.coded(ErrorCode::ClientMissing);
    match brigade_core::closest(name, labels()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("known are {}", labels().collect::<Vec<_>>().join(", "))),
    }
}
