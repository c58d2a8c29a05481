//! Fills entries from tables, and reports invalid values.

use std::collections::BTreeMap;

use brigade_core::text::short;
use brigade_core::{Hint, Place, Severity, closest};
use brigade_redact::{is_secret_name, shown_name};

use super::entry::Entry;
use super::value::{Data, Key, Table, Value};
use super::{Finding, Output, settings, value};
use crate::fields::{self, ExpectedValue, FieldPath, KNOWN_HARNESSES, Shape, Slot, Slots, misspelt_effect};
use crate::model::{FieldPlace, Origin, RemoteServer};
use crate::source::{self, Locator};

/// The maximum length in bytes of a name that is compared with known names.
const MAX_NAME_BYTES: usize = 64;

/// Reads a piece. Returns whether it gives the entries as a list value instead of under headers.
pub(super) fn read<E: Entry>(text: &str, first_line: usize, output: &mut Output<'_, E>) -> bool {
    let locator = Locator::new(text, first_line);
    let (root, errors) = match value::read(text, &mut output.buffers) {
        Some(root) => (root, Vec::new()),
        None => {
            let (root, errors) = source::parse(text, &locator);
            (root.into_inner().into(), errors)
        }
    };
    let trust = if errors.is_empty() { Trust::Sound } else { Trust::Broken };
    let (before, said) = (output.entries.len(), output.issues.len());
    let mut has_list = false;
    let Table(pairs) = &root;
    for (key, value) in pairs {
        if key.name == E::KIND {
            // Entries under headers start with the header, which is before the key.
            has_list = matches!(value.data, Data::List(_)) && key.at < value.at;
            read_list(value, key.at, trust, &locator, output);
        } else if E::HAS_SETTINGS && settings::KEYS.contains(&&*key.name) {
            settings::read(key, value, &locator, output);
        } else if trust == Trust::Sound {
            let name = shown(&key.name);
            output.report(
                Severity::Warning,
                locator.locate(key.at),
                Finding {
                    entry: None,
                    field: Some(&name),
                    message: "unknown key at the top level",
                    hint: did_you_mean(&key.name, top_keys::<E>()),
                },
            );
        }
    }
    if let Some(first) = errors.first() {
        // Text after a syntax error may be misread.
        let first = Place::at(output.file, first.at.0, first.at.1);
        let mut behind = output.issues.split_off(said);
        // An issue in the line of a syntax error has the same cause.
        behind.retain(|issue| issue.place.line < first.line);
        output.issues.append(&mut behind);
    }
    // A syntax error marks all entries of the piece broken.
    for error in errors {
        output.break_entries(before, error.at, error.message, None);
    }
    has_list
}

/// Returns the keys that the top level of a file may have.
fn top_keys<E: Entry>() -> impl Iterator<Item = &'static str> {
    let settings: &[&'static str] = if E::HAS_SETTINGS { &settings::KEYS } else { &[] };
    [E::KIND].into_iter().chain(settings.iter().copied())
}

/// Whether the TOML of a piece is valid. Otherwise unknown and missing keys are not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Sound,
    Broken,
}

fn read_list<E: Entry>(
    value: &Value<'_>,
    key_start: usize,
    trust: Trust,
    locator: &Locator<'_>,
    output: &mut Output<'_, E>,
) {
    let wrong = |at: usize, entry: Option<&str>, message: &'static str, output: &mut Output<'_, E>| {
        output.report(
            Severity::Error,
            locator.locate(at),
            Finding {
                entry,
                field: Some(E::KIND),
                message,
                hint: Some(format!("write every entry under its own [[{}]] header", E::KIND).into()),
            },
        );
    };
    match &value.data {
        Data::List(items) => {
            for item in items {
                match &item.data {
                    Data::Table(table) => read_entry(table, item.at, trust, locator, output),
                    _ => wrong(item.at, None, "expected a table", output),
                }
            }
        }
        Data::Table(table) => {
            // Often a header with only one bracket. List the entry as broken.
            wrong(key_start, id_in(table), "expected a list of tables", output);
            read_entry(table, value.at, Trust::Broken, locator, output);
        }
        _ => wrong(key_start, None, "expected a list of tables", output),
    }
}

/// Returns the id in the text of an entry.
fn id_in<'t>(table: &'t Table<'_>) -> Option<&'t str> {
    table.get("id")?.as_str().map(str::trim).filter(|id| !id.is_empty())
}

/// Reads an entry that is not in a catalog file.
pub(super) fn read_table<E: Entry>(table: &Table<'_>, output: &mut Output<'_, E>) {
    read_entry(table, 0, Trust::Sound, &Locator::new("", 1), output);
}

fn read_entry<E: Entry>(
    table: &Table<'_>,
    start: usize,
    trust: Trust,
    locator: &Locator<'_>,
    output: &mut Output<'_, E>,
) {
    let header = locator.locate(start);
    let place = Place::at(output.file, header.0, header.1);
    let mut entry = E::blank(output.level, place.clone());
    // Reads the id first, because every issue names it.
    if let Some(text) = id_in(table) {
        // An invalid id is reported with the other fields.
        let _ = entry.slot(0).set_text(text);
    }
    let id = id_in(table).filter(|_| !entry.id().is_empty());
    let mut reader = EntryReader {
        trust,
        locator,
        id,
        places: Vec::with_capacity(2 * table.0.len()),
        unsafe_fields: Vec::new(),
        has_error: trust == Trust::Broken,
        output,
    };
    let mut seen = 0u64;
    let mut next = 0;
    let mut unknown = Vec::new();
    for (key, value) in &table.0 {
        let Some(field) = E::FIELDS.position_from(next, &key.name) else {
            unknown.push((key, value));
            continue;
        };
        seen |= 1 << field;
        next = field + 1;
        reader.place(field, 0, key.at);
        if field != 0 || reader.id.is_none() {
            reader.fill(field, &key.name, entry.slot(field), value);
        }
    }
    for (key, value) in unknown {
        // A misspelt required field is one error, at the key's place.
        let meant = near(&key.name, E::FIELDS.names()).and_then(|near| E::FIELDS.position(near));
        let is_missing =
            |field: &u8| E::FIELDS.0[usize::from(*field)].1 == Shape::Required && seen & (1 << *field) == 0;
        let severity = match meant.filter(is_missing) {
            Some(field) => {
                seen |= 1 << field;
                Severity::Error
            }
            None => Severity::Warning,
        };
        reader.unknown(severity, key, value, E::FIELDS.names());
    }
    if trust == Trust::Sound {
        for (field, (name, shape)) in E::FIELDS.0.iter().enumerate() {
            if *shape == Shape::Required && seen & (1 << field) == 0 && entry.needs(name) {
                reader.error_at(header, name, "this required field is missing", None);
            }
        }
    }
    let EntryReader { places, unsafe_fields, mut has_error, output, id, .. } = reader;
    if entry.id().is_empty() {
        return;
    }
    entry.set_origin(Origin::with_fields(output.level, place, places));
    let objections = [(Severity::Error, entry.contradiction()), (Severity::Warning, entry.pointless())];
    for (severity, objection) in objections {
        let Some((field, message)) = objection else { continue };
        has_error |= severity == Severity::Error;
        let place = place_of(&entry, field);
        let at = (place.line.unwrap_or(header.0), place.column.unwrap_or(header.1));
        output.report(severity, at, Finding { entry: id, field: Some(field), message, hint: None });
    }
    entry.settle();
    entry.set_unsafe_fields(unsafe_fields);
    if has_error {
        entry.set_broken();
    }
    output.entries.push(entry);
}

/// Returns the place of a field such as `source.kind`.
fn place_of<E: Entry>(entry: &E, field: &str) -> Place {
    let path = FieldPath::parse(field);
    let key = path.rest.and_then(|key| fields::group(path.name)?.position(key));
    match E::FIELDS.position(path.name) {
        Some(field) => entry.origin().find(field, key.map_or(0, |key| u16::from(key) + 1)),
        None => entry.origin().place.clone(),
    }
}

struct EntryReader<'r, 'o, E> {
    trust: Trust,
    locator: &'r Locator<'r>,
    id: Option<&'r str>,
    places: Vec<FieldPlace>,
    unsafe_fields: Vec<String>,
    has_error: bool,
    output: &'r mut Output<'o, E>,
}

impl<E: Entry> EntryReader<'_, '_, E> {
    fn place(&mut self, field: u8, element: usize, at: usize) {
        let (line, column) = self.locator.locate(at);
        self.places.push(FieldPlace::new(field, element, line, column));
    }

    fn error(&mut self, at: usize, field: &str, expected: ExpectedValue) {
        self.error_at(self.locator.locate(at), field, expected, None);
    }

    fn error_at(&mut self, at: (usize, usize), field: &str, message: &'static str, hint: Option<Hint>) {
        self.has_error = true;
        let entry = self.id;
        self.output.report(Severity::Error, at, Finding { entry, field: Some(field), message, hint });
    }

    fn warning(&mut self, at: usize, field: &str, message: &'static str, hint: Option<Hint>) {
        let at = self.locator.locate(at);
        let entry = self.id;
        self.output.report(Severity::Warning, at, Finding { entry, field: Some(field), message, hint });
    }

    /// Stores a value in the slot of a known field.
    fn fill(&mut self, field: u8, name: &str, slot: Slot<'_>, value: &Value<'_>) {
        self.store(field, name, slot, value);
        self.look_for_secrets(name, &value.data);
    }

    /// Stores a value in a slot, or reports why not.
    fn store(&mut self, field: u8, name: &str, slot: Slot<'_>, value: &Value<'_>) {
        let words = slot.words();
        let result = match (&value.data, slot) {
            (Data::Text(text), slot) => slot.set_text(text),
            (Data::Boolean(value), slot) => slot.set_boolean(*value),
            (Data::Number(number, is_integer), slot) => slot.set_number(*number, *is_integer),
            (Data::List(items), Slot::List(list)) => {
                self.fill_list(field, name, list, items);
                Ok(())
            }
            (Data::List(items), Slot::Lines(lines)) => {
                self.fill_lines(name, lines, items);
                Ok(())
            }
            (Data::Table(pairs), Slot::Group(group)) => {
                self.fill_group(field, name, group, pairs);
                Ok(())
            }
            (Data::Table(pairs), Slot::Table(table)) => {
                self.fill_table(field, name, table, pairs);
                Ok(())
            }
            (Data::List(_) | Data::Table(_) | Data::Other, slot) => Err(slot.expected()),
        };
        if let Err(expected) = result {
            let hint = value.as_str().and_then(|text| did_you_mean(text, words()));
            self.error_at(self.locator.locate(value.at), name, expected, hint);
        }
    }

    fn fill_lines(&mut self, name: &str, lines: &mut Vec<String>, items: &[Value<'_>]) {
        let mut is_good = true;
        for (at, item) in items.iter().enumerate() {
            match item.as_str().map(str::trim) {
                Some(text) if !text.is_empty() => lines.push(text.to_owned()),
                _ => {
                    is_good = false;
                    self.error(item.at, &format!("{name}[{}]", at + 1), "expected non-empty text");
                }
            }
        }
        if !is_good {
            lines.clear();
        }
    }

    /// Stores the values of a table of known fields.
    fn fill_group(&mut self, field: u8, name: &str, group: &mut dyn Slots, pairs: &Table<'_>) {
        let known = group.fields();
        for (key, value) in &pairs.0 {
            match known.position(&key.name) {
                Some(index) => {
                    self.place(field, usize::from(index) + 1, key.at);
                    self.store(field, &path(name, &key.name), group.slot(index), value);
                }
                None if self.trust == Trust::Sound => {
                    let hint = did_you_mean(&key.name, known.names());
                    self.warning(key.at, &path(name, shown_name(&key.name)), "unknown key", hint);
                }
                None => {}
            }
        }
    }

    fn fill_list(&mut self, field: u8, name: &str, list: &mut Vec<String>, items: &[Value<'_>]) {
        let mut is_good = true;
        for (at, item) in items.iter().enumerate() {
            self.place(field, at + 1, item.at);
            let element = || format!("{name}[{}]", at + 1);
            match item.as_str().map(str::trim) {
                Some(text) if !text.is_empty() => {
                    match name {
                        "supported_harnesses" => self.check_harness(text, item.at, element),
                        "effects" => self.check_effect(text, item.at, element),
                        _ => {}
                    }
                    list.push(text.to_owned());
                }
                _ => {
                    is_good = false;
                    self.error(item.at, &element(), "expected non-empty text");
                }
            }
        }
        if !is_good {
            list.clear();
        }
    }

    fn fill_table(
        &mut self,
        field: u8,
        name: &str,
        table: &mut BTreeMap<String, String>,
        Table(pairs): &Table<'_>,
    ) {
        let mut is_good = true;
        // Sorted by key, because the indexes of elements follow this order.
        let mut pairs: Vec<_> = pairs.iter().collect();
        pairs.sort_unstable_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        for (at, (key, value)) in pairs.into_iter().enumerate() {
            self.place(field, at + 1, key.at);
            match value.as_str() {
                Some(text) => {
                    if name.starts_with("projection") {
                        self.check_harness(&key.name, key.at, || path(name, &key.name));
                    }
                    table.insert(key.name.clone().into_owned(), text.trim().to_owned());
                }
                None => {
                    is_good = false;
                    let path = self.safe_path(name, &key.name);
                    self.error(value.at, &path, "expected text");
                }
            }
        }
        if !is_good {
            table.clear();
        }
    }

    /// Returns the path of a key, or only the field if the TOML is broken, because the key may then be part of a value.
    fn safe_path(&self, field: &str, key: &str) -> String {
        match self.trust {
            Trust::Sound => path(field, key),
            Trust::Broken => field.to_owned(),
        }
    }

    fn check_harness(&mut self, harness: &str, at: usize, field: impl Fn() -> String) {
        if self.trust == Trust::Sound && !KNOWN_HARNESSES.contains(&harness) {
            let hint = did_you_mean(harness, KNOWN_HARNESSES.iter().copied());
            self.warning(at, &field(), "not a harness that Brigade knows", hint);
        }
    }

    /// Warns about an effect that is probably misspelt. Other unknown effects are allowed.
    fn check_effect(&mut self, effect: &str, at: usize, field: impl Fn() -> String) {
        let hint = misspelt_effect(effect).map(Hint::did_you_mean);
        if self.trust == Trust::Sound && hint.is_some() {
            self.warning(at, &field(), "not an effect that Brigade knows, so its risk is high", hint);
        }
    }

    fn unknown(
        &mut self,
        severity: Severity,
        key: &Key<'_>,
        value: &Value<'_>,
        known: impl Iterator<Item = &'static str>,
    ) {
        // In broken TOML, part of a value may have become a key, so the name is not shown.
        if self.trust == Trust::Sound {
            let (shown, hint) = (shown(&key.name), did_you_mean(&key.name, known));
            match severity {
                Severity::Error => self.error_at(self.locator.locate(key.at), &shown, "unknown key", hint),
                Severity::Warning | Severity::Info => self.warning(key.at, &shown, "unknown key", hint),
            }
            if self.holds_secret(&key.name, &value.data) {
                self.unsafe_fields.push(shown);
            }
            self.look_for_secrets(&key.name, &value.data);
        }
    }

    /// Collects the names of nested keys that look secret.
    fn look_for_secrets(&mut self, field: &str, value: &Data<'_>) {
        match value {
            _ if self.trust == Trust::Broken => {}
            Data::Table(Table(pairs)) => {
                for (key, value) in pairs {
                    let name = || path(field, shown_name(&key.name));
                    if !is_template(field, value) && self.holds_secret(&key.name, &value.data) {
                        self.unsafe_fields.push(name());
                    }
                    if matches!(value.data, Data::List(_) | Data::Table(_)) {
                        self.look_for_secrets(&name(), &value.data);
                    }
                }
            }
            Data::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    if matches!(item.data, Data::List(_) | Data::Table(_)) {
                        self.look_for_secrets(&format!("{field}[{}]", at + 1), &item.data);
                    }
                }
            }
            Data::Text(_) | Data::Number(..) | Data::Boolean(_) | Data::Other => {}
        }
    }

    /// Returns whether a key looks secret. `max_tokens = 100` does not.
    fn holds_secret(&mut self, key: &str, value: &Data<'_>) -> bool {
        if !matches!(value, Data::Text(_) | Data::List(_) | Data::Table(_))
            || self.output.harmless_keys.contains(key)
        {
            return false;
        }
        let is_secret = is_secret_name(key);
        if !is_secret {
            self.output.harmless_keys.insert(key.to_owned());
        }
        is_secret
    }
}

/// Returns whether the value of a header gets its secret from a label.
fn is_template(field: &str, value: &Value<'_>) -> bool {
    field == "headers" && value.as_str().is_some_and(|text| !RemoteServer::labels_of(text).is_empty())
}

/// Returns an unknown key for messages.
pub(super) fn shown(key: &str) -> String {
    short(shown_name(key), MAX_NAME_BYTES)
}

fn path(field: &str, key: &str) -> String {
    format!("{field}.{}", short(key, MAX_NAME_BYTES))
}

pub(super) fn did_you_mean(typed: &str, known: impl IntoIterator<Item = &'static str>) -> Option<Hint> {
    near(typed, known).map(Hint::did_you_mean)
}

fn near(typed: &str, known: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    if typed.len() > MAX_NAME_BYTES { None } else { closest(typed, known) }
}
