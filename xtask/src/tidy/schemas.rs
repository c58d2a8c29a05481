//! The schemas of documents: every member and every element of a list has a type.

use serde_json::Value;

use super::Finding;
use crate::repository::Tree;

/// Where the schemas are.
const FOLDER: &str = "docs/schemas/";

/// Members whose values belong to users or to other programs.
const OF_OTHERS: &[&str] = &[
    "after",
    "args",
    "arguments",
    "before",
    "data",
    "default",
    "example",
    "examples",
    "extensions",
    "input_schema",
    "output_schema",
    "params",
    "result",
    "server_info",
    "structured_content",
    "value",
];

/// Lists whose elements belong to other programs.
const LISTS_OF_OTHERS: &[&str] = &["mcp_content"];

/// Keywords that say what a value is.
const TYPES: &[&str] = &["$ref", "allOf", "anyOf", "const", "enum", "oneOf", "type"];

/// Lists every member and list element without a type.
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.texts(".json").filter(|(path, _)| path.starts_with(FOLDER)) {
        match serde_json::from_str::<Value>(text) {
            Ok(schema) => untyped(&schema, "", "", &mut |place| {
                found.push(Finding::new(path, 1, format!("`{place}` has no type")));
            }),
            Err(error) => found.push(Finding::new(path, error.line(), "is not JSON")),
        }
    }
    found
}

/// Finds the places without a type below a schema, which describes the member `name`.
fn untyped(schema: &Value, place: &str, name: &str, found: &mut dyn FnMut(String)) {
    for (member, of_member) in entries(schema, "properties") {
        let place = format!("{place}/{member}");
        if !is_typed(of_member) && !OF_OTHERS.contains(&member) {
            found(place.clone());
        }
        untyped(of_member, &place, member, found);
    }
    let is_list = schema["type"] == "array" || schema.get("items").is_some();
    if is_list && !OF_OTHERS.contains(&name) && !LISTS_OF_OTHERS.contains(&name) {
        let place = format!("{place}[]");
        if !is_typed(&schema["items"]) {
            found(place.clone());
        }
        untyped(&schema["items"], &place, "", found);
    }
    untyped_values(schema, place, name, found);
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for alternative in schema[keyword].as_array().into_iter().flatten() {
            untyped(alternative, place, name, found);
        }
    }
    for (definition, schema) in entries(schema, "$defs") {
        untyped(schema, definition, "", found);
    }
}

/// Looks into the values of an object with any keys; one that has no schema for them belongs to another program.
fn untyped_values(schema: &Value, place: &str, name: &str, found: &mut dyn FnMut(String)) {
    if let Some(values) = schema.get("additionalProperties") {
        untyped(values, &format!("{place}{{}}"), name, found);
    }
}

fn entries<'s>(schema: &'s Value, keyword: &str) -> impl Iterator<Item = (&'s str, &'s Value)> {
    let entries = schema.get(keyword).and_then(Value::as_object).into_iter().flatten();
    entries.map(|(name, schema)| (name.as_str(), schema))
}

fn is_typed(schema: &Value) -> bool {
    TYPES.iter().any(|keyword| schema.get(keyword).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &str, expect: &[&str]) {
        let path = format!("{FOLDER}x.json");
        let found = findings(&Tree::of(&[(&path, schema), ("other.json", "nonsense")]));
        let expect = expect.iter().map(|message| Finding::new(&path, 1, *message)).collect::<Vec<_>>();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_member_has_a_type() {
        check(r##"{"properties": {"a": {"$ref": "#/x"}, "b": {"const": 1}, "c": {"type": "null"}}}"##, &[]);
        check(
            r#"{"properties": {"a": {"description": "A."}, "b": true}}"#,
            &["`/a` has no type", "`/b` has no type"],
        );
        check(r#"{"$defs": {"Call": {"properties": {"at": {}}}}}"#, &["`Call/at` has no type"]);
        check(
            r#"{"anyOf": [{"properties": {"a": {"type": "object", "properties": {"b": {}}}}}]}"#,
            &["`/a/b` has no type"],
        );
    }

    #[test]
    fn an_element_has_a_type() {
        let list = |items: &str| format!(r#"{{"properties": {{"a": {{"type": "array", {items} }}}}}}"#);
        check(&list(r#""items": {"type": "string"}"#), &[]);
        check(&list(r#""items": {}"#), &["`/a[]` has no type"]);
        check(&list(r#""minItems": 1"#), &["`/a[]` has no type"]);
        check(&list(r#""items": {"type": "array"}"#), &["`/a[][]` has no type"]);
        check(r#"{"additionalProperties": {"type": "array", "items": {}}}"#, &["`{}[]` has no type"]);
    }

    #[test]
    fn what_belongs_to_others_may_be_anything() {
        check(r#"{"properties": {"args": {}, "examples": {"type": "array", "items": {}}}}"#, &[]);
        check(r#"{"properties": {"mcp_content": {"type": ["array", "null"], "items": {}}}}"#, &[]);
        check(r#"{"properties": {"mcp_content": {}}}"#, &["`/mcp_content` has no type"]);
    }
}
