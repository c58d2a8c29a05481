//! Operations on the policy.

use std::sync::Arc;

use brigade_core::Severity;
use brigade_facts::FactReader;
use brigade_policy::{CallFacts, ErrorLine, PolicyState, SandboxMode, explain};

use crate::error::Error;
use crate::gather;
use crate::load;
use crate::report::{ExplainReport, PolicyReport, Report as _, RulingReport};
use crate::room::POLICY;
use crate::room::Room;
use brigade_core::codes;

/// Operations on the policy.
#[derive(Clone)]
pub struct Policies {
    pub(crate) room: Arc<Room>,
}

impl Policies {
    /// Shows the policy.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn show(&self) -> Result<PolicyReport, Error> {
        let state = load::policy(&self.room);
        Ok(PolicyReport {
            schema: PolicyReport::SCHEMA,
            target: self.room.target(),
            policy_path: self.room.absolute(POLICY),
            valid: state.policy().is_some(),
            errors: errors(&state),
            policy: state.shown_rules(),
        })
    }

    /// Explains what the policy allows for a tool, and which line decides.
    ///
    /// # Errors
    /// Fails if the tool does not exist.
    pub fn explain(&self, id: &str) -> Result<ExplainReport, Error> {
        let config = gather::config(&self.room)?;
        let tool = load::tool(&config.catalog, id)?;
        let state = &config.policy;
        let is_set = |name: &str| self.room.env.environment.is_set(name);
        let mut explanation = explain(state, &CallFacts::of(tool), &is_set);
        if state.policy().is_some() && explanation.decision.sandbox.mode != SandboxMode::Off {
            explanation.open(FactReader::new(gather::host(&self.room), &config).program_paths(tool)?);
        }
        let ruling = |ruling: &brigade_policy::Ruling| RulingReport {
            topic: ruling.topic.as_str().to_owned(),
            subject: Some(ruling.subject.clone()).filter(|subject| !subject.is_empty()),
            allowed: ruling.blocker.is_none(),
            message: ruling.reason.clone(),
            file: ruling.place.as_ref().map(|place| place.file.clone()),
            line: ruling.place.as_ref().and_then(|place| place.line),
            hint: ruling.blocker.as_ref().and_then(|blocker| blocker.hint.as_ref()).map(ToString::to_string),
        };
        Ok(ExplainReport {
            schema: ExplainReport::SCHEMA,
            target: self.room.target(),
            policy_path: self.room.absolute(POLICY),
            tool_id: tool.id.as_str().to_owned(),
            errors: if state.is_enabled() { errors(state) } else { Vec::new() },
            allowed: explanation.decision.is_allowed(),
            rulings: explanation.rulings.iter().map(ruling).collect(),
            policy: explanation.decision.to_document(state, &tool.env_labels),
        })
    }
}

/// Returns the errors of the policy, including a missing file.
pub(crate) fn errors(state: &PolicyState) -> Vec<ErrorLine> {
    match state {
        PolicyState::Missing { file } => {
            vec![ErrorLine::new(
                codes::POLICY_MISSING.as_str(),
                format!("tool execution policy missing: {file}"),
            )]
        }
        PolicyState::Invalid { .. } | PolicyState::Valid(_) => {
            let errors = state.issues().iter().filter(|issue| issue.severity == Severity::Error);
            errors.map(ErrorLine::from).collect()
        }
    }
}
