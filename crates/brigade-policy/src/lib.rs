//! Decides by host policy what a call may do.
//!
//! Owns `policy.toml` (what it says and where), the decision on one call, and [`Blocker`], the reason why a call may not
//! run. Knows nothing of arguments, the queue, files on disk or processes.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod blocker;

pub use blocker::Blocker;
