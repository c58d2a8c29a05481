//! The entries that were written, as they are now, for a diagnosis.

use std::path::Path;

use brigade_catalog::{Catalog, Family};
use brigade_command::{Argv, find_program};
use brigade_discovery::{Client, ConnectedEntry, NAME, Scope, Server, client, holds, servers};
use brigade_doctor::{ClientProblem, ClientState};
use brigade_facts::{is_program, read_agents};

use super::file::ClientFile;
use super::{CONNECTED, Clients};

/// Lists what is wrong with the entries of `connected.json`, and which servers of the catalog the same files start.
/// Reads only the files that are noted there.
pub(crate) fn client_states(clients: &Clients<'_>, catalog: &Catalog) -> Vec<ClientState> {
    let connected = match clients.connected() {
        Ok(connected) => connected,
        Err(error) => {
            let problem = ClientProblem::Unreadable(error.to_string());
            return vec![ClientState {
                client: String::new(),
                scope: String::new(),
                transport: String::new(),
                agent: String::new(),
                noted: CONNECTED.to_owned(),
                file: CONNECTED.to_owned(),
                line: None,
                problem,
            }];
        }
    };
    // An invalid gateway.toml is an issue of its own.
    let agents = read_agents(clients.fs).ok();
    let is_gone = |agent: &str| agents.as_ref().is_some_and(|agents| agents.gateway.agent(agent).is_none());
    let of_entry = |entry: &ConnectedEntry| states(clients, catalog, entry, is_gone(&entry.agent));
    connected.entries.iter().flat_map(of_entry).collect()
}

fn states(
    clients: &Clients<'_>,
    catalog: &Catalog,
    entry: &ConnectedEntry,
    is_agent_gone: bool,
) -> Vec<ClientState> {
    let scope = if entry.scope == Scope::User.as_str() { Scope::User } else { Scope::Project };
    let state = |file: String, line: Option<usize>, problem: ClientProblem| ClientState {
        client: entry.client.clone(),
        scope: entry.scope.clone(),
        transport: entry.transport.clone(),
        agent: entry.agent.clone(),
        noted: entry.path.clone(),
        file,
        line,
        problem,
    };
    let Some(client) = client(&entry.client) else {
        let why = "this version knows no such client".to_owned();
        return vec![state(entry.path.clone(), None, ClientProblem::Unreadable(why))];
    };
    let file = match ClientFile::open(clients, &entry.path, scope) {
        Ok(file) => file,
        Err(error) => {
            return vec![state(entry.path.clone(), None, ClientProblem::Unreadable(error.kind.to_string()))];
        }
    };
    let shown = file.shown(clients);
    let bytes = match file.read(clients) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return vec![state(shown, None, ClientProblem::FileGone)],
        Err(error) => return vec![state(shown, None, ClientProblem::Unreadable(error.kind.to_string()))],
    };
    let found = match found(client, &bytes) {
        Ok(found) => found,
        Err(problem) => return vec![state(shown, None, problem)],
    };
    let own = found.iter().find(|server| server.name == NAME);
    let problem = match own {
        None => Some(ClientProblem::EntryGone),
        Some(server) if !holds(&entry.entry, &server.value) => Some(ClientProblem::Changed),
        Some(server) => outdated(clients, server).or(is_agent_gone.then_some(ClientProblem::AgentGone)),
    };
    let own_line = own.map(|server| server.at.line);
    let mut states: Vec<ClientState> =
        problem.into_iter().map(|problem| state(shown.clone(), own_line, problem)).collect();
    for server in found.iter().filter(|server| server.name != NAME) {
        if let Some(tool_id) = started_by(catalog, server) {
            let problem = ClientProblem::Bypass { server: server.name.clone(), tool_id };
            states.push(state(shown.clone(), Some(server.at.line), problem));
        }
    }
    states
}

fn found(client: &Client, bytes: &[u8]) -> Result<Vec<Server>, ClientProblem> {
    servers(client, bytes).map_err(|why| ClientProblem::Unreadable(why.to_string()))
}

/// Returns why an entry starts nothing, or something else than this workspace's gateway.
fn outdated(clients: &Clients<'_>, server: &Server) -> Option<ClientProblem> {
    let words = server.words();
    let program = words.first()?;
    let root = clients.fs.root();
    let path_variable = clients.environment.get("PATH");
    if find_program(program, root, path_variable, |path| is_program(clients.fs, path)).is_none() {
        return Some(ClientProblem::ProgramGone);
    }
    let target = words.iter().position(|word| word == "--target").and_then(|at| words.get(at + 1));
    target.filter(|target| Path::new(target) != root).map(|_| ClientProblem::OtherTarget)
}

/// Returns the tool of the catalog whose server an entry starts.
fn started_by(catalog: &Catalog, server: &Server) -> Option<String> {
    let mut tools = catalog.tools().iter().filter(|tool| tool.enabled && tool.family == Some(Family::Mcp));
    let starts = |command: &str| Argv::parse(command).is_ok_and(|argv| server.starts(argv.words()));
    let tool = tools.find(|tool| tool.command.as_deref().is_some_and(starts))?;
    Some(tool.id.as_str().to_owned())
}
