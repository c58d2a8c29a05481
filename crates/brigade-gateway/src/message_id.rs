//! Finds the id in a message that is not read to its end, so that its client gets an answer.

use std::cell::RefCell;
use std::fmt;

use brigade::core::{Dialect, Json};
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::message::key_of;

/// Returns the id of a message as JSON, if it occurs before the unreadable part. It must be at the top level, unique,
/// and a text or an integer. The bytes may be the beginning of a message.
pub(crate) fn id_in(bytes: &[u8]) -> Option<String> {
    let found = RefCell::new(Vec::new());
    // The message ends too early, so reading it fails after the members that are there.
    let _ = serde_json::Deserializer::from_slice(bytes).deserialize_map(Members(&found));
    match found.into_inner().as_slice() {
        // A number at the end may be cut off.
        [id] if id.get().as_bytes().as_ptr_range().end == bytes.as_ptr_range().end => None,
        [id] => key_of(&Json::parse_bytes(id.get().as_bytes(), Dialect::Strict).ok()?),
        _ => None,
    }
}

/// Collects the ids among the members of a message.
struct Members<'c, 'm>(&'c RefCell<Vec<&'m RawValue>>);

impl<'m> Visitor<'m> for Members<'_, 'm> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'m>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            if name == "id" {
                self.0.borrow_mut().push(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
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
