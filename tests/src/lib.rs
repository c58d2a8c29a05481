//! Helpers of the tests that drive the real binary.
//!
//! * [`Site`] is a temporary workspace with the binary. It has one method for each step of a call: plan, queue,
//!   approve, run.
//! * [`greeting`] is a smaller workspace, for tests that run no calls.
//! * [`kitchen::Service`] is a workspace with a fake worker and a pseudo-terminal.
//! * [`Site::json`] parses every JSON document as its type, and checks that it is written the same again.
//! * [`kill_anywhere`] kills commands at random moments and checks that nothing is lost.
//! * [`until`] waits for a condition with a deadline.

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
