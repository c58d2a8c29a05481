//! Puts agent programs and servers of this machine behind the gateway, in one step that a person confirms.
//!
//! All operations run on a [`StagedFs`]: a person sees every change, and a yes writes exactly these.

mod record;
mod rows;
mod stage;

use std::sync::Arc;

use brigade_catalog::{Runtime, ServerTransport, Tool};
use brigade_core::Report as _;
use brigade_harness::{
    Client, DiscoveredEntry, DiscoveryIssue, EntrySource, HarnessFiles, NAME, Scope, clients,
};
use brigade_policy::SandboxMode;
use brigade_workspace::{CATALOG, POLICY, RUNTIMES, WorkspaceContext, load};

use crate::discovery::machine_view::DiscoverRequest;
use crate::discovery::{discover, is_of_unread};
use crate::error::{Error, ErrorKind};
use crate::report::{SetupLevel, SetupProgram, SetupReport, SetupServer, SetupState};
use crate::setup::Setup;
use crate::tools::import_mcp::downloads_package;
use crate::tools::register::RegisterSource;

pub use record::SetupUndo;
pub use stage::StagedSetup;

/// Operations that put programs and servers behind the gateway.
#[derive(Clone)]
pub struct Onboarding {
    context: Arc<WorkspaceContext>,
    level: SetupLevel,
}

/// What to put behind the gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupChoice {
    /// Labels of agent programs.
    pub programs: Vec<String>,
    /// Servers, by name or definition, such as `git` or `mcp:git@claude/user`.
    pub servers: Vec<String>,
    /// Other sources, each with its name in messages.
    pub sources: Vec<(String, RegisterSource)>,
    /// Another id for the only source.
    pub id: Option<String>,
    /// Directories that servers may read, in addition to the workspace.
    pub reads: Vec<String>,
}

/// Which tools of the servers are enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupGrant {
    /// Those whose effects the hints of their server propose.
    All,
    /// Those of them that only read.
    Reads,
    /// None.
    None,
}

impl Onboarding {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>, level: SetupLevel) -> Onboarding {
        Onboarding { context, level }
    }

    /// Looks which agent programs and servers are on this machine. Starts nothing, and writes nothing.
    ///
    /// # Errors
    /// Fails if a file that entries are added to is broken. Returns file errors.
    pub fn look(&self) -> Result<SetupReport, Error> {
        for file in [CATALOG, RUNTIMES] {
            Setup::new(&self.context).editable(file)?;
        }
        let found = discover(&self.context, &DiscoverRequest::default())?;
        let catalog = load::catalog(&self.context)?;
        let imported = |id: &str| {
            let runtime = catalog.tool(id).and_then(|tool| tool.runtime_id.as_deref()).unwrap_or(id);
            let is_imported = catalog.tools().iter().any(|tool: &Tool| tool.is_imported_from(runtime));
            is_imported.then(|| runtime.to_owned())
        };
        let servers = || found.entries.iter().filter(|entry| entry.source == EntrySource::Mcp);
        let is_ours = |entry: &DiscoveredEntry| entry.registered_as.as_deref() == Some(NAME);
        let connected: Vec<&str> = servers()
            .filter(|entry| is_ours(entry))
            .flat_map(|entry| entry.origins.iter().map(|origin| origin.harness.as_str()))
            .collect();
        let mut rows: Vec<SetupServer> = Vec::new();
        for entry in servers().filter(|entry| !is_ours(entry)) {
            let known = entry.registered_as.as_deref().and_then(imported);
            let other = rows.iter().find(|row| row.name == entry.name).map(|row| row.source.clone());
            rows.push(row(entry, known, other));
        }
        let runtimes = load::runtimes(&self.context)?;
        let is_other = |runtime: &&Runtime| {
            let id = runtime.id.as_str();
            catalog.tools().iter().any(|tool| tool.is_imported_from(id))
                && !rows.iter().any(|row| row.runtime_id.as_deref() == Some(id))
        };
        let others: Vec<SetupServer> =
            runtimes.runtimes().iter().filter(is_other).map(governed_server).collect();
        rows.extend(others);
        Ok(SetupReport {
            programs: programs(&found.harnesses, &connected),
            servers: rows,
            notes: self.unconfined().into_iter().chain(unread(&found.issues)).collect(),
            ..self.report()
        })
    }

    /// Returns whether servers start in a complete sandbox.
    pub fn is_confined(&self) -> bool {
        self.unconfined().is_none()
    }

    /// Returns a note if the policy lets servers start without a complete sandbox.
    fn unconfined(&self) -> Option<String> {
        let state = load::policy(&self.context);
        let mode = state.policy()?.sandbox.mode.as_ref().map_or(SandboxMode::Off, |mode| mode.value);
        (mode != SandboxMode::Enforce).then(|| {
            format!("{POLICY} has the sandbox mode `{mode}`, so servers may reach what your account can")
        })
    }

    /// Returns a report about nothing.
    fn report(&self) -> SetupReport {
        SetupReport {
            schema: SetupReport::SCHEMA,
            target: self.context.target(),
            level: self.level,
            dry_run: false,
            written: false,
            undo: false,
            programs: Vec::new(),
            servers: Vec::new(),
            tools: Vec::new(),
            rule: None,
            changes: Vec::new(),
            change_count: 0,
            notes: Vec::new(),
            next_commands: Vec::new(),
        }
    }

    /// Returns whose file of a program gets the entry.
    fn scope(&self, client: &Client) -> Scope {
        match self.level {
            SetupLevel::Project => client.usual_scope(),
            SetupLevel::User => Scope::User,
        }
    }
}

/// Names the files whose servers are missing.
fn unread(issues: &[DiscoveryIssue]) -> impl Iterator<Item = String> {
    issues.iter().filter(|issue| is_of_unread(issue)).map(|issue| match issue.place() {
        Some(place) => format!("{place}: {}; its servers are missing here", issue.message),
        None => issue.message.clone(),
    })
}

/// Lists the programs on this machine that can be connected.
fn programs(harnesses: &[HarnessFiles], connected: &[&str]) -> Vec<SetupProgram> {
    let is_here = |client: &&Client| {
        client.has_files() && harnesses.iter().any(|harness| harness.found && harness.harness == client.label)
    };
    let row = |client: &Client| SetupProgram {
        program: client.label.to_owned(),
        title: client.title.to_owned(),
        agent: None,
        state: if connected.contains(&client.label) { SetupState::Known } else { SetupState::Offered },
        path: None,
        detail: None,
    };
    clients().iter().filter(is_here).map(row).collect()
}

fn row(entry: &DiscoveredEntry, known: Option<String>, other: Option<String>) -> SetupServer {
    let mut programs: Vec<String> = Vec::new();
    for origin in &entry.origins {
        if !programs.contains(&origin.harness) {
            programs.push(origin.harness.clone());
        }
    }
    let is_remote = matches!(entry.transport, Some(ServerTransport::Http | ServerTransport::Sse));
    let detail = match (&other, entry.enabled) {
        (Some(other), _) => {
            Some(format!("another definition of this name is `{other}`; add one of them by itself"))
        }
        (None, false) => Some("its program has turned it off".to_owned()),
        (None, true) => None,
    };
    let paths: std::collections::BTreeSet<String> =
        entry.origins.iter().map(|origin| origin.path.clone()).collect();
    SetupServer {
        name: entry.name.clone(),
        source: entry.id.clone(),
        runs: match &entry.url_host {
            Some(host) if is_remote => host.clone(),
            _ => entry.command.join(" "),
        },
        downloads: !is_remote && downloads_package(&entry.command.join(" ")),
        programs,
        paths: paths.into_iter().collect(),
        state: if known.is_some() { SetupState::Known } else { SetupState::Offered },
        runtime_id: known.or_else(|| entry.registered_as.clone()),
        tools: Vec::new(),
        detail,
        hint: None,
    }
}

/// Returns the row of a server that only the catalog has.
fn governed_server(runtime: &Runtime) -> SetupServer {
    SetupServer {
        runs: runtime.command.clone(),
        state: SetupState::Known,
        runtime_id: Some(runtime.id.to_string()),
        ..new_server(runtime.id.as_str())
    }
}

/// Returns the row of a server that is not in the file of a program.
fn new_server(source: &str) -> SetupServer {
    SetupServer {
        name: source.to_owned(),
        source: source.to_owned(),
        runs: String::new(),
        downloads: false,
        programs: Vec::new(),
        paths: Vec::new(),
        state: SetupState::Offered,
        runtime_id: None,
        tools: Vec::new(),
        detail: None,
        hint: None,
    }
}

/// Finds a choice among names, or says which there are.
fn choose<'r, T>(
    what: &str,
    name: &str,
    rows: &'r mut [T],
    names: impl Fn(&T) -> Vec<String>,
) -> Result<&'r mut T, Error> {
    let all: Vec<String> = rows.iter().flat_map(|row| names(row).into_iter().next()).collect();
    match rows.iter().position(|row| names(row).iter().any(|known| known == name)) {
        Some(at) => Ok(&mut rows[at]),
        None => {
            let shown = brigade_core::text::escape_terminal(name);
            let error = Error::new(ErrorKind::Usage, format!("there is no {what} `{shown}` here"));
            Err(match brigade_core::closest(name, all.iter().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if all.is_empty() => error.hint(format!("no {what} was found")),
                None => error.hint(format!("there are {}", all.join(", "))),
            })
        }
    }
}

#[cfg(test)]
mod tests;
