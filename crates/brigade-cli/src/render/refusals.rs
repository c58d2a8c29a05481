//! Refusals: their JSON documents, and the text before and after the error.
//!
//! Each document has the keys of the command's report, in the same order.

use std::path::Path;

use brigade::core::json::to_json;
use brigade::paths::{CALLS, CATALOG, CHECKPOINTS, INBOX, PINS, RUNS};
use brigade::{
    CallReport, CheckpointReport, CheckpointReviewReport, DescribeReport, Diagnosis, Error, InboxItemReport,
    PinReport, PlanReport, QueueReport, Refusal, ReplayReport, Report, ResumeReport, ReviewReport, RunReport,
    RunShowReport, RuntimeReport, RuntimeRestartReport, RuntimeStartReport, RuntimeStopReport, ShowReport,
};
use serde::Serialize;
use serde::ser::{Error as _, SerializeMap, Serializer};

use super::next::CommandLine;
use super::page::Page;
use super::text::{Text, Tone};
use super::views::{logs_command, numbers};
use super::{View as _, blockers};

/// The document of a refusal.
pub(crate) struct Refused<'e> {
    error: &'e Error,
    target: &'e str,
    refusal: &'e Refusal,
    diagnosis: &'e Diagnosis,
}

impl<'e> Refused<'e> {
    /// Returns the document of an error that is a refusal.
    pub(crate) fn of(error: &'e Error, diagnosis: &'e Diagnosis) -> Option<Refused<'e>> {
        Some(Refused { error, target: error.target()?, refusal: error.refusal()?, diagnosis })
    }

    fn path(&self, file: &str) -> String {
        Path::new(self.target).join(file).display().to_string()
    }

    fn reasons(&self) -> Vec<String> {
        self.error.blockers().iter().map(ToString::to_string).collect()
    }
}

/// The plan for a tool that does not exist.
#[derive(Serialize)]
struct PlanRefused<'e> {
    #[serde(flatten)]
    report: &'e PlanReport,
    error: String,
    #[serde(flatten)]
    diagnosis: &'e Diagnosis,
}

/// Writes members in this order.
macro_rules! members {
    ($map:ident: $($key:literal: $value:expr),* $(,)?) => {{ $($map.serialize_entry($key, &$value)?;)* }};
}

/// An empty list, and null.
const NONE: [(); 0] = [];
const NULL: () = ();

impl Serialize for Refused<'_> {
    #[allow(clippy::too_many_lines, reason = "one arm for each document, and nothing else")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Refused { error, target, .. } = self;
        if let Refusal::Plan(report) = self.refusal {
            let error = error.with_hints(&CommandLine::default());
            return PlanRefused { report, error, diagnosis: self.diagnosis }.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        let message = error.to_string();
        let (text, could_be, reasons) =
            (error.with_hints(&CommandLine::default()), error.could_be(), self.reasons());
        let details: Vec<_> = error.blockers().iter().map(blockers::detail).collect();
        match self.refusal {
            Refusal::Queue { call } => members!(map:
                "schema": QueueReport::SCHEMA, "target": target, "calls_path": self.path(CALLS),
                "created": 0, "skipped": 0, "blocked": u8::from(!reasons.is_empty()), "call": call,
                "reason": text, "blockers": reasons, "blocker_details": details,
            ),
            Refusal::Call => members!(map:
                "schema": CallReport::SCHEMA, "target": target, "calls_path": self.path(CALLS),
                "call": NULL, "changed": NONE, "pin": NULL, "error": message, "candidates": could_be,
            ),
            Refusal::Review { call, pin } => members!(map:
                "schema": ReviewReport::SCHEMA, "target": target, "calls_path": self.path(CALLS),
                "call": call, "pin": pin, "accepted_changes": NONE,
                "error": text, "blockers": reasons, "blocker_details": details, "candidates": could_be,
            ),
            Refusal::Run(run) => members!(map:
                "schema": RunReport::SCHEMA, "target": target, "calls_path": self.path(CALLS),
                "runs_path": self.path(RUNS), "call": run.call, "receipt": NULL,
                "blockers": reasons, "blocker_details": details,
                "changed": run.changed, "passed_over": run.passed_over, "warnings": NONE,
                "error": text, "candidates": could_be,
            ),
            Refusal::RunShow => members!(map:
                "schema": RunShowReport::SCHEMA, "target": target, "runs_path": self.path(RUNS),
                "run": NULL, "error": text, "candidates": could_be,
            ),
            Refusal::Replay { run, plan } => members!(map:
                "schema": ReplayReport::SCHEMA, "target": target, "runs_path": self.path(RUNS),
                "calls_path": self.path(CALLS), "run": run, "plan": to_json(plan).map_err(S::Error::custom)?,
                "blockers": reasons, "blocker_details": details, "created": 0, "executed": 0, "error": text,
            ),
            Refusal::Checkpoint => members!(map:
                "schema": CheckpointReport::SCHEMA, "target": target,
                "checkpoints_path": self.path(CHECKPOINTS), "checkpoint": NULL, "call_status": NULL,
                "error": text, "candidates": could_be,
            ),
            Refusal::CheckpointReview { checkpoint } => members!(map:
                "schema": CheckpointReviewReport::SCHEMA, "target": target,
                "checkpoints_path": self.path(CHECKPOINTS), "checkpoint": checkpoint, "call": NULL, "error": text,
            ),
            Refusal::Resume { checkpoint, run } => {
                // The state of the checkpoint is the only blocker.
                let is_checkpoint = run.call.is_none() && std::error::Error::source(*error).is_some();
                let reasons = if is_checkpoint { vec![message] } else { reasons };
                members!(map:
                    "schema": ResumeReport::SCHEMA, "target": target, "calls_path": self.path(CALLS),
                    "checkpoints_path": self.path(CHECKPOINTS), "runs_path": self.path(RUNS),
                    "checkpoint": checkpoint, "call": run.call, "receipt": NULL,
                    "blockers": reasons, "blocker_details": details, "changed": run.changed, "error": text,
                );
            }
            Refusal::Pin(report) => {
                let report = report.as_deref();
                members!(map:
                    "schema": PinReport::SCHEMA, "target": target, "pins_path": self.path(PINS),
                    "pin": report.and_then(|report| report.pin.as_ref()),
                    "server": report.and_then(|report| report.server.as_ref()),
                    "description": report.and_then(|report| report.description.as_ref()),
                    "input_schema": report.map(|report| &report.input_schema),
                    "offered": report.and_then(|report| report.offered.as_ref()),
                    "changes": report.map_or(&[][..], |report| &report.changes),
                    "accepted": false, "error": text, "candidates": could_be,
                );
            }
            Refusal::InboxItem { item } => members!(map:
                "schema": InboxItemReport::SCHEMA, "target": target, "imports_path": self.path(INBOX),
                "item": item, "error": text, "candidates": could_be,
            ),
            Refusal::Tool => members!(map:
                "schema": ShowReport::SCHEMA, "target": target, "config_path": self.path(CATALOG),
                "tool": NULL, "error": text,
            ),
            Refusal::Contract { errors } => members!(map:
                "schema": DescribeReport::SCHEMA, "target": target, "config_path": self.path(CATALOG),
                "valid": false, "errors": errors, "tool": NULL, "arguments": NONE, "examples": NULL,
                "issues": NONE, "issue_count": 0, "error": text,
            ),
            Refusal::Runtime(summary) => members!(map:
                "schema": RuntimeReport::SCHEMA, "target": summary.target, "config_path": summary.config_path,
                "state_path": summary.state_path, "valid": summary.valid, "errors": summary.errors,
                "runtimes": summary.runtimes, "runtime_count": summary.runtime_count, "counts": summary.counts,
                "issues": summary.issues, "issue_count": summary.issue_count, "top_issue": summary.top_issue,
                "runtime": NULL, "error": text,
            ),
            Refusal::RuntimeStart { runtime_id, runtime, stdout, stderr, survivors } => {
                members!(map:
                    "schema": RuntimeStartReport::SCHEMA, "target": target, "runtime_id": runtime_id,
                    "runtime": runtime, "started": 0, "skipped": 0, "health": NULL,
                    "blockers": reasons, "blocker_details": details, "error": text,
                );
                for (key, log) in [("stdout", stdout), ("stderr", stderr)] {
                    if !log.is_empty() {
                        map.serialize_entry(key, log)?;
                    }
                }
                if !survivors.is_empty() {
                    map.serialize_entry("survivors", survivors)?;
                }
            }
            Refusal::RuntimeStop { runtime_id, runtime, pid, fix, survivors } => {
                members!(map:
                    "schema": RuntimeStopReport::SCHEMA, "target": target, "runtime_id": runtime_id,
                    "runtime": runtime, "stopped": 0,
                );
                if let Some(pid) = pid {
                    map.serialize_entry("pid", pid)?;
                }
                map.serialize_entry("error", &text)?;
                if let Some(fix) = fix {
                    map.serialize_entry("fix", fix)?;
                }
                if !survivors.is_empty() {
                    map.serialize_entry("survivors", survivors)?;
                }
            }
            Refusal::RuntimeRestart { runtime_id, stop, step } => {
                let refused = step.as_deref().map(|refusal| Refused { refusal, ..*self });
                let (stopped, started, runtime) = match step.as_deref() {
                    Some(Refusal::RuntimeStop { runtime, .. }) => (refused, None, runtime.as_ref()),
                    Some(Refusal::RuntimeStart { runtime, .. }) => (None, refused, runtime.as_ref()),
                    Some(_) | None => (None, None, None),
                };
                members!(map: "schema": RuntimeRestartReport::SCHEMA, "target": target, "runtime_id": runtime_id);
                match stop {
                    Some(stop) => map.serialize_entry("stop", stop)?,
                    None => map.serialize_entry("stop", &stopped)?,
                }
                members!(map: "start": started, "runtime": runtime, "error": text);
            }
            _ => members!(map: "target": target, "error": text),
        }
        let Diagnosis { code, labels, help } = self.diagnosis;
        members!(map: "code": code, "labels": labels, "help": help);
        map.end()
    }
}

/// Prints what comes before the error.
pub(crate) fn show_before(error: &Error, page: &mut Page) {
    match error.refusal() {
        Some(Refusal::Run(run)) => {
            for passed in &run.passed_over {
                page.note(&format!("skipped {}: {}", passed.call_id, passed.reasons.join("; ")));
            }
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
        Refusal::Queue { .. } => {
            let is = |code: &str| error.blockers().iter().any(|blocker| blocker.code == code);
            if !is("tool_missing") && !is("secret_argument") {
                page.note("use --include-blocked to queue it anyway; a blocked call cannot be approved");
            }
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
                    brigade::codes::PROCESSES_ALIVE,
                    &format!("cannot end processes: {}", numbers(survivors)),
                );
            }
            if runtime.is_some() && error.blockers().is_empty() {
                page.next(&logs_command(runtime_id));
            }
        }
        Refusal::RuntimeStop { fix, survivors, .. } => {
            if !survivors.is_empty() {
                page.trouble.indented(2, format!("processes: {}", numbers(survivors)));
            }
            if let Some(fix) = fix {
                page.trouble.indented(2, Text::new(Tone::Faint, "help: ").then(Tone::Plain, fix));
            }
        }
        Refusal::RuntimeRestart { step: Some(step), .. } => show_behind(error, step, page),
        _ => {}
    }
}
