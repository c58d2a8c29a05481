//! Reads calls, receipts and checkpoints from the journal and its neighbouring files.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use brigade_call::{Call, CallStatus, RecordVersion};
use brigade_core::{CallId, Json};
use brigade_fs::WorkspaceKey;
use brigade_journal::{LatestLine, ListedLine, Log, Merge, State, StatusCode};

use super::kind::{code_of, content_key, duplicate_key, status_of};
use super::receipts::Hashes;
use super::{approved, checkpoints, receipts, recent, verify};
use crate::error::QueueError;
use crate::recent::RecentCalls;
use crate::store::{
    CallQuery, CallRecord, Chain, CheckpointList, Checkpoints, Detail, ExaminedRun, Form, FoundRecord, Order,
    ReceiptQuery, Records, RunList, Snapshot, StoredCall, Verification,
};

/// Returns the code of a status. All statuses of other programs share one.
fn code(state: &State, status: &CallStatus) -> StatusCode {
    code_of(status).unwrap_or_else(|| state.place().kind().other())
}

fn parse(found: &LatestLine, state: &State) -> Result<StoredCall, QueueError> {
    StoredCall::from_line(&found.line, found.sequence, state.place().kind().key())
        .ok_or_else(|| bad_record(state, 0))
}

fn bad_record(state: &State, offset: u64) -> QueueError {
    QueueError::BadRecord { path: state.place().layout().journal().to_string(), offset }
}

/// Returns a stored call.
pub(crate) fn stored(state: &State, id: &CallId) -> Result<Option<StoredCall>, QueueError> {
    if let Some(journal) = state.journal()
        && let Some(listed) = journal.known(id.as_str())?
    {
        return read_listed(state, journal, &listed).map(Some);
    }
    match state.find(id.as_str())? {
        Some(found) => parse(&found, state).map(Some),
        None => Ok(None),
    }
}

/// Caches new and running calls, because their runner reads them repeatedly. Calls from a plan parse back to exactly
/// the same value; other records may not.
pub(super) fn remember(state: &State, calls: &[StoredCall]) {
    let Some(journal) = state.journal() else { return };
    let is_new = |stored: &&StoredCall| {
        let call = &stored.call;
        let is_planned = call.policy.is_some() && call.projection_summary.is_some();
        stored.revision == 1 && call.status == CallStatus::Running && is_planned
    };
    for stored in calls.iter().filter(is_new) {
        if let Ok(Some(listed)) = journal.known(stored.call.id.as_str()) {
            debug_assert_eq!(
                read_listed(state, journal, &listed).ok().as_ref(),
                Some(stored),
                "a call is read as it was written"
            );
            journal.remember(listed.span, Arc::new(stored.clone()));
        }
    }
}

/// Removes changed calls from the cache.
pub(super) fn forget(state: &State, calls: &[StoredCall]) {
    let Some(journal) = state.journal() else { return };
    for stored in calls.iter().filter(|stored| 1 < stored.revision) {
        if let Ok(Some(listed)) = journal.known(stored.call.id.as_str()) {
            journal.forget(listed.span);
        }
    }
}

/// Lists the calls that could run or resume if their records had the MAC of this host, as they are stored.
pub(crate) fn approved_elsewhere(state: &State) -> Result<Vec<StoredCall>, QueueError> {
    let Some(journal) = state.journal() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for status in &APPROVED {
        for listed in journal.list(Some(code(state, status)))? {
            let line = journal.line(listed.span)?;
            let counted = read_listed(state, journal, &listed)?;
            let stored = StoredCall::with_mac(&line, listed.sequence).map(|(stored, _)| stored);
            let is_ours = |stored: &StoredCall| stored.version == RecordVersion::Current;
            let is_open = |stored: &StoredCall| stored.call.approval.is_some() && stored.call != counted.call;
            found.extend(stored.filter(|stored| is_ours(stored) && is_open(stored)));
        }
    }
    found.sort_unstable_by_key(|stored| stored.sequence);
    Ok(found)
}

/// Lists the stored calls with a status, except those in segments.
pub(crate) fn living(state: &State, status: &CallStatus) -> Result<Vec<StoredCall>, QueueError> {
    let Some(journal) = state.journal() else { return Ok(Vec::new()) };
    let mut listed = journal.list(Some(code(state, status)))?;
    listed.sort_unstable_by_key(|listed| (listed.created, listed.sequence));
    let read = listed.iter().map(|listed| read_listed(state, journal, listed));
    // Without the MAC of this host, a call does not have the status that its line says.
    read.filter(|read| read.as_ref().map_or(true, |stored| stored.call.status == *status)).collect()
}

fn read_listed(state: &State, log: &Log, listed: &ListedLine) -> Result<StoredCall, QueueError> {
    if let Some(stored) = log.was_read_as::<StoredCall>(listed.span) {
        return Ok((*stored).clone());
    }
    let line = log.line(listed.span)?;
    StoredCall::from_line(&line, listed.sequence, state.place().kind().key())
        .ok_or_else(|| bad_record(state, listed.span.offset))
}

/// Passes on all calls in order of sequence, merging journal and segments.
///
/// A long list is read and parsed in a separate thread while the caller handles earlier calls.
fn in_order(state: &State, found: &mut FoundRecord<'_>) -> Result<(), QueueError> {
    let mut merge = Merge::new(state)?;
    let key = state.place().kind().key();
    let first = batch(&mut merge, key)?;
    let is_all = first.len() < BATCH;
    for stored in first {
        if found(stored.into()).is_break() {
            return Ok(());
        }
    }
    if is_all {
        return Ok(());
    }
    std::thread::scope(|scope| {
        // Only a few batches are buffered, so memory use does not grow with the list.
        let (sender, receiver) = sync_channel::<Result<Vec<StoredCall>, QueueError>>(2);
        scope.spawn(move || {
            loop {
                let batch = batch(&mut merge, key);
                let is_last = batch.as_ref().is_ok_and(|batch| batch.len() < BATCH) || batch.is_err();
                // The receiver is gone once the caller has seen enough.
                if sender.send(batch).is_err() || is_last {
                    return;
                }
            }
        });
        for batch in receiver {
            for stored in batch? {
                if found(stored.into()).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    })
}

/// The number of calls that are read at a time.
const BATCH: usize = 256;

/// Returns the next calls. Fewer than [`BATCH`] calls are the last ones.
fn batch(merge: &mut Merge<'_>, key: Option<&WorkspaceKey>) -> Result<Vec<StoredCall>, QueueError> {
    let mut batch = Vec::with_capacity(BATCH);
    let mut line = Vec::new();
    while batch.len() < BATCH
        && let Some((sequence, _)) = merge.next_record(&mut line)?
    {
        batch.extend(StoredCall::from_line(&line, sequence, key));
    }
    Ok(batch)
}

/// Lists the lines that may be calls with a status, those of the journal before those of segments.
fn candidates<'s>(
    state: &'s State,
    status: Option<&CallStatus>,
) -> Result<Vec<(&'s Log, ListedLine)>, QueueError> {
    let Some(status) = status else { return Ok(state.list()?) };
    let kind = state.place().kind();
    let mut listed = Vec::new();
    // The status of a record of a newer version must be read from the record, and so must that of an approved one,
    // which is pending without the MAC of this host. Segments contain only finished calls.
    let mut codes = vec![code(state, status), kind.newer()];
    if *status == CallStatus::Pending {
        codes.extend(APPROVED.iter().map(|status| code(state, status)));
    }
    for code in codes {
        for log in state.logs() {
            let is_journal = state.journal().is_some_and(|journal| std::ptr::eq(journal, log));
            if is_journal || kind.is_finished(code) {
                listed.extend(log.list(Some(code))?.into_iter().map(|item| (log, item)));
            }
        }
    }
    Ok(listed)
}

/// The statuses that a call has only with the MAC of this host.
pub(crate) const APPROVED: [CallStatus; 3] =
    [CallStatus::Approved, CallStatus::Waiting, CallStatus::ResumePending];

/// Passes on the calls with a status, or all.
fn list(
    state: &State,
    status: Option<&CallStatus>,
    order: Order,
    before: Option<u64>,
    found: &mut FoundRecord<'_>,
) -> Result<(), QueueError> {
    if order == Order::Newest {
        state.require_journal()?;
    }
    if (status, order) == (None, Order::Queued) {
        return in_order(state, found);
    }
    let mut listed = candidates(state, status)?;
    listed.retain(|(_, item)| before.is_none_or(|before| item.sequence < before));
    // The sorts are stable and the journal's lines come first, so the newer of two copies is found first.
    match order {
        Order::Queued => listed.sort_by_key(|(_, item)| item.sequence),
        Order::Newest => listed.sort_by_key(|(_, item)| Reverse(item.sequence)),
        Order::Oldest => listed.sort_by_key(|(_, item)| (item.created, item.sequence)),
    }
    let mut last: Option<CallId> = None;
    for (log, item) in listed {
        let stored = read_listed(state, log, &item)?;
        let is_other = status.is_some_and(|status| stored.call.status != *status);
        if is_other || last.as_ref() == Some(&stored.call.id) {
            continue;
        }
        last = Some(stored.call.id.clone());
        if found(stored.into()).is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the calls with the duplicate keys of a new one, in queue order.
fn similar(state: &State, call: &Call) -> Result<Vec<StoredCall>, QueueError> {
    let args = call.args.to_compact();
    let arguments: Json =
        Json::object(call.arguments.iter().map(|(name, value)| (name.clone(), Json::from(value.as_str()))));
    let arguments = arguments.to_compact();
    let (args, arguments) = (args.as_bytes(), arguments.as_bytes());
    let own = duplicate_key(call.call_fingerprint.as_deref(), &call.tool_id, args, arguments);
    // Calls of v0.30 are matched by content, because their fingerprints differ.
    let by_content = content_key(&call.tool_id, args, arguments);
    let mut found = Vec::new();
    for key in [own, by_content] {
        for line in state.find_key(key)? {
            found.push(parse(&line, state)?);
        }
    }
    found.sort_by_key(|stored| stored.sequence);
    Ok(found)
}

impl Snapshot for State {
    fn calls(&self, query: &CallQuery<'_>, found: &mut FoundRecord<'_>) -> Result<(), QueueError> {
        match *query {
            CallQuery::List { status, order, before } => list(self, status, order, before, found),
            CallQuery::Abandoned => list(self, Some(&CallStatus::Running), Order::Oldest, None, found),
            CallQuery::Shown => shown(self, found),
            CallQuery::Id(id) => {
                if let Some(stored) = stored(self, id)? {
                    let _ = found(stored.into());
                }
                Ok(())
            }
            CallQuery::Similar(call) => {
                let _ = similar(self, call)?.into_iter().try_for_each(|stored| found(stored.into()));
                Ok(())
            }
            CallQuery::LastApproved(tool_id) => {
                for id in approved::last(&**self.place().fs(), tool_id) {
                    if let Some(stored) = stored(self, &id)?
                        && found(stored.into()).is_break()
                    {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    fn receipts(&self, query: &ReceiptQuery<'_>) -> Result<RunList, QueueError> {
        let fs = &**self.place().fs();
        Ok(match *query {
            ReceiptQuery::Run(run) => {
                receipts::read_one(fs, run)?.map_or_else(RunList::default, RunList::from)
            }
            ReceiptQuery::Newest(limit) => receipts::list(self, limit)?,
            ReceiptQuery::Part { skip, limit } => receipts::part(self, skip, limit)?,
            ReceiptQuery::Misplaced => RunList { receipts: Vec::new(), errors: receipts::misplaced(fs)? },
        })
    }

    fn examine(
        &self,
        chain: Chain,
        found: Option<(Detail, &ExaminedRun<'_>)>,
    ) -> Result<Verification, QueueError> {
        let read = match found {
            Some((detail, found)) => {
                let has_ledger = !matches!(self.place().ledger().open(), Ok(None));
                let is_hashed = chain != Chain::Trust && has_ledger;
                let hashes = if is_hashed { Hashes::Compute } else { Hashes::Skip };
                Some(receipts::examine(&**self.place().fs(), detail.members(), hashes, found)?)
            }
            None => None,
        };
        match chain {
            Chain::From(first) => verify::verify(self, first, read.as_ref()),
            Chain::Trust => Ok(Verification::default()),
        }
    }

    fn checkpoints(&self, which: Checkpoints<'_>) -> Result<CheckpointList, QueueError> {
        match which {
            Checkpoints::Known => checkpoints::list(self),
            Checkpoints::AddedFor(run) => Ok(checkpoints::added_for(&**self.place().fs(), run)?),
        }
    }

    fn ids(&self, of: Records, prefix: &str, limit: usize) -> Result<Vec<String>, QueueError> {
        match of {
            Records::Calls => {
                self.require_journal()?;
                Ok(self.find_prefix(prefix, limit)?.iter().map(|id| id.to_string()).collect())
            }
            Records::Runs => receipts::ids(self, prefix, limit),
        }
    }

    fn recent(&self, since: i64, question: &mut dyn FnMut(&mut RecentCalls)) -> Result<(), QueueError> {
        recent::ask(self, since, question)
    }

    fn counts(&self, of: Records) -> Result<BTreeMap<String, u64>, QueueError> {
        match of {
            Records::Calls => call_counts(self),
            Records::Runs => receipts::counts(self),
        }
    }
}

fn call_counts(state: &State) -> Result<BTreeMap<String, u64>, QueueError> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut add = |word: &str, count: u64| {
        if 0 < count {
            *counts.entry(word.to_owned()).or_default() += count;
        }
    };
    for (code, count) in state.counts()?.into_iter().enumerate() {
        if let Some(status) = status_of(code).filter(|status| !APPROVED.contains(status)) {
            add(status.as_str(), count);
        }
    }
    // These codes cover several statuses, or count only with a valid MAC, so the records must be read.
    let kind = state.place().kind();
    for code in
        [kind.other(), kind.newer()].into_iter().chain(APPROVED.iter().map(|status| code(state, status)))
    {
        if let Some(log) = state.journal() {
            for listed in log.list(Some(code))? {
                add(read_listed(state, log, &listed)?.call.status.as_str(), 1);
            }
        }
    }
    Ok(counts)
}

/// Passes on all calls in queue order. Records that are shown as stored are not parsed.
fn shown(state: &State, found: &mut FoundRecord<'_>) -> Result<(), QueueError> {
    state.require_journal()?;
    let parsed = [code(state, &CallStatus::Running)]
        .into_iter()
        .chain(APPROVED.iter().map(|status| code(state, status)));
    let parsed: Vec<StatusCode> = parsed.collect();
    let key = state.place().kind().key();
    let mut merge = Merge::new(state)?;
    let mut line = Vec::new();
    while let Some((sequence, peeked)) = merge.next_record(&mut line)? {
        // Only records of our own format have a sequence.
        let record = if peeked.sequence.is_some() && !parsed.contains(&peeked.facts.status) {
            CallRecord(Form::Line(&line))
        } else {
            match StoredCall::from_line(&line, sequence, key) {
                Some(stored) => stored.into(),
                None => continue,
            }
        };
        if found(record).is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use brigade_core::Timestamp;
    use brigade_fs::{MemoryFs, WorkspaceKey};

    use super::*;
    use crate::journal::{JournalStore, JournalTransaction};
    use crate::store::{Durability, Transaction as _};

    #[test]
    fn a_running_call_is_parsed_once_per_write() {
        let store = JournalStore::new(
            Arc::new(MemoryFs::new()),
            Arc::new(WorkspaceKey::temporary()),
            "test",
            Duration::from_secs(1),
        );
        let mut transaction =
            store.transaction(Timestamp::from_unix_micros(1_000_000), Durability::AtOnce).unwrap();
        let read_before = |transaction: &JournalTransaction<'_>| {
            let journal = transaction.state().journal().unwrap();
            let listed = journal.known("call-1").unwrap().unwrap();
            journal.was_read_as::<StoredCall>(listed.span)
        };
        let line = r#"{"record_version":1,"id":"call-1","status":"running","tool_id":"t","revision":1}"#;
        let complete = StoredCall::from_line(line.as_bytes(), 0, None).unwrap().to_line();
        let mut calls = [StoredCall::from_line(complete.trim_end().as_bytes(), 0, None).unwrap()];
        transaction.put(&mut calls).unwrap();
        assert_eq!(read_before(&transaction).as_deref(), Some(&calls[0]));
        let first = transaction.state().journal().unwrap().known("call-1").unwrap().unwrap();
        calls[0].call.status = CallStatus::Completed;
        calls[0].revision += 1;
        transaction.put(&mut calls).unwrap();
        let journal = transaction.state().journal().unwrap();
        assert!(
            read_before(&transaction).is_none() && journal.was_read_as::<StoredCall>(first.span).is_none()
        );
        let id = "call-1".parse().unwrap();
        assert_eq!(stored(transaction.state(), &id).unwrap().as_ref(), Some(&calls[0]));
    }
}
