//! The serializer: writes values as text with sorted keys, without building them. [`to_json`] reads that text back.
//!
//! What is stored has sorted keys, and is written in every call, so no string and no node of a tree is made for each
//! member. The members of an object are written in the order in which they come, and put in order when the object ends,
//! if they need it.

use std::any::type_name;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde::{Deserialize, Serialize};

use super::key_text::KeyText;
use super::number::RAW_VALUE;
use super::parse::parse_own;
use super::peek::RawJson;
use super::write::{Level, begin, close, name, write_string};
use super::{Dialect, Extra, Json, Mismatch, Number, Object, from_json};

/// Converts a value to [`Json`] through its serde form. Numbers keep their digits, including `NaN`.
///
/// # Errors
/// Fails if a map key is not a string, or if a `Serialize` implementation fails.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Json, Mismatch> {
    parse_own(&compact_text(value)?).map_err(|_| Mismatch::new("expected JSON"))
}

/// Returns the members of a record: those of its derived form, and those in `extra`.
///
/// # Errors
/// Like [`to_json`].
pub fn to_record<T: Serialize>(derived: &T, extra: &Extra) -> Result<Object, Mismatch> {
    match parse_own(RecordText::new(derived, extra)?.into_line().as_str()) {
        Ok(Json::Object(members)) => Ok(members),
        _ => unreachable!("the derived form of a record is an object"),
    }
}

/// Writes what `to_json(value)?.to_compact()` does.
///
/// # Errors
/// Like [`to_json`].
pub fn compact_text<T: Serialize + ?Sized>(value: &T) -> Result<String, Mismatch> {
    let mut out = String::new();
    value.serialize(SortedText { out: &mut out, level: None, keep: None })?;
    Ok(out)
}

/// Writes what `to_json(value)?.to_pretty()` does.
///
/// # Errors
/// Like [`to_json`].
pub fn pretty_text<T: Serialize + ?Sized>(value: &T) -> Result<String, Mismatch> {
    let mut out = String::new();
    value.serialize(SortedText { out: &mut out, level: Some(0), keep: None })?;
    out.push('\n');
    Ok(out)
}

/// Serializes a record: the derived form of its type, and what is kept beside it.
///
/// # Errors
/// When the serializer fails, or the derived form is not JSON.
pub fn serialize_record<T: Serialize, S: Serializer>(
    derived: &T,
    extra: &Extra,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    // Comparing names of types is cheap, and other serializers cannot have this private type.
    if is_text::<S>() {
        let mut parts = serializer.serialize_tuple_struct(RECORD, 2)?;
        parts.serialize_field(derived)?;
        if !extra.is_plain() {
            parts.serialize_field(&ExtraMembers::new(extra))?;
        }
        return parts.end();
    }
    to_record(derived, extra).map_err(serde::ser::Error::custom)?.serialize(serializer)
}

/// Returns whether a serializer writes sorted text.
pub(super) fn is_text<S>() -> bool {
    type_name::<S>() == type_name::<SortedText<'_>>()
}

/// Says to [`SortedText`] that a record follows: its derived form, and perhaps what is kept beside it.
const RECORD: &str = "$brigade_core::json::record";

/// A record as unfinished text: members can still be renamed and added.
#[derive(Debug)]
pub struct RecordText {
    out: String,
    members: Vec<Member>,
}

impl RecordText {
    /// Writes the members of a record: those of its derived form, and those in `extra`.
    ///
    /// # Errors
    /// Like [`to_json`].
    pub fn new<T: Serialize>(derived: &T, extra: &Extra) -> Result<RecordText, Mismatch> {
        let mut text = RecordText { out: String::with_capacity(4096), members: Vec::new() };
        derived.serialize(SortedText { out: &mut text.out, level: None, keep: Some(&mut text.members) })?;
        ExtraMembers::new(extra).merge(&mut text.members, &mut text.out, None);
        Ok(text)
    }

    /// Returns whether the record has a member.
    pub fn has(&self, key: &str) -> bool {
        self.members.iter().any(|member| member.key == key)
    }

    /// Renames a member, if the record has it.
    pub fn rename(&mut self, key: &str, name: impl FnOnce(&str) -> String) {
        if let Some(place) = self.members.iter().position(|member| member.key == key) {
            let value = self.members.remove(place).value;
            put(&mut self.members, Cow::Owned(name(key)), value);
        }
    }

    /// Adds a member, or replaces it.
    ///
    /// # Panics
    /// Panics if the value is not JSON.
    pub fn insert<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) {
        let start = self.out.len();
        let written = value.serialize(SortedText { out: &mut self.out, level: None, keep: None });
        written.expect("the member is JSON");
        put(&mut self.members, Cow::Borrowed(key), start..self.out.len());
    }

    /// Returns the record without whitespace.
    pub fn into_line(mut self) -> RecordLine {
        sort(&mut self.members);
        let mut text = String::with_capacity(self.out.len() + 32 * self.members.len());
        write_members(&mut self.members, &self.out, None, &mut text);
        RecordLine { text, members: self.members }
    }
}

/// A record in one line, and the positions of its members.
#[derive(Debug)]
pub struct RecordLine {
    text: String,
    members: Vec<Member>,
}

impl RecordLine {
    /// Returns the line, without a line feed.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the members in order, as [`members`](super::members) finds them.
    pub fn members(&self) -> impl Iterator<Item = (&str, RawJson<'_>)> {
        self.members.iter().map(|member| (&*member.key, RawJson(&self.text[member.value.clone()])))
    }
}

/// A member of an object, with its value already written.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) key: Cow<'static, str>,
    /// The range of its value in the text.
    pub(super) value: Range<usize>,
}

/// Adds a member, or replaces it.
pub(super) fn put(members: &mut Vec<Member>, key: Cow<'static, str>, value: Range<usize>) {
    match members.iter_mut().find(|member| member.key == key) {
        Some(member) => member.value = value,
        None => members.push(Member { key, value }),
    }
}

/// Sorts members by key. Of equal keys the last one counts.
fn sort(members: &mut Vec<Member>) {
    members.sort_by(|one, other| one.key.cmp(&other.key));
    members.dedup_by(|later, earlier| {
        let is_same = later.key == earlier.key;
        if is_same {
            earlier.value = later.value.clone();
        }
        is_same
    });
}

/// The members of a record that are not in the derived form of its type.
#[derive(Serialize, Deserialize)]
struct ExtraMembers<'a> {
    absent: Vec<Cow<'a, str>>,
    nulls: Vec<Cow<'a, str>>,
    members: Cow<'a, Object>,
}

impl<'a> ExtraMembers<'a> {
    fn new(extra: &'a Extra) -> ExtraMembers<'a> {
        let names = |names: &'a [&'static str]| names.iter().map(|name| Cow::Borrowed(*name)).collect();
        let (absent, nulls) = (names(extra.absent()), names(extra.nulls()));
        ExtraMembers { absent, nulls, members: Cow::Borrowed(extra.members()) }
    }

    /// Omits and adds members of a record. A known member whose value had another type keeps that value until a new one
    /// is set.
    fn merge(&self, members: &mut Vec<Member>, out: &mut String, level: Level) {
        let is_empty = |member: &Member, out: &str| EMPTY.contains(&&out[member.value.clone()]);
        members.retain(|member| !(self.absent.contains(&member.key) && is_empty(member, out)));
        for name in &self.nulls {
            if members.iter().all(|member| member.key != *name) {
                let start = out.len();
                out.push_str("null");
                members.push(Member { key: Cow::Owned(name.to_string()), value: start..out.len() });
            }
        }
        for (name, value) in &*self.members {
            let theirs = members.iter().find(|member| member.key == name.as_str());
            if theirs.is_none_or(|member| is_empty(member, out)) {
                let start = out.len();
                value.write_at(out, level.map(|level| level + 1));
                put(members, Cow::Owned(name.clone()), start..out.len());
            }
        }
    }
}

/// The values that an omitted member may have, as written.
const EMPTY: [&str; 6] = ["null", "false", "0", r#""""#, "[]", "{}"];

/// Writes an object with members from `text`, and updates their ranges.
fn write_members(members: &mut [Member], text: &str, level: Level, out: &mut String) {
    out.push('{');
    for (place, member) in members.iter_mut().enumerate() {
        begin(out, level, place == 0);
        name(&member.key, level, out);
        let start = out.len();
        out.push_str(&text[member.value.clone()]);
        member.value = start..out.len();
    }
    close(out, level, '}', members.is_empty());
}

/// The serializer: appends one value to the text.
struct SortedText<'t> {
    out: &'t mut String,
    level: Level,
    /// Receives the members of the object instead of finishing it.
    keep: Option<&'t mut Vec<Member>>,
}

impl<'t> SortedText<'t> {
    /// Begins the object of an enum variant, whose value is one level deeper.
    fn variant(self, variant: &str) -> SortedText<'t> {
        self.out.push('{');
        begin(self.out, self.level, true);
        name(variant, self.level, self.out);
        SortedText { out: self.out, level: self.level.map(|level| level + 1), keep: None }
    }

    fn elements(self, outer: Option<Level>) -> Elements<'t> {
        self.out.push('[');
        Elements::Array { out: self.out, level: self.level, count: 0, outer }
    }

    fn members(self, outer: Option<Level>, is_raw: bool) -> Members<'t> {
        let start = self.out.len();
        if self.keep.is_none() && !is_raw {
            self.out.push('{');
        }
        let SortedText { out, level, keep } = self;
        Members { out, level, keep, start, members: Vec::new(), key: None, is_sorted: true, outer, is_raw }
    }
}

macro_rules! displayed {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<(), Mismatch> {
            write!(self.out, "{value}").expect("a string takes all that is written");
            Ok(())
        })*
    };
}

impl<'t> Serializer for SortedText<'t> {
    type Ok = ();
    type Error = Mismatch;
    type SerializeSeq = Elements<'t>;
    type SerializeTuple = Elements<'t>;
    type SerializeTupleStruct = Elements<'t>;
    type SerializeTupleVariant = Elements<'t>;
    type SerializeMap = Members<'t>;
    type SerializeStruct = Members<'t>;
    type SerializeStructVariant = Members<'t>;

    fn serialize_bool(self, value: bool) -> Result<(), Mismatch> {
        self.out.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    displayed!(
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64
    );

    fn serialize_f32(self, value: f32) -> Result<(), Mismatch> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), Mismatch> {
        self.out.push_str(Number::from(value).as_str());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Mismatch> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Mismatch> {
        write_string(value, self.out);
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Mismatch> {
        Err(Mismatch::new("bytes are not JSON"))
    }

    fn serialize_none(self) -> Result<(), Mismatch> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Mismatch> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Mismatch> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Mismatch> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<(), Mismatch> {
        self.serialize_str(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Mismatch> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<(), Mismatch> {
        let SortedText { out, level, .. } = self;
        value.serialize(SortedText { out: &mut *out, level, keep: None }.variant(name))?;
        close(out, level, '}', false);
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'t>, Mismatch> {
        Ok(self.elements(None))
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements<'t>, Mismatch> {
        Ok(self.elements(None))
    }

    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Result<Elements<'t>, Mismatch> {
        if name == RECORD {
            let start = self.out.len();
            let SortedText { out, level, keep } = self;
            return Ok(Elements::Record { out, level, keep, start, members: None });
        }
        Ok(self.elements(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Elements<'t>, Mismatch> {
        let outer = Some(self.level);
        Ok(self.variant(name).elements(outer))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'t>, Mismatch> {
        Ok(self.members(None, false))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Members<'t>, Mismatch> {
        Ok(self.members(None, name == RAW_VALUE))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Members<'t>, Mismatch> {
        let outer = Some(self.level);
        Ok(self.variant(name).members(outer, false))
    }
}

/// An array that is being written, or the parts of a record.
enum Elements<'t> {
    Array {
        out: &'t mut String,
        level: Level,
        count: usize,
        /// The level of the enum variant around it.
        outer: Option<Level>,
    },
    Record {
        out: &'t mut String,
        level: Level,
        keep: Option<&'t mut Vec<Member>>,
        start: usize,
        /// The members of the derived form, once they are written.
        members: Option<Vec<Member>>,
    },
}

impl Elements<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mismatch> {
        match self {
            Elements::Array { out, level, count, .. } => {
                begin(out, *level, *count == 0);
                let inner = SortedText { out, level: level.map(|level| level + 1), keep: None };
                value.serialize(inner).map_err(|error| error.under_index(*count))?;
                *count += 1;
            }
            Elements::Record { out, level, members: members @ None, .. } => {
                let mut written = Vec::with_capacity(32);
                value.serialize(SortedText { out, level: *level, keep: Some(&mut written) })?;
                *members = Some(written);
            }
            Elements::Record { out, level, members: Some(members), .. } => {
                from_json::<ExtraMembers<'static>>(&to_json(value)?)?.merge(members, out, *level);
            }
        }
        Ok(())
    }

    fn finish(self) {
        match self {
            Elements::Array { out, level, count, outer } => {
                close(out, level, ']', count == 0);
                if let Some(outer) = outer {
                    close(out, outer, '}', false);
                }
            }
            Elements::Record { out, level, keep, start, members } => {
                let mut members = members.unwrap_or_default();
                match keep {
                    Some(keep) => *keep = members,
                    None => {
                        sort(&mut members);
                        rewrite(&mut members, start, level, out);
                    }
                }
            }
        }
    }
}

/// Replaces the text from `start` by an object of the members in it.
fn rewrite(members: &mut [Member], start: usize, level: Level, out: &mut String) {
    let mut object = String::with_capacity(out.len() - start + 64);
    write_members(members, out, level, &mut object);
    out.truncate(start);
    out.push_str(&object);
}

/// An object that is being written.
struct Members<'t> {
    out: &'t mut String,
    level: Level,
    /// Receives the members instead of finishing the object.
    keep: Option<&'t mut Vec<Member>>,
    start: usize,
    members: Vec<Member>,
    key: Option<Cow<'static, str>>,
    /// Whether the members came in order.
    is_sorted: bool,
    /// The level of the enum variant around it.
    outer: Option<Level>,
    /// Whether its member is the text of a JSON value.
    is_raw: bool,
}

impl Members<'_> {
    fn insert<T: Serialize + ?Sized>(&mut self, key: Cow<'static, str>, value: &T) -> Result<(), Mismatch> {
        if self.is_raw {
            return self.raw(&value.serialize(KeyText)?);
        }
        let start = self.begin(&key);
        let inner = SortedText { out: &mut *self.out, level: self.level.map(|level| level + 1), keep: None };
        let written = value.serialize(inner);
        self.end(start, key, written)
    }

    /// Writes the key of a member. Returns where its value starts.
    fn begin(&mut self, key: &str) -> usize {
        if self.keep.is_none() {
            begin(self.out, self.level, self.members.is_empty());
            name(key, self.level, self.out);
        }
        self.out.len()
    }

    /// Notes a member whose value is written.
    fn end(
        &mut self,
        start: usize,
        key: Cow<'static, str>,
        written: Result<(), Mismatch>,
    ) -> Result<(), Mismatch> {
        written.map_err(|error| error.under(&key))?;
        self.is_sorted &= self.members.last().is_none_or(|last| last.key < key);
        self.members.push(Member { key, value: start..self.out.len() });
        Ok(())
    }

    /// Writes a value that is JSON text, with its keys sorted.
    fn raw(&mut self, text: &str) -> Result<(), Mismatch> {
        let json = Json::parse_bytes(text.as_bytes(), Dialect::Lenient)
            .map_err(|_| Mismatch::new("expected the text of a JSON value"))?;
        json.write_at(self.out, self.level);
        Ok(())
    }

    fn finish(mut self) {
        match self.keep {
            Some(keep) => *keep = self.members,
            None if self.is_raw => {}
            None if self.is_sorted => close(self.out, self.level, '}', self.members.is_empty()),
            None => {
                sort(&mut self.members);
                rewrite(&mut self.members, self.start, self.level, self.out);
            }
        }
        if let Some(outer) = self.outer {
            close(self.out, outer, '}', false);
        }
    }
}

macro_rules! elements {
    ($($trait:ident $method:ident),*) => {
        $(impl $trait for Elements<'_> {
            type Ok = ();
            type Error = Mismatch;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mismatch> {
                self.push(value)
            }

            fn end(self) -> Result<(), Mismatch> {
                self.finish();
                Ok(())
            }
        })*
    };
}

elements!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

impl SerializeMap for Members<'_> {
    type Ok = ();
    type Error = Mismatch;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Mismatch> {
        self.key = Some(Cow::Owned(key.serialize(KeyText)?));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mismatch> {
        let key = self.key.take().expect("a key comes before its value");
        self.insert(key, value)
    }

    fn end(self) -> Result<(), Mismatch> {
        self.finish();
        Ok(())
    }
}

macro_rules! members {
    ($($trait:ident),*) => {
        $(impl $trait for Members<'_> {
            type Ok = ();
            type Error = Mismatch;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Mismatch> {
                self.insert(Cow::Borrowed(key), value)
            }

            fn end(self) -> Result<(), Mismatch> {
                self.finish();
                Ok(())
            }
        })*
    };
}

members!(SerializeStruct, SerializeStructVariant);

#[cfg(test)]
mod tests;
