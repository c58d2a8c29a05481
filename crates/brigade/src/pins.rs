//! What is shown and accepted of the pins of MCP tools.

use std::sync::Arc;

use brigade_call::Call;
use brigade_core::text::escape_terminal;
use brigade_core::{Fingerprint, NextStep, closest};
use brigade_doctor::{PinProblem, PinState};
use brigade_mcp::{McpTool, PINS, PinRecord, PinStore, ServerState, sentence};

use crate::error::{Error, ErrorKind};
use crate::gather::Config;
use crate::refusal::Refusal;
use crate::report::{
    BrokenPin, LiveIssue, OfferedTool, PinListReport, PinReport, PinSummary, Report as _, ServerSummary,
    Unfilled,
};
use crate::room::Room;

/// Digits of a fingerprint that name what is offered.
const SHORTEST: usize = 8;

/// Shows and accepts what MCP servers list.
#[derive(Clone)]
pub struct Pins {
    pub(crate) room: Arc<Room>,
}

impl Pins {
    /// Lists the pins, by server and tool. Starts no server.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn list(&self) -> Result<PinListReport, Error> {
        let (pins, errors) = self.room.pins()?;
        let states = self.room.pin_store().servers(&self.room.catalog()?, &pins)?;
        let mut issues: Vec<LiveIssue> = states.iter().flat_map(server_issues).collect();
        issues.iter_mut().for_each(|issue| issue.spell(&*self.room.env.speller));
        let servers: Vec<ServerSummary> =
            states.iter().map(|state| self.room.server_summary(state)).collect();
        let summaries: Vec<PinSummary> = pins.iter().map(|pin| self.room.pin_summary(pin)).collect();
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

    /// Shows a pin, and what the server said differently when it was last asked.
    ///
    /// # Errors
    /// [`Refusal::Pin`] when no pin is meant; when the disk fails.
    pub fn show(&self, id: &str) -> Result<PinReport, Error> {
        if let Some(state) = self.room.find_server(id)? {
            return Ok(self.room.server_report(&state));
        }
        Ok(self.room.pin_report(&self.room.find_pin(id)?))
    }

    /// Makes what a server said differently the pin, exactly as it was reported. Asks no server. With the beginning of
    /// a fingerprint, only when that is the one of what is offered: so nothing is taken that came after what was looked
    /// at.
    ///
    /// # Errors
    /// [`Refusal::Pin`] when no pin is meant, or nothing of it changed; when the disk fails.
    pub fn accept(&self, id: &str, fingerprint: Option<&str>) -> Result<PinReport, Error> {
        if let Some(state) = self.room.find_server(id)? {
            return self.room.accept_server(state, fingerprint);
        }
        let pin = self.room.find_pin(id)?;
        let refused = |error: Error| {
            error.refusing(&self.room, Refusal::Pin(Some(Box::new(self.room.pin_report(&pin)))))
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
        let before = self.room.pin_report(&pin);
        let accepted = self.room.pin_store().renew(pin, &offered)?;
        let PinReport { changes, offered, .. } = before;
        Ok(PinReport { accepted: true, changes, offered, ..self.room.pin_report(&accepted) })
    }
}

impl Room {
    fn accept_server(&self, state: ServerState, fingerprint: Option<&str>) -> Result<PinReport, Error> {
        let before = self.server_report(&state);
        let id = state.listing.id();
        let message = if fingerprint.is_some() {
            "the list of a server has no fingerprint".to_owned()
        } else if state.is_changed() {
            let accepted = self.pin_store().accept_names(state)?;
            return Ok(PinReport {
                accepted: true,
                changes: before.changes,
                ..self.server_report(&accepted)
            });
        } else {
            format!("nothing of the list `{}` changed", escape_terminal(&id))
        };
        let error = Error::new(ErrorKind::Refused, message).hint(NextStep::ComparePins);
        Err(error.refusing(self, Refusal::Pin(Some(Box::new(before)))))
    }

    /// Finds what a server lists by its id, which no pin has.
    fn find_server(&self, id: &str) -> Result<Option<ServerState>, Error> {
        let id = id.trim();
        if !id.contains('/') {
            return Ok(None);
        }
        let (pins, _) = self.pins()?;
        let states = self.pin_store().servers(&self.catalog()?, &pins)?;
        Ok(states.into_iter().find(|state| state.listing.id() == id))
    }

    fn server_report(&self, state: &ServerState) -> PinReport {
        PinReport {
            schema: PinReport::SCHEMA,
            target: self.target(),
            pins_path: self.absolute(PINS),
            pin: None,
            server: Some(self.server_summary(state)),
            description: None,
            input_schema: brigade_core::Json::Null,
            offered: None,
            changes: state.changes(),
            accepted: false,
            error: Unfilled::default(),
            candidates: Unfilled::default(),
        }
    }

    /// Lists the pins that do not hold, as a diagnosis sees them.
    pub(crate) fn pin_states(&self, config: &Config) -> Result<Vec<PinState>, Error> {
        let (pins, broken) = self.pins()?;
        let mut keys = Vec::new();
        if !pins.is_empty() || !broken.is_empty() {
            for tool in config.catalog.tools() {
                keys.extend(self.pin_store().key(&config.catalog, tool)?.map(|key| (key, tool.id.as_str())));
            }
        }
        let asks_for = |wanted: &dyn Fn(&McpTool) -> bool| {
            keys.iter().find(|(key, _)| wanted(key)).map(|(_, id)| (*id).to_owned())
        };
        let of_pins = pins.iter().filter_map(|pin| {
            let problem = match (&pin.missing_since, &pin.offered) {
                (Some(_), _) => PinProblem::Vanished,
                (None, Some(offered)) => {
                    PinProblem::Changed { changes: pin.changes(), offered: offered.fingerprint() }
                }
                (None, None) => return None,
            };
            let file = format!("{PINS}/{}", pin.tool.file_name());
            Some(PinState { id: pin.id(), file, tool_id: asks_for(&|mcp| *mcp == pin.tool), problem })
        });
        let of_broken = broken.iter().map(|broken| {
            let name = broken.pin_path.rsplit('/').next().unwrap_or_default();
            PinState {
                id: name.trim_end_matches(".json").to_owned(),
                file: format!("{PINS}/{name}"),
                tool_id: asks_for(&|mcp| mcp.file_name() == name),
                problem: PinProblem::Unreadable(broken.error.clone()),
            }
        });
        let servers = self.pin_store().servers(&config.catalog, &pins)?;
        let of_servers = servers.iter().flat_map(server_problems);
        Ok(of_pins.chain(of_broken).chain(of_servers).collect())
    }

    pub(crate) fn pin_store(&self) -> PinStore<'_> {
        PinStore { fs: &*self.fs, clock: &*self.env.clock }
    }

    /// Reads every pin, sorted by server and tool, and says which files are none.
    pub(crate) fn pins(&self) -> Result<(Vec<PinRecord>, Vec<BrokenPin>), Error> {
        let (pins, broken) = self.pin_store().all()?;
        let shown = |broken: brigade_mcp::BrokenPin| BrokenPin {
            pin_path: self.absolute(broken.path.as_str()),
            error: broken.trouble.to_string(),
        };
        Ok((pins, broken.into_iter().map(shown).collect()))
    }

    /// Returns the pin of the tool that a stored call asks for, when it can be read.
    pub(crate) fn pin_beside(&self, call: &Call) -> Result<Option<PinRecord>, Error> {
        // Only MCP tools have pins.
        if McpTool::of_contract(&call.family, &call.contract).is_none() {
            return Ok(None);
        }
        Ok(self.pin_store().beside(&self.catalog()?, call)?)
    }

    /// Makes the waiting change of a call's tool its pin, when it is the one that an approval bound; returns the
    /// pin as it is now, and what changed.
    pub(crate) fn renew_pin(
        &self,
        call: &Call,
        bound: Fingerprint,
    ) -> Result<(Option<PinRecord>, Vec<String>), Error> {
        Ok(self.pin_store().take_waiting(&self.catalog()?, call, bound)?)
    }

    fn server_summary(&self, state: &ServerState) -> ServerSummary {
        let listing = &state.listing;
        ServerSummary {
            id: listing.id(),
            server: listing.server.clone(),
            state: if state.is_changed() { "changed" } else { "known" },
            tool_count: listing.listed.len(),
            appeared: state.appeared.clone(),
            vanished: state.vanished.clone(),
            known_at: listing.known_at.to_string(),
            listed_at: listing.listed_at.to_string(),
            listing_path: self.absolute(listing.path().as_str()),
        }
    }

    /// Finds a pin by its id, by the id of a tool in the catalog, or by the beginning of its id.
    fn find_pin(&self, id: &str) -> Result<PinRecord, Error> {
        let id = id.trim();
        let (pins, broken) = self.pins()?;
        if let Some(pin) = pins.iter().find(|pin| pin.id() == id) {
            return Ok(pin.clone());
        }
        let catalog = self.catalog()?;
        let key = match catalog.tool(id) {
            Some(tool) => self.pin_store().key(&catalog, tool)?,
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
        let none = |error: Error| error.refusing(self, Refusal::Pin(None));
        match matches.as_slice() {
            [pin] => Ok((*pin).clone()),
            [] => {
                let names: Vec<String> = pins.iter().map(PinRecord::id).collect();
                let error = Error::new(ErrorKind::NotFound, format!("no pin has the id `{shown}`"));
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

    pub(crate) fn pin_summary(&self, record: &PinRecord) -> PinSummary {
        let changes = record.changes();
        PinSummary {
            id: record.id(),
            server: record.tool.server.clone(),
            tool: record.tool.tool.clone(),
            state: match (&record.missing_since, record.offered.is_some()) {
                (Some(_), _) => "vanished",
                (None, true) => "changed",
                (None, false) => "pinned",
            },
            fingerprint: record.pin.fingerprint().to_hex(),
            pinned_at: record.pin.pinned_at().to_string(),
            offered_at: record.offered.as_ref().map(|offered| offered.pinned_at().to_string()),
            offered_fingerprint: record.offered.as_ref().map(|offered| offered.fingerprint().to_hex()),
            missing_since: record.missing_since.map(|at| at.to_string()),
            pin_path: self.absolute(&format!("{PINS}/{}", record.tool.file_name())),
            changes,
        }
    }

    fn pin_report(&self, record: &PinRecord) -> PinReport {
        let summary = self.pin_summary(record);
        PinReport {
            schema: PinReport::SCHEMA,
            target: self.target(),
            pins_path: self.absolute(PINS),
            changes: summary.changes.clone(),
            pin: Some(summary),
            server: None,
            description: record.pin.tool().description.clone(),
            input_schema: record.pin.tool().input_schema.clone(),
            offered: record.offered.as_ref().map(|offered| OfferedTool {
                name: offered.tool().name.clone(),
                description: offered.tool().description.clone(),
                input_schema: offered.tool().input_schema.clone(),
                fingerprint: offered.fingerprint().to_hex(),
            }),
            accepted: false,
            error: Unfilled::default(),
            candidates: Unfilled::default(),
        }
    }
}

/// Returns what a person should know of the list of a server.
pub(crate) fn server_issues(state: &ServerState) -> Vec<LiveIssue> {
    let issue = |code: &'static str, names: &[String], what: &str| {
        (!names.is_empty()).then(|| LiveIssue {
            code,
            severity: "warning",
            server: state.listing.server.clone(),
            tool: if let [name] = names { Some(name.clone()) } else { None },
            message: sentence(names, what),
            changes: Vec::new(),
            hint: Some(NextStep::ShowPin(state.listing.id()).into()),
        })
    };
    let appeared = issue("mcp_tool_appeared", &state.appeared, "appeared");
    let vanished = issue("mcp_tool_vanished", &state.vanished, "vanished");
    appeared.into_iter().chain(vanished).collect()
}

/// Returns the list of a server as a diagnosis sees it.
fn server_problems(state: &ServerState) -> impl Iterator<Item = PinState> {
    let problem = |names: &[String], what: &str, of: fn(String) -> PinProblem| {
        (!names.is_empty()).then(|| PinState {
            id: state.listing.id(),
            file: state.listing.path().to_string(),
            tool_id: None,
            problem: of(sentence(names, what)),
        })
    };
    let appeared = problem(&state.appeared, "appeared", PinProblem::Appeared);
    appeared.into_iter().chain(problem(&state.vanished, "vanished", PinProblem::Gone))
}
