//! The receipt of a run.

use std::time::Duration;

use brigade_call::{
    OutputCompaction, RUNS, Receipt, RunObserved, RunOutput, RunProcess, RunStatus, SandboxUsed,
    StreamOutput, VerifiedCall,
};
use brigade_core::text::short;
use brigade_core::{Number, RunId, Timestamp};
use brigade_process::{CapturedBytes, Exit, Outcome};
use brigade_redact::Redactor;

use crate::output::Summary;
use crate::postcondition::PostconditionResult;

/// The paths of a run's files, relative to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPaths {
    /// The receipt.
    pub receipt: String,
    /// The log of standard output.
    pub stdout_log: String,
    /// The log of standard error.
    pub stderr_log: String,
}

impl RunPaths {
    /// Returns the paths of a run's files.
    pub fn new(run_id: &RunId) -> RunPaths {
        RunPaths {
            receipt: format!("{RUNS}/{run_id}.json"),
            stdout_log: format!("{RUNS}/{run_id}.stdout.log"),
            stderr_log: format!("{RUNS}/{run_id}.stderr.log"),
        }
    }
}

/// The parts of a receipt.
pub(crate) struct ReceiptParts<'a> {
    pub(crate) call: &'a VerifiedCall,
    pub(crate) run_id: &'a RunId,
    pub(crate) status: RunStatus,
    pub(crate) started_at: Timestamp,
    pub(crate) completed_at: Timestamp,
    pub(crate) outcome: Option<&'a Outcome>,
    /// How long Brigade itself took, and what it printed, if no program did it.
    pub(crate) builtin: Option<(Duration, CapturedBytes)>,
    /// Why the program failed.
    pub(crate) failure: Option<&'a str>,
    /// What was checked after its end.
    pub(crate) checked: PostconditionResult,
    /// Warnings. A receipt without warnings does not have the member.
    pub(crate) warnings: &'a [String],
    pub(crate) stdout: &'a Summary,
    pub(crate) stderr: &'a Summary,
    pub(crate) paths: &'a RunPaths,
    pub(crate) directory: &'a str,
    pub(crate) sandbox: Option<SandboxUsed>,
    pub(crate) observed: Option<RunObserved>,
    pub(crate) bound_labels: Vec<String>,
    pub(crate) redactor: &'a Redactor,
}

/// Builds a receipt.
pub(crate) fn receipt(parts: ReceiptParts<'_>) -> Receipt {
    let call = parts.call.call();
    let plan = parts.call.plan();
    let binding = parts.call.binding();
    let outcome = parts.outcome;
    let argv = parts.redactor.redact_command(parts.call.argv());
    let duration = outcome
        .map(|outcome| outcome.duration)
        .or(parts.builtin.map(|(duration, _)| duration))
        .unwrap_or_default();
    let (stderr_summary, output) = (stderr_summary(&parts), output(&parts));
    let mut receipt = Receipt::of_call(call, plan.shown_contract(), parts.run_id, parts.status);
    receipt.caller = Some(call.caller.clone());
    receipt.started_at = Some(parts.started_at);
    receipt.completed_at = Some(parts.completed_at);
    receipt.duration_seconds = Some(seconds(duration));
    receipt.check_gap_seconds = outcome.and_then(|outcome| outcome.check_gap).map(exact_seconds);
    receipt.exit_code = exit_code(outcome);
    receipt.timed_out = outcome.is_some_and(Outcome::timed_out);
    receipt.timeout = Some(Number::from(parts.call.decision().effective_timeout.get()));
    receipt.command_label = plan.command().map(str::to_owned);
    receipt.argv = argv.iter().map(|word| word.short(160).as_str().to_owned()).collect();
    receipt.cwd = Some(parts.redactor.redact_str(parts.directory));
    receipt.args = plan.args().clone();
    receipt.arguments = plan.arguments().clone();
    receipt.failure = parts.checked.failure.or(parts.failure.map(str::to_owned));
    receipt.error_code = parts.checked.error_code;
    receipt.touched = parts.checked.touched;
    receipt.install = parts.checked.install.or(receipt.install);
    receipt.warnings = Some(parts.warnings.to_vec()).filter(|warnings| !warnings.is_empty());
    receipt.stdout_summary = parts.stdout.text.clone();
    receipt.stderr_summary = stderr_summary;
    receipt.stdout_log_path = Some(parts.paths.stdout_log.clone());
    receipt.stderr_log_path = Some(parts.paths.stderr_log.clone());
    receipt.receipt_path = Some(parts.paths.receipt.clone());
    receipt.process = outcome.map(process);
    receipt.binding = Some(binding.clone());
    receipt.contract_fingerprint = Some(binding.contract.into());
    receipt.source_fingerprint = Some(binding.source.clone());
    receipt.call_fingerprint = Some(plan.call_fingerprint().into());
    receipt.runtime = parts.call.runtime().cloned();
    receipt.policy = Some(plan.policy().clone());
    receipt.env_labels_used = parts.bound_labels;
    receipt.projection_summary = Some(plan.projection_summary().clone());
    receipt.output_compaction = compaction(parts.stdout, parts.stderr, &output);
    receipt.output = Some(output);
    receipt.sandbox = parts.sandbox;
    receipt.observed = parts.observed;
    if let Some(resume) = parts.call.resume() {
        receipt.resumed_after(&resume.checkpoint, resume.checkpoints());
    }
    receipt
}

/// Returns a length of time in seconds, to the microsecond.
fn exact_seconds(duration: Duration) -> Number {
    Number::from((duration.as_secs_f64() * 1_000_000.0).round() / 1_000_000.0)
}

/// Returns a length of time in seconds, to the millisecond.
fn seconds(duration: Duration) -> Number {
    Number::from((duration.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// Returns the exit code of a run: negative for a signal, `None` if it timed out or is unknown.
pub(crate) fn exit_code(outcome: Option<&Outcome>) -> Option<i64> {
    let outcome = outcome.filter(|outcome| !outcome.timed_out())?;
    match outcome.exit {
        Exit::Code(code) => Some(i64::from(code)),
        Exit::Signal(signal) => Some(-i64::from(signal)),
        Exit::Unknown => None,
    }
}

/// Returns the summary of standard error, or the failure if nothing was printed there.
fn stderr_summary(parts: &ReceiptParts<'_>) -> String {
    match parts.failure {
        Some(failure) if parts.stderr.text.is_empty() => short(failure, 500),
        _ => parts.stderr.text.clone(),
    }
}

/// Returns the output sizes, the dropped parts, and the logs with the sha256 of their files.
fn output(parts: &ReceiptParts<'_>) -> RunOutput {
    let stream = |captured: CapturedBytes, summary: &Summary| StreamOutput {
        bytes: captured.bytes,
        dropped: captured.dropped,
        log_bytes: summary.log.map(|(bytes, _)| bytes),
        log_sha256: summary.log.map(|(_, sha256)| sha256),
        ..StreamOutput::default()
    };
    let captured = |outcome: &Outcome| (outcome.stdout, outcome.stderr);
    let builtin = || parts.builtin.map(|(_, printed)| (printed, CapturedBytes::default()));
    let (stdout, stderr) = parts.outcome.map(captured).or_else(builtin).unwrap_or_default();
    RunOutput {
        stdout: stream(stdout, parts.stdout),
        stderr: stream(stderr, parts.stderr),
        ..RunOutput::default()
    }
}

fn process(outcome: &Outcome) -> RunProcess {
    RunProcess {
        pid: outcome.identity.pid(),
        kill_method: outcome.method.name().to_owned(),
        outlived: outcome.outlived,
        survivors: outcome.survivors.len() as u64,
        cancelled: outcome.cancelled(),
        peak_memory_bytes: Some(outcome.usage.peak_memory),
        ..RunProcess::default()
    }
}

/// Returns how much the summaries omit, in the form of v0.30.
fn compaction(stdout: &Summary, stderr: &Summary, output: &RunOutput) -> Option<OutputCompaction> {
    let omitted = stdout.omitted + stderr.omitted;
    if omitted == 0 {
        return None;
    }
    let is_whole = output.stdout.dropped == 0 && output.stderr.dropped == 0;
    let streams = [("stdout", stdout.omitted), ("stderr", stderr.omitted)];
    let by_stream = streams.into_iter().filter(|(_, omitted)| 0 < *omitted);
    Some(OutputCompaction {
        reducer_id: "brigade.tool-output-summary.v1".to_owned(),
        rule_hash: "012dbb08b3f82a142eb152ce1c7ef1e018183e46e92375d1134421ffaa1a64ac".to_owned(),
        omitted_count: omitted as u64,
        omitted_by_stream: by_stream.map(|(name, omitted)| (name.to_owned(), omitted as u64)).collect(),
        unit: "characters".to_owned(),
        raw_retrievable: is_whole,
        ..OutputCompaction::default()
    })
}
