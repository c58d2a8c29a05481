//! Documents of the views of every day.

use std::collections::BTreeMap;

use brigade_core::{Hint, Json, Timestamp};
use brigade_macros::{document, part};

use super::WaitingKind;

/// `pending`: what waits for a person.
#[document("brigade.pending.v1")]
#[derive(PartialEq)]
pub struct PendingReport {
    /// The workspace root.
    pub target: String,
    /// Number of things that wait; equal requests count each.
    pub waiting_count: usize,
    /// One row for each decision, by number.
    pub rows: Vec<PendingRow>,
}

/// Something that waits for a person.
#[part(PartialEq)]
pub struct PendingRow {
    /// The number that commands accept.
    pub number: u64,
    /// The kind.
    pub kind: WaitingKind,
    /// The ids; several for equal requests, oldest first.
    pub ids: Vec<String>,
    /// The shortest unique form of the first id.
    pub short_id: String,
    /// The agent, `you` for the command line, or what else asks.
    pub who: String,
    /// The tool of a call; otherwise the kind.
    pub subject: String,
    /// The arguments in one line, or the question.
    pub text: String,
    /// The arguments of a call, without secrets.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "brigade_core::json::any_value"))]
    pub args: Json,
    /// The effects of the tool.
    pub effects: Vec<String>,
    /// Whether a person put it on hold.
    pub held: bool,
    /// The reason of a held call.
    pub reason: Option<String>,
    /// Number of reasons why the call could not be approved when it was queued.
    pub blocker_count: usize,
    /// The possible answers; empty if the answer is free text.
    pub choices: Vec<String>,
    /// When it was asked.
    pub created_at: Option<Timestamp>,
    /// The command that shows or answers it.
    pub next: Hint,
}

/// `log`: what ran, newest last.
#[document("brigade.history.v1")]
#[derive(PartialEq)]
pub struct HistoryReport {
    /// The workspace root.
    pub target: String,
    /// The runs, oldest first.
    pub runs: Vec<HistoryRow>,
    /// Number of entries.
    pub run_count: usize,
    /// Whether older runs were not read, because of a limit.
    pub more: bool,
    /// The sums of `--stat`; `null` without it.
    pub statistics: Option<HistoryStatistics>,
    /// What limits the list, as sentences.
    pub notes: Vec<String>,
}

/// A run.
#[part(PartialEq)]
pub struct HistoryRow {
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// The run.
    pub run_id: String,
    /// Its call.
    pub call_id: String,
    /// The shortest unique form of the call's id.
    pub short_id: String,
    /// The agent, or `you` for the command line.
    pub who: String,
    /// The tool.
    pub tool_id: String,
    /// `run`, `read` or `install`.
    pub kind: String,
    /// The arguments in one line.
    pub text: String,
    /// The arguments, without secrets.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "brigade_core::json::any_value"))]
    pub args: Json,
    /// Who or which rule approved.
    pub approved_by: String,
    /// How it ended.
    pub status: String,
    /// Why it failed, in one line.
    pub failure: Option<String>,
    /// How long it took.
    pub duration_seconds: Option<f64>,
}

/// The sums of a history.
#[part(Default, PartialEq)]
pub struct HistoryStatistics {
    /// Number of runs.
    pub runs: u64,
    /// Number that did not complete.
    pub failed: u64,
    /// How long all took.
    pub seconds: f64,
    /// The start of the first period of `activity`.
    pub since: Option<Timestamp>,
    /// The end of the last period.
    pub until: Option<Timestamp>,
    /// The sums by tool, most runs first.
    pub tools: Vec<StatisticsRow>,
    /// The sums by agent, most runs first.
    pub agents: Vec<StatisticsRow>,
    /// Number by who or which rule approved.
    pub approved_by: BTreeMap<String, u64>,
}

/// The sums of one tool or agent.
#[part(Default, PartialEq)]
pub struct StatisticsRow {
    /// The tool or agent.
    pub name: String,
    /// Number of runs.
    pub runs: u64,
    /// Number that did not complete.
    pub failed: u64,
    /// How long all took.
    pub seconds: f64,
    /// Number of runs in equal periods from `since` to `until`, oldest first.
    pub activity: Vec<u64>,
}

/// `why`: the life of a call in order.
#[document("brigade.why.v1")]
#[derive(PartialEq)]
pub struct LifeReport {
    /// The workspace root.
    pub target: String,
    /// The call.
    pub call_id: String,
    /// The shortest unique form of its id.
    pub short_id: String,
    /// Its tool.
    pub tool_id: String,
    /// Its status.
    pub status: String,
    /// What happened, oldest first.
    pub events: Vec<LifeEvent>,
    /// What would happen if it were run or approved now, as sentences.
    pub now: Vec<String>,
    /// The next command, or `null`.
    pub next: Option<Hint>,
}

/// Something that happened to a call.
#[part(PartialEq)]
pub struct LifeEvent {
    /// When; `null` if no record says it.
    pub at: Option<Timestamp>,
    /// What: `asked`, `planned`, `judged`, `approved`, `bound`, `rejected`, `held`, `started`, `ended`, `checkpoint`.
    pub kind: String,
    /// The event in one sentence.
    pub text: String,
    /// More about it, one line each.
    pub details: Vec<String>,
}
