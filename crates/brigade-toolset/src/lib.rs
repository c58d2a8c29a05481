//! The functions of the built-in tools.
//!
//! This crate has one module per family of tools, and [`run`], the only entry point. The rows of the tools (names,
//! schemas, effects, rights) are in [`brigade_access::builtin`].
//!
//! It does not know plans, approvals, queues, receipts or protocols. The caller of [`run`] has already verified the
//! call. The tools for agents, tasks and workflows are in `brigade-workflow`.
//!
//! A function gets arguments that match the schema of its row, and a [`Context`] with everything that it may use. It
//! returns an [`Output`], or a [`Failure`] with a code.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ask;
mod calls;
mod context;
mod docs;
mod files;
mod fleet;
mod git;
mod issue;
mod lane;
mod memory;
mod pr;
mod proof;
mod provided;
mod references;
mod report;
mod resolver;
mod run;
mod script;
mod session;
mod stored;
mod system;
mod test;
mod todo;
mod volume;
mod web;

pub use calls::{Calls, FurtherCall};
pub use context::{Context, Failure, FormAsker, Output, TouchedPath};
pub use docs::page;
pub use lane::{is_gone, lane_of_input, lock_lane};
pub use proof::{keep_image, kept_image};
pub use provided::provider_answer;
pub use references::{ArgumentReferences, Reference, reference};
pub use resolver::{NameResolver, not_reviewed};
pub use run::{Function, arguments, is_built, run, run_function, unbroken};
