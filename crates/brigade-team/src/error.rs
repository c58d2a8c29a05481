//! Why a team cannot be used.

use std::error::Error as _;

use brigade_core::{CallId, ErrorCode, ErrorKind, Hint, NextStep, OperationError, RunId};
use brigade_fs::FsError;
use brigade_queue::QueueError;
use postgres::error::SqlState;
use thiserror::Error;

use crate::url::TeamUrl;

/// Why a team cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TeamError {
    /// The address is not valid.
    #[error("the address of the team's database {0}")]
    Url(&'static str),
    /// The server does not answer.
    #[error("the team's database cannot be reached: {0}")]
    Unreachable(String),
    /// There is no encrypted connection.
    #[error("the connection to the team's database is not secure: {0}")]
    Tls(String),
    /// The password or the certificate is not accepted.
    #[error("the team's database does not accept this login: {0}")]
    Login(String),
    /// The tables are of a newer version.
    #[error("the team's tables have version {found}, and this version of Brigade knows {known}")]
    SchemaNewer {
        /// The version of the tables.
        found: i32,
        /// The last version that is known.
        known: i32,
    },
    /// There are no tables, or older ones.
    #[error("{}", older(.schema, *.found))]
    SchemaOlder {
        /// The schema.
        schema: String,
        /// The version of the tables; 0 if the tables are missing.
        found: i32,
    },
    /// The member may not do this.
    #[error("{0}")]
    Role(String),
    /// The member queued the call.
    #[error("{0}")]
    OwnCall(String),
    /// A signature is missing, or its key is not trusted.
    #[error("{0}")]
    UntrustedKey(String),
    /// The workspace has not joined.
    #[error("{0}")]
    NotJoined(String),
    /// The database was replaced, and may have forgotten claims.
    #[error("{0}")]
    Failover(String),
    /// The database refused a step. The word is the SQLSTATE.
    #[error("{message}")]
    Step {
        /// The SQLSTATE.
        state: String,
        /// The reason.
        message: String,
    },
    /// Another writer holds the lock.
    #[error("another member changes the queue of the team and does not finish in time")]
    Locked,
    /// A name or a key is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The database failed.
    #[error("the team's database failed: {0}")]
    Database(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl From<postgres::Error> for TeamError {
    fn from(error: postgres::Error) -> TeamError {
        let Some(db) = error.as_db_error() else {
            // The message of the cause quotes no query and no value.
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(inner) = cause {
                if inner.downcast_ref::<rustls::Error>().is_some() || text.contains("TLS handshake") {
                    return TeamError::Tls(inner.to_string());
                }
                text = inner.to_string();
                if let Some(io) = inner.downcast_ref::<std::io::Error>()
                    && let Some(inner) = io.get_ref()
                    && inner.downcast_ref::<rustls::Error>().is_some()
                {
                    return TeamError::Tls(inner.to_string());
                }
                cause = inner.source();
            }
            return match text.as_str() {
                text if text.contains("TLS") => TeamError::Tls(text.to_owned()),
                text if text.contains("password") => TeamError::Login("no password was given".to_owned()),
                _ => TeamError::Unreachable(text),
            };
        };
        let message = db.message().to_owned();
        let code = db.code();
        match code.code() {
            "BR001" => TeamError::Role(message),
            "BR006" => TeamError::OwnCall(message),
            "BR010" => TeamError::UntrustedKey(message),
            "BR011" => TeamError::Failover(message),
            state if state.starts_with("BR") => TeamError::Step { state: state.to_owned(), message },
            state if state.starts_with("28") => TeamError::Login(message),
            state if state.starts_with("08") || state.starts_with("57P") => TeamError::Unreachable(message),
            _ if *code == SqlState::INSUFFICIENT_PRIVILEGE => TeamError::Role(format!(
                "the roles of this login do not allow it, and the owner of the team gives roles: {message}"
            )),
            _ if *code == SqlState::LOCK_NOT_AVAILABLE => TeamError::Locked,
            _ if *code == SqlState::INVALID_CATALOG_NAME => TeamError::Unreachable(message),
            _ => TeamError::Database(message),
        }
    }
}

impl OperationError for TeamError {
    fn kind(&self) -> ErrorKind {
        match self {
            TeamError::Url(_) | TeamError::Invalid(_) => ErrorKind::Usage,
            TeamError::Unreachable(_)
            | TeamError::Tls(_)
            | TeamError::Login(_)
            | TeamError::SchemaNewer { .. }
            | TeamError::SchemaOlder { .. }
            | TeamError::Locked
            | TeamError::Database(_) => ErrorKind::Environment,
            TeamError::Role(_)
            | TeamError::OwnCall(_)
            | TeamError::UntrustedKey(_)
            | TeamError::NotJoined(_)
            | TeamError::Failover(_)
            | TeamError::Step { .. } => ErrorKind::Refused,
            TeamError::Fs(error) => error.kind(),
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        Some(match self {
            TeamError::Url(_) => ErrorCode::TeamUrl,
            TeamError::Invalid(_) => ErrorCode::Usage,
            TeamError::Unreachable(_) => ErrorCode::TeamUnreachable,
            TeamError::Tls(_) => ErrorCode::TeamTls,
            TeamError::Login(_) => ErrorCode::TeamAuth,
            TeamError::SchemaNewer { .. } => ErrorCode::TeamSchemaNewer,
            TeamError::SchemaOlder { .. } => ErrorCode::TeamSchemaOlder,
            TeamError::Role(_) => ErrorCode::TeamRole,
            TeamError::OwnCall(_) => ErrorCode::TeamOwnCall,
            TeamError::UntrustedKey(_) => ErrorCode::TeamUntrustedKey,
            TeamError::NotJoined(_) => ErrorCode::TeamNotJoined,
            TeamError::Failover(_) => ErrorCode::TeamFailover,
            TeamError::Step { state, .. } if state == "BR003" => ErrorCode::ChangedMeanwhile,
            TeamError::Step { .. } => ErrorCode::WrongState,
            TeamError::Locked => ErrorCode::Locked,
            TeamError::Database(_) => ErrorCode::Environment,
            TeamError::Fs(error) => return error.code(),
        })
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            TeamError::Fs(error) => error.hints(),
            TeamError::SchemaOlder { found: 0, .. } => vec![Hint::to("make them", NextStep::InitTeam)],
            TeamError::SchemaOlder { .. } => vec![Hint::to("update them", NextStep::MigrateTeam)],
            TeamError::Login(_) => {
                vec![
                    "keep the password in ~/.pgpass, in the file that PGPASSFILE names, or in PGPASSWORD"
                        .into(),
                ]
            }
            TeamError::Tls(_) => {
                vec!["name the certificate of its authority by `sslrootcert` in the address".into()]
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the message for tables that are missing or of an older version.
fn older(schema: &str, found: i32) -> String {
    match found {
        0 => format!("the database has no tables of a team in the schema `{schema}`"),
        _ => format!(
            "the team's tables in the schema `{schema}` have version {found}, and this version needs newer ones"
        ),
    }
}

impl From<TeamError> for QueueError {
    fn from(error: TeamError) -> QueueError {
        match error {
            TeamError::Fs(error) => QueueError::Fs(error),
            error => QueueError::Shared {
                kind: error.kind(),
                code: error.code().unwrap_or(ErrorCode::Environment),
                message: error.to_string(),
            },
        }
    }
}

impl TeamError {
    /// Names the server that does not answer.
    pub(crate) fn of_server(self, url: &TeamUrl) -> TeamError {
        match self {
            TeamError::Unreachable(why) => TeamError::Unreachable(format!("{}: {why}", url.without_user())),
            error => error,
        }
    }

    /// Returns the error of the queue for a step of a call.
    pub(crate) fn of_step(self, call: &CallId, run: Option<&RunId>) -> QueueError {
        let TeamError::Step { state, .. } = &self else { return self.into() };
        match (state.as_str(), run) {
            ("BR002", _) => QueueError::IdTaken(call.clone()),
            ("BR003", _) => QueueError::Changed { id: call.clone() },
            ("BR008", Some(run)) => QueueError::RunTaken(run.clone()),
            ("BR009", Some(run)) => QueueError::NotThisRun { call: call.clone(), run: run.clone() },
            _ => self.into(),
        }
    }
}
