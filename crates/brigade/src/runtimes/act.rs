//! Starting and stopping runtimes.

use brigade_catalog::{Runtime, Runtimes as RuntimeFile};
use brigade_core::Json;
use brigade_policy::Blocker;
use brigade_runtime::{
    Checks, IssueType, RuntimeFacts, StartOptions, StartOutcome, StartProgress, StopOutcome, Supervisor,
};

use super::{Configured, shown};
use crate::calls::{details, messages};
use crate::error::Error;
use crate::load::shown_id;
use crate::report::{Report as _, RuntimeRestartReport, RuntimeStartReport, RuntimeStopReport};
use crate::room::Room;
use crate::runtimes::Runtimes;

impl Runtimes {
    /// Starts a runtime and waits until it is ready; `progress` hears of every step.
    ///
    /// One that runs already is left alone, and one that does not become ready is stopped again.
    ///
    /// # Errors
    /// When the disk fails. A runtime that may not be started, and one that does not become ready, are in the report.
    pub fn start(
        &self,
        id: &str,
        progress: &mut dyn FnMut(StartProgress),
    ) -> Result<RuntimeStartReport, Error> {
        let configured = self.room.configured()?;
        let runtime = match self.room.runtime(&configured.runtimes, id) {
            Ok(runtime) => runtime,
            Err(error) => return Ok(self.room.start_failed(id, &error)),
        };
        if let Some(disabled) = off(runtime).or_else(|| twice(&configured.runtimes, runtime)) {
            let facts = self.room.supervisor(&configured.host).facts_of_one(runtime, Checks::Skip, None);
            return Ok(self.room.start_refused(runtime, &facts, &[disabled]));
        }
        let supervisor = self.room.supervisor(&configured.host);
        let outcome = supervisor.start(runtime, &self.room.start_options(), progress)?;
        Ok(self.room.start_report(&configured.runtimes, runtime, &supervisor, outcome))
    }

    /// Stops a runtime and everything it started. Only what is proved to be it is signalled.
    ///
    /// # Errors
    /// When the disk fails. A process that must be left alone is in the report.
    pub fn stop(&self, id: &str) -> Result<RuntimeStopReport, Error> {
        let configured = self.room.configured()?;
        let supervisor = self.room.supervisor(&configured.host);
        // What runs under a name that no entry has any more can be stopped by that name.
        let left = match self.room.runtime(&configured.runtimes, id) {
            Ok(_) => Vec::new(),
            Err(_) => supervisor.left(configured.runtimes.runtimes())?,
        };
        let left = left.iter().find(|left| left.id == id.trim());
        let runtime = match left.map_or_else(|| self.room.runtime(&configured.runtimes, id), Ok) {
            Ok(runtime) => runtime,
            Err(error) => {
                return Ok(RuntimeStopReport {
                    error: Some(error.with_hints()),
                    ..self.room.empty_stop(id, Json::Null)
                });
            }
        };
        let outcome = supervisor.stop(runtime, self.room.env.lock_timeout)?;
        Ok(self.room.stop_report(runtime, &supervisor, outcome))
    }

    /// Stops a runtime and starts it. One that could not be started again is not stopped.
    ///
    /// # Errors
    /// As [`Workspace::runtime_stop`] and [`Workspace::runtime_start`].
    pub fn restart(
        &self,
        id: &str,
        progress: &mut dyn FnMut(StartProgress),
    ) -> Result<RuntimeRestartReport, Error> {
        let Configured { runtimes, host } = self.room.configured()?;
        let report =
            |runtime_id: &str, stop: Option<RuntimeStopReport>, start: Option<RuntimeStartReport>| {
                let of_start = start.as_ref().map(|start| (start.runtime.clone(), start.error.clone()));
                let of_stop = stop.as_ref().map(|stop| (stop.runtime.clone(), stop.error.clone()));
                let (runtime, error) = of_start.or(of_stop).unwrap_or_default();
                RuntimeRestartReport {
                    schema: RuntimeRestartReport::SCHEMA,
                    target: self.room.target(),
                    runtime_id: shown_id(runtime_id),
                    stop,
                    start,
                    runtime,
                    error,
                }
            };
        let runtime = match self.room.runtime(&runtimes, id) {
            Ok(runtime) => runtime,
            Err(error) => {
                return Ok(RuntimeRestartReport {
                    error: Some(error.with_hints()),
                    ..report(id, None, None)
                });
            }
        };
        let supervisor = self.room.supervisor(&host);
        if let Some(disabled) = off(runtime).or_else(|| twice(&runtimes, runtime)) {
            let facts = supervisor.facts_of_one(runtime, Checks::Skip, None);
            return Ok(report(id, None, Some(self.room.start_refused(runtime, &facts, &[disabled]))));
        }
        let outcome = supervisor.restart(runtime, &self.room.start_options(), progress)?;
        let stop = outcome.stop.map(|stop| self.room.stop_report(runtime, &supervisor, stop));
        let start = outcome.start.map(|start| self.room.start_report(&runtimes, runtime, &supervisor, start));
        Ok(report(runtime.id.as_str(), stop, start))
    }
}

impl Room {
    fn start_options(&self) -> StartOptions {
        StartOptions {
            ready_within: None,
            lock_timeout: self.env.lock_timeout,
            cancel: self.env.cancel.clone(),
        }
    }

    fn start_report(
        &self,
        runtimes: &RuntimeFile,
        runtime: &Runtime,
        supervisor: &Supervisor<'_>,
        outcome: StartOutcome,
    ) -> RuntimeStartReport {
        let mut facts = supervisor.facts_of_one(runtime, Checks::Skip, None);
        if let StartOutcome::Started { health, .. } = &outcome {
            // It was checked a moment ago.
            facts.health = Some(health.clone());
        }
        let empty = self.empty_start(runtime.id.as_str(), self.runtime_json(&facts));
        match outcome {
            StartOutcome::Started { process, health, ready_after } => RuntimeStartReport {
                started: 1,
                pid: Some(process.pid()),
                pid_path: Some(self.absolute(&facts.pid_path)),
                metadata_path: Some(self.absolute(&facts.metadata_path)),
                health: health.to_json(),
                ready_after_seconds: Some(ready_after.as_secs_f64()),
                ..empty
            },
            StartOutcome::AlreadyRunning { process } => RuntimeStartReport {
                skipped: 1,
                pid: Some(process.pid()),
                reason: Some(if facts.issues.iter().any(|issue| issue.issue_type == IssueType::Outdated) {
                    "the runtime is running already, as an older entry said: `runtime restart` takes the new one"
                } else {
                    "the runtime is running already"
                }
                .to_owned()),
                ..empty
            },
            StartOutcome::Refused { blockers } => {
                let speller = &*self.env.speller;
                self.start_refused(runtime, &facts, &shown::blockers(runtimes, runtime, &blockers, speller))
            }
            StartOutcome::Failed { reason, log, survivors } => RuntimeStartReport {
                error: Some(reason.to_string()),
                stdout: log.stdout,
                stderr: log.stderr,
                survivors,
                ..empty
            },
        }
    }

    fn start_refused(
        &self,
        runtime: &Runtime,
        facts: &RuntimeFacts,
        blockers: &[Blocker],
    ) -> RuntimeStartReport {
        RuntimeStartReport {
            blockers: messages(blockers),
            blocker_details: details(blockers),
            error: Some("the runtime may not be started".to_owned()),
            ..self.empty_start(runtime.id.as_str(), self.runtime_json(facts))
        }
    }

    fn start_failed(&self, id: &str, error: &Error) -> RuntimeStartReport {
        RuntimeStartReport { error: Some(error.with_hints()), ..self.empty_start(id, Json::Null) }
    }

    fn empty_start(&self, id: &str, runtime: Json) -> RuntimeStartReport {
        RuntimeStartReport {
            schema: RuntimeStartReport::SCHEMA,
            target: self.target(),
            runtime_id: shown_id(id),
            runtime,
            started: 0,
            skipped: 0,
            pid: None,
            pid_path: None,
            metadata_path: None,
            health: Json::Null,
            ready_after_seconds: None,
            reason: None,
            blockers: Vec::new(),
            blocker_details: Vec::new(),
            error: None,
            stdout: String::new(),
            stderr: String::new(),
            survivors: Vec::new(),
        }
    }

    fn stop_report(
        &self,
        runtime: &Runtime,
        supervisor: &Supervisor<'_>,
        outcome: StopOutcome,
    ) -> RuntimeStopReport {
        let facts = supervisor.facts_of_one(runtime, Checks::Skip, None);
        let empty = self.empty_stop(runtime.id.as_str(), self.runtime_json(&facts));
        match outcome {
            StopOutcome::Stopped { process, processes, killed, method } => RuntimeStopReport {
                stopped: 1,
                pid: Some(process.pid()),
                processes: Some(processes),
                killed: Some(killed),
                method: Some(method.name()),
                ..empty
            },
            StopOutcome::NotRunning { reason } => RuntimeStopReport { reason: Some(reason), ..empty },
            StopOutcome::Refused { issue } => RuntimeStopReport {
                error: Some(issue.detail),
                fix: issue.fix.map(|fix| self.spelled(fix).to_string()),
                ..empty
            },
            StopOutcome::Survived { process, survivors } => RuntimeStopReport {
                pid: Some(process.pid()),
                error: Some("some of its processes could not be ended".to_owned()),
                survivors,
                ..empty
            },
        }
    }

    fn empty_stop(&self, id: &str, runtime: Json) -> RuntimeStopReport {
        RuntimeStopReport {
            schema: RuntimeStopReport::SCHEMA,
            target: self.target(),
            runtime_id: shown_id(id),
            runtime,
            stopped: 0,
            pid: None,
            processes: None,
            killed: None,
            method: None,
            reason: None,
            error: None,
            fix: None,
            survivors: Vec::new(),
        }
    }
}

/// Says that the id of a runtime stands more than once: which one is meant cannot be told.
fn twice(runtimes: &RuntimeFile, runtime: &Runtime) -> Option<Blocker> {
    let same = || runtimes.runtimes().iter().filter(|other| other.id == runtime.id);
    let last = same().nth(1)?;
    let message = format!("{} entries have the id", same().count());
    let blocker = Blocker::new("runtime_config", message).at(last.place_of("id")).field("id");
    Some(blocker.hint("give each runtime an id of its own"))
}

fn off(runtime: &Runtime) -> Option<Blocker> {
    (!runtime.enabled).then(|| shown::disabled(runtime))
}
