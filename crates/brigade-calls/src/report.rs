//! The reports of this crate: one type per JSON document.

mod attest;
mod calls;
mod checkpoints;
mod logs;
mod mcp;
mod runs;
mod runtimes;

pub use attest::*;
pub(crate) use brigade_core::Unfilled;
pub use brigade_core::json::Rows;
pub use brigade_core::{Report, SchemaId};
pub use brigade_projection::ProjectionReport;
pub use calls::*;
pub use checkpoints::*;
pub use logs::*;
pub use mcp::*;
pub use runs::*;
pub use runtimes::*;
