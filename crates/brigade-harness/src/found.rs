//! What is found in the files of harnesses: entries, where they come from, and issues.

use brigade_core::json::{from_json, to_json};
use brigade_core::{Fingerprint, IssueType, Json, Number, Object, Severity, words};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::harness::{Extent, harness};

words! {
    /// A source of entries.
    EntrySource {
        /// MCP servers.
        Mcp = "mcp",
        /// Skills and commands.
        Skill = "skill",
        /// What only a harness can run.
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

words! {
    /// How an MCP server is reached.
    ServerTransport {
        /// Through the input and output of a local process.
        Stdio = "stdio",
        /// Through HTTP.
        Http = "http",
        /// Through HTTP with a stream of events.
        Sse = "sse",
    }
}

words! {
    /// What became of a file or directory that was looked at.
    FileStatus {
        /// It was read.
        Read = "read",
        /// It is not there.
        Absent = "absent",
        /// It is not what it should be.
        Broken = "broken",
        /// It cannot be read, or is too large.
        Unreadable = "unreadable",
        /// It is a program, which would have to run to say something.
        NotEvaluated = "not-evaluated",
    }
}

/// A tool source that some harness knows. It is a description; nothing of it can be called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DiscoveredEntry {
    /// `mcp:NAME`, `skill:NAME` or `harness:HARNESS.TOOL`; where definitions of one name differ, the `ref` of the first
    /// origin.
    pub id: String,
    /// Where it comes from.
    pub source: EntrySource,
    /// The kind of tool.
    pub family: EntryFamily,
    /// The name in the files.
    pub name: String,
    /// What it says about itself, without secrets.
    pub description: Option<String>,
    /// How the server is reached; absent for other sources than `mcp`.
    pub transport: Option<ServerTransport>,
    /// The words that start the server, without secrets.
    pub command: Vec<String>,
    /// The directory in which the server starts.
    pub cwd: Option<String>,
    /// The names of the environment variables that it is given.
    pub env_labels: Vec<String>,
    /// The names of the headers that it is sent.
    pub header_names: Vec<String>,
    /// The host of its URL, with the port if one is written.
    pub url_host: Option<String>,
    /// Whether some origin has it switched on.
    pub enabled: bool,
    /// The timeout in seconds.
    pub timeout: Option<Number>,
    /// The only tools that are offered; empty: all.
    pub tools_allowed: Vec<String>,
    /// Tools that are not offered.
    pub tools_denied: Vec<String>,
    /// References that the harness would expand or include, without default values.
    pub unresolved: Vec<String>,
    /// Keys that this version does not know.
    pub unknown_keys: Vec<String>,
    /// Keys whose values are secrets written in the file.
    pub literal_secrets: Vec<String>,
    /// The fingerprint of the definition, without any value of the environment or of headers.
    pub fingerprint: Fingerprint,
    /// The tool or runtime that was registered from it; `brigade` for the entry of our own gateway.
    pub registered_as: Option<String>,
    /// Where it is defined, in the order of the harnesses.
    pub origins: Vec<EntryOrigin>,
}

impl DiscoveredEntry {
    /// Returns every text that may hold a bound value, to mask it. Names and places lead to the definition, and stay
    /// what they are.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EntryOrigin {
    /// `ID@HARNESS/SCOPE`; `#2` and so on follows where one file or scope has a name again.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The harness.
    pub harness: String,
    /// Whose file it is.
    pub scope: Extent,
    /// The file, absolute.
    pub path: String,
    /// The keys that lead to it.
    pub key_path: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// Whether it is switched on there.
    pub enabled: bool,
}

/// Reads the records of a list. One that this version does not know, or that is damaged, is left out; returns how many.
pub(crate) fn known<T: DeserializeOwned>(list: &[Json]) -> (Vec<T>, usize) {
    let known: Vec<T> = list.iter().filter_map(|record| from_json(record).ok()).collect();
    let left_out = list.len() - known.len();
    (known, left_out)
}

/// Names the members in which two entries differ.
pub(crate) fn changed_members(before: &DiscoveredEntry, after: &DiscoveredEntry) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    // A line says where something stands, and not what.
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

/// Returns the id of an entry whose name has one definition.
///
/// A name that reads like the place of another entry (`github@cursor/user`) has its `@` and `%` escaped, so that no
/// id is the `ref` of something else.
pub(crate) fn plain_id(source: EntrySource, name: &str) -> String {
    let may_be_placed = name.bytes().any(|byte| byte == b'@' || byte == b'%');
    if may_be_placed && (is_placed(name) || name.contains("%40") || name.contains("%25")) {
        return format!("{source}:{}", name.replace('%', "%25").replace('@', "%40"));
    }
    [source.as_str(), ":", name].concat()
}

/// Returns whether a name ends in `@HARNESS/SCOPE`, with a number or without.
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

/// A harness, and what was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HarnessFiles {
    /// The label of the harness.
    pub harness: String,
    /// Its name for people.
    pub title: String,
    /// Whether its program is on PATH, or its directory is there.
    pub found: bool,
    /// The files and directories that were looked at.
    pub files: Vec<FileState>,
}

/// A file or directory that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FileState {
    /// The path, absolute.
    pub path: String,
    /// Whose file it is.
    pub scope: Extent,
    /// What it says: `mcp` or `skill`.
    pub source: EntrySource,
    /// What became of it.
    pub status: FileStatus,
    /// How many entries it has.
    pub entry_count: usize,
    /// Where it is broken: the line, from 1.
    pub line: Option<usize>,
    /// Where it is broken: the column, from 1.
    pub column: Option<usize>,
}

/// Something about a file or an entry that people should know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DiscoveryIssue {
    /// What is wrong, as a word that never changes its meaning.
    pub code: IssueType,
    /// `error`, `warning` or `info`.
    pub severity: Severity,
    /// The problem, as a sentence without a final period.
    pub message: String,
    /// The harness.
    pub harness: Option<String>,
    /// The file, absolute.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
    /// The id of the entry. Of `definitions_differ`, and of what is no entry, it is the id that one definition would
    /// have.
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
}
