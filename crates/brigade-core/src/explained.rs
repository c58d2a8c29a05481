//! Kind, code and next steps of errors of all crates.

use crate::ErrorCode;
use crate::next::Hint;

crate::words! {
    /// The kind of an error.
    #[non_exhaustive]
    ErrorKind {
        /// Nothing has this name.
        NotFound = "not-found",
        /// Several things match.
        Ambiguous = "ambiguous",
        /// The state, the policy or a human decision forbids the operation.
        Refused = "refused",
        /// A configuration file is invalid.
        InvalidConfig = "invalid-config",
        /// The request is invalid, or the target cannot be used.
        Usage = "usage",
        /// File access or the environment failed.
        Environment = "environment",
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
