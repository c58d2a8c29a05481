//! The type of a valid schema.

use serde_json::Value;

use crate::compile;
use crate::describe::{self, Property};
use crate::node::{Node, NodeId};
use crate::problem::SchemaProblem;
use crate::types::TypeSet;
use crate::validate;
use crate::violation::Violation;

/// The maximum number of reasons why nothing is checked.
const SHOWN_REASONS: usize = 3;

/// A compiled schema.
///
/// If it has parts that cannot be judged, [`Schema::unchecked`] lists them, and nothing is checked, because an
/// incomplete check would look complete. Can be used from any thread. Cloning copies the rules and shares the compiled
/// regular expressions.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: NodeId,
    pub(crate) visits: Visits,
    /// For each node the types it allows, including other nodes for the same value. Empty if there are no such nodes.
    pub(crate) possible: Vec<TypeSet>,
    /// Why no object is valid.
    pub(crate) doubts: Vec<SchemaProblem>,
    /// Why nothing is checked.
    pub(crate) unchecked: Vec<SchemaProblem>,
    /// The parts without effect.
    pub(crate) ignored: Vec<SchemaProblem>,
}

/// How often a check can reach one node with one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visits {
    /// At most once: each value has one node.
    Once,
    /// Along many paths, so results must be cached to bound the cost.
    Many,
}

impl Schema {
    /// Compiles any schema: an object or a boolean.
    ///
    /// # Errors
    ///
    /// Returns every problem: first those of the schemas in document order, then those of the references.
    pub fn compile(schema: &Value) -> Result<Schema, Vec<SchemaProblem>> {
        compile::compile(schema, compile::Root::Any)
    }

    /// Compiles the schema of a contract. Its root must have type `object`, directly or through a `$ref`.
    ///
    /// # Errors
    ///
    /// Like [`Schema::compile`], with a problem at `$` if the root allows anything but objects.
    pub fn compile_root(schema: &Value) -> Result<Schema, Vec<SchemaProblem>> {
        compile::compile(schema, compile::Root::Object)
    }

    /// Lists why the root accepts no object, as far as that can be detected: properties that are required and refused.
    pub fn doubts(&self) -> &[SchemaProblem] {
        &self.doubts
    }

    /// Lists the parts that cannot be judged here, such as a reference to another document. If there are any, nothing
    /// is checked.
    pub fn unchecked(&self) -> &[SchemaProblem] {
        &self.unchecked
    }

    /// Returns the sentence for approvals that says why no arguments are checked. `None` if they are checked.
    pub fn arguments_not_checked(&self) -> Option<String> {
        let why: Vec<String> =
            self.unchecked.iter().take(SHOWN_REASONS).map(SchemaProblem::unsupported).collect();
        (!why.is_empty()).then(|| format!("arguments not checked: {}", why.join(", ")))
    }

    /// Lists the parts without effect, such as unknown keywords.
    pub fn ignored(&self) -> &[SchemaProblem] {
        &self.ignored
    }

    /// Finds the places of doubts and other remarks in the text that the schema was read from.
    pub fn locate(&mut self, text: &str) {
        let lists = [&mut self.doubts, &mut self.unchecked, &mut self.ignored];
        lists.into_iter().flatten().for_each(|problem| problem.locate(text));
    }

    /// Lists every violation in `instance`. An empty list means it is valid, or that nothing is checked.
    ///
    /// The order is stable. For each value: its type, values and bounds; then missing properties, additional
    /// properties, and the violations in its properties, sorted by name, or in its items. A value of the wrong type is
    /// reported once and not descended into. Stops after [`MAX_VIOLATIONS`](crate::MAX_VIOLATIONS).
    pub fn violations(&self, instance: &Value) -> Vec<Violation> {
        validate::violations(self, instance)
    }

    /// Returns whether `instance` is valid, or nothing is checked. Faster than [`Schema::violations`].
    pub fn accepts(&self, instance: &Value) -> bool {
        validate::accepts(self, instance)
    }

    /// Lists the properties of the root, sorted by name.
    ///
    /// Includes the properties of references and alternatives at the root. A property is required if `required` lists
    /// it outside alternatives.
    pub fn properties(&self) -> impl Iterator<Item = Property<'_>> {
        describe::properties(self).into_iter()
    }

    /// Finds a property of the root, or `None` if the root does not mention the name.
    pub fn property(&self, name: &str) -> Option<Property<'_>> {
        self.properties().find(|property| property.name == name)
    }

    /// Describes the allowed values in a few words: `object`, `array of string`, `one of "a", "b"`.
    pub fn describe_type(&self) -> String {
        describe::describe_type(self, self.root)
    }

    /// Returns the description of the root, if it has one.
    pub fn description(&self) -> Option<&str> {
        self.node(self.root).description.as_deref()
    }

    /// Returns the types that a node allows, as far as they are known from the nodes for the same value.
    pub(crate) fn possible_types(&self, id: NodeId) -> TypeSet {
        self.possible.get(id.index()).copied().unwrap_or_else(|| self.node(id).possible_types())
    }

    pub(crate) fn root_types(&self) -> TypeSet {
        self.possible_types(self.root)
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
}
