//! Looking into the parts of reports that are plain JSON.

use brigade::core::Json;

use super::text::{Text, Tone};

/// Returns a member's text; empty when it is not there or no text.
pub(super) fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or("")
}

/// Returns a member's text, unless it is empty.
pub(super) fn some_text<'a>(value: &'a Json, key: &str) -> Option<&'a str> {
    Some(text(value, key)).filter(|text| !text.is_empty())
}

/// Returns a member that is an integer.
pub(super) fn integer(value: &Json, key: &str) -> Option<i64> {
    value.get(key).and_then(Json::as_i64)
}

/// Returns a member that is a number.
pub(super) fn number(value: &Json, key: &str) -> Option<f64> {
    value.get(key).and_then(Json::as_f64)
}

/// Tells whether a member is `true`.
pub(super) fn flag(value: &Json, key: &str) -> bool {
    value.get(key).and_then(Json::as_bool).unwrap_or(false)
}

/// Returns a member's elements; none when it is no array.
pub(super) fn list<'a>(value: &'a Json, key: &str) -> &'a [Json] {
    value.get(key).and_then(Json::as_array).unwrap_or_default()
}

/// Returns the texts of a member, joined by commas.
pub(super) fn words(value: &Json, key: &str) -> String {
    list(value, key).iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns `2 pending, 1 approved` of an object of counts.
pub(super) fn counts(value: &Json) -> Option<String> {
    let counts: Vec<String> = value
        .as_object()?
        .iter()
        .filter_map(|(name, count)| Some(format!("{} {name}", count.as_i64().filter(|count| *count != 0)?)))
        .collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

/// Writes a value in one line: texts as they are, everything else as JSON.
pub(super) fn short(value: &Json) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_compact(),
    }
}

/// Writes `yes` or `no`.
pub(super) fn yes_no(value: bool) -> Text {
    Text::from(if value { "yes" } else { "no" })
}

/// Shows a status word in the tone that fits it.
pub(super) fn status(word: &str) -> Text {
    let tone = match word {
        "approved" | "completed" | "running" | "ready" | "current" | "ok" | "resumed" => Tone::Good,
        "pending" | "held" | "waiting" | "resume-pending" | "stale" | "missing" => Tone::Warning,
        "failed" | "rejected" | "timed-out" | "interrupted" | "conflicted" | "unmanaged" | "invalid"
        | "blocked" => Tone::Bad,
        _ => Tone::Plain,
    };
    Text::new(tone, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_reads_as_nothing() {
        let value =
            Json::parse(r#"{"a": 1, "words": ["x", 2, "y"], "counts": {"pending": 2, "held": 0}}"#).unwrap();
        assert_eq!(text(&value, "a"), "");
        assert_eq!(words(&value, "words"), "x, y");
        assert_eq!(words(&value, "none"), "");
        assert_eq!(counts(value.get("counts").unwrap()), Some("2 pending".to_owned()));
        assert_eq!(counts(&Json::Null), None);
    }
}
