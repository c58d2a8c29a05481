//! The agents of the gateway, and what each is shown.

use std::sync::Arc;

use brigade_access::gateway::{EditError, NewAgent, TOKEN_BYTES, add_agent, remove_agent, rotate_token};
use brigade_access::{
    AgentRow, ControlTool, GatewayConfig, NameStyle, OpinionRow, ProfileRow, Rights, SessionProfiles, Token,
    control_tool,
};
use brigade_call::Call;
use brigade_catalog::Tool;
use brigade_core::{AgentName, Fingerprint};
use brigade_ops::{Error, ErrorKind, Setup, agent_config, agent_profiles, find_agent};
use brigade_policy::PolicyValidity;
use brigade_policy::approval::{ApprovalNeed, ToolApproval};
use brigade_workspace::{
    AgentConfig, AgentLook, AgentTools, Config, FactReader, GATEWAY, PROFILES, ToolRequest, ToolVisibility,
    agent_tools, explain_approval, gather, load, masks,
};

use crate::agent_calls::approved_last_hour;
use crate::report::{
    AgentApproval, AgentChange, AgentListReport, AgentReport, AgentToolsReport, CostReport,
    ProfileExplainReport, ProfileListReport, ProfileReport, Report as _,
};
use crate::workflow;
use crate::workspace_inner::{POLICY, WorkspaceInner};

/// The agents of the gateway, and what each is shown.
#[derive(Clone)]
pub struct Agents {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Agents {
    /// Reads gateway.toml. Without the file, there is the agent `local`.
    ///
    /// # Errors
    /// Fails with [`brigade_core::ErrorCode::GatewayConfigInvalid`] and the place of each error of gateway.toml or
    /// profiles.toml.
    pub fn config(&self) -> Result<GatewayConfig, Error> {
        Ok(agent_config(&self.inner)?.gateway)
    }

    /// Reads what an agent is shown: catalog, policy, profiles and gateway.toml once, and the schemas of its tools.
    ///
    /// Overlays are names of profiles that are laid over those of the agent, which only narrows. Nothing else changes
    /// what is visible, and what is visible can be called.
    ///
    /// # Errors
    /// Fails if the agent or profile does not exist, a file has an error, or a file cannot be read.
    pub fn tools(&self, agent: &str, overlays: &[String], names: NameStyle) -> Result<AgentTools, Error> {
        let session = SessionProfiles::default();
        self.tools_with(Arc::new(agent_config(&self.inner)?), agent, &session, overlays, names)
    }

    /// Tells the program of `[notify]` in gateway.toml that a call waits for a person, and waits for its end. Without
    /// one, does nothing.
    ///
    /// # Errors
    /// Returns why it was not started or failed.
    pub fn notify_waiting(&self, call: &Call) -> Result<(), Error> {
        workflow::notify(&self.inner.context, call).map_err(|why| {
            Error::new(ErrorKind::Refused, format!("the command of `[notify]` did not succeed: {why}"))
        })
    }

    /// Reads profiles.toml and gateway.toml.
    ///
    /// # Errors
    /// As [`Agents::config`].
    pub fn read(&self) -> Result<AgentConfig, Error> {
        Ok(agent_config(&self.inner)?)
    }

    /// Reads what an agent is shown in a session, with profiles and agents that were read before.
    ///
    /// # Errors
    /// Fails if the agent or profile does not exist, or a file cannot be read.
    pub fn tools_with(
        &self,
        agents: Arc<AgentConfig>,
        agent: &str,
        session: &SessionProfiles,
        overlays: &[String],
        names: NameStyle,
    ) -> Result<AgentTools, Error> {
        let agent = find_agent(&agents.gateway, agent)?.clone();
        let rights = Rights::of_session(&agents.profiles, &agent, session, overlays)?;
        let config = gather::config(&self.inner)?;
        let host = self.inner.host();
        Ok(agent_tools(host, config, agents, agent, rights, names)?)
    }

    /// Lists what an agent is shown.
    ///
    /// # Errors
    /// As [`Agents::tools`].
    pub fn shown(&self, agent: &str) -> Result<AgentToolsReport, Error> {
        let tools = self.tools(agent, &[], NameStyle::Dotted)?;
        let problem = match tools.config.policy.validity() {
            PolicyValidity::Valid => None,
            PolicyValidity::Missing => Some(format!("{POLICY} does not exist")),
            PolicyValidity::Invalid => Some(format!("{POLICY} is invalid")),
        };
        let rows = tools.rows();
        Ok(AgentToolsReport {
            schema: AgentToolsReport::SCHEMA,
            target: self.inner.target(),
            agent: tools.agent.name.clone(),
            tool_count: rows.len(),
            tools: rows,
            policy_problem: problem,
        })
    }

    /// Computes what listing the tools of an agent costs in each way.
    ///
    /// # Errors
    /// As [`Agents::tools`].
    pub fn cost(&self, agent: &str) -> Result<CostReport, Error> {
        let tools = self.tools(agent, &[], NameStyle::Dotted)?;
        tools.config.catalog.readable()?;
        Ok(CostReport {
            schema: CostReport::SCHEMA,
            target: self.inner.target(),
            agent: tools.agent.name.clone(),
            list: tools.agents.gateway.list,
            costs: tools.costs(),
        })
    }

    /// Lists the agents.
    ///
    /// # Errors
    /// As [`Agents::config`].
    pub fn list(&self) -> Result<AgentListReport, Error> {
        let AgentConfig { profiles, gateway } = agent_config(&self.inner)?;
        let rows = gateway.agents.iter().map(|agent| AgentRow::new(agent, &profiles));
        let agents = rows.collect::<Result<Vec<_>, _>>()?;
        Ok(AgentListReport {
            schema: AgentListReport::SCHEMA,
            target: self.inner.target(),
            gateway_path: self.inner.absolute(GATEWAY),
            exists: gateway.exists,
            agent_count: agents.len(),
            agents,
        })
    }

    /// Adds an agent with a new token, which the report alone shows.
    ///
    /// # Errors
    /// Fails if there is such an agent, or gateway.toml has an error.
    pub fn add(&self, name: &AgentName) -> Result<AgentReport, Error> {
        self.with_token(name, AgentChange::Added, |text, token_sha256| {
            add_agent(text, &NewAgent { token_sha256: Some(token_sha256), ..NewAgent::new(name.clone()) })
        })
    }

    /// Adds an agent without a token, for a program that starts the gateway itself.
    ///
    /// # Errors
    /// As [`Agents::add`].
    pub fn add_local(&self, name: &AgentName) -> Result<AgentReport, Error> {
        self.inner.require_outside_run()?;
        Setup::new(&self.inner).change_agents(|text| add_agent(text, &NewAgent::new(name.clone())))?;
        Ok(self.changed(name, AgentChange::Added, None))
    }

    /// Gives an agent a new token, which the report alone shows. The old one is not valid any more.
    ///
    /// # Errors
    /// Fails if the agent does not exist, or gateway.toml has an error.
    pub fn rotate(&self, name: &AgentName) -> Result<AgentReport, Error> {
        self.with_token(name, AgentChange::Rotated, |text, token_sha256| {
            rotate_token(text.unwrap_or_default(), name, token_sha256)
        })
    }

    /// Removes an agent.
    ///
    /// # Errors
    /// Fails if the agent does not exist, or gateway.toml has an error.
    pub fn remove(&self, name: &AgentName) -> Result<AgentReport, Error> {
        self.inner.require_outside_run()?;
        Setup::new(&self.inner).change_agents(|text| remove_agent(text.unwrap_or_default(), name))?;
        Ok(self.changed(name, AgentChange::Removed, None))
    }

    fn with_token(
        &self,
        name: &AgentName,
        action: AgentChange,
        edit: impl FnOnce(Option<&str>, Fingerprint) -> Result<String, EditError>,
    ) -> Result<AgentReport, Error> {
        self.inner.require_outside_run()?;
        let random = brigade_process::random_bytes::<TOKEN_BYTES>().map_err(|error| {
            Error::new(ErrorKind::Environment, format!("no random numbers: {}", error.kind()))
        })?;
        let token = Token::of_random(random);
        Setup::new(&self.inner).change_agents(|text| edit(text, token.sha256()))?;
        Ok(self.changed(name, action, Some(token)))
    }

    fn changed(&self, name: &AgentName, action: AgentChange, token: Option<Token>) -> AgentReport {
        AgentReport {
            schema: AgentReport::SCHEMA,
            target: self.inner.target(),
            gateway_path: self.inner.absolute(GATEWAY),
            agent: name.clone(),
            action,
            token: token.map(|token| token.expose().to_owned()),
        }
    }

    /// Lists the profiles.
    ///
    /// # Errors
    /// Fails if profiles.toml has an error.
    pub fn profiles(&self) -> Result<ProfileListReport, Error> {
        let profiles = agent_profiles(&self.inner)?;
        let rows: Vec<ProfileRow> = profiles.all().map(|profile| ProfileRow::new(profile)).collect();
        Ok(ProfileListReport {
            schema: ProfileListReport::SCHEMA,
            target: self.inner.target(),
            profiles_path: self.inner.absolute(PROFILES),
            profile_count: rows.len(),
            profiles: rows,
        })
    }

    /// Shows a profile.
    ///
    /// # Errors
    /// Fails if the profile does not exist, or profiles.toml has an error.
    pub fn profile(&self, name: &str) -> Result<ProfileReport, Error> {
        let profile = ProfileRow::new(&*agent_profiles(&self.inner)?.find(name)?);
        Ok(ProfileReport { schema: ProfileReport::SCHEMA, target: self.inner.target(), profile })
    }

    /// Explains whether an agent sees a tool, and what each of its profiles says.
    ///
    /// # Errors
    /// Fails if the tool or agent does not exist, or a file has an error.
    pub fn explain(&self, tool: &str, agent: &str) -> Result<ProfileExplainReport, Error> {
        let config = gather::config(&self.inner)?;
        let agents = agent_config(&self.inner)?;
        let agent = find_agent(&agents.gateway, agent)?;
        let rights = Rights::new(&agents.profiles, agent, &[])?;
        let (tool_id, visibility) = match control_tool(tool.trim()) {
            Some(own) => (own.id.clone(), ToolVisibility::of_control(&config, &rights, own)),
            None => {
                let tool = load::explained(&self.inner, &config, tool, load::any_tool)?;
                (tool.id.to_string(), AgentLook::new(self.inner.host(), &config, agent, &rights).look(&tool))
            }
        };
        let masks = masks(&self.inner.env.environment, &config.policy);
        let (visible, gate) = (visibility.visible.is_ok(), visibility.action());
        let reasons = visibility.visible.err().into_iter().flatten();
        Ok(ProfileExplainReport {
            schema: ProfileExplainReport::SCHEMA,
            target: self.inner.target(),
            tool_id,
            agent: agent.name.clone(),
            visible,
            gate,
            risk: visibility.risk,
            opinions: visibility.opinions.iter().map(OpinionRow::from).collect(),
            reasons: reasons.map(|reason| masks.shown(&reason.to_string())).collect(),
        })
    }
}

/// Returns that calls of a tool of the gateway need no approval.
pub(crate) fn approval_of_control(
    inner: &WorkspaceInner,
    config: &Config,
    own: &ControlTool,
    agent: &str,
) -> Result<AgentApproval, Error> {
    let agents = agent_config(inner)?;
    let agent = find_agent(&agents.gateway, agent)?;
    let visibility = ToolVisibility::of_control(config, &Rights::new(&agents.profiles, agent, &[])?, own);
    Ok(AgentApproval {
        agent: agent.name.clone(),
        visible: visibility.visible.is_ok(),
        gate: visibility.action(),
        risk: visibility.risk,
        rule: Some(ToolApproval::None.to_string()).filter(|_| visibility.need == ApprovalNeed::None),
        rules: Vec::new(),
    })
}

/// Returns what approves calls of a tool by an agent, whatever their arguments.
pub(crate) fn approval(
    inner: &WorkspaceInner,
    config: &Config,
    tool: &Tool,
    agent: &str,
) -> Result<AgentApproval, Error> {
    let agents = agent_config(inner)?;
    let agent = find_agent(&agents.gateway, agent)?;
    let rights = Rights::new(&agents.profiles, agent, &[])?;
    let host = inner.host();
    let visibility = AgentLook::new(host, config, agent, &rights).look(tool);
    let queue = inner.queue();
    let view = queue.read()?;
    let request = ToolRequest {
        tool,
        check: visibility.check,
        reviewed: &visibility.reviewed,
        agent: agent.name.as_str(),
        agents: &agents.gateway.agent_names(),
        now: inner.now(),
        pin_changed: FactReader::new(host, config).pin_changed(tool)?,
        approved_last_hour: &|rule| approved_last_hour(&view, inner.now(), rule),
    };
    let (rule, mut rules) = explain_approval(config, &rights, &request);
    let masks = masks(&inner.env.environment, &config.policy);
    rules.iter_mut().flat_map(|rule| &mut rule.missing).for_each(|missing| masks.hide(missing));
    Ok(AgentApproval {
        agent: agent.name.clone(),
        visible: visibility.visible.is_ok(),
        gate: visibility.action(),
        risk: visibility.risk,
        rule,
        rules,
    })
}

#[cfg(test)]
mod tests;
