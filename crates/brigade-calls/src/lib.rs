//! Operations on calls, on their runs and checkpoints, and on what they need: runtimes and pins.
//!
//! Owns: the handles [`Calls`], [`Runs`], [`Checkpoints`], [`Runtimes`] and [`Pins`] over the seams of a workspace;
//! their reports; [`Error`], whose [`Refusal`] has what the document of a refused operation shows. Compares a call with
//! its approval before each run. Does not know: what a host runs a verified call with, agents and their sessions, the
//! command line. It runs calls through a [`Runner`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use brigade_calls::{Attempt, Calls, Error, ErrorKind, Ready, Refusal, Request, Runner};
//! use brigade_fs::MemoryFs;
//! use brigade_upkeep::Seams;
//!
//! /// A host that shows calls and decides about them, and runs none.
//! struct Office;
//!
//! impl Runner for Office {
//!     fn attempt(&self, ready: Ready) -> Result<Attempt, Error> {
//!         let message = format!("call {} runs elsewhere", ready.call.id());
//!         Ok(Attempt::Taken(Box::new(ready.call.call().clone()), Error::new(ErrorKind::Refused, message)))
//!     }
//! }
//!
//! let seams = Arc::new(Seams::new(Arc::new(MemoryFs::new())));
//! let calls = Calls::new(seams, Arc::new(Office));
//! let error = calls.queue(Request::new("greet").arg("name", "world")).unwrap_err();
//! assert!(matches!(error.refusal(), Some(Refusal::Queue { .. })), "there is no such tool");
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod args;
mod attest;
mod batch;
mod calls;
mod checkpoints;
mod ending;
mod error;
mod history;
mod import_mcp;
mod live;
mod logs;
mod observe;
mod pins;
mod refusal;
mod report;
mod request;
mod running;
mod runtimes;
mod watching;

pub use args::ArgsSource;
pub use calls::{
    CallFilter, CallList, Calls, calls_path, find_call_to_change, give_up, invalid_policy, plan_again,
    record_interrupted, record_review,
};
pub use checkpoints::Checkpoints;
pub use error::{Error, ErrorKind};
pub use history::{RunFilter, Runs};
pub use import_mcp::{ImportMcpRequest, import_mcp};
pub use live::{contracts_live, tool_live};
pub use logs::{LogReach, open_log};
pub use observe::{Declare, observe};
pub use pins::{Pinned, Pins, keep as keep_pin, pin_of_call, pin_store};
pub use refusal::{Refusal, RunRefusal};
pub use report::*;
pub use request::{Blocked, Request};
pub use running::{Attempt, Ready, RunTarget, Runner, refused, run_stored};
pub use runtimes::{Runtimes, runtime_of};
pub use watching::{remember, watch};
