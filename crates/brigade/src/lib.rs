//! Governed tool calls for coding agents: catalog, plan, approval, run, receipt.
//!
//! What the command line does, from another program:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! use brigade::{Context, Workspace};
//!
//! let workspace = Workspace::open(folder.path(), Context::of_process())?;
//! workspace.init(Default::default(), Default::default())?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod args;
mod calls;
mod catalog;
mod checkpoints;
mod context;
mod error;
mod exit;
mod files;
mod gather;
mod history;
mod load;
mod policies;
mod policy_json;
mod report;
mod running;
mod sample;
mod setup;
mod survey;
mod workspace;

pub use brigade_core as core;
pub use brigade_policy::Blocker;
pub use brigade_process::{CancelSignal, CancelToken};

pub use args::ArgsSource;
pub use calls::{Blocked, CallFilter};
pub use context::{Context, DEFAULT_LOCK_TIMEOUT};
pub use error::{Error, ErrorKind};
pub use exit::Exit;
pub use history::RunFilter;
pub use report::*;
pub use running::RunTarget;
pub use sample::NewFile;
pub use setup::{Existing, Ignore};
pub use workspace::Workspace;
