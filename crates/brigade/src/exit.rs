//! The meaning of exit codes.

/// How an operation ended, as an exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
pub enum Exit {
    /// Done.
    #[default]
    Done = 0,
    /// Refused, blocked, not found, or the run failed.
    Refused = 1,
    /// The command line or the target cannot be used.
    Usage = 2,
    /// File access or the environment failed.
    Environment = 3,
    /// A bug in Brigade.
    Bug = 70,
}

impl Exit {
    /// Returns the number.
    pub const fn code(self) -> u8 {
        self as u8
    }
}
