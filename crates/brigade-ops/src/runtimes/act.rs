//! Starts and stops runtimes.

use std::time::Duration;

use crate::find_runtime;
use brigade_call::RuntimeStatus;
use brigade_catalog::{Runtime, Runtimes as RuntimeFile};
use brigade_core::{ErrorCode, Hint, NextStep};
use brigade_doctor::{IssueType, not_to_be_started, start_blockers};
use brigade_policy::{Blocker, Diagnosis};
use brigade_runtime::{
    Checks, RuntimeFacts, StartOptions, StartOutcome, StartProgress, StopOutcome, Supervisor, WaitOutcome,
};
use brigade_workspace::{WorkspaceContext, load::shown_id};

use super::ConfiguredRuntimes;
use crate::error::{Error, ErrorKind};
use crate::refusal::Refusal;
use crate::report::{
    ReadinessFailure, RefusalMember, Report as _, RuntimeRestartReport, RuntimeStartReport,
    RuntimeStopReport, StartState,
};
use crate::runtimes;
use crate::runtimes::Runtimes;

impl Runtimes {
    /// Starts a runtime and waits until it is ready. `progress` gets every step.
    ///
    /// A running runtime is not restarted. Without `wait`, the start checks readiness only for a moment. A runtime that
    /// is not ready then continues as `starting`.
    ///
    /// # Errors
    /// Returns [`Refusal::RuntimeStart`] if it may not start or ends before it is ready, and file errors.
    pub fn start(
        &self,
        id: &str,
        wait: Option<Duration>,
        progress: &mut dyn FnMut(StartProgress),
    ) -> Result<RuntimeStartReport, Error> {
        let context = &*self.context;
        let configured = runtimes::configured_runtimes(context)?;
        let runtime = find_runtime(&configured.runtimes, id)
            .map_err(|error| Error::from(error).refusing(context, no_start(id, None)))?;
        let supervisor = configured.host.supervisor();
        if let Some(disabled) = not_to_be_started(&configured.runtimes, runtime) {
            let facts = supervisor.facts_of_one(runtime, Checks::Skip, None);
            return Err(start_refused(context, runtime, &facts, vec![disabled]));
        }
        context.require_outside_run()?;
        configured.host.review_start(runtime)?;
        let outcome = supervisor.start(runtime, &start_options(context, wait), progress)?;
        start_report(context, &configured.runtimes, runtime, &supervisor, (wait, outcome))
    }

    /// Stops a runtime and everything it started. Signals only processes that provably belong to it.
    ///
    /// # Errors
    /// Returns [`Refusal::RuntimeStop`] if a process may not or could not be ended, and file errors.
    pub fn stop(&self, id: &str) -> Result<RuntimeStopReport, Error> {
        let context = &*self.context;
        let configured = runtimes::configured_runtimes(context)?;
        let supervisor = configured.host.supervisor();
        // A running runtime without an entry can be stopped by its id.
        let left = match find_runtime(&configured.runtimes, id) {
            Ok(_) => Vec::new(),
            Err(_) => supervisor.left(configured.runtimes.runtimes())?,
        };
        let left = left.iter().find(|left| left.id == id.trim());
        let runtime = left
            .map_or_else(|| find_runtime(&configured.runtimes, id), Ok)
            .map_err(|error| Error::from(error).refusing(context, no_stop(id, None)))?;
        let outcome = supervisor.stop(runtime, context.timeout)?;
        let facts = supervisor.facts_of_one(runtime, Checks::Skip, None);
        stop_report(context, runtime, &facts, outcome)
    }

    /// Stops a runtime and starts it again. It is not stopped if it could not be started again.
    ///
    /// # Errors
    /// Returns [`Refusal::RuntimeRestart`] if the stop or the start failed, and file errors.
    pub fn restart(
        &self,
        id: &str,
        wait: Option<Duration>,
        progress: &mut dyn FnMut(StartProgress),
    ) -> Result<RuntimeRestartReport, Error> {
        let context = &*self.context;
        let ConfiguredRuntimes { runtimes, host } = runtimes::configured_runtimes(context)?;
        let refusing = |runtime_id: &str, stop: Option<RuntimeStopReport>| {
            let runtime_id = shown_id(runtime_id);
            move |error: Error| error.restarting(context, runtime_id, stop)
        };
        let runtime = find_runtime(&runtimes, id).map_err(Error::from).map_err(refusing(id, None))?;
        let supervisor = host.supervisor();
        if let Some(disabled) = not_to_be_started(&runtimes, runtime) {
            let facts = supervisor.facts_of_one(runtime, Checks::Skip, None);
            return Err(refusing(id, None)(start_refused(context, runtime, &facts, vec![disabled])));
        }
        context.require_outside_run().map_err(Error::from).map_err(refusing(id, None))?;
        host.review_start(runtime).map_err(Error::from).map_err(refusing(id, None))?;
        let outcome = supervisor.restart(runtime, &start_options(context, wait), progress)?;
        let id = runtime.id.as_str();
        let stop = outcome.stop.zip(outcome.stopped);
        let stop = stop.map(|(stop, facts)| stop_report(context, runtime, &facts, stop));
        let stop = stop.transpose().map_err(refusing(id, None))?;
        let start =
            outcome.start.map(|start| start_report(context, &runtimes, runtime, &supervisor, (wait, start)));
        let start = match start.transpose() {
            Ok(start) => start,
            Err(error) => return Err(refusing(id, stop)(error)),
        };
        let of_start = start.as_ref().map(|start| &start.runtime);
        let runtime = of_start.or(stop.as_ref().map(|stop| &stop.runtime)).cloned().unwrap_or_default();
        Ok(RuntimeRestartReport {
            schema: RuntimeRestartReport::SCHEMA,
            target: context.target(),
            runtime_id: shown_id(id),
            not_ready: start.as_ref().and_then(|start| start.not_ready.clone()),
            stop,
            start,
            runtime,
        })
    }
}

fn start_options(context: &WorkspaceContext, wait: Option<Duration>) -> StartOptions {
    StartOptions { wait, lock_timeout: context.timeout, cancel: context.cancel.clone() }
}

fn start_report(
    context: &WorkspaceContext,
    runtimes: &RuntimeFile,
    runtime: &Runtime,
    supervisor: &Supervisor<'_>,
    (wait, outcome): (Option<Duration>, StartOutcome),
) -> Result<RuntimeStartReport, Error> {
    let mut facts = supervisor.facts_of_one(runtime, Checks::Skip, None);
    match &outcome {
        // The start just checked it.
        StartOutcome::Started { health, .. } => facts.health = Some(health.clone()),
        StartOutcome::Starting { health, .. } => facts.fails(runtime, health.clone()),
        StartOutcome::AlreadyRunning { .. } => {
            if let Some(health) = facts.last_health.clone().filter(|health| !health.ok) {
                facts.fails(runtime, health);
            }
        }
        StartOutcome::Refused { .. } | StartOutcome::Failed { .. } => {}
    }
    let report = RuntimeStartReport {
        schema: RuntimeStartReport::SCHEMA,
        target: context.target(),
        runtime_id: shown_id(runtime.id.as_str()),
        runtime: Box::new(runtimes::runtime_status(context, &facts)),
        started: 0,
        skipped: 0,
        state: None,
        waited_seconds: wait.map(|wait| wait.as_secs_f64()),
        pid: None,
        pid_path: None,
        metadata_path: None,
        health: None,
        ready_after_seconds: None,
        reason: None,
        not_ready: None,
        blockers: RefusalMember::default(),
        blocker_details: RefusalMember::default(),
    };
    Ok(match outcome {
        StartOutcome::Started { process, health, ready_after } => RuntimeStartReport {
            started: 1,
            state: Some(StartState::Ready),
            pid: Some(process.pid()),
            pid_path: Some(context.absolute(&facts.pid_path)),
            metadata_path: Some(context.absolute(&facts.metadata_path)),
            health: Some(health.to_record()),
            ready_after_seconds: Some(ready_after.as_secs_f64()),
            ..report
        },
        StartOutcome::Starting { process, waited, health } => RuntimeStartReport {
            started: 1,
            pid: Some(process.pid()),
            pid_path: Some(context.absolute(&facts.pid_path)),
            metadata_path: Some(context.absolute(&facts.metadata_path)),
            ..starting(
                context,
                report,
                format!("not ready after {} s: {}", waited.as_secs_f64(), health.detail),
            )
        },
        StartOutcome::AlreadyRunning { process, awaited: Some(WaitOutcome::NotReady { detail }) } => {
            RuntimeStartReport { skipped: 1, pid: Some(process.pid()), ..starting(context, report, detail) }
        }
        StartOutcome::AlreadyRunning { process, awaited } => RuntimeStartReport {
            skipped: 1,
            state: awaited.is_some().then_some(StartState::Ready),
            health: awaited.and_then(|awaited| match awaited {
                WaitOutcome::Ready(health) => Some(health.to_record()),
                WaitOutcome::NotReady { .. } => None,
            }),
            pid: Some(process.pid()),
            reason: Some(
                if facts.issues.iter().any(|issue| issue.issue_type == IssueType::RuntimeOutdated) {
                    "the runtime is running with an older entry; restart it to apply the change"
                } else {
                    "the runtime is running already"
                }
                .to_owned(),
            ),
            ..report
        },
        StartOutcome::Refused { blockers } => {
            let mut blockers = start_blockers(runtimes, runtime, &blockers);
            blockers.iter_mut().for_each(|blocker| blocker.spell(&context.speller()));
            return Err(start_refused(context, runtime, &facts, blockers));
        }
        StartOutcome::Failed { reason, log, survivors } => {
            let refusal = Refusal::RuntimeStart {
                runtime_id: report.runtime_id,
                runtime: Some(report.runtime),
                stdout: log.stdout,
                stderr: log.stderr,
                survivors,
            };
            return Err(Error::new(ErrorKind::Refused, reason.to_string()).refusing(context, refusal));
        }
    })
}

/// Completes the report of a runtime that lives but is not ready. That is an error only if it was waited for.
fn starting(context: &WorkspaceContext, report: RuntimeStartReport, reason: String) -> RuntimeStartReport {
    let not_ready = report.waited_seconds.map(|_| ReadinessFailure {
        message: format!("the runtime is not ready: {reason}"),
        diagnosis: Diagnosis {
            code: ErrorCode::RuntimeNotReady.into(),
            labels: Vec::new(),
            help: Some(context.words(&NextStep::ReadRuntimeLogs(report.runtime_id.clone()))),
        },
    });
    RuntimeStartReport { state: Some(StartState::Starting), reason: Some(reason), not_ready, ..report }
}

fn start_refused(
    context: &WorkspaceContext,
    runtime: &Runtime,
    facts: &RuntimeFacts,
    blockers: Vec<Blocker>,
) -> Error {
    Error::new(ErrorKind::Refused, "the runtime may not be started")
        .coded(ErrorCode::RuntimeBlocked)
        .because(blockers)
        .refusing(
            context,
            no_start(runtime.id.as_str(), Some(Box::new(runtimes::runtime_status(context, facts)))),
        )
}

fn stop_report(
    context: &WorkspaceContext,
    runtime: &Runtime,
    facts: &RuntimeFacts,
    outcome: StopOutcome,
) -> Result<RuntimeStopReport, Error> {
    let report = RuntimeStopReport {
        schema: RuntimeStopReport::SCHEMA,
        target: context.target(),
        runtime_id: shown_id(runtime.id.as_str()),
        runtime: Box::new(runtimes::runtime_status(context, facts)),
        stopped: 0,
        pid: None,
        processes: None,
        killed: None,
        method: None,
        reason: None,
    };
    let refused = |message: String, pid: Option<u32>, fix: Option<Hint>, survivors: Vec<u32>| {
        let error = Error::new(ErrorKind::Refused, message);
        let error = match &fix {
            Some(fix) => error.hint(fix.clone()),
            None => error,
        };
        error.refusing(
            context,
            Refusal::RuntimeStop {
                runtime_id: report.runtime_id.clone(),
                runtime: Some(report.runtime.clone()),
                pid,
                fix: fix.map(|fix| fix.to_string()),
                survivors,
            },
        )
    };
    match outcome {
        StopOutcome::Stopped { process, processes, killed, method } => Ok(RuntimeStopReport {
            stopped: 1,
            pid: Some(process.pid()),
            processes: Some(processes),
            killed: Some(killed),
            method: Some(method.name().into()),
            ..report
        }),
        StopOutcome::NotRunning { reason } => Ok(RuntimeStopReport { reason: Some(reason), ..report }),
        StopOutcome::Refused { issue } => {
            let fix = issue.fix.map(|fix| context.spelled(fix));
            Err(refused(issue.detail, None, fix, Vec::new()))
        }
        StopOutcome::Survived { process, survivors } => {
            let message = "some of its processes could not be ended".to_owned();
            Err(refused(message, Some(process.pid()), None, survivors))
        }
    }
}

fn no_start(id: &str, runtime: Option<Box<RuntimeStatus>>) -> Refusal {
    Refusal::RuntimeStart {
        runtime_id: shown_id(id),
        runtime,
        stdout: String::new(),
        stderr: String::new(),
        survivors: Vec::new(),
    }
}

fn no_stop(id: &str, runtime: Option<Box<RuntimeStatus>>) -> Refusal {
    Refusal::RuntimeStop { runtime_id: shown_id(id), runtime, pid: None, fix: None, survivors: Vec::new() }
}
