//! What ran: agent, tool, arguments, who or which rule approved, result.

use brigade_call::{Caller, Receipt, RunStatus, RunSummary};
use brigade_core::text::short;
use brigade_core::{ErrorKind, Report as _, Timestamp};
use brigade_policy::{CallKind, Failure};
use brigade_queue::{FoundReceipt, View};
use brigade_workspace::{WorkspaceContext, load};

use super::statistics::Statistics;
use super::{approver, arguments_line, who};
use crate::calls::note_on_tool;
use crate::clients::agents::agent_config;
use crate::error::Error;
use crate::report::{HistoryReport, HistoryRow, RunListReport};

/// How many receipts are read at a time: first a few, then more.
const FIRST_PART: usize = 64;
const MAX_PART: usize = 2_048;

/// Without a first day, at most this many of the newest runs are searched.
const MAX_SEARCHED: usize = 5_000;

/// The maximum number of characters of a failure.
const MAX_FAILURE: usize = 200;

/// Which runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// Only runs that started at this time or later. Older ones are not read.
    pub since: Option<Timestamp>,
    /// Only runs that started before this time.
    pub until: Option<Timestamp>,
    /// Only runs for this agent; `you` for the command line.
    pub agent: Option<String>,
    /// Only runs of this tool.
    pub tool: Option<String>,
    /// Only runs that did not complete.
    pub failed: bool,
    /// At most this many, the newest.
    pub limit: usize,
    /// Whether to sum up all of them instead of listing them.
    pub statistics: bool,
}

impl HistoryFilter {
    fn fits(&self, receipt: &Receipt) -> bool {
        let is_before = |until: Timestamp| receipt.started_at().is_some_and(|started| started < until);
        let caller = || who(receipt.caller());
        self.until.is_none_or(is_before)
            && self.tool.as_ref().is_none_or(|tool| receipt.tool_id == *tool)
            && self.agent.as_ref().is_none_or(|agent| caller() == *agent)
            && (!self.failed || !is_good(&receipt.status))
    }

    /// Returns whether this and all older runs are too old.
    fn is_too_old(&self, receipt: &Receipt) -> bool {
        self.since.is_some_and(|since| receipt.started_at().is_some_and(|started| started < since))
    }
}

/// Returns whether a run ended well, or waits.
pub(crate) fn is_good(status: &RunStatus) -> bool {
    matches!(status, RunStatus::Completed | RunStatus::Resumed | RunStatus::Waiting)
}

/// Lists what ran, oldest first. If nothing fits, notes which names of the filter are unknown.
pub fn history(context: &WorkspaceContext, filter: &HistoryFilter) -> Result<HistoryReport, Error> {
    let mut report = search(context, filter)?;
    if report.runs.is_empty() && report.statistics.as_ref().is_none_or(|statistics| statistics.runs == 0) {
        report.notes.extend(unknown_names(context, filter)?);
    }
    Ok(report)
}

/// Notes names of a filter that neither the configuration nor any run has.
fn unknown_names(context: &WorkspaceContext, filter: &HistoryFilter) -> Result<Vec<String>, Error> {
    let any = HistoryFilter { limit: 1, ..HistoryFilter::default() };
    let ran = |filter: HistoryFilter| Ok::<bool, Error>(!search(context, &filter)?.runs.is_empty());
    let mut notes = Vec::new();
    if let Some(tool) = &filter.tool
        && let Some(note) = note_on_tool(context, tool)?
        && !ran(HistoryFilter { tool: Some(tool.clone()), ..any.clone() })?
    {
        notes.push(note);
    }
    if let Some(agent) = &filter.agent
        && let Some(note) = note_on_agent(context, agent)
        && !ran(HistoryFilter { agent: Some(agent.clone()), ..any })?
    {
        notes.push(note);
    }
    Ok(notes)
}

/// Returns a note if the gateway has no agent with this name. Without a readable gateway.toml, none is known.
fn note_on_agent(context: &WorkspaceContext, name: &str) -> Option<String> {
    let config = agent_config(context).ok()?.gateway;
    let names: Vec<&str> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
    if names.contains(&name) || name == Caller::CommandLine.for_people() {
        return None;
    }
    let message = format!("no agent has the name `{}`", load::shown_id(name));
    let failure = Failure::new(ErrorKind::NotFound, message);
    Some(failure.near(name, names.into_iter()).with_hints(&context.speller()))
}

/// Lists what ran, oldest first. Reads the newest receipts first, and stops at the limit or the first day.
pub(crate) fn search(context: &WorkspaceContext, filter: &HistoryFilter) -> Result<HistoryReport, Failure> {
    let tool = filter.tool.as_ref().map(|tool| load::id_of(context, tool)).transpose()?;
    let filter = &HistoryFilter { tool, ..filter.clone() };
    let view = context.queue().read()?;
    let mut runs: Vec<HistoryRow> = Vec::new();
    let mut statistics = filter.statistics.then(Statistics::default);
    let (mut skip, mut part) = (0, FIRST_PART);
    let (mut notes, mut more) = (Vec::new(), false);
    'parts: loop {
        let list = view.receipts_after(skip, part)?;
        if list.receipts.is_empty() && list.errors.is_empty() {
            break;
        }
        for stored in &list.receipts {
            let receipt = &stored.receipt;
            if filter.is_too_old(receipt) {
                break 'parts;
            }
            if !filter.fits(receipt) {
                continue;
            }
            match &mut statistics {
                Some(statistics) => statistics.add(receipt),
                None if filter.limit <= runs.len() => {
                    more = true;
                    break 'parts;
                }
                None => runs.push(row(&view, receipt)?),
            }
        }
        skip += part;
        part = (part * 2).min(MAX_PART);
        if filter.since.is_none() && MAX_SEARCHED <= skip {
            more = true;
            notes.push(format!("only the newest {skip} runs were searched, because no first day was given"));
            break;
        }
    }
    runs.reverse();
    Ok(HistoryReport {
        schema: HistoryReport::SCHEMA,
        target: context.target(),
        run_count: runs.len(),
        runs,
        more,
        statistics: statistics.map(|statistics| statistics.sum_up(filter.since, context.now())),
        notes,
    })
}

/// Lists the last runs of a tool among the newest runs, newest first.
pub(crate) fn last_runs(view: &View<'_>, tool: &str, limit: usize) -> Result<Vec<HistoryRow>, Failure> {
    let list = view.receipts(FIRST_PART)?;
    let of_tool = list.receipts.iter().filter(|stored| stored.receipt.tool_id == tool);
    of_tool.take(limit).map(|stored| row(view, &stored.receipt)).collect()
}

/// Describes listed runs as the log does. A run without a readable receipt has only what the list knows.
pub(crate) fn rows_of(context: &WorkspaceContext, list: &RunListReport) -> Result<Vec<HistoryRow>, Failure> {
    let view = context.queue().read()?;
    let describe = |run: RunSummary| {
        let described = match view.receipt(run.id.as_str()) {
            Ok(Some(FoundReceipt::Good(stored))) => row(&view, &stored.receipt),
            _ => row(&view, &run),
        };
        Ok(HistoryRow { short_id: view.short_run_id(run.id.as_str())?, ..described? })
    };
    list.runs.iter().map(describe).collect()
}

fn row(view: &View<'_>, receipt: &Receipt) -> Result<HistoryRow, Failure> {
    Ok(HistoryRow {
        started_at: receipt.started_at(),
        run_id: receipt.id.to_string(),
        call_id: receipt.call_id.to_string(),
        short_id: view.short_call_id(receipt.call_id.as_str())?,
        who: who(receipt.caller()),
        tool_id: receipt.tool_id.to_owned(),
        kind: receipt.kind.clone().unwrap_or_else(|| CallKind::Run.as_str().to_owned()),
        text: arguments_line(&receipt.asked_args()),
        args: receipt.asked_args(),
        approved_by: receipt.approval.as_ref().map(approver).unwrap_or_default(),
        status: receipt.status.as_str().to_owned(),
        failure: failure(receipt),
        duration_seconds: receipt.duration_seconds.as_ref().map(|seconds| seconds.as_f64()),
    })
}

/// Returns why a run failed, in one line.
fn failure(receipt: &Receipt) -> Option<String> {
    if is_good(&receipt.status) {
        return None;
    }
    let code = receipt.exit_code.map(|code| format!("exit code {code}"));
    let printed = || receipt.stderr_summary.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let failure = receipt.failure.clone().or_else(|| receipt.mcp_error_kind.clone());
    let failure = failure.or_else(|| printed().map(str::to_owned)).or(code)?;
    Some(short(&failure, MAX_FAILURE))
}

#[cfg(test)]
mod tests;
