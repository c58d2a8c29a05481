//! Runs a verified call and builds its receipt.
//!
//! Owns the environment of the child, the sandbox profile of a decision, masked logs and summaries, dropped
//! checkpoints, and the receipt. Takes only a [`VerifiedCall`](brigade_call::VerifiedCall), or a
//! [`VerifiedStart`](brigade_call::VerifiedStart). Does not know the queue:
//! the caller of [`execute`] claims the call before, and records its end after.
//!
//! A program inherits only a few variables of its host and those that the policy binds or passes:
//!
//! ```
//! use brigade_exec::HostEnvironment;
//!
//! let host = HostEnvironment::new([("PATH".into(), "/bin".into()), ("API_KEY".into(), "example".into())]);
//! let usual = host.usual();
//! assert!(usual.is_set("PATH") && !usual.is_set("API_KEY"));
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod builtin_run;
mod check;
mod closed_places;
mod closed_reads;
mod confinement;
mod conversation;
mod dropped_checkpoints;
mod ending;
mod environment;
mod execute;
mod kept;
mod log;
mod observed;
mod output;
mod peer;
mod postcondition;
mod program;
mod receipt;
mod run_files;
mod started_program;
mod workspace_files;

pub use builtin_run::{BuiltinLimits, BuiltinOutcome, BuiltinRun};
pub use check::{CheckResult, check};
pub use closed_places::ClosedPlaces;
pub use confinement::{WorkFolder, confine_start};
pub use conversation::{Conversation, talk};
pub use dropped_checkpoints::{BrokenCheckpoint, DroppedFile};
pub use environment::{CERTIFICATE_VARIABLES, HostEnvironment};
pub use execute::{Execution, Executor, KeptProgram, Logs, Progress, RunResult, execute};
pub use kept::{KeepRequest, KeptEnd, KeptRun, PreparedStart, StartSource, prepare};
pub use log::{LOG_SHOWN, follow_log, log_end, log_text, pass_log};
pub use observed::{
    BESIDE_DATABASE, ObservedRun, Watch, denials, is_beside_database, is_database, other_bytes,
    refused_writes,
};
pub use peer::{ConversationResult, KeptPeer, Peer};
pub use postcondition::{EndedRun, Postcondition, PostconditionResult};
pub use program::{FileStamp, KnownDigests, OpenedProgram};
pub use receipt::RunPaths;
pub use run_files::{Drops, RunFiles, left_drops};
pub use started_program::{EndedStart, ProgramRun, run_started};
pub use workspace_files::{
    FolderFiles, PatternMatches, PatternUse, check_pattern, file_fingerprint, folder_files, links_on,
    matching_files, plain_folder, plain_part, ways_to_root,
};
