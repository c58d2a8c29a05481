//! Resolves chains of `$ref`: refuses loops, and removes nodes that only refer.

use crate::limits::MAX_CHAIN;
use crate::node::{Node, NodeId};
use crate::problem::{ProblemKind, ReferenceFault, SchemaProblem};
use crate::resources::Reference;
use crate::types::TypeSet;

/// Reports references that lead back to themselves, or start too long a chain, without descending into the instance.
pub(crate) fn refuse_loops(nodes: &[Node], references: &[Reference<'_>], problems: &mut Vec<SchemaProblem>) {
    if references.is_empty() {
        return;
    }
    let chains = Chains::new(nodes);
    for reference in references {
        let fault = if chains.in_loop[reference.node.index()] {
            ReferenceFault::Loop
        } else if MAX_CHAIN < chains.length[reference.node.index()] {
            ReferenceFault::TooLong
        } else {
            continue;
        };
        let (path, pointer) = (reference.path.clone(), reference.pointer.clone());
        problems.push(SchemaProblem { path, pointer, kind: ProblemKind::Reference(fault), at: None });
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
        node.for_each_link(follow);
        if let Some(object) = &mut node.object {
            for property in &mut object.properties {
                property.description = moved[property.node.index()].clone();
                follow(&mut property.node);
            }
        }
    }
    last[root.index()]
}

/// Returns the types each node allows, including its references and alternatives.
///
/// The nodes must have no loops or long chains; this also bounds the recursion.
pub(crate) fn possible_types(nodes: &[Node]) -> Vec<TypeSet> {
    fn types_of(nodes: &[Node], id: NodeId, known: &mut [Option<TypeSet>]) -> TypeSet {
        if let Some(types) = known[id.index()] {
            return types;
        }
        let node = &nodes[id.index()];
        let mut types = node.possible_types();
        if let Some(target) = node.reference {
            types = types.intersection(types_of(nodes, target, known));
        }
        for id in node.all_of() {
            types = types.intersection(types_of(nodes, *id, known));
        }
        for alternatives in [node.any_of(), node.one_of()].into_iter().filter(|list| !list.is_empty()) {
            let any =
                alternatives.iter().map(|id| types_of(nodes, *id, known)).fold(TypeSet::NONE, TypeSet::union);
            types = types.intersection(any);
        }
        known[id.index()] = Some(types);
        types
    }
    let mut known = vec![None; nodes.len()];
    (0u32..).take(nodes.len()).map(|id| types_of(nodes, NodeId(id), &mut known)).collect()
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
    fn new(nodes: &[Node]) -> Chains {
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

    #[test]
    fn loops_without_progress_are_problems() {
        check(json!({"$ref": "#"}), &["$.$ref: refers back to itself"]);
        check(json!({"allOf": [{"not": {"$ref": "#"}}]}), &["$.allOf[0].not.$ref: refers back to itself"]);
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
    fn long_chains_are_refused_unless_only_references() {
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
