//! Writes calls, receipts and checkpoints, each step by the function of the database for it.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brigade_call::{Call, CallStatus, Checkpoint, LedgerLink, Receipt};
use brigade_core::{CallId, ErrorCode, Json, RunId};
use brigade_queue::{
    CallQuery, ChainEnd, NewReceipt, OnRunTaken, QueueError, RecordedReceipt, Snapshot, StoredCall,
    StoredCheckpoint, StoredReceipt, Transaction,
};

use postgres_protocol::escape::escape_literal;

use crate::connection::Lease;
use crate::error::TeamError;
use crate::renewal::{HeldClaim, uptime};
use crate::signature::{Approval, Subject, hex};
use crate::snapshot::{Source, TeamSnapshot, created};
use crate::store::Core;

/// A writer of the queue.
///
/// Each step is one function of the database, which compares the revision of the call with the one that was read, so
/// writers of different calls do not wait for each other. A change that depends on other calls locks the workspace
/// first. The lock is released with the first write, which commits.
pub(crate) struct TeamTransaction {
    snapshot: TeamSnapshot,
    lease: Arc<Mutex<Lease>>,
}

impl Drop for TeamTransaction {
    fn drop(&mut self) {
        // Nothing was written since the lock was taken.
        self.lease().roll_back();
    }
}

/// What is stored about a call that changes.
struct Before {
    status: String,
    revision: i64,
    is_expired: bool,
    /// The member of this session.
    member: String,
}

impl TeamTransaction {
    pub(crate) fn new(core: Arc<Core>, lease: Lease) -> TeamTransaction {
        let lease = Arc::new(Mutex::new(lease));
        TeamTransaction { snapshot: TeamSnapshot { core, source: Source::Own(lease.clone()) }, lease }
    }

    fn lease(&self) -> MutexGuard<'_, Lease> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn core(&self) -> &Core {
        &self.snapshot.core
    }

    /// Returns the place of a stored receipt in the chain of its host.
    fn place_of(&self, stored: &StoredReceipt) -> Result<i64, TeamError> {
        let sql =
            "SELECT sequence FROM @schema@.receipts WHERE workspace = $1 AND run_id = $2 AND sha256 = $3";
        let (workspace, run, sha256) =
            (&self.core().options.workspace, &stored.stored_id, stored.sha256.to_hex());
        let rows = self.lease().rows(sql, &[workspace, run, &sha256])?;
        let gone = || TeamError::Database("a receipt is gone".to_owned());
        Ok(rows.first().ok_or_else(gone)?.try_get(0)?)
    }

    /// Does a step with this many writes. Nothing of a failed step stays.
    fn step<T>(
        &self,
        writes: usize,
        step: impl FnOnce(&Core, &mut Lease) -> Result<T, QueueError>,
    ) -> Result<T, QueueError> {
        let mut lease = self.lease();
        if 1 < writes && !lease.is_in_transaction() {
            lease.begin("")?;
        }
        let done = step(self.core(), &mut lease).inspect_err(|_| lease.roll_back())?;
        if lease.is_in_transaction() {
            lease.commit()?;
        }
        Ok(done)
    }
}

/// Returns whether an error says that the connection was lost.
fn is_lost(error: &QueueError) -> bool {
    matches!(error, QueueError::Shared { code, .. } if *code == ErrorCode::TeamUnreachable)
}

/// Makes up what no other attempt to claim a call has.
fn new_token() -> Result<String, TeamError> {
    let mut token = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut token).map_err(|_| TeamError::Invalid("there are no random numbers".to_owned()))?;
    Ok(hex(&token))
}

/// Returns whether a call is written to claim it.
fn is_claim(stored: &StoredCall) -> bool {
    stored.sequence != 0 && stored.call.status == CallStatus::Running
}

/// Whether a claim may be stored already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    First,
    /// The answer about the first one was lost.
    Again,
}

/// Claims a call for a run. `token` tells this attempt from those of others.
fn claim(
    core: &Core,
    lease: &mut Lease,
    (stored, run): (&StoredCall, &RunId),
    (attempt, token): (Attempt, &str),
) -> Result<PutOutcome, TeamError> {
    let (ws, call, run) = (core.options.workspace.as_str(), stored.call.id.as_str(), run.as_str());
    let sql = "SELECT now_fence, here FROM @schema@.find_claim($1, $2, $3, $4)";
    let found = match attempt {
        Attempt::First => None,
        Attempt::Again => lease.rows(sql, &[&ws, &call, &run, &token])?.pop(),
    };
    let lease_seconds = i32::from(core.options.lease_seconds);
    let found = match found {
        Some(row) if row.try_get::<_, Option<i64>>(0)?.is_some() => row,
        _ => {
            let sql = "SELECT now_fence, here FROM @schema@.claim_call($1, $2, $3, $4, $5, $6, $7, $8, $9)";
            let (base, record, seen) = (base_of(stored), record_of(stored), core.seen_server());
            let values: [&(dyn postgres::types::ToSql + Sync); 9] =
                [&ws, &call, &base, &record, &run, &token, &core.options.host, &lease_seconds, &seen];
            lease.rows(sql, &values)?.swap_remove(0)
        }
    };
    core.remember_server(found.try_get(1)?);
    Ok(PutOutcome::Claimed(HeldClaim {
        workspace: ws.to_owned(),
        call: call.to_owned(),
        run: run.to_owned(),
        fence: found.try_get(0)?,
        lease_seconds,
    }))
}

/// Returns the revision that a changed call is based on.
fn base_of(stored: &StoredCall) -> i64 {
    i64::try_from(stored.revision).unwrap_or(i64::MAX) - 1
}

/// Writes one call.
fn put_one(
    core: &Core,
    lease: &mut Lease,
    stored: &mut StoredCall,
    attempt: (Attempt, &str),
) -> Result<PutOutcome, QueueError> {
    let call = &stored.call;
    let (id, run) = (call.id.clone(), call.claim.as_ref().map(|claim| claim.run_id.clone()));
    let failed = |error: TeamError| error.of_step(&id, run.as_ref());
    let ws = core.options.workspace.as_str();
    if stored.sequence == 0 {
        if call.status != CallStatus::Pending {
            let message = "a team's call is queued first, and then approved".to_owned();
            return Err(failed(TeamError::Role(message)));
        }
        let (sql, record) = ("SELECT @schema@.queue_call($1, $2, $3, $4)", record_of(stored));
        let rows = lease.rows(sql, &[&ws, &call.id.as_str(), &created(call.created_at), &record]);
        let place: i64 = rows.and_then(|rows| Ok(rows[0].try_get(0)?)).map_err(failed)?;
        stored.sequence = u64::try_from(place).unwrap_or(0);
        return Ok(PutOutcome::Stored);
    }
    if call.status == CallStatus::Running {
        let no_run = || failed(TeamError::Invalid("a run has no id".to_owned()));
        return claim(core, lease, (stored, run.as_ref().ok_or_else(no_run)?), attempt).map_err(failed);
    }
    let base = base_of(stored);
    // The function for a step depends on what the call was.
    let before = before(lease, ws, &call.id).map_err(failed)?;
    if before.revision != base {
        return Err(QueueError::Changed { id });
    }
    let record = record_of(stored);
    let sql = match (before.status.as_str(), &call.status) {
        ("running", _) if before.is_expired => "SELECT @schema@.interrupt_call($1, $2, $3, $4)",
        ("running", _) => "SELECT @schema@.finish_call($1, $2, $3, $4)",
        (_, CallStatus::Rejected) if call.withdrawn => "SELECT @schema@.withdraw_call($1, $2, $3, $4)",
        _ => return review(core, lease, stored, &before, &record).map_err(failed),
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
    before: &Before,
    record: &str,
) -> Result<PutOutcome, TeamError> {
    let Call { id, status, approval, reviewed_at, .. } = &stored.call;
    let (ws, base) = (core.options.workspace.as_str(), before.revision);
    let signed = match (status, approval) {
        (CallStatus::Approved, Some(approval)) => {
            let Some(key) = (core.options.signer)()? else {
                let message = "an approval of a team is signed, and this account has no key".to_owned();
                return Err(TeamError::UntrustedKey(message));
            };
            let subject =
                Subject { team: &core.options.team_id, workspace: ws, call: id.as_str(), revision: base };
            let at = reviewed_at.map(|at| at.to_string()).unwrap_or_default();
            Some(Approval::sign(subject, &before.member, &approval.binding, &approval.hosts, at, &key))
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
    let sql = "SELECT status, revision, coalesce(lease_until <= clock_timestamp(), false), session_user::text
               FROM @schema@.calls WHERE workspace = $1 AND id = $2";
    let rows = lease.rows(sql, &[&workspace, &id.as_str()])?;
    let gone = || TeamError::Step { state: "BR003".to_owned(), message: "the call is gone".to_owned() };
    let row = rows.first().ok_or_else(gone)?;
    Ok(Before {
        status: row.try_get(0)?,
        revision: row.try_get(1)?,
        is_expired: row.try_get(2)?,
        member: row.try_get(3)?,
    })
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
    let (ws, host, aside) =
        (core.options.workspace.as_str(), core.options.host.as_str(), taken == OnRunTaken::SetAside);
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

    fn lock_queue(&mut self) -> Result<(), QueueError> {
        let mut lease = self.lease();
        if !lease.is_in_transaction() {
            let workspace = escape_literal(&self.core().options.workspace);
            lease.begin(&format!(
                "SELECT pg_advisory_xact_lock(hashtextextended('@schema@/' || {workspace}, 0))"
            ))?;
        }
        Ok(())
    }

    fn put(&mut self, calls: &mut [StoredCall]) -> Result<(), QueueError> {
        let (since, token) = (uptime(), new_token()?);
        let is_claim = calls.iter().all(is_claim);
        let mut put_all = |attempt: Attempt| {
            self.step(calls.len(), |core, lease| {
                calls
                    .iter_mut()
                    .map(|stored| put_one(core, lease, stored, (attempt, &token)))
                    .collect::<Result<Vec<_>, _>>()
            })
        };
        let mut outcomes = put_all(Attempt::First);
        if is_claim && matches!(&outcomes, Err(error) if is_lost(error)) {
            // The claim may be stored, and only its answer lost.
            self.core().options.connection.replace_in(&mut self.lease())?;
            outcomes = put_all(Attempt::Again);
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
                    core.renewals.begin(&core.options.connection, claim, since, &core.options.lease_lost);
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
        self.step(checkpoints.len(), |core, lease| {
            let mut stored = Vec::with_capacity(checkpoints.len());
            for mut checkpoint in checkpoints {
                let wanted_id = checkpoint.id.as_str().to_owned();
                for number in 2.. {
                    let document = Json::Object(checkpoint.to_document()).to_compact();
                    let (id, run) = (checkpoint.id.as_str(), checkpoint.run_id.as_str());
                    let sql = "SELECT @schema@.add_checkpoint($1, $2, $3, $4)";
                    let rows = lease.rows(sql, &[&core.options.workspace, &id, &run, &document])?;
                    if rows[0].try_get(0).map_err(TeamError::from)? {
                        break;
                    }
                    checkpoint.id = StoredCheckpoint::numbered(&wanted_id, number);
                }
                stored.push(StoredCheckpoint::recorded(checkpoint));
            }
            Ok(stored)
        })
    }

    fn record(&mut self, receipt: NewReceipt<'_>) -> Result<RecordedReceipt, QueueError> {
        let (receipt, place) = match receipt {
            NewReceipt::Unstored(receipt, taken) => {
                self.step(1, |core, lease| store_receipt(core, lease, receipt, taken))?
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
        self.step(1, |core, lease| {
            // The host reports its claims first. Until then, it keeps the receipt.
            let sql =
                "SELECT FROM @schema@.calls WHERE workspace = $1 AND id = $2 AND run_id IS DISTINCT FROM $3
                           AND status IN ('pending', 'held', 'approved', 'resume-pending')";
            let values: [&(dyn postgres::types::ToSql + Sync); 3] =
                [&core.options.workspace, &receipt.call_id.as_str(), &receipt.id.as_str()];
            if !lease.rows(sql, &values)?.is_empty() {
                let message = "the database was replaced, and has forgotten the claim of the run".to_owned();
                return Err(TeamError::Failover(message).into());
            }
            store_receipt(core, lease, receipt, OnRunTaken::Refuse)
        })
        .map(|_| ())
    }
}
