//! Finds the place of a schema or keyword in the text of a schema.

use serde_json::{Deserializer, Value};

/// Returns line and column of the keyword in the schema with this path, or of as much of the path as there is. Columns
/// count characters.
pub(crate) fn locate(text: &str, path: &str, keyword: Option<&str>) -> Option<(usize, usize)> {
    let mut value = blank(text, 0);
    let mut shown = value;
    for segment in segments(path).chain(keyword.map(str::to_owned)) {
        let members = members(text, value)?;
        let find = |name: &str| members.iter().find(|member| member.name == name);
        let nested = |holder: &str| {
            let inner = self::members(text, find(holder)?.value)?;
            inner.into_iter().find(|member| member.name == segment)
        };
        let found = match segment.as_str() {
            "[]" => find("items").cloned(),
            name => nested("properties").or_else(|| find(name).cloned()).or_else(|| nested("$defs")),
        };
        let Some(found) = found else { break };
        (value, shown) = (found.value, found.key);
    }
    let before = text.get(..shown)?;
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    Some((line, before[start..].chars().count() + 1))
}

/// A member of an object, with the positions of its key and its value.
#[derive(Clone)]
struct Member {
    name: String,
    key: usize,
    value: usize,
}

/// Returns the members of the object that begins at a position.
fn members(text: &str, at: usize) -> Option<Vec<Member>> {
    let mut at = blank(text, text.get(at..)?.starts_with('{').then_some(at + 1)?);
    let mut found = Vec::new();
    while text.as_bytes().get(at) == Some(&b'"') {
        let mut keys = Deserializer::from_str(&text[at..]).into_iter::<String>();
        let name = keys.next()?.ok()?;
        let colon = blank(text, at + keys.byte_offset());
        let value = blank(text, colon + 1);
        let mut values = Deserializer::from_str(text.get(value..)?).into_iter::<Value>();
        values.next()?.ok()?;
        found.push(Member { name, key: at, value });
        let comma = blank(text, value + values.byte_offset());
        at = blank(text, comma + 1);
    }
    Some(found)
}

/// Returns the next position that is not blank.
fn blank(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len()
}

/// Splits a path such as `$.a[].b` or `$["a b"]`.
fn segments(path: &str) -> impl Iterator<Item = String> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    std::iter::from_fn(move || {
        if let Some(behind) = rest.strip_prefix("[]") {
            rest = behind;
            return Some("[]".to_owned());
        }
        if let Some(quoted) = rest.strip_prefix('[') {
            let mut names = Deserializer::from_str(quoted).into_iter::<String>();
            let name = names.next()?.ok()?;
            rest = quoted.get(names.byte_offset() + 1..).unwrap_or_default();
            return Some(name);
        }
        let name = rest.strip_prefix('.')?;
        let end = name.find(['.', '[']).unwrap_or(name.len());
        rest = &name[end..];
        Some(name[..end].to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
  "type": "object",
  "properties": {
    "a": { "type": "array", "items": { "oneOf": [] } },
    "a b": { "type": "text" }
  }
}"#;

    #[track_caller]
    fn check(path: &str, keyword: Option<&str>, expect: (usize, usize)) {
        assert_eq!(locate(TEXT, path, keyword), Some(expect), "{path}");
    }

    #[test]
    fn schemas_and_keywords_are_found_where_they_are_written() {
        check("$", None, (1, 1));
        check("$.type", None, (2, 3));
        check("$.a", None, (4, 5));
        check("$.a[]", Some("oneOf"), (4, 40));
        check("$[\"a b\"].type", None, (5, 14));
        check("$.nowhere", None, (1, 1));
        check("$", Some("type"), (2, 3));
        check("$", Some("nothing"), (1, 1));
    }
}
