//! Supervises the local runtimes that calls depend on.
//!
//! It owns the state of runtimes and its verification ([`Supervisor::facts`]), start, stop and restart, health, logs,
//! and the files under `.brigade/tools/runtime/`. It does not know the queue, calls, runs, the policy or output. It
//! starts nothing in the background. Only a runtime and the small process that writes its logs outlive a call of this
//! crate.
//!
//! A runtime is a foreground process in its own session. Its identity is recorded as pid, start time and boot id. Only
//! exactly that process counts as running. Only that process, its descendants and processes with the marker of its
//! start are ever signalled. Its input is open and silent, so that an MCP server over standard streams, which exits at
//! the end of its input, can be a runtime; each call of its tools starts its own server. A process that v0.30 started
//! has a shorter record. It is managed if its start time, command and session match the record, and otherwise left
//! alone.
//!
//! | file | content |
//! | --- | --- |
//! | `ID.pid` (`pid_path`) | the id of the process |
//! | `ID.json` | the metadata, and the last health check unless `health_path` names another file |
//! | `ID.log.stdout`, `ID.log.stderr` (`log_path`) | its output, at most 16 MiB; an older log has the suffix `.1` |
//! | `ID.lock` | locked while it is started or stopped |
//!
//! ```
//! use brigade_catalog::Runtime;
//! use brigade_core::SystemClock;
//! use brigade_fs::MemoryFs;
//! use brigade_runtime::{Checks, Host, RuntimeState, Supervisor, NoSandbox};
//!
//! let (fs, host) = (MemoryFs::new(), Host::default());
//! let supervisor = Supervisor::new(&fs, &SystemClock, &host, &NoSandbox);
//! let facts = supervisor.facts_of_one(&Runtime::new("helper", "sleep 60")?, Checks::Skip, None);
//! assert_eq!(facts.state, RuntimeState::Stopped);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

// Errors.
mod error;
mod host;

// Files, processes and their verification.
mod command;
mod paths;
mod process_state;
mod record;
mod system;

// Facts.
mod health;
mod supervisor;

// Actions.
mod logs;
mod start;
mod stop;

pub use brigade_doctor::{Health, RuntimeFacts, RuntimeIssue, RuntimeState, StateCounts};
pub use error::RuntimeError;
pub use host::{HealthSandbox, Host, NoSandbox};
pub use logs::{FollowFrom, LOG_CAP, LogEnd, LogStream, LogTail};
pub use paths::was_started;
pub use start::{StartFailure, StartOptions, StartOutcome, StartProgress, WaitOutcome};
pub use stop::{RestartOutcome, StopOutcome};
pub use supervisor::{Checks, Supervisor};
