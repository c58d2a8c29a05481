//! Reading the queue: calls with the eyes of a reader who knows which runners are alive.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use brigade_call::{CallStatus, LedgerLink, Receipt, ReceiptLink, RunEnd, Runner};
use brigade_core::{CallId, IdPrefix, Timestamp};
use brigade_fs::{Fs, Lines};

use crate::check::{self, Check};
use crate::checkpoints::{self, CheckpointList, StoredCheckpoint};
use crate::entry::{Content, StatusCode, look};
use crate::error::QueueError;
use crate::log::{Found, Listed, Log};
use crate::queue::{CANDIDATES, Calls, Chain, ExaminedRun, FoundRun, Match, QueueView};
use crate::record::{ListedCall, StoredCall};
use crate::runs::{self, BadReceipt, RunFolder, RunList, Runs, StoredReceipt};
use crate::state::{Damage, State};
use crate::verify::{self, Verification};
use crate::{finish, layout, ledger};

/// Tells whether the process that runs a call is still there.
pub type IsAlive = dyn Fn(&Runner) -> bool + Send + Sync;

/// The queue at one moment.
pub(crate) struct View {
    pub(crate) fs: Arc<dyn Fs>,
    pub(crate) state: State,
    pub(crate) is_alive: Arc<IsAlive>,
}

/// How a run that its receipt describes leaves its call.
pub(crate) fn run_end(
    receipt: &Receipt,
    path: String,
    ledger: Option<LedgerLink>,
    now: Timestamp,
) -> Result<RunEnd, &'static str> {
    let document = receipt.document();
    let ids = match document.get("checkpoint_ids").and_then(|ids| ids.as_array()) {
        Some(ids) => ids.iter().map(|id| id.as_str()?.parse().ok()).collect::<Option<Vec<_>>>(),
        None => Some(receipt.text("checkpoint_id").and_then(|id| id.parse().ok()).into_iter().collect()),
    };
    let checkpoint_ids = ids.ok_or("its checkpoint ids are not all ids")?;
    let status = match receipt.status() {
        "resumed" => CallStatus::Completed,
        word => CallStatus::from_word(word),
    };
    let checkpoint_ids = match status {
        CallStatus::Completed | CallStatus::Failed | CallStatus::TimedOut | CallStatus::Interrupted => {
            Vec::new()
        }
        CallStatus::Waiting if checkpoint_ids.is_empty() => return Err("it waits for no checkpoint"),
        CallStatus::Waiting => checkpoint_ids,
        CallStatus::Pending
        | CallStatus::Approved
        | CallStatus::Rejected
        | CallStatus::Held
        | CallStatus::Running
        | CallStatus::ResumePending
        | CallStatus::Other(_) => return Err("no run ends with its status"),
    };
    Ok(RunEnd {
        timed_out: document.get("timed_out").and_then(|json| json.as_bool()).unwrap_or(false),
        status,
        completed_at: receipt.completed_at().unwrap_or(now),
        exit_code: receipt.exit_code(),
        checkpoint_ids,
        receipt: ReceiptLink { path, ledger },
    })
}

impl View {
    /// Looks at the queue as it is now.
    pub(crate) fn again(&self) -> Result<View, QueueError> {
        Ok(View { fs: self.fs.clone(), state: State::load(&self.fs)?, is_alive: self.is_alive.clone() })
    }

    /// Fails when something that is no file has the journal's name.
    pub(crate) fn require_journal(&self) -> Result<(), QueueError> {
        if self.state.is_blocked { Err(QueueError::Blocked(layout::calls().to_string())) } else { Ok(()) }
    }

    /// Parses a line that was found.
    pub(crate) fn parse(&self, found: &Found, log: &Log) -> Result<StoredCall, QueueError> {
        StoredCall::from_line(&found.line, found.sequence)
            .ok_or_else(|| QueueError::BadRecord { path: log.path.to_string(), offset: 0 })
    }

    /// Returns a call as it is stored.
    pub(crate) fn stored(&self, id: &CallId) -> Result<Option<StoredCall>, QueueError> {
        for log in self.state.logs() {
            if let Some(found) = log.find(id.as_str())? {
                return self.parse(&found, log).map(Some);
            }
        }
        Ok(None)
    }

    /// Shows a stored call as it stands: one whose runner is gone as its receipt says, or interrupted.
    pub(crate) fn as_it_stands(&self, mut stored: StoredCall) -> StoredCall {
        if !stored.is_abandoned(&*self.is_alive) {
            return stored;
        }
        if let Some(claim) = stored.call.claim.clone() {
            finish::mark_resumed(&mut stored, claim.run_id.as_str());
            let path = layout::receipt(&claim.run_id);
            if let Ok(found) = runs::read_receipt(&path, self.fs.read(&path, runs::RECEIPT_LIMIT)) {
                let now = stored.call.started_at.unwrap_or(Timestamp::from_unix_micros(0));
                if let Ok(end) = run_end(&found.receipt, found.path, None, now)
                    && let Ok(call) = stored.call.clone().finish(end)
                {
                    stored.call = call;
                    return stored;
                }
            }
        }
        stored.call.status = CallStatus::Interrupted;
        stored
    }

    /// Tells whether a log is the journal and not a segment.
    pub(crate) fn is_journal(&self, log: &Log) -> bool {
        self.state.journal.as_ref().is_some_and(|journal| std::ptr::eq(journal, log))
    }

    /// Lists the stored calls of a status that stand in the journal.
    pub(crate) fn living(&self, status: &CallStatus) -> Result<Vec<StoredCall>, QueueError> {
        let Some(journal) = &self.state.journal else { return Ok(Vec::new()) };
        let mut listed = journal.list(Some(StatusCode::of(status)))?;
        listed.sort_unstable_by_key(|listed| (listed.created, listed.sequence));
        listed.iter().map(|listed| self.read_listed(journal, listed)).collect()
    }

    fn read_listed(&self, log: &Log, listed: &Listed) -> Result<StoredCall, QueueError> {
        let line = log.line(listed.span)?;
        StoredCall::from_line(&line, listed.sequence)
            .ok_or_else(|| QueueError::BadRecord { path: log.path.to_string(), offset: listed.span.offset })
    }

    /// Hands out all calls by their sequence, merging journal and segments.
    ///
    /// A long list is read and parsed in a thread of its own, while the caller writes what it got before.
    fn for_all(&self, found: &mut dyn FnMut(StoredCall) -> ControlFlow<()>) -> Result<(), QueueError> {
        let mut merge = Merge::new(self)?;
        let first = merge.batch()?;
        let is_all = first.len() < BATCH;
        for stored in first {
            if found(stored).is_break() {
                return Ok(());
            }
        }
        if is_all {
            return Ok(());
        }
        std::thread::scope(|scope| {
            // Few batches wait at a time, so the memory does not grow with the list.
            let (sender, receiver) = sync_channel::<Result<Vec<StoredCall>, QueueError>>(2);
            scope.spawn(move || {
                loop {
                    let batch = merge.batch();
                    let is_last = batch.as_ref().is_ok_and(|batch| batch.len() < BATCH) || batch.is_err();
                    // Nobody listens any more when the caller has seen enough.
                    if sender.send(batch).is_err() || is_last {
                        return;
                    }
                }
            });
            for batch in receiver {
                for stored in batch? {
                    if found(stored).is_break() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }

    /// Hands out the calls that stand at a status, the oldest first.
    fn for_status(
        &self,
        status: &CallStatus,
        found: &mut dyn FnMut(StoredCall) -> ControlFlow<()>,
    ) -> Result<(), QueueError> {
        let code = StatusCode::of(status);
        let mut listed: Vec<(i64, u64, &Log, Listed)> = Vec::new();
        for log in self.state.logs() {
            // Abandoned calls stand elsewhere than they are stored, and records of newer versions have a code of their own.
            for code in [Some(code), Some(StatusCode::of(&CallStatus::Running)), Some(StatusCode::NEWER)] {
                let is_journal =
                    self.state.journal.as_ref().is_some_and(|journal| std::ptr::eq(journal, log));
                if code.is_some_and(|code| code.is_finished()) || is_journal {
                    let of_code = log.list(code)?;
                    listed.extend(of_code.into_iter().map(|item| (item.created, item.sequence, log, item)));
                }
            }
        }
        listed.sort_by_key(|(created, sequence, _, item)| (*created, *sequence, item.span.offset));
        listed.dedup_by(|next, kept| std::ptr::eq(next.2, kept.2) && next.3.span == kept.3.span);
        let mut last: Option<CallId> = None;
        for (_, _, log, item) in listed {
            let stored = self.as_it_stands(self.read_listed(log, &item)?);
            if stored.call.status != *status || last.as_ref() == Some(&stored.call.id) {
                continue;
            }
            last = Some(stored.call.id.clone());
            if found(stored).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl View {
    /// Tells whether a call that is stored with a status may stand at another one: its runner may be gone, and a record of
    /// a newer version says so itself.
    fn may_stand_at(&self, stored: StatusCode, status: &CallStatus) -> bool {
        let elsewhere = [StatusCode::of(&CallStatus::Running), StatusCode::NEWER, StatusCode::OTHER];
        stored == StatusCode::of(status) || elsewhere.contains(&stored)
    }
}

/// How many calls are read before they are handed out.
const BATCH: usize = 256;

/// The calls of journal and segments by their sequence.
struct Merge<'a> {
    view: &'a View,
    sources: Vec<Source<'a>>,
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    last: Option<(u64, Box<str>)>,
}

impl<'a> Merge<'a> {
    fn new(view: &'a View) -> Result<Merge<'a>, QueueError> {
        let mut sources = Vec::new();
        let mut heap = BinaryHeap::new();
        for (number, log) in view.state.logs().enumerate() {
            let mut source = Source::new(log, view.is_journal(log))?;
            heap.extend(source.advance()?.map(|sequence| Reverse((sequence, number))));
            sources.push(source);
        }
        Ok(Merge { view, sources, heap, last: None })
    }

    /// Moves the next line into `line` and returns its sequence.
    fn next_line(&mut self, line: &mut Vec<u8>) -> Result<Option<u64>, QueueError> {
        let Some(Reverse((sequence, number))) = self.heap.pop() else { return Ok(None) };
        let source = &mut self.sources[number];
        std::mem::swap(&mut source.line, line);
        self.heap.extend(source.advance()?.map(|next| Reverse((next, number))));
        Ok(Some(sequence))
    }

    /// Tells whether this is another call than the one before. A crash between two steps of a compaction leaves a call in
    /// two files; the first source is the newer.
    fn is_new(&mut self, sequence: u64, id: &str) -> bool {
        if self.last.as_ref().is_some_and(|(last, last_id)| *last == sequence && &**last_id == id) {
            return false;
        }
        self.last = Some((sequence, id.into()));
        true
    }

    /// Returns the next calls; fewer than [`BATCH`] are the last ones.
    fn batch(&mut self) -> Result<Vec<StoredCall>, QueueError> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut line = Vec::new();
        while batch.len() < BATCH
            && let Some(sequence) = self.next_line(&mut line)?
        {
            if let Some(stored) = StoredCall::from_line(&line, sequence)
                && self.is_new(sequence, stored.call.id.as_str())
            {
                batch.push(self.view.as_it_stands(stored));
            }
        }
        Ok(batch)
    }
}

/// The calls of one file by their sequence.
struct Source<'a> {
    log: &'a Log,
    order: Order<'a>,
    /// The line that comes next.
    line: Vec<u8>,
}

enum Order<'a> {
    /// Revisions stand in any order, so their places are sorted.
    Listed(std::vec::IntoIter<Listed>),
    /// A segment is sorted as it is.
    File(Lines<'a>),
}

impl<'a> Source<'a> {
    fn new(log: &'a Log, is_journal: bool) -> Result<Source<'a>, QueueError> {
        let order = if is_journal {
            let mut listed = log.list(None)?;
            listed.sort_unstable_by_key(|listed| (listed.sequence, listed.span.offset));
            Order::Listed(listed.into_iter())
        } else {
            Order::File(Lines::new(&*log.file, 0, log.file.len()?))
        };
        Ok(Source { log, order, line: Vec::new() })
    }

    /// Reads the next line and returns its sequence.
    fn advance(&mut self) -> Result<Option<u64>, QueueError> {
        match &mut self.order {
            Order::Listed(listed) => {
                let Some(next) = listed.next() else { return Ok(None) };
                self.line = self.log.line(next.span)?;
                Ok(Some(next.sequence))
            }
            Order::File(lines) => {
                while let Some(line) = lines.next_line()? {
                    if let Content::Call(peeked) = look(line.bytes) {
                        self.line.clear();
                        self.line.extend_from_slice(line.bytes);
                        return Ok(Some(peeked.sequence.unwrap_or(0)));
                    }
                }
                Ok(None)
            }
        }
    }
}

impl QueueView for View {
    fn require_calls(&self) -> Result<(), QueueError> {
        self.require_journal()
    }

    fn call(&self, id: &CallId) -> Result<Option<StoredCall>, QueueError> {
        Ok(self.stored(id)?.map(|stored| self.as_it_stands(stored)))
    }

    fn find_call(&self, prefix: &IdPrefix) -> Result<Match<StoredCall>, QueueError> {
        self.require_journal()?;
        if let Ok(id) = prefix.as_str().parse::<CallId>()
            && let Some(exact) = self.call(&id)?
        {
            return Ok(Match::One(exact));
        }
        if prefix.as_str().is_empty() {
            return Ok(Match::None);
        }
        let ids = self.state.find_prefix(prefix.as_str(), CANDIDATES)?;
        Ok(match ids.as_slice() {
            [] => Match::None,
            [one] => match one.parse::<CallId>() {
                Ok(id) => self.call(&id)?.map_or(Match::None, Match::One),
                Err(_) => Match::None,
            },
            many => Match::Ambiguous(many.iter().map(|id| id.to_string()).collect()),
        })
    }

    fn for_each_call(
        &self,
        which: &Calls,
        found: &mut dyn FnMut(StoredCall) -> ControlFlow<()>,
    ) -> Result<(), QueueError> {
        match which {
            Calls::All => self.for_all(found),
            Calls::Of(status) => self.for_status(status, found),
        }
    }

    fn for_each_newest(
        &self,
        which: &Calls,
        found: &mut dyn FnMut(StoredCall) -> ControlFlow<()>,
    ) -> Result<(), QueueError> {
        self.require_journal()?;
        let mut listed: Vec<(u64, &Log, Listed)> = Vec::new();
        for log in self.state.logs() {
            listed.extend(log.list(None)?.into_iter().map(|item| (item.sequence, log, item)));
        }
        // The sort is stable and the journal's log comes first: of two copies the newer one is met first.
        listed.sort_by_key(|(sequence, _, _)| Reverse(*sequence));
        let mut last: Option<CallId> = None;
        for (_, log, item) in listed {
            let may_be = match which {
                Calls::All => true,
                Calls::Of(status) => self.may_stand_at(item.status, status),
            };
            if !may_be {
                continue;
            }
            let stored = self.as_it_stands(self.read_listed(log, &item)?);
            if last.as_ref() == Some(&stored.call.id) {
                continue;
            }
            last = Some(stored.call.id.clone());
            let is_wanted = match which {
                Calls::All => true,
                Calls::Of(status) => stored.call.status == *status,
            };
            if is_wanted && found(stored).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn list_calls(&self, found: &mut dyn FnMut(ListedCall<'_>) -> ControlFlow<()>) -> Result<(), QueueError> {
        self.require_journal()?;
        let mut merge = Merge::new(self)?;
        let mut line = Vec::new();
        while let Some(sequence) = merge.next_line(&mut line)? {
            let Content::Call(peeked) = look(&line) else { continue };
            if !merge.is_new(sequence, &peeked.id) {
                continue;
            }
            // Only our own records have a sequence.
            let is_plain = peeked.sequence.is_some() && peeked.status != StatusCode::of(&CallStatus::Running);
            let listed = if is_plain {
                ListedCall::AsStored(&line)
            } else {
                match StoredCall::from_line(&line, sequence) {
                    Some(stored) => ListedCall::Parsed(Box::new(self.as_it_stands(stored))),
                    None => continue,
                }
            };
            if found(listed).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn call_counts(&self) -> Result<BTreeMap<String, u64>, QueueError> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let mut add = |word: &str, count: u64| {
            if 0 < count {
                *counts.entry(word.to_owned()).or_default() += count;
            }
        };
        for (code, count) in (0u8..).zip(self.state.counts()?) {
            match StatusCode::from_byte(code).and_then(StatusCode::status) {
                // These are counted one by one below, because they may stand elsewhere.
                Some(CallStatus::Running) | None => {}
                Some(status) => add(status.as_str(), count),
            }
        }
        for code in [StatusCode::of(&CallStatus::Running), StatusCode::OTHER, StatusCode::NEWER] {
            for log in self.state.journal.iter() {
                for listed in log.list(Some(code))? {
                    add(self.as_it_stands(self.read_listed(log, &listed)?).call.status.as_str(), 1);
                }
            }
        }
        Ok(counts)
    }

    fn runs(&self, which: Runs) -> Result<RunList, QueueError> {
        Ok(runs::list(&*self.fs, which, &self.state)?)
    }

    fn for_each_run(&self, found: &FoundRun<'_>) -> Result<(), QueueError> {
        Ok(runs::for_each(&*self.fs, found)?)
    }

    fn examine_runs(
        &self,
        members: &[&str],
        chain: Chain,
        found: &ExaminedRun<'_>,
    ) -> Result<Verification, QueueError> {
        let folder = RunFolder::list(&*self.fs)?;
        let hashes = runs::examine(&*self.fs, &folder, members, found);
        match chain {
            Chain::Check => verify::verify_hashed(self, &folder, &hashes),
            Chain::Trust => Ok(Verification::default()),
        }
    }

    fn receipt_in(&self, path: &str) -> Result<StoredReceipt, BadReceipt> {
        let bad = |_| BadReceipt { path: path.to_owned(), problem: "not a path of the workspace".to_owned() };
        let path = path.parse().map_err(bad)?;
        runs::read_receipt(&path, self.fs.read(&path, runs::RECEIPT_LIMIT))
    }

    fn find_run(&self, prefix: &IdPrefix) -> Result<Match<Result<StoredReceipt, BadReceipt>>, QueueError> {
        runs::find(&*self.fs, prefix, CANDIDATES, &self.state)
    }

    fn run_counts(&self) -> Result<BTreeMap<String, u64>, QueueError> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let entries = match runs::usable_ledger(&*self.fs, &self.state)? {
            Some(file) => ledger::whole(&*file)?,
            None => None,
        };
        match entries {
            Some(entries) => {
                for entry in entries {
                    *counts.entry(entry.status).or_default() += 1;
                }
            }
            None => {
                for stored in runs::list(&*self.fs, Runs::All, &self.state)?.receipts {
                    *counts.entry(stored.receipt.status().to_owned()).or_default() += 1;
                }
            }
        }
        Ok(counts)
    }

    fn checkpoints(&self) -> Result<CheckpointList, QueueError> {
        checkpoints::list(self)
    }

    fn find_checkpoint(&self, prefix: &IdPrefix) -> Result<Match<StoredCheckpoint>, QueueError> {
        checkpoints::find(self, prefix)
    }

    fn verify(&self, from: u64) -> Result<Verification, QueueError> {
        verify::verify(self, from)
    }

    fn damage(&self) -> Result<Vec<Damage>, QueueError> {
        Ok(self.state.damage(&*self.fs)?)
    }

    fn check(&self) -> Result<Check, QueueError> {
        check::check(self)
    }
}
