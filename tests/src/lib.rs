//! Helpers of the tests that drive the real binary.
//!
//! * [`Site`] is a temporary workspace with the binary beside it: it plans, queues, approves and runs calls in one word
//!   each.
//! * [`greeting`] is a smaller one, for tests that do not run calls.
//! * [`kitchen::Service`] is one whose tasks are done by the worker without a model, with a pseudo-terminal.
//! * [`Site::json`] reads every JSON document as the type that it has, and demands that it is written the same again.
//! * [`kill_anywhere`] kills commands at any moment and looks for what is lost.
//! * [`until`] waits for a fact with a deadline.

#![allow(clippy::disallowed_methods, reason = "test helpers set up files and look at processes themselves")]

mod greeting;
pub mod kitchen;
mod processes;
mod site;
mod trials;

pub use greeting::greeting;
pub use processes::{processes_with, until};
pub use site::{Answer, PATH, Site};
pub use trials::{Outcome, kill_anywhere};
