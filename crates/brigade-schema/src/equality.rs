//! Equality of JSON values, as used by `enum`, `const` and `uniqueItems`.
//!
//! Numbers are compared by value (`1` equals `1.0`) and never equal a boolean. The order of object members does not
//! matter. Recursion is as deep as the values, which [`crate::limits`] bounds.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use serde_json::Value;

use crate::number::Normal;

/// Below this number of items, comparing all pairs is cheaper than hashing.
const FEW_ITEMS: usize = 8;

/// Returns whether two JSON values are equal.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => {
            Normal::from_value(a).compare(Normal::from_value(b)) == Ordering::Equal
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| equal(x, y)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, x)| b.get(name).is_some_and(|y| equal(x, y)))
        }
        _ => false,
    }
}

/// Returns the first item that repeats an earlier one, as (earlier, later).
///
/// Runs in linear time for all items.
pub(crate) fn first_repeated(items: &[Value]) -> Option<(usize, usize)> {
    if items.len() <= FEW_ITEMS {
        return (1..items.len()).find_map(|later| {
            (0..later).find(|earlier| equal(&items[*earlier], &items[later])).map(|earlier| (earlier, later))
        });
    }
    let state = RandomState::new();
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::with_capacity(items.len());
    for (later, item) in items.iter().enumerate() {
        let bucket = seen.entry(hash(item, &state)).or_default();
        if let Some(earlier) = bucket.iter().find(|earlier| equal(&items[**earlier], item)) {
            return Some((*earlier, later));
        }
        bucket.push(later);
    }
    None
}

/// Equal values have equal hashes.
fn hash(value: &Value, state: &RandomState) -> u64 {
    let mut hasher = state.build_hasher();
    match value {
        Value::Null => 0u8.hash(&mut hasher),
        Value::Bool(boolean) => (1u8, boolean).hash(&mut hasher),
        Value::Number(number) => (2u8, Normal::from_value(number).key()).hash(&mut hasher),
        Value::String(text) => (3u8, text).hash(&mut hasher),
        Value::Array(items) => {
            4u8.hash(&mut hasher);
            for item in items {
                hash(item, state).hash(&mut hasher);
            }
        }
        Value::Object(entries) => {
            // A sum, because the order of entries does not matter.
            let sum = entries.iter().fold(0u64, |sum, (name, entry)| {
                sum.wrapping_add(state.hash_one((name, hash(entry, state))))
            });
            (5u8, sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(a: Value, b: Value, expect: bool) {
        let state = RandomState::new();
        assert_eq!(equal(&a, &b), expect, "{a} and {b}");
        assert_eq!(hash(&a, &state) == hash(&b, &state), expect, "hashes of {a} and {b}");
    }

    #[test]
    fn equality_follows_json_schema() {
        check(json!(1), json!(1.0), true);
        check(json!(1), json!(true), false);
        check(json!(0), json!(false), false);
        check(json!(null), json!(false), false);
        check(json!("1"), json!(1), false);
        check(json!([1, 2]), json!([1.0, 2]), true);
        check(json!([1, 2]), json!([2, 1]), false);
        check(json!([[]]), json!([]), false);
        check(json!({"a": 1, "b": [true]}), json!({"b": [true], "a": 1.0}), true);
        check(json!({"a": 1}), json!({"a": 1, "b": 1}), false);
        check(json!({"a": 1}), json!({"b": 1}), false);
        check(json!({"a": 0}), json!({"a": false}), false);
    }

    #[test]
    fn the_first_repetition_is_found_in_any_list() {
        assert_eq!(first_repeated(&[]), None);
        assert_eq!(first_repeated(&[json!(1), json!(true), json!(1.0)]), Some((0, 2)));
        let mut long: Vec<Value> = (0..1000).map(|n| json!({ "n": n })).collect();
        assert_eq!(first_repeated(&long), None);
        long.push(json!({"n": 17.0}));
        assert_eq!(first_repeated(&long), Some((17, 1000)));
    }
}
