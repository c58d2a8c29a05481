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
    /// Why the check was given up. Then no result counts, also where `not` turns it around.
    abandoned: Option<ViolationKind>,
    steps: usize,
    /// Cached results of probes. Without them nested alternatives would take exponential time.
    probed: HashMap<Visit, bool>,
    /// Visits that were reported already.
    reported: HashSet<Visit>,
}

/// The parts of a value that keywords for the same value have looked at.
#[derive(Default)]
struct Evaluated<'c> {
    all: bool,
    names: HashSet<&'c str>,
    /// The number of items at the start.
    prefix: usize,
    indexes: HashSet<usize>,
    seen: HashSet<NodeId>,
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

    /// Whether checking further cannot change the result.
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
        if !node.types.admits(JsonType::of(value)) {
            self.fail(path, || wrong_type(node.types));
            return;
        }
        let before = self.found.len();
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
        if let Some(rules) = &node.logic {
            self.logic(rules, value, path, depth + 1);
        }
        // What failed evaluates nothing, so it would only be reported twice.
        if !self.is_settled() && self.found.len() == before {
            self.unevaluated(id, node, value, path, depth);
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

    /// Checks the name of a property as a text. The text is only here, so its address means nothing to other checks.
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

    /// Checks what no keyword for the same value has looked at.
    fn unevaluated(&mut self, id: NodeId, node: &'c Node, value: &'c Value, path: &Path<'_>, depth: usize) {
        match value {
            Value::Object(entries) => {
                let Some(rest) = node.object.as_ref().and_then(|rules| rules.unevaluated) else { return };
                let mut evaluated = Evaluated::default();
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
                let mut evaluated = Evaluated::default();
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

    /// Notes what a node, for which the value is valid, has looked at. `start` is the node that asks.
    fn evaluate(
        &mut self,
        id: NodeId,
        value: &'c Value,
        path: &Path<'_>,
        depth: usize,
        start: NodeId,
        done: &mut Evaluated<'c>,
    ) {
        if done.all || !done.seen.insert(id) || self.abandoned.is_some() {
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
            // Nothing is found if it was reported before, or failed only because of its depth.
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
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, instance: Value, expect: &[&str]) {
        let compiled = Schema::compile(&schema).unwrap_or_else(|problems| panic!("{schema}: {problems:?}"));
        let found: Vec<String> = violations(&compiled, &instance).iter().map(Violation::to_string).collect();
        assert_eq!(found, expect, "{schema} on {instance}");
        assert_eq!(accepts(&compiled, &instance), expect.is_empty(), "{schema} on {instance}");
    }

    #[test]
    fn violations_come_in_a_stable_order() {
        check(
            json!({
                "type": "object",
                "required": ["z", "path"],
                "additionalProperties": false,
                "maxProperties": 3,
                "properties": {
                    "n": {"type": "number"},
                    "list": {"items": {"type": "string", "minLength": 2}, "maxItems": 2},
                    "mode": {"type": "string", "enum": ["a", "b"]},
                    "path": {"type": "string"},
                    "z": {}
                }
            }),
            json!({"n": "1", "extra": 1, "a b": 2, "mode": "c", "list": ["ab", "c", 3]}),
            &[
                "$.z: required",
                "$.path: required",
                "$[\"a b\"]: additional property not allowed",
                "$.extra: additional property not allowed",
                "$: must have at most 3 properties",
                "$.list: must have at most 2 items",
                "$.list[1]: must have at least 2 characters",
                "$.list[2]: expected string",
                "$.mode: expected one of \"a\", \"b\"",
                "$.n: expected number",
            ],
        );
    }

    #[test]
    fn every_keyword_names_its_limit() {
        for (schema, instance, expect) in [
            (json!({"type": "integer"}), json!(1.5), "expected integer"),
            (json!({"type": ["null", "string"]}), json!(1), "expected string or null"),
            (json!(false), json!(1), "not allowed"),
            (json!({"enum": [1]}), json!(2), "expected 1"),
            (json!({"enum": []}), json!(2), "expected nothing: no value is allowed"),
            (json!({"const": {"b": 1, "a": []}}), json!(2), "expected {\"a\":[],\"b\":1}"),
            (json!({"minimum": 1.50}), json!(1), "must be at least 1.5"),
            (json!({"maximum": 3}), json!(3.5), "must be at most 3"),
            (json!({"exclusiveMinimum": 3}), json!(3.0), "must be more than 3"),
            (json!({"exclusiveMaximum": 3}), json!(3), "must be less than 3"),
            (json!({"multipleOf": 0.1}), json!(0.35), "must be a multiple of 0.1"),
            (json!({"minLength": 1}), json!(""), "must have at least 1 character"),
            (json!({"maxLength": 2}), json!("äöü"), "must have at most 2 characters"),
            (json!({"pattern": "^[a-z]\"$"}), json!("1"), "must match the pattern \"^[a-z]\\\"$\""),
            (json!({"minItems": 2}), json!([1]), "must have at least 2 items"),
            (json!({"maxItems": 1}), json!([1, 2]), "must have at most 1 item"),
            (json!({"uniqueItems": true}), json!([1, 2, 1.0]), "items must be unique: item 2 repeats item 0"),
            (json!({"minProperties": 2}), json!({}), "must have at least 2 properties"),
            (json!({"maxProperties": 0}), json!({"a": 1}), "must have at most 0 properties"),
            (json!({"contains": {"const": 1}}), json!([2]), "must contain at least 1 item: 1"),
            (
                json!({"contains": {"type": "string"}, "minContains": 2}),
                json!(["a", 1]),
                "must contain at least 2 items: string",
            ),
            (
                json!({"contains": {"type": "string"}, "maxContains": 1}),
                json!(["a", "b"]),
                "must contain at most 1 item: string",
            ),
            (json!({"not": {"type": "string"}}), json!("a"), "matches what `not` excludes: string"),
            (
                json!({"not": {"type": "object", "required": ["a"]}}),
                json!({"a": 1}),
                "matches what `not` excludes: object with a",
            ),
            (json!({"not": {}}), json!(1), "not allowed"),
            (
                json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
                json!(1),
                "matches more than one of the alternatives: number; integer",
            ),
            (json!({"oneOf": [{"type": "number"}, {"type": "null"}]}), json!(""), "expected number or null"),
            (json!({"allOf": [{"minimum": 3}]}), json!(1), "must be at least 3"),
            (json!({"if": {"minimum": 3}, "then": {"multipleOf": 2}}), json!(5), "must be a multiple of 2"),
            (json!({"if": {"minimum": 3}, "else": {"minimum": 1}}), json!(0), "must be at least 1"),
        ] {
            check(schema, instance, &[&format!("$: {expect}")]);
        }
    }

    #[test]
    fn properties_and_items_are_named() {
        for (schema, instance, expect) in [
            (
                json!({"patternProperties": {"^x-": {"type": "string"}}}),
                json!({"x-a": 1}),
                &["$[\"x-a\"]: expected string"][..],
            ),
            (
                json!({"patternProperties": {"^x-": {}}, "additionalProperties": false}),
                json!({"x-a": 1, "y": 1}),
                &["$.y: additional property not allowed"],
            ),
            (
                json!({"propertyNames": {"pattern": "^[a-z]+$"}}),
                json!({"a": 1, "B": 1}),
                &["$.B: name of the property: must match the pattern \"^[a-z]+$\""],
            ),
            (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), &["$.b: required beside \"a\""]),
            (json!({"dependentSchemas": {"a": {"required": ["b"]}}}), json!({"a": 1}), &["$.b: required"]),
            (
                json!({"dependencies": {"a": ["b"], "c": {"maxProperties": 1}}}),
                json!({"a": 1}),
                &["$.b: required beside \"a\""],
            ),
            (
                json!({"prefixItems": [{"type": "string"}], "items": false}),
                json!([1, 2]),
                &["$[0]: expected string", "$[1]: not allowed"],
            ),
            (
                json!({"items": [{"type": "string"}], "additionalItems": {"type": "null"}}),
                json!(["a", 2]),
                &["$[1]: expected null"],
            ),
            (
                json!({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}),
                json!({"a": 1, "b": 1}),
                &["$.b: additional property not allowed"],
            ),
            (
                json!({"prefixItems": [{}], "unevaluatedItems": {"type": "null"}}),
                json!([1, 2]),
                &["$[1]: expected null"],
            ),
            (
                json!({"if": {"properties": {"mode": {"const": "a"}}}, "then": {"required": ["size"]}}),
                json!({"mode": "a"}),
                &["$.size: required"],
            ),
        ] {
            check(schema, instance, expect);
        }
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        check(json!({"maximum": 9007199254740992u64}), json!(9007199254740992u64), &[]);
        check(
            json!({"maximum": 9007199254740992u64}),
            json!(9007199254740993u64),
            &["$: must be at most 9007199254740992"],
        );
        check(json!({"minimum": u64::MAX}), json!(18446744073709551615u64), &[]);
        check(
            json!({"const": 9007199254740993u64}),
            json!(9007199254740992.0),
            &["$: expected 9007199254740993"],
        );
    }

    #[test]
    fn values_of_the_instance_are_never_shown() {
        let secret = "hunter2-s3cr3t";
        let schema = Schema::compile(&json!({
            "properties": {
                "a": {"type": "integer"}, "b": {"enum": ["x"]}, "c": {"maxLength": 3}, "d": {"pattern": "^x$"},
                "e": {"anyOf": [{"const": 1}, {"type": "array"}]}, "f": {"uniqueItems": true},
                "g": {"anyOf": [{"maxLength": 3}, {"pattern": "^y"}]}, "h": false,
                "j": {"oneOf": [{"minLength": 1}, {"minLength": 2}]}, "k": {"not": {"type": "string"}},
                "l": {"contains": {"const": 1}}, "m": {"allOf": [{"maxLength": 1}]},
                "n": {"if": true, "then": {"const": 1}}, "o": {"unevaluatedProperties": {"type": "null"}}
            },
            "additionalProperties": {"type": "null"}
        }))
        .unwrap();
        let instance = json!({
            "a": secret, "b": secret, "c": secret, "d": secret, "e": secret, "f": [secret, secret],
            "g": secret, "h": secret, "i": secret, "j": secret, "k": secret, "l": [secret], "m": secret,
            "n": secret, "o": {"a": secret}
        });
        let found = violations(&schema, &instance);
        assert_eq!(found.len(), 15);
        assert!(!format!("{found:?}").contains(secret));
    }

    #[test]
    fn alternatives_report_the_intended_one() {
        let either = json!({"anyOf": [
            {"type": "string", "minLength": 3},
            {"type": "array", "items": {"type": "string"}},
            {"type": "null"}
        ]});
        check(either.clone(), json!(null), &[]);
        // No alternative allows the type, so all types are listed.
        check(either.clone(), json!(1), &["$: expected array, string or null"]);
        // Only one alternative allows the type, so it is the intended one.
        check(either.clone(), json!("a"), &["$: must have at least 3 characters"]);
        check(either, json!(["a", 1]), &["$[1]: expected string"]);
        // All matching alternatives are lists of values, so the lists are joined.
        check(
            json!({"anyOf": [{"const": "a"}, {"enum": ["b", "c"]}, {"type": "object"}]}),
            json!("d"),
            &["$: expected one of \"a\", \"b\", \"c\""],
        );
        // Otherwise the alternatives are described.
        check(
            json!({"anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}, {"$ref": "#/$defs/d"}],
                   "$defs": {"d": {"type": "object", "required": ["d"]}}}),
            json!({}),
            &["$: matches none of the alternatives: object with a; object with b, c; object with d"],
        );
    }

    #[test]
    fn a_fixed_property_identifies_the_intended_alternative() {
        let shape = json!({"properties": {"shape": {"anyOf": [
            {"$ref": "#/$defs/circle"}, {"$ref": "#/$defs/square"}
        ]}}, "$defs": {
            "circle": {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
                       "required": ["kind", "r"]},
            "square": {"type": "object", "properties": {"kind": {"enum": ["square"]}, "side": {"type": "number"}},
                       "required": ["kind", "side"]}
        }});
        check(shape.clone(), json!({"shape": {"kind": "square", "side": 1}}), &[]);
        check(shape.clone(), json!({"shape": {"kind": "square"}}), &["$.shape.side: required"]);
        check(shape.clone(), json!({"shape": {"kind": "circle", "r": "1"}}), &["$.shape.r: expected number"]);
        check(
            shape,
            json!({"shape": {"kind": "line"}}),
            &["$.shape: matches none of the alternatives: object with kind, r; object with kind, side"],
        );
    }

    #[test]
    fn rules_beside_a_reference_apply_too() {
        let schema = json!({"$ref": "#/$defs/name", "maxLength": 2, "$defs": {"name": {"type": "string", "minLength": 1}}});
        check(schema.clone(), json!("ab"), &[]);
        check(schema.clone(), json!("abc"), &["$: must have at most 2 characters"]);
        check(schema.clone(), json!(""), &["$: must have at least 1 character"]);
        check(schema, json!(1), &["$: expected string"]);
    }

    #[test]
    fn the_same_finding_is_reported_once() {
        let schema = json!({
            "properties": {"a": {"$ref": "#/$defs/s"}}, "$ref": "#/$defs/again", "$defs": {
                "s": {"type": "string"}, "again": {"properties": {"a": {"$ref": "#/$defs/s"}}}
            }
        });
        check(schema, json!({"a": 1}), &["$.a: expected string"]);
    }

    #[test]
    fn recursion_follows_the_instance() {
        let tree = json!({"$ref": "#/$defs/tree", "$defs": {"tree": {
            "type": "object", "required": ["value"], "additionalProperties": false,
            "properties": {"value": {"type": "integer"}, "children": {"items": {"$ref": "#/$defs/tree"}}}
        }}});
        check(
            tree.clone(),
            json!({"value": 1, "children": [{"value": 2}, {"value": 3, "children": []}]}),
            &[],
        );
        check(
            tree,
            json!({"value": 1, "children": [{"value": 2, "children": [{"valu": 1}]}]}),
            &[
                "$.children[0].children[0].value: required",
                "$.children[0].children[0].valu: additional property not allowed",
            ],
        );
    }

    #[test]
    fn deep_instances_are_refused_or_checked_to_the_end() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        check(json!({"items": {"$ref": "#"}}), nested(128), &[]);
        check(json!({"items": {"$ref": "#"}}), nested(129), &["$: nested more than 128 levels deep"]);
        check(json!({"anyOf": [{"type": "integer"}, {"items": {"$ref": "#"}}]}), nested(127), &[]);
        // Three steps per level exceed the depth limit of a check. The result is a refusal, not an overflow.
        let costly = Schema::compile(&json!({
            "minItems": 0, "$ref": "#/$defs/a",
            "$defs": {"a": {"minItems": 0, "$ref": "#/$defs/b"}, "b": {"items": {"$ref": "#"}}}
        }))
        .unwrap();
        assert!(accepts(&costly, &nested(80)));
        assert!(!accepts(&costly, &nested(120)));
        assert!(matches!(
            violations(&costly, &nested(120))[..],
            [Violation { kind: ViolationKind::TooDeep, .. }]
        ));
    }

    /// Without cached results each of these takes 2^60 steps or more.
    #[test]
    fn hostile_schemas_take_no_exponential_time() {
        let layers: Map<String, Value> = (0..60)
            .map(|n| {
                let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
                (format!("d{n}"), json!({ "anyOf": [next, next] }))
            })
            .collect();
        let mut wide = json!({ "$defs": layers, "$ref": "#/$defs/d0" });
        wide["$defs"]["d60"] = json!({"type": "string"});
        check(wide, json!(1), &["$: expected string"]);

        let nested = (0..100).fold(json!(1), |inner, _| json!({ "x": inner }));
        let branch =
            json!({"properties": {"x": {"$ref": "#"}}, "maxProperties": 3, "type": ["object", "null"]});
        let twice = Schema::compile(&json!({ "anyOf": [branch, branch] })).unwrap();
        assert!(!accepts(&twice, &nested));
        assert_eq!(violations(&twice, &nested).len(), 1);

        let both = json!({
            "properties": {"x": {"$ref": "#"}}, "$ref": "#/$defs/b", "$defs": {
                "b": {"properties": {"x": {"$ref": "#"}}, "type": "object"}
            }
        });
        let both = Schema::compile(&both).unwrap();
        assert!(!accepts(&both, &nested));
        assert_eq!(violations(&both, &nested).len(), 1);
    }

    /// Rules that look at the same property or item twice double the work with each level.
    #[test]
    fn overlapping_rules_take_no_exponential_time() {
        let nested = (0..100).fold(json!(1), |inner, _| json!({ "x": inner }));
        let lists = (0..100).fold(json!(1), |inner, _| json!([inner]));
        let again = json!({"$ref": "#"});
        for (schema, instance) in [
            (
                json!({"properties": {"x": again}, "patternProperties": {"x": again}, "type": "object"}),
                &nested,
            ),
            (json!({"items": again, "contains": again, "type": "array"}), &lists),
            (
                json!({"allOf": [{"properties": {"x": again}}], "unevaluatedProperties": again, "not": {"const": 1}}),
                &nested,
            ),
            (
                json!({"if": {"properties": {"x": again}}, "then": {"properties": {"x": again}}, "type": "object"}),
                &nested,
            ),
            (
                json!({"oneOf": [{"properties": {"x": again}, "type": "object"}, {"properties": {"x": again}, "type": "array"}]}),
                &nested,
            ),
        ] {
            let schema = Schema::compile(&schema).unwrap();
            assert_eq!(accepts(&schema, instance), violations(&schema, instance).is_empty());
        }
    }

    /// What `not` turns around must not make a check that was given up a success.
    #[test]
    fn a_check_that_is_given_up_is_a_refusal() {
        let nested = (0..120).fold(json!(1), |inner, _| json!([inner]));
        let costly = json!({
            "not": {"$ref": "#/$defs/a"},
            "$defs": {"a": {"allOf": [{"allOf": [{"items": {"$ref": "#/$defs/a"}}]}], "type": "array"}}
        });
        check(costly, nested, &["$: nested more than 128 levels deep"]);

        let schema = Schema::compile(&json!({"items": {"not": {"type": "string"}}})).unwrap();
        let items = json!([1, 2, 3]);
        for mode in [Mode::Probe, Mode::Report] {
            let mut late = Check::new(&schema, mode, MAX_STEPS - 3);
            late.walk(schema.root, &items, &Path::Root, 0);
            assert_eq!(late.abandoned, Some(ViolationKind::TooCostly));
        }
    }

    /// Threads of the gateway have 2 MiB.
    #[test]
    fn the_deepest_check_fits_a_small_stack() {
        let run = || {
            let deep = (0..55).fold(json!({"type": "string"}), |inner, _| json!({ "allOf": [inner] }));
            let schema = json!({"anyOf": [{"oneOf": [{"not": {"not": {"items": {"$ref": "#"}}}}]}, {"$ref": "#/$defs/d"}], "$defs": {"d": deep}});
            let schema = Schema::compile(&schema).unwrap();
            let nested = (0..128).fold(json!(1), |inner, _| json!([inner]));
            drop(violations(&schema, &nested));
            accepts(&schema, &nested)
        };
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
        assert!(!thread.join().unwrap());
    }

    #[test]
    fn the_list_of_violations_is_bounded() {
        let schema = Schema::compile(&json!({"items": {"type": "string"}})).unwrap();
        assert_eq!(violations(&schema, &json!(vec![0; 5000])).len(), MAX_VIOLATIONS);
    }
}
