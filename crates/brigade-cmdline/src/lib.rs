//! Analyzes command lines: programs, risks and files.
//!
//! It owns splitting commands into words, the table of programs, the risk check, and finding the files that a command
//! names. It does not know tools, policies or workspaces. It reads files only through [`Files`], and starts nothing.
//!
//! ```
//! use brigade_cmdline::{Argv, risk};
//!
//! let argv = Argv::parse("timeout 5 sh -c 'rm -rf build'")?;
//! assert_eq!(argv.program(), "timeout");
//! assert!(!risk::judge(&argv).is_empty());
//! # Ok::<(), brigade_cmdline::argv::InvalidCommand>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod argv;
mod chosen;
mod code;
mod languages;
mod only_reads;
mod path;
mod programs;
mod reads;
pub mod risk;
mod shell_syntax;
mod variables;

pub use argv::Argv;
pub use chosen::{ChosenCode, chooses_code};
pub use code::{code_of_arguments, missing_script};
pub use languages::{LanguageRuntime, WrittenProgram};
pub use only_reads::only_reads;
pub use path::find_program;
pub use programs::{
    ContainerOptions, PACKAGE_FILES, Password, Place, Program, Role, Starts, is_code_name, is_found_beside,
    is_loaded_from, possible_interpreters,
};
pub use reads::{Files, Kind, PathTarget, Reads, code_words, path_of_process, runs_package, what_it_reads};
pub use shell_syntax::shell_syntax;
pub use variables::is_dangerous_variable;
