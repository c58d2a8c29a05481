//! The supervisor of runtimes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use brigade_call::{Objection, StartPurpose, VerifiedStart};
use brigade_catalog::Runtime;
use brigade_cmdline::argv::Argv;
use brigade_core::text::short;
use brigade_core::{Clock, Severity};
use brigade_doctor::{Health, IssueType, RuntimeFacts, RuntimeIssue, RuntimeState};
use brigade_fs::{Fs, RelPath};
use brigade_process::{CancelToken, ProcessIdentity};

use crate::command;
use crate::error::RuntimeError;
use crate::health::{self, Check};
use crate::host::{HealthSandbox, Host};
use crate::logs;
use crate::paths::{HealthFile, Paths, STATE};
use crate::process_state::{ProcessState, process_state};
use crate::record::{PidFile, Record, Source};
use crate::system::{self, Holders};

/// The maximum and the initial number of parallel health checks.
const MAX_PARALLEL_CHECKS: usize = 64;
const INITIAL_PARALLEL_CHECKS: usize = 4;

/// How long the first checks may take before more threads are added.
///
/// Starting a command copies the process, which gets slower with every thread. So quick checks share a few threads.
const QUICK_CHECK_TIME: Duration = Duration::from_millis(5);

/// Whether health is checked, which may run commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// No command is run; the last result is returned.
    Skip,
    /// Running runtimes are checked in parallel, and the results are stored. Logs that are too long are truncated.
    Run,
}

/// Supervises the runtimes of one workspace. Does nothing in the background: no thread outlives a call, only runtimes
/// and their log writers do.
#[derive(Clone, Copy)]
pub struct Supervisor<'a> {
    pub(crate) fs: &'a dyn Fs,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) host: &'a Host,
    pub(crate) confine: &'a dyn HealthSandbox,
}

/// The observed state of one runtime.
pub(crate) struct ObservedRuntime {
    pub(crate) paths: Paths,
    pub(crate) record: Record,
    pub(crate) pid_file: PidFile,
    pub(crate) process_state: ProcessState,
    pub(crate) start: Option<VerifiedStart>,
    pub(crate) check: Check,
    /// Why it cannot be started, in any state.
    pub(crate) blockers: Vec<RuntimeIssue>,
}

impl ObservedRuntime {
    pub(crate) fn process(&self) -> Option<&ProcessIdentity> {
        if let ProcessState::Running(identity) = &self.process_state { Some(identity) } else { None }
    }

    /// Returns whether the command or directory of the entry has changed since the start.
    pub(crate) fn is_outdated(&self, runtime: &Runtime) -> bool {
        let directory = self.paths.directory.as_ref();
        self.record.source == Source::Current
            && (self.record.is_of_other_command(&runtime.command)
                || directory.is_some_and(|directory| self.record.is_of_other_directory(&directory.shown)))
    }
}

impl<'a> Supervisor<'a> {
    /// Creates a supervisor for the workspace at the root of `fs`. `confine` puts health commands into their sandbox.
    pub fn new(
        fs: &'a dyn Fs,
        clock: &'a dyn Clock,
        host: &'a Host,
        confine: &'a dyn HealthSandbox,
    ) -> Supervisor<'a> {
        Supervisor { fs, clock, host, confine }
    }

    /// Returns the facts of these runtimes, in their order. Never starts or stops one.
    ///
    /// A state file that cannot be read is an issue of its runtime.
    pub fn facts(
        &self,
        runtimes: &[Runtime],
        checks: Checks,
        cancel: Option<&CancelToken>,
    ) -> Vec<RuntimeFacts> {
        let observed: Vec<Result<ObservedRuntime, RuntimeError>> =
            runtimes.iter().map(|runtime| self.observe(runtime)).collect();
        let processes: Vec<u32> =
            observed.iter().flatten().filter_map(|observed| Some(observed.process()?.pid())).collect();
        let holders =
            system::holders(&runtimes.iter().filter_map(|runtime| runtime.port).collect(), &processes);
        let too_long: Vec<Vec<RuntimeIssue>> = runtimes
            .iter()
            .zip(&observed)
            .map(|(runtime, observed)| {
                observed.as_ref().map_or_else(|_| Vec::new(), |observed| self.log_issues(runtime, observed))
            })
            .collect();
        let found = match checks {
            Checks::Skip => vec![None; runtimes.len()],
            Checks::Run => self.check_all(runtimes, &observed, cancel),
        };
        let each = runtimes.iter().zip(observed).zip(found).zip(too_long);
        each.map(|(((runtime, observed), health), too_long)| match observed {
            Ok(observed) => {
                let mut facts = self.facts_of(runtime, observed, &holders, health);
                facts.issues.extend(too_long);
                facts
            }
            Err(error) => unreadable(runtime, &error, self),
        })
        .collect()
    }

    /// Returns the facts of one runtime.
    pub fn facts_of_one(
        &self,
        runtime: &Runtime,
        checks: Checks,
        cancel: Option<&CancelToken>,
    ) -> RuntimeFacts {
        let mut facts = self.facts(std::slice::from_ref(runtime), checks, cancel);
        facts.remove(0)
    }

    /// Finds runtimes that run without an entry, because it was removed or renamed since the start. Each is
    /// reconstructed from its record, so that it can be inspected and stopped.
    ///
    /// # Errors
    /// Fails if the directory of the state cannot be listed.
    pub fn left(&self, configured: &[Runtime]) -> Result<Vec<Runtime>, RuntimeError> {
        let state = RelPath::from_static(STATE);
        let entries = match self.fs.list_dir(&state) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.retain(|name| name.ends_with(".json") && !brigade_fs::is_temporary(name));
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let known: BTreeSet<RelPath> =
            configured.iter().map(|runtime| Paths::metadata_of(runtime.id.as_str())).collect();
        let mut found = Vec::new();
        for name in names {
            let Ok(path) = state.join(&name) else { continue };
            if known.contains(&path) {
                continue;
            }
            // Unreadable files are not metadata.
            let Ok(record) = Record::read(self.fs, &path) else { continue };
            let Some(runtime) =
                record.runtime().filter(|runtime| Paths::metadata_of(runtime.id.as_str()) == path)
            else {
                continue;
            };
            if self.observe(&runtime).is_ok_and(|observed| observed.process().is_some()) {
                found.push(runtime);
            }
        }
        Ok(found)
    }

    /// Returns the facts of the runtimes that [`left`](Supervisor::left) found.
    pub fn facts_of_left(&self, left: &[Runtime]) -> Vec<RuntimeFacts> {
        let mut facts = self.facts(left, Checks::Skip, None);
        for (facts, runtime) in facts.iter_mut().zip(left) {
            let detail = "it is running, but runtimes.toml has no entry for it";
            let issue = RuntimeIssue::of_runtime(runtime, IssueType::RuntimeLeft, Severity::Warning, detail);
            facts.issues = vec![issue];
            facts.enabled = false;
        }
        facts
    }

    /// Reads the files of one runtime and asks the system for its process.
    pub(crate) fn observe(&self, runtime: &Runtime) -> Result<ObservedRuntime, RuntimeError> {
        let paths = Paths::find(self.fs, self.host, runtime);
        let record = Record::read(self.fs, &paths.metadata)?;
        let pid_file = match &paths.pid {
            Some(path) => PidFile::read(self.fs, path)?,
            None => PidFile::Missing,
        };
        let process_state = process_state(pid_file, &record, &runtime.command);
        let mut blockers = Vec::new();
        if runtime.is_broken {
            let detail = "the entry has errors";
            blockers.push(RuntimeIssue::of_runtime(
                runtime,
                IssueType::RuntimeConfig,
                Severity::Error,
                detail,
            ));
        }
        let directory = paths.directory.as_ref();
        let verify = |purpose, text| command::verify(self.host, runtime, purpose, text, directory);
        let mut issues = |field, objections: &[Objection]| {
            blockers
                .extend(objections.iter().filter_map(|objection| command::issue(runtime, field, objection)));
        };
        let start = verify(StartPurpose::Serve, &runtime.command)
            .map_err(|objections| issues("command", &objections))
            .ok();
        let check = match runtime.health_command.as_deref().filter(|text| !text.trim().is_empty()) {
            Some(text) => match verify(StartPurpose::Health, text) {
                Ok(start) => Check::Command(Box::new(start)),
                Err(objections) => {
                    issues("health_command", &objections);
                    let mut refusal_reason = refusal_reason(runtime, &objections);
                    self.host.masks.hide(&mut refusal_reason);
                    Check::Refused(refusal_reason)
                }
            },
            None => runtime.port.map_or(Check::None, Check::Port),
        };
        blockers.extend(paths.issues.iter().cloned());
        blockers.extend(command::unbound(runtime, self.host));
        if pid_file == PidFile::Foreign {
            let path = shown(paths.pid.as_ref(), || runtime.pid_path());
            let detail = format!(
                "`pid_path` names a file that is not a pid file: look at `{path}`, and remove it or configure \
                 another `pid_path`"
            );
            let issue = RuntimeIssue::of_field(runtime, IssueType::RuntimeConfig, "pid_path", detail);
            let words = Argv::new(vec!["cat".to_owned(), path]);
            blockers.push(match words {
                Ok(words) => issue.with_fix(words.to_string()),
                Err(_) => issue,
            });
        }
        blockers.iter_mut().for_each(|issue| self.host.masks.hide(&mut issue.detail));
        Ok(ObservedRuntime { paths, record, pid_file, process_state, start, check, blockers })
    }

    /// Checks the health of all running runtimes and stores the results.
    fn check_all(
        &self,
        runtimes: &[Runtime],
        observed: &[Result<ObservedRuntime, RuntimeError>],
        cancel: Option<&CancelToken>,
    ) -> Vec<Option<Health>> {
        let running: Vec<(usize, &Runtime, &ObservedRuntime, &ProcessIdentity)> = runtimes
            .iter()
            .zip(observed)
            .enumerate()
            .filter_map(|(index, (runtime, observed))| {
                let observed = observed.as_ref().ok()?;
                Some((index, runtime, observed, observed.process()?))
            })
            .collect();
        let found = Mutex::new(vec![None; runtimes.len()]);
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((index, runtime, observed, process)) =
                running.get(next.fetch_add(1, Ordering::Relaxed))
            {
                let probe = self.probe(runtime, &observed.check, process, cancel);
                // An interrupted check says nothing about the runtime.
                if cancel.is_some_and(CancelToken::is_cancelled) {
                    return;
                }
                let health = probe.at(self.clock.now());
                found.lock().unwrap_or_else(PoisonError::into_inner)[*index] = Some(health);
            }
        };
        std::thread::scope(|scope| {
            let limit = running.len().min(MAX_PARALLEL_CHECKS);
            let (mut started, mut target) = (0, INITIAL_PARALLEL_CHECKS.min(limit));
            let is_left = || next.load(Ordering::Relaxed) < running.len();
            // A single runtime needs no thread.
            while 1 < limit && started < limit && is_left() {
                if started == target {
                    system::wait(None, cancel, QUICK_CHECK_TIME);
                    target = (2 * target).min(limit);
                } else {
                    let thread = std::thread::Builder::new().name("health".to_owned());
                    if thread.spawn_scoped(scope, work).is_err() {
                        break;
                    }
                    started += 1;
                }
            }
            // The calling thread helps, so a system without spare threads only takes longer.
            work();
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (index, runtime, observed, process) in running {
            if let Some(health) = &found[index] {
                // Storing is optional: runtimes in a read-only workspace can still be checked.
                let _ =
                    health::remember(self.fs, &observed.paths, runtime, process, health, &self.host.masks);
            }
        }
        for observed in observed.iter().flatten() {
            let _ = logs::make_room(self.fs, &observed.paths);
        }
        found
    }

    /// Returns the issues of logs that are too long. A health check truncates them. Only runtimes started by v0.30
    /// write such logs.
    fn log_issues(&self, runtime: &Runtime, observed: &ObservedRuntime) -> Vec<RuntimeIssue> {
        let of_log = |(path, length): (RelPath, u64)| {
            let detail = format!(
                "its log {path} has grown to {} MiB; a status keeps the last {} MiB of it",
                length >> 20,
                logs::LOG_CAP >> 20
            );
            RuntimeIssue::of_runtime(runtime, IssueType::RuntimeLogTooLong, Severity::Warning, detail)
        };
        logs::too_long(self.fs, &observed.paths).into_iter().map(of_log).collect()
    }

    fn facts_of(
        &self,
        runtime: &Runtime,
        observed: ObservedRuntime,
        holders: &Holders,
        health: Option<Health>,
    ) -> RuntimeFacts {
        let last_health =
            health.clone().or_else(|| health::remembered(self.fs, &observed.paths.health, &observed.record));
        let (state, pid) = match &observed.process_state {
            ProcessState::Stopped => (RuntimeState::Stopped, None),
            ProcessState::Running(identity) => (RuntimeState::Running, Some(identity.pid())),
            ProcessState::Unmanaged(pid) => (RuntimeState::Running, Some(*pid)),
            ProcessState::Stale(pid) => (RuntimeState::Stale, *pid),
        };
        let mut issues = observed.blockers.clone();
        issues.extend(process_issue(runtime, &observed));
        issues.extend(log_writer_issue(runtime, &observed));
        issues.extend(outdated_issue(runtime, &observed));
        issues.extend(port_issue(runtime, &observed.process_state, holders));
        if let Some(health) = health.as_ref().filter(|health| !health.ok) {
            issues.push(RuntimeIssue::of_health(runtime, health));
        }
        RuntimeFacts {
            cwd: observed
                .paths
                .directory
                .as_ref()
                .map_or_else(|| runtime.cwd().to_owned(), |found| found.shown.clone()),
            pid,
            state,
            managed: observed.process().is_some(),
            started_at: observed.process().and_then(|_| observed.record.started_at()),
            pid_path: shown(observed.paths.pid.as_ref(), || runtime.pid_path()),
            metadata_path: observed.paths.metadata.to_string(),
            stdout_log_path: shown(observed.paths.stdout.as_ref(), || {
                format!("{}.stdout", runtime.log_path())
            }),
            stderr_log_path: shown(observed.paths.stderr.as_ref(), || {
                format!("{}.stderr", runtime.log_path())
            }),
            health_path: runtime.health_path.as_ref().filter(|path| !path.is_empty()).map(|path| {
                match &observed.paths.health {
                    HealthFile::Own(path) => path.to_string(),
                    HealthFile::InMetadata => observed.paths.metadata.to_string(),
                    HealthFile::Nowhere => path.clone(),
                }
            }),
            has_health_file: match &observed.paths.health {
                HealthFile::Own(path) => Some(self.fs.exists(path).unwrap_or(false)),
                // The metadata file exists while it runs.
                HealthFile::InMetadata => runtime.health_path.as_ref().map(|_| true),
                HealthFile::Nowhere => runtime.health_path.as_ref().map(|_| false),
            },
            health,
            last_health,
            metadata: matches!(observed.record.source, Source::Original | Source::Current | Source::Newer)
                .then(|| observed.record.shown(&self.host.masks)),
            issues,
            ..RuntimeFacts::new(runtime, &self.host.masks)
        }
    }

    /// Returns another process that listens on the runtime's port, if any.
    pub(crate) fn port_conflict(
        &self,
        runtime: &Runtime,
        observed: &ObservedRuntime,
    ) -> Option<RuntimeIssue> {
        let ports: BTreeSet<u16> = runtime.port.into_iter().collect();
        port_issue(runtime, &observed.process_state, &system::holders(&ports, &[]))
    }
}

/// Returns the facts of a runtime whose files cannot be read.
fn unreadable(runtime: &Runtime, error: &RuntimeError, supervisor: &Supervisor<'_>) -> RuntimeFacts {
    let paths = Paths::find(supervisor.fs, supervisor.host, runtime);
    let mut issues = paths.issues;
    let detail = error.to_string();
    issues.push(RuntimeIssue::of_runtime(runtime, IssueType::RuntimeConfig, Severity::Error, detail));
    RuntimeFacts {
        metadata_path: paths.metadata.to_string(),
        issues,
        ..RuntimeFacts::new(runtime, &supervisor.host.masks)
    }
}

fn shown(path: Option<&RelPath>, configured: impl FnOnce() -> String) -> String {
    path.map_or_else(configured, RelPath::to_string)
}

/// Returns the issue about the process, if any.
pub(crate) fn process_issue(runtime: &Runtime, observed: &ObservedRuntime) -> Option<RuntimeIssue> {
    let pid_path = shown(observed.paths.pid.as_ref(), || runtime.pid_path());
    match &observed.process_state {
        ProcessState::Stopped => None,
        ProcessState::Running(_) => foreign_issue(runtime, observed),
        ProcessState::Stale(_) => foreign_issue(runtime, observed).or_else(|| {
            // The log writer ends when all processes of the runtime have ended.
            let lives_on = observed.record.log_writer().is_some_and(|writer| writer.is_alive());
            let detail = if lives_on {
                "its process ended, but processes that it started are still running; a stop ends them"
            } else {
                "a pid file is left, but its process is no longer this runtime"
            };
            let issue =
                RuntimeIssue::of_runtime(runtime, IssueType::RuntimeStalePid, Severity::Warning, detail);
            Some(issue)
        }),
        ProcessState::Unmanaged(pid) => {
            let detail = format!(
                "a process that may be this runtime runs, but nothing proves that Brigade started it: if process \
                 {pid} is this runtime, end it yourself; else remove `{pid_path}`"
            );
            Some(RuntimeIssue::of_runtime(runtime, IssueType::RuntimeUnmanaged, Severity::Warning, detail))
        }
    }
}

/// Returns why a pid file is kept although it does not name the runtime: it names another living process.
///
/// If the record has the same pid, Brigade wrote the file and the system reused the pid; the file is stale. A running
/// runtime may also have written the pid of one of its child processes.
pub(crate) fn foreign_issue(runtime: &Runtime, observed: &ObservedRuntime) -> Option<RuntimeIssue> {
    let pid = match (&observed.process_state, observed.pid_file) {
        (ProcessState::Stale(Some(pid)), _) => *pid,
        (ProcessState::Running(own), PidFile::Pid(pid)) => {
            let writer = observed.record.log_writer();
            let is_own = |root: &ProcessIdentity| system::belongs(pid, root);
            // On other systems the parent of a process is unknown.
            if !cfg!(target_os = "linux") || is_own(own) || writer.as_ref().is_some_and(is_own) {
                return None;
            }
            pid
        }
        (
            ProcessState::Stopped
            | ProcessState::Running(_)
            | ProcessState::Unmanaged(_)
            | ProcessState::Stale(None),
            _,
        ) => {
            return None;
        }
    };
    if observed.record.identity().is_some_and(|identity| identity.pid() == pid) {
        return None;
    }
    let process = system::observe(pid)?;
    let program = process.argv.as_ref().and_then(|argv| argv.first()).map(String::as_str).unwrap_or_default();
    let name = short(program.rsplit('/').next().unwrap_or_default(), 40);
    let name = if name.is_empty() { String::new() } else { format!(" (`{name}`)") };
    let pid_path = shown(observed.paths.pid.as_ref(), || runtime.pid_path());
    let detail = format!(
        "`{pid_path}` names process {pid}{name}, which is not this runtime: both are left alone; remove the file \
         if it is not needed"
    );
    Some(RuntimeIssue::of_runtime(runtime, IssueType::RuntimeUnmanaged, Severity::Warning, detail))
}

/// Returns the issue about a missing log writer. Without it, output of the runtime is lost or ends it.
fn log_writer_issue(runtime: &Runtime, observed: &ObservedRuntime) -> Option<RuntimeIssue> {
    observed.process()?;
    observed.record.log_writer().filter(|writer| !writer.is_alive())?;
    // On other systems it also ends when the runtime redirects its output.
    if !cfg!(target_os = "linux") {
        return None;
    }
    let detail = "the process that writes its logs was killed: what it prints is lost and may end it";
    let issue = RuntimeIssue::of_runtime(runtime, IssueType::RuntimeLogWriterGone, Severity::Warning, detail);
    Some(issue)
}

/// Returns the issue about an entry that was changed since its runtime was started.
fn outdated_issue(runtime: &Runtime, observed: &ObservedRuntime) -> Option<RuntimeIssue> {
    observed.process()?;
    if !observed.is_outdated(runtime) {
        return None;
    }
    let detail = "its entry changed after the start; it runs with the old settings";
    let issue = RuntimeIssue::of_runtime(runtime, IssueType::RuntimeOutdated, Severity::Warning, detail);
    Some(issue)
}

fn port_issue(runtime: &Runtime, process_state: &ProcessState, holders: &Holders) -> Option<RuntimeIssue> {
    let port = runtime.port?;
    let holder = holders.get(&port).filter(|holder| holder.is_local)?;
    let is_other = match process_state {
        ProcessState::Running(identity) => holder.belongs_to(identity) == Some(false),
        ProcessState::Unmanaged(_) => false,
        ProcessState::Stopped | ProcessState::Stale(_) => true,
    };
    is_other.then(|| {
        let detail = format!("port {port} is in use by {}", holder.describe());
        RuntimeIssue::of_field(runtime, IssueType::RuntimePortConflict, "port", detail)
            .with_severity(Severity::Warning)
    })
}

/// Returns why a health command was not run.
fn refusal_reason(runtime: &Runtime, objections: &[Objection]) -> String {
    let issue = objections.iter().find_map(|objection| command::issue(runtime, "health_command", objection));
    match (issue, objections) {
        (_, [Objection::BrokenEntry, ..]) => Objection::BrokenEntry.to_string(),
        (Some(issue), _) => issue.detail,
        (None, _) => "its directory is missing".to_owned(),
    }
}
