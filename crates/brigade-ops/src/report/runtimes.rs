//! Documents about runtimes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_call::{RuntimeHealth, RuntimeIssueRecord, RuntimeStatus};
use brigade_core::Hint;
use brigade_macros::{document, part};
use brigade_policy::{BlockerDetail, Diagnosis, ErrorLine, Fault};
use brigade_runtime::LogStream;
use serde::{Deserialize, Serialize};

use super::RefusalMember;

/// The common part of runtime documents.
#[part]
pub struct RuntimesSummary {
    /// The workspace root.
    pub target: String,
    /// The file of the runtimes.
    pub config_path: String,
    /// The directory of their state.
    pub state_path: String,
    /// Whether the file exists and has no errors.
    pub valid: bool,
    /// Errors in the file.
    pub errors: Vec<ErrorLine>,
    /// The runtimes, including disabled and broken ones.
    pub runtimes: Vec<RuntimeStatus>,
    /// Number of entries.
    pub runtime_count: usize,
    /// Number of `running`, `stopped` and `stale` runtimes.
    pub counts: BTreeMap<String, u64>,
    /// Issues of the file, then of each runtime.
    pub issues: Vec<RuntimeIssueRecord>,
    /// Number of entries.
    pub issue_count: usize,
    /// The first issue with the highest severity.
    pub top_issue: Option<RuntimeIssueRecord>,
}

/// `runtime list`: the runtimes and their state.
#[document("brigade.runtime-list.v1", if self.summary.valid)]
pub struct RuntimeListReport {
    /// The runtimes.
    #[serde(flatten)]
    pub summary: RuntimesSummary,
    /// Where and why the file is wrong, and what to do; absent without errors.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// `runtime status`: the runtimes, their state and health.
#[document("brigade.runtime-status.v1", if self.summary.valid)]
pub struct RuntimeStatusReport {
    /// The runtimes.
    #[serde(flatten)]
    pub summary: RuntimesSummary,
    /// Where and why the file is wrong, and what to do; absent without errors.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// Whether issues fail the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Only an invalid configuration fails it.
    #[default]
    Lenient,
    /// Every issue fails it.
    Strict,
}

/// `runtime doctor`: the issues of runtimes.
#[document("brigade.runtime-health.v1", if self.is_good())]
pub struct RuntimeHealthReport {
    /// The runtimes and their issues.
    #[serde(flatten)]
    pub summary: RuntimesSummary,
    /// Where and why the file is wrong, and what to do; absent without errors.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
    /// Whether issues fail the command; not in the document.
    #[serde(skip)]
    pub strictness: Strictness,
}

impl RuntimeHealthReport {
    fn is_good(&self) -> bool {
        let is_lenient = self.strictness == Strictness::Lenient;
        self.summary.valid && (is_lenient || self.summary.issue_count == 0)
    }
}

/// `runtime show`: one runtime, in the form of a list with one entry.
#[document("brigade.runtime.v1", if self.summary.valid)]
pub struct RuntimeReport {
    /// The list with this runtime.
    #[serde(flatten)]
    pub summary: RuntimesSummary,
    /// Where and why the file is wrong, and what to do; absent without errors.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
    /// The runtime; `null` when no runtime has this id.
    pub runtime: Box<RuntimeStatus>,
    /// The tools of its MCP server in the catalog, by id; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ServerTool>,
    /// Why no runtime was found, with suggestions.
    pub(crate) error: RefusalMember<Option<String>>,
}

/// A tool of an MCP server.
#[part(PartialEq, Eq)]
pub struct ServerTool {
    /// Its id.
    pub tool_id: String,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Its effects.
    pub effects: Vec<String>,
    /// What it does, in the words of its server.
    pub description: Option<String>,
}

/// `runtime start`: the result.
#[document("brigade.runtime-start.v1", if !self.is_late())]
pub struct RuntimeStartReport {
    /// The workspace root.
    pub target: String,
    /// The requested id.
    pub runtime_id: String,
    /// The current runtime; `null` if no runtime has this id.
    pub runtime: Box<RuntimeStatus>,
    /// 1 if the runtime was started, else 0.
    pub started: u8,
    /// 1 if it was already running, else 0.
    pub skipped: u8,
    /// The state after the start: `ready` or `starting`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub state: Option<StartState>,
    /// The requested time to wait for readiness, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_seconds: Option<f64>,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The pid file, if it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_path: Option<String>,
    /// The metadata file, if it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata_path: Option<String>,
    /// The first health check: `ok`, `detail` and `checked_at`; `null` if it was not started.
    pub health: Option<RuntimeHealth>,
    /// Seconds until it was ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_after_seconds: Option<f64>,
    /// Why nothing was done, or why it is not ready yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// All reasons why it may not start.
    pub(crate) blockers: RefusalMember<Vec<String>>,
    /// The same reasons with code, place and fix.
    pub(crate) blocker_details: RefusalMember<Vec<BlockerDetail>>,
    /// Why the runtime was not ready after the requested wait.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub not_ready: Option<ReadinessFailure>,
}

impl RuntimeStartReport {
    /// Whether the caller asked to wait and the runtime is not ready. It continues to start.
    fn is_late(&self) -> bool {
        self.state == Some(StartState::Starting) && self.waited_seconds.is_some()
    }
}

/// Why a runtime was not ready after the requested wait. The runtime is alive, and continues to start.
#[part(PartialEq, Eq)]
#[cfg_attr(feature = "schemas", schemars(rename = "NotReady"))]
pub struct ReadinessFailure {
    /// The error, if the caller asked to wait and the runtime is not ready.
    #[serde(rename = "error")]
    pub message: String,
    /// Code and help of the error.
    #[serde(flatten)]
    pub diagnosis: Diagnosis,
}

impl ReadinessFailure {
    /// Returns the fault for display.
    pub fn fault(&self) -> Fault {
        let Diagnosis { code, help, .. } = &self.diagnosis;
        Fault::new(code.clone(), &self.message).help(help.clone().map(Hint::from))
    }
}

/// The state of a runtime after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StartState {
    /// It is ready.
    Ready,
    /// It runs but is not ready yet.
    Starting,
}

/// `runtime stop`: the result.
#[document("brigade.runtime-stop.v1")]
pub struct RuntimeStopReport {
    /// The workspace root.
    pub target: String,
    /// The requested id.
    pub runtime_id: String,
    /// The current runtime; `null` if no runtime has this id.
    pub runtime: Box<RuntimeStatus>,
    /// 1 if it was stopped, else 0.
    pub stopped: u8,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Number of ended processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Number of killed processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<u32>,
    /// How completely this system can end a process tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Cow<'static, str>>,
    /// Why nothing was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `runtime restart`: the result.
#[document("brigade.runtime-restart.v1", if self.start.as_ref().is_none_or(|start| !start.is_late()))]
pub struct RuntimeRestartReport {
    /// The workspace root.
    pub target: String,
    /// The requested id.
    pub runtime_id: String,
    /// The result of the stop; `null` if it was not tried, because the start would have been refused.
    pub stop: Option<RuntimeStopReport>,
    /// The result of the start; `null` if the stop failed.
    pub start: Option<RuntimeStartReport>,
    /// The current runtime; `null` if no runtime has this id.
    pub runtime: Box<RuntimeStatus>,
    /// Why the runtime was not ready after the requested wait.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub not_ready: Option<ReadinessFailure>,
}

/// `runtime logs`: the last lines of a log.
#[document("brigade.runtime-logs.v1")]
pub struct RuntimeLogsReport {
    /// The workspace root.
    pub target: String,
    /// The runtime.
    pub runtime_id: String,
    /// The stream.
    pub stream: LogStream,
    /// The log.
    pub log_path: String,
    /// The last lines, without secrets.
    pub lines: Vec<String>,
    /// Number of entries.
    pub line_count: usize,
    /// Whether the log has earlier lines.
    pub has_earlier: bool,
    /// The other log.
    pub other_stream: LogStream,
    /// Whether the other log has lines.
    pub other_has_lines: bool,
}
