//! Takes the records of a workspace's files into the team, and passes on all records of the team.
//!
//! What the team has already is left as it is, so an import that was interrupted is continued by the next one.

use std::collections::{BTreeMap, BTreeSet};

use brigade_call::CallStatus;
use brigade_core::{Fingerprint, Timestamp};
use brigade_queue::{ChainedReceipt, StoredCall};
use postgres::types::ToSql;

use crate::connection::Lease;
use crate::error::TeamError;
use crate::signature::{ImportedCall, Subject, hex};
use crate::snapshot::{PAGE, created};
use crate::store::TeamStore;

/// A receipt of a workspace's files.
pub type FileReceipt = ChainedReceipt;

/// A call of a workspace's files.
#[derive(Clone, Copy, Debug)]
pub struct FileCall<'a> {
    /// The call as it is stored.
    pub stored: &'a StoredCall,
    /// The sha256 of its receipts.
    pub receipts: &'a [String],
}

/// Whether the team has a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// No.
    Missing,
    /// Yes, the same or what became of it.
    Present,
    /// It has another record with this id, or does not take it, for this reason.
    Refused(String),
}

/// Returns a call as the team starts with it. An approval in files is not signed, so it does not count.
fn unapproved(stored: &StoredCall) -> StoredCall {
    let mut unapproved = stored.clone();
    if matches!(
        unapproved.call.status,
        CallStatus::Approved | CallStatus::Waiting | CallStatus::ResumePending
    ) {
        unapproved = unapproved.not_approved_here();
        // Calls of v0.30 wait without an approval.
        unapproved.call.status = CallStatus::Pending;
        unapproved.call.checkpoint_ids.clear();
    }
    unapproved
}

fn id_conflict() -> Presence {
    Presence::Refused("the team has another record with this id".to_owned())
}

impl TeamStore {
    /// Returns which receipts the team has.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn has_receipts(&self, receipts: &[FileReceipt]) -> Result<Vec<Presence>, TeamError> {
        let ids: Vec<&str> = receipts.iter().map(|receipt| receipt.run_id.as_str()).collect();
        let sql = "SELECT run_id, sha256 FROM @schema@.receipts WHERE workspace = $1 AND run_id = ANY ($2)";
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for row in self.lease()?.rows(sql, &[&self.core().options.workspace, &ids])? {
            found.entry(row.try_get(0)?).or_default().insert(row.try_get(1)?);
        }
        let presence = |receipt: &FileReceipt| match found.get(&receipt.run_id) {
            None => Presence::Missing,
            Some(hashes) if hashes.contains(&receipt.sha256.to_hex()) => Presence::Present,
            Some(_) => id_conflict(),
        };
        Ok(receipts.iter().map(presence).collect())
    }

    /// Returns which calls the team has.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn has_calls(&self, calls: &[FileCall<'_>]) -> Result<Vec<Presence>, TeamError> {
        let ids: Vec<&str> = calls.iter().map(|call| call.stored.call.id.as_str()).collect();
        let sql = "SELECT id, record FROM @schema@.calls WHERE workspace = $1 AND id = ANY ($2)";
        let mut found = BTreeMap::new();
        for row in self.lease()?.rows(sql, &[&self.core().options.workspace, &ids])? {
            found.insert(row.try_get::<_, String>(0)?, StoredCall::from_text(row.try_get(1)?));
        }
        let presence = |call: &FileCall<'_>| {
            let ours = &call.stored.call;
            match found.get(ours.id.as_str()) {
                None => Presence::Missing,
                // What was asked for never changes.
                Some(Some(stored))
                    if stored.call.created_at == ours.created_at
                        && stored.call.call_fingerprint == ours.call_fingerprint =>
                {
                    Presence::Present
                }
                Some(_) => id_conflict(),
            }
        };
        Ok(calls.iter().map(presence).collect())
    }

    /// Appends receipts to the chain of this host, in this order, and returns which of them are new.
    ///
    /// # Errors
    /// Fails if the member may not, has no key, or the database cannot be written. Then nothing is stored.
    pub fn import_receipts(&self, receipts: &[FileReceipt]) -> Result<Vec<Presence>, TeamError> {
        let found = self.has_receipts(receipts)?;
        let (core, signer) = (self.core(), self.public_key()?);
        self.import(&found, |lease, place| {
            let FileReceipt { run_id, call_id, status, sort_key, bytes, .. } = &receipts[place];
            let values: [&(dyn ToSql + Sync); 8] = [
                &core.options.workspace,
                &core.options.host,
                run_id,
                call_id,
                status,
                sort_key,
                bytes,
                &signer,
            ];
            lease.rows("SELECT @schema@.import_receipt($1, $2, $3, $4, $5, $6, $7, $8)", &values)
        })
    }

    /// Adds calls in this order, each signed with the key of this account, and returns which of them are new.
    ///
    /// # Errors
    /// Fails if the member may not, has no key, or the database cannot be written. Then nothing is stored.
    pub fn import_calls(&self, calls: &[FileCall<'_>], at: Timestamp) -> Result<Vec<Presence>, TeamError> {
        let found = self.has_calls(calls)?;
        let core = self.core();
        let (key, signer, signed_at) = (self.signing_key()?, self.public_key()?, at.to_string());
        let member: String = self.lease()?.rows("SELECT session_user::text", &[])?[0].try_get(0)?;
        self.import(&found, |lease, place| {
            let FileCall { stored, receipts } = &calls[place];
            let (id, now, before) = (stored.call.id.as_str(), unapproved(stored).to_text(), stored.to_text());
            let subject = Subject {
                team: &core.options.team_id,
                workspace: &core.options.workspace,
                call: id,
                revision: 0,
            };
            let (member, signed_at) = (member.as_str(), signed_at.as_str());
            let import = ImportedCall { subject, member, record: &before, receipts, signed_at };
            let signature = import.sign(&key);
            let created = created(stored.call.created_at);
            let values: [&(dyn ToSql + Sync); 9] = [
                &core.options.workspace,
                &id,
                &created,
                &now,
                &before,
                receipts,
                &signer,
                &signed_at,
                &signature,
            ];
            lease.rows("SELECT @schema@.import_call($1, $2, $3, $4, $5, $6, $7, $8, $9)", &values)
        })
    }

    /// Does a step for each missing record, in one transaction. What the database does not take is left out.
    fn import<T>(
        &self,
        found: &[Presence],
        step: impl Fn(&mut Lease, usize) -> Result<T, TeamError>,
    ) -> Result<Vec<Presence>, TeamError> {
        let mut result = found.to_vec();
        let mut lease = self.lease()?;
        lease.run("BEGIN")?;
        for (place, presence) in
            result.iter_mut().enumerate().filter(|(_, found)| **found == Presence::Missing)
        {
            let done = lease.run("SAVEPOINT one").and_then(|()| step(&mut lease, place));
            match done {
                Ok(_) => lease.run("RELEASE one")?,
                Err(error @ (TeamError::Step { .. } | TeamError::Database(_))) => {
                    lease.run("ROLLBACK TO one")?;
                    *presence = Presence::Refused(error.to_string());
                }
                Err(error) => {
                    let _ = lease.run("ROLLBACK");
                    return Err(error);
                }
            }
        }
        lease.run("COMMIT")?;
        Ok(result)
    }

    fn signing_key(&self) -> Result<ed25519_dalek::SigningKey, TeamError> {
        let message = "an import into a team is signed, and this account has no key".to_owned();
        (self.core().options.signer)()?.ok_or(TeamError::UntrustedKey(message))
    }

    fn public_key(&self) -> Result<String, TeamError> {
        Ok(hex(self.signing_key()?.verifying_key().as_bytes()))
    }

    /// Begins to pass on all records of the workspace, as they are at one moment.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn dump(&self) -> Result<TeamDump, TeamError> {
        let mut lease = self.lease()?;
        lease.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let mut dump = TeamDump { lease, receipts_left_out: 0 };
        let workspace = &self.core().options.workspace;
        let left_out =
            "SELECT count(*) FROM @schema@.receipts WHERE workspace = $1 AND (is_late OR is_aside)";
        let left_out: i64 = dump.lease.rows(left_out, &[workspace])?[0].try_get(0)?;
        dump.receipts_left_out = u64::try_from(left_out).unwrap_or(0);
        let workspace = workspace.replace('\'', "''");
        dump.lease.run(&format!(
            "DECLARE all_receipts NO SCROLL CURSOR FOR SELECT run_id, call_id, status, sort_key, body \
                 FROM @schema@.receipts WHERE workspace = '{workspace}' AND NOT is_late AND NOT is_aside \
                 ORDER BY recorded_at, host, sequence; \
             DECLARE all_calls NO SCROLL CURSOR FOR SELECT record, revision FROM @schema@.calls \
                 WHERE workspace = '{workspace}' ORDER BY sequence"
        ))?;
        Ok(dump)
    }
}

/// All records of a workspace in a team at one moment.
pub struct TeamDump {
    lease: Lease,
    /// How many receipts end no run, because they came late or were replaced. They are not passed on.
    pub receipts_left_out: u64,
}

impl TeamDump {
    /// Returns the next receipts; none after the last ones.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn receipts(&mut self) -> Result<Vec<FileReceipt>, TeamError> {
        let rows = self.lease.rows(&format!("FETCH {PAGE} FROM all_receipts"), &[])?;
        let receipt = |row: &postgres::Row| {
            let bytes: Vec<u8> = row.try_get(4)?;
            Ok(FileReceipt {
                run_id: row.try_get(0)?,
                call_id: row.try_get(1)?,
                status: row.try_get(2)?,
                sort_key: row.try_get(3)?,
                sha256: Fingerprint::of_bytes(&bytes),
                bytes,
            })
        };
        rows.iter().map(receipt).collect()
    }

    /// Returns the next calls, as they are stored; none after the last ones.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn calls(&mut self) -> Result<Vec<StoredCall>, TeamError> {
        let rows = self.lease.rows(&format!("FETCH {PAGE} FROM all_calls"), &[])?;
        let call = |row: &postgres::Row| {
            let revision: i64 = row.try_get(1)?;
            let unread = || TeamError::Database("it has a record of a call that cannot be read".to_owned());
            let stored = StoredCall::from_text(row.try_get(0)?).ok_or_else(unread)?;
            Ok(StoredCall { revision: u64::try_from(revision).unwrap_or(0), ..stored })
        };
        rows.iter().map(call).collect()
    }
}

impl Drop for TeamDump {
    fn drop(&mut self) {
        let _ = self.lease.run("ROLLBACK");
    }
}
