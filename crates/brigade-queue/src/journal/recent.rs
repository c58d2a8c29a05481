//! Keeps the counters of recent calls up to date with the journal. Each line is read once per process.

use std::sync::{Mutex, PoisonError};

use brigade_call::CallStatus;
use brigade_fs::{FileId, Lines};
use brigade_journal::{ListedLine, Log, State};

use super::kind::code_of;
use crate::error::QueueError;
use crate::recent::{RecentCall, RecentCalls};

/// The counters, and which lines they have.
#[derive(Debug, Default)]
pub(super) struct CountedLines(Mutex<CountState>);

#[derive(Debug, Default)]
struct CountState {
    calls: RecentCalls,
    /// The journal, and the end of its counted lines.
    upto: Option<(FileId, u64, u64)>,
}

/// Answers a question about the calls since a moment.
pub(super) fn ask(
    state: &State,
    since: i64,
    question: &mut dyn FnMut(&mut RecentCalls),
) -> Result<(), QueueError> {
    let own = CountedLines::default();
    let counted = state.place().kind().companion().and_then(|kept| kept.downcast_ref()).unwrap_or(&own);
    let mut counted = counted.0.lock().unwrap_or_else(PoisonError::into_inner);
    // Counters that a failed read left behind are not used.
    let CountState { mut calls, upto } = std::mem::take(&mut *counted);
    calls.forget_before(since);
    let (mut calls, upto) = match state.journal() {
        None => (RecentCalls::default(), None),
        Some(journal) => {
            let (file, generation) = (journal.file().id()?, journal.generation());
            let end = journal.settled_end()?;
            match upto {
                Some((known, at, from)) if (known, at) == (file, generation) => {
                    read_lines(journal, from, end, &mut calls)?;
                    (calls, Some((file, generation, from.max(end))))
                }
                // An earlier journal, which a reader still has open.
                Some((_, at, _)) if generation < at => (calls, upto),
                _ => (count_all(state, journal, since, &calls)?, Some((file, generation, end))),
            }
        }
    };
    question(&mut calls);
    *counted = CountState { calls, upto };
    Ok(())
}

/// Counts the lines of a range.
fn read_lines(journal: &Log, from: u64, end: u64, calls: &mut RecentCalls) -> Result<(), QueueError> {
    let mut lines = Lines::new(journal.file(), from, end.max(from));
    while let Some(line) = lines.next_line()? {
        if let Some(call) = RecentCall::from_line(line.bytes, 0) {
            calls.note(call);
        }
    }
    Ok(())
}

/// Counts all recent and waiting calls. What `before` knows of finished calls is not read again.
fn count_all(
    state: &State,
    journal: &Log,
    since: i64,
    before: &RecentCalls,
) -> Result<RecentCalls, QueueError> {
    let mut calls = RecentCalls::default();
    calls.forget_before(since);
    let mut count = |log: &Log, listed: &ListedLine| -> Result<(), QueueError> {
        // After a crash, two files may have the same call. The newer line comes first.
        if calls.get(listed.sequence).is_some() {
            return Ok(());
        }
        let known = before.get(listed.sequence).filter(|call| call.is_finished);
        let call = match known {
            Some(call) => Some(call.clone()),
            None => RecentCall::from_line(&log.line(listed.span)?, listed.sequence),
        };
        if let Some(call) = call {
            calls.note(call);
        }
        Ok(())
    };
    for status in [CallStatus::Pending, CallStatus::Held] {
        for listed in journal.list(code_of(&status))? {
            count(journal, &listed)?;
        }
    }
    for log in state.logs() {
        for listed in log.list_since(since)? {
            count(log, &listed)?;
        }
    }
    Ok(calls)
}
