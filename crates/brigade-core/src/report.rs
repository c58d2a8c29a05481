//! Documents of operations: schema ids and exit codes.

use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How an operation ended, as an exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
pub enum Exit {
    /// Done.
    #[default]
    Done = 0,
    /// Refused, blocked, not found, or the run failed.
    Refused = 1,
    /// The command line or the target cannot be used.
    Usage = 2,
    /// A service of the kitchen is paused, because a person must decide.
    Paused = 30,
    /// Another service of the kitchen has the list of tasks.
    Busy = 31,
    /// A single task of the kitchen is blocked.
    Blocked = 32,
    /// A single task of the kitchen was done already.
    AlreadyDone = 33,
    /// Another task did the work of a single task of the kitchen.
    Absorbed = 34,
    /// Ctrl-C interrupted a service of the kitchen.
    Interrupted = 130,
    /// File access or the environment failed.
    Environment = 3,
    /// A bug in Brigade.
    Bug = 70,
}

impl Exit {
    /// Returns the number.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// A member that is empty in a report, and filled only in the document of a refusal.
#[derive(Clone, Copy, Debug)]
pub struct RefusalMember<T>(PhantomData<T>);

impl<T> Default for RefusalMember<T> {
    fn default() -> RefusalMember<T> {
        RefusalMember(PhantomData)
    }
}

impl<T: Default + Serialize> Serialize for RefusalMember<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::default().serialize(serializer)
    }
}

impl<'de, T: Default + PartialEq + Deserialize<'de>> Deserialize<'de> for RefusalMember<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RefusalMember<T>, D::Error> {
        let is_empty = T::deserialize(deserializer)? == T::default();
        is_empty
            .then(RefusalMember::default)
            .ok_or_else(|| D::Error::custom("this is the document of a refusal"))
    }
}

#[cfg(feature = "schemas")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for RefusalMember<T> {
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

/// The schema id of a document: `brigade.<name>.v1`.
pub type SchemaId = &'static str;

/// A document that an operation returns.
///
/// It can be read back. Fields that are not in the document then have defaults.
pub trait Report: Serialize + DeserializeOwned {
    /// The schema id, `brigade.<name>.v1`.
    const SCHEMA: SchemaId;

    /// Returns how the operation ended.
    fn exit(&self) -> Exit {
        Exit::Done
    }

    /// Reads the schema id: `#[serde(deserialize_with = "CallReport::read_schema")]`.
    ///
    /// # Errors
    /// Fails if the id is of another document.
    fn read_schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SchemaId, D::Error> {
        let is_ours = String::deserialize(deserializer)? == Self::SCHEMA;
        is_ours.then_some(Self::SCHEMA).ok_or_else(|| D::Error::custom("the schema is another one"))
    }
}
