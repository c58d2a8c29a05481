//! Shows and accepts pins of MCP tools.

use std::sync::Arc;

use brigade_call::Call;
use brigade_core::Fingerprint;
use brigade_mcp::{McpTool, PINS, PinRecord, PinStore, ServerState, server_issues};

use crate::error::Error;
use crate::refusal::Refusal;
use crate::report::{
    BrokenPin, LiveIssue, OfferedTool, PinListReport, PinReport, PinSummary, Report as _, ServerSummary,
    Unfilled,
};
use crate::room::Room;
use brigade_upkeep::load;

/// Operations on pins.
#[derive(Clone)]
pub struct Pins {
    pub(crate) room: Arc<Room>,
}

impl Pins {
    /// Lists the pins, by server and tool. Starts no server.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list(&self) -> Result<PinListReport, Error> {
        let (pins, errors) = pins(&self.room)?;
        let states = pin_store(&self.room).servers(&load::catalog(&self.room)?, &pins)?;
        let mut issues: Vec<LiveIssue> = states.iter().flat_map(server_issues).collect();
        issues.iter_mut().for_each(|issue| issue.spell(&self.room.speller()));
        let servers: Vec<ServerSummary> =
            states.iter().map(|state| ServerSummary::of(state, |path| self.room.absolute(path))).collect();
        let summaries: Vec<PinSummary> = pins.iter().map(|pin| pin_summary(&self.room, pin)).collect();
        Ok(PinListReport {
            schema: PinListReport::SCHEMA,
            target: self.room.target(),
            pins_path: self.room.absolute(PINS),
            pin_count: summaries.len(),
            changed_count: summaries.iter().filter(|pin| pin.state == "changed").count(),
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
        if let Some(state) = find_server(&self.room, id)? {
            return Ok(server_report(&self.room, &state));
        }
        Ok(pin_report(&self.room, &find_pin(&self.room, id)?))
    }

    /// Accepts a reported change as the new pin. Asks no server.
    ///
    /// `fingerprint` is the prefix of the fingerprint of the reviewed change. A change that came later does not match
    /// and is refused.
    ///
    /// # Errors
    /// Returns [`Refusal::Pin`] if no pin matches or it has no change, and file errors.
    pub fn accept(&self, id: &str, fingerprint: Option<&str>) -> Result<PinReport, Error> {
        self.room.decides()?;
        if let Some(state) = find_server(&self.room, id)? {
            return accept_server(&self.room, state, fingerprint);
        }
        let pin = find_pin(&self.room, id)?;
        let before = pin_report(&self.room, &pin);
        let accepted = pin_store(&self.room).accept(pin, fingerprint).map_err(|failure| {
            Error::from(failure).refusing(&self.room, Refusal::Pin(Some(Box::new(before.clone()))))
        })?;
        let PinReport { changes, offered, .. } = before;
        Ok(PinReport { accepted: true, changes, offered, ..pin_report(&self.room, &accepted) })
    }
}

fn accept_server(room: &Room, state: ServerState, fingerprint: Option<&str>) -> Result<PinReport, Error> {
    let before = server_report(room, &state);
    match pin_store(room).accept_server(state, fingerprint) {
        Ok(state) => Ok(PinReport { accepted: true, changes: before.changes, ..server_report(room, &state) }),
        Err(failure) => Err(Error::from(failure).refusing(room, Refusal::Pin(Some(Box::new(before))))),
    }
}

fn find_server(room: &Room, id: &str) -> Result<Option<ServerState>, Error> {
    // The id of a list is `servers/NAME`.
    if !id.contains('/') {
        return Ok(None);
    }
    Ok(pin_store(room).server_of(&load::catalog(room)?, id)?)
}

fn find_pin(room: &Room, id: &str) -> Result<PinRecord, Error> {
    let found = pin_store(room).the_pin(&load::catalog(room)?, id);
    found.map_err(|failure| Error::from(failure).refusing(room, Refusal::Pin(None)))
}

fn server_report(room: &Room, state: &ServerState) -> PinReport {
    PinReport {
        schema: PinReport::SCHEMA,
        target: room.target(),
        pins_path: room.absolute(PINS),
        pin: None,
        server: Some(ServerSummary::of(state, |path| room.absolute(path))),
        description: None,
        input_schema: brigade_core::Json::Null,
        offered: None,
        changes: state.changes(),
        accepted: false,
        error: Unfilled::default(),
        candidates: Unfilled::default(),
    }
}

pub(crate) fn pin_store(room: &Room) -> PinStore<'_> {
    PinStore { fs: &*room.fs, clock: &*room.env.clock }
}

/// Reads all pins, sorted by server and tool, and the invalid pin files.
pub(crate) fn pins(room: &Room) -> Result<(Vec<PinRecord>, Vec<BrokenPin>), Error> {
    let (pins, broken) = pin_store(room).all()?;
    let shown = |broken: brigade_mcp::BrokenPin| BrokenPin {
        pin_path: room.absolute(broken.path.as_str()),
        error: broken.trouble.to_string(),
    };
    Ok((pins, broken.into_iter().map(shown).collect()))
}

/// Returns the pin of a stored call's tool, if there is a readable one.
pub(crate) fn pin_beside(room: &Room, call: &Call) -> Result<Option<PinRecord>, Error> {
    // Only MCP tools have pins.
    if McpTool::of_contract(&call.family, &call.contract).is_none() {
        return Ok(None);
    }
    Ok(pin_store(room).beside(&load::catalog(room)?, call)?)
}

/// Renews the pin of a call's tool if the offered change is the one that the approval bound. Returns the current pin
/// and the changes.
pub(crate) fn renew_pin(
    room: &Room,
    call: &Call,
    bound: Fingerprint,
) -> Result<(Option<PinRecord>, Vec<String>), Error> {
    Ok(pin_store(room).take_waiting(&load::catalog(room)?, call, bound)?)
}

pub(crate) fn pin_summary(room: &Room, record: &PinRecord) -> PinSummary {
    PinSummary::of(record, |path| room.absolute(path))
}

fn pin_report(room: &Room, record: &PinRecord) -> PinReport {
    let summary = pin_summary(room, record);
    PinReport {
        schema: PinReport::SCHEMA,
        target: room.target(),
        pins_path: room.absolute(PINS),
        changes: summary.changes.clone(),
        pin: Some(summary),
        server: None,
        description: record.pin.tool().description.clone(),
        input_schema: record.pin.tool().input_schema.clone(),
        offered: record.offered.as_ref().map(OfferedTool::from),
        accepted: false,
        error: Unfilled::default(),
        candidates: Unfilled::default(),
    }
}
