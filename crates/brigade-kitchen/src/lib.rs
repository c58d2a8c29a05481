//! Decides how a crew of coding agents works through a list of tasks.
//!
//! It owns:
//!
//! * PRDs and their validation ([`prd`]), the commands in them ([`Command`]), and plans ([`plan`]);
//! * the configuration ([`config`]), and which tier begins with a task ([`route()`]);
//! * worker programs ([`adapter`]), what they are told ([`prompt`]) and what they say ([`signal`]);
//! * the life of a PRD ([`life`]), and what a person approves ([`approval`]);
//! * projections for people and other programs ([`show`]), and the map of a code base ([`map`]).
//!
//! It knows nothing about files on disk, git, processes or the journal's bytes. It receives the bytes of files and the
//! records of a journal.
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
mod words;

pub use command::{Command, CommandFault, Danger, dangers};
pub use names::{InvalidPrdName, InvalidTaskId, PrdName, TaskId, Tier, is_branch_name};
pub use route::{Route, route};
