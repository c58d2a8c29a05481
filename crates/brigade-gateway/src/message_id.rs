//! Finds the id in a message that is not read to its end, so that its client gets an answer.

use brigade::core::{Dialect, Json};

use crate::message::key_of;

/// Returns the id of a message as JSON, if it occurs before the unreadable part. It must be at the top level, unique,
/// and a text or an integer. The bytes may be the beginning of a message.
pub(crate) fn id_in(bytes: &[u8]) -> Option<String> {
    let mut rest = blank(bytes).strip_prefix(b"{")?;
    let mut found = None;
    while let Some((key, after)) = value(blank(rest)).filter(|(key, _)| key.starts_with(b"\"")) {
        let Some(after) = blank(after).strip_prefix(b":") else { break };
        let Some((member, after)) = value(blank(after)) else { break };
        if Json::parse_bytes(key, Dialect::Strict).ok()?.as_str() == Some("id") {
            if found.is_some() {
                return None;
            }
            found = Some(key_of(&Json::parse_bytes(member, Dialect::Strict).ok()?)?);
        }
        let Some(after) = blank(after).strip_prefix(b",") else { break };
        rest = after;
    }
    found
}

fn blank(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii_start()
}

/// Splits off a value by its brackets and quotes. `None` if the bytes end in it.
fn value(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        let ends = match byte {
            _ if is_escaped => {
                is_escaped = false;
                false
            }
            b'\\' if in_text => {
                is_escaped = true;
                false
            }
            b'"' => {
                in_text = !in_text;
                !in_text && depth == 0
            }
            _ if in_text => false,
            b'{' | b'[' => {
                depth += 1;
                false
            }
            b'}' | b']' if depth == 0 => return Some(bytes.split_at(at)),
            b'}' | b']' => {
                depth -= 1;
                depth == 0
            }
            b',' | b':' if depth == 0 => return Some(bytes.split_at(at)),
            _ => false,
        };
        if ends {
            return Some(bytes.split_at(at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(id_in(text.as_bytes()).as_deref(), expect, "{text}");
    }

    #[test]
    fn the_id_at_the_top_is_found() {
        check(r#"{"jsonrpc":"2.0","id":77,"params":{"path":"\ud800"}}"#, Some("77"));
        check(r#"{"params":{"id":5,"x":["}",{"id":6}]},"id": "a\"b" }"#, Some(r#""a\"b""#));
        check(r#" { "\u0069d" : 7 , "x" : 1e400 }"#, Some("7"));
        check(r#"{"id":7,"params":{"content":"xxxxxx"#, Some("7"));
        check(r#"{"params":{"id":5},"method":"x"}"#, None);
        check(r#"{"params":{"content":"xxx","id":5"#, None);
        check(r#"{"id":1,"id":2}"#, None);
        check(r#"{"id":1.5}"#, None);
        check(r#"{"id":"\ud800"}"#, None);
        check(r#"{"id":7"#, None);
        check(r#"[{"id":7}]"#, None);
        check("", None);
    }

    #[test]
    fn a_prefix_has_the_same_id_or_none() {
        let text = r#"{"a":{"id":"x"},"b":["\\\"}",-1],"id":7,"params":{"content":"{\"id\":9"}}"#;
        let ids: Vec<_> = (0..=text.len()).filter_map(|end| id_in(&text.as_bytes()[..end])).collect();
        assert!(30 < ids.len() && ids.iter().all(|id| id == "7"), "{ids:?}");
    }
}
