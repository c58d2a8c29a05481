//! What operations return: one type for each JSON document.
//!
//! Each document has a schema id, `brigade.<name>.v1`, and keeps the keys and types of the Python program beside ours.
//! Paths are absolute. Fields are public: a report is a value without invariants.

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

use std::marker::PhantomData;

use serde::{Serialize, Serializer};

use crate::exit::Exit;

/// A member that only the document of a refusal fills; beside a report it is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unfilled<T>(PhantomData<T>);

impl<T> Unfilled<T> {
    /// Leaves the member out of the document.
    fn is_left_out(&self) -> bool {
        true
    }
}

impl<T> Default for Unfilled<T> {
    fn default() -> Unfilled<T> {
        Unfilled(PhantomData)
    }
}

impl<T: Default + Serialize> Serialize for Unfilled<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::default().serialize(serializer)
    }
}

#[cfg(feature = "schemas")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Unfilled<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

/// A document that an operation returns.
pub trait Report: Serialize {
    /// The schema id, `brigade.<name>.v1`.
    const SCHEMA: &'static str;

    /// Returns how the operation ended.
    fn exit(&self) -> Exit {
        Exit::Done
    }
}
