//! Lists the tools of servers again, and accepts pins and entries together.
//!
//! What is accepted is exactly what was shown: the server is asked once, before the question.

use brigade_catalog::edit::{self, EditError};
use brigade_catalog::{Catalog, FieldValue, Level, Runtime, Tool};
use brigade_core::text::escape_terminal;
use brigade_core::{Json, NextStep, Timestamp, closest};
use brigade_fs::{NewFile, RelPath};
use brigade_mcp::{
    ImportAction, ListedTool, OnFirstUse, PinStore, SchemaPaths, ServerCommand, diff, imported_tool,
    stored_schema,
};
use brigade_policy::{CallFacts, Failure, decide};
use brigade_workspace::{CATALOG, CONFIG_LIMIT, WorkspaceContext, load, parse_json};

use super::enable::changed_meanwhile;
use super::import::{SCHEMAS, schema_files};
use super::import_mcp::{ListedServer, list_server};
use crate::error::{Error, ErrorKind};
use crate::pins::pin_store;
use crate::report::{Report as _, UpdateAction, UpdateReport, UpdatedServer, UpdatedTool};
use crate::setup::Setup;
use crate::trust::{note_shown, reviewed_tools};

/// Asks a person whether to accept what the report shows. Fails without a person to ask.
pub type ConfirmUpdate<'c> = dyn FnMut(&UpdateReport) -> Result<bool, Error> + 'c;

/// Options of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateRequest {
    /// The runtime, or the server by its name in pins; `None` updates all.
    pub server: Option<String>,
    /// Whether to only report what differs.
    pub dry_run: bool,
}

/// The fields of an entry that follow the server.
const LISTED_FIELDS: [&str; 8] = [
    "description",
    "input_schema_path",
    "output_schema_path",
    "icons",
    "proposed_effects",
    "command",
    "cwd",
    "env_labels",
];

/// Lists the tools of servers again, and compares them with catalog and pins. If `confirm` says yes, renews pins and
/// entries together: effects, rights and approval modes stay, new tools arrive disabled, and tools that are gone are
/// disabled.
///
/// # Errors
/// Fails if no imported tool is of the server, or the catalog cannot be edited or changed meanwhile, and inside a run.
/// Also returns file errors and those of `confirm`.
pub fn update_tools(
    context: &WorkspaceContext,
    request: &UpdateRequest,
    confirm: &mut ConfirmUpdate<'_>,
) -> Result<UpdateReport, Error> {
    context.require_outside_run()?;
    let setup = Setup::new(context);
    let before = setup.editable_catalog()?;
    let catalog = Catalog::parse(CATALOG, Level::Project, before.as_bytes());
    let mut draft = Draft { text: before.clone(), files: Vec::new(), accepted: Vec::new() };
    let mut servers = Vec::new();
    for runtime in runtimes_to_update(context, &catalog, request.server.as_deref())? {
        servers.push(draft.update(context, &catalog, runtime)?);
    }
    let mut report = UpdateReport {
        schema: UpdateReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        dry_run: request.dry_run,
        written: false,
        changed_count: servers.iter().map(|server| server.tools.len()).sum(),
        servers,
    };
    if request.dry_run || report.changed_count == 0 || !confirm(&report)? {
        return Ok(report);
    }
    let _lock = setup.lock_catalog()?;
    if setup.text_of_catalog()? != before {
        return Err(changed_meanwhile());
    }
    let shown: Vec<&UpdatedTool> = report.servers.iter().flat_map(|server| &server.tools).collect();
    let is_shown = |tool: &Tool| shown.iter().any(|row| tool.id == row.tool_id.as_str());
    let mut reviewed = reviewed_tools(context, is_shown)?;
    setup.write_catalog_with(draft.files, draft.text)?;
    // With the new catalog, the new tools do not count as appeared.
    let catalog = load::catalog(context)?;
    draft
        .accepted
        .iter()
        .try_for_each(|server| accept(pin_store(context), &catalog, server, context.now()))?;
    reviewed
        .extend(shown.iter().filter(|row| row.action == UpdateAction::New).map(|row| row.tool_id.clone()));
    note_shown(context, "tools update", |tool| reviewed.iter().any(|id| tool.id == id.as_str()));
    report.written = true;
    Ok(report)
}

/// Returns the runtimes with imported tools: all, or those that a person named.
fn runtimes_to_update(
    context: &WorkspaceContext,
    catalog: &Catalog,
    named: Option<&str>,
) -> Result<Vec<Runtime>, Error> {
    let runtimes = load::runtimes(context)?;
    let is_imported = |runtime: &&Runtime| catalog.tools().iter().any(|tool| is_of(tool, runtime));
    let is_named = |runtime: &&Runtime| {
        let of_server = |name: &str| {
            let servers = catalog.tools().iter().filter(|tool| is_of(tool, runtime));
            runtime.id == name || servers.into_iter().any(|tool| tool.mcp_server() == Some(name))
        };
        named.is_none_or(|name| of_server(name.trim()))
    };
    let imported = || runtimes.runtimes().iter().filter(is_imported);
    let found: Vec<Runtime> = imported().filter(is_named).cloned().collect();
    let Some(name) = named.filter(|_| found.is_empty()) else { return Ok(found) };
    let message = format!("no tool of {CATALOG} was imported from a server `{}`", escape_terminal(name));
    let error = Error::new(ErrorKind::NotFound, message);
    let near = closest(name, imported().map(|runtime| runtime.id.as_str()));
    Err(match (near, runtimes.runtime(name.trim())) {
        (Some(near), _) => error.hint(format!("did you mean `{}`?", escape_terminal(near))),
        (None, Some(runtime)) => error.hint(NextStep::TryImportMcp(runtime.id.to_string())),
        (None, None) => error.hint(NextStep::ListRuntimes),
    })
}

/// Returns whether an entry was imported from the server of a runtime.
fn is_of(tool: &Tool, runtime: &Runtime) -> bool {
    tool.mcp_tool_name.as_deref().is_some_and(|name| !name.is_empty())
        && tool.mcp_server().is_some()
        && tool.runtime_id.as_deref() == Some(runtime.id.as_str())
}

/// What an update writes.
struct Draft {
    text: String,
    files: Vec<NewFile>,
    accepted: Vec<ListedServer>,
}

impl Draft {
    /// Asks the server of a runtime, and adds what differs.
    fn update(
        &mut self,
        context: &WorkspaceContext,
        catalog: &Catalog,
        runtime: Runtime,
    ) -> Result<UpdatedServer, Error> {
        let mut row = UpdatedServer { runtime_id: runtime.id.to_string(), ..UpdatedServer::default() };
        let policy = load::policy(context);
        let is_set = |name: &str| context.environment.is_set(name);
        let is_allowed =
            |tool: &&Tool| tool.enabled && decide(&policy, &CallFacts::from_tool(tool), &is_set).is_allowed();
        let entries: Vec<&Tool> = catalog.tools().iter().filter(|tool| is_of(tool, &runtime)).collect();
        // The server starts with what its calls may do.
        let allowed = entries.iter().copied().filter(is_allowed);
        let mut effects: Vec<String> = allowed.flat_map(|tool| tool.effects.iter().cloned()).collect();
        effects.sort();
        effects.dedup();
        let server = match list_server(context, runtime, effects) {
            Ok(server) => server,
            Err(error) => {
                row.error = Some(error.to_string());
                return Ok(row);
            }
        };
        row.server_info = server.exchange.server.clone().unwrap_or_default();
        let tools = &server.exchange.tools;
        for entry in &entries {
            let name = entry.mcp_tool_name.as_deref().unwrap_or_default();
            let mut listed = tools.iter().filter(|tool| tool.name == name);
            let difference = match (listed.next(), listed.next()) {
                (Some(listed), None) => self.change(context, catalog, &server, entry, listed)?,
                // A tool that is listed twice is never called.
                (Some(_), Some(_)) => None,
                (None, _) => self.remove(entry)?,
            };
            match difference {
                Some((action, changes)) => row.tools.push(UpdatedTool {
                    tool_id: entry.id.to_string(),
                    mcp_tool_name: name.to_owned(),
                    action,
                    changes,
                }),
                None => row.unchanged_count += 1,
            }
        }
        let is_known = |tool: &&ListedTool| {
            entries.iter().any(|entry| entry.mcp_tool_name.as_deref() == Some(&*tool.name))
        };
        let new: Vec<&ListedTool> = tools.iter().filter(|tool| !is_known(tool)).collect();
        let plan = Setup::new(context).plan_import(
            &self.text,
            &server.listing(),
            &new,
            ImportAction::Add,
            |path| context.absolute(path),
        )?;
        self.text = plan.text;
        self.files.extend(plan.files);
        row.tools.extend(plan.tools.into_iter().filter(|tool| tool.action != ImportAction::Skip).map(
            |tool| UpdatedTool {
                tool_id: tool.tool_id,
                mcp_tool_name: tool.mcp_tool_name,
                action: UpdateAction::New,
                changes: tool.description.into_iter().collect(),
            },
        ));
        self.accepted.push(server);
        Ok(row)
    }

    /// Disables the entry of a tool that its server does not list any more.
    fn remove(&mut self, entry: &Tool) -> Result<Option<(UpdateAction, Vec<String>)>, Failure> {
        if !entry.enabled {
            return Ok(None);
        }
        let disabled = FieldValue::Boolean(false);
        self.text =
            edit::set_field(&self.text, entry.id.as_str(), "enabled", &disabled).map_err(not_edited)?;
        let change = "the server does not list it any more, so its entry is disabled".to_owned();
        Ok(Some((UpdateAction::Removed, vec![change])))
    }

    /// Makes an entry follow the listing of its tool.
    fn change(
        &mut self,
        context: &WorkspaceContext,
        catalog: &Catalog,
        server: &ListedServer,
        entry: &Tool,
        listed: &ListedTool,
    ) -> Result<Option<(UpdateAction, Vec<String>)>, Error> {
        let paths = schema_paths(entry, listed);
        let new = imported_tool(&server.asking, listed, entry.id.as_str(), &paths);
        let files = schema_files(listed, &paths);
        let is_written = |(path, bytes, _): &NewFile| {
            context.fs.read(path, CONFIG_LIMIT).is_ok_and(|old| old[..] == bytes[..])
        };
        let store = pin_store(context);
        let pin = store.key(catalog, entry)?.and_then(|key| store.read(&key).ok().flatten());
        let of_pin = pin.map(|record| record.pin.changes(listed)).unwrap_or_default();
        let mut changes: Vec<String> =
            changes_of_entry(context, entry, (&entry.description, &new.description), listed);
        if changes.is_empty() {
            changes = of_pin.iter().map(ToString::to_string).collect();
        }
        for (field, what) in [
            ("output_schema_path", "the schema of the results"),
            ("proposed_effects", "the proposed effects"),
            ("icons", "the icons"),
            ("command", "the command of the server"),
            ("cwd", "the directory of the server"),
            ("env_labels", "the labels of variables"),
        ] {
            let is_output = field == "output_schema_path" && !files.iter().skip(1).all(is_written);
            if entry.field(field) != new.field(field) || is_output {
                changes.push(format!("{what} changed"));
            }
        }
        if changes.is_empty() {
            return Ok(None);
        }
        self.files.extend(files.into_iter().filter(|file| !is_written(file)));
        self.text = follow(&self.text, entry, &new).map_err(not_edited)?;
        Ok(Some((UpdateAction::Changed, changes)))
    }
}

fn not_edited(error: EditError) -> Failure {
    Failure::new(ErrorKind::InvalidConfig, format!("{CATALOG}: {error}"))
}

/// Sets the fields of an entry that follow the server.
fn follow(text: &str, entry: &Tool, new: &Tool) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for field in LISTED_FIELDS {
        let value = match (entry.field(field), new.field(field)) {
            (old, new) if old == new => continue,
            (_, Some(value)) => value,
            (Some(FieldValue::List(_)), None) => FieldValue::List(Vec::new()),
            (_, None) => FieldValue::Text(String::new()),
        };
        text = edit::set_field(&text, entry.id.as_str(), field, &value)?;
    }
    Ok(text)
}

/// Returns the files for the schemas of an entry. Files that a person named elsewhere are not written.
fn schema_paths(entry: &Tool, listed: &ListedTool) -> SchemaPaths {
    let folder = format!("{SCHEMAS}/");
    let own = entry.input_schema_path.as_deref().and_then(|path| path.strip_prefix(&folder));
    let own = own.and_then(|name| name.strip_suffix(".input.json"));
    let is_name = |name: &&str| !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    let stem = own.filter(is_name).map_or_else(|| entry.id.as_str().replace(['/', '.'], "-"), str::to_owned);
    SchemaPaths::new(SCHEMAS, &stem, listed)
}

/// Compares two descriptions, and the parameters of an entry with those of a listing, as sentences.
fn changes_of_entry(
    context: &WorkspaceContext,
    entry: &Tool,
    (before, after): (&Option<String>, &Option<String>),
    listed: &ListedTool,
) -> Vec<String> {
    let stored = entry.input_schema_path.as_deref().and_then(|path| path.parse::<RelPath>().ok());
    let stored = stored.and_then(|path| context.fs.read(&path, CONFIG_LIMIT).ok());
    let listing = |description: &Option<String>, schema: Json| {
        ListedTool::from_json(&Json::object([
            ("name", Json::from(listed.name.as_str())),
            ("description", Json::from(description.clone())),
            ("inputSchema", schema),
        ]))
    };
    let now = parse_json(stored_schema(listed).as_bytes()).unwrap_or_default();
    // Without a readable schema every parameter is new.
    let stored = stored.and_then(|bytes| parse_json(&bytes).ok()).unwrap_or_default();
    match (listing(before, stored), listing(after, now)) {
        (Some(before), Some(now)) => diff(&before, &now).iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

/// Renews the pins of a server and its known list.
fn accept(
    store: PinStore<'_>,
    catalog: &Catalog,
    server: &ListedServer,
    now: Timestamp,
) -> Result<(), Error> {
    let ListedServer { runtime, asking, exchange } = server;
    for entry in catalog.tools().iter().filter(|tool| is_of(tool, runtime)) {
        let Some(key) = store.key(catalog, entry)? else { continue };
        let Ok(Some(record)) = store.read(&key) else { continue };
        let mut listed = exchange.tools.iter().filter(|tool| tool.name == key.tool);
        match (listed.next(), listed.next()) {
            (Some(listed), None) => {
                store.accept_listing(record, listed, ServerCommand::from_tool(entry), now)?;
            }
            (None, _) => store.forget(&record)?,
            (Some(_), Some(_)) => {}
        }
    }
    let names = exchange.tools.iter().map(|tool| tool.name.as_str());
    store.note_names(catalog, asking, names, OnFirstUse::Begin)?;
    let (pins, _) = store.all()?;
    let of_server = asking.mcp_server().unwrap_or_default();
    let states = store.servers(catalog, &pins)?.into_iter();
    for state in states.filter(|state| state.listing.server == of_server && state.is_changed()) {
        store.accept_names(state)?;
    }
    Ok(())
}

/// Makes an entry follow a listing that a person accepted as the pin of its tool. Only the parts that a pin has are
/// renewed, and only if the entry still has those of the pin before.
///
/// # Errors
/// Fails if the catalog cannot be edited, or on a disk error.
pub(crate) fn follow_pin(
    context: &WorkspaceContext,
    tool: &Tool,
    before: &ListedTool,
    accepted: &ListedTool,
) -> Result<(), Error> {
    let setup = Setup::new(context);
    let _lock = setup.lock_catalog()?;
    let text = setup.editable_catalog()?;
    let catalog = Catalog::parse(CATALOG, Level::Project, text.as_bytes());
    // An entry of the user is in another file.
    let Some(entry) = catalog.tool(tool.id.as_str()) else { return Ok(()) };
    let paths = SchemaPaths { output: None, ..schema_paths(entry, accepted) };
    let listed = |listed: &ListedTool| imported_tool(entry, listed, entry.id.as_str(), &paths);
    let (old, new) = (listed(before), listed(accepted));
    let takes_schema = changes_of_entry(context, entry, (&None, &None), before).is_empty();
    let new = Tool {
        description: match entry.description == old.description {
            true => new.description,
            false => entry.description.clone(),
        },
        input_schema_path: match takes_schema {
            true => new.input_schema_path,
            false => entry.input_schema_path.clone(),
        },
        ..entry.clone()
    };
    let files = if takes_schema { schema_files(accepted, &paths) } else { Vec::new() };
    let text = follow(&text, entry, &new).map_err(not_edited)?;
    Ok(setup.write_catalog_with(files, text)?)
}

#[cfg(test)]
mod tests;
