//! Reconciles a journal that is older than the ledger, because a copy was restored or its end was lost.
//!
//! Each receipt enters the ledger before its call is written, and calls record the ledger sequences of their receipts.
//! Ledger entries after the highest recorded sequence therefore belong to runs that the journal has lost. Their calls
//! are finished from the receipts before they can be claimed again, so no call runs twice. Only these entries are read,
//! so the cost does not grow with the history.

use std::collections::BTreeMap;

use brigade_call::{Call, CallStatus, LedgerLink, ReceiptLink, RecordVersion, RunEnd};
use brigade_core::{CallId, Json, Object, RunId, Timestamp};

use brigade_journal::{LedgerEntry, State};

use super::{JournalTransaction, receipts, snapshot};
use crate::error::QueueError;
use crate::finish::{self, RESTORED, run_end};
use crate::store::{StoredCall, StoredReceipt, Transaction as _};

/// Finishes the calls whose receipts are in the ledger but unknown to the journal.
pub(crate) fn reconcile(journal: &mut JournalTransaction<'_>, now: Timestamp) -> Result<(), QueueError> {
    let state = journal.state();
    let entries = state.place().ledger().after(state.max_ledger()?)?;
    // An interrupted adoption leaves adopted entries. The adoption continues elsewhere.
    let Some(last) = entries.iter().rfind(|entry| !entry.is_adopted) else { return Ok(()) };
    if state.require_our_version().is_err() {
        return Ok(());
    }
    let mut is_settled = true;
    for entry in entries.iter().filter(|entry| !entry.is_adopted) {
        is_settled &= settle(journal, entry, now)?;
    }
    if is_settled && journal.state().max_ledger()? < last.sequence {
        // Some calls are lost with the end of the journal. Remember this, so that they are not searched again.
        journal.writer().settle_ledger(last.sequence, now)?;
    }
    Ok(())
}

/// Restores missing calls from the receipts of their last, finished runs, and returns how many. Reads the whole ledger.
pub(crate) fn restore(journal: &mut JournalTransaction<'_>, now: Timestamp) -> Result<u64, QueueError> {
    let mut gone: BTreeMap<CallId, LedgerEntry> = BTreeMap::new();
    for entry in
        journal.state().place().ledger().find_prefix("")?.into_iter().filter(|entry| !entry.is_adopted)
    {
        let Some(Ok(id)) = entry.record_id.as_deref().map(str::parse::<CallId>) else { continue };
        if gone.contains_key(&id) || snapshot::stored(journal.state(), &id)?.is_none() {
            gone.insert(id, entry);
        }
    }
    let mut entries: Vec<LedgerEntry> = gone.into_values().collect();
    entries.sort_unstable_by_key(|entry| entry.sequence);
    let mut restored = 0;
    for part in entries.chunks(RESTORE_BATCH_SIZE) {
        let mut calls = Vec::new();
        for entry in part {
            let found = sound_receipt(journal.state(), entry).filter(|found| !found.receipt.is_attempt());
            let Some(call) = found.and_then(|receipt| call_of_receipt(&receipt, entry, now)) else {
                continue;
            };
            let (version, checkpoints) = (RecordVersion::Current, Object::new());
            // If an older record of the call reappears, it takes precedence over this one.
            calls.push(StoredCall { call, version, sequence: 0, revision: 0, checkpoints });
        }
        journal.put(&mut calls)?;
        restored += calls.len() as u64;
    }
    Ok(restored)
}

/// The number of calls restored in one write.
const RESTORE_BATCH_SIZE: usize = 1_000;

/// Builds the call of a finished run from its receipt. Returns `None` if the receipt does not say how the run ended.
fn call_of_receipt(receipt: &StoredReceipt, entry: &LedgerEntry, now: Timestamp) -> Option<Call> {
    let link = LedgerLink { sequence: entry.sequence, sha256: entry.sha256 };
    let end = run_end(&receipt.receipt, receipt.name(), Some(link), now).ok()?;
    if !end.status.is_finished() {
        return None;
    }
    let mut call = Call::of_receipt(&receipt.receipt);
    call.extra.insert(RESTORED.to_owned(), Json::from(true));
    call.finish(end).ok()
}

/// Returns how a call relates to a ledger entry, or `None` if it does not know the run.
fn relation(stored: &StoredCall, entry: &LedgerEntry) -> Option<Relation> {
    let call = &stored.call;
    let is_this_run = call.claim.as_ref().is_some_and(|claim| claim.run_id.as_str() == entry.run_id);
    let link = call.receipt.as_ref().and_then(|receipt| receipt.ledger.as_ref());
    if call.status == CallStatus::Running && is_this_run {
        Some(Relation::Running)
    } else if link.is_some_and(|link| entry.sequence <= link.sequence) {
        Some(Relation::Known)
    } else {
        None
    }
}

enum Relation {
    /// The run is not recorded yet, by its runner or by a later writer.
    Running,
    /// The call knows this run or a later one.
    Known,
}

/// Returns whether the call of an entry does not know the run, or is missing.
pub(crate) fn is_forgotten(state: &State, entry: &LedgerEntry) -> Result<bool, QueueError> {
    let receipt = if entry.record_id.is_none() { sound_receipt(state, entry) } else { None };
    let Some(stored) = call_of(state, entry, receipt.as_ref())? else {
        // A worker's attempt belongs to a task and has no call.
        return Ok(!sound_receipt(state, entry).is_some_and(|found| found.receipt.is_attempt()));
    };
    Ok(stored.version != RecordVersion::Newer && relation(&stored, entry).is_none())
}

/// Reads the receipt of an entry, if its hash matches.
fn sound_receipt(state: &State, entry: &LedgerEntry) -> Option<StoredReceipt> {
    let receipt = receipts::read_one(&**state.place().fs(), &entry.run_id).ok()??.good()?;
    (receipt.sha256 == entry.sha256).then_some(receipt)
}

fn call_of(
    state: &State,
    entry: &LedgerEntry,
    receipt: Option<&StoredReceipt>,
) -> Result<Option<StoredCall>, QueueError> {
    let named = receipt.map(|receipt| receipt.receipt.call_id.clone());
    match entry.record_id.as_deref().map_or(named, |id| id.parse().ok()) {
        Some(id) => snapshot::stored(state, &id),
        None => Ok(None),
    }
}

/// Finishes the call of an entry. Returns whether the entry needs no further work.
fn settle(
    journal: &mut JournalTransaction<'_>,
    entry: &LedgerEntry,
    now: Timestamp,
) -> Result<bool, QueueError> {
    let receipt = sound_receipt(journal.state(), entry);
    let Some(stored) = call_of(journal.state(), entry, receipt.as_ref())? else { return Ok(true) };
    match relation(&stored, entry) {
        Some(Relation::Running) => return Ok(false),
        Some(Relation::Known) => return Ok(true),
        None if stored.version == RecordVersion::Newer => return Ok(true),
        None => {}
    }
    let Ok(run) = entry.run_id.parse::<RunId>() else { return Ok(true) };
    // The call may be converted from v0.30 in this step, so it is read again.
    let mut stored = finish::changeable(journal, &stored.call.id)?;
    let link = LedgerLink { sequence: entry.sequence, sha256: entry.sha256 };
    let path = receipts::receipt_path(&entry.run_id).expect("a run id is a file name").to_string();
    let end = receipt
        .as_ref()
        .and_then(|receipt| run_end(&receipt.receipt, path.clone(), Some(link.clone()), now).ok());
    let end = end.unwrap_or_else(|| end_of(entry, ReceiptLink { path, ledger: Some(link) }, now));
    let started_at = receipt.as_ref().and_then(|receipt| receipt.receipt.started_at());
    finish::run_again(&mut stored, run, started_at.or_else(|| entry.started_at.parse().ok()));
    let created = match &receipt {
        Some(receipt) => finish::checkpoints_of(journal.snapshot(), &receipt.receipt)?,
        None => Vec::new(),
    };
    let stored = finish::end(journal, stored, end, &created)?;
    resume_if_answered(journal, stored, now)?;
    Ok(true)
}

/// Returns the end of a run as far as its ledger entry describes it.
fn end_of(entry: &LedgerEntry, receipt: ReceiptLink, now: Timestamp) -> RunEnd {
    let status = match CallStatus::from_word(&entry.status) {
        status @ (CallStatus::Completed | CallStatus::Failed | CallStatus::TimedOut) => status,
        _ => CallStatus::Interrupted,
    };
    RunEnd {
        completed_at: entry.recorded_at.parse().unwrap_or(now),
        exit_code: None,
        timed_out: status == CallStatus::TimedOut,
        resume_checkpoint_id: None,
        checkpoint_ids: Vec::new(),
        status,
        receipt,
    }
}

/// Resumes a call if its checkpoint files show that all checkpoints are approved.
fn resume_if_answered(
    journal: &mut JournalTransaction<'_>,
    stored: StoredCall,
    now: Timestamp,
) -> Result<(), QueueError> {
    let is_answered = stored.call.status == CallStatus::Waiting && finish::are_approved(&stored);
    if is_answered {
        finish::step(journal, stored, |call| call.ready_to_resume(now))?;
    }
    Ok(())
}
