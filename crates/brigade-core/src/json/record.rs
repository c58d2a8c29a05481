//! Records: documents that lose nothing when they are read and written again.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize as _, DeserializeOwned, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::de::Members;
use super::sorted_text::is_text;
use super::{Mismatch, Object, from_json, to_json};

/// The members of a record that its type does not know. They are written back unchanged.
///
/// Known members with a value of another type are kept here too. Two records that differ only in whether a member is
/// absent or `null` are equal.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    members: Object,
    /// Known members that were absent.
    absent: Vec<&'static str>,
    /// Known optional members that were `null`. They are written even though they may be omitted.
    nulls: Vec<&'static str>,
}

impl Extra {
    /// Returns whether exactly the derived form of the type is written.
    pub(super) fn is_plain(&self) -> bool {
        self.members.is_empty() && self.absent.is_empty() && self.nulls.is_empty()
    }

    /// Returns the known members that were absent.
    pub(super) fn absent(&self) -> &[&'static str] {
        &self.absent
    }

    /// Returns the known optional members that were `null`.
    pub(super) fn nulls(&self) -> &[&'static str] {
        &self.nulls
    }

    /// Returns the unknown members, and known members whose value has another type.
    pub fn members(&self) -> &Object {
        &self.members
    }

    /// Like [`Extra::members`], for changing them.
    pub fn members_mut(&mut self) -> &mut Object {
        &mut self.members
    }

    /// Writes known members even if the original record lacked them.
    pub fn complete(&mut self) {
        self.absent.clear();
    }

    /// Omits the given known members while they have no value.
    pub fn leave_out(&mut self, members: &[&'static str]) {
        self.absent.extend(members);
    }

    /// Writes the given known members as `null` while they have no value.
    pub fn show(&mut self, members: &[&'static str]) {
        self.absent.retain(|absent| !members.contains(absent));
        self.nulls.extend(members);
    }

    /// Forgets how these known members were written, so that only their new values count.
    pub fn forget(&mut self, members: &[&'static str]) {
        self.members.retain(|name, _| !members.contains(&name.as_str()));
        self.absent.retain(|absent| !members.contains(absent));
        self.nulls.retain(|null| !members.contains(null));
    }

    /// Returns whether this known member is kept as it was written, because the type cannot hold it.
    pub fn keeps(&self, member: &str) -> bool {
        self.members.contains_key(member) || self.nulls.contains(&member)
    }

    /// Parses a known member that is kept only because its text has another form than the usual one.
    pub fn kept<T: std::str::FromStr>(&self, member: &str) -> Option<T> {
        self.members.get(member)?.as_str()?.parse().ok()
    }
}

impl PartialEq for Extra {
    fn eq(&self, other: &Extra) -> bool {
        self.members == other.members
    }
}

impl Eq for Extra {}

impl From<Object> for Extra {
    fn from(members: Object) -> Extra {
        Extra { members, ..Extra::default() }
    }
}

/// Reads a record through the derived form of its type. A known member with a value of another type is kept in
/// [`Extra`].
///
/// # Errors
/// Fails if a required member is missing or has another type; the members come back.
pub fn from_record<T>(
    mut members: Object,
    read: impl for<'de> Fn(RecordDeserializer<'de>) -> Result<T, Mismatch>,
) -> Result<(T, Extra), (Mismatch, Object)> {
    let mut set_aside = Object::new();
    loop {
        let fields = Cell::new(NO_FIELDS);
        let error = match read(RecordDeserializer { members: &members, fields: &fields }) {
            Ok(value) => {
                let mut extra = split(members, fields.get());
                extra.members.append(&mut set_aside);
                return Ok((value, extra));
            }
            Err(error) => error,
        };
        match error.member().and_then(|member| members.remove_entry(member)) {
            Some((name, value)) => drop(set_aside.insert(name, value)),
            None => {
                members.append(&mut set_aside);
                return Err((error, members));
            }
        }
    }
}

/// Keeps what the known members do not hold. One pass over the members costs less than one removal for each known one.
fn split(members: Object, known: &[&'static str]) -> Extra {
    let mut extra = Extra::default();
    let mut is_present = vec![false; known.len()];
    let mut unknown = Vec::new();
    for (name, value) in members {
        match known.iter().position(|known| *known == name) {
            Some(place) => {
                is_present[place] = true;
                if value.is_null() {
                    extra.nulls.push(known[place]);
                }
            }
            None => unknown.push((name, value)),
        }
    }
    extra.absent = known.iter().zip(is_present).filter(|(_, is)| !is).map(|(name, _)| *name).collect();
    extra.members = unknown.into_iter().collect();
    extra
}

const NO_FIELDS: &[&str] = &[];

/// Passes the members of a record to a derived `Deserialize`, and records which of them the type knows.
pub struct RecordDeserializer<'de> {
    members: &'de Object,
    fields: &'de Cell<&'static [&'static str]>,
}

impl<'de> Deserializer<'de> for RecordDeserializer<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        MapAccessDeserializer::new(Members::new(self.members)).deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        self.fields.set(fields);
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Implements the serde form of a record for a struct with `#[serde(remote = "Self")]` and a field `extra: Extra`. Keys
/// are sorted and unknown members are kept. A known member whose value has another type is kept until it is set.
#[macro_export]
macro_rules! record {
    ($name:ident) => {
        impl $name {
            /// Reads a record.
            ///
            /// # Errors
            /// Fails if a required member is missing or has another type.
            pub fn from_members(members: $crate::Object) -> Result<$name, $crate::json::Mismatch> {
                $name::try_from_members(members).map_err(|(error, _)| error)
            }

            /// Reads a record.
            ///
            /// # Errors
            /// When a member that it needs is missing or has another type; the members come back.
            pub fn try_from_members(
                members: $crate::Object,
            ) -> Result<$name, ($crate::json::Mismatch, $crate::Object)> {
                let (mut record, extra) =
                    $crate::json::from_record(members, |members| $name::deserialize(members))?;
                record.extra = extra;
                Ok(record)
            }

            /// Writes the record.
            pub fn to_members(&self) -> $crate::Object {
                match $crate::json::to_json(self).expect("a record is JSON") {
                    $crate::Json::Object(members) => members,
                    _ => unreachable!("a record is an object"),
                }
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                struct DerivedForm<'a>(&'a $name);
                impl ::serde::Serialize for DerivedForm<'_> {
                    fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                        $name::serialize(self.0, serializer)
                    }
                }
                $crate::json::serialize_record(&DerivedForm(self), &self.extra, serializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let members: $crate::Object = ::serde::Deserialize::deserialize(deserializer)?;
                $name::from_members(members).map_err(::serde::de::Error::custom)
            }
        }
    };
}

/// Reads a value from its text, and only if Brigade would write the same text: `#[serde(deserialize_with = "exact")]`.
/// In a record, a differing text is kept unchanged.
///
/// # Errors
/// Fails if the text is not in that form.
pub fn exact<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: std::str::FromStr + std::fmt::Display,
    D: Deserializer<'de>,
{
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let value = text.parse::<T>().ok().filter(|value| value.to_string() == text);
    value.map(Some).ok_or_else(|| serde::de::Error::custom("expected the usual form"))
}

/// Reads an optional member and distinguishes absent from `null`: `#[serde(deserialize_with = "present")]`.
///
/// # Errors
/// Fails if the value does not match the type.
pub fn present<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: serde::Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// Reads a map without the entries that do not match its type: `#[serde(deserialize_with = "matching")]`.
///
/// # Errors
/// Fails if the value is not a map.
pub fn matching<'de, T, D>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let entries = Object::deserialize(deserializer)?.into_iter();
    Ok(entries.filter_map(|(key, value)| Some((key, from_json(&value).ok()?))).collect())
}

/// Serializes a member with sorted keys, as in stored documents: `#[serde(with = "sorted")]`.
pub mod sorted {
    use super::*;

    /// Writes the value with sorted keys.
    ///
    /// # Errors
    /// Fails if the value is not JSON, or the serializer fails.
    pub fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        if is_text::<S>() {
            return value.serialize(serializer);
        }
        to_json(value).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }

    /// Reads the value.
    ///
    /// # Errors
    /// Fails if the value does not match the type.
    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::json::{Dialect, Json, Number};
    use crate::{CallId, Timestamp};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(remote = "Self")]
    struct Sample {
        id: CallId,
        at: Option<Timestamp>,
        #[serde(default)]
        words: Vec<String>,
        seconds: Option<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        later: Option<u8>,
        inner: Option<Inner>,
        #[serde(default)]
        args: Json,
        #[serde(skip)]
        extra: Extra,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(remote = "Self")]
    struct Inner {
        path: String,
        #[serde(skip)]
        extra: Extra,
    }

    record!(Sample);
    record!(Inner);

    fn parse(text: &str) -> Json {
        Json::parse_bytes(text.as_bytes(), Dialect::Lenient).unwrap()
    }

    #[track_caller]
    fn unchanged(text: &str) -> Sample {
        let sample: Sample = from_json(&parse(text)).unwrap();
        assert_eq!(to_json(&sample).unwrap().to_compact(), text);
        sample
    }

    #[test]
    fn a_record_is_written_as_it_was_read() {
        unchanged(
            r#"{"args":{"n":NaN,"x":1.50},"at":null,"id":"c","inner":{"path":"p","theirs":-0},"words":["a"]}"#,
        );
        unchanged(r#"{"args":null,"id":"c","seconds":30,"words":[]}"#);
        unchanged(r#"{"id":"c","words":null}"#);
        unchanged(r#"{"id":"c"}"#);
        unchanged(r#"{"id":"c","later":null}"#);
        let sample = unchanged(r#"{"args":[],"at":7,"id":"c","inner":{"path":1},"words":["a"],"zzz":null}"#);
        assert_eq!((sample.at, sample.inner.map(|inner| inner.to_members())), (None, None));
    }

    #[test]
    fn a_value_of_another_type_is_kept_until_one_is_set() {
        let mut sample = unchanged(r#"{"args":null,"at":7,"id":"c","words":[]}"#);
        sample.at = Some(Timestamp::from_unix_micros(0));
        assert_eq!(sample.to_members()["at"], Json::from("1970-01-01T00:00:00+00:00"));
    }

    #[test]
    fn a_member_that_is_forgotten_has_only_its_new_value() {
        let mut sample: Sample = from_json(&parse(r#"{"at":7,"id":"c","later":null}"#)).unwrap();
        assert!(sample.extra.keeps("at") && sample.extra.keeps("later") && !sample.extra.keeps("words"));
        sample.extra.forget(&["at", "later", "words"]);
        assert_eq!(to_json(&sample).unwrap().to_compact(), r#"{"at":null,"id":"c","words":[]}"#);
    }

    #[test]
    fn a_map_is_read_without_what_does_not_match() {
        #[derive(Deserialize)]
        struct Cache {
            #[serde(deserialize_with = "matching")]
            files: BTreeMap<String, u8>,
        }
        let cache: Cache = from_json(&parse(r#"{"files":{"a":1,"b":"x","c":300}}"#)).unwrap();
        assert_eq!(cache.files, BTreeMap::from([("a".to_owned(), 1)]));
    }

    #[test]
    fn errors_name_the_member_and_quote_nothing() {
        let read = |text: &str| from_json::<Sample>(&parse(text)).unwrap_err().to_string();
        assert_eq!(read("{}"), "missing field `id`");
        assert_eq!(read(r#"{"id":"../secret"}"#), "missing field `id`");
        let words = from_json::<Vec<u8>>(&parse(r#"[1,"secret"]"#)).unwrap_err();
        assert_eq!(words.to_string(), "[1]: expected u8");
    }

    #[test]
    fn sorted_members_have_sorted_keys() {
        #[derive(Serialize)]
        struct Report {
            #[serde(serialize_with = "sorted::serialize")]
            z: Option<Pair>,
            a: u8,
        }
        #[derive(Serialize)]
        struct Pair {
            z: f64,
            a: u8,
        }
        let report = Report { z: Some(Pair { z: 30.0, a: 1 }), a: 2 };
        assert_eq!(serde_json::to_string(&report).unwrap(), r#"{"z":{"a":1,"z":30.0},"a":2}"#);
    }
}
