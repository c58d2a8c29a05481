//! Opens the database and runs transactions.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use brigade_core::{Json, Timestamp};
use brigade_fs::{FileId, Fs, WorkspaceKey};
use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, OpenFlags, OptionalExtension as _, Params, Row, Transaction, TransactionBehavior,
};
use serde::de::DeserializeOwned;

use crate::error::{StoreError, damaged};
use crate::file::{self, DatabaseFile};
use crate::migrations::{self, VERSION};

/// How an open store can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It can be read and written.
    Write,
    /// It can only be read, because a newer version wrote it.
    Newer(i64),
    /// It can only be read, because the file or its directory is not writable.
    ReadOnly,
}

/// Files up to this length are checked completely before writing.
const MAX_CHECKED_BYTES: u64 = 64 << 20;

/// The open store of a workspace. Several threads and processes may open it at once; writers wait for each other.
#[derive(Debug)]
pub struct Store {
    connection: Mutex<Connection>,
    access: Access,
    /// Signs executions and answers.
    pub(crate) key: Arc<WorkspaceKey>,
}

impl Store {
    /// Opens the store for writing, and creates it if it is missing. A file of a newer version is opened read-only.
    ///
    /// `patience` is how long a writer waits for another one.
    ///
    /// # Errors
    /// Fails on a disk error, if the file is a link, or if it is broken. A broken file is set aside.
    pub fn open(fs: &dyn Fs, patience: Duration) -> Result<Store, StoreError> {
        if let Some(place) = file::find(fs)? {
            match Store::open_at(fs, &place, patience, VERSION) {
                Ok(Some(store)) => return Ok(store),
                Ok(None) | Err(StoreError::Broken) => {}
                Err(error) => return Err(error),
            }
        }
        let _lock = file::lock(fs, patience)?;
        let place = file::make(fs)?;
        match Store::open_at(fs, &place, patience, 0) {
            // The previous holder of the lock may have set it aside.
            Err(StoreError::Broken) => Err(StoreError::SetAside(file::set_aside(fs, &place)?)),
            opened => opened.map(|store| store.expect("every version is at least 0")),
        }
    }

    /// Opens the store for reading. Returns `None` if nothing was stored yet. Changes nothing.
    ///
    /// # Errors
    /// Fails on a disk error, or if the file is a link or broken.
    pub fn read(fs: &dyn Fs, patience: Duration) -> Result<Option<Store>, StoreError> {
        match file::find(fs)? {
            Some(place) => Store::open_at(fs, &place, patience, 1),
            None => Ok(None),
        }
    }

    /// Opens a file that has at least this version. If the minimum is 0, migrates the file.
    fn open_at(
        fs: &dyn Fs,
        place: &DatabaseFile,
        patience: Duration,
        least: i64,
    ) -> Result<Option<Store>, StoreError> {
        brigade_fs::require_untracked(fs, file::STATE_DB)?;
        let key = Arc::new(WorkspaceKey::temporary());
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connect = |mode: OpenFlags| -> Result<Connection, StoreError> {
            let connection = Connection::open_with_flags(&place.absolute, mode | flags)?;
            connection.busy_timeout(patience)?;
            // The file may be hostile, so its schema must not call functions or write to internal tables.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            Ok(connection)
        };
        let opened = connect(OpenFlags::SQLITE_OPEN_READ_WRITE)
            .and_then(|connection| Ok((migrations::version(&connection)?, connection)));
        let (version, mut connection, can_write) = match opened {
            Ok((version, connection)) => {
                let is_read_only = connection.is_readonly("main")?;
                (version, connection, !is_read_only)
            }
            Err(StoreError::ReadOnly | StoreError::Unopened(_)) => {
                let connection = connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
                (migrations::version(&connection)?, connection, false)
            }
            Err(error) => return Err(error),
        };
        if VERSION < version {
            connection.pragma_update(None, "query_only", true)?;
            return Ok(Some(Store {
                connection: Mutex::new(connection),
                access: Access::Newer(version),
                key,
            }));
        }
        if !can_write {
            let access = Access::ReadOnly;
            return Ok((1 <= version).then(|| Store { connection: Mutex::new(connection), access, key }));
        }
        if version < least {
            return Ok(None);
        }
        if least == VERSION || least == 0 {
            check_whole(fs, place, &connection)?;
        }
        if least == 0 && version < VERSION {
            connection.pragma_update(None, "journal_mode", "wal")?;
            migrations::migrate(&mut connection)?;
            tracing::debug!(from = version, to = VERSION, "the store is migrated");
        }
        // A committed write survives a power loss.
        connection.pragma_update(None, "synchronous", "full")?;
        Ok(Some(Store { connection: Mutex::new(connection), access: Access::Write, key }))
    }

    /// Returns how the store can be used.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns the connection. If a thread panicked in a transaction, the transaction was rolled back.
    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Reads in one transaction, so that all reads see the same state.
    pub(crate) fn look<T>(
        &self,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        read(&transaction)
    }

    /// Changes rows in one transaction.
    ///
    /// # Errors
    /// Fails if the store is read-only or was migrated by a newer version.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.access {
            Access::Write => {}
            Access::Newer(version) => return Err(StoreError::Newer(version)),
            Access::ReadOnly => return Err(StoreError::ReadOnly),
        }
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // A newer version may have migrated the file in the meantime.
        let version = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if VERSION < version {
            return Err(StoreError::Newer(version));
        }
        let changed = change(&transaction)?;
        transaction.commit()?;
        Ok(changed)
    }
}

/// Opens the store of a workspace at first use and keeps it open. Reopens it if its file was moved or removed.
#[derive(Debug)]
pub struct Stores {
    patience: Duration,
    key: Arc<WorkspaceKey>,
    open: Mutex<Option<(FileId, Arc<Store>)>>,
}

impl Stores {
    /// Creates the cache without opening a file. `patience` is how long a writer waits for another one, and `key` signs
    /// executions.
    pub fn new(patience: Duration, key: Arc<WorkspaceKey>) -> Stores {
        Stores { patience, key, open: Mutex::new(None) }
    }

    /// Returns the store for writing; see [`Store::open`].
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn writing(&self, fs: &dyn Fs) -> Result<Arc<Store>, StoreError> {
        match self.kept(fs)?.filter(|store| store.access == Access::Write) {
            Some(store) => Ok(store),
            None => self.keep(fs, Store::open(fs, self.patience)?),
        }
    }

    /// Returns the store for reading; see [`Store::read`].
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn reading(&self, fs: &dyn Fs) -> Result<Option<Arc<Store>>, StoreError> {
        if let Some(store) = self.kept(fs)? {
            return Ok(Some(store));
        }
        Store::read(fs, self.patience)?.map(|store| self.keep(fs, store)).transpose()
    }

    fn slot(&self) -> MutexGuard<'_, Option<(FileId, Arc<Store>)>> {
        self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn kept(&self, fs: &dyn Fs) -> Result<Option<Arc<Store>>, StoreError> {
        let is_kept = self.slot().is_some();
        let now = if is_kept { file::find(fs)?.and_then(|place| place.id) } else { None };
        let mut slot = self.slot();
        match &*slot {
            Some((id, store)) if Some(*id) == now => Ok(Some(store.clone())),
            _ => {
                *slot = None;
                Ok(None)
            }
        }
    }

    fn keep(&self, fs: &dyn Fs, store: Store) -> Result<Arc<Store>, StoreError> {
        let store = Arc::new(Store { key: self.key.clone(), ..store });
        if let Some(id) = file::find(fs)?.and_then(|place| place.id) {
            *self.slot() = Some((id, store.clone()));
        }
        Ok(store)
    }
}

/// Fails if the database is corrupt. Large files are not checked, because this reads the whole file.
fn check_whole(fs: &dyn Fs, place: &DatabaseFile, connection: &Connection) -> Result<(), StoreError> {
    if MAX_CHECKED_BYTES < fs.link_metadata(&place.file)?.len {
        return Ok(());
    }
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(StoreError::Broken) }
}

/// Creates an id: a word for its kind, and 16 random hexadecimal digits.
pub(crate) fn new_id(transaction: &Transaction<'_>, kind: &str) -> Result<String, StoreError> {
    let random: String = transaction.query_row("SELECT lower(hex(randomblob(8)))", [], |row| row.get(0))?;
    Ok(format!("{kind}-{random}"))
}

/// Reads the row of a query, which is missing if the thing of this name does not exist.
pub(crate) fn find<T>(
    transaction: &Transaction<'_>,
    name: &str,
    sql: &str,
    params: impl Params,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    transaction.query_row(sql, params, read).optional()?.ok_or_else(|| StoreError::missing(name))
}

/// Reads all rows of a query.
pub(crate) fn list<T>(
    transaction: &Transaction<'_>,
    sql: &str,
    params: impl Params,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    Ok(transaction.prepare(sql)?.query_map(params, read)?.collect::<Result<_, _>>()?)
}

/// Returns a limit as SQLite takes it.
pub(crate) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Reads a timestamp column.
pub(crate) fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_unix_micros)
}

/// Reads a column that is stored as JSON.
pub(crate) fn stored<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> rusqlite::Result<T> {
    serde_json::from_str(&row.get::<_, String>(column)?).map_err(|_| damaged(column))
}

/// Reads a JSON column whose form only the caller knows.
pub(crate) fn json(row: &Row<'_>, column: &'static str) -> rusqlite::Result<Json> {
    Json::parse(&row.get::<_, String>(column)?).map_err(|_| damaged(column))
}

#[cfg(test)]
mod tests {
    use brigade_fs::DiskFs;
    use brigade_redact::Redactor;

    use super::*;
    use crate::manifests::NewManifest;
    use crate::memory::CoreChange;
    use crate::scripts::ScriptText;
    use crate::todos::{Todo, TodoStatus};

    #[test]
    fn a_full_disk_fails_a_write_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::ZERO).unwrap();
        let now = Timestamp::from_unix_micros(0);
        let todo =
            |text: &str| Todo { id: "1".to_owned(), content: text.to_owned(), status: TodoStatus::Pending };
        store.write_todos("session", &[todo("kept")], now).unwrap();
        let pages: i64 = store.connection().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        // SQLite reports this page limit in the same way as a full disk.
        store.connection().pragma_update(None, "max_page_count", pages).unwrap();
        let many: Vec<Todo> =
            (0..100).map(|number| Todo { id: number.to_string(), ..todo(&"x".repeat(1_000)) }).collect();
        assert_eq!(store.write_todos("session", &many, now).unwrap_err(), StoreError::Full);
        assert_eq!(store.read_todos("session").unwrap(), [todo("kept")]);
    }

    #[test]
    fn a_damaged_value_is_not_read_as_empty() {
        // Issue 11: the next change overwrote the value with an empty one.
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::ZERO).unwrap();
        let (now, redactor) = (Timestamp::from_unix_micros(0), Redactor::new(&[]));
        store.write_todos("session", &[], now).unwrap();
        let focus = CoreChange { active_focus: Some(vec!["soup".to_owned()]), ..CoreChange::default() };
        store.update_core("ada", &focus, &redactor, now).unwrap();
        let text = ScriptText {
            name: "a".into(),
            code: "print()".into(),
            description: None,
            tags: Some(vec!["t".into()]),
            language: None,
        };
        let script = store.save_script("ada", &text, now).unwrap().id;
        let labels = [("a".to_owned(), "b".to_owned())].into();
        let manifest = NewManifest {
            kind: "agent",
            name: "cook",
            version: "1.0.0",
            description: None,
            labels: &labels,
            text: "text",
            author: "ada",
            force: false,
        };
        store.deploy_manifest(&manifest, now).unwrap();
        assert!(store.manifest("agent", "cook", None).is_ok());
        for (table, column) in [
            ("todo", "items"),
            ("memory_core", "content"),
            ("script", "tags"),
            ("manifest", "labels"),
            ("event", "payload"),
        ] {
            let sql = format!("UPDATE {table} SET {column} = '{{secret'");
            assert_eq!(store.change(|transaction| Ok(transaction.execute(&sql, [])?)), Ok(1), "{table}");
        }
        let events = |id: &str| store.manifest_events(id, 1, 0).map(drop);
        let id = "SELECT id FROM manifest";
        let id: String = store.look(|rows| Ok(rows.query_row(id, [], |row| row.get(0))?)).unwrap();
        for (column, read) in [
            ("items", store.read_todos("session").map(drop)),
            ("content", store.core("ada").map(drop)),
            ("content", store.update_core("ada", &focus, &redactor, now).map(drop)),
            ("tags", store.script(Some("ada"), &script).map(drop)),
            ("labels", store.manifest("agent", "cook", None).map(drop)),
            ("payload", events(&id)),
        ] {
            let error = read.unwrap_err().to_string();
            assert!(error.contains(&format!("`{column}`")) && !error.contains("secret"), "{column}: {error}");
        }
        // A list is written as a whole, so the next write succeeds.
        store.write_todos("session", &[], now).unwrap();
        assert_eq!(store.read_todos("session").unwrap(), []);
    }
}
