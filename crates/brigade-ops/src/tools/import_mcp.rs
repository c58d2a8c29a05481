//! Imports the tools of an MCP server into the catalog, disabled until a person reviews them.
//!
//! The server is the command of a runtime. It is started with the checks of a call, lists its tools, and is ended. An
//! imported entry always asks for approval and has no permissions or effects. Its calls are refused until a person adds
//! some. Existing entries and files are never replaced.

use crate::setup::Setup;
use crate::{ImportResult, ServerListing, find_runtime};
use brigade_catalog::Catalog;
use brigade_core::text::escape_terminal;
use brigade_core::{NextStep, codes};
use brigade_mcp::{ImportAction, OnFirstUse, Silence, import_tool, wanted};
use brigade_workspace::{CATALOG, Config, WorkspaceContext, load};

use crate::calls::live;
use crate::error::{Error, ErrorKind};
use crate::pins;
use crate::report::{ImportMcpReport, Report as _};

/// Options of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportMcpRequest {
    /// The runtime whose command is the server.
    pub runtime_id: String,
    /// Names of the tools at the server; all tools if empty.
    pub tools: Vec<String>,
    /// Whether to only report what would be done.
    pub dry_run: bool,
}

/// Lists the tools of a runtime's server and adds them to the catalog, disabled, with their input schemas.
///
/// # Errors
/// Fails if the runtime cannot be used, the server does not answer or does not list a requested tool, or the
/// catalog is not UTF-8, and inside a run. Also returns file errors.
pub fn import_mcp(context: &WorkspaceContext, request: &ImportMcpRequest) -> Result<ImportMcpReport, Error> {
    context.require_outside_run()?;
    let runtimes = load::runtimes(context)?;
    let runtime = find_runtime(&runtimes, &request.runtime_id)?;
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
    let config = Config::new(&context.host(), nothing, load::policy(context));
    let most = config.policy.policy().and_then(|policy| policy.max_timeout.as_ref()).map(|most| most.value);
    let asking = import_tool(runtime, most);
    let exchange = live::ask(context, &config, &asking).map_err(|why| {
        let message = format!("the server of the runtime `{shown}` listed no tools: {why}");
        let error = Error::new(ErrorKind::Refused, message);
        if matches!(why, Silence::LoginRequired(_)) {
            return error.coded(codes::LOGIN_REQUIRED).hint(NextStep::Login(runtime.id.to_string()));
        }
        match why.hint_of_the_policy() {
            Some(hint) => error.hint(hint),
            None if why.is_of_the_policy() => error.hint(NextStep::CheckPolicy),
            None => error,
        }
    })?;
    let wanted = wanted(&exchange, &request.tools)?;
    let ImportResult { tools, added } = Setup::new(context).import_listed(
        &ServerListing { runtime, asking: &asking, tools: &exchange.tools },
        wanted,
        request.dry_run,
        |path| context.absolute(path),
    )?;
    if !request.dry_run {
        // With the new catalog, the imported tools do not count as appeared.
        let catalog = load::catalog(context)?;
        let names = exchange.tools.iter().map(|tool| tool.name.as_str());
        pins::pin_store(context).note_names(&catalog, &asking, names, OnFirstUse::Begin)?;
    }
    let count = |action| tools.iter().filter(|tool| tool.action == action).count();
    Ok(ImportMcpReport {
        schema: ImportMcpReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        runtime_id: runtime.id.as_str().to_owned(),
        dry_run: request.dry_run,
        server_info: exchange.server.clone().unwrap_or_default(),
        protocol_version: exchange.protocol_version.clone(),
        listed_count: exchange.tools.len(),
        added_count: added,
        skipped_count: count(ImportAction::Skip),
        tools,
    })
}
