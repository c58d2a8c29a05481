//! Operations on the policy.

use std::path::Path;
use std::sync::Arc;

use brigade_access::{ControlTool, control_tool};
use brigade_catalog::starter;
use brigade_core::{ConfigIssue, ErrorCode, NextStep, Severity};
use brigade_ops::{Error, InitReport, OnExisting, RulingReport, invalid_policy, tool_rulings, write_starter};
use brigade_policy::{Diagnosis, ErrorLine, Failure, Policy, PolicyDecision, PolicyState, step_to_correct};
use brigade_workspace::{Config, gather, load, masks};

use crate::agents;
use crate::report::{ExplainReport, PolicyReport, PolicyTestReport, Report as _};
use crate::workspace_inner::{CATALOG, POLICY, WorkspaceInner};

/// Operations on the policy.
#[derive(Clone)]
pub struct Policies {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Policies {
    /// Writes a starter policy.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if a policy exists and may not be replaced. Fails inside a
    /// run.
    pub fn init(&self, existing: OnExisting) -> Result<InitReport, Error> {
        self.inner.require_outside_run()?;
        let starter = (POLICY, starter::POLICY_TOML);
        Ok(write_starter(&self.inner, starter, existing, NextStep::CheckPolicy)?)
    }

    /// Shows the policy.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn show(&self) -> Result<PolicyReport, Error> {
        let state = load::policy(&self.inner);
        Ok(PolicyReport {
            schema: PolicyReport::SCHEMA,
            target: self.inner.target(),
            policy_path: self.inner.absolute(POLICY),
            valid: state.policy().is_some(),
            errors: errors(&state),
            warnings: warnings(&state),
            policy: state.policy().map(Policy::rules),
            diagnosis: diagnosis(&self.inner, &state),
        })
    }

    /// Evaluates the tests of the policy, or of another file that may become the policy.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn test(&self, file: Option<&Path>) -> Result<PolicyTestReport, Error> {
        brigade_ops::test_policy(&self.inner, file)
    }

    /// Explains what the policy allows for a tool, and which line decides; for an agent also which rule approves its
    /// calls, or what is missing for it.
    ///
    /// # Errors
    /// Fails if the tool or the agent does not exist.
    pub fn explain(&self, id: &str, agent: Option<&str>) -> Result<ExplainReport, Error> {
        let config = gather::config(&self.inner)?;
        if let Some(own) = control_tool(id.trim()) {
            return self.explain_control(&config, own, agent);
        }
        let found = load::explained(&self.inner, &config, id, load::named_tool);
        // What an invalid policy says of a tool that does not exist is not known, either.
        let tool = &*found.map_err(|error| invalid_policy(&config).unwrap_or_else(|| error.into()))?;
        let agent = agent.map(|agent| agents::approval(&self.inner, &config, tool, agent)).transpose()?;
        if tool.is_broken {
            let is_of_tool = |issue: &&ConfigIssue| {
                issue.severity == Severity::Error && issue.entry.as_deref() == Some(tool.id.as_str())
            };
            let issues: Vec<ConfigIssue> =
                config.catalog.issues().iter().filter(is_of_tool).cloned().collect();
            return Err(Failure::invalid_config(ErrorCode::ConfigInvalid, CATALOG, &issues).into());
        }
        let state = &config.policy;
        let (explanation, rulings) = tool_rulings(&self.inner, &config, tool)?;
        let masks = masks(&self.inner.env.environment, state);
        Ok(ExplainReport {
            schema: ExplainReport::SCHEMA,
            target: self.inner.target(),
            policy_path: self.inner.absolute(POLICY),
            tool_id: tool.id.as_str().to_owned(),
            errors: if state.is_enabled() { errors(state) } else { Vec::new() },
            warnings: warnings(state),
            allowed: explanation.decision.is_allowed(),
            rulings,
            policy: explanation
                .decision
                .to_document(state, &tool.env_labels)
                .masked(&|text| masks.hide(text)),
            agent,
            diagnosis: if state.is_enabled() { diagnosis(&self.inner, state) } else { None },
        })
    }

    /// Explains a tool of the gateway, about which the policy has no rules.
    fn explain_control(
        &self,
        config: &Config,
        own: &ControlTool,
        agent: Option<&str>,
    ) -> Result<ExplainReport, Error> {
        let state = &config.policy;
        let agent =
            agent.map(|agent| agents::approval_of_control(&self.inner, config, own, agent)).transpose()?;
        let message = "the gateway has it for every agent while there is a valid policy";
        let ruling = RulingReport::allowing("tool", &own.id, message);
        let mut policy = PolicyDecision::default();
        (policy.enabled, policy.allowed) = (state.is_enabled(), state.policy().is_some());
        policy.policy_path = state.file().to_owned();
        Ok(ExplainReport {
            schema: ExplainReport::SCHEMA,
            target: self.inner.target(),
            policy_path: self.inner.absolute(POLICY),
            tool_id: own.id.clone(),
            errors: if state.is_enabled() { errors(state) } else { Vec::new() },
            warnings: warnings(state),
            allowed: state.policy().is_some(),
            rulings: state.policy().map(|_| ruling).into_iter().collect(),
            policy,
            agent,
            diagnosis: if state.is_enabled() { diagnosis(&self.inner, state) } else { None },
        })
    }
}

/// Returns what of the policy has no effect, such as an unknown key.
fn warnings(state: &PolicyState) -> Vec<ErrorLine> {
    let is_warning = |issue: &&ConfigIssue| issue.severity == Severity::Warning;
    state.issues().iter().filter(is_warning).map(ErrorLine::from).collect()
}

/// Returns where an invalid policy is wrong and what to do, or what to do about a missing one.
pub(crate) fn diagnosis(inner: &WorkspaceInner, state: &PolicyState) -> Option<Diagnosis> {
    let errors = errors(state);
    let place = errors.first()?.fault().place.as_ref();
    let step = place.map_or(NextStep::InitPolicy, step_to_correct);
    let diagnosis = load::diagnosis(inner, &errors)?;
    Some(Diagnosis { help: diagnosis.help.or_else(|| Some(inner.words(&step))), ..diagnosis })
}

/// Returns the errors of the policy, including a missing file.
pub(crate) fn errors(state: &PolicyState) -> Vec<ErrorLine> {
    match state {
        PolicyState::Missing { file } => {
            vec![ErrorLine::new(ErrorCode::PolicyMissing, format!("tool execution policy missing: {file}"))]
        }
        PolicyState::Invalid { .. } | PolicyState::Valid(_) => {
            let errors = state.issues().iter().filter(|issue| issue.severity == Severity::Error);
            errors.map(ErrorLine::from).collect()
        }
    }
}
