//! The content of the two files, as values.

mod catalog;
mod detail;
mod installation;
mod names;
mod or_builtin;
mod origin;
mod reads;
mod remote;
mod runtime;
mod scalar;
mod settings;
mod tool;
mod version;

pub use catalog::{Catalog, ToolLookupError};
pub(crate) use catalog::{LostEntries, fold};
pub use detail::{Cost, Install, SourceDetail, label_key, same_label};
pub use names::{ApprovalMode, Availability, Effect, Family, RiskClass, ServerTransport, ToolSource};
pub use or_builtin::OrBuiltin;
pub(crate) use origin::FieldPlace;
pub use origin::{Level, Origin};
pub use reads::Reads;
pub use remote::{CONNECT, RemoteServer};
pub use runtime::{Runtime, RuntimeHome, Runtimes};
pub use scalar::{InvalidSeconds, InvalidToolId, Seconds, ToolId};
pub use settings::{RegistrySettings, SCHEMA, Settings};
pub use tool::{FIELDS_FOR_CALLS, Masks, Tool, WORDS_SCHEMA, WORDS_TEMPLATE};
pub use version::{InvalidVersion, Version, VersionRequirement};
