//! Stores pins of MCP tools: how a server listed a tool at its first use, and how it lists the tool differently now.
//!
//! * A pin is one file, `.brigade/tools/pins/<server>--<tool>.json`. The first call of a tool writes it.
//! * If the server lists the tool differently later, a call is refused. The new listing is stored in the pin's file as
//!   *offered*. Viewing the list stores it, too.
//! * [`PinStore::renew`] makes the offered listing the pin. So does the next approval of a call of the tool, which
//!   shows the changes and binds exactly that listing.
//! * A pin that cannot be read refuses every call of its tool.
//!
//! Calls that were approved for another listing no longer run. If a server stops listing a pinned tool, that is
//! recorded in the pin's file until the server lists the tool again.
//!
//! The directory `servers/` records which tools each server listed at first and lists now.

mod find;
mod key;
mod servers;
mod store;

use std::sync::Arc;
use std::time::Duration;

use brigade_call::{Call, PinFact, VerifiedCall};
use brigade_catalog::{Catalog, Family, Reads, Tool};
use brigade_core::json::from_json;
use brigade_core::{Clock, Dialect, ErrorCode, Fingerprint, Hint, Json, NextStep, Timestamp};
use brigade_fs::{Fs, FsError, RelPath, WorkspaceKey};
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

/// The text that the lock shows about its holder.
const HOLDER: &str = include_str!("pins/holder.txt");

/// The file that is locked while the first use of a tool creates its pin.
const LOCK: &str = ".lock";

/// How long to wait for the lock. It is held only while a file is written.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Why no pin can be returned.
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
    /// The clock.
    pub clock: &'a dyn Clock,
    /// The key of this host, which signs pins.
    pub key: &'a WorkspaceKey,
}

/// A file that is not a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPin {
    /// Its path in the workspace.
    pub path: RelPath,
    /// The problem.
    pub trouble: PinTrouble,
}

/// The MCP tool that a call uses.
pub struct McpOfCall<'c> {
    /// The key of the pin that it needs.
    key: McpTool,
    /// The tool, if the catalog has it.
    tool: Option<&'c Tool>,
    catalog: &'c Catalog,
}

impl<'c> McpOfCall<'c> {
    /// Restores the result of [`PinStore::of_call`] for a call that names this tool.
    pub fn known(catalog: &'c Catalog, call: &Call, named: &McpTool, key: McpTool) -> McpOfCall<'c> {
        McpOfCall { key, tool: tool_of(catalog, call, named), catalog }
    }

    /// Returns the key of the pin that the call needs.
    pub fn key(&self) -> &McpTool {
        &self.key
    }

    /// Returns the tool, if the catalog has it.
    pub fn tool(&self) -> Option<&'c Tool> {
        self.tool
    }
}

/// Finds the tool of a call. Its entry may be gone from the catalog or may have changed since the call was planned.
fn tool_of<'c>(catalog: &'c Catalog, call: &Call, named: &McpTool) -> Option<&'c Tool> {
    catalog.tool(&call.tool_id).filter(|tool| McpTool::of_tool(tool).as_ref() == Some(named))
}

fn unreadable(tool: &McpTool, trouble: &PinTrouble) -> Blocker {
    let path = format!("{PINS}/{}", tool.file_name());
    Blocker::new(ErrorCode::McpPinUnreadable, format!("the pin `{path}` cannot be trusted: {trouble}"))
        .field("mcp_tool_name")
        .hint(match trouble {
            PinTrouble::Unsigned => NextStep::AdoptState.into(),
            _ => Hint::from("check the file; if you delete it, the next call pins the tool again"),
        })
}

impl PinStore<'_> {
    /// Makes the offered listing the pin.
    pub fn renew(&self, record: PinRecord, offered: &Pin) -> Result<PinRecord, FsError> {
        let renewed = PinRecord { pin: Pin::new(offered.tool(), self.clock.now()), offered: None, ..record };
        self.write(&renewed)?;
        Ok(renewed)
    }

    /// Makes the waiting change of a call's tool its pin, if the approval bound exactly this change. Returns the
    /// current pin and the changes.
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

    /// Returns the pin of the tool of a stored call, if it can be read.
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

    /// Returns the facts about the pin of a tool for a plan. If the pin cannot be read, also returns the blocker.
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

    /// Returns the stored pin of a call's tool; `None` before its first use. If the call's approval bound a change that
    /// is not yet the pin, makes it the pin first.
    ///
    /// # Errors
    /// Fails if the pin cannot be read, so that the call may not run, or on a disk error.
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

    /// Stores the tool names that the server of a call lists.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn note_listed(&self, mcp: &McpOfCall<'_>, listed: &[ListedTool]) -> Result<(), FsError> {
        let Some(tool) = mcp.tool else { return Ok(()) };
        self.note_names(mcp.catalog, tool, listed.iter().map(|tool| tool.name.as_str()), OnFirstUse::Begin)
    }

    /// Pins the listing of a call's tool. If another process has pinned the tool meanwhile, returns that pin.
    ///
    /// # Errors
    /// Returns the reason why the tool may not be called.
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

    /// Stores the listing of the tool: as the pin at the first use, or as the offer if it differs from the pin. Returns
    /// the pin's id if it differs. [`PinStore::note_listed`] stores the names that the server lists.
    ///
    /// # Errors
    /// Fails on a disk error.
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
            // The first use of the tool created the pin, here or in another process.
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

    /// Stores a listing as the offer if it differs from the pin; otherwise removes an older offer. If the pin holds,
    /// its server is known to be the one with this command.
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

    /// Makes a listing that a person accepted the pin.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn accept_listing(
        &self,
        record: PinRecord,
        listed: &ListedTool,
        command: ServerCommand,
        at: Timestamp,
    ) -> Result<(), FsError> {
        let pin = if record.pin.holds(listed) { record.pin.clone() } else { Pin::new(listed, at) };
        let accepted =
            PinRecord { pin, offered: None, missing_since: None, command: Some(command), ..record.clone() };
        if accepted == record { Ok(()) } else { self.write(&accepted) }
    }

    /// Removes the pin of a tool that its server does not list any more.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn forget(&self, record: &PinRecord) -> Result<(), FsError> {
        self.fs.remove(&RelPath::from_static(PINS).join(&record.tool.file_name()).expect("it is a file name"))
    }

    /// Records in the pin's file that its server no longer lists the tool.
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

/// The part of a file that is read first: the id of its schema, with its version.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// Returns whether a document has another version of the schema, which must not be changed.
fn is_newer(json: &Json, schema: &str) -> bool {
    let any_version = schema.trim_end_matches(|c: char| c.is_ascii_digit());
    from_json(json).is_ok_and(|head: Head| head.schema != schema && head.schema.starts_with(any_version))
}

fn parse(bytes: &[u8]) -> Option<Json> {
    Json::parse_bytes(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), Dialect::Strict).ok()
}
