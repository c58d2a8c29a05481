//! The registry of tools: what agent programs have, what is registered in a catalog, what is found and what is there.
//!
//! Owns the operations on tools as functions over the [`Seams`](brigade_upkeep::Seams) of a workspace; each returns a
//! report, or the [`Failure`](brigade_policy::Failure) that says why there is none. Does not know calls that run,
//! terminals and arguments.
//!
//! ```
//! use brigade_fs::{FileMode, Fs, MemoryFs};
//! use brigade_registry::{RegisterRequest, RegisterSource, register};
//! use brigade_upkeep::Seams;
//! use std::sync::Arc;
//!
//! let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
//! let servers = br#"{"mcpServers": {"notes": {"command": "notes-server"}}}"#;
//! fs.write_atomic(&".mcp.json".parse()?, servers, FileMode::Private)?;
//!
//! let seams = Seams::new(fs);
//! let found = brigade_registry::discover(&seams, &brigade_upkeep::Look::default())?;
//! assert_eq!(found.entries[0].id, "mcp:notes");
//! let request = RegisterRequest {
//!     sources: vec![RegisterSource::Reference("mcp:notes".to_owned())],
//!     level: brigade_catalog::Level::Project,
//!     id: None,
//!     replace: false,
//!     dry_run: false,
//! };
//! let report = register(&seams, &request)?;
//! assert!(report.errors.is_empty() && !report.registered[0].enabled);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod catalog;
mod checking;
mod discovery;
mod finding;
mod health;
mod installing;
mod observing;
pub mod packs;
mod register;
mod report;
mod sarif;

pub use catalog::{contracts, describe, lines, lines_of};
pub use checking::{RunChecks, WhatToCheck, check};
pub use discovery::{discover, harness_labels, sync};
pub use finding::{ListFilter, discovered, doubts, find, search, show, stats};
pub use health::{diagnosed, list, list_of};
pub use installing::{InstallRequest, Installing, WhatToInstall, install};
pub use register::{RegisterRequest, RegisterSource, register};
pub use report::*;
