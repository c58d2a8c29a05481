//! The current state of the written entries, for a diagnosis.

use brigade_core::IssueType;
use std::fmt::Display;
use std::path::Path;

use brigade_catalog::{Catalog, Family, Masks, Runtimes};
use brigade_cmdline::{Argv, find_program};
use brigade_doctor::{ClientProblem, ClientState};
use brigade_harness::{
    Client, ConnectedEntry, DiscoveredEntry, HOOK_FILES, NAME, Platform, Scope, Server, client, holds,
    old_hooks, servers, source_changes,
};
use brigade_workspace::{Config, is_program};

use brigade_redact::MARK;

use super::file::ClientFile;
use super::{CONNECTED, ClientFiles};
use crate::discovery::remember::{DISCOVERED, Memory, read_remembered, registered_from};

/// Lists the problems of entries in `connected.json`, the catalog servers that the same files start, and files with
/// hooks of v0.30. Reads only files in that list, and those that v0.30 wrote hooks into.
pub(crate) fn client_states(
    clients: &ClientFiles<'_>,
    config: &Config,
    runtimes: Option<&Runtimes>,
) -> Vec<ClientState> {
    let catalog = &config.catalog;
    let mut states = hooks(clients);
    let connected = match clients.connected() {
        Ok(connected) => connected,
        Err(error) => {
            states.push(of_file(CONNECTED, ClientProblem::Unreadable(error.to_string())));
            return states;
        }
    };
    // An invalid gateway.toml is reported as a separate issue.
    let agents = config.agents(&clients.context.host());
    let is_gone = |agent: &str| agents.as_ref().is_some_and(|agents| agents.gateway.agent(agent).is_none());
    let of_entry = |entry: &ConnectedEntry| of_entry(clients, catalog, entry, is_gone(&entry.agent));
    states.extend(connected.entries.iter().flat_map(of_entry));
    let labels: Vec<&str> = connected.entries.iter().map(|entry| entry.client.as_str()).collect();
    for state in remembered_states(clients, catalog, runtimes, &labels) {
        let is_same = |known: &ClientState| {
            known.client == state.client
                && match (&known.problem, &state.problem) {
                    (ClientProblem::Bypass { server, .. }, ClientProblem::Bypass { server: other, .. }) => {
                        server == other
                    }
                    _ => false,
                }
        };
        if !states.iter().any(is_same) {
            states.push(state);
        }
    }
    states
}

/// Returns the problem of a file that is of no client.
fn of_file(file: &str, problem: ClientProblem) -> ClientState {
    ClientState {
        client: String::new(),
        scope: String::new(),
        transport: String::new(),
        agent: String::new(),
        noted: file.to_owned(),
        file: file.to_owned(),
        line: None,
        problem,
    }
}

/// Lists the remembered problems of files of agent programs, from the cache of `tools sync`, or why the cache is
/// unusable. Does not read the files.
fn remembered_states(
    clients: &ClientFiles<'_>,
    catalog: &Catalog,
    runtimes: Option<&Runtimes>,
    connected: &[&str],
) -> Vec<ClientState> {
    let cache = |what: String| of_file(DISCOVERED, ClientProblem::CacheUnfit(what));
    let unfit = |why: &dyn Display| cache(format!("the cache of agent programs is not used: {why}"));
    let found = match read_remembered(&*clients.context.fs, &Masks::default()) {
        Ok(Memory::Found(found)) => found,
        Ok(Memory::Nothing) => return Vec::new(),
        Ok(Memory::Unfit(why)) => return vec![unfit(&why)],
        Err(error) => return vec![unfit(&error.kind)],
    };
    let found_at = found.made_at;
    let state = |harness: &str, scope: &str, path: &str, line: Option<usize>, problem: ClientProblem| {
        let inside = Path::new(path).strip_prefix(clients.context.fs.root()).ok();
        let in_home = clients.home().and_then(|home| Path::new(path).strip_prefix(home).ok());
        let file = inside.unwrap_or(Path::new(path)).display().to_string();
        let noted = in_home.filter(|_| inside.is_none()).map(|rest| format!("~/{}", rest.display()));
        ClientState {
            client: harness.to_owned(),
            scope: scope.to_owned(),
            transport: String::new(),
            agent: String::new(),
            noted: noted.unwrap_or_else(|| file.clone()),
            file,
            line,
            problem,
        }
    };
    let mut states: Vec<ClientState> =
        found.says_left_out().map(|what| cache(format!("the cache: {what}"))).into_iter().collect();
    for issue in &found.issues {
        let (Some(harness), Some(path), Some(id)) = (&issue.harness, &issue.path, &issue.entry_id) else {
            continue;
        };
        let id = id.clone();
        let problem = if issue.code == IssueType::DefinitionsDiffer {
            ClientProblem::Differs { id, refs: issue.refs.clone(), found_at }
        } else if issue.code == IssueType::LiteralSecret {
            let entry = found.entries.iter().find(|entry| entry.id == id);
            let keys = entry.map(|entry| entry.literal_secrets.clone()).unwrap_or_default();
            ClientProblem::LiteralSecrets { id, keys, found_at }
        } else {
            continue;
        };
        states.push(state(harness, "", path, issue.line, problem));
    }
    let has_entry = |label: &str| {
        let is_ours = |entry: &DiscoveredEntry| entry.registered_as.as_deref() == Some(NAME);
        let ours = found.entries.iter().filter(|entry| is_ours(entry));
        connected.contains(&label)
            || ours.flat_map(|entry| &entry.origins).any(|origin| origin.harness == label)
    };
    for entry in found.entries.iter().filter(|entry| entry.registered_as.as_deref() != Some(NAME)) {
        let tool_id = if entry.command.is_empty() {
            None
        } else {
            started_with(catalog, clients.context.fs.root(), &entry.command)
        };
        for origin in &entry.origins {
            let (harness, scope) = (origin.harness.as_str(), origin.scope.as_str());
            let state = |problem| state(harness, scope, &origin.path, origin.line, problem);
            if let Some(tool_id) = tool_id.clone().filter(|_| origin.enabled && has_entry(harness)) {
                let (server, found_at) = (entry.name.clone(), Some(found_at));
                states.push(state(ClientProblem::Bypass { server, tool_id, found_at }));
            }
        }
    }
    let registered = registered_from(
        &*clients.context.fs,
        clients.context.environment.config_folder().as_deref(),
        catalog,
    );
    if let Some((path, why)) = registered.not_used {
        states.push(state("", "", &path.display().to_string(), None, ClientProblem::UserFileUnsafe(why)));
    }
    for change in source_changes(catalog, runtimes, &registered.definitions, &found.entries, &found.issues) {
        let Some(tool) = catalog.tool(change.tool) else { continue };
        let (tool_id, message) = (tool.id.to_string(), change.message());
        let problem = match change.differences {
            Some(_) => ClientProblem::SourceChanged {
                tool_id,
                level: tool.origin.level.as_str().to_owned(),
                reference: change.reference.to_owned(),
                message,
                found_at,
            },
            None => ClientProblem::SourceGone { tool_id, message, found_at },
        };
        let place = tool.place_of("source.ref");
        let (path, line) = match &change.path {
            Some(path) => (path.as_str(), change.line),
            None => (place.file.as_str(), place.line),
        };
        states.push(state("", "", path, line, problem));
    }
    states
}

/// Lists the files with hooks of v0.30. Unreadable files are skipped.
fn hooks(clients: &ClientFiles<'_>) -> Vec<ClientState> {
    let mut states = Vec::new();
    for hooks in HOOK_FILES {
        for path in hooks.files.paths(Platform::of_this_build(), |name| clients.variable(name)) {
            let Ok(file) = ClientFile::find(clients, &path, hooks.scope) else { continue };
            let Ok(Some(bytes)) = file.read(clients) else { continue };
            let Some(found) = old_hooks(&bytes) else { continue };
            states.push(ClientState {
                client: hooks.client.to_owned(),
                scope: hooks.scope.as_str().to_owned(),
                transport: String::new(),
                agent: String::new(),
                noted: file.noted.clone(),
                file: file.shown(clients),
                line: Some(found.line),
                problem: ClientProblem::OldHooks { count: found.count },
            });
        }
    }
    states
}

fn of_entry(
    clients: &ClientFiles<'_>,
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
    let found = match find_servers(client, &bytes) {
        Ok(found) => found,
        Err(problem) => return vec![state(shown, None, problem)],
    };
    let own = found.iter().find(|server| server.name == NAME);
    let problem = match own {
        None => Some(ClientProblem::EntryGone),
        Some(server) if !holds(&entry.entry, &server.value) => Some(ClientProblem::Changed),
        Some(server) => {
            outdated(clients, client, server).or(is_agent_gone.then_some(ClientProblem::AgentGone))
        }
    };
    let own_line = own.map(|server| server.at.line);
    let mut states: Vec<ClientState> =
        problem.into_iter().map(|problem| state(shown.clone(), own_line, problem)).collect();
    for server in found.iter().filter(|server| server.name != NAME) {
        if let Some(tool_id) = started_with(catalog, clients.context.fs.root(), &server.words()) {
            let problem = ClientProblem::Bypass { server: server.name.clone(), tool_id, found_at: None };
            states.push(state(shown.clone(), Some(server.at.line), problem));
        }
    }
    states
}

fn find_servers(client: &Client, bytes: &[u8]) -> Result<Vec<Server>, ClientProblem> {
    servers(client, bytes).map_err(|why| ClientProblem::Unreadable(why.to_string()))
}

/// Returns why an entry does not start the gateway of this workspace.
fn outdated(clients: &ClientFiles<'_>, client: &Client, server: &Server) -> Option<ClientProblem> {
    let words = server.words();
    let program = words.first()?;
    let root = clients.context.fs.root();
    let path_variable = clients.context.environment.get("PATH");
    if find_program(program, root, path_variable, |path| is_program(&*clients.context.fs, path)).is_none() {
        return Some(ClientProblem::ProgramGone);
    }
    let target = words.iter().position(|word| word == "--target").and_then(|at| words.get(at + 1));
    let is_here = |target: &&String| client.folder == Some(target.as_str()) || Path::new(target) == root;
    target.filter(|target| !is_here(target)).map(|_| ClientProblem::OtherTarget)
}

/// Returns the catalog tool whose server starts with these words. Some words may be masked. The directory of the
/// program and the spelling of files in the workspace do not matter.
pub(super) fn started_with(catalog: &Catalog, root: &Path, words: &[String]) -> Option<String> {
    let words = plain_words(words, root);
    let starts = |command: &str| {
        Argv::parse(command).is_ok_and(|argv| {
            let own = plain_words(argv.words(), root);
            words.len() == own.len()
                && words.iter().zip(&own).all(|(shown, word)| shown == word || shown.contains(MARK))
        })
    };
    let mut tools = catalog.tools().iter().filter(|tool| tool.enabled && tool.family == Some(Family::Mcp));
    let tool = tools.find(|tool| tool.command.as_deref().is_some_and(starts))?;
    Some(tool.id.as_str().to_owned())
}

/// Returns the name of a program and its arguments. Paths in the workspace are made relative to it.
fn plain_words(words: &[String], root: &Path) -> Vec<String> {
    let plain = |word: &String| {
        let path = Path::new(word);
        let inside = path.strip_prefix(root).or_else(|_| path.strip_prefix("./"));
        inside.map_or_else(|_| word.clone(), |inside| inside.display().to_string())
    };
    let program = words.first().map(|word| word.rsplit('/').next().unwrap_or_default().to_owned());
    program.into_iter().chain(words.iter().skip(1).map(plain)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_of_workspace_files_does_not_matter() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let plain = |text: &str| plain_words(&words(text), Path::new("/work/one")).join(" ");
        for same in
            ["python3 bin/up.py -v", "/usr/bin/python3 ./bin/up.py -v", "python3 /work/one/bin/up.py -v"]
        {
            assert_eq!(plain(same), "python3 bin/up.py -v", "{same}");
        }
        assert_eq!(plain("python3 /work/other/bin/up.py"), "python3 /work/other/bin/up.py");
    }
}
