//! Lists calls, and runs one page at a time.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use brigade_call::{Call, CallStatus, Caller, Receipt, RunStatus};
use brigade_core::{CallId, IdPrefix, RunId, Timestamp};

use crate::store::{Detail, ReceiptQuery, receipt_name};
use crate::{BadReceipt, Calls, Chain, FoundCall, QueueError, View};

/// Which calls to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFilter {
    /// Only calls with this status.
    pub status: Option<CallStatus>,
    /// Only calls of this tool.
    pub tool: Option<String>,
    /// At most this many, the newest.
    pub limit: Option<usize>,
}

impl View<'_> {
    /// Calls `found` with each call, oldest first. Keeps at most as many in memory as the limit.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn list_calls(&self, filter: &CallFilter, found: &mut FoundCall<'_>) -> Result<(), QueueError> {
        let which = filter.status.clone().map_or(Calls::All, Calls::Of);
        let fits = |call: &Call| filter.tool.as_ref().is_none_or(|tool| call.tool_id == *tool);
        let Some(limit) = filter.limit else {
            return self.for_each_call(&which, &mut |stored| {
                if fits(&stored.call) { found(stored) } else { ControlFlow::Continue(()) }
            });
        };
        let mut newest = Vec::new();
        if limit == 0 {
            return Ok(());
        }
        self.for_each_newest(&which, &mut |stored| {
            if fits(&stored.call) {
                newest.push(stored);
            }
            if newest.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let _ = newest.into_iter().rev().try_for_each(found);
        Ok(())
    }
}

/// Which runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs with this status.
    pub status: Option<RunStatus>,
    /// Only runs of this tool.
    pub tool: Option<String>,
    /// Only runs for this agent; `you` for the command line.
    pub agent: Option<String>,
    /// Only runs that started at this time or later.
    pub since: Option<Timestamp>,
    /// At most this many, the newest.
    pub limit: Option<usize>,
    /// At most this many are searched for one page. The next page continues there.
    pub searched: Option<usize>,
    /// Only runs after this one in the list, which are older. For the next page.
    pub before: Option<IdPrefix>,
}

/// A run in a list, before its receipt is read.
#[derive(Clone, Debug)]
pub struct ListedRun {
    /// Its id.
    pub id: RunId,
    /// Its call.
    pub call_id: CallId,
    /// How it ended.
    pub status: RunStatus,
    /// Its tool.
    pub tool_id: String,
    caller: Caller,
    started_at: Option<Timestamp>,
    sort_key: String,
    stored_id: String,
}

impl ListedRun {
    fn new(receipt: &Receipt, stored_id: &str) -> ListedRun {
        ListedRun {
            id: receipt.id.clone(),
            call_id: receipt.call_id.clone(),
            status: receipt.status.clone(),
            tool_id: receipt.tool_id.to_owned(),
            caller: receipt.caller().clone(),
            started_at: receipt.started_at(),
            sort_key: receipt.sort_key(),
            stored_id: stored_id.to_owned(),
        }
    }

    /// The id under which the receipt is stored, which may differ from the id in the receipt.
    pub fn stored_id(&self) -> &str {
        &self.stored_id
    }
}

/// A page of a list of runs.
#[derive(Clone, Debug)]
pub struct RunPage {
    /// The runs of the page, newest first.
    pub runs: Vec<ListedRun>,
    /// The newest of all runs.
    pub latest: Option<ListedRun>,
    /// The run after which the next page starts; `None` on the last page.
    pub next_before: Option<String>,
    /// Receipts that cannot be read.
    pub errors: Vec<BadReceipt>,
}

impl View<'_> {
    /// Lists runs, newest first, that come after the run `before`. With a limit, reads about as many as it lists and
    /// skips.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn list_runs(&self, filter: &RunFilter, before: Option<&str>) -> Result<RunPage, QueueError> {
        let limit = filter.limit.unwrap_or(usize::MAX);
        let is_too_old = |run: &ListedRun| {
            filter.since.is_some_and(|since| run.started_at.is_some_and(|started| started < since))
        };
        let fits = |run: &&ListedRun| {
            filter.status.as_ref().is_none_or(|status| run.status == *status)
                && filter.tool.as_ref().is_none_or(|tool| run.tool_id == *tool)
                && filter.agent.as_ref().is_none_or(|agent| run.caller.for_people() == *agent)
                && !is_too_old(run)
        };
        // The runs that the page is searched in.
        let window = |runs: &[ListedRun]| {
            let start = match before {
                Some(before) => {
                    runs.iter().position(|run| run.id.as_str() == before).map_or(runs.len(), |at| at + 1)
                }
                None => 0,
            };
            start..filter.searched.map_or(runs.len(), |most| runs.len().min(start.saturating_add(most)))
        };
        // One more than requested, to know whether there are older ones.
        let mut needed = limit.saturating_add(1);
        let (listed, bad, is_all) = loop {
            let (listed, bad) = listed_runs(self, needed)?;
            let window = window(&listed);
            let is_all = needed == usize::MAX || listed.len() < needed;
            let is_over = window.end < listed.len() || listed.last().is_some_and(is_too_old);
            if is_all || is_over || limit < listed[window].iter().filter(fits).count() {
                break (listed, bad, is_all);
            }
            let searched = filter.searched.filter(|_| before.is_none()).unwrap_or(usize::MAX);
            needed = needed.saturating_mul(4).min(searched.saturating_add(1)).max(needed.saturating_add(1));
        };
        let window = window(&listed);
        let is_searched_only = window.end < listed.len() || !is_all;
        let mut fitting = listed[window.clone()].iter().filter(fits);
        let runs: Vec<ListedRun> = fitting.by_ref().take(limit).cloned().collect();
        let last = match fitting.next() {
            Some(_) => runs.last(),
            None => listed[window].last().filter(|last| is_searched_only && !is_too_old(last)),
        };
        let next_before = last.map(|run| run.id.to_string());
        Ok(RunPage { runs, latest: listed.first().cloned(), next_before, errors: bad })
    }
}

/// Lists runs, newest first, and unreadable receipts. `usize::MAX` lists all.
fn listed_runs(view: &View<'_>, needed: usize) -> Result<(Vec<ListedRun>, Vec<BadReceipt>), QueueError> {
    if needed < usize::MAX {
        let list = view.receipts(needed)?;
        let runs = list.receipts.iter().map(|stored| ListedRun::new(&stored.receipt, &stored.stored_id));
        return Ok((runs.collect(), list.errors));
    }
    // Keeps only the sort keys of a long history.
    let found: Mutex<(Vec<ListedRun>, Vec<BadReceipt>)> = Mutex::default();
    view.examine_runs(Detail::Listed, Chain::Trust, &|receipt| {
        let listed = receipt.map(|found| ListedRun::new(&found.receipt, &found.stored_id));
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        match listed {
            Ok(run) => found.0.push(run),
            Err(bad) => found.1.push(bad),
        }
    })?;
    let (mut runs, mut bad) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    runs.sort_unstable_by(|left, right| {
        let name = |run: &ListedRun| receipt_name(&run.stored_id);
        right.sort_key.cmp(&left.sort_key).then_with(|| name(left).cmp(&name(right)))
    });
    bad.sort_unstable_by(|left, right| left.place.cmp(&right.place));
    bad.extend(view.snapshot().receipts(&ReceiptQuery::Misplaced)?.errors);
    Ok((runs, bad))
}
