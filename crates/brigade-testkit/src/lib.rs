//! Helpers for the tests of Brigade: temporary workspaces, the real binary, a clock, and comparable output.
//!
//! * [`TempWorkspace`] is a temporary directory, empty or a copy of one under `fixtures/workspaces/`.
//! * [`Brigade`] runs the binary `brigade` there with an empty environment and a timeout.
//! * [`normalize`] replaces what differs from run to run, so that output can be compared; [`assert_snapshot`] compares
//!   it with a file.
//! * [`Postgres`] is a server of this test program, where PostgreSQL is installed.
//! * [`run_trials`] runs independent trials, several at a time.
//! * [`SavedTree`] is a directory in memory, from which many are made.
//! * [`TickingClock`] returns a different, predictable time with each reading.
//!
//! A helper panics if it fails. This crate does not depend on Brigade, and is only a dev-dependency.
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

mod filter;
mod postgres;
mod runner;
mod saved_tree;
mod snapshot;
mod trials;
mod workspace;

pub use brigade_core::testing::TickingClock;
pub use filter::normalize;
pub use postgres::Postgres;
pub use runner::{Brigade, DEFAULT_TIMEOUT, Run, brigade_binary};
pub use saved_tree::SavedTree;
pub use snapshot::assert_snapshot;
pub use trials::run_trials;
pub use workspace::{TempWorkspace, fixtures};
