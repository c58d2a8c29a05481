//! Documents about the presence of tools.

use brigade_catalog::{Availability, Level, OrBuiltin, Presence, Tool, ToolSource, ToolState};
use brigade_core::Timestamp;
use brigade_macros::{document, part};

use super::{InstallRow, StateReason};

/// The version of a tool.
#[part(PartialEq, Eq)]
pub struct VersionRow {
    /// The accepted versions, as the entry declares them.
    pub required: Option<String>,
    /// The version that was observed last.
    pub observed: Option<String>,
    /// When it was observed.
    pub observed_at: Option<Timestamp>,
    /// Whether it is accepted, if that is known.
    pub satisfied: Option<bool>,
}

/// The presence of a tool.
#[part]
pub struct CheckedTool {
    /// The id.
    pub id: String,
    /// The level of its file.
    pub level: OrBuiltin<Level>,
    /// Where it comes from: `script`, `cli`, `mcp`, `skill` or `harness`; `null` for other families.
    pub source: Option<OrBuiltin<ToolSource>>,
    /// Whether it is expected to be present.
    pub availability: Option<Availability>,
    /// Whether the entry is enabled. Nothing is run for a disabled one, and it is not counted.
    pub enabled: bool,
    /// Whether it is present.
    pub state: ToolState,
    /// Why it is not available.
    pub reasons: Vec<StateReason>,
    /// The program that was found.
    pub program: Option<String>,
    /// Its version.
    pub version: VersionRow,
    /// How it is installed.
    pub install: Option<InstallRow>,
}

impl CheckedTool {
    /// Describes the presence of a tool.
    pub fn new(tool: &Tool, presence: &Presence) -> CheckedTool {
        let tool = &*tool.shown();
        let shown = |version: &dyn ToString| tool.masks.shown(&version.to_string());
        CheckedTool {
            id: tool.id.as_str().to_owned(),
            level: tool.reported_level(),
            source: tool.reported_source(),
            availability: tool.availability,
            enabled: tool.enabled,
            state: presence.state,
            reasons: StateReason::all_of(presence),
            program: presence.program.clone(),
            version: VersionRow {
                required: tool.version.as_ref().map(|required| shown(required)),
                observed: presence.version.as_ref().map(|observed| shown(observed)),
                observed_at: presence.observed_at,
                satisfied: presence.satisfied,
            },
            install: tool.install.as_deref().map(InstallRow::from_install),
        }
    }
}

/// How many enabled tools, or named ones, are in which state.
#[part(Copy, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// All their requirements are present.
    pub available: usize,
    /// A requirement is missing.
    pub missing: usize,
    /// They are present, but in a version that is not accepted.
    pub outdated: usize,
    /// Unknown without starting a program.
    pub unknown: usize,
}

impl CheckCounts {
    /// Returns how many tools are not available.
    fn others(self) -> usize {
        self.missing + self.outdated + self.unknown
    }
}

/// `tools check`: the presence of tools.
#[document("brigade.tool-check.v1", if self.counts.others() == 0)]
pub struct CheckReport {
    /// The workspace root.
    pub target: String,
    /// The catalog of the project.
    pub config_path: String,
    /// The tools.
    pub tools: Vec<CheckedTool>,
    /// How many tools are in which state.
    pub counts: CheckCounts,
    /// Whether commands of entries were run to check.
    pub ran_checks: bool,
    /// Notes on checks that could not be made or stored.
    pub notes: Vec<String>,
}
