//! The JSON Schema subset for tool contracts.
//!
//! A contract defines the arguments of a tool. An agent's call is checked against it before a user sees the call. Two
//! things must therefore never happen: a part of the schema is silently ignored, or a message shows a value, which may
//! be a secret. A [`Schema`] exists only if every keyword is understood. A [`Violation`] names places and what the
//! schema requires, never the value found.
//!
//! # Supported keywords
//!
//! With the meaning of JSON Schema 2020-12: `type` (one or a list), `enum`, `const`, `properties`, `required`,
//! `additionalProperties`, `minProperties`, `maxProperties`, `items`, `minItems`, `maxItems`, `uniqueItems`,
//! `minLength`, `maxLength`, `pattern`, `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`,
//! `anyOf`, local `$ref` to `$defs`, `definitions` or any other schema of the document, and the schemas `true` and
//! `false`. Annotations (`title description default examples format $comment deprecated readOnly writeOnly`) are
//! accepted with any value, as is `$id` at the root. Any other keyword is a problem.
//!
//! `$schema` may name 2020-12, or draft-07, which most MCP servers publish. Within the subset they differ in one rule:
//! draft-07 ignores keywords beside `$ref`, so such keywords are a problem there. Other dialects are refused.
//!
//! Numbers are compared exactly: `1.0` is an integer and equals `1`, `0.3` is a multiple of `0.1`, and 64-bit integers
//! are not rounded. Lengths count characters (Unicode scalar values). Patterns are ECMA-262 without look-around and
//! backreferences, and match in linear time. No schema or instance can exhaust the stack or make a check exponential.
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
//! .expect("every keyword is in the subset");
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
//! assert_eq!(problems[0].to_string(), "$.a: unsupported schema keywords: oneOf");
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
pub use problem::{Effect, PatternFault, ProblemKind, ReferenceFault, SchemaProblem};
pub use schema::Schema;
pub use types::{JsonType, TypeSet};
pub use violation::{AllowedValues, Violation, ViolationKind};
