//! The files of pins: their names, their records, and what can be wrong with them.

use brigade_catalog::{Family, Tool};
use brigade_core::{Fingerprint, Json, Timestamp};
use brigade_exec::{Pin, PinError};
use brigade_fs::{FileMode, Fs, RelPath};
use thiserror::Error as ThisError;

use super::PINS;
use crate::error::Error;
use crate::files::parse_json;
use crate::workspace::{Workspace, rel};

/// The schema id of the files.
const SCHEMA: &str = "brigade.tool_pin.v1";

/// What the ids of all versions of the files start with.
const SCHEMA_OF_ANY_VERSION: &str = "brigade.tool_pin.v";

/// The largest file that is read; a listing is at most one line of a server, which is 16 MiB.
const LIMIT: u64 = 64 << 20;

/// The longest part of a file name that is taken as it is.
const PART: usize = 80;

/// One tool of one server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct McpTool {
    pub(crate) server: String,
    pub(crate) tool: String,
}

impl McpTool {
    /// Returns what a call with this contract asks for; none when it is no MCP call.
    pub(crate) fn of_contract(family: &str, contract: &Json) -> Option<McpTool> {
        let label = |key: &str| {
            contract.get(key).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        if family != Family::Mcp.as_str() {
            return None;
        }
        let server = label("mcp_server_id").or_else(|| label("runtime_id"))?;
        Some(McpTool { server, tool: label("mcp_tool_name")? })
    }

    /// Returns what a tool of the catalog asks for; none when it is no whole MCP tool.
    pub(crate) fn of_tool(tool: &Tool) -> Option<McpTool> {
        let name = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if tool.family != Some(Family::Mcp) {
            return None;
        }
        let server = name(&tool.mcp_server_id).or_else(|| name(&tool.runtime_id))?;
        Some(McpTool { server, tool: name(&tool.mcp_tool_name)? })
    }

    /// Returns the name of its file.
    pub(crate) fn file_name(&self) -> String {
        file_name(&self.server, &self.tool)
    }
}

/// Makes one file name of two names that may hold anything; different names never share a file.
///
/// Lower-case letters, digits, `_`, `.` and `-` stay; where anything else had to give way, or the two could be divided
/// in another place, a fingerprint of both follows.
fn file_name(server: &str, tool: &str) -> String {
    let safe = |name: &str| -> String {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-');
        name.chars().take(PART).map(|c| if legal(c) { c } else { '_' }).collect()
    };
    let is_plain = |name: &str| {
        safe(name) == name
            && !name.is_empty()
            && !name.starts_with(['-', '.'])
            && !name.ends_with('-')
            && !name.contains("--")
    };
    let names = format!("{}--{}", safe(server).trim_start_matches(['-', '.']), safe(tool));
    if is_plain(server) && is_plain(tool) {
        return format!("{names}.json");
    }
    let both = Fingerprint::builder("brigade.pin-file.v1").text("server", server).text("tool", tool).finish();
    format!("{names}--{}.json", both.short())
}

/// A file's content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PinRecord {
    /// Whose pin it is.
    pub(crate) tool: McpTool,
    /// How the tool must be listed.
    pub(crate) pin: Pin,
    /// How it was listed when that was last different.
    pub(crate) offered: Option<Pin>,
    /// Since when the server does not list it at all, as far as is known.
    pub(crate) missing_since: Option<Timestamp>,
}

impl PinRecord {
    /// Returns the id that people use: the file's name without its ending.
    pub(crate) fn id(&self) -> String {
        let name = self.tool.file_name();
        name.strip_suffix(".json").unwrap_or(&name).to_owned()
    }

    /// Returns what the server says differently, in sentences.
    pub(crate) fn changes(&self) -> Vec<String> {
        let changes = self.offered.as_ref().map(|offered| self.pin.changes(offered.tool()));
        changes.unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    /// Returns what the server says differently, when it is what an approval bound.
    pub(crate) fn waiting(&self, bound: Fingerprint) -> Option<Pin> {
        self.offered.clone().filter(|offered| offered.fingerprint() == bound)
    }

    fn to_json(&self) -> Json {
        Json::object([
            ("schema", Json::from(SCHEMA)),
            ("server", Json::from(self.tool.server.as_str())),
            ("tool", Json::from(self.tool.tool.as_str())),
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
            tool: McpTool { server: text("server")?, tool: text("tool")? },
            pin: Pin::from_json(json.get("pin").unwrap_or(&Json::Null))?,
            offered,
        })
    }
}

/// Why a file is no pin.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub(crate) enum PinTrouble {
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

impl Workspace {
    /// Reads the pin of a tool; none when there is none.
    pub(crate) fn read_pin(&self, tool: &McpTool) -> Result<Result<Option<PinRecord>, PinTrouble>, Error> {
        let read = self.read_pin_file(&path_of(tool))?;
        Ok(match read {
            Ok(Some(record)) if record.tool != *tool || record.pin.tool().name != tool.tool => {
                Err(PinTrouble::WrongPlace)
            }
            read => read,
        })
    }

    pub(super) fn read_pin_file(
        &self,
        path: &RelPath,
    ) -> Result<Result<Option<PinRecord>, PinTrouble>, Error> {
        let bytes = match self.fs.read(path, LIMIT) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(Ok(None)),
            // Whatever stands there instead of a file: nothing may run past it.
            Err(_) => return Ok(Err(PinTrouble::Unreadable)),
        };
        Ok(match parse_json(&bytes) {
            Ok(json) => PinRecord::from_json(&json).map(Some),
            Err(_) => Err(PinTrouble::Unreadable),
        })
    }

    /// Writes a pin, whole or not at all, for its owner alone.
    pub(super) fn write_pin(&self, record: &PinRecord) -> Result<(), Error> {
        self.fs.create_dir_all(&rel(PINS))?;
        let text = record.to_json().to_pretty();
        Ok(self.fs.write_atomic(&path_of(&record.tool), text.as_bytes(), FileMode::Private)?)
    }
}

fn path_of(tool: &McpTool) -> RelPath {
    rel(PINS).join(&tool.file_name()).expect("the name was made to be a file name")
}

#[cfg(test)]
mod tests {
    use brigade_exec::ListedTool;

    use super::*;

    #[test]
    fn plain_names_are_file_names_and_others_are_told_apart() {
        assert_eq!(file_name("voice", "say_it.v2"), "voice--say_it.v2.json");
        let odd = ["a/b", "a_b", "A_b", "", "..", "-x", "x-", "a--b", "é", "a\u{0}", &"x".repeat(500)];
        let names: Vec<String> =
            odd.iter().flat_map(|server| odd.iter().map(|tool| file_name(server, tool))).collect();
        let mut different = names.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), names.len(), "different names never share a file");
        for name in &names {
            assert!(rel(PINS).join(name).is_ok() && name.len() < 255, "{name}");
            assert!(!name.starts_with('.') && !name.contains(['/', '\0']), "{name}");
        }
        assert_ne!(file_name("a--b", "c"), file_name("a", "b--c"));
    }

    fn pin(description: &str) -> Pin {
        let json = Json::object([("name", Json::from("echo")), ("description", Json::from(description))]);
        Pin::of(&ListedTool::from_json(&json).unwrap(), Timestamp::from_unix_micros(0))
    }

    #[test]
    fn a_record_reads_back_the_same_and_every_part_of_it_is_needed() {
        let tool = McpTool { server: "voice".to_owned(), tool: "echo".to_owned() };
        let moment = Timestamp::from_unix_micros(1_000_000);
        for (offered, missing_since) in [(None, None), (Some(pin("new")), None), (None, Some(moment))] {
            let record = PinRecord { tool: tool.clone(), pin: pin("old"), offered, missing_since };
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
