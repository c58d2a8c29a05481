//! The reports of operations: one type per JSON document.
//!
//! Each document has a schema id, `brigade.<name>.v1`. It keeps all keys and types of v0.30, and may add keys.
//! Paths are absolute. Fields are public, because a report has no invariants.

mod agents;
mod calls;
mod catalog;
mod checking;
mod checkpoints;
mod clients;
mod doctor;
mod finding;
mod install;
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
pub use brigade_registry::{
    DiscoveryReport, RegisterErrorRow, RegisterNoteRow, RegisterReport, RegisteredTool, RegistrySyncReport,
};
pub use calls::*;
pub use catalog::*;
pub use checking::*;
pub use checkpoints::*;
pub use clients::*;
pub use doctor::*;
pub use finding::*;
pub use install::*;
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
