//! Agents, tasks and workflows.
//!
//! This crate owns:
//!
//! * the manifests of agents and workflows;
//! * the functions of their built-in tools, and [`run`], which calls them and those of `brigade-toolset`;
//! * the [`TaskRunner`]: attempts of workers (the same as in the kitchen), with receipts in the tools' ledger, and the
//!   validation of outputs;
//! * the engine that drives the execution of a workflow;
//! * the pipes through which a worker reaches a gateway session;
//! * the judge of calls and outputs, and the [notification](notify) that something waits.
//!
//! It does not know how a call is planned, approved or run. It makes calls through [`Steps`].
//!
//! A task belongs to the process that began it. A process that serves agents runs the task in a new thread. Any other
//! process runs it before the call returns, because it exits after that.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod connection;
mod context;
mod driver;
mod engine;
mod judge;
mod manifest;
mod notification;
mod receipt;
mod references;
mod runner;
mod running;
mod task_run;
#[cfg(test)]
mod testing;
mod tools;
mod validation;

use brigade_core::ErrorCode;
use brigade_toolset::Failure;

pub use context::{CallerContext, CallerContexts, TaskContext};
pub use driver::{adopt_flows, take_over};
pub use engine::{CallResult, CallState, RequestedCall, Steps};
pub use judge::judge_call;
pub use notification::notify;
pub use references::reference;
pub use runner::TaskRunner;
pub use running::RunningTasks;
pub use tools::{is_built, run};

fn environment(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::Environment, error.to_string())
}
