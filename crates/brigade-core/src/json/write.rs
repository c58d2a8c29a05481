//! JSON output: compact for journals and arguments, indented for files that people read.

use std::fmt::Write as _;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::Json;

impl Json {
    /// Writes the value without whitespace, keys sorted, with only the required escapes.
    ///
    /// Numbers are written as they were read, including non-finite ones, so a rewritten record loses nothing.
    pub fn to_compact(&self) -> String {
        let mut out = String::new();
        self.write_compact(&mut out);
        out
    }

    /// Appends what [`Json::to_compact`] returns.
    pub fn write_compact(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Number(number) => out.push_str(number.as_str()),
            Json::String(text) => write_string(text, out),
            Json::Array(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    if 0 < index {
                        out.push(',');
                    }
                    element.write_compact(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if 0 < index {
                        out.push(',');
                    }
                    write_string(key, out);
                    out.push(':');
                    value.write_compact(out);
                }
                out.push('}');
            }
        }
    }

    /// Writes the value indented by two spaces per level, with a final newline.
    pub fn to_pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(&mut out, 0);
        out.push('\n');
        out
    }

    fn write_pretty(&self, out: &mut String, level: usize) {
        match self {
            Json::Array(elements) if !elements.is_empty() => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    out.push_str(if index == 0 { "\n" } else { ",\n" });
                    indent(out, level + 1);
                    element.write_pretty(out, level + 1);
                }
                out.push('\n');
                indent(out, level);
                out.push(']');
            }
            Json::Object(members) if !members.is_empty() => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    out.push_str(if index == 0 { "\n" } else { ",\n" });
                    indent(out, level + 1);
                    write_string(key, out);
                    out.push_str(": ");
                    value.write_pretty(out, level + 1);
                }
                out.push('\n');
                indent(out, level);
                out.push('}');
            }
            _ => self.write_compact(out),
        }
    }
}

fn indent(out: &mut String, level: usize) {
    for _ in 0..level {
        out.push_str("  ");
    }
}

/// Writes a string in double quotes with the escapes of RFC 8785.
/// Appends a list of strings, as [`Json::to_compact`] writes it.
pub fn write_strings<T: AsRef<str>>(texts: impl IntoIterator<Item = T>, out: &mut String) {
    out.push('[');
    for (index, text) in texts.into_iter().enumerate() {
        if 0 < index {
            out.push(',');
        }
        write_string(text.as_ref(), out);
    }
    out.push(']');
}

pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        if 0x20 <= byte && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[written..at]);
        written = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x8 => out.push_str("\\b"),
            0xc => out.push_str("\\f"),
            _ => write!(out, "\\u{byte:04x}").expect("a string takes all that is written"),
        }
    }
    out.push_str(&text[written..]);
    out.push('"');
}

impl Serialize for Json {
    /// Numbers keep their digits. Non-finite numbers become `null`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(number) => number.serialize(serializer),
            Json::String(text) => serializer.serialize_str(text),
            Json::Array(elements) => {
                let mut sequence = serializer.serialize_seq(Some(elements.len()))?;
                for element in elements {
                    sequence.serialize_element(element)?;
                }
                sequence.end()
            }
            Json::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_json_reads_like_a_file() {
        let value = Json::parse(r#"{"b":[1,{}],"a":"x\u0001\"é"}"#).unwrap();
        assert_eq!(value.to_pretty(), "{\n  \"a\": \"x\\u0001\\\"é\",\n  \"b\": [\n    1,\n    {}\n  ]\n}\n");
    }

    #[test]
    fn reports_hold_finite_numbers_with_all_digits() {
        let value =
            Json::parse_bytes(b"[NaN,123456789012345678901234567890,1.50]", super::super::Dialect::Lenient);
        let written = serde_json::to_string(&value.unwrap()).unwrap();
        assert_eq!(written, "[null,123456789012345678901234567890,1.50]");
    }
}
