//! A number in the text it was written in.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The name of the struct by which a [`RawValue`] tells a serializer that it holds the text of a value.
pub(super) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A JSON number, kept as text so that none loses a digit.
///
/// The text is a number of RFC 8259, or `NaN`, `Infinity` or `-Infinity` where a lenient document held one. Two numbers
/// are equal when their texts are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// Wraps text that the parser has checked.
    pub(super) fn from_checked(text: &str) -> Number {
        Number(text.into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the integer, when it is written as one and fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// Returns the nearest double; infinite when the number is too large for one.
    pub fn as_f64(&self) -> f64 {
        match &*self.0 {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            text => text.parse().expect("the text of a number is a number"),
        }
    }

    /// Tells whether the number is one that JSON can write.
    pub fn is_finite(&self) -> bool {
        !self.0.contains(['N', 'I'])
    }

    pub(super) fn to_serde(&self) -> serde_json::Value {
        if let Ok(integer) = self.0.parse::<i64>() {
            return integer.into();
        }
        if let Ok(integer) = self.0.parse::<u64>() {
            return integer.into();
        }
        serde_json::Number::from_f64(self.as_f64()).map_or(serde_json::Value::Null, serde_json::Value::Number)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number(value.to_string().into())
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number(value.to_string().into())
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        if value.is_nan() {
            Number("NaN".into())
        } else if value.is_infinite() {
            Number(if value.is_sign_positive() { "Infinity" } else { "-Infinity" }.into())
        } else {
            Number(format!("{value:?}").into())
        }
    }
}

impl From<&serde_json::Number> for Number {
    fn from(value: &serde_json::Number) -> Number {
        Number(value.to_string().into())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Number {
    /// Writes the digits as they are; a number that is not finite becomes `null`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_finite() {
            // Our own serializer keeps it; that of `serde_json` writes `null`.
            return serializer.serialize_f64(self.as_f64());
        }
        match self.as_i64() {
            Some(value) if &*self.0 != "-0" => serializer.serialize_i64(value),
            _ => RawValue::from_string(self.0.to_string())
                .expect("the text of a finite number is JSON")
                .serialize(serializer),
        }
    }
}
