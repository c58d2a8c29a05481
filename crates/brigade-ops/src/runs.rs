//! Operations on finished runs.

pub(crate) mod logs;
pub(crate) mod observe;
pub(crate) mod observed;
pub(crate) mod observing;

use std::sync::Arc;

use crate::{ObservedRun, seen_run};
use brigade_call::{Plan, RUNS, Receipt, ReplayOf, RunInputs, RunStatus, group_inputs};
use brigade_core::{ErrorCode, Glob, IdPrefix, NextStep, RunId};
use brigade_queue::{
    EnqueueOutcome, FoundReceipt, ListedRun, LocalHost, OnDuplicate, OpenRun, ResolvedRun, RunPage,
    StoredReceipt, View, check_status, unrecorded_receipt,
};
use brigade_workspace::{WorkspaceContext, gather, gather::RepeatRequest, load};

use crate::calls;
use crate::calls::running;
use crate::error::{Error, ErrorKind};
use crate::refusal::Refusal;
use crate::report::{
    BrokenReceipt, LedgerFinding, LedgerReport, RefusalMember, ReplayReport, Report as _, Rows,
    RunInputsReport, RunListReport, RunShowReport, RunSummary,
};

pub use brigade_queue::RunFilter;

/// Operations on runs.
#[derive(Clone)]
pub struct Runs {
    pub(crate) context: Arc<WorkspaceContext>,
}

impl Runs {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> Runs {
        Runs { context }
    }
}

impl Runs {
    /// Lists runs, newest first. With a limit, reads little more than it lists.
    ///
    /// # Errors
    /// Fails if the run to list before does not exist, or on a file error.
    pub fn list(&self, filter: &RunFilter) -> Result<RunListReport, Error> {
        let tool = filter.tool.as_ref().map(|tool| load::id_of(&self.context, tool)).transpose()?;
        let filter = &RunFilter { tool, ..filter.clone() };
        let before = match &filter.before {
            Some(prefix) => Some(find_run(&self.context, prefix)?.receipt.id.to_string()),
            None => None,
        };
        let queue = self.context.queue();
        let view = queue.read()?;
        let counts = view.run_counts()?;
        if let Some(status) = &filter.status {
            let known = RunStatus::ALL.iter().map(RunStatus::as_str).chain(counts.keys().map(String::as_str));
            check_status(status.as_str(), known)?;
        }
        // A status that no run has is not searched.
        let has_any = filter.status.as_ref().is_none_or(|status| counts.contains_key(status.as_str()));
        let searched = if has_any { filter.searched } else { Some(0) };
        let page = view.list_runs(&RunFilter { searched, ..filter.clone() }, before.as_deref())?;
        let RunPage { runs: shown, latest, next_before, errors: bad } = page;
        let latest = latest.map(|run| listed_summary(&self.context, &view, &run));
        let absolute = |path: &str| self.context.absolute(path);
        let errors: Vec<BrokenReceipt> = bad.iter().map(|bad| BrokenReceipt::new(bad, absolute)).collect();
        let context = self.context.clone();
        let runs = Rows::new(shown.len(), move |place| listed_summary(&context, &view, &shown[place]));
        let total: u64 = counts.values().sum();
        let notes = match &filter.tool {
            Some(tool) if runs.is_empty() => calls::note_on_tool(&self.context, tool)?.into_iter().collect(),
            _ => Vec::new(),
        };
        Ok(RunListReport {
            schema: RunListReport::SCHEMA,
            target: self.context.target(),
            runs_path: self.context.absolute(RUNS),
            run_count: usize::try_from(total).unwrap_or(usize::MAX),
            counts,
            error_count: errors.len(),
            errors,
            next_before,
            latest,
            runs,
            notes,
        })
    }

    /// Returns the ids of the newest runs, and how they ended. Reads little more.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn newest(&self, limit: usize) -> Result<Vec<(RunId, RunStatus)>, Error> {
        let list = self.context.queue().read()?.receipts(limit)?;
        let run = |stored: &StoredReceipt| (stored.receipt.id.clone(), stored.receipt.status.clone());
        Ok(list.receipts.iter().map(run).collect())
    }

    /// Shows one receipt.
    ///
    /// # Errors
    /// Returns [`Refusal::RunShow`] if no finished run matches, and file errors.
    pub fn show(&self, prefix: &IdPrefix) -> Result<RunShowReport, Error> {
        let shown = logs::meant_run(&self.context, prefix).and_then(|run| match run {
            ResolvedRun::Abandoned(run) => abandoned_report(&self.context, &run),
            run => {
                let run = run.into_receipt()?;
                let logs_on = self.context.queue().read()?.other_host(&run.stored_id)?;
                Ok(RunShowReport { logs_on, ..run_report(&self.context, run) })
            }
        });
        shown.map_err(|error| error.missing(&self.context, Refusal::RunShow))
    }

    /// Shows what a run used, grouped by what covers it: the approval, the arguments, the data of the tool, or nothing.
    ///
    /// # Errors
    /// Returns [`Refusal::RunShow`] if no run matches, and file errors.
    pub fn inputs(&self, prefix: &IdPrefix) -> Result<RunInputsReport, Error> {
        let receipt = *self.show(prefix)?.run;
        let seen = seen_run(&*self.context.fs, &self.context.queue().read()?, &receipt)?;
        let (seen, reason) = match seen {
            ObservedRun::Run(seen) => (Some(*seen), None),
            ObservedRun::Nothing(why) => (None, Some(why)),
        };
        let observed_run_id = seen.as_ref().map(|seen| seen.id.clone());
        let (observed, shared) = seen.map(|seen| (seen.observed, seen.data)).unwrap_or_default();
        // The current declarations of the entry. An unreadable catalog declares nothing.
        let config = gather::config(&self.context).ok();
        let tool = config.as_ref().and_then(|config| config.catalog.tool(&receipt.tool_id));
        let data: Vec<Glob> =
            tool.iter().flat_map(|tool| &tool.data).chain(&shared).map(|text| Glob::beneath(text)).collect();
        let RunInputs { bound, arguments, data, uncovered, folders } =
            group_inputs(&receipt, &observed, self.context.fs.root(), |path| {
                data.iter().any(|pattern| pattern.matches(path))
            });
        Ok(RunInputsReport {
            schema: RunInputsReport::SCHEMA,
            target: self.context.target(),
            run_id: receipt.id.to_string(),
            tool_id: receipt.tool_id.clone(),
            observed_run_id,
            reason,
            complete: observed.complete,
            truncated: observed.truncated,
            bound,
            arguments,
            data,
            uncovered,
            folders,
            written: observed.written.into_iter().flatten().map(|file| file.path).collect(),
            connected: observed.connected.unwrap_or_default(),
            denied: observed.denied.unwrap_or_default(),
            outside: observed.outside.unwrap_or_default(),
        })
    }

    /// Shows the newest receipt.
    ///
    /// # Errors
    /// Returns [`Refusal::RunShow`] without a run, and file errors.
    pub fn latest(&self) -> Result<RunShowReport, Error> {
        let newest = self.context.queue().read()?.receipts(1)?.receipts.into_iter().next();
        newest.map(|stored| run_report(&self.context, stored)).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "nothing has run yet")
                .coded(ErrorCode::RunMissing)
                .hint(NextStep::ListCalls)
                .refusing(&self.context, Refusal::RunShow)
        })
    }

    /// Queues a call with the arguments of a receipt, planned with the current contract, policy and files. Runs
    /// nothing. The call needs approval like any other.
    ///
    /// # Errors
    /// Returns [`Refusal::Replay`] if no run matches or the new call is blocked, and file errors.
    pub fn replay(&self, prefix: &IdPrefix) -> Result<ReplayReport, Error> {
        let context = &*self.context;
        let stored = find_run_to_change(context, prefix)
            .map_err(|error| error.missing(context, Refusal::Replay { run: None, plan: None }))?;
        let receipt = &stored.receipt;
        let run = stored.summary(context);
        let refused = |plan| Refusal::Replay { run: Some(Box::new(run.clone())), plan };
        if let Some(error) = running::of_agent(context, receipt.caller()) {
            return Err(error.refusing(context, refused(None)));
        }
        let config = gather::config(context)?;
        let planned =
            gather::plan_again(context, &config, &RepeatRequest::run(receipt), context.caller.clone());
        let planned = planned.map_err(|error| Error::from(error).missing(context, refused(None)))?;
        let plan = &planned.plan;
        let plan_report = Box::new(calls::plan_report(context, &config, &planned)?);
        if !plan.blockers().is_empty() || plan.holds_secret() {
            return Err(Error::new(ErrorKind::Refused, "the run cannot be replayed now")
                .because(plan.blockers().iter().cloned())
                .refusing(context, refused(Some(plan_report))));
        }
        let now = context.now();
        let replay = ReplayOf {
            run_id: receipt.id.to_string(),
            source_call_id: Some(receipt.call_id.to_string()),
            created_at: now,
        };
        let queue = context.queue();
        let mut locked = queue.lock(now)?;
        let queued = locked.enqueue_all(1, OnDuplicate::Queue, &mut |_, is_taken| {
            plan.to_call(now, Some(replay.clone()), is_taken)
        })?;
        let Some(EnqueueOutcome::Queued(call)) = queued.into_iter().next() else {
            unreachable!("a replay is queued beside calls that ask for the same");
        };
        Ok(ReplayReport {
            schema: ReplayReport::SCHEMA,
            target: context.target(),
            runs_path: context.absolute(RUNS),
            calls_path: context.calls_path(),
            store: context.store_kind(),
            run,
            plan: plan_report,
            blockers: RefusalMember::default(),
            blocker_details: RefusalMember::default(),
            created: 1,
            executed: 0,
            call: Box::new(call.call.shown(context)),
        })
    }

    /// Verifies the chain of receipts, starting at an entry of the ledger.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] if the ledger is shorter and nothing shows that it was cut, and file errors.
    pub fn verify(&self, from: u64) -> Result<LedgerReport, Error> {
        let verification = self.context.queue().read()?.verify(from)?;
        verification.check_start(from)?;
        let findings: Vec<LedgerFinding> = verification.findings.iter().map(LedgerFinding::from).collect();
        Ok(LedgerReport {
            schema: LedgerReport::SCHEMA,
            target: self.context.target(),
            runs_path: self.context.absolute(RUNS),
            valid: findings.is_empty(),
            checked: verification.checked,
            adopted: !verification.is_unadopted,
            findings,
        })
    }
}

/// Finds a finished run.
pub(crate) fn find_run(context: &WorkspaceContext, prefix: &IdPrefix) -> Result<StoredReceipt, Error> {
    Ok(logs::meant_run(context, prefix)?.into_receipt()?)
}

/// Finds a finished run before a write. A run whose runner is gone is recorded first.
fn find_run_to_change(context: &WorkspaceContext, prefix: &IdPrefix) -> Result<StoredReceipt, Error> {
    match logs::meant_run(context, prefix)? {
        ResolvedRun::Abandoned(run) => {
            calls::record_interrupted(context)?;
            find_run(context, &IdPrefix::new(run.run_id.as_str()))
        }
        run => Ok(run.into_receipt()?),
    }
}

/// Shows a run whose runner is gone, as the next writer will record it.
fn abandoned_report(context: &WorkspaceContext, run: &OpenRun) -> Result<RunShowReport, Error> {
    let stored = context.queue().read()?.call(&run.call_id)?;
    let claim = stored.as_ref().and_then(|stored| stored.call.claim.clone());
    let (Some(stored), Some(claim)) = (stored, claim) else {
        return Ok(run_report(context, ResolvedRun::Abandoned(run.clone()).into_receipt()?));
    };
    let host = LocalHost::new(context.fs.clone());
    let mut receipt = unrecorded_receipt(&host, &stored, &claim.run_id, context.now());
    receipt.extra.show(&["recorded"]);
    let next = next_of_run(context, &receipt);
    receipt.recorded = Some(false);
    Ok(shown_run(context, receipt, next))
}

fn run_report(context: &WorkspaceContext, stored: StoredReceipt) -> RunShowReport {
    let next = next_of_run(context, &stored.receipt);
    let mut receipt = stored.receipt;
    receipt.extra.show(RunSummary::MEMBERS);
    shown_run(context, receipt, next)
}

fn shown_run(context: &WorkspaceContext, receipt: Receipt, next: Option<NextStep>) -> RunShowReport {
    RunShowReport {
        schema: RunShowReport::SCHEMA,
        target: context.target(),
        runs_path: context.absolute(RUNS),
        run: Box::new(receipt.shown(context)),
        error: RefusalMember::default(),
        candidates: RefusalMember::default(),
        next,
        logs_on: None,
    }
}

/// Returns the next step that would be accepted after a run now.
fn next_of_run(context: &WorkspaceContext, receipt: &Receipt) -> Option<NextStep> {
    receipt.next_step(|| plan_of_replay(context, receipt))
}

/// Returns the step that queues the call of a run again, if it would be accepted now.
pub(crate) fn replay_of(context: &WorkspaceContext, run_id: &str) -> Option<NextStep> {
    let receipt = find_run(context, &IdPrefix::new(run_id)).ok()?.receipt;
    receipt.replay_step(|| plan_of_replay(context, &receipt))
}

fn plan_of_replay(context: &WorkspaceContext, receipt: &Receipt) -> Option<Plan> {
    let config = gather::config(context).ok()?;
    Some(
        gather::plan_again(context, &config, &RepeatRequest::run(receipt), context.caller.clone()).ok()?.plan,
    )
}

/// Reads and summarizes a listed receipt. A receipt that was removed meanwhile has only ids and status.
fn listed_summary(context: &WorkspaceContext, view: &View<'_>, run: &ListedRun) -> RunSummary {
    match view.receipt(run.stored_id()) {
        Ok(Some(FoundReceipt::Good(stored))) => stored.summary(context),
        _ => {
            let (id, call) = (run.id.clone(), run.call_id.clone());
            RunSummary::from_receipt(Receipt::new(id, call, run.status.clone()))
        }
    }
}

#[cfg(test)]
mod tests;
