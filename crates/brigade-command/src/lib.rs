//! What a command line starts.
//!
//! Owns the splitting of commands into words and the judgement of their risk. Does not read files and starts nothing.
//!
//! ```
//! use brigade_command::{Argv, risk};
//!
//! let argv = Argv::parse("timeout 5 sh -c 'rm -rf build'")?;
//! assert_eq!(argv.program(), "timeout");
//! assert!(!risk::judge(&argv).is_empty());
//! # Ok::<(), brigade_command::argv::InvalidCommand>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod argv;
pub mod risk;

pub use argv::Argv;
