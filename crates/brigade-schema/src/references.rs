//! `$ref`: finds targets, refuses loops, and removes nodes that only refer.

use std::collections::HashMap;

use crate::limits::MAX_CHAIN;
use crate::node::{Additional, Node, NodeId};
use crate::problem::{ProblemKind, ReferenceFault, SchemaProblem};
use crate::types::TypeSet;

/// A `$ref` found while compiling.
pub(crate) struct Reference<'s> {
    /// The schema that contains it.
    pub(crate) node: NodeId,
    pub(crate) text: &'s str,
    /// The path of the keyword.
    pub(crate) path: String,
}

/// The nodes of all definitions by schema, keyword (`$defs` or `definitions`) and name.
pub(crate) type Definitions<'s> = HashMap<(NodeId, &'s str, &'s str), NodeId>;

/// Sets the target of every reference, or reports a problem.
///
/// `base` is the `$id` of the root. A reference that starts with it is local.
pub(crate) fn resolve(
    nodes: &mut [Node],
    references: &[Reference<'_>],
    definitions: &Definitions<'_>,
    base: Option<&str>,
    problems: &mut Vec<SchemaProblem>,
) {
    if references.is_empty() {
        return;
    }
    let mut fault = |reference: &Reference<'_>, fault| {
        let kind = ProblemKind::Reference(fault);
        problems.push(SchemaProblem { path: reference.path.clone(), kind, at: None });
    };
    for reference in references {
        match target(nodes, reference, definitions, base) {
            Ok(target) => nodes[reference.node.index()].reference = Some(target),
            Err(found) => fault(reference, found),
        }
    }
    let chains = Chains::of(nodes);
    for reference in references {
        if chains.in_loop[reference.node.index()] {
            fault(reference, ReferenceFault::Loop);
        } else if MAX_CHAIN < chains.length[reference.node.index()] {
            fault(reference, ReferenceFault::TooLong);
        }
    }
}

/// Redirects every link to a node that only refers to the target of that node. Returns the new root. Does nothing if
/// there are problems, because loops of references would never end.
pub(crate) fn collapse(nodes: &mut [Node], root: NodeId, problems: &[SchemaProblem]) -> NodeId {
    if !problems.is_empty() || nodes.iter().all(|node| node.reference.is_none()) {
        return root;
    }
    let last: Vec<NodeId> = (0u32..)
        .take(nodes.len())
        .map(|id| {
            let mut id = NodeId(id);
            while let Some(next) = nodes[id.index()].only_reference() {
                id = next;
            }
            id
        })
        .collect();
    let moved: Vec<Option<Box<str>>> =
        nodes.iter().map(|node| node.only_reference().and_then(|_| node.description.clone())).collect();
    let follow = |id: &mut NodeId| *id = last[id.index()];
    for node in nodes.iter_mut() {
        node.reference.iter_mut().for_each(follow);
        node.any_of.iter_mut().for_each(follow);
        if let Some(array) = &mut node.array {
            array.items.iter_mut().for_each(follow);
        }
        if let Some(object) = &mut node.object {
            for property in &mut object.properties {
                property.description = moved[property.node.index()].clone();
                follow(&mut property.node);
            }
            if let Additional::Schema(id) = &mut object.additional {
                follow(id);
            }
        }
    }
    last[root.index()]
}

/// Returns the types each node allows, including its references and alternatives.
///
/// The nodes must have no loops or long chains; this also bounds the recursion.
pub(crate) fn possible_types(nodes: &[Node]) -> Vec<TypeSet> {
    fn of(nodes: &[Node], id: NodeId, known: &mut [Option<TypeSet>]) -> TypeSet {
        if let Some(types) = known[id.index()] {
            return types;
        }
        let node = &nodes[id.index()];
        let mut types = node.possible_types();
        if let Some(target) = node.reference {
            types = types.intersection(of(nodes, target, known));
        }
        if !node.any_of.is_empty() {
            let any = node.any_of.iter().map(|id| of(nodes, *id, known)).fold(TypeSet::NONE, TypeSet::union);
            types = types.intersection(any);
        }
        known[id.index()] = Some(types);
        types
    }
    let mut known = vec![None; nodes.len()];
    (0u32..).take(nodes.len()).map(|id| of(nodes, NodeId(id), &mut known)).collect()
}

/// Finds the schema that a reference names.
fn target(
    nodes: &[Node],
    reference: &Reference<'_>,
    definitions: &Definitions<'_>,
    base: Option<&str>,
) -> Result<NodeId, ReferenceFault> {
    let base = base.map(|base| base.trim_end_matches('#')).unwrap_or_default();
    let local = match reference.text.strip_prefix(base) {
        Some(rest) if rest.is_empty() || rest.starts_with('#') => rest,
        _ => reference.text,
    };
    let fragment = match local.strip_prefix('#') {
        Some(fragment) => percent_decode(fragment)?,
        None if local.is_empty() => String::new(),
        None => return Err(ReferenceFault::NotLocal),
    };
    if fragment.is_empty() {
        return Ok(NodeId(0));
    }
    let pointer = fragment.strip_prefix('/').ok_or(ReferenceFault::NotLocal)?;
    let tokens: Vec<String> = pointer.split('/').map(unescape).collect::<Result<_, _>>()?;
    follow(nodes, definitions, &tokens).ok_or(ReferenceFault::Dangling)
}

/// Follows the tokens of a JSON pointer from the root, from schema to schema.
fn follow(nodes: &[Node], definitions: &Definitions<'_>, tokens: &[String]) -> Option<NodeId> {
    let mut at = NodeId(0);
    let mut tokens = tokens.iter().map(String::as_str);
    while let Some(keyword) = tokens.next() {
        let node = &nodes[at.index()];
        at = match keyword {
            "$defs" | "definitions" => *definitions.get(&(at, keyword, tokens.next()?))?,
            "properties" => node.object.as_ref()?.property(tokens.next()?)?.node,
            "items" => node.array.as_ref()?.items?,
            "additionalProperties" => match node.object.as_ref()?.additional {
                Additional::Schema(id) => id,
                Additional::Allowed | Additional::Refused => return None,
            },
            "anyOf" => {
                let token = tokens.next()?;
                let index: usize = token.parse().ok()?;
                // `01` and `+1` parse, but they are not JSON pointer indexes.
                if index.to_string() != token {
                    return None;
                }
                *node.any_of.get(index)?
            }
            _ => return None,
        };
    }
    Some(at)
}

fn percent_decode(text: &str) -> Result<String, ReferenceFault> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
        let (high, low) = (digit(), digit());
        let code = high.zip(low).map(|(high, low)| high * 16 + low);
        decoded.push(code.and_then(|code| u8::try_from(code).ok()).ok_or(ReferenceFault::Malformed)?);
    }
    String::from_utf8(decoded).map_err(|_| ReferenceFault::Malformed)
}

/// Decodes the `~0` and `~1` of a JSON pointer.
fn unescape(token: &str) -> Result<String, ReferenceFault> {
    let mut plain = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '~' => match chars.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => return Err(ReferenceFault::Malformed),
            },
            other => other,
        });
    }
    Ok(plain)
}

/// The links between nodes that do not descend into the instance.
struct Chains {
    /// Nodes from which such links lead into a loop.
    in_loop: Vec<bool>,
    /// The longest such chain from each node, not counting nodes that only refer.
    length: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    OnStack,
    Done,
}

impl Chains {
    /// Depth first with an explicit stack, because a chain may be as long as the schema.
    fn of(nodes: &[Node]) -> Chains {
        let mut chains = Chains { in_loop: vec![false; nodes.len()], length: vec![0; nodes.len()] };
        let mut marks = vec![Mark::New; nodes.len()];
        for start in 0..nodes.len() {
            if marks[start] == Mark::New {
                chains.walk(nodes, &mut marks, start);
            }
        }
        chains
    }

    fn walk(&mut self, nodes: &[Node], marks: &mut [Mark], start: usize) {
        let mut stack: Vec<(usize, Vec<usize>)> = vec![(start, next(nodes, start))];
        marks[start] = Mark::OnStack;
        while let Some((node, ahead)) = stack.last_mut() {
            let node = *node;
            let Some(child) = ahead.pop() else {
                let own = u32::from(nodes[node].only_reference().is_none());
                let longest = next(nodes, node).into_iter().map(|child| self.length[child]).max();
                self.length[node] = longest.map_or(0, |longest| longest.saturating_add(own));
                marks[node] = Mark::Done;
                stack.pop();
                continue;
            };
            match marks[child] {
                Mark::New => {
                    marks[child] = Mark::OnStack;
                    stack.push((child, next(nodes, child)));
                }
                Mark::OnStack => {
                    let members = stack.iter().rev().map(|(member, _)| *member);
                    let mut closed = false;
                    for member in members.take_while(|member| {
                        let inside = !closed;
                        closed = *member == child;
                        inside
                    }) {
                        self.in_loop[member] = true;
                    }
                }
                Mark::Done => {}
            }
        }
    }
}

fn next(nodes: &[Node], node: usize) -> Vec<usize> {
    nodes[node].in_place().map(NodeId::index).collect()
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
        ] {
            check_target(reference);
        }
    }

    #[test]
    fn other_references_are_problems() {
        for (reference, expect) in [
            ("other.json", "unsupported reference: only `#` and `#/…` are followed"),
            ("other.json#/$defs/a", "unsupported reference: only `#` and `#/…` are followed"),
            ("#anchor", "unsupported reference: only `#` and `#/…` are followed"),
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
                json!({"$defs": {"a": true}, "anyOf": [true], "properties": {"x": {"$ref": reference}}}),
                &[&format!("$.x.$ref: {expect}")],
            );
        }
    }

    #[test]
    fn loops_without_progress_are_problems() {
        check(json!({"$ref": "#"}), &["$.$ref: refers back to itself"]);
        check(
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [true, {"$ref": "#/$defs/a"}]}}}),
            &["$.$defs.a.$ref: refers back to itself", "$.$defs.b.anyOf[1].$ref: refers back to itself"],
        );
        // Recursion through a property, an item or an additional property descends each time.
        check(json!({"properties": {"a": {"$ref": "#"}}}), &[]);
        check(json!({"items": {"$ref": "#"}}), &[]);
        check(json!({"additionalProperties": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}), &[]);
    }

    #[test]
    fn long_chains_are_problems_unless_they_are_only_references() {
        let chain = |links: usize, link: fn(usize) -> Value| {
            let definitions: serde_json::Map<String, Value> =
                (0..links).map(|n| (format!("d{n}"), link(n))).collect();
            let mut schema = json!({ "$defs": definitions, "$ref": "#/$defs/d0" });
            schema["$defs"][format!("d{links}")] = json!({"type": "string"});
            schema
        };
        let plain = chain(10_000, |n| json!({ "$ref": format!("#/$defs/d{}", n + 1) }));
        let schema = Schema::compile(&plain).unwrap();
        assert!(schema.accepts(&json!("a")) && !schema.accepts(&json!(1)));

        let link = |n: usize| json!({ "minLength": 1, "$ref": format!("#/$defs/d{}", n + 1) });
        assert!(Schema::compile(&chain(64, link)).is_ok());
        let problems = Schema::compile(&chain(65, link)).unwrap_err();
        assert_eq!(problems[0].to_string(), "$.$defs.d0.$ref: starts a chain of too many references");
    }
}
