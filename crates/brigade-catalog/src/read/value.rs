//! Tables and values with their positions. Entries are read from them.
//!
//! [`read`] builds them from the events of `toml_parser`, which is several times as fast as the toml crate. The toml
//! crate reads rare syntax: errors, dotted keys, dates, and headers of more than two names.

use std::borrow::Cow;
use std::iter::Copied;
use std::slice;

use brigade_core::{Json, Object};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_parser::decoder::ScalarKind;
use toml_parser::lexer::Token;
use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_document};
use toml_parser::{ParseError, Source};

use crate::fields::{Fields, Shape};

/// A value, and the byte where it is written.
#[derive(Debug, PartialEq)]
pub(crate) struct Value<'t> {
    pub(crate) at: usize,
    pub(crate) data: Data<'t>,
}

/// The content of a value.
#[derive(Debug, PartialEq)]
pub(crate) enum Data<'t> {
    Text(Cow<'t, str>),
    Boolean(bool),
    /// A number, and whether it is written as an integer.
    Number(f64, bool),
    List(Vec<Value<'t>>),
    Table(Table<'t>),
    /// A date or a number that is too large, which no field accepts.
    Other,
}

/// A key, and the byte where it is written.
#[derive(Debug, PartialEq)]
pub(crate) struct Key<'t> {
    pub(crate) at: usize,
    pub(crate) name: Cow<'t, str>,
}

/// The pairs of a table, in the order of the file. No key occurs twice.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Table<'t>(pub(crate) Vec<(Key<'t>, Value<'t>)>);

impl<'t> Table<'t> {
    /// Returns the value of a key.
    pub(crate) fn get(&self, name: &str) -> Option<&Value<'t>> {
        self.0.iter().find(|(key, _)| key.name == name).map(|(_, value)| value)
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut Value<'t>> {
        self.0.iter_mut().find(|(key, _)| key.name == name).map(|(_, value)| value)
    }

    /// Adds a pair. Returns `None` if the table has the key.
    fn insert(&mut self, key: Key<'t>, at: usize, data: Data<'t>) -> Option<()> {
        if self.get(&key.name).is_some() {
            return None;
        }
        self.0.push((key, Value { at, data }));
        Some(())
    }
}

impl Value<'_> {
    /// Returns the text, if this is one.
    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Data::Text(text) = &self.data { Some(text) } else { None }
    }
}

impl<'t> From<DeTable<'t>> for Table<'t> {
    fn from(table: DeTable<'t>) -> Table<'t> {
        let pair = |(key, value): (Spanned<Cow<'t, str>>, Spanned<DeValue<'t>>)| {
            (Key { at: key.span().start, name: key.into_inner() }, Value::from(value))
        };
        let mut pairs: Vec<_> = table.into_iter().map(pair).collect();
        pairs.sort_by_key(|(key, _)| key.at);
        Table(pairs)
    }
}

impl<'t> From<Spanned<DeValue<'t>>> for Value<'t> {
    fn from(value: Spanned<DeValue<'t>>) -> Value<'t> {
        let at = value.span().start;
        let data = match value.into_inner() {
            DeValue::String(text) => Data::Text(text),
            DeValue::Boolean(value) => Data::Boolean(value),
            DeValue::Integer(number) => integer(number.as_str(), number.radix()),
            DeValue::Float(number) => float(number.as_str()),
            DeValue::Array(items) => Data::List(items.into_iter().map(Value::from).collect()),
            DeValue::Table(table) => Data::Table(table.into()),
            DeValue::Datetime(_) => Data::Other,
        };
        Value { at, data }
    }
}

impl<'t> From<&'t Json> for Data<'t> {
    fn from(json: &'t Json) -> Data<'t> {
        match json {
            Json::String(text) => Data::Text(text.into()),
            Json::Bool(value) => Data::Boolean(*value),
            Json::Number(number) => Data::Number(number.as_f64(), number.as_i64().is_some()),
            Json::Array(items) => Data::List(items.iter().map(|item| Value::unplaced(item.into())).collect()),
            Json::Object(members) => {
                let pair = |(name, value): (&'t String, &'t Json)| {
                    (Key::unplaced(name), Value::unplaced(value.into()))
                };
                Data::Table(Table(members.iter().map(pair).collect()))
            }
            Json::Null => Data::Other,
        }
    }
}

impl<'t> Table<'t> {
    /// Converts an object with fields of an entry. `null` and empty text mean that a field is not set, and a text is a
    /// list of one where a list is expected.
    pub(crate) fn from_members(members: &'t Object, fields: Fields) -> Table<'t> {
        let shape = |name: &str| fields.position(name).map(|field| fields.0[usize::from(field)].1);
        let mut table = Table::default();
        for (name, value) in members {
            let data = match (value, shape(name)) {
                (Json::Null, _) => continue,
                (Json::String(text), Some(Shape::List)) => {
                    Data::List(vec![Value::unplaced(Data::Text(text.into()))])
                }
                (Json::String(text), Some(_)) if text.trim().is_empty() => continue,
                (Json::Object(members), Some(Shape::Group(fields))) => {
                    Data::Table(Table::from_members(members, fields))
                }
                (value, _) => value.into(),
            };
            table.set(name, data);
        }
        table
    }

    /// Sets a value that is not in a file.
    pub(crate) fn set(&mut self, name: &'t str, data: Data<'t>) {
        self.0.retain(|(key, _)| key.name != name);
        self.0.push((Key::unplaced(name), Value::unplaced(data)));
    }
}

impl<'t> Key<'t> {
    fn unplaced(name: &'t str) -> Key<'t> {
        Key { at: 0, name: name.into() }
    }
}

impl<'t> Value<'t> {
    fn unplaced(data: Data<'t>) -> Value<'t> {
        Value { at: 0, data }
    }
}

fn integer<'t>(digits: &str, radix: u32) -> Data<'t> {
    i128::from_str_radix(digits, radix).map_or(Data::Other, |number| Data::Number(number as f64, true))
}

fn float<'t>(text: &str) -> Data<'t> {
    text.parse().map_or(Data::Other, |number| Data::Number(number, false))
}

/// The maximum depth of lists and tables in values, as in the toml crate.
const MAX_DEPTH: u32 = 80;

/// The initial capacity of a table under a header, in pairs.
const PAIRS: usize = 24;

/// Memory that is reused for each text.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    tokens: Vec<Token>,
    events: Vec<Event>,
}

/// Reads a text. Returns `None` if the toml crate must read it.
pub(super) fn read<'t>(text: &'t str, Buffers { tokens, events }: &mut Buffers) -> Option<Table<'t>> {
    let source = Source::new(text);
    tokens.clear();
    tokens.extend(source.lex());
    events.clear();
    let (mut is_wrong, mut is_refused) = (false, false);
    let mut receiver = |event: Event| match event.kind() {
        EventKind::Whitespace => {}
        EventKind::Comment | EventKind::Newline => {
            let mut error = |_: ParseError| is_wrong = true;
            let raw = source.get(event).expect("events are in the text");
            match event.kind() {
                EventKind::Comment => raw.decode_comment(&mut error),
                _ => raw.decode_newline(&mut error),
            }
        }
        _ => events.push(event),
    };
    let mut guard = RecursionGuard::new(&mut receiver, MAX_DEPTH);
    parse_document(tokens, &mut guard, &mut |_: ParseError| is_refused = true);
    if is_wrong || is_refused {
        return None;
    }
    Reader { source, events: events.iter().copied() }.document()
}

/// Where the pairs after a header belong.
struct Header<'t> {
    at: usize,
    is_list: bool,
    name: Key<'t>,
    sub: Option<Key<'t>>,
}

struct Reader<'t, 'e> {
    source: Source<'t>,
    events: Copied<slice::Iter<'e, Event>>,
}

impl<'t> Reader<'t, '_> {
    fn document(&mut self) -> Option<Table<'t>> {
        let (mut root, mut pairs) = (Table::default(), Table::default());
        let mut header = None;
        while let Some(event) = self.events.next() {
            match event.kind() {
                EventKind::SimpleKey => self.pair(event, &mut pairs)?,
                EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                    let before = std::mem::replace(&mut pairs, Table(Vec::with_capacity(PAIRS)));
                    place(&mut root, header.take(), before)?;
                    header = Some(self.header(event)?);
                }
                _ => return None,
            }
        }
        place(&mut root, header, pairs)?;
        Some(root)
    }

    fn header(&mut self, open: Event) -> Option<Header<'t>> {
        let first = self.events.next()?;
        let name = self.key(first)?;
        let mut next = self.events.next()?.kind();
        let mut sub = None;
        if next == EventKind::KeySep {
            let second = self.events.next()?;
            sub = Some(self.key(second)?);
            next = self.events.next()?.kind();
        }
        let is_list = open.kind() == EventKind::ArrayTableOpen;
        let is_closed = matches!(next, EventKind::StdTableClose | EventKind::ArrayTableClose);
        is_closed.then_some(Header { at: open.span().start(), is_list, name, sub })
    }

    /// Reads a key and its value.
    fn pair(&mut self, key: Event, table: &mut Table<'t>) -> Option<()> {
        let key = self.key(key)?;
        if self.events.next()?.kind() != EventKind::KeyValSep {
            return None;
        }
        let first = self.events.next()?;
        let data = self.value(first)?;
        table.insert(key, first.span().start(), data)
    }

    fn key(&self, event: Event) -> Option<Key<'t>> {
        let mut error = None;
        let mut name = Cow::Borrowed("");
        if event.kind() != EventKind::SimpleKey {
            return None;
        }
        self.source.get(event)?.decode_key(&mut name, &mut error);
        error.is_none().then_some(Key { at: event.span().start(), name })
    }

    fn value(&mut self, first: Event) -> Option<Data<'t>> {
        match first.kind() {
            EventKind::Scalar => self.scalar(first),
            EventKind::ArrayOpen => {
                let mut items = Vec::new();
                loop {
                    let event = self.events.next()?;
                    match event.kind() {
                        EventKind::ArrayClose => return Some(Data::List(items)),
                        EventKind::ValueSep => {}
                        _ => items.push(Value { at: event.span().start(), data: self.value(event)? }),
                    }
                }
            }
            EventKind::InlineTableOpen => {
                let mut table = Table::default();
                loop {
                    let event = self.events.next()?;
                    match event.kind() {
                        EventKind::InlineTableClose => return Some(Data::Table(table)),
                        EventKind::ValueSep => {}
                        _ => self.pair(event, &mut table)?,
                    }
                }
            }
            _ => None,
        }
    }

    fn scalar(&self, event: Event) -> Option<Data<'t>> {
        let mut error = None;
        let mut text = Cow::Borrowed("");
        let kind = self.source.get(event)?.decode_scalar(&mut text, &mut error);
        if error.is_some() {
            return None;
        }
        match kind {
            ScalarKind::String => Some(Data::Text(text)),
            ScalarKind::Boolean(value) => Some(Data::Boolean(value)),
            ScalarKind::Integer(radix) => Some(integer(&text, radix.value())),
            ScalarKind::Float => Some(float(&text)),
            ScalarKind::DateTime => None,
        }
    }
}

/// Inserts the pairs after a header at their place.
fn place<'t>(root: &mut Table<'t>, header: Option<Header<'t>>, pairs: Table<'t>) -> Option<()> {
    let Some(Header { at, is_list, name, sub }) = header else {
        *root = pairs;
        return Some(());
    };
    let table = Data::Table(pairs);
    match (sub, is_list) {
        (None, false) => root.insert(name, at, table),
        (None, true) => root.insert(name, at, Data::List(vec![Value { at, data: table }])),
        (Some(_), true) => None,
        (Some(sub), false) => {
            // The entry is the last element of a list under headers. A list as a value has no headers.
            let Value { at: list, data: Data::List(items) } = root.get_mut(&name.name)? else { return None };
            let Value { at: item, data: Data::Table(entry) } = items.last_mut()? else { return None };
            if list != item { None } else { entry.insert(sub, at, table) }
        }
    }
}
