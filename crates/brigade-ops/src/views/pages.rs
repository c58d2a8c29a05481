//! Pages of the list of calls, newest page first.

use std::ops::ControlFlow;

use brigade_call::CallStatus;
use brigade_core::{IdPrefix, Report as _, Timestamp};
use brigade_policy::Failure;
use brigade_queue::{Calls, StoredCall, check_status};
use brigade_workspace::{WorkspaceContext, load};

use super::who;
use crate::report::CallListReport;

/// The number of calls of a page, and the largest number.
const CALLS: usize = 50;
const MAX_CALLS: usize = 500;

/// At most this many calls are searched for one page. The next page continues there.
const MAX_SEARCHED: usize = 2_000;

/// Which calls a page lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallPage {
    /// Only calls with this status.
    pub status: Option<CallStatus>,
    /// Only calls of this tool.
    pub tool: Option<String>,
    /// Only calls of this agent; `you` for the command line.
    pub agent: Option<String>,
    /// Only calls that were asked for at this time or later.
    pub since: Option<Timestamp>,
    /// Only calls that were asked for before this one.
    pub before: Option<IdPrefix>,
    /// At most this many, the newest.
    pub limit: Option<usize>,
}

/// Lists a page of calls, oldest first. Reads at most [`MAX_SEARCHED`] calls.
pub(crate) fn page(context: &WorkspaceContext, page: &CallPage) -> Result<CallListReport, Failure> {
    let tool = page.tool.as_ref().map(|tool| load::id_of(context, tool)).transpose()?;
    let view = context.queue().read()?;
    let counts = view.call_counts()?;
    if let Some(status) = &page.status {
        let found = counts.keys().map(String::as_str);
        check_status(status.as_str(), CallStatus::ALL.iter().map(CallStatus::as_str).chain(found))?;
    }
    let limit = page.limit.unwrap_or(CALLS).clamp(1, MAX_CALLS);
    let (mut searched, mut last, mut calls, mut next_before) = (0, None, Vec::new(), None);
    let mut take = |stored: StoredCall| {
        let call = stored.call;
        if page.since.is_some_and(|since| call.created_at.is_some_and(|created| created < since)) {
            return ControlFlow::Break(());
        }
        if MAX_SEARCHED <= searched || limit <= calls.len() {
            next_before = last.take();
            return ControlFlow::Break(());
        }
        (searched, last) = (searched + 1, Some(call.id.to_string()));
        let fits = tool.as_ref().is_none_or(|tool| call.tool_id == *tool)
            && page.agent.as_ref().is_none_or(|agent| who(&call.caller) == *agent);
        if fits {
            calls.push(call.shown(context));
        }
        ControlFlow::Continue(())
    };
    let which = page.status.clone().map_or(Calls::All, Calls::Of);
    match &page.before {
        Some(before) => view.for_each_before(&which, view.the_call(before, None)?.sequence, &mut take)?,
        None => view.for_each_newest(&which, &mut take)?,
    }
    calls.reverse();
    Ok(CallListReport {
        calls_path: context.calls_path(),
        store: context.store_kind(),
        counts,
        schema: CallListReport::SCHEMA,
        target: context.target(),
        calls,
        notes: None,
        error: None,
        next_before,
    })
}

#[cfg(test)]
mod tests;
