//! Documents about agents and what they are shown.

use brigade_access::{Action, AgentRow, AgentToolRow, Listing, ListingCosts, OpinionRow, ProfileRow};
use brigade_core::{AgentName, words};
use brigade_policy::{RiskLevel, RuleReport};
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};

/// `list --as`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentToolsReport {
    /// The schema id.
    #[serde(deserialize_with = "AgentToolsReport::read_schema")]
    pub schema: SchemaId,
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

impl Report for AgentToolsReport {
    const SCHEMA: &'static str = "brigade.agent-tools.v1";
}

/// `agent list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentListReport {
    /// The schema id.
    #[serde(deserialize_with = "AgentListReport::read_schema")]
    pub schema: SchemaId,
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

impl Report for AgentListReport {
    const SCHEMA: &'static str = "brigade.agents.v1";
}

/// `agent add`, `agent rotate`, `agent remove`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentReport {
    /// The schema id.
    #[serde(deserialize_with = "AgentReport::read_schema")]
    pub schema: SchemaId,
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

impl Report for AgentReport {
    const SCHEMA: &'static str = "brigade.agent.v1";
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
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProfileListReport {
    /// The schema id.
    #[serde(deserialize_with = "ProfileListReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The file of profiles.
    pub profiles_path: String,
    /// The profiles, by slot and name.
    pub profiles: Vec<ProfileRow>,
    /// Number of entries.
    pub profile_count: usize,
}

impl Report for ProfileListReport {
    const SCHEMA: &'static str = "brigade.profiles.v1";
}

/// `profile show`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProfileReport {
    /// The schema id.
    #[serde(deserialize_with = "ProfileReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The profile.
    #[serde(flatten)]
    pub profile: ProfileRow,
}

impl Report for ProfileReport {
    const SCHEMA: &'static str = "brigade.profile.v1";
}

/// `profile explain`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProfileExplainReport {
    /// The schema id.
    #[serde(deserialize_with = "ProfileExplainReport::read_schema")]
    pub schema: SchemaId,
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

impl Report for ProfileExplainReport {
    const SCHEMA: &'static str = "brigade.profile-explanation.v1";
}

/// Whether a rule of the policy approves calls of a tool by an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CostReport {
    /// The schema id.
    #[serde(deserialize_with = "CostReport::read_schema")]
    pub schema: SchemaId,
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

impl Report for CostReport {
    const SCHEMA: &'static str = "brigade.tool-cost.v1";
}
