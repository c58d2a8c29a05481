//! Schema migrations. They only go forwards, and each is one transaction.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;

/// The application id of our files: `BRGD`.
pub(crate) const APPLICATION: i32 = 0x4252_4744;

/// The migrations, one per version. A released migration never changes.
const STEPS: &[&str] = &[
    include_str!("migrations/1.sql"),
    include_str!("migrations/2.sql"),
    include_str!("migrations/3.sql"),
    include_str!("migrations/4.sql"),
    include_str!("migrations/5.sql"),
    include_str!("migrations/6.sql"),
    include_str!("migrations/7.sql"),
    include_str!("migrations/8.sql"),
    include_str!("migrations/9.sql"),
];

/// The version that this program writes.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// Returns the version of a file.
pub(crate) fn version(connection: &Connection) -> Result<i64, StoreError> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, version, tables) {
        // The file was created but not filled.
        (0, 0, 0) => Ok(0),
        (APPLICATION, version, _) if 0 < version => Ok(version),
        _ => Err(StoreError::Foreign),
    }
}

/// Migrates a file to our version.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let from = version(connection)?;
    for (index, step) in STEPS.iter().enumerate().skip(usize::try_from(from).unwrap_or(usize::MAX)) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", index as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}
