//! The input of a decision.

use brigade_catalog::{ApprovalMode, Family, Reads, Seconds, Tool};
use brigade_core::Place;
use serde::{Deserialize, Serialize};

/// What a call does with its tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallKind {
    /// It runs the tool.
    #[default]
    Run,
    /// It installs the tool.
    Install,
    /// It reads a resource or a prompt of an MCP server.
    Read,
}

impl CallKind {
    /// Returns `run`, `install` or `read`.
    pub const fn as_str(self) -> &'static str {
        match self {
            CallKind::Run => "run",
            CallKind::Install => "install",
            CallKind::Read => "read",
        }
    }

    /// Returns the kind of a call that is not an installation, from the id of its tool.
    pub fn of_tool(id: &str) -> CallKind {
        if Reads::of_tool_id(id).is_some() { CallKind::Read } else { CallKind::Run }
    }
}

/// The effect of installations. Only a policy that names it allows them.
pub const INSTALL_EFFECT: &str = "install";

/// The facts of a call that the policy decides on.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// The id of the tool.
    pub tool_id: &'a str,
    /// What the call does with it.
    pub kind: CallKind,
    /// The kind of tool. `None` for a broken entry, which no list of families allows.
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
    /// The tool whose level, source and capabilities are judged.
    pub registered: Option<&'a Tool>,
}

impl<'a> CallFacts<'a> {
    /// Takes the facts from a catalog entry.
    pub fn from_tool(tool: &'a Tool) -> CallFacts<'a> {
        CallFacts {
            tool_id: tool.id.as_str(),
            kind: CallKind::Run,
            family: tool.family,
            command: tool.command.as_deref(),
            effects: &tool.effects,
            approval_mode: tool.approval_mode,
            timeout: tool.timeout,
            runtime_id: tool.runtime_id.as_deref().filter(|id| !id.is_empty()),
            env_labels: &tool.env_labels,
            entry: Some(tool),
            registered: Some(tool),
        }
    }

    /// Returns the facts of a tool's installation. `installation` is its [entry](Tool::installation).
    pub fn of_installation(installation: &'a Tool, tool: &'a Tool) -> CallFacts<'a> {
        // The catalog entry has only the command, so other fields have no place.
        let registered = Some(tool);
        CallFacts { kind: CallKind::Install, entry: None, registered, ..CallFacts::from_tool(installation) }
    }

    /// Returns the facts of a command that checks whether a tool is installed. It counts as a script with these
    /// effects, and with the level, source and capabilities of the tool.
    pub fn of_check(tool: &'a Tool, command: &'a str, effects: &'a [String]) -> CallFacts<'a> {
        CallFacts {
            family: Some(Family::Script),
            command: Some(command),
            effects,
            approval_mode: Some(ApprovalMode::Always),
            timeout: None,
            runtime_id: None,
            env_labels: &[],
            ..CallFacts::from_tool(tool)
        }
    }

    /// Returns empty facts, for a call of a tool that does not exist.
    pub fn missing(tool_id: &'a str) -> CallFacts<'a> {
        CallFacts {
            tool_id,
            kind: CallKind::Run,
            family: None,
            command: None,
            effects: &[],
            approval_mode: None,
            timeout: None,
            runtime_id: None,
            env_labels: &[],
            entry: None,
            registered: None,
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
