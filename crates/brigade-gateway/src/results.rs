//! The structured results of the gateway's own tools. Their schemas are in `control/tools.json` and in the definitions
//! of the session tools.

use std::collections::BTreeMap;

use brigade::Call;
use brigade::profile::ToolRow;
use brigade::store::memory::StoredCore;
use serde::Serialize;
use serde_json::Value;

/// `tools.list`
#[derive(Debug, Serialize)]
pub(crate) struct ToolsResult {
    pub(crate) tools: Vec<ToolRow>,
    pub(crate) total: usize,
    pub(crate) offset: u64,
    pub(crate) limit: u64,
}

/// `call.status`, and a row of `call.list`
#[derive(Debug, Serialize)]
pub(crate) struct CallRow {
    call_id: String,
    tool: String,
    status: String,
    reason: Option<String>,
    run_id: Option<String>,
    created_at: Option<String>,
}

impl CallRow {
    pub(crate) fn from_call(call: &Call) -> CallRow {
        CallRow {
            call_id: call.id.to_string(),
            tool: call.tool_id.clone(),
            status: call.status.as_str().to_owned(),
            reason: call.review_reason.clone(),
            run_id: call.claim.as_ref().map(|claim| claim.run_id.to_string()),
            created_at: call.created_at.map(|at| at.to_string()),
        }
    }
}

/// `call.list`
#[derive(Debug, Serialize)]
pub(crate) struct CallsResult {
    pub(crate) calls: Vec<CallRow>,
    pub(crate) offset: u64,
    pub(crate) limit: u64,
}

/// `call.cancel`
#[derive(Debug, Serialize)]
pub(crate) struct CancelResult {
    pub(crate) call_id: String,
    pub(crate) cancelled: bool,
    /// Why the call was not cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// `call.wait` after its timeout
#[derive(Debug, Serialize)]
pub(crate) struct WaitResult {
    pub(crate) call_id: String,
    pub(crate) tool: String,
    pub(crate) status: String,
    pub(crate) timed_out: bool,
}

/// `output.read`
#[derive(Debug, Serialize)]
pub(crate) struct OutputResult {
    pub(crate) content: String,
    pub(crate) offset: u64,
    pub(crate) total_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<usize>,
}

/// A used amount: a whole number, or seconds
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum UsedAmount {
    Count(u64),
    Seconds(f64),
}

/// The usage and limit of an agent in the longest limited window
#[derive(Debug, Serialize)]
pub(crate) struct Spending {
    pub(crate) used: UsedAmount,
    pub(crate) limit: Option<u64>,
    pub(crate) resets_at: Option<String>,
    pub(crate) window_seconds: u64,
}

/// A limit of an agent
#[derive(Debug, Serialize)]
pub(crate) struct LimitRow {
    pub(crate) what: &'static str,
    pub(crate) window_seconds: u64,
    pub(crate) used: u64,
    pub(crate) limit: u64,
    pub(crate) resets_at: Option<String>,
    pub(crate) resets_in_seconds: u64,
}

/// `budget.status`
#[derive(Debug, Serialize)]
pub(crate) struct BudgetResult {
    pub(crate) calls: Spending,
    pub(crate) seconds: Spending,
    pub(crate) output: Spending,
    pub(crate) limits: Vec<LimitRow>,
}

/// `session.init`
#[derive(Debug, Serialize)]
pub(crate) struct SessionResult<'a> {
    pub(crate) mode: &'a str,
    pub(crate) permission: &'a str,
    pub(crate) access: &'a str,
    pub(crate) role: &'a str,
    pub(crate) system_prompt: &'a str,
    pub(crate) available_tools: Vec<&'a str>,
    pub(crate) gates: BTreeMap<&'a str, &'static str>,
    pub(crate) profiles: Vec<&'a str>,
    /// The core memory of an agent that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) core_memory: Option<&'a StoredCore>,
    pub(crate) version: &'static str,
}

/// `session.mode`
#[derive(Debug, Serialize)]
pub(crate) struct ModeResult<'a> {
    pub(crate) action: &'static str,
    pub(crate) target_mode: &'a str,
    pub(crate) reason: &'a str,
    /// The call that a person is asked to approve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) call_id: Option<String>,
}

/// Serializes a result.
pub(crate) fn value(result: &impl Serialize) -> Value {
    serde_json::to_value(result).expect("plain members are JSON")
}
