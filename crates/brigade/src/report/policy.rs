//! Documents about the policy.

use brigade_core::json::sorted;
use brigade_macros::document;
use brigade_ops::RulingReport;
use brigade_policy::{Diagnosis, ErrorLine, PolicyDecision, PolicyRules};

use super::{AgentApproval, IssueReport};

/// `policy show`.
#[document("brigade.policy.v1", if self.valid)]
pub struct PolicyReport {
    /// The workspace root.
    pub target: String,
    /// The policy file.
    pub policy_path: String,
    /// Whether the policy exists and is valid.
    pub valid: bool,
    /// The problems.
    pub errors: Vec<ErrorLine>,
    /// Parts of the file that have no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ErrorLine>,
    /// The rules; `null` without a valid policy.
    #[serde(serialize_with = "sorted::serialize")]
    pub policy: Option<PolicyRules>,
    /// Where and why the policy is not valid, and what to do.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// `policy doctor`.
#[document("brigade.policy-health.v1", if self.enabled && self.valid)]
pub struct PolicyHealthReport {
    /// The workspace root.
    pub target: String,
    /// The policy file.
    pub policy_path: String,
    /// Whether the policy exists.
    pub enabled: bool,
    /// Whether the policy is valid.
    pub valid: bool,
    /// The problems.
    pub errors: Vec<ErrorLine>,
    /// The rules; `null` without a valid policy.
    #[serde(serialize_with = "sorted::serialize")]
    pub policy: Option<PolicyRules>,
    /// Issues of the policy and of tools under it.
    #[serde(serialize_with = "sorted::serialize")]
    pub issues: Vec<IssueReport>,
    /// Number of entries.
    pub issue_count: usize,
    /// The first issue.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_issue: Option<IssueReport>,
    /// Errors in the catalog.
    pub tool_errors: Vec<ErrorLine>,
    /// Where and why the policy is not valid, and what to do.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// `policy explain`.
#[document("brigade.policy-explanation.v1", if self.errors.is_empty())]
pub struct ExplainReport {
    /// The workspace root.
    pub target: String,
    /// The policy file.
    pub policy_path: String,
    /// The tool.
    pub tool_id: String,
    /// The errors of an invalid policy. Then there are no rulings.
    pub errors: Vec<ErrorLine>,
    /// Parts of the file that have no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ErrorLine>,
    /// Whether the policy allows calls of the tool.
    pub allowed: bool,
    /// The rulings, with their places.
    pub rulings: Vec<RulingReport>,
    /// The policy decision.
    pub policy: PolicyDecision,
    /// Which rule approves calls of the agent that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentApproval>,
    /// Where and why the policy is not valid, and what to do.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}
