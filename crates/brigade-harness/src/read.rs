//! Reads the files of harnesses: bytes in, entries and issues out.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use brigade_core::json::{PlacedMember, placed_members};
use brigade_core::text::escape_terminal;
use brigade_core::yaml::{self, Node, Position, Value, YamlError};
use brigade_core::{Dialect, IssueType, Json, JsonError, JsonErrorKind, Object};
use brigade_redact::{MARK, Redactor, looks_secret_value};

use crate::client::Format;
use crate::edit::{EditRefusal, decode, is_blank};
use crate::found::{DiscoveredEntry, DiscoveryIssue, EntryOrigin, EntrySource, plain_id};
use crate::harness::{Config, Extent, Harness, KeyPaths, Syntax};
use crate::launch::Launch;
use crate::spelling::read_server;
use brigade_catalog::edit::json_of;

/// The range of an object, and the keys on the path to it.
type FoundObject<'w> = (Range<usize>, Vec<&'w str>);

/// The maximum number of entries of a file.
pub const MAX_ENTRIES: usize = 2_000;

/// The maximum number of strings in the entries of a file, and their maximum total size in bytes.
const MAX_TEXTS: usize = 50_000;
const MAX_BYTES: usize = 4 << 20;

/// The maximum size of one server in a file, in bytes.
const MAX_SERVER_BYTES: usize = 4 << 20;

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
            plugin: None,
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

impl From<JsonError> for ReadFault {
    fn from(error: JsonError) -> ReadFault {
        ReadFault(Position { line: error.line, column: error.column }, error.kind.to_string())
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

/// Converts byte offsets of a text to positions. Ascending offsets are scanned once.
struct Lines<'t> {
    text: &'t str,
    /// A byte offset, the number of lines before it, and where its line begins.
    last: Cell<(usize, usize, usize)>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Lines<'t> {
        Lines { text, last: Cell::new((0, 0, 0)) }
    }

    fn at(&self, byte: usize) -> Position {
        let (from, mut before, mut start) =
            if self.last.get().0 <= byte { self.last.get() } else { (0, 0, 0) };
        for end in memchr::memchr_iter(b'\n', &self.text.as_bytes()[from..byte]) {
            before += 1;
            start = from + end + 1;
        }
        self.last.set((byte, before, start));
        let line = &self.text[start..byte];
        // Columns of extremely long lines are not counted in characters.
        let column = match line.len() < 10_000 {
            true => line.trim_start_matches('\u{feff}').chars().count(),
            false => line.len(),
        };
        Position { line: before + 1, column: column + 1 }
    }
}

/// A JSON text whose members are read where they are. No tree is built, because a file may be large.
struct JsonText<'t> {
    text: &'t str,
    dialect: Dialect,
    lines: Lines<'t>,
    /// The outermost members with the wanted keys, so that they are found in the pass that checks the text.
    top: Vec<PlacedMember<'t>>,
}

impl<'t> JsonText<'t> {
    /// Checks the whole text, and reports what its program may not read.
    fn check(
        text: &'t str,
        format: Format,
        wanted: &[&str],
        found: &mut Servers,
    ) -> Result<JsonText<'t>, ReadFault> {
        let place = |error: &JsonError| Position { line: error.line, column: error.column };
        let mut loose = |at, what: &str| {
            let message = format!("the file has {what}, which its program may not read");
            found.issues.push((IssueType::ClientFileLoose, message, at));
        };
        let mut top = Vec::new();
        let mut pass = |dialect| {
            top.clear();
            placed_members(text, dialect, |member| {
                if !wanted.contains(&&*member.key.decode()) {
                    return;
                }
                let is_same = |old: &PlacedMember<'_>| old.key.decode() == member.key.decode();
                match top.iter().rposition(is_same).filter(|_| MAX_ISSUES <= top.len()) {
                    Some(at) => top[at] = member,
                    None => top.push(member),
                }
            })
        };
        let dialect = match format {
            Format::Json => match pass(Dialect::Strict) {
                Ok(_) => Dialect::Strict,
                Err(error) => {
                    pass(Dialect::WithComments)?;
                    loose(place(&error), "comments or trailing commas");
                    Dialect::WithComments
                }
            },
            Format::JsonWithComments | Format::JsonWithCommas | Format::Toml => {
                let has_trailing_comma = pass(Dialect::WithComments)?;
                if has_trailing_comma && format == Format::JsonWithComments {
                    loose(Position { line: 1, column: 1 }, "trailing commas");
                }
                Dialect::WithComments
            }
        };
        Ok(JsonText { text, dialect, lines: Lines::new(text), top })
    }

    /// Calls `found` for each member of an object in the text.
    fn members(
        &self,
        object: &Range<usize>,
        mut found: impl FnMut(PlacedMember<'t>),
    ) -> Result<(), ReadFault> {
        let start = object.start;
        placed_members(&self.text[object.clone()], self.dialect, |member| {
            let value = member.value.start + start..member.value.end + start;
            found(PlacedMember { key_at: member.key_at + start, value, ..member });
        })?;
        Ok(())
    }

    /// Finds the value of a key. The last one counts; earlier ones are reported. Of the whole text, it is a wanted key.
    fn find(
        &self,
        object: &Range<usize>,
        key: &str,
        found: &mut Servers,
    ) -> Result<Option<Range<usize>>, ReadFault> {
        let mut last: Option<PlacedMember<'_>> = None;
        let mut take = |member: PlacedMember<'t>| {
            if member.key.decode() != key {
                return;
            }
            if let Some(earlier) = last.replace(member)
                && found.issues.len() < MAX_ISSUES
            {
                let message = "duplicate key; the last one wins".to_owned();
                found.issues.push((IssueType::DuplicateKey, message, self.lines.at(earlier.key_at)));
            }
        };
        match *object == (0..self.text.len()) {
            true => self.top.iter().cloned().for_each(take),
            false => self.members(object, &mut take)?,
        }
        Ok(last.map(|member| member.value))
    }

    fn begins_object(&self, value: &Range<usize>) -> bool {
        self.text.as_bytes()[value.start] == b'{'
    }

    /// Finds the object of the servers and the keys on the path to it.
    fn shelf<'w>(
        &self,
        way: &[&'w str],
        nested: Option<&'static str>,
        found: &mut Servers,
    ) -> Result<Option<FoundObject<'w>>, ReadFault> {
        let mut object = 0..self.text.len();
        let mut way = way.to_vec();
        for key in &way {
            let Some(value) = self.find(&object, key, found)? else { return Ok(None) };
            if !self.begins_object(&value) {
                if &self.text[value.clone()] == "null" {
                    return Ok(None);
                }
                let shown = escape_terminal(key);
                return Err(ReadFault(self.lines.at(value.start), format!("`{shown}` is not an object")));
            }
            object = value;
        }
        if let Some(nested) = nested
            && let Some(inner) = self.find(&object, nested, &mut Servers::default())?
            && holds_servers(&self.text[inner.clone()])
        {
            way.push(nested);
            object = inner;
        }
        Ok(Some((object, way)))
    }

    /// Returns a value, and whether a key is duplicated in it. The last duplicate counts. `None` if it is too long.
    fn value(&self, at: &Range<usize>) -> Option<(Json, bool)> {
        if MAX_SERVER_BYTES < at.len() {
            return None;
        }
        Some(match Json::parse_bytes(self.text[at.clone()].as_bytes(), Dialect::WithComments) {
            Ok(value) => (value, false),
            Err(error) if error.kind == JsonErrorKind::DuplicateKey => {
                let mut members = Object::new();
                let insert = |member: PlacedMember<'_>| {
                    let value = self.value(&member.value).map(|(value, _)| value);
                    members.insert(member.key.decode().into_owned(), value.unwrap_or_default());
                };
                // A list with such an object is not a server.
                let _ = self.members(at, insert);
                (Json::Object(members), true)
            }
            Err(_) => (Json::Null, false),
        })
    }
}

/// Returns whether a JSON text is an object that holds servers, and is not a server itself.
pub(crate) fn holds_servers(text: &str) -> bool {
    let mut all_have_type = true;
    let check = |member: PlacedMember<'_>| {
        let mut has_type = false;
        let value = &text[member.value];
        let is_object = placed_members(value, Dialect::WithComments, |inner| {
            has_type |= inner.key.decode() == "type";
        });
        all_have_type &= is_object.is_ok() && has_type;
    };
    placed_members(text, Dialect::WithComments, check).is_ok() && all_have_type
}

fn of_json(source: &Source<'_>, config: &Config, text: &str, format: Format) -> Result<Servers, ReadFault> {
    let mut found = Servers::default();
    let mut ways = config.ways.in_workspace(source.workspace);
    let mut wanted: Vec<&str> = ways.iter().filter_map(|way| way.first().copied()).collect();
    wanted.extend(config.spelling.lists);
    if let KeyPaths::Single { name, .. } = config.ways {
        wanted.push(name);
    }
    let json = JsonText::check(text.trim_start_matches('\u{feff}'), format, &wanted, &mut found)?;
    let whole = 0..json.text.len();
    if let KeyPaths::KeyOrRoot(key) = config.ways
        && json.find(&whole, key, &mut Servers::default())?.is_none()
    {
        ways = vec![Vec::new()];
    }
    for way in ways {
        let Some((shelf, way)) = json.shelf(&way, config.nested, &mut found)? else { continue };
        if let KeyPaths::Single { name, .. } = config.ways {
            let name = json.find(&whole, name, &mut Servers::default())?.and_then(|name| json.value(&name));
            let (value, has_twice) = json.value(&shelf).unwrap_or_default();
            found.servers.push(PlacedServer {
                name: name.and_then(|(name, _)| Some(name.as_str()?.to_owned())).unwrap_or_default(),
                value,
                at: json.lines.at(shelf.start),
                has_twice,
                key_path: way.join("."),
            });
            continue;
        }
        let mut members = Vec::new();
        let mut count = 0;
        json.members(&shelf, |member| {
            count += 1;
            if count <= MAX_ENTRIES {
                members.push(member);
            }
        })?;
        found.left_out += count - members.len();
        for member in members {
            let at = json.lines.at(member.key_at);
            let name = member.key.decode().into_owned();
            let Some((value, has_twice)) = json.value(&member.value) else {
                let message = format!("a server of more than {} MiB is not read", MAX_SERVER_BYTES >> 20);
                found.issues.push((IssueType::ServerInvalid, message, at));
                continue;
            };
            let key_path = key_path(&way, &name);
            found.servers.push(PlacedServer { name, value, at, has_twice, key_path });
        }
    }
    if let Some(lists) = config.spelling.lists
        && let Some(lists) = json.find(&whole, lists, &mut Servers::default())?
        && let Some((value, _)) = json.value(&lists)
    {
        read_lists(&value, &mut found);
    }
    Ok(found)
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
    let document = crate::toml::read(text)?;
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
