//! The runtime of a call, as shown in receipts and reports.

use brigade_core::json::exact;
use brigade_core::{Fingerprint, Severity, Timestamp};
use brigade_macros::record;

/// The state of a runtime.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct RuntimeStatus {
    /// The id.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// Whether it may be started.
    pub enabled: bool,
    /// The command, without secrets.
    pub command: String,
    /// The directory that it starts in.
    pub cwd: Option<String>,
    /// The labels of variables that the policy gives it. Names only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_labels: Vec<String>,
    /// The port that it listens on.
    pub port: Option<u32>,
    /// The process.
    pub pid: Option<u32>,
    /// `running`, `stopped` or `stale`.
    pub state: String,
    /// Whether its process is running.
    pub running: bool,
    /// Whether that process is verified to be the runtime.
    pub managed: bool,
    /// Whether a pid file is left of a process that has ended.
    pub stale_pid: bool,
    /// When it was started.
    #[serde(deserialize_with = "exact")]
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub started_at: Option<Timestamp>,
    /// The pid file.
    pub pid_path: String,
    /// The metadata file.
    pub metadata_path: String,
    /// The log of standard output.
    pub stdout_log_path: Option<String>,
    /// The log of standard error.
    pub stderr_log_path: Option<String>,
    /// The health file, when configured.
    pub health_path: Option<String>,
    /// Whether it is healthy, as far as that is known.
    pub health_ok: Option<bool>,
    /// The reason.
    pub health_detail: Option<String>,
    /// When its health was last checked.
    #[serde(deserialize_with = "exact")]
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub health_checked_at: Option<Timestamp>,
    /// The result of the last check, perhaps of an earlier process.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub last_health: Option<RuntimeHealth>,
    /// The content of the metadata file.
    pub metadata: Option<RuntimeMetadata>,
    /// What is wrong.
    pub issues: Vec<RuntimeIssueRecord>,
    /// How many issues there are.
    pub issue_count: u64,
}

impl RuntimeStatus {
    /// Returns every text that may contain a bound value, to mask it. Ids are not included.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let metadata = self.metadata.iter_mut().flat_map(|metadata| {
            let RuntimeMetadata { command, cwd, pid_path, metadata_path, health_path, health_detail, .. } =
                metadata;
            let logs = [&mut metadata.stdout_log_path, &mut metadata.stderr_log_path];
            [command, cwd, pid_path, metadata_path, health_path, health_detail]
                .into_iter()
                .chain(logs)
                .flatten()
        });
        let issues = self.issues.iter_mut().flat_map(|issue| {
            [Some(&mut issue.detail), issue.file.as_mut(), issue.fix.as_mut()].into_iter().flatten()
        });
        let health = self.last_health.iter_mut().map(|health| &mut health.detail);
        let paths =
            [&mut self.cwd, &mut self.stdout_log_path, &mut self.stderr_log_path, &mut self.health_path];
        let texts = [&mut self.name, &mut self.command, &mut self.pid_path, &mut self.metadata_path];
        let details = self.health_detail.iter_mut();
        texts
            .into_iter()
            .chain(paths.into_iter().flatten())
            .chain(details)
            .chain(&mut self.env_labels)
            .chain(metadata)
            .chain(issues)
            .chain(health)
    }
}

/// What a health check found.
#[record(Default, PartialEq)]
pub struct RuntimeHealth {
    /// Whether it is healthy.
    pub ok: bool,
    /// Why, in a sentence without secrets.
    pub detail: String,
    /// When it was checked.
    #[serde(deserialize_with = "exact")]
    pub checked_at: Option<Timestamp>,
}

/// The metadata file of a runtime.
#[record(Default, PartialEq)]
pub struct RuntimeMetadata {
    /// The version of the file; absent in those of 0.30.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<String>,
    /// The command that was started, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The fingerprint of that command as it was started, if bound values are masked in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_fingerprint: Option<Fingerprint>,
    /// The directory that it was started in, without bound values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The fingerprint of that directory, if bound values are masked in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd_fingerprint: Option<Fingerprint>,
    /// When it was started.
    #[serde(deserialize_with = "exact", skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// When the process started, in the kernel's clock ticks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<u64>,
    /// The boot that the process belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The marker in the environment of all processes of this start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// When the starter itself started, while a process is being created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting: Option<u64>,
    /// The process that writes the logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_writer: Option<LogWriter>,
    /// The pid file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_path: Option<String>,
    /// The metadata file, where another program names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata_path: Option<String>,
    /// The log of standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_log_path: Option<String>,
    /// The log of standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_log_path: Option<String>,
    /// The health file, where another program names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_path: Option<String>,
    /// When it was stopped.
    #[serde(deserialize_with = "exact", skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<Timestamp>,
    /// Why it was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Whether the last check found it healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_ok: Option<bool>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_detail: Option<String>,
    /// When its health was last checked.
    #[serde(deserialize_with = "exact", skip_serializing_if = "Option::is_none")]
    pub health_checked_at: Option<Timestamp>,
}

/// The process that writes the logs of a runtime.
#[record(Default, PartialEq)]
pub struct LogWriter {
    /// The process id.
    pub pid: u32,
    /// When it started, in the kernel's clock ticks.
    pub start_time: u64,
}

/// An issue of a runtime.
#[record(Default, PartialEq)]
pub struct RuntimeIssueRecord {
    /// `warn`, as v0.30 has it for every issue; see `severity`.
    pub status: String,
    /// `tool_` and the type.
    pub name: String,
    /// The runtime.
    pub tool_id: Option<String>,
    /// `runtime`.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub family: Option<String>,
    /// The type.
    pub issue_type: String,
    /// Always absent, because an issue of a runtime has no harness.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub harness: Option<String>,
    /// Always absent.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub projection_target: Option<String>,
    /// Always absent.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub description: Option<String>,
    /// What is wrong, in a sentence without a final stop.
    pub detail: String,
    /// The severity.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub severity: Option<Severity>,
    /// The file in which to fix it.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub file: Option<String>,
    /// The line, from 1.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub line: Option<usize>,
    /// The field of the entry.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub field: Option<String>,
    /// The command that fixes it.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub fix: Option<String>,
    /// The identity of the issue.
    #[cfg_attr(feature = "schemas", schemars(skip_serializing_if = "Option::is_none"))]
    pub fingerprint: Option<Fingerprint>,
}
