//! Diagnoses the policy, and tools that it refuses.

use brigade_catalog::{Tool, misspelt_effect};
use brigade_core::{Place, closest};
use brigade_policy::{
    CallFacts, GIT_EFFECT, GitAccess, LocatedValue, PolicyState, SandboxMode, Topic, always_closed,
};

use super::config;
use crate::{ConfigFile, Issue, IssueType, PolicyFacts, Snapshot};

/// `refusals` are those of the tools.
pub(super) fn policy(snapshot: &Snapshot<'_>, tools: &[&Tool], refusals: Vec<Issue>, found: &mut Vec<Issue>) {
    let Some(facts) = &snapshot.policy else { return };
    match facts.state {
        PolicyState::Missing { file } => missing(snapshot, tools, file, found),
        PolicyState::Invalid { .. } | PolicyState::Valid(_) => {}
    }
    for issue in facts.state.issues().iter().filter(|issue| !issue.is_tracked()) {
        let issue = config::entry(IssueType::PolicyConfig, issue);
        found.push(of_policy(issue));
    }
    unknown_tools(snapshot, facts, found);
    closed_places(snapshot, facts, found);
    found.extend(refusals);
    sandbox(snapshot, facts, found);
}

/// Converts an issue to one of the policy as a whole.
fn of_policy(issue: Issue) -> Issue {
    Issue { tool_id: Some("policy".to_owned()), family: Some("policy".to_owned()), ..issue }
}

/// Reports tables `[sandbox.tool.ID]` without a tool of this id.
fn unknown_tools(snapshot: &Snapshot<'_>, facts: &PolicyFacts<'_>, found: &mut Vec<Issue>) {
    let (Some(ConfigFile::Read(catalog)), Some(policy)) = (&snapshot.catalog, facts.state.policy()) else {
        return;
    };
    for (id, rules) in policy.tool_sandbox.iter().filter(|(id, _)| catalog.tool(id).is_none()) {
        let meant = closest(id, catalog.ids())
            .map_or_else(String::new, |meant| format!(" (did you mean `{meant}`?)"));
        let detail = format!("sandbox.tool.{id}: no tool has this id{meant}");
        let issue = Issue::new(IssueType::ConfigWarning, detail).subject(format!("sandbox.tool.{id}"));
        let issue = issue.evidence("no tool").at(rules.place.clone());
        found.push(of_policy(issue));
    }
}

/// Reports sandbox keys that try to open paths that stay closed.
fn closed_places(snapshot: &Snapshot<'_>, facts: &PolicyFacts<'_>, found: &mut Vec<Issue>) {
    let Some(policy) = facts.state.policy() else { return };
    for path in policy.all_sandbox_rules().flat_map(|rules| &rules.write_paths) {
        let Some(name) = always_closed(&path.value) else { continue };
        let detail = format!("write_paths: `{}` opens nothing, because {name} stays closed", path.value);
        let issue = Issue::new(IssueType::PolicyPathClosed, detail).subject(path.value.clone());
        found.push(of_policy(issue.evidence(name).at(path.place.clone())));
    }
    let Some(ConfigFile::Read(catalog)) = &snapshot.catalog else { return };
    let asks = |git: &&LocatedValue<GitAccess>| git.value == GitAccess::Write;
    for (id, rules) in &policy.tool_sandbox {
        let (Some(git), Some(tool)) = (rules.git.as_ref().filter(asks), catalog.tool(id)) else { continue };
        if tool.effects.iter().any(|effect| effect == GIT_EFFECT) {
            continue;
        }
        let detail = format!(
            "sandbox.tool.{id}.git opens nothing, because the tool does not have the effect `{GIT_EFFECT}`"
        );
        let issue = Issue::new(IssueType::PolicyPathClosed, detail).subject(format!("sandbox.tool.{id}.git"));
        found.push(of_policy(issue.evidence(GIT_EFFECT).at(git.place.clone())));
    }
}

/// Reports a missing policy only if a tool could run.
fn missing(snapshot: &Snapshot<'_>, tools: &[&Tool], file: &str, found: &mut Vec<Issue>) {
    let can_run = |tool: &&Tool| {
        let has_command = tool.command.as_ref().is_some_and(|command| !command.is_empty());
        tool.is_executable() && !tool.is_broken && tool.has_contract() && has_command
    };
    if snapshot.catalog.is_none() || tools.iter().any(can_run) {
        let issue =
            Issue::new(IssueType::PolicyMissing, format!("{file} does not exist")).at(Place::file(file));
        found.push(of_policy(issue));
    }
}

/// Reports what a valid policy refuses to a tool that can run.
pub(super) fn refusals(facts: &PolicyFacts<'_>, tool: &Tool, found: &mut Vec<Issue>) {
    if facts.state.policy().is_none() || !tool.is_executable() {
        return;
    }
    for ruling in brigade_policy::refusals(facts.state, &CallFacts::from_tool(tool), facts.environment) {
        let Some(blocker) = ruling.blocker else { continue };
        // A misspelt effect is reported for the entry.
        if ruling.topic == Topic::Effect && misspelt_effect(&ruling.subject).is_some() {
            continue;
        }
        let kind = match blocker.code.as_ref() {
            "policy_denied_effect" => IssueType::PolicyDeniedEffect,
            "policy_approval_mode" => IssueType::PolicyApproval,
            "policy_timeout" => IssueType::PolicyTimeout,
            "policy_runtime" => IssueType::PolicyRuntime,
            "policy_env_unbound" | "policy_env_missing" => IssueType::PolicyMissingEnv,
            // Reported for the tool, with or without a policy.
            "unsafe_env_label" => continue,
            _ => IssueType::PolicyBlocker,
        };
        let issue = Issue::of_tool(kind, tool, "id", blocker.message.as_str());
        let subject = format!("{} {}", ruling.topic.as_str(), tool.masks.shown(&ruling.subject));
        let place = blocker.place.clone();
        found.push(issue.subject(subject).evidence(blocker.code.as_ref()).at(place));
    }
}

fn sandbox(snapshot: &Snapshot<'_>, facts: &PolicyFacts<'_>, found: &mut Vec<Issue>) {
    let Some(gaps) = snapshot.sandbox_gaps.as_ref().filter(|gaps| !gaps.is_empty()) else { return };
    let Some(policy) = facts.state.policy() else { return };
    let rules = policy.all_sandbox_rules();
    // The strictest mode counts, wherever it is configured.
    let strictest = rules
        .filter_map(|rules| rules.mode.as_ref())
        .filter(|mode| mode.value != SandboxMode::Off)
        .max_by_key(|mode| mode.value == SandboxMode::Enforce);
    let Some(mode) = strictest else { return };
    let effect = match mode.value {
        SandboxMode::Enforce => "so calls are refused",
        SandboxMode::BestEffort | SandboxMode::Off => "so calls run with what it can do",
    };
    let detail = format!("this system cannot enforce the sandbox in full, {effect}: {}", gaps.join("; "));
    let issue =
        Issue::new(IssueType::SandboxUnavailable, detail).evidence(gaps.join("; ")).at(mode.place.clone());
    let severity = match mode.value {
        SandboxMode::Enforce => IssueType::SandboxUnavailable.severity(),
        SandboxMode::BestEffort | SandboxMode::Off => brigade_core::Severity::Warning,
    };
    found.push(Issue { severity, ..of_policy(issue) });
}
