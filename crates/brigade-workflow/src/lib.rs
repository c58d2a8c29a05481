//! Runs tasks and drives workflows that agents begin.
//!
//! This crate owns:
//!
//! * the [`TaskRunner`], which the built-in tools use for tasks;
//! * attempts of workers (the same as in the kitchen), with receipts in the tools' ledger;
//! * the validation of outputs;
//! * the [`Judge`], which decides about calls and outputs;
//! * the [notification](notify) that something waits;
//! * the pipes through which a worker reaches a gateway session;
//! * the thread that drives the execution of a workflow.
//!
//! It does not know how a call is planned, approved or run. It makes calls through [`Callers`].
//!
//! A task belongs to the process that began it. A process that serves agents runs the task in a new thread. Any other
//! process runs it before the call returns, because it exits after that.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use brigade_toolset::Tasks;
//! use brigade_call::Caller;
//! use brigade_fs::MemoryFs;
//! use brigade_access::LiveSession;
//! use brigade_db::Stores;
//! use brigade_tasks::{Callers, TaskContext, TaskRunner, CallerContext, RunningTasks};
//! use brigade_workspace::{WorkspaceContext, gather};
//!
//! struct NoCallers;
//!
//! impl Callers for NoCallers {
//!     fn on_behalf(&self, _: Caller, _: Arc<LiveSession>, _: Vec<String>) -> CallerContext {
//!         unreachable!("no workflow runs")
//!     }
//! }
//!
//! let desk = TaskContext {
//!     context: Arc::new(WorkspaceContext::new(Arc::new(MemoryFs::new()))),
//!     session: None,
//!     sessions: None,
//!     serves: false,
//!     stores: Arc::new(Stores::new(Duration::from_secs(1), Arc::new(brigade_fs::WorkspaceKey::temporary()))),
//!     running: Arc::new(RunningTasks::default()),
//!     callers: Arc::new(NoCallers),
//! };
//! let config = gather::config(&desk.context)?;
//! let hands = TaskRunner::new(&desk, &config, None);
//! assert!(hands.workers().is_empty(), "gateway.toml names no worker");
//! assert!(!hands.is_gone(&hands.gateway().unwrap()), "this process is there");
//! # Ok::<(), brigade_policy::Failure>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod adopt;
mod connected;
mod desk;
mod flow;
mod hands;
mod job;
mod judge;
mod judging;
mod names;
mod notifying;
mod receipt;
mod running;

use brigade_core::ErrorCode;
use brigade_toolset::Failure;

pub use adopt::adopt_flows;
pub use desk::{CallerContext, Callers, TaskContext};
pub use flow::take_over;
pub use hands::TaskRunner;
pub use judging::{Judge, JudgeQuestion};
pub use names::NameResolver;
pub use notifying::notify;
pub use running::RunningTasks;

fn environment(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::Environment, error.to_string())
}
