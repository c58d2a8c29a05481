//! Reads any piece through the toml crate, and reports what is wrong.

use std::collections::BTreeMap;

use brigade_core::text::short;
use brigade_core::{Hint, Place, Severity, closest};
use brigade_redact::{is_secret_name, shown_name};
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use super::entry::{Entry, ExpectedValue, Slot};
use super::group::Group;
use super::{Finding, Output, settings};
use crate::fields::{self, FieldPath, KNOWN_HARNESSES, Shape, misspelt_effect};
use crate::model::{FieldPlace, Origin};
use crate::source::{self, Locator};

/// The maximum length in bytes of a name that is compared with known names.
const MAX_NAME_BYTES: usize = 64;

type Pair<'t, 'i> = (&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>);

/// Reads a piece. Returns whether it gives the entries as a list value instead of under headers.
pub(super) fn read<E: Entry>(text: &str, first_line: usize, output: &mut Output<'_, E>) -> bool {
    let locator = Locator::new(text, first_line);
    let (root, errors) = source::parse(text, &locator);
    let trust = if errors.is_empty() { Trust::Sound } else { Trust::Broken };
    let (before, said) = (output.entries.len(), output.issues.len());
    let mut has_list = false;
    for (key, value) in in_file_order(root.get_ref()) {
        if key.get_ref() == E::KIND {
            // For entries under headers, the span of the value is the header, which starts before the key.
            has_list = matches!(value.get_ref(), DeValue::Array(_)) && key.span().start < value.span().start;
            read_list(value, key.span().start, trust, &locator, output);
        } else if E::HAS_SETTINGS && settings::KEYS.contains(&key.get_ref().as_ref()) {
            settings::read(key.get_ref(), key.span().start, value, &locator, output);
        } else if trust == Trust::Sound {
            let name = shown(key.get_ref());
            output.report(
                Severity::Warning,
                locator.locate(key.span().start),
                Finding {
                    entry: None,
                    field: Some(&name),
                    message: "unknown key at the top level",
                    hint: did_you_mean(key.get_ref(), top_keys::<E>()),
                },
            );
        }
    }
    if let Some(first) = errors.first() {
        // What follows a syntax error may be read in another way than it was meant.
        let first = Place::at(output.file, first.at.0, first.at.1);
        let mut behind = output.issues.split_off(said);
        // What stands in the same line is the same slip.
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
    value: &Spanned<DeValue<'_>>,
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
    match value.get_ref() {
        DeValue::Array(items) => {
            for item in items.iter() {
                match item.get_ref() {
                    DeValue::Table(table) => read_entry(table, item.span().start, trust, locator, output),
                    _ => wrong(item.span().start, None, "expected a table", output),
                }
            }
        }
        DeValue::Table(table) => {
            // Often a header with only one bracket. List the entry as broken.
            wrong(key_start, id_in(table), "expected a list of tables", output);
            read_entry(table, value.span().start, Trust::Broken, locator, output);
        }
        _ => wrong(key_start, None, "expected a list of tables", output),
    }
}

/// Returns the id that the text of an entry gives.
fn id_in<'t>(table: &'t DeTable<'_>) -> Option<&'t str> {
    let (_, id) = table.iter().find(|(key, _)| key.get_ref() == "id")?;
    id.get_ref().as_str().map(str::trim).filter(|id| !id.is_empty())
}

fn read_entry<E: Entry>(
    table: &DeTable<'_>,
    start: usize,
    trust: Trust,
    locator: &Locator<'_>,
    output: &mut Output<'_, E>,
) {
    let header = locator.locate(start);
    let place = Place::at(output.file, header.0, header.1);
    let mut entry = E::blank(output.level, place.clone());
    let pairs = in_file_order(table);
    // The id comes first, because every issue names it.
    if let Some(text) = id_in(table) {
        // An invalid id is reported with the other fields.
        let _ = entry.slot(0).set_text(text);
    }
    let id = Some(entry.id().to_owned()).filter(|id| !id.is_empty());
    let mut reader = EntryReader {
        trust,
        locator,
        id,
        places: Vec::with_capacity(pairs.len()),
        unsafe_fields: Vec::new(),
        has_error: trust == Trust::Broken,
        output,
    };
    let fields = pairs.iter().filter_map(|(key, _)| E::FIELDS.position(key.get_ref()));
    let mut seen = fields.fold(0u64, |seen, field| seen | 1 << field);
    for (key, value) in &pairs {
        let name = key.get_ref();
        match E::FIELDS.position(name) {
            Some(field) => {
                reader.place(field, 0, key.span().start);
                reader.fill(field, name, entry.slot(field), value);
            }
            None => {
                // A required field that is misspelt is one error, where it stands.
                let meant = near(name, E::FIELDS.names()).and_then(|near| E::FIELDS.position(near));
                let is_missing = |field: &u8| {
                    E::FIELDS.0[usize::from(*field)].1 == Shape::Required && seen & (1 << *field) == 0
                };
                let severity = match meant.filter(is_missing) {
                    Some(field) => {
                        seen |= 1 << field;
                        Severity::Error
                    }
                    None => Severity::Warning,
                };
                reader.unknown(severity, name, key.span().start, value, E::FIELDS.names());
            }
        }
    }
    if trust == Trust::Sound {
        for (field, (name, shape)) in E::FIELDS.0.iter().enumerate() {
            if *shape == Shape::Required && seen & (1 << field) == 0 {
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
        output.report(
            severity,
            at,
            Finding { entry: id.as_deref(), field: Some(field), message, hint: None },
        );
    }
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
    id: Option<String>,
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
        let entry = self.id.as_deref();
        self.output.report(Severity::Error, at, Finding { entry, field: Some(field), message, hint });
    }

    fn warning(&mut self, at: usize, field: &str, message: &'static str, hint: Option<Hint>) {
        let at = self.locator.locate(at);
        let entry = self.id.as_deref();
        self.output.report(Severity::Warning, at, Finding { entry, field: Some(field), message, hint });
    }

    /// Stores a value in the slot of a known field.
    fn fill(&mut self, field: u8, name: &str, slot: Slot<'_>, value: &Spanned<DeValue<'_>>) {
        self.store(field, name, slot, value);
        self.look_for_secrets(name, value.get_ref());
    }

    /// Stores a value in a slot, or reports why not.
    fn store(&mut self, field: u8, name: &str, slot: Slot<'_>, value: &Spanned<DeValue<'_>>) {
        let words = slot.words();
        let result = match (value.get_ref(), slot) {
            (DeValue::String(text), slot) => slot.set_text(text),
            (DeValue::Boolean(value), slot) => slot.set_boolean(*value),
            (DeValue::Integer(number), slot) => match i128::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => slot.set_number(number as f64, true),
                Err(_) => Err(slot.expected()),
            },
            (DeValue::Float(number), slot) => match number.as_str().parse() {
                Ok(number) => slot.set_number(number, false),
                Err(_) => Err(slot.expected()),
            },
            (DeValue::Array(items), Slot::List(list)) => {
                self.fill_list(field, name, list, items);
                Ok(())
            }
            (DeValue::Array(items), Slot::Lines(lines)) => {
                self.fill_lines(name, lines, items);
                Ok(())
            }
            (DeValue::Table(pairs), Slot::Group(group)) => {
                self.fill_group(field, name, group, pairs);
                Ok(())
            }
            (DeValue::Table(pairs), Slot::Table(table)) => {
                self.fill_table(field, name, table, pairs);
                Ok(())
            }
            (DeValue::Array(_) | DeValue::Table(_) | DeValue::Datetime(_), slot) => Err(slot.expected()),
        };
        if let Err(expected) = result {
            let hint = value.get_ref().as_str().and_then(|text| did_you_mean(text, words));
            self.error_at(self.locator.locate(value.span().start), name, expected, hint);
        }
    }

    fn fill_lines(&mut self, name: &str, lines: &mut Vec<String>, items: &DeArray<'_>) {
        let mut is_good = true;
        for (at, item) in items.iter().enumerate() {
            match item.get_ref().as_str().map(str::trim) {
                Some(text) if !text.is_empty() => lines.push(text.to_owned()),
                _ => {
                    is_good = false;
                    self.error(item.span().start, &format!("{name}[{}]", at + 1), "expected non-empty text");
                }
            }
        }
        if !is_good {
            lines.clear();
        }
    }

    /// Stores the values of a table of known fields.
    fn fill_group(&mut self, field: u8, name: &str, group: &mut dyn Group, pairs: &DeTable<'_>) {
        let known = group.fields();
        for (key, value) in in_file_order(pairs) {
            let start = key.span().start;
            match known.position(key.get_ref()) {
                Some(index) => {
                    self.place(field, usize::from(index) + 1, start);
                    self.store(field, &path(name, key.get_ref()), group.slot(index), value);
                }
                None if self.trust == Trust::Sound => {
                    let hint = did_you_mean(key.get_ref(), known.names());
                    self.warning(start, &path(name, shown_name(key.get_ref())), "unknown key", hint);
                }
                None => {}
            }
        }
    }

    fn fill_list(&mut self, field: u8, name: &str, list: &mut Vec<String>, items: &DeArray<'_>) {
        let mut is_good = true;
        for (at, item) in items.iter().enumerate() {
            let start = item.span().start;
            self.place(field, at + 1, start);
            match item.get_ref().as_str().map(str::trim) {
                Some(text) if !text.is_empty() => {
                    let element = || format!("{name}[{}]", at + 1);
                    match name {
                        "supported_harnesses" => self.check_harness(text, start, element),
                        "effects" => self.check_effect(text, start, &element()),
                        _ => {}
                    }
                    list.push(text.to_owned());
                }
                _ => {
                    is_good = false;
                    self.error(start, &format!("{name}[{}]", at + 1), "expected non-empty text");
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
        pairs: &DeTable<'_>,
    ) {
        let mut is_good = true;
        // Sorted by key, like the indexes of elements.
        for (at, (key, value)) in pairs.iter().enumerate() {
            let start = key.span().start;
            self.place(field, at + 1, start);
            let is_harness = name != "argument_template";
            match value.get_ref().as_str() {
                Some(text) => {
                    if is_harness {
                        self.check_harness(key.get_ref(), start, || path(name, key.get_ref()));
                    }
                    table.insert(key.get_ref().clone().into_owned(), text.trim().to_owned());
                }
                None => {
                    is_good = false;
                    let path = self.safe_path(name, key.get_ref());
                    self.error(value.span().start, &path, "expected text");
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

    /// Warns about an effect that is probably misspelt. Others are the user's own.
    fn check_effect(&mut self, effect: &str, at: usize, field: &str) {
        let hint = misspelt_effect(effect).map(Hint::did_you_mean);
        if self.trust == Trust::Sound && hint.is_some() {
            self.warning(at, field, "not an effect that Brigade knows, so its risk is high", hint);
        }
    }

    fn unknown(
        &mut self,
        severity: Severity,
        name: &str,
        at: usize,
        value: &Spanned<DeValue<'_>>,
        known: impl Iterator<Item = &'static str>,
    ) {
        // In broken TOML part of a value may have become a key, so the name is not shown.
        if self.trust == Trust::Sound {
            let (shown, hint) = (shown(name), did_you_mean(name, known));
            match severity {
                Severity::Error => self.error_at(self.locator.locate(at), &shown, "unknown key", hint),
                Severity::Warning | Severity::Info => self.warning(at, &shown, "unknown key", hint),
            }
            if holds_secret(name, value.get_ref()) {
                self.unsafe_fields.push(shown);
            }
            self.look_for_secrets(name, value.get_ref());
        }
    }

    /// Collects the names of nested keys that look secret.
    fn look_for_secrets(&mut self, name: &str, value: &DeValue<'_>) {
        match value {
            _ if self.trust == Trust::Broken => {}
            DeValue::Table(table) => {
                for (key, value) in in_file_order(table) {
                    let name = path(name, shown_name(key.get_ref()));
                    if holds_secret(key.get_ref(), value.get_ref()) {
                        self.unsafe_fields.push(name.clone());
                    }
                    self.look_for_secrets(&name, value.get_ref());
                }
            }
            DeValue::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    if matches!(item.get_ref(), DeValue::Array(_) | DeValue::Table(_)) {
                        self.look_for_secrets(&format!("{name}[{}]", at + 1), item.get_ref());
                    }
                }
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
    }
}

/// Returns whether a key looks secret. `max_tokens = 100` does not.
fn holds_secret(key: &str, value: &DeValue<'_>) -> bool {
    matches!(value, DeValue::String(_) | DeValue::Array(_) | DeValue::Table(_)) && is_secret_name(key)
}

/// Returns an unknown key as it is shown.
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

pub(super) fn in_file_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<Pair<'t, 'i>> {
    let mut pairs: Vec<Pair<'t, 'i>> = table.iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    pairs
}
