//! Edits JSON, with and without comments.

use std::ops::Range;

use brigade_core::json::{PlacedEntry, PlacedValue};
use brigade_core::yaml::Position;
use brigade_core::{Dialect, Json, JsonError};

use crate::client::{Client, Format};
use crate::edit::{EditRefusal, EntryInsertion, Traces, at, is_blank, is_own, line_end};
use crate::entry::{Entry, NAME};
use crate::read::holds_servers;

const DIALECT: Dialect = Dialect::WithComments;

/// The indentation for files without any.
const UNIT: &str = "  ";

/// How the members of an object are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Layout {
    /// One member per line, with this indentation.
    Lines(String),
    /// All members on one line, with or without spaces.
    Inline { is_tight: bool },
    /// An empty object on one line that is split into lines with this indentation.
    Opened(String),
}

impl From<JsonError> for EditRefusal {
    fn from(error: JsonError) -> EditRefusal {
        EditRefusal::NotJson { at: Position { line: error.line, column: error.column }, kind: error.kind }
    }
}

/// A text that is one object, and its style.
struct Document<'a> {
    text: &'a str,
    root: PlacedValue<'a>,
    end: &'static str,
    unit: String,
}

/// The location of the servers.
enum ServerContainer<'d, 'a> {
    /// In this object.
    There(&'d PlacedValue<'a>),
    /// The outermost object does not have the key.
    Missing,
}

impl<'a> Document<'a> {
    fn parse(text: &'a str) -> Result<Document<'a>, EditRefusal> {
        let root = PlacedValue::parse_object(text.as_bytes(), DIALECT)?;
        let unit = root.members().first().and_then(|member| own_line(text, member.key_at.start));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or(UNIT).to_owned();
        Ok(Document { text, root, end: line_end(text), unit })
    }

    /// Finds the object of the servers.
    fn shelf(&self, client: &Client) -> Result<ServerContainer<'_, 'a>, EditRefusal> {
        let Some(member) = self.only(&self.root, client.container)? else {
            return Ok(ServerContainer::Missing);
        };
        let wrong = |key, member: &PlacedEntry<'_>| EditRefusal::WrongContainer {
            at: at(self.text, member.value.at.start),
            key,
            expected: "an object",
        };
        let shelf = &member.value;
        if !shelf.is_object() {
            return Err(wrong(client.container, member));
        }
        if let Some(nested) = client.nested
            && let Some(member) = self.only(shelf, nested)?
            && holds_servers(&self.text[member.value.at.clone()])
        {
            return Ok(ServerContainer::There(&member.value));
        }
        Ok(ServerContainer::There(shelf))
    }

    /// Returns the member with a key. Refuses duplicates of the key.
    fn only<'s>(
        &self,
        object: &'s PlacedValue<'a>,
        key: &'s str,
    ) -> Result<Option<&'s PlacedEntry<'a>>, EditRefusal> {
        let mut members = object.all(key);
        let first = members.next();
        match members.next() {
            Some(again) => Err(EditRefusal::Duplicate { at: at(self.text, again.key_at.start) }),
            None => Ok(first),
        }
    }

    /// Refuses an object with a key that appears twice.
    fn check_keys(&self, object: &PlacedValue<'a>) -> Result<(), EditRefusal> {
        object.members().iter().try_for_each(|member| self.only(object, &member.key).map(|_| ()))
    }

    /// Returns the value of a member. A value that cannot be represented exactly is `null`.
    fn value(&self, member: &PlacedEntry<'a>) -> Json {
        let text = &self.text[member.value.at.clone()];
        Json::parse_bytes(text.as_bytes(), DIALECT).unwrap_or_default()
    }

    /// Chooses the layout for a new member of an object.
    fn layout(&self, object: &PlacedValue<'a>) -> Layout {
        if let Some(last) = object.members().last() {
            return match own_line(self.text, last.key_at.start) {
                Some(indent) => Layout::Lines(indent.to_owned()),
                None => Layout::Inline { is_tight: &self.text[last.key_at.end..last.value.at.start] == ":" },
            };
        }
        let indent = format!("{}{}", indent_at(self.text, object.at.start), self.unit);
        let inside = &self.text[object.at.start + 1..object.at.end - 1];
        let is_root = object.at == self.root.at;
        if inside.contains('\n') {
            Layout::Lines(indent)
        } else if is_root {
            Layout::Opened(indent)
        } else {
            match self.layout(&self.root) {
                inline @ Layout::Inline { .. } => inline,
                Layout::Lines(_) | Layout::Opened(_) => Layout::Opened(indent),
            }
        }
    }

    /// Inserts a member at the end of an object. Returns the new text and the range of the member in it.
    fn insert(&self, object: &PlacedValue<'a>, key: &str, value: &Node<'_>) -> (String, Range<usize>, bool) {
        let layout = self.layout(object);
        let last = object.members().last();
        let comma = last.and_then(|last| last.value.comma);
        let after = comma.map(|comma| comma + 1).or(last.map(|last| last.value.at.end));
        let after = after.unwrap_or(object.at.start + 1);
        let close = object.at.end - 1;
        // Insert after comments on the lines of the last member, if the brace is on a separate line.
        let gap = &self.text[after..close];
        let place = match (&layout, gap.rfind('\n')) {
            (Layout::Lines(_), Some(newline)) if gap[newline + 1..].trim().is_empty() => {
                after + gap[..newline].trim_end_matches('\r').len()
            }
            _ => after,
        };
        let mut member = String::new();
        value.write_member(key, &layout, &self.unit, self.end, &mut member);
        let (before, behind) = match &layout {
            Layout::Lines(indent) => (format!("{}{indent}", self.end), String::new()),
            Layout::Opened(indent) => {
                let outer = indent_at(self.text, object.at.start);
                (format!("{}{indent}", self.end), format!("{}{outer}", self.end))
            }
            Layout::Inline { is_tight } => {
                (if *is_tight || last.is_none() { "" } else { " " }.to_owned(), String::new())
            }
        };
        // Keep the style of the last member: with or without a comma after it.
        let behind = if comma.is_some() { format!(",{behind}") } else { behind };
        let needs_comma = last.filter(|last| last.value.comma.is_none()).map(|last| last.value.at.end);
        let first = needs_comma.unwrap_or(place);
        let mut text = self.text[..first].to_owned();
        if needs_comma.is_some() {
            text.push(',');
        }
        text.push_str(&self.text[first..place]);
        text.push_str(&before);
        let start = text.len();
        text.push_str(&member);
        let range = start..text.len();
        text.push_str(&behind);
        text.push_str(&self.text[place..]);
        (text, range, matches!(layout, Layout::Opened(_)))
    }

    /// Removes a member of an object. `was_opened` says that the object was empty and on one line before the insertion.
    fn remove(&self, object: &PlacedValue<'a>, member: &PlacedEntry<'a>, was_opened: bool) -> String {
        let index = object.members().iter().position(|other| other == member).unwrap_or_default();
        let previous = index.checked_sub(1).map(|index| &object.members()[index]);
        let mut cuts: Vec<Range<usize>> = Vec::new();
        let mut end = member.value.at.end;
        match member.value.comma {
            Some(comma) if self.text[end..comma].trim().is_empty() => end = comma + 1,
            Some(comma) => cuts.push(comma..comma + 1),
            None => {
                cuts.extend(previous.and_then(|previous| previous.value.comma).map(|comma| comma..comma + 1))
            }
        }
        let before = &self.text[..member.key_at.start];
        let blank = before.trim_end_matches([' ', '\t']);
        let rest = &self.text[end..];
        let ends_line = rest.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
        let behind = previous.map(|previous| previous.value.comma.unwrap_or(previous.value.at.end));
        let gap = behind.unwrap_or(object.at.start)..blank.len();
        let start = match blank.strip_suffix('\n') {
            // A comment on the line above needs its line end.
            Some(above) if ends_line || !self.text[gap].contains("//") => above.trim_end_matches('\r').len(),
            Some(_) | None => blank.len(),
        };
        if was_opened && object.members().len() == 1 && member.value.comma.is_none() {
            let outer = indent_at(self.text, object.at.start);
            let closing = rest.strip_prefix(self.end).and_then(|rest| rest.strip_prefix(outer));
            if let Some(closing) = closing {
                end = self.text.len() - closing.len();
            }
        }
        cuts.push(start..end);
        cuts.sort_by_key(|cut| cut.start);
        without(self.text, &cuts)
    }
}

/// Returns a text without the given ranges.
fn without(text: &str, cuts: &[Range<usize>]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for cut in cuts {
        kept.push_str(&text[at..cut.start.max(at)]);
        at = cut.end.max(at);
    }
    kept.push_str(&text[at..]);
    kept
}

fn line_start(before: &str) -> usize {
    before.rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the indentation of a line.
fn indent_at(text: &str, byte: usize) -> &str {
    let line = &text[line_start(&text[..byte])..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the white space before an offset, if the line has nothing else before it.
fn own_line(text: &str, byte: usize) -> Option<&str> {
    let start = line_start(&text[..byte]);
    let before = &text[start..byte];
    (0 < start && before.trim_matches([' ', '\t']).is_empty()).then_some(before)
}

/// A value to write: an entry, or an object that contains one.
enum Node<'n> {
    Entry(&'n Entry),
    Object(&'n str, &'n Node<'n>),
}

impl Node<'_> {
    fn write_member(&self, key: &str, layout: &Layout, unit: &str, end: &str, out: &mut String) {
        let is_tight = *layout == Layout::Inline { is_tight: true };
        out.push_str(&Json::from(key).to_compact());
        out.push_str(if is_tight { ":" } else { ": " });
        self.write(layout, unit, end, out);
    }

    fn write(&self, layout: &Layout, unit: &str, end: &str, out: &mut String) {
        match self {
            Node::Entry(entry) => {
                let members = entry.0.iter().map(|(key, value)| (key.as_str(), Part::Value(value)));
                write_object(members, layout, unit, end, out);
            }
            Node::Object(key, inner) => {
                write_object([(*key, Part::Node(inner))].into_iter(), layout, unit, end, out);
            }
        }
    }
}

enum Part<'p> {
    Value(&'p Json),
    Node(&'p Node<'p>),
}

impl Part<'_> {
    fn write(&self, layout: &Layout, unit: &str, end: &str, out: &mut String) {
        match self {
            Part::Node(node) => node.write(layout, unit, end, out),
            Part::Value(Json::Object(members)) if !members.is_empty() => {
                let members = members.iter().map(|(key, value)| (key.as_str(), Part::Value(value)));
                write_object(members, layout, unit, end, out);
            }
            Part::Value(Json::Array(items)) => {
                let is_tight = *layout == Layout::Inline { is_tight: true };
                let items: Vec<String> = items.iter().map(Json::to_compact).collect();
                out.push_str(&format!("[{}]", items.join(if is_tight { "," } else { ", " })));
            }
            Part::Value(value) => out.push_str(&value.to_compact()),
        }
    }
}

fn write_object<'m>(
    members: impl Iterator<Item = (&'m str, Part<'m>)>,
    layout: &Layout,
    unit: &str,
    end: &str,
    out: &mut String,
) {
    let (indent, inner) = match layout {
        Layout::Lines(indent) | Layout::Opened(indent) => {
            (Some(indent), Layout::Lines(format!("{indent}{unit}")))
        }
        inline @ Layout::Inline { .. } => (None, inline.clone()),
    };
    out.push('{');
    for (index, (key, value)) in members.enumerate() {
        if 0 < index {
            out.push(',');
        }
        match &inner {
            Layout::Lines(indent) => out.push_str(&format!("{end}{indent}")),
            Layout::Inline { is_tight: false } if 0 < index => out.push(' '),
            _ => {}
        }
        out.push_str(&Json::from(key).to_compact());
        out.push_str(if inner == (Layout::Inline { is_tight: true }) { ":" } else { ": " });
        value.write(&inner, unit, end, out);
    }
    if let Some(indent) = indent {
        out.push_str(&format!("{end}{indent}"));
    }
    out.push('}');
}

pub(crate) fn put(
    client: &Client,
    text: &str,
    entry: &Entry,
    noted: Option<&Json>,
) -> Result<EntryInsertion, EditRefusal> {
    let node = Node::Entry(entry);
    let in_container = Node::Object(NAME, &node);
    if is_blank(text) {
        let mut object = String::new();
        let root = Node::Object(client.container, &in_container);
        root.write(&Layout::Lines(String::new()), UNIT, line_end(text), &mut object);
        let final_end = if text.is_empty() { "\n" } else { "" };
        let start = text.len();
        return Ok(EntryInsertion {
            entry_at: start..start + object.len(),
            text: format!("{text}{object}{final_end}"),
            is_new: true,
            traces: Traces { document: true, container: true, ..Traces::default() },
            ..unchanged(client, text)
        });
    }
    let document = Document::parse(text)?;
    let shelf = match document.shelf(client)? {
        ServerContainer::There(shelf) => shelf,
        ServerContainer::Missing => {
            let (text, entry_at, opened) = document.insert(&document.root, client.container, &in_container);
            let traces = Traces { container: true, opened, ..Traces::default() };
            return Ok(EntryInsertion {
                text,
                entry_at,
                is_new: true,
                traces,
                ..unchanged(client, document.text)
            });
        }
    };
    document.check_keys(shelf)?;
    let Some(member) = document.only(shelf, NAME)? else {
        let (text, entry_at, opened) = document.insert(shelf, NAME, &node);
        let traces = Traces { opened, ..Traces::default() };
        return Ok(EntryInsertion {
            text,
            entry_at,
            is_new: true,
            traces,
            ..unchanged(client, document.text)
        });
    };
    let value = document.value(member);
    if !is_own(&value, noted) {
        return Err(EditRefusal::Foreign { at: at(text, member.key_at.start) });
    }
    if entry.is_in(&value) {
        return Ok(EntryInsertion {
            entry_at: member.key_at.start..member.value.at.end,
            is_unchanged: true,
            ..unchanged(client, text)
        });
    }
    let both = entry.over(&value);
    let layout = match own_line(text, member.key_at.start) {
        Some(indent) => Layout::Lines(indent.to_owned()),
        None => document.layout(shelf),
    };
    let mut written = String::new();
    Node::Entry(&both).write(&layout, &document.unit, document.end, &mut written);
    let (before, behind) = (&text[..member.value.at.start], &text[member.value.at.end..]);
    Ok(EntryInsertion {
        entry_at: member.key_at.start..before.len() + written.len(),
        text: format!("{before}{written}{behind}"),
        ..unchanged(client, text)
    })
}

/// Returns an insertion that leaves the file unchanged.
fn unchanged(client: &Client, text: &str) -> EntryInsertion {
    EntryInsertion {
        text: text.to_owned(),
        entry_at: 0..0,
        is_unchanged: false,
        is_new: false,
        has_additions: false,
        traces: Traces::default(),
        loose: loose(client.format, text),
    }
}

/// Describes what the file contains that its format does not allow.
fn loose(format: Format, text: &str) -> Option<&'static str> {
    let placed = |dialect| PlacedValue::parse_object(text.as_bytes(), dialect);
    match format {
        _ if is_blank(text) => None,
        Format::Json if text.starts_with('\u{feff}') || placed(Dialect::Strict).is_err() => {
            Some("comments, trailing commas or a byte order mark")
        }
        Format::JsonWithComments if placed(DIALECT).is_ok_and(|object| object.has_trailing_comma()) => {
            Some("trailing commas")
        }
        Format::Json | Format::JsonWithComments | Format::JsonWithCommas | Format::Toml => None,
    }
}

pub(crate) fn take(
    client: &Client,
    text: &str,
    traces: &Traces,
    noted: Option<&Json>,
) -> Result<Option<(String, Range<usize>)>, EditRefusal> {
    if is_blank(text) {
        return Ok(None);
    }
    let document = Document::parse(text)?;
    let ServerContainer::There(shelf) = document.shelf(client)? else { return Ok(None) };
    document.check_keys(shelf)?;
    let Some(member) = document.only(shelf, NAME)? else { return Ok(None) };
    if !is_own(&document.value(member), noted) {
        return Err(EditRefusal::Foreign { at: at(text, member.key_at.start) });
    }
    let entry_at = member.key_at.start..member.value.at.end;
    let container = document.only(&document.root, client.container)?;
    let is_made = traces.container && shelf.members().len() == 1 && !has_comments(text, shelf, member);
    let Some(container) = container.filter(|container| is_made && container.value.at == shelf.at) else {
        let opened = traces.opened && !traces.container;
        return Ok(Some((document.remove(shelf, member, opened), entry_at)));
    };
    let is_alone = document.root.members().len() == 1 && !has_comments(text, &document.root, container);
    if traces.document && is_alone {
        let root = &document.root.at;
        // The line end was also added to the empty file.
        let end = if root.start == 0 && text[root.end..] == *"\n" { text.len() } else { root.end };
        let root = &(root.start..end);
        return Ok(Some((without(text, std::slice::from_ref(root)), entry_at)));
    }
    Ok(Some((document.remove(&document.root, container, traces.opened), entry_at)))
}

/// Returns whether an object has comments around its only member.
fn has_comments(text: &str, object: &PlacedValue<'_>, member: &PlacedEntry<'_>) -> bool {
    let before = &text[object.at.start + 1..member.key_at.start];
    let behind = &text[member.value.at.end..object.at.end - 1];
    [before, behind].iter().any(|gap| !gap.replace(',', "").trim().is_empty())
}

/// Lists the members of the container: names, values, and positions of their keys.
pub(crate) fn entries(client: &Client, text: &str) -> Result<Vec<(String, Json, Position)>, EditRefusal> {
    if is_blank(text) {
        return Ok(Vec::new());
    }
    let document = Document::parse(text)?;
    let ServerContainer::There(shelf) = document.shelf(client)? else { return Ok(Vec::new()) };
    let entry = |member: &PlacedEntry<'_>| {
        (member.key.clone().into_owned(), document.value(member), at(text, member.key_at.start))
    };
    Ok(shelf.members().iter().map(entry).collect())
}
