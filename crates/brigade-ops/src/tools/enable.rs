//! Enables and disables many tools of the catalog at once.
//!
//! A person sees each tool with its effects and what approves its calls for each agent, and then says yes. Only the
//! fields that change are written, in place.

use std::collections::BTreeMap;

use brigade_access::Rights;
use brigade_catalog::edit::{self, EditError};
use brigade_catalog::{ApprovalMode, Catalog, Effect, FieldValue, Level, Runtime, Tool, misspelt_effect};
use brigade_core::text::escape_terminal;
use brigade_core::{Glob, Hint, NextStep, closest};
use brigade_mcp::ImportAction;
use brigade_policy::Failure;
use brigade_redact::shown_command;
use brigade_workspace::{
    AgentLook, CATALOG, Config, ToolRequest, WorkspaceContext, explain_approval, load, read_agents,
    with_levels,
};

use super::import_mcp::{ImportMcpRequest, import_mcp};
use super::register::save_runtime;
use crate::error::{Error, ErrorKind};
use crate::report::{EnableReport, EnabledTool, ImportedServer, Report as _};
use crate::setup::Setup;
use crate::trust::note_shown;

/// Asks a person whether to do what the report shows. Fails without a person to ask.
pub type Confirm<'c> = dyn FnMut(&EnableReport) -> Result<bool, Error> + 'c;

/// Which tools to change, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnableRequest {
    /// Patterns of ids. Each must match.
    pub globs: Vec<String>,
    /// The change.
    pub change: EnableChange,
}

/// A change of many entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnableChange {
    /// Whether the tools are enabled or disabled.
    pub enabled: bool,
    /// The effects that the tools get; `None` keeps theirs. With `accept_hints`, only those without effects and hints.
    pub effects: Option<Vec<String>>,
    /// The approval mode that the tools get; `None` keeps theirs.
    pub approval: Option<ApprovalMode>,
    /// Whether tools without effects get those that the hints of their server propose.
    pub accept_hints: bool,
    /// Whether to only report what would be done.
    pub dry_run: bool,
}

/// Enables or disables the tools of the project's catalog that match, if `confirm` says yes.
///
/// # Errors
/// Fails if a pattern matches nothing, an effect is misspelt, or the catalog cannot be edited or changed meanwhile, and
/// inside a run. Also returns file errors and those of `confirm`.
pub fn enable_tools(
    context: &WorkspaceContext,
    request: &EnableRequest,
    confirm: &mut Confirm<'_>,
) -> Result<EnableReport, Error> {
    context.require_outside_run()?;
    let text = Setup::new(context).editable_catalog()?;
    let catalog = Catalog::parse(CATALOG, Level::Project, text.as_bytes());
    let globs: Vec<Glob> = request.globs.iter().map(|glob| Glob::of_ids(glob)).collect();
    let ids = || catalog.tools().iter().map(|tool| tool.id.as_str());
    // The entry of a server whose tools are in the catalog is not a tool, so only its own name means it.
    let is_done = |tool: &Tool| {
        let is_of_server = tool.mcp_server().is_some() && tool.lacks("mcp_tool_name");
        let runtime = tool.runtime_id.as_deref().filter(|_| request.change.enabled && is_of_server);
        runtime.is_some_and(|runtime| has_tools_of(&catalog, runtime))
    };
    let picks = |glob: &Glob, tool: &Tool| {
        let id = tool.id.as_str();
        glob.as_str() == id || glob.matches(id) && !is_done(tool)
    };
    for glob in &globs {
        if !catalog.tools().iter().any(|tool| picks(glob, tool)) {
            let in_place = load::catalog(context)?;
            let in_place = in_place.tool(glob.as_str()).filter(|tool| tool.origin.level.is_registry());
            if let Some(tool) = in_place {
                let file = escape_terminal(&tool.origin.place.file);
                let message = format!("`{}` is an entry of {file}, which is only read", tool.id);
                let step = NextStep::Register(format!("registry:{}", tool.id));
                let hint = Hint::to("register it first", step);
                return Err(Error::new(ErrorKind::NotFound, message).hint(hint));
            }
            let message = format!("no tool of {CATALOG} matches `{}`", escape_terminal(glob.as_str()));
            let error = Error::new(ErrorKind::NotFound, message);
            return Err(match closest(glob.as_str(), ids()) {
                Some(near) => error.hint(format!("did you mean `{}`?", escape_terminal(near))),
                None => error.hint(NextStep::ListTools),
            });
        }
    }
    let picked = catalog.tools().iter().filter(|tool| globs.iter().any(|glob| picks(glob, tool)));
    let ids = picked.map(|tool| tool.id.to_string()).collect();
    enable_ids(context, &text, ids, &request.change, confirm)
}

/// Changes the entries with these ids in a catalog of which this is the text.
pub(crate) fn enable_ids(
    context: &WorkspaceContext,
    before: &str,
    ids: Vec<String>,
    change: &EnableChange,
    confirm: &mut Confirm<'_>,
) -> Result<EnableReport, Error> {
    check_effects(change.effects.as_deref().unwrap_or_default())?;
    let catalog = Catalog::parse(CATALOG, Level::Project, before.as_bytes());
    let (mut after, mut tools) = (before.to_owned(), Vec::new());
    for tool in ids.iter().filter_map(|id| catalog.tool(id)) {
        let (text, row) = changed(&after, tool, change)?;
        after = text;
        tools.push(row);
    }
    let servers = if change.enabled { servers_to_import(context, &catalog, &ids)? } else { Vec::new() };
    for (id, runtime) in &servers {
        for row in tools.iter_mut().filter(|row| row.tool_id == *id) {
            row.starts =
                Some(runtime.url.clone().unwrap_or_else(|| shown_command(&runtime.command).into_owned()));
            row.changed = true;
        }
    }
    let new = Catalog::parse(CATALOG, Level::Project, after.as_bytes());
    show_gates(context, new, &mut tools);
    let mut report = EnableReport {
        schema: EnableReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        dry_run: change.dry_run,
        written: false,
        changed_count: tools.iter().filter(|tool| tool.changed).count(),
        tools,
        imported: Vec::new(),
    };
    if change.dry_run || report.changed_count == 0 || !confirm(&report)? {
        return Ok(report);
    }
    {
        let setup = Setup::new(context);
        let _lock = setup.lock_catalog()?;
        if setup.text_of_catalog()? != before {
            return Err(changed_meanwhile());
        }
        if after != before {
            setup.write_config(CATALOG, &after)?;
        }
    }
    report.written = true;
    if change.enabled {
        note_shown(context, "tools enable", |tool| ids.iter().any(|id| tool.id == id.as_str()));
    }
    report.imported =
        servers.into_iter().map(|(_, runtime)| import_server(context, runtime, confirm)).collect();
    Ok(report)
}

/// Returns whether the catalog has tools of the server of a runtime.
fn has_tools_of(catalog: &Catalog, runtime: &str) -> bool {
    catalog.tools().iter().any(|tool| tool.is_imported_from(runtime))
}

/// Returns the runtimes of entries that describe a whole server of which no tool is imported, each with its entry.
fn servers_to_import(
    context: &WorkspaceContext,
    catalog: &Catalog,
    ids: &[String],
) -> Result<Vec<(String, Runtime)>, Failure> {
    let named = ids.iter().filter_map(|id| catalog.tool(id));
    let servers: Vec<&Tool> = named.filter(|tool| tool.is_whole_server() && !tool.is_broken).collect();
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let runtimes = load::runtimes(context)?;
    let of_entry = |tool: &Tool| {
        let id = tool.runtime_id.as_deref().filter(|id| !has_tools_of(catalog, id))?;
        let runtime = runtimes.runtime(id).filter(|runtime| !runtime.is_broken)?;
        Some((tool.id.to_string(), runtime.clone()))
    };
    Ok(servers.into_iter().filter_map(of_entry).collect())
}

/// Enables a runtime, starts its server, and imports its tools, disabled.
fn import_server(context: &WorkspaceContext, runtime: Runtime, confirm: &mut Confirm<'_>) -> ImportedServer {
    let runtime_id = runtime.id.to_string();
    let import = |confirm: &mut Confirm<'_>| -> Result<Vec<String>, Error> {
        if !runtime.enabled {
            save_runtime(context, &Runtime { enabled: true, ..runtime })?;
        }
        let request = ImportMcpRequest { runtime_id: runtime_id.clone(), ..ImportMcpRequest::default() };
        let report = import_mcp(context, &request, confirm)?;
        let added = report.tools.into_iter().filter(|row| row.action == ImportAction::Add);
        Ok(added.map(|row| row.tool_id).collect())
    };
    let (added, error) = match import(confirm) {
        Ok(added) => (added, None),
        Err(error) => (Vec::new(), Some(error.failure().with_hints(&context.speller()))),
    };
    ImportedServer { runtime_id, added, error }
}

/// Returns the error for a catalog that another process changed while a person read the proposal.
pub(crate) fn changed_meanwhile() -> Error {
    let message = format!("{CATALOG} changed after it was shown, so nothing was written");
    Error::new(ErrorKind::Refused, message).hint("run the command again")
}

/// Refuses effects that are probably misspelt.
pub(crate) fn check_effects(effects: &[String]) -> Result<(), Failure> {
    for effect in effects {
        let fault = match misspelt_effect(effect) {
            Some(near) => format!("did you mean `{near}`?"),
            None if effect.trim().is_empty() => {
                format!("known effects are {}", Effect::known().collect::<Vec<_>>().join(", "))
            }
            None => continue,
        };
        let message = format!("`{}` is not an effect", escape_terminal(effect));
        return Err(Failure::new(ErrorKind::Usage, message).hint(fault));
    }
    Ok(())
}

/// Changes one entry, and describes it as it is then.
fn changed(text: &str, tool: &Tool, change: &EnableChange) -> Result<(String, EnabledTool), Failure> {
    let id = tool.id.as_str();
    let effects = match change.accept_hints {
        false => change.effects.clone(),
        true if !tool.effects.is_empty() => None,
        true if tool.proposed_effects.is_empty() => change.effects.clone(),
        true => Some(tool.proposed_effects.clone()),
    };
    let mut row = EnabledTool {
        tool_id: id.to_owned(),
        mcp_tool_name: tool.mcp_tool_name.clone(),
        was_enabled: tool.enabled,
        enabled: change.enabled,
        effects: effects.clone().unwrap_or_else(|| tool.effects.clone()),
        proposed_effects: tool.proposed_effects.clone(),
        approval_mode: change.approval.or(tool.approval_mode),
        gates: BTreeMap::new(),
        starts: None,
        changed: false,
        detail: None,
    };
    if tool.is_broken {
        row.enabled = tool.enabled;
        row.effects.clone_from(&tool.effects);
        row.approval_mode = tool.approval_mode;
        row.detail = Some("the entry has errors, so it is not changed".to_owned());
        return Ok((text.to_owned(), row));
    }
    let edit = || -> Result<String, EditError> {
        let mut text = edit::set_field(text, id, "enabled", &FieldValue::Boolean(change.enabled))?;
        if let Some(effects) = &effects {
            text = edit::set_list(&text, id, "effects", effects)?;
        }
        if let Some(mode) = change.approval {
            text = edit::set_field(&text, id, "approval_mode", &FieldValue::Text(mode.as_str().to_owned()))?;
        }
        Ok(text)
    };
    let after =
        edit().map_err(|error| Failure::new(ErrorKind::InvalidConfig, format!("{CATALOG}: {error}")))?;
    row.changed = after != text;
    if row.enabled && row.effects.is_empty() && tool.mcp_tool_name.is_some() {
        row.detail = Some(match row.proposed_effects.is_empty() {
            true => "it has no effects, and its server hints at none, so its calls are refused until some are granted"
                .to_owned(),
            false => {
                "its effects are only proposed, so its calls are refused: accept the hints, or grant others"
                    .to_owned()
            }
        });
    }
    Ok((after, row))
}

/// Adds what approves calls of each tool, for each agent of the gateway. Files with errors give no gates.
fn show_gates(context: &WorkspaceContext, project: Catalog, tools: &mut [EnabledTool]) {
    let host = context.host();
    let catalog = with_levels(&host, Ok(project)).connect(&load::runtimes(context).unwrap_or_default());
    let config = Config::new(&host, catalog, load::policy(context));
    let Ok(agents) = read_agents(&*context.fs, &context.trust) else { return };
    let names = agents.gateway.agent_names();
    for agent in &agents.gateway.agents {
        let Ok(rights) = Rights::new(&agents.profiles, agent, &[]) else { continue };
        let looks = AgentLook::new(context.host(), &config, agent, &rights);
        for row in &mut *tools {
            let Some(tool) = config.catalog.tool(&row.tool_id) else { continue };
            let visibility = looks.look(tool);
            let request = ToolRequest {
                tool,
                check: visibility.check,
                reviewed: &visibility.reviewed,
                agent: agent.name.as_str(),
                agents: &names,
                now: context.now(),
                pin_changed: false,
                approved_last_hour: &|_| 0,
            };
            let gate = match &visibility.visible {
                Err(reasons) => {
                    let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                    format!("hidden: {}", reasons.join("; "))
                }
                Ok(_) => match explain_approval(&config, &rights, &request).0 {
                    Some(rule) => format!("rule {rule}"),
                    None => visibility.action().as_str().to_owned(),
                },
            };
            row.gates.insert(agent.name.to_string(), gate);
        }
    }
}

#[cfg(test)]
mod tests;
