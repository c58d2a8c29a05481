//! The runner of a host: offers what it would run, claims approved calls, and runs them as every call is run.
//!
//! One thread decides, and each run has a thread. A run has its own token, so that a lost lease ends only that run. The
//! database is asked in one statement, when it says that the queue has changed and every two seconds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use brigade_call::{CallStatus, RUNS};
use brigade_core::{CallId, ErrorKind, Fingerprint, RunId, codes};
use brigade_exec::Progress;
use brigade_fs::RelPath;
use brigade_process::CancelToken;
use brigade_queue::{Store, StoredCall};
use brigade_team::{JoinedTeam, LeaseLost, NewOffer, ServerState, TeamError, TeamStore};
use brigade_workspace::WorkspaceContext;

use super::offering::{offer_for, sentences};
use super::{LEASE, Team};
use crate::calls::Calls;
use crate::calls::running::{Attempt, of_agent, verified};
use crate::error::Error;
use crate::report::{Report as _, RunnerEvent, RunnerEventKind, TeamRunnerReport};

/// How long a runner waits before it looks again, without a notification.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// How soon a runner looks whether it was asked to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// The first and the longest wait before a lost connection is tried again.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const MAX_RETRY: Duration = Duration::from_secs(10);

/// What a runner does.
#[derive(Clone, Debug)]
pub struct RunnerRequest {
    /// How many calls it runs at the same time.
    pub parallel: usize,
    /// The tools whose calls it runs; empty for all.
    pub tools: Vec<String>,
    /// When it stops.
    pub stop: RunnerStop,
    /// How long a claim is valid without a renewal, in seconds.
    pub lease_seconds: u16,
}

/// When a runner stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunnerStop {
    /// When it is asked to.
    Asked,
    /// After it has offered for what waits, and has run at most one call.
    Once,
    /// When no approved call is left that it may run.
    Idle,
}

/// What the operations for one run use.
pub struct RunnerHooks {
    /// The queue.
    pub store: Arc<dyn Store>,
    /// Ends the run.
    pub cancel: CancelToken,
    /// Follows the run.
    pub progress: Arc<dyn Progress>,
}

/// Makes the operations for one run.
pub type MakeCalls<'a> = dyn Fn(RunnerHooks) -> Calls + Sync + 'a;

impl Team {
    /// Runs approved calls of the team on this host, until it is asked to stop: the first request of `signals` lets the
    /// runs end, and the second one ends them.
    ///
    /// # Errors
    /// Fails inside a run, if the workspace has not joined, if the member is not a runner, and if the database cannot be
    /// reached at first.
    pub fn run_calls(
        &self,
        request: &RunnerRequest,
        signals: &CancelToken,
        make: &MakeCalls<'_>,
        found: &mut dyn FnMut(&RunnerEvent),
    ) -> Result<TeamRunnerReport, Error> {
        self.context.require_outside_run()?;
        let joined: JoinedTeam = self.joined()?;
        let context = &*self.context;
        let (timeout, lease) = (context.timeout, request.lease_seconds);
        let store = super::open(&context.fs, &context.environment, joined, timeout, lease, None)?;
        let name = store.host_name()?;
        let (send, receive) = channel();
        let host = Host { context: self.context.clone(), store, name, make, send };
        let is_over = AtomicBool::new(false);
        let events = thread::scope(|scope| {
            scope.spawn(|| host.listen(&is_over));
            scope.spawn(|| host.await_signal(signals, &is_over));
            let mut runner = RunnerLoop::new(&host, request, found);
            let result = runner.run(scope, &receive, signals);
            is_over.store(true, Ordering::SeqCst);
            result.map(|()| runner.counts)
        })?;
        let (schema, target) = (TeamRunnerReport::SCHEMA, self.context.target());
        Ok(TeamRunnerReport { schema, target, host: host.name, events })
    }
}

/// What the threads of a runner share.
struct Host<'a> {
    context: Arc<WorkspaceContext>,
    store: TeamStore,
    /// The name in the team.
    name: String,
    make: &'a MakeCalls<'a>,
    send: Sender<Message>,
}

/// What a thread says to the one that decides.
enum Message {
    /// The queue has changed.
    Woken,
    /// The process was asked to stop.
    Signalled,
    /// Something happened.
    Event(Box<RunnerEvent>),
    /// A call that was to be run needs its thread no more.
    Ended(CallId, Box<AttemptEnd>),
}

/// What came of a call that was to be run.
enum AttemptEnd {
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

impl Host<'_> {
    fn event(
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

    fn say(&self, event: RunnerEvent) {
        let _ = self.send.send(Message::Event(Box::new(event)));
    }

    /// Wakes the runner when the queue changes. Without it, the runner looks at intervals.
    fn listen(&self, is_over: &AtomicBool) {
        let mut retry = Retry::default();
        while !is_over.load(Ordering::SeqCst) {
            match self.store.listen() {
                Ok(mut wakes) => {
                    retry = Retry::default();
                    let _ = self.send.send(Message::Woken);
                    while !is_over.load(Ordering::SeqCst) {
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
            while Instant::now() < until && !is_over.load(Ordering::SeqCst) {
                thread::park_timeout(STOP_INTERVAL);
            }
        }
    }

    fn await_signal(&self, signals: &CancelToken, is_over: &AtomicBool) {
        while !is_over.load(Ordering::SeqCst) {
            if signals.wait(STOP_INTERVAL * 5) {
                let _ = self.send.send(Message::Signalled);
                return;
            }
        }
    }

    /// Returns whether this host has begun a run: its logs are here.
    fn has_begun(&self, run: &RunId) -> bool {
        let log = RelPath::composed(&format!("{RUNS}/{run}.stdout.log"));
        self.context.fs.exists(&log).unwrap_or(true)
    }

    fn report_host(&self, state: &str) -> Result<ServerState, TeamError> {
        self.store.report_host(state, &|run| self.has_begun(run))
    }

    /// Runs a call, if it is approved for this host and no other one claims it first.
    fn attempt(&self, id: &CallId, cancel: &CancelToken) -> AttemptEnd {
        let run: Arc<Mutex<Option<String>>> = Arc::default();
        let calls = (self.make)(self.hooks(id, cancel, &run));
        match self.try_attempt(&calls, id) {
            Ok(end) => end,
            Err(error) => {
                let run = run.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let Some(run) = run else { return AttemptEnd::Failed(error) };
                let kept = self.context.queue().unreported();
                if kept.iter().any(|outcome| outcome.receipt.id() == run) {
                    tracing::debug!(%error, "the end of a run is reported later");
                    return AttemptEnd::Unreported;
                }
                let reason = Some(error.to_string());
                self.say(self.event(RunnerEventKind::Late, Some(id.as_str()), Some(&run), reason, None));
                AttemptEnd::Ran
            }
        }
    }

    fn hooks(&self, id: &CallId, cancel: &CancelToken, run: &Arc<Mutex<Option<String>>>) -> RunnerHooks {
        let teller = Arc::new(Teller {
            send: Mutex::new(self.send.clone()),
            claimed: self.event(RunnerEventKind::Claimed, Some(id.as_str()), None, None, None),
            context: self.context.clone(),
            run: run.clone(),
        });
        let (losing, token) = (teller.clone(), cancel.clone());
        let lost: LeaseLost = Arc::new(move || {
            if !token.is_cancelled() {
                losing.say(RunnerEventKind::LeaseLost);
            }
            token.cancel_by(LEASE);
        });
        let claiming = teller.clone();
        let claimed = Arc::new(move |run: &str| {
            *claiming.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.to_owned());
            claiming.say(RunnerEventKind::Claimed);
        });
        let store = Arc::new(self.store.for_run(lost, claimed));
        RunnerHooks { store, cancel: cancel.clone(), progress: teller }
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
                let (run, status) = (Some(&*receipt.id), Some(receipt.status.as_str()));
                let reason = report.failure.clone();
                self.say(self.event(RunnerEventKind::Finished, Some(id.as_str()), run, reason, status));
                AttemptEnd::Ran
            }
            Attempt::Taken(_, error) if error.code() == codes::TEAM_FAILOVER.as_str() => AttemptEnd::Failover,
            Attempt::Taken(..) => AttemptEnd::Gone,
            Attempt::Refused(_, refusal) => {
                let reason = sentences(&refusal.blockers).join("; ");
                AttemptEnd::PassedOver(Box::new(offer_for(context, &stored, Some(reason))?))
            }
        })
    }
}

/// Says what happens to one run.
struct Teller {
    send: Mutex<Sender<Message>>,
    claimed: RunnerEvent,
    context: Arc<WorkspaceContext>,
    run: Arc<Mutex<Option<String>>>,
}

impl Teller {
    fn say(&self, event: RunnerEventKind) {
        let run_id = self.run.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let event = RunnerEvent { event, at: self.context.now(), run_id, ..self.claimed.clone() };
        let send = self.send.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = send.send(Message::Event(Box::new(event)));
    }
}

impl Progress for Teller {
    fn started(&self) {
        self.say(RunnerEventKind::Started);
    }

    fn printed(&self, _: &[u8]) {}

    fn ended(&self) {}
}

/// The waits before a lost connection is tried again: each about twice as long as the one before, and never the same on
/// all hosts.
#[derive(Default)]
struct Retry(u32);

impl Retry {
    fn next(&mut self) -> Duration {
        let wait = FIRST_RETRY.saturating_mul(1 << self.0.min(7)).min(MAX_RETRY);
        self.0 = self.0.saturating_add(1);
        let random = brigade_process::random_bytes::<1>().map_or(128, |[byte]| byte);
        wait / 2 + wait / 2 * u32::from(random) / 255
    }
}

/// What the runner does next.
enum Next {
    Look(Duration),
    Stop,
}

/// The thread that decides.
struct RunnerLoop<'a> {
    host: &'a Host<'a>,
    request: &'a RunnerRequest,
    found: &'a mut dyn FnMut(&RunnerEvent),
    counts: BTreeMap<String, u64>,
    /// The calls that have a thread.
    running: BTreeMap<CallId, CancelToken>,
    /// What was said about calls, so that it is said once.
    offered: BTreeMap<CallId, Fingerprint>,
    has_run: bool,
    /// Whether the host must report that it is there.
    is_unreported: bool,
    /// The hosts that have not reported to a server that has replaced another one.
    waits_for: Option<Vec<String>>,
    is_away: bool,
    retry: Retry,
    /// The requests to stop that were obeyed.
    requests: u32,
}

impl<'a> RunnerLoop<'a> {
    fn new(
        host: &'a Host<'a>,
        request: &'a RunnerRequest,
        found: &'a mut dyn FnMut(&RunnerEvent),
    ) -> RunnerLoop<'a> {
        RunnerLoop {
            host,
            request,
            found,
            counts: BTreeMap::new(),
            running: BTreeMap::new(),
            offered: BTreeMap::new(),
            has_run: false,
            is_unreported: true,
            waits_for: None,
            is_away: false,
            retry: Retry::default(),
            requests: 0,
        }
    }

    fn tell(&mut self, event: &RunnerEvent) {
        *self.counts.entry(event.event.as_str().to_owned()).or_default() += 1;
        (self.found)(event);
    }

    fn say(&mut self, event: RunnerEventKind, reason: Option<String>) {
        let event = self.host.event(event, None, None, reason, None);
        self.tell(&event);
    }

    /// Runs until it is asked to stop, or there is nothing left to do.
    fn run<'s>(
        &mut self,
        scope: &'s Scope<'s, '_>,
        receive: &Receiver<Message>,
        signals: &CancelToken,
    ) -> Result<(), Error>
    where
        'a: 's,
    {
        let mut look_at = Instant::now();
        let mut result = self.look(scope);
        if result.is_ok() {
            self.say(RunnerEventKind::Ready, None);
        }
        let mut is_draining = false;
        loop {
            match &result {
                Ok(Next::Look(wait)) => look_at = Instant::now() + *wait,
                Ok(Next::Stop) | Err(_) => is_draining = true,
            }
            let stop = loop {
                self.end_runs(signals);
                if is_draining && self.running.is_empty() {
                    break true;
                }
                let left = look_at.saturating_duration_since(Instant::now());
                let wait = if is_draining { STOP_INTERVAL } else { left };
                match receive.recv_timeout(wait) {
                    Ok(Message::Event(event)) => self.tell(&event),
                    Ok(Message::Woken) => look_at = look_at.min(Instant::now()),
                    Ok(Message::Ended(id, end)) => {
                        self.ended(&id, *end)?;
                        look_at = look_at.min(Instant::now());
                    }
                    Ok(Message::Signalled) => {
                        is_draining = true;
                        self.say(RunnerEventKind::Draining, None);
                        let _ = self.host.report_host("draining");
                    }
                    Err(RecvTimeoutError::Timeout) if !is_draining => break false,
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
                }
            };
            if stop {
                break;
            }
            result = self.look(scope);
        }
        while let Ok(Message::Event(event)) = receive.try_recv() {
            self.tell(&event);
        }
        let _ = self.host.report_host("stopped");
        result?;
        self.say(RunnerEventKind::Stopped, None);
        Ok(())
    }

    /// Ends the runs after the second request to stop, and at once after the third.
    fn end_runs(&mut self, signals: &CancelToken) {
        let requests = signals.requests();
        if self.requests < requests {
            for cancel in self.running.values().filter(|_| 1 < requests) {
                cancel.cancel_by("a second request to stop the runner");
            }
            self.requests = requests;
        }
    }

    /// Looks what there is to do. A lost connection is tried again later.
    fn look<'s>(&mut self, scope: &'s Scope<'s, '_>) -> Result<Next, Error>
    where
        'a: 's,
    {
        match self.try_look(scope) {
            Ok(next) => {
                if std::mem::take(&mut self.is_away) {
                    self.retry = Retry::default();
                    self.say(RunnerEventKind::Reconnected, None);
                }
                Ok(next)
            }
            Err(error) if self.is_passing(&error) => {
                tracing::debug!(%error, "the runner tries again");
                (self.is_away, self.is_unreported) = (true, true);
                Ok(Next::Look(self.retry.next()))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether an error may be over soon. Before the first answer of the database, none is.
    fn is_passing(&self, error: &Error) -> bool {
        let is_first = self.counts.is_empty();
        let passing = [codes::TEAM_UNREACHABLE, codes::TEAM_TLS, codes::LOCKED, codes::ENVIRONMENT];
        let code = error.code();
        !is_first && error.kind() == ErrorKind::Environment && passing.iter().any(|word| word.as_str() == code)
    }

    fn try_look<'s>(&mut self, scope: &'s Scope<'s, '_>) -> Result<Next, Error>
    where
        'a: 's,
    {
        let host = self.host;
        self.report_kept()?;
        if self.is_unreported || self.waits_for.is_some() {
            self.waits_for = match host.report_host("ready")? {
                ServerState::Same => None,
                ServerState::Replaced(hosts) => Some(hosts),
            };
            self.is_unreported = false;
        }
        let tools = Some(self.request.tools.as_slice()).filter(|tools| !tools.is_empty());
        let work = host.store.work("ready", tools)?;
        if work.has_expired {
            crate::record_interrupted(&host.context)?;
        }
        self.offer(&work.undecided)?;
        let stop = self.request.stop;
        if let Some(hosts) = &self.waits_for {
            return match stop {
                RunnerStop::Asked => Ok(Next::Look(LOOK_INTERVAL)),
                RunnerStop::Once | RunnerStop::Idle => Err(failover(hosts)),
            };
        }
        let most = if stop == RunnerStop::Once { 1 } else { self.request.parallel };
        for id in &work.approved {
            if self.has_run && stop == RunnerStop::Once || most <= self.running.len() {
                break;
            }
            if !self.running.contains_key(id) {
                self.start(scope, id)?;
            }
        }
        match stop {
            RunnerStop::Once | RunnerStop::Idle if self.running.is_empty() => Ok(Next::Stop),
            _ => Ok(Next::Look(LOOK_INTERVAL)),
        }
    }

    /// Gives a call a thread.
    fn start<'s>(&mut self, scope: &'s Scope<'s, '_>, id: &CallId) -> Result<(), Error>
    where
        'a: 's,
    {
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Environment, format!("a run cannot be started: {}", error.kind()))
        };
        let cancel = CancelToken::new().map_err(failed)?;
        let (host, token, call) = (self.host, cancel.clone(), id.clone());
        let run = move || {
            let end = host.attempt(&call, &token);
            let _ = host.send.send(Message::Ended(call, Box::new(end)));
        };
        thread::Builder::new().name("run".to_owned()).spawn_scoped(scope, run).map_err(failed)?;
        self.running.insert(id.clone(), cancel);
        Ok(())
    }

    fn ended(&mut self, id: &CallId, end: AttemptEnd) -> Result<(), Error> {
        self.running.remove(id);
        match end {
            AttemptEnd::Ran | AttemptEnd::Unreported => self.has_run = true,
            AttemptEnd::Gone => {}
            AttemptEnd::Failover => self.is_unreported = true,
            AttemptEnd::PassedOver(offer) => {
                self.note_offer(&offer);
                match self.host.store.offer(&[*offer]).map_err(Error::from) {
                    Err(error) if !self.is_passing(&error) => return Err(error),
                    _ => {}
                }
            }
            AttemptEnd::Failed(error) if self.is_passing(&error) => {
                tracing::debug!(%error, "a call was not claimed");
                self.is_unreported = true;
            }
            AttemptEnd::Failed(error) => return Err(error),
        }
        Ok(())
    }

    /// Says what this host would run for calls.
    fn offer(&mut self, calls: &[CallId]) -> Result<(), Error> {
        let mut offers = Vec::with_capacity(calls.len());
        for id in calls {
            let found: Option<StoredCall> = self.host.context.queue().read()?.call(id)?;
            let waits = |stored: &StoredCall| {
                matches!(stored.call.status, CallStatus::Pending | CallStatus::Held)
            };
            if let Some(stored) = found.filter(waits) {
                offers.push(offer_for(&self.host.context, &stored, None)?);
            }
        }
        if !offers.is_empty() {
            self.host.store.offer(&offers)?;
        }
        offers.iter().for_each(|offer| self.note_offer(offer));
        Ok(())
    }

    /// Says once what a host offers for a call, or why it passes it over.
    fn note_offer(&mut self, new: &NewOffer) {
        let offer = &new.offer;
        let (kind, reasons) = match &offer.passed_over {
            Some(reason) => (RunnerEventKind::PassedOver, vec![reason.clone()]),
            None => (RunnerEventKind::Offered, offer.blockers.clone()),
        };
        let said = Fingerprint::builder("brigade.offer.v1")
            .text("kind", kind.as_str())
            .text("binding", offer.binding.as_ref().map(|binding| binding.fingerprint().to_hex()).as_deref())
            .list("reasons", &reasons)
            .finish();
        if self.offered.insert(new.call.clone(), said) != Some(said) {
            let reason = Some(reasons.join("; ")).filter(|reason| !reason.is_empty());
            let event = self.host.event(kind, Some(new.call.as_str()), None, reason, None);
            self.tell(&event);
        }
    }

    /// Reports the runs that ended while the database was away.
    fn report_kept(&mut self) -> Result<(), Error> {
        let queue = self.host.context.queue();
        let kept = queue.unreported();
        if kept.is_empty() {
            return Ok(());
        }
        crate::record_interrupted(&self.host.context)?;
        let left = queue.unreported();
        for outcome in kept {
            let receipt = &outcome.receipt;
            if left.iter().any(|left| left.receipt.id() == receipt.id()) {
                continue;
            }
            let call = match receipt.call_id().parse::<CallId>() {
                Ok(id) => queue.read()?.call(&id)?.map(|stored| stored.call),
                Err(_) => None,
            };
            let ended = |call: &brigade_call::Call| receipt.status().of_its_call() == Some(call.status.clone());
            let kind = match call.is_some_and(|call| ended(&call)) {
                true => RunnerEventKind::Finished,
                false => RunnerEventKind::Late,
            };
            let (call, run) = (Some(receipt.call_id()), Some(receipt.id()));
            let event = self.host.event(kind, call, run, None, Some(receipt.status().as_str()));
            self.tell(&event);
        }
        Ok(())
    }
}

/// Returns the error of a runner that does not wait for a failover to end.
fn failover(hosts: &[String]) -> Error {
    let hosts = hosts.join(", ");
    let message = format!("the database was replaced, and {hosts} has not reported its claims");
    let error = Error::new(ErrorKind::Refused, message).coded(codes::TEAM_FAILOVER);
    error.hint("start the runners there, or let a reviewer accept the failover")
}
