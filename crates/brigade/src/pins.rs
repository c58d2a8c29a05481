//! Shows and accepts pins of MCP tools.

use std::sync::Arc;

use brigade_call::Call;
use brigade_core::text::escape_terminal;
use brigade_core::{Fingerprint, NextStep, closest};
use brigade_mcp::{McpTool, PINS, PinRecord, PinStore, ServerState, server_issues};

use crate::codes;
use crate::error::{Error, ErrorKind};
use crate::load;
use crate::refusal::Refusal;
use crate::report::{
    BrokenPin, LiveIssue, OfferedTool, PinListReport, PinReport, PinSummary, Report as _, ServerSummary,
    Unfilled,
};
use crate::room::Room;

/// The minimum number of fingerprint digits that identify an offered change.
const SHORTEST: usize = 8;

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
        issues.iter_mut().for_each(|issue| issue.spell(&*self.room.env.speller));
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
        if let Some(state) = find_server(&self.room, id)? {
            return accept_server(&self.room, state, fingerprint);
        }
        let pin = find_pin(&self.room, id)?;
        let refused = |error: Error| {
            error.refusing(&self.room, Refusal::Pin(Some(Box::new(pin_report(&self.room, &pin)))))
        };
        let shown = escape_terminal(&pin.id()).into_owned();
        let Some(offered) = pin.offered.clone() else {
            let message = format!("nothing of the pin `{shown}` changed");
            return Err(refused(Error::new(ErrorKind::Refused, message).hint(NextStep::ComparePins)));
        };
        if let Some(wanted) = fingerprint {
            let wanted = wanted.trim().to_ascii_lowercase();
            if wanted.len() < SHORTEST || !offered.fingerprint().to_hex().starts_with(&wanted) {
                let message = if wanted.len() < SHORTEST {
                    format!("the fingerprint needs at least {SHORTEST} digits")
                } else {
                    format!("the server offers something else for the pin `{shown}`")
                };
                let hint = NextStep::ShowPin(pin.id());
                return Err(refused(Error::new(ErrorKind::Refused, message).hint(hint)));
            }
        }
        let before = pin_report(&self.room, &pin);
        let accepted = pin_store(&self.room).renew(pin, &offered)?;
        let PinReport { changes, offered, .. } = before;
        Ok(PinReport { accepted: true, changes, offered, ..pin_report(&self.room, &accepted) })
    }
}

fn accept_server(room: &Room, state: ServerState, fingerprint: Option<&str>) -> Result<PinReport, Error> {
    let before = server_report(room, &state);
    let id = state.listing.id();
    let message = if fingerprint.is_some() {
        "the list of a server has no fingerprint".to_owned()
    } else if state.is_changed() {
        let accepted = pin_store(room).accept_names(state)?;
        return Ok(PinReport { accepted: true, changes: before.changes, ..server_report(room, &accepted) });
    } else {
        format!("nothing of the list `{}` changed", escape_terminal(&id))
    };
    let error = Error::new(ErrorKind::Refused, message).hint(NextStep::ComparePins);
    Err(error.refusing(room, Refusal::Pin(Some(Box::new(before)))))
}

/// Finds the list of a server by its id, which differs from ids of pins.
fn find_server(room: &Room, id: &str) -> Result<Option<ServerState>, Error> {
    let id = id.trim();
    if !id.contains('/') {
        return Ok(None);
    }
    let (pins, _) = pins(room)?;
    let states = pin_store(room).servers(&load::catalog(room)?, &pins)?;
    Ok(states.into_iter().find(|state| state.listing.id() == id))
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

/// Finds a pin by its id, a prefix of its id, or the id of a catalog tool.
fn find_pin(room: &Room, id: &str) -> Result<PinRecord, Error> {
    let id = id.trim();
    let (pins, broken) = pins(room)?;
    if let Some(pin) = pins.iter().find(|pin| pin.id() == id) {
        return Ok(pin.clone());
    }
    let catalog = load::catalog(room)?;
    let key = match catalog.tool(id) {
        Some(tool) => pin_store(room).key(&catalog, tool)?,
        None => None,
    };
    if let Some(key) = key
        && let Some(pin) = pins.iter().find(|pin| pin.tool == key)
    {
        return Ok(pin.clone());
    }
    let matches: Vec<&PinRecord> =
        pins.iter().filter(|pin| !id.is_empty() && pin.id().starts_with(id)).collect();
    let shown = escape_terminal(id);
    let none = |error: Error| error.refusing(room, Refusal::Pin(None));
    match matches.as_slice() {
        [pin] => Ok((*pin).clone()),
        [] => {
            let names: Vec<String> = pins.iter().map(PinRecord::id).collect();
            let error = Error::new(ErrorKind::NotFound, format!("no pin has the id `{shown}`"))
                .coded(codes::PIN_MISSING);
            let file = format!("{id}.json");
            Err(none(match broken.iter().find(|broken| broken.pin_path.ends_with(&file)) {
                Some(broken) => Error::new(
                    ErrorKind::Refused,
                    format!("the pin `{shown}` cannot be read: {}", broken.error),
                ),
                None => match closest(id, names.iter().map(String::as_str)) {
                    Some(near) => error.hint(format!("did you mean `{}`?", escape_terminal(near))),
                    None => error.hint(NextStep::ListPins),
                },
            }))
        }
        several => {
            let error = Error::new(ErrorKind::Ambiguous, format!("`{shown}` could be more than one pin"));
            Err(none(error.candidates(several.iter().map(|pin| pin.id()))))
        }
    }
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
