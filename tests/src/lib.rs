//! Helpers of the tests that drive the real binary.
//!
//! * [`Site`] is a temporary workspace with the binary beside it: it plans, queues, approves and runs calls in one word
//!   each.
//! * [`greeting`] is a smaller one, for tests that do not run calls.
//! * [`documents`] holds the keys and types that every JSON document promises; [`Site::json`] checks each document it
//!   reads.
//! * [`kill_anywhere`] kills commands at any moment and looks for what is lost.
//! * [`until`] waits for a fact with a deadline.

#![allow(clippy::disallowed_methods, reason = "test helpers set up files and look at processes themselves")]

pub mod documents;
mod greeting;
mod processes;
mod site;
mod trials;

pub use greeting::greeting;
pub use processes::{processes_with, until};
pub use site::{Answer, PATH, Site};
pub use trials::{Outcome, kill_anywhere};
