//! What operations return: one type for each JSON document.
//!
//! Each document has a schema id, `brigade.<name>.v1`, and keeps the keys and types of the Python program beside ours. Paths
//! are absolute. Fields are public: a report is a value without invariants.

mod calls;
mod catalog;
mod checkpoints;
mod doctor;
mod issue;
mod logs;
mod mcp;
mod policy;
mod projections;
mod rows;
mod runs;
mod runtimes;
mod setup;
mod state;
mod work;

pub use calls::*;
pub use catalog::*;
pub use checkpoints::*;
pub use doctor::*;
pub use issue::*;
pub use logs::*;
pub use mcp::*;
pub use policy::*;
pub use projections::*;
pub use rows::*;
pub use runs::*;
pub use runtimes::*;
pub use setup::*;
pub use state::*;
pub use work::*;

use serde::Serialize;

use crate::exit::Exit;

/// A document that an operation returns.
pub trait Report: Serialize {
    /// The schema id, `brigade.<name>.v1`.
    const SCHEMA: &'static str;

    /// Returns how the operation ended.
    fn exit(&self) -> Exit {
        Exit::Done
    }
}
