//! Exact conversion from any serializable type to a [`Json`] value. Numbers keep their digits, including `NaN`.

use std::any::type_name;
use std::cell::Cell;

use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::number::RAW_VALUE;
use super::{Dialect, Json, Mismatch, Object};

/// Converts a value to [`Json`] through its serde form.
///
/// # Errors
/// Fails if a map key is not a string, or if a `Serialize` implementation fails.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Json, Mismatch> {
    value.serialize(ToJson)
}

thread_local! {
    /// The value that [`hand_over`] gives to [`to_json`].
    static HANDED_OVER_VALUE: Cell<Option<Json>> = const { Cell::new(None) };
}

/// Says to [`to_json`] that a value was handed over.
const HANDED_OVER: &str = "$brigade_core::json::handed_over";

/// Serializes a value that was made for this. [`to_json`] takes it as it is, where it would build it once more; records
/// in records in records would be built as many times as they are deep.
///
/// # Errors
/// When the serializer fails.
pub fn hand_over<S: Serializer>(value: Json, serializer: S) -> Result<S::Ok, S::Error> {
    // The names of types cost nothing to compare, and nobody else can have this one.
    if type_name::<S>() == type_name::<ToJson>() {
        HANDED_OVER_VALUE.set(Some(value));
        serializer.serialize_unit_struct(HANDED_OVER)
    } else {
        value.serialize(serializer)
    }
}

/// The serializer behind [`to_json`].
struct ToJson;

fn variant(name: &str, value: Json) -> Json {
    Json::object([(name, value)])
}

impl Serializer for ToJson {
    type Ok = Json;
    type Error = Mismatch;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Elements;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Members;

    fn serialize_bool(self, value: bool) -> Result<Json, Mismatch> {
        Ok(Json::Bool(value))
    }

    fn serialize_i8(self, value: i8) -> Result<Json, Mismatch> {
        Ok(Json::from(i64::from(value)))
    }

    fn serialize_i16(self, value: i16) -> Result<Json, Mismatch> {
        Ok(Json::from(i64::from(value)))
    }

    fn serialize_i32(self, value: i32) -> Result<Json, Mismatch> {
        Ok(Json::from(value))
    }

    fn serialize_i64(self, value: i64) -> Result<Json, Mismatch> {
        Ok(Json::from(value))
    }

    fn serialize_u8(self, value: u8) -> Result<Json, Mismatch> {
        Ok(Json::from(u64::from(value)))
    }

    fn serialize_u16(self, value: u16) -> Result<Json, Mismatch> {
        Ok(Json::from(u64::from(value)))
    }

    fn serialize_u32(self, value: u32) -> Result<Json, Mismatch> {
        Ok(Json::from(value))
    }

    fn serialize_u64(self, value: u64) -> Result<Json, Mismatch> {
        Ok(Json::from(value))
    }

    fn serialize_f32(self, value: f32) -> Result<Json, Mismatch> {
        Ok(Json::from(f64::from(value)))
    }

    fn serialize_f64(self, value: f64) -> Result<Json, Mismatch> {
        Ok(Json::from(value))
    }

    fn serialize_char(self, value: char) -> Result<Json, Mismatch> {
        Ok(Json::String(value.to_string()))
    }

    fn serialize_str(self, value: &str) -> Result<Json, Mismatch> {
        Ok(Json::from(value))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Json, Mismatch> {
        Err(Mismatch::new("bytes are not JSON"))
    }

    fn serialize_none(self) -> Result<Json, Mismatch> {
        Ok(Json::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Json, Mismatch> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Json, Mismatch> {
        Ok(Json::Null)
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<Json, Mismatch> {
        Ok(if name == HANDED_OVER { HANDED_OVER_VALUE.take().unwrap_or_default() } else { Json::Null })
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<Json, Mismatch> {
        Ok(Json::from(name))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Json, Mismatch> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<Json, Mismatch> {
        Ok(variant(name, value.serialize(self)?))
    }

    fn serialize_seq(self, count: Option<usize>) -> Result<Elements, Mismatch> {
        Ok(Elements { variant: None, elements: Vec::with_capacity(count.unwrap_or(0).min(1024)) })
    }

    fn serialize_tuple(self, count: usize) -> Result<Elements, Mismatch> {
        self.serialize_seq(Some(count))
    }

    fn serialize_tuple_struct(self, _: &'static str, count: usize) -> Result<Elements, Mismatch> {
        self.serialize_seq(Some(count))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Elements, Mismatch> {
        Ok(Elements { variant: Some(name), elements: Vec::new() })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members, Mismatch> {
        Ok(Members { variant: None, key: None, members: Object::new() })
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Members, Mismatch> {
        Ok(Members { variant: (name == RAW_VALUE).then_some(name), key: None, members: Object::new() })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Members, Mismatch> {
        Ok(Members { variant: Some(name), key: None, members: Object::new() })
    }
}

/// An array under construction.
struct Elements {
    variant: Option<&'static str>,
    elements: Vec<Json>,
}

impl Elements {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mismatch> {
        let value = to_json(value).map_err(|error| error.under(&format!("[{}]", self.elements.len())))?;
        self.elements.push(value);
        Ok(())
    }

    fn finish(self) -> Json {
        match self.variant {
            Some(name) => variant(name, Json::Array(self.elements)),
            None => Json::Array(self.elements),
        }
    }
}

/// An object under construction.
struct Members {
    /// The enum variant that wraps the object, or the marker for a number's text.
    variant: Option<&'static str>,
    key: Option<String>,
    members: Object,
}

impl Members {
    fn insert<T: Serialize + ?Sized>(&mut self, key: String, value: &T) -> Result<(), Mismatch> {
        let value = to_json(value).map_err(|error| error.under(&key))?;
        self.members.insert(key, value);
        Ok(())
    }

    fn finish(mut self) -> Result<Json, Mismatch> {
        match self.variant {
            Some(RAW_VALUE) => match self.members.remove(RAW_VALUE) {
                Some(Json::String(text)) => Json::parse_bytes(text.as_bytes(), Dialect::Lenient)
                    .map_err(|_| Mismatch::new("expected the text of a JSON value")),
                _ => Err(Mismatch::new("expected the text of a JSON value")),
            },
            Some(name) => Ok(variant(name, Json::Object(self.members))),
            None => Ok(Json::Object(self.members)),
        }
    }
}

impl SerializeSeq for Elements {
    type Ok = Json;
    type Error = Mismatch;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mismatch> {
        self.push(value)
    }

    fn end(self) -> Result<Json, Mismatch> {
        Ok(self.finish())
    }
}

impl SerializeTuple for Elements {
    type Ok = Json;
    type Error = Mismatch;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mismatch> {
        self.push(value)
    }

    fn end(self) -> Result<Json, Mismatch> {
        Ok(self.finish())
    }
}

impl SerializeTupleStruct for Elements {
    type Ok = Json;
    type Error = Mismatch;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mismatch> {
        self.push(value)
    }

    fn end(self) -> Result<Json, Mismatch> {
        Ok(self.finish())
    }
}

impl SerializeTupleVariant for Elements {
    type Ok = Json;
    type Error = Mismatch;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mismatch> {
        self.push(value)
    }

    fn end(self) -> Result<Json, Mismatch> {
        Ok(self.finish())
    }
}

impl SerializeMap for Members {
    type Ok = Json;
    type Error = Mismatch;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Mismatch> {
        self.key = Some(key.serialize(KeyText)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Mismatch> {
        let key = self.key.take().expect("a key comes before its value");
        self.insert(key, value)
    }

    fn end(self) -> Result<Json, Mismatch> {
        self.finish()
    }
}

impl SerializeStruct for Members {
    type Ok = Json;
    type Error = Mismatch;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Mismatch> {
        self.insert(key.to_owned(), value)
    }

    fn end(self) -> Result<Json, Mismatch> {
        self.finish()
    }
}

impl SerializeStructVariant for Members {
    type Ok = Json;
    type Error = Mismatch;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Mismatch> {
        self.insert(key.to_owned(), value)
    }

    fn end(self) -> Result<Json, Mismatch> {
        self.finish()
    }
}

/// Serializes a map key: a string, or a number or boolean as text.
pub(super) struct KeyText;

const NOT_A_KEY: &str = "expected a string as key";

macro_rules! keys {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<String, Mismatch> {
            Ok(value.to_string())
        })*
    };
}

impl Serializer for KeyText {
    type Ok = String;
    type Error = Mismatch;
    type SerializeSeq = Impossible<String, Mismatch>;
    type SerializeTuple = Impossible<String, Mismatch>;
    type SerializeTupleStruct = Impossible<String, Mismatch>;
    type SerializeTupleVariant = Impossible<String, Mismatch>;
    type SerializeMap = Impossible<String, Mismatch>;
    type SerializeStruct = Impossible<String, Mismatch>;
    type SerializeStructVariant = Impossible<String, Mismatch>;

    keys!(
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_char: char,
        serialize_str: &str
    );

    fn serialize_f32(self, _: f32) -> Result<String, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_f64(self, _: f64) -> Result<String, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<String, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_none(self) -> Result<String, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<String, Mismatch> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<String, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<String, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<String, Mismatch> {
        Ok(name.to_owned())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<String, Mismatch> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Mismatch> {
        Err(Mismatch::new(NOT_A_KEY))
    }
}
