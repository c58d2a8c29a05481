//! The tables and functions in the database, by version. They only go forward.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use brigade_core::Fingerprint;

use crate::connection::{Connection, Lease, Tables};
use crate::error::TeamError;

/// Every version of the tables. A released one never changes.
pub const MIGRATIONS: [(&str, &str); 3] = [
    ("0001_queue", include_str!("migrations/0001_queue.sql")),
    ("0002_administration", include_str!("migrations/0002_administration.sql")),
    ("0003_runners", include_str!("migrations/0003_runners.sql")),
];

/// The longest name of a schema, so that the names of its roles fit.
const MAX_SCHEMA_LEN: usize = 40;

/// The name of the schema with the tables, which begins the names of the group roles.
///
/// Lowercase letters, digits and `_`, so it needs no quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema(String);

impl FromStr for Schema {
    type Err = TeamError;

    fn from_str(text: &str) -> Result<Schema, TeamError> {
        let is_first = |first: char| first.is_ascii_lowercase() || first == '_';
        let is_rest = |rest: char| is_first(rest) || rest.is_ascii_digit();
        if !text.starts_with(is_first)
            || !text.chars().all(is_rest)
            || MAX_SCHEMA_LEN < text.len()
            || text.starts_with("pg_")
        {
            let message = format!("a schema has 1 to {MAX_SCHEMA_LEN} lowercase letters, digits and `_`");
            return Err(TeamError::Invalid(message));
        }
        Ok(Schema(text.to_owned()))
    }
}

impl Default for Schema {
    fn default() -> Schema {
        Schema("brigade".to_owned())
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Schema {
    /// Puts the name into a statement.
    pub(crate) fn sql(&self, text: &str) -> String {
        text.replace("@schema@", &self.0)
    }
}

/// The result of making the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamTables {
    /// Whether the team was made now.
    pub created: bool,
    /// The id of the team.
    pub team_id: String,
    /// The version of the tables.
    pub version: i32,
    /// The group roles.
    pub roles: Vec<String>,
    /// How many versions were applied.
    pub applied: usize,
}

/// What to do with the tables of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Migration {
    /// Make them. Those of a team stay as they are.
    Create,
    /// Update those of a team.
    Update,
}

/// The group roles, without the name of the schema.
pub(crate) const GROUPS: [&str; 4] = ["queuer", "reviewer", "runner", "auditor"];

/// Makes what is missing: roles, schema, tables, functions and the id of the team. Each version is one transaction, and
/// other programs that migrate wait.
pub(crate) fn migrate(connection: &Arc<Connection>, migration: Migration) -> Result<TeamTables, TeamError> {
    let mut lease = connection.take(Tables::Any)?;
    lease.run("SELECT pg_advisory_lock(hashtextextended('@schema@', 1))")?;
    let made = migrate_locked(&mut lease, connection.schema(), migration);
    // The lock ends with the connection, too.
    let _ = lease.run("SELECT pg_advisory_unlock(hashtextextended('@schema@', 1))");
    made
}

fn migrate_locked(lease: &mut Lease, schema: &Schema, migration: Migration) -> Result<TeamTables, TeamError> {
    let has_team = lease.rows("SELECT WHERE to_regclass('@schema@.team') IS NOT NULL", &[])?;
    let has_team = !has_team.is_empty() && !lease.rows("SELECT FROM @schema@.team", &[])?.is_empty();
    if migration == Migration::Update && !has_team {
        return Err(TeamError::SchemaOlder { schema: schema.to_string(), found: 0 });
    }
    for group in GROUPS {
        lease.run(&format!(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '@schema@_{group}') THEN \
             CREATE ROLE @schema@_{group} NOLOGIN; END IF; END $$"
        ))?;
    }
    if lease.rows("SELECT WHERE to_regclass('@schema@.migrations') IS NOT NULL", &[])?.is_empty() {
        lease.run(
            "BEGIN; CREATE SCHEMA IF NOT EXISTS @schema@; REVOKE ALL ON SCHEMA @schema@ FROM PUBLIC; \
             CREATE TABLE @schema@.migrations (number integer PRIMARY KEY, name text NOT NULL, sha256 text \
             NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp()); COMMIT",
        )?;
    }
    let done = lease.rows("SELECT count(*), max(number) FROM @schema@.migrations", &[])?;
    let (count, last): (i64, Option<i32>) = (done[0].try_get(0)?, done[0].try_get(1)?);
    let known = i32::try_from(MIGRATIONS.len()).expect("there are few");
    if let Some(found) = last.filter(|last| known < *last) {
        return Err(TeamError::SchemaNewer { found, known });
    }
    if migration == Migration::Create && has_team && last != Some(known) {
        return Err(TeamError::SchemaOlder { schema: schema.to_string(), found: last.unwrap_or(0) });
    }
    let missing = MIGRATIONS.iter().zip(1i32..).skip(usize::try_from(count).unwrap_or(0));
    let mut applied = 0;
    for ((name, sql), number) in missing {
        let sql = schema.sql(sql);
        let mut transaction = lease.transaction()?;
        transaction.batch_execute(&sql)?;
        let insert = schema.sql("INSERT INTO @schema@.migrations (number, name, sha256) VALUES ($1, $2, $3)");
        transaction.execute(&insert, &[&number, name, &Fingerprint::of_bytes(sql.as_bytes()).to_hex()])?;
        transaction.commit()?;
        applied += 1;
    }
    let created = lease.rows(
        "INSERT INTO @schema@.team (id) SELECT gen_random_uuid() ON CONFLICT DO NOTHING RETURNING id",
        &[],
    )?;
    let team = lease.rows("SELECT id FROM @schema@.team", &[])?;
    Ok(TeamTables {
        created: !created.is_empty(),
        team_id: team[0].try_get(0)?,
        version: known,
        roles: GROUPS.iter().map(|group| format!("{schema}_{group}")).collect(),
        applied,
    })
}
