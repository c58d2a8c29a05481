//! What the policy says about calls of a tool, with the place of each rule.

use brigade_access::builtin::{Fact, SCREENSHOT};
use brigade_call::{declare_code, is_open, undeclared_code};
use brigade_catalog::Tool;
use brigade_policy::{CallFacts, Explanation, Failure, PolicyState, Rule, Ruling, SandboxMode, explain};
use brigade_redact::Redactor;
use brigade_workspace::{Config, FactReader, WorkspaceContext, masks};

use crate::report::RulingReport;

/// Explains what the policy says about calls of a tool, without secrets.
///
/// # Errors
/// Returns file errors.
pub fn tool_rulings(
    context: &WorkspaceContext,
    config: &Config,
    tool: &Tool,
) -> Result<(Explanation, Vec<RulingReport>), Failure> {
    let state = &config.policy;
    let is_set = |name: &str| context.environment.is_set(name);
    let mut explanation = explain(state, &CallFacts::from_tool(tool), &is_set);
    if state.policy().is_some() && explanation.decision.sandbox.mode != SandboxMode::Off {
        explanation.open(FactReader::new(context.host(), config).program_paths(tool)?);
    }
    let (root, home) = (context.fs.root(), context.host().home());
    if state.policy().is_some()
        && is_open(&explanation.decision, root, home)
        && let Some(chosen) = FactReader::new(context.host(), config).chosen_code(tool)?
    {
        explanation.choose(state, &undeclared_code(&chosen), &declare_code(&chosen));
    }
    let masks = masks(&context.environment, state);
    let ruling = |ruling: &Ruling| RulingReport {
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
    let rulings = explanation.rulings.iter().map(ruling).chain(reach(state, tool)).collect();
    Ok((explanation, rulings))
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

#[cfg(test)]
mod tests;
