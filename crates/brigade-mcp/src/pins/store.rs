//! The files of pins: their records, and what can be wrong with them.

use brigade_catalog::{Catalog, Tool};
use brigade_core::{Fingerprint, Json, Timestamp};
use brigade_fs::{FileMode, FsError, RelPath};
use thiserror::Error as ThisError;

use super::key::{McpTool, ServerCommand, has_own_place};
use super::{PINS, PinStore, parse, rel};
use crate::pin::{Pin, PinError};

/// The schema id of the files.
const SCHEMA: &str = "brigade.tool_pin.v1";

/// What the ids of all versions of the files start with.
const SCHEMA_OF_ANY_VERSION: &str = "brigade.tool_pin.v";

/// The largest file that is read; a listing is at most one line of a server, which is 16 MiB.
const LIMIT: u64 = 64 << 20;

/// A file's content.
#[derive(Clone, Debug, PartialEq)]
pub struct PinRecord {
    /// Whose pin it is.
    pub tool: McpTool,
    /// How the tool must be listed.
    pub pin: Pin,
    /// How it was listed when that was last different.
    pub offered: Option<Pin>,
    /// Since when the server does not list it at all, as far as is known.
    pub missing_since: Option<Timestamp>,
    /// What started the server that listed it; unknown in older files.
    pub command: Option<ServerCommand>,
}

impl PinRecord {
    /// Returns the id that people use: the file's name without its ending.
    pub fn id(&self) -> String {
        let name = self.tool.file_name();
        name.strip_suffix(".json").unwrap_or(&name).to_owned()
    }

    /// Returns what the server says differently, in sentences.
    pub fn changes(&self) -> Vec<String> {
        let changes = self.offered.as_ref().map(|offered| self.pin.changes(offered.tool()));
        changes.unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    /// Returns what the server says differently, when it is what an approval bound.
    pub fn waiting(&self, bound: Fingerprint) -> Option<Pin> {
        self.offered.clone().filter(|offered| offered.fingerprint() == bound)
    }

    fn to_json(&self) -> Json {
        Json::object([
            ("schema", Json::from(SCHEMA)),
            ("server", Json::from(self.tool.server.as_str())),
            ("tool", Json::from(self.tool.tool.as_str())),
            ("variant", Json::from(self.tool.variant.clone())),
            ("command", Json::from(self.command.map(|command| command.0.to_hex()))),
            ("pin", self.pin.to_json()),
            ("offered", self.offered.as_ref().map_or(Json::Null, Pin::to_json)),
            ("missing_since", Json::from(self.missing_since.map(|at| at.to_string()))),
        ])
    }

    fn from_json(json: &Json) -> Result<PinRecord, PinTrouble> {
        let text = |key: &'static str| {
            json.get(key).and_then(Json::as_str).map(str::to_owned).ok_or(PinTrouble::Broken(PinError(key)))
        };
        match text("schema")?.as_str() {
            SCHEMA => {}
            newer if newer.starts_with(SCHEMA_OF_ANY_VERSION) => return Err(PinTrouble::Newer),
            _ => return Err(PinTrouble::Broken(PinError("schema"))),
        }
        let offered = match json.get("offered") {
            None | Some(Json::Null) => None,
            Some(offered) => Some(Pin::from_json(offered)?),
        };
        let missing_since = match json.get("missing_since") {
            None | Some(Json::Null) => None,
            Some(_) => Some(
                text("missing_since")?.parse().map_err(|_| PinTrouble::Broken(PinError("missing_since")))?,
            ),
        };
        Ok(PinRecord {
            missing_since,
            tool: McpTool { server: text("server")?, tool: text("tool")?, variant: text("variant").ok() },
            command: ServerCommand::from_json(json),
            pin: Pin::from_json(json.get("pin").unwrap_or(&Json::Null))?,
            offered,
        })
    }
}

/// Why a file is no pin.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum PinTrouble {
    /// It is not JSON, or no file.
    #[error("it is not a readable JSON document")]
    Unreadable,
    /// Something is missing.
    #[error("{0}")]
    Broken(#[from] PinError),
    /// It is of a newer version.
    #[error("a newer version of brigade wrote it")]
    Newer,
    /// It says that it belongs to another tool.
    #[error("it is the pin of another tool")]
    WrongPlace,
}

impl PinStore<'_> {
    /// Returns whose pin a tool of the catalog has; `None` when it is no whole MCP tool.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn key(&self, catalog: &Catalog, tool: &Tool) -> Result<Option<McpTool>, FsError> {
        let Some(common) = McpTool::of_tool(tool) else { return Ok(None) };
        let own = ServerCommand::of(tool);
        let variant = McpTool { variant: Some(own.variant()), ..common.clone() };
        let is_there = self.fs.exists(&path_of(&variant))?;
        let all = common.commands(catalog);
        let recorded = || self.read_file(&path_of(&common)).ok()??.command;
        Ok(Some(if has_own_place(own, &all, is_there, recorded) { variant } else { common }))
    }

    /// Reads the pin of a tool; `None` when there is none.
    ///
    /// # Errors
    /// When there is a file and it cannot be trusted.
    pub fn read(&self, tool: &McpTool) -> Result<Option<PinRecord>, PinTrouble> {
        match self.read_file(&path_of(tool))? {
            Some(record) if record.tool != *tool || record.pin.tool().name != tool.tool => {
                Err(PinTrouble::WrongPlace)
            }
            read => Ok(read),
        }
    }

    pub(super) fn read_file(&self, path: &RelPath) -> Result<Option<PinRecord>, PinTrouble> {
        let bytes = match self.fs.read(path, LIMIT) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            // Anything else than a file blocks calls.
            Err(_) => return Err(PinTrouble::Unreadable),
        };
        match parse(&bytes) {
            Some(json) => PinRecord::from_json(&json).map(Some),
            None => Err(PinTrouble::Unreadable),
        }
    }

    /// Writes a pin, whole or not at all, for its owner alone.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn write(&self, record: &PinRecord) -> Result<(), FsError> {
        self.fs.create_dir_all(&rel(PINS))?;
        let text = record.to_json().to_pretty();
        self.fs.write_atomic(&path_of(&record.tool), text.as_bytes(), FileMode::Private)
    }
}

fn path_of(tool: &McpTool) -> RelPath {
    rel(PINS).join(&tool.file_name()).expect("the name was made to be a file name")
}

#[cfg(test)]
mod tests {
    use crate::pin::ListedTool;

    use super::*;

    fn pin(description: &str) -> Pin {
        let json = Json::object([("name", Json::from("echo")), ("description", Json::from(description))]);
        Pin::of(&ListedTool::from_json(&json).unwrap(), Timestamp::from_unix_micros(0))
    }

    #[test]
    fn a_record_reads_back_the_same_and_every_part_of_it_is_needed() {
        let tool = McpTool { server: "voice".to_owned(), tool: "echo".to_owned(), variant: None };
        let moment = Timestamp::from_unix_micros(1_000_000);
        for (offered, missing_since) in [(None, None), (Some(pin("new")), None), (None, Some(moment))] {
            let command = Some(ServerCommand(Fingerprint::of_bytes(b"")));
            let record = PinRecord { tool: tool.clone(), pin: pin("old"), offered, missing_since, command };
            let json = record.to_json();
            assert_eq!(PinRecord::from_json(&json), Ok(record.clone()));
            assert_eq!(record.changes().is_empty(), record.offered.is_none());
            for key in ["schema", "server", "tool", "pin"] {
                let mut members = json.as_object().unwrap().clone();
                members.remove(key);
                assert!(PinRecord::from_json(&Json::Object(members)).is_err(), "{key}");
            }
        }
        let newer = Json::object([("schema", Json::from("brigade.tool_pin.v2"))]);
        assert_eq!(PinRecord::from_json(&newer), Err(PinTrouble::Newer));
    }
}
