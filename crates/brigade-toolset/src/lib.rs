//! The functions of the built-in tools.
//!
//! This crate has one module per family of tools, and [`run`], the only entry point. The rows of the tools (names,
//! schemas, effects, rights) are in [`brigade_access::builtin`].
//!
//! It does not know plans, approvals, queues, receipts or protocols. The caller of [`run`] has already verified the
//! call.
//!
//! A function gets arguments that match the schema of its row, and a [`Context`] with everything that it may use. It
//! returns an [`Output`], or a [`Failure`] with a code.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod agent;
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
mod named;
mod pr;
mod proof;
mod provided;
mod report;
mod run;
mod schema;
mod script;
mod session;
mod shipped;
mod stored;
mod system;
mod task;
mod test;
mod todo;
mod volume;
mod web;
mod workflow;

pub use calls::{Calls, FurtherCall};
pub use context::{Context, Failure, FormAsker, Output, TouchedPath};
pub use docs::page;
pub use named::{ArgumentReferences, argument_references, names_things};
pub use proof::{keep_image, kept_image};
pub use provided::provider_answer;
pub use run::{Function, arguments, function, run, unbroken};
pub use task::{TASKS, Tasks, end_children};
pub use workflow::{CallResult, CallState, Engine, RequestedCall, Steps};
