//! The receipt of a run, key by key.

use std::time::Duration;

use brigade_call::{Checkpoint, Receipt, VerifiedCall};
use brigade_core::text::short;
use brigade_core::{Json, Object, RunId, Timestamp};
use brigade_process::{Exit, Outcome};
use brigade_redact::Redactor;

use crate::output::Summary;

/// The schema id of receipts.
const SCHEMA: &str = "brigade.receipt.v1";

/// The folder of stored checkpoints, relative to the workspace.
const CHECKPOINTS: &str = ".brigade/tools/checkpoints";

/// Where a run's files are, relative to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPaths {
    /// The receipt.
    pub receipt: String,
    /// The log of standard output.
    pub stdout_log: String,
    /// The log of standard error.
    pub stderr_log: String,
}

/// What a receipt is made of.
pub(crate) struct ReceiptParts<'a> {
    pub(crate) call: &'a VerifiedCall,
    pub(crate) run_id: &'a RunId,
    pub(crate) status: &'a str,
    pub(crate) started_at: Timestamp,
    pub(crate) completed_at: Timestamp,
    pub(crate) outcome: Option<&'a Outcome>,
    pub(crate) failure: Option<&'a str>,
    /// What was passed over. A receipt without any does not have the member.
    pub(crate) warnings: &'a [String],
    pub(crate) stdout: &'a Summary,
    pub(crate) stderr: &'a Summary,
    pub(crate) paths: &'a RunPaths,
    pub(crate) directory: &'a str,
    pub(crate) sandbox: Json,
    pub(crate) runtime: Json,
    pub(crate) bound_labels: Vec<String>,
    pub(crate) redactor: &'a Redactor,
    /// What only the receipt of a program that was spoken to has.
    pub(crate) spoken: Option<Object>,
}

/// Puts a receipt together.
pub(crate) fn receipt(parts: &ReceiptParts<'_>) -> Receipt {
    let call = parts.call.call();
    let plan = parts.call.plan();
    let contract = plan.contract();
    let label = |key: &str| contract.get(key).cloned().unwrap_or_default();
    let argv = parts.redactor.redact_argv(parts.call.argv().words());
    let argv: Vec<String> = argv.iter().map(|word| word.short(160).as_str().to_owned()).collect();
    let outcome = parts.outcome;
    let duration = outcome.map_or(Duration::ZERO, |outcome| outcome.duration);
    let mut document = Object::new();
    let mut put = |key: &str, value: Json| drop(document.insert(key.to_owned(), value));
    put("schema", Json::from(SCHEMA));
    put("id", Json::from(parts.run_id.as_str()));
    put("call_id", Json::from(call.id.as_str()));
    put("tool_id", Json::from(call.tool_id.as_str()));
    put("family", Json::from(call.family.as_str()));
    put("caller", Json::from(call.caller.as_record()));
    put("status", Json::from(parts.status));
    put("started_at", Json::from(parts.started_at.to_string()));
    put("completed_at", Json::from(parts.completed_at.to_string()));
    put("duration_seconds", Json::from((duration.as_secs_f64() * 1000.0).round() / 1000.0));
    put("exit_code", Json::from(exit_code(outcome)));
    put("timed_out", Json::from(outcome.is_some_and(Outcome::timed_out)));
    put("timeout", Json::from(parts.call.decision().effective_timeout.get()));
    put("command_label", Json::from(plan.command()));
    put("argv", Json::from(argv));
    put("cwd", Json::from(parts.directory));
    put("args", plan.args().clone());
    put(
        "arguments",
        Json::object(plan.arguments().iter().map(|(name, word)| (name.clone(), Json::from(word.as_str())))),
    );
    put("failure", Json::from(parts.failure));
    if !parts.warnings.is_empty() {
        put("warnings", Json::from(parts.warnings.to_vec()));
    }
    put("stdout_summary", Json::from(parts.stdout.text.as_str()));
    put("stderr_summary", Json::from(stderr_summary(parts)));
    put("stdout_log_path", Json::from(parts.paths.stdout_log.as_str()));
    put("stderr_log_path", Json::from(parts.paths.stderr_log.as_str()));
    put("receipt_path", Json::from(parts.paths.receipt.as_str()));
    put("output", output(parts));
    put("process", process(outcome));
    put("sandbox", parts.sandbox.clone());
    let binding = parts.call.binding();
    put("binding", binding.to_json());
    put("contract_fingerprint", Json::from(binding.contract.to_hex()));
    put("source_fingerprint", Json::from(binding.source.as_str()));
    put("call_fingerprint", Json::from(plan.call_fingerprint().to_hex()));
    let approval = call.approval.as_ref();
    put("approval_fingerprint", Json::from(approval.map(|approval| approval.fingerprint.to_hex())));
    put(
        "approval",
        Json::object([
            ("reviewed_at", Json::from(call.reviewed_at.map(|at| at.to_string()))),
            ("review_reason", Json::from(call.review_reason.clone())),
        ]),
    );
    put("permissions", label("permissions"));
    put("effects", label("effects"));
    put("runtime_id", label("runtime_id"));
    put("mcp_server_id", label("mcp_server_id"));
    put("mcp_tool_name", label("mcp_tool_name"));
    put("runtime", parts.runtime.clone());
    put("policy", plan.policy().clone());
    put("env_labels_used", Json::from(parts.bound_labels.clone()));
    put("projection_summary", plan.projection_summary().clone());
    if let Some(compaction) = compaction(parts.stdout, parts.stderr, outcome) {
        put("output_compaction", compaction);
    }
    if let Some(resume) = parts.call.resume() {
        let checkpoint = &resume.checkpoint;
        put("resumed_checkpoint_id", Json::from(checkpoint.id.as_str()));
        put("checkpoint_id", Json::from(checkpoint.id.as_str()));
        put("original_call_id", Json::from(call.id.as_str()));
        put("original_run_id", Json::from(checkpoint.run_id.as_str()));
        put("resume_run_id", Json::from(parts.run_id.as_str()));
        put(
            "resume",
            Json::object([
                ("checkpoint_id", Json::from(checkpoint.id.as_str())),
                ("selected_choice", Json::from(checkpoint.selected_choice.clone())),
                ("reviewed_at", Json::from(checkpoint.reviewed_at.map(|at| at.to_string()))),
                ("review_reason", Json::from(checkpoint.review_reason.clone())),
                ("choices", resume.checkpoints().map(Checkpoint::to_choice).collect::<Vec<_>>().into()),
            ]),
        );
    }
    document.extend(parts.spoken.clone().unwrap_or_default());
    Receipt::from_json(Json::Object(document)).expect("id, call id and status were just put in")
}

/// Adds the checkpoints that a run left, as they are stored, to its receipt.
pub fn with_checkpoints(receipt: &Receipt, checkpoints: &[Checkpoint]) -> Receipt {
    let mut document = receipt.document().clone();
    if let Some(first) = checkpoints.first() {
        let ids: Vec<&str> = checkpoints.iter().map(|checkpoint| checkpoint.id.as_str()).collect();
        document.insert("checkpoint_id".to_owned(), Json::from(first.id.as_str()));
        let mut shown = first.to_document();
        let path = format!("{CHECKPOINTS}/{}.json", first.id);
        shown.insert("checkpoint_path".to_owned(), Json::from(path));
        document.insert("checkpoint".to_owned(), Json::Object(shown));
        document.insert("checkpoint_ids".to_owned(), Json::from(ids));
    }
    Receipt::from_json(Json::Object(document)).expect("a receipt with more keys is one")
}

/// Returns the exit code of a run; negative for a signal, absent when it timed out or was never seen.
pub(crate) fn exit_code(outcome: Option<&Outcome>) -> Option<i64> {
    let outcome = outcome.filter(|outcome| !outcome.timed_out())?;
    match outcome.exit {
        Exit::Code(code) => Some(i64::from(code)),
        Exit::Signal(signal) => Some(-i64::from(signal)),
        Exit::Unknown => None,
    }
}

/// A run that printed nothing to standard error shows there why it failed.
fn stderr_summary(parts: &ReceiptParts<'_>) -> String {
    match parts.failure {
        Some(failure) if parts.stderr.text.is_empty() => short(failure, 500),
        _ => parts.stderr.text.clone(),
    }
}

/// What was printed, what of it was dropped, and what is in the logs: the sha256 is that of the log's file.
fn output(parts: &ReceiptParts<'_>) -> Json {
    let stream = |captured: brigade_process::Captured, summary: &Summary| {
        Json::object([
            ("bytes", Json::from(captured.bytes)),
            ("dropped", Json::from(captured.dropped)),
            ("log_bytes", Json::from(summary.log.map(|(bytes, _)| bytes))),
            ("log_sha256", Json::from(summary.log.map(|(_, sha256)| sha256.to_hex()))),
        ])
    };
    let captured = |outcome: &Outcome| (outcome.stdout, outcome.stderr);
    let (stdout, stderr) = parts.outcome.map_or_else(Default::default, captured);
    Json::object([("stdout", stream(stdout, parts.stdout)), ("stderr", stream(stderr, parts.stderr))])
}

fn process(outcome: Option<&Outcome>) -> Json {
    let Some(outcome) = outcome else {
        return Json::Null;
    };
    Json::object([
        ("pid", Json::from(outcome.identity.pid())),
        ("kill_method", Json::from(outcome.method.name())),
        ("outlived", Json::from(outcome.outlived)),
        ("survivors", Json::from(outcome.survivors.len())),
        ("cancelled", Json::from(outcome.cancelled())),
        ("peak_memory_bytes", Json::from(outcome.usage.peak_memory)),
    ])
}

/// Says how much the summaries leave out, in the form of the Python program.
fn compaction(stdout: &Summary, stderr: &Summary, outcome: Option<&Outcome>) -> Option<Json> {
    let omitted = stdout.omitted + stderr.omitted;
    if omitted == 0 {
        return None;
    }
    let is_whole = outcome.is_none_or(|outcome| outcome.stdout.dropped == 0 && outcome.stderr.dropped == 0);
    let streams = [("stdout", stdout.omitted), ("stderr", stderr.omitted)];
    let by_stream = streams.into_iter().filter(|(_, omitted)| 0 < *omitted);
    Some(Json::object([
        ("reducer_id", Json::from("brigade.tool-output-summary.v1")),
        ("rule_hash", Json::from("012dbb08b3f82a142eb152ce1c7ef1e018183e46e92375d1134421ffaa1a64ac")),
        ("omitted_count", Json::from(omitted)),
        ("omitted_by_stream", Json::object(by_stream.map(|(name, omitted)| (name, Json::from(omitted))))),
        ("unit", Json::from("characters")),
        ("raw_retrievable", Json::from(is_whole)),
    ]))
}
