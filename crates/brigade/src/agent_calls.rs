//! Calls of one agent: requested, continued, read and withdrawn by the agent itself.
//!
//! The agent is the caller of the environment. It sees its own calls and runs, and no others.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use brigade_access::builtin::{Definition, definition, may_start_a_program};
use brigade_access::{AgentUsage, Limit, LimitExceeded, LimitUnit, ToolTraits};
use brigade_call::{ApprovedBy, Call, CallSession, CallStatus, Judgement, Plan, Receipt, is_of_execution};
use brigade_catalog::Reads;
use brigade_core::{CallId, Dialect, ErrorCode, IdPrefix, Json, RunId, Timestamp};
use brigade_exec::log_text;
use brigade_mcp::{answer_in_log, answer_lines, shown_stored};
use brigade_ops::{Error, ErrorKind, OpenLog};
use brigade_policy::Blocker;
use brigade_policy::approval::ApprovalNeed;
use brigade_queue::{Calls as Which, FoundReceipt, Review, StoredCall, View};
use brigade_redact::Redactor;
use brigade_runtime::LogStream;
use brigade_schema::Schema;
use brigade_workspace::{AgentOffer, AgentTools, CallRequest, FactReader, Rules, approve, gather, load};

use crate::builtin_call::{self, BUILTIN, DirectCallResult};
use crate::workspace_inner::WorkspaceInner;
use crate::{agent_review, memory_rules, provider_answer, workflow};
use requests::{JudgeFn, PlannedFn, RuleSelection, Terms, no_longer_covered};

/// Requests, continues, reads and withdraws the calls of one agent.
#[derive(Clone)]
pub struct AgentCalls {
    pub(crate) inner: Arc<WorkspaceInner>,
}

/// What came of an agent's request for a call.
#[derive(Debug)]
pub enum RequestOutcome {
    /// The request has a call.
    Stored {
        /// The call: pending, approved by a rule, or an earlier one that asks for the same.
        call: Box<Call>,
        /// The equal call that ran last, if its run ended without anybody seeing how.
        unknown: Option<CallId>,
        /// What is missing for each rule that names the tool, if a person decides about the call.
        uncovered: Vec<String>,
    },
    /// What is asked for is answered without a call, because a call would be stored.
    Answered(DirectCallResult),
    /// The agent did so much already that nothing is stored.
    Over(LimitExceeded),
}

/// What came of a request for a call that gets to run at once.
#[derive(Debug)]
pub enum RunRequestOutcome {
    /// The call has run.
    Ran(Box<AgentCall>),
    /// The call is stored as a rule approved it, and may not run after all.
    NotRun {
        /// The call.
        id: CallId,
        /// Why it may not run.
        error: Box<Error>,
    },
    /// The call is missing, or does not run yet.
    Requested(RequestOutcome),
}

impl From<RequestOutcome> for RunRequestOutcome {
    fn from(outcome: RequestOutcome) -> RunRequestOutcome {
        RunRequestOutcome::Requested(outcome)
    }
}

/// A call as its agent sees it, with the receipt of its last run.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentCall {
    /// The call.
    pub call: Call,
    /// The receipt of its last run.
    pub receipt: Option<Receipt>,
    /// What the MCP server answered just now, with its text masked. [`AgentCalls::answer`] reads what it answered
    /// before.
    pub answer: Option<Json>,
}

/// A piece of a run's output, without secrets. Positions are bytes of the whole masked text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// Whole characters.
    pub content: String,
    /// Where the next piece begins; `None` at the end.
    pub next_offset: Option<usize>,
    /// The length of the whole text.
    pub total_bytes: usize,
}

/// Checks arguments against the schema of a built-in tool.
fn check_arguments(row: &Definition, args: &Json) -> Result<(), Error> {
    let reasons = misfits(row.input_schema(), args);
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Refused, "the arguments do not fit").because(reasons))
}

fn misfits(schema: &Json, args: &Json) -> Vec<Blocker> {
    let schema = Schema::compile_root(&schema.to_serde()).ok();
    let violations = schema.iter().flat_map(|schema| schema.violations(&args.to_serde()));
    violations.map(|found| misfit(found.path.to_string(), found.to_string())).collect()
}

fn misfit(field: String, message: String) -> Blocker {
    Blocker::new(ErrorCode::InvalidArgs, message).field(field)
}

impl AgentCalls {
    /// Returns what masks bound values in the texts of entries; `None` if nothing is bound.
    pub fn mask(&self) -> Option<Arc<Redactor>> {
        let values = gather::telling_values(&self.inner);
        (!values.is_empty()).then(|| Arc::new(Redactor::bound_only(&values)))
    }

    /// Masks a text of the agent that is shown without a call.
    pub fn masked(&self, text: &str) -> String {
        Redactor::new(&gather::secrets(&self.inner)).redact_str(text)
    }

    /// Plans and queues a call, unless an equal one of the same agent waits, or runs and no rule approves one more. A
    /// rule of the policy may approve it at once. `shown` is what the agent is shown, which decides whether a rule may.
    /// No rule approves a call whose equal ran last and was cut off: a person decides about what may have happened
    /// already.
    ///
    /// # Errors
    /// Returns [`Refusal::Queue`](crate::Refusal::Queue) with every reason if the call is refused, and file errors.
    pub fn ask(&self, shown: &AgentTools, tool: &str, args: Json) -> Result<RequestOutcome, Error> {
        let requested = self.request_call(shown, tool, args, &|request, _, _| request.store());
        requested.map_err(|error| self.shown(error))
    }

    /// Like [`AgentCalls::ask`], for a request that gets to run at once. A call that a rule approves is planned once,
    /// and stored with its claim in one write. `begun` hears of the claim. A call that is stored otherwise waits for
    /// [`AgentCalls::go_on`].
    ///
    /// # Errors
    /// Like [`AgentCalls::ask`], and those of the run.
    pub fn ask_and_run(
        &self,
        shown: &AgentTools,
        tool: &str,
        args: Json,
        begun: &dyn Fn(&CallId),
    ) -> Result<RunRequestOutcome, Error> {
        let run: &PlannedFn<'_, _> = &|request, planned, config| request.run(planned, config, begun);
        self.request_call(shown, tool, args, run).map_err(|error| self.shown(error))
    }

    /// Masks bound values in an error, which may repeat names of arguments.
    fn shown(&self, error: Error) -> Error {
        error.masked(&Redactor::bound_only(&gather::telling_values(&self.inner)))
    }

    fn request_call<T: From<RequestOutcome>>(
        &self,
        shown: &AgentTools,
        tool: &str,
        args: Json,
        then: &PlannedFn<'_, T>,
    ) -> Result<T, Error> {
        check_offer(shown, tool, &args)?;
        let _reading = self.inner.cancels_reading();
        if let Some(row) = definition(tool) {
            check_arguments(row, &args)?;
        }
        let session = self.session(shown);
        self.check_limits(shown, tool, &args, session.as_ref())?;
        let limits = Limit::all(&shown.agent.limits);
        let granted = shown.callable(tool, &args).map(|callable| {
            // A command does no more than the profiles of this session grant.
            shown.rights.granted_effects(&ToolTraits::from_tool(callable.entry))
        });
        let granted = granted.unwrap_or_default();
        let asked_for = args.clone();
        let rates = |view: &View<'_>| self.over_rate(shown, tool, &asked_for, Some(view));
        let covers = |plan: &Plan, selection: RuleSelection<'_>| self.approve(shown, plan, selection);
        let ask_judge = |call: &Call| self.judged(shown, call);
        let is_judged = shown.callable(tool, &args).is_some_and(|target| target.need == ApprovalNeed::Judge);
        let judge = is_judged.then_some(&ask_judge as &JudgeFn<'_>);
        let waiting = shown.agent.limits;
        let terms =
            Terms { limits: &limits, waiting, rates: &rates, granted: &granted, covers: &covers, judge };
        match self.submit_request(tool, args, session, &terms, then) {
            Err(error) if memory_rules::is_secret(tool, &error) => {
                Ok(RequestOutcome::Answered(memory_rules::rejection()).into())
            }
            result => result,
        }
    }

    /// Returns the session that the agent asks in, as records have it.
    fn session(&self, shown: &AgentTools) -> Option<CallSession> {
        let session = self.inner.env.session.as_ref()?;
        let root = session.root().map(str::to_owned);
        Some(CallSession { id: session.id().to_owned(), profiles: names_of(shown), root })
    }

    /// Checks a call that the gateway answers by itself: its arguments, and what the agent's profiles limit it to.
    ///
    /// # Errors
    /// Returns every reason against it, and file errors.
    pub fn check(&self, shown: &AgentTools, tool: &str, args: &Json) -> Result<(), Error> {
        let none = || Error::new(ErrorKind::NotFound, "there is no such tool");
        let row = definition(tool).filter(|_| shown.callable(tool, args).is_some()).ok_or_else(none)?;
        let checked = check_arguments(row, args)
            .and_then(|()| self.check_limits(shown, tool, args, self.session(shown).as_ref()));
        checked.map_err(|error| self.shown(error))
    }

    /// Does what a built-in tool does whose calls need no approval. It is neither queued nor written down.
    ///
    /// # Errors
    /// Returns every reason if the arguments do not fit or lead out of the agent's context, and file errors.
    pub fn at_once(&self, shown: &AgentTools, tool: &str, args: &Json) -> Result<RequestOutcome, Error> {
        if !shown.callable(tool, args).is_some_and(|target| target.is_direct()) {
            return Err(Error::new(ErrorKind::NotFound, "there is no such tool"));
        }
        self.check(shown, tool, args)?;
        if let Some(over) = self.over_rate(shown, tool, args, None)? {
            return Ok(RequestOutcome::Over(over));
        }
        let config = gather::config(&self.inner)?;
        Ok(RequestOutcome::Answered(builtin_call::at_once(&self.inner, &config, tool, args, names_of(shown))))
    }

    /// Returns what approves a planned call without a person, or whether what did still does.
    /// Otherwise what is missing for the rules that name the tool.
    fn approve(
        &self,
        shown: &AgentTools,
        plan: &Plan,
        selection: RuleSelection<'_>,
    ) -> Result<ApprovedBy, Vec<String>> {
        let (agent, now) = (self.inner.env.caller.agent(), self.inner.now());
        let did_pass = |judged: Option<&Judgement>| judged.is_some_and(|judged| judged.passed);
        let (view, is_passed, is_end_unknown) = match selection {
            RuleSelection::All(view) => (view, did_pass(plan.judge()), false),
            RuleSelection::AllIfPassed(view) => (view, true, false),
            RuleSelection::AfterUnknownEnd(view) => (view, did_pass(plan.judge()), true),
            RuleSelection::Again(call, by) => {
                let (rules, is_passed) = (Rules::Again(by), did_pass(call.judge.as_ref()));
                let request = CallRequest { plan, agent, now, rules, is_passed, is_end_unknown: false };
                return approve(shown, &self.inner.host(), request);
            }
        };
        let rules = Rules::All(&|rule| approved_last_hour(view, now, rule));
        approve(shown, &self.inner.host(), CallRequest { plan, agent, now, rules, is_passed, is_end_unknown })
    }

    /// Lets a person decide about a call that was approved without one, if it would not be any more.
    fn reopen_if_not_covered(&self, shown: &AgentTools, stored: &StoredCall) -> Result<Option<Call>, Error> {
        let Some(by) = stored.call.approved_without_person() else { return Ok(None) };
        // What cannot be planned is refused when it is to run.
        let Ok((_, planned)) = brigade_ops::plan_again(&self.inner, &stored.call) else { return Ok(None) };
        if self.approve(shown, &planned.plan, RuleSelection::Again(&stored.call, by)).is_ok() {
            return Ok(None);
        }
        let review = Review::Reopen(no_longer_covered(by));
        brigade_ops::record_review(&self.inner, stored, review).map(|report| Some(report.call))
    }

    /// Asks the judge about a call. `None` without a judge.
    fn judged(&self, shown: &AgentTools, call: &Call) -> Option<Judgement> {
        let tool = shown.callable(&call.tool_id, &call.args)?;
        workflow::judge_call(&self.inner.context, &shown.config, call, tool.entry, tool.risk)
    }

    /// Approves a pending call, because the person in front of the agent agreed to `seen`, the call that was shown.
    ///
    /// # Errors
    /// Returns [`Refusal::Review`](crate::Refusal::Review) if the call cannot be approved now or is not what was shown,
    /// and file errors.
    pub fn agree(&self, shown_call: &Call, by: ApprovedBy) -> Result<Call, Error> {
        let inner = &*self.inner;
        let stored = self.find(&shown_call.id)?;
        if stored.call.status == CallStatus::Held {
            let message = format!("call {} is held by a person", shown_call.id);
            return Err(Error::new(ErrorKind::Refused, message).coded(ErrorCode::ApprovalHeld));
        }
        let (config, planned) = brigade_ops::plan_again(inner, &stored.call)?;
        let mut reasons = planned.plan.blockers_to_review(&stored.call);
        if planned.plan.changes_pin() || stored.call.planned_binding != shown_call.planned_binding {
            reasons.push(Blocker::new(ErrorCode::Changed, "the call changed since it was shown"));
        }
        let binding = if reasons.is_empty() { planned.plan.approvable(&stored.call) } else { Err(reasons) };
        let binding = binding.map_err(|blockers| {
            Error::new(ErrorKind::Refused, format!("call {} cannot be approved", shown_call.id))
                .coded(ErrorCode::CallBlocked)
                .because(blockers)
        })?;
        brigade_ops::record_approval(inner, &config, &stored, &planned.plan, binding, by)
            .map(|report| report.call)
    }

    /// Runs the call if it is approved, or resumes it if its checkpoints are. Otherwise returns its current state.
    /// `shown` is what the agent is shown now, whose limits its arguments must fit still. A person has no limits.
    ///
    /// # Errors
    /// Returns [`Refusal::Run`](crate::Refusal::Run) if the call may not run after all, with [`ErrorCode::NotItsTurn`]
    /// if it may later, and file errors.
    pub fn go_on(&self, shown: Option<&AgentTools>, id: &CallId) -> Result<AgentCall, Error> {
        let stored = self.find(id)?;
        let (run, answer) = match (&stored.call.status, stored.call.checkpoint_ids.first()) {
            (CallStatus::Approved, _) => {
                if let Some(shown) = shown {
                    let (tool, asked_in) = (&stored.call.tool_id, stored.call.session.as_ref());
                    self.check_limits(shown, tool, &stored.call.args, asked_in)?;
                    if self.reopen_if_not_covered(shown, &stored)?.is_some() {
                        return self.show(id);
                    }
                }
                brigade_ops::run_stored(&self.inner, &*self.inner, stored, &[])?
            }
            (CallStatus::ResumePending, Some(checkpoint)) => {
                self.inner.checkpoints().resume(checkpoint)?;
                return self.show(id);
            }
            _ => return self.show(id),
        };
        agent_review::note(&self.inner, &run.call);
        Ok(AgentCall { call: run.call, receipt: Some(run.receipt.for_agent()), answer })
    }

    /// Returns the current state of the call.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`] if the agent has no such call, and file errors.
    pub fn show(&self, id: &CallId) -> Result<AgentCall, Error> {
        let call = self.find(id)?.call;
        let run = call.claim.as_ref().filter(|_| call.receipt.is_some()).map(|claim| claim.run_id.clone());
        let receipt = run.map(|run| self.receipt(&run)).transpose()?.flatten();
        Ok(AgentCall { call: call.shown(&*self.inner), receipt, answer: None })
    }

    /// Returns calls of the agent, newest first.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list(&self, offset: usize, limit: usize) -> Result<Vec<Call>, Error> {
        let mut found = Vec::new();
        let mut left = offset;
        self.inner.queue().read()?.for_each_newest(&Which::All, &mut |stored| {
            if self.is_own(&stored.call) {
                match left {
                    0 => found.push(stored.call.shown(&*self.inner)),
                    _ => left -= 1,
                }
            }
            if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(found)
    }

    /// Withdraws a call that a rule approved for a request which does not get to run it, and records why. What a person
    /// approved stays, and is returned.
    ///
    /// # Errors
    /// Returns [`Refusal::Review`](crate::Refusal::Review) if the call runs or has ended, and file errors.
    pub fn give_up(&self, id: &CallId, why: &str) -> Result<Option<Call>, Error> {
        brigade_ops::give_up(&self.inner, self.find(id)?, why)
    }

    /// Withdraws a call that does not run. It may be asked for again.
    ///
    /// # Errors
    /// Returns [`Refusal::Review`](crate::Refusal::Review) if the call runs or has ended, and file errors.
    pub fn withdraw(&self, id: &CallId) -> Result<Call, Error> {
        let stored = self.find(id)?;
        let reason = format!("withdrawn by {}", self.inner.env.caller);
        brigade_ops::record_review(&self.inner, &stored, Review::Withdraw(reason)).map(|report| report.call)
    }

    /// Returns the receipt of a run of the agent, or `None` if the agent has no such run.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn receipt(&self, run: &RunId) -> Result<Option<Receipt>, Error> {
        Ok(self.own_receipt(run)?.map(|receipt| receipt.shown(&*self.inner).for_agent()))
    }

    /// Returns the same as it is stored.
    fn own_receipt(&self, run: &RunId) -> Result<Option<Receipt>, Error> {
        let stored = self.inner.queue().read()?.receipt(run.as_str())?.and_then(FoundReceipt::good);
        let own = |receipt: &Receipt| {
            receipt.caller.as_ref() == Some(&self.inner.env.caller)
                && self.is_same_session(receipt.session.as_ref())
        };
        Ok(stored.map(|stored| stored.receipt).filter(own))
    }

    /// Returns a piece of the output of a run of the agent, without secrets; `None` if the agent has no such run.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn output(
        &self,
        run: &RunId,
        stream: LogStream,
        offset: usize,
        limit: usize,
    ) -> Result<Option<Output>, Error> {
        let Some(receipt) = self.own_receipt(run)? else { return Ok(None) };
        let meant = self.inner.queue().read()?.the_run(&IdPrefix::new(run.as_str()))?;
        let OpenLog { file, .. } = brigade_ops::open_log(&self.inner, &meant, stream)?;
        let mut text = log_text(&*file, &Redactor::new(&gather::secrets(&self.inner)))?;
        if receipt.mcp_server_id.is_some() && stream == LogStream::Stdout {
            text = answer_lines(&text, receipt.mcp_request_id.as_ref());
        }
        let (from, to) =
            (text.floor_char_boundary(offset), text.floor_char_boundary(offset.saturating_add(limit)));
        // At least one character, so that reading makes progress.
        let to =
            if to <= from { text[from..].chars().next().map_or(from, |c| from + c.len_utf8()) } else { to };
        Ok(Some(Output {
            content: text[from..to].to_owned(),
            next_offset: (to < text.len()).then_some(to),
            total_bytes: text.len(),
        }))
    }

    /// Returns what the MCP server or Brigade itself answered in a run of the agent, with its text masked and its bytes
    /// as they are. `None` if the agent has no such run, or the server did not answer.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn answer(&self, run: &RunId) -> Result<Option<Json>, Error> {
        let Some(receipt) = self.own_receipt(run)? else { return Ok(None) };
        let is_own = receipt.executor.as_deref() == Some(BUILTIN);
        if may_start_a_program(&receipt.tool_id) && receipt.process.is_some() {
            let config = gather::config(&self.inner)?;
            let redactor = Redactor::new(&gather::secrets(&self.inner));
            let result = provider_answer::result_of(&self.inner, &config, &receipt, &redactor);
            return Ok(result.map(|result| result.to_json()));
        }
        let request = receipt.mcp_request_id;
        if request.is_none() && !is_own {
            return Ok(None);
        }
        let meant = self.inner.queue().read()?.the_run(&IdPrefix::new(run.as_str()))?;
        let OpenLog { file, .. } = brigade_ops::open_log(&self.inner, &meant, LogStream::Stdout)?;
        let log = file.read_range(0, usize::try_from(file.len()?).unwrap_or(usize::MAX))?;
        let redactor = Redactor::new(&gather::secrets(&self.inner));
        Ok(match request {
            Some(request) => answer_in_log(&log, &request, &redactor),
            None => Json::parse_bytes(&log, Dialect::Strict)
                .ok()
                .and_then(|result| shown_stored(&result, &redactor)),
        })
    }

    /// Sums up what the agent asked for in the last stretch of time.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn spent(&self, window: Duration) -> Result<AgentUsage, Error> {
        self.spent_in(&self.inner.queue().read()?, window, LimitUnit::Output)
    }

    /// Sums up what the agent asked for. Receipts are read only where their numbers are wanted, each of them once.
    fn spent_in(&self, view: &View<'_>, window: Duration, of: LimitUnit) -> Result<AgentUsage, Error> {
        let now = self.inner.now();
        let usage = view.caller_usage(&self.inner.env.caller, now, window, of == LimitUnit::Output)?;
        let mut spent = AgentUsage::default();
        (spent.calls, spent.output, spent.oldest_at) = (usage.calls, usage.output, usage.oldest);
        spent.seconds = Duration::from_micros(usage.micros).as_secs_f64();
        spent.oldest = usage.oldest.map_or(spent.oldest, |at| now.since(at));
        Ok(spent)
    }

    /// Returns the source of a skill, slash command or superpower as text, without secrets. `None` without one.
    ///
    /// # Errors
    /// Fails if the tool does not exist, and on file errors.
    pub fn source_text(&self, tool: &str) -> Result<Option<String>, Error> {
        let config = gather::config(&self.inner)?;
        let tool = load::tool(&config.catalog, tool)?;
        let guards = config.guards(&self.inner.host());
        let source = FactReader::new(self.inner.host(), &config).reader(tool).source_for_agents(&guards);
        Ok(source.bytes().map(|bytes| self.masked(&String::from_utf8_lossy(bytes))))
    }

    /// Returns the profiles that narrow this session and did not narrow the session of the call. With any, the call
    /// must not run here.
    pub fn laid_over(&self, shown: &AgentTools, call: &Call) -> Vec<String> {
        let own = self.inner.env.session.as_ref().map(|session| session.id());
        let asked_in = call.session.as_ref().filter(|asked_in| Some(&*asked_in.id) != own);
        let is_new = |name: &String| asked_in.is_some_and(|asked_in| !asked_in.profiles.contains(name));
        names_of(shown).into_iter().filter(is_new).collect()
    }

    /// Returns whether a call is one of the agent that this session may see.
    fn is_own(&self, call: &Call) -> bool {
        call.caller == self.inner.env.caller && self.is_same_session(call.session.as_ref())
    }

    /// Returns whether what was asked in a session may be seen in this one: in that of an execution its own alone.
    fn is_same_session(&self, asked_in: Option<&CallSession>) -> bool {
        // What a person began has no session in records.
        let own = self.inner.env.session.as_ref().filter(|_| self.inner.env.caller.agent().is_some());
        let own = own.map(|session| session.id()).filter(|own| is_of_execution(own));
        own.is_none_or(|own| asked_in.is_some_and(|asked_in| asked_in.id == own))
    }

    /// Finds a call of the agent. If its runner is gone, the end of its run is recorded first.
    fn find(&self, id: &CallId) -> Result<StoredCall, Error> {
        let inner = &*self.inner;
        let find = || -> Result<Option<StoredCall>, Error> {
            let found = inner.queue().read()?.call(id)?;
            Ok(found.filter(|stored| self.is_own(&stored.call)))
        };
        let found = match find()? {
            Some(stored) if stored.call.is_unrecorded() => {
                brigade_ops::record_interrupted(inner)?;
                find()?
            }
            found => found,
        };
        found.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no call {id}")))
    }
}

/// Counts the calls of all agents that a rule approved in the last hour. What cannot be counted is too much.
pub(crate) fn approved_last_hour(view: &View<'_>, now: Timestamp, rule: &str) -> u64 {
    view.approved_in_last_hour(rule, now).unwrap_or(u64::MAX)
}

/// Returns the names of all profiles that an agent has.
fn names_of(shown: &AgentTools) -> Vec<String> {
    shown.rights.profiles().iter().map(|profile| profile.name.to_string()).collect()
}

/// Refuses to read what the agent is not offered. What it may not see is refused like what does not exist.
fn check_offer(shown: &AgentTools, tool: &str, args: &Json) -> Result<(), Error> {
    let Some(reads) = Reads::of_tool_id(tool).filter(|_| shown.callable(tool, args).is_none()) else {
        return Ok(());
    };
    let schema = Json::parse(reads.input_schema());
    let mut faults = schema.map_or_else(|_| Vec::new(), |schema| misfits(&schema, args));
    if faults.is_empty() {
        let server = args.get("server").and_then(Json::as_str);
        let is_its = |found: &AgentOffer| found.offer.reads == reads && Some(&*found.offer.server) == server;
        let (what, argument) = match (shown.offers().iter().any(is_its), reads) {
            (false, _) => ("server", "server"),
            (true, Reads::Resource) => ("resource", reads.argument()),
            (true, Reads::Prompt) => ("prompt", reads.argument()),
        };
        faults.push(misfit(format!("$.{argument}"), format!("$.{argument}: there is no such {what}")));
    }
    Err(Error::new(ErrorKind::Refused, format!("`{tool}` has nothing to read")).because(faults))
}

mod requests;

#[cfg(test)]
mod tests;
