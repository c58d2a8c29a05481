//! Connections to the database, which are kept for the next statement.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brigade_fs::FsError;
use postgres::types::ToSql;
use postgres::{Client, Row};

use crate::error::TeamError;
use crate::migrate::{MIGRATIONS, Schema};
use crate::tls::Tls;
use crate::url::TeamUrl;

/// How long a command waits before it tries to connect again.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// The maximum number of connections that wait for the next statement.
const MAX_IDLE: usize = 4;

/// How long the version of the tables is not asked for again on a connection.
const VERSION_INTERVAL: Duration = Duration::from_secs(10);

/// What a member logs in with, in addition to the address.
pub struct Credentials<'a> {
    /// The password, if there is one.
    pub password: Option<String>,
    /// Reads the certificates that the address names.
    pub read: &'a dyn Fn(&Path) -> Result<Vec<u8>, FsError>,
}

/// A database that is connected to on first use.
pub struct Connection {
    url: TeamUrl,
    schema: Schema,
    password: Option<String>,
    tls: Tls,
    timeout: Duration,
    /// With the time at which the version of the tables was the current one.
    idle: Mutex<Vec<(Client, Option<Instant>)>>,
    /// How many were opened.
    opened: AtomicU64,
}

/// Whether the tables must be of the version that this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {
    Current,
    Any,
}

impl Connection {
    /// Prepares connections. Opens none. Waits at most `timeout` for a server that does not answer, and for other
    /// writers.
    ///
    /// # Errors
    /// Fails if a certificate cannot be read.
    pub fn new(
        url: TeamUrl,
        schema: Schema,
        credentials: Credentials<'_>,
        timeout: Duration,
    ) -> Result<Connection, TeamError> {
        let tls = Tls::new(&url, credentials.read)?;
        let (password, idle, opened) = (credentials.password, Mutex::default(), AtomicU64::new(0));
        Ok(Connection { url, schema, password, tls, timeout, idle, opened })
    }

    /// Returns the address.
    pub fn url(&self) -> &TeamUrl {
        &self.url
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns how many connections were opened for statements.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns a connection, which is given back when the result is dropped.
    pub(crate) fn take(self: &Arc<Connection>, tables: Tables) -> Result<Lease, TeamError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let (mut client, mut checked) = match idle.filter(|(client, _)| !client.is_closed()) {
            Some(idle) => idle,
            None => {
                let client = self.connect()?;
                self.opened.fetch_add(1, Ordering::Relaxed);
                (client, None)
            }
        };
        if tables == Tables::Current && checked.is_none_or(|at| VERSION_INTERVAL <= at.elapsed()) {
            self.check_tables(&mut client)?;
            checked = Some(Instant::now());
        }
        Ok(Lease { client: Some(client), checked, of: self.clone() })
    }

    /// Runs a query of this schema outside of a transaction. A connection that was lost in the meantime is replaced.
    pub(crate) fn rows(
        self: &Arc<Connection>,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, TeamError> {
        let mut lease = self.take(Tables::Current)?;
        match lease.rows(sql, values) {
            Err(TeamError::Unreachable(_)) => {
                self.replace_in(&mut lease)?;
                lease.rows(sql, values)
            }
            rows => rows,
        }
    }

    /// Opens a connection instead of one that is lost. Those that wait are lost, too.
    pub(crate) fn replace_in(self: &Arc<Connection>, lost: &mut Lease) -> Result<(), TeamError> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let fresh = self.take(Tables::Current)?;
        let mut lost = std::mem::replace(lost, fresh);
        lost.client = None;
        Ok(())
    }

    /// Opens a connection.
    pub(crate) fn connect(&self) -> Result<Client, TeamError> {
        let mut config = self.url.config();
        if let Some(password) = &self.password {
            config.password(password);
        }
        config.connect_timeout(self.timeout.max(Duration::from_secs(1)));
        config.tcp_user_timeout(self.timeout.max(Duration::from_secs(5)));
        let start = Instant::now();
        loop {
            match config.connect(self.tls.clone()).map_err(TeamError::from) {
                Err(TeamError::Unreachable(_)) if start.elapsed() + RETRY_INTERVAL < self.timeout => {
                    tracing::debug!("the database does not answer");
                    pause(RETRY_INTERVAL);
                }
                result => return result,
            }
        }
    }

    fn check_tables(&self, client: &mut Client) -> Result<(), TeamError> {
        let known = i32::try_from(MIGRATIONS.len()).expect("there are few");
        let found: Option<i32> = match client
            .query_one(&self.schema.sql("SELECT max(number) FROM @schema@.migrations"), &[])
            .map_err(|error| (error.code().map(|code| code.code().to_owned()), TeamError::from(error)))
        {
            Ok(row) => row.try_get(0)?,
            // No such schema or table.
            Err((Some(state), _)) if ["42P01", "3F000"].contains(&state.as_str()) => None,
            Err((_, error)) => return Err(error),
        };
        match found {
            Some(found) if known < found => Err(TeamError::SchemaNewer { found, known }),
            Some(found) if found == known => Ok(()),
            found => {
                Err(TeamError::SchemaOlder { schema: self.schema.to_string(), found: found.unwrap_or(0) })
            }
        }
    }
}

/// Waits without a lock or a process to wait for: a server does not say when it is back.
fn pause(time: Duration) {
    let lock = Mutex::new(());
    let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
    drop(Condvar::new().wait_timeout(guard, time));
}

/// A connection in use.
pub(crate) struct Lease {
    client: Option<Client>,
    checked: Option<Instant>,
    of: Arc<Connection>,
}

impl Lease {
    /// Runs a query of this schema.
    pub(crate) fn rows(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, TeamError> {
        let sql = self.of.schema.sql(sql);
        Ok(self.query(&sql, values)?)
    }

    /// Runs statements of this schema without values.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), TeamError> {
        let sql = self.of.schema.sql(sql);
        Ok(self.batch_execute(&sql)?)
    }
}

impl Deref for Lease {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.client.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Client {
        self.client.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(client) = self.client.take().filter(|client| !client.is_closed()) {
            let mut idle = self.of.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < MAX_IDLE {
                idle.push((client, self.checked));
            }
        }
    }
}
