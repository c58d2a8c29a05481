//! Refusals: their JSON documents, and the text around the error.

pub(crate) mod forms;

use std::path::Path;

use brigade::core::NextStep;
use brigade::paths::{CATALOG, CHECKPOINTS, INBOX, PINS, RUNS};
use brigade::policy::{BlockerDetail, Diagnosis};
use brigade::records::StoreKind;
use brigade::report::{PlanReport, RuntimesSummary};
use brigade::{Error, Refusal};

use self::forms::*;
use super::next::CommandWords;
use super::page::Page;
use super::text::{Text, Tone};
use super::views::{numbers, show_call, show_skipped, show_stored_blockers};
use super::{View, blockers};

/// The parts that documents of refusals share.
#[derive(Clone)]
struct Parts {
    target: String,
    calls_path: String,
    store: StoreKind,
    runs_path: String,
    checkpoints_path: String,
    pins_path: String,
    imports_path: String,
    config_path: String,
    /// The error. The diagnosis has the next steps.
    error: String,
    candidates: Vec<String>,
    blockers: Vec<String>,
    blocker_details: Vec<BlockerDetail>,
    diagnosis: Diagnosis,
}

/// Returns the document of an error that is a refusal.
pub(crate) fn document(error: &Error, diagnosis: Diagnosis, words: &CommandWords) -> Option<RefusalDocument> {
    use RefusalDocument as D;
    let target = error.target()?.to_owned();
    let (calls_path, store) = error.calls_path()?;
    let path = |file: &str| Path::new(&target).join(file).display().to_string();
    let mut parts = Parts {
        calls_path: calls_path.to_owned(),
        store,
        runs_path: path(RUNS),
        checkpoints_path: path(CHECKPOINTS),
        pins_path: path(PINS),
        imports_path: path(INBOX),
        config_path: path(CATALOG),
        error: error.to_string(),
        candidates: error.failure().could_be().to_vec(),
        blockers: error.blockers().iter().map(ToString::to_string).collect(),
        blocker_details: error.blockers().iter().map(|blocker| blockers::detail(blocker, words)).collect(),
        diagnosis,
        target,
    };
    Some(match error.refusal()? {
        Refusal::Plan(report) => {
            let Parts { error, diagnosis, .. } = parts;
            D::Plan(Box::new(PlanRefused { report: PlanReport::clone(report), error, diagnosis }))
        }
        Refusal::Queue { call } => {
            let (text, blocked) = (parts.error.clone(), u8::from(!parts.blockers.is_empty()));
            D::Queue(Box::new(QueueRefused::new(parts, call, text, blocked)))
        }
        Refusal::Call { call } => D::Call(Box::new(CallRefused::new(parts, call))),
        Refusal::Review { call, pin } => D::Review(Box::new(ReviewRefused::new(parts, call, pin))),
        Refusal::Run(run) => D::Run(Box::new(RunRefused::new(parts, run))),
        Refusal::RunShow => D::RunShow(Box::new(RunShowRefused::new(parts))),
        Refusal::Replay { run, plan } => D::Replay(Box::new(ReplayRefused::new(parts, run, plan))),
        Refusal::Checkpoint => D::Checkpoint(Box::new(CheckpointRefused::new(parts))),
        Refusal::CheckpointReview { checkpoint, call } => {
            D::CheckpointReview(Box::new(CheckpointReviewRefused::new(parts, checkpoint, call)))
        }
        Refusal::Resume { checkpoint, run } => {
            // The state of the checkpoint is the only blocker.
            if run.call.is_none() && !error.is_about_request() {
                parts.blockers = vec![parts.error.clone()];
            }
            D::Resume(Box::new(ResumeRefused::new(parts, checkpoint, run)))
        }
        Refusal::Pin(report) => D::Pin(Box::new(PinRefused::new(parts, report.as_deref()))),
        Refusal::InboxItem { item } => D::InboxItem(Box::new(InboxItemRefused::new(parts, item))),
        Refusal::Tool => D::Tool(Box::new(ToolRefused::new(parts))),
        Refusal::Contract { errors } => D::Contract(Box::new(ContractRefused::new(parts, errors))),
        Refusal::Runtime(summary) => {
            let Parts { error, diagnosis, .. } = parts;
            let (schema, summary) = (Id::default(), RuntimesSummary::clone(summary));
            D::Runtime(Box::new(RuntimeRefused { schema, summary, runtime: None, error, diagnosis }))
        }
        Refusal::Register(report) => D::Register(report.clone()),
        Refusal::PackImport(report) => D::PackImport(report.clone()),
        Refusal::Defaults(report) => D::Defaults(report.clone()),
        Refusal::ProjectionPlan(report) => D::ProjectionPlan(report.clone()),
        Refusal::SyncPlan(report) => D::SyncPlan(report.clone()),
        Refusal::Apply(report) => D::Apply(report.clone()),
        refusal @ Refusal::RuntimeStart { .. } => D::RuntimeStart(Box::new(parts.start(refusal)?)),
        refusal @ Refusal::RuntimeStop { .. } => D::RuntimeStop(Box::new(parts.stop(refusal)?)),
        Refusal::RuntimeRestart { runtime_id, stop, step } => {
            let (failed_stop, start) = match step.as_deref() {
                Some(step) => (parts.stop(step), parts.start(step)),
                // There is no runtime with this id, so nothing can be stopped.
                None => {
                    (Some(RuntimeStopRefused::new(parts.clone(), runtime_id, &None, None, &None, &[])), None)
                }
            };
            let runtime = match (&failed_stop, &start) {
                (Some(stop), _) => stop.runtime.clone(),
                (_, Some(start)) => start.runtime.clone(),
                (None, None) => None,
            };
            let stopped = stop.as_deref().cloned().map(|stop| StopResult::Done(Box::new(stop)));
            let stop = stopped.or_else(|| failed_stop.map(|stop| StopResult::Refused(Box::new(stop))));
            D::RuntimeRestart(Box::new(RuntimeRestartRefused::new(parts, runtime_id, stop, start, runtime)))
        }
        _ => return None,
    })
}

impl Parts {
    /// Creates the document of a runtime that was not started.
    fn start(&self, refusal: &Refusal) -> Option<RuntimeStartRefused> {
        let Refusal::RuntimeStart { runtime_id, runtime, stdout, stderr, survivors } = refusal else {
            return None;
        };
        Some(RuntimeStartRefused::new(self.clone(), runtime_id, runtime, stdout, stderr, survivors))
    }

    /// Creates the document of a runtime that was not stopped.
    fn stop(&self, refusal: &Refusal) -> Option<RuntimeStopRefused> {
        let Refusal::RuntimeStop { runtime_id, runtime, pid, fix, survivors } = refusal else {
            return None;
        };
        Some(RuntimeStopRefused::new(self.clone(), runtime_id, runtime, *pid, fix, survivors))
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
