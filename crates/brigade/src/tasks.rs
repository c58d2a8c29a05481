//! Tasks of agents: workers of the kitchen's code run them, and their receipts stand in the tools' ledger.
//!
//! A task belongs to the process that began it. A process that serves runs it on a thread of its own; any other one
//! runs it before the call returns, because nobody would run it after that.

mod connected;
mod flow;
mod judge;
mod receipt;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brigade_builtin::{Failure, TASKS, Tasks};
use brigade_call::CallSession;
use brigade_core::{Fingerprint, Json};
use brigade_crew::{Attempt, Attempted, Cook, Host, Watch, attempt};
use brigade_facts::Config;
use brigade_fs::{FileMode, Fs, RelPath};
use brigade_kitchen::adapter::{self, Adapter, PromptWay, Source, Wanted};
use brigade_kitchen::prompt::{Errand, errand};
use brigade_kitchen::signal::{Exit, Role, tasked, why_nothing};
use brigade_kitchen::{TaskId, Tier};
use brigade_manifest::{Agent, Validator, ValidatorKind};
use brigade_policy::PolicyState;
use brigade_process::{CancelToken, ProcessIdentity};
use brigade_profile::{Worker, WorkerPrompt, WorkerResult};
use brigade_queue::this_runner;
use brigade_store::Store;
use brigade_store::executions::{Ending, Execution, ExecutionStatus};
use brigade_store::flows::Flow;

use crate::room::{Room, rel};

use brigade_upkeep::gather;
pub(crate) use flow::take_over;

/// How long one try takes at most, unless the manifest says so.
const TRY: Duration = Duration::from_secs(300);

/// How often a task that runs is looked at for an end that another process wrote down.
const LOOK: Duration = Duration::from_millis(500);

/// The cap of each log, in bytes.
const MAX_LOG: u64 = 16 << 20;

/// The longest output that is kept, in bytes.
const MAX_OUTPUT: usize = 256 << 10;

/// The tasks that run in this process.
#[derive(Debug, Default)]
pub(crate) struct Running {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    tasks: HashMap<String, CancelToken>,
    is_ending: bool,
}

impl Running {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all tasks, and waits until their workers have ended.
    pub(crate) fn end(&self, patience: Duration) {
        let mut state = self.state();
        state.is_ending = true;
        for token in state.tasks.values() {
            token.cancel();
        }
        self.changed.notify_all();
        let until = Instant::now() + patience;
        while !state.tasks.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Takes a task out of those that run, also if its thread panics.
struct Place {
    running: Arc<Running>,
    id: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.running.state().tasks.remove(&self.id);
        self.running.changed.notify_all();
    }
}

/// Runs the tasks of one call.
pub(crate) struct Hands<'a> {
    room: &'a Room,
    config: &'a Config,
    /// The session that the call was asked in.
    asked_in: Option<&'a CallSession>,
}

impl<'a> Hands<'a> {
    pub(crate) fn new(room: &'a Room, config: &'a Config) -> Hands<'a> {
        Hands { room, config, asked_in: None }
    }

    /// Says in which session the call was asked.
    pub(crate) fn asked_in(self, asked_in: Option<&'a CallSession>) -> Hands<'a> {
        Hands { asked_in, ..self }
    }

    /// Returns the worker that the manifest names, else the first one.
    fn worker(&self, agent: &Agent) -> Result<Worker, Failure> {
        let host = self.room.host();
        let workers =
            self.config.gateway(&host).map(|gateway| gateway.workers.as_slice()).unwrap_or_default();
        let wanted = agent.metadata.labels.as_ref().and_then(|labels| labels.get("worker"));
        let found = match wanted {
            Some(id) => workers.iter().find(|worker| worker.id == *id),
            None => workers.first(),
        };
        found.cloned().ok_or_else(|| {
            let message = match wanted {
                Some(_) => "no `[[worker]]` of .brigade/tools/gateway.toml has the id that metadata.labels.worker names",
                None => "there is no `[[worker]]` in .brigade/tools/gateway.toml",
            };
            Failure::new("not_available_here", format!("{message} (worker.cli)"))
        })
    }
}

fn environment(error: &dyn std::fmt::Display) -> Failure {
    Failure::new("environment", error.to_string())
}

fn folder(id: &str) -> Result<RelPath, Failure> {
    rel(TASKS).join(id).map_err(|error| environment(&error))
}

/// Reads what names a process.
fn identity(gateway: &str) -> Option<ProcessIdentity> {
    let mut parts = gateway.splitn(3, ' ');
    let (pid, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    ProcessIdentity::from_record(pid, start, parts.next()?).ok()
}

impl Tasks for Hands<'_> {
    fn gateway(&self) -> Result<String, Failure> {
        let this = this_runner().map_err(|error| environment(&error))?;
        Ok(format!("{} {} {}", this.pid, this.start_time, this.boot_id))
    }

    fn is_gone(&self, gateway: &str) -> bool {
        !identity(gateway).is_some_and(|identity| identity.is_alive())
    }

    fn workers(&self) -> Vec<String> {
        let host = self.room.host();
        let workers = self.config.gateway(&host).map(|gateway| gateway.workers.as_slice());
        workers.unwrap_or_default().iter().map(|worker| worker.id.clone()).collect()
    }

    fn check(&self, agent: &Agent) -> Result<(), Failure> {
        self.worker(agent).map(drop)
    }

    fn begin(&self, execution: &Execution, agent: &Agent) -> Result<(), Failure> {
        let room = self.room.with_env(|env| env);
        let cook = cook(&self.worker(agent)?)?;
        let path = folder(&execution.id)?;
        make_folder(&*room.fs, &path).map_err(|error| environment(&error))?;
        let connected = connected::Connected::open(&room, &path, agent, self.asked_in);
        let connected = connected.map_err(|error| environment(&error))?;
        let running = self.room.running.clone();
        let cancel = CancelToken::new().map_err(|error| environment(&error))?;
        {
            let mut state = running.state();
            if state.is_ending {
                return Err(Failure::new("busy", "the gateway is ending"));
            }
            state.tasks.insert(execution.id.clone(), cancel.clone());
        }
        let place = Place { running, id: execution.id.clone() };
        let serves = room.env.upstreams.is_some();
        let job = Job {
            store: room.stores.writing(&*room.fs)?,
            directory: room.fs.root().join(path.as_path()),
            outer: room.env.cancel.clone().filter(|_| !serves),
            policy: self.config.policy.clone(),
            caller: room.env.caller.as_record().to_string(),
            execution: execution.clone(),
            agent: agent.clone(),
            room: Arc::new(room),
            cook,
            cancel,
            connected,
            place,
        };
        if !serves {
            job.run();
            return Ok(());
        }
        let thread = std::thread::Builder::new().name("task".to_owned());
        thread.spawn(move || job.run()).map(drop).map_err(|error| environment(&error))
    }

    fn cancel(&self, id: &str) -> bool {
        let state = self.room.running.state();
        self.room.running.changed.notify_all();
        state.tasks.get(id).map(CancelToken::cancel).is_some()
    }

    fn rights(&self) -> Json {
        flow::rights(self.room.env.session.as_deref(), self.asked_in)
    }

    fn drive(&self, flow: &Flow) -> Result<(), Failure> {
        flow::drive(self, flow)
    }

    fn await_change(&self, longest: Duration) {
        let running = &self.room.running;
        drop(running.changed.wait_timeout(running.state(), longest));
    }

    fn remove_folder(&self, id: &str) -> Result<(), Failure> {
        match self.room.fs.remove_tree(&folder(id)?) {
            Err(error) if !error.is_not_found() => Err(environment(&error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Keeps the beginning of a long output.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_OUTPUT));
    text
}

/// Makes the folder of a task. What tasks leave is nothing for git.
fn make_folder(fs: &dyn Fs, path: &RelPath) -> Result<(), brigade_fs::FsError> {
    fs.create_dir_all(path)?;
    let ignore = rel(TASKS).join(".gitignore").expect("a constant name");
    if fs.exists(&ignore)? {
        return Ok(());
    }
    fs.write_atomic(&ignore, b"*\n", FileMode::KeepOr(0o644))
}

/// Returns a worker as an attempt takes it.
fn cook(worker: &Worker) -> Result<Cook, Failure> {
    let unknown = |name: String| {
        Failure::new(
            "not_available_here",
            format!("`[[worker]]` names the adapter `{name}`, which is not there"),
        )
    };
    let chosen = adapter::choose(&[], worker.adapter.as_deref(), &worker.command).map_err(unknown)?;
    let mut adapter: Adapter = chosen.clone();
    match worker.prompt {
        Some(WorkerPrompt::Stdin) => adapter.prompt = PromptWay::Stdin,
        Some(WorkerPrompt::File) => adapter.prompt = PromptWay::File,
        None => {}
    }
    match worker.result {
        Some(WorkerResult::Stdout) => adapter.answer = Source::Text,
        // Nothing but the result file counts.
        Some(WorkerResult::File) => adapter.answer = Source::File,
        None => {}
    }
    Ok(Cook {
        tier: Tier::Line,
        command: worker.command.clone(),
        env_labels: adapter.env_labels.clone(),
        adapter,
        wanted: Wanted::Narrow,
        may_skip: false,
        server: None,
        program: None,
        bytes: None,
    })
}

/// A task that runs.
struct Job {
    room: Arc<Room>,
    store: Arc<Store>,
    policy: PolicyState,
    execution: Execution,
    agent: Agent,
    caller: String,
    cook: Cook,
    directory: PathBuf,
    cancel: CancelToken,
    /// Cancels the call, where the task is a part of it.
    outer: Option<CancelToken>,
    /// The session by which the worker calls tools.
    connected: Option<connected::Connected>,
    place: Place,
}

/// Why a task did not do what was asked.
struct Unable {
    code: &'static str,
    message: String,
}

impl Unable {
    fn new(code: &'static str, message: impl Into<String>) -> Unable {
        Unable { code, message: message.into() }
    }
}

impl From<Failure> for Unable {
    fn from(failure: Failure) -> Unable {
        Unable::new(failure.code, failure.message)
    }
}

impl From<brigade_store::StoreError> for Unable {
    fn from(error: brigade_store::StoreError) -> Unable {
        Unable::new("store", error.to_string())
    }
}

impl Job {
    fn id(&self) -> &str {
        &self.execution.id
    }

    fn run(mut self) {
        let ended = self.tries();
        drop(self.connected.take());
        let (status, error) = match &ended {
            Ok(()) => (ExecutionStatus::Completed, None),
            Err(unable) => (ExecutionStatus::Failed, Some((unable.code, unable.message.as_str()))),
        };
        let ending = Ending { status, error };
        // What was cancelled stays so: the first end counts.
        if let Err(error) = self.store.end_execution(self.id(), &ending, self.room.now()) {
            tracing::warn!(%error, task = self.id(), "the end of a task could not be written");
        }
        drop(self.place);
    }

    /// Tries until an output is right, or nothing more may be tried.
    fn tries(&self) -> Result<(), Unable> {
        let secrets = gather::bound_secrets(&self.room, &self.policy);
        let redactor = brigade_redact::Redactor::new(&secrets);
        let keeper = receipt::InTools { room: self.room.clone(), task: self.about(&redactor) };
        let environment = (*self.room.environment).clone();
        let host = Host::new(self.room.fs.clone(), self.room.clock.clone(), environment, secrets)
            .keeping(Arc::new(keeper));
        let execution = self.agent.spec.execution.as_ref();
        let most = execution.map_or(1, brigade_manifest::Execution::iterations);
        let each = execution.and_then(|execution| execution.iteration_timeout.as_ref());
        let each = each.map_or(TRY, brigade_manifest::Span::duration);
        let resources = self.agent.spec.security.as_ref().and_then(|security| security.resources.as_ref());
        let all = resources.and_then(|resources| resources.timeout.as_ref()).map(|span| span.duration());
        let begun = Instant::now();
        let mut lacks = None;
        for number in 1..=most {
            let left = all.map(|all| all.saturating_sub(begun.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Unable::new("timed_out", "the time of the whole task is over"));
            }
            let timeout = left.map_or(each, |left| left.min(each));
            match self.one(&host, number, timeout, lacks.as_ref())? {
                None => return Ok(()),
                Some(unable) => lacks = Some(unable),
            }
        }
        Err(lacks.unwrap_or_else(|| Unable::new("no_output", "nothing was tried")))
    }

    /// Tries once. Returns what the output lacks.
    fn one(
        &self,
        host: &Host,
        number: u64,
        timeout: Duration,
        before: Option<&Unable>,
    ) -> Result<Option<Unable>, Unable> {
        let interrupted =
            || Unable::new("interrupted", "the task was ended with the process that it belongs to");
        let run = host.new_run().map_err(|error| Unable::new("environment", error.to_string()))?;
        let Some(messages) = self.store.begin_iteration(self.id(), run.as_str(), self.room.now())? else {
            return Err(interrupted());
        };
        self.place.running.changed.notify_all();
        let watch = Watch::until(Some(self.cancel.clone()));
        let watch = watch.map_err(|error| Unable::new("environment", error.to_string()))?;
        let grants = self.policy.kitchen();
        let minutes = grants.as_ref().and_then(|grants| grants.max_minutes);
        let ceiling = minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
        let task: Option<TaskId> = self.id().parse().ok();
        let words = Json::from(
            self.cook.command.words().iter().map(|word| Json::from(word.as_str())).collect::<Vec<_>>(),
        );
        let approved = Fingerprint::builder("brigade.task.v1")
            .json("execution", &Json::from(self.id()))
            .json("command", &words)
            .finish();
        let order = Attempt {
            host,
            policy: &self.policy,
            // A person or a rule approved the call that began the task.
            approved: Some(approved),
            run: &run,
            cook: &self.cook,
            role: Role::Task,
            prd: None,
            task: task.as_ref(),
            number,
            timeout: Some(ceiling.map_or(timeout, |ceiling| ceiling.min(timeout))),
            directory: &self.directory,
            own: Some(&self.directory),
            closed: &[],
            max_log_bytes: MAX_LOG,
            named_log: None,
            local_offset_minutes: 0,
            gateway: self.connected.as_ref().map(connected::Connected::directory),
            watch: &watch,
        };
        let input = self.execution.input.to_pretty();
        let spec = self.agent.spec.task.as_ref();
        let prompt = |nonce: &str| {
            errand(&Errand {
                nonce,
                name: &self.execution.name,
                instruction: spec.and_then(|task| task.instruction.as_deref()),
                intent: self.execution.intent.as_deref(),
                input: &input,
                lacks: before.map(|unable| unable.message.as_str()),
                messages: &messages,
            })
        };
        let attempted = self.watched(|| attempt(&order, &prompt));
        let attempted = attempted
            .map_err(|error| Unable::new("not_started", host.redactor().redact_str(&error.to_string())))?;
        let evidence = attempted.evidence();
        let output = tasked(&evidence).map(|text| host.redactor().redact_str(&text));
        let output = output.map(cut);
        let lacks = if attempted.exit == Exit::Interrupted {
            Some(interrupted())
        } else {
            self.lacks(host, &run, &attempted, output.as_deref())?
        };
        let code = match attempted.exit {
            Exit::Code(code) => Json::from(i64::from(code)),
            _ => Json::Null,
        };
        let payload = Json::object([
            ("iteration", Json::from(number)),
            ("run_id", Json::from(run.as_str())),
            ("exit_code", code),
            ("code", lacks.as_ref().map_or(Json::Null, |unable| Json::from(unable.code))),
            ("message", lacks.as_ref().map_or(Json::Null, |unable| Json::from(unable.message.as_str()))),
        ]);
        let said = lacks.as_ref().map(|unable| unable.message.as_str());
        self.store.end_iteration(self.id(), output.as_deref(), said, &payload, self.room.now())?;
        self.place.running.changed.notify_all();
        match lacks {
            Some(unable) if unable.code == "interrupted" => Err(unable),
            lacks => Ok(lacks),
        }
    }

    /// Does something, and cancels it when the task is ended elsewhere.
    fn watched<T>(&self, act: impl FnOnce() -> T) -> T {
        let (alive, gone) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while gone.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    if self.is_ended() {
                        self.cancel.cancel();
                        return;
                    }
                }
            });
            let done = act();
            drop(alive);
            done
        })
    }

    /// Tells whether another process or the caller ended the task.
    fn is_ended(&self) -> bool {
        let is_over = |execution: Execution| execution.status.is_over();
        self.outer.as_ref().is_some_and(CancelToken::is_cancelled)
            || self.store.execution(None, self.id()).is_ok_and(is_over)
    }

    fn about(&self, redactor: &brigade_redact::Redactor) -> receipt::About {
        receipt::About {
            execution: self.id().to_owned(),
            caller: self.caller.clone(),
            args: redactor.redact_json(&Json::object([
                ("agent_id", Json::from(self.execution.manifest.as_str())),
                ("input", self.execution.input.clone()),
                ("intent", self.execution.intent.as_deref().map_or(Json::Null, Json::from)),
            ])),
        }
    }

    fn validators(&self) -> &[Validator] {
        let execution = self.agent.spec.execution.as_ref();
        execution.and_then(|execution| execution.validation.as_deref()).unwrap_or_default()
    }

    /// Returns what an output lacks, by the validators in their order.
    fn lacks(
        &self,
        host: &Host,
        run: &brigade_core::RunId,
        attempted: &Attempted,
        output: Option<&str>,
    ) -> Result<Option<Unable>, Unable> {
        let is_code = |validator: &&Validator| validator.kind == ValidatorKind::ExitCode;
        let expected = self.validators().iter().find(is_code).and_then(|validator| validator.expected);
        match attempted.exit {
            Exit::Code(code) if i64::from(code) == expected.unwrap_or(0) => {}
            Exit::TimeLimit => {
                return Ok(Some(Unable::new("timed_out", "the worker was ended at its time limit")));
            }
            _ => return Ok(Some(Unable::new("worker_failed", why_nothing(&attempted.evidence())))),
        }
        let Some(output) = output else {
            return Ok(Some(Unable::new("no_output", why_nothing(&attempted.evidence()))));
        };
        for (index, validator) in self.validators().iter().enumerate() {
            let found = match validator.kind {
                ValidatorKind::ExitCode => None,
                ValidatorKind::JsonSchema => judge::by_schema(validator, output),
                ValidatorKind::Regex => {
                    let (_, stderr) = host.receipts.logs(run);
                    judge::by_expression(validator, output, &*self.room.fs, &stderr)
                }
                ValidatorKind::Semantic | ValidatorKind::MultiJudge => {
                    self.by_person(host, validator, output)?
                }
            };
            if let Some(message) = found {
                let message = format!("spec.execution.validation[{}]: {message}", index + 1);
                return Ok(Some(Unable::new("validation_failed", message)));
            }
        }
        Ok(None)
    }
}
