//! Documents for people who look back: pages of the list of calls, and series for charts.

use std::collections::BTreeMap;

use brigade_call::{Call, StoreKind};
use brigade_core::{Report, SchemaId, Timestamp};
use brigade_macros::{document, part};

/// `call list`: the calls, written while they are read.
#[part]
pub struct CallListReport {
    /// The queue's file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// How many calls of each status the queue has, listed or not.
    pub counts: BTreeMap<String, u64>,
    /// The schema id.
    #[serde(deserialize_with = "CallListReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The calls, oldest first.
    pub calls: Vec<Call>,
    /// Why nothing may be listed, such as a tool that is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<String>>,
    /// Why reading stopped early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// On the page, the call to list before for older ones, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<String>,
}

impl Report for CallListReport {
    const SCHEMA: SchemaId = "brigade.call-list.v1";
}

/// What happened in the last days, as numbers for charts.
#[document("brigade.series.v1")]
#[derive(PartialEq)]
pub struct SeriesReport {
    /// The workspace root.
    pub target: String,
    /// The start of the first day.
    pub since: Timestamp,
    /// Now.
    pub until: Timestamp,
    /// The days in UTC, oldest first.
    pub days: Vec<String>,
    /// Number of calls that were asked for in these days.
    pub call_count: u64,
    /// Whether older calls of these days were not read, because there are too many.
    pub more: bool,
    /// Calls of each day by status.
    pub outcomes: Vec<SeriesRow>,
    /// Calls of each day by agent, most calls first.
    pub agents: Vec<SeriesRow>,
    /// Calls of each day by tool, most calls first.
    pub tools: Vec<SeriesRow>,
    /// How long the runs of each tool took, most runs first.
    pub durations: Vec<DurationRow>,
    /// Who or which rule decided.
    pub decisions: Vec<DecisionCount>,
    /// How long calls waited for a decision of a person.
    pub waited: Vec<WaitedRow>,
}

/// A series of a chart.
#[part(Default, PartialEq, Eq)]
pub struct SeriesRow {
    /// The status, agent or tool.
    pub name: String,
    /// The number of calls on each day.
    pub counts: Vec<u64>,
    /// Their sum.
    pub total: u64,
}

/// How long the runs of a tool took.
#[part(Default, PartialEq)]
pub struct DurationRow {
    /// The tool.
    pub tool_id: String,
    /// Number of runs.
    pub runs: u64,
    /// Half of the runs took at most this long.
    pub median_seconds: f64,
    /// 95 % of the runs took at most this long.
    pub p95_seconds: f64,
}

/// How many calls one person or rule decided.
#[part(Default, PartialEq, Eq)]
pub struct DecisionCount {
    /// Who or which rule.
    pub by: String,
    /// Number of approved calls.
    pub approved: u64,
    /// Number of rejected calls.
    pub rejected: u64,
}

/// How many calls waited up to a time.
#[part(PartialEq, Eq)]
pub struct WaitedRow {
    /// The longest wait in seconds; `null` for all longer ones.
    pub up_to_seconds: Option<u64>,
    /// Number of calls.
    pub calls: u64,
}
