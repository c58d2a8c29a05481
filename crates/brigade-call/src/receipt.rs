//! The receipt of a run: what ran, who approved it, and the result.

mod install;
mod mcp;
mod observed;
mod review;
mod runtime;
mod statement;
mod status;
mod summary;

use std::collections::BTreeMap;

use brigade_catalog::{Effect, Family};
use brigade_core::json::{exact, pretty_text};
use brigade_core::{
    CallId, CheckpointId, Fingerprint, Json, Number, Object, RecordedWord, RunId, StoredFingerprint,
    Timestamp, open_words,
};
use brigade_macros::record;
use brigade_policy::{CallKind, PolicyDecision, Reads, SandboxMode};
use brigade_projection::ProjectionSummary;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use install::InstallRun;
pub use mcp::{ContentBlock, McpPinState, McpRequestId, McpResponse};
pub use observed::{
    DeniedUse, ObservedAddress, ObservedCounts, ObservedDenial, ObservedFile, ObservedState, RunObserved,
    SocketUse,
};
pub use review::RunReview;
pub use runtime::{LogWriter, RuntimeHealth, RuntimeIssueRecord, RuntimeMetadata, RuntimeStatus};
pub use statement::{Statement, Subject};
pub use status::RunStatus;
pub use summary::RunSummary;

use crate::binding::{Binding, Caller};
use crate::call::{Approval, Call, Claim, Runner};
use crate::checkpoint::{Checkpoint, CheckpointChoice};
use crate::contract::ContractLabels;
use crate::judged::Judgement;
use crate::session::CallSession;
use crate::status::CallStatus;

/// The schema id of receipts.
const SCHEMA: &str = "brigade.receipt.v1";

/// A receipt as stored in its file.
///
/// Keeps the whole document, including members of other versions and programs. Paths are relative to the workspace;
/// reports show absolute paths.
#[record(PartialEq)]
#[non_exhaustive]
pub struct Receipt {
    /// The kind of run: `attempt` for a worker's attempt at a task, `install` for an installation; absent for the run
    /// of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The task of an attempt. Its `call_id` has the same value, although no call has this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<String>,
    /// The schema id of receipts; absent in those of 0.30.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The run.
    pub id: RunId,
    /// The call.
    pub call_id: CallId,
    /// How the run ended.
    pub status: RunStatus,
    /// The tool.
    #[serde(default)]
    pub tool_id: String,
    /// Its family.
    #[serde(default)]
    pub family: RecordedWord<Family>,
    /// The result of an installation; absent for runs of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<InstallRun>,
    /// The caller that requested the call; absent in older receipts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub caller: Option<Caller>,
    /// The session in which the agent requested the call, and the profiles that decided there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<CallSession>,
    /// A judge's answer about the call, if a judge was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judgement>,
    /// When the run started.
    #[serde(default, deserialize_with = "exact")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, deserialize_with = "exact")]
    pub completed_at: Option<Timestamp>,
    /// How long it took.
    pub duration_seconds: Option<Number>,
    /// Seconds from the beginning of the last comparison with the approval until the program was executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_gap_seconds: Option<Number>,
    /// The exit code; negative for a signal, absent when it was ended at its timeout or its end was not seen.
    pub exit_code: Option<i64>,
    /// Whether the timeout ended it.
    #[serde(default)]
    pub timed_out: bool,
    /// The timeout in seconds.
    pub timeout: Option<Number>,
    /// The command of the tool, without arguments.
    pub command_label: Option<String>,
    /// The words that the program was started with, without secrets.
    #[serde(default)]
    pub argv: Vec<String>,
    /// The directory that it was started in.
    pub cwd: Option<String>,
    /// The arguments as given, without secrets.
    #[serde(default)]
    pub args: Json,
    /// The rendered arguments, without secrets.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
    /// Why it failed, if not by its exit code.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub failure: Option<String>,
    /// What was ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
    /// The end of standard output, without secrets.
    #[serde(default)]
    pub stdout_summary: String,
    /// The end of standard error, without secrets.
    #[serde(default)]
    pub stderr_summary: String,
    /// The log of standard output.
    pub stdout_log_path: Option<String>,
    /// The log of standard error.
    pub stderr_log_path: Option<String>,
    /// The receipt's own file.
    pub receipt_path: Option<String>,
    /// The output, and how much of it is in the logs.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub output: Option<RunOutput>,
    /// The process tree.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub process: Option<RunProcess>,
    /// How the run was confined.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub sandbox: Option<SandboxUsed>,
    /// The files and addresses that the run used, as the kernel reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<RunObserved>,
    /// The binding that was verified when the run started.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub binding: Option<Binding>,
    /// The contract's fingerprint.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub contract_fingerprint: Option<StoredFingerprint>,
    /// The source's fingerprint.
    pub source_fingerprint: Option<String>,
    /// The fingerprint of the request.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub call_fingerprint: Option<StoredFingerprint>,
    /// The fingerprint of the approval.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub approval_fingerprint: Option<StoredFingerprint>,
    /// The person's decision.
    pub approval: Option<RunReview>,
    /// Labels of what the tool needs.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// Labels of what it does.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// The runtime that it depends on.
    pub runtime_id: Option<String>,
    /// The MCP server.
    pub mcp_server_id: Option<String>,
    /// The tool's name at that server.
    pub mcp_tool_name: Option<String>,
    /// Scheme, host and port of a remote MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_origin: Option<String>,
    /// How a remote MCP server was reached: `http` or `sse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_transport: Option<String>,
    /// The state of the runtime when the run started.
    pub runtime: Option<RuntimeStatus>,
    /// What the policy decided.
    pub policy: Option<PolicyDecision>,
    /// The labels of the variables that the program got.
    #[serde(default)]
    pub env_labels_used: Vec<String>,
    /// The state of the tool's projections.
    pub projection_summary: Option<ProjectionSummary>,
    /// How much the summaries leave out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_compaction: Option<OutputCompaction>,
    /// The first checkpoint that the run created, or the one that it resumed after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<CheckpointId>,
    /// All checkpoints that the run left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_ids: Option<Vec<CheckpointId>>,
    /// The first checkpoint that the run left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Box<Checkpoint>>,
    /// The checkpoint that the run resumed after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_checkpoint_id: Option<CheckpointId>,
    /// The call that was resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_call_id: Option<CallId>,
    /// The run that left the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_run_id: Option<RunId>,
    /// This run, when it resumed after a checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_run_id: Option<RunId>,
    /// The answer that it continued with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<CheckpointChoice>,
    /// The runner process that was found gone, if the end of the run was not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner: Option<Runner>,
    /// `false` until the next writer records the receipt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<bool>,
    /// `builtin`, if Brigade itself did what was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// The version of Brigade that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor_version: Option<String>,
    /// The files that it read or changed, with their sha256 before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touched: Option<Vec<TouchedFile>>,
    /// The code of the result, if the request failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// The revision of the protocol that an MCP server spoke.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_protocol_version: Option<String>,
    /// Name and version of the server, as it gave them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<Object>,
    /// The start of the server that was kept for several calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_start_id: Option<String>,
    /// How the server ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_server_exit: Option<String>,
    /// The id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_request_id: Option<McpRequestId>,
    /// The request, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_request_payload: Option<Object>,
    /// How many responses came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_response_count: Option<u64>,
    /// The response, shortened and without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_response_summary: Option<McpResponse>,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_response_text: Option<String>,
    /// The error that the server answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_response_error: Option<Object>,
    /// Whether the tool reported that it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_is_error: Option<bool>,
    /// The blocks of the answer, described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_content: Option<Vec<ContentBlock>>,
    /// How many blocks there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_content_count: Option<u64>,
    /// The structured answer.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    #[cfg_attr(feature = "schemas", schemars(schema_with = "brigade_core::json::any_value"))]
    pub mcp_structured_content: Json,
    /// `mcp_execution_failed`, if the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_error_type: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_error_kind: Option<String>,
    /// Lines that the server wrote to its log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_log_lines: Option<u64>,
    /// How many tools the server lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_listed_tools: Option<u64>,
    /// Seconds until the server answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_answer_seconds: Option<Number>,
    /// The pin of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_pin: Option<McpPinState>,
    /// How the tool differs from its pin, in sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_pin_changes: Option<Vec<String>>,
}

impl Receipt {
    /// The kind of the receipt of an attempt.
    pub const ATTEMPT: &'static str = "attempt";

    /// Returns the caller that requested the call. Older receipts name none; their calls came from the command line.
    pub fn caller(&self) -> &Caller {
        self.caller.as_ref().unwrap_or(&Caller::CommandLine)
    }

    /// Returns whether it is the receipt of a worker's attempt, and not of a call.
    pub fn is_attempt(&self) -> bool {
        self.kind.as_deref() == Some(Receipt::ATTEMPT)
    }

    /// Returns the receipt of a run with all members that it repeats from its call and the contract.
    pub fn of_call(call: &Call, contract: &ContractLabels, run: &RunId, status: RunStatus) -> Receipt {
        Receipt {
            tool_id: call.tool_id.clone(),
            family: call.family.clone(),
            session: call.session.clone(),
            judge: call.judge.clone(),
            approval_fingerprint: call.stored_approval(),
            approval: Some(RunReview::from_call(call)),
            permissions: contract.permissions.clone(),
            effects: contract.effects.iter().map(|effect| Effect::from_word(effect)).collect(),
            kind: (call.kind() != CallKind::Run).then(|| call.kind().as_str().to_owned()),
            install: (call.kind() == CallKind::Install).then(InstallRun::default),
            runtime_id: contract.runtime_id.clone(),
            mcp_server_id: contract.mcp_server_id.clone(),
            mcp_tool_name: contract.mcp_tool_name.clone(),
            mcp_origin: contract.mcp_origin.clone(),
            mcp_transport: contract.mcp_transport.clone(),
            ..Receipt::new(run.clone(), call.id.clone(), status)
        }
    }
}

impl Call {
    /// Returns the call during the run, as far as its receipt has it.
    pub fn of_receipt(receipt: &Receipt) -> Call {
        let fingerprint = receipt.approval_fingerprint.as_ref().and_then(StoredFingerprint::full);
        let review = receipt.approval.clone().unwrap_or_default();
        let approval = receipt.binding.clone().zip(fingerprint).map(|(binding, fingerprint)| Approval {
            binding,
            by: review.approver(),
            fingerprint,
            hosts: Vec::new(),
        });
        let kind = match receipt.is_installation() {
            true => CallKind::Install,
            false => CallKind::of_tool(&receipt.tool_id),
        };
        Call {
            id: receipt.call_id.clone(),
            status: CallStatus::Running,
            created_at: receipt.started_at,
            reviewed_at: review.reviewed_at,
            review_reason: review.review_reason,
            withdrawn: false,
            caller: receipt.caller().clone(),
            session: receipt.session.clone(),
            judge: receipt.judge.clone(),
            tool_id: receipt.tool_id.clone(),
            stated_kind: Some(kind),
            family: receipt.family.clone(),
            command: receipt.command_label.clone(),
            args: receipt.args.clone(),
            arguments: receipt.arguments.clone(),
            contract: ContractLabels::of_receipt(receipt),
            blockers: Vec::new(),
            policy: receipt.policy.clone(),
            projection_summary: receipt.projection_summary.clone(),
            contract_fingerprint: receipt.contract_fingerprint.as_ref().map(StoredFingerprint::to_string),
            source_fingerprint: receipt.source_fingerprint.clone(),
            call_fingerprint: receipt.call_fingerprint.as_ref().map(StoredFingerprint::to_string),
            planned_binding: None,
            planned_pin: None,
            planned_code: None,
            planned_program: None,
            approvals: None,
            approval,
            claim: Some(Claim { run_id: receipt.id.clone(), runner: receipt.runner.clone() }),
            started_at: receipt.started_at,
            completed_at: None,
            receipt: None,
            exit_code: None,
            timed_out: None,
            checkpoint_ids: Vec::new(),
            replay: None,
            resume_checkpoint_id: None,
            extra: Object::new(),
        }
    }
}

impl ContractLabels {
    /// Returns the labels that a receipt repeats from the contract.
    fn of_receipt(receipt: &Receipt) -> ContractLabels {
        ContractLabels {
            cwd: receipt.cwd.clone(),
            effects: receipt.effects.iter().map(|effect| effect.as_str().to_owned()).collect(),
            env_labels: receipt.env_labels_used.clone(),
            mcp_server_id: receipt.mcp_server_id.clone(),
            mcp_tool_name: receipt.mcp_tool_name.clone(),
            mcp_origin: receipt.mcp_origin.clone(),
            mcp_transport: receipt.mcp_transport.clone(),
            permissions: receipt.permissions.clone(),
            requires_runtime: receipt.runtime_id.is_some(),
            runtime_id: receipt.runtime_id.clone(),
            timeout: receipt.timeout.clone(),
            ..ContractLabels::default()
        }
    }
}

/// A file that a built-in tool read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TouchedFile {
    /// The path, relative to the workspace.
    pub path: String,
    /// The sha256 of its bytes before; `null` if the file did not exist.
    pub before: Option<Fingerprint>,
    /// The sha256 of its bytes after; `null` if the file does not exist.
    pub after: Option<Fingerprint>,
}

/// A JSON value that is not a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a receipt: {0}")]
pub struct NotAReceipt(&'static str);

/// The output of a run.
#[record(Default, PartialEq)]
pub struct RunOutput {
    /// Standard output.
    pub stdout: StreamOutput,
    /// Standard error.
    pub stderr: StreamOutput,
}

/// The output of a run on one stream.
#[record(Default, PartialEq)]
pub struct StreamOutput {
    /// Bytes that were written.
    pub bytes: u64,
    /// Bytes over the limit, which were dropped.
    pub dropped: u64,
    /// Bytes of the log.
    pub log_bytes: Option<u64>,
    /// The sha256 of the log.
    pub log_sha256: Option<Fingerprint>,
}

/// The process tree of a run.
#[record(Default, PartialEq)]
pub struct RunProcess {
    /// The process id of the program.
    pub pid: u32,
    /// How completely this system can end the tree.
    pub kill_method: String,
    /// How many processes outlived the program and were ended.
    pub outlived: u32,
    /// How many could not be ended.
    pub survivors: u64,
    /// Whether the run was ended early by a person.
    pub cancelled: bool,
    /// The most memory that a process of the tree held.
    pub peak_memory_bytes: Option<u64>,
}

open_words! {
    /// Whether code could change between its comparison and its execution.
    Race {
        /// It could not.
        None = "none",
        /// It could.
        Possible = "possible",
    }
}

/// How a run was confined; without a sandbox, it has only the mode.
#[record(Default, PartialEq)]
pub struct SandboxUsed {
    /// The mode: `off`, `best-effort` or `enforce`.
    pub mode: RecordedWord<SandboxMode>,
    /// What could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// What could be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
    /// Exceptions that could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny_write: Option<Vec<String>>,
    /// Whether the network was open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Whether sockets of this machine could be connected to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_sockets: Option<bool>,
    /// The version of the kernel's rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landlock_abi: Option<i64>,
    /// `closed`, when only a part of the workspace could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<RecordedWord<Reads>>,
    /// Whether code could change between its comparison and its execution: `none` or `possible`. Only with closed
    /// reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<Race>,
    /// What the kernel enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforced: Option<Vec<String>>,
    /// What the kernel could not enforce.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Vec<String>>,
}

/// How much the summaries of a receipt leave out.
#[record(Default, PartialEq)]
pub struct OutputCompaction {
    /// The program that made the summaries.
    pub reducer_id: String,
    /// The fingerprint of its rules.
    pub rule_hash: String,
    /// How much is left out.
    pub omitted_count: u64,
    /// The same for each stream.
    pub omitted_by_stream: BTreeMap<String, u64>,
    /// The counted unit.
    pub unit: String,
    /// Whether the logs have the whole output.
    pub raw_retrievable: bool,
}

impl Receipt {
    /// Returns the requested arguments; an empty object if the receipt has none.
    pub fn asked_args(&self) -> Json {
        match &self.args {
            Json::Null => Json::Object(Object::new()),
            args => args.clone(),
        }
    }

    /// Creates the receipt of a run.
    ///
    /// ```
    /// use brigade_call::{Receipt, RunStatus};
    ///
    /// let (run, call) = ("run-1".parse()?, "call-1".parse()?);
    /// let mut receipt = Receipt::new(run, call, RunStatus::Completed);
    /// receipt.exit_code = Some(0);
    /// # Ok::<(), brigade_core::InvalidId>(())
    /// ```
    pub fn new(id: RunId, call_id: CallId, status: RunStatus) -> Receipt {
        let required = [("id", id.as_str()), ("call_id", call_id.as_str()), ("status", status.as_str())];
        let members = required.map(|(name, text)| (name.to_owned(), Json::from(text))).into_iter().collect();
        let mut receipt = Receipt::from_members(members).expect("these are all required members");
        receipt.extra.complete();
        receipt.schema = Some(SCHEMA.to_owned());
        receipt
    }

    /// Reads a document.
    ///
    /// # Errors
    /// Fails if it has no texts `id`, `call_id` and `status`.
    pub fn from_json(document: Json) -> Result<Receipt, NotAReceipt> {
        let Json::Object(document) = document else {
            return Err(NotAReceipt("expected an object"));
        };
        for (key, problem) in [
            ("id", "`id` must be a text"),
            ("call_id", "`call_id` must be a text"),
            ("status", "`status` must be a text"),
        ] {
            if document.get(key).and_then(Json::as_str).is_none() {
                return Err(NotAReceipt(problem));
            }
        }
        Receipt::from_members(document).map_err(|_| NotAReceipt("`id` and `call_id` must be ids"))
    }

    /// Returns the bytes of the receipt's file: indented JSON with a final newline.
    pub fn to_bytes(&self) -> Vec<u8> {
        pretty_text(self).expect("a receipt is JSON").into_bytes()
    }

    /// Returns when the run started, in whatever form it is written.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.started_at.or_else(|| self.set_aside("started_at")?.parse().ok())
    }

    /// Returns when the run ended, in whatever form it is written.
    pub fn completed_at(&self) -> Option<Timestamp> {
        self.completed_at.or_else(|| self.set_aside("completed_at")?.parse().ok())
    }

    /// Returns the sort key for newest-first lists: when it started, or else when it ended, or else its id.
    pub fn sort_key(&self) -> String {
        let written = |at: Option<Timestamp>, name: &str| {
            at.map(|at| at.to_string()).or_else(|| self.set_aside(name).map(str::to_owned))
        };
        written(self.started_at, "started_at")
            .or_else(|| written(self.completed_at, "completed_at"))
            .unwrap_or_else(|| self.id.to_string())
    }

    /// Returns a member that is a text, although its type is another one.
    fn set_aside(&self, name: &str) -> Option<&str> {
        self.extra.members().get(name)?.as_str()
    }
}

#[cfg(test)]
mod tests;
