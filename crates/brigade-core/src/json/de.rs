//! Exact conversion from a [`Json`] value to any deserializable type. Errors never quote values.

use std::collections::btree_map;
use std::fmt;
use std::slice;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{
    self, Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected,
    IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};

use super::{Dialect, Json, Number, Object};

/// Why a value does not match a type. Names the member, never its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The path to the member, outermost first.
    path: Vec<String>,
    message: String,
}

impl Mismatch {
    pub(super) fn new(message: impl Into<String>) -> Mismatch {
        Mismatch { path: Vec::new(), message: message.into() }
    }

    fn expected(expected: &dyn Expected) -> Mismatch {
        Mismatch::new(format!("expected {expected}"))
    }

    /// Prepends a member to the path.
    pub(super) fn under(mut self, member: &str) -> Mismatch {
        self.path.insert(0, member.to_owned());
        self
    }

    /// Prepends an element of a list to the path.
    pub(super) fn under_index(self, index: usize) -> Mismatch {
        self.under(&format!("[{index}]"))
    }

    /// Returns the outermost member that does not match. Returns `None` if a member is missing or the value itself does
    /// not match.
    pub fn member(&self) -> Option<&str> {
        self.path.first().map(String::as_str)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", crate::text::escape_terminal(&self.path.join(".")))?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mismatch {}

impl serde::ser::Error for Mismatch {
    fn custom<T: fmt::Display>(message: T) -> Mismatch {
        Mismatch::new(message.to_string())
    }
}

impl de::Error for Mismatch {
    fn custom<T: fmt::Display>(message: T) -> Mismatch {
        Mismatch::new(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Mismatch {
        Mismatch::expected(expected)
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Mismatch {
        Mismatch::expected(expected)
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Mismatch {
        Mismatch::new(format!("expected one of {}", expected.join(", ")))
    }
}

/// Converts a value to a type through its serde form.
///
/// # Errors
/// Fails if a member is missing or has the wrong type.
pub fn from_json<T: DeserializeOwned>(json: &Json) -> Result<T, Mismatch> {
    T::deserialize(json)
}

/// The first double above every integer of 64 bits.
const ABOVE_INTEGERS: f64 = 9_223_372_036_854_775_808.0;

/// As in JSON Schema, `1.0` is an integer.
fn visit_integer<'de, V: Visitor<'de>>(json: &'de Json, visitor: V) -> Result<V::Value, Mismatch> {
    match json {
        Json::Number(number) if number.as_str().contains(['.', 'e', 'E']) => {
            let double = number.as_f64();
            if double.fract() == 0.0 && double.abs() < ABOVE_INTEGERS {
                #[expect(clippy::cast_possible_truncation, reason = "it is an integer in range")]
                return visitor.visit_i64(double as i64);
            }
            json.deserialize_any(visitor)
        }
        _ => json.deserialize_any(visitor),
    }
}

macro_rules! deserialize_integers {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
            visit_integer(self, visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for &'de Json {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(*value),
            Json::Number(number) => visit_number(number, visitor),
            Json::String(text) => visitor.visit_borrowed_str(text),
            Json::Array(elements) => visitor.visit_seq(Elements { elements: elements.iter(), index: 0 }),
            Json::Object(members) => visitor.visit_map(Members::new(members)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self {
            Json::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self {
            Json::Number(number) => visitor.visit_f64(number.as_f64()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self {
            Json::String(name) => visitor.visit_enum(Variant { name, value: None }),
            Json::Object(members) if members.len() == 1 => {
                let (name, value) = members.iter().next().expect("there is one");
                visitor.visit_enum(Variant { name, value: Some(value) })
            }
            _ => Err(Mismatch::new("expected a string")),
        }
    }

    /// Refuses a list: its elements would be taken for the members of the type, by their order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        self.deserialize_map(visitor)
    }

    // The shape is decided here, so that the code for other shapes is not compiled for each type.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self {
            Json::Object(members) => visitor.visit_map(Members::new(members)),
            _ => Err(Mismatch::expected(&visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self {
            Json::Array(elements) => visitor.visit_seq(Elements { elements: elements.iter(), index: 0 }),
            _ => Err(Mismatch::expected(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_unit()
    }

    deserialize_integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_u128
    }

    serde::forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

/// Passes a number to the visitor. It becomes an integer or a double if that has the same text. Otherwise its text is
/// passed as bytes, which only [`Number`] and [`Json`] accept.
fn visit_number<'de, V: Visitor<'de>>(number: &'de Number, visitor: V) -> Result<V::Value, Mismatch> {
    match PlainNumber::of_same_text(number) {
        Some(PlainNumber::Signed(value)) => visitor.visit_i64(value),
        Some(PlainNumber::Unsigned(value)) => visitor.visit_u64(value),
        Some(PlainNumber::Double(value)) => visitor.visit_f64(value),
        None => visitor.visit_borrowed_bytes(number.as_str().as_bytes()),
    }
}

enum PlainNumber {
    Signed(i64),
    Unsigned(u64),
    Double(f64),
}

impl PlainNumber {
    fn of_same_text(number: &Number) -> Option<PlainNumber> {
        let text = number.as_str();
        if text != "-0" {
            if let Ok(value) = text.parse() {
                return Some(PlainNumber::Signed(value));
            }
            if let Ok(value) = text.parse() {
                return Some(PlainNumber::Unsigned(value));
            }
        }
        let double = number.as_f64();
        (Number::from(double) == *number).then_some(PlainNumber::Double(double))
    }
}

struct Elements<'de> {
    elements: slice::Iter<'de, Json>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mismatch> {
        let Some(element) = self.elements.next() else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        seed.deserialize(element).map(Some).map_err(|error| error.under_index(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

/// The remaining members of an object.
pub(super) struct Members<'de> {
    members: btree_map::Iter<'de, String, Json>,
    current: Option<(&'de str, &'de Json)>,
}

impl<'de> Members<'de> {
    pub(super) fn new(members: &'de Object) -> Members<'de> {
        Members { members: members.iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mismatch> {
        let Some((key, value)) = self.members.next() else {
            return Ok(None);
        };
        self.current = Some((key, value));
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        let (key, value) = self.current.take().expect("a key comes before its value");
        seed.deserialize(value).map_err(|error| error.under(key))
    }
}

struct Variant<'de> {
    name: &'de str,
    value: Option<&'de Json>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Mismatch;
    type Variant = Variant<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mismatch> {
        let name: StrDeserializer<'de, Mismatch> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Mismatch;

    fn unit_variant(self) -> Result<(), Mismatch> {
        match self.value {
            None | Some(Json::Null) => Ok(()),
            Some(_) => Err(Mismatch::new("expected a string")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mismatch> {
        seed.deserialize(self.value.unwrap_or(&Json::Null))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Mismatch> {
        self.value.unwrap_or(&Json::Null).deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        self.value.unwrap_or(&Json::Null).deserialize_any(visitor)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        match deserializer.deserialize_any(JsonVisitor)? {
            Json::Number(number) => Ok(number),
            _ => Err(de::Error::custom("expected a number")),
        }
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_none<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        Json::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_bytes<E: de::Error>(self, text: &[u8]) -> Result<Json, E> {
        match Json::parse_bytes(text, Dialect::Lenient) {
            Ok(number @ Json::Number(_)) => Ok(number),
            _ => Err(E::custom("expected the text of a number")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = access.next_element()? {
            elements.push(element);
        }
        Ok(Json::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut members = Object::new();
        while let Some((key, value)) = access.next_entry()? {
            members.insert(key, value);
        }
        Ok(Json::Object(members))
    }
}
