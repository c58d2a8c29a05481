//! The runner of a host: offers what it would run, claims approved calls, and runs them as every call is run.
//!
//! One thread decides and never waits for the database. Another one asks it, in one statement: when the queue has
//! changed, and every two seconds. Each run has a thread, and its own token, so that a lost lease ends only that run.

mod host;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use brigade_core::{CallId, ErrorCode, ErrorKind, Fingerprint};
use brigade_exec::Progress;
use brigade_process::CancelToken;
use brigade_queue::Store;
use brigade_team::{JoinedTeam, NewOffer};

use super::Team;
use crate::calls::Calls;
use crate::error::Error;
use crate::report::{Report as _, RunnerEvent, RunnerEventKind, TeamRunnerReport};
use host::{AttemptEnd, Host, HostCore, LookAnswer, LookRequest, Message, Retry, not_started};

/// How long a runner waits before it looks again, without a notification.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// How soon a runner looks whether it was asked to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

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
    /// Fails inside a run, if the workspace has not joined, if the member is not a runner, and if the database cannot
    /// be reached at first.
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
        let open = |timeout: Duration| {
            let (joined, lease) = (joined.clone(), request.lease_seconds);
            super::open(&context.fs, &context.environment, joined, timeout, lease, None)
        };
        let (runs, store) = (open(context.timeout)?, open(Duration::ZERO)?);
        let name = runs.host_name()?;
        let (send, receive) = channel();
        let core = HostCore {
            context: self.context.clone(),
            runs,
            store,
            name: name.clone(),
            send,
            tools: request.tools.clone(),
            is_over: AtomicBool::new(false),
        };
        let host = Host { core: Arc::new(core), make };
        host.core.clone().start_threads(signals.clone()).map_err(not_started)?;
        let looker = HostCore::start_looking(&host.core).map_err(not_started)?;
        let events = thread::scope(|scope| {
            let mut runner = RunnerLoop::new(&host, request, looker, found);
            let result = runner.run(scope, &receive, signals);
            result.map(|()| runner.counts)
        });
        host.core.is_over.store(true, Ordering::SeqCst);
        let (schema, target) = (TeamRunnerReport::SCHEMA, self.context.target());
        Ok(TeamRunnerReport { schema, target, host: name, events: events? })
    }
}

/// The thread that decides.
struct RunnerLoop<'a> {
    host: &'a Host<'a>,
    request: &'a RunnerRequest,
    /// Asks the database.
    looker: Sender<LookRequest>,
    found: &'a mut dyn FnMut(&RunnerEvent),
    counts: BTreeMap<String, u64>,
    /// The calls that have a thread.
    running: BTreeMap<CallId, CancelToken>,
    /// What was said about calls, so that it is said once.
    offered: BTreeMap<CallId, Fingerprint>,
    /// Calls of the last answer that could not be run, although the database lists them.
    skipped: BTreeSet<CallId>,
    /// When the database is asked next; `None` while it is.
    look_at: Option<Instant>,
    /// How many answers of the database are missing.
    missing: usize,
    has_run: bool,
    /// Whether the host must say that it is there.
    says_ready: bool,
    is_away: bool,
    is_draining: bool,
    retry: Retry,
    /// The requests to stop that were obeyed.
    requests: u32,
}

impl<'a> RunnerLoop<'a> {
    fn new(
        host: &'a Host<'a>,
        request: &'a RunnerRequest,
        looker: Sender<LookRequest>,
        found: &'a mut dyn FnMut(&RunnerEvent),
    ) -> RunnerLoop<'a> {
        RunnerLoop {
            host,
            request,
            looker,
            found,
            counts: BTreeMap::new(),
            running: BTreeMap::new(),
            offered: BTreeMap::new(),
            skipped: BTreeSet::new(),
            look_at: Some(Instant::now()),
            missing: 0,
            has_run: false,
            says_ready: true,
            is_away: false,
            is_draining: false,
            retry: Retry::default(),
            requests: 0,
        }
    }

    fn report(&mut self, event: &RunnerEvent) {
        *self.counts.entry(event.event.as_str().to_owned()).or_default() += 1;
        (self.found)(event);
    }

    fn say(&mut self, event: RunnerEventKind) {
        let event = self.host.core.event(event, None, None, None, None);
        self.report(&event);
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
        let mut result = Ok(());
        while !self.is_draining || !self.running.is_empty() {
            let now = Instant::now();
            if !self.is_draining && self.look_at.is_some_and(|look_at| look_at <= now) {
                self.look_at = None;
                self.ask(LookRequest::Look { says_ready: self.says_ready });
            }
            self.end_runs(signals);
            let left = self.look_at.map_or(STOP_INTERVAL * 10, |look_at| look_at - now);
            let wait = if self.is_draining { STOP_INTERVAL } else { left };
            let done = match receive.recv_timeout(wait) {
                Ok(message) => self.take(scope, message),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
            };
            if let Err(error) = done {
                result = Err(error);
                self.is_draining = true;
            }
        }
        // A server that does not answer keeps no runner.
        self.ask(LookRequest::Say("stopped"));
        let until = Instant::now() + LOOK_INTERVAL;
        while 0 < self.missing
            && let Ok(message) = receive.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            match message {
                Message::Event(event) => self.report(&event),
                Message::Looked(_) => self.missing -= 1,
                Message::Woken | Message::Signalled | Message::Ended(..) => {}
            }
        }
        result?;
        self.say(RunnerEventKind::Stopped);
        Ok(())
    }

    fn take<'s>(&mut self, scope: &'s Scope<'s, '_>, message: Message) -> Result<(), Error>
    where
        'a: 's,
    {
        match message {
            Message::Event(event) => self.report(&event),
            Message::Woken => self.look_soon(),
            Message::Signalled => {
                self.is_draining = true;
                self.say(RunnerEventKind::Draining);
                self.ask(LookRequest::Say("draining"));
            }
            Message::Looked(looked) => {
                self.missing -= 1;
                return if self.is_draining { Ok(()) } else { self.looked(scope, *looked) };
            }
            Message::Ended(id, end) => {
                self.look_soon();
                return self.ended(&id, *end);
            }
        }
        Ok(())
    }

    fn ask(&mut self, request: LookRequest) {
        self.missing += usize::from(self.looker.send(request).is_ok());
    }

    /// Asks the database at once, if it is there and is not asked now.
    fn look_soon(&mut self) {
        if !self.is_away {
            self.look_at = self.look_at.map(|look_at| look_at.min(Instant::now()));
        }
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

    /// Returns whether an error may be over soon. Before the first answer of the database, none is.
    fn is_passing(&self, error: &Error) -> bool {
        let is_first = self.counts.is_empty();
        let passing =
            [ErrorCode::TeamUnreachable, ErrorCode::TeamTls, ErrorCode::Locked, ErrorCode::Environment];
        let code = error.code();
        !is_first && error.kind() == ErrorKind::Environment && passing.contains(&code)
    }

    /// Starts what there is to do. A lost connection is tried again later.
    fn looked<'s>(&mut self, scope: &'s Scope<'s, '_>, looked: Result<LookAnswer, Error>) -> Result<(), Error>
    where
        'a: 's,
    {
        let looked = match looked {
            Ok(looked) => looked,
            Err(error) if self.is_passing(&error) => {
                tracing::debug!(%error, "the runner tries again");
                (self.is_away, self.says_ready) = (true, true);
                self.look_at = Some(Instant::now() + self.retry.next());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.look_at = Some(Instant::now() + LOOK_INTERVAL);
        self.retry = Retry::default();
        if self.counts.is_empty() {
            self.say(RunnerEventKind::Ready);
        }
        if std::mem::take(&mut self.is_away) || looked.is_reconnected {
            self.say(RunnerEventKind::Reconnected);
        }
        looked.reported.iter().for_each(|event| self.report(event));
        looked.offers.iter().for_each(|offer| self.note_offer(offer));
        let stop = self.request.stop;
        self.says_ready = looked.waits_for.is_some();
        if let Some(hosts) = &looked.waits_for {
            return if stop == RunnerStop::Asked { Ok(()) } else { Err(failover(hosts)) };
        }
        let most = if stop == RunnerStop::Once { 1 } else { self.request.parallel };
        self.skipped.retain(|id| looked.approved.contains(id));
        for id in &looked.approved {
            if self.has_run && stop == RunnerStop::Once || most <= self.running.len() {
                break;
            }
            if !self.running.contains_key(id) && !self.skipped.contains(id) {
                self.start(scope, id)?;
            }
        }
        self.is_draining = stop != RunnerStop::Asked && self.running.is_empty();
        Ok(())
    }

    /// Gives a call a thread.
    fn start<'s>(&mut self, scope: &'s Scope<'s, '_>, id: &CallId) -> Result<(), Error>
    where
        'a: 's,
    {
        let cancel = CancelToken::new().map_err(not_started)?;
        let (host, token, call) = (self.host, cancel.clone(), id.clone());
        let run = move || {
            let end = host.attempt(&call, &token);
            let _ = host.core.send.send(Message::Ended(call, Box::new(end)));
        };
        thread::Builder::new().name("run".to_owned()).spawn_scoped(scope, run).map_err(not_started)?;
        self.running.insert(id.clone(), cancel);
        Ok(())
    }

    fn ended(&mut self, id: &CallId, end: AttemptEnd) -> Result<(), Error> {
        self.running.remove(id);
        match end {
            AttemptEnd::Ran | AttemptEnd::Unreported => self.has_run = true,
            AttemptEnd::Gone => drop(self.skipped.insert(id.clone())),
            AttemptEnd::Failover => self.says_ready = true,
            AttemptEnd::PassedOver(offer) => self.note_offer(&offer),
            AttemptEnd::Failed(error) if self.is_passing(&error) => {
                tracing::debug!(%error, "a call was not claimed");
                self.says_ready = true;
            }
            AttemptEnd::Failed(error) => return Err(error),
        }
        Ok(())
    }

    /// Says once what a host offers for a call, or why it passes it over.
    fn note_offer(&mut self, new: &NewOffer) {
        let offer = &new.offer;
        let (kind, reasons) = match &offer.passed_over {
            Some(reason) => (RunnerEventKind::PassedOver, vec![reason.clone()]),
            None => (RunnerEventKind::Offered, offer.blockers.clone()),
        };
        let fingerprint = Fingerprint::builder("brigade.offer.v1")
            .text("kind", kind.as_str())
            .text("binding", offer.binding.as_ref().map(|binding| binding.fingerprint().to_hex()).as_deref())
            .list("reasons", &reasons)
            .finish();
        if self.offered.insert(new.call.clone(), fingerprint) != Some(fingerprint) {
            let reason = Some(reasons.join("; ")).filter(|reason| !reason.is_empty());
            let event = self.host.core.event(kind, Some(new.call.as_str()), None, reason, None);
            self.report(&event);
        }
    }
}

/// Returns the error of a runner that does not wait for a failover to end.
fn failover(hosts: &[String]) -> Error {
    let hosts = hosts.join(", ");
    let message = format!("the database was replaced, and {hosts} has not reported its claims");
    let error = Error::new(ErrorKind::Refused, message).coded(ErrorCode::TeamFailover);
    error.hint("start the runners there, or let a reviewer accept the failover")
}
