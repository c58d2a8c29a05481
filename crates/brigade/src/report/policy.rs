//! Documents about the policy.

use brigade_core::json::sorted;
use brigade_policy::{ErrorLine, PolicyDecision, PolicyRules};
use serde::{Deserialize, Serialize};

use super::{IssueReport, Report, SchemaId};
use crate::exit::Exit;

/// `policy show`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PolicyReport {
    /// The schema id.
    #[serde(deserialize_with = "PolicyReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The policy's file.
    pub policy_path: String,
    /// Whether there is one and it is understood.
    pub valid: bool,
    /// What is wrong with it.
    pub errors: Vec<ErrorLine>,
    /// What it says; `null` when it is missing or not understood.
    #[serde(serialize_with = "sorted::serialize")]
    pub policy: Option<PolicyRules>,
}

impl Report for PolicyReport {
    const SCHEMA: &'static str = "brigade.policy.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// `policy doctor`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PolicyHealthReport {
    /// The schema id.
    #[serde(deserialize_with = "PolicyHealthReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The policy's file.
    pub policy_path: String,
    /// Whether there is one.
    pub enabled: bool,
    /// Whether it is understood.
    pub valid: bool,
    /// What is wrong with it.
    pub errors: Vec<ErrorLine>,
    /// What it says; `null` when it is missing or not understood.
    #[serde(serialize_with = "sorted::serialize")]
    pub policy: Option<PolicyRules>,
    /// The issues of the policy and of the tools under it.
    #[serde(serialize_with = "sorted::serialize")]
    pub issues: Vec<IssueReport>,
    /// How many.
    pub issue_count: usize,
    /// The first of them.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_issue: Option<IssueReport>,
    /// The errors of the catalog.
    pub tool_errors: Vec<ErrorLine>,
}

impl Report for PolicyHealthReport {
    const SCHEMA: &'static str = "brigade.policy-health.v1";

    fn exit(&self) -> Exit {
        if self.enabled && self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// `policy explain`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ExplainReport {
    /// The schema id.
    #[serde(deserialize_with = "ExplainReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The policy's file.
    pub policy_path: String,
    /// The tool.
    pub tool_id: String,
    /// Whether the policy lets it run.
    pub allowed: bool,
    /// What each rule says, and where it stands.
    pub rulings: Vec<RulingReport>,
    /// What the policy decides.
    pub policy: PolicyDecision,
}

impl Report for ExplainReport {
    const SCHEMA: &'static str = "brigade.policy-explanation.v1";
}

/// What one rule says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RulingReport {
    /// What it is about: `family`, `effect`, `environment`, `files`, `network`, `limits` and so on.
    pub topic: String,
    /// What it is about in particular: an effect, a label, a limit.
    pub subject: Option<String>,
    /// Whether it lets the call run.
    pub allowed: bool,
    /// What it says, in one sentence.
    pub message: String,
    /// The file of the rule that decided.
    pub file: Option<String>,
    /// Its line, from 1.
    pub line: Option<usize>,
    /// How to change it.
    pub hint: Option<String>,
}
