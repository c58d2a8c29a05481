//! Documents about runtimes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_call::{RuntimeHealth, RuntimeIssueRecord, RuntimeStatus};
use brigade_policy::{BlockerDetail, ErrorLine};
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId, Unfilled};
use crate::exit::Exit;

/// What every look at the runtimes tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimesSummary {
    /// The workspace.
    pub target: String,
    /// The file of the runtimes.
    pub config_path: String,
    /// The folder of their state.
    pub state_path: String,
    /// Whether the file is there and has no error.
    pub valid: bool,
    /// The errors of the file.
    pub errors: Vec<ErrorLine>,
    /// The runtimes, disabled and broken ones too.
    pub runtimes: Vec<RuntimeStatus>,
    /// How many.
    pub runtime_count: usize,
    /// How many are `running`, `stopped` and `stale`.
    pub counts: BTreeMap<String, u64>,
    /// What is wrong: with the file first, then with each runtime.
    pub issues: Vec<RuntimeIssueRecord>,
    /// How many.
    pub issue_count: usize,
    /// The first of the worst.
    pub top_issue: Option<RuntimeIssueRecord>,
}

impl RuntimesSummary {
    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// `runtime list`: the runtimes and whether they run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeListReport {
    /// The schema id.
    #[serde(deserialize_with = "RuntimeListReport::read_schema")]
    pub schema: SchemaId,
    /// The runtimes.
    #[serde(flatten)]
    pub summary: RuntimesSummary,
}

impl Report for RuntimeListReport {
    const SCHEMA: &'static str = "brigade.runtime-list.v1";

    fn exit(&self) -> Exit {
        self.summary.exit()
    }
}

/// `runtime status`: the runtimes, whether they run and are healthy.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeStatusReport {
    /// The schema id.
    #[serde(deserialize_with = "RuntimeStatusReport::read_schema")]
    pub schema: SchemaId,
    /// The runtimes.
    #[serde(flatten)]
    pub summary: RuntimesSummary,
}

impl Report for RuntimeStatusReport {
    const SCHEMA: &'static str = "brigade.runtime-status.v1";

    fn exit(&self) -> Exit {
        self.summary.exit()
    }
}

/// Whether issues fail a look at the health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Only a broken configuration does.
    #[default]
    Lenient,
    /// Every issue does.
    Strict,
}

/// `runtime doctor`: what is wrong with the runtimes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeHealthReport {
    /// The schema id.
    #[serde(deserialize_with = "RuntimeHealthReport::read_schema")]
    pub schema: SchemaId,
    /// The runtimes and their issues.
    #[serde(flatten)]
    pub summary: RuntimesSummary,
    /// Whether issues fail the command; not part of the document.
    #[serde(skip)]
    pub strictness: Strictness,
}

impl Report for RuntimeHealthReport {
    const SCHEMA: &'static str = "brigade.runtime-health.v1";

    fn exit(&self) -> Exit {
        match self.strictness {
            Strictness::Strict if 0 < self.summary.issue_count => Exit::Refused,
            Strictness::Strict | Strictness::Lenient => self.summary.exit(),
        }
    }
}

/// `runtime show`: one runtime, and what a list tells that has no other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeReport {
    /// The schema id.
    #[serde(deserialize_with = "RuntimeReport::read_schema")]
    pub schema: SchemaId,
    /// The runtime alone.
    #[serde(flatten)]
    pub summary: RuntimesSummary,
    /// The runtime; `null` when there is none of that id.
    pub runtime: Box<RuntimeStatus>,
    /// Why there is no runtime, and what may have been meant.
    pub(crate) error: Unfilled<Option<String>>,
}

impl Report for RuntimeReport {
    const SCHEMA: &'static str = "brigade.runtime.v1";

    fn exit(&self) -> Exit {
        self.summary.exit()
    }
}

/// `runtime start`: what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeStartReport {
    /// The schema id.
    #[serde(deserialize_with = "RuntimeStartReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The id that was asked for.
    pub runtime_id: String,
    /// The runtime as it is now; `null` when there is none of that id.
    pub runtime: Box<RuntimeStatus>,
    /// 1 when it was started, else 0.
    pub started: u8,
    /// 1 when it was running already, else 0.
    pub skipped: u8,
    /// How far it got, when it was started: `ready` or `starting`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub state: Option<StartState>,
    /// How many seconds the caller asked to wait for readiness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_seconds: Option<f64>,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The pid file, when it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_path: Option<String>,
    /// The metadata file, when it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata_path: Option<String>,
    /// What its first health check found: `ok`, `detail` and `checked_at`; `null` when it was not started.
    pub health: Option<RuntimeHealth>,
    /// Seconds until it was ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_after_seconds: Option<f64>,
    /// Why there was nothing to do, or what is missing until it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Every reason why it may not be started.
    pub(crate) blockers: Unfilled<Vec<String>>,
    /// The same with code, place and the way to change them.
    pub(crate) blocker_details: Unfilled<Vec<BlockerDetail>>,
}

impl Report for RuntimeStartReport {
    const SCHEMA: &'static str = "brigade.runtime-start.v1";

    /// Refused when the caller asked to wait and it is not ready; it goes on.
    fn exit(&self) -> Exit {
        match (self.state, self.waited_seconds) {
            (Some(StartState::Starting), Some(_)) => Exit::Refused,
            _ => Exit::Done,
        }
    }
}

/// How far a runtime got while its start looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StartState {
    /// It is ready.
    Ready,
    /// It runs and is not ready yet.
    Starting,
}

/// `runtime stop`: what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeStopReport {
    /// The schema id.
    #[serde(deserialize_with = "RuntimeStopReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The id that was asked for.
    pub runtime_id: String,
    /// The runtime as it is now; `null` when there is none of that id.
    pub runtime: Box<RuntimeStatus>,
    /// 1 when it was stopped, else 0.
    pub stopped: u8,
    /// The process that it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How many processes were ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// How many of them had to be killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<u32>,
    /// How far ending them reaches on this system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Cow<'static, str>>,
    /// Why there was nothing to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Report for RuntimeStopReport {
    const SCHEMA: &'static str = "brigade.runtime-stop.v1";
}

/// `runtime restart`: what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeRestartReport {
    /// The schema id.
    #[serde(deserialize_with = "RuntimeRestartReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The id that was asked for.
    pub runtime_id: String,
    /// What came of the stop; `null` when it was not tried, because the start would have been refused.
    pub stop: Option<RuntimeStopReport>,
    /// What came of the start; `null` when the stop failed.
    pub start: Option<RuntimeStartReport>,
    /// The runtime as it is now; `null` when there is none of that id.
    pub runtime: Box<RuntimeStatus>,
}

impl Report for RuntimeRestartReport {
    const SCHEMA: &'static str = "brigade.runtime-restart.v1";

    fn exit(&self) -> Exit {
        self.start.as_ref().map_or(Exit::Done, Report::exit)
    }
}

/// `runtime logs`: the last lines of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeLogsReport {
    /// The schema id.
    #[serde(deserialize_with = "RuntimeLogsReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The runtime.
    pub runtime_id: String,
    /// Which log: `stdout` or `stderr`.
    pub stream: Cow<'static, str>,
    /// The log.
    pub log_path: String,
    /// The last lines, without secrets.
    pub lines: Vec<String>,
    /// How many.
    pub line_count: usize,
    /// Whether there is more before them.
    pub has_earlier: bool,
    /// The other log.
    pub other_stream: Cow<'static, str>,
    /// Whether the other log has lines.
    pub other_has_lines: bool,
}

impl Report for RuntimeLogsReport {
    const SCHEMA: &'static str = "brigade.runtime-logs.v1";
}
