//! Starts a runtime.

use std::ffi::OsString;
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use brigade_call::VerifiedStart;
use brigade_catalog::Runtime;
use brigade_cmdline::is_dangerous_variable;
use brigade_core::Fingerprint;
use brigade_doctor::{Health, RuntimeIssue};
use brigade_fs::{FileMode, RelPath};
use brigade_process::{
    CancelToken, DetachedProcess, Exit, ExitLine, Logs, ProcessIdentity, kill_detached, spawn_detached,
};

use crate::command;
use crate::error::RuntimeError;
use crate::health::{self, Check, Probe};
use crate::host::INSTANCE_VARIABLE;
use crate::logs::{LOG_CAP, LogEnd, open_log};
use crate::process_state::ProcessState;
use crate::record::{Record, RecordedText, Start};
use crate::stop::{GRACE, await_log_writer};
use crate::supervisor::{ObservedRuntime, Supervisor, foreign_issue, process_issue};
use crate::system;

/// The text in a lock, which the action follows.
const HOLDER: &str = include_str!("start/holder.txt");

/// The default time to wait for readiness.
const MOMENT: Duration = Duration::from_secs(2);

/// How long to wait for the parent's report about a process that has ended.
const EXIT_REPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a process must live to count as started.
const MIN_UPTIME: Duration = Duration::from_millis(200);

/// How long it must live if nothing else can be checked. An interpreter needs a moment to find a fault.
const MIN_UPTIME_UNCHECKED: Duration = Duration::from_secs(1);

/// The first pause between two health checks; it doubles up to [`MAX_CHECK_INTERVAL`].
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(15);
const MAX_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The options of a start.
#[derive(Clone, Debug)]
pub struct StartOptions {
    /// How long to wait until the runtime is ready; 2 s by default. A slow runtime is not stopped.
    pub wait: Option<Duration>,
    /// How long to wait for another start or stop of the same runtime.
    pub lock_timeout: Duration,
    /// Cancels the start and ends what it started.
    pub cancel: Option<CancelToken>,
}

/// The progress of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartProgress {
    /// The remains of an earlier process were removed.
    Cleared,
    /// The process was started.
    Spawned {
        /// The pid.
        pid: u32,
    },
    /// It is not ready yet.
    Waiting {
        /// How long it has been running.
        elapsed: Duration,
        /// What is missing.
        detail: String,
    },
}

/// The outcome of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartOutcome {
    /// It is running and ready.
    Started {
        /// The process.
        process: ProcessIdentity,
        /// The result of the health check; it is also stored.
        health: Health,
        /// How long that took.
        ready_after: Duration,
    },
    /// It is running but not ready yet. It keeps running.
    Starting {
        /// The process.
        process: ProcessIdentity,
        /// How long it was waited for.
        waited: Duration,
        /// The result of the last health check: what is missing; it is also stored.
        health: Health,
    },
    /// It was already running. Nothing was done, except to wait for it if requested.
    AlreadyRunning {
        /// The process.
        process: ProcessIdentity,
        /// The result of waiting; `None` without a wait.
        awaited: Option<WaitOutcome>,
    },
    /// It may not be started; nothing was done.
    Refused {
        /// Every reason.
        blockers: Vec<RuntimeIssue>,
    },
    /// It was started but ended before it was ready. All its processes have ended, except for the survivors.
    Failed {
        /// Why.
        reason: StartFailure,
        /// The end of its output.
        log: LogEnd,
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
}

/// The result of waiting for a runtime that was already running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// It is ready.
    Ready(Health),
    /// It is not ready, or its process has ended.
    NotReady {
        /// What is missing.
        detail: String,
    },
}

/// Why a start failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartFailure {
    /// The system could not start it.
    NotSpawned {
        /// The system's reason.
        detail: String,
    },
    /// Its process exited. A runtime must stay in the foreground; one that goes to the background counts as exited.
    Ended {
        /// How long it lived, roughly.
        after: Duration,
        /// How it ended, if known.
        exit: Exit,
    },
    /// The start was cancelled.
    Interrupted,
}

impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartFailure::NotSpawned { detail } => f.write_str(detail),
            StartFailure::Ended { after, exit } => {
                f.write_str("its process ended ")?;
                if *exit != Exit::Unknown {
                    write!(f, "with {exit} ")?;
                }
                write!(f, "after {:.1} s, before it was ready", after.as_secs_f64())
            }
            StartFailure::Interrupted => f.write_str("interrupted; stopped again"),
        }
    }
}

/// The state of a living process after the wait.
enum Readiness {
    Ready(Probe),
    Waiting { waited: Duration, missing: Probe },
}

/// A process that was started a moment ago.
struct NewProcess {
    process: ProcessIdentity,
    log_writer: ProcessIdentity,
    exit: ExitLine,
    instance: String,
    at: Instant,
    logs: LogsBefore,
}

/// The logs and their lengths before the start.
struct LogsBefore {
    stdout: (RelPath, u64),
    stderr: (RelPath, u64),
}

impl LogsBefore {
    fn end(&self, supervisor: &Supervisor<'_>) -> LogEnd {
        LogEnd {
            stdout: supervisor.log_end(&self.stdout.0, self.stdout.1),
            stderr: supervisor.log_end(&self.stderr.0, self.stderr.1),
        }
    }
}

impl Supervisor<'_> {
    /// Starts a runtime and waits until it is ready.
    ///
    /// A runtime is ready when its health command succeeds and its tree listens on its port, if these are configured.
    /// Otherwise it is ready when it has lived for a moment. At the timeout, a successful health command is enough. A
    /// runtime that is not ready keeps running: a living runtime is never stopped for being slow.
    ///
    /// # Errors
    /// Fails if a file cannot be written, the lock is not free in time, or the metadata is of a newer version.
    pub fn start(
        &self,
        runtime: &Runtime,
        options: &StartOptions,
        progress: &mut dyn FnMut(StartProgress),
    ) -> Result<StartOutcome, RuntimeError> {
        let _span = tracing::debug_span!("start", runtime = runtime.id.as_str()).entered();
        let observed = self.observe(runtime)?;
        if let Some(process) = observed.process() {
            return Ok(self.await_running(runtime, &observed, process, options, progress));
        }
        if let Some(refused) = self.refuse(runtime, &observed) {
            return Ok(refused);
        }
        for folder in observed.paths.folders() {
            self.fs.create_dir_all(&folder)?;
        }
        let lock = self.fs.lock(&observed.paths.lock, &self.holder("start"), options.lock_timeout)?;
        // Another start or stop may have run meanwhile.
        let observed = self.observe(runtime)?;
        if let Some(process) = observed.process() {
            drop(lock);
            return Ok(self.await_running(runtime, &observed, process, options, progress));
        }
        if let Some(refused) = self.refuse(runtime, &observed) {
            return Ok(refused);
        }
        if observed.record.is_newer() {
            return Err(RuntimeError::Newer { path: observed.paths.metadata.to_string() });
        }
        if self.clear(&observed)?.found_anything() {
            progress(StartProgress::Cleared);
        }
        if let Some(conflict) = self.port_conflict(runtime, &observed) {
            return Ok(StartOutcome::Refused { blockers: vec![conflict] });
        }
        let begun = match self.begin(runtime, &observed)? {
            ControlFlow::Continue(begun) => begun,
            ControlFlow::Break(failed) => return Ok(failed),
        };
        // The start is recorded now, so other processes can see and stop the runtime while it starts.
        drop(lock);
        progress(StartProgress::Spawned { pid: begun.process.pid() });
        let since = (&begun.process, begun.at);
        match self.await_ready(runtime, &observed.check, since, options, progress) {
            Ok(Readiness::Waiting { waited, missing }) => {
                tracing::debug!(pid = begun.process.pid(), "the runtime is not ready yet");
                let health = self.keep_health(runtime, &observed, &begun.process, missing);
                Ok(StartOutcome::Starting { process: begun.process, waited, health })
            }
            Ok(Readiness::Ready(probe)) => {
                let health = self.keep_health(runtime, &observed, &begun.process, probe);
                let process = begun.process;
                tracing::debug!(
                    pid = process.pid(),
                    milliseconds = begun.at.elapsed().as_millis(),
                    "the runtime is ready"
                );
                Ok(StartOutcome::Started { process, health, ready_after: begun.at.elapsed() })
            }
            Err(reason) => {
                let reason = match reason {
                    StartFailure::Ended { after, .. } => {
                        StartFailure::Ended { after, exit: begun.exit.wait(EXIT_REPORT_TIMEOUT) }
                    }
                    other => other,
                };
                tracing::debug!(
                    pid = begun.process.pid(),
                    "the runtime ended or was interrupted before it was ready"
                );
                let survivors = self.undo(runtime, &begun, &reason.to_string(), options)?;
                Ok(StartOutcome::Failed { reason, log: begun.logs.end(self), survivors })
            }
        }
    }

    /// Waits for a runtime that was already running, if requested. Never stops it.
    fn await_running(
        &self,
        runtime: &Runtime,
        observed: &ObservedRuntime,
        process: &ProcessIdentity,
        options: &StartOptions,
        progress: &mut dyn FnMut(StartProgress),
    ) -> StartOutcome {
        let awaited = options.wait.map(|_| {
            match self.await_ready(runtime, &observed.check, (process, Instant::now()), options, progress) {
                Ok(Readiness::Ready(probe)) => {
                    WaitOutcome::Ready(self.keep_health(runtime, observed, process, probe))
                }
                Ok(Readiness::Waiting { waited, missing }) => {
                    let detail = format!("not ready after {} s: {}", waited.as_secs_f64(), missing.detail);
                    self.keep_health(runtime, observed, process, missing);
                    WaitOutcome::NotReady { detail }
                }
                Err(StartFailure::Interrupted) => {
                    WaitOutcome::NotReady { detail: "interrupted; it still runs".to_owned() }
                }
                Err(reason) => WaitOutcome::NotReady { detail: reason.to_string() },
            }
        });
        StartOutcome::AlreadyRunning { process: process.clone(), awaited }
    }

    /// Stores a health result. The runtime is running and recorded, so a failed write is not a failure of the start.
    fn keep_health(
        &self,
        runtime: &Runtime,
        observed: &ObservedRuntime,
        process: &ProcessIdentity,
        probe: Probe,
    ) -> Health {
        let health = probe.at(self.clock.now());
        let _ = health::remember(self.fs, &observed.paths, runtime, process, &health, &self.host.masks);
        health
    }

    /// Returns every reason why a runtime may not be started, without starting it; empty if it is already running.
    ///
    /// # Errors
    /// Fails if its files cannot be read.
    pub fn blockers(&self, runtime: &Runtime) -> Result<Vec<RuntimeIssue>, RuntimeError> {
        let observed = self.observe(runtime)?;
        if observed.process().is_some() {
            return Ok(Vec::new());
        }
        let mut blockers = observed.blockers.clone();
        blockers.extend(self.unmanaged(runtime, &observed));
        blockers.extend(self.port_conflict(runtime, &observed));
        Ok(blockers)
    }

    fn refuse(&self, runtime: &Runtime, observed: &ObservedRuntime) -> Option<StartOutcome> {
        let mut blockers = observed.blockers.clone();
        blockers.extend(self.unmanaged(runtime, observed));
        (!blockers.is_empty()).then_some(StartOutcome::Refused { blockers })
    }

    fn unmanaged(&self, runtime: &Runtime, observed: &ObservedRuntime) -> Option<RuntimeIssue> {
        match observed.process_state {
            ProcessState::Unmanaged(_) => process_issue(runtime, observed),
            // A stop does not remove the file of another user's process either.
            ProcessState::Stale(_) => foreign_issue(runtime, observed),
            ProcessState::Stopped | ProcessState::Running(_) => None,
        }
    }

    /// Opens the logs, records the start, and creates the process. Breaks with the outcome if one of these fails.
    fn begin(
        &self,
        runtime: &Runtime,
        observed: &ObservedRuntime,
    ) -> Result<ControlFlow<StartOutcome, NewProcess>, RuntimeError> {
        let (Some(verified), Some(directory), Some(pid_path), Some(stdout), Some(stderr)) = (
            &observed.start,
            &observed.paths.directory,
            &observed.paths.pid,
            &observed.paths.stdout,
            &observed.paths.stderr,
        ) else {
            // A missing path has its own issue among the blockers.
            return Ok(ControlFlow::Break(StartOutcome::Refused { blockers: observed.blockers.clone() }));
        };
        let (stdout_log, stdout_length) = open_log(self.fs, stdout)?;
        let (stderr_log, stderr_length) = open_log(self.fs, stderr)?;
        let open = Logs { stdout: stdout_log, stderr: stderr_log, cap: LOG_CAP };
        let logs =
            LogsBefore { stdout: (stdout.clone(), stdout_length), stderr: (stderr.clone(), stderr_length) };
        let starter = ProcessIdentity::current().map_err(RuntimeError::Identity)?;
        let instance = self.instance(runtime, &starter);
        let start = Start {
            runtime_id: runtime.id.as_str(),
            command: RecordedText::command(&runtime.command, &self.host.masks),
            cwd: RecordedText::directory(&directory.shown, &self.host.masks),
            at: self.clock.now(),
            pid_path: pid_path.as_str(),
            stdout_path: stdout.as_str(),
            stderr_path: stderr.as_str(),
            instance: &instance,
        };
        self.keep_copy(&observed.record, &observed.paths.metadata)?;
        let record = observed.record.starting(&start, &starter);
        self.save(&record, &observed.paths.metadata)?;
        let at = Instant::now();
        let begun = match self.spawn(runtime, verified, &instance, open) {
            Ok(begun) => begun,
            Err(detail) => {
                let reason = StartFailure::NotSpawned { detail };
                self.save(&record.stopped(self.clock.now(), &reason.to_string()), &observed.paths.metadata)?;
                let log = logs.end(self);
                return Ok(ControlFlow::Break(StartOutcome::Failed { reason, log, survivors: Vec::new() }));
            }
        };
        let saved = self
            .save(&record.started(&begun.program, &begun.writer), &observed.paths.metadata)
            .and_then(|()| {
                let text = format!("{}\n", begun.program.pid());
                Ok(self.fs.write_atomic(pid_path, text.as_bytes(), FileMode::Private)?)
            });
        if let Err(error) = saved {
            // Without a record, the process could not be stopped later.
            kill_detached(&begun.program, Some(&begun.writer), Some(&mark(&instance)), GRACE);
            await_log_writer(&begun.writer);
            return Err(error);
        }
        let DetachedProcess { program: process, writer: log_writer, exit } = begun;
        Ok(ControlFlow::Continue(NewProcess { process, log_writer, exit, instance, at, logs }))
    }

    fn spawn(
        &self,
        runtime: &Runtime,
        start: &VerifiedStart,
        instance: &str,
        logs: Logs,
    ) -> Result<DetachedProcess, String> {
        let mut spec = command::spec(start, self.host);
        let mut own: Vec<(OsString, OsString)> = Vec::new();
        if let Some(home) = runtime.home_path() {
            let home = RelPath::composed(&home);
            self.fs.create_dir_all(&home).map_err(|error| error.to_string())?;
            own.push(("HOME".into(), self.fs.root().join(home.as_path()).into()));
        }
        // The variables of the policy have precedence.
        let fit = |name: &str| !start.bindings().contains_key(name) && !is_dangerous_variable(name);
        let plain = runtime.env.iter().filter(|(name, _)| fit(name));
        own.extend(plain.map(|(name, value)| (name.into(), value.into())));
        spec.environment.retain(|(name, _)| !own.iter().any(|(set, _)| set == name));
        spec.environment.extend(own);
        spec.environment.push((INSTANCE_VARIABLE.into(), instance.into()));
        spawn_detached(&spec, logs).map_err(|error| error.to_string())
    }

    fn await_ready(
        &self,
        runtime: &Runtime,
        check: &Check,
        (process, at): (&ProcessIdentity, Instant),
        options: &StartOptions,
        progress: &mut dyn FnMut(StartProgress),
    ) -> Result<Readiness, StartFailure> {
        let limit = options.wait.unwrap_or(MOMENT);
        let is_unchecked = matches!(check, Check::None) && runtime.port.is_none();
        let settle = if is_unchecked { MIN_UPTIME_UNCHECKED } else { MIN_UPTIME }.min(limit);
        let cancel = options.cancel.as_ref();
        let mut pause = MIN_CHECK_INTERVAL;
        loop {
            if cancel.is_some_and(CancelToken::is_cancelled) {
                return Err(StartFailure::Interrupted);
            }
            let probe = self.probe(runtime, check, process, cancel);
            let port = match (check, runtime.port) {
                (Check::Command(_) | Check::Refused(_), Some(port)) => {
                    Some(health::probe_port(port, process))
                }
                (Check::Port(_) | Check::None, _) | (_, None) => None,
            };
            let elapsed = at.elapsed();
            if !process.is_alive() {
                return Err(StartFailure::Ended { after: elapsed, exit: Exit::Unknown });
            }
            let listens = match check {
                Check::Port(_) => probe.ok,
                Check::Command(_) | Check::Refused(_) | Check::None => {
                    port.as_ref().is_some_and(|port| port.ok)
                }
            };
            let has_settled = listens || settle <= elapsed;
            let missing = if probe.ok { port.filter(|port| !port.ok) } else { Some(probe.clone()) };
            match missing {
                None if has_settled => return Ok(Readiness::Ready(probe)),
                Some(missing) if limit <= elapsed => {
                    return Ok(if probe.ok {
                        let detail = format!("{}, but {}", probe.detail, missing.detail);
                        Readiness::Ready(Probe { ok: true, detail })
                    } else {
                        Readiness::Waiting { waited: limit, missing }
                    });
                }
                Some(missing) => progress(StartProgress::Waiting { elapsed, detail: missing.detail }),
                None => {}
            }
            let left = limit.saturating_sub(at.elapsed()).max(Duration::from_millis(1));
            system::wait(Some(process), cancel, pause.min(left));
            pause = (pause * 2).min(MAX_CHECK_INTERVAL);
        }
    }

    /// Ends the processes of a start, unless it was stopped or started again meanwhile.
    fn undo(
        &self,
        runtime: &Runtime,
        begun: &NewProcess,
        reason: &str,
        options: &StartOptions,
    ) -> Result<Vec<u32>, RuntimeError> {
        let mark = mark(&begun.instance);
        let ended = kill_detached(&begun.process, Some(&begun.log_writer), Some(&mark), GRACE);
        if ended.survivors.is_empty() {
            await_log_writer(&begun.log_writer);
        }
        let observed = self.observe(runtime)?;
        let _lock = self.fs.lock(&observed.paths.lock, &self.holder("start"), options.lock_timeout)?;
        let observed = self.observe(runtime)?;
        if observed.record.instance() == Some(&begun.instance) && ended.survivors.is_empty() {
            self.forget(&observed, reason)?;
        }
        Ok(ended.survivors.iter().map(ProcessIdentity::pid).collect())
    }

    fn instance(&self, runtime: &Runtime, starter: &ProcessIdentity) -> String {
        let root = self.fs.root().to_string_lossy();
        let now = self.clock.now().unix_micros().to_string();
        Fingerprint::builder("brigade.runtime-instance.v1")
            .text("root", &*root)
            .text("runtime", runtime.id.as_str())
            .text("at", now.as_str())
            .text("starter", starter.to_string().as_str())
            .finish()
            .to_hex()[..32]
            .to_owned()
    }

    pub(crate) fn save(&self, record: &Record, path: &RelPath) -> Result<(), RuntimeError> {
        Ok(self.fs.write_atomic(path, &record.bytes(&self.host.masks), FileMode::Private)?)
    }

    pub(crate) fn holder(&self, action: &str) -> String {
        format!("process {} ({HOLDER} {action})", std::process::id())
    }
}

/// Returns the environment entry that marks a start.
pub(crate) fn mark(instance: &str) -> String {
    format!("{INSTANCE_VARIABLE}={instance}")
}
