//! Checks that every state of a workflow can be reached and that every loop is bounded.

use std::collections::{BTreeMap, BTreeSet};

use brigade_core::Json;
use brigade_core::yaml::Position;

use crate::manifest::document::Root;
use crate::manifest::member::{Reader, below};

use super::command::StateCommand;
use super::template::{Template, condition_faults};
use super::{Condition, State, WorkflowSpec};

/// Names that templates use for other things than states. A state with such a name would be ambiguous.
const ROOTS: [&str; 8] = ["blackboard", "execution", "human", "input", "intent", "state", "this", "workflow"];

/// Finds targets that do not exist, states that cannot be reached, and loops without a bound.
pub(super) fn check(spec: &WorkflowSpec, root: &Root<'_>, reader: &mut Reader) {
    let states = &spec.states;
    let at = |name: &str| -> Position { root.at(&["spec", "states", name]) };
    let path = |name: &str| below("spec.states", name);
    if !states.contains_key(&spec.initial_state) {
        let at = root.at(&["spec", "initial_state"]);
        reader.fault(at, "spec.initial_state", "not a state of this workflow");
        return;
    }
    let mut is_whole = true;
    for (name, state) in states {
        if ROOTS.contains(&name.as_str()) {
            reader.fault(at(name), &path(name), "the name is reserved in templates");
        }
        if state.workdir.as_deref().is_some_and(|workdir| workdir.contains("{{")) {
            let at = root.at(&["spec", "states", name, "workdir"]);
            reader.fault(at, &below(&path(name), "workdir"), "must not be a template");
        }
        for (index, transition) in state.transitions.iter().enumerate() {
            if !states.contains_key(&transition.target) {
                is_whole = false;
                let number = (index + 1).to_string();
                let path = format!("{}.transitions[{number}].target", path(name));
                let at = root.at(&["spec", "states", name, "transitions", &number, "target"]);
                reader.fault(at, &path, "not a state of this workflow");
            }
        }
        for (key, count) in [("max_state_visits", state.max_state_visits)] {
            if count.is_some_and(|count| count < 1) {
                reader.fault(at(name), &below(&path(name), key), "expected a number from 1");
            }
        }
    }
    if spec.max_total_transitions.is_some_and(|count| count < 1) {
        let at = root.at(&["spec", "max_total_transitions"]);
        reader.fault(at, "spec.max_total_transitions", "expected a number from 1");
    }
    templates(spec, root, reader);
    if !is_whole {
        return;
    }
    let reached = reached(&spec.initial_state, states);
    for name in states.keys().filter(|name| !reached.contains(name.as_str())) {
        reader.fault(at(name), &path(name), "no state leads here");
    }
    if spec.max_total_transitions.is_none()
        && let Some(ring) = unbounded(states)
    {
        let first = ring.first().copied().unwrap_or_default();
        let shown: Vec<String> = ring.iter().chain(ring.first()).map(|name| below("", name)).collect();
        let message = format!(
            "the loop {} has a state without `max_state_visits`, and there is no `max_total_transitions`",
            shown.join(" -> ")
        );
        reader.fault(at(first), &path(first), message);
    }
}

/// Finds templates that are invalid or use unknown names.
fn templates(spec: &WorkflowSpec, root: &Root<'_>, reader: &mut Reader) {
    for (name, state) in &spec.states {
        let mut texts: Vec<(String, &str)> = Vec::new();
        for (key, text) in [("agent", &state.agent), ("prompt", &state.prompt)] {
            texts.extend(text.as_deref().map(|text| (key.to_owned(), text)));
        }
        for (key, json) in [("input", &state.input), ("command", &state.command)] {
            json.iter().for_each(|json| strings(json, key, &mut texts));
        }
        for (key, text) in state.env.iter().flatten() {
            texts.push((format!("env.{key}"), text));
        }
        for (index, agent) in state.agents.iter().flatten().enumerate() {
            texts.extend(agent.input.as_deref().map(|text| (format!("agents[{}].input", index + 1), text)));
        }
        for (index, transition) in state.transitions.iter().enumerate() {
            let key = |key: &str| format!("transitions[{}].{key}", index + 1);
            texts.extend(transition.feedback.as_deref().map(|text| (key("feedback"), text)));
            let is_custom = transition.condition == Some(Condition::Custom);
            if let Some(text) = transition.expression.as_deref().filter(|_| is_custom) {
                let found = condition_faults(text, &|name| spec.states.contains_key(name));
                found
                    .into_iter()
                    .for_each(|message| report_fault(&key("expression"), message, name, root, reader));
            }
        }
        let mut is_readable = true;
        for (key, text) in texts {
            for message in Template::read(text, &|name| spec.states.contains_key(name)).1 {
                is_readable = false;
                report_fault(&key, message, name, root, reader);
            }
        }
        let command = state.command.as_ref().filter(|_| is_readable);
        if let Some(Err(message)) = command.map(StateCommand::parse) {
            report_fault("command", message, name, root, reader);
        }
    }
}

fn report_fault(key: &str, message: String, state: &str, root: &Root<'_>, reader: &mut Reader) {
    let steps = key.split(['.', '[', ']']).filter(|step| !step.is_empty());
    let steps: Vec<&str> = ["spec", "states", state].into_iter().chain(steps).collect();
    let path = format!("{}.{key}", below("spec.states", state));
    reader.fault(root.at(&steps), &path, message);
}

/// Lists the strings of a value.
fn strings<'j>(json: &'j Json, path: &str, found: &mut Vec<(String, &'j str)>) {
    match json {
        Json::String(text) => found.push((path.to_owned(), text)),
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                strings(item, &format!("{path}[{}]", index + 1), found);
            }
        }
        Json::Object(members) => {
            for (key, value) in members {
                strings(value, &below(path, key), found);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn reached<'s>(initial: &'s str, states: &'s BTreeMap<String, State>) -> BTreeSet<&'s str> {
    let mut reached = BTreeSet::from([initial]);
    let mut left = vec![initial];
    while let Some(name) = left.pop() {
        for transition in states.get(name).into_iter().flat_map(|state| &state.transitions) {
            if reached.insert(&transition.target) {
                left.push(&transition.target);
            }
        }
    }
    reached
}

/// Finds a loop on which a state can be visited without a bound. Each state on a loop needs its bound: a bound on one
/// state also limits the others, but this does not count.
fn unbounded(states: &BTreeMap<String, State>) -> Option<Vec<&str>> {
    states
        .iter()
        .filter(|(_, state)| state.max_state_visits.is_none())
        .find_map(|(name, _)| ring(name, states))
}

/// Returns a path from a state back to itself.
fn ring<'s>(from: &'s str, states: &'s BTreeMap<String, State>) -> Option<Vec<&'s str>> {
    let mut came: BTreeMap<&str, &str> = BTreeMap::new();
    let mut left = std::collections::VecDeque::from([from]);
    while let Some(name) = left.pop_front() {
        for transition in states.get(name).into_iter().flat_map(|state| &state.transitions) {
            let target = transition.target.as_str();
            if target == from {
                let mut path = vec![name];
                while let Some(before) =
                    path.last().filter(|last| **last != from).and_then(|last| came.get(last))
                {
                    path.push(before);
                }
                path.reverse();
                return Some(path);
            }
            if !came.contains_key(target) {
                came.insert(target, name);
                left.push_back(target);
            }
        }
    }
    None
}
