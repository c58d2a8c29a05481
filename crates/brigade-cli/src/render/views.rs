//! The text form of each report.

mod agents;
pub(crate) mod calls;
mod catalog;
mod checkpoints;
mod clients;
pub(crate) mod daily;
mod doctor;
mod finding;
mod install;
mod kitchen;
mod mcp;
mod onboarding;
mod packs;
mod policy;
mod projections;
mod register;
mod registries;
mod registry;
pub(crate) mod runs;
mod runtimes;
mod setup;
mod state;
#[cfg(feature = "team")]
mod team;
mod trust;
mod work;

pub(super) use calls::{show_call, show_skipped, show_stored_blockers};
pub(crate) use kitchen::{Escalations, next_of_approval, show_status, show_task, task_lines, waiting_line};
pub(crate) use mcp::imported_line;
pub(super) use projections::show_diff;
pub(super) use runtimes::numbers;
