//! The files of pins: their records, and what can be wrong with them.

use brigade_catalog::{Catalog, Tool};
use brigade_core::json::{compact_text, from_json, pretty_text};
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
    /// The MAC of this host over everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) host_mac: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub(super) extra: Object,
}

impl PinRecord {
    /// Returns the record of a new pin.
    pub fn new(tool: McpTool, pin: Pin, command: Option<ServerCommand>) -> PinRecord {
        let schema = SCHEMA.to_owned();
        let (offered, missing_since, host_mac) = (None, None, None);
        PinRecord { schema, tool, pin, offered, missing_since, command, host_mac, extra: Object::new() }
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

    /// Returns what the MAC covers.
    fn signed_content(&self) -> String {
        compact_text(&PinRecord { host_mac: None, ..self.clone() }).expect("a pin is JSON")
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
    #[error("{}", brigade_core::TRACKED)]
    Tracked,
    /// It has no valid MAC of this host, so no person accepted the listing here.
    #[error("no person accepted it on this host")]
    Unsigned,
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
        let record = PinRecord::parse(&bytes)?;
        match self.is_signed(&record) {
            true => Ok(Some(record)),
            false => Err(PinTrouble::Unsigned),
        }
    }

    fn is_signed(&self, record: &PinRecord) -> bool {
        self.key.verify(SCHEMA, record.signed_content().as_bytes(), record.host_mac.as_deref())
    }

    /// Lists the pins that this host has not signed, such as those of a copied workspace.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn unsigned(&self) -> Result<Vec<PinRecord>, FsError> {
        let (_, broken) = self.all()?;
        let unsigned = broken.into_iter().filter(|pin| pin.trouble == PinTrouble::Unsigned);
        let read = |path: RelPath| PinRecord::parse(&self.fs.read(&path, LIMIT).ok()?).ok();
        Ok(unsigned.filter_map(|pin| read(pin.path)).collect())
    }

    /// Signs a pin that a person was shown. Returns false if it has changed since.
    ///
    /// # Errors
    /// Fails on a disk error, and if there is no key to sign with.
    pub fn adopt(&self, shown: &PinRecord) -> Result<bool, FsError> {
        let is_same = self.unsigned()?.contains(shown);
        if is_same {
            self.write(shown)?;
        }
        Ok(is_same)
    }

    /// Signs a pin and writes it atomically, readable only by its owner.
    ///
    /// # Errors
    /// Fails on a disk error, and if there is no key to sign with.
    pub fn write(&self, record: &PinRecord) -> Result<(), FsError> {
        self.fs.create_dir_all(&RelPath::from_static(PINS))?;
        let host_mac = Some(self.key.sign(SCHEMA, record.signed_content().as_bytes())?);
        let text = pretty_text(&PinRecord { host_mac, ..record.clone() }).expect("a pin is JSON");
        self.fs.write_atomic(&path_of(&record.tool), text.as_bytes(), FileMode::Private)
    }
}

fn path_of(tool: &McpTool) -> RelPath {
    RelPath::from_static(PINS).join(&tool.file_name()).expect("the name was made to be a file name")
}

#[cfg(test)]
mod tests {
    use brigade_core::{Json, SystemClock};
    use brigade_fs::{Fs as _, MemoryFs, WorkspaceKey};

    use crate::pin::ListedTool;

    use brigade_core::json::to_json;

    use super::*;

    fn pin(description: &str) -> Pin {
        let json = Json::object([("name", Json::from("echo")), ("description", Json::from(description))]);
        Pin::new(&ListedTool::from_json(&json).unwrap(), Timestamp::from_unix_micros(0))
    }

    #[test]
    fn only_pins_of_this_host_count() {
        let (fs, key, other) = (MemoryFs::new(), WorkspaceKey::temporary(), WorkspaceKey::temporary());
        let store = PinStore { fs: &fs, clock: &SystemClock, key: &key };
        let tool = McpTool { server: "voice".to_owned(), tool: "echo".to_owned(), variant: None };
        let path = path_of(&tool);
        let write = |text: &str| fs.write_atomic(&path, text.as_bytes(), FileMode::Private).unwrap();
        let sign = |key| {
            let record = PinRecord::new(tool.clone(), pin("old"), None);
            PinStore { key, ..store }.write(&record).unwrap();
            String::from_utf8(fs.read(&path, LIMIT).unwrap()).unwrap()
        };
        let whole = sign(&key);
        let mac = &whole[whole.find("\"host_mac\"").unwrap()..][..14 + 64];
        for changed in [
            whole.replace("\"missing_since\": null", "\"missing_since\": \"2026-01-01T00:00:00Z\""),
            whole.replace(mac, &mac.replace("\": \"", "\": \"0")),
            whole.replace("host_mac", "other_mac"),
            sign(&other),
        ] {
            write(&changed);
            assert_eq!(store.read(&tool), Err(PinTrouble::Unsigned), "{changed}");
            let shown = store.unsigned().unwrap();
            assert_eq!(shown.len(), 1, "{changed}");
            assert!(store.adopt(&shown[0]).unwrap());
            assert!(store.read(&tool).unwrap().is_some() && store.unsigned().unwrap().is_empty());
            assert!(!store.adopt(&shown[0]).unwrap(), "it is signed already");
        }
        write(&whole);
        assert!(store.read(&tool).unwrap().is_some());
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
