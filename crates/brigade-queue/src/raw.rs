//! Listing calls without making values of them: the text of a record, made readable on its way through.
//!
//! A list of everything that was ever called is copied from files to a report; parsing and building it again would take
//! ten times as long as reading it.

use memchr::memchr2;

use crate::entry::BATCH_KEY;
use crate::peek::{Raw, members};
use crate::record::StoredCall;

/// A call on its way into a list.
#[derive(Debug)]
pub enum ListedCall<'a> {
    /// Its record stands as it is stored: [`write_record`] copies it.
    AsStored(Record<'a>),
    /// It must be shown otherwise than it is stored: the Python program wrote it, or its runner is gone.
    Parsed(Box<StoredCall>),
}

/// The text of a record: one line of valid JSON, an object.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    line: &'a [u8],
}

impl<'a> Record<'a> {
    /// Wraps a line that was looked at.
    pub(crate) fn checked(line: &'a [u8]) -> Record<'a> {
        Record { line }
    }

    /// Returns the line.
    pub fn line(self) -> &'a [u8] {
        self.line
    }
}

/// What a report shows of a member of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Its value as it is stored.
    AsStored,
    /// Its value as it is stored, but relative paths beneath this folder: the texts under keys that end in `_path`.
    Beneath(String),
    /// This text instead.
    Text(String),
    /// Nothing: the member is left out.
    No,
}

/// The members of a record that are the queue's own, and no part of the call.
pub const OWN_MEMBERS: [&str; 4] = ["sequence", "revision", "checkpoints", BATCH_KEY];

/// Appends a record as `Json::to_pretty` would write it at a depth of nesting, without a line feed.
///
/// `show` is asked for each member, with its key and, where the value is a text without escapes, that text. Numbers that
/// are not finite become `null`.
pub fn write_record(
    record: Record<'_>,
    depth: usize,
    out: &mut Vec<u8>,
    mut show: impl FnMut(&str, Option<&str>) -> Shown,
) {
    let mut is_first = true;
    out.push(b'{');
    // The line was looked at before, so the walk comes to its end.
    let _ = members(record.line, |key, value| {
        let text = value.0.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        let text = text.filter(|text| memchr::memchr(b'\\', text).is_none());
        let shown = show(
            std::str::from_utf8(key).unwrap_or_default(),
            text.and_then(|text| std::str::from_utf8(text).ok()),
        );
        if shown == Shown::No {
            return;
        }
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        line_break(depth + 1, out);
        out.push(b'"');
        out.extend_from_slice(key);
        out.extend_from_slice(b"\": ");
        match shown {
            Shown::Text(text) => {
                out.extend_from_slice(brigade_core::Json::from(text).to_compact().as_bytes())
            }
            Shown::Beneath(folder) => {
                // As the inside of a JSON string, ready to be put in front of one.
                let prefix = brigade_core::Json::from(format!("{folder}/")).to_compact();
                write_value(value, depth + 1, out, Some(&prefix.as_bytes()[1..prefix.len() - 1]));
            }
            Shown::AsStored | Shown::No => write_value(value, depth + 1, out, None),
        }
    });
    if !is_first {
        line_break(depth, out);
    }
    out.push(b'}');
}

fn line_break(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

/// Appends a value that is known to be valid; `prefix` goes in front of relative paths.
fn write_value(value: Raw<'_>, depth: usize, out: &mut Vec<u8>, prefix: Option<&[u8]>) {
    let bytes = value.0;
    let mut depth = depth;
    let mut at = 0;
    let mut ends_like_path = false;
    let mut is_path = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at);
                let inside = &bytes[at + 1..end.saturating_sub(1).max(at + 1)];
                out.push(b'"');
                if let (true, Some(prefix)) = (is_path && !inside.starts_with(b"/"), prefix) {
                    out.extend_from_slice(prefix);
                }
                out.extend_from_slice(&bytes[at + 1..end]);
                ends_like_path = inside.ends_with(b"_path");
                at = end;
                continue;
            }
            b'{' | b'[' => {
                is_path = false;
                out.push(*byte);
                let rest = &bytes[at + 1..];
                let space = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                if let Some(close @ (b'}' | b']')) = rest.get(space) {
                    out.push(*close);
                    at += space + 2;
                    continue;
                }
                depth += 1;
                line_break(depth, out);
            }
            b'}' | b']' => {
                depth -= 1;
                line_break(depth, out);
                out.push(*byte);
            }
            b',' => {
                is_path = false;
                out.push(b',');
                line_break(depth, out);
            }
            b':' => {
                is_path = ends_like_path;
                out.extend_from_slice(b": ");
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                let length = bytes[at..]
                    .iter()
                    .take_while(|byte| !matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'))
                    .count();
                let word = &bytes[at..at + length];
                let is_finite = !word.contains(&b'N') && !word.contains(&b'I');
                out.extend_from_slice(if is_finite { word } else { b"null" });
                at += length;
                continue;
            }
        }
        at += 1;
    }
}

/// Finds the place behind the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use brigade_core::{Dialect, Json};
    use proptest::prelude::*;

    use super::*;

    fn written(line: &str, depth: usize) -> String {
        let mut out = Vec::new();
        write_record(Record::checked(line.as_bytes()), depth, &mut out, |_, _| Shown::AsStored);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_record_reads_like_a_written_value() {
        let line = r#"{"a":[],"b":{ },"c":[1,{"d":"x\"}{"}],"e":NaN,"f":[-Infinity, 1.50 ],"g":"é"}"#;
        let json = Json::parse_bytes(line.as_bytes(), Dialect::Lenient).unwrap();
        let finite = json.to_pretty().replace("NaN", "null").replace("-Infinity", "null");
        assert_eq!(written(line, 0) + "\n", finite);
    }

    #[test]
    fn paths_are_shown_beneath_a_folder() {
        let mut out = Vec::new();
        let line = br#"{"a_path":"x","p":{"q_path":"a/b","r_path":"/c","n_path":null,"z":"y_path","y":"v","l":[{"s_path":"d"}]}}"#;
        write_record(Record::checked(line), 0, &mut out, |key, _| match key {
            "p" => Shown::Beneath("/w \"q".to_owned()),
            _ => Shown::AsStored,
        });
        let shown = Json::parse(std::str::from_utf8(&out).unwrap()).unwrap();
        let expect = r#"{"a_path":"x","p":{"l":[{"s_path":"/w \"q/d"}],"n_path":null,"q_path":"/w \"q/a/b","r_path":"/c","y":"v","z":"y_path"}}"#;
        assert_eq!(shown.to_compact(), expect);
    }

    #[test]
    fn members_are_shown_as_asked() {
        let mut out = Vec::new();
        let record = Record::checked(br#"{"path":"a/b","sequence":1,"x":"y\n"}"#);
        write_record(record, 1, &mut out, |key, text| match (key, text) {
            ("path", Some(text)) => Shown::Text(format!("/w/{text}")),
            ("sequence", None) => Shown::No,
            (_, text) => {
                assert_eq!(text, None, "escapes are not undone");
                Shown::AsStored
            }
        });
        assert_eq!(String::from_utf8(out).unwrap(), "{\n    \"path\": \"/w/a/b\",\n    \"x\": \"y\\n\"\n  }");
    }

    proptest! {
        #[test]
        fn any_object_is_written_as_its_value_would_be(
            members in prop::collection::btree_map("[a-z\"\\\\é]{0,3}", prop_oneof![
                any::<i64>().prop_map(Json::from),
                "[a-z\"\\\\{}\\[\\],:é\n]{0,8}".prop_map(Json::from),
                prop::collection::vec(any::<bool>().prop_map(Json::from), 0..3).prop_map(Json::Array),
            ], 0..6)
        ) {
            let json = Json::object([("deep", Json::Object(members.clone())), ("list", Json::Array(vec![Json::Object(members)]))]);
            prop_assert_eq!(written(&json.to_compact(), 0) + "\n", json.to_pretty());
        }
    }
}
