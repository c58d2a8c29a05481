//! Numbers of results that the SDK cannot hold, such as `0.10` and `1e400`, on their way to the client.
//!
//! The SDK holds integers of 64 bits and doubles. Other numbers go through it as texts after a mark that nothing
//! outside of this process knows, and become numbers again where a message is written.

use std::borrow::Cow;
use std::sync::OnceLock;

use brigade::core::Json;
use serde_json::Value;

use crate::upstream::random_name;

/// The mark, once a number needed it.
static MARK: OnceLock<Option<String>> = OnceLock::new();

fn mark() -> Option<&'static str> {
    MARK.get_or_init(|| Some(format!("brigade-number-{}:", random_name()?))).as_deref()
}

/// Returns whether the SDK holds every number with its digits.
pub(crate) fn is_held(json: &Json) -> bool {
    match json {
        Json::Number(_) => Json::from(&json.to_serde()) == *json,
        Json::Array(elements) => elements.iter().all(is_held),
        Json::Object(members) => members.iter().all(|(_, value)| is_held(value)),
        Json::Null | Json::Bool(_) | Json::String(_) => true,
    }
}

/// Returns the value for the SDK, with marks for what it cannot hold.
pub(crate) fn mark_numbers(json: &Json) -> Value {
    match json {
        // Some servers write `NaN`, which no client reads.
        Json::Number(number) if !is_held(json) => match mark().filter(|_| is_finite_text(number.as_str())) {
            Some(mark) => Value::String(format!("{mark}{}", number.as_str())),
            // Without its own mark, the number is the nearest one that the SDK holds.
            None => json.to_serde(),
        },
        Json::Array(elements) => elements.iter().map(mark_numbers).collect(),
        Json::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), mark_numbers(value))).collect())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json.to_serde(),
    }
}

/// Returns whether a number is written as JSON has it, and not as a word.
fn is_finite_text(number: &str) -> bool {
    number.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
}

/// Returns whether a message may hold marks.
pub(crate) fn may_be_marked() -> bool {
    MARK.get().is_some()
}

/// Writes the numbers of a message that are after marks.
pub(crate) fn unmark_numbers(text: &str) -> Cow<'_, str> {
    let Some(mark) = MARK.get().and_then(Option::as_deref) else { return Cow::Borrowed(text) };
    let quoted = format!("\"{mark}");
    let mut pieces = text.split(&quoted);
    let first = pieces.next().unwrap_or_default();
    if first.len() == text.len() {
        return Cow::Borrowed(text);
    }
    let mut written = first.to_owned();
    for piece in pieces {
        let (number, rest) = piece.split_once('"').unwrap_or((piece, ""));
        written.push_str(number);
        written.push_str(rest);
    }
    Cow::Owned(written)
}

#[cfg(test)]
mod tests {
    use brigade::core::Dialect;

    use super::*;

    #[test]
    fn numbers_come_out_as_they_went_in() {
        for text in [
            r#"{"a":[0.10,1e400,-1E-7,12345678901234567890123],"b":{"c":1.00}}"#,
            r#"{"plain":[1,-2,0.5,18446744073709551615],"text":"brigade-number-:1"}"#,
            "0.10",
        ] {
            let json = Json::parse_bytes(text.as_bytes(), Dialect::Lenient).unwrap();
            assert_eq!(unmark_numbers(&mark_numbers(&json).to_string()), text);
        }
        let odd = Json::parse_bytes(b"[NaN,-Infinity]", Dialect::Lenient).unwrap();
        assert_eq!(unmark_numbers(&mark_numbers(&odd).to_string()), "[null,null]");
        assert!(is_held(&Json::parse("[1,0.5]").unwrap()) && !is_held(&Json::parse("[0.50]").unwrap()));
    }
}
