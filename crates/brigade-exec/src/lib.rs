//! Runs a verified call and writes down what happened.
//!
//! Owns the child's environment, the sandbox profile that a decision means on this machine, masked logs and summaries,
//! the checkpoints that a script drops, and the receipt. Takes only a [`VerifiedCall`](brigade_call::VerifiedCall);
//! does not know the queue: whoever calls [`execute`] has claimed the call before and records its end after.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod confinement;
mod dropped;
mod environment;
mod execute;
mod folder;
mod mcp;
mod output;
mod program;
mod receipt;

pub use dropped::{BrokenCheckpoint, DroppedFile};
pub use environment::HostEnvironment;
pub use execute::{Execution, Finished, Logs, execute, execute_pinned};
pub use folder::{FolderFiles, file_fingerprint, folder_files};
pub use mcp::{
    Exchange, KeepPin, ListedTool, McpAnswer, McpErrorKind, McpFault, McpRequest, Pin, PinChange,
    PinChangeKind, PinError, PinRule, ServerExit, diff,
};
#[cfg(feature = "mcp")]
pub use mcp::{LiveServer, call_tool, list_live, list_tools};
pub use program::{FileStamp, KnownDigests, OpenedProgram, resolve_program};
pub use receipt::{RunPaths, with_checkpoints};
