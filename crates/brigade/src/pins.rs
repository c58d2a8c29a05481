//! Pins of MCP tools on disk: what a server said of a tool when it was first used, and what it says differently since.
//!
//! A pin is one file, `.brigade/tools/pins/<server>--<tool>.json`. The first call of a tool writes it. A later call whose
//! server lists the tool differently is not made; the new listing is kept beside the pin as what is *offered* (a look with
//! `pins list --live` keeps it, too). [`Workspace::pin_accept`] makes it the pin, and so does the next approval of a call of
//! the tool, which shows what changed and binds exactly that listing. A pin that cannot be read refuses every call of its tool.
//!
//! Calls that were approved for another listing do not run any more. A server that stops listing a pinned tool is noted beside
//! the pin, until it lists the tool again.
//!
//! Beside the pins, `servers/` keeps which tools each server listed at first and lists since ([`servers`]).

mod key;
mod servers;
mod store;

use std::sync::Arc;
use std::time::Duration;

use brigade_call::{Call, PinFact, VerifiedCall};
use brigade_catalog::{Catalog, Family, Tool};
use brigade_core::text::escape_terminal;
use brigade_core::{Fingerprint, Timestamp, closest};
use brigade_doctor::{PinProblem, PinState};
use brigade_mcp::{Exchange, ListedTool, McpErrorKind, Pin, refusal_of_build};
use brigade_policy::Blocker;

use crate::error::{Error, ErrorKind};
use crate::gather::Config;
use crate::report::{
    BrokenPin, LiveIssue, OfferedTool, PinListReport, PinReport, PinSummary, Report as _, ServerSummary,
};
use crate::room::{Room, rel};

pub(crate) use key::{McpTool, ServerCommand};
pub(crate) use servers::FirstTime;
use servers::ServerState;
pub(crate) use store::{PinRecord, PinTrouble};

/// The folder of the pins.
const PINS: &str = ".brigade/tools/pins";

/// The file whose lock is held while a first use makes a pin.
const LOCK: &str = ".lock";

/// How long to wait for it; it is held for as long as a file takes to be written.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// What a call asks for.
pub(crate) struct McpOfCall<'c> {
    /// Whose pin it needs.
    key: McpTool,
    /// The tool, as far as the catalog has it.
    tool: Option<&'c Tool>,
    catalog: &'c Catalog,
}

fn unreadable(tool: &McpTool, trouble: &PinTrouble) -> Blocker {
    let path = format!("{PINS}/{}", tool.file_name());
    Blocker::new("mcp_pin_unreadable", format!("the pin `{path}` cannot be trusted: {trouble}"))
        .field("mcp_tool_name")
        .hint("look at the file; without it, the next call pins the tool anew")
}

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
        let states = self.room.server_states(&self.room.catalog()?, &pins)?;
        let issues: Vec<LiveIssue> = states.iter().flat_map(ServerState::issues).collect();
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
    /// When the disk fails.
    pub fn show(&self, id: &str) -> Result<PinReport, Error> {
        if let Some(state) = self.room.find_server(id)? {
            return Ok(self.room.server_report(&state));
        }
        Ok(match self.room.find_pin(id)? {
            Ok(pin) => self.room.pin_report(&pin),
            Err(error) => self.room.no_pin(&error),
        })
    }

    /// Makes what a server said differently the pin, exactly as it was reported. Asks no server. With the beginning of a
    /// fingerprint, only when that is the one of what is offered: so nothing is taken that came after what was looked at.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn accept(&self, id: &str, fingerprint: Option<&str>) -> Result<PinReport, Error> {
        if let Some(state) = self.room.find_server(id)? {
            return self.room.accept_server(state, fingerprint);
        }
        let pin = match self.room.find_pin(id)? {
            Ok(pin) => pin,
            Err(error) => return Ok(self.room.no_pin(&error)),
        };
        let Some(offered) = pin.offered.clone() else {
            let message = format!("nothing of the pin `{}` changed", escape_terminal(&pin.id()));
            let error = Error::new(ErrorKind::Refused, message).hint("brigade tools pins list --live");
            return Ok(PinReport { error: Some(error.with_hints()), ..self.room.pin_report(&pin) });
        };
        if let Some(wanted) = fingerprint {
            let wanted = wanted.trim().to_ascii_lowercase();
            if wanted.len() < SHORTEST || !offered.fingerprint().to_hex().starts_with(&wanted) {
                let message = if wanted.len() < SHORTEST {
                    format!("the fingerprint needs at least {SHORTEST} digits")
                } else {
                    format!("the server offers something else for the pin `{}`", escape_terminal(&pin.id()))
                };
                let hint = format!("brigade tools pins show {}", escape_terminal(&pin.id()));
                let error = Error::new(ErrorKind::Refused, message).hint(hint);
                return Ok(PinReport { error: Some(error.with_hints()), ..self.room.pin_report(&pin) });
            }
        }
        let before = self.room.pin_report(&pin);
        let accepted = self.room.renew(pin, &offered)?;
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
            let accepted = self.accept_names(state)?;
            return Ok(PinReport {
                accepted: true,
                changes: before.changes,
                ..self.server_report(&accepted)
            });
        } else {
            format!("nothing of the list `{}` changed", escape_terminal(&id))
        };
        let error = Error::new(ErrorKind::Refused, message).hint("brigade tools pins list --live");
        Ok(PinReport { error: Some(error.with_hints()), ..before })
    }

    /// Finds what a server lists by its id, which no pin has.
    fn find_server(&self, id: &str) -> Result<Option<ServerState>, Error> {
        let id = id.trim();
        if !id.contains('/') {
            return Ok(None);
        }
        let (pins, _) = self.pins()?;
        let states = self.server_states(&self.catalog()?, &pins)?;
        Ok(states.into_iter().find(|state| state.listing.id() == id))
    }

    fn server_report(&self, state: &ServerState) -> PinReport {
        PinReport {
            server: Some(self.server_summary(state)),
            changes: state.changes(),
            error: None,
            ..self.no_pin(&Error::new(ErrorKind::NotFound, ""))
        }
    }

    /// Makes what a server said differently the pin.
    fn renew(&self, record: PinRecord, offered: &Pin) -> Result<PinRecord, Error> {
        let renewed = PinRecord { pin: Pin::of(offered.tool(), self.now()), offered: None, ..record };
        self.write_pin(&renewed)?;
        Ok(renewed)
    }

    /// Makes the waiting change of a call's tool its pin, when it is the one that an approval bound; returns the
    /// pin as it is now, and what changed.
    pub(crate) fn renew_pin(
        &self,
        call: &Call,
        bound: Fingerprint,
    ) -> Result<(Option<PinRecord>, Vec<String>), Error> {
        Ok(match self.pin_beside(call)? {
            Some(record) => match record.waiting(bound) {
                Some(offered) => {
                    let changes = record.changes();
                    (Some(self.renew(record, &offered)?), changes)
                }
                None => (Some(record), Vec::new()),
            },
            None => (None, Vec::new()),
        })
    }

    /// Returns the pin of the tool that a stored call asks for, when it can be read.
    pub(crate) fn pin_beside(&self, call: &Call) -> Result<Option<PinRecord>, Error> {
        // Of the families, one has pins.
        if McpTool::of_contract(&call.family, &call.contract).is_none() {
            return Ok(None);
        }
        match self.mcp_of_call(&self.catalog()?, call)? {
            Some(mcp) => Ok(self.read_pin(&mcp.key)?.unwrap_or_default()),
            None => Ok(None),
        }
    }

    /// Returns whose pin a call needs; none for what is no MCP call.
    pub(crate) fn mcp_of_call<'c>(
        &self,
        catalog: &'c Catalog,
        call: &Call,
    ) -> Result<Option<McpOfCall<'c>>, Error> {
        let Some(named) = McpTool::of_contract(&call.family, &call.contract) else { return Ok(None) };
        // What the call was made of may be gone from the catalog, or be another tool by now.
        let tool = catalog.tool(&call.tool_id).filter(|tool| McpTool::of_tool(tool).as_ref() == Some(&named));
        let key = match tool {
            Some(tool) => self.pin_key(catalog, tool)?.unwrap_or(named),
            None => named,
        };
        Ok(Some(McpOfCall { key, tool, catalog }))
    }

    /// Returns what a plan needs to know of the pin of a tool, and why it refuses every call, when it cannot be read.
    pub(crate) fn pin_fact(
        &self,
        catalog: &Catalog,
        tool: &Tool,
    ) -> Result<(PinFact, Option<Blocker>), Error> {
        if tool.family == Some(Family::Mcp)
            && let Some(blocker) = refusal_of_build()
        {
            return Ok((PinFact::None, Some(blocker)));
        }
        let Some(mcp) = self.pin_key(catalog, tool)? else { return Ok((PinFact::None, None)) };
        Ok(match self.read_pin(&mcp)? {
            Ok(None) => (PinFact::None, None),
            Ok(Some(PinRecord { offered: Some(offered), .. })) => {
                (PinFact::Changed(offered.fingerprint()), None)
            }
            Ok(Some(PinRecord { pin, .. })) => (PinFact::Pinned(pin.fingerprint()), None),
            Err(trouble) => (PinFact::None, Some(unreadable(&mcp, &trouble))),
        })
    }

    /// Returns the pin of a call's tool; none before its first use and for what is no MCP call. A change that the call's
    /// approval bound becomes the pin, should that have been cut short.
    ///
    /// # Errors
    /// With the reason why the call may not run, when there is a pin and it cannot be read.
    pub(crate) fn pin_of(
        &self,
        mcp: Option<&McpOfCall<'_>>,
        call: &VerifiedCall,
    ) -> Result<Result<Option<PinRecord>, Blocker>, Error> {
        let Some(McpOfCall { key: tool, .. }) = mcp else { return Ok(Ok(None)) };
        let approval = call.call().approval.as_ref();
        let bound = approval.and_then(|approval| approval.binding.pin);
        let record = match self.read_pin(tool)? {
            Ok(record) => record,
            Err(trouble) => return Ok(Err(unreadable(tool, &trouble))),
        };
        let Some(record) = record else { return Ok(Ok(None)) };
        Ok(Ok(Some(match bound.and_then(|bound| record.waiting(bound)) {
            Some(offered) => self.renew(record, &offered)?,
            None => record,
        })))
    }

    /// Keeps what the server said of the tool: as the pin at the first use, as the offer when it says something else.
    /// Returns the pin's id when it does.
    pub(crate) fn keep_listing(
        &self,
        mcp: &McpOfCall<'_>,
        pinned: Option<&PinRecord>,
        exchange: &Exchange,
        seen_at: Timestamp,
    ) -> Result<Option<String>, Error> {
        let changed = self.keep_tool(mcp, pinned, exchange, seen_at)?;
        if let Some(tool) = mcp.tool {
            let names = exchange.tools.iter().map(|tool| tool.name.as_str());
            self.note_names(mcp.catalog, tool, names, FirstTime::Begin)?;
        }
        Ok(changed)
    }

    /// Makes what the server says of a call's tool its pin, unless somebody else has done so meanwhile, whose pin then comes back.
    ///
    /// # Errors
    /// With the reason why the tool may not be called.
    pub(crate) fn first_use(
        &self,
        mcp: Option<&McpOfCall<'_>>,
        listed: &ListedTool,
    ) -> Result<Option<Pin>, String> {
        let text = |error: Error| error.to_string();
        let Some(mcp) = mcp else { return Ok(None) };
        let lock = rel(PINS).join(LOCK).expect("it is a name");
        let keep = || -> Result<Result<Option<Pin>, PinTrouble>, Error> {
            self.fs.create_dir_all(&rel(PINS))?;
            let holder = format!("process {} (brigade tools call run)", std::process::id());
            let _lock = self.fs.lock(&lock, &holder, LOCK_PATIENCE)?;
            let found = match self.read_pin(&mcp.key)? {
                Ok(found) => found,
                Err(trouble) => return Ok(Err(trouble)),
            };
            if let Some(record) = found {
                return Ok(Ok(Some(record.pin)));
            }
            let pin = Pin::of(listed, self.now());
            let (tool, command) = (mcp.key.clone(), mcp.tool.map(ServerCommand::of));
            self.write_pin(&PinRecord { tool, pin, offered: None, missing_since: None, command })?;
            Ok(Ok(None))
        };
        keep().map_err(text)?.map_err(|trouble| trouble.to_string())
    }

    fn keep_tool(
        &self,
        mcp: &McpOfCall<'_>,
        pinned: Option<&PinRecord>,
        exchange: &Exchange,
        seen_at: Timestamp,
    ) -> Result<Option<String>, Error> {
        let Some(listed) = &exchange.tool else {
            let fault = exchange.fault.as_ref().map(|fault| fault.kind);
            if fault == Some(McpErrorKind::ToolNotListed)
                && let Some(record) = pinned
            {
                self.note_vanished(record, seen_at)?;
            }
            return Ok(None);
        };
        let command = mcp.tool.map(ServerCommand::of);
        let read;
        let record = match pinned {
            // Its first use, which made the pin, or somebody else's that did so meanwhile.
            None => {
                let Ok(Some(record)) = self.read_pin(&mcp.key)? else { return Ok(None) };
                read = record;
                &read
            }
            Some(record) => record,
        };
        let changed = (!record.pin.holds(listed)).then(|| record.id());
        self.note_listing(record, listed, command, seen_at)?;
        Ok(changed)
    }

    /// Keeps a listing beside a pin as what is offered when it is another one, and forgets an older offer when it is not. A pin that
    /// holds is known to be of the server that has this command.
    pub(crate) fn note_listing(
        &self,
        record: &PinRecord,
        listed: &ListedTool,
        command: Option<ServerCommand>,
        seen_at: Timestamp,
    ) -> Result<(), Error> {
        let offered = (!record.pin.holds(listed)).then(|| Pin::of(listed, seen_at));
        let command = if offered.is_none() { command.or(record.command) } else { record.command };
        let known = record.offered.as_ref().map(Pin::fingerprint);
        if known == offered.as_ref().map(Pin::fingerprint)
            && record.missing_since.is_none()
            && record.command == command
        {
            return Ok(());
        }
        self.write_pin(&PinRecord { offered, missing_since: None, command, ..record.clone() })
    }

    /// Keeps beside a pin that its server does not list the tool any more.
    pub(crate) fn note_vanished(&self, record: &PinRecord, seen_at: Timestamp) -> Result<(), Error> {
        if record.missing_since.is_some() {
            return Ok(());
        }
        self.write_pin(&PinRecord { missing_since: Some(seen_at), ..record.clone() })
    }

    /// Reads every pin, sorted by server and tool, and says which files are none.
    pub(crate) fn pins(&self) -> Result<(Vec<PinRecord>, Vec<BrokenPin>), Error> {
        let mut pins = Vec::new();
        let mut broken = Vec::new();
        let entries = match self.fs.list_dir(&rel(PINS)) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        for entry in entries {
            if !entry.name.ends_with(".json") || brigade_fs::is_temporary(&entry.name) {
                continue;
            }
            let Ok(path) = rel(PINS).join(&entry.name) else { continue };
            match self.read_pin_file(&path)? {
                Ok(Some(record)) if record.tool.file_name() == entry.name => pins.push(record),
                Ok(None) => {}
                Ok(Some(_)) => broken.push(self.broken_pin(path.as_str(), &PinTrouble::WrongPlace)),
                Err(trouble) => broken.push(self.broken_pin(path.as_str(), &trouble)),
            }
        }
        pins.sort_by(|one, other| one.tool.cmp(&other.tool));
        broken.sort_by(|one, other| one.pin_path.cmp(&other.pin_path));
        Ok((pins, broken))
    }

    /// Lists the pins that do not hold, as a diagnosis sees them.
    pub(crate) fn pin_states(&self, config: &Config) -> Result<Vec<PinState>, Error> {
        let (pins, broken) = self.pins()?;
        let mut keys = Vec::new();
        if !pins.is_empty() || !broken.is_empty() {
            for tool in config.catalog.tools() {
                keys.extend(self.pin_key(&config.catalog, tool)?.map(|key| (key, tool.id.as_str())));
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
        let of_servers = self.server_problems(&config.catalog, &pins)?;
        Ok(of_pins.chain(of_broken).chain(of_servers).collect())
    }

    fn broken_pin(&self, path: &str, trouble: &PinTrouble) -> BrokenPin {
        BrokenPin { pin_path: self.absolute(path), error: trouble.to_string() }
    }

    /// Finds a pin by its id, by the id of a tool in the catalog, or by the beginning of its id.
    fn find_pin(&self, id: &str) -> Result<Result<PinRecord, Error>, Error> {
        let id = id.trim();
        let (pins, broken) = self.pins()?;
        if let Some(pin) = pins.iter().find(|pin| pin.id() == id) {
            return Ok(Ok(pin.clone()));
        }
        let catalog = self.catalog()?;
        let key = match catalog.tool(id) {
            Some(tool) => self.pin_key(&catalog, tool)?,
            None => None,
        };
        if let Some(key) = key
            && let Some(pin) = pins.iter().find(|pin| pin.tool == key)
        {
            return Ok(Ok(pin.clone()));
        }
        let matches: Vec<&PinRecord> =
            pins.iter().filter(|pin| !id.is_empty() && pin.id().starts_with(id)).collect();
        let shown = escape_terminal(id);
        Ok(match matches.as_slice() {
            [pin] => Ok((*pin).clone()),
            [] => {
                let names: Vec<String> = pins.iter().map(PinRecord::id).collect();
                let error = Error::new(ErrorKind::NotFound, format!("no pin has the id `{shown}`"));
                let file = format!("{id}.json");
                Err(match broken.iter().find(|broken| broken.pin_path.ends_with(&file)) {
                    Some(broken) => Error::new(
                        ErrorKind::Refused,
                        format!("the pin `{shown}` cannot be read: {}", broken.error),
                    ),
                    None => match closest(id, names.iter().map(String::as_str)) {
                        Some(near) => error.hint(format!("did you mean `{}`?", escape_terminal(near))),
                        None => error.hint("brigade tools pins list"),
                    },
                })
            }
            several => Err(Error::new(ErrorKind::Ambiguous, format!("`{shown}` could be more than one pin"))
                .candidates(several.iter().map(|pin| pin.id()))),
        })
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
            error: None,
            candidates: Vec::new(),
        }
    }

    fn no_pin(&self, error: &Error) -> PinReport {
        PinReport {
            schema: PinReport::SCHEMA,
            target: self.target(),
            pins_path: self.absolute(PINS),
            pin: None,
            server: None,
            description: None,
            input_schema: brigade_core::Json::Null,
            offered: None,
            changes: Vec::new(),
            accepted: false,
            candidates: error.could_be().to_vec(),
            error: Some(error.with_hints()),
        }
    }
}
