//! Imports the tools of an MCP server into the catalog, disabled until a person enables them.
//!
//! The server is the command of a runtime. It is started with the checks of a call, lists its tools, and is ended. An
//! imported entry has no effects, only those that the server's hints propose, and its calls are refused until a person
//! grants some. Existing entries and files are never replaced.

use brigade_catalog::{Catalog, Runtime, RuntimeHome, Runtimes, Seconds, Tool};
use brigade_cmdline::{Argv, runs_package};
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, Glob, NextStep};
use brigade_mcp::{Exchange, ImportAction, OnFirstUse, Silence, import_tool, selected};
use brigade_policy::{NETWORK_EFFECTS, Policy};
use brigade_workspace::{CATALOG, Config, WorkspaceContext, load};

use super::enable::{Confirm, EnableChange, check_effects, enable_ids};
use super::import::ServerListing;
use super::register::save_runtime;
use crate::calls::live;
use crate::error::{Error, ErrorKind};
use crate::find_runtime;
use crate::pins;
use crate::report::{ImportMcpReport, Report as _};
use crate::setup::Setup;
use crate::trust::note_shown;

/// How long a server may take to list its tools while its package is downloaded, in seconds.
const DOWNLOAD_TIMEOUT: f64 = 120.0;

/// Options of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportMcpRequest {
    /// The runtime whose command is the server.
    pub runtime_id: String,
    /// Names of the tools at the server; all tools if empty.
    pub tools: Vec<String>,
    /// Patterns of ids, or of names at the server, of the tools that are enabled; `None` enables none.
    pub enable: Option<Vec<String>>,
    /// Whether enabled tools get the effects that the server's hints propose.
    pub accept_hints: bool,
    /// The effects that enabled tools get; with `accept_hints`, only those without hints.
    pub effects: Option<Vec<String>>,
    /// Whether to only report what would be done.
    pub dry_run: bool,
}

/// A server that listed its tools.
pub(crate) struct ListedServer {
    /// The runtime whose command is the server.
    pub(crate) runtime: Runtime,
    /// The tool that the server was asked with.
    pub(crate) asking: Tool,
    /// Its answer.
    pub(crate) exchange: Exchange,
}

impl ListedServer {
    pub(crate) fn listing(&self) -> ServerListing<'_> {
        ServerListing { runtime: &self.runtime, asking: &self.asking, tools: &self.exchange.tools }
    }
}

/// Starts the server of a runtime with these effects, and reads its list. A remote server also gets the network.
///
/// # Errors
/// Fails if the runtime cannot be used, or the server does not answer.
pub(crate) fn list_server(
    context: &WorkspaceContext,
    runtime: Runtime,
    effects: Vec<String>,
) -> Result<ListedServer, Error> {
    let shown = escape_terminal(runtime.id.as_str());
    if runtime.is_broken || !runtime.enabled {
        let why = if runtime.is_broken { "has errors" } else { "is disabled" };
        let message = format!("the runtime `{shown}` {why}");
        let next = match runtime.is_broken {
            true => NextStep::CheckRuntimes,
            false => NextStep::Edit(runtime.place_of("enabled")),
        };
        return Err(Error::new(ErrorKind::InvalidConfig, message).hint(next));
    }
    // The catalog has no entry for a server that is not a tool yet.
    let nothing = Catalog::new(Vec::new(), Vec::new());
    let config = Config::new(&context.host(), nothing, load::policy(context))
        .with_runtimes(Runtimes::new(vec![runtime.clone()], Vec::new()));
    let most = config.policy.policy().and_then(|policy| policy.max_timeout.as_ref()).map(|most| most.value);
    let mut asking = import_tool(&runtime, most);
    if runtime.timeout.is_none() && !effects.is_empty() && downloads_package(&runtime.command) {
        let limit = Seconds::new(DOWNLOAD_TIMEOUT).ok();
        asking.timeout = most.filter(|most| limit.is_none_or(|limit| most.get() < limit.get())).or(limit);
    }
    asking.effects.extend(effects);
    asking.effects.sort();
    asking.effects.dedup();
    let exchange = live::ask(context, &config, &asking).map_err(|why| {
        let message = format!("the server of the runtime `{shown}` listed no tools: {why}");
        let error = Error::new(ErrorKind::Refused, message);
        if matches!(why, Silence::LoginRequired(_)) {
            return error.coded(ErrorCode::LoginRequired).hint(NextStep::Login(runtime.id.to_string()));
        }
        match why.hint_of_the_policy() {
            Some(hint) => error.hint(hint),
            None if why.is_of_the_policy() => error.hint(NextStep::CheckPolicy),
            None => error,
        }
    })?;
    Ok(ListedServer { runtime, asking, exchange })
}

/// Returns whether a command downloads the package that it runs, such as `npx -y NAME`.
pub fn downloads_package(command: &str) -> bool {
    Argv::parse(command).is_ok_and(|argv| runs_package(&argv))
}

/// Lists the tools of a runtime's server and adds them to the catalog, disabled, with their schemas. Then enables the
/// requested ones, if `confirm` says yes.
///
/// # Errors
/// Fails if the runtime cannot be used, the server does not answer or does not list a requested tool, or the
/// catalog is not UTF-8, and inside a run. Also returns file errors and those of `confirm`.
pub fn import_mcp(
    context: &WorkspaceContext,
    request: &ImportMcpRequest,
    confirm: &mut Confirm<'_>,
) -> Result<ImportMcpReport, Error> {
    context.require_outside_run()?;
    check_effects(request.effects.as_deref().unwrap_or_default())?;
    let runtimes = load::runtimes(context)?;
    let mut runtime = find_runtime(&runtimes, &request.runtime_id)?.clone();
    // A server that was imported before may need what it has stored in the home of the person. The connection to a
    // remote server needs the tokens there.
    let is_imported =
        |tool: &Tool| tool.mcp_tool_name.is_some() && tool.runtime_id.as_deref() == Some(runtime.id.as_str());
    let may_get_home = runtime.home.is_none() && runtime.url.is_none();
    let gets_home = may_get_home && !load::catalog(context)?.tools().iter().any(is_imported);
    if gets_home {
        runtime.home = Some(RuntimeHome::Private);
    }
    // Its program downloads the package into the private home, if the policy allows the network.
    let network = NETWORK_EFFECTS[0].to_owned();
    let is_allowed = |policy: &Policy| {
        policy.allowed_effects.find(&network).is_some() && policy.denied_effects.find(&network).is_none()
    };
    let downloads =
        downloads_package(&runtime.command) && load::policy(context).policy().is_some_and(is_allowed);
    let effects = if downloads { vec![network] } else { Vec::new() };
    let server = list_server(context, runtime, effects)?;
    let ListedServer { runtime, asking, exchange } = &server;
    let selected = selected(exchange, &request.tools)?;
    let setup = Setup::new(context);
    let action = if request.dry_run { ImportAction::WouldAdd } else { ImportAction::Add };
    let absolute = |path: &str| context.absolute(path);
    if gets_home && !request.dry_run {
        save_runtime(context, runtime)?;
    }
    let plan = {
        // The lock is held from reading to writing, because another process may import at the same time.
        let _lock = if request.dry_run { None } else { Some(setup.lock_catalog()?) };
        let before = setup.editable_catalog()?;
        let mut plan = setup.plan_import(&before, &server.listing(), &selected, action, absolute)?;
        if !request.dry_run && plan.text != before {
            setup.write_catalog_with(std::mem::take(&mut plan.files), plan.text.clone())?;
        }
        plan
    };
    if !request.dry_run {
        // With the new catalog, the imported tools do not count as appeared.
        let catalog = load::catalog(context)?;
        let names = exchange.tools.iter().map(|tool| tool.name.as_str());
        pins::pin_store(context).note_names(&catalog, asking, names, OnFirstUse::Begin)?;
    }
    if !request.dry_run {
        let is_added = |tool: &Tool| {
            plan.tools.iter().any(|row| row.action == ImportAction::Add && tool.id == row.tool_id.as_str())
        };
        note_shown(context, "tools import", is_added);
    }
    let added = plan.added();
    let enabled = match &request.enable {
        None => None,
        Some(globs) => {
            let globs: Vec<Glob> = globs.iter().map(|glob| Glob::of_ids(glob)).collect();
            let is_named = |name: &str| globs.is_empty() || globs.iter().any(|glob| glob.matches(name));
            let rows = plan.tools.iter().filter(|row| is_named(&row.tool_id) || is_named(&row.mcp_tool_name));
            let ids = rows.map(|row| row.tool_id.clone()).collect();
            let change = EnableChange {
                enabled: true,
                effects: request.effects.clone(),
                approval: None,
                accept_hints: request.accept_hints,
                dry_run: request.dry_run,
            };
            Some(enable_ids(context, &plan.text, ids, &change, confirm)?)
        }
    };
    Ok(ImportMcpReport {
        schema: ImportMcpReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        runtime_id: runtime.id.as_str().to_owned(),
        home: runtime.home_path().map(|home| context.absolute(&home)),
        write_paths: runtime.write_paths.clone(),
        variables: runtime.env.keys().cloned().collect(),
        dry_run: request.dry_run,
        server_info: exchange.server.clone().unwrap_or_default(),
        protocol_version: exchange.protocol_version.clone(),
        listed_count: exchange.tools.len(),
        added_count: added,
        skipped_count: plan.tools.len() - added,
        tools: plan.tools,
        enabled,
    })
}
