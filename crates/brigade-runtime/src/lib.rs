//! Supervises the local runtimes that calls depend on.
//!
//! Owns: whether a runtime runs and whether that is proved ([`Supervisor::facts`]), starting, stopping and restarting
//! it, its health, its logs, and its files under `.brigade/tools/runtime/`. Does not know: queue, calls, runs, policy,
//! or how anything is shown. Nothing starts on its own. What outlives a call of this crate is a runtime and the small
//! process that writes its logs, which ends with it.
//!
//! A runtime is a process in a session of its own that stays in the foreground. Who it is, is recorded as number, start
//! time and boot: only exactly that process counts as running, and only it, what descends from it and what carries the
//! mark of its start is ever signalled. Its input is open and silent, so that an MCP server over its standard streams,
//! which exits at the end of its input, can be one; the calls of its tools each start a server of their own. A process
//! that 0.30.0 started, which recorded less, is managed when its start time, its command and its session all fit the
//! record; else it is left alone.
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
//! use brigade_runtime::{Checks, Host, RuntimeState, Supervisor};
//!
//! let (fs, host) = (MemoryFs::new(), Host::default());
//! let supervisor = Supervisor::new(&fs, &SystemClock, &host);
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
pub use host::Host;
pub use logs::{FollowFrom, LOG_CAP, LogEnd, LogStream, LogTail};
pub use start::{NotReady, StartOptions, StartOutcome, StartProgress};
pub use stop::{RestartOutcome, StopOutcome};
pub use supervisor::{Checks, Supervisor};
