//! The members and rules of a team, and the owner of the database, who changes them.

use std::sync::Arc;
use std::time::Duration;

use brigade_core::{Timestamp, words};
use ed25519_dalek::VerifyingKey;

use crate::connection::{Connection, Lease, Tables};
use crate::doctor::{Check, doctor};
use crate::error::TeamError;
use crate::logs::{LogPlace, PrunedLogs, prune};
use crate::migrate::{GROUPS, Migration, TeamTables, migrate};
use crate::signature::{fingerprint_of_key, hex};

words! {
    /// What a member may do.
    Role {
        /// Queue calls, and withdraw their own.
        Queuer = "queuer",
        /// Approve, hold and reject calls.
        Reviewer = "reviewer",
        /// Claim approved calls, and report how they ended.
        Runner = "runner",
        /// Only read.
        Auditor = "auditor",
    }
}

/// A member of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name, which is the one of the login in the database.
    pub name: String,
    /// What the member may do.
    pub roles: Vec<String>,
    /// The public key, as 64 hex digits.
    pub public_key: Option<String>,
    /// The fingerprint of the key.
    pub key_id: Option<String>,
    /// The workspaces; `None` for all of them.
    pub workspaces: Option<Vec<String>>,
    /// When the member was added.
    pub added_at: String,
}

/// A member to add or change.
pub struct NewMember<'a> {
    /// The name of the login in the database. It is made if it does not exist.
    pub name: &'a str,
    /// What the member may do.
    pub roles: &'a [Role],
    /// The key that signs approvals.
    pub key: Option<&'a VerifyingKey>,
    /// The workspaces; empty for all of them.
    pub workspaces: &'a [String],
    /// The password of the login. The server gets only what it needs to check it.
    pub password: Option<&'a str>,
}

/// How many people must approve calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRule {
    /// The number of the rule.
    pub id: i64,
    /// The effect of the calls; `None` for all.
    pub effect: Option<String>,
    /// The tool of the calls; `None` for all.
    pub tool: Option<String>,
    /// The family of the calls; `None` for all.
    pub family: Option<String>,
    /// How many people must approve, 1 to 9.
    pub approvals: i32,
}

/// The database in the name of its owner.
pub struct Owner {
    connection: Arc<Connection>,
}

impl Owner {
    /// Uses this connection, whose login owns the database or may create schemas and roles in it.
    pub fn new(connection: Connection) -> Owner {
        Owner { connection: Arc::new(connection) }
    }

    /// Makes roles, tables and functions. Changes nothing if the team exists.
    ///
    /// # Errors
    /// Fails if the login may not, or the tables are of another version.
    pub fn init(&self) -> Result<TeamTables, TeamError> {
        migrate(&self.connection, Migration::Create)
    }

    /// Updates the tables and functions of a team.
    ///
    /// # Errors
    /// Fails without a team, if the login may not, or the tables are of a newer version.
    pub fn migrate(&self) -> Result<TeamTables, TeamError> {
        migrate(&self.connection, Migration::Update)
    }

    /// Checks the database; see [`TeamStore::doctor`](crate::TeamStore::doctor).
    pub fn doctor(&self, now: &dyn Fn() -> Timestamp) -> Vec<Check> {
        doctor(&self.connection, None, now)
    }

    /// Says whether raw logs are stored in the database, from now on.
    ///
    /// # Errors
    /// Fails if the login may not.
    pub fn set_logs(&self, place: LogPlace) -> Result<(), TeamError> {
        let sql = "UPDATE @schema@.team SET logs = $1 WHERE logs <> $1";
        self.lease()?.rows(sql, &[&place.as_str()]).map(|_| ())
    }

    /// Deletes raw logs that were stored longer ago than this. Receipts stay.
    ///
    /// # Errors
    /// Fails if the login may not.
    pub fn prune_logs(&self, age: Duration) -> Result<PrunedLogs, TeamError> {
        prune(&mut self.lease()?, age)
    }

    pub(crate) fn lease(&self) -> Result<Lease, TeamError> {
        self.connection.take(Tables::Current)
    }

    /// Adds a member, or replaces roles, key and workspaces of one.
    ///
    /// # Errors
    /// Fails if the name is not valid, or the login may not.
    pub fn add_member(&self, new: &NewMember<'_>) -> Result<Member, TeamError> {
        let login = quoted(new.name)?;
        let mut lease = self.lease()?;
        lease.run("BEGIN")?;
        let result = self.add_member_now(&mut lease, new, &login);
        end(&mut lease, &result)?;
        result?;
        let found = self.members()?.into_iter().find(|member| member.name == new.name);
        found.ok_or_else(|| TeamError::Database("the member was removed at once".to_owned()))
    }

    fn add_member_now(&self, lease: &mut Lease, new: &NewMember<'_>, login: &str) -> Result<(), TeamError> {
        if lease.rows("SELECT FROM pg_roles WHERE rolname = $1", &[&new.name])?.is_empty() {
            lease.run(&format!("CREATE ROLE {login} LOGIN"))?;
        }
        if let Some(password) = new.password {
            let verifier = postgres_protocol::password::scram_sha_256(password.as_bytes());
            lease.run(&format!("ALTER ROLE {login} LOGIN PASSWORD '{}'", verifier.replace('\'', "''")))?;
        }
        let roles: Vec<&str> = new.roles.iter().map(|role| role.as_str()).collect();
        for group in GROUPS {
            match roles.contains(&group) {
                true => lease.run(&format!("GRANT @schema@_{group} TO {login}"))?,
                false => revoke(lease, group, new.name, login)?,
            }
        }
        let key = new.key.map(|key| hex(key.as_bytes()));
        let workspaces = Some(new.workspaces.to_vec()).filter(|list| !list.is_empty());
        lease.rows(
            "INSERT INTO @schema@.members (name, roles, public_key, workspaces) VALUES ($1, $2, $3, $4)
             ON CONFLICT (name) DO UPDATE SET roles = excluded.roles, workspaces = excluded.workspaces,
                 public_key = coalesce(excluded.public_key, members.public_key), removed_at = NULL",
            &[&new.name, &roles, &key, &workspaces],
        )?;
        Ok(())
    }

    /// Removes a member: takes the roles away. Receipts and approvals stay. Returns whether there was one.
    ///
    /// # Errors
    /// Fails if the login may not.
    pub fn remove_member(&self, name: &str) -> Result<bool, TeamError> {
        let login = quoted(name)?;
        let mut lease = self.lease()?;
        lease.run("BEGIN")?;
        let remove = |lease: &mut Lease| {
            for group in GROUPS {
                revoke(lease, group, name, &login)?;
            }
            let sql = "UPDATE @schema@.members SET removed_at = clock_timestamp()
                       WHERE name = $1 AND removed_at IS NULL RETURNING 1";
            Ok(!lease.rows(sql, &[&name])?.is_empty())
        };
        let result = remove(&mut lease);
        end(&mut lease, &result)?;
        result
    }

    /// Lists the members by name.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn members(&self) -> Result<Vec<Member>, TeamError> {
        members(&mut self.lease()?)
    }

    /// Adds a rule. The strictest that matches a call holds.
    ///
    /// # Errors
    /// Fails if the number is not 1 to 9, or the login may not.
    pub fn add_rule(&self, rule: &ApprovalRule) -> Result<ApprovalRule, TeamError> {
        if !(1..=9).contains(&rule.approvals) {
            return Err(TeamError::Invalid("a rule asks for 1 to 9 approvals".to_owned()));
        }
        let sql = "INSERT INTO @schema@.rules (effect, tool, family, approvals) VALUES ($1, $2, $3, $4)
                   RETURNING id";
        let rows = self.lease()?.rows(sql, &[&rule.effect, &rule.tool, &rule.family, &rule.approvals])?;
        Ok(ApprovalRule { id: rows[0].try_get(0)?, ..rule.clone() })
    }

    /// Removes a rule. Returns whether there was one.
    ///
    /// # Errors
    /// Fails if the login may not.
    pub fn remove_rule(&self, id: i64) -> Result<bool, TeamError> {
        let sql = "DELETE FROM @schema@.rules WHERE id = $1 RETURNING 1";
        Ok(!self.lease()?.rows(sql, &[&id])?.is_empty())
    }

    /// Lists the rules in the order in which they were added.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn rules(&self) -> Result<Vec<ApprovalRule>, TeamError> {
        let sql = "SELECT id, effect, tool, family, approvals FROM @schema@.rules ORDER BY id";
        let rule = |row: &postgres::Row| {
            Ok(ApprovalRule {
                id: row.try_get(0)?,
                effect: row.try_get(1)?,
                tool: row.try_get(2)?,
                family: row.try_get(3)?,
                approvals: row.try_get(4)?,
            })
        };
        self.lease()?.rows(sql, &[])?.iter().map(rule).collect()
    }
}

/// Ends a transaction by its result.
fn end<T>(lease: &mut Lease, result: &Result<T, TeamError>) -> Result<(), TeamError> {
    lease.run(if result.is_ok() { "COMMIT" } else { "ROLLBACK" })
}

/// Takes a group role away, if the member has it.
fn revoke(lease: &mut Lease, group: &str, name: &str, login: &str) -> Result<(), TeamError> {
    let sql = "SELECT FROM pg_auth_members JOIN pg_roles held ON held.oid = roleid
               JOIN pg_roles holder ON holder.oid = member WHERE held.rolname = $1 AND holder.rolname = $2";
    let held = lease.rows("SELECT '@schema@'::text", &[])?;
    let held = format!("{}_{group}", held[0].try_get::<_, &str>(0)?);
    if lease.rows(sql, &[&held, &name])?.is_empty() {
        return Ok(());
    }
    lease.run(&format!("REVOKE {held} FROM {login}"))
}

/// Lists the members by name.
pub(crate) fn members(lease: &mut Lease) -> Result<Vec<Member>, TeamError> {
    let sql = "SELECT name, roles, public_key, workspaces, to_char(added_at AT TIME ZONE 'UTC', \
               'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM @schema@.members WHERE removed_at IS NULL ORDER BY name";
    let member = |row: &postgres::Row| {
        let public_key: Option<String> = row.try_get(2)?;
        Ok(Member {
            name: row.try_get(0)?,
            roles: row.try_get(1)?,
            key_id: public_key.as_deref().and_then(fingerprint_of_key),
            public_key,
            workspaces: row.try_get(3)?,
            added_at: row.try_get(4)?,
        })
    };
    lease.rows(sql, &[])?.iter().map(member).collect()
}

/// Quotes the name of a login.
fn quoted(name: &str) -> Result<String, TeamError> {
    let is_legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
    if name.is_empty() || 60 < name.len() || !name.chars().all(is_legal) || name.starts_with("pg_") {
        return Err(TeamError::Invalid(
            "a member's name has 1 to 60 lowercase letters, digits, `_`, `-` and `.`".to_owned(),
        ));
    }
    Ok(format!("\"{name}\""))
}
