//! Finds the place of a schema or keyword in the text of a schema.

use serde_json::{Deserializer, Value};

use crate::path::Path;

/// Returns line and column of the value at the path of a violation, such as `$.a[0]`. `None` if the text has no such
/// value.
pub fn place_of_value(text: &str, path: &str) -> Option<(usize, usize)> {
    line_and_column(text, find(text, blank(text, 0), &Path::Root, path)?)
}

/// Returns the position of the value at a path, which is at or below the value at a position.
fn find(text: &str, at: usize, here: &Path<'_>, path: &str) -> Option<usize> {
    let rest = path.strip_prefix(&here.to_string())?;
    if rest.is_empty() {
        return Some(at);
    }
    let is_list = text.as_bytes().get(at) == Some(&b'[');
    members(text, at)?.iter().enumerate().filter(|_| rest.starts_with(['.', '['])).find_map(
        |(index, member)| {
            let below = if is_list { here.index(index) } else { here.key(&member.name) };
            find(text, member.value, &below, path)
        },
    )
}

/// Returns line and column of the keyword in the schema that a JSON pointer names. If the text lacks a part of the
/// path, returns the place of the last existing part. Columns count characters.
pub(crate) fn locate(text: &str, pointer: &str, keyword: Option<&str>) -> Option<(usize, usize)> {
    let mut value = blank(text, 0);
    let mut shown = value;
    let tokens = pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
    for token in tokens.chain(keyword.map(str::to_owned)) {
        let Some(found) = members(text, value)?.into_iter().find(|member| member.name == token) else {
            break;
        };
        (value, shown) = (found.value, found.start);
    }
    line_and_column(text, shown)
}

fn line_and_column(text: &str, at: usize) -> Option<(usize, usize)> {
    let before = text.get(..at)?;
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    Some((line, before[start..].chars().count() + 1))
}

/// A member of an object or a list.
struct Member {
    /// The key, or the index.
    name: String,
    /// The position of the key, or of an element of a list.
    start: usize,
    /// The position of the value.
    value: usize,
}

/// Returns the members of the object or list that begins at a position.
fn members(text: &str, at: usize) -> Option<Vec<Member>> {
    let (is_object, end) = match text.as_bytes().get(at)? {
        b'{' => (true, b'}'),
        b'[' => (false, b']'),
        _ => return Some(Vec::new()),
    };
    let mut at = blank(text, at + 1);
    let mut found = Vec::new();
    while text.as_bytes().get(at).is_some_and(|byte| *byte != end) {
        let (mut name, mut value) = (found.len().to_string(), at);
        if is_object {
            let mut keys = Deserializer::from_str(&text[at..]).into_iter::<String>();
            name = keys.next()?.ok()?;
            value = blank(text, blank(text, at + keys.byte_offset()) + 1);
        }
        let mut values = Deserializer::from_str(text.get(value..)?).into_iter::<Value>();
        values.next()?.ok()?;
        found.push(Member { name, start: at, value });
        let comma = blank(text, value + values.byte_offset());
        if text.as_bytes().get(comma) != Some(&b',') {
            break;
        }
        at = blank(text, comma + 1);
    }
    Some(found)
}

/// Returns the next position that is not blank.
fn blank(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
  "type": "object",
  "properties": {
    "a": { "type": "array", "items": { "oneOf": [ 1,
      {}] } },
    "a b": { "type": "text" }
  }
}"#;

    #[track_caller]
    fn check(pointer: &str, keyword: Option<&str>, expect: (usize, usize)) {
        assert_eq!(locate(TEXT, pointer, keyword), Some(expect), "{pointer}");
    }

    #[test]
    fn schemas_and_keywords_are_found_in_the_text() {
        check("", None, (1, 1));
        check("/type", None, (2, 3));
        check("/properties/a", None, (4, 5));
        check("/properties/a/items", Some("oneOf"), (4, 40));
        check("/properties/a/items/oneOf/1", None, (5, 7));
        check("/properties/a b/type", None, (6, 14));
        check("/properties/nowhere", None, (3, 3));
        check("", Some("type"), (2, 3));
        check("", Some("nothing"), (1, 1));
    }

    #[track_caller]
    fn check_value(path: &str, expect: Option<(usize, usize)>) {
        let text = "{ \"a\": {\"b\": 1},\n  \"ab\": [2, {\"c d\": 3}], \"e\": \"é\", \"f\":4}";
        assert_eq!(place_of_value(text, path), expect, "{path}");
    }

    #[test]
    fn values_are_found_by_the_path_of_a_violation() {
        check_value("$", Some((1, 1)));
        check_value("$.a", Some((1, 8)));
        check_value("$.a.b", Some((1, 14)));
        check_value("$.ab", Some((2, 9)));
        check_value("$.ab[0]", Some((2, 10)));
        check_value("$.ab[1][\"c d\"]", Some((2, 21)));
        check_value("$.f", Some((2, 40)));
        for missing in ["$.x", "$.a.x", "$.ab[2]", "$.ab[0].x", "x", ""] {
            check_value(missing, None);
        }
    }
}
