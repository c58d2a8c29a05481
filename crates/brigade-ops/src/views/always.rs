//! "Always": the narrowest rule of the policy that would have approved a call, as a change of policy.toml.

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_access::{NameStyle, Rights};
use brigade_call::{ApprovedBy, Call};
use brigade_core::{ErrorCode, IdPrefix};
use brigade_fs::{FileMode, RelPath};
use brigade_policy::{PolicyState, PolicyValidity, RuleText, add_rule, literal};
use brigade_projection::unified;
use brigade_workspace::{
    CONFIG_LIMIT, CallRequest, Config, POLICY, Rules, agent_tools, approve, gather, read_agents,
};

use super::daily::Daily;
use crate::calls::plan_again;
use crate::error::{Error, ErrorKind};

/// A rule that a person may add to the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleProposal {
    /// The name of the rule.
    pub name: String,
    /// The change of policy.toml as a unified diff.
    pub diff: String,
    /// The arguments that the rule does not restrict, because they are not text.
    pub unrestricted: Vec<String>,
    /// Why the rule would not cover the call; empty if it would.
    pub missing: Vec<String>,
    before: Vec<u8>,
    after: String,
}

impl Daily {
    /// Proposes the narrowest rule that would cover a call of an agent: its tool, effects, agent and text arguments. A
    /// test beside it says so. Writes nothing.
    ///
    /// # Errors
    /// Fails for a call that no agent asked for, without a valid policy, and on file errors.
    pub fn propose_rule(&self, call: &IdPrefix) -> Result<RuleProposal, Error> {
        let fs = &*self.context.fs;
        let call = self.calls.show(call)?.call;
        let Some(agent) = call.caller.agent() else {
            let message = "rules approve calls of agents only, and no agent asked for this one";
            return Err(Error::new(ErrorKind::Refused, message));
        };
        let before = fs.read(&RelPath::from_static(POLICY), CONFIG_LIMIT)?;
        let policy = PolicyState::parse(POLICY, Some(&before));
        if policy.validity() != PolicyValidity::Valid {
            let message = format!("{POLICY} is invalid, so no rule can be added to it");
            return Err(Error::new(ErrorKind::InvalidConfig, message).coded(ErrorCode::ConfigInvalid));
        }
        let is_taken = |name: &String| policy.auto_approve().iter().any(|rule| rule.name == *name);
        let base = format!("{agent}-{}", call.tool_id);
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(base);
        let (mut arguments, mut unrestricted) = (BTreeMap::new(), Vec::new());
        for (name, value) in call.args.as_object().into_iter().flatten() {
            match value.as_str() {
                Some(text) => drop(arguments.insert(name.clone(), text.to_owned())),
                None => unrestricted.push(name.clone()),
            }
        }
        let rule = RuleText {
            name: name.clone(),
            tools: [literal(&call.tool_id)].into(),
            effects: call.contract.effects.clone(),
            agents: [agent.to_owned()].into(),
            arguments,
            tested: Some(call.tool_id.clone()),
            ..RuleText::default()
        };
        let text = String::from_utf8_lossy(&before);
        let after = add_rule(&text, &rule)
            .map_err(|error| Error::new(ErrorKind::InvalidConfig, format!("{POLICY}: {error}")))?;
        let proposed = PolicyState::parse(POLICY, Some(after.as_bytes()));
        let missing = match proposed.issues().first() {
            Some(issue) if proposed.validity() != PolicyValidity::Valid => vec![issue.to_string()],
            _ => self.missing(&call, agent, &name, proposed)?,
        };
        let diff = unified(POLICY, Some(&before), Some(after.as_bytes()));
        Ok(RuleProposal { name, diff, unrestricted, missing, before, after })
    }

    /// Returns why a policy with the rule would not let it approve the call.
    fn missing(
        &self,
        call: &Call,
        agent: &str,
        name: &str,
        policy: PolicyState,
    ) -> Result<Vec<String>, Error> {
        let context = &*self.context;
        let host = context.host();
        let Ok(agents) = read_agents(&*context.fs, &context.trust) else {
            return Ok(vec!["gateway.toml has an error".to_owned()]);
        };
        let agents = Arc::new(agents);
        let Some(own) = agents.gateway.agents.iter().find(|known| known.name.as_str() == agent).cloned()
        else {
            return Ok(vec![format!("gateway.toml names no agent {agent}")]);
        };
        let catalog = gather::config(context)?.catalog.clone();
        let config = Arc::new(Config::new(&host, catalog, policy));
        let Ok(rights) = Rights::new(&agents.profiles, &own, &[]) else {
            return Ok(vec!["a profile of the agent is missing".to_owned()]);
        };
        let shown = agent_tools(host, config, agents, own, rights, NameStyle::Dotted)?;
        let (_, planned) = plan_again(context, call)?;
        let request = CallRequest {
            plan: &planned.plan,
            agent: Some(agent),
            now: context.now(),
            rules: Rules::All(&|_| 0),
            is_passed: false,
            is_end_unknown: false,
        };
        Ok(match approve(&shown, &context.host(), request) {
            Ok(ApprovedBy::Rule { rule, .. }) if rule == name => Vec::new(),
            Ok(ApprovedBy::Rule { rule, .. }) => vec![format!("the rule {rule} covers it already")],
            Ok(_) => vec!["its calls need no approval".to_owned()],
            Err(missing) if missing.is_empty() => vec!["the agent cannot call the tool".to_owned()],
            // The reasons of the new rule are the last.
            Err(mut missing) => missing.split_off(missing.len() - 1),
        })
    }

    /// Adds a proposed rule to the policy.
    ///
    /// # Errors
    /// Fails inside a run, if the rule would not cover its call, if the policy changed since, and on file errors.
    pub fn add_rule(&self, proposal: &RuleProposal) -> Result<(), Error> {
        let fs = &*self.context.fs;
        self.context.require_outside_run()?;
        if let Some(why) = proposal.missing.first() {
            return Err(Error::new(ErrorKind::Refused, format!("the rule would not cover the call: {why}")));
        }
        let path = RelPath::from_static(POLICY);
        if fs.read(&path, CONFIG_LIMIT)? != proposal.before {
            let message = format!("{POLICY} changed since the rule was shown");
            return Err(Error::new(ErrorKind::Refused, message).coded(ErrorCode::ChangedMeanwhile));
        }
        Ok(fs.write_atomic(&path, proposal.after.as_bytes(), FileMode::KeepOr(0o644))?)
    }
}

#[cfg(test)]
mod tests;
