//! Writes calls, receipts and checkpoints, each step by the function of the database for it.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brigade_call::{Call, CallStatus, Checkpoint, LedgerLink, Receipt};
use brigade_core::{CallId, ErrorCode, Json};
use brigade_queue::{
    CallQuery, ChainEnd, NewReceipt, OnRunTaken, QueueError, RecordedReceipt, Snapshot, StoredCall,
    StoredCheckpoint, StoredReceipt, Transaction,
};

use crate::connection::Lease;
use crate::error::TeamError;
use crate::renewal::{HeldClaim, uptime};
use crate::signature::{Approval, Subject};
use crate::snapshot::{Source, TeamSnapshot, created};
use crate::store::Core;

/// How long the server waits for a client that has begun to write, in milliseconds.
const MAX_PAUSE_MILLIS: u64 = 30_000;

/// The queue while this process is its only writer.
///
/// The lock is released with the first write, which commits. A later write takes it again. What both are based on is
/// compared by revision.
pub(crate) struct TeamTransaction {
    snapshot: TeamSnapshot,
    lease: Arc<Mutex<Lease>>,
    is_open: bool,
}

impl Drop for TeamTransaction {
    fn drop(&mut self) {
        if self.is_open {
            // Nothing was written. Without a connection, the server does the same.
            let _ = self.lease().run("ROLLBACK");
        }
    }
}

/// What is stored about a call that changes.
struct Before {
    status: String,
    revision: i64,
    is_expired: bool,
}

impl TeamTransaction {
    pub(crate) fn begin(core: Arc<Core>, lease: Arc<Mutex<Lease>>) -> Result<TeamTransaction, TeamError> {
        let snapshot = TeamSnapshot { core, source: Source::Own(lease.clone()) };
        let mut transaction = TeamTransaction { snapshot, lease, is_open: false };
        transaction.open()?;
        Ok(transaction)
    }

    fn lease(&self) -> MutexGuard<'_, Lease> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn core(&self) -> &Core {
        &self.snapshot.core
    }

    /// Begins a transaction, and waits to be the only writer of the workspace.
    fn open(&mut self) -> Result<(), TeamError> {
        if self.is_open {
            return Ok(());
        }
        let timeout = self.core().connection.timeout().as_millis().max(1);
        {
            let mut lease = self.lease();
            let begin = format!(
                "BEGIN; SET LOCAL lock_timeout = {timeout}; \
                 SET LOCAL idle_in_transaction_session_timeout = {MAX_PAUSE_MILLIS}"
            );
            match lease.run(&begin) {
                // It was kept from before, and lost in the meantime.
                Err(TeamError::Unreachable(_)) => {
                    self.core().connection.replace_in(&mut lease)?;
                    lease.run(&begin)?;
                }
                begun => begun?,
            }
            let lock = "SELECT pg_advisory_xact_lock(hashtextextended('@schema@/' || $1, 0))";
            if let Err(error) = lease.rows(lock, &[&self.core().workspace]) {
                let _ = lease.run("ROLLBACK");
                return Err(error);
            }
        }
        self.is_open = true;
        Ok(())
    }

    /// Returns the place of a stored receipt in the chain of its host.
    fn place_of(&self, stored: &StoredReceipt) -> Result<i64, TeamError> {
        let sql =
            "SELECT sequence FROM @schema@.receipts WHERE workspace = $1 AND run_id = $2 AND sha256 = $3";
        let (workspace, run, sha256) = (&self.core().workspace, &stored.stored_id, stored.sha256.to_hex());
        let rows = self.lease().rows(sql, &[workspace, run, &sha256])?;
        let gone = || TeamError::Database("a receipt is gone".to_owned());
        Ok(rows.first().ok_or_else(gone)?.try_get(0)?)
    }

    /// Does a step in a transaction, and commits it. Nothing of a failed step stays.
    fn step<T>(
        &mut self,
        step: impl FnOnce(&Core, &mut Lease) -> Result<T, QueueError>,
    ) -> Result<T, QueueError> {
        self.open()?;
        self.is_open = false;
        let mut lease = self.lease();
        match step(self.core(), &mut lease) {
            Ok(done) => {
                lease.run("COMMIT")?;
                Ok(done)
            }
            Err(error) => {
                let _ = lease.run("ROLLBACK");
                Err(error)
            }
        }
    }
}

/// Returns whether an error says that the connection was lost.
fn is_lost(error: &QueueError) -> bool {
    matches!(error, QueueError::Shared { code, .. } if *code == ErrorCode::TeamUnreachable)
}

/// Returns whether a call is written to claim it.
fn is_claim(stored: &StoredCall) -> bool {
    stored.sequence != 0 && stored.call.status == CallStatus::Running
}

/// Writes calls.
fn put_all(core: &Core, lease: &mut Lease, calls: &mut [StoredCall]) -> Result<Vec<PutOutcome>, QueueError> {
    calls.iter_mut().map(|stored| put_one(core, lease, stored)).collect()
}

/// Writes one call.
fn put_one(core: &Core, lease: &mut Lease, stored: &mut StoredCall) -> Result<PutOutcome, QueueError> {
    let call = &stored.call;
    let (id, run) = (call.id.clone(), call.claim.as_ref().map(|claim| claim.run_id.clone()));
    let failed = |error: TeamError| error.of_step(&id, run.as_ref());
    let ws = core.workspace.as_str();
    let record = record_of(stored);
    if stored.sequence == 0 {
        if call.status != CallStatus::Pending {
            let message = "a team's call is queued first, and then approved".to_owned();
            return Err(failed(TeamError::Role(message)));
        }
        let sql = "SELECT @schema@.queue_call($1, $2, $3, $4)";
        let rows = lease.rows(sql, &[&ws, &call.id.as_str(), &created(call.created_at), &record]);
        let place: i64 = rows.and_then(|rows| Ok(rows[0].try_get(0)?)).map_err(failed)?;
        stored.sequence = u64::try_from(place).unwrap_or(0);
        return Ok(PutOutcome::Stored);
    }
    let base = i64::try_from(stored.revision).unwrap_or(i64::MAX) - 1;
    let before = before(lease, ws, &call.id).map_err(failed)?;
    // The function for a step depends on what the call was. A claim may be one whose answer was lost.
    if before.revision != base && call.status != CallStatus::Running {
        return Err(QueueError::Changed { id });
    }
    let sql = match (before.status.as_str(), &call.status) {
        // Also the claim whose answer was lost.
        (_, CallStatus::Running) => {
            let Some(run) = &run else {
                return Err(failed(TeamError::Invalid("a run has no id".to_owned())));
            };
            let sql = "SELECT now_fence, here FROM @schema@.claim_call($1, $2, $3, $4, $5, $6, $7, $8)";
            let (lease_seconds, seen) = (core.lease_seconds, core.seen_server());
            let values: [&(dyn postgres::types::ToSql + Sync); 8] =
                [&ws, &call.id.as_str(), &base, &record, &run.as_str(), &core.host, &lease_seconds, &seen];
            let rows = lease.rows(sql, &values).map_err(failed)?;
            let answer = |error: postgres::Error| failed(error.into());
            let (fence, here) = (rows[0].try_get(0).map_err(answer)?, rows[0].try_get(1).map_err(answer)?);
            core.remember_server(here);
            return Ok(PutOutcome::Claimed(HeldClaim {
                workspace: core.workspace.clone(),
                call: call.id.to_string(),
                run: run.to_string(),
                fence,
                lease_seconds,
            }));
        }
        ("running", _) if before.is_expired => "SELECT @schema@.interrupt_call($1, $2, $3, $4)",
        ("running", _) => "SELECT @schema@.finish_call($1, $2, $3, $4)",
        (_, CallStatus::Rejected) if call.withdrawn => "SELECT @schema@.withdraw_call($1, $2, $3, $4)",
        _ => return review(core, lease, stored, base, &record).map_err(failed),
    };
    lease.rows(sql, &[&ws, &call.id.as_str(), &base, &record]).map_err(failed)?;
    Ok(if before.status == "running" { PutOutcome::Ended } else { PutOutcome::Stored })
}

/// How a call was written.
enum PutOutcome {
    /// It is stored as it was given.
    Stored,
    /// It is claimed by this process.
    Claimed(HeldClaim),
    /// Its run has ended.
    Ended,
    /// Only an approval was stored, which is one of several that are needed.
    PartlyApproved,
}

/// Records a decision of this member, signed if it approves.
fn review(
    core: &Core,
    lease: &mut Lease,
    stored: &StoredCall,
    base: i64,
    record: &str,
) -> Result<PutOutcome, TeamError> {
    let Call { id, status, approval, reviewed_at, .. } = &stored.call;
    let ws = core.workspace.as_str();
    let signed = match (status, approval) {
        (CallStatus::Approved, Some(approval)) => {
            let Some(key) = (core.signer)()? else {
                let message = "an approval of a team is signed, and this account has no key".to_owned();
                return Err(TeamError::UntrustedKey(message));
            };
            let member: String = lease.rows("SELECT session_user::text", &[])?[0].try_get(0)?;
            let subject = Subject { team: &core.team_id, workspace: ws, call: id.as_str(), revision: base };
            let at = reviewed_at.map(|at| at.to_string()).unwrap_or_default();
            Some(Approval::sign(subject, &member, &approval.binding, &approval.hosts, at, &key))
        }
        _ => None,
    };
    let part = |part: fn(&Approval) -> &str| signed.as_ref().map(part);
    let (key, shared) = (part(|signed| &signed.public_key), part(|signed| &signed.shared));
    let hosts = signed.as_ref().map(|signed| &signed.hosts);
    let (at, signature) =
        (part(|signed| &signed.signed_at), signed.as_ref().map(|signed| signed.signature.as_slice()));
    let rows = lease.rows(
        "SELECT now_revision FROM @schema@.review_call($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        &[&ws, &id.as_str(), &base, &record, &key, &shared, &hosts, &at, &signature],
    )?;
    let revision: i64 = rows[0].try_get(0)?;
    Ok(if revision == base { PutOutcome::PartlyApproved } else { PutOutcome::Stored })
}

/// Returns the record of a call as it is stored. Sequence, revision and approvals have their own columns.
pub(crate) fn record_of(stored: &StoredCall) -> String {
    let call = Call { approvals: None, ..stored.call.clone() };
    StoredCall { call, ..stored.clone() }.to_text()
}

fn before(lease: &mut Lease, workspace: &str, id: &CallId) -> Result<Before, TeamError> {
    let sql = "SELECT status, revision, coalesce(lease_until <= clock_timestamp(), false)
               FROM @schema@.calls WHERE workspace = $1 AND id = $2";
    let rows = lease.rows(sql, &[&workspace, &id.as_str()])?;
    let gone = || TeamError::Step { state: "BR003".to_owned(), message: "the call is gone".to_owned() };
    let row = rows.first().ok_or_else(gone)?;
    Ok(Before { status: row.try_get(0)?, revision: row.try_get(1)?, is_expired: row.try_get(2)? })
}

/// Stores a receipt, unless it is stored. Returns its place in the chain of the host.
fn store_receipt(
    core: &Core,
    lease: &mut Lease,
    receipt: &Receipt,
    taken: OnRunTaken,
) -> Result<(StoredReceipt, i64), QueueError> {
    let bytes = receipt.to_bytes();
    let sql = "SELECT place FROM @schema@.record_receipt($1, $2, $3, $4, $5, $6, $7, $8)";
    let (ws, host, aside) = (core.workspace.as_str(), core.host.as_str(), taken == OnRunTaken::SetAside);
    let (run, call, status, key) =
        (&receipt.id, &receipt.call_id, receipt.status.as_str(), receipt.sort_key());
    let rows = lease.rows(sql, &[&ws, &host, &run.as_str(), &call.as_str(), &status, &key, &bytes, &aside]);
    let place = rows.and_then(|rows| Ok(rows[0].try_get(0)?));
    let place = place.map_err(|error: TeamError| error.of_step(call, Some(run)))?;
    let stored = StoredReceipt::from_bytes(run.as_str(), &bytes).map_err(QueueError::Unreadable)?;
    Ok((stored, place))
}

impl Transaction for TeamTransaction {
    fn snapshot(&self) -> &dyn Snapshot {
        &self.snapshot
    }

    fn prepare(&mut self) -> Result<(), QueueError> {
        Ok(self.open()?)
    }

    fn put(&mut self, calls: &mut [StoredCall]) -> Result<(), QueueError> {
        let since = uptime();
        let mut outcomes = self.step(|core, lease| put_all(core, lease, calls));
        if matches!(&outcomes, Err(error) if is_lost(error)) && calls.iter().all(is_claim) {
            // The claim may be stored, and only its answer lost.
            self.core().connection.replace_in(&mut self.lease())?;
            outcomes = self.step(|core, lease| put_all(core, lease, calls));
        }
        let outcomes = outcomes?;
        if calls.iter().any(|stored| matches!(stored.call.status, CallStatus::Pending | CallStatus::Approved))
        {
            // Runners look again after two seconds anyway.
            let _ = self.lease().run(&format!("NOTIFY {}", self.core().channel()));
        }
        for (stored, outcome) in calls.iter_mut().zip(outcomes) {
            let core = self.core();
            match outcome {
                PutOutcome::Stored if stored.call.approvals.is_none() => {}
                PutOutcome::Claimed(claim) => {
                    if let Some(claimed) = &core.claimed {
                        claimed(&claim.run);
                    }
                    core.renewals.begin(&core.connection, claim, since, &core.lease_lost);
                }
                PutOutcome::Ended => {
                    let run = stored.call.claim.as_ref().map(|claim| claim.run_id.as_str());
                    core.renewals.end(run.unwrap_or_default());
                }
                // How many have approved it is counted by the database.
                PutOutcome::Stored | PutOutcome::PartlyApproved => {
                    let id = stored.call.id.clone();
                    self.snapshot.calls(&CallQuery::Id(&id), &mut |record| {
                        *stored = record.into_stored().expect("the database keeps whole records");
                        ControlFlow::Break(())
                    })?;
                }
            }
        }
        Ok(())
    }

    fn add_checkpoints(&mut self, checkpoints: Vec<Checkpoint>) -> Result<Vec<StoredCheckpoint>, QueueError> {
        if checkpoints.is_empty() {
            return Ok(Vec::new());
        }
        self.step(|core, lease| {
            let mut stored = Vec::with_capacity(checkpoints.len());
            for mut checkpoint in checkpoints {
                let wanted = checkpoint.id.as_str().to_owned();
                for number in 2.. {
                    let document = Json::Object(checkpoint.to_document()).to_compact();
                    let (id, run) = (checkpoint.id.as_str(), checkpoint.run_id.as_str());
                    let sql = "SELECT @schema@.add_checkpoint($1, $2, $3, $4)";
                    let rows = lease.rows(sql, &[&core.workspace, &id, &run, &document])?;
                    if rows[0].try_get(0).map_err(TeamError::from)? {
                        break;
                    }
                    checkpoint.id = StoredCheckpoint::numbered(&wanted, number);
                }
                stored.push(StoredCheckpoint::recorded(checkpoint));
            }
            Ok(stored)
        })
    }

    fn record(&mut self, receipt: NewReceipt<'_>) -> Result<RecordedReceipt, QueueError> {
        let (receipt, place) = match receipt {
            NewReceipt::Unstored(receipt, taken) => {
                self.step(|core, lease| store_receipt(core, lease, receipt, taken))?
            }
            NewReceipt::Stored(stored) => {
                let place = self.place_of(&stored)?;
                (*stored, place)
            }
        };
        let sequence = u64::try_from(place).unwrap_or(0);
        let link = LedgerLink { sequence, sha256: receipt.sha256 };
        Ok(RecordedReceipt { receipt, link, chain: ChainEnd::Whole })
    }

    fn report_late(&mut self, receipt: &Receipt) -> Result<(), QueueError> {
        self.step(|core, lease| {
            // The host reports its claims first. Until then, it keeps the receipt.
            let sql =
                "SELECT FROM @schema@.calls WHERE workspace = $1 AND id = $2 AND run_id IS DISTINCT FROM $3
                           AND status IN ('pending', 'held', 'approved', 'resume-pending')";
            let values: [&(dyn postgres::types::ToSql + Sync); 3] =
                [&core.workspace, &receipt.call_id.as_str(), &receipt.id.as_str()];
            if !lease.rows(sql, &values)?.is_empty() {
                let message = "the database was replaced, and has forgotten the claim of the run".to_owned();
                return Err(TeamError::Failover(message).into());
            }
            store_receipt(core, lease, receipt, OnRunTaken::Refuse)
        })
        .map(|_| ())
    }
}
