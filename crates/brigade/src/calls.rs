//! Operations on calls: plan, queue, show, decide.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use brigade_call::{
    ApprovedBy, BoundCode, Call, CallStatus, Caller, Plan, Preview, Step, shown_policy, shown_projections,
};
use brigade_catalog::Reads;
use brigade_core::{Hint, IdPrefix, NextStep, Severity};
use brigade_policy::{BlockerDetail, Failure, invalid};
use brigade_projection::blocking;
use brigade_queue::{OnDuplicate, QueueError, Review, StoredCall, View, check_status};

use crate::args;
use crate::checkpoints;
use crate::error::{Error, ErrorKind, if_any};
use crate::pins;
use crate::refusal::Refusal;
use crate::report::{
    CallReport, PlanReport, ProjectionReport, QueueReport, Report as _, ReviewReport, Unfilled,
};
use crate::request::Request;
use crate::room::{CALLS, CATALOG, Room};
use crate::watching;
use brigade_core::codes;
use brigade_facts::Config;
use brigade_upkeep::gather;
use brigade_upkeep::gather::{Again, Planned};
use brigade_upkeep::load;
use brigade_upkeep::load::shown_id;

pub use brigade_queue::CallFilter;

/// Plans, queues, shows, decides and runs calls.
#[derive(Clone)]
pub struct Calls {
    pub(crate) room: Arc<Room>,
}

/// A list of calls, read while it is passed on, because there may be many.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallList {
    /// The workspace root.
    pub target: String,
    /// The queue file.
    pub calls_path: String,
    /// Number of calls by status, listed or not.
    pub counts: BTreeMap<String, u64>,
    filter: CallFilter,
    view: Arc<View<'static>>,
    room: Arc<Room>,
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
        let room = &*self.room;
        let config = gather::config(room)?;
        let (planned, missing) =
            gather::plan_request(room, &config, tool, args::args(room, args), None, None)?;
        let report = plan_report(room, &config, &planned)?;
        match missing {
            None => Ok(report),
            Some(error) => {
                let error = invalid_policy(&config).unwrap_or_else(|| error.into());
                Err(error.refusing(room, Refusal::Plan(Box::new(report))))
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
        let config = gather::config(&self.room)?;
        let (planned, missing) =
            gather::plan_request(&self.room, &config, tool, args::args(&self.room, args), None, None)?;
        let plan = &planned.plan;
        let refused = || plan.not_to_be_queued(*blocked).map(|why| Failure::new(ErrorKind::Refused, why));
        if let Some(error) = missing.or_else(refused) {
            let call = Box::new(plan.shown_call(self.room.now()).shown(&*self.room));
            // Under an invalid policy, nothing else is certain.
            let error = invalid_policy(&config)
                .unwrap_or_else(|| error.because(plan.blockers().iter().cloned()).into());
            return Err(error.refusing(&self.room, Refusal::Queue { call }));
        }
        self.room.digests.keep(&*self.room.fs);
        let now = self.room.now();
        let queue = self.room.queue();
        let mut locked = queue.lock(now)?;
        let mut stored =
            locked.enqueue_all(1, OnDuplicate::Skip, &mut |_, is_taken| plan.to_call(now, None, is_taken))?;
        let stored = stored.pop().expect("one call was handed in, so one comes back");
        let (call, reason) = stored.into_call();
        Ok(queue_report(&self.room, plan, call.call.shown(&*self.room), reason))
    }

    /// Lists calls, oldest first. The returned list reads them while it passes them on.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] for an unknown status, and file errors.
    pub fn list(&self, mut filter: CallFilter) -> Result<CallList, Error> {
        if let Some(tool) = &filter.tool {
            filter.tool = Some(load::id_of(&self.room, tool)?);
        }
        let view = Arc::new(self.room.queue().read()?);
        let counts = view.call_counts()?;
        if let Some(status) = &filter.status {
            let found = counts.keys().map(String::as_str);
            check_status(status, CallStatus::ALL.iter().map(CallStatus::as_str).chain(found))?;
        }
        let (target, calls_path) = (self.room.target(), calls_path(&self.room));
        Ok(CallList { target, calls_path, counts, filter, view, room: self.room.clone() })
    }

    /// Shows one call.
    ///
    /// # Errors
    /// Returns [`Refusal::Call`] if no call matches, or if the call is open and the policy is invalid, and file errors.
    pub fn show(&self, call: impl Into<IdPrefix>) -> Result<CallReport, Error> {
        let room = &*self.room;
        let stored = find_call(room, &call.into(), None)
            .map_err(|error| error.missing(room, Refusal::Call { call: None }))?;
        let call = stored.call;
        let planned = if call.is_open() { if_any(plan_again(room, &call))? } else { None };
        if let Some((config, _)) = &planned
            && let Some(error) = invalid_policy(config)
        {
            return Err(error.refusing(room, Refusal::Call { call: Some(Box::new(call.shown(room))) }));
        }
        let (plan, now) = (planned.as_ref().map(|(_, planned)| &planned.plan), room.now());
        let moved = call.moved_program(plan, now).as_ref().map(BlockerDetail::from);
        let waits = matches!(call.status, CallStatus::Pending | CallStatus::Held);
        let mut blocker_details = match plan {
            // What an approval would say.
            Some(plan) if waits => match plan.approvable(&call) {
                Ok(_) => plan.reason_details(),
                Err(blockers) => blockers.iter().map(BlockerDetail::from).collect(),
            },
            Some(plan) => plan.reason_details(),
            None => Vec::new(),
        };
        blocker_details.retain(|detail| moved.as_ref().is_none_or(|moved| moved.code != detail.code));
        blocker_details.extend(moved);
        Ok(CallReport {
            schema: CallReport::SCHEMA,
            target: self.room.target(),
            calls_path: calls_path(&self.room),
            pin: pins::pin_beside(room, &call)?.map(|pin| pins::pin_summary(room, &pin)),
            changed: call.changes_since_approved(plan, now),
            next: next_of(room, &call, plan)?,
            blocker_details,
            preview: planned
                .as_ref()
                .map(|(config, planned)| preview(room, config, &call, &planned.plan))
                .transpose()?
                .map(Box::new),
            call: call.shown(room),
            error: Unfilled::default(),
            candidates: Unfilled::default(),
        })
    }

    /// Approves a pending or held call, and binds everything that decides what runs, in its current state. Runs
    /// nothing.
    ///
    /// If an MCP server listed the tool differently than pinned, the approval accepts the change, and the report
    /// describes it. The pin is renewed to the bound listing. Another change by the server is refused again.
    ///
    /// # Errors
    /// Returns [`Refusal::Review`] if the call cannot be approved now, and file errors.
    pub fn approve(&self, call: impl Into<IdPrefix>) -> Result<ReviewReport, Error> {
        let room = &*self.room;
        room.decides()?;
        let stored = find_call_to_review(room, &call.into(), Step::Approve)?;
        let call = &stored.call;
        let refused = |error| review_refused(room, Some(call), error);
        if let Err(wrong) = call.status.check(Step::Approve) {
            return Err(refused(hinted(room, Error::from(wrong), call)));
        }
        let of_call = || Refusal::Review { call: Some(Box::new(call.clone().shown(room))), pin: None };
        let (config, planned) = plan_again(room, call).map_err(|error| error.missing(room, of_call()))?;
        let binding = planned.plan.approvable(call).map_err(|blockers| {
            let error = Error::new(ErrorKind::Refused, format!("call {} cannot be approved", call.id))
                .coded(codes::CALL_BLOCKED);
            refused(error.because(blockers))
        })?;
        if !planned.plan.to_be_told(call).is_empty() {
            return Err(tell_changes(room, &stored, &planned.plan)?);
        }
        let pin = binding.pin;
        let shown = preview(room, &config, call, &planned.plan)?;
        let report =
            record_review(room, &stored, Review::Approve(Box::new(binding), ApprovedBy::command_line()))?;
        let report = ReviewReport { preview: Some(Box::new(shown)), ..report };
        // The approval is stored. After a crash here, the run renews the pin.
        let Some(bound) = pin else { return Ok(report) };
        let (pin, accepted_changes) = pins::renew_pin(room, call, bound)?;
        Ok(ReviewReport { pin: pin.map(|pin| pins::pin_summary(room, &pin)), accepted_changes, ..report })
    }

    /// Rejects a call with a reason.
    ///
    /// # Errors
    /// Returns [`Refusal::Review`] if the call cannot be rejected now, and file errors.
    pub fn reject(&self, call: impl Into<IdPrefix>, reason: &str) -> Result<ReviewReport, Error> {
        decline(
            &self.room,
            &call.into(),
            Step::Reject,
            Review::Reject(gather::clean_reason(&self.room, reason)?),
        )
    }

    /// Holds a call with a reason.
    ///
    /// # Errors
    /// Returns [`Refusal::Review`] if the call cannot be held now, and file errors.
    pub fn hold(&self, call: impl Into<IdPrefix>, reason: &str) -> Result<ReviewReport, Error> {
        decline(&self.room, &call.into(), Step::Hold, Review::Hold(gather::clean_reason(&self.room, reason)?))
    }
}

impl CallList {
    /// Passes on the calls, oldest first, until `found` breaks. Paths are relative to the workspace.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn for_each(&self, found: &mut dyn FnMut(&Call) -> ControlFlow<()>) -> Result<(), Error> {
        Ok(self.view.list_calls(&self.filter, &mut |stored| found(&stored.call))?)
    }

    /// Passes on the JSON of the calls with absolute paths, oldest first, indented as elements of a list at depth 1 of
    /// a document. For very long lists: stored text is copied without parsing it into values.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn for_each_text(&self, found: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), Error> {
        Ok(self.view.for_each_text(self.room.journal(), &self.filter, &*self.room, found)?)
    }

    /// Returns why the list may be empty, such as an unknown tool.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn notes(&self) -> Result<Vec<String>, Error> {
        let note = self.filter.tool.as_ref().map(|tool| note_on_tool(&self.room, tool));
        Ok(note.transpose()?.flatten().into_iter().collect())
    }
}

/// Returns a note if the catalog has no tool with this id.
///
/// # Errors
/// Returns file errors.
pub(crate) fn note_on_tool(room: &Room, id: &str) -> Result<Option<String>, Error> {
    let catalog = load::catalog(room)?;
    if catalog.named(id).is_some() || Reads::of_tool_id(id).is_some() {
        return Ok(None);
    }
    let failure = Failure::new(ErrorKind::NotFound, format!("no tool has the id `{}`", shown_id(id)));
    Ok(Some(failure.near(id, catalog.ids()).with_hints(&room.speller())))
}

/// Returns the next step for a call that would be accepted now.
fn next_of(room: &Room, call: &Call, plan: Option<&Plan>) -> Result<Option<NextStep>, Error> {
    match call.checkpoint_ids.first().filter(|_| call.status == CallStatus::ResumePending) {
        Some(id) => Ok(checkpoints::next_for(room, id, call)?.or_else(|| call.next_step(plan, room.now()))),
        None => Ok(call.next_step(plan, room.now())),
    }
}

/// Returns the error of an invalid policy, under which it is not known what a call may do.
pub(crate) fn invalid_policy(config: &Config) -> Option<Error> {
    let errors = invalid(&config.policy);
    let first = errors.first()?.message.clone();
    Some(Error::new(ErrorKind::Refused, first).because(errors))
}

/// Returns the path of the queue file for reports.
pub(crate) fn calls_path(room: &Room) -> String {
    room.absolute(CALLS)
}

/// Shows what a call would run now, beside the last approved call of its tool.
fn preview(room: &Room, config: &Config, call: &Call, plan: &Plan) -> Result<Preview, Error> {
    let earlier = room.queue().read()?.last_approved(&call.tool_id, &call.id)?;
    Ok(Preview::of(
        plan,
        call,
        earlier.as_ref().map(|stored| &stored.call),
        watching::unbound(room, config, &call.tool_id)?,
    ))
}

/// Reports the changes since the call was queued, and stores them in the call. The next approval accepts exactly
/// these changes.
fn tell_changes(room: &Room, stored: &StoredCall, plan: &Plan) -> Result<Error, Error> {
    let call = &stored.call;
    let report = record_review(room, stored, Review::Replan(Box::new(plan.replan())))?;
    let message = format!("call {} is not approved yet: it would not run what was queued", call.id);
    let error = Error::new(ErrorKind::Refused, message)
        .because(plan.told(call))
        .hint(Hint::to("take it as it is now", NextStep::Approve(call.id.clone())));
    Ok(error.refusing(room, Refusal::Review { call: Some(Box::new(report.call)), pin: report.pin }))
}

fn decline(room: &Room, prefix: &IdPrefix, step: Step, review: Review) -> Result<ReviewReport, Error> {
    room.decides()?;
    let stored = find_call_to_review(room, prefix, step)?;
    record_review(room, &stored, review)
}

fn find_call_to_review(room: &Room, prefix: &IdPrefix, step: Step) -> Result<StoredCall, Error> {
    let found = find_call_to_change(room, prefix, step);
    found.map_err(|error| error.missing(room, Refusal::Review { call: None, pin: None }))
}

/// Adds the next step that is possible for a call.
fn hinted(room: &Room, error: Error, call: &Call) -> Error {
    match brigade_call::way_on(call) {
        Some(hint) => error.hint(room.spelled(hint)),
        None => error,
    }
}

/// Records a decision on the revision that was shown.
pub(crate) fn record_review(room: &Room, stored: &StoredCall, review: Review) -> Result<ReviewReport, Error> {
    room.digests.keep(&*room.fs);
    let now = room.now();
    let queue = room.queue();
    let mut locked = queue.lock(now)?;
    match locked.review(&stored.call.id, stored.revision, review, now) {
        Ok(stored) => Ok(ReviewReport {
            schema: ReviewReport::SCHEMA,
            target: room.target(),
            calls_path: calls_path(room),
            pin: pins::pin_beside(room, &stored.call)?.map(|pin| pins::pin_summary(room, &pin)),
            call: stored.call.shown(room),
            preview: None,
            accepted_changes: Vec::new(),
            blockers: Unfilled::default(),
            blocker_details: Unfilled::default(),
            candidates: Unfilled::default(),
        }),
        Err(error @ (QueueError::WrongStep { .. } | QueueError::Changed { .. } | QueueError::Newer(_))) => {
            let wrong_step = matches!(error, QueueError::WrongStep { .. });
            let error = Error::from(error);
            let error = if wrong_step { hinted(room, error, &stored.call) } else { error };
            Err(review_refused(room, Some(&stored.call), error))
        }
        Err(error) => Err(error.into()),
    }
}

fn review_refused(room: &Room, call: Option<&Call>, error: Error) -> Error {
    error.refusing(
        room,
        Refusal::Review { call: call.map(|call| Box::new(call.clone().shown(room))), pin: None },
    )
}

/// Finds a call for a step. If its runner is gone, the end of its run is recorded first.
pub(crate) fn find_call_to_change(room: &Room, prefix: &IdPrefix, step: Step) -> Result<StoredCall, Error> {
    let stored = find_call(room, prefix, Some(step))?;
    if !stored.call.is_unrecorded() {
        return Ok(stored);
    }
    record_interrupted(room)?;
    find_call(room, &IdPrefix::new(stored.call.id.as_str()), None)
}

/// Records runs whose runner is gone, with receipts, as every writer does first.
pub(crate) fn record_interrupted(room: &Room) -> Result<(), Error> {
    let now = room.now();
    drop(room.queue().lock(now)?);
    Ok(())
}

/// Finds a call by id or prefix. Of several calls, only those that allow the step are meant.
pub(crate) fn find_call(room: &Room, prefix: &IdPrefix, step: Option<Step>) -> Result<StoredCall, Error> {
    Ok(room.queue().read()?.the_call(prefix, step)?)
}

/// Returns whom the call is planned for: a person at the command line reviews the calls of agents as theirs.
fn asker(room: &Room, call: &Call) -> Caller {
    match (&room.env.caller, &call.caller) {
        (Caller::CommandLine, Caller::Agent(_)) => call.caller.clone(),
        (here, _) => here.clone(),
    }
}

/// Plans a stored call again with its arguments and current facts.
pub(crate) fn plan_again(room: &Room, call: &Call) -> Result<(Arc<Config>, Planned), Error> {
    let config = gather::config(room)?;
    let planned = gather::plan_again(room, &config, &Again::call(call), asker(room, call))?;
    Ok((config, planned))
}

pub(crate) fn plan_report(room: &Room, config: &Config, planned: &Planned) -> Result<PlanReport, Error> {
    let plan = &planned.plan;
    let absolute = |path: &str| room.absolute(path);
    let unbound = watching::unbound(room, config, plan.tool_id())?;
    Ok(PlanReport {
        schema: PlanReport::SCHEMA,
        target: room.target(),
        config_path: room.absolute(CATALOG),
        valid: plan.blockers().is_empty(),
        tool_id: plan.tool_id().to_owned(),
        plan: plan.summary().clone(),
        blockers: plan.reasons(),
        blocker_details: plan.reason_details(),
        policy: shown_policy(room, plan.policy().clone()),
        warnings: config
            .policy
            .issues()
            .iter()
            .filter(|issue| issue.severity == Severity::Warning)
            .map(ToString::to_string)
            .chain(brigade_registry::doubts(room, config, plan.tool_id()))
            .chain(shell_words(room, config, plan.tool_id()))
            .collect(),
        validation_errors: plan.violations().to_vec(),
        projection_blockers: blocking(&planned.projections)
            .into_iter()
            .map(|item| ProjectionReport::of(item.clone(), absolute))
            .collect(),
        projection_summary: shown_projections(room, plan.projection_summary().clone()),
        contract_fingerprint: plan.contract_fingerprint(),
        source_fingerprint: plan.source_fingerprint(),
        call_fingerprint: Some(plan.call_fingerprint().to_hex()).filter(|_| !plan.is_missing()),
        argv: plan.shown_argv(),
        bound_code: BoundCode { unbound, ..plan.code().clone() },
    })
}

/// Returns that a word of a tool's command means something only to a shell.
fn shell_words(room: &Room, config: &Config, tool_id: &str) -> Option<String> {
    let tool = config.catalog.tool(tool_id)?;
    brigade_doctor::shell_words(tool, room.host().home()).map(|detail| format!("{}: {detail}", tool.id))
}

pub(crate) fn queue_report(room: &Room, plan: &Plan, call: Call, reason: Option<String>) -> QueueReport {
    QueueReport {
        schema: QueueReport::SCHEMA,
        target: room.target(),
        calls_path: calls_path(room),
        created: u8::from(reason.is_none()),
        skipped: u8::from(reason.is_some()),
        blocked: u8::from(!plan.blockers().is_empty()),
        call,
        reason,
        blockers: plan.reasons(),
        blocker_details: plan.reason_details(),
    }
}
