//! The base types of Brigade, shared by every other crate.
//!
//! Owns:
//!
//! * ids, timestamps, the clock, fingerprints, and the MACs of a host;
//! * JSON (parsing, canonical form), YAML as values with places, and the words of TOML errors;
//! * places in files, issues found there, and the tables of issue types and codes;
//! * next steps, and the documents of operations;
//! * the names of places that are closed to agents;
//! * escaping of text for terminals.
//!
//! Does not know tools, calls, files or processes.
//!
//! ```
//! use brigade_core::{Fingerprint, Json};
//!
//! let arguments = Json::parse(r#"{"path": "README.md", "depth": 2}"#)?;
//! let fingerprint = Fingerprint::builder("example.v1").json("arguments", &arguments).finish();
//! assert_eq!(fingerprint.to_hex().len(), 64);
//! # Ok::<(), brigade_core::JsonError>(())
//! ```

mod closed;
mod codes;
mod explained;
mod fingerprint;
pub mod front_matter;
mod glob;
mod host_key;
mod id;
mod issue;
mod issue_type;
pub mod json;
mod loopback_host;
mod next;
pub mod parallel;
mod recorded;
mod report;
#[cfg(feature = "schemas")]
mod schemas;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
mod time;
pub mod toml_errors;
#[doc(hidden)]
pub mod web_url;
pub mod words;
pub mod yaml;

pub use closed::{
    AgentFiles, ClosedPlace, GIT_FOLDER, STATE_FOLDER, closed_place, plain_path, reserved_agent_files,
};
pub use codes::{Code, ErrorCode};
pub use explained::{ErrorKind, OperationError};
pub use fingerprint::{Fingerprint, FingerprintBuilder, FingerprintStream, StoredFingerprint};
pub use glob::Glob;
pub use host_key::HostKey;
pub use id::{
    AgentName, CallId, CheckpointId, IdPrefix, InvalidId, Label, PrefixMatch, RunId, short_repeats,
};
pub use issue::{ConfigIssue, Place, Severity, TRACKED, closest};
pub use issue_type::{Area, IssueType, Remedy};
pub use json::{Dialect, Extra, Json, JsonError, JsonErrorKind, Number, Object};
pub use loopback_host::LoopbackHost;
pub use next::{Hint, NeutralWords, NextStep, StepFormatter};
pub use recorded::{RecordedWord, Word};
pub use report::{Exit, RefusalMember, Report, SchemaId};

pub use time::{Clock, InvalidTimestamp, SystemClock, Timestamp};
pub use words::UnknownWord;
