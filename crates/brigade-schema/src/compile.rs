//! Compiles JSON to a [`Schema`], or to a list of every problem.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::{Map, Number, Value};

use crate::limits::{MAX_PATTERNS, is_too_deep};
use crate::node::{Additional, Bound, Node, NodeId, Pattern, PropertyRule};
use crate::number::{Decimal, Normal, as_count};
use crate::path::Path;
use crate::pattern;
use crate::problem::{PatternFault, ProblemKind, SchemaProblem};
use crate::references::{self, Definitions, Reference};
use crate::schema::{Schema, Visits};
use crate::types::{JsonType, TypeSet};

/// What the root of the schema may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Root {
    Any,
    Object,
}

/// Compiles `schema`, or lists every problem.
pub(crate) fn compile(schema: &Value, root: Root) -> Result<Schema, Vec<SchemaProblem>> {
    if is_too_deep(schema) {
        return Err(vec![SchemaProblem::new(&Path::Root, ProblemKind::TooDeep)]);
    }
    let mut compiler = Compiler { dialect: Dialect::of_root(schema), ..Compiler::default() };
    let first = compiler.schema(schema, &Path::Root);
    let Compiler { mut nodes, mut problems, references, definitions, .. } = compiler;

    let base = schema.get("$id").and_then(Value::as_str);
    references::resolve(&mut nodes, &references, &definitions, base, &mut problems);
    let id = references::collapse(&mut nodes, first, &problems);
    let has_unknown_type = |problem: &SchemaProblem| {
        problem.path == "$" && matches!(problem.kind, ProblemKind::UnknownType { .. })
    };
    // A misspelt type is one mistake.
    let is_known = !problems.iter().any(has_unknown_type);
    if root == Root::Object && is_known && !is_of_objects(&nodes[id.index()], schema) {
        problems.insert(0, SchemaProblem::new(&Path::Root, ProblemKind::RootNotObject));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let alternatives = nodes.iter().any(|node| !node.any_of.is_empty());
    let possible = if alternatives { references::possible_types(&nodes) } else { Vec::new() };
    let visits = if alternatives || nodes.iter().any(has_neighbours) { Visits::Many } else { Visits::Once };
    let doubts = required_and_refused(&nodes[id.index()]);
    Ok(Schema { nodes, root: id, visits, possible, doubts })
}

/// Lists the properties that an object must have and must not have.
fn required_and_refused(node: &Node) -> Vec<SchemaProblem> {
    let Some(rules) = node.object.as_deref().filter(|rules| rules.additional == Additional::Refused) else {
        return Vec::new();
    };
    let is_described = |name: &str| rules.properties.iter().any(|property| &*property.name == name);
    let lost = rules.required.iter().filter(|name| !is_described(name));
    lost.map(|name| {
        let described = rules.properties.iter().map(|property| property.name.to_string()).collect();
        let kind = ProblemKind::RequiredAndRefused { name: name.to_string(), described };
        SchemaProblem::new(&Path::Root.key("required"), kind)
    })
    .collect()
}

/// Whether a reference that does more than refer remains after collapsing. Such a node also has rules for the same
/// value.
fn has_neighbours(node: &Node) -> bool {
    node.reference.is_some() && node.only_reference().is_none()
}

/// Whether the root allows only objects. A broken root counts as such, because its problem is reported already.
fn is_of_objects(node: &Node, schema: &Value) -> bool {
    let mut objects = TypeSet::NONE;
    objects.insert(JsonType::Object);
    let reported = match schema {
        Value::Object(keywords) => keywords.contains_key("$ref") && node.only_reference().is_some(),
        Value::Bool(_) => false,
        _ => true,
    };
    node.types == objects || reported
}

/// Keywords that describe a schema and reject no instance.
const ANNOTATIONS: &[&str] =
    &["title", "default", "examples", "format", "$comment", "deprecated", "readOnly", "writeOnly"];

/// The keywords that schemas of the subset may have, without annotations.
pub(crate) const KEYWORDS: &[&str] = &[
    "description",
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
    "$schema",
];

/// The JSON Schema version of a document.
///
/// Within the subset, draft-07 differs from 2020-12 in one rule: it ignores everything beside `$ref`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Dialect {
    #[default]
    Draft202012,
    Draft07,
}

impl Dialect {
    /// Reads the value of `$schema`. An empty fragment is ignored.
    fn named(uri: &str) -> Option<Dialect> {
        match uri.strip_suffix('#').unwrap_or(uri) {
            "https://json-schema.org/draft/2020-12/schema" => Some(Dialect::Draft202012),
            "http://json-schema.org/draft-07/schema" => Some(Dialect::Draft07),
            _ => None,
        }
    }

    /// Returns the dialect of a document. It is 2020-12 if the document names none, or names one that is refused later.
    fn of_root(schema: &Value) -> Dialect {
        schema.get("$schema").and_then(Value::as_str).and_then(Dialect::named).unwrap_or_default()
    }
}

#[derive(Default)]
struct Compiler<'s> {
    dialect: Dialect,
    nodes: Vec<Node>,
    problems: Vec<SchemaProblem>,
    references: Vec<Reference<'s>>,
    definitions: Definitions<'s>,
    patterns: HashMap<&'s str, Result<regex::Regex, PatternFault>>,
}

impl<'s> Compiler<'s> {
    /// Adds a schema and its subschemas. The recursion is bounded by the nesting depth, which is checked before.
    fn schema(&mut self, schema: &'s Value, path: &Path<'_>) -> NodeId {
        let id =
            NodeId(u32::try_from(self.nodes.len()).expect("a schema in memory has less than 2^32 nodes"));
        self.nodes.push(Node::anything());
        match schema {
            Value::Bool(true) => {}
            Value::Bool(false) => self.nodes[id.index()].types = TypeSet::NONE,
            Value::Object(keywords) => {
                let node = self.keywords(id, keywords, path);
                self.nodes[id.index()] = node;
            }
            _ => self.problem(path, ProblemKind::NotASchema),
        }
        id
    }

    fn keywords(&mut self, id: NodeId, keywords: &'s Map<String, Value>, path: &Path<'_>) -> Node {
        let mut node = Node::anything();
        let mut unsupported: Vec<String> = Vec::new();
        let first_problem = self.problems.len();

        for (keyword, value) in keywords {
            let at = path.key(keyword);
            match keyword.as_str() {
                "description" => node.description = value.as_str().map(Box::from),
                annotation if ANNOTATIONS.contains(&annotation) => {}
                "$schema" => self.dialect(value, &at),
                // Below the root, `$id` starts another document with its own references.
                "$id" if matches!(path, Path::Root) => {}

                "type" => node.types = self.types(value, path, &at),
                "enum" => match value {
                    Value::Array(values) => node.values.push(values.clone().into_boxed_slice()),
                    _ => self.shape(&at, "a list"),
                },
                "const" => node.values.push(Box::new([value.clone()])),

                "minimum" => node.number().minimum = self.bound(value, &at),
                "maximum" => node.number().maximum = self.bound(value, &at),
                "exclusiveMinimum" => node.number().exclusive_minimum = self.bound(value, &at),
                "exclusiveMaximum" => node.number().exclusive_maximum = self.bound(value, &at),
                "multipleOf" => node.number().multiple_of = self.divisor(value, &at),

                "minLength" => node.string().min_length = self.count(value, &at),
                "maxLength" => node.string().max_length = self.count(value, &at),
                "pattern" => node.string().pattern = self.pattern(value, &at),

                "items" => node.array().items = Some(self.schema(value, &items_path(value, path, &at))),
                "minItems" => node.array().min_items = self.count(value, &at),
                "maxItems" => node.array().max_items = self.count(value, &at),
                "uniqueItems" => match value {
                    Value::Bool(unique) => node.array().unique = *unique,
                    _ => self.shape(&at, "true or false"),
                },

                "properties" => node.object().properties = self.properties(value, path, &at),
                "required" => node.object().required = self.required(value, &at),
                "additionalProperties" => node.object().additional = self.additional(value, &at),
                "minProperties" => node.object().min_properties = self.count(value, &at),
                "maxProperties" => node.object().max_properties = self.count(value, &at),

                "anyOf" => node.any_of = self.any_of(value, &at),
                "$ref" => match value {
                    Value::String(text) => {
                        self.references.push(Reference { node: id, text, path: at.to_string() })
                    }
                    _ => self.shape(&at, "a string"),
                },
                "$defs" | "definitions" => self.definitions(id, keyword, value, &at),
                _ => unsupported.push(keyword.clone()),
            }
        }
        if self.dialect == Dialect::Draft07 && keywords.contains_key("$ref") {
            self.beside_reference(keywords, path);
        }
        if !unsupported.is_empty() {
            unsupported.sort();
            let kind = ProblemKind::UnsupportedKeywords { keywords: unsupported };
            self.problems.insert(first_problem, SchemaProblem::new(path, kind));
        }
        node
    }

    fn dialect(&mut self, value: &Value, at: &Path<'_>) {
        match value.as_str().map(Dialect::named) {
            Some(Some(dialect)) if dialect == self.dialect => {}
            Some(_) => self.problem(at, ProblemKind::UnsupportedDialect),
            None => self.shape(at, "a string"),
        }
    }

    /// Reports the keywords that draft-07 would ignore.
    fn beside_reference(&mut self, keywords: &Map<String, Value>, path: &Path<'_>) {
        let harmless = |keyword: &str| {
            matches!(keyword, "$ref" | "$schema" | "$id" | "description" | "$defs" | "definitions")
                || ANNOTATIONS.contains(&keyword)
        };
        let mut ignored: Vec<String> =
            keywords.keys().filter(|keyword| !harmless(keyword)).cloned().collect();
        if !ignored.is_empty() {
            ignored.sort();
            self.problem(path, ProblemKind::IgnoredBesideReference { keywords: ignored });
        }
    }

    fn problem(&mut self, path: &Path<'_>, kind: ProblemKind) {
        self.problems.push(SchemaProblem::new(path, kind));
    }

    fn shape(&mut self, path: &Path<'_>, expected: &'static str) {
        self.problem(path, ProblemKind::Shape { expected });
    }

    fn types(&mut self, value: &Value, path: &Path<'_>, at: &Path<'_>) -> TypeSet {
        let mut types = TypeSet::NONE;
        let names = match value {
            Value::Array(names) if !names.is_empty() => names.as_slice(),
            one => std::slice::from_ref(one),
        };
        for name in names {
            match name.as_str().map(|name| (name, JsonType::from_name(name))) {
                Some((_, Some(kind))) => types.insert(kind),
                Some((name, None)) => {
                    self.problem(path, ProblemKind::UnknownType { name: name.to_owned() });
                }
                None => {
                    self.shape(at, "a type or a list of types");
                    break;
                }
            }
        }
        types
    }

    fn number<'v>(&mut self, value: &'v Value, path: &Path<'_>) -> Option<&'v Number> {
        match value {
            Value::Number(number) => Some(number),
            _ => {
                self.shape(path, "a number");
                None
            }
        }
    }

    fn bound(&mut self, value: &Value, path: &Path<'_>) -> Option<Bound> {
        let number = self.number(value, path)?;
        Some(Bound { written: number.clone(), normal: Normal::of(number) })
    }

    fn divisor(&mut self, value: &Value, path: &Path<'_>) -> Option<(Number, Decimal)> {
        match value {
            Value::Number(number) if number.as_f64().is_some_and(|divisor| 0.0 < divisor) => {
                Some((number.clone(), Decimal::of(number)))
            }
            _ => {
                self.shape(path, "a number above zero");
                None
            }
        }
    }

    fn count(&mut self, value: &Value, path: &Path<'_>) -> Option<u64> {
        let count = match value {
            Value::Number(number) => as_count(number),
            _ => None,
        };
        if count.is_none() {
            self.shape(path, "an integer of zero or more");
        }
        count
    }

    fn pattern(&mut self, value: &'s Value, path: &Path<'_>) -> Option<Pattern> {
        let Value::String(text) = value else {
            self.shape(path, "a string");
            return None;
        };
        let known = self.patterns.len();
        let compiled = match self.patterns.entry(text) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(_) if MAX_PATTERNS <= known => Err(PatternFault::TooMany),
            Entry::Vacant(entry) => entry.insert(pattern::compile(text)).clone(),
        };
        match compiled {
            Ok(regex) => Some(Pattern { written: text.as_str().into(), regex }),
            Err(fault) => {
                self.problem(path, ProblemKind::Pattern(fault));
                None
            }
        }
    }

    fn properties(&mut self, value: &'s Value, path: &Path<'_>, at: &Path<'_>) -> Vec<PropertyRule> {
        let Value::Object(entries) = value else {
            self.shape(at, "an object of schemas");
            return Vec::new();
        };
        let mut rules: Vec<PropertyRule> = Vec::with_capacity(entries.len());
        for (name, schema) in entries {
            let node = self.schema(schema, &path.key(name));
            rules.push(PropertyRule { name: name.as_str().into(), node, description: None });
        }
        rules.sort_by(|a, b| a.name.cmp(&b.name));
        rules
    }

    /// `null` counts as an empty list.
    fn required(&mut self, value: &Value, path: &Path<'_>) -> Vec<Box<str>> {
        let mut names: Vec<Box<str>> = Vec::new();
        let listed = match value {
            Value::Null => return names,
            Value::Array(listed) if listed.iter().all(Value::is_string) => listed,
            _ => {
                self.shape(path, "a list of strings");
                return names;
            }
        };
        let mut seen = std::collections::HashSet::with_capacity(listed.len());
        for name in listed.iter().filter_map(Value::as_str) {
            if seen.insert(name) {
                names.push(name.into());
            }
        }
        names
    }

    fn additional(&mut self, value: &'s Value, path: &Path<'_>) -> Additional {
        match value {
            Value::Bool(true) => Additional::Allowed,
            Value::Bool(false) => Additional::Refused,
            schema => Additional::Schema(self.schema(schema, path)),
        }
    }

    fn any_of(&mut self, value: &'s Value, path: &Path<'_>) -> Vec<NodeId> {
        match value {
            Value::Array(schemas) if !schemas.is_empty() => schemas
                .iter()
                .enumerate()
                .map(|(index, schema)| self.schema(schema, &path.index(index)))
                .collect(),
            _ => {
                self.shape(path, "a list of one or more schemas");
                Vec::new()
            }
        }
    }

    fn definitions(&mut self, owner: NodeId, keyword: &'s str, value: &'s Value, path: &Path<'_>) {
        let Value::Object(entries) = value else {
            self.shape(path, "an object of schemas");
            return;
        };
        for (name, schema) in entries {
            let node = self.schema(schema, &path.key(name));
            self.definitions.insert((owner, keyword, name), node);
        }
    }
}

/// The schema of the items is at `$.a[]`. A value that is not a schema is reported at the keyword, `$.a.items`.
fn items_path<'p>(value: &Value, path: &'p Path<'p>, keyword: &Path<'p>) -> Path<'p> {
    match value {
        Value::Object(_) | Value::Bool(_) => path.items(),
        _ => *keyword,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expect: &[&str]) {
        let found = match Schema::compile(&schema) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(SchemaProblem::to_string).collect(),
        };
        assert_eq!(found, expect, "{schema}");
    }

    #[track_caller]
    fn check_root(schema: Value, expect: &[&str]) {
        let found = match Schema::compile_root(&schema) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(SchemaProblem::to_string).collect(),
        };
        assert_eq!(found, expect, "{schema}");
    }

    #[test]
    fn a_full_schema_is_sound() {
        let annotated = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "tool", "title": "T",
            "description": null, "default": {}, "examples": 7, "format": "x", "$comment": [],
            "deprecated": true, "readOnly": "yes", "writeOnly": 1,
            "type": "object", "required": null, "properties": {"a": true, "b": false, "c": {}},
            "additionalProperties": {"type": ["string", "null"]}, "minProperties": 0, "maxProperties": 9.0
        });
        check(annotated.clone(), &[]);
        check_root(annotated, &[]);
    }

    #[test]
    fn a_value_that_is_not_a_schema_is_a_problem() {
        check(json!(true), &[]);
        check(json!(false), &[]);
        check(json!(null), &["$: schema must be an object or a boolean"]);
        check(json!([]), &["$: schema must be an object or a boolean"]);
        check(json!({"properties": {"g": 5}}), &["$.g: schema must be an object or a boolean"]);
        check(json!({"items": [{}]}), &["$.items: schema must be an object or a boolean"]);
        check(
            json!({"properties": {"a b": {"items": {"items": "x"}}}}),
            &["$[\"a b\"][].items: schema must be an object or a boolean"],
        );
        check(
            json!({"additionalProperties": "no"}),
            &["$.additionalProperties: schema must be an object or a boolean"],
        );
        check(json!({"anyOf": [1]}), &["$.anyOf[0]: schema must be an object or a boolean"]);
    }

    #[test]
    fn unsupported_keywords_are_listed_once_per_schema() {
        check(
            json!({"properties": {
                "a": {"type": "strin", "oneOf": [], "if": {}, "x y": 1},
                "b": {"items": {"not": {}}}
            }}),
            &[
                "$.a: unsupported schema keywords: if, oneOf, \"x y\"",
                "$.a: unsupported type \"strin\"",
                "$.b[]: unsupported schema keywords: not",
            ],
        );
        check(
            json!({"$defs": {"unused": {"allOf": []}}}),
            &["$.$defs.unused: unsupported schema keywords: allOf"],
        );
    }

    #[test]
    fn an_id_below_the_root_is_unsupported() {
        check(json!({"$id": "https://example.test/tool.json", "type": "object"}), &[]);
        check(json!({"properties": {"$id": {"type": "string"}}}), &[]);
        check(
            json!({"properties": {"a": {"$id": "inner", "items": {"$ref": "#"}}}, "$defs": {"b": {"$id": "c"}}}),
            &["$.$defs.b: unsupported schema keywords: $id", "$.a: unsupported schema keywords: $id"],
        );
    }

    #[test]
    fn only_2020_12_and_draft_07_are_supported() {
        let refused = ["$.$schema: unsupported dialect: only JSON Schema 2020-12 and draft-07 are supported"];
        for (uri, expect) in [
            ("https://json-schema.org/draft/2020-12/schema", &[][..]),
            ("https://json-schema.org/draft/2020-12/schema#", &[]),
            // As published by servers built with the MCP TypeScript SDK.
            ("http://json-schema.org/draft-07/schema#", &[]),
            ("http://json-schema.org/draft-07/schema", &[]),
            ("http://json-schema.org/draft/2020-12/schema", &refused),
            ("https://json-schema.org/draft/2020-12/schema##", &refused),
            ("https://json-schema.org/draft/2020-12/schema#a", &refused),
            ("https://json-schema.org/draft/2019-09/schema", &refused),
            ("http://json-schema.org/draft-06/schema#", &refused),
            ("http://json-schema.org/draft-04/schema#", &refused),
            ("https://example.test/own", &refused),
            ("", &refused),
        ] {
            check(json!({"$schema": uri, "type": "object"}), expect);
        }
        check(json!({"$schema": 7}), &["$.$schema: must be a string"]);
    }

    #[test]
    fn a_document_has_one_dialect() {
        let (new, old) =
            ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#");
        let refused =
            ["$.a.$schema: unsupported dialect: only JSON Schema 2020-12 and draft-07 are supported"];
        check(json!({"$schema": old, "properties": {"a": {"$schema": old}}}), &[]);
        check(json!({"properties": {"a": {"$schema": new}}}), &[]);
        check(json!({"properties": {"a": {"$schema": old}}}), &refused);
        check(json!({"$schema": old, "properties": {"a": {"$schema": new}}}), &refused);
    }

    #[test]
    fn keywords_that_draft_07_ignores_beside_a_reference_are_refused() {
        let schema = |dialect: &str, beside: Value| {
            let mut reference = json!({"$ref": "#/definitions/A", "description": "d", "default": 1});
            reference.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
            json!({"$schema": dialect, "definitions": {"A": {"type": "string"}}, "properties": {"a": reference}})
        };
        let (new, old) =
            ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#");
        check(schema(old, json!({})), &[]);
        check(schema(new, json!({"minLength": 2, "enum": ["a"]})), &[]);
        check(
            schema(old, json!({"minLength": 2, "enum": ["a"]})),
            &["$.a: unsupported beside `$ref`, where draft-07 ignores it: enum, minLength"],
        );
        check(
            json!({"$schema": old, "$ref": "#/definitions/A", "definitions": {"A": {"type": "object"}}}),
            &[],
        );
    }

    #[test]
    fn every_keyword_requires_its_type() {
        for (keyword, value, expected) in [
            ("type", json!(5), "a type or a list of types"),
            ("type", json!([]), "a type or a list of types"),
            ("type", json!(["string", 1]), "a type or a list of types"),
            ("enum", json!("a"), "a list"),
            ("minimum", json!("1"), "a number"),
            ("maximum", json!(null), "a number"),
            ("exclusiveMinimum", json!(true), "a number"),
            ("exclusiveMaximum", json!(false), "a number"),
            ("multipleOf", json!(0), "a number above zero"),
            ("multipleOf", json!(-1), "a number above zero"),
            ("minLength", json!(-1), "an integer of zero or more"),
            ("maxLength", json!(1.5), "an integer of zero or more"),
            ("minItems", json!("1"), "an integer of zero or more"),
            ("maxItems", json!([]), "an integer of zero or more"),
            ("minProperties", json!(null), "an integer of zero or more"),
            ("maxProperties", json!(-0.5), "an integer of zero or more"),
            ("pattern", json!(1), "a string"),
            ("uniqueItems", json!(1), "true or false"),
            ("required", json!("a"), "a list of strings"),
            ("required", json!(["a", 1]), "a list of strings"),
            ("properties", json!([]), "an object of schemas"),
            ("$defs", json!(null), "an object of schemas"),
            ("definitions", json!(1), "an object of schemas"),
            ("anyOf", json!([]), "a list of one or more schemas"),
            ("anyOf", json!({}), "a list of one or more schemas"),
            ("$ref", json!(1), "a string"),
        ] {
            check(json!({ keyword: value }), &[&format!("$.{keyword}: must be {expected}")]);
        }
    }

    #[test]
    fn patterns_are_checked() {
        check(
            json!({"properties": {"a": {"pattern": "(?=x)"}, "b": {"pattern": "("}}}),
            &[
                "$.a.pattern: unsupported regular expression: look-around",
                "$.b.pattern: is not a regular expression",
            ],
        );
        let many: Vec<Value> = (0..=MAX_PATTERNS).map(|n| json!({ "pattern": format!("a{n}") })).collect();
        check(
            json!({ "anyOf": many }),
            &["$.anyOf[256].pattern: too many different regular expressions in one schema"],
        );
        let same: Vec<Value> = (0..=MAX_PATTERNS).map(|_| json!({"pattern": "^a$"})).collect();
        check(json!({ "anyOf": same }), &[]);
    }

    #[test]
    fn the_listed_keywords_are_understood() {
        for keyword in KEYWORDS {
            let problems = Schema::compile(&json!({ *keyword: null })).err().unwrap_or_default();
            let is_unsupported =
                |problem: &SchemaProblem| matches!(problem.kind, ProblemKind::UnsupportedKeywords { .. });
            assert!(!problems.iter().any(is_unsupported), "{keyword}");
        }
        check_root(json!({"type": "objct"}), &["$: unsupported type \"objct\""]);
    }

    #[test]
    fn the_root_of_a_contract_allows_only_objects() {
        let not_object = ["$: root schema must have type object"];
        check_root(json!({"type": "object"}), &[]);
        check_root(json!({"type": ["object"]}), &[]);
        check_root(json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}), &[]);
        check_root(json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}), &not_object);
        check_root(json!({}), &not_object);
        check_root(json!(true), &not_object);
        check_root(json!({"properties": {}}), &not_object);
        check_root(json!({"type": ["object", "null"]}), &not_object);
        check_root(json!(7), &["$: schema must be an object or a boolean"]);
        check_root(
            json!({"type": "string", "not": {}}),
            &["$: root schema must have type object", "$: unsupported schema keywords: not"],
        );
    }

    #[test]
    fn deep_schemas_are_refused() {
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "items": inner }));
        check(deep, &[]);
        let deeper = (0..129).fold(json!({}), |inner, _| json!({ "items": inner }));
        check(deeper, &["$: nested more than 128 levels deep"]);
        let deep_values = (0..129).fold(json!(1), |inner, _| json!([inner]));
        check(json!({ "const": deep_values }), &["$: nested more than 128 levels deep"]);
    }
}
