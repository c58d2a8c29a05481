//! The threads of a runner that ask the database and run calls, and what they say to the one that decides.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use brigade_call::{CallStatus, RUNS};
use brigade_core::{CallId, ErrorCode, ErrorKind, RunId};
use brigade_exec::Progress;
use brigade_fs::RelPath;
use brigade_process::CancelToken;
use brigade_queue::StoredCall;
use brigade_team::{LeaseLost, NewOffer, ServerState, TeamError, TeamStore};
use brigade_workspace::WorkspaceContext;

use super::{MakeCalls, RunnerHooks, STOP_INTERVAL};
use crate::calls::Calls;
use crate::calls::running::{Attempt, of_agent, verified};
use crate::error::Error;
use crate::report::{RunnerEvent, RunnerEventKind};
use crate::team::LEASE;
use crate::team::offering::{offer_for, sentences};

/// The first and the longest wait before a lost connection is tried again.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const MAX_RETRY: Duration = Duration::from_secs(10);

pub(super) fn not_started(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Environment, format!("a thread cannot be started: {}", error.kind()))
}

/// What the threads of a runner share.
pub(super) struct HostCore {
    pub(super) context: Arc<WorkspaceContext>,
    /// The queue for runs, which waits for a server that is away.
    pub(super) runs: TeamStore,
    /// The queue for everything else, which does not.
    pub(super) store: TeamStore,
    /// The name in the team.
    pub(super) name: String,
    pub(super) send: Sender<Message>,
    /// The tools whose calls are run; empty for all.
    pub(super) tools: Vec<String>,
    pub(super) is_over: AtomicBool,
}

/// What a run needs, too.
pub(super) struct Host<'a> {
    pub(super) core: Arc<HostCore>,
    pub(super) make: &'a MakeCalls<'a>,
}

/// What a thread says to the one that decides.
pub(super) enum Message {
    /// The queue has changed.
    Woken,
    /// The process was asked to stop.
    Signalled,
    /// Something happened.
    Event(Box<RunnerEvent>),
    /// The database has answered.
    Looked(Box<Result<LookAnswer, Error>>),
    /// A call that was to be run needs its thread no more.
    Ended(CallId, Box<AttemptEnd>),
}

/// What the thread that asks the database is to do.
pub(super) enum LookRequest {
    /// Look what there is to do. Also says that the host is there, if the connection was lost.
    Look { says_ready: bool },
    /// Say how the runner is.
    Say(&'static str),
}

/// What there is to do.
#[derive(Default)]
pub(super) struct LookAnswer {
    pub(super) approved: Vec<CallId>,
    /// The hosts that have not reported to a server that has replaced another one.
    pub(super) waits_for: Option<Vec<String>>,
    /// What this host would run for calls that wait.
    pub(super) offers: Vec<NewOffer>,
    /// Whether the connection was lost, and is there again.
    pub(super) is_reconnected: bool,
    /// The reports of runs that ended while the database was away.
    pub(super) reported: Vec<RunnerEvent>,
}

/// What came of a call that was to be run.
pub(super) enum AttemptEnd {
    /// It has run.
    Ran,
    /// It has run, and the database does not know it yet.
    Unreported,
    /// Others run or have changed it.
    Gone,
    /// It may not run here.
    PassedOver(Box<NewOffer>),
    /// The database was replaced.
    Failover,
    /// Something failed before the claim.
    Failed(Error),
}

impl HostCore {
    pub(super) fn event(
        &self,
        event: RunnerEventKind,
        call: Option<&str>,
        run: Option<&str>,
        reason: Option<String>,
        status: Option<&str>,
    ) -> RunnerEvent {
        RunnerEvent {
            event,
            at: self.context.now(),
            call_id: call.map(str::to_owned),
            run_id: run.map(str::to_owned),
            host: self.name.clone(),
            reason,
            status: status.map(str::to_owned),
        }
    }

    pub(super) fn say(&self, event: RunnerEvent) {
        let _ = self.send.send(Message::Event(Box::new(event)));
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Starts the threads that wait for the database and for signals.
    pub(super) fn start_threads(self: Arc<HostCore>, signals: CancelToken) -> std::io::Result<()> {
        let core = self.clone();
        thread::Builder::new().name("listen".to_owned()).spawn(move || core.listen())?;
        let wait = move || {
            while !self.is_over() {
                if signals.wait(STOP_INTERVAL * 5) {
                    let _ = self.send.send(Message::Signalled);
                    return;
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(wait).map(|_| ())
    }

    /// Wakes the runner when the queue changes. Without it, the runner looks at intervals.
    fn listen(&self) {
        let mut retry = Retry::default();
        while !self.is_over() {
            match self.store.listen() {
                Ok(mut wakes) => {
                    retry = Retry::default();
                    let _ = self.send.send(Message::Woken);
                    while !self.is_over() {
                        match wakes.wait(STOP_INTERVAL * 5) {
                            Ok(true) => drop(self.send.send(Message::Woken)),
                            Ok(false) => {}
                            Err(_) => break,
                        }
                    }
                }
                Err(error) => tracing::debug!(%error, "the runner is not woken"),
            }
            let until = Instant::now() + retry.next();
            while Instant::now() < until && !self.is_over() {
                thread::park_timeout(STOP_INTERVAL);
            }
        }
    }

    /// Starts the thread that asks the database. A server that does not answer keeps only this thread.
    pub(super) fn start_looking(self: &Arc<HostCore>) -> std::io::Result<Sender<LookRequest>> {
        let core = self.clone();
        let (send, receive) = channel();
        let look = move || {
            while let Ok(request) = receive.recv() {
                let looked = match request {
                    LookRequest::Look { says_ready } => core.look(says_ready),
                    LookRequest::Say(state) => {
                        core.report_host(state).map(|_| LookAnswer::default()).map_err(Error::from)
                    }
                };
                let _ = core.send.send(Message::Looked(Box::new(looked)));
            }
        };
        thread::Builder::new().name("look".to_owned()).spawn(look)?;
        Ok(send)
    }

    /// Returns whether this host has begun a run: its logs are here.
    fn has_begun(&self, run: &RunId) -> bool {
        let log = RelPath::composed(&format!("{RUNS}/{run}.stdout.log"));
        self.context.fs.exists(&log).unwrap_or(true)
    }

    fn report_host(&self, state: &str) -> Result<ServerState, TeamError> {
        self.store.report_host(state, &|run| self.has_begun(run))
    }

    /// Makes what says how one run goes, and what ends it.
    fn hooks(&self, id: &CallId, cancel: &CancelToken, run: &Arc<Mutex<Option<String>>>) -> RunnerHooks {
        let progress = Arc::new(RunProgress {
            send: Mutex::new(self.send.clone()),
            claimed: self.event(RunnerEventKind::Claimed, Some(id.as_str()), None, None, None),
            context: self.context.clone(),
            run: run.clone(),
        });
        let (losing, token) = (progress.clone(), cancel.clone());
        let lost: LeaseLost = Arc::new(move || {
            if !token.is_cancelled() {
                losing.say(RunnerEventKind::LeaseLost);
            }
            token.cancel_by(LEASE);
        });
        let claiming = progress.clone();
        let claimed = Arc::new(move |run: &str| {
            *claiming.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.to_owned());
            claiming.say(RunnerEventKind::Claimed);
        });
        let store = Arc::new(self.runs.for_run(lost, claimed));
        RunnerHooks { store, cancel: cancel.clone(), progress }
    }

    /// Looks what there is to do, says what this host would run, and interrupts calls whose claim has expired.
    fn look(&self, says_ready: bool) -> Result<LookAnswer, Error> {
        let mut looked = LookAnswer::default();
        if says_ready {
            looked.waits_for = match self.report_host("ready")? {
                ServerState::Same => None,
                ServerState::Replaced(hosts) => Some(hosts),
            };
        }
        let before = self.store.connections();
        let tools = Some(self.tools.as_slice()).filter(|tools| !tools.is_empty());
        let work = self.store.work("ready", tools)?;
        if !says_ready && self.store.connections() != before {
            // The new connection may lead to another server.
            return Ok(LookAnswer { is_reconnected: true, ..self.look(true)? });
        }
        looked.reported = self.report_kept()?;
        if work.has_expired {
            crate::record_interrupted(&self.context)?;
        }
        for id in &work.undecided {
            let found: Option<StoredCall> = self.context.queue().read()?.call(id)?;
            let waits =
                |stored: &StoredCall| matches!(stored.call.status, CallStatus::Pending | CallStatus::Held);
            if let Some(stored) = found.filter(waits) {
                looked.offers.push(offer_for(&self.context, &stored, None)?);
            }
        }
        if !looked.offers.is_empty() {
            self.store.offer(&looked.offers)?;
        }
        looked.approved = work.approved;
        Ok(looked)
    }

    /// Reports the runs that ended while the database was away.
    fn report_kept(&self) -> Result<Vec<RunnerEvent>, Error> {
        let queue = self.context.queue();
        let kept = queue.unreported();
        if kept.is_empty() {
            return Ok(Vec::new());
        }
        crate::record_interrupted(&self.context)?;
        let left = queue.unreported();
        let mut reported = Vec::new();
        for outcome in kept {
            let receipt = &outcome.receipt;
            if left.iter().any(|left| left.receipt.id == receipt.id) {
                continue;
            }
            let call = queue.read()?.call(&receipt.call_id)?.map(|stored| stored.call);
            let ending = receipt.status.of_its_call();
            let kind = match call.is_some_and(|call| ending == Some(call.status)) {
                true => RunnerEventKind::Finished,
                false => RunnerEventKind::Late,
            };
            let (call, run) = (Some(receipt.call_id.as_str()), Some(receipt.id.as_str()));
            reported.push(self.event(kind, call, run, None, Some(receipt.status.as_str())));
        }
        Ok(reported)
    }
}

impl Host<'_> {
    /// Runs a call, if it is approved for this host and no other one claims it first.
    pub(super) fn attempt(&self, id: &CallId, cancel: &CancelToken) -> AttemptEnd {
        let (core, run) = (&*self.core, Arc::<Mutex<Option<String>>>::default());
        let calls = (self.make)(core.hooks(id, cancel, &run));
        match self.try_attempt(&calls, id) {
            Ok(end) => end,
            Err(error) => {
                let run = run.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let Some(run) = run else { return AttemptEnd::Failed(error) };
                let kept = core.context.queue().unreported();
                if kept.iter().any(|outcome| outcome.receipt.id.as_str() == run) {
                    tracing::debug!(%error, "the end of a run is reported later");
                    return AttemptEnd::Unreported;
                }
                let reason = Some(error.to_string());
                core.say(core.event(RunnerEventKind::Late, Some(id.as_str()), Some(&run), reason, None));
                AttemptEnd::Ran
            }
        }
    }

    fn try_attempt(&self, calls: &Calls, id: &CallId) -> Result<AttemptEnd, Error> {
        let context = &*calls.context;
        let Some(stored) = context.queue().read()?.call(id)? else { return Ok(AttemptEnd::Gone) };
        let call = &stored.call;
        let is_open = call.status == CallStatus::Approved || call.is_approved_elsewhere();
        if !is_open || of_agent(context, &call.caller).is_some() {
            return Ok(AttemptEnd::Gone);
        }
        Ok(match verified(context, &*calls.runner, stored.clone(), &[])? {
            Attempt::Ran(report, _) => {
                let receipt = &report.receipt;
                let (run, status) = (Some(receipt.id.as_str()), Some(receipt.status.as_str()));
                let reason = report.failure.clone();
                let event = RunnerEventKind::Finished;
                self.core.say(self.core.event(event, Some(id.as_str()), run, reason, status));
                AttemptEnd::Ran
            }
            Attempt::Taken(_, error) if error.code() == ErrorCode::TeamFailover => AttemptEnd::Failover,
            Attempt::Taken(..) => AttemptEnd::Gone,
            Attempt::Refused(_, refusal) => {
                let reason = sentences(&refusal.blockers).join("; ");
                let offer = offer_for(context, &stored, Some(reason))?;
                self.core.store.offer(std::slice::from_ref(&offer))?;
                AttemptEnd::PassedOver(Box::new(offer))
            }
        })
    }
}

/// Says what happens to one run.
struct RunProgress {
    send: Mutex<Sender<Message>>,
    claimed: RunnerEvent,
    context: Arc<WorkspaceContext>,
    run: Arc<Mutex<Option<String>>>,
}

impl RunProgress {
    fn say(&self, event: RunnerEventKind) {
        let run_id = self.run.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let event = RunnerEvent { event, at: self.context.now(), run_id, ..self.claimed.clone() };
        let send = self.send.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = send.send(Message::Event(Box::new(event)));
    }
}

impl Progress for RunProgress {
    fn started(&self) {
        self.say(RunnerEventKind::Started);
    }

    fn printed(&self, _: &[u8]) {}

    fn ended(&self) {}
}

/// The waits before a lost connection is tried again: each about twice as long as the one before, and never the same on
/// all hosts.
#[derive(Default)]
pub(super) struct Retry(u32);

impl Retry {
    pub(super) fn next(&mut self) -> Duration {
        let wait = FIRST_RETRY.saturating_mul(1 << self.0.min(7)).min(MAX_RETRY);
        self.0 = self.0.saturating_add(1);
        let random = brigade_process::random_bytes::<1>().map_or(128, |[byte]| byte);
        wait / 2 + wait / 2 * u32::from(random) / 255
    }
}
