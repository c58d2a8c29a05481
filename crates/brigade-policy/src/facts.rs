//! The input of a decision.

use brigade_catalog::{ApprovalMode, Family, Seconds, Tool};
use brigade_core::Place;

/// What a call requests, according to its tool.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// The id of the tool.
    pub tool_id: &'a str,
    /// The kind of tool. Absent for a broken entry, which no list of families allows.
    pub family: Option<Family>,
    /// The command of the tool.
    pub command: Option<&'a str>,
    /// Labels of the effects of the call.
    pub effects: &'a [String],
    /// When a user must approve the call. Absent means never.
    pub approval_mode: Option<ApprovalMode>,
    /// The timeout that the tool sets.
    pub timeout: Option<Seconds>,
    /// The runtime that the call uses.
    pub runtime_id: Option<&'a str>,
    /// Labels of the environment variables that the call needs.
    pub env_labels: &'a [String],
    /// The catalog entry, for the places of its fields.
    pub entry: Option<&'a Tool>,
}

impl<'a> CallFacts<'a> {
    /// Takes the facts from a catalog entry.
    pub fn of(tool: &'a Tool) -> CallFacts<'a> {
        CallFacts {
            tool_id: tool.id.as_str(),
            family: tool.family,
            command: tool.command.as_deref(),
            effects: &tool.effects,
            approval_mode: tool.approval_mode,
            timeout: tool.timeout,
            runtime_id: tool.runtime_id.as_deref().filter(|id| !id.is_empty()),
            env_labels: &tool.env_labels,
            entry: Some(tool),
        }
    }

    /// Returns the facts of a tool that does not exist, which asks for nothing.
    pub fn missing(tool_id: &'a str) -> CallFacts<'a> {
        CallFacts {
            tool_id,
            family: None,
            command: None,
            effects: &[],
            approval_mode: None,
            timeout: None,
            runtime_id: None,
            env_labels: &[],
            entry: None,
        }
    }

    /// Returns the place of a field of the tool.
    pub(crate) fn place_of(&self, field: &str) -> Option<Place> {
        self.entry.map(|tool| tool.place_of(field))
    }
}

/// The names of the environment variables that are set. Does not reveal their values.
pub trait Environment {
    /// Returns whether a variable is set, even if it is empty.
    fn is_set(&self, name: &str) -> bool;
}

impl<F: Fn(&str) -> bool> Environment for F {
    fn is_set(&self, name: &str) -> bool {
        self(name)
    }
}
