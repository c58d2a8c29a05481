//! Compiles JSON to a [`Schema`], or to a list of every problem.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::{Map, Number, Value};

use crate::dialect::{ANNOTATIONS, Dialect, is_of_2020_12};
use crate::limits::{MAX_PATTERNS, is_too_deep};
use crate::node::{Additional, Bound, Node, NodeId, Pattern, PropertyRule};
use crate::number::{Decimal, Normal, as_count};
use crate::path::Path;
use crate::pattern;
use crate::problem::{Effect, PatternFault, ProblemKind, SchemaProblem};
use crate::references;
use crate::resources::{Reference, Resources};
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
    let mut compiler = Compiler {
        nodes: Vec::new(),
        resources: Resources::new(Dialect::of_root(schema)),
        problems: Vec::new(),
        unchecked: Vec::new(),
        ignored: Vec::new(),
        references: Vec::new(),
        patterns: HashMap::new(),
    };
    let first = compiler.schema(schema, &Path::Root);
    compiler.resolve();
    let Compiler { mut nodes, mut problems, unchecked, ignored, references, .. } = compiler;

    references::refuse_loops(&nodes, &references, &mut problems);
    let id = references::collapse(&mut nodes, first, &problems);
    let in_place = nodes.iter().any(|node| node.in_place().next().is_some());
    let possible =
        if in_place && problems.is_empty() { references::possible_types(&nodes) } else { Vec::new() };
    let visits = if nodes.iter().any(Node::visits_twice) { Visits::Many } else { Visits::Once };
    let mut compiled = Schema { nodes, root: id, visits, possible, doubts: Vec::new(), unchecked, ignored };

    // A misspelt type or a broken reference is only reported once.
    let is_reported = problems.iter().chain(&compiled.unchecked).any(|problem| match problem.kind {
        ProblemKind::UnknownType { .. } | ProblemKind::NotASchema => problem.path == "$",
        ProblemKind::Reference(_) => schema.get("$ref").is_some(),
        _ => false,
    });
    if root == Root::Object && !is_reported && compiled.root_types() != TypeSet::from(JsonType::Object) {
        problems.insert(0, SchemaProblem::new(&Path::Root, ProblemKind::RootNotObject));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    compiled.doubts = required_and_refused(compiled.node(id));
    Ok(compiled)
}

/// Lists the properties that an object must have and must not have.
fn required_and_refused(node: &Node) -> Vec<SchemaProblem> {
    let Some(rules) = node.object.as_deref().filter(|rules| rules.additional == Additional::Refused) else {
        return Vec::new();
    };
    let lost = rules.required.iter().filter(|name| !rules.describes(name));
    lost.map(|name| {
        let described = rules.properties.iter().map(|property| property.name.to_string()).collect();
        let kind = ProblemKind::RequiredAndRefused { name: name.to_string(), described };
        SchemaProblem::new(&Path::Root.key("required"), kind)
    })
    .collect()
}

pub(crate) struct Compiler<'s> {
    pub(crate) nodes: Vec<Node>,
    pub(crate) resources: Resources<'s>,
    /// Why the schema cannot be used.
    pub(crate) problems: Vec<SchemaProblem>,
    /// Why nothing is checked against it.
    pub(crate) unchecked: Vec<SchemaProblem>,
    /// The parts without effect.
    ignored: Vec<SchemaProblem>,
    pub(crate) references: Vec<Reference<'s>>,
    patterns: HashMap<&'s str, Result<regex::Regex, PatternFault>>,
}

impl<'s> Compiler<'s> {
    /// Adds a schema and its subschemas. The recursion is bounded by the nesting depth, which is checked before.
    pub(crate) fn schema(&mut self, schema: &'s Value, path: &Path<'_>) -> NodeId {
        let id =
            NodeId(u32::try_from(self.nodes.len()).expect("a schema in memory has less than 2^32 nodes"));
        self.nodes.push(Node::anything());
        let outer = self.resources.current;
        match schema {
            Value::Bool(true) => self.resources.add(schema),
            Value::Bool(false) => {
                self.resources.add(schema);
                self.nodes[id.index()].types = TypeSet::NONE;
            }
            Value::Object(keywords) => {
                self.resources.enter(schema, keywords, id);
                let node = self.keywords(id, keywords, path);
                self.nodes[id.index()] = node;
            }
            _ => {
                self.resources.add(schema);
                self.problem(path, ProblemKind::NotASchema);
            }
        }
        self.resources.current = outer;
        id
    }

    fn keywords(&mut self, id: NodeId, keywords: &'s Map<String, Value>, path: &Path<'_>) -> Node {
        let mut node = Node::anything();
        let mut unknown: Vec<String> = Vec::new();
        let mut overridden: Vec<String> = Vec::new();
        let is_draft_07 = self.resources.dialect() == Dialect::Draft07;
        // In draft-07 no other keyword applies next to a reference.
        let only_refers = is_draft_07 && keywords.contains_key("$ref");
        let has_prefix = keywords.get("items").is_some_and(Value::is_array);

        for (keyword, value) in keywords {
            let at = path.key(keyword);
            match keyword.as_str() {
                "description" => node.description = value.as_str().map(Box::from),
                annotation if ANNOTATIONS.contains(&annotation) => {}
                "$schema" => self.dialect(value, &at),
                "$ref" => match value {
                    Value::String(text) => self.refer(id, text, &at),
                    _ => self.shape(&at, "a string"),
                },
                "$defs" | "definitions" => {
                    self.schemas(value, &at);
                }
                later if is_draft_07 && is_of_2020_12(later) => unknown.push(keyword.clone()),
                other if only_refers => overridden.push(other.to_owned()),
                "$dynamicRef" => self.problem(&at, ProblemKind::DynamicReference),

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
                "pattern" => match value {
                    Value::String(text) => node.string().pattern = self.pattern(text, &at),
                    _ => self.shape(&at, "a string"),
                },

                // Before 2020-12 a list in `items` was the prefix. No dialect gives it another meaning.
                "items" if has_prefix => node.array().prefix = self.list(value, &at),
                "additionalItems" if has_prefix => node.array().items = Some(self.schema(value, &at)),
                "additionalItems" if is_draft_07 => {}
                "prefixItems" => node.array().prefix = self.list(value, &at),
                "items" => node.array().items = Some(self.schema(value, &items_path(value, path, &at))),
                "contains" => node.array().contains = Some(self.schema(value, &at)),
                "minContains" => node.array().min_contains = self.count(value, &at),
                "maxContains" => node.array().max_contains = self.count(value, &at),
                "unevaluatedItems" => node.array().unevaluated = Some(self.schema(value, &at)),
                "minItems" => node.array().min_items = self.count(value, &at),
                "maxItems" => node.array().max_items = self.count(value, &at),
                "uniqueItems" => match value {
                    Value::Bool(unique) => node.array().unique = *unique,
                    _ => self.shape(&at, "true or false"),
                },

                "properties" => node.object().properties = self.properties(value, path, &at),
                "patternProperties" => node.object().patterns = self.pattern_properties(value, &at),
                "required" => node.object().required = self.required(value, &at),
                "dependentRequired" => {
                    node.object().dependent_required.extend(self.dependent_required(value, &at));
                }
                "additionalProperties" => node.object().additional = self.additional(value, &at),
                "propertyNames" => node.object().names = Some(self.schema(value, &at)),
                "unevaluatedProperties" => node.object().unevaluated = Some(self.schema(value, &at)),
                "minProperties" => node.object().min_properties = self.count(value, &at),
                "maxProperties" => node.object().max_properties = self.count(value, &at),

                "allOf" => node.logic().all_of = self.list(value, &at),
                "anyOf" => node.logic().any_of = self.list(value, &at),
                "oneOf" => node.logic().one_of = self.list(value, &at),
                "not" => node.logic().not = Some(self.schema(value, &at)),
                "if" => node.logic().condition = Some(self.schema(value, &at)),
                "then" => node.logic().then = Some(self.schema(value, &at)),
                "else" => node.logic().otherwise = Some(self.schema(value, &at)),
                "dependentSchemas" => {
                    let schemas = self.schemas(value, &at);
                    node.logic().dependents.extend(schemas);
                }
                "dependencies" => self.dependencies(&mut node, value, &at),
                _ => unknown.push(keyword.clone()),
            }
        }
        unknown.sort();
        overridden.sort();
        if !unknown.is_empty() {
            self.problem(path, ProblemKind::UnknownKeywords { keywords: unknown });
        }
        if !overridden.is_empty() {
            self.problem(path, ProblemKind::IgnoredBesideReference { keywords: overridden });
        }
        node
    }

    fn dialect(&mut self, value: &Value, at: &Path<'_>) {
        match value.as_str().map(Dialect::named) {
            Some(Some(_)) => {}
            Some(None) => self.problem(at, ProblemKind::UnsupportedDialect),
            None => self.shape(at, "a string"),
        }
    }

    fn refer(&mut self, node: NodeId, text: &'s str, at: &Path<'_>) {
        let resource = self.resources.current;
        let (path, pointer) = (at.to_string(), at.pointer());
        self.references.push(Reference { node, text, resource, path, pointer });
    }

    /// Adds a problem to the list for its effect.
    pub(crate) fn problem(&mut self, path: &Path<'_>, kind: ProblemKind) {
        self.add(SchemaProblem::new(path, kind));
    }

    pub(crate) fn add(&mut self, problem: SchemaProblem) {
        match problem.kind.effect() {
            Effect::Refused => self.problems.push(problem),
            Effect::Unchecked => self.unchecked.push(problem),
            Effect::Ignored => self.ignored.push(problem),
        }
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
        Some(Bound { written: number.clone(), normal: Normal::from_value(number) })
    }

    fn divisor(&mut self, value: &Value, path: &Path<'_>) -> Option<(Number, Decimal)> {
        match value {
            Value::Number(number) if number.as_f64().is_some_and(|divisor| 0.0 < divisor) => {
                Some((number.clone(), Decimal::from_value(number)))
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

    fn pattern(&mut self, text: &'s str, path: &Path<'_>) -> Option<Pattern> {
        let known = self.patterns.len();
        let compiled = match self.patterns.entry(text) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(_) if MAX_PATTERNS <= known => Err(PatternFault::TooMany),
            Entry::Vacant(entry) => entry.insert(pattern::compile(text)).clone(),
        };
        match compiled {
            Ok(regex) => Some(Pattern { written: text.into(), regex }),
            Err(fault) => {
                self.problem(path, ProblemKind::Pattern(fault));
                None
            }
        }
    }

    /// Returns the members of an object of schemas.
    fn entries(&mut self, value: &'s Value, at: &Path<'_>) -> Option<&'s Map<String, Value>> {
        let entries = value.as_object();
        if entries.is_none() {
            self.shape(at, "an object of schemas");
        }
        entries
    }

    fn schemas(&mut self, value: &'s Value, at: &Path<'_>) -> Vec<(Box<str>, NodeId)> {
        let entries = self.entries(value, at).into_iter().flatten();
        entries.map(|(name, schema)| (name.as_str().into(), self.schema(schema, &at.key(name)))).collect()
    }

    fn properties(&mut self, value: &'s Value, path: &Path<'_>, at: &Path<'_>) -> Vec<PropertyRule> {
        let entries = self.entries(value, at).into_iter().flatten();
        let mut rules: Vec<PropertyRule> = entries
            .map(|(name, schema)| {
                let node = self.schema(schema, &path.property(name));
                PropertyRule { name: name.as_str().into(), node, description: None }
            })
            .collect();
        rules.sort_by(|a, b| a.name.cmp(&b.name));
        rules
    }

    fn pattern_properties(&mut self, value: &'s Value, at: &Path<'_>) -> Vec<(Pattern, NodeId)> {
        let mut rules = Vec::new();
        for (text, schema) in self.entries(value, at).into_iter().flatten() {
            let node = self.schema(schema, &at.key(text));
            rules.extend(self.pattern(text, &at.key(text)).map(|pattern| (pattern, node)));
        }
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

    fn dependent_required(&mut self, value: &Value, at: &Path<'_>) -> Vec<(Box<str>, Vec<Box<str>>)> {
        let Value::Object(entries) = value else {
            self.shape(at, "an object of lists");
            return Vec::new();
        };
        let entries = entries.iter();
        entries.map(|(name, list)| (name.as_str().into(), self.required(list, &at.key(name)))).collect()
    }

    /// `dependencies` of draft-07, which 2020-12 splits into `dependentRequired` and `dependentSchemas`.
    fn dependencies(&mut self, node: &mut Node, value: &'s Value, at: &Path<'_>) {
        for (name, rule) in self.entries(value, at).into_iter().flatten() {
            let (at, owner) = (at.key(name), name.as_str().into());
            match rule {
                Value::Array(_) => {
                    let names = self.required(rule, &at);
                    node.object().dependent_required.push((owner, names));
                }
                schema => node.logic().dependents.push((owner, self.schema(schema, &at))),
            }
        }
    }

    fn additional(&mut self, value: &'s Value, path: &Path<'_>) -> Additional {
        match value {
            Value::Bool(true) => Additional::Allowed,
            Value::Bool(false) => Additional::Refused,
            schema => Additional::Schema(self.schema(schema, path)),
        }
    }

    fn list(&mut self, value: &'s Value, path: &Path<'_>) -> Vec<NodeId> {
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
    use crate::dialect::KEYWORDS;

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
        check(json!({"items": [{}, 1]}), &["$.items[1]: schema must be an object or a boolean"]);
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

    #[track_caller]
    fn check_remarks(schema: Value, unchecked: &[&str], ignored: &[&str]) {
        let compiled = Schema::compile(&schema).unwrap_or_else(|problems| panic!("{schema}: {problems:?}"));
        let found: Vec<String> = compiled.unchecked().iter().map(SchemaProblem::unsupported).collect();
        assert_eq!(found, unchecked, "{schema}");
        let found: Vec<String> = compiled.ignored().iter().map(SchemaProblem::to_string).collect();
        assert_eq!(found, ignored, "{schema}");
        assert!(unchecked.is_empty() || compiled.accepts(&json!([1, "a"])), "nothing is checked");
    }

    #[test]
    fn unknown_keywords_are_ignored_and_listed() {
        check_remarks(
            json!({"properties": {
                "a": {"type": "string", "nullable": true, "x y": 1},
                "b": {"items": {"requried": ["a"]}}
            }, "$defs": {"unused": {"id": 1}}, "additionalItems": false}),
            &[],
            &[
                "$.$defs.unused: unknown schema keywords: id",
                "$.a: unknown schema keywords: nullable, \"x y\"",
                "$.b[]: unknown schema keywords: requried",
                "$: unknown schema keywords: additionalItems",
            ],
        );
        let problem = &Schema::compile(&json!({"requried": 1})).unwrap().ignored()[0].clone();
        assert_eq!(problem.unknown_words().0, ["requried"]);
    }

    #[test]
    fn draft_07_has_fewer_keywords() {
        let (new, old) =
            ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#");
        let schema = |dialect: &str| {
            json!({"$schema": dialect, "prefixItems": [false], "properties": {
                "a": {"$ref": "#/definitions/A", "description": "d", "minLength": 2, "enum": ["a"]}
            }, "definitions": {"A": {"type": "string"}}})
        };
        check_remarks(schema(new), &[], &[]);
        check_remarks(
            schema(old),
            &[],
            &[
                "$.a: draft-07 ignores beside `$ref`: enum, minLength",
                "$: unknown schema keywords: prefixItems",
            ],
        );
        // Each schema may have its own dialect.
        let inner = json!({"$schema": old, "properties": {"a": {"$schema": new, "prefixItems": [false]}}});
        check_remarks(inner, &[], &[]);
    }

    #[test]
    fn unsupported_parts_are_listed_with_their_place() {
        for (schema, expect) in [
            (
                json!({"properties": {"x": {"$ref": "https://example.test/a"}}}),
                "remote $ref at #/properties/x",
            ),
            (json!({"items": {"$ref": "other.json#/$defs/a"}}), "remote $ref at #/items"),
            (json!({"anyOf": [{"$dynamicRef": "#a"}]}), "$dynamicRef at #/anyOf/0"),
            (json!({"$schema": "https://example.test/own"}), "unsupported $schema at #"),
            (json!({"$schema": "https://json-schema.org/draft/2019-09/schema"}), "unsupported $schema at #"),
            (json!({"$schema": "http://json-schema.org/draft-04/schema#"}), "unsupported $schema at #"),
            (
                json!({"properties": {"a/b": {"pattern": "(?=x)"}}}),
                "pattern with look-around at #/properties/a~1b",
            ),
            (json!({"pattern": "(a)\\1"}), "pattern with a backreference at #"),
            (json!({"pattern": "(?i)a"}), "unsupported pattern at #"),
            (
                json!({"patternProperties": {"^(?!x)": {}}}),
                "pattern with look-around at #/patternProperties/^(?!x)",
            ),
        ] {
            check_remarks(schema, &[expect], &[]);
        }
        let root = json!({"$ref": "https://example.test/a"});
        assert_eq!(Schema::compile_root(&root).unwrap().unchecked().len(), 1);
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
            ("allOf", json!({}), "a list of one or more schemas"),
            ("oneOf", json!(true), "a list of one or more schemas"),
            ("prefixItems", json!({}), "a list of one or more schemas"),
            ("minContains", json!(-1), "an integer of zero or more"),
            ("dependentRequired", json!([]), "an object of lists"),
            ("dependentSchemas", json!([]), "an object of schemas"),
            ("dependencies", json!(1), "an object of schemas"),
            ("patternProperties", json!(1), "an object of schemas"),
            ("$schema", json!(7), "a string"),
            ("$ref", json!(1), "a string"),
        ] {
            check(json!({ keyword: value }), &[&format!("$.{keyword}: must be {expected}")]);
        }
    }

    #[test]
    fn patterns_are_checked() {
        check(json!({"properties": {"b": {"pattern": "("}}}), &["$.b.pattern: is not a regular expression"]);
        let many: Vec<Value> = (0..=MAX_PATTERNS).map(|n| json!({ "pattern": format!("a{n}") })).collect();
        check_remarks(json!({ "anyOf": many }), &["unsupported pattern at #/anyOf/256"], &[]);
        let same: Vec<Value> = (0..=MAX_PATTERNS).map(|_| json!({"pattern": "^a$"})).collect();
        check(json!({ "anyOf": same }), &[]);
    }

    #[test]
    fn the_listed_keywords_are_understood() {
        for keyword in KEYWORDS {
            let ignored =
                Schema::compile(&json!({ *keyword: null, "items": [true] })).map(|schema| schema.ignored);
            assert_eq!(ignored.unwrap_or_default(), [], "{keyword}");
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
        check_root(json!({"allOf": [{"type": "object"}, {"required": ["a"]}]}), &[]);
        check_root(json!({"oneOf": [{"type": "object"}, {"type": "object", "minProperties": 1}]}), &[]);
        check_root(json!({"anyOf": [{"type": "object"}, true]}), &not_object);
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
