//! JSON values that lose nothing: numbers keep their original text.
//!
//! [`Json::parse`] reads RFC 8259 strictly and refuses duplicate keys. [`Dialect::Lenient`] also reads what older
//! programs wrote: `NaN`, duplicate keys and lone surrogates. [`Dialect::WithComments`] reads settings files with
//! comments. Errors carry the position, never the text. [`members`] reads an object without building a value,
//! [`reprint`] writes one again, and [`PlacedValue`] says where everything is. All use the same tokenizer.
//!
//! [`write_document`] writes a document at once, and a [`DocumentWriter`] member by member. [`Rows`] are a list whose
//! elements are made when they are written.
//!
//! [`to_json`] and [`from_json`] convert between values and types with a serde form. [`record!`](crate::record!) turns
//! a type into a record, which keeps unknown members.

mod canonical;
mod de;
mod document;
mod key_text;
mod number;
mod parse;
mod peek;
mod record;
mod reprint;
mod rows;
mod sorted_text;
mod token;
mod tree;
mod write;

use std::collections::BTreeMap;

#[cfg(feature = "schemas")]
pub use crate::schemas::any_value;
pub use de::{Mismatch, from_json};
pub use document::{DocumentWriter, ListWriter, write_document, write_list, write_rows, write_with_lists};
pub use number::Number;
pub use parse::{Dialect, JsonError, JsonErrorKind};
pub use peek::{PlacedMember, RawJson, members, placed_members};
pub use record::{Extra, RecordDeserializer, exact, from_record, matching, present, sorted};
pub use reprint::{MemberFormat, reprint};
pub use rows::Rows;
pub use sorted_text::{
    RecordLine, RecordText, compact_text, pretty_text, serialize_record, to_json, to_record,
};
pub use token::Text;
pub use tree::{PlacedData, PlacedEntry, PlacedValue};
pub use write::write_strings;

/// The members of a JSON object, sorted by key.
pub type Object = BTreeMap<String, Json>;

/// Adds a member. Where its key is taken, a number is added to it, so that no member is lost.
pub fn insert_beside(members: &mut Object, key: String, value: Json) {
    let mut free = key.clone();
    let mut number = 1usize;
    while members.contains_key(&free) {
        number += 1;
        free = format!("{key} {number}");
    }
    members.insert(free, value);
}

/// A JSON value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object with unique keys, sorted by code point.
    Object(Object),
}

impl Json {
    /// Reads one strict JSON document.
    ///
    /// # Errors
    /// Fails if the text is not RFC 8259 JSON, repeats a key within one object, or nests deeper than 128 levels.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        parse::parse(text.as_bytes(), Dialect::Strict)
    }

    /// Reads one JSON document from bytes in the given dialect.
    ///
    /// # Errors
    /// Fails if the bytes are not UTF-8 or not JSON in that dialect.
    pub fn parse_bytes(bytes: &[u8], dialect: Dialect) -> Result<Json, JsonError> {
        parse::parse(bytes, dialect)
    }

    /// Builds an object from pairs. A later pair replaces an earlier one with the same key.
    pub fn object<K: Into<String>>(pairs: impl IntoIterator<Item = (K, Json)>) -> Json {
        Json::Object(pairs.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Returns the value of a member, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.get(key),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
        }
    }

    /// Returns the string, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(text) = self { Some(text) } else { None }
    }

    /// Returns the boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the number, if it is an integer that fits in 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        if let Json::Number(number) = self { number.as_i64() } else { None }
    }

    /// Returns the number as the nearest double.
    pub fn as_f64(&self) -> Option<f64> {
        if let Json::Number(number) = self { Some(number.as_f64()) } else { None }
    }

    /// Returns the elements, if this is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Json::Array(elements) = self { Some(elements) } else { None }
    }

    /// Returns the members, if this is an object.
    pub fn as_object(&self) -> Option<&Object> {
        if let Json::Object(members) = self { Some(members) } else { None }
    }

    /// Returns whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// Converts to a `serde_json` value.
    ///
    /// A number that fits neither a 64-bit integer nor a double becomes the nearest double. A non-finite number becomes
    /// `null`.
    pub fn to_serde(&self) -> serde_json::Value {
        match self {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => serde_json::Value::Bool(*value),
            Json::Number(number) => number.to_serde(),
            Json::String(text) => serde_json::Value::String(text.clone()),
            Json::Array(elements) => elements.iter().map(Json::to_serde).collect(),
            Json::Object(members) => {
                members.iter().map(|(key, value)| (key.clone(), value.to_serde())).collect()
            }
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::String(text)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

impl From<Number> for Json {
    fn from(value: Number) -> Json {
        Json::Number(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Json {
        Json::Number(Number::from(value))
    }
}

impl From<i32> for Json {
    fn from(value: i32) -> Json {
        Json::Number(Number::from(i64::from(value)))
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Json {
        Json::Number(Number::from(u64::from(value)))
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Json {
        Json::Number(Number::from(value))
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Json {
        Json::Number(Number::from(value as u64))
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Json {
        Json::Number(Number::from(value))
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(elements: Vec<T>) -> Json {
        Json::Array(elements.into_iter().map(Into::into).collect())
    }
}

impl From<Object> for Json {
    fn from(members: Object) -> Json {
        Json::Object(members)
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Json {
        match value {
            serde_json::Value::Null => Json::Null,
            serde_json::Value::Bool(value) => Json::Bool(*value),
            serde_json::Value::Number(number) => Json::Number(Number::from(number)),
            serde_json::Value::String(text) => Json::String(text.clone()),
            serde_json::Value::Array(elements) => Json::Array(elements.iter().map(Json::from).collect()),
            serde_json::Value::Object(members) => {
                Json::Object(members.iter().map(|(key, value)| (key.clone(), Json::from(value))).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(super) fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(Json::from),
            any::<String>().prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
                prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(Json::Object),
            ]
        })
    }

    #[test]
    fn numbers_go_through_serde_with_all_digits() {
        let text = "[NaN,-Infinity,1.50,-0,1e2,123456789012345678901234567890,18446744073709551615]";
        let value = Json::parse_bytes(text.as_bytes(), Dialect::Lenient).unwrap();
        assert_eq!(to_json(&value).unwrap().to_compact(), text);
        assert_eq!(from_json::<Json>(&value).unwrap().to_compact(), text);
        assert_eq!(from_json::<Vec<Number>>(&value).unwrap()[2].as_str(), "1.50");
        assert!(from_json::<f64>(&value.as_array().unwrap()[2]) == Ok(1.5));
    }

    #[test]
    fn a_list_is_no_type_with_members() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Pair {
            a: u8,
            b: u8,
        }
        let read = |text: &str| from_json::<Pair>(&Json::parse(text).unwrap());
        assert_eq!(read(r#"{"b": 2, "a": 1}"#), Ok(Pair { a: 1, b: 2 }));
        assert!(read("[1, 2]").is_err());
        assert_eq!(from_json::<(u8, u8)>(&Json::parse("[1, 2]").unwrap()), Ok((1, 2)));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(value in any_json()) {
            prop_assert_eq!(Json::parse(&value.to_compact()).unwrap(), value.clone());
            prop_assert_eq!(Json::parse(&value.to_pretty()).unwrap(), value);
        }

        #[test]
        fn a_value_goes_through_serde_unchanged(value in any_json()) {
            prop_assert_eq!(&to_json(&value).unwrap(), &value);
            prop_assert_eq!(from_json::<Json>(&value).unwrap(), value);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>()) {
            let _ = Json::parse_bytes(&bytes, Dialect::Strict);
            let _ = Json::parse_bytes(&bytes, Dialect::Lenient);
        }

        #[test]
        fn strict_agrees_with_serde_json(text in r#"[\[\]{}:,"0-9.eE+\-a-z\\ ]{0,24}"#) {
            let ours = Json::parse(&text);
            let theirs: Result<serde_json::Value, _> = serde_json::from_str(&text);
            if let (Ok(ours), Ok(theirs)) = (&ours, &theirs) {
                prop_assert_eq!(&ours.to_serde(), theirs);
            }
            // The two differ only in that we refuse duplicate keys.
            if ours.is_err() && theirs.is_ok() {
                prop_assert_eq!(ours.unwrap_err().kind, JsonErrorKind::DuplicateKey);
            }
        }
    }
}
