//! Stores the data of the built-in tools in one SQLite file per workspace.
//!
//! This crate owns:
//!
//! * the file `.brigade/tools/state.db` ([`Store`]) and its migrations;
//! * the rows of memories, scripts, volumes, todo lists, questions, turns and reviews;
//! * manifests, their executions and their events;
//! * the pure functions that decide which memory is kept ([`memory::objection`]) and which turn needs a search
//!   ([`turns::classify`]).
//!
//! It does not know the tools, their callers' rights, or how a person is asked. Callers pass the owner and the time to
//! each function.
//!
//! ```
//! use std::time::Duration;
//!
//! use brigade_core::Timestamp;
//! use brigade_fs::DiskFs;
//! use brigade_db::Store;
//! use brigade_db::todos::{Todo, TodoStatus};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let store = Store::open(&DiskFs::open(folder.path())?, Duration::from_secs(1))?;
//! let todo = Todo { id: "1".to_owned(), content: "Read the README".to_owned(), status: TodoStatus::Pending };
//! store.write_todos("session", &[todo.clone()], Timestamp::from_unix_micros(0))?;
//! assert_eq!(store.read_todos("session")?, [todo]);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
pub mod events;
pub mod executions;
mod file;
pub mod flows;
pub mod manifests;
pub mod memory;
mod migrations;
pub mod questions;
pub mod records;
pub mod reviews;
pub mod scripts;
mod store;
pub mod texts;
pub mod todos;
pub mod turns;
pub mod volumes;

pub use error::{Refusal, StoreError};
pub use file::STATE_DB;
pub use store::{Access, Store, Stores};
