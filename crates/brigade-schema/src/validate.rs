//! Checking an instance against a sound schema.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use crate::describe;
use crate::equality::{equal, first_repeated};
use crate::limits::{MAX_EVALUATION_DEPTH, MAX_VIOLATIONS, is_too_deep};
use crate::node::{Additional, ArrayRules, Node, NodeId, NumberRules, ObjectRules, StringRules};
use crate::number::{Decimal, Normal};
use crate::path::Path;
use crate::schema::{Schema, Visits};
use crate::types::{JsonType, TypeSet};
use crate::violation::{AllowedValues, Violation, ViolationKind};

/// Lists every violation.
pub(crate) fn violations(schema: &Schema, instance: &Value) -> Vec<Violation> {
    if is_too_deep(instance) {
        return vec![Violation::new(&Path::Root, ViolationKind::TooDeep)];
    }
    let mut check = Check::new(schema, Mode::Report);
    check.walk(schema.root, instance, &Path::Root, 0);
    check.found
}

/// Says only whether there is one.
pub(crate) fn accepts(schema: &Schema, instance: &Value) -> bool {
    if is_too_deep(instance) {
        return false;
    }
    let mut check = Check::new(schema, Mode::Probe);
    check.walk(schema.root, instance, &Path::Root, 0);
    !check.failed
}

/// What a check is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// To find out whether a value is valid; ends at the first violation.
    Probe,
    /// To list violations.
    Report,
}

/// A node and the address of a value, which stays where it is during a check.
type Visit = (NodeId, usize);

struct Check<'s> {
    schema: &'s Schema,
    mode: Mode,
    found: Vec<Violation>,
    /// Set by a violation while probing.
    failed: bool,
    /// Results of probes. Without them nested alternatives would cost exponential time.
    probed: HashMap<Visit, bool>,
    /// What was reported already, and need not be again.
    reported: HashSet<Visit>,
}

impl<'s> Check<'s> {
    fn new(schema: &'s Schema, mode: Mode) -> Check<'s> {
        Check {
            schema,
            mode,
            found: Vec::new(),
            failed: false,
            probed: HashMap::new(),
            reported: HashSet::new(),
        }
    }

    fn fail(&mut self, path: &Path<'_>, kind: impl FnOnce() -> ViolationKind) {
        match self.mode {
            Mode::Probe => self.failed = true,
            Mode::Report if self.found.len() < MAX_VIOLATIONS => {
                self.found.push(Violation::new(path, kind()))
            }
            Mode::Report => {}
        }
    }

    /// True when looking further would change nothing.
    fn is_settled(&self) -> bool {
        match self.mode {
            Mode::Probe => self.failed,
            Mode::Report => MAX_VIOLATIONS <= self.found.len(),
        }
    }

    /// Checks one value against one node, unless that was done before.
    fn walk(&mut self, id: NodeId, value: &Value, path: &Path<'_>, depth: usize) {
        if self.is_settled() {
            return;
        }
        if MAX_EVALUATION_DEPTH <= depth {
            self.fail(path, || ViolationKind::TooDeep);
            return;
        }
        let node = self.schema.node(id);
        if self.schema.visits == Visits::Once {
            self.node(node, value, path, depth);
            return;
        }
        let visit = (id, std::ptr::from_ref(value).addr());
        match self.mode {
            Mode::Probe => match self.probed.get(&visit) {
                Some(valid) => self.failed = !valid,
                None => {
                    self.node(node, value, path, depth);
                    self.probed.insert(visit, !self.failed);
                }
            },
            Mode::Report => {
                if self.reported.insert(visit) {
                    self.node(node, value, path, depth);
                }
            }
        }
    }

    /// True if the value is valid for the node; reports nothing.
    fn probe(&mut self, id: NodeId, value: &Value, path: &Path<'_>, depth: usize) -> bool {
        let (mode, failed) = (self.mode, self.failed);
        (self.mode, self.failed) = (Mode::Probe, false);
        self.walk(id, value, path, depth);
        let valid = !self.failed;
        (self.mode, self.failed) = (mode, failed);
        valid
    }

    fn node(&mut self, node: &'s Node, value: &Value, path: &Path<'_>, depth: usize) {
        if !node.types.admits(JsonType::of(value)) {
            self.fail(path, || wrong_type(node.types));
            return;
        }
        if !has_allowed_value(node, value) {
            self.fail(path, || ViolationKind::Value { allowed: AllowedValues::of(node.allowed_values()) });
        }
        match value {
            Value::Number(number) => {
                if let Some(rules) = &node.number {
                    self.number(rules, number, path);
                }
            }
            Value::String(text) => {
                if let Some(rules) = &node.string {
                    self.string(rules, text, path);
                }
            }
            Value::Array(items) => {
                if let Some(rules) = &node.array {
                    self.array(rules, items, path, depth);
                }
            }
            Value::Object(entries) => {
                if let Some(rules) = &node.object {
                    self.object(rules, entries, path, depth);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
        if let Some(target) = node.reference {
            self.walk(target, value, path, depth + 1);
        }
        if !node.any_of.is_empty() {
            self.any_of(&node.any_of, value, path, depth + 1);
        }
    }

    fn number(&mut self, rules: &NumberRules, number: &Number, path: &Path<'_>) {
        let normal = Normal::of(number);
        if let Some(bound) = &rules.minimum
            && normal.compare(bound.normal) == Ordering::Less
        {
            self.fail(path, || ViolationKind::Minimum { limit: bound.written.clone() });
        }
        if let Some(bound) = &rules.exclusive_minimum
            && normal.compare(bound.normal) != Ordering::Greater
        {
            self.fail(path, || ViolationKind::ExclusiveMinimum { limit: bound.written.clone() });
        }
        if let Some(bound) = &rules.maximum
            && normal.compare(bound.normal) == Ordering::Greater
        {
            self.fail(path, || ViolationKind::Maximum { limit: bound.written.clone() });
        }
        if let Some(bound) = &rules.exclusive_maximum
            && normal.compare(bound.normal) != Ordering::Less
        {
            self.fail(path, || ViolationKind::ExclusiveMaximum { limit: bound.written.clone() });
        }
        if let Some((written, divisor)) = &rules.multiple_of
            && !Decimal::of(number).is_multiple_of(*divisor)
        {
            self.fail(path, || ViolationKind::MultipleOf { divisor: written.clone() });
        }
    }

    fn string(&mut self, rules: &StringRules, text: &str, path: &Path<'_>) {
        if rules.min_length.is_some() || rules.max_length.is_some() {
            let length = text.chars().count();
            if let Some(limit) = below(length, rules.min_length) {
                self.fail(path, || ViolationKind::MinLength { limit });
            }
            if let Some(limit) = above(length, rules.max_length) {
                self.fail(path, || ViolationKind::MaxLength { limit });
            }
        }
        if let Some(pattern) = &rules.pattern
            && !pattern.regex.is_match(text)
        {
            self.fail(path, || ViolationKind::Pattern { pattern: pattern.written.to_string() });
        }
    }

    fn array(&mut self, rules: &ArrayRules, items: &[Value], path: &Path<'_>, depth: usize) {
        if let Some(limit) = below(items.len(), rules.min_items) {
            self.fail(path, || ViolationKind::MinItems { limit });
        }
        if let Some(limit) = above(items.len(), rules.max_items) {
            self.fail(path, || ViolationKind::MaxItems { limit });
        }
        if rules.unique
            && let Some((earlier, later)) = first_repeated(items)
        {
            self.fail(path, || ViolationKind::Repeated { earlier, later });
        }
        if let Some(id) = rules.items {
            for (index, item) in items.iter().enumerate() {
                if self.is_settled() {
                    return;
                }
                self.walk(id, item, &path.index(index), depth + 1);
            }
        }
    }

    fn object(&mut self, rules: &ObjectRules, entries: &Map<String, Value>, path: &Path<'_>, depth: usize) {
        for name in rules.required.iter().filter(|name| !entries.contains_key(&***name)) {
            self.fail(&path.key(name), || ViolationKind::Required);
        }
        if rules.additional == Additional::Refused {
            for name in entries.keys().filter(|name| rules.property(name).is_none()) {
                self.fail(&path.key(name), || ViolationKind::AdditionalProperty);
            }
        }
        if let Some(limit) = below(entries.len(), rules.min_properties) {
            self.fail(path, || ViolationKind::MinProperties { limit });
        }
        if let Some(limit) = above(entries.len(), rules.max_properties) {
            self.fail(path, || ViolationKind::MaxProperties { limit });
        }
        for property in &rules.properties {
            if let Some(value) = entries.get(&*property.name) {
                self.walk(property.node, value, &path.key(&property.name), depth + 1);
            }
        }
        if let Additional::Schema(id) = rules.additional {
            for (name, value) in entries.iter().filter(|(name, _)| rules.property(name).is_none()) {
                self.walk(id, value, &path.key(name), depth + 1);
            }
        }
    }

    /// When no alternative fits, reports the one that was meant if that is clear: the only one that allows the
    /// type of the value, or the only one whose fixed properties (`"kind": {"const": …}`) the value has.
    fn any_of(&mut self, alternatives: &[NodeId], value: &Value, path: &Path<'_>, depth: usize) {
        if alternatives.iter().any(|id| self.probe(*id, value, path, depth)) {
            return;
        }
        if self.mode == Mode::Probe {
            self.failed = true;
            return;
        }
        let schema = self.schema;
        let kind = JsonType::of(value);
        let possible: Vec<NodeId> =
            alternatives.iter().copied().filter(|id| schema.possible_types(*id).admits(kind)).collect();
        let meant: Vec<NodeId> = match possible.len() {
            0 | 1 => possible.clone(),
            _ => possible
                .iter()
                .copied()
                .filter(|id| has_fixed_properties(schema.node(*id), schema, value))
                .collect(),
        };
        if let [only] = meant.as_slice() {
            self.walk(*only, value, path, depth);
            // It was reported before, or failed only for being too deep then.
            if !self.found.is_empty() {
                return;
            }
        }
        let closed = possible.iter().all(|id| !schema.node(*id).values.is_empty());
        self.fail(path, || {
            if possible.is_empty() {
                let types = alternatives.iter().map(|id| schema.possible_types(*id));
                wrong_type(types.fold(TypeSet::NONE, TypeSet::union))
            } else if closed {
                let values = possible.iter().flat_map(|id| schema.node(*id).allowed_values());
                ViolationKind::Value { allowed: AllowedValues::of(values) }
            } else {
                ViolationKind::NoAlternative {
                    alternatives: describe::describe_alternatives(schema, &possible),
                }
            }
        });
    }
}

fn wrong_type(expected: TypeSet) -> ViolationKind {
    if expected == TypeSet::NONE { ViolationKind::NotAllowed } else { ViolationKind::Type { expected } }
}

fn has_allowed_value(node: &Node, value: &Value) -> bool {
    node.values.iter().all(|list| list.iter().any(|allowed| equal(allowed, value)))
}

/// True if the value has a property for which the node lists values, and only such values in these properties.
fn has_fixed_properties(node: &Node, schema: &Schema, value: &Value) -> bool {
    let (Some(rules), Value::Object(entries)) = (&node.object, value) else {
        return false;
    };
    let mut fixed = rules.properties.iter().filter_map(|property| {
        let rule = schema.node(property.node);
        let value = entries.get(&*property.name)?;
        (!rule.values.is_empty()).then(|| has_allowed_value(rule, value))
    });
    fixed.next().is_some_and(|first| first && fixed.all(|holds| holds))
}

fn below(count: usize, limit: Option<u64>) -> Option<u64> {
    limit.filter(|limit| (count as u64) < *limit)
}

fn above(count: usize, limit: Option<u64>) -> Option<u64> {
    limit.filter(|limit| *limit < count as u64)
}
