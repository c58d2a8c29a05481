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
        self.write_at(out, None);
    }

    /// Writes the value indented by two spaces per level, with a final newline.
    pub fn to_pretty(&self) -> String {
        let mut out = String::new();
        self.write_at(&mut out, Some(0));
        out.push('\n');
        out
    }

    /// Appends the value indented at a nesting depth, or without whitespace.
    pub(super) fn write_at(&self, out: &mut String, level: Level) {
        let inner = level.map(|level| level + 1);
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Number(number) => out.push_str(number.as_str()),
            Json::String(text) => write_string(text, out),
            Json::Array(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    begin(out, level, index == 0);
                    element.write_at(out, inner);
                }
                close(out, level, ']', elements.is_empty());
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    begin(out, level, index == 0);
                    name(key, level, out);
                    value.write_at(out, inner);
                }
                close(out, level, '}', members.is_empty());
            }
        }
    }
}

/// The nesting depth of an indented value. `None` without indentation.
pub(super) type Level = Option<usize>;

/// Begins an element or member.
pub(super) fn begin(out: &mut String, level: Level, is_first: bool) {
    match level {
        Some(level) => {
            out.push_str(if is_first { "\n" } else { ",\n" });
            indent(out, level + 1);
        }
        None if is_first => {}
        None => out.push(','),
    }
}

/// Writes a key and the separator before its value.
pub(super) fn name(key: &str, level: Level, out: &mut String) {
    write_string(key, out);
    out.push_str(if level.is_some() { ": " } else { ":" });
}

/// Ends an array or object.
pub(super) fn close(out: &mut String, level: Level, bracket: char, is_empty: bool) {
    if let Some(level) = level
        && !is_empty
    {
        out.push('\n');
        indent(out, level);
    }
    out.push(bracket);
}

fn indent(out: &mut String, level: usize) {
    for _ in 0..level {
        out.push_str("  ");
    }
}

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

/// Writes a string in double quotes with the escapes of RFC 8785.
pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = first_escaped(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x8 => out.push_str("\\b"),
            0xc => out.push_str("\\f"),
            byte => write!(out, "\\u{byte:04x}").expect("a string takes all that is written"),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

/// Returns the place of the first byte that a JSON string has only escaped.
fn first_escaped(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let is_escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    // The high bit is set of the lowest byte that is less than `limit`, and perhaps of bytes above it.
    let less = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let (words, _) = bytes.as_chunks::<8>();
    let plain = words.iter().take_while(|word| {
        let word = u64::from_le_bytes(**word);
        let found = less(word, 0x20)
            | less(word ^ (ONES * u64::from(b'"')), 1)
            | less(word ^ (ONES * u64::from(b'\\')), 1);
        found & (ONES * 0x80) == 0
    });
    let from = plain.count() * 8;
    bytes[from..].iter().position(is_escaped).map(|at| from + at)
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pretty_json_reads_like_a_file() {
        let value = Json::parse(r#"{"b":[1,{}],"a":"x\u0001\"é"}"#).unwrap();
        assert_eq!(value.to_pretty(), "{\n  \"a\": \"x\\u0001\\\"é\",\n  \"b\": [\n    1,\n    {}\n  ]\n}\n");
    }

    proptest! {
        #[test]
        fn strings_are_read_back_as_they_were(text in ".*", plain in "[ -~]{0,40}") {
            for text in [format!("{plain}{text}"), format!("{text}{plain}\u{1f}\"\\\u{7f}ÿ")] {
                let mut written = String::new();
                write_string(&text, &mut written);
                prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text.as_str());
                let expected = text.chars().map(|c| match c {
                    '\u{20}'.. if c != '"' && c != '\\' => c.len_utf8(),
                    '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
                    _ => 6,
                });
                prop_assert_eq!(written.len(), expected.sum::<usize>() + 2);
            }
        }
    }

    #[test]
    fn reports_hold_finite_numbers_with_all_digits() {
        let value =
            Json::parse_bytes(b"[NaN,123456789012345678901234567890,1.50]", super::super::Dialect::Lenient);
        let written = serde_json::to_string(&value.unwrap()).unwrap();
        assert_eq!(written, "[null,123456789012345678901234567890,1.50]");
    }
}
