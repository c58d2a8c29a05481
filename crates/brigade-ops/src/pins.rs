//! Shows and accepts pins of MCP tools.

pub(crate) mod states;

use std::sync::Arc;

use brigade_call::{Call, VerifiedCall};
use brigade_core::{Fingerprint, Timestamp};
use brigade_fs::FsError;
use brigade_mcp::{
    Exchange, McpOfCall, McpTool, PINS, PinLookupError, PinRecord, PinStore, ServerState, server_issues,
};
use brigade_workspace::{Config, WorkspaceContext, load};

use crate::error::Error;
use crate::refusal::Refusal;
use crate::report::{
    BrokenPin, LiveIssue, OfferedTool, PinListReport, PinReport, PinState, PinSummary, Report as _,
    ServerSummary,
};
use crate::tools::update::follow_pin;
use crate::trust::{note_shown, reviewed_tools};

/// Operations on pins.
#[derive(Clone)]
pub struct Pins {
    pub(crate) context: Arc<WorkspaceContext>,
}

impl Pins {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> Pins {
        Pins { context }
    }
}

impl Pins {
    /// Lists the pins, by server and tool. Starts no server.
    pub fn list(&self) -> Result<PinListReport, Error> {
        let (pins, errors) = pins(&self.context)?;
        let states = pin_store(&self.context).servers(&load::catalog(&self.context)?, &pins)?;
        let mut issues: Vec<LiveIssue> = states.iter().flat_map(server_issues).collect();
        issues.iter_mut().for_each(|issue| issue.spell(&self.context.speller()));
        let servers: Vec<ServerSummary> = states
            .iter()
            .map(|state| ServerSummary::new(state, |path| self.context.absolute(path)))
            .collect();
        let summaries: Vec<PinSummary> = pins.iter().map(|pin| pin_summary(&self.context, pin)).collect();
        Ok(PinListReport {
            schema: PinListReport::SCHEMA,
            target: self.context.target(),
            pins_path: self.context.absolute(PINS),
            pin_count: summaries.len(),
            changed_count: summaries.iter().filter(|pin| pin.state == PinState::Changed).count(),
            pins: summaries,
            error_count: errors.len(),
            errors,
            is_live: false,
            server_count: servers.len(),
            servers,
            issue_count: issues.len(),
            issues,
        })
    }

    /// Shows a pin, and the change that its server listed since.
    ///
    /// # Errors
    /// Returns [`Refusal::Pin`] if no pin matches, and file errors.
    pub fn show(&self, id: &str) -> Result<PinReport, Error> {
        if let Some(state) = find_server(&self.context, id)? {
            return Ok(server_report(&self.context, &state));
        }
        Ok(pin_report(&self.context, &find_pin(&self.context, id)?))
    }

    /// Accepts a reported change as the new pin, and renews the entry of the tool if it is as it was imported. Asks no
    /// server.
    ///
    /// `fingerprint` is the prefix of the fingerprint of the reviewed change. A change that came later does not match
    /// and is refused.
    ///
    /// # Errors
    /// Returns [`Refusal::Pin`] if no pin matches or it has no change, and file errors.
    pub fn accept(&self, id: &str, fingerprint: Option<&str>) -> Result<PinReport, Error> {
        self.context.require_outside_run()?;
        if let Some(state) = find_server(&self.context, id)? {
            return accept_server(&self.context, state, fingerprint);
        }
        let pin = find_pin(&self.context, id)?;
        let before = pin_report(&self.context, &pin);
        let pinned = pin.pin.tool().clone();
        let accepted = pin_store(&self.context).accept(pin, fingerprint).map_err(|failure| {
            Error::from(failure).refusing(&self.context, Refusal::Pin(Some(Box::new(before.clone()))))
        })?;
        let PinReport { changes, offered, .. } = before;
        let catalog = load::catalog(&self.context)?;
        let store = pin_store(&self.context);
        for tool in catalog.tools() {
            if store.key(&catalog, tool)?.as_ref() == Some(&accepted.tool) {
                let reviewed = reviewed_tools(&self.context, |other| other.id == tool.id)?;
                follow_pin(&self.context, tool, &pinned, accepted.pin.tool())?;
                note_shown(&self.context, "pins accept", |other| {
                    reviewed.iter().any(|id| other.id == id.as_str())
                });
            }
        }
        Ok(PinReport { accepted: true, changes, offered, ..pin_report(&self.context, &accepted) })
    }
}

fn accept_server(
    context: &WorkspaceContext,
    state: ServerState,
    fingerprint: Option<&str>,
) -> Result<PinReport, Error> {
    let before = server_report(context, &state);
    match pin_store(context).accept_server(state, fingerprint) {
        Ok(state) => {
            Ok(PinReport { accepted: true, changes: before.changes, ..server_report(context, &state) })
        }
        Err(failure) => Err(Error::from(failure).refusing(context, Refusal::Pin(Some(Box::new(before))))),
    }
}

fn find_server(context: &WorkspaceContext, id: &str) -> Result<Option<ServerState>, Error> {
    // The id of a list is `servers/NAME`.
    if !id.contains('/') {
        return Ok(None);
    }
    Ok(pin_store(context).server_of(&load::catalog(context)?, id)?)
}

fn find_pin(context: &WorkspaceContext, id: &str) -> Result<PinRecord, Error> {
    let (store, catalog) = (pin_store(context), load::catalog(context)?);
    let found = store.the_pin(&catalog, id).or_else(|failure| {
        let named = load::named(&catalog, id).map(|tool| tool.id.as_str()).filter(|named| *named != id);
        named.and_then(|named| store.the_pin(&catalog, named).ok()).ok_or(failure)
    });
    found.map_err(|failure| Error::from(failure).refusing(context, Refusal::Pin(None)))
}

fn server_report(context: &WorkspaceContext, state: &ServerState) -> PinReport {
    PinReport {
        schema: PinReport::SCHEMA,
        target: context.target(),
        pins_path: context.absolute(PINS),
        server: Some(ServerSummary::new(state, |path| context.absolute(path))),
        changes: state.changes(),
        ..PinReport::default()
    }
}

/// Returns the store of the pins.
pub fn pin_store(context: &WorkspaceContext) -> PinStore<'_> {
    context.host().pins()
}

/// A call's tool and its pin, if it has one.
pub type PinnedCall<'c> = (McpOfCall<'c>, Option<Arc<PinRecord>>);

/// Returns the pin that a verified call is compared with. `None` if it is not an MCP call.
pub fn pin_of_call<'c>(
    context: &WorkspaceContext,
    config: &'c Arc<Config>,
    call: &VerifiedCall,
) -> Result<Option<PinnedCall<'c>>, PinLookupError> {
    let store = pin_store(context);
    let found = match &context.memory {
        Some(memory) => memory.pin_of_call(context.host(), config, call.call())?,
        None => store.of_call(&config.catalog, call.call())?.map(|mcp| {
            let read = store.read(mcp.key()).map(|record| record.map(Arc::new));
            (mcp, read)
        }),
    };
    let Some((mcp, read)) = found else { return Ok(None) };
    let pinned = store.of_verified(&mcp, read, call)?;
    Ok(Some((mcp, pinned)))
}

/// Stores the listing of a call's server. Returns the id of a pin that it changes.
pub fn keep(
    context: &WorkspaceContext,
    config: &Arc<Config>,
    mcp: &McpOfCall<'_>,
    pinned: Option<&PinRecord>,
    exchange: &Exchange,
    seen_at: Timestamp,
) -> Result<Option<String>, FsError> {
    let changed = pin_store(context).keep(mcp, pinned, exchange, seen_at)?;
    match &context.memory {
        Some(memory) => memory.note_names(context.host(), config, mcp, &exchange.tools)?,
        None => pin_store(context).note_listed(mcp, &exchange.tools)?,
    }
    Ok(changed)
}

/// Reads all pins, sorted by server and tool, and the invalid pin files.
fn pins(context: &WorkspaceContext) -> Result<(Vec<PinRecord>, Vec<BrokenPin>), Error> {
    let (pins, broken) = pin_store(context).all()?;
    let shown = |broken: brigade_mcp::BrokenPin| BrokenPin {
        pin_path: context.absolute(broken.path.as_str()),
        error: broken.trouble.to_string(),
    };
    Ok((pins, broken.into_iter().map(shown).collect()))
}

/// Returns the pin of a stored call's tool, if it exists and is readable.
pub(crate) fn pin_beside(context: &WorkspaceContext, call: &Call) -> Result<Option<PinRecord>, Error> {
    // Only MCP tools have pins.
    if McpTool::of_contract(&call.family, &call.contract).is_none() {
        return Ok(None);
    }
    Ok(pin_store(context).beside(&load::catalog(context)?, call)?)
}

/// Renews the pin of a call's tool if the offered change is the one that the approval bound. Returns the current pin
/// and the changes.
pub(crate) fn renew_pin(
    context: &WorkspaceContext,
    call: &Call,
    bound: Fingerprint,
) -> Result<(Option<PinRecord>, Vec<String>), Error> {
    Ok(pin_store(context).take_waiting(&load::catalog(context)?, call, bound)?)
}

pub(crate) fn pin_summary(context: &WorkspaceContext, record: &PinRecord) -> PinSummary {
    PinSummary::new(record, |path| context.absolute(path))
}

fn pin_report(context: &WorkspaceContext, record: &PinRecord) -> PinReport {
    let summary = pin_summary(context, record);
    PinReport {
        schema: PinReport::SCHEMA,
        target: context.target(),
        pins_path: context.absolute(PINS),
        changes: summary.changes.clone(),
        pin: Some(summary),
        description: record.pin.tool().description.clone(),
        input_schema: record.pin.tool().input_schema.clone(),
        offered: record.offered.as_ref().map(OfferedTool::from),
        ..PinReport::default()
    }
}

#[cfg(test)]
mod tests;
