//! The seven type names, and sets of them.

use std::fmt::{self, Display, Formatter};

use serde_json::Value;

use crate::number;

/// A value of the keyword `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JsonType {
    /// An object.
    Object,
    /// A list.
    Array,
    /// A string.
    String,
    /// A number without a fraction, including `1.0`.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `null`.
    Null,
}

impl JsonType {
    /// All types, in display order.
    pub const ALL: [JsonType; 7] = [
        JsonType::Object,
        JsonType::Array,
        JsonType::String,
        JsonType::Integer,
        JsonType::Number,
        JsonType::Boolean,
        JsonType::Null,
    ];

    /// Returns the name used in schemas.
    pub fn name(self) -> &'static str {
        match self {
            JsonType::Object => "object",
            JsonType::Array => "array",
            JsonType::String => "string",
            JsonType::Integer => "integer",
            JsonType::Number => "number",
            JsonType::Boolean => "boolean",
            JsonType::Null => "null",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<JsonType> {
        JsonType::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the narrowest type of a value.
    pub(crate) fn from_value(value: &Value) -> JsonType {
        match value {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(number) if number::is_integer(number) => JsonType::Integer,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Display for JsonType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of types. Displayed as `string or null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeSet(u8);

impl TypeSet {
    /// No type, as in the schema `false`.
    pub(crate) const NONE: TypeSet = TypeSet(0);
    /// Every type, as in a schema without `type`.
    pub const ANY: TypeSet = TypeSet(0b111_1111);

    /// Returns whether the name is listed. [`JsonType::Number`] alone does not list [`JsonType::Integer`].
    pub fn lists(self, kind: JsonType) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Returns the listed types, in the order of [`JsonType::ALL`].
    pub fn iter(self) -> impl Iterator<Item = JsonType> {
        JsonType::ALL.into_iter().filter(move |kind| self.lists(*kind))
    }

    pub(crate) fn insert(&mut self, kind: JsonType) {
        self.0 |= kind.bit();
    }

    pub(crate) fn union(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    /// Returns the types in both sets. `number` includes `integer`.
    pub(crate) fn intersection(self, other: TypeSet) -> TypeSet {
        let mut both = TypeSet(self.0 & other.0);
        if self.admits(JsonType::Integer) && other.admits(JsonType::Integer) {
            both.insert(JsonType::Integer);
        }
        both
    }

    /// Returns the types to display. `integer` is redundant next to `number`.
    pub(crate) fn shown(self) -> impl Iterator<Item = JsonType> {
        self.iter().filter(move |kind| *kind != JsonType::Integer || !self.lists(JsonType::Number))
    }

    /// Returns whether a value of the narrowest type `kind` belongs to the set. An integer is also a number.
    pub(crate) fn admits(self, kind: JsonType) -> bool {
        self.lists(kind) || (kind == JsonType::Integer && self.lists(JsonType::Number))
    }
}

impl From<JsonType> for TypeSet {
    fn from(kind: JsonType) -> TypeSet {
        TypeSet(kind.bit())
    }
}

impl Display for TypeSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.shown().map(JsonType::name).collect();
        match names.as_slice() {
            [] => f.write_str("nothing"),
            [only] => f.write_str(only),
            [first @ .., last] => write!(f, "{} or {last}", first.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(kinds: &[JsonType]) -> TypeSet {
        let mut set = TypeSet::NONE;
        kinds.iter().for_each(|kind| set.insert(*kind));
        set
    }

    #[test]
    fn names_read_back() {
        for kind in JsonType::ALL {
            assert_eq!(JsonType::from_name(kind.name()), Some(kind));
            assert!(TypeSet::ANY.lists(kind));
            assert!(!TypeSet::NONE.lists(kind));
        }
        assert_eq!(JsonType::from_name("String"), None);
    }

    #[test]
    fn sets_read_as_a_sentence() {
        assert_eq!(set(&[]).to_string(), "nothing");
        assert_eq!(set(&[JsonType::String]).to_string(), "string");
        assert_eq!(set(&[JsonType::Null, JsonType::String]).to_string(), "string or null");
        assert_eq!(
            set(&[JsonType::Null, JsonType::String, JsonType::Array]).to_string(),
            "array, string or null"
        );
    }

    #[track_caller]
    fn check(kind: JsonType, value: Value, expect: bool) {
        assert_eq!(set(&[kind]).admits(JsonType::from_value(&value)), expect, "{value} as {kind}");
    }

    #[test]
    fn an_integer_is_a_number_without_fraction() {
        check(JsonType::Integer, json!(1), true);
        check(JsonType::Integer, json!(1.0), true);
        check(JsonType::Integer, json!(1e300), true);
        check(JsonType::Integer, json!(1.5), false);
        check(JsonType::Integer, json!(true), false);
        check(JsonType::Integer, json!("1"), false);
        check(JsonType::Number, json!(1), true);
        check(JsonType::Number, json!(1.5), true);
        check(JsonType::Number, json!(false), false);
        check(JsonType::Boolean, json!(0), false);
        check(JsonType::Null, json!(false), false);
    }
}
