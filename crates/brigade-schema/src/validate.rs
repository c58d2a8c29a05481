//! Checks an instance against a schema.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use crate::describe;
use crate::equality::{equal, first_repeated};
use crate::limits::{MAX_EVALUATION_DEPTH, MAX_STEPS, MAX_VIOLATIONS, is_too_deep};
use crate::node::{Additional, ArrayRules, LogicRules, Node, NodeId, NumberRules, ObjectRules, StringRules};
use crate::number::{Decimal, Normal};
use crate::path::Path;
use crate::schema::{Schema, Visits};
use crate::types::{JsonType, TypeSet};
use crate::violation::{AllowedValues, Violation, ViolationKind};

/// Lists every violation.
pub(crate) fn violations(schema: &Schema, instance: &Value) -> Vec<Violation> {
    check(schema, instance, Mode::Report).found
}

/// Returns whether there is no violation.
pub(crate) fn accepts(schema: &Schema, instance: &Value) -> bool {
    !check(schema, instance, Mode::Probe).failed
}

fn check<'c>(schema: &'c Schema, instance: &'c Value, mode: Mode) -> Check<'c> {
    let mut check = Check::new(schema, mode, 0);
    if !schema.unchecked.is_empty() {
        return check;
    }
    if is_too_deep(instance) {
        check.abandoned = Some(ViolationKind::TooDeep);
    } else {
        check.walk(schema.root, instance, &Path::Root, 0);
    }
    if let Some(kind) = check.abandoned.take() {
        check.failed = true;
        check.found = vec![Violation::new(&Path::Root, kind)];
    }
    check
}

/// The purpose of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Find out whether a value is valid. Stops at the first violation.
    Probe,
    /// List violations.
    Report,
}

/// A node and the address of a value, which does not move during a check.
type Visit = (NodeId, usize);

struct Check<'c> {
    schema: &'c Schema,
    mode: Mode,
    found: Vec<Violation>,
    /// Set when a probe finds a violation.
    failed: bool,
    /// Why the check was aborted. Then no result counts, even if `not` inverts it.
    abandoned: Option<ViolationKind>,
    steps: usize,
    /// Cached results of probes. Without them nested alternatives would take exponential time.
    probed: HashMap<Visit, bool>,
    /// Visits that were already reported.
    reported: HashSet<Visit>,
}

/// The parts of a value that were evaluated by keywords for the same value.
#[derive(Default)]
struct EvaluatedMembers<'c> {
    all: bool,
    names: HashSet<&'c str>,
    /// The number of items at the start.
    prefix: usize,
    indexes: HashSet<usize>,
    visited: HashSet<NodeId>,
}

impl<'c> Check<'c> {
    fn new(schema: &'c Schema, mode: Mode, steps: usize) -> Check<'c> {
        Check {
            schema,
            mode,
            found: Vec::new(),
            failed: false,
            abandoned: None,
            steps,
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

    /// Returns whether further checks cannot change the result.
    fn is_settled(&self) -> bool {
        self.abandoned.is_some()
            || match self.mode {
                Mode::Probe => self.failed,
                Mode::Report => MAX_VIOLATIONS <= self.found.len(),
            }
    }

    /// Checks one value against one node, unless this was done before.
    fn walk(&mut self, id: NodeId, value: &'c Value, path: &Path<'_>, depth: usize) {
        if self.is_settled() {
            return;
        }
        self.steps += 1;
        if MAX_EVALUATION_DEPTH <= depth {
            self.abandoned = Some(ViolationKind::TooDeep);
            return;
        }
        if MAX_STEPS < self.steps {
            self.abandoned = Some(ViolationKind::TooCostly);
            return;
        }
        let node = self.schema.node(id);
        if self.schema.visits == Visits::Once {
            self.node(id, node, value, path, depth);
            return;
        }
        let visit = (id, std::ptr::from_ref(value).addr());
        match self.mode {
            Mode::Probe => match self.probed.get(&visit) {
                Some(valid) => self.failed = !valid,
                None => {
                    self.node(id, node, value, path, depth);
                    self.probed.insert(visit, !self.failed);
                }
            },
            Mode::Report => {
                if self.reported.insert(visit) {
                    self.node(id, node, value, path, depth);
                }
            }
        }
    }

    /// Returns whether the value is valid for the node. Reports nothing.
    fn probe(&mut self, id: NodeId, value: &'c Value, path: &Path<'_>, depth: usize) -> bool {
        let (mode, failed) = (self.mode, self.failed);
        (self.mode, self.failed) = (Mode::Probe, false);
        self.walk(id, value, path, depth);
        let valid = !self.failed;
        (self.mode, self.failed) = (mode, failed);
        valid
    }

    fn node(&mut self, id: NodeId, node: &'c Node, value: &'c Value, path: &Path<'_>, depth: usize) {
        if !node.types.admits(JsonType::from_value(value)) {
            self.fail(path, || wrong_type(node.types));
            return;
        }
        let before = self.found.len();
        if !has_allowed_value(node, value) {
            self.fail(path, || ViolationKind::Value { allowed: AllowedValues::new(node.allowed_values()) });
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
        if let Some(rules) = &node.logic {
            self.logic(rules, value, path, depth + 1);
        }
        // An invalid part evaluates nothing, so its properties would only be reported twice.
        if !self.is_settled() && self.found.len() == before {
            self.unevaluated(id, node, value, path, depth);
        }
    }

    fn number(&mut self, rules: &NumberRules, number: &Number, path: &Path<'_>) {
        let normal = Normal::from_value(number);
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
            && !Decimal::from_value(number).is_multiple_of(*divisor)
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

    fn array(&mut self, rules: &'c ArrayRules, items: &'c [Value], path: &Path<'_>, depth: usize) {
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
        let nodes = rules.prefix.iter().copied().map(Some).chain(std::iter::repeat(rules.items));
        for ((index, item), id) in items.iter().enumerate().zip(nodes) {
            let Some(id) = id.filter(|_| !self.is_settled()) else { break };
            self.walk(id, item, &path.index(index), depth + 1);
        }
        if let Some(id) = rules.contains {
            let (least, most) = (rules.min_contains.unwrap_or(1), rules.max_contains);
            let enough = most.map_or(least, |most| least.max(most.saturating_add(1)));
            let matching = items
                .iter()
                .enumerate()
                .filter(|(index, item)| self.probe(id, item, &path.index(*index), depth + 1))
                .take(usize::try_from(enough).unwrap_or(usize::MAX))
                .count() as u64;
            let schema = self.schema;
            let items = || describe::describe_alternative(schema, id);
            if matching < least {
                self.fail(path, || ViolationKind::MinContains { limit: least, items: items() });
            }
            if let Some(limit) = most.filter(|limit| *limit < matching) {
                self.fail(path, || ViolationKind::MaxContains { limit, items: items() });
            }
        }
    }

    fn object(
        &mut self,
        rules: &'c ObjectRules,
        entries: &'c Map<String, Value>,
        path: &Path<'_>,
        depth: usize,
    ) {
        for name in rules.required.iter().filter(|name| !entries.contains_key(&***name)) {
            self.fail(&path.key(name), || ViolationKind::Required);
        }
        for (owner, names) in
            rules.dependent_required.iter().filter(|(owner, _)| entries.contains_key(&**owner))
        {
            for name in names.iter().filter(|name| !entries.contains_key(&***name)) {
                self.fail(&path.key(name), || ViolationKind::RequiredBeside { name: owner.to_string() });
            }
        }
        if rules.additional == Additional::Refused {
            for name in entries.keys().filter(|name| !rules.describes(name)) {
                self.fail(&path.key(name), || ViolationKind::AdditionalProperty);
            }
        }
        if let Some(limit) = below(entries.len(), rules.min_properties) {
            self.fail(path, || ViolationKind::MinProperties { limit });
        }
        if let Some(limit) = above(entries.len(), rules.max_properties) {
            self.fail(path, || ViolationKind::MaxProperties { limit });
        }
        if let Some(id) = rules.names {
            for name in entries.keys() {
                if self.is_settled() {
                    return;
                }
                self.name(id, name, path, depth + 1);
            }
        }
        for property in &rules.properties {
            if let Some(value) = entries.get(&*property.name) {
                self.walk(property.node, value, &path.key(&property.name), depth + 1);
            }
        }
        for (pattern, id) in &rules.patterns {
            for (name, value) in entries.iter().filter(|(name, _)| pattern.regex.is_match(name)) {
                self.walk(*id, value, &path.key(name), depth + 1);
            }
        }
        if let Additional::Schema(id) = rules.additional {
            for (name, value) in entries.iter().filter(|(name, _)| !rules.describes(name)) {
                self.walk(id, value, &path.key(name), depth + 1);
            }
        }
    }

    /// Checks the name of a property as a text. The text is a temporary, so its address means nothing to other checks.
    fn name(&mut self, id: NodeId, name: &str, path: &Path<'_>, depth: usize) {
        let text = Value::from(name);
        let mut check = Check::new(self.schema, self.mode, self.steps);
        check.walk(id, &text, &Path::Root, depth);
        let Check { found, failed, abandoned, steps, .. } = check;
        self.steps = steps;
        if abandoned.is_some() {
            self.abandoned = abandoned;
        } else if failed {
            self.failed = true;
        }
        for violation in found {
            let kind = Box::new(violation.kind);
            self.fail(&path.key(name), || ViolationKind::PropertyName { kind });
        }
    }

    fn logic(&mut self, rules: &'c LogicRules, value: &'c Value, path: &Path<'_>, depth: usize) {
        for id in &rules.all_of {
            self.walk(*id, value, path, depth);
        }
        if !rules.any_of.is_empty() {
            self.any_of(&rules.any_of, value, path, depth);
        }
        if !rules.one_of.is_empty() {
            let mut matching = Vec::new();
            for id in &rules.one_of {
                if matching.len() < 2 && self.probe(*id, value, path, depth) {
                    matching.push(*id);
                }
            }
            match matching.len() {
                0 => self.any_of(&rules.one_of, value, path, depth),
                1 => {}
                _ => {
                    let schema = self.schema;
                    self.fail(path, || ViolationKind::Ambiguous {
                        alternatives: describe::describe_alternatives(schema, &matching),
                    });
                }
            }
        }
        if let Some(id) = rules.not
            && self.probe(id, value, path, depth)
        {
            let schema = self.schema;
            self.fail(path, || match describe::describe_alternative(schema, id) {
                any if any == "any" => ViolationKind::NotAllowed,
                excluded => ViolationKind::Excluded { excluded },
            });
        }
        if let Some(condition) = rules.condition
            && (rules.then.is_some() || rules.otherwise.is_some())
        {
            let branch = if self.probe(condition, value, path, depth) { rules.then } else { rules.otherwise };
            if let Some(id) = branch {
                self.walk(id, value, path, depth);
            }
        }
        if let Value::Object(entries) = value {
            for (_, id) in rules.dependents.iter().filter(|(owner, _)| entries.contains_key(&**owner)) {
                self.walk(*id, value, path, depth);
            }
        }
    }

    /// Checks the parts that no keyword for the same value has evaluated.
    fn unevaluated(&mut self, id: NodeId, node: &'c Node, value: &'c Value, path: &Path<'_>, depth: usize) {
        match value {
            Value::Object(entries) => {
                let Some(rest) = node.object.as_ref().and_then(|rules| rules.unevaluated) else { return };
                let mut evaluated = EvaluatedMembers::default();
                self.evaluate(id, value, path, depth, id, &mut evaluated);
                if evaluated.all {
                    return;
                }
                for (name, value) in entries.iter().filter(|(name, _)| !evaluated.names.contains(&***name)) {
                    if self.schema.node(rest).types == TypeSet::NONE {
                        self.fail(&path.key(name), || ViolationKind::AdditionalProperty);
                    } else {
                        self.walk(rest, value, &path.key(name), depth + 1);
                    }
                }
            }
            Value::Array(items) => {
                let Some(rest) = node.array.as_ref().and_then(|rules| rules.unevaluated) else { return };
                let mut evaluated = EvaluatedMembers::default();
                self.evaluate(id, value, path, depth, id, &mut evaluated);
                if evaluated.all {
                    return;
                }
                let left = items.iter().enumerate().skip(evaluated.prefix);
                for (index, item) in left.filter(|(index, _)| !evaluated.indexes.contains(index)) {
                    self.walk(rest, item, &path.index(index), depth + 1);
                }
            }
            _ => {}
        }
    }

    /// Records what a node for which the value is valid has evaluated. `start` is the node for which this is recorded.
    fn evaluate(
        &mut self,
        id: NodeId,
        value: &'c Value,
        path: &Path<'_>,
        depth: usize,
        start: NodeId,
        done: &mut EvaluatedMembers<'c>,
    ) {
        if done.all || !done.visited.insert(id) || self.abandoned.is_some() {
            return;
        }
        self.steps += 1;
        let node = self.schema.node(id);
        match value {
            Value::Object(entries) => {
                if let Some(rules) = &node.object {
                    done.all |= rules.additional != Additional::Unstated;
                    done.all |= rules.unevaluated.is_some() && id != start;
                    done.names
                        .extend(entries.keys().map(String::as_str).filter(|name| rules.describes(name)));
                }
            }
            Value::Array(items) => {
                if let Some(rules) = &node.array {
                    done.all |= rules.items.is_some() || rules.unevaluated.is_some() && id != start;
                    done.prefix = done.prefix.max(rules.prefix.len());
                    if let Some(contained) = rules.contains.filter(|_| !done.all) {
                        for (index, item) in items.iter().enumerate() {
                            if self.probe(contained, item, &path.index(index), depth + 1) {
                                done.indexes.insert(index);
                            }
                        }
                    }
                }
            }
            _ => return,
        }
        if let Some(target) = node.reference {
            self.evaluate(target, value, path, depth, start, done);
        }
        let Some(logic) = &node.logic else { return };
        for id in &logic.all_of {
            self.evaluate(*id, value, path, depth, start, done);
        }
        for id in logic.any_of.iter().chain(&logic.one_of) {
            if self.probe(*id, value, path, depth + 1) {
                self.evaluate(*id, value, path, depth, start, done);
            }
        }
        if let Some(condition) = logic.condition {
            let branch = if self.probe(condition, value, path, depth + 1) {
                self.evaluate(condition, value, path, depth, start, done);
                logic.then
            } else {
                logic.otherwise
            };
            if let Some(id) = branch {
                self.evaluate(id, value, path, depth, start, done);
            }
        }
        if let Value::Object(entries) = value {
            for (_, id) in logic.dependents.iter().filter(|(owner, _)| entries.contains_key(&**owner)) {
                self.evaluate(*id, value, path, depth, start, done);
            }
        }
    }

    /// If no alternative matches, reports the violations of the intended one, if that is clear. It is the only
    /// alternative that allows the type of the value, or the only one whose fixed properties (`"kind": {"const": …}`)
    /// the value has.
    fn any_of(&mut self, alternatives: &[NodeId], value: &'c Value, path: &Path<'_>, depth: usize) {
        if alternatives.iter().any(|id| self.probe(*id, value, path, depth)) {
            return;
        }
        if self.mode == Mode::Probe {
            self.failed = true;
            return;
        }
        let schema = self.schema;
        let kind = JsonType::from_value(value);
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
            // The list is empty if the violations were reported before, or are only due to the depth.
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
                ViolationKind::Value { allowed: AllowedValues::new(values) }
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

/// Returns whether the value has a property with listed values, and only listed values in such properties.
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

#[cfg(test)]
mod tests;
