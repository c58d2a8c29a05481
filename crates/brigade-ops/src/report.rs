//! The reports of operations: one type per JSON document.

mod attest;
mod calls;
mod catalog;
mod checking;
mod checkpoints;
mod discovery;
mod finding;
mod install;
mod logs;
mod mcp;
mod packs;
mod parity;
mod policy_test;
mod projections;
mod register;
mod registries;
mod runs;
mod runtimes;
mod setup;
mod state;
#[cfg(feature = "team")]
mod team;
mod trust;
mod upstreams;
mod views;
mod work;

pub use attest::*;
pub(crate) use brigade_core::RefusalMember;
pub use brigade_core::json::Rows;
pub use brigade_core::{Report, SchemaId};
pub use brigade_projection::ProjectionReport;
pub use calls::*;
pub use catalog::*;
pub use checking::*;
pub use checkpoints::*;
pub use discovery::*;
pub use finding::*;
pub use install::*;
pub use logs::*;
pub use mcp::*;
pub use packs::*;
pub use parity::*;
pub use policy_test::*;
pub use projections::*;
pub use register::*;
pub use registries::*;
pub use runs::*;
pub use runtimes::*;
pub use setup::*;
pub use state::*;
#[cfg(feature = "team")]
pub use team::*;
pub use trust::*;
pub use upstreams::*;
pub use views::*;
pub use work::*;
