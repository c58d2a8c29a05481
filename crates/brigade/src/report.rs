//! The reports of operations: one type per JSON document.
//!
//! Each document has a schema id, `brigade.<name>.v1`. It keeps all keys and types of v0.30, and may add keys.
//! Paths are absolute. Fields are public, because a report has no invariants.

mod agents;
mod calls;
mod checkpoints;
mod clients;
mod doctor;
mod logs;
mod mcp;
mod packs;
mod policy;
mod projections;
mod runs;
mod runtimes;
mod serve;
mod setup;
mod state;
mod upstreams;
mod work;

pub use agents::*;
pub(crate) use brigade_core::Unfilled;
pub use brigade_core::json::Rows;
pub use brigade_core::{Report, SchemaId};
pub use brigade_doctor::{IssueReport, ProjectionMarks};
pub use brigade_facts::{
    ArgumentDescription, Contract, ContractHealth, DescribedTool, McpSummary, Origin, ToolLine, ToolSummary,
};
pub use brigade_registry::{
    BlockedInstall, CatalogReport, CheckCounts, CheckReport, CheckedTool, ContractsReport, CostRow,
    DescribeReport, DiscoveryReport, FindMatch, FindQueryRow, FindReport, InstallReport, InstallRow,
    QueuedInstall, RegisterErrorRow, RegisterNoteRow, RegisterReport, RegisteredTool, RegistrySyncReport,
    SearchMatch, SearchReport, ShadowedRow, ShowReport, ShownTool, SkippedInstall, SourceDetailRow,
    StateReason, StatsReport, Suggestion, ToolLinesReport, ToolStats, VersionRow,
};
pub use brigade_upkeep::{
    CallSection, CheckpointSection, ParitySection, PolicySection, RunSection, RuntimeSection,
};
pub use calls::*;
pub use checkpoints::*;
pub use clients::*;
pub use doctor::*;
pub use logs::*;
pub use mcp::*;
pub use packs::*;
pub use policy::*;
pub use projections::*;
pub use runs::*;
pub use runtimes::*;
pub use serve::*;
pub use setup::*;
pub use state::*;
pub use upstreams::*;
pub use work::*;
