//! A journal that is older than the ledger: a copy was put back, or its end was lost.
//!
//! Each receipt enters the ledger before its call says so, and calls remember the places of their receipts, so entries
//! behind the last place that any call knows are of runs that the journal has forgotten. Their calls are finished from
//! the receipts before anybody can claim them again: nothing runs twice. Only those entries are looked at, so what this
//! costs does not grow with the history.

use std::collections::BTreeMap;

use brigade_call::{Call, CallStatus, LedgerLink, RECORD_VERSION, ReceiptLink, RecordVersion, RunEnd};
use brigade_core::{CallId, Json, Object, RunId, Timestamp};

use brigade_journal::{LedgerEntry, State};

use super::{JournalTransaction, receipts, snapshot};
use crate::error::QueueError;
use crate::finish::{self, RESTORED, run_end};
use crate::store::{StoredCall, StoredReceipt, Transaction as _};

/// Finishes the calls whose receipts are in the ledger and unknown to the journal.
pub(crate) fn catch_up(journal: &mut JournalTransaction, now: Timestamp) -> Result<(), QueueError> {
    let state = journal.writer.state();
    let entries = state.place().ledger().behind(state.max_ledger()?)?;
    // An adoption that a crash stopped leaves adopted entries, and goes on by itself.
    let Some(last) = entries.iter().rfind(|entry| !entry.is_adopted) else { return Ok(()) };
    if state.require_our_version().is_err() {
        return Ok(());
    }
    let mut is_settled = true;
    for entry in entries.iter().filter(|entry| !entry.is_adopted) {
        is_settled &= settle(journal, entry, now)?;
    }
    if is_settled && journal.writer.state().max_ledger()? < last.sequence {
        // Some calls are gone with the end of the journal; so that nobody looks for them again.
        journal.writer.settle_ledger(last.sequence, now)?;
    }
    Ok(())
}

/// Writes calls anew that are gone and whose last run is in the ledger and over, with what their receipts say of them,
/// and returns how many. Looks at the whole ledger.
pub(crate) fn restore(journal: &mut JournalTransaction, now: Timestamp) -> Result<u64, QueueError> {
    let mut gone: BTreeMap<CallId, LedgerEntry> = BTreeMap::new();
    for entry in
        journal.writer.state().place().ledger().find_prefix("")?.into_iter().filter(|entry| !entry.is_adopted)
    {
        let Some(Ok(id)) = entry.record_id.as_deref().map(str::parse::<CallId>) else { continue };
        if gone.contains_key(&id) || snapshot::stored(journal.writer.state(), &id)?.is_none() {
            gone.insert(id, entry);
        }
    }
    let mut entries: Vec<LedgerEntry> = gone.into_values().collect();
    entries.sort_unstable_by_key(|entry| entry.sequence);
    let mut restored = 0;
    for part in entries.chunks(RESTORED_AT_ONCE) {
        let mut calls = Vec::new();
        for entry in part {
            let found = sound_receipt(journal.writer.state(), entry);
            let Some(call) = found.and_then(|receipt| call_of_receipt(&receipt, entry, now)) else {
                continue;
            };
            let (version, checkpoints) = (RecordVersion::Current, Object::new());
            // An older record of the call that turns up again counts more than this one.
            calls.push(StoredCall { call, version, sequence: 0, revision: 0, checkpoints });
        }
        journal.put(&mut calls)?;
        restored += calls.len() as u64;
    }
    Ok(restored)
}

/// How many calls are restored with one write.
const RESTORED_AT_ONCE: usize = 1_000;

/// Makes the call of a run that is over out of its receipt; none when the receipt does not say how it ended.
fn call_of_receipt(receipt: &StoredReceipt, entry: &LedgerEntry, now: Timestamp) -> Option<Call> {
    let link = LedgerLink { sequence: entry.sequence, sha256: entry.sha256 };
    let end = run_end(&receipt.receipt, receipt.path.clone(), Some(link), now).ok()?;
    if !end.status.is_finished() {
        return None;
    }
    let document = receipt.receipt.to_members();
    let member = |name: &str| document.get(name).cloned().unwrap_or_default();
    let reviewed = |name: &str| document.get("approval").and_then(|approval| approval.get(name)).cloned();
    let mut record: Object = SHARED.iter().map(|name| ((*name).to_owned(), member(name))).collect();
    for (name, value) in [
        ("record_version", Json::from(RECORD_VERSION)),
        ("id", member("call_id")),
        ("status", Json::from(CallStatus::Approved.as_str())),
        ("run_id", member("id")),
        ("command", member("command_label")),
        ("created_at", member("started_at")),
        ("contract", contract_of_receipt(&document)),
        ("approval_binding", member("binding")),
        ("reviewed_at", reviewed("reviewed_at").unwrap_or_default()),
        ("review_reason", reviewed("review_reason").unwrap_or_default()),
    ] {
        record.insert(name.to_owned(), value);
    }
    record.retain(|_, value| *value != Json::Null);
    let (mut call, _) = Call::from_record(Json::Object(record)).ok()?;
    call.status = CallStatus::Running;
    call.extra.insert(RESTORED.to_owned(), Json::from(true));
    call.finish(end).ok()
}

/// Returns what a receipt says of the contract; what it does not say is null, and what is to be a truth value false.
fn contract_of_receipt(receipt: &Object) -> Json {
    let member = |name: &str| receipt.get(name).cloned().unwrap_or_default();
    let list = |name: &str| match member(name) {
        list @ Json::Array(_) => list,
        _ => Json::Array(Vec::new()),
    };
    Json::object([
        ("approval_mode", Json::Null),
        ("approval_required", Json::from(false)),
        ("auth_label", Json::Null),
        ("cwd", member("cwd")),
        ("effects", list("effects")),
        ("env_labels", list("env_labels_used")),
        ("mcp_server_id", member("mcp_server_id")),
        ("mcp_tool_name", member("mcp_tool_name")),
        ("permissions", list("permissions")),
        ("requires_runtime", Json::from(member("runtime_id") != Json::Null)),
        ("runtime_health_path", Json::Null),
        ("runtime_id", member("runtime_id")),
        ("timeout", member("timeout")),
    ])
}

/// What a call and its receipt say under the same name.
const SHARED: [&str; 13] = [
    "tool_id",
    "family",
    "caller",
    "args",
    "arguments",
    "policy",
    "projection_summary",
    "contract_fingerprint",
    "source_fingerprint",
    "call_fingerprint",
    "approval_fingerprint",
    "runner",
    "started_at",
];

/// Tells whether a call knows of an entry, or is still in the run that the entry is of.
fn stands(stored: &StoredCall, entry: &LedgerEntry) -> Option<Stands> {
    let call = &stored.call;
    let is_this_run = call.claim.as_ref().is_some_and(|claim| claim.run_id.as_str() == entry.run_id);
    let link = call.receipt.as_ref().and_then(|receipt| receipt.ledger.as_ref());
    if call.status == CallStatus::Running && is_this_run {
        Some(Stands::Running)
    } else if link.is_some_and(|link| entry.sequence <= link.sequence) {
        Some(Stands::Behind)
    } else {
        None
    }
}

enum Stands {
    /// The runner has still to record it, or whoever finds the runner gone.
    Running,
    /// The call knows of it, or of a later run.
    Behind,
}

/// Tells whether a call has forgotten the run of an entry; the call may be gone altogether.
pub(crate) fn is_forgotten(state: &State, entry: &LedgerEntry) -> Result<bool, QueueError> {
    let receipt = if entry.record_id.is_none() { sound_receipt(state, entry) } else { None };
    let Some(stored) = call_of(state, entry, receipt.as_ref())? else { return Ok(true) };
    Ok(stored.version != RecordVersion::Newer && stands(&stored, entry).is_none())
}

/// Reads the receipt of an entry, if it is the one that the entry names.
fn sound_receipt(state: &State, entry: &LedgerEntry) -> Option<StoredReceipt> {
    let receipt = receipts::read_one(&**state.place().fs(), &entry.run_id).ok()??.ok()?;
    (receipt.sha256 == entry.sha256).then_some(receipt)
}

fn call_of(
    state: &State,
    entry: &LedgerEntry,
    receipt: Option<&StoredReceipt>,
) -> Result<Option<StoredCall>, QueueError> {
    let named = receipt.map(|receipt| receipt.receipt.call_id());
    match entry.record_id.as_deref().or(named).map(str::parse::<CallId>) {
        Some(Ok(id)) => snapshot::stored(state, &id),
        Some(Err(_)) | None => Ok(None),
    }
}

/// Finishes the call of an entry; tells whether there is nothing more to do about the entry.
fn settle(journal: &mut JournalTransaction, entry: &LedgerEntry, now: Timestamp) -> Result<bool, QueueError> {
    let receipt = sound_receipt(journal.writer.state(), entry);
    let Some(stored) = call_of(journal.writer.state(), entry, receipt.as_ref())? else { return Ok(true) };
    match stands(&stored, entry) {
        Some(Stands::Running) => return Ok(false),
        Some(Stands::Behind) => return Ok(true),
        None if stored.version == RecordVersion::Newer => return Ok(true),
        None => {}
    }
    let Ok(run) = entry.run_id.parse::<RunId>() else { return Ok(true) };
    // It may make our records of the Python program's, so the call is read again.
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

/// What an entry alone says of how its run ended.
fn end_of(entry: &LedgerEntry, receipt: ReceiptLink, now: Timestamp) -> RunEnd {
    let status = match CallStatus::from_word(&entry.status) {
        status @ (CallStatus::Completed | CallStatus::Failed | CallStatus::TimedOut) => status,
        _ => CallStatus::Interrupted,
    };
    RunEnd {
        completed_at: entry.recorded_at.parse().unwrap_or(now),
        exit_code: None,
        timed_out: status == CallStatus::TimedOut,
        checkpoint_ids: Vec::new(),
        status,
        receipt,
    }
}

/// Lets a call go on whose checkpoints a person has approved, as their files say.
fn resume_if_answered(
    journal: &mut JournalTransaction,
    stored: StoredCall,
    now: Timestamp,
) -> Result<(), QueueError> {
    let is_answered = stored.call.status == CallStatus::Waiting && finish::are_approved(&stored);
    if is_answered {
        finish::step(journal, stored, |call| call.ready_to_resume(now))?;
    }
    Ok(())
}
