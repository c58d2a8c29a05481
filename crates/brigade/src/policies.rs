//! Operations on the policy.

use std::path::Path;
use std::sync::Arc;

use brigade_access::builtin::{Fact, SCREENSHOT};
use brigade_access::{ControlTool, control_tool};
use brigade_call::{declare_code, is_open, undeclared_code};
use brigade_catalog::{Tool, starter};
use brigade_core::{ConfigIssue, NextStep, Severity, codes};
use brigade_ops::{Error, InitReport, OnExisting, invalid_policy, write_starter};
use brigade_policy::{
    CallFacts, Diagnosis, ErrorLine, Failure, Policy, PolicyDecision, PolicyState, Rule, SandboxMode,
    explain, step_to_correct,
};
use brigade_redact::Redactor;
use brigade_workspace::{Config, FactReader, gather, load, masks};

use crate::agents;
use crate::report::{ExplainReport, PolicyReport, PolicyTestReport, Report as _, RulingReport};
use crate::workspace_inner::{CATALOG, POLICY, WorkspaceInner};

/// Operations on the policy.
#[derive(Clone)]
pub struct Policies {
    pub(crate) room: Arc<WorkspaceInner>,
}

impl Policies {
    /// Writes a starter policy.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if a policy exists and may not be replaced. Fails inside a
    /// run.
    pub fn init(&self, existing: OnExisting) -> Result<InitReport, Error> {
        self.room.require_outside_run()?;
        let starter = (POLICY, starter::POLICY_TOML);
        Ok(write_starter(&self.room, starter, existing, NextStep::CheckPolicy)?)
    }

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
            warnings: warnings(&state),
            policy: state.policy().map(Policy::rules),
            diagnosis: diagnosis(&self.room, &state),
        })
    }

    /// Evaluates the tests of the policy, or of another file that may become the policy.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn test(&self, file: Option<&Path>) -> Result<PolicyTestReport, Error> {
        brigade_ops::test_policy(&self.room, file)
    }

    /// Explains what the policy allows for a tool, and which line decides; for an agent also which rule approves its
    /// calls, or what is missing for it.
    ///
    /// # Errors
    /// Fails if the tool or the agent does not exist.
    pub fn explain(&self, id: &str, agent: Option<&str>) -> Result<ExplainReport, Error> {
        let config = gather::config(&self.room)?;
        if let Some(own) = control_tool(id.trim()) {
            return self.explain_control(&config, own, agent);
        }
        let found = load::explained(&self.room, &config, id, load::named_tool);
        // What an invalid policy says of a tool that does not exist is not known, either.
        let tool = &*found.map_err(|error| invalid_policy(&config).unwrap_or_else(|| error.into()))?;
        let agent = agent.map(|agent| agents::approval(&self.room, &config, tool, agent)).transpose()?;
        if tool.is_broken {
            let is_of_tool = |issue: &&ConfigIssue| {
                issue.severity == Severity::Error && issue.entry.as_deref() == Some(tool.id.as_str())
            };
            let issues: Vec<ConfigIssue> =
                config.catalog.issues().iter().filter(is_of_tool).cloned().collect();
            return Err(Failure::invalid_config(codes::CONFIG_INVALID, CATALOG, &issues).into());
        }
        let state = &config.policy;
        let is_set = |name: &str| self.room.env.environment.is_set(name);
        let mut explanation = explain(state, &CallFacts::from_tool(tool), &is_set);
        if state.policy().is_some() && explanation.decision.sandbox.mode != SandboxMode::Off {
            explanation.open(FactReader::new(self.room.host(), &config).program_paths(tool)?);
        }
        let (root, home) = (self.room.fs.root(), self.room.host().home());
        if state.policy().is_some()
            && is_open(&explanation.decision, root, home)
            && let Some(chosen) = FactReader::new(self.room.host(), &config).chosen_code(tool)?
        {
            explanation.choose(state, &undeclared_code(&chosen), &declare_code(&chosen));
        }
        let masks = masks(&self.room.env.environment, state);
        let ruling = |ruling: &brigade_policy::Ruling| RulingReport {
            topic: ruling.topic.as_str().to_owned(),
            subject: Some(masks.shown(&ruling.subject)).filter(|subject| !subject.is_empty()),
            allowed: ruling.blocker.is_none(),
            message: masks.shown(&ruling.reason),
            file: ruling.place.as_ref().map(|place| place.file.clone()),
            line: ruling.place.as_ref().and_then(|place| place.line),
            hint: ruling
                .blocker
                .as_ref()
                .and_then(|blocker| blocker.hint.as_ref())
                .map(|hint| masks.shown(&hint.to_string())),
        };
        Ok(ExplainReport {
            schema: ExplainReport::SCHEMA,
            target: self.room.target(),
            policy_path: self.room.absolute(POLICY),
            tool_id: tool.id.as_str().to_owned(),
            errors: if state.is_enabled() { errors(state) } else { Vec::new() },
            warnings: warnings(state),
            allowed: explanation.decision.is_allowed(),
            rulings: explanation.rulings.iter().map(ruling).chain(reach(state, tool)).collect(),
            policy: explanation
                .decision
                .to_document(state, &tool.env_labels)
                .masked(&|text| masks.hide(text)),
            agent,
            diagnosis: if state.is_enabled() { diagnosis(&self.room, state) } else { None },
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
            agent.map(|agent| agents::approval_of_control(&self.room, config, own, agent)).transpose()?;
        let ruling = RulingReport {
            topic: "tool".to_owned(),
            subject: Some(own.id.clone()),
            allowed: true,
            message: "the gateway has it for every agent while there is a valid policy".to_owned(),
            file: None,
            line: None,
            hint: None,
        };
        let mut policy = PolicyDecision::default();
        (policy.enabled, policy.allowed) = (state.is_enabled(), state.policy().is_some());
        policy.policy_path = state.file().to_owned();
        Ok(ExplainReport {
            schema: ExplainReport::SCHEMA,
            target: self.room.target(),
            policy_path: self.room.absolute(POLICY),
            tool_id: own.id.clone(),
            errors: if state.is_enabled() { errors(state) } else { Vec::new() },
            warnings: warnings(state),
            allowed: state.policy().is_some(),
            rulings: state.policy().map(|_| ruling).into_iter().collect(),
            policy,
            agent,
            diagnosis: if state.is_enabled() { diagnosis(&self.room, state) } else { None },
        })
    }
}

/// Returns what a built-in tool may reach or start by the policy: hosts, repositories, or a program.
fn reach(state: &PolicyState, tool: &Tool) -> Option<RulingReport> {
    let policy = state.policy().filter(|_| tool.is_built_in())?;
    let list = |topic: &str, rule: &Rule<String>, what: &str, fact: Option<Fact>| {
        let named: Vec<&str> = rule.values().map(String::as_str).collect();
        let message = match named.as_slice() {
            [] => format!("no {what} is named, so none is reached"),
            named => format!("{what} that may be reached: {}", named.join(", ")),
        };
        let place = rule.place.as_ref();
        RulingReport {
            topic: topic.to_owned(),
            subject: None,
            allowed: !named.is_empty(),
            message,
            file: place.map(|place| place.file.clone()),
            line: place.and_then(|place| place.line),
            hint: fact.filter(|_| named.is_empty()).map(|fact| fact.remedy().to_owned()),
        }
    };
    Some(match tool.id.as_str() {
        "web.fetch" => list("web_domains", &policy.web_domains, "host", Some(Fact::WebDomains)),
        "git.clone" | "git.refresh" | "git.push" => list("git_urls", &policy.git_urls, "repository", None),
        SCREENSHOT => {
            let place = policy.capture.as_ref().map(|program| &program.place);
            let program = policy.capture.as_ref().map(|program| program.value.to_string());
            RulingReport {
                topic: "program".to_owned(),
                subject: None,
                allowed: program.is_some(),
                message: match &program {
                    Some(program) => {
                        format!("`{}` captures the screen", Redactor::new(&[]).redact_str(program))
                    }
                    None => "no program is named that captures the screen".to_owned(),
                },
                file: place.map(|place| place.file.clone()),
                line: place.and_then(|place| place.line),
                hint: program.is_none().then(|| Fact::Screenshot.remedy().to_owned()),
            }
        }
        _ => return None,
    })
}

/// Returns what of the policy has no effect, such as an unknown key.
fn warnings(state: &PolicyState) -> Vec<ErrorLine> {
    let is_warning = |issue: &&ConfigIssue| issue.severity == Severity::Warning;
    state.issues().iter().filter(is_warning).map(ErrorLine::from).collect()
}

/// Returns where an invalid policy is wrong and what to do, or what to do about a missing one.
pub(crate) fn diagnosis(room: &WorkspaceInner, state: &PolicyState) -> Option<Diagnosis> {
    let errors = errors(state);
    let place = errors.first()?.fault().place.as_ref();
    let step = place.map_or(NextStep::InitPolicy, step_to_correct);
    let diagnosis = load::diagnosis(room, &errors)?;
    Some(Diagnosis { help: diagnosis.help.or_else(|| Some(room.words(&step))), ..diagnosis })
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
