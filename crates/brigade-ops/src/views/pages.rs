//! Pages of the list of calls, newest page first.

use std::ops::ControlFlow;

use brigade_call::CallStatus;
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorKind, IdPrefix, Report as _, Timestamp, codes};
use brigade_policy::Failure;
use brigade_queue::{Calls, check_status};
use brigade_workspace::{WorkspaceContext, load};

use super::who;
use crate::report::CallListReport;

/// The number of calls of a page, and the largest number.
const CALLS: usize = 50;
const MAX_CALLS: usize = 500;

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

/// Lists a page of calls, oldest first. Reads little more than it lists, and the calls after `before`.
pub(crate) fn page(context: &WorkspaceContext, page: &CallPage) -> Result<CallListReport, Failure> {
    let tool = page.tool.as_ref().map(|tool| load::id_of(context, tool)).transpose()?;
    let view = context.queue().read()?;
    let counts = view.call_counts()?;
    if let Some(status) = &page.status {
        let found = counts.keys().map(String::as_str);
        check_status(status.as_str(), CallStatus::ALL.iter().map(CallStatus::as_str).chain(found))?;
    }
    let limit = page.limit.unwrap_or(CALLS).clamp(1, MAX_CALLS);
    let before = page.before.as_ref().map(IdPrefix::as_str);
    let (mut is_reached, mut calls, mut next_before) = (before.is_none(), Vec::new(), None);
    let which = page.status.clone().map_or(Calls::All, Calls::Of);
    view.for_each_newest(&which, &mut |stored| {
        let call = stored.call;
        if !is_reached {
            is_reached = before.is_some_and(|before| call.id.as_str().starts_with(before));
            return ControlFlow::Continue(());
        }
        if page.since.is_some_and(|since| call.created_at.is_some_and(|created| created < since)) {
            return ControlFlow::Break(());
        }
        let fits = tool.as_ref().is_none_or(|tool| call.tool_id == *tool)
            && page.agent.as_ref().is_none_or(|agent| who(&call.caller) == *agent);
        if !fits {
            return ControlFlow::Continue(());
        }
        if limit <= calls.len() {
            next_before = calls.last().map(|oldest: &brigade_call::Call| oldest.id.to_string());
            return ControlFlow::Break(());
        }
        calls.push(call.shown(context));
        ControlFlow::Continue(())
    })?;
    if let Some(before) = before.filter(|_| !is_reached) {
        let message = format!("no call has the id `{}`", escape_terminal(before));
        return Err(Failure::new(ErrorKind::NotFound, message).coded(codes::CALL_MISSING));
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
