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
mod register;
mod registry;
mod runs;
mod runtimes;
mod serve;
mod setup;
mod state;
mod upstreams;
mod work;

pub use agents::*;
pub use brigade_core::json::Rows;
pub use brigade_core::{Report, SchemaId};
pub use brigade_doctor::{IssueReport, ProjectionMarks};
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
pub use register::*;
pub use registry::*;
pub use runs::*;
pub use runtimes::*;
pub use serve::*;
pub use setup::*;
pub use state::*;
pub use upstreams::*;
pub use work::*;

use std::marker::PhantomData;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A member that is empty in a report, and filled only in the document of a refusal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unfilled<T>(PhantomData<T>);

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

impl<'de, T: Default + PartialEq + Deserialize<'de>> Deserialize<'de> for Unfilled<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unfilled<T>, D::Error> {
        let is_empty = T::deserialize(deserializer)? == T::default();
        is_empty.then(Unfilled::default).ok_or_else(|| D::Error::custom("this is the document of a refusal"))
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
