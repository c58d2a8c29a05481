//! The possible targets of references: resources, which start at an `$id`, their anchors, and places in them.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::compile::Compiler;
use crate::dialect::{Dialect, KEYWORDS};
use crate::node::NodeId;
use crate::path::Path;
use crate::problem::{ProblemKind, ReferenceFault, SchemaProblem};
use crate::uri;

/// A `$ref` found while compiling.
pub(crate) struct Reference<'s> {
    /// The schema that contains it.
    pub(crate) node: NodeId,
    pub(crate) text: &'s str,
    /// The resource that it is in.
    pub(crate) resource: usize,
    /// The path of the keyword.
    pub(crate) path: String,
    pub(crate) pointer: String,
}

/// A schema with an `$id`, or the whole document.
struct Resource {
    uri: String,
    root: NodeId,
    dialect: Dialect,
}

/// The resources of a document.
pub(crate) struct Resources<'s> {
    all: Vec<Resource>,
    /// The resource of the schema that is compiled.
    pub(crate) current: usize,
    by_uri: HashMap<String, usize>,
    /// By the root of the resource and the name.
    anchors: HashMap<(NodeId, &'s str), NodeId>,
    /// The JSON of each node, and its resource.
    schemas: Vec<(&'s Value, usize)>,
    /// The node of each JSON value that a reference asked for, by the address of the value.
    nodes: HashMap<usize, NodeId>,
}

impl<'s> Resources<'s> {
    pub(crate) fn new(dialect: Dialect) -> Resources<'s> {
        Resources {
            all: vec![Resource { uri: String::new(), root: NodeId(0), dialect }],
            current: 0,
            by_uri: HashMap::new(),
            anchors: HashMap::new(),
            schemas: Vec::new(),
            nodes: HashMap::new(),
        }
    }

    /// Returns the dialect of the current resource.
    pub(crate) fn dialect(&self) -> Dialect {
        self.all[self.current].dialect
    }

    /// Adds the JSON of the next node.
    pub(crate) fn add(&mut self, schema: &'s Value) {
        self.schemas.push((schema, self.current));
    }

    /// Adds the JSON of the next node, and makes its resource the current one.
    pub(crate) fn enter(&mut self, schema: &'s Value, keywords: &'s Map<String, Value>, node: NodeId) {
        let dialect = Dialect::from_value(schema).unwrap_or(self.dialect());
        // In draft-07 no other keyword applies next to a reference.
        let refers = dialect == Dialect::Draft07 && keywords.contains_key("$ref");
        let text = |keyword| keywords.get(keyword).and_then(Value::as_str).filter(|_| !refers);
        let (id, fragment) = text("$id").map(uri::split).unwrap_or_default();
        let outer = &self.all[self.current];
        if !id.is_empty() {
            let uri = uri::join(&outer.uri, id);
            self.by_uri.insert(uri.clone(), self.all.len());
            self.current = self.all.len();
            self.all.push(Resource { uri, root: node, dialect });
        } else if dialect != outer.dialect {
            let (uri, root) = (outer.uri.clone(), outer.root);
            self.current = self.all.len();
            self.all.push(Resource { uri, root, dialect });
        }
        self.add(schema);
        let root = self.all[self.current].root;
        let names = [Some(fragment).filter(|name| !name.is_empty()), text("$anchor"), text("$dynamicAnchor")];
        self.anchors.extend(names.into_iter().flatten().map(|name| ((root, name), node)));
    }

    fn node(&mut self, schema: &Value) -> Option<NodeId> {
        let address = |schema: &Value| std::ptr::from_ref(schema).addr();
        let known = self.nodes.len();
        let new = self.schemas[known..].iter().zip(known..);
        self.nodes
            .extend(new.filter_map(|((schema, _), id)| Some((address(schema), NodeId(id.try_into().ok()?)))));
        self.nodes.get(&address(schema)).copied()
    }
}

impl Compiler<'_> {
    /// Sets the target of every reference, or reports a problem.
    pub(crate) fn resolve(&mut self) {
        let mut next = 0;
        // A target may be compiled now for the first time, and have references itself.
        while let Some(reference) = self.references.get(next) {
            next += 1;
            let (node, text, resource) = (reference.node, reference.text, reference.resource);
            match self.target(text, resource) {
                Ok(target) => self.nodes[node.index()].reference = Some(target),
                Err(fault) => {
                    let Reference { path, pointer, .. } = &self.references[next - 1];
                    let kind = ProblemKind::Reference(fault);
                    let problem =
                        SchemaProblem { path: path.clone(), pointer: pointer.clone(), kind, at: None };
                    self.add(problem);
                }
            }
        }
    }

    /// Finds the schema that a reference names.
    fn target(&mut self, text: &str, resource: usize) -> Result<NodeId, ReferenceFault> {
        let (uri, fragment) = uri::split(text);
        let resource = match uri {
            "" => resource,
            uri => {
                let uri = uri::join(&self.resources.all[resource].uri, uri);
                *self.resources.by_uri.get(&uri).ok_or(ReferenceFault::NotLocal)?
            }
        };
        let root = self.resources.all[resource].root;
        let fragment = uri::percent_decode(fragment).ok_or(ReferenceFault::Malformed)?;
        match fragment.strip_prefix('/') {
            Some(pointer) => {
                let tokens: Option<Vec<String>> = pointer.split('/').map(uri::unescape).collect();
                self.follow(root, &tokens.ok_or(ReferenceFault::Malformed)?).ok_or(ReferenceFault::Dangling)
            }
            None if fragment.is_empty() => Ok(root),
            None => {
                let anchor = self.resources.anchors.get(&(root, fragment.as_str()));
                anchor.copied().ok_or(ReferenceFault::Dangling)
            }
        }
    }

    /// Follows the tokens of a JSON pointer from the root of a resource. A value in an unknown keyword becomes a schema
    /// if a reference leads to it.
    fn follow(&mut self, root: NodeId, tokens: &[String]) -> Option<NodeId> {
        let (mut value, mut resource) = self.resources.schemas[root.index()];
        let mut is_unknown = false;
        for token in tokens {
            if let Some(node) = self.resources.node(value) {
                resource = self.resources.schemas[node.index()].1;
                is_unknown = !KEYWORDS.contains(&token.as_str());
            }
            value = match value {
                Value::Object(entries) => entries.get(token)?,
                // `01` and `+1` parse, but they are not JSON pointer indexes.
                Value::Array(items) => {
                    items.get(token.parse::<usize>().ok().filter(|index| index.to_string() == *token)?)?
                }
                _ => return None,
            };
        }
        let known = self.resources.node(value);
        if known.is_some() || !is_unknown || !(value.is_object() || value.is_boolean()) {
            return known;
        }
        self.resources.current = resource;
        Some(self.schema_at(value, tokens, &Path::Root))
    }
}

impl<'s> Compiler<'s> {
    /// Compiles the schema that a pointer led to. The pointer is at most as long as the document is deep.
    fn schema_at(&mut self, schema: &'s Value, tokens: &[String], path: &Path<'_>) -> NodeId {
        match tokens {
            [] => self.schema(schema, path),
            [first, rest @ ..] => self.schema_at(schema, rest, &path.key(first)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{Schema, SchemaProblem};

    #[track_caller]
    fn check(schema: Value, expect: &[&str]) {
        let found = match Schema::compile(&schema) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(SchemaProblem::to_string).collect(),
        };
        assert_eq!(found, expect, "{schema}");
    }

    /// A schema with awkward names. The reference must lead to the schema that requires a string.
    #[track_caller]
    fn check_target(reference: &str) {
        let schema = Schema::compile(&json!({
            "$id": "https://example.test/tool.json",
            "$defs": {"a/b": {"type": "string"}, "c~d": {"type": "string"}, "e%f": {"type": "string"},
                      "g h": {"type": "string"}, "": {"type": "string"}, "é": {"type": "string"}},
            "definitions": {"list": {"items": {"type": "string"}},
                            "map": {"additionalProperties": {"type": "string"}},
                            "either": {"anyOf": [true, {"type": "string"}]},
                            "object": {"properties": {"x": {"type": "string"}},
                                       "$defs": {"inner": {"type": "string"}}}},
            "components": {"schemas": {"S": {"$ref": "#/components/schemas/T"}, "T": {"type": "string"}}},
            "not": {"allOf": [{"$anchor": "named", "type": "string"}, {"$id": "inner/a.json", "$defs": {"b": {"type": "string"}}}]},
            "properties": {"value": {"$ref": reference}}
        }));
        let schema = schema.unwrap_or_else(|problems| panic!("{reference}: {problems:?}"));
        assert!(schema.accepts(&json!({"value": "text"})), "{reference}");
        assert!(!schema.accepts(&json!({"value": 1})), "{reference}");
    }

    #[test]
    fn pointers_lead_to_schemas() {
        for reference in [
            "#/$defs/a~1b",
            "#/$defs/c~0d",
            "#/$defs/e%25f",
            "#/$defs/g%20h",
            "#/$defs/g h",
            "#/$defs/",
            "#/$defs/%C3%A9",
            "#/%24defs/é",
            "#/definitions/list/items",
            "#/definitions/map/additionalProperties",
            "#/definitions/either/anyOf/1",
            "#/definitions/object/properties/x",
            "#/definitions/object/$defs/inner",
            "https://example.test/tool.json#/$defs/a~1b",
            "tool.json#named",
            "#/not/allOf/0",
            "#/not/allOf/1/$defs/b",
            "inner/a.json#/$defs/b",
            "inner/../inner/./a.json#/$defs/b",
            // Not in a keyword of the dialect, as in OpenAPI.
            "#/components/schemas/S",
        ] {
            check_target(reference);
        }
    }

    #[test]
    fn other_references_are_problems() {
        for (reference, expect) in [
            ("#anchor", "does not point to a schema"),
            ("#/components/a", "does not point to a schema"),
            ("#/components/b", "does not point to a schema"),
            ("#/$defs/b", "does not point to a schema"),
            ("#/$defs", "does not point to a schema"),
            ("#/properties/x/type", "does not point to a schema"),
            ("#/anyOf/00", "does not point to a schema"),
            ("#/$defs/a/", "does not point to a schema"),
            ("#/$defs/~2", "is not a JSON pointer"),
            ("#/$defs/a~", "is not a JSON pointer"),
            ("#/$defs/%4", "is not a JSON pointer"),
            ("#/$defs/%ff", "is not a JSON pointer"),
        ] {
            check(
                json!({"$defs": {"a": true}, "anyOf": [true], "components": {"b": 1}, "properties": {"x": {"$ref": reference}}}),
                &[&format!("$.x.$ref: {expect}")],
            );
        }
    }
}
