//! How reports show agents, profiles and their verdicts.

use brigade_catalog::{Family, Tool};
use brigade_core::{AgentName, Place};
use brigade_macros::part;
use brigade_policy::{Gate, RiskLevel};

use crate::control::{ControlTool, FAMILY};
use crate::gateway::{Agent, AgentLimits};
use crate::names::{NameStyle, listed_name};
use crate::profiles::{Action, Profile, Profiles, Rule, UnknownProfile};
use crate::rights::{Opinion, Rights};
use crate::slot::Slot;

/// A tool that an agent sees.
#[part(PartialEq, Eq)]
pub struct AgentToolRow {
    /// The listed name.
    pub name: String,
    /// The id.
    pub id: String,
    /// The family.
    pub family: String,
    /// The effects.
    pub effects: Vec<String>,
    /// The risk.
    pub risk: RiskLevel,
    /// Whether a person approves each call.
    pub gate: Gate,
}

impl AgentToolRow {
    /// Describes a tool that an agent sees under this name.
    pub fn new(name: String, tool: &Tool, risk: RiskLevel, gate: Gate) -> AgentToolRow {
        AgentToolRow {
            name,
            id: tool.id.to_string(),
            family: tool.family.map_or("", Family::as_str).to_owned(),
            effects: tool.effects.clone(),
            risk,
            gate,
        }
    }

    /// Describes a tool of the gateway.
    pub fn of_gateway(tool: &ControlTool, names: NameStyle) -> AgentToolRow {
        AgentToolRow {
            name: listed_name(&tool.id, names),
            id: tool.id.clone(),
            family: FAMILY.to_owned(),
            effects: tool.effects().to_vec(),
            risk: RiskLevel::Low,
            gate: Gate::Allow,
        }
    }
}

/// An agent of gateway.toml.
#[part(PartialEq, Eq)]
pub struct AgentRow {
    /// Its name.
    pub name: AgentName,
    /// Whether it has a token.
    pub has_token: bool,
    /// Its profiles, by slot.
    pub profiles: Vec<String>,
    /// What may approve its calls, apart from people and rules: `none` or `elicitation`.
    pub confirm: String,
    /// The highest risk that `confirm` approves.
    pub confirm_risk: RiskLevel,
    /// Its limits.
    pub limits: AgentLimits,
    /// The line of its entry; `null` without a file.
    pub line: Option<usize>,
}

impl AgentRow {
    /// Describes an agent.
    ///
    /// # Errors
    /// Fails if one of its profiles does not exist.
    pub fn new(agent: &Agent, profiles: &Profiles) -> Result<AgentRow, UnknownProfile> {
        let rights = Rights::new(profiles, agent, &[])?;
        Ok(AgentRow {
            name: agent.name.clone(),
            has_token: agent.token_sha256.is_some(),
            profiles: rights.profiles().iter().map(|profile| profile.name.to_string()).collect(),
            confirm: agent.confirm.as_str().to_owned(),
            confirm_risk: agent.confirm_risk,
            limits: agent.limits,
            line: agent.place.line,
        })
    }
}

/// A profile.
#[part(PartialEq, Eq)]
pub struct ProfileRow {
    /// Its name.
    pub name: String,
    /// Its slot.
    pub slot: Slot,
    /// Whether it is part of Brigade.
    pub shipped: bool,
    /// Whether it is the default of its slot.
    pub default: bool,
    /// What it shows; `null` for everything.
    pub show: Option<Vec<String>>,
    /// What it hides.
    pub hide: Vec<String>,
    /// What it says about calls. The first rule that matches decides.
    pub rules: Vec<RuleRow>,
    /// Its file.
    pub file: String,
    /// The line of its entry.
    pub line: Option<usize>,
}

/// A rule of a profile.
#[part(PartialEq, Eq)]
pub struct RuleRow {
    /// The tools that it decides about.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// What it decides.
    pub action: Action,
    /// The limits of calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constrain: Option<ConstrainRow>,
    /// Its line.
    pub line: Option<usize>,
}

/// The limits of a rule.
#[part(Default, PartialEq, Eq)]
pub struct ConstrainRow {
    /// Directories or patterns of paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// First words of commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<String>>,
    /// Effects that commands may have in addition to reading the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<String>>,
    /// Patterns of host names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domains: Option<Vec<String>>,
    /// The largest text that is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Calls in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_minute: Option<u64>,
}

impl ProfileRow {
    /// Describes a profile.
    pub fn new(profile: &Profile) -> ProfileRow {
        let texts = |list: &[brigade_policy::LocatedValue<crate::matcher::Matcher>]| {
            list.iter().map(|matcher| matcher.value.to_string()).collect::<Vec<String>>()
        };
        let rule = |rule: &Rule| RuleRow {
            matches: texts(&rule.matches),
            action: rule.action,
            constrain: rule.constrain.clone().map(|limits| ConstrainRow {
                paths: limits.paths,
                commands: limits.commands,
                effects: limits.effects,
                domains: limits.domains,
                max_bytes: limits.max_bytes,
                calls_per_minute: limits.calls_per_minute,
            }),
            line: rule.place.line,
        };
        let slot = profile.name.slot();
        ProfileRow {
            name: profile.name.to_string(),
            slot,
            shipped: profile.is_shipped,
            default: slot.default_profile() == profile.name.as_str(),
            show: profile.show.as_deref().map(texts),
            hide: texts(&profile.hide),
            rules: profile.rules.iter().map(rule).collect(),
            file: profile.place.file.clone(),
            line: profile.place.line,
        }
    }
}

/// What one profile says about a tool.
#[part(PartialEq, Eq)]
pub struct OpinionRow {
    /// The slot.
    pub slot: Slot,
    /// The profile.
    pub profile: String,
    /// Whether it shows the tool.
    pub shows: bool,
    /// What it says about calls.
    pub action: Action,
    /// The reason.
    pub reason: String,
    /// Limits of the rule that do not apply to the tool, such as `constrain.paths`. Catalog entries do not say which
    /// arguments are paths, URLs or contents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_held: Vec<String>,
    /// The file of the rule that decides.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<usize>,
}

impl From<&Opinion> for OpinionRow {
    fn from(opinion: &Opinion) -> OpinionRow {
        let place: Option<&Place> = opinion.place.as_ref();
        OpinionRow {
            slot: opinion.profile.slot(),
            profile: opinion.profile.to_string(),
            shows: opinion.shows,
            action: opinion.action,
            reason: opinion.reason.to_owned(),
            not_held: opinion.not_held.iter().map(|limit| (*limit).to_owned()).collect(),
            file: place.map(|place| place.file.clone()),
            line: place.and_then(|place| place.line),
        }
    }
}
