//! The text of map keys.

use serde::ser::{Impossible, Serialize, Serializer};

use super::Mismatch;

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
