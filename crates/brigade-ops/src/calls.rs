//! Operations on calls: plan, queue, show, decide.

pub(crate) mod args;
pub(crate) mod batch;
pub(crate) mod claim;
pub(crate) mod ending;
pub(crate) mod finding;
pub(crate) mod live;
pub(crate) mod offers;
pub(crate) mod replan;
pub(crate) mod request;
pub(crate) mod running;
pub(crate) mod waiting;
pub(crate) mod watching;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::{InstallReport, InstallRequest};
use brigade_call::{
    ApprovedBy, Binding, BoundCode, Call, CallStatus, Caller, Change, HostOffer, Plan, Preview, Step,
    StoreKind, shown_policy, shown_projections,
};
use brigade_catalog::Reads;
use brigade_core::{CallId, ErrorCode, Fingerprint, Hint, IdPrefix, NextStep, Severity};
use brigade_policy::{BlockerDetail, Failure, invalid};
use brigade_projection::blocking;
use brigade_queue::{OnDuplicate, QueueError, Review, StoredCall, View, check_status};
use brigade_workspace::{
    CATALOG, Config, POLICY, WorkspaceContext, gather,
    gather::{PlannedCall, RepeatRequest},
    load,
    load::shown_id,
};

use crate::calls::finding::{call_to_change, find_call, refusal_of};
use crate::calls::offers::{ApprovedHosts, grouped, not_approvable, offers_for};
use crate::calls::request::Request;
use crate::calls::running::Runner;
use crate::checkpoints;
use crate::error::{Error, ErrorKind, ok_if_found};
use crate::pins;
use crate::refusal::Refusal;
use crate::report::{
    CallReport, OfferGroup, PlanReport, ProjectionReport, QueueReport, RefusalMember, Report as _,
    ReviewReport,
};
use crate::tools::installing::auto_install;
use crate::trust::note_approved;
use crate::views::review;

pub use brigade_queue::CallFilter;

/// Plans, queues, shows, decides and runs calls.
#[derive(Clone)]
pub struct Calls {
    pub(crate) context: Arc<WorkspaceContext>,
    pub(crate) runner: Arc<dyn Runner>,
}

impl Calls {
    /// Creates the operations on a workspace. Calls that may run are passed to `runner`.
    pub fn new(context: Arc<WorkspaceContext>, runner: Arc<dyn Runner>) -> Calls {
        Calls { context, runner }
    }
}

/// A list of calls. As an iterator it reads them all at once; [`CallList::for_each`] reads them one by one.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallList {
    /// The workspace root.
    pub target: String,
    /// The queue file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// Number of calls by status, listed or not.
    pub counts: BTreeMap<String, u64>,
    filter: CallFilter,
    view: Arc<View<'static>>,
    context: Arc<WorkspaceContext>,
}

impl Calls {
    /// Plans a call: validates and renders the arguments, and finds every reason against the call. Runs nothing.
    ///
    /// A blocked call is a report with its reasons, not an error.
    ///
    /// # Errors
    /// Returns [`Refusal::Plan`] if the tool does not exist, and file errors.
    pub fn plan(&self, request: Request) -> Result<PlanReport, Error> {
        let Request { tool, args, .. } = &request;
        let context = &*self.context;
        let config = gather::config(context)?;
        let (planned, missing) = args::plan_request(context, &config, tool, args)?;
        let report = plan_report(context, &config, &planned)?;
        match missing {
            None => Ok(report),
            Some(error) => {
                let error = invalid_policy(&config).unwrap_or_else(|| error.into());
                Err(error.refusing(context, Refusal::Plan(Box::new(report))))
            }
        }
    }

    /// Plans a call and stores it for review, unless the queue has an equal call.
    ///
    /// A call with an argument that looks like a secret is never stored.
    ///
    /// # Errors
    /// Returns [`Refusal::Queue`] if the call is refused, and file errors.
    pub fn queue(&self, request: Request) -> Result<QueueReport, Error> {
        let Request { tool, args, blocked } = &request;
        let config = gather::config(&self.context)?;
        let (planned, missing) = args::plan_request(&self.context, &config, tool, args)?;
        let plan = &planned.plan;
        let refused = || plan.not_to_be_queued(*blocked).map(|why| Failure::new(ErrorKind::Refused, why));
        if let Some(error) = missing.or_else(refused) {
            let call = Box::new(plan.shown_call(self.context.now()).shown(&*self.context));
            // Under an invalid policy, the other blockers are not reliable.
            let error = invalid_policy(&config)
                .unwrap_or_else(|| error.because(plan.blockers().iter().cloned()).into());
            let installation = auto_install(&self.context, &config, plan.tool_id());
            let error = match installation {
                Some(id) => error.hint(Hint::to("install it first", NextStep::Approve(id))),
                None => error,
            };
            return Err(error.refusing(&self.context, Refusal::Queue { call }));
        }
        self.context.digests.keep(&*self.context.fs);
        let now = self.context.now();
        let queue = self.context.queue();
        let mut locked = queue.lock(now)?;
        let mut stored =
            locked.enqueue_all(1, OnDuplicate::Skip, &mut |_, is_taken| plan.to_call(now, None, is_taken))?;
        let stored = stored.pop().expect("one call was handed in, so one comes back");
        let (call, reason) = stored.into_call();
        Ok(queue_report(&self.context, plan, call.call.shown(&*self.context), reason))
    }

    /// Lists calls, oldest first. The returned list iterates over them, or reads them while it passes them on.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] for an unknown status, and file errors.
    pub fn list(&self, mut filter: CallFilter) -> Result<CallList, Error> {
        if let Some(tool) = &filter.tool {
            filter.tool = Some(load::id_of(&self.context, tool)?);
        }
        let view = Arc::new(self.context.queue().read()?);
        let counts = view.call_counts()?;
        if let Some(status) = &filter.status {
            let found = counts.keys().map(String::as_str);
            check_status(status.as_str(), CallStatus::ALL.iter().map(CallStatus::as_str).chain(found))?;
        }
        let (target, calls_path) = (self.context.target(), self.context.calls_path());
        let store = self.context.store_kind();
        Ok(CallList { target, calls_path, store, counts, filter, view, context: self.context.clone() })
    }

    /// Shows one call.
    ///
    /// # Errors
    /// Returns [`Refusal::Call`] if no call matches, or if the call is open and the policy is invalid, and file errors.
    pub fn show(&self, call: impl Into<IdPrefix>) -> Result<CallReport, Error> {
        self.show_revision(call).map(|(report, _)| report)
    }

    /// Shows one call, and returns the revision that was shown, for [`ChosenCall::Shown`](crate::ChosenCall::Shown).
    ///
    /// # Errors
    /// As [`Calls::show`].
    pub fn show_revision(&self, call: impl Into<IdPrefix>) -> Result<(CallReport, u64), Error> {
        let stored = find_shown(&self.context, &call.into())?;
        let revision = stored.revision;
        show_stored(&self.context, stored).map(|(report, _)| (report, revision))
    }

    /// Queues the installations of tools. Runs nothing: neither a check nor a command.
    ///
    /// # Errors
    /// Fails if a named tool does not exist, inside a run, and on file errors. Then nothing is queued.
    pub fn install(&self, request: &InstallRequest) -> Result<InstallReport, Error> {
        if !request.dry_run {
            self.context.require_outside_run()?;
        }
        Ok(crate::install(&self.context, request)?)
    }

    /// Approves a pending or held call, and binds everything that decides what runs, in its current state. Runs
    /// nothing.
    ///
    /// If an MCP server listed the tool differently than pinned, the approval accepts the change, and the report
    /// describes it. The pin is renewed to the bound listing. Another change by the server is refused again.
    ///
    /// # Errors
    /// Returns [`Refusal::Review`] if the call cannot be approved now, and file errors.
    pub fn approve(&self, call: &CallId) -> Result<ReviewReport, Error> {
        self.approve_as(call, &DecisionBasis::Current)
    }

    pub(crate) fn approve_as(&self, id: &CallId, basis: &DecisionBasis<'_>) -> Result<ReviewReport, Error> {
        let context = &*self.context;
        context.require_outside_run()?;
        let (mut stored, reviewed) = find_call_to_review(context, id, basis, Step::Approve)?;
        let hosts = offers_for(context, &stored.call)?;
        let is_again = may_cover_more(context, &stored.call, &hosts)?;
        let call = &match is_again {
            true => Call { status: CallStatus::Pending, ..stored.call.clone() },
            false => stored.call.clone(),
        };
        let refused = |error| review_refused(context, Some(call), error);
        if let Err(wrong) = call.status.check(Step::Approve) {
            return Err(refused(with_hint(context, Error::from(wrong), call)));
        }
        let of_call = || Refusal::Review { call: Some(Box::new(call.clone().shown(context))), pin: None };
        let (config, planned) =
            plan_again(context, call).map_err(|error| error.missing(context, of_call()))?;
        let plan = &planned.plan;
        let approved = match ApprovedHosts::new(plan, call, &hosts) {
            Ok(approved) => approved,
            Err(reasons) => return Err(refused(not_approvable(context, call, &hosts, reasons)?)),
        };
        let offers = grouped(&hosts, Some(plan.binding()));
        let is_shown = |reviewed: &ReviewedCall| {
            reviewed.binding == Some(plan.binding().fingerprint()) && reviewed.offers == offers
        };
        if reviewed.is_some_and(|reviewed| !is_shown(&reviewed)) {
            return Err(refused(QueueError::Changed { id: call.id.clone() }.into()));
        }
        if !changes_to_review(context, plan, call).is_empty() {
            return Err(tell_changes(context, &stored, plan)?);
        }
        let pin = approved.binding.pin;
        let shown = preview(context, &config, call, plan)?;
        if is_again {
            let reason = "approved again, for other hosts".to_owned();
            record_review(context, &stored, Review::Reopen(reason))?;
            stored.revision += 1;
        }
        let by = ApprovedBy::command_line();
        let review = Review::Approve(Box::new(approved.binding), by, approved.hosts);
        let report = record_review(context, &stored, review)?;
        note_approved(context, &config, plan, call.id.as_str());
        let report = ReviewReport { offers, ..report };
        let report = ReviewReport { preview: Some(Box::new(shown)), ..report };
        // The approval is stored. After a crash here, the run renews the pin.
        let Some(bound) = pin else { return Ok(report) };
        let (pin, accepted_changes) = pins::renew_pin(context, call, bound)?;
        Ok(ReviewReport { pin: pin.map(|pin| pins::pin_summary(context, &pin)), accepted_changes, ..report })
    }

    /// Rejects a call with a reason.
    ///
    /// # Errors
    /// Returns [`Refusal::Review`] if the call cannot be rejected now, and file errors.
    pub fn reject(&self, call: &CallId, reason: &str) -> Result<ReviewReport, Error> {
        self.decline(call, &DecisionBasis::Current, Step::Reject, Review::Reject, reason)
    }

    /// Holds a call with a reason.
    ///
    /// # Errors
    /// Returns [`Refusal::Review`] if the call cannot be held now, and file errors.
    pub fn hold(&self, call: &CallId, reason: &str) -> Result<ReviewReport, Error> {
        self.decline(call, &DecisionBasis::Current, Step::Hold, Review::Hold, reason)
    }

    pub(crate) fn decline(
        &self,
        id: &CallId,
        basis: &DecisionBasis<'_>,
        step: Step,
        review: fn(String) -> Review,
        reason: &str,
    ) -> Result<ReviewReport, Error> {
        let context = &*self.context;
        let review = review(gather::clean_reason(context, reason)?);
        context.require_outside_run()?;
        let (stored, _) = find_call_to_review(context, id, basis, step)?;
        record_review(context, &stored, review)
    }
}

impl CallList {
    /// Passes on the calls, oldest first, until `found` breaks. Paths are relative to the workspace.
    pub fn for_each(&self, found: &mut dyn FnMut(&Call) -> ControlFlow<()>) -> Result<(), Error> {
        Ok(self.view.list_calls(&self.filter, &mut |stored| found(&stored.call))?)
    }

    /// Returns the shortest unique form of a call's id that commands accept, such as `call-8303`.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn short_id(&self, call: &Call) -> Result<String, Error> {
        Ok(self.view.short_call_id(call.id.as_str())?)
    }

    /// Passes on the JSON of the calls with absolute paths, oldest first, indented as elements of a list at depth 1 of
    /// a document. For very long lists: stored text is copied without parsing it into values.
    pub fn for_each_text(&self, found: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), Error> {
        Ok(self.view.for_each_text(&self.filter, &*self.context, found)?)
    }

    /// Returns why the list may be empty, such as an unknown tool.
    pub fn notes(&self) -> Result<Vec<String>, Error> {
        let note = self.filter.tool.as_ref().map(|tool| note_on_tool(&self.context, tool));
        Ok(note.transpose()?.flatten().into_iter().collect())
    }
}

impl IntoIterator for CallList {
    type Item = Result<Call, Error>;
    type IntoIter = std::vec::IntoIter<Result<Call, Error>>;

    /// Reads the calls, oldest first. Paths are relative to the workspace. An error of the disk is the last item.
    fn into_iter(self) -> Self::IntoIter {
        let mut calls = Vec::new();
        let read = self.for_each(&mut |call| {
            calls.push(Ok(call.clone()));
            ControlFlow::Continue(())
        });
        calls.extend(read.err().map(Err));
        calls.into_iter()
    }
}

/// Returns a note if the catalog has no tool with this id.
pub(crate) fn note_on_tool(context: &WorkspaceContext, id: &str) -> Result<Option<String>, Error> {
    let catalog = load::catalog(context)?;
    if load::named(&catalog, id).is_some() || Reads::of_tool_id(id).is_some() {
        return Ok(None);
    }
    let failure = Failure::new(ErrorKind::NotFound, format!("no tool has the id `{}`", shown_id(id)));
    Ok(Some(failure.near(id, catalog.ids()).with_hints(&context.speller())))
}

/// Returns the next step for a call that would be accepted now.
fn next_of(context: &WorkspaceContext, call: &Call, plan: Option<&Plan>) -> Result<Option<NextStep>, Error> {
    match call.checkpoint_ids.first().filter(|_| call.status == CallStatus::ResumePending) {
        Some(id) => {
            Ok(checkpoints::next_for(context, id, call)?.or_else(|| call.next_step(plan, context.now())))
        }
        None => Ok(call.next_step(plan, context.now())),
    }
}

/// Returns an error if the policy is invalid. Then it is unknown what a call may do.
pub fn invalid_policy(config: &Config) -> Option<Error> {
    let errors = invalid(&config.policy);
    let first = errors.first()?.message.clone();
    Some(Error::new(ErrorKind::Refused, first).because(errors))
}

/// Returns why every call is refused, and the place of the first error, if the policy is invalid. A policy that git
/// tracks counts as missing.
pub fn refusing_policy(config: &Config) -> Option<Error> {
    let errors = invalid(&config.policy);
    if errors.iter().any(|error| error.is(ErrorCode::TrackedState)) {
        return None;
    }
    let place = errors.first()?.place.as_ref().map_or_else(|| POLICY.to_owned(), ToString::to_string);
    Some(Error::new(ErrorKind::Refused, format!("nothing can be called: see {place}")).because(errors))
}

/// Shows what a call would run now, beside the last approved call of its tool.
fn preview(context: &WorkspaceContext, config: &Config, call: &Call, plan: &Plan) -> Result<Preview, Error> {
    let earlier = context.queue().read()?.last_approved(&call.tool_id, &call.id)?;
    Ok(Preview::new(
        plan,
        call,
        earlier.as_ref().map(|stored| &stored.call),
        watching::unbound(context, config, plan)?,
    ))
}

/// Returns whether an approved call may be approved again, because the approval would cover more hosts of a team.
fn may_cover_more(context: &WorkspaceContext, call: &Call, hosts: &[HostOffer]) -> Result<bool, Error> {
    if call.status != CallStatus::Approved || hosts.is_empty() {
        return Ok(false);
    }
    let Some((_, planned)) = ok_if_found(plan_again(context, call))? else { return Ok(false) };
    let pending = Call { status: CallStatus::Pending, ..call.clone() };
    let more = ApprovedHosts::new(&planned.plan, &pending, hosts);
    Ok(more.is_ok_and(|more| more.covers_more_than(call)))
}

/// Lists changes since the call was queued that a person sees first. Another host of a team may have queued it, with
/// other programs and another policy.
fn changes_to_review(context: &WorkspaceContext, plan: &Plan, call: &Call) -> Vec<Change> {
    let mut changes = plan.changes_to_review(call);
    changes.retain(|change| context.shared_name().is_none() || *change == Change::Code);
    changes
}

/// Reports the changes since the call was queued, and stores them in the call. The next approval accepts exactly
/// these changes.
fn tell_changes(context: &WorkspaceContext, stored: &StoredCall, plan: &Plan) -> Result<Error, Error> {
    let call = &stored.call;
    let report = record_review(context, stored, Review::Replan(Box::new(plan.replan())))?;
    let message = format!("call {} is not approved yet: it would not run what was queued", call.id);
    let error = Error::new(ErrorKind::Refused, message)
        .because(plan.blockers_to_review(call))
        .hint(Hint::to("take it as it is now", NextStep::Approve(call.id.clone())));
    Ok(error.refusing(context, Refusal::Review { call: Some(Box::new(report.call)), pin: report.pin }))
}

/// What a decision is based on.
pub(crate) enum DecisionBasis<'a> {
    /// The call as it is now.
    Current,
    /// What was shown. The decision counts only for this revision.
    Revision(u64),
    /// A review. The decision counts only for this fingerprint of it.
    Review(&'a str),
}

/// What a reviewed call showed, for comparison with what an approval binds.
struct ReviewedCall {
    /// The fingerprint of what this host would run.
    binding: Option<Fingerprint>,
    /// What the hosts of a team would.
    offers: Vec<OfferGroup>,
}

/// Finds the call of a decision. Of a reviewed call, also returns what it showed.
fn find_call_to_review(
    context: &WorkspaceContext,
    id: &CallId,
    basis: &DecisionBasis<'_>,
    step: Step,
) -> Result<(StoredCall, Option<ReviewedCall>), Error> {
    let found = call_to_change(context, id);
    let stored = found.map_err(|error| error.missing(context, refusal_of(step)))?;
    if matches!(basis, DecisionBasis::Revision(shown) if *shown != stored.revision) {
        let changed = QueueError::Changed { id: stored.call.id.clone() };
        return Err(review_refused(context, Some(&stored.call), changed.into()));
    }
    let DecisionBasis::Review(shown) = basis else { return Ok((stored, None)) };
    let review = review::review_stored(context, stored.clone())?;
    review.check(shown).map_err(|error| review_refused(context, Some(&stored.call), error))?;
    let binding = review.preview.map(|preview| preview.binding.fingerprint());
    Ok((stored, Some(ReviewedCall { binding, offers: review.host_offers })))
}

fn find_shown(context: &WorkspaceContext, call: &IdPrefix) -> Result<StoredCall, Error> {
    find_call(context, call, None).map_err(|error| error.missing(context, Refusal::Call { call: None }))
}

/// Shows a stored call. Also returns the configuration under which an open call was planned.
pub(crate) fn show_stored(
    context: &WorkspaceContext,
    stored: StoredCall,
) -> Result<(CallReport, Option<Arc<Config>>), Error> {
    let call = stored.call;
    let planned = if call.is_open() { ok_if_found(plan_again(context, &call))? } else { None };
    if let Some((config, _)) = &planned
        && let Some(error) = invalid_policy(config)
    {
        return Err(error.refusing(context, Refusal::Call { call: Some(Box::new(call.shown(context))) }));
    }
    let (plan, now) = (planned.as_ref().map(|(_, planned)| &planned.plan), context.now());
    let moved = call.moved_program(plan, now).as_ref().map(BlockerDetail::from);
    let waits = matches!(call.status, CallStatus::Pending | CallStatus::Held);
    let mut blocker_details = match plan {
        // The blockers of an approval.
        Some(plan) if waits => match plan.approvable(&call) {
            Ok(_) => plan.reason_details(),
            Err(blockers) => blockers.iter().map(BlockerDetail::from).collect(),
        },
        Some(plan) => plan.reason_details(),
        None => Vec::new(),
    };
    blocker_details.retain(|detail| moved.as_ref().is_none_or(|moved| moved.code != detail.code));
    blocker_details.extend(moved);
    let report = CallReport {
        schema: CallReport::SCHEMA,
        target: context.target(),
        calls_path: context.calls_path(),
        store: context.store_kind(),
        pin: pins::pin_beside(context, &call)?.map(|pin| pins::pin_summary(context, &pin)),
        changed: call.changes_since_approved(plan, now),
        next: next_of(context, &call, plan)?,
        offers: grouped(&offers_for(context, &call)?, plan.map(Plan::binding)),
        blocker_details,
        preview: planned
            .as_ref()
            .map(|(config, planned)| preview(context, config, &call, &planned.plan))
            .transpose()?
            .map(Box::new),
        call: call.shown(context),
        error: RefusalMember::default(),
        candidates: RefusalMember::default(),
    };
    Ok((report, planned.map(|(config, _)| config)))
}

/// Adds the next step that is possible for a call.
fn with_hint(context: &WorkspaceContext, error: Error, call: &Call) -> Error {
    match brigade_call::way_on(call) {
        Some(hint) => error.hint(context.spelled(hint)),
        None => error,
    }
}

/// Withdraws a call that a rule approved and that did not run, and records why. Any other call is not changed, and is
/// returned.
///
/// # Errors
/// Returns [`Refusal::Review`] if the call runs or has ended, and file errors.
pub fn give_up(context: &WorkspaceContext, stored: StoredCall, why: &str) -> Result<Option<Call>, Error> {
    if stored.call.status != CallStatus::Approved || stored.call.approved_without_person().is_none() {
        return Ok(Some(stored.call));
    }
    let review = Review::Withdraw(format!("a rule approved it, and it was not run: {why}"));
    record_review(context, &stored, review).map(|_| None)
}

/// Records that a person approved the revision that was shown, and so reviewed what the call runs.
///
/// # Errors
/// Returns [`Refusal::Review`] if the call does not allow it now, and file errors.
pub fn record_approval(
    context: &WorkspaceContext,
    config: &Config,
    stored: &StoredCall,
    plan: &Plan,
    binding: Binding,
    by: ApprovedBy,
) -> Result<ReviewReport, Error> {
    let report = record_review(context, stored, Review::Approve(Box::new(binding), by, Vec::new()))?;
    note_approved(context, config, plan, stored.call.id.as_str());
    Ok(report)
}

/// Records a decision on the revision that was shown.
///
/// # Errors
/// Returns [`Refusal::Review`] if the call does not allow it now, and file errors.
pub fn record_review(
    context: &WorkspaceContext,
    stored: &StoredCall,
    review: Review,
) -> Result<ReviewReport, Error> {
    context.digests.keep(&*context.fs);
    let now = context.now();
    let queue = context.queue();
    let mut locked = queue.lock(now)?;
    match locked.review(&stored.call.id, stored.revision, review, now) {
        Ok(stored) => Ok(ReviewReport {
            schema: ReviewReport::SCHEMA,
            target: context.target(),
            calls_path: context.calls_path(),
            store: context.store_kind(),
            pin: pins::pin_beside(context, &stored.call)?.map(|pin| pins::pin_summary(context, &pin)),
            call: stored.call.shown(context),
            preview: None,
            offers: Vec::new(),
            accepted_changes: Vec::new(),
            blockers: RefusalMember::default(),
            blocker_details: RefusalMember::default(),
            candidates: RefusalMember::default(),
        }),
        Err(error @ (QueueError::WrongStep { .. } | QueueError::Changed { .. } | QueueError::Newer(_))) => {
            let wrong_step = matches!(error, QueueError::WrongStep { .. });
            let error = Error::from(error);
            let error = if wrong_step { with_hint(context, error, &stored.call) } else { error };
            Err(review_refused(context, Some(&stored.call), error))
        }
        Err(error) => Err(error.into()),
    }
}

fn review_refused(context: &WorkspaceContext, call: Option<&Call>, error: Error) -> Error {
    error.refusing(
        context,
        Refusal::Review { call: call.map(|call| Box::new(call.clone().shown(context))), pin: None },
    )
}

/// Records runs whose runner is gone, with receipts, as every writer does first.
pub fn record_interrupted(context: &WorkspaceContext) -> Result<(), Error> {
    let now = context.now();
    drop(context.queue().lock(now)?);
    Ok(())
}

/// Returns the caller to plan for. A person at the command line reviews an agent's call with the rights of the agent.
fn planning_caller(context: &WorkspaceContext, call: &Call) -> Caller {
    match (&context.caller, &call.caller) {
        (Caller::CommandLine, Caller::Agent(_)) => call.caller.clone(),
        (caller, _) => caller.clone(),
    }
}

/// Plans a stored call again with its arguments and current facts.
///
/// # Errors
/// Fails if the tool no longer exists, and on file errors.
pub fn plan_again(context: &WorkspaceContext, call: &Call) -> Result<(Arc<Config>, PlannedCall), Error> {
    let config = gather::config(context)?;
    let planned =
        gather::plan_again(context, &config, &RepeatRequest::call(call), planning_caller(context, call))?;
    Ok((config, planned))
}

pub(crate) fn plan_report(
    context: &WorkspaceContext,
    config: &Config,
    planned: &PlannedCall,
) -> Result<PlanReport, Error> {
    let plan = &planned.plan;
    let absolute = |path: &str| context.absolute(path);
    let unbound = watching::unbound(context, config, plan)?;
    Ok(PlanReport {
        schema: PlanReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        valid: plan.blockers().is_empty(),
        tool_id: plan.tool_id().to_owned(),
        plan: plan.summary().clone(),
        blockers: plan.reasons(),
        blocker_details: plan.reason_details(),
        policy: shown_policy(context, plan.policy().clone()),
        warnings: config
            .policy
            .issues()
            .iter()
            .filter(|issue| issue.severity == Severity::Warning)
            .map(ToString::to_string)
            .chain(plan.unchecked().map(str::to_owned))
            .chain(crate::doubts(context, config, plan.tool_id()))
            .chain(shell_words(context, config, plan))
            .collect(),
        validation_errors: plan.violations().to_vec(),
        projection_blockers: blocking(&planned.projections)
            .into_iter()
            .map(|item| ProjectionReport::new(item.clone(), absolute))
            .collect(),
        projection_summary: shown_projections(context, plan.projection_summary().clone()),
        contract_fingerprint: plan.contract_fingerprint(),
        source_fingerprint: plan.source_fingerprint(),
        call_fingerprint: Some(plan.call_fingerprint().to_hex()).filter(|_| !plan.is_missing()),
        argv: plan.shown_argv(),
        bound_code: BoundCode { unbound, ..plan.code().clone() },
    })
}

/// Returns a warning if a word of a tool's command has a meaning only to a shell, unless a blocker already says so.
fn shell_words(context: &WorkspaceContext, config: &Config, plan: &Plan) -> Option<String> {
    let tool = config.catalog.tool(plan.tool_id())?;
    brigade_doctor::shell_words(tool, plan.blockers(), context.host().home())
}

pub(crate) fn queue_report(
    context: &WorkspaceContext,
    plan: &Plan,
    call: Call,
    reason: Option<String>,
) -> QueueReport {
    QueueReport {
        schema: QueueReport::SCHEMA,
        target: context.target(),
        calls_path: context.calls_path(),
        store: context.store_kind(),
        created: u8::from(reason.is_none()),
        skipped: u8::from(reason.is_some()),
        blocked: u8::from(!plan.blockers().is_empty()),
        call,
        reason,
        blockers: plan.reasons(),
        blocker_details: plan.reason_details(),
    }
}

#[cfg(test)]
mod tests;
