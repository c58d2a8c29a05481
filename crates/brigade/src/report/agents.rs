//! Documents about agents and what they are shown.

use brigade_access::{Action, AgentRow, AgentToolRow, Listing, ListingCosts, OpinionRow, ProfileRow};
use brigade_core::{AgentName, words};
use brigade_macros::{document, part};
use brigade_policy::{RiskLevel, RuleReport};

/// `list --as`.
#[document("brigade.agent-tools.v1")]
pub struct AgentToolsReport {
    /// The workspace root.
    pub target: String,
    /// The agent.
    pub agent: AgentName,
    /// The tools that it is shown, by id.
    pub tools: Vec<AgentToolRow>,
    /// Number of entries.
    pub tool_count: usize,
    /// Why it is shown no tool: the policy is missing or not valid.
    pub policy_problem: Option<String>,
}

/// `agent list`.
#[document("brigade.agents.v1")]
pub struct AgentListReport {
    /// The workspace root.
    pub target: String,
    /// The gateway's file.
    pub gateway_path: String,
    /// Whether the file exists. Without it, there is the agent `local`.
    pub exists: bool,
    /// The agents, in file order.
    pub agents: Vec<AgentRow>,
    /// Number of entries.
    pub agent_count: usize,
}

/// `agent add`, `agent rotate`, `agent remove`.
#[document("brigade.agent.v1")]
pub struct AgentReport {
    /// The workspace root.
    pub target: String,
    /// The gateway's file.
    pub gateway_path: String,
    /// The agent.
    pub agent: AgentName,
    /// What was done.
    pub action: AgentChange,
    /// The new token. It is shown only here; the file holds its sha256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

words! {
    /// What was done with an agent.
    AgentChange {
        /// It was added.
        Added = "added",
        /// It has a new token.
        Rotated = "rotated",
        /// It was removed.
        Removed = "removed",
    }
}

/// `profile list`.
#[document("brigade.profiles.v1")]
pub struct ProfileListReport {
    /// The workspace root.
    pub target: String,
    /// The file of profiles.
    pub profiles_path: String,
    /// The profiles, by slot and name.
    pub profiles: Vec<ProfileRow>,
    /// Number of entries.
    pub profile_count: usize,
}

/// `profile show`.
#[document("brigade.profile.v1")]
pub struct ProfileReport {
    /// The workspace root.
    pub target: String,
    /// The profile.
    #[serde(flatten)]
    pub profile: ProfileRow,
}

/// `profile explain`.
#[document("brigade.profile-explanation.v1")]
pub struct ProfileExplainReport {
    /// The workspace root.
    pub target: String,
    /// The tool.
    pub tool_id: String,
    /// The agent.
    pub agent: AgentName,
    /// Whether the agent sees the tool, and may call it.
    pub visible: bool,
    /// What profiles and entry say about calls: `deny`, `ask` or `allow`.
    pub gate: Action,
    /// The risk.
    pub risk: RiskLevel,
    /// What each profile says, by slot.
    pub opinions: Vec<OpinionRow>,
    /// Why the agent does not see the tool.
    pub reasons: Vec<String>,
}

/// Whether a rule of the policy approves calls of a tool by an agent.
#[part]
pub struct AgentApproval {
    /// The agent.
    pub agent: AgentName,
    /// Whether the agent sees the tool, and may call it.
    pub visible: bool,
    /// What profiles and entry say about calls: `deny`, `ask` or `allow`.
    pub gate: Action,
    /// The risk.
    pub risk: RiskLevel,
    /// The first rule that approves calls of the tool, perhaps only with some arguments.
    pub rule: Option<String>,
    /// The rules, with what is missing for each.
    pub rules: Vec<RuleReport>,
}

/// `cost`.
#[document("brigade.tool-cost.v1")]
pub struct CostReport {
    /// The workspace root.
    pub target: String,
    /// The agent.
    pub agent: AgentName,
    /// How gateway.toml lists tools.
    pub list: Listing,
    /// The costs.
    #[serde(flatten)]
    pub costs: ListingCosts,
}
