//! A compiled schema: a flat list of nodes that refer to each other by index.

use regex::Regex;
use serde_json::{Number, Value};

use crate::equality::equal;
use crate::number::{Decimal, Normal};
use crate::types::{JsonType, TypeSet};

/// The index of a node in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One schema. All its rules apply to the same value, except those for children.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// From `type`. Empty for the schema `false`.
    pub(crate) types: TypeSet,
    /// From `enum`, `const`, or both: the value must be in each list.
    pub(crate) values: Vec<Box<[Value]>>,
    pub(crate) number: Option<Box<NumberRules>>,
    pub(crate) string: Option<Box<StringRules>>,
    pub(crate) array: Option<Box<ArrayRules>>,
    pub(crate) object: Option<Box<ObjectRules>>,
    /// From `$ref`.
    pub(crate) reference: Option<NodeId>,
    /// From `anyOf`.
    pub(crate) any_of: Vec<NodeId>,
    pub(crate) description: Option<Box<str>>,
}

/// A bound as written, and in normal form for comparing.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) written: Number,
    pub(crate) normal: Normal,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct NumberRules {
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) exclusive_minimum: Option<Bound>,
    pub(crate) exclusive_maximum: Option<Bound>,
    pub(crate) multiple_of: Option<(Number, Decimal)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct StringRules {
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) pattern: Option<Pattern>,
}

/// A regular expression as written, and compiled.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) written: Box<str>,
    pub(crate) regex: Regex,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ArrayRules {
    pub(crate) items: Option<NodeId>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) unique: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectRules {
    /// Sorted by name.
    pub(crate) properties: Vec<PropertyRule>,
    /// In schema order, without duplicates.
    pub(crate) required: Vec<Box<str>>,
    pub(crate) additional: Additional,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct PropertyRule {
    pub(crate) name: Box<str>,
    pub(crate) node: NodeId,
    /// The description beside a `$ref`. It overrides the description of the target.
    pub(crate) description: Option<Box<str>>,
}

/// The rule for properties that are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Additional {
    #[default]
    Allowed,
    Refused,
    Schema(NodeId),
}

impl Node {
    /// The schema `true`.
    pub(crate) fn anything() -> Node {
        Node {
            types: TypeSet::ANY,
            values: Vec::new(),
            number: None,
            string: None,
            array: None,
            object: None,
            reference: None,
            any_of: Vec::new(),
            description: None,
        }
    }

    pub(crate) fn number(&mut self) -> &mut NumberRules {
        self.number.get_or_insert_default()
    }

    pub(crate) fn string(&mut self) -> &mut StringRules {
        self.string.get_or_insert_default()
    }

    pub(crate) fn array(&mut self) -> &mut ArrayRules {
        self.array.get_or_insert_default()
    }

    pub(crate) fn object(&mut self) -> &mut ObjectRules {
        self.object.get_or_insert_default()
    }

    /// Returns the target if the node does nothing but refer to it.
    pub(crate) fn only_reference(&self) -> Option<NodeId> {
        let plain = self.types == TypeSet::ANY
            && self.values.is_empty()
            && self.number.is_none()
            && self.string.is_none()
            && self.array.is_none()
            && self.object.is_none()
            && self.any_of.is_empty();
        if plain { self.reference } else { None }
    }

    /// Returns the nodes that apply to the same value as this one.
    pub(crate) fn in_place(&self) -> impl Iterator<Item = NodeId> {
        self.reference.into_iter().chain(self.any_of.iter().copied())
    }

    /// Returns the types allowed by `type`, `enum` and `const`. Does not follow references.
    pub(crate) fn possible_types(&self) -> TypeSet {
        if self.values.is_empty() {
            return self.types;
        }
        let mut possible = TypeSet::NONE;
        for kind in self.allowed_values().map(JsonType::of).filter(|kind| self.types.admits(*kind)) {
            possible.insert(kind);
        }
        possible
    }

    /// Returns the values that occur in all lists. Meaningful only if there is a list.
    pub(crate) fn allowed_values(&self) -> impl Iterator<Item = &Value> {
        let (first, rest) = match self.values.split_first() {
            Some((first, rest)) => (&first[..], rest),
            None => (&[][..], &[][..]),
        };
        first.iter().filter(move |value| rest.iter().all(|list| list.iter().any(|other| equal(other, value))))
    }
}

impl ObjectRules {
    pub(crate) fn property(&self, name: &str) -> Option<&PropertyRule> {
        let found = self.properties.binary_search_by(|rule| (*rule.name).cmp(name));
        found.ok().map(|index| &self.properties[index])
    }
}
