//! Runs approved calls.

use std::sync::Arc;

use brigade_call::{
    ApprovedBy, Call, CallStatus, Caller, Change, Checkpoint, Claim, Purpose, Refusal as NotVerified,
    RuntimeFact, SandboxUsed, VerifiedCall, verify,
};
use brigade_catalog::Family;
use brigade_core::{Hint, IdPrefix, Json, NextStep, Timestamp};
use brigade_exec::{Drops, Execution, KeptWay, RunFiles, RunPaths, Watch, Way, execute, with_checkpoints};
use brigade_fs::Fs;
use brigade_mcp::{
    Exchange, KeptCall, ListedTool, Listener, McpProgress, Named, NoPin, PinRule, Requester, ToolCall,
    shown_result,
};
use brigade_policy::CallKind;
use brigade_queue::{Kept, LockedQueue, StoredCall, this_runner, unrecorded};
use brigade_redact::Redactor;

use crate::acting::Acting;
use crate::agent_calls::Asked;
use crate::calls;
use crate::calls::Calls;
use crate::commanded;
use crate::error::{Error, ErrorKind};
use crate::late::LateWrites;
use crate::pins;
use crate::refusal::{Refusal, RunRefusal};
use crate::report::{PassedOver, Report as _, RunReport, Unfilled};
use crate::room::{RUNS, Room, rel};
use crate::runtimes;
use crate::watching;
use brigade_core::codes;
use brigade_facts::Config;
use brigade_registry::Installing;
use brigade_upkeep::gather;
use brigade_upkeep::gather::Planned;
use brigade_upkeep::upstreams::{Found, Kept as KeptServer};

/// Selects the call to run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunTarget {
    /// The call with this id or prefix.
    Call(IdPrefix),
    /// The oldest approved call that still verifies.
    Next,
}

impl<I: Into<IdPrefix>> From<I> for RunTarget {
    fn from(call: I) -> RunTarget {
        RunTarget::Call(call.into())
    }
}

/// A verified call and what was opened for it.
pub(crate) struct Ready<'a> {
    pub(crate) call: VerifiedCall,
    pub(crate) stands: Stands<'a>,
    pub(crate) planned: Planned,
    pub(crate) config: Arc<Config>,
}

/// Where a verified call stands before its claim.
pub(crate) enum Stands<'a> {
    /// It is stored, at this revision.
    At(u64),
    /// It is not stored yet. Under the lock, this stores it with its claim, unless something speaks against that.
    New(&'a mut Enter<'a>),
}

/// Stores a new call. Without a claim, it is stored as one that does not run yet.
pub(crate) type Enter<'a> = dyn FnMut(&mut LockedQueue<'_>, Option<Claim>) -> Result<Entered, Error> + 'a;

/// What came of storing a new call.
pub(crate) enum Entered {
    /// It is stored, and claimed.
    Claimed,
    /// It does not run now.
    Not(Asked),
}

/// The result of comparing a call with its approval.
enum Verified {
    /// The call may run.
    Ready(Box<Ready<'static>>),
    /// The call may not run.
    Refused(Box<Call>, Box<NotVerified>),
}

/// The result of trying to run a verified call.
pub(crate) enum Attempt {
    /// The call ran, and its server answered so.
    Ran(Box<RunReport>, Option<Json>),
    /// Another process claimed or changed the call meanwhile.
    Taken(Box<Call>, Error),
    /// The call may not run after all.
    Refused(Box<Call>, Box<NotVerified>),
    /// The call was new, and was not claimed.
    Not(Asked),
}

impl Calls {
    /// Runs one approved call exactly as approved, and writes its receipt.
    ///
    /// # Errors
    /// Returns [`Refusal::Run`] if the call may not run, and file errors. A failed run is a report, not an error.
    pub fn run(&self, target: impl Into<RunTarget>) -> Result<RunReport, Error> {
        self.room.decides()?;
        match target.into() {
            RunTarget::Call(prefix) => {
                let none = || Refusal::Run(RunRefusal::default());
                let stored = calls::find_call_to_change(&self.room, &prefix, brigade_call::Step::Claim);
                let stored = stored.map_err(|error| error.missing(&self.room, none()))?;
                run_stored(&self.room, stored, &[])
            }
            RunTarget::Next => run_next(&self.room),
        }
    }
}

/// Runs the oldest approved call that still verifies. Skips calls that another process claims meanwhile.
fn run_next(room: &Room) -> Result<RunReport, Error> {
    let queue = room.queue();
    let view = queue.read()?;
    if let Some(journal) = room.journal() {
        journal.require_calls()?;
    }
    if let Some(error) = calls::invalid_policy(&*gather::config(room)?) {
        return Err(not_run(room, None, error, RunRefusal::default()));
    }
    let mut approved = view.approved_by_age()?;
    approved.retain(|stored| of_agent(room, &stored.call.caller).is_none());
    let mut passed_over = Vec::new();
    for stored in approved {
        let attempt = match verify_call(room, stored, &[])? {
            Verified::Ready(ready) => attempt(room, *ready)?,
            Verified::Refused(call, refusal) => Attempt::Refused(call, refusal),
        };
        match attempt {
            Attempt::Ran(report, _) => return Ok(RunReport { passed_over, ..*report }),
            Attempt::Taken(..) | Attempt::Not(_) => {}
            Attempt::Refused(call, refusal) => passed_over.push(PassedOver::of(&call, &refusal.blockers)),
        }
    }
    let error =
        Error::new(ErrorKind::NotFound, "no approved call is ready to run").coded(codes::NOTHING_APPROVED);
    let error = error.hint(NextStep::ListApprovedCalls);
    Err(not_run(room, None, error, RunRefusal { passed_over, ..RunRefusal::default() }))
}

/// Returns why nobody else runs a call of an agent: only the agent goes on with it.
pub(crate) fn of_agent(room: &Room, caller: &Caller) -> Option<Error> {
    let agent = caller.agent().filter(|_| *caller != room.env.caller)?;
    let message = format!("the call belongs to the agent `{agent}`, which goes on with it");
    let error = Error::new(ErrorKind::Refused, message).coded(codes::CALL_OF_AGENT);
    Some(error.hint("approve, hold or reject it here; the agent runs it and gets the result"))
}

/// Verifies and runs one call, or resumes it after these checkpoints.
pub(crate) fn run_stored(
    room: &Room,
    stored: StoredCall,
    checkpoints: &[Checkpoint],
) -> Result<RunReport, Error> {
    run_answered(room, stored, checkpoints).map(|(report, _)| report)
}

/// Like [`run_stored`]. Also returns the answer of a server that is kept, with its text masked, if it gave one.
pub(crate) fn run_answered(
    room: &Room,
    stored: StoredCall,
    checkpoints: &[Checkpoint],
) -> Result<(RunReport, Option<Json>), Error> {
    if let Some(error) = of_agent(room, &stored.call.caller) {
        return Err(not_run(room, Some(&stored.call), error, RunRefusal::default()));
    }
    let attempt = match verify_call(room, stored, checkpoints)? {
        Verified::Ready(ready) => attempt(room, *ready)?,
        Verified::Refused(call, refusal) => Attempt::Refused(call, refusal),
    };
    match attempt {
        Attempt::Ran(report, answer) => Ok((*report, answer)),
        Attempt::Taken(call, error) => Err(not_run(room, Some(&call), error, RunRefusal::default())),
        Attempt::Refused(call, refusal) => Err(refused(room, &call, *refusal)),
        Attempt::Not(_) => unreachable!("a stored call is not new"),
    }
}

/// Plans a call again and compares it with its approval.
fn verify_call(room: &Room, stored: StoredCall, checkpoints: &[Checkpoint]) -> Result<Verified, Error> {
    let StoredCall { call, revision, .. } = stored;
    let (config, mut planned) = match calls::plan_again(room, &call) {
        Ok(planned) => planned,
        Err(error) if !error.is_about_request() => return Err(error),
        Err(error) => {
            let blocker = brigade_policy::Blocker::new("tool_missing", error.to_string());
            let refusal = NotVerified { blockers: vec![blocker], changes: Vec::new(), moved: None };
            return Ok(Verified::Refused(Box::new(call), Box::new(refusal)));
        }
    };
    let purpose = if checkpoints.is_empty() { Purpose::Run } else { Purpose::Resume(checkpoints) };
    let plan = planned.plan.clone();
    let runtime = match call.kind() {
        CallKind::Run => runtimes::runtime_of(room, &call, &config),
        CallKind::Install => RuntimeFact::NotNeeded,
    };
    Ok(match verify(call.clone(), plan, runtime, purpose, room.now()) {
        Ok(verified) => {
            planned.plan = verified.plan().clone();
            Verified::Ready(Box::new(Ready { call: verified, stands: Stands::At(revision), planned, config }))
        }
        Err(refusal) => Verified::Refused(Box::new(call), Box::new(refusal.spelled(&room.speller()))),
    })
}

/// Claims the call, runs it, and records how it ended.
pub(crate) fn attempt(room: &Room, ready: Ready<'_>) -> Result<Attempt, Error> {
    let Ready { call, stands, planned, config } = ready;
    let mcp = pins::pin_store(room).of_call(&config.catalog, call.call())?;
    let pinned = match pins::pin_store(room).of_verified(mcp.as_ref(), &call) {
        Ok(pinned) => pinned,
        Err(NoPin::Files(error)) => return Err(error.into()),
        Err(NoPin::Unreadable(blocker)) => {
            let refusal = NotVerified { blockers: vec![*blocker], changes: Vec::new(), moved: None };
            return Ok(Attempt::Refused(Box::new(call.call().clone()), Box::new(refusal)));
        }
    };
    let kept = match keeping(room, &config, &call)? {
        None => None,
        Some(Found::Ready(kept, hold)) => Some((kept, hold)),
        Some(Found::Refused(blockers)) => {
            let blockers = blockers.into_iter().map(|mut blocker| {
                blocker.spell(&*room.env.speller);
                blocker
            });
            let refusal = NotVerified { blockers: blockers.collect(), changes: Vec::new(), moved: None };
            return Ok(Attempt::Refused(Box::new(call.call().clone()), Box::new(refusal)));
        }
    };
    let (kept, _hold) = kept.unzip();
    let mut acting = Acting::of(room, &config, &call);
    let program = planned.program;
    debug_assert!(
        program.is_some() != acting.is_some(),
        "a verified call has its program open, or is built in"
    );
    let by_rule =
        call.call().approval.as_ref().is_some_and(|approval| matches!(approval.by, ApprovedBy::Rule { .. }));
    let late = room.late_for(&call.call().contract.effects).filter(|_| by_rule && call.resume().is_none());
    let _soon = late.map(LateWrites::soon_after);
    let fs: &dyn Fs = match late {
        Some(late) => &**late.files(),
        None => &*room.fs,
    };
    let started_at = room.now();
    let run_id = call.call().next_run_id();
    let paths = RunPaths::of(&run_id);
    let queue = room.queue();
    let claim = Claim { run_id: run_id.clone(), runner: Some(this_runner()?) };
    let (logs, dropped) = {
        let drops = if kept.is_some() || acting.is_some() { Drops::None } else { Drops::Taken };
        let mut files = RunFiles::create(fs, &run_id, &paths, drops)?;
        let mut locked =
            if late.is_some() { queue.lock_late(started_at)? } else { queue.lock(started_at)? };
        match stands {
            Stands::New(enter) => match enter(&mut locked, (!files.is_used).then_some(claim)) {
                Ok(Entered::Claimed) => {}
                not => {
                    files.discard(&*room.fs);
                    return not.map(|entered| match entered {
                        Entered::Not(asked) => Attempt::Not(asked),
                        Entered::Claimed => unreachable!("that is the first arm"),
                    });
                }
            },
            Stands::At(revision) => {
                if let Some(error) =
                    claim_stored(room, &mut locked, &call, revision, &files, claim, started_at)?
                {
                    return Ok(Attempt::Taken(Box::new(call.call().clone()), error));
                }
                // Another process that gave up may have removed files that it created and this one found.
                if !room.fs.exists(&rel(&paths.stdout_log))? || !room.fs.exists(&rel(&paths.stderr_log))? {
                    files = RunFiles::create(fs, &run_id, &paths, drops)?;
                }
            }
        }
        (files.logs, files.dropped)
    };
    tracing::debug!(call = %call.id(), run = %run_id, "claimed the call, and runs it");
    let keep = |listed: &ListedTool| pins::pin_store(room).first_use(mcp.as_ref(), listed);
    let rule = pinned.as_ref().map_or(PinRule::FirstUse(&keep), |record| PinRule::Holds(&record.pin));
    let secrets = gather::bound_secrets(room, &config.policy);
    let listener =
        room.env.listener.as_ref().map(|listener| masked(listener.clone(), Redactor::new(&secrets)));
    let tool_call = ToolCall::of(&call, rule, listener.as_ref());
    let mut server = match (tool_call, &kept) {
        (None, _) => Speaker::None,
        (Some(tool_call), None) => Speaker::Own(tool_call),
        (Some(tool_call), Some(kept)) => {
            let named = |requester| {
                let (server_id, sampling) = (kept.server_id.clone(), kept.sampling);
                Arc::new(Named { requester, server_id, sampling, redactor: Redactor::new(&secrets) })
            };
            let requester =
                room.env.requester.clone().map(|requester| named(requester) as Arc<dyn Requester>);
            Speaker::Kept(KeptCall::new(&kept.server, tool_call, &kept.id, requester), kept)
        }
    };
    let watch =
        if kept.is_some() || acting.is_some() { Watch::Nothing } else { watching::watch(room, &call) };
    let sandbox = || kept.as_ref().map(|kept| kept.sandbox()).unwrap_or_default();
    let installing = Installing::begin(room, &config, call.call());
    let finished = execute(
        &Execution {
            call: &call,
            run_id: &run_id,
            started_at,
            program: program.as_ref(),
            fs: &*room.fs,
            directory: &planned.directory,
            environment: &room.env.environment,
            secrets: &secrets,
            paths,
            watch: &watch,
            checkpoint_dir: &dropped,
            progress: room.env.progress.as_deref(),
            cancel: room.env.cancel.clone(),
            clock: &*room.env.clock,
            speller: &*room.env.speller,
        },
        logs,
        match &mut acting {
            Some(acting) => Way::Inside(acting),
            None => server.way(&sandbox),
        },
    );
    let finished = match installing {
        Some(installing) => installing.judge(room, &config, finished),
        None => finished,
    };
    let finished = commanded::judged(room, call.call(), &Redactor::new(&secrets), finished);
    room.digests.keep(&*room.fs);
    watching::remember(room, &call, &finished.receipt);
    tracing::debug!(run = %run_id, status = finished.status.as_str(), "the run is over");
    // The run is recorded even if storing the pin fails.
    let said = mcp.as_ref().zip(server.exchange());
    let redactor = Redactor::new(&secrets);
    let own = match &acting {
        Some(acting) => acting.result().and_then(|result| shown_result(result, &redactor)),
        None => commanded::result_of(room, &config, &finished.receipt, &redactor),
    };
    let answer = own.or_else(|| server.exchange().and_then(|exchange| exchange.result.clone()));
    let kept = said.map_or(Ok(None), |(mcp, exchange)| {
        pins::pin_store(room).keep(mcp, pinned.as_ref(), exchange, finished.completed_at)
    });
    let locked = if late.is_some() { queue.lock_late(room.now()) } else { queue.lock(room.now()) };
    let recorded = locked
        .and_then(|mut locked| {
            locked.finish(
                call.id(),
                &run_id,
                finished.checkpoints.clone(),
                &mut |stored| with_checkpoints(&finished.receipt, stored),
                finished.completed_at,
            )
        })
        .map_err(|error| {
            // With its receipt there, whoever comes next records how it ended. Checkpoints must be stored before one.
            let path = rel(&format!("{RUNS}/{run_id}.json"));
            let bytes = finished.receipt.to_bytes();
            let is_kept = finished.checkpoints.is_empty()
                && (room.fs.create_new_durable(&path, &bytes).is_ok()
                    || room.fs.read(&path, bytes.len() as u64).is_ok_and(|there| there == bytes));
            unrecorded(error.into(), call.id(), &run_id, if is_kept { Kept::Receipt } else { Kept::Nothing })
        })?;
    // If this fails, the next run tries again.
    let _ = room.fs.remove_tree(&dropped);
    let changed_pin = kept?;
    let succeeded = matches!(finished.status, CallStatus::Completed | CallStatus::Waiting);
    let report = RunReport {
        schema: RunReport::SCHEMA,
        target: room.target(),
        calls_path: calls::calls_path(room),
        runs_path: room.absolute(RUNS),
        call: recorded.call.call.shown(room),
        receipt: Box::new(recorded.receipt.receipt.shown(room)),
        blockers: Unfilled::default(),
        blocker_details: Unfilled::default(),
        changed: Unfilled::default(),
        passed_over: Vec::new(),
        warnings: finished
            .warnings
            .into_iter()
            .chain(recorded.chain.warning().map(|warning| room.spelled(warning).to_string()))
            .collect(),
        failure: finished.failure.map(|failure| match &changed_pin {
            Some(pin) => {
                let hint = Hint::from("`")
                    .then(NextStep::ShowPin(pin.clone()))
                    .then("` shows what changed; queue the call again and approve it, or `")
                    .then(NextStep::AcceptPin(pin.clone()))
                    .then("`, if that is wanted");
                format!("{failure} ({})", room.spelled(hint))
            }
            None => failure,
        }),
        candidates: Unfilled::default(),
        succeeded,
    };
    Ok(Attempt::Ran(Box::new(report), answer))
}

/// Claims a stored call. Returns why it cannot be claimed now, if it cannot.
fn claim_stored(
    room: &Room,
    locked: &mut LockedQueue<'_>,
    call: &VerifiedCall,
    revision: u64,
    files: &RunFiles,
    claim: Claim,
    now: Timestamp,
) -> Result<Option<Error>, Error> {
    let run_id = claim.run_id.clone();
    let stands = locked.view().call(call.id())?;
    let is_free = stands.as_ref().is_some_and(|now| now.revision == revision)
        && locked.view().receipt(run_id.as_str())?.is_none();
    let waits = match room.env.at_once {
        Some(most) if is_free => !locked.view().is_its_turn(call.call(), most)?,
        _ => false,
    };
    let claimed = if waits {
        Err(Error::new(ErrorKind::Refused, format!("call {} waits for its turn", call.id()))
            .coded(codes::NOT_ITS_TURN))
    } else if files.is_used && is_free {
        let message = format!("call {} has been started already, as the logs of {run_id} show", call.id());
        Err(Error::new(ErrorKind::Refused, message).hint("queue it again if it is to run once more"))
    } else {
        locked.claim(call.id(), revision, claim, now).map_err(Error::from)
    };
    let Err(error) = claimed else { return Ok(None) };
    // Other attempts to run this call use the same files, so they stay if a run has started.
    let has_begun = |now: &StoredCall| now.call.claim.as_ref().is_some_and(|claim| claim.run_id == run_id);
    if !stands.as_ref().is_some_and(has_begun) {
        files.discard(&*room.fs);
    }
    if error.kind() == ErrorKind::Environment { Err(error) } else { Ok(Some(error)) }
}

/// Returns the server that makes a call of an agent, if servers are kept.
fn keeping(room: &Room, config: &Config, call: &VerifiedCall) -> Result<Option<Found>, Error> {
    let (Some(upstreams), Some(_)) = (&room.env.upstreams, call.call().caller.agent()) else {
        return Ok(None);
    };
    let entry = gather::entry(room, config, &call.call().tool_id, call.plan().args());
    let tool = entry.ok().filter(|tool| tool.family == Some(Family::Mcp));
    // A resumed call goes on with a process of its own, which is told what was answered.
    let Some(tool) = tool.filter(|_| call.resume().is_none()) else { return Ok(None) };
    Ok(Some(upstreams.server_for(room, config, tool, call)?))
}

/// What speaks to the server of an MCP call.
enum Speaker<'a> {
    /// It is no such call.
    None,
    /// A process of its own.
    Own(ToolCall<'a>),
    /// A kept one.
    Kept(KeptCall<'a>, &'a KeptServer),
}

impl Speaker<'_> {
    fn way<'w>(&'w mut self, sandbox: &'w dyn Fn() -> SandboxUsed) -> Way<'w> {
        match self {
            Speaker::None => Way::Wait,
            Speaker::Own(peer) => Way::Talk(peer),
            Speaker::Kept(peer, kept) => {
                Way::Kept(KeptWay { peer, started_from: &kept.started_from, sandbox })
            }
        }
    }

    fn exchange(&self) -> Option<&Exchange> {
        match self {
            Speaker::None => None,
            Speaker::Own(call) => Some(call.exchange()),
            Speaker::Kept(call, _) => Some(call.exchange()),
        }
    }
}

/// Returns a listener that passes on what servers say without secrets.
fn masked(listener: Listener, redactor: Redactor) -> Listener {
    Listener::new(move |progress| {
        let message = progress.message.as_deref().map(|text| redactor.redact_str(text));
        listener.hear(McpProgress { message, ..progress });
    })
}

pub(crate) fn refused(room: &Room, call: &Call, refusal: NotVerified) -> Error {
    let changed: Vec<String> = refusal.changes.iter().map(ToString::to_string).collect();
    let is_uncertain = refusal.blockers.iter().any(brigade_policy::Blocker::is_of_invalid_policy);
    let message = match changed.as_slice() {
        _ if is_uncertain => format!("call {} cannot run", call.id),
        [reason] if refusal.changes == [Change::NothingBound] => {
            format!("call {} cannot run: {reason}", call.id)
        }
        // The only reason says more than the names of the changes.
        [_, _, ..] if refusal.blockers.len() == 1 => format!("call {} cannot run", call.id),
        [] => format!("call {} cannot run", call.id),
        changed => {
            format!("call {} cannot run: changed since it was approved: {}", call.id, changed.join(", "))
        }
    };
    let error = Error::new(ErrorKind::Refused, message).coded(codes::CALL_BLOCKED).because(refusal.blockers);
    not_run(room, Some(call), error, RunRefusal { changed, ..RunRefusal::default() })
}

fn not_run(room: &Room, call: Option<&Call>, error: Error, known: RunRefusal) -> Error {
    let call = call.map(|call| Box::new(call.clone().shown(room)));
    error.refusing(room, Refusal::Run(RunRefusal { call, ..known }))
}
