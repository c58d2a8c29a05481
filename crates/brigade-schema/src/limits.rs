//! Bounds that keep hostile schemas and instances from exhausting the stack, the memory or the user.

use serde_json::Value;

/// How deep the JSON of a schema or of an instance may be nested; what the parser of `serde_json` reads is
/// never deeper.
pub const MAX_DEPTH: usize = 128;

/// How many schemas may be entered within each other while one instance is checked. A level of the instance
/// usually costs one, and one more for each `anyOf` or `$ref` with neighbours on the way.
pub(crate) const MAX_EVALUATION_DEPTH: usize = 256;

/// How many `$ref` and `anyOf` may lead from one schema to the next without going deeper into the instance.
pub(crate) const MAX_CHAIN: u32 = 64;

/// After this many violations the check stops.
pub const MAX_VIOLATIONS: usize = 1000;

/// How many different regular expressions one schema may hold.
pub(crate) const MAX_PATTERNS: usize = 256;

/// Memory that one compiled regular expression may take, in bytes.
pub(crate) const MAX_PATTERN_BYTES: usize = 1 << 20;

/// True if `value` is nested deeper than [`MAX_DEPTH`].
pub(crate) fn is_too_deep(value: &Value) -> bool {
    fn exceeds(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(items) => left == 0 || items.iter().any(|item| exceeds(item, left - 1)),
            Value::Object(entries) => left == 0 || entries.values().any(|entry| exceeds(entry, left - 1)),
            _ => false,
        }
    }
    exceeds(value, MAX_DEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
    }

    #[test]
    fn the_limit_is_inclusive() {
        assert!(!is_too_deep(&nested(MAX_DEPTH)));
        assert!(is_too_deep(&nested(MAX_DEPTH + 1)));
    }

    #[test]
    fn whatever_the_parser_reads_is_not_too_deep() {
        let text = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let read = |levels: usize| serde_json::from_str::<Value>(&text(levels));
        assert!(read(MAX_DEPTH + 1).is_err());
        let deepest = (1..=MAX_DEPTH).filter_map(|levels| read(levels).ok()).next_back().unwrap();
        assert!(!is_too_deep(&deepest));
    }
}
