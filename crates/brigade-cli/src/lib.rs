//! The command line of Brigade.
//!
//! This crate owns the arguments, the output and the exit codes. It makes no decisions: each command calls one function
//! of the façade `brigade` and shows its report as text or JSON.
//!
//! [`run`] is the whole program, and gets the environment of the process as values. So one command can run another one,
//! as `brigade demo` does, and nothing here reads the process. [`command`] returns the command tree, for completions
//! and manual pages.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod arguments;
mod command_line;
mod commands;
pub mod documents;
mod examples;
mod lazy;
mod live;
mod logging;
mod mistake;
mod needs;
mod output;
mod progress;
mod render;
mod retired;
#[cfg(feature = "tui")]
mod review;
mod session;
mod surroundings;
mod usage;
mod verbs;

pub use brigade::Exit;
pub use command_line::command;
pub use mistake::report_mistakes;
pub use render::CommandLine;
pub use surroundings::{ShowInPager, Streams, Surroundings, Terminal, Variables};

use std::ffi::OsString;

use commands::daily::start;

/// Runs one command line, starting with the program name, and returns its exit code.
///
/// Never panics: a bug ends as [`Exit::Bug`].
pub fn run(words: Vec<OsString>, surroundings: &Surroundings, mut streams: Streams<'_>) -> Exit {
    mistake::guard(&words, &mut streams, |streams| {
        if let Some(hook) = retired::hook(&words) {
            return retired::answer(hook, surroundings, streams);
        }
        if start::is_meant(&words, surroundings) {
            return start::run(&words, surroundings, streams);
        }
        match usage::parse(&words) {
            Ok(line) => commands::run(&line.globals, &line.command, surroundings, streams),
            Err(trouble) => usage::explain(&trouble, &words, surroundings, streams),
        }
    })
}
