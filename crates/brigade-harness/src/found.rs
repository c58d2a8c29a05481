//! What discovery finds in the files of harnesses: entries, their origins, and issues.

use brigade_catalog::{Family, ServerTransport};
use brigade_core::json::{from_json, to_json};
use brigade_core::{Fingerprint, IssueType, Json, Number, Object, Severity, words};
use brigade_macros::part;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::harness::{Extent, harness};

words! {
    /// The source of an entry.
    EntrySource {
        /// MCP servers.
        Mcp = "mcp",
        /// Skills and commands.
        Skill = "skill",
        /// Built-in tools of a harness.
        Harness = "harness",
    }
}

words! {
    /// The kind of tool that an entry describes.
    EntryFamily {
        /// An MCP server.
        Mcp = "mcp",
        /// Instructions that an agent loads on demand.
        Skill = "skill",
        /// A command that a user types in a harness.
        SlashCommand = "slash-command",
        /// A tool that only its harness can run.
        Custom = "custom",
    }
}

impl From<EntryFamily> for Family {
    fn from(family: EntryFamily) -> Family {
        match family {
            EntryFamily::Mcp => Family::Mcp,
            EntryFamily::Skill => Family::Skill,
            EntryFamily::SlashCommand => Family::SlashCommand,
            EntryFamily::Custom => Family::Custom,
        }
    }
}

words! {
    /// What discovery did with a file or directory.
    FileStatus {
        /// It was read.
        Read = "read",
        /// It does not exist.
        Absent = "absent",
        /// It is not valid.
        Broken = "broken",
        /// It cannot be read, or it is too large.
        Unreadable = "unreadable",
        /// It is a program. Discovery does not run programs.
        NotEvaluated = "not-evaluated",
    }
}

/// A tool source that a harness knows. It is only a description and cannot be called.
#[part(PartialEq)]
pub struct DiscoveredEntry {
    /// `mcp:NAME`, `skill:NAME` or `harness:HARNESS.TOOL`. If definitions of one name differ, the `ref` of the first
    /// origin.
    pub id: String,
    /// Where it comes from.
    pub source: EntrySource,
    /// The kind of tool.
    pub family: EntryFamily,
    /// The name in the files.
    pub name: String,
    /// Its description, without secrets.
    pub description: Option<String>,
    /// How the server is reached; absent unless the source is `mcp`.
    pub transport: Option<ServerTransport>,
    /// The command line of the server, without secrets.
    pub command: Vec<String>,
    /// The working directory of the server.
    pub cwd: Option<String>,
    /// The names of its environment variables.
    pub env_labels: Vec<String>,
    /// The names of its request headers.
    pub header_names: Vec<String>,
    /// The host of its URL, with the port if given.
    pub url_host: Option<String>,
    /// Whether it is enabled in at least one origin.
    pub enabled: bool,
    /// The timeout in seconds.
    pub timeout: Option<Number>,
    /// The tools that are offered; empty means all.
    pub tools_allowed: Vec<String>,
    /// Tools that are not offered.
    pub tools_denied: Vec<String>,
    /// References that the harness would expand or include, without default values.
    pub unresolved: Vec<String>,
    /// Keys that this version of Brigade does not know.
    pub unknown_keys: Vec<String>,
    /// Keys with literal secrets in the file.
    pub literal_secrets: Vec<String>,
    /// The fingerprint of the definition. Values of variables and headers are not part of it.
    pub fingerprint: Fingerprint,
    /// The tool or runtime that was registered from it; `brigade` for the entry of our own gateway.
    pub registered_as: Option<String>,
    /// Where it is defined, in the order of the harnesses.
    pub origins: Vec<EntryOrigin>,
}

impl DiscoveredEntry {
    /// Returns every text that may contain a bound value, for masking. Names and places are excluded, because they
    /// identify the definition.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let texts = [&mut self.description, &mut self.cwd, &mut self.url_host];
        let lists = [
            &mut self.command,
            &mut self.env_labels,
            &mut self.header_names,
            &mut self.tools_allowed,
            &mut self.tools_denied,
            &mut self.unresolved,
            &mut self.unknown_keys,
            &mut self.literal_secrets,
        ];
        texts.into_iter().flatten().chain(lists.into_iter().flatten())
    }
}

/// A place where an entry is defined.
#[part(PartialEq, Eq)]
pub struct EntryOrigin {
    /// `ID@HARNESS/SCOPE`. A suffix such as `#2` distinguishes duplicates of a name in one file or scope.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The harness.
    pub harness: String,
    /// The scope of the file.
    pub scope: Extent,
    /// The absolute path of the file.
    pub path: String,
    /// The path of keys to the entry.
    pub key_path: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// Whether it is enabled there.
    pub enabled: bool,
    /// The plugin or extension that brings it, such as `board@acme`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}

/// Reads the records of a list. Skips records that are unknown or damaged, and returns their number.
pub(crate) fn known<T: DeserializeOwned>(list: &[Json]) -> (Vec<T>, usize) {
    let known: Vec<T> = list.iter().filter_map(|record| from_json(record).ok()).collect();
    let left_out = list.len() - known.len();
    (known, left_out)
}

/// Returns the members in which two entries differ.
pub(crate) fn changed_members(before: &DiscoveredEntry, after: &DiscoveredEntry) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    // A changed line only means that the entry moved.
    let without_lines = |entry: &DiscoveredEntry| {
        let mut entry = entry.clone();
        entry.origins.iter_mut().for_each(|origin| origin.line = None);
        entry
    };
    let (before, after) = (&without_lines(before), &without_lines(after));
    let members = |entry| match to_json(entry) {
        Ok(Json::Object(members)) => members,
        _ => Object::new(),
    };
    let (before, after) = (members(before), members(after));
    after.into_iter().filter(|(key, value)| before.get(key) != Some(value)).map(|(key, _)| key).collect()
}

/// Returns the id of an entry whose name has a single definition.
///
/// In a name that looks like the place of another entry (`github@cursor/user`), `@` and `%` are escaped. So no id
/// equals the `ref` of another entry.
pub(crate) fn plain_id(source: EntrySource, name: &str) -> String {
    let may_be_placed = name.bytes().any(|byte| byte == b'@' || byte == b'%');
    if may_be_placed && (is_placed(name) || name.contains("%40") || name.contains("%25")) {
        return format!("{source}:{}", name.replace('%', "%25").replace('@', "%40"));
    }
    [source.as_str(), ":", name].concat()
}

/// Returns whether a name ends in `@HARNESS/SCOPE`, optionally with a number.
fn is_placed(name: &str) -> bool {
    let Some((label, scope)) = name.rsplit_once('@').and_then(|(_, place)| place.split_once('/')) else {
        return false;
    };
    let scope = match scope.rsplit_once('#') {
        Some((scope, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => scope,
        _ => scope,
    };
    harness(label).is_some() && Extent::from_word(scope).is_some()
}

/// A harness and the files that were checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HarnessFiles {
    /// The label of the harness.
    pub harness: String,
    /// Its name for people.
    pub title: String,
    /// Whether its program is on PATH, or its directory or one of its files exists.
    pub found: bool,
    /// The files and directories that were checked.
    pub files: Vec<FileState>,
}

/// A file or directory that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FileState {
    /// The absolute path.
    pub path: String,
    /// The scope of the file.
    pub scope: Extent,
    /// Its content: `mcp` or `skill`.
    pub source: EntrySource,
    /// What discovery did with it.
    pub status: FileStatus,
    /// The number of entries.
    pub entry_count: usize,
    /// The line of the error, from 1.
    pub line: Option<usize>,
    /// The column of the error, from 1.
    pub column: Option<usize>,
}

/// A problem with a file or an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DiscoveryIssue {
    /// The code of the issue. Its meaning never changes.
    pub code: IssueType,
    /// `error`, `warning` or `info`.
    pub severity: Severity,
    /// The problem, as a sentence without a final period.
    pub message: String,
    /// The label of the harness.
    pub harness: Option<String>,
    /// The absolute path of the file.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
    /// The id of the entry. For `definitions_differ`, and for something that is not an entry, the id that a single
    /// definition would have.
    pub entry_id: Option<String>,
    /// The origins that the issue is about.
    pub refs: Vec<String>,
}

impl DiscoveryIssue {
    /// Creates an issue without a place.
    pub fn new(code: IssueType, message: impl Into<String>) -> DiscoveryIssue {
        DiscoveryIssue {
            code,
            severity: code.severity(),
            message: message.into(),
            harness: None,
            path: None,
            line: None,
            column: None,
            entry_id: None,
            refs: Vec::new(),
        }
    }

    /// Returns the path with line and column, as far as they are known.
    pub fn place(&self) -> Option<String> {
        let numbers = [self.line, self.column].into_iter().flatten();
        Some(numbers.fold(self.path.clone()?, |place, number| format!("{place}:{number}")))
    }
}
