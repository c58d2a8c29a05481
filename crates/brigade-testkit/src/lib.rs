//! What tests of Brigade share: workspaces that vanish, the real binary, a clock that ticks, and stable output.
//!
//! * [`TempWorkspace`] is a directory of its own, empty or a copy of one under `fixtures/workspaces/`.
//! * [`Brigade`] runs the binary `brigade` there with an empty environment and a deadline.
//! * [`normalize`] replaces what differs from run to run, so that output can be compared as a whole;
//!   [`assert_snapshot`] compares it with a file.
//! * [`TickingClock`] gives code that takes a clock a different, known instant at each reading.
//!
//! Helpers panic when they cannot do their job: a test cannot continue then. This crate knows nothing of what Brigade
//! does; it is used by tests only, so it is a dev-dependency wherever it appears.
//!
//! ```no_run
//! use brigade_testkit::{Brigade, TempWorkspace, assert_snapshot, normalize};
//!
//! let workspace = TempWorkspace::fixture("seed");
//! let run = Brigade::new(&workspace).run(["tools", "list", "--json"]);
//! run.assert_code(0);
//! assert_eq!(run.json()["tool_count"], 1);
//! assert_snapshot("snapshots/list.json", &normalize(&run.stdout_text()));
//! ```

#![allow(clippy::disallowed_methods, reason = "test helpers set up files and start the binary themselves")]

mod clock;
mod filter;
mod runner;
mod snapshot;
mod workspace;

pub use clock::TickingClock;
pub use filter::normalize;
pub use runner::{Brigade, DEFAULT_TIMEOUT, Run, brigade_binary};
pub use snapshot::assert_snapshot;
pub use workspace::{TempWorkspace, fixtures};
