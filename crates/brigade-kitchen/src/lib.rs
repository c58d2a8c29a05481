//! Rules of the kitchen: how a crew of coding agents works through a PRD, a list of tasks.
//!
//! This crate owns:
//!
//! * PRDs and their validation ([`prd`]), the commands in them ([`Command`]), and plans ([`plan`]);
//! * the configuration ([`config`]), and the choice of the tier that starts a task ([`route()`]);
//! * worker programs ([`adapter`]), their prompts ([`prompt`]) and their results ([`signal`]);
//! * the state of a PRD, computed from its journal ([`life`]), and what a person approves ([`approval`]);
//! * reports and files for people and other programs ([`show`]), and the map of a code base ([`map`]).
//!
//! It does not read files, run git or start processes, and it does not know how a journal is stored. The caller passes
//! the bytes of files and the records of a journal.
//!
//! ```
//! use brigade_kitchen::prd::{FaultCode, Lints, read};
//!
//! let text = br#"{"featureName": "Login", "tasks": [
//!     {"id": "US-001", "title": "Add login", "dependsOn": ["US-009"]}]}"#;
//! let reading = read("prd-login.json", text, Lints::ALL);
//! assert_eq!(reading.errors[0].code, FaultCode::UnknownDependency);
//! assert_eq!((reading.errors[0].place.line, reading.errors[0].place.column), (Some(2), Some(58)));
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod adapter;
pub mod approval;
mod command;
pub mod config;
pub mod format;
pub mod health;
mod layout;
pub mod life;
pub mod map;
mod names;
pub mod plan;
pub mod prd;
pub mod prompt;
mod route;
pub mod service;
pub mod show;
pub mod signal;
mod tagged;
mod words;

pub use command::{Command, CommandFault, Danger, dangers};
pub use names::{InvalidPrdName, InvalidTaskId, PrdName, TaskId, Tier, is_branch_name};
pub use route::{Route, route};
