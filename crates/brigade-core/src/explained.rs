//! Kind, code and next steps of errors of all crates.

use crate::ErrorCode;
use crate::next::Hint;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nothing has this name.
    NotFound,
    /// Several things match.
    Ambiguous,
    /// The state, the policy or a human decision forbids the operation.
    Refused,
    /// A configuration file is invalid.
    InvalidConfig,
    /// The request is invalid, or the target cannot be used.
    Usage,
    /// File access or the environment failed.
    Environment,
}

impl ErrorKind {
    /// Returns the word for it, such as `not-found`.
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "not-found",
            ErrorKind::Ambiguous => "ambiguous",
            ErrorKind::Refused => "refused",
            ErrorKind::InvalidConfig => "invalid-config",
            ErrorKind::Usage => "usage",
            ErrorKind::Environment => "environment",
        }
    }
}

impl ErrorKind {
    /// Returns the code of errors without a specific one.
    pub const fn code(self) -> ErrorCode {
        match self {
            ErrorKind::NotFound => ErrorCode::NotFound,
            ErrorKind::Ambiguous => ErrorCode::Ambiguous,
            ErrorKind::Refused => ErrorCode::Refused,
            ErrorKind::InvalidConfig => ErrorCode::ConfigInvalid,
            ErrorKind::Usage => ErrorCode::Usage,
            ErrorKind::Environment => ErrorCode::Environment,
        }
    }
}

/// An error of an operation, with its kind, its code and what to do next.
pub trait OperationError: std::error::Error {
    /// Returns the kind.
    fn kind(&self) -> ErrorKind;

    /// Returns the stable code; `None` for the code of the kind.
    fn code(&self) -> Option<ErrorCode> {
        None
    }

    /// Returns what to do next.
    fn hints(&self) -> Vec<Hint> {
        Vec::new()
    }

    /// Returns whether only the request is wrong, so that files and records need not be checked.
    fn is_about_request(&self) -> bool {
        false
    }
}
