//! Stops and restarts runtimes.

use std::time::{Duration, Instant};

use brigade_catalog::Runtime;
use brigade_doctor::{RuntimeFacts, RuntimeIssue};
use brigade_fs::{FileMode, RelPath};
use brigade_process::{KillMethod, ProcessIdentity, Signal, TreeEnd, kill_detached};

use crate::error::RuntimeError;
use crate::logs::make_room_locked;
use crate::process_state::ProcessState;
use crate::record::{LIMIT, PidFile, Record, Source};
use crate::start::{StartOptions, StartOutcome, StartProgress, mark};
use crate::supervisor::{Checks, ObservedRuntime, Supervisor, foreign_issue, process_issue};
use crate::system;

/// How long the processes of a runtime may take to end after SIGTERM.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How long the log writer may take after all processes of the runtime have ended.
const LOG_WRITER_GRACE: Duration = Duration::from_secs(2);

/// The outcome of a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopOutcome {
    /// It was running, and its whole tree has ended.
    Stopped {
        /// The process.
        process: ProcessIdentity,
        /// How many processes there were.
        processes: u32,
        /// How many of them had to be killed.
        killed: u32,
        /// How completely this system can end the tree.
        method: KillMethod,
    },
    /// It was not running.
    NotRunning {
        /// What was found.
        reason: String,
    },
    /// A process may be the runtime but cannot be verified; it was not signalled.
    Refused {
        /// The reason, and what to do.
        issue: RuntimeIssue,
    },
    /// It could not be ended.
    Survived {
        /// The process.
        process: ProcessIdentity,
        /// The processes that are still running.
        survivors: Vec<u32>,
    },
}

impl StopOutcome {
    /// Returns whether the runtime is stopped now.
    pub fn is_stopped(&self) -> bool {
        match self {
            StopOutcome::Stopped { .. } | StopOutcome::NotRunning { .. } => true,
            StopOutcome::Refused { .. } | StopOutcome::Survived { .. } => false,
        }
    }
}

/// The remains of a process that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CleanupResult {
    /// How many processes were ended.
    processes: u32,
    /// Whether there was a pid file.
    pid_file: bool,
}

impl CleanupResult {
    pub(crate) fn found_anything(self) -> bool {
        0 < self.processes || self.pid_file
    }
}

/// The outcome of a restart.
#[derive(Clone, Debug, PartialEq)]
pub struct RestartOutcome {
    /// The outcome of the stop; absent if it was not tried because the start would be refused.
    pub stop: Option<StopOutcome>,
    /// The state of the runtime after the stop and before the start.
    pub stopped: Option<RuntimeFacts>,
    /// The outcome of the start; absent if the stop failed.
    pub start: Option<StartOutcome>,
}

impl Supervisor<'_> {
    /// Stops a runtime: its whole tree gets SIGTERM, and SIGKILL after 2 s. Removes the remains of an earlier process.
    /// If a pid file names another living process, it is kept, and the stop is refused.
    ///
    /// Only the recorded process, its descendants, orphans of its tree, and processes with the marker of its start are
    /// signalled.
    ///
    /// # Errors
    /// Fails if a file cannot be written, the lock is not free in time, or the metadata is of a newer version.
    pub fn stop(&self, runtime: &Runtime, lock_timeout: Duration) -> Result<StopOutcome, RuntimeError> {
        let nothing = || StopOutcome::NotRunning { reason: "the runtime is not running".to_owned() };
        let observed = self.observe(runtime)?;
        // If nothing was ever started, there is nothing to lock, and a stop creates no files.
        if observed.record.source == Source::Missing && observed.pid_file == PidFile::Missing {
            return Ok(nothing());
        }
        let _span = tracing::debug_span!("stop", runtime = runtime.id.as_str()).entered();
        self.fs.create_dir_all(&observed.paths.lock.parent())?;
        let _lock = self.fs.lock(&observed.paths.lock, &self.holder("stop"), lock_timeout)?;
        let observed = self.observe(runtime)?;
        if observed.record.is_newer() {
            return Err(RuntimeError::Newer { path: observed.paths.metadata.to_string() });
        }
        match &observed.process_state {
            ProcessState::Running(process) => {
                if let Some(issue) = foreign_issue(runtime, &observed) {
                    return Ok(StopOutcome::Refused { issue });
                }
                let mark = observed.record.instance().map(mark);
                let writer = observed.record.log_writer();
                let ended = kill_detached(process, writer.as_ref(), mark.as_deref(), GRACE);
                if !ended.survivors.is_empty() {
                    let survivors = ended.survivors.iter().map(ProcessIdentity::pid).collect();
                    return Ok(StopOutcome::Survived { process: process.clone(), survivors });
                }
                if let Some(writer) = writer {
                    await_log_writer(&writer);
                }
                self.keep_copy(&observed.record, &observed.paths.metadata)?;
                self.forget(&observed, "stopped")?;
                let TreeEnd { signalled, killed, method, .. } = ended;
                Ok(StopOutcome::Stopped { process: process.clone(), processes: signalled, killed, method })
            }
            ProcessState::Unmanaged(_) => Ok(match process_issue(runtime, &observed) {
                Some(issue) => StopOutcome::Refused { issue },
                None => nothing(),
            }),
            ProcessState::Stale(_) => {
                if let Some(issue) = foreign_issue(runtime, &observed) {
                    return Ok(StopOutcome::Refused { issue });
                }
                let ended = self.clear(&observed)?.processes;
                self.keep_copy(&observed.record, &observed.paths.metadata)?;
                self.forget(&observed, "stale pid")?;
                let lived_on = match ended {
                    0 => String::new(),
                    1 => ", and 1 process that was still running was ended".to_owned(),
                    ended => format!(", and {ended} processes that were still running were ended"),
                };
                Ok(StopOutcome::NotRunning {
                    reason: format!("stale pid: what it left was removed{lived_on}"),
                })
            }
            ProcessState::Stopped => {
                if !self.clear(&observed)?.found_anything() {
                    return Ok(nothing());
                }
                self.forget(&observed, "an earlier start left processes behind")?;
                let reason = "the runtime is not running; processes that an earlier start left were ended";
                Ok(StopOutcome::NotRunning { reason: reason.to_owned() })
            }
        }
    }

    /// Stops a runtime and starts it. If it could not be started again, it is not stopped.
    ///
    /// # Errors
    /// Fails like [`Supervisor::stop`] and [`Supervisor::start`].
    pub fn restart(
        &self,
        runtime: &Runtime,
        options: &StartOptions,
        progress: &mut dyn FnMut(StartProgress),
    ) -> Result<RestartOutcome, RuntimeError> {
        let blockers = self.observe(runtime)?.blockers;
        if !blockers.is_empty() {
            return Ok(RestartOutcome {
                stop: None,
                stopped: None,
                start: Some(StartOutcome::Refused { blockers }),
            });
        }
        let stop = self.stop(runtime, options.lock_timeout)?;
        let stopped = Some(self.facts_of_one(runtime, Checks::Skip, None));
        let start = if stop.is_stopped() { Some(self.start(runtime, options, progress)?) } else { None };
        Ok(RestartOutcome { stop: Some(stop), stopped, start })
    }

    /// Removes the remains of a process that has ended: strays of its tree or with the marker of its start, and the pid
    /// file.
    pub(crate) fn clear(&self, observed: &ObservedRuntime) -> Result<CleanupResult, RuntimeError> {
        let mut cleared = CleanupResult { processes: 0, pid_file: false };
        let was_stopped = observed.record.is_stopped();
        let root = observed.record.identity().or_else(|| observed.record.unfinished_start());
        if let (false, Some(root), Some(instance)) = (was_stopped, root, observed.record.instance()) {
            let writer = observed.record.log_writer();
            cleared.processes = kill_detached(&root, writer.as_ref(), Some(&mark(instance)), GRACE).signalled;
            if let Some(writer) = writer {
                await_log_writer(&writer);
            }
        }
        if let (ProcessState::Stale(_), Some(path)) = (&observed.process_state, &observed.paths.pid) {
            cleared.pid_file = self.remove(path)?;
        }
        Ok(cleared)
    }

    /// Records that a runtime was stopped, and truncates its logs. The caller must hold its lock.
    pub(crate) fn forget(&self, observed: &ObservedRuntime, reason: &str) -> Result<(), RuntimeError> {
        // Write the metadata first: it shows that the pid file is stale.
        if observed.record.source != Source::Missing {
            self.save(&observed.record.stopped(self.clock.now(), reason), &observed.paths.metadata)?;
        }
        if let (PidFile::Pid(_) | PidFile::Broken, Some(path)) = (observed.pid_file, &observed.paths.pid) {
            self.remove(path)?;
        }
        // The runtime is stopped, even if its logs cannot be truncated.
        let _ = make_room_locked(self.fs, &observed.paths);
        Ok(())
    }

    fn remove(&self, path: &RelPath) -> Result<bool, RuntimeError> {
        match self.fs.remove(path) {
            Ok(()) => {
                self.fs.sync_dir(&path.parent())?;
                Ok(true)
            }
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps a copy of a file that this version did not write before replacing it: `.0.30.0` for v0.30, `.unreadable`
    /// for anything else.
    pub(crate) fn keep_copy(&self, record: &Record, path: &RelPath) -> Result<(), RuntimeError> {
        let extension = match record.source {
            Source::Missing | Source::Current | Source::Newer => return Ok(()),
            Source::Original => "0.30.0",
            Source::Unreadable => "unreadable",
        };
        let copy = path.parent().join(&format!("{}.{extension}", path.name()));
        let copy = copy.expect("a name with an extension is a name");
        if !self.fs.exists(&copy)? {
            let bytes = self.fs.read(path, LIMIT)?;
            self.fs.write_atomic(&copy, &bytes, FileMode::Private)?;
        }
        Ok(())
    }
}

/// Waits for the log writer of a stopped runtime. If another process holds the output open, the writer is ended anyway.
pub(crate) fn await_log_writer(writer: &ProcessIdentity) {
    let since = Instant::now();
    while writer.is_alive() {
        let left = LOG_WRITER_GRACE.saturating_sub(since.elapsed());
        if left.is_zero() {
            let _ = writer.signal(Signal::Kill);
            return;
        }
        system::wait(Some(writer), None, left);
    }
}
