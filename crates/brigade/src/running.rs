//! Runs approved calls.

use std::sync::Arc;

use brigade_call::{Claim, Refusal as NotVerified, RunStatus, SandboxUsed, VerifiedCall};
use brigade_catalog::Family;
use brigade_core::{Hint, NextStep, Timestamp, codes};
use brigade_exec::{Drops, Execution, Executor, KeptProgram, RunFiles, RunPaths, Watch, execute};
use brigade_fs::{Fs, RelPath};
use brigade_mcp::{
    Exchange, KeptCall, ListedTool, Listener, McpProgress, NamedRequester, PinLookupError, PinRule,
    Requester, ToolCall,
};
use brigade_ops::{
    Attempt, Error, ErrorKind, Installing, ReadyCall, RunReport, Runner,
    upstreams::{KeptServer, ServerLookup},
};
use brigade_queue::{LockedQueue, Outcome, OutcomeReservation, StoredCall, this_runner};
use brigade_redact::Redactor;
use brigade_workspace::{Config, KeptLane, gather, gather::PlannedCall};

use crate::acting::BuiltinCall;
use crate::agent_calls::RequestOutcome;
use crate::commanded;
use crate::late::DeferredSync;
use crate::room::WorkspaceInner;

/// Where a verified call stands before its claim.
pub(crate) enum ClaimSource<'a> {
    /// It is stored, at this revision.
    At(u64),
    /// It is not stored yet. Under the lock, this stores it with its claim, unless there is a reason not to.
    New(&'a mut InsertFn<'a>),
}

/// Stores a new call. Without a claim, it is stored as one that does not run yet.
pub(crate) type InsertFn<'a> =
    dyn FnMut(&mut LockedQueue<'_>, Option<Claim>) -> Result<InsertOutcome, Error> + 'a;

/// What came of storing a new call.
pub(crate) enum InsertOutcome {
    /// It is stored, and claimed.
    Claimed,
    /// It does not run now.
    Not(RequestOutcome),
}

/// What came of a call that was to be claimed.
pub(crate) enum ClaimOutcome {
    /// It was stored, or is now.
    Tried(Attempt),
    /// The call was new, and was not claimed.
    Not(RequestOutcome),
}

impl Runner for WorkspaceInner {
    fn attempt(&self, ready: ReadyCall) -> Result<Attempt, Error> {
        let stands = ClaimSource::At(ready.revision);
        match attempt(self, ready.call, stands, ready.planned, &ready.config)? {
            ClaimOutcome::Tried(attempt) => Ok(attempt),
            ClaimOutcome::Not(_) => unreachable!("a stored call is not new"),
        }
    }
}

/// Claims the call, runs it, and records how it ended.
pub(crate) fn attempt(
    room: &WorkspaceInner,
    call: VerifiedCall,
    stands: ClaimSource<'_>,
    planned: PlannedCall,
    config: &Arc<Config>,
) -> Result<ClaimOutcome, Error> {
    let (mcp, pinned) = match brigade_ops::pin_of_call(room, config, &call) {
        Ok(Some((mcp, pinned))) => (Some(mcp), pinned),
        Ok(None) => (None, None),
        Err(PinLookupError::Files(error)) => return Err(error.into()),
        Err(PinLookupError::Unreadable(blocker)) => {
            let refusal = NotVerified { blockers: vec![*blocker], changes: Vec::new(), moved: None };
            return Ok(refused_claim(&call, refusal));
        }
    };
    let kept = match find_kept_server(room, config, &call)? {
        None => None,
        Some(ServerLookup::Ready(kept, hold)) => Some((kept, hold)),
        Some(ServerLookup::Refused(blockers)) => {
            let blockers = blockers.into_iter().map(|mut blocker| {
                blocker.spell(&*room.env.speller);
                blocker
            });
            let refusal = NotVerified { blockers: blockers.collect(), changes: Vec::new(), moved: None };
            return Ok(refused_claim(&call, refusal));
        }
    };
    let (kept, _hold) = kept.unzip();
    let mut acting = BuiltinCall::for_call(room, config, &call);
    let program = planned.program;
    debug_assert!(
        program.is_some() != acting.is_some(),
        "a verified call has its program open, or is built in"
    );
    let without_person = call.call().approved_without_person().is_some();
    let late =
        room.late_for(&call.call().contract.effects).filter(|_| without_person && call.resume().is_none());
    let _soon = late.map(DeferredSync::soon_after);
    let fs: &dyn Fs = match late {
        Some(late) => &**late.files(),
        None => &*room.fs,
    };
    let started_at = room.now();
    let run_id = call.call().next_run_id();
    let paths = RunPaths::new(&run_id);
    let queue = room.queue();
    let claim = Claim { run_id: run_id.clone(), runner: Some(this_runner()?) };
    let (logs, dropped, reserved) = {
        let drops = if kept.is_some() || acting.is_some() { Drops::None } else { Drops::Taken };
        let mut files = RunFiles::create(fs, &run_id, &paths, drops)?;
        // A lane is not taken away between the look at it and the claim.
        let lane = call.call().session.as_ref().and_then(|session| session.root_of(&call.call().tool_id));
        let kept = lane.map(|lane| room.host().keep_lane(lane, room.env.lock_timeout)).transpose();
        let kept = kept.inspect_err(|_| files.discard(&*room.fs))?;
        if let Some(KeptLane::Not(none)) = kept {
            files.discard(&*room.fs);
            return Err(none.into());
        }
        let mut locked =
            if late.is_some() { queue.lock_late(started_at)? } else { queue.lock(started_at)? };
        let reserved =
            OutcomeReservation::make(room.fs.clone(), &run_id).inspect_err(|_| files.discard(&*room.fs))?;
        match stands {
            ClaimSource::New(enter) => match enter(&mut locked, (!files.is_used).then_some(claim)) {
                Ok(InsertOutcome::Claimed) => {}
                not => {
                    files.discard(&*room.fs);
                    return not.map(|entered| match entered {
                        InsertOutcome::Not(asked) => ClaimOutcome::Not(asked),
                        InsertOutcome::Claimed => unreachable!("that is the first arm"),
                    });
                }
            },
            ClaimSource::At(revision) => {
                if let Some(error) =
                    claim_stored(room, &mut locked, &call, revision, &files, claim, started_at)?
                {
                    return Ok(ClaimOutcome::Tried(Attempt::Taken(Box::new(call.call().clone()), error)));
                }
                // Another process that gave up may have removed files that it created and this one found.
                if !room.fs.exists(&RelPath::composed(&paths.stdout_log))?
                    || !room.fs.exists(&RelPath::composed(&paths.stderr_log))?
                {
                    files = RunFiles::create(fs, &run_id, &paths, drops)?;
                }
            }
        }
        (files.logs, files.dropped, reserved.claimed())
    };
    tracing::debug!(call = %call.id(), run = %run_id, "claimed the call, and runs it");
    let keep = |listed: &ListedTool| brigade_ops::pin_store(room).first_use(mcp.as_ref(), listed);
    let rule = pinned.as_ref().map_or(PinRule::FirstUse(&keep), |record| PinRule::Holds(&record.pin));
    let secrets = gather::bound_secrets(room, &config.policy);
    let listener =
        room.env.listener.as_ref().map(|listener| mask_listener(listener.clone(), Redactor::new(&secrets)));
    let tool_call = ToolCall::new(&call, rule, listener.as_ref());
    let mut server = match (tool_call, &kept) {
        (None, _) => Speaker::None,
        (Some(tool_call), None) => Speaker::Own(tool_call),
        (Some(tool_call), Some(kept)) => {
            let named = |requester| {
                let (server_id, sampling) = (kept.server_id.clone(), kept.sampling);
                Arc::new(NamedRequester { requester, server_id, sampling, redactor: Redactor::new(&secrets) })
            };
            let requester =
                room.env.requester.clone().map(|requester| named(requester) as Arc<dyn Requester>);
            Speaker::Kept(KeptCall::new(&kept.server, tool_call, &kept.id, requester), kept)
        }
    };
    let watch =
        if kept.is_some() || acting.is_some() { Watch::Nothing } else { brigade_ops::watch(room, &call) };
    let sandbox = || kept.as_ref().map(|kept| kept.sandbox()).unwrap_or_default();
    let installing = Installing::begin(room, config, call.call());
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
            Some(acting) => Executor::Builtin(acting),
            None => server.way(&sandbox),
        },
    );
    let finished = match installing {
        Some(installing) => installing.judge(room, config, finished),
        None => finished,
    };
    let finished = commanded::apply_provider_answer(room, call.call(), &Redactor::new(&secrets), finished);
    room.digests.keep(&*room.fs);
    brigade_ops::remember_observed(room, &call, &finished.receipt);
    tracing::debug!(run = %run_id, status = finished.status.as_str(), "the run is over");
    // The run is recorded even if storing the pin fails.
    let said = mcp.as_ref().zip(server.exchange());
    let redactor = Redactor::new(&secrets);
    let own = match &acting {
        Some(acting) => acting.result().map(|result| result.shown(&redactor).to_json()),
        None => {
            commanded::result_of(room, config, &finished.receipt, &redactor).map(|result| result.to_json())
        }
    };
    let answer = own.or_else(|| server.exchange().and_then(|exchange| exchange.result.clone()));
    let kept = said.map_or(Ok(None), |(mcp, exchange)| {
        brigade_ops::keep_pin(room, config, mcp, pinned.as_deref(), exchange, finished.completed_at)
    });
    let locked = if late.is_some() { queue.lock_late(room.now()) } else { queue.lock(room.now()) };
    let outcome = Outcome { receipt: finished.receipt, checkpoints: finished.checkpoints };
    let recorded = reserved.record(locked, outcome, finished.completed_at)?;
    // If this fails, the next run tries again.
    let _ = room.fs.remove_tree(&dropped);
    let changed_pin = kept?;
    let succeeded = matches!(finished.status, RunStatus::Completed | RunStatus::Waiting);
    let mut report = RunReport::new(room, recorded.call.call, recorded.receipt.receipt, succeeded);
    let warning = recorded.chain.warning().map(|warning| room.spelled(warning).to_string());
    report.warnings = finished.warnings.into_iter().chain(warning).collect();
    report.failure = finished.failure.map(|failure| match &changed_pin {
        Some(pin) => {
            let hint = Hint::from("`")
                .then(NextStep::ShowPin(pin.clone()))
                .then("` shows what changed; queue the call again and approve it, or `")
                .then(NextStep::AcceptPin(pin.clone()))
                .then("`, if that is wanted");
            format!("{failure} ({})", room.spelled(hint))
        }
        None => failure,
    });
    Ok(ClaimOutcome::Tried(Attempt::Ran(Box::new(report), answer)))
}

fn refused_claim(call: &VerifiedCall, refusal: NotVerified) -> ClaimOutcome {
    ClaimOutcome::Tried(Attempt::Refused(Box::new(call.call().clone()), Box::new(refusal)))
}

/// Claims a stored call. Returns why it cannot be claimed now, if it cannot.
fn claim_stored(
    room: &WorkspaceInner,
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
fn find_kept_server(
    room: &WorkspaceInner,
    config: &Config,
    call: &VerifiedCall,
) -> Result<Option<ServerLookup>, Error> {
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
    fn way<'w>(&'w mut self, sandbox: &'w dyn Fn() -> SandboxUsed) -> Executor<'w> {
        match self {
            Speaker::None => Executor::Spawn,
            Speaker::Own(peer) => Executor::Converse(peer),
            Speaker::Kept(peer, kept) => {
                Executor::Reuse(KeptProgram { peer, started_from: &kept.started_from, sandbox })
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
fn mask_listener(listener: Listener, redactor: Redactor) -> Listener {
    Listener::new(move |progress| {
        let message = progress.message.as_deref().map(|text| redactor.redact_str(text));
        listener.hear(McpProgress { message, ..progress });
    })
}
