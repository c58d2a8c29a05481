//! JSON Schema for tool contracts.
//!
//! It owns compiling schemas, checking instances against them, and describing schemas in words.
//!
//! A contract defines the arguments of a tool. An agent's call is checked against it before a user sees the call. Two
//! things must therefore never happen: an incomplete check that looks complete, or a message that shows a value, which
//! may be a secret. A [`Violation`] names places and what the schema requires, never the value found.
//!
//! # Supported keywords
//!
//! All of JSON Schema 2020-12, and of draft-07 if `$schema` names it, with these exceptions: references to other
//! documents, `$dynamicRef`, other dialects, and patterns that do not match in linear time (look-around,
//! backreferences). A schema with one of these compiles and checks nothing; [`Schema::unchecked`] says why. Unknown
//! keywords have no effect; [`Schema::ignored`] lists them. `format` and `content*` are annotations. A list in `items`,
//! and `dependencies`, have their meaning of draft-07 in both.
//!
//! Numbers are compared exactly: `1.0` is an integer and equals `1`, `0.3` is a multiple of `0.1`, and 64-bit integers
//! are not rounded. Lengths count characters (Unicode scalar values). No schema or instance can exhaust the stack or
//! make a check exponential.
//!
//! # Out of scope
//!
//! Files, tools, policies and secrets. Schemas and instances arrive as [`serde_json::Value`], so the parser must refuse
//! duplicate keys.
//!
//! # Example
//!
//! ```
//! use brigade_schema::{Requirement, Schema};
//! use serde_json::json;
//!
//! let schema = Schema::compile_root(&json!({
//!     "type": "object",
//!     "properties": {
//!         "path": {"type": "string", "minLength": 1, "description": "File to read"},
//!         "mode": {"enum": ["text", "bytes"]},
//!     },
//!     "required": ["path"],
//!     "additionalProperties": false,
//! }))
//! .expect("it is a schema of objects");
//!
//! assert!(schema.accepts(&json!({"path": "notes.md"})));
//!
//! let found: Vec<String> =
//!     schema.violations(&json!({"mode": "hex", "extra": 1})).iter().map(|v| v.to_string()).collect();
//! assert_eq!(
//!     found,
//!     [
//!         "$.path: required",
//!         "$.extra: additional property not allowed",
//!         "$.mode: expected one of \"text\", \"bytes\"",
//!     ]
//! );
//!
//! let path = schema.property("path").expect("it is listed");
//! assert_eq!(path.requirement, Requirement::Required);
//! assert_eq!(path.describe_type(), "string");
//!
//! let problems = Schema::compile(&json!({"properties": {"a": {"oneOf": []}}})).unwrap_err();
//! assert_eq!(problems[0].to_string(), "$.a.oneOf: must be a list of one or more schemas");
//!
//! let schema = Schema::compile(&json!({"properties": {"a": {"$ref": "a.json"}}})).expect("it is a schema");
//! assert_eq!(schema.arguments_not_checked().unwrap(), "arguments not checked: remote $ref at #/properties/a");
//! ```

mod schema;

mod problem;
mod violation;

mod compile;
mod dialect;
mod pattern;
mod references;
mod resources;
mod uri;

mod describe;
mod validate;

mod equality;
mod limits;
mod node;
mod number;
mod path;
mod place;
mod types;

pub use describe::{Property, Requirement};
pub use limits::{MAX_DEPTH, MAX_VIOLATIONS};
pub use place::place_of_value;
pub use problem::{Effect, PatternFault, ProblemKind, ReferenceFault, SchemaProblem};
pub use schema::Schema;
pub use types::{JsonType, TypeSet};
pub use violation::{AllowedValues, Violation, ViolationKind};
