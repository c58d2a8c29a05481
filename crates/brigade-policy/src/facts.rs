//! What the decision looks at.

use brigade_catalog::{ApprovalMode, Family, Seconds, Tool};
use brigade_core::Place;

/// What a call asks for, as its tool states it.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// The tool's id.
    pub tool_id: &'a str,
    /// The kind of tool; absent for a broken entry, which no list of families allows.
    pub family: Option<Family>,
    /// Labels of what the call does.
    pub effects: &'a [String],
    /// When a person is asked; absent means never.
    pub approval_mode: Option<ApprovalMode>,
    /// How long the call may take.
    pub timeout: Option<Seconds>,
    /// The runtime that the call uses.
    pub runtime_id: Option<&'a str>,
    /// Labels of the variables that the call needs.
    pub env_labels: &'a [String],
    /// The entry that the facts came from, for the places of its fields.
    pub entry: Option<&'a Tool>,
}

impl<'a> CallFacts<'a> {
    /// Takes the facts from a catalog entry.
    pub fn of(tool: &'a Tool) -> CallFacts<'a> {
        CallFacts {
            tool_id: tool.id.as_str(),
            family: tool.family,
            effects: &tool.effects,
            approval_mode: tool.approval_mode,
            timeout: tool.timeout,
            runtime_id: tool.runtime_id.as_deref().filter(|id| !id.is_empty()),
            env_labels: &tool.env_labels,
            entry: Some(tool),
        }
    }

    /// Returns where a field of the tool stands.
    pub(crate) fn place_of(&self, field: &str) -> Option<Place> {
        self.entry.map(|tool| tool.place_of(field))
    }
}

/// Which variables the process has. Nobody behind this trait can learn their values.
pub trait Environment {
    /// Returns whether a variable is set, even to nothing.
    fn is_set(&self, name: &str) -> bool;
}

impl<F: Fn(&str) -> bool> Environment for F {
    fn is_set(&self, name: &str) -> bool {
        self(name)
    }
}
