//! The serializer of map keys.

use serde::Serialize;
use serde::ser::{Impossible, Serializer};

use super::Mismatch;

/// The serializer of map keys: strings, and whole numbers and booleans as text.
pub(super) struct KeyText;

fn not_a_key<T>() -> Result<T, Mismatch> {
    Err(Mismatch::new("expected a string as key"))
}

macro_rules! keys {
    (text $($method:ident: $type:ty),*; none $($other:ident($($argument:ty),*) -> $result:ty),*) => {
        $(fn $method(self, value: $type) -> Result<String, Mismatch> {
            Ok(value.to_string())
        })*
        $(fn $other(self, $(_: $argument),*) -> Result<$result, Mismatch> {
            not_a_key()
        })*
    };
}

/// The serializer of what is never a key.
type NoKey = Impossible<String, Mismatch>;

impl Serializer for KeyText {
    type Ok = String;
    type Error = Mismatch;
    type SerializeSeq = NoKey;
    type SerializeTuple = NoKey;
    type SerializeTupleStruct = NoKey;
    type SerializeTupleVariant = NoKey;
    type SerializeMap = NoKey;
    type SerializeStruct = NoKey;
    type SerializeStructVariant = NoKey;

    keys!(
        text
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
        serialize_str: &str;
        none
        serialize_f32(f32) -> String,
        serialize_f64(f64) -> String,
        serialize_bytes(&[u8]) -> String,
        serialize_none() -> String,
        serialize_unit() -> String,
        serialize_unit_struct(&'static str) -> String,
        serialize_seq(Option<usize>) -> NoKey,
        serialize_tuple(usize) -> NoKey,
        serialize_tuple_struct(&'static str, usize) -> NoKey,
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> NoKey,
        serialize_map(Option<usize>) -> NoKey,
        serialize_struct(&'static str, usize) -> NoKey,
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> NoKey
    );

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<String, Mismatch> {
        Ok(name.to_owned())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<String, Mismatch> {
        value.serialize(self)
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
        not_a_key()
    }
}
