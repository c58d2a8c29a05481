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
    pub(crate) logic: Option<Box<LogicRules>>,
    pub(crate) description: Option<Box<str>>,
}

/// The schemas that apply to the same value.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogicRules {
    pub(crate) all_of: Vec<NodeId>,
    pub(crate) any_of: Vec<NodeId>,
    pub(crate) one_of: Vec<NodeId>,
    pub(crate) not: Option<NodeId>,
    pub(crate) condition: Option<NodeId>,
    pub(crate) then: Option<NodeId>,
    pub(crate) otherwise: Option<NodeId>,
    /// From `dependentSchemas`: for objects with this property.
    pub(crate) dependents: Vec<(Box<str>, NodeId)>,
}

impl LogicRules {
    /// Returns the schemas that apply to some values: alternatives, branches and dependents.
    pub(crate) fn sometimes(&self) -> impl Iterator<Item = NodeId> {
        let branches = [self.condition, self.then, self.otherwise];
        self.any_of
            .iter()
            .chain(&self.one_of)
            .copied()
            .chain(branches.into_iter().flatten())
            .chain(self.dependents.iter().map(|(_, id)| *id))
    }
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
    /// From `prefixItems`, or a list in `items`.
    pub(crate) prefix: Vec<NodeId>,
    /// The schema of the items after the prefix.
    pub(crate) items: Option<NodeId>,
    pub(crate) contains: Option<NodeId>,
    pub(crate) min_contains: Option<u64>,
    pub(crate) max_contains: Option<u64>,
    pub(crate) unevaluated: Option<NodeId>,
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
    /// From `dependentRequired`: with the first property, the others are required.
    pub(crate) dependent_required: Vec<(Box<str>, Vec<Box<str>>)>,
    pub(crate) patterns: Vec<(Pattern, NodeId)>,
    pub(crate) additional: Additional,
    pub(crate) names: Option<NodeId>,
    pub(crate) unevaluated: Option<NodeId>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct PropertyRule {
    pub(crate) name: Box<str>,
    pub(crate) node: NodeId,
    /// The description next to a `$ref`. It overrides the description of the target.
    pub(crate) description: Option<Box<str>>,
}

/// The rule for properties that are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Additional {
    /// Not stated by the schema. Other properties are allowed, but not evaluated.
    #[default]
    Unstated,
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
            logic: None,
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

    pub(crate) fn logic(&mut self) -> &mut LogicRules {
        self.logic.get_or_insert_default()
    }

    /// From `anyOf`.
    pub(crate) fn any_of(&self) -> &[NodeId] {
        self.logic.as_ref().map_or(&[], |logic| &logic.any_of)
    }

    /// From `oneOf`.
    pub(crate) fn one_of(&self) -> &[NodeId] {
        self.logic.as_ref().map_or(&[], |logic| &logic.one_of)
    }

    /// From `allOf`.
    pub(crate) fn all_of(&self) -> &[NodeId] {
        self.logic.as_ref().map_or(&[], |logic| &logic.all_of)
    }

    /// Returns the target if the node only refers to it.
    pub(crate) fn only_reference(&self) -> Option<NodeId> {
        let plain = self.types == TypeSet::ANY
            && self.values.is_empty()
            && self.number.is_none()
            && self.string.is_none()
            && self.array.is_none()
            && self.object.is_none()
            && self.logic.is_none();
        if plain { self.reference } else { None }
    }

    /// Returns the nodes that apply to the same value as this one.
    pub(crate) fn in_place(&self) -> impl Iterator<Item = NodeId> {
        let logic = self
            .logic
            .iter()
            .flat_map(|logic| logic.all_of.iter().copied().chain(logic.not).chain(logic.sometimes()));
        self.reference.into_iter().chain(logic)
    }

    /// Changes the link to every other node except those of properties.
    pub(crate) fn for_each_link(&mut self, mut change: impl FnMut(&mut NodeId)) {
        self.reference.iter_mut().for_each(&mut change);
        if let Some(logic) = &mut self.logic {
            let lists = [&mut logic.all_of, &mut logic.any_of, &mut logic.one_of];
            lists.into_iter().flatten().for_each(&mut change);
            let single = [&mut logic.not, &mut logic.condition, &mut logic.then, &mut logic.otherwise];
            single.into_iter().flatten().for_each(&mut change);
            logic.dependents.iter_mut().for_each(|(_, id)| change(id));
        }
        if let Some(array) = &mut self.array {
            array.prefix.iter_mut().for_each(&mut change);
            let single = [&mut array.items, &mut array.contains, &mut array.unevaluated];
            single.into_iter().flatten().for_each(&mut change);
        }
        if let Some(object) = &mut self.object {
            object.patterns.iter_mut().for_each(|(_, id)| change(id));
            [&mut object.names, &mut object.unevaluated].into_iter().flatten().for_each(&mut change);
            if let Additional::Schema(id) = &mut object.additional {
                change(id);
            }
        }
    }

    /// Returns whether two of its rules can apply different nodes to the same value.
    pub(crate) fn visits_twice(&self) -> bool {
        let array =
            self.array.as_ref().is_some_and(|rules| rules.contains.is_some() || rules.unevaluated.is_some());
        let object = self
            .object
            .as_ref()
            .is_some_and(|rules| !rules.patterns.is_empty() || rules.unevaluated.is_some());
        array || object || self.only_reference().is_none() && self.in_place().next().is_some()
    }

    /// Returns the types allowed by `type`, `enum` and `const`. Does not follow references.
    pub(crate) fn possible_types(&self) -> TypeSet {
        if self.values.is_empty() {
            return self.types;
        }
        let mut possible = TypeSet::NONE;
        for kind in self.allowed_values().map(JsonType::from_value).filter(|kind| self.types.admits(*kind)) {
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
    /// Returns whether `properties` or `patternProperties` has a rule for the name.
    pub(crate) fn describes(&self, name: &str) -> bool {
        self.property(name).is_some() || self.patterns.iter().any(|(pattern, _)| pattern.regex.is_match(name))
    }

    pub(crate) fn property(&self, name: &str) -> Option<&PropertyRule> {
        let found = self.properties.binary_search_by(|rule| (*rule.name).cmp(name));
        found.ok().map(|index| &self.properties[index])
    }
}
