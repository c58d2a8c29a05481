//! JSON Schemas of this crate's types, for documents that contain them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    AgentName, CallId, CheckpointId, Fingerprint, Hint, IssueType, Json, Label, Number, RunId,
    StoredFingerprint, Timestamp,
};

impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    /// Any value: records keep unknown members.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

/// The schema of a member that belongs to users or other programs: any type.
pub fn any_value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["null", "boolean", "number", "string", "array", "object"]})
}

/// Types that are inlined as one kind of JSON value.
macro_rules! plain {
    ($($name:ident: $schema:tt;)*) => {
        $(impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        })*
    };
}

plain! {
    CallId: {"type": "string"};
    CheckpointId: {"type": "string"};
    Fingerprint: {"type": "string", "pattern": "^[0-9a-f]{64}$"};
    Hint: {"type": "string"};
    IssueType: {"type": "string"};
    Label: {"type": "string"};
    Number: {"type": "number"};
    RunId: {"type": "string"};
    StoredFingerprint: {"type": "string", "pattern": "^[0-9a-f]{16}([0-9a-f]{48})?$"};
    AgentName: {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"};
    Timestamp: {"type": "string"};
}
