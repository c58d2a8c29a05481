//! Refusals: their JSON documents, and the text around the error.

pub(crate) mod forms;

use std::path::Path;

use brigade::core::{Json, NextStep};
use brigade::paths::{CATALOG, CHECKPOINTS, INBOX, PINS, RUNS};
use brigade::policy::{BlockerDetail, Diagnosis};
use brigade::report::{PlanReport, RuntimesSummary};
use brigade::{Call, Error, Refusal};

use self::forms::*;
use super::next::CommandWords;
use super::page::Page;
use super::text::{Text, Tone};
use super::views::{numbers, show_call, show_skipped, show_stored_blockers};
use super::{View, blockers};

/// Returns the document of an error that is a refusal.
pub(crate) fn document(error: &Error, diagnosis: Diagnosis, words: &CommandWords) -> Option<RefusalDocument> {
    let parts = Parts {
        error,
        target: error.target()?.to_owned(),
        text: error.to_string(),
        blockers: error.blockers().iter().map(ToString::to_string).collect(),
        blocker_details: error.blockers().iter().map(|blocker| blockers::detail(blocker, words)).collect(),
        diagnosis,
    };
    parts.document(error.refusal()?)
}

/// The parts that documents of refusals share.
#[derive(Clone)]
struct Parts<'e> {
    error: &'e Error,
    target: String,
    /// The error. The diagnosis has the next steps.
    text: String,
    blockers: Vec<String>,
    blocker_details: Vec<BlockerDetail>,
    diagnosis: Diagnosis,
}

fn owned<T: Clone>(value: &Option<Box<T>>) -> Option<T> {
    value.as_deref().cloned()
}

impl Parts<'_> {
    #[allow(clippy::too_many_lines, reason = "one arm for each document, and nothing else")]
    fn document(&self, refusal: &Refusal) -> Option<RefusalDocument> {
        let path = |file: &str| Path::new(&self.target).join(file).display().to_string();
        let [runs_path, checkpoints_path] = [RUNS, CHECKPOINTS].map(path);
        let (calls_path, store) = self.error.calls_path()?;
        let calls_path = calls_path.to_owned();
        let (message, candidates) = (self.error.to_string(), self.error.failure().could_be().to_vec());
        let Parts { error, target, text, blockers, blocker_details, diagnosis } = self.clone();
        Some(match refusal {
            Refusal::Plan(report) => {
                let report = PlanReport::clone(report);
                RefusalDocument::Plan(Box::new(PlanRefused { report, error: text, diagnosis }))
            }
            Refusal::Queue { call } => RefusalDocument::Queue(Box::new(QueueRefused {
                schema: Id::default(),
                target,
                calls_path,
                store,
                created: 0,
                skipped: 0,
                blocked: u8::from(!blockers.is_empty()),
                call: Call::clone(call),
                reason: Some(text),
                blockers,
                blocker_details,
                diagnosis,
            })),
            Refusal::Call { call } => RefusalDocument::Call(Box::new(CallRefused {
                schema: Id::default(),
                target,
                calls_path,
                store,
                call: owned(call),
                preview: None,
                blocker_details,
                changed: Vec::new(),
                pin: None,
                error: message,
                candidates,
                diagnosis,
            })),
            Refusal::Review { call, pin } => RefusalDocument::Review(Box::new(ReviewRefused {
                schema: Id::default(),
                target,
                calls_path,
                store,
                call: owned(call),
                preview: None,
                pin: pin.clone(),
                accepted_changes: Vec::new(),
                error: text,
                blockers,
                blocker_details,
                candidates,
                diagnosis,
            })),
            Refusal::Run(run) => RefusalDocument::Run(Box::new(RunRefused {
                schema: Id::default(),
                target,
                calls_path,
                store,
                runs_path,
                call: owned(&run.call),
                receipt: None,
                blockers,
                blocker_details,
                changed: run.changed.clone(),
                passed_over: run.passed_over.clone(),
                warnings: Vec::new(),
                error: text,
                candidates,
                diagnosis,
            })),
            Refusal::RunShow => RefusalDocument::RunShow(Box::new(RunShowRefused {
                schema: Id::default(),
                target,
                runs_path,
                run: None,
                error: text,
                candidates,
                diagnosis,
            })),
            Refusal::Replay { run, plan } => RefusalDocument::Replay(Box::new(ReplayRefused {
                schema: Id::default(),
                target,
                runs_path,
                calls_path,
                store,
                run: owned(run),
                plan: owned(plan),
                blockers,
                blocker_details,
                created: 0,
                executed: 0,
                error: text,
                diagnosis,
            })),
            Refusal::Checkpoint => RefusalDocument::Checkpoint(Box::new(CheckpointRefused {
                schema: Id::default(),
                target,
                checkpoints_path,
                checkpoint: None,
                call_status: None,
                error: text,
                candidates,
                diagnosis,
            })),
            Refusal::CheckpointReview { checkpoint, call } => {
                RefusalDocument::CheckpointReview(Box::new(CheckpointReviewRefused {
                    schema: Id::default(),
                    target,
                    checkpoints_path,
                    checkpoint: owned(checkpoint),
                    call: owned(call),
                    error: text,
                    diagnosis,
                }))
            }
            Refusal::Resume { checkpoint, run } => {
                // The state of the checkpoint is the only blocker.
                let is_checkpoint = run.call.is_none() && !error.is_about_request();
                RefusalDocument::Resume(Box::new(ResumeRefused {
                    schema: Id::default(),
                    target,
                    calls_path,
                    store,
                    checkpoints_path,
                    runs_path,
                    checkpoint: owned(checkpoint),
                    call: owned(&run.call),
                    receipt: None,
                    blockers: if is_checkpoint { vec![message] } else { blockers },
                    blocker_details,
                    changed: run.changed.clone(),
                    error: text,
                    diagnosis,
                }))
            }
            Refusal::Pin(report) => {
                let report = report.as_deref();
                RefusalDocument::Pin(Box::new(PinRefused {
                    schema: Id::default(),
                    target,
                    pins_path: path(PINS),
                    pin: report.and_then(|report| report.pin.clone()),
                    server: report.and_then(|report| report.server.clone()),
                    description: report.and_then(|report| report.description.clone()),
                    input_schema: report.map(|report| report.input_schema.clone()).unwrap_or_default(),
                    offered: report.and_then(|report| report.offered.clone()),
                    changes: report.map(|report| report.changes.clone()).unwrap_or_default(),
                    accepted: false,
                    error: text,
                    candidates,
                    diagnosis,
                }))
            }
            Refusal::InboxItem { item } => RefusalDocument::InboxItem(Box::new(InboxItemRefused {
                schema: Id::default(),
                imports_path: path(INBOX),
                target,
                item: owned(item),
                error: text,
                candidates,
                diagnosis,
            })),
            Refusal::Tool => RefusalDocument::Tool(Box::new(ToolRefused {
                schema: Id::default(),
                config_path: path(CATALOG),
                target,
                tool: None,
                error: text,
                diagnosis,
            })),
            Refusal::Contract { errors } => RefusalDocument::Contract(Box::new(ContractRefused {
                schema: Id::default(),
                config_path: path(CATALOG),
                target,
                valid: false,
                errors: errors.clone(),
                tool: None,
                arguments: Vec::new(),
                examples: Json::Null,
                issues: Vec::new(),
                issue_count: 0,
                error: text,
                diagnosis,
            })),
            Refusal::Runtime(summary) => RefusalDocument::Runtime(Box::new(RuntimeRefused {
                schema: Id::default(),
                summary: RuntimesSummary::clone(summary),
                runtime: None,
                error: text,
                diagnosis,
            })),
            Refusal::Register(report) => RefusalDocument::Register(report.clone()),
            Refusal::PackImport(report) => RefusalDocument::PackImport(report.clone()),
            Refusal::Defaults(report) => RefusalDocument::Defaults(report.clone()),
            Refusal::ProjectionPlan(report) => RefusalDocument::ProjectionPlan(report.clone()),
            Refusal::SyncPlan(report) => RefusalDocument::SyncPlan(report.clone()),
            Refusal::Apply(report) => RefusalDocument::Apply(report.clone()),
            Refusal::RuntimeStart { .. } => RefusalDocument::RuntimeStart(Box::new(self.start(refusal)?)),
            Refusal::RuntimeStop { .. } => RefusalDocument::RuntimeStop(Box::new(self.stop(refusal)?)),
            Refusal::RuntimeRestart { runtime_id, stop, step } => {
                let (failed_stop, start) = match step.as_deref() {
                    Some(step) => (self.stop(step), self.start(step)),
                    // There is no runtime with this id, so nothing can be stopped.
                    None => {
                        let (runtime_id, survivors) = (runtime_id.clone(), Vec::new());
                        let (runtime, pid, fix) = (None, None, None);
                        let stop = Refusal::RuntimeStop { runtime_id, runtime, pid, fix, survivors };
                        (self.stop(&stop), None)
                    }
                };
                let runtime = match (&failed_stop, &start) {
                    (Some(stop), _) => stop.runtime.clone(),
                    (_, Some(start)) => start.runtime.clone(),
                    (None, None) => None,
                };
                let stopped = stop.as_deref().cloned().map(|stop| StopResult::Done(Box::new(stop)));
                RefusalDocument::RuntimeRestart(Box::new(RuntimeRestartRefused {
                    schema: Id::default(),
                    target,
                    runtime_id: runtime_id.clone(),
                    stop: stopped.or_else(|| failed_stop.map(|stop| StopResult::Refused(Box::new(stop)))),
                    start,
                    runtime,
                    error: text,
                    diagnosis,
                }))
            }
            _ => return None,
        })
    }

    /// Creates the document of a runtime that was not started.
    fn start(&self, refusal: &Refusal) -> Option<RuntimeStartRefused> {
        let Refusal::RuntimeStart { runtime_id, runtime, stdout, stderr, survivors } = refusal else {
            return None;
        };
        Some(RuntimeStartRefused {
            schema: Id::default(),
            target: self.target.clone(),
            runtime_id: runtime_id.clone(),
            runtime: owned(runtime),
            started: 0,
            skipped: 0,
            health: None,
            blockers: self.blockers.clone(),
            blocker_details: self.blocker_details.clone(),
            error: self.text.clone(),
            stdout: stdout.clone(),
            stderr: stderr.clone(),
            survivors: survivors.clone(),
            diagnosis: self.diagnosis.clone(),
        })
    }

    /// Creates the document of a runtime that was not stopped.
    fn stop(&self, refusal: &Refusal) -> Option<RuntimeStopRefused> {
        let Refusal::RuntimeStop { runtime_id, runtime, pid, fix, survivors } = refusal else {
            return None;
        };
        Some(RuntimeStopRefused {
            schema: Id::default(),
            target: self.target.clone(),
            runtime_id: runtime_id.clone(),
            runtime: owned(runtime),
            stopped: 0,
            pid: *pid,
            error: self.text.clone(),
            fix: fix.clone(),
            survivors: survivors.clone(),
            diagnosis: self.diagnosis.clone(),
        })
    }
}

/// Returns the report of a refused operation if the report contains all reasons. It is shown instead of the error.
pub(crate) fn whole_report(refusal: &Refusal) -> Option<&dyn View> {
    Some(match refusal {
        Refusal::Register(report) => &**report,
        Refusal::PackImport(report) => &**report,
        Refusal::Defaults(report) => &**report,
        Refusal::ProjectionPlan(report) => &**report,
        Refusal::SyncPlan(report) => &**report,
        Refusal::Apply(report) => &**report,
        _ => return None,
    })
}

/// Prints what comes before the error.
pub(crate) fn show_before(error: &Error, page: &mut Page) {
    match error.refusal() {
        Some(Refusal::Run(run)) => {
            show_skipped(&run.passed_over, page);
        }
        Some(Refusal::RuntimeRestart { stop: Some(stop), .. }) => {
            stop.show(page);
            page.data.gap();
        }
        _ => {}
    }
}

/// Returns the name of the runtime, if the error does not mention it.
pub(crate) fn subject(refusal: &Refusal) -> Option<&str> {
    match refusal {
        Refusal::RuntimeStart { runtime_id, runtime: Some(_), .. }
        | Refusal::RuntimeStop { runtime_id, runtime: Some(_), .. } => Some(runtime_id),
        Refusal::RuntimeRestart { step: Some(step), .. } => subject(step),
        _ => None,
    }
}

/// Prints what comes after the error.
pub(crate) fn show_behind(error: &Error, refusal: &Refusal, page: &mut Page) {
    match refusal {
        // A reason with help already has the next step.
        Refusal::Queue { call } if !page.trouble.helps() => {
            page.next_step(&NextStep::DescribeTool(call.tool_id.clone()));
        }
        Refusal::Call { call: Some(call) } => {
            page.trouble.gap();
            show_call(call, page.now, &mut page.trouble);
            show_stored_blockers(call, &mut page.trouble);
        }
        Refusal::Pin(Some(report)) => report.show(page),
        Refusal::RuntimeStart { runtime_id, runtime, stdout, stderr, survivors } => {
            for (name, text) in [("standard output", stdout), ("standard error", stderr)] {
                if !text.is_empty() {
                    page.trouble.line(Text::new(Tone::Faint, &format!("end of {name}:")));
                }
                for line in text.lines() {
                    page.trouble.indented(2, line);
                }
            }
            if !survivors.is_empty() {
                page.error(
                    brigade::ErrorCode::ProcessesAlive,
                    &format!("cannot end processes: {}", numbers(survivors)),
                );
            }
            if runtime.is_some() && error.blockers().is_empty() {
                page.next_step(&NextStep::ReadRuntimeLogs(runtime_id.clone()));
            }
        }
        Refusal::RuntimeStop { survivors, .. } if !survivors.is_empty() => {
            page.trouble.indented(2, format!("processes: {}", numbers(survivors)));
        }
        Refusal::RuntimeRestart { step: Some(step), .. } => show_behind(error, step, page),
        _ => {}
    }
}
