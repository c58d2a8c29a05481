//! Adds a server or other tools in one step: registers them, allows what listing them needs, enables the runtime, and
//! imports its tools. A person confirms before any of this is written; see [`StagedFs`](brigade_fs::StagedFs).

use std::collections::BTreeSet;

use brigade_catalog::{Level, Runtime, Tool};
use brigade_cmdline::{Argv, find_program};
use brigade_core::{ConfigIssue, ErrorCode, ErrorKind, Severity};
use brigade_fs::RelPath;
use brigade_policy::{
    Failure, NETWORK_EFFECTS, PolicyAdditions, PolicyEditError, PolicyState, RuleText, add_permissions,
    add_rule,
};
use brigade_workspace::{CONFIG_LIMIT, POLICY, RUNTIMES, WorkspaceContext, is_program, load};

use super::import_mcp::{ImportMcpRequest, downloads_package, import_mcp};
use super::register::{RegisterRequest, RegisterSource, register, save_runtime};
use crate::error::Error;
use crate::refusal::Refusal;
use crate::report::ImportMcpReport;
use crate::setup::Setup;

/// What was added.
#[derive(Clone, Debug, Default)]
pub struct AddedTools {
    /// The tools of servers, one report per server.
    pub servers: Vec<ImportMcpReport>,
    /// The ids of tools that are not of a server.
    pub others: Vec<String>,
}

/// Registers a source, and imports the tools of its servers. Entries are disabled. The servers start.
///
/// `id` is another id for the only tool. A source that is registered already is only imported.
///
/// # Errors
/// Fails as registering and importing do, and if the policy cannot be edited.
pub fn add_tools(
    context: &WorkspaceContext,
    source: &RegisterSource,
    id: Option<&str>,
    registered_as: Option<&str>,
) -> Result<AddedTools, Error> {
    let mut added = AddedTools::default();
    let ids = match registered_as {
        Some(known) => vec![(known.to_owned(), Some(runtime_of_entry(context, known)?))],
        None => {
            let request = RegisterRequest {
                sources: vec![source.clone()],
                level: Level::Project,
                id: id.map(str::to_owned),
                replace: false,
                dry_run: false,
            };
            let registered = register(context, &request)
                .map_err(|error| Error::not_done(context, error, Refusal::Register))?;
            registered.registered.into_iter().map(|row| (row.tool_id, row.runtime_id)).collect()
        }
    };
    for (tool, runtime) in ids {
        let Some(runtime) = runtime else {
            added.others.push(tool);
            continue;
        };
        let runtime = load::runtimes(context)?.runtime(&runtime).cloned();
        let runtime = Runtime { enabled: true, ..runtime.ok_or_else(|| not_there(&tool))? };
        let runtime = with_program(context, runtime);
        save_runtime(context, &runtime)?;
        allow(context, &needs_of_server(&runtime))?;
        let request = ImportMcpRequest { runtime_id: runtime.id.to_string(), ..ImportMcpRequest::default() };
        added.servers.push(import_mcp(context, &request, &mut |_| Ok(false))?);
    }
    Ok(added)
}

/// Returns the runtime of a registered entry, or the runtime of this id itself.
fn runtime_of_entry(context: &WorkspaceContext, id: &str) -> Result<String, Failure> {
    let catalog = load::catalog(context)?;
    let of_tool = catalog.tool(id).and_then(|tool: &Tool| tool.runtime_id.clone());
    Ok(of_tool.unwrap_or_else(|| id.to_owned()))
}

/// Writes the path of the program that `PATH` finds now into the command of a server. Agents and people often have
/// different values of `PATH`, and a call that one asked for would start another program for the other. A file that git
/// tracks is for every machine, and keeps the name.
fn with_program(context: &WorkspaceContext, runtime: Runtime) -> Runtime {
    let (fs, root) = (&*context.fs, context.fs.root());
    let find = || {
        let argv = Argv::parse(&runtime.command).ok()?;
        let [name, rest @ ..] = argv.words() else { return None };
        if name.contains('/') || runtime.url.is_some() || brigade_fs::is_tracked(fs, RUNTIMES) {
            return None;
        }
        let found = find_program(name, root, context.environment.get("PATH"), |path| is_program(fs, path))?;
        let path = found.to_str().filter(|_| !found.starts_with(root))?.to_owned();
        let words = std::iter::once(path).chain(rest.iter().cloned());
        Some(Argv::new(words.collect()).ok()?.to_string())
    };
    match find() {
        Some(command) => Runtime { command, ..runtime },
        None => runtime,
    }
}

fn not_there(tool: &str) -> Failure {
    Failure::new(ErrorKind::NotFound, format!("the runtime of `{tool}` is not in runtimes.toml"))
}

/// Returns what a policy must allow so that a server can start and list its tools.
pub(crate) fn needs_of_server(runtime: &Runtime) -> PolicyAdditions {
    let remote = runtime.remote();
    let needs_network = remote.is_some() || downloads_package(&runtime.command);
    PolicyAdditions {
        families: BTreeSet::from(["mcp".to_owned()]),
        effects: needs_network.then(|| NETWORK_EFFECTS[0].to_owned()).into_iter().collect(),
        remotes: remote.iter().map(brigade_catalog::RemoteServer::origin).collect(),
        labels: runtime.env_labels.iter().cloned().collect(),
        read_paths: BTreeSet::new(),
    }
}

/// Adds permissions to the policy of the workspace, if it has one.
///
/// # Errors
/// Fails if the file cannot be edited, or on a disk error.
pub fn allow(context: &WorkspaceContext, additions: &PolicyAdditions) -> Result<(), Failure> {
    change_policy(context, |text| add_permissions(text, additions))
}

/// Adds a rule to the policy of the workspace, if it has one.
///
/// # Errors
/// As [`allow`].
pub fn add_policy_rule(context: &WorkspaceContext, rule: &RuleText) -> Result<(), Failure> {
    change_policy(context, |text| add_rule(text, rule))
}

fn change_policy(
    context: &WorkspaceContext,
    change: impl FnOnce(&str) -> Result<String, PolicyEditError>,
) -> Result<(), Failure> {
    let invalid = |message: String| Failure::new(ErrorKind::InvalidConfig, message);
    let before = match context.fs.read(&RelPath::from_static(POLICY), CONFIG_LIMIT) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| invalid(format!("{POLICY}: not UTF-8 text")))?,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if let PolicyState::Invalid { issues, .. } = PolicyState::parse(POLICY, Some(before.as_bytes())) {
        let errors = issues.into_iter().filter(|issue| issue.severity == Severity::Error);
        let errors: Vec<ConfigIssue> = errors.collect();
        return Err(Failure::invalid_config(ErrorCode::PolicyInvalid, POLICY, &errors));
    }
    let after = change(&before).map_err(|error| invalid(format!("{POLICY}: {error}")))?;
    if after != before {
        Setup::new(context).write_config(POLICY, &after)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
