//! What a command's exit code means.

/// How an operation ended, as its process reports it.
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
    /// The disk or the environment does not allow it.
    Environment = 3,
    /// A mistake in Brigade.
    Bug = 70,
}

impl Exit {
    /// Returns the number.
    pub const fn code(self) -> u8 {
        self as u8
    }
}
