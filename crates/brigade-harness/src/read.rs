//! Reads the files of harnesses: bytes in, entries and issues out.

use std::collections::HashMap;

use brigade_core::json::{PlacedData, PlacedEntry, PlacedValue};
use brigade_core::text::escape_terminal;
use brigade_core::yaml::{self, Node, Position, Value, YamlError};
use brigade_core::{Dialect, IssueType, Json, JsonErrorKind, Object};
use brigade_redact::{MARK, Redactor, looks_secret_value};

use crate::client::Format;
use crate::edit::{EditRefusal, decode, is_blank};
use crate::found::{DiscoveredEntry, DiscoveryIssue, EntryOrigin, EntrySource, plain_id};
use crate::harness::{Config, Extent, Harness, Syntax};
use crate::json::holds_servers;
use crate::launch::Launch;
use crate::spelling::read_server;
use crate::toml::json_of;

/// The maximum number of entries of a file.
pub const MAX_ENTRIES: usize = 2_000;

/// The maximum number of strings in the entries of a file, and their maximum total size in bytes.
const MAX_TEXTS: usize = 50_000;
const MAX_BYTES: usize = 4 << 20;

/// The maximum number of issues of a file.
const MAX_ISSUES: usize = 1_000;

/// The maximum length of an entry's name.
pub(crate) const MAX_NAME_LEN: usize = 256;

/// A file and the harness that reads it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// The harness.
    pub harness: &'static Harness,
    /// The scope of the file.
    pub extent: Extent,
    /// The absolute path of the file.
    pub path: &'s str,
    /// The absolute path of the workspace.
    pub workspace: &'s str,
}

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The position of a syntax error; `None` if the file could be read.
    pub broken: Option<Position>,
    /// The entries, each with its origin.
    pub entries: Vec<DiscoveredEntry>,
    /// The launch data in the same order, if the entries are servers.
    pub launches: Vec<Launch>,
    /// Problems of the file and its entries.
    pub issues: Vec<DiscoveryIssue>,
}

impl Source<'_> {
    /// Creates an issue of this file.
    pub fn issue(&self, code: IssueType, message: impl Into<String>, at: Option<Position>) -> DiscoveryIssue {
        DiscoveryIssue {
            harness: Some(self.harness.label().to_owned()),
            path: Some(self.path.to_owned()),
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            ..DiscoveryIssue::new(code, message)
        }
    }

    pub(crate) fn origin(
        &self,
        id: &str,
        key_path: Option<String>,
        line: Option<usize>,
        enabled: bool,
    ) -> EntryOrigin {
        let (harness, scope) = (self.harness.label(), self.extent);
        EntryOrigin {
            reference: [id, "@", harness, "/", scope.as_str()].concat(),
            harness: harness.to_owned(),
            scope,
            path: self.path.to_owned(),
            key_path,
            line,
            enabled,
        }
    }

    /// Creates a reading of an invalid file.
    pub(crate) fn broken(&self, at: Position, message: &str) -> Reading {
        let issue = self.issue(IssueType::ClientFileInvalid, message, Some(at));
        Reading { broken: Some(at), issues: vec![issue], ..Reading::default() }
    }
}

/// A server and its position in a file.
struct PlacedServer {
    name: String,
    value: Json,
    at: Position,
    has_twice: bool,
    key_path: String,
}

impl PlacedServer {
    /// Returns a substitute name and path for a server whose name is a secret. They contain its number in the file.
    fn without_name(&self, number: usize) -> (String, String) {
        let name = if number == 1 { MARK.to_owned() } else { format!("{MARK}-{number}") };
        let quoted = format!("[{}]", Json::from(self.name.as_str()).to_compact());
        let way = self.key_path.strip_suffix(&quoted).or_else(|| self.key_path.strip_suffix(&self.name));
        let path = match way {
            Some(way) => format!("{}[{}]", way.trim_end_matches('.'), Json::from(name.as_str()).to_compact()),
            None => self.key_path.clone(),
        };
        (name, path)
    }
}

/// The servers of a file, before their entries are read.
#[derive(Default)]
struct Servers {
    servers: Vec<PlacedServer>,
    left_out: usize,
    allowed: Option<Vec<String>>,
    excluded: Vec<String>,
    issues: Vec<(IssueType, String, Position)>,
}

/// Why a file cannot be read.
struct ReadFault(Position, String);

impl From<EditRefusal> for ReadFault {
    fn from(refused: EditRefusal) -> ReadFault {
        ReadFault(refused.at().unwrap_or(Position { line: 1, column: 1 }), refused.to_string())
    }
}

/// Reads the servers of a file.
pub fn read_config(source: &Source<'_>, config: &Config, bytes: &[u8]) -> Reading {
    match servers(source, config, bytes) {
        Ok(servers) => spell(source, config, servers),
        Err(ReadFault(at, message)) => source.broken(at, &message),
    }
}

fn servers(source: &Source<'_>, config: &Config, bytes: &[u8]) -> Result<Servers, ReadFault> {
    let text = decode(bytes)?;
    if is_blank(text) {
        return Ok(Servers::default());
    }
    match config.syntax {
        Syntax::Json(format) => of_json(source, config, text, format),
        Syntax::Toml => of_toml(source, config, text),
        Syntax::Yaml => of_yaml(source, config, text),
    }
}

fn spell(source: &Source<'_>, config: &Config, found: Servers) -> Reading {
    let redactor = Redactor::new(&[]).for_settings();
    let mut reading = Reading::default();
    reading
        .issues
        .extend(found.issues.into_iter().map(|(code, message, at)| source.issue(code, message, Some(at))));
    if 0 < found.left_out {
        let message = format!("{} entries are not read; {MAX_ENTRIES} are", found.left_out);
        reading.issues.push(source.issue(IssueType::TooManyEntries, message, None));
    }
    let mut room = ReadBudget { texts: MAX_TEXTS, bytes: MAX_BYTES };
    let mut too_much = 0;
    let mut masked = 0;
    // If a name is duplicated, programs use the last one.
    let last: HashMap<&str, usize> =
        found.servers.iter().enumerate().map(|(index, placed)| (placed.name.as_str(), index)).collect();
    for (index, placed) in found.servers.iter().enumerate() {
        let is_secret = looks_secret_value(&placed.name).is_some();
        masked += usize::from(is_secret);
        let (name, key_path) = match is_secret {
            true => placed.without_name(masked),
            false => (placed.name.clone(), placed.key_path.clone()),
        };
        let id = plain_id(EntrySource::Mcp, &name);
        let issue = |code: IssueType, message: String| DiscoveryIssue {
            entry_id: Some(id.clone()),
            ..source.issue(code, message, Some(placed.at))
        };
        if placed.name.is_empty() || MAX_NAME_LEN < placed.name.len() {
            let message = "the name of the server is empty or too long".to_owned();
            let issue = source.issue(IssueType::ServerInvalid, message, Some(placed.at));
            reading.issues.push(issue);
            continue;
        }
        if last.get(placed.name.as_str()) != Some(&index) {
            let message = "duplicate name; the last one wins".to_owned();
            reading.issues.push(issue(IssueType::DuplicateKey, message));
            continue;
        }
        if placed.has_twice {
            reading.issues.push(issue(IssueType::DuplicateKey, "the server has a duplicate key".to_owned()));
        }
        if escape_terminal(&name) != name {
            let message = "the name has invisible characters".to_owned();
            reading.issues.push(issue(IssueType::NameUnusual, message));
        }
        if room.is_used_up() {
            too_much += 1;
            continue;
        }
        let read = read_server(config.spelling, (&name, is_secret), &placed.value, &redactor);
        reading.issues.extend(read.troubles.into_iter().map(|(code, message)| issue(code, message)));
        let Some(mut entry) = read.entry else { continue };
        room.take(&entry);
        let is_listed = found.allowed.as_ref().is_none_or(|allowed| allowed.contains(&placed.name));
        entry.enabled &= is_listed && !found.excluded.contains(&placed.name);
        let origin = source.origin(&id, Some(key_path), Some(placed.at.line), entry.enabled);
        entry.origins.push(origin);
        reading.entries.push(entry);
        reading.launches.push(read.launch);
    }
    if MAX_ISSUES < reading.issues.len() {
        let message = format!("{} more issues of the file are not shown", reading.issues.len() - MAX_ISSUES);
        reading.issues.truncate(MAX_ISSUES);
        reading.issues.push(source.issue(IssueType::TooManyEntries, message, None));
    }
    if 0 < too_much {
        let message = format!("{too_much} entries are not read: the file has too much text");
        reading.issues.push(source.issue(IssueType::TooManyEntries, message, None));
    }
    reading
}

/// The remaining limits for entries of the file.
struct ReadBudget {
    texts: usize,
    bytes: usize,
}

impl ReadBudget {
    fn take(&mut self, entry: &DiscoveredEntry) {
        let lists = [
            &entry.command,
            &entry.env_labels,
            &entry.header_names,
            &entry.tools_allowed,
            &entry.tools_denied,
            &entry.unresolved,
            &entry.unknown_keys,
            &entry.literal_secrets,
        ];
        for text in lists.into_iter().flatten() {
            self.texts = self.texts.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(text.len());
        }
    }

    fn is_used_up(&self) -> bool {
        self.texts == 0 || self.bytes == 0
    }
}

/// Joins keys to a path. Keys that are not plain words are quoted.
fn key_path(way: &[&str], name: &str) -> String {
    let mut path = String::new();
    for key in way.iter().chain([&name]) {
        let is_plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        if is_plain {
            path.push_str(if path.is_empty() { "" } else { "." });
            path.push_str(key);
        } else {
            path.push_str(&format!("[{}]", Json::from(*key).to_compact()));
        }
    }
    path
}

/// Converts many byte offsets of a text to positions.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Lines<'t> {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        Lines { text, starts: std::iter::once(0).chain(ends.map(|at| at + 1)).collect() }
    }

    fn at(&self, byte: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= byte);
        let before = &self.text[self.starts[line - 1]..byte];
        // Columns of extremely long lines are not counted in characters.
        let column = if before.len() < 10_000 {
            before.trim_start_matches('\u{feff}').chars().count()
        } else {
            before.len()
        };
        Position { line, column: column + 1 }
    }
}

fn of_json(source: &Source<'_>, config: &Config, text: &str, format: Format) -> Result<Servers, ReadFault> {
    let broken = |error: brigade_core::JsonError| {
        ReadFault(Position { line: error.line, column: error.column }, error.kind.to_string())
    };
    let mut found = Servers::default();
    let plain = text.trim_start_matches('\u{feff}');
    let strict = match format {
        Format::Json => Some(PlacedValue::parse_object(plain.as_bytes(), Dialect::Strict)),
        Format::JsonWithComments | Format::JsonWithCommas | Format::Toml => None,
    };
    let root = match strict {
        Some(Ok(root)) => root,
        strict => {
            let root = PlacedValue::parse_object(plain.as_bytes(), Dialect::WithComments).map_err(broken)?;
            if let Some(Err(error)) = strict {
                let message = "the file has comments or trailing commas, which its program may not read";
                let at = Position { line: error.line, column: error.column };
                found.issues.push((IssueType::ClientFileLoose, message.to_owned(), at));
            } else if format == Format::JsonWithComments && root.has_trailing_comma() {
                let message = "the file has trailing commas, which its program may not read";
                found.issues.push((
                    IssueType::ClientFileLoose,
                    message.to_owned(),
                    Position { line: 1, column: 1 },
                ));
            }
            root
        }
    };
    let lines = Lines::new(plain);
    for way in config.ways.in_workspace(source.workspace) {
        let Some((shelf, way)) = shelf(&root, &way, config.nested, &lines, &mut found)? else { continue };
        found.left_out += shelf.members().len().saturating_sub(MAX_ENTRIES);
        for member in shelf.members().iter().take(MAX_ENTRIES) {
            let (value, has_twice) = value(plain, member);
            found.servers.push(PlacedServer {
                name: member.key.clone().into_owned(),
                value,
                at: lines.at(member.key_at.start),
                has_twice,
                key_path: key_path(&way, &member.key),
            });
        }
    }
    if let Some(lists) = config.spelling.lists
        && let Some(member) = root.all(lists).last()
    {
        let (value, _) = value(plain, member);
        read_lists(&value, &mut found);
    }
    Ok(found)
}

/// Finds the object of the servers and the keys on the path to it.
fn shelf<'r, 'a, 'w>(
    root: &'r PlacedValue<'a>,
    way: &[&'w str],
    nested: Option<&'static str>,
    lines: &Lines<'_>,
    found: &mut Servers,
) -> Result<Option<(&'r PlacedValue<'a>, Vec<&'w str>)>, ReadFault> {
    let mut object = root;
    let mut way = way.to_vec();
    for key in &way {
        let mut members: Vec<&'r PlacedEntry<'a>> = object.all(key).collect();
        let Some(member) = members.pop() else { return Ok(None) };
        for earlier in members.into_iter().take(MAX_ISSUES) {
            let message = "duplicate key; the last one wins".to_owned();
            found.issues.push((IssueType::DuplicateKey, message, lines.at(earlier.key_at.start)));
        }
        match member.value.data {
            PlacedData::Object(_) => object = &member.value,
            PlacedData::Null => return Ok(None),
            _ => {
                let shown = escape_terminal(key);
                return Err(ReadFault(
                    lines.at(member.value.at.start),
                    format!("`{shown}` is not an object"),
                ));
            }
        }
    }
    if let Some(nested) = nested
        && let Some(member) = object.all(nested).last()
        && holds_servers(&member.value)
    {
        way.push(nested);
        return Ok(Some((&member.value, way)));
    }
    Ok(Some((object, way)))
}

/// Returns the value of a member, and whether a key is duplicated in it. The last duplicate counts.
fn value(text: &str, member: &PlacedEntry<'_>) -> (Json, bool) {
    let bytes = &text.as_bytes()[member.value.at.clone()];
    match Json::parse_bytes(bytes, Dialect::WithComments) {
        Ok(value) => (value, false),
        Err(error) if error.kind == JsonErrorKind::DuplicateKey => {
            let members = member.value.members().iter();
            let members = members.map(|member| (member.key.clone().into_owned(), value(text, member).0));
            (Json::Object(members.collect::<Object>()), true)
        }
        Err(_) => (Json::Null, false),
    }
}

fn read_lists(value: &Json, found: &mut Servers) {
    let names = |key: &str| -> Option<Vec<String>> {
        let names = value.get(key)?.as_array()?.iter();
        Some(names.filter_map(Json::as_str).map(str::to_owned).collect())
    };
    found.allowed = names("allowed");
    found.excluded = names("excluded").unwrap_or_default();
}

fn of_toml(source: &Source<'_>, config: &Config, text: &str) -> Result<Servers, ReadFault> {
    let document = crate::toml::read(text).map_err(|at| ReadFault(at, "not valid TOML".to_owned()))?;
    let mut found = Servers::default();
    for way in config.ways.in_workspace(source.workspace) {
        let mut item = document.as_item();
        for key in &way {
            match item.get(key) {
                Some(inner) => item = inner,
                None => return Ok(found),
            }
        }
        let lines = Lines::new(text);
        let Some(table) = item.as_table_like() else {
            let at = lines.at(item.span().map_or(0, |span| span.start));
            return Err(ReadFault(at, format!("`{}` is not a table", way.join("."))));
        };
        found.left_out += table.len().saturating_sub(MAX_ENTRIES);
        for (name, item) in table.iter().take(MAX_ENTRIES) {
            let key = table.key(name).and_then(toml_edit::Key::span);
            found.servers.push(PlacedServer {
                name: name.to_owned(),
                value: json_of(item),
                at: lines.at(key.or_else(|| item.span()).map_or(0, |span| span.start)),
                has_twice: false,
                key_path: key_path(&way, name),
            });
        }
    }
    Ok(found)
}

impl From<YamlError> for ReadFault {
    fn from(error: YamlError) -> ReadFault {
        ReadFault(error.at(), error.to_string())
    }
}

fn of_yaml(source: &Source<'_>, config: &Config, text: &str) -> Result<Servers, ReadFault> {
    let mut found = Servers::default();
    let Some(root) = yaml::parse(text)? else { return Ok(found) };
    if !matches!(root.value, Value::Map(_)) {
        return Err(ReadFault(root.at, "the top level is not a map".to_owned()));
    }
    for way in config.ways.in_workspace(source.workspace) {
        let Some(node) = way.iter().try_fold(&root, |node, key| node.get(key)) else { continue };
        match &node.value {
            Value::Map(members) => {
                found.left_out += members.len().saturating_sub(MAX_ENTRIES);
                for (key, value) in members.iter().take(MAX_ENTRIES) {
                    found.servers.push(PlacedServer {
                        name: key.text.clone(),
                        value: value.to_json(),
                        at: key.at,
                        has_twice: has_twice(value),
                        key_path: key_path(&way, &key.text),
                    });
                }
            }
            Value::List(items) => {
                found.left_out += items.len().saturating_sub(MAX_ENTRIES);
                for (index, item) in items.iter().take(MAX_ENTRIES).enumerate() {
                    of_item(&way, index, item, &mut found);
                }
            }
            Value::Scalar(Json::Null) => {}
            Value::Scalar(_) => {
                return Err(ReadFault(node.at, format!("`{}` is neither a map nor a list", way.join("."))));
            }
        }
    }
    Ok(found)
}

/// Reads a server from a list. Its name is one of its members.
fn of_item(way: &[&str], index: usize, item: &Node, found: &mut Servers) {
    let name = item.get("name").map(Node::to_json);
    let Some(name) = name.as_ref().and_then(Json::as_str) else {
        let message = match item.get("uses") {
            Some(_) => "the server is included from another file, which is not read",
            None => "the server has no name",
        };
        found.issues.push((IssueType::ServerWithoutCommand, message.to_owned(), item.at));
        return;
    };
    found.servers.push(PlacedServer {
        name: name.to_owned(),
        value: item.to_json(),
        at: item.at,
        has_twice: has_twice(item),
        key_path: format!("{}[{index}]", way.join(".")),
    });
}

fn has_twice(node: &Node) -> bool {
    let Value::Map(members) = &node.value else { return false };
    let mut seen = std::collections::HashSet::new();
    members.iter().any(|(key, _)| !seen.insert(&key.text))
}

#[cfg(test)]
mod tests;
