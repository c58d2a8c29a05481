//! Numbers that keep their original text.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The struct name by which [`RawValue`] passes raw JSON to a serializer.
pub(super) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A JSON number, kept as text so that no digit is lost.
///
/// The text is an RFC 8259 number, or `NaN`, `Infinity` or `-Infinity` from a lenient document. Two numbers are equal
/// if their texts are equal.
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

    /// Returns the value, if it is written as an integer and fits in 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// Returns the nearest double. A number that is too large becomes infinite.
    pub fn as_f64(&self) -> f64 {
        match &*self.0 {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            text => text.parse().expect("the text of a number is a number"),
        }
    }

    /// Returns whether the number is finite, so that strict JSON can express it.
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
    /// Writes the digits unchanged. A non-finite number becomes `null`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_finite() {
            // Our serializer keeps non-finite numbers; the one in `serde_json` writes `null`.
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
