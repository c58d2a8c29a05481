//! The type that stands for a sound schema.

use serde_json::Value;

use crate::compile;
use crate::describe::{self, Property};
use crate::node::{Node, NodeId};
use crate::problem::SchemaProblem;
use crate::types::TypeSet;
use crate::validate;
use crate::violation::Violation;

/// A schema whose every keyword is understood.
///
/// There is no other way to obtain one than to compile it without a single problem, so no instance is ever
/// checked against a schema of which a part was ignored. Cheap to check with, from any thread; cloning copies
/// the rules but shares the compiled regular expressions.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: NodeId,
    pub(crate) visits: Visits,
    /// For each node the types that it leaves possible, references and alternatives included. Empty when no
    /// node has alternatives, since only choosing among them asks.
    pub(crate) possible: Vec<TypeSet>,
}

/// How often checking can come to one node with one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visits {
    /// Once: the schema has neither `anyOf` nor a `$ref` with neighbours.
    Once,
    /// Along many ways, so results must be remembered to keep the cost in bounds.
    Many,
}

impl Schema {
    /// Compiles any schema: an object or a boolean.
    ///
    /// # Errors
    ///
    /// Every problem, not the first one: those of the schemas in the order of the document, then those of its
    /// references.
    pub fn compile(schema: &Value) -> Result<Schema, Vec<SchemaProblem>> {
        compile::compile(schema, compile::Root::Any)
    }

    /// Compiles the schema of a contract, whose root must have type `object`, itself or through a `$ref`.
    ///
    /// # Errors
    ///
    /// As [`Schema::compile`], and a problem at `$` when the root allows anything but objects.
    pub fn compile_root(schema: &Value) -> Result<Schema, Vec<SchemaProblem>> {
        compile::compile(schema, compile::Root::Object)
    }

    /// Lists every way in which `instance` breaks the schema; empty means valid.
    ///
    /// The order is stable. For each value: its own type, values and bounds; then missing properties, additional
    /// properties, and what lies in its properties, sorted by name, or in its items. A value of the wrong type
    /// is reported once and not looked into. Stops after [`MAX_VIOLATIONS`](crate::MAX_VIOLATIONS).
    pub fn violations(&self, instance: &Value) -> Vec<Violation> {
        validate::violations(self, instance)
    }

    /// True if `instance` is valid. Faster than [`Schema::violations`], for which it is the same as empty.
    pub fn accepts(&self, instance: &Value) -> bool {
        validate::accepts(self, instance)
    }

    /// Lists the properties that the root names, sorted by name.
    ///
    /// Those of references and alternatives at the root are included; a property is required when every valid
    /// instance has it according to `required` outside of alternatives.
    pub fn properties(&self) -> impl Iterator<Item = Property<'_>> {
        describe::properties(self).into_iter()
    }

    /// Finds one property of the root; `None` for a name that the root does not mention.
    pub fn property(&self, name: &str) -> Option<Property<'_>> {
        self.properties().find(|property| property.name == name)
    }

    /// Says in a few words what the schema allows: `object`, `array of string`, `one of "a", "b"`.
    pub fn describe_type(&self) -> String {
        describe::describe_type(self, self.root)
    }

    /// The description of the root, if it has one.
    pub fn description(&self) -> Option<&str> {
        self.node(self.root).description.as_deref()
    }

    /// What it cannot know it allows.
    pub(crate) fn possible_types(&self, id: NodeId) -> TypeSet {
        self.possible.get(id.index()).copied().unwrap_or(TypeSet::ANY)
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
}
