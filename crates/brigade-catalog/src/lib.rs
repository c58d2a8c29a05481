//! Parses and edits `.brigade/tools.toml` and `.brigade/tools/runtimes.toml`.
//!
//! Owns:
//!
//! * the fields of an entry, and parsing of both files, even invalid ones ([`Catalog`], [`Runtimes`]);
//! * edits that keep comments and order;
//! * search, and checks whether tools are installed;
//! * registration of tools from other formats, and tool packs;
//! * the labels and executables of agent programs;
//! * the files that `init` writes.
//!
//! Bytes come in; values and issues go out. Does not access files, and does not know policies, the status of
//! projections, or calls.
//!
//! [`Catalog::parse`] never fails. It returns the valid entries, and an issue for everything else, with file, line,
//! column, entry id and field. Issues never contain values.
//!
//! ```
//! use brigade_catalog::{Catalog, Family, Level};
//!
//! let text = b"[[tool]]\nid = 'greet'\nname = 'Greet'\nfamily = 'script'\ncommand = './greet'\ntimout = 3\n";
//! let catalog = Catalog::parse("tools.toml", Level::Project, text);
//! assert!(catalog.is_valid());
//! assert_eq!(catalog.tool("greet").map(|tool| tool.family), Some(Some(Family::Script)));
//! assert_eq!(catalog.issues()[0].place.to_string(), "tools.toml:6:1");
//! assert_eq!(catalog.issues()[0].hint, Some("did you mean `timeout`?".into()));
//! ```

pub mod edit;
mod entry_text;
mod fields;
mod find;
mod infer;
mod levels;
mod model;
pub mod pack;
mod presence;
mod programs;
mod read;
pub mod register;
mod registry_file;
mod search;
mod secrets;
pub mod source;
pub mod starter;

pub use entry_text::FieldValue;
pub use fields::{KNOWN_HARNESSES, REMOTE_EFFECTS, misspelt_effect};
pub use find::{Candidate, FindQuery, HarnessTools, Quantity, candidates, gaps, rank};
pub use infer::UsedWords;
pub use levels::{ShadowedEntry, TakenAlias, UnsafeUserFile};
pub use model::{
    ApprovalMode, Availability, CONNECT, Catalog, Cost, Effect, FIELDS_FOR_CALLS, Family, Install,
    InvalidSeconds, InvalidToolId, InvalidVersion, Level, Masks, OrBuiltin, Origin, Reads, RegistrySettings,
    RemoteServer, RiskClass, Runtime, RuntimeHome, Runtimes, SCHEMA, Seconds, ServerTransport, Settings,
    SourceDetail, Tool, ToolId, ToolLookupError, ToolSource, Version, VersionRequirement, WORDS_SCHEMA,
    WORDS_TEMPLATE, label_key, same_label,
};
pub use presence::{
    Answer, Need, ObservedPresence, PathTest, Presence, Reason, RunsIn, ToolState, docs, needs, presence,
};
pub use programs::{Program, program, programs};
pub use registry_file::MAX_REGISTRY_BYTES;
pub use search::{Match, MatchKind, SearchText, search};
pub use secrets::{SecretText, TextPurpose};
