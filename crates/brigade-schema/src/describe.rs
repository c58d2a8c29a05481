//! Describes schemas in words, for `tools describe` and for planners.

use std::collections::BTreeMap;

use crate::node::{Node, NodeId};
use crate::schema::Schema;
use crate::types::{JsonType, TypeSet};
use crate::violation::AllowedValues;

/// How many levels of nested lists a description shows.
const DEEPEST: usize = 3;

/// The maximum number of alternatives that are described.
pub(crate) const MOST_ALTERNATIVES: usize = 12;

/// A property at the root of a schema.
#[derive(Clone, Copy, Debug)]
pub struct Property<'s> {
    /// The name of the property.
    pub name: &'s str,
    /// Whether the property may be omitted.
    pub requirement: Requirement,
    /// The description, if the schema has one.
    pub description: Option<&'s str>,
    schema: &'s Schema,
    /// `None` for a name that is required but has no schema.
    node: Option<NodeId>,
    /// Whether the node applies to every value of the property.
    is_certain: bool,
}

/// Whether a property may be omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// The property must be present.
    Required,
    /// The property may be omitted.
    Optional,
}

impl Property<'_> {
    /// Returns whether the schema lists every allowed value with `enum` or `const`, also in each alternative. `null`
    /// need not be listed.
    pub fn has_fixed_values(&self) -> bool {
        let is_certain = self.is_certain && self.schema.unchecked.is_empty();
        is_certain && self.node.is_some_and(|id| lists_values(self.schema, id, DEEPEST))
    }

    /// Returns the types that the schema names; every type if it names none.
    pub fn types(&self) -> TypeSet {
        let mut next = self.node;
        for _ in 0..DEEPEST {
            let Some(node) = next.map(|id| self.schema.node(id)) else { break };
            if node.types != TypeSet::ANY {
                return node.types;
            }
            next = node.reference;
        }
        TypeSet::ANY
    }

    /// Describes the allowed values in a few words: `string`, `array of integer`, `one of "a", "b"`.
    pub fn describe_type(&self) -> String {
        self.node.map_or_else(|| "any".to_owned(), |node| describe_type(self.schema, node))
    }
}

/// Collects the properties named by the root and by every node that applies to the same value.
pub(crate) fn properties(schema: &Schema) -> Vec<Property<'_>> {
    let mut found = BTreeMap::new();
    // A node may occur in many alternatives. Each is visited once, unconditional nodes first.
    let mut seen = vec![false; schema.nodes.len()];
    let mut conditional = Vec::new();
    let mut ahead = vec![schema.root];
    let mut requirement = Requirement::Required;
    loop {
        while let Some(id) = ahead.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            let node = schema.node(id);
            collect(schema, node, requirement, &mut found);
            ahead.extend(node.reference.into_iter().chain(node.all_of().iter().copied()));
            conditional.extend(node.logic.iter().flat_map(|logic| logic.sometimes()));
        }
        if conditional.is_empty() {
            break;
        }
        requirement = Requirement::Optional;
        ahead.append(&mut conditional);
    }
    found.into_values().collect()
}

/// `listed` is the meaning of a name in `required` at this node.
fn collect<'s>(
    schema: &'s Schema,
    node: &'s Node,
    listed: Requirement,
    found: &mut BTreeMap<&'s str, Property<'s>>,
) {
    let Some(rules) = &node.object else {
        return;
    };
    let unknown = |name| Property {
        name,
        requirement: Requirement::Optional,
        description: None,
        schema,
        node: None,
        is_certain: false,
    };
    for rule in &rules.properties {
        let name = &*rule.name;
        let property = found.entry(name).or_insert_with(|| unknown(name));
        let target = schema.node(rule.node);
        if property.node.is_none() {
            property.node = Some(rule.node);
            property.is_certain = listed == Requirement::Required;
        }
        property.description =
            property.description.or(rule.description.as_deref()).or(target.description.as_deref());
    }
    for name in &rules.required {
        let property = found.entry(name).or_insert_with(|| unknown(name));
        if listed == Requirement::Required {
            property.requirement = Requirement::Required;
        }
    }
}

/// Returns a short label for the values a node allows.
pub(crate) fn describe_type(schema: &Schema, id: NodeId) -> String {
    label(schema, id, DEEPEST)
}

/// Returns a label for each alternative. Objects are distinguished by their required properties.
pub(crate) fn describe_alternatives(schema: &Schema, ids: &[NodeId]) -> Vec<String> {
    let mut labels: Vec<String> =
        ids.iter().take(MOST_ALTERNATIVES).map(|id| describe_alternative(schema, *id)).collect();
    if MOST_ALTERNATIVES < ids.len() {
        labels.push(format!("{} more", ids.len() - MOST_ALTERNATIVES));
    }
    labels
}

/// Returns a label for the values that a node allows. Objects are distinguished by their required properties.
pub(crate) fn describe_alternative(schema: &Schema, id: NodeId) -> String {
    let label = describe_type(schema, id);
    let required = schema.node(id).object.as_ref().map_or(&[][..], |rules| &rules.required);
    match required {
        [] => label,
        some if some.len() <= 3 => format!("{label} with {}", some.join(", ")),
        [first, second, rest @ ..] => format!("{label} with {first}, {second} and {} more", rest.len()),
        [only] => format!("{label} with {only}"),
    }
}

fn label(schema: &Schema, id: NodeId, left: usize) -> String {
    let node = schema.node(id);
    if !node.values.is_empty() {
        return AllowedValues::new(node.allowed_values()).to_string();
    }
    if node.types == TypeSet::ANY && left != 0 {
        if let Some(target) = node.reference {
            return label(schema, target, left - 1);
        }
        for list in [node.any_of(), node.one_of()] {
            if !list.is_empty() {
                return alternatives(schema, list, left - 1);
            }
        }
        if let Some(first) = node.all_of().first() {
            return label(schema, *first, left - 1);
        }
    }
    if node.types == TypeSet::ANY {
        return implied(node).map_or_else(|| "any".to_owned(), |kind| named(schema, node, kind, left));
    }
    let names: Vec<String> = node.types.shown().map(|kind| named(schema, node, kind, left)).collect();
    join(&names)
}

/// Returns the labels of all alternatives without duplicates.
fn alternatives(schema: &Schema, list: &[NodeId], left: usize) -> String {
    let mut names: Vec<String> = Vec::new();
    for id in list.iter().take(MOST_ALTERNATIVES) {
        let name = label(schema, *id, left);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if MOST_ALTERNATIVES < list.len() {
        names.push(format!("{} more", list.len() - MOST_ALTERNATIVES));
    }
    join(&names)
}

/// The type that the keywords imply if `type` is absent.
fn implied(node: &Node) -> Option<JsonType> {
    if node.object.is_some() {
        Some(JsonType::Object)
    } else if node.array.is_some() {
        Some(JsonType::Array)
    } else if node.string.is_some() {
        Some(JsonType::String)
    } else if node.number.is_some() {
        Some(JsonType::Number)
    } else {
        None
    }
}

fn named(schema: &Schema, node: &Node, kind: JsonType, left: usize) -> String {
    match node.array.as_ref().and_then(|rules| rules.items) {
        Some(items) if kind == JsonType::Array && left != 0 => {
            let item = label(schema, items, left - 1);
            match item.as_str() {
                "any" => "array".to_owned(),
                one if one.contains(" or ") => format!("array of ({one})"),
                one => format!("array of {one}"),
            }
        }
        _ => kind.name().to_owned(),
    }
}

fn join(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn lists_values(schema: &Schema, id: NodeId, depth: usize) -> bool {
    let node = schema.node(id);
    let is_null = || node.types.iter().all(|kind| kind == JsonType::Null);
    let lists = |id: &NodeId| 0 < depth && lists_values(schema, *id, depth - 1);
    !node.values.is_empty()
        || is_null()
        || node.reference.iter().chain(node.all_of()).any(lists)
        || [node.any_of(), node.one_of()].iter().any(|list| !list.is_empty() && list.iter().all(lists))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(schema: Value, expect: &str) {
        let compiled = Schema::compile(&schema).unwrap_or_else(|problems| panic!("{schema}: {problems:?}"));
        assert_eq!(compiled.describe_type(), expect, "{schema}");
    }

    #[test]
    fn types_read_as_words() {
        check(json!(true), "any");
        check(json!(false), "nothing");
        check(json!({"type": "string"}), "string");
        check(json!({"type": ["null", "string"]}), "string or null");
        check(json!({"type": ["integer", "number"]}), "number");
        check(json!({"type": "array"}), "array");
        check(json!({"type": "array", "items": true}), "array");
        check(json!({"type": "array", "items": {"type": "string"}}), "array of string");
        check(json!({"items": {"items": {"type": "string"}}}), "array of array of string");
        check(json!({"type": "array", "items": {"type": ["string", "null"]}}), "array of (string or null)");
        check(json!({"type": ["array", "null"], "items": {"type": "integer"}}), "array of integer or null");
        check(json!({"properties": {}}), "object");
        check(json!({"pattern": "a"}), "string");
        check(json!({"minimum": 0}), "number");
    }

    #[test]
    fn values_are_listed() {
        check(json!({"type": "string", "enum": ["a", "b"]}), "one of \"a\", \"b\"");
        check(json!({"const": 1}), "1");
        check(json!({"enum": ["a", "b"], "const": "b"}), "\"b\"");
        check(json!({"enum": []}), "nothing: no value is allowed");
        check(
            json!({ "enum": (0..30).collect::<Vec<_>>() }),
            "one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 10 more",
        );
    }

    #[test]
    fn values_are_fixed_if_every_alternative_lists_them() {
        let check = |property: Value, expect: bool| {
            let schema = json!({
                "type": "object", "properties": {"a": property},
                "$defs": {"way": {"enum": ["-x"]}, "text": {"type": "string"}}
            });
            let schema = Schema::compile_root(&schema).unwrap();
            assert_eq!(schema.property("a").unwrap().has_fixed_values(), expect, "{property}");
        };
        check(json!({"enum": ["-x", "-y"]}), true);
        check(json!({"const": "-x"}), true);
        check(json!({"$ref": "#/$defs/way"}), true);
        check(json!({"anyOf": [{"enum": ["-x"]}, {"const": "-y"}]}), true);
        check(json!({"anyOf": [{"$ref": "#/$defs/way"}, {"type": "null"}]}), true);
        check(json!({"anyOf": [{"enum": ["-x"]}, {"type": "string"}]}), false);
        check(json!({"anyOf": [{"enum": ["-x"]}, {"$ref": "#/$defs/text"}]}), false);
        check(json!({"anyOf": [{"enum": ["-x"]}, {"type": "integer"}]}), false);
        check(json!({"oneOf": [{"enum": ["-x"]}, {"const": "-y"}]}), true);
        check(json!({"allOf": [{"type": "string"}, {"enum": ["-x"]}]}), true);
        check(json!({"type": "string"}), false);
        check(json!({}), false);
        check(json!({"$ref": "#"}), false);
        // The properties of an alternative are not certain, and a schema that is not checked has no certain properties.
        for schema in [
            json!({"type": "object", "anyOf": [{"properties": {"a": {"enum": ["-x"]}}}, true]}),
            json!({"type": "object", "properties": {"a": {"enum": ["-x"]}, "b": {"$ref": "https://example.test/b"}}}),
        ] {
            let compiled = Schema::compile_root(&schema).unwrap();
            assert!(!compiled.property("a").unwrap().has_fixed_values(), "{schema}");
        }
    }

    #[test]
    fn references_and_alternatives_are_followed() {
        check(json!({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}), "string or null");
        check(json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "boolean"}}}), "boolean");
        check(json!({"type": "array", "items": {"$ref": "#"}}), "array of array of array of array");
    }

    #[test]
    fn properties_state_whether_they_may_be_omitted() {
        let schema = Schema::compile_root(&json!({
            "type": "object", "description": "Reads a file.",
            "properties": {
                "path": {"type": "string", "description": "Where it is."},
                "mode": {"$ref": "#/$defs/mode", "description": "How."},
                "limit": {"$ref": "#/$defs/limit"}
            },
            "required": ["path", "token"],
            "$ref": "#/$defs/more",
            "anyOf": [{"required": ["limit"]}, {"properties": {"all": {"const": true}}, "required": ["all"]}],
            "$defs": {
                "mode": {"enum": ["r", "w"], "description": "A mode."},
                "limit": {"type": "integer", "description": "How many."},
                "more": {"required": ["mode"]}
            }
        }))
        .unwrap();
        let rows: Vec<_> = schema
            .properties()
            .map(|property| {
                (property.name, property.requirement, property.describe_type(), property.description)
            })
            .collect();
        let row =
            |name, requirement, kind: &str, description| (name, requirement, kind.to_owned(), description);
        assert_eq!(
            rows,
            [
                row("all", Requirement::Optional, "true", None),
                row("limit", Requirement::Optional, "integer", Some("How many.")),
                row("mode", Requirement::Required, "one of \"r\", \"w\"", Some("How.")),
                row("path", Requirement::Required, "string", Some("Where it is.")),
                row("token", Requirement::Required, "any", None),
            ]
        );
        assert_eq!(schema.property("path").map(|property| property.requirement), Some(Requirement::Required));
        assert!(schema.property("other").is_none());
        assert_eq!(schema.description(), Some("Reads a file."));
    }
}
