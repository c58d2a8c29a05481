//! Connections to the database, which are kept for the next statement.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brigade_fs::FsError;
use postgres::types::ToSql;
use postgres::{Client, Row, Statement};

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

/// How long the server waits for a client that has begun to write, in milliseconds.
const MAX_PAUSE_MILLIS: u64 = 30_000;

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
    idle: Mutex<Vec<Session>>,
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

    /// Returns a connection, which is given back when the result is dropped.
    pub(crate) fn take(self: &Arc<Connection>, tables: Tables) -> Result<Lease, TeamError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut session = match idle.filter(|session| !session.client.is_closed()) {
            Some(idle) => idle,
            None => {
                let client = self.connect()?;
                self.opened.fetch_add(1, Ordering::Relaxed);
                Session { client, statements: HashMap::new(), checked: None }
            }
        };
        if tables == Tables::Current && session.checked.is_none_or(|at| VERSION_INTERVAL <= at.elapsed()) {
            self.check_tables(&mut session)?;
            session.checked = Some(Instant::now());
        }
        Ok(Lease { session: Some(session), in_transaction: false, of: self.clone() })
    }

    /// Runs a query of this schema outside of a transaction. A connection that was lost in the meantime is replaced.
    pub(crate) fn rows(
        self: &Arc<Connection>,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, TeamError> {
        self.take(Tables::Current)?.rows_again(sql, values)
    }

    /// Opens a connection instead of one that is lost. Those that wait are lost, too.
    pub(crate) fn replace_in(self: &Arc<Connection>, lost: &mut Lease) -> Result<(), TeamError> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let fresh = self.take(Tables::Current)?;
        let mut lost = std::mem::replace(lost, fresh);
        lost.session = None;
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
                result => {
                    let mut client = result.map_err(|error| error.of_server(&self.url))?;
                    client.batch_execute(&format!(
                        "SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {MAX_PAUSE_MILLIS}",
                        self.timeout.max(Duration::from_secs(1)).as_millis()
                    ))?;
                    return Ok(client);
                }
            }
        }
    }

    fn check_tables(&self, session: &mut Session) -> Result<(), TeamError> {
        let known = i32::try_from(MIGRATIONS.len()).expect("there are few");
        let found: Option<i32> = match session
            .statement(&self.schema.sql("SELECT max(number) FROM @schema@.migrations"))
            .and_then(|statement| session.client.query_one(&statement, &[]))
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

/// A connection with its prepared statements, by their text. There are as many texts as this crate has.
struct Session {
    client: Client,
    statements: HashMap<String, Statement>,
    /// When the version of the tables was the current one.
    checked: Option<Instant>,
}

impl Session {
    /// Prepares a statement on first use: later ones are one round trip.
    fn statement(&mut self, sql: &str) -> Result<Statement, postgres::Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// A connection in use.
pub(crate) struct Lease {
    session: Option<Session>,
    in_transaction: bool,
    of: Arc<Connection>,
}

impl Lease {
    /// Runs a query of this schema.
    pub(crate) fn rows(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, TeamError> {
        let sql = self.of.schema.sql(sql);
        let session = self.session.as_mut().expect(HELD);
        let statement = session.statement(&sql)?;
        Ok(session.client.query(&statement, values).inspect_err(|_| {
            // The tables may have changed since it was prepared.
            session.statements.remove(&sql);
        })?)
    }

    /// Runs a query of this schema. Outside of a transaction, a connection that was lost in the meantime is replaced.
    pub(crate) fn rows_again(
        &mut self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, TeamError> {
        match self.rows(sql, values) {
            Err(TeamError::Unreachable(_)) if !self.in_transaction => {
                let of = self.of.clone();
                of.replace_in(self)?;
                self.rows(sql, values)
            }
            rows => rows,
        }
    }

    /// Begins a transaction with this statement. A connection that was lost in the meantime is replaced.
    pub(crate) fn begin(&mut self, sql: &str) -> Result<(), TeamError> {
        let sql = format!("BEGIN; {sql}");
        let begun = match self.run(&sql) {
            Err(TeamError::Unreachable(_)) => {
                let of = self.of.clone();
                of.replace_in(self)?;
                self.run(&sql)
            }
            begun => begun,
        };
        self.in_transaction = true;
        begun.inspect_err(|_| self.roll_back())
    }

    pub(crate) fn is_in_transaction(&self) -> bool {
        self.in_transaction
    }

    pub(crate) fn commit(&mut self) -> Result<(), TeamError> {
        self.in_transaction = false;
        self.run("COMMIT")
    }

    /// Takes back a transaction, if there is one. Without a connection, the server does the same.
    pub(crate) fn roll_back(&mut self) {
        if std::mem::take(&mut self.in_transaction) {
            let _ = self.run("ROLLBACK");
        }
    }

    /// Runs statements of this schema without values.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), TeamError> {
        let sql = self.of.schema.sql(sql);
        Ok(self.batch_execute(&sql)?)
    }
}

const HELD: &str = "it is held until the lease is dropped";

impl Deref for Lease {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.session.as_ref().expect(HELD).client
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.session.as_mut().expect(HELD).client
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(session) = self.session.take().filter(|session| !session.client.is_closed()) {
            let mut idle = self.of.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < MAX_IDLE {
                idle.push(session);
            }
        }
    }
}
