//! Limits that prevent hostile schemas and instances from exhausting the stack, the memory or the user's patience.

use serde_json::Value;

/// The maximum nesting depth of a schema or an instance. The parser of `serde_json` never reads anything deeper.
pub const MAX_DEPTH: usize = 128;

/// The maximum number of nested schemas while one instance is checked. A level of the instance usually uses one, and
/// one more for each keyword such as `anyOf` or `$ref` on the way.
pub(crate) const MAX_EVALUATION_DEPTH: usize = 256;

/// The maximum number of schemas that one check visits. Results are cached, so only a schema and an instance that are
/// both large reach it.
pub(crate) const MAX_STEPS: usize = 4_000_000;

/// The maximum number of consecutive steps, such as `$ref` and `anyOf`, that do not descend into the instance.
pub(crate) const MAX_CHAIN: u32 = 64;

/// The check stops after this many violations.
pub const MAX_VIOLATIONS: usize = 1000;

/// The maximum number of different regular expressions in one schema.
pub(crate) const MAX_PATTERNS: usize = 256;

/// The maximum size of one compiled regular expression, in bytes.
pub(crate) const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Returns whether `value` is nested deeper than [`MAX_DEPTH`].
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
    fn nothing_the_parser_reads_is_too_deep() {
        let text = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let read = |levels: usize| serde_json::from_str::<Value>(&text(levels));
        assert!(read(MAX_DEPTH + 1).is_err());
        let deepest = (1..=MAX_DEPTH).filter_map(|levels| read(levels).ok()).next_back().unwrap();
        assert!(!is_too_deep(&deepest));
    }
}
