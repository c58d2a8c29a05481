//! Why the store could not be read or changed.

use brigade_core::{ErrorCode, ErrorKind, Hint, OperationError};
use brigade_fs::FsError;
use rusqlite::ErrorCode as Sqlite;
use rusqlite::types::Type;
use thiserror::Error;

use crate::file::STATE_DB;

/// A request that the current state does not allow. The code is stable.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Refusal {
    /// The code, such as `not_found`.
    pub code: ErrorCode,
    /// One sentence, in lower case, without a final period.
    pub message: String,
}

/// Why the store could not be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A disk or lock error.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The current state does not allow the request.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The file was written by a newer version. It can be read but is never written.
    #[error(
        "`{STATE_DB}` has version {0} and was written by a newer version of Brigade; it can only be read"
    )]
    Newer(i64),
    /// The file is not a readable database and was moved.
    #[error(
        "`{STATE_DB}` could not be read as a database, so it was moved to `{0}`; the next command creates a new one"
    )]
    SetAside(String),
    /// The file is not a readable database.
    #[error("`{STATE_DB}` cannot be read as a database; the next command that writes to it moves it aside")]
    Broken,
    /// The file belongs to another program.
    #[error("`{STATE_DB}` is a database of another program; move it away")]
    Foreign,
    /// Another process kept the write lock too long.
    #[error("another process writes to `{STATE_DB}`; try again after it has ended")]
    Busy,
    /// The disk is full.
    #[error("cannot write `{STATE_DB}`: the disk is full; free some space and try again")]
    Full,
    /// The directory or the file is not writable.
    #[error("`{STATE_DB}` cannot be written; check the owner and mode of the file and its directory")]
    ReadOnly,
    /// The file cannot be opened, for example because it is a link.
    #[error("cannot open `{STATE_DB}`: {0}")]
    Unopened(String),
    /// Another error of the database.
    #[error("`{STATE_DB}`: {0}")]
    Database(String),
}

impl StoreError {
    /// Creates a refusal.
    pub fn refused(code: ErrorCode, message: impl Into<String>) -> StoreError {
        StoreError::Refused(Refusal { code, message: message.into() })
    }

    /// Creates the refusal of a request for a thing that does not exist.
    pub fn missing(name: &str) -> StoreError {
        StoreError::refused(ErrorCode::NotFound, format!("there is no such {name}"))
    }

    /// Returns the code that built-in tools answer agents. Errors of a person's commands have the code of the kind
    /// for what the state does not allow.
    pub fn answered_code(&self) -> ErrorCode {
        match self {
            StoreError::Refused(refusal) => refusal.code,
            other => other.code().unwrap_or(ErrorKind::Environment.code()),
        }
    }
}

impl OperationError for StoreError {
    fn kind(&self) -> ErrorKind {
        match self {
            StoreError::Refused(refusal) if refusal.code == ErrorCode::NotFound => ErrorKind::NotFound,
            StoreError::Refused(_) | StoreError::Newer(_) => ErrorKind::Refused,
            StoreError::Fs(error) => error.kind(),
            _ => ErrorKind::Environment,
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            StoreError::Fs(error) => error.code(),
            StoreError::Refused(_) => None,
            StoreError::Newer(_) => Some(ErrorCode::NewerVersion),
            StoreError::SetAside(_) | StoreError::Broken | StoreError::Foreign => {
                Some(ErrorCode::StoreBroken)
            }
            StoreError::Busy => Some(ErrorCode::Locked),
            StoreError::Full => Some(ErrorCode::DiskFull),
            StoreError::ReadOnly => Some(ErrorCode::DiskReadOnly),
            StoreError::Unopened(_) | StoreError::Database(_) => Some(ErrorCode::Environment),
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            StoreError::Fs(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}

/// A column value that Brigade cannot have written. Reading it as empty would overwrite it at the next change.
#[derive(Debug, Error)]
#[error("the value of column `{0}` in a row was changed and cannot be read; restore the file from a copy")]
struct DamagedValue(&'static str);

/// Returns the error for a column whose value cannot be read.
pub(crate) fn damaged(column: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(DamagedValue(column)))
}

impl From<rusqlite::Error> for StoreError {
    /// Keeps the kind of the error. Texts from SQLite do not contain values.
    fn from(error: rusqlite::Error) -> StoreError {
        if let rusqlite::Error::FromSqlConversionFailure(_, _, source) = &error
            && let Some(damaged) = source.downcast_ref::<DamagedValue>()
        {
            return StoreError::Database(damaged.to_string());
        }
        let Some(code) = error.sqlite_error_code() else {
            return StoreError::Database(error.to_string());
        };
        match code {
            Sqlite::DatabaseBusy | Sqlite::DatabaseLocked => StoreError::Busy,
            Sqlite::DiskFull => StoreError::Full,
            Sqlite::ReadOnly | Sqlite::PermissionDenied => StoreError::ReadOnly,
            Sqlite::NotADatabase | Sqlite::DatabaseCorrupt => StoreError::Broken,
            Sqlite::CannotOpen => StoreError::Unopened("the file cannot be opened".to_owned()),
            _ => StoreError::Database(error.to_string()),
        }
    }
}
