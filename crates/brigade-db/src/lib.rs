//! What built-in tools remember, in one SQLite file of a workspace.
//!
//! Owns the file `.brigade/tools/state.db` ([`Store`]) with its versions, and the rows of memories, scripts, volumes,
//! lists, questions, turns, reviews, manifests, their executions and what happened to them. Which memory is kept and
//! which text needs a memory is decided by pure functions ([`memory::objection`], [`turns::classify`]). Does not know
//! which tools there are, who may call them, or how a person is asked: each function is told who asks and what time it
//! is.
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
