//! The files of pins: their records, and what can be wrong with them.

use brigade_catalog::{Catalog, Tool};
use brigade_core::json::{from_json, pretty_text};
use brigade_core::{Fingerprint, Object, Timestamp};
use brigade_fs::{FileMode, FsError, RelPath};
use serde::{Deserialize, Serialize};
use thiserror::Error as ThisError;

use super::key::{McpTool, ServerCommand, has_own_place};
use super::{PINS, PinStore, is_newer, parse};
use crate::pin::{Pin, PinError};

/// The schema id of the files.
const SCHEMA: &str = "brigade.tool_pin.v1";

/// The largest file that is read. A listing is at most one line of a server, which is limited to 16 MiB.
const LIMIT: u64 = 64 << 20;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PinRecord {
    pub(super) schema: String,
    /// The tool that it pins.
    #[serde(flatten)]
    pub tool: McpTool,
    /// The pinned listing.
    pub pin: Pin,
    /// The last listing that differed from the pin.
    pub offered: Option<Pin>,
    /// When the server was first seen without the tool.
    pub missing_since: Option<Timestamp>,
    /// The command of the server that listed it; unknown in older files.
    pub command: Option<ServerCommand>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub(super) extra: Object,
}

impl PinRecord {
    /// Returns the record of a new pin.
    pub fn new(tool: McpTool, pin: Pin, command: Option<ServerCommand>) -> PinRecord {
        let schema = SCHEMA.to_owned();
        PinRecord { schema, tool, pin, offered: None, missing_since: None, command, extra: Object::new() }
    }

    /// Returns the id that people use: the file's name without its ending.
    pub fn id(&self) -> String {
        let name = self.tool.file_name();
        name.strip_suffix(".json").unwrap_or(&name).to_owned()
    }

    /// Returns how the offered listing differs from the pin, in sentences.
    pub fn changes(&self) -> Vec<String> {
        let changes = self.offered.as_ref().map(|offered| self.pin.changes(offered.tool()));
        changes.unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    /// Returns the offered listing if an approval bound it.
    pub fn waiting(&self, bound: Fingerprint) -> Option<Pin> {
        self.offered.clone().filter(|offered| offered.fingerprint() == bound)
    }

    fn parse(bytes: &[u8]) -> Result<PinRecord, PinTrouble> {
        let json = parse(bytes).ok_or(PinTrouble::Unreadable)?;
        if is_newer(&json, SCHEMA) {
            return Err(PinTrouble::Newer);
        }
        let record: PinRecord = from_json(&json).map_err(|error| PinError::from_mismatch(&error))?;
        if record.schema == SCHEMA { Ok(record) } else { Err(PinTrouble::OtherSchema) }
    }
}

/// Why a file is not a pin.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum PinTrouble {
    /// It is not JSON, or not a file.
    #[error("it is not a readable JSON document")]
    Unreadable,
    /// It is JSON of another kind.
    #[error("it does not have the schema of a pin")]
    OtherSchema,
    /// A member is missing, or has the wrong type or value.
    #[error("{0}")]
    Broken(#[from] PinError),
    /// It has a newer version.
    #[error("a newer version of brigade wrote it")]
    Newer,
    /// Git tracks it, so a cloned repository may have brought it.
    #[error(
        "git tracks it, so it does not count on this host; take it out of the repository (`git rm --cached`)"
    )]
    Tracked,
    /// It names another tool than its file name.
    #[error("it is the pin of another tool")]
    WrongPlace,
}

impl PinStore<'_> {
    /// Returns the pin key of a catalog tool; `None` if it is not a complete MCP tool.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn key(&self, catalog: &Catalog, tool: &Tool) -> Result<Option<McpTool>, FsError> {
        let Some(common) = McpTool::of_tool(tool) else { return Ok(None) };
        let own = ServerCommand::from_tool(tool);
        let variant = McpTool { variant: Some(own.variant()), ..common.clone() };
        let is_there = self.fs.exists(&path_of(&variant))?;
        let all = common.commands(catalog);
        let recorded = || self.read_file(&path_of(&common)).ok()??.command;
        Ok(Some(if has_own_place(own, &all, is_there, recorded) { variant } else { common }))
    }

    /// Reads the pin of a tool; `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if the file cannot be trusted.
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
            // Any other entry in place of the file blocks calls.
            Err(_) => return Err(PinTrouble::Unreadable),
        };
        if brigade_fs::is_tracked(self.fs, path.as_str()) {
            return Err(PinTrouble::Tracked);
        }
        PinRecord::parse(&bytes).map(Some)
    }

    /// Writes a pin atomically, readable only by its owner.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn write(&self, record: &PinRecord) -> Result<(), FsError> {
        self.fs.create_dir_all(&RelPath::from_static(PINS))?;
        let text = pretty_text(record).expect("a pin is JSON");
        self.fs.write_atomic(&path_of(&record.tool), text.as_bytes(), FileMode::Private)
    }
}

fn path_of(tool: &McpTool) -> RelPath {
    RelPath::from_static(PINS).join(&tool.file_name()).expect("the name was made to be a file name")
}

#[cfg(test)]
mod tests {
    use brigade_core::Json;

    use crate::pin::ListedTool;

    use brigade_core::json::to_json;

    use super::*;

    fn pin(description: &str) -> Pin {
        let json = Json::object([("name", Json::from("echo")), ("description", Json::from(description))]);
        Pin::new(&ListedTool::from_json(&json).unwrap(), Timestamp::from_unix_micros(0))
    }

    #[test]
    fn a_pin_round_trips_and_needs_every_member() {
        let tool = McpTool { server: "voice".to_owned(), tool: "echo".to_owned(), variant: None };
        let moment = Timestamp::from_unix_micros(1_000_000);
        for (offered, missing_since) in [(None, None), (Some(pin("new")), None), (None, Some(moment))] {
            let command = Some(ServerCommand(Fingerprint::of_bytes(b"")));
            let new = PinRecord::new(tool.clone(), pin("old"), command);
            let record = PinRecord { offered, missing_since, ..new };
            let json = to_json(&record).unwrap();
            let read = |json: &Json| PinRecord::parse(json.to_pretty().as_bytes());
            assert_eq!(read(&json), Ok(record.clone()));
            assert_eq!(record.changes().is_empty(), record.offered.is_none());
            let with = |key: &str, value: Option<Json>| {
                let mut members = json.as_object().unwrap().clone();
                members.remove(key);
                members.extend(value.map(|value| (key.to_owned(), value)));
                Json::Object(members)
            };
            for key in ["schema", "server", "tool", "pin"] {
                assert!(read(&with(key, None)).is_err(), "{key}");
            }
            for key in ["schema", "server", "tool", "pin", "offered", "missing_since"] {
                assert!(read(&with(key, Some(Json::from(7)))).is_err(), "{key}");
            }
            let later = with("later", Some(Json::from(1.5)));
            assert_eq!(to_json(&read(&later).unwrap()), Ok(later), "unknown members are kept");
            let other = with("schema", Some(Json::from("brigade.other.v1")));
            assert_eq!(read(&other), Err(PinTrouble::OtherSchema));
        }
        let newer = br#"{"schema": "brigade.tool_pin.v2"}"#;
        assert_eq!(PinRecord::parse(newer), Err(PinTrouble::Newer));
    }
}
