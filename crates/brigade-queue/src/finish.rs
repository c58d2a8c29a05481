//! The end of a run. Checkpoints, receipt, ledger entry and call are written in this order, each durable before the
//! next.
//!
//! The call stays `running` until it is written. After a crash before that, the runner is gone and the next writer
//! continues: it uses an existing receipt as the outcome of the run and reuses an existing ledger entry. Without a
//! receipt, it records the outcome that the runner could not record. Without both, the run was interrupted.

use std::ops::ControlFlow;

use brigade_call::{
    Call, CallStatus, Checkpoint, CheckpointStatus, Claim, LedgerLink, RUNS, Receipt, ReceiptLink,
    RecordVersion, RunEnd, RunStatus, WrongStep,
};
use brigade_core::{CallId, ErrorKind, Fingerprint, Json, Number, OperationError as _, RunId, Timestamp};
use brigade_redact::shown_command;

use crate::error::QueueError;
use crate::host::Host;
use crate::outcome::Outcome;
use crate::queue::{FinishedRun, checkpoint_of};
use crate::store::{
    CallQuery, Checkpoints, FoundReceipt, NewReceipt, OnRunTaken, RecordedReceipt, Snapshot, StoredCall,
    StoredCheckpoint, StoredReceipt, Transaction, receipt_name,
};

/// Returns the end of a run that its receipt describes.
pub(crate) fn run_end(
    receipt: &Receipt,
    path: String,
    ledger: Option<LedgerLink>,
    now: Timestamp,
) -> Result<RunEnd, &'static str> {
    if receipt.extra.members().contains_key("checkpoint_ids") {
        return Err("one of its checkpoint ids is not a valid id");
    }
    let first = || receipt.checkpoint_id.iter().cloned().collect();
    let checkpoint_ids = receipt.checkpoint_ids.clone().unwrap_or_else(first);
    let status = receipt.status.of_its_call().ok_or("its status is not one that a run ends with")?;
    let checkpoint_ids = if receipt.status == RunStatus::Waiting { checkpoint_ids } else { Vec::new() };
    if status == CallStatus::Waiting && checkpoint_ids.is_empty() {
        return Err("it is waiting but names no checkpoint");
    }
    Ok(RunEnd {
        resume_checkpoint_id: receipt.resume.as_ref().map(|resume| resume.checkpoint_id.clone()),
        timed_out: receipt.timed_out,
        status,
        completed_at: receipt.completed_at().unwrap_or(now),
        exit_code: receipt.exit_code,
        checkpoint_ids,
        receipt: ReceiptLink { path, ledger },
    })
}

/// Writes one call.
fn put(transaction: &mut dyn Transaction, stored: StoredCall) -> Result<StoredCall, QueueError> {
    let mut calls = [stored];
    transaction.put(&mut calls)?;
    let [stored] = calls;
    Ok(stored)
}

/// Applies a step to a call and writes it.
pub(crate) fn step(
    transaction: &mut dyn Transaction,
    mut stored: StoredCall,
    step: impl FnOnce(Call) -> Result<Call, WrongStep>,
) -> Result<StoredCall, QueueError> {
    let id = stored.call.id.clone();
    stored.call = step(stored.call).map_err(|reason| QueueError::WrongStep { id, reason })?;
    stored.revision += 1;
    put(transaction, stored)
}

/// Returns a call that this version may change.
pub(crate) fn changeable(transaction: &mut dyn Transaction, id: &CallId) -> Result<StoredCall, QueueError> {
    transaction.prepare()?;
    let stored = transaction.snapshot().call(id)?.ok_or_else(|| QueueError::NoSuchCall(id.clone()))?;
    match stored.version {
        RecordVersion::Newer => Err(QueueError::Newer(format!("call {id}"))),
        RecordVersion::Adopted | RecordVersion::Current => Ok(stored),
    }
}

/// Returns whether a call is running but its process is gone, or could not record how the run ended.
pub(crate) fn is_abandoned(stored: &StoredCall, host: &dyn Host) -> bool {
    stored.call.status == CallStatus::Running
        && stored.version != RecordVersion::Newer
        && (!has_runner(stored, host) || kept_outcome(stored, host).is_some())
}

fn has_runner(stored: &StoredCall, host: &dyn Host) -> bool {
    let runner = stored.call.claim.as_ref().and_then(|claim| claim.runner.as_ref());
    runner.is_some_and(|runner| host.is_alive(runner))
}

/// Returns the outcome that the runner of a call could not record.
pub(crate) fn kept_outcome(stored: &StoredCall, host: &dyn Host) -> Option<Outcome> {
    let outcome = host.outcome(&stored.call.claim.as_ref()?.run_id)?.with_arguments_of(&stored.call);
    let is_end = run_end(&outcome.as_recorded(), String::new(), None, Timestamp::from_unix_micros(0)).is_ok();
    (is_end && outcome.receipt.call_id == stored.call.id).then_some(outcome)
}

/// Lists the stored calls whose runner is gone.
pub(crate) fn abandoned(snapshot: &dyn Snapshot, host: &dyn Host) -> Result<Vec<StoredCall>, QueueError> {
    let mut found = Vec::new();
    snapshot.each_call(&CallQuery::Abandoned, &mut |stored| {
        if is_abandoned(&stored, host) {
            found.push(stored);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Returns the current view of a stored call. If its runner is gone, its receipt or kept outcome decides, or it is
/// interrupted.
pub(crate) fn current_state(
    snapshot: &dyn Snapshot,
    host: &dyn Host,
    mut stored: StoredCall,
) -> Result<StoredCall, QueueError> {
    if !is_abandoned(&stored, host) {
        return Ok(stored);
    }
    if let Some(claim) = stored.call.claim.clone() {
        mark_resumed(&mut stored);
        let stored_receipt = match snapshot.receipt(claim.run_id.as_str())? {
            Some(FoundReceipt::Good(found)) => Some((found.name(), found.receipt)),
            Some(FoundReceipt::Bad(_)) | None => kept_outcome(&stored, host)
                .map(|outcome| (receipt_name(claim.run_id.as_str()), outcome.as_recorded())),
        };
        if let Some((name, receipt)) = stored_receipt {
            let now = stored.call.started_at.unwrap_or(Timestamp::from_unix_micros(0));
            if let Ok(end) = run_end(&receipt, name, None, now)
                && let Ok(call) = stored.call.clone().finish(end)
            {
                stored.call = call;
                return Ok(stored);
            }
        }
    }
    stored.call.status = CallStatus::Interrupted;
    Ok(stored)
}

/// Returns whether all checkpoints of a waiting call are approved.
pub(crate) fn are_approved(stored: &StoredCall) -> bool {
    let checkpoint = |id: &str| stored.checkpoints.get(id).and_then(checkpoint_of);
    let is_approved =
        |id: &str| checkpoint(id).is_some_and(|found| found.status == CheckpointStatus::Approved);
    stored.call.checkpoint_ids.iter().all(|id| is_approved(id.as_str()))
}

pub(crate) fn finish(
    transaction: &mut dyn Transaction,
    stored: StoredCall,
    run: &RunId,
    checkpoints: Vec<Checkpoint>,
    receipt: &mut dyn FnMut(&[Checkpoint]) -> Receipt,
    now: Timestamp,
) -> Result<FinishedRun, QueueError> {
    let is_this_run = stored.call.claim.as_ref().is_some_and(|claim| claim.run_id == *run);
    if stored.call.status != CallStatus::Running || !is_this_run {
        return Err(QueueError::NotThisRun { call: stored.call.id.clone(), run: run.clone() });
    }
    let created = transaction.add_checkpoints(checkpoints)?;
    let as_stored: Vec<Checkpoint> = created.iter().map(|stored| stored.checkpoint.clone()).collect();
    let receipt = receipt(&as_stored);
    let bad = |reason| QueueError::BadReceipt { run: run.clone(), reason };
    if receipt.id != *run {
        return Err(bad("it belongs to another run"));
    }
    // Validate the receipt before anything is stored.
    run_end(&receipt, String::new(), None, now).map_err(bad)?;
    let recorded = transaction.record(NewReceipt::Unstored(&receipt, OnRunTaken::Refuse))?;
    let call = end_by(transaction, stored, &recorded, &created, now)?;
    let RecordedReceipt { receipt, chain, .. } = recorded;
    tracing::debug!(
        status = receipt.receipt.status.as_str(),
        checkpoints = created.len(),
        "the run was recorded"
    );
    Ok(FinishedRun { call, receipt, checkpoints: created, chain })
}

/// Ends a call by the receipt of its run.
fn end_by(
    transaction: &mut dyn Transaction,
    stored: StoredCall,
    recorded: &RecordedReceipt,
    created: &[StoredCheckpoint],
    now: Timestamp,
) -> Result<StoredCall, QueueError> {
    let RecordedReceipt { receipt, link, .. } = recorded;
    let run_end = run_end(&receipt.receipt, receipt.name(), Some(link.clone()), now).map_err(|reason| {
        let run = stored.call.claim.as_ref().map(|claim| claim.run_id.clone());
        run.map_or(QueueError::NoSuchCall(stored.call.id.clone()), |run| QueueError::BadReceipt {
            run,
            reason,
        })
    })?;
    end(transaction, stored, run_end, created)
}

/// Writes the end of a run to its call. The receipt is already in the ledger.
pub(crate) fn end(
    transaction: &mut dyn Transaction,
    mut stored: StoredCall,
    end: RunEnd,
    created: &[StoredCheckpoint],
) -> Result<StoredCall, QueueError> {
    mark_resumed(&mut stored);
    for new in created {
        let document = Json::Object(new.checkpoint.to_document());
        stored.checkpoints.insert(new.checkpoint.id.as_str().to_owned(), document);
    }
    step(transaction, stored, |call| call.finish(end))
}

/// Sets a call back to running, so that the end of its run can be applied.
pub(crate) fn run_again(stored: &mut StoredCall, run: RunId, started_at: Option<Timestamp>) {
    let call = &mut stored.call;
    call.status = CallStatus::Running;
    call.claim = Some(Claim { run_id: run, runner: None });
    call.started_at = started_at;
    call.extra.insert(RESTORED.to_owned(), Json::from(true));
}

/// The member that marks a call finished from its receipt because the store had lost the run.
pub(crate) const RESTORED: &str = "restored_from_receipt";

/// Finishes a call from an existing receipt of the run that tried to claim it. Returns `None` if the receipt belongs to
/// another call.
pub(crate) fn from_receipt(
    transaction: &mut dyn Transaction,
    mut stored: StoredCall,
    run: &RunId,
    receipt: Option<StoredReceipt>,
    now: Timestamp,
) -> Result<Option<StoredCall>, QueueError> {
    let of_call = |found: &StoredReceipt| {
        found.receipt.call_id == stored.call.id && run_end(&found.receipt, String::new(), None, now).is_ok()
    };
    let Some(receipt) = receipt.filter(of_call) else { return Ok(None) };
    run_again(&mut stored, run.clone(), receipt.receipt.started_at());
    let created = checkpoints_of(transaction.snapshot(), &receipt.receipt)?;
    let recorded = transaction.record(NewReceipt::Stored(Box::new(receipt)))?;
    end_by(transaction, stored, &recorded, &created, now).map(Some)
}

/// Marks the checkpoints that were approved before this run as resumed by it.
fn mark_resumed(stored: &mut StoredCall) {
    let run_id = stored.call.claim.as_ref().map(|claim| claim.run_id.clone());
    for document in stored.checkpoints.values_mut() {
        if let Some(mut checkpoint) = checkpoint_of(document)
            && checkpoint.status == CheckpointStatus::Approved
        {
            checkpoint.status = CheckpointStatus::Resumed;
            checkpoint.resume_run_id.clone_from(&run_id);
            *document = Json::Object(checkpoint.to_document());
        }
    }
}

/// Reports the runs of this host that ended while the shared store could not be written. One that others have ended in
/// the meantime is late.
pub(crate) fn report_kept(
    transaction: &mut dyn Transaction,
    host: &dyn Host,
    now: Timestamp,
) -> Result<(), QueueError> {
    for outcome in host.unreported() {
        let run = outcome.receipt.id.clone();
        match report_one(transaction, outcome, &run, now) {
            Ok(()) => host.forget_outcome(&run),
            Err(error) if error.kind() == ErrorKind::Environment => return Err(error),
            Err(error) => tracing::warn!(run = %run, %error, "the end of a run is not reported"),
        }
    }
    Ok(())
}

fn report_one(
    transaction: &mut dyn Transaction,
    outcome: Outcome,
    run: &RunId,
    now: Timestamp,
) -> Result<(), QueueError> {
    transaction.lock_queue()?;
    let stored = changeable(transaction, &outcome.receipt.call_id)?;
    let outcome = outcome.with_arguments_of(&stored.call);
    let is_claimed = stored.call.claim.as_ref().is_some_and(|claim| claim.runner.is_some());
    let finished = match is_claimed {
        true => {
            let mut receipt = |stored: &[Checkpoint]| outcome.receipt.with_checkpoints(stored);
            finish(transaction, stored, run, outcome.checkpoints.clone(), &mut receipt, now)
        }
        false => Err(QueueError::NotThisRun { call: stored.call.id.clone(), run: run.clone() }),
    };
    match finished {
        Err(QueueError::NotThisRun { .. }) => transaction.report_late(&outcome.as_recorded()),
        finished => finished.map(|_| ()),
    }
}

/// Records the runs whose runner is gone.
pub(crate) fn record_abandoned(
    transaction: &mut dyn Transaction,
    host: &dyn Host,
    now: Timestamp,
) -> Result<(), QueueError> {
    if abandoned(transaction.snapshot(), host)?.is_empty() {
        return Ok(());
    }
    transaction.lock_queue()?;
    for found in abandoned(transaction.snapshot(), host)? {
        // A shared store lets others write after each step. They record the same runs.
        let mut record = || {
            transaction.lock_queue()?;
            let stored = transaction.snapshot().call(&found.call.id)?;
            match stored.filter(|stored| is_abandoned(stored, host)) {
                Some(stored) => record_one(transaction, host, stored, now),
                None => Ok(()),
            }
        };
        let recorded = match record() {
            // The receipt of the other writer ends the call.
            Err(QueueError::RunTaken(_)) => record(),
            recorded => recorded,
        };
        match recorded {
            Err(error @ (QueueError::Changed { .. } | QueueError::NotThisRun { .. })) => {
                tracing::debug!(call = %found.call.id, %error, "another writer recorded the run");
            }
            recorded => recorded?,
        }
    }
    Ok(())
}

fn record_one(
    transaction: &mut dyn Transaction,
    host: &dyn Host,
    mut stored: StoredCall,
    now: Timestamp,
) -> Result<(), QueueError> {
    let call = &mut stored.call;
    // v0.30 records the run id only at the end.
    let claim = call.claim.get_or_insert_with(|| Claim {
        run_id: unnamed_run(call.id.as_str(), call.started_at),
        runner: None,
    });
    let run = claim.run_id.clone();
    if !has_runner(&stored, host) {
        host.end_strays(stored.call.claim.as_ref().expect("it was set above"));
    }
    let found = transaction.snapshot().receipt(run.as_str())?;
    let is_end = |found: &StoredReceipt| run_end(&found.receipt, String::new(), None, now).is_ok();
    let recorded = match found.and_then(FoundReceipt::good).filter(is_end) {
        Some(receipt) => transaction.record(NewReceipt::Stored(Box::new(receipt)))?,
        None => {
            let receipt = match kept_outcome(&stored, host) {
                Some(outcome) => with_stored_checkpoints(transaction, outcome)?,
                None => interrupted_receipt(host, &stored, &run, now),
            };
            transaction.record(NewReceipt::Unstored(&receipt, OnRunTaken::SetAside))?
        }
    };
    let receipt = &recorded.receipt.receipt;
    let created = checkpoints_of(transaction.snapshot(), receipt)?;
    tracing::info!(
        call = %stored.call.id,
        run = %run,
        status = receipt.status.as_str(),
        "a run without a runner is recorded"
    );
    end_by(transaction, stored, &recorded, &created, now)?;
    host.forget_outcome(&run);
    Ok(())
}

/// Stores the checkpoints of an outcome that are not stored yet, and returns its receipt with them.
fn with_stored_checkpoints(
    transaction: &mut dyn Transaction,
    outcome: Outcome,
) -> Result<Receipt, QueueError> {
    let Outcome { receipt, checkpoints } = outcome;
    if checkpoints.is_empty() {
        return Ok(receipt);
    }
    let of_run = transaction.snapshot().checkpoints(Checkpoints::AddedFor(&receipt.id))?.checkpoints;
    let is_stored = |wanted: &Checkpoint| of_run.iter().any(|stored| stored.checkpoint == *wanted);
    let mut stored = Vec::with_capacity(checkpoints.len());
    for checkpoint in checkpoints {
        if is_stored(&checkpoint) {
            stored.push(checkpoint);
        } else {
            let added = transaction.add_checkpoints(vec![checkpoint])?;
            stored.extend(added.into_iter().map(|stored| stored.checkpoint));
        }
    }
    Ok(receipt.with_checkpoints(&stored))
}

fn unnamed_run(call: &str, started_at: Option<Timestamp>) -> RunId {
    let fingerprint = Fingerprint::builder("brigade.run-id.v1")
        .text("call", call)
        .text("started_at", started_at.map(|at| at.to_string()).as_deref())
        .finish();
    format!("run-{}", fingerprint.short()).parse().expect("hex digits and dashes are an id")
}

/// Finds the checkpoints that a receipt names. They were stored before it.
pub(crate) fn checkpoints_of(
    snapshot: &dyn Snapshot,
    receipt: &Receipt,
) -> Result<Vec<StoredCheckpoint>, QueueError> {
    let named = receipt.checkpoint_ids.as_deref().unwrap_or_default();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let mut added = snapshot.checkpoints(Checkpoints::AddedFor(&receipt.id))?.checkpoints;
    added.retain(|stored| named.contains(&stored.checkpoint.id));
    Ok(added)
}

/// Returns the receipt of a run whose runner is gone without a receipt, as the next writer records it. It has the
/// outcome that the runner kept, or says that the run was interrupted.
pub fn unrecorded_receipt(host: &dyn Host, stored: &StoredCall, run: &RunId, now: Timestamp) -> Receipt {
    let kept = kept_outcome(stored, host).map(|outcome| outcome.as_recorded());
    kept.unwrap_or_else(|| interrupted_receipt(host, stored, run, now))
}

/// Builds the receipt of a run that was interrupted. A log that the runner never created is not named.
fn interrupted_receipt(host: &dyn Host, stored: &StoredCall, run: &RunId, now: Timestamp) -> Receipt {
    let call = &stored.call;
    let contract = &call.contract;
    let path = |suffix: &str| format!("{RUNS}/{run}{suffix}");
    let log = |suffix: &str| {
        let path = path(suffix);
        host.has_log(&path).then_some(path)
    };
    // The end time is unknown; use the time at which it was noticed.
    let duration = call.started_at.map_or(0.0, |started_at| now.since(started_at).as_secs_f64());
    let mut receipt = Receipt::of_call(call, contract, run, RunStatus::Interrupted);
    receipt.caller = Some(call.caller.clone()).filter(|caller| caller.agent().is_some());
    receipt.started_at = call.started_at;
    receipt.completed_at = Some(now);
    receipt.duration_seconds = Some(Number::from((duration * 1000.0).round() / 1000.0));
    receipt.timeout = contract.timeout.clone();
    receipt.command_label = call.command.as_deref().map(|command| shown_command(command).into_owned());
    receipt.cwd = Some(contract.cwd.clone().unwrap_or_else(|| ".".to_owned()));
    receipt.args = call.args.clone();
    receipt.arguments = call.arguments.clone();
    receipt.stdout_log_path = log(".stdout.log");
    receipt.stderr_log_path = log(".stderr.log");
    receipt.receipt_path = Some(path(".json"));
    receipt.contract_fingerprint = call.contract_fingerprint.as_deref().and_then(|text| text.parse().ok());
    receipt.source_fingerprint = call.source_fingerprint.clone();
    receipt.call_fingerprint = call.call_fingerprint.as_deref().and_then(|text| text.parse().ok());
    receipt.policy = call.policy.clone();
    receipt.projection_summary = call.projection_summary.clone();
    receipt.runner = call.claim.as_ref().and_then(|claim| claim.runner.clone());
    // Omit everything that was not observed.
    receipt.extra.leave_out(&["failure", "output", "process", "sandbox", "binding"]);
    receipt.extra.show(&["runner"]);
    resumed(receipt, stored)
}

/// Adds the checkpoints that a run resumed from, and the choices.
fn resumed(mut receipt: Receipt, stored: &StoredCall) -> Receipt {
    let is_behind = |checkpoint: &Checkpoint| match checkpoint.status {
        CheckpointStatus::Approved => true,
        // The status is the one that the next writer will record.
        CheckpointStatus::Resumed => checkpoint.resume_run_id.as_ref() == Some(&receipt.id),
        CheckpointStatus::Pending
        | CheckpointStatus::Rejected
        | CheckpointStatus::Failed
        | CheckpointStatus::Other(_) => false,
    };
    let documents = stored.checkpoints.values().cloned();
    let known = documents.filter_map(|document| Checkpoint::from_document(document).ok());
    let mut behind: Vec<Checkpoint> = known.filter(is_behind).collect();
    behind.sort_by_key(|checkpoint| {
        stored.call.checkpoint_ids.iter().position(|id| *id == checkpoint.id).unwrap_or(usize::MAX)
    });
    if let Some(first) = behind.first() {
        receipt.resumed_after(first, &behind);
    }
    receipt
}
