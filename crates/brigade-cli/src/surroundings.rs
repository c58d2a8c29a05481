//! What surrounds a command: the process it runs in, as values.

use std::io;
use std::path::PathBuf;

/// What a command knows of its process.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The folder it was started in; or why that cannot be told.
    pub current_directory: Result<PathBuf, io::ErrorKind>,
    /// Whether the variable `NO_COLOR` asks for plain text.
    pub no_color: bool,
    /// Whether the variable `TERM` names a terminal that knows no escape sequences.
    pub dumb: bool,
    /// The variable `BRIGADE_LOG`: what to log, such as `debug` or `brigade=trace`.
    pub log: Option<String>,
    /// Which variables of the process programs and policies see.
    pub variables: Variables,
    /// Where temporary files go.
    pub temporary_directory: PathBuf,
    /// The terminal behind standard output, if it is one.
    pub output: Option<Terminal>,
    /// The terminal behind standard error, if it is one.
    pub error: Option<Terminal>,
}

/// Which variables of a process count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variables {
    /// All.
    #[default]
    All,
    /// Those that every run inherits, such as PATH and HOME.
    Usual,
}

/// A terminal.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Its columns, where they are known.
    pub width: Option<usize>,
}

/// The standard streams.
pub struct Streams<'a> {
    /// Standard input.
    pub input: &'a mut dyn io::Read,
    /// Standard output.
    pub output: &'a mut dyn io::Write,
    /// Standard error.
    pub error: &'a mut dyn io::Write,
}
