//! Supervises the local runtimes that calls depend on.
//!
//! Owns the state of runtimes and its verification ([`Supervisor::facts`]), start, stop and restart, health, logs, and
//! the files under `.brigade/tools/runtime/`. Knows no queue, calls, runs, policy or output. Nothing starts on its own.
//! Only a runtime and the small process that writes its logs outlive a call of this crate.
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
//! | `ID.pid` (`pid_path`) | the process's number |
//! | `ID.json` | the metadata, and the last health check unless `health_path` names another file |
//! | `ID.log.stdout`, `ID.log.stderr` (`log_path`) | what it wrote, at most 16 MiB; `.1` behind the name is an older one |
//! | `ID.lock` | held while it is started or stopped |
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

// Words.
mod error;
mod host;

// What is on the disk and in the system.
mod command;
mod paths;
mod record;
mod standing;
mod system;

// What is told.
mod health;
mod supervisor;

// What is done.
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
