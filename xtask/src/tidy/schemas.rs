//! Checks the schemas of documents: every member and every element of a list needs a type.

use serde_json::Value;

use super::Finding;
use crate::repository::Tree;

/// The directory of the schemas.
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
    // The `server.json` of a registry.
    "manifest",
    "output_schema",
    "params",
    "result",
    "server_info",
    "structured_content",
    "value",
];

/// Objects whose members belong to users or to other programs, and lists of such objects.
const OBJECTS_OF_OTHERS: &[&str] = &[
    // Data that a script stores in a checkpoint.
    "context",
    // Tables of tools.toml in a pack, with keys that users may add.
    "entries",
    // An entry in the file of an agent program.
    "entry",
    // Data of MCP servers.
    "error",
    "mcp_request_payload",
    "mcp_response_error",
    "mcp_server",
    "mcp_structured_content",
    "server",
];

/// Keywords that give a value a type.
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
        if !is_typed(of_member, member) && !OF_OTHERS.contains(&member) {
            found(place.clone());
        }
        untyped(of_member, &place, member, found);
    }
    let is_list = schema["type"] == "array" || schema.get("items").is_some();
    if is_list && !OF_OTHERS.contains(&name) {
        let place = format!("{place}[]");
        if !is_typed(&schema["items"], name) {
            found(place.clone());
        }
        untyped(&schema["items"], &place, "", found);
    }
    untyped_values(schema, place, name, found);
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for alternative in schema[keyword].as_array().into_iter().flatten() {
            if is_bare(alternative) && !is_typed(alternative, name) {
                found(place.to_owned());
            }
            untyped(alternative, place, name, found);
        }
    }
    for (definition, schema) in entries(schema, "$defs") {
        untyped(schema, definition, "", found);
    }
}

/// Checks the values of an object with any keys. Without a schema for them, the object belongs to another program.
fn untyped_values(schema: &Value, place: &str, name: &str, found: &mut dyn FnMut(String)) {
    if let Some(values) = schema.get("additionalProperties") {
        untyped(values, &format!("{place}{{}}"), name, found);
    }
}

fn entries<'s>(schema: &'s Value, keyword: &str) -> impl Iterator<Item = (&'s str, &'s Value)> {
    let entries = schema.get(keyword).and_then(Value::as_object).into_iter().flatten();
    entries.map(|(name, schema)| (name.as_str(), schema))
}

/// Returns whether a schema gives a member a type.
fn is_typed(schema: &Value, name: &str) -> bool {
    let has_type = TYPES.iter().any(|keyword| schema.get(keyword).is_some());
    has_type && (OBJECTS_OF_OTHERS.contains(&name) || OF_OTHERS.contains(&name) || !is_bare(schema))
}

/// Returns whether a schema says only that the value is an object.
fn is_bare(schema: &Value) -> bool {
    let types = &schema["type"];
    let is_object =
        types == "object" || types.as_array().is_some_and(|types| types.iter().any(|each| each == "object"));
    let says_more =
        ["$ref", "allOf", "anyOf", "oneOf", "properties"].iter().any(|word| schema.get(word).is_some());
    let any_values = match schema.get("additionalProperties") {
        None | Some(Value::Bool(true)) => true,
        Some(Value::Object(values)) => values.is_empty(),
        Some(_) => false,
    };
    is_object && !says_more && any_values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &str, expect: &[&str]) {
        let path = format!("{FOLDER}x.json");
        let found = findings(&Tree::from_texts(&[(&path, schema), ("other.json", "nonsense")]));
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
        check(
            r#"{"properties": {"context": {"type": ["object", "null"], "additionalProperties": {}}}}"#,
            &[],
        );
        check(r#"{"properties": {"entries": {"type": "array", "items": {"type": "object"}}}}"#, &[]);
        check(r#"{"properties": {"context": {}}}"#, &["`/context` has no type"]);
    }

    #[test]
    fn an_object_says_what_it_holds() {
        let member = |schema: &str| format!(r#"{{"properties": {{"a": {schema}}}}}"#);
        check(&member(r#"{"type": "object"}"#), &["`/a` has no type"]);
        check(&member(r#"{"type": ["object", "null"], "additionalProperties": {}}"#), &["`/a` has no type"]);
        check(&member(r#"{"type": "object", "additionalProperties": {"type": "string"}}"#), &[]);
        check(&member(r#"{"type": "object", "additionalProperties": false}"#), &[]);
        check(&member(r#"{"anyOf": [{"type": "object"}, {"type": "null"}]}"#), &["`/a` has no type"]);
        check(&member(r#"{"type": "array", "items": {"type": "object"}}"#), &["`/a[]` has no type"]);
    }
}
