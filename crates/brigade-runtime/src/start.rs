//! Starting a runtime.

use std::fmt;
use std::time::{Duration, Instant};

use brigade_call::VerifiedStart;
use brigade_catalog::Runtime;
use brigade_core::Fingerprint;
use brigade_doctor::{Health, RuntimeIssue};
use brigade_fs::{FileMode, RelPath};
use brigade_process::{CancelToken, Detached, Logs, ProcessIdentity, kill_detached, spawn_detached};

use crate::command;
use crate::error::RuntimeError;
use crate::health::{self, Check, Probe};
use crate::host::INSTANCE_VARIABLE;
use crate::logs::{LOG_CAP, LogEnd, open_log};
use crate::record::{Record, Start};
use crate::standing::Standing;
use crate::stop::{GRACE, await_log_writer};
use crate::supervisor::{Seen, Supervisor, standing_issue};
use crate::system;

/// What a lock says of who holds it, before the action.
const HOLDER: &str = include_str!("start/holder.txt");

/// How long to wait for readiness when nobody asks to wait longer.
const MOMENT: Duration = Duration::from_secs(2);

/// How long a process must have lived before it counts as started, when nothing but that can be looked at.
const SETTLE: Duration = Duration::from_millis(200);

/// The first pause between two looks at the health; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(15);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// How a start is controlled.
#[derive(Clone, Debug)]
pub struct StartOptions {
    /// How long to wait until the runtime is ready; a moment, when absent. It is not ended for being slow.
    pub wait: Option<Duration>,
    /// How long to wait for another start or stop of the same runtime.
    pub lock_timeout: Duration,
    /// Ends the start, and what it started, when triggered.
    pub cancel: Option<CancelToken>,
}

/// What a start is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartProgress {
    /// What an earlier process left was removed.
    Cleared,
    /// The process is there.
    Spawned {
        /// Its number.
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

/// What came of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartOutcome {
    /// It runs and is ready.
    Started {
        /// The process.
        process: ProcessIdentity,
        /// What the health check found; also remembered.
        health: Health,
        /// How long that took.
        ready_after: Duration,
    },
    /// It runs and is not ready yet. It goes on.
    Starting {
        /// The process.
        process: ProcessIdentity,
        /// How long it was waited for.
        waited: Duration,
        /// What is missing.
        detail: String,
    },
    /// It was running already; nothing was done.
    AlreadyRunning {
        /// The process.
        process: ProcessIdentity,
    },
    /// It may not be started; nothing was done.
    Refused {
        /// Every reason.
        blockers: Vec<RuntimeIssue>,
    },
    /// It was started and ended before it was ready. Nothing of it runs any more, except for the survivors.
    Failed {
        /// Why.
        reason: NotReady,
        /// What it wrote.
        log: LogEnd,
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
}

/// Why a start failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReady {
    /// The system could not start it.
    NotSpawned {
        /// The system's reason.
        detail: String,
    },
    /// Its process ended. A runtime stays in the foreground; one that puts itself into the background counts as ended.
    Ended {
        /// How long it lived, roughly.
        after: Duration,
    },
    /// The end was asked for.
    Interrupted,
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotReady::NotSpawned { detail } => f.write_str(detail),
            NotReady::Ended { after } => {
                write!(f, "its process ended after {:.1} s, before it was ready", after.as_secs_f64())
            }
            NotReady::Interrupted => f.write_str("interrupted; stopped again"),
        }
    }
}

/// What a living process came to while it was waited for.
enum Readiness {
    Ready(Probe),
    Waiting { waited: Duration, detail: String },
}

/// A process that was started a moment ago.
struct Begun {
    process: ProcessIdentity,
    log_writer: ProcessIdentity,
    instance: String,
    at: Instant,
    logs: LogsBefore,
}

/// Where the logs are, and how long they were before.
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
    /// Ready means that its health command succeeds and something of it listens on its port, as far as these are
    /// configured; else, that it has lived for a moment. When the time is over, a health command that succeeds is
    /// enough, and one that is not ready goes on: a living runtime is never ended for being slow.
    ///
    /// # Errors
    /// When a file cannot be written, the lock is not free in time, or the metadata is of a newer version.
    pub fn start(
        &self,
        runtime: &Runtime,
        options: &StartOptions,
        progress: &mut dyn FnMut(StartProgress),
    ) -> Result<StartOutcome, RuntimeError> {
        let _span = tracing::debug_span!("start", runtime = runtime.id.as_str()).entered();
        let seen = self.look(runtime)?;
        if let Some(process) = seen.process() {
            return Ok(StartOutcome::AlreadyRunning { process: process.clone() });
        }
        if let Some(refused) = self.refuse(runtime, &seen) {
            return Ok(refused);
        }
        for folder in seen.paths.folders() {
            self.fs.create_dir_all(&folder)?;
        }
        let lock = self.fs.lock(&seen.paths.lock, &self.holder("start"), options.lock_timeout)?;
        // Another start or stop may have been at work.
        let seen = self.look(runtime)?;
        if let Some(process) = seen.process() {
            return Ok(StartOutcome::AlreadyRunning { process: process.clone() });
        }
        if let Some(refused) = self.refuse(runtime, &seen) {
            return Ok(refused);
        }
        if seen.record.is_newer() {
            return Err(RuntimeError::Newer { path: seen.paths.metadata.to_string() });
        }
        if self.clear(&seen)?.found_anything() {
            progress(StartProgress::Cleared);
        }
        if let Some(conflict) = self.port_conflict(runtime, &seen) {
            return Ok(StartOutcome::Refused { blockers: vec![conflict] });
        }
        let begun = match self.begin(runtime, &seen)? {
            Ok(begun) => begun,
            Err(failed) => return Ok(failed),
        };
        // From here on it is recorded: others may see and stop it while it gets ready.
        drop(lock);
        progress(StartProgress::Spawned { pid: begun.process.pid() });
        match self.await_ready(runtime, &seen.check, &begun, options, progress) {
            Ok(Readiness::Waiting { waited, detail }) => {
                tracing::debug!(pid = begun.process.pid(), "the runtime is not ready yet");
                Ok(StartOutcome::Starting { process: begun.process, waited, detail })
            }
            Ok(Readiness::Ready(probe)) => {
                let health = probe.at(self.clock.now());
                // It runs and is recorded; that its health could not be written down is no reason to call it failed.
                let _ = health::remember(self.fs, &seen.paths, runtime, &begun.process, &health);
                let process = begun.process;
                tracing::debug!(
                    pid = process.pid(),
                    milliseconds = begun.at.elapsed().as_millis(),
                    "the runtime is ready"
                );
                Ok(StartOutcome::Started { process, health, ready_after: begun.at.elapsed() })
            }
            Err(reason) => {
                tracing::debug!(
                    pid = begun.process.pid(),
                    "the runtime ended or was interrupted before it was ready"
                );
                let survivors = self.undo(runtime, &begun, &reason.to_string(), options)?;
                Ok(StartOutcome::Failed { reason, log: begun.logs.end(self), survivors })
            }
        }
    }

    /// Returns every reason why a runtime may not be started, without starting it; empty when it runs already.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub fn blockers(&self, runtime: &Runtime) -> Result<Vec<RuntimeIssue>, RuntimeError> {
        let seen = self.look(runtime)?;
        if seen.process().is_some() {
            return Ok(Vec::new());
        }
        let mut blockers = seen.blockers.clone();
        blockers.extend(self.unmanaged(runtime, &seen));
        blockers.extend(self.port_conflict(runtime, &seen));
        Ok(blockers)
    }

    fn refuse(&self, runtime: &Runtime, seen: &Seen) -> Option<StartOutcome> {
        let mut blockers = seen.blockers.clone();
        blockers.extend(self.unmanaged(runtime, seen));
        (!blockers.is_empty()).then_some(StartOutcome::Refused { blockers })
    }

    fn unmanaged(&self, runtime: &Runtime, seen: &Seen) -> Option<RuntimeIssue> {
        match seen.standing {
            Standing::Unmanaged(_) => standing_issue(runtime, seen),
            Standing::Stopped | Standing::Running(_) | Standing::Stale(_) => None,
        }
    }

    /// Opens the logs, records the start, and creates the process.
    fn begin(&self, runtime: &Runtime, seen: &Seen) -> Result<Result<Begun, StartOutcome>, RuntimeError> {
        let (Some(verified), Some(directory), Some(pid_path), Some(stdout), Some(stderr)) =
            (&seen.start, &seen.paths.directory, &seen.paths.pid, &seen.paths.stdout, &seen.paths.stderr)
        else {
            // Each of these has an issue when it is absent.
            return Ok(Err(StartOutcome::Refused { blockers: seen.blockers.clone() }));
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
            command: &runtime.command,
            cwd: &directory.shown,
            at: self.clock.now(),
            pid_path: pid_path.as_str(),
            stdout_path: stdout.as_str(),
            stderr_path: stderr.as_str(),
            instance: &instance,
        };
        self.keep_copy(&seen.record, &seen.paths.metadata)?;
        let record = seen.record.starting(&start, &starter);
        self.save(&record, &seen.paths.metadata)?;
        let at = Instant::now();
        let begun = match self.spawn(verified, &instance, open) {
            Ok(begun) => begun,
            Err(error) => {
                let reason = NotReady::NotSpawned { detail: error.to_string() };
                self.save(&record.stopped(self.clock.now(), &reason.to_string()), &seen.paths.metadata)?;
                let log = logs.end(self);
                return Ok(Err(StartOutcome::Failed { reason, log, survivors: Vec::new() }));
            }
        };
        let saved = self.save(&record.started(&begun), &seen.paths.metadata).and_then(|()| {
            let text = format!("{}\n", begun.program.pid());
            Ok(self.fs.write_atomic(pid_path, text.as_bytes(), FileMode::Private)?)
        });
        if let Err(error) = saved {
            // Without a record nobody could stop it.
            kill_detached(&begun.program, Some(&begun.writer), Some(&mark(&instance)), GRACE);
            await_log_writer(&begun.writer);
            return Err(error);
        }
        let Detached { program: process, writer: log_writer } = begun;
        Ok(Ok(Begun { process, log_writer, instance, at, logs }))
    }

    fn spawn(
        &self,
        start: &VerifiedStart,
        instance: &str,
        logs: Logs,
    ) -> Result<Detached, brigade_process::SpawnError> {
        let mut spec = command::spec(start, self.host);
        spec.environment.push((INSTANCE_VARIABLE.into(), instance.into()));
        spawn_detached(&spec, logs)
    }

    fn await_ready(
        &self,
        runtime: &Runtime,
        check: &Check,
        begun: &Begun,
        options: &StartOptions,
        progress: &mut dyn FnMut(StartProgress),
    ) -> Result<Readiness, NotReady> {
        let limit = options.wait.unwrap_or(MOMENT);
        let cancel = options.cancel.as_ref();
        let mut pause = FIRST_PAUSE;
        loop {
            if cancel.is_some_and(CancelToken::is_cancelled) {
                return Err(NotReady::Interrupted);
            }
            let timeout = runtime.health_timeout().duration();
            let probe = health::probe(self.host, check, &begun.process, timeout, cancel);
            let port = match (check, runtime.port) {
                (Check::Command(_) | Check::Refused(_), Some(port)) => {
                    Some(health::probe_port(port, &begun.process))
                }
                (Check::Port(_) | Check::None, _) | (_, None) => None,
            };
            let elapsed = begun.at.elapsed();
            if !begun.process.is_alive() {
                return Err(NotReady::Ended { after: elapsed });
            }
            let listens = match check {
                Check::Port(_) => probe.ok,
                Check::Command(_) | Check::Refused(_) | Check::None => {
                    port.as_ref().is_some_and(|port| port.ok)
                }
            };
            let has_settled = listens || SETTLE.min(limit) <= elapsed;
            let missing = if probe.ok { port.filter(|port| !port.ok) } else { Some(probe.clone()) };
            match missing {
                None if has_settled => return Ok(Readiness::Ready(probe)),
                Some(missing) if limit <= elapsed => {
                    return Ok(if probe.ok {
                        let detail = format!("{}, but {}", probe.detail, missing.detail);
                        Readiness::Ready(Probe { ok: true, detail })
                    } else {
                        Readiness::Waiting { waited: limit, detail: missing.detail }
                    });
                }
                Some(missing) => progress(StartProgress::Waiting { elapsed, detail: missing.detail }),
                None => {}
            }
            let left = limit.saturating_sub(begun.at.elapsed()).max(Duration::from_millis(1));
            system::wait(Some(&begun.process), cancel, pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Ends what a start brought up, unless someone else has stopped or even started it again since.
    fn undo(
        &self,
        runtime: &Runtime,
        begun: &Begun,
        reason: &str,
        options: &StartOptions,
    ) -> Result<Vec<u32>, RuntimeError> {
        let mark = mark(&begun.instance);
        let ended = kill_detached(&begun.process, Some(&begun.log_writer), Some(&mark), GRACE);
        if ended.survivors.is_empty() {
            await_log_writer(&begun.log_writer);
        }
        let seen = self.look(runtime)?;
        let _lock = self.fs.lock(&seen.paths.lock, &self.holder("start"), options.lock_timeout)?;
        let seen = self.look(runtime)?;
        if seen.record.instance() == Some(&begun.instance) && ended.survivors.is_empty() {
            self.forget(&seen, reason)?;
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
        Ok(self.fs.write_atomic(path, &record.bytes(), FileMode::Private)?)
    }

    pub(crate) fn holder(&self, action: &str) -> String {
        format!("process {} ({HOLDER} {action})", std::process::id())
    }
}

/// The variable of a start, as it stands in an environment.
pub(crate) fn mark(instance: &str) -> String {
    format!("{INSTANCE_VARIABLE}={instance}")
}
