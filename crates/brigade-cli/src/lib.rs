//! The command line of Brigade.
//!
//! Owns the arguments, what people and scripts see, and the exit codes. Decides nothing: each command is one call of
//! the façade `brigade`, whose report is shown as text or as JSON.
//!
//! [`run`] is the whole program with its surroundings as values, so that one command line can be run inside another
//! (`brigade demo` does) and nothing here reads the process. [`command`] describes the arguments, for completions and
//! manual pages.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod arguments;
mod commands;
mod examples;
mod lazy;
mod logging;
mod mistake;
mod output;
mod render;
mod session;
mod surroundings;
mod usage;

pub use arguments::command;
pub use brigade::Exit;
pub use mistake::report_mistakes;
pub use render::CommandLine;
pub use surroundings::{Streams, Surroundings, Terminal, Variables};

use std::ffi::OsString;

/// Runs one command line, the name of the program first, and returns how it ended.
///
/// Nothing that happens inside leaves as a panic: a mistake of ours ends as [`Exit::Bug`].
pub fn run(words: Vec<OsString>, surroundings: &Surroundings, mut streams: Streams<'_>) -> Exit {
    mistake::guard(&words, &mut streams, |streams| match usage::parse(&words) {
        Ok(arguments) => commands::run(arguments, surroundings, streams),
        Err(trouble) => usage::explain(&trouble, &words, surroundings, streams),
    })
}
