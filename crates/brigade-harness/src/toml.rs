//! Edits TOML: a table with a separate header at the end of the file, or a member of an inline table.

use std::ops::Range;

use brigade_catalog::edit::{json_of, to_toml};
use brigade_core::Json;
use brigade_core::toml_errors::{TomlError, explain};
use brigade_core::yaml::Position;
use toml_edit::{Document, InlineTable, Item, Key, Table, TableLike, Value};
use toml_parser::Source;

use crate::client::Client;
use crate::edit::{EditRefusal, EntryInsertion, Traces, at, is_blank, is_own, line_end};
use crate::entry::{Entry, NAME};

pub(crate) type TomlDocument<'a> = Document<&'a str>;

/// The maximum number of tokens of a text, because each value becomes a node.
const MAX_TOKENS: usize = 500_000;

/// Reads TOML. The error says what is wrong, and does not quote the text.
pub(crate) fn read(text: &str) -> Result<TomlDocument<'_>, EditRefusal> {
    if let Some(token) = Source::new(text).lex().nth(MAX_TOKENS) {
        return Err(EditRefusal::NotToml { at: at(text, token.span().start()), why: "too many values" });
    }
    Document::parse(text).map_err(|error| {
        let first = explain(text, &[(start_of(error.span()), error.message())]).into_iter().next();
        let TomlError { at: byte, message } = first.expect("one error stays one");
        EditRefusal::NotToml { at: at(text, byte), why: message.trim_start_matches("not valid TOML: ") }
    })
}

fn start_of(span: Option<Range<usize>>) -> usize {
    span.map_or(0, |span| span.start)
}

/// Finds the table of the servers.
fn shelf<'d>(
    client: &Client,
    text: &str,
    document: &'d TomlDocument<'_>,
) -> Result<Option<(&'d Item, &'d dyn TableLike)>, EditRefusal> {
    let Some(item) = document.as_table().get(client.container) else { return Ok(None) };
    let wrong = || EditRefusal::WrongContainer {
        at: at(text, start_of(item.span())),
        key: client.container,
        expected: "a table",
    };
    item.as_table_like().map(|table| Some((item, table))).ok_or_else(wrong)
}

pub(crate) fn put(
    client: &Client,
    text: &str,
    entry: &Entry,
    noted: Option<&Json>,
) -> Result<EntryInsertion, EditRefusal> {
    let document = read(text)?;
    let shelf = shelf(client, text, &document)?;
    let Some((key, item)) = shelf.and_then(|(_, table)| table.get_key_value(NAME)) else {
        let (text, entry_at) = match shelf {
            Some((Item::Value(Value::InlineTable(table)), _)) => insert_inline(text, table, entry),
            _ => append(client, text, entry),
        };
        let traces = Traces { document: is_blank(document.raw()), ..Traces::default() };
        return Ok(EntryInsertion { traces, is_new: true, ..insertion(text, entry_at, false) });
    };
    let value = json_of(item);
    let key_at = key.span().unwrap_or_default();
    let place = at(text, key_at.start);
    if !is_own(&value, noted) {
        return Err(EditRefusal::Foreign { at: place });
    }
    let form = form(text, item).ok_or(EditRefusal::Form { at: place })?;
    if entry.is_in(&value) {
        return Ok(insertion(text.to_owned(), form, true));
    }
    let both = entry.over(&value);
    let written = match item {
        Item::Table(table) => {
            // Subtables have separate headers and stay where they are.
            let is_below = |key: &str| match table.get(key) {
                Some(Item::Table(inner)) => !inner.is_dotted(),
                Some(Item::ArrayOfTables(_)) => true,
                Some(Item::None | Item::Value(_)) | None => false,
            };
            let own = both.0.into_iter().filter(|(key, _)| !is_below(key));
            let block = block(client, &Entry(own.collect()), line_end(text));
            let has_end = text[form.clone()].ends_with('\n');
            if has_end { block } else { block.trim_end_matches(['\r', '\n']).to_owned() }
        }
        _ => inline(&both).to_string(),
    };
    let (before, behind) = (&text[..form.start], &text[form.end..]);
    let entry_at = form.start..form.start + written.len();
    Ok(insertion(format!("{before}{written}{behind}"), entry_at, false))
}

fn insertion(text: String, entry_at: Range<usize>, is_unchanged: bool) -> EntryInsertion {
    EntryInsertion {
        text,
        entry_at,
        is_unchanged,
        is_new: false,
        has_additions: false,
        traces: Traces::default(),
        loose: None,
    }
}

/// Writes the entry under its header at the end of the text, after an empty line. Adds no final line end if the text
/// had none.
fn append(client: &Client, text: &str, entry: &Entry) -> (String, Range<usize>) {
    let end = line_end(text);
    let content = text.trim_start_matches('\u{feff}');
    let block = block(client, entry, end);
    let (gap, block) = if content.is_empty() {
        (String::new(), block.as_str())
    } else if content.ends_with('\n') {
        (end.to_owned(), block.as_str())
    } else {
        (end.repeat(2), block.trim_end_matches(['\r', '\n']))
    };
    let start = text.len() + gap.len();
    (format!("{text}{gap}{block}"), start..start + block.len())
}

/// Formats the entry under its header.
fn block(client: &Client, entry: &Entry, end: &str) -> String {
    let mut block = format!("[{}.{NAME}]{end}", client.container);
    for (key, value) in &entry.0 {
        if let Some(value) = to_toml(value) {
            block.push_str(&format!("{} = {value}{end}", Key::new(key.as_str())));
        }
    }
    block
}

/// Formats the entry as an inline table.
fn inline(entry: &Entry) -> Value {
    let members = entry.0.iter();
    let members = members.filter_map(|(key, value)| Some((Key::new(key.as_str()), to_toml(value)?)));
    Value::InlineTable(members.collect::<InlineTable>())
}

/// Adds the entry after the last member of an inline table.
fn insert_inline(text: &str, table: &InlineTable, entry: &Entry) -> (String, Range<usize>) {
    let span = table.span().unwrap_or_default();
    let last = table.iter().filter_map(|(_, value)| end_of(value)).max();
    let (place, before) = match last {
        Some(last) => (last, ", "),
        None => (span.start + 1, ""),
    };
    let member = format!("{NAME} = {}", inline(entry));
    let start = place + before.len();
    let written = format!("{}{before}{member}{}", &text[..place], &text[place..]);
    (written, start..start + member.len())
}

/// Returns where a value of an inline table ends. A dotted key creates tables whose spans are those of the keys.
fn end_of(value: &Value) -> Option<usize> {
    match value {
        Value::InlineTable(table) if table.is_dotted() => {
            table.iter().filter_map(|(_, value)| end_of(value)).max()
        }
        value => value.span().map(|span| span.end),
    }
}

/// Returns the bytes of an entry: whole lines from its header to its last value, or an inline table. Returns `None` for
/// other forms.
fn form(text: &str, item: &Item) -> Option<Range<usize>> {
    match item {
        Item::Table(table) if !table.is_dotted() && !table.is_implicit() => {
            let header = table.span()?;
            let end = last_value(table).unwrap_or(header.end);
            Some(line_start(text, header.start)..next_line(text, end))
        }
        Item::Value(Value::InlineTable(table)) if !table.is_dotted() => table.span(),
        _ => None,
    }
}

/// Returns where the last value under the header of a table ends.
fn last_value(table: &Table) -> Option<usize> {
    let end = |item: &Item| match item {
        Item::Value(value) => end_of(value),
        Item::Table(table) if table.is_dotted() => last_value(table),
        _ => None,
    };
    table.iter().filter_map(|(_, item)| end(item)).max()
}

fn line_start(text: &str, byte: usize) -> usize {
    let start = text[..byte].rfind('\n').map_or(0, |newline| newline + 1);
    // A byte order mark stays before the first line.
    if text[start..].starts_with('\u{feff}') { start + '\u{feff}'.len_utf8() } else { start }
}

fn next_line(text: &str, byte: usize) -> usize {
    text[byte..].find('\n').map_or(text.len(), |newline| byte + newline + 1)
}

/// Collects the headers of subtables with their contents.
fn below(text: &str, table: &Table, found: &mut Vec<Range<usize>>) {
    for (_, item) in table.iter() {
        match item {
            Item::Table(inner) => {
                found.extend(form(text, item));
                below(text, inner, found);
            }
            Item::ArrayOfTables(tables) => {
                for inner in tables.iter() {
                    if let Some(header) = inner.span() {
                        let end = last_value(inner).unwrap_or(header.end);
                        found.push(line_start(text, header.start)..next_line(text, end));
                    }
                    below(text, inner, found);
                }
            }
            Item::None | Item::Value(_) => {}
        }
    }
}

pub(crate) fn take(
    client: &Client,
    text: &str,
    noted: Option<&Json>,
) -> Result<Option<(String, Range<usize>)>, EditRefusal> {
    let document = read(text)?;
    let shelf = shelf(client, text, &document)?;
    let Some((key, item)) = shelf.and_then(|(_, table)| table.get_key_value(NAME)) else {
        return Ok(None);
    };
    let place = at(text, start_of(key.span()));
    if !is_own(&json_of(item), noted) {
        return Err(EditRefusal::Foreign { at: place });
    }
    let entry_at = form(text, item).ok_or(EditRefusal::Form { at: place })?;
    let mut cuts = Vec::new();
    match (item, shelf) {
        (Item::Table(table), _) => {
            cuts.push(entry_at.clone());
            below(text, table, &mut cuts);
            cuts = cuts.into_iter().map(|cut| with_gap(text, cut)).collect();
        }
        (_, Some((Item::Value(Value::InlineTable(table)), _))) => {
            cuts.push(member_cut(text, table, start_of(key.span()), entry_at.end));
        }
        // A separate line under `[mcp_servers]`.
        _ => cuts.push(line_start(text, start_of(key.span()))..next_line(text, entry_at.end)),
    }
    cuts.sort_by_key(|cut| cut.start);
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for cut in &cuts {
        kept.push_str(&text[from..cut.start.max(from)]);
        from = cut.end.max(from);
    }
    kept.push_str(&text[from..]);
    Ok(Some((kept, entry_at)))
}

/// Extends a block of lines by one empty line above it. At the end of a text without a final line end, also by the line
/// end above.
fn with_gap(text: &str, block: Range<usize>) -> Range<usize> {
    let mut start = block.start;
    let above = text[..start].strip_suffix('\n').map(|above| above.strip_suffix('\r').unwrap_or(above));
    if let Some(above) = above
        && line_start(text, above.len()) == above.len()
    {
        start = above.len();
    }
    if block.end == text.len() && !text.ends_with('\n') && start < block.start {
        let above = text[..start].strip_suffix('\n').unwrap_or(&text[..start]);
        start = above.strip_suffix('\r').unwrap_or(above).len();
    }
    start..block.end
}

/// Returns the bytes of a member of an inline table with one adjacent comma.
fn member_cut(text: &str, table: &InlineTable, start: usize, end: usize) -> Range<usize> {
    let previous = table.iter().filter_map(|(_, value)| end_of(value)).filter(|other| *other <= start).max();
    if let Some(previous) = previous {
        return previous..end;
    }
    // The first of several members includes the comma after it.
    let rest = &text[end..];
    let comma = rest.trim_start().strip_prefix(',').map(str::trim_start);
    start..comma.map_or(end, |rest| text.len() - rest.len())
}

/// Lists the servers: names, values, and positions of their keys.
pub(crate) fn entries(client: &Client, text: &str) -> Result<Vec<(String, Json, Position)>, EditRefusal> {
    let document = read(text)?;
    let Some((_, table)) = shelf(client, text, &document)? else { return Ok(Vec::new()) };
    let entry = |(name, item): (&str, &Item)| {
        let key = table.key(name).and_then(Key::span);
        (name.to_owned(), json_of(item), at(text, start_of(key)))
    };
    Ok(table.iter().map(entry).collect())
}
