//! Pins of MCP tools on disk: how a server listed a tool when it was first used, and how it lists it differently now.
//!
//! * A pin is one file, `.brigade/tools/pins/<server>--<tool>.json`. The first call of a tool writes it.
//! * If the server lists the tool differently later, a call is not made. The new listing is kept beside the pin as what
//!   is *offered*; looking at the list keeps it, too.
//! * [`PinStore::renew`] makes the offered listing the pin. So does the next approval of a call of the tool, which
//!   shows the changes and binds exactly that listing.
//! * A pin that cannot be read refuses every call of its tool.
//!
//! Calls that were approved for another listing do not run any more. A server that stops listing a pinned tool is noted
//! beside the pin, until it lists the tool again.
//!
//! Beside the pins, `servers/` keeps which tools each server listed at first and lists since.

mod find;
mod key;
mod servers;
mod store;

use std::sync::Arc;
use std::time::Duration;

use brigade_call::{Call, PinFact, VerifiedCall};
use brigade_catalog::{Catalog, Family, Reads, Tool};
use brigade_core::json::from_json;
use brigade_core::{Clock, Dialect, Fingerprint, Json, Timestamp, reasons};
use brigade_fs::{Fs, FsError, RelPath};
use brigade_policy::Blocker;
use serde::Deserialize;
use thiserror::Error as ThisError;

use crate::build::refusal_of_build;
use crate::exchange::{Exchange, McpErrorKind};
use crate::pin::{ListedTool, Pin};

pub(crate) use key::server_file_name;
pub use key::{McpTool, ServerCommand};
pub use servers::{Listing, OnFirstUse, ServerState, sentence};
pub use store::{PinRecord, PinTrouble};

/// The directory of the pins.
pub const PINS: &str = ".brigade/tools/pins";

/// The text of the lock.
const HOLDER: &str = include_str!("pins/holder.txt");

/// The file whose lock is held while a first use makes a pin.
const LOCK: &str = ".lock";

/// How long to wait for it; it is held for as long as a file takes to be written.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Why there is no pin to compare with.
#[derive(Debug, ThisError)]
pub enum PinLookupError {
    /// The pin cannot be read, so the call may not run.
    #[error("{0}")]
    Unreadable(Box<Blocker>),
    /// The disk failed.
    #[error(transparent)]
    Files(#[from] FsError),
}

/// The pins of a workspace.
#[derive(Clone, Copy)]
pub struct PinStore<'a> {
    /// The workspace.
    pub fs: &'a dyn Fs,
    /// The present.
    pub clock: &'a dyn Clock,
}

/// A file that is not a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPin {
    /// Its path in the workspace.
    pub path: RelPath,
    /// Why.
    pub trouble: PinTrouble,
}

/// What a call asks for.
pub struct McpOfCall<'c> {
    /// Whose pin it needs.
    key: McpTool,
    /// The tool, as far as the catalog has it.
    tool: Option<&'c Tool>,
    catalog: &'c Catalog,
}

impl<'c> McpOfCall<'c> {
    /// Puts together again what [`PinStore::of_call`] found for a call that names this tool.
    pub fn known(catalog: &'c Catalog, call: &Call, named: &McpTool, key: McpTool) -> McpOfCall<'c> {
        McpOfCall { key, tool: tool_of(catalog, call, named), catalog }
    }

    /// Returns whose pin the call needs.
    pub fn key(&self) -> &McpTool {
        &self.key
    }

    /// Returns the tool, as far as the catalog has it.
    pub fn tool(&self) -> Option<&'c Tool> {
        self.tool
    }
}

/// Finds the tool of a call. What the call was made of may be gone from the catalog, or be another tool by now.
fn tool_of<'c>(catalog: &'c Catalog, call: &Call, named: &McpTool) -> Option<&'c Tool> {
    catalog.tool(&call.tool_id).filter(|tool| McpTool::of_tool(tool).as_ref() == Some(named))
}

fn unreadable(tool: &McpTool, trouble: &PinTrouble) -> Blocker {
    let path = format!("{PINS}/{}", tool.file_name());
    Blocker::new(reasons::MCP_PIN_UNREADABLE, format!("the pin `{path}` cannot be trusted: {trouble}"))
        .field("mcp_tool_name")
        .hint("look at the file; without it, the next call pins the tool anew")
}

impl PinStore<'_> {
    /// Makes what a server said differently the pin.
    pub fn renew(&self, record: PinRecord, offered: &Pin) -> Result<PinRecord, FsError> {
        let renewed = PinRecord { pin: Pin::new(offered.tool(), self.clock.now()), offered: None, ..record };
        self.write(&renewed)?;
        Ok(renewed)
    }

    /// Makes the waiting change of a call's tool its pin, when it is the one that an approval bound; returns the
    /// pin as it is now, and what changed.
    pub fn take_waiting(
        &self,
        catalog: &Catalog,
        call: &Call,
        bound: Fingerprint,
    ) -> Result<(Option<PinRecord>, Vec<String>), FsError> {
        Ok(match self.beside(catalog, call)? {
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
    pub fn beside(&self, catalog: &Catalog, call: &Call) -> Result<Option<PinRecord>, FsError> {
        // Only MCP tools have pins.
        if McpTool::of_contract(&call.family, &call.contract).is_none() {
            return Ok(None);
        }
        match self.of_call(catalog, call)? {
            Some(mcp) => Ok(self.read(&mcp.key).unwrap_or_default()),
            None => Ok(None),
        }
    }

    /// Returns the pin that a call needs; `None` unless it is an MCP call.
    pub fn of_call<'c>(&self, catalog: &'c Catalog, call: &Call) -> Result<Option<McpOfCall<'c>>, FsError> {
        // Resources and prompts have no listing that a person reviews.
        if Reads::of_tool_id(&call.tool_id).is_some() {
            return Ok(None);
        }
        let Some(named) = McpTool::of_contract(&call.family, &call.contract) else { return Ok(None) };
        let tool = tool_of(catalog, call, &named);
        let key = match tool {
            Some(tool) => self.key(catalog, tool)?.unwrap_or(named),
            None => named,
        };
        Ok(Some(McpOfCall { key, tool, catalog }))
    }

    /// Returns what a plan needs to know of the pin of a tool, and why it refuses every call, when it cannot be read.
    pub fn fact(&self, catalog: &Catalog, tool: &Tool) -> Result<(PinFact, Option<Blocker>), FsError> {
        if tool.family == Some(Family::Mcp)
            && let Some(blocker) = refusal_of_build()
        {
            return Ok((PinFact::None, Some(blocker)));
        }
        let Some(mcp) = self.key(catalog, tool)? else { return Ok((PinFact::None, None)) };
        Ok(match self.read(&mcp) {
            Ok(None) => (PinFact::None, None),
            Ok(Some(PinRecord { offered: Some(offered), .. })) => {
                (PinFact::Changed(offered.fingerprint()), None)
            }
            Ok(Some(PinRecord { pin, .. })) => (PinFact::Pinned(pin.fingerprint()), None),
            Err(trouble) => (PinFact::None, Some(unreadable(&mcp, &trouble))),
        })
    }

    /// Returns the pin of a call's tool as it was read; none before its first use. A change that the call's approval
    /// bound becomes the pin, should that have been cut short.
    ///
    /// # Errors
    /// When there is a pin and it cannot be read, so that the call may not run; when the disk fails.
    pub fn of_verified(
        &self,
        mcp: &McpOfCall<'_>,
        read: Result<Option<Arc<PinRecord>>, PinTrouble>,
        call: &VerifiedCall,
    ) -> Result<Option<Arc<PinRecord>>, PinLookupError> {
        let approval = call.call().approval.as_ref();
        let bound = approval.and_then(|approval| approval.binding.pin);
        let record =
            read.map_err(|trouble| PinLookupError::Unreadable(Box::new(unreadable(&mcp.key, &trouble))))?;
        let Some(record) = record else { return Ok(None) };
        Ok(Some(match bound.and_then(|bound| record.waiting(bound)) {
            Some(offered) => Arc::new(self.renew(Arc::unwrap_or_clone(record), &offered)?),
            None => record,
        }))
    }

    /// Keeps which names the server of a call lists.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn note_listed(&self, mcp: &McpOfCall<'_>, listed: &[ListedTool]) -> Result<(), FsError> {
        let Some(tool) = mcp.tool else { return Ok(()) };
        self.note_names(mcp.catalog, tool, listed.iter().map(|tool| tool.name.as_str()), OnFirstUse::Begin)
    }

    /// Makes what the server says of a call's tool its pin, unless someone else has done so meanwhile, whose pin then
    /// comes back.
    ///
    /// # Errors
    /// With the reason why the tool may not be called.
    pub fn first_use(&self, mcp: Option<&McpOfCall<'_>>, listed: &ListedTool) -> Result<Option<Pin>, String> {
        let text = |error: FsError| error.to_string();
        let Some(mcp) = mcp else { return Ok(None) };
        let lock = RelPath::from_static(PINS).join(LOCK).expect("it is a name");
        self.fs.create_dir_all(&RelPath::from_static(PINS)).map_err(text)?;
        let holder = format!("process {} ({HOLDER})", std::process::id());
        let _lock = self.fs.lock(&lock, &holder, LOCK_TIMEOUT).map_err(text)?;
        if let Some(record) = self.read(&mcp.key).map_err(|trouble| trouble.to_string())? {
            return Ok(Some(record.pin));
        }
        let pin = Pin::new(listed, self.clock.now());
        let (tool, command) = (mcp.key.clone(), mcp.tool.map(ServerCommand::from_tool));
        self.write(&PinRecord::new(tool, pin, command)).map_err(text)?;
        Ok(None)
    }

    /// Keeps what the server said of the tool: as the pin at the first use, as the offer when it says something else.
    /// Returns the pin's id when it does. The names that the server lists are kept by [`PinStore::note_listed`].
    ///
    /// # Errors
    /// When the disk fails.
    pub fn keep(
        &self,
        mcp: &McpOfCall<'_>,
        pinned: Option<&PinRecord>,
        exchange: &Exchange,
        seen_at: Timestamp,
    ) -> Result<Option<String>, FsError> {
        let Some(listed) = &exchange.tool else {
            let fault = exchange.fault.as_ref().map(|fault| fault.kind);
            if fault == Some(McpErrorKind::ToolNotListed)
                && let Some(record) = pinned
            {
                self.note_vanished(record, seen_at)?;
            }
            return Ok(None);
        };
        let command = mcp.tool.map(ServerCommand::from_tool);
        let read;
        let record = match pinned {
            // Its first use, which made the pin, or someone else's that did so meanwhile.
            None => {
                let Ok(Some(record)) = self.read(&mcp.key) else { return Ok(None) };
                read = record;
                &read
            }
            Some(record) => record,
        };
        let changed = (!record.pin.holds(listed)).then(|| record.id());
        self.note_listing(record, listed, command, seen_at)?;
        Ok(changed)
    }

    /// Keeps a listing beside a pin as what is offered when it is another one, and forgets an older offer when it is
    /// not. A pin that holds is known to be of the server that has this command.
    pub fn note_listing(
        &self,
        record: &PinRecord,
        listed: &ListedTool,
        command: Option<ServerCommand>,
        seen_at: Timestamp,
    ) -> Result<(), FsError> {
        let offered = (!record.pin.holds(listed)).then(|| Pin::new(listed, seen_at));
        let command = if offered.is_none() { command.or(record.command) } else { record.command };
        let known = record.offered.as_ref().map(Pin::fingerprint);
        if known == offered.as_ref().map(Pin::fingerprint)
            && record.missing_since.is_none()
            && record.command == command
        {
            return Ok(());
        }
        self.write(&PinRecord { offered, missing_since: None, command, ..record.clone() })
    }

    /// Keeps beside a pin that its server does not list the tool any more.
    pub fn note_vanished(&self, record: &PinRecord, seen_at: Timestamp) -> Result<(), FsError> {
        if record.missing_since.is_some() {
            return Ok(());
        }
        self.write(&PinRecord { missing_since: Some(seen_at), ..record.clone() })
    }

    /// Reads every pin, sorted by server and tool, and lists the files that are not pins.
    pub fn all(&self) -> Result<(Vec<PinRecord>, Vec<BrokenPin>), FsError> {
        let mut pins = Vec::new();
        let mut broken = Vec::new();
        let entries = match self.fs.list_dir(&RelPath::from_static(PINS)) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(error),
        };
        for entry in entries {
            if !entry.name.ends_with(".json") || brigade_fs::is_temporary(&entry.name) {
                continue;
            }
            let Ok(path) = RelPath::from_static(PINS).join(&entry.name) else { continue };
            match self.read_file(&path) {
                Ok(Some(record)) if record.tool.file_name() == entry.name => pins.push(record),
                Ok(None) => {}
                Ok(Some(_)) => broken.push(BrokenPin { path, trouble: PinTrouble::WrongPlace }),
                Err(trouble) => broken.push(BrokenPin { path, trouble }),
            }
        }
        pins.sort_by(|one, other| one.tool.cmp(&other.tool));
        broken.sort_by(|one, other| one.path.cmp(&other.path));
        Ok((pins, broken))
    }
}

/// Reads a record, a byte order mark skipped.
/// The first thing that is read of a file: the id of its schema, with its version.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// Returns whether a document has another version of a schema, which must be left alone.
fn is_newer(json: &Json, schema: &str) -> bool {
    let any_version = schema.trim_end_matches(|c: char| c.is_ascii_digit());
    from_json(json).is_ok_and(|head: Head| head.schema != schema && head.schema.starts_with(any_version))
}

fn parse(bytes: &[u8]) -> Option<Json> {
    Json::parse_bytes(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), Dialect::Strict).ok()
}
