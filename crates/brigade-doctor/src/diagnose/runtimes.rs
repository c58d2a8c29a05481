//! Diagnoses runtimes, and tools that need one.

use std::path::Path;

use brigade_catalog::{Family, Runtime, Runtimes, Tool};
use brigade_cmdline::argv::Argv;
use brigade_core::{NextStep, Place};

use super::{config, files};
use crate::{
    ConfigFile, FoundRuntimes, Issue, IssueType, RuntimeFacts, RuntimeIssue, RuntimeState, Snapshot,
};

/// The file of the runtimes.
const RUNTIMES: &str = ".brigade/tools/runtimes.toml";

/// The field with the command that checks a runtime.
const HEALTH: &str = "health_command";

pub(super) fn runtimes(snapshot: &Snapshot<'_>, tools: &[&Tool], found: &mut Vec<Issue>) {
    let Some(facts) = &snapshot.runtimes else { return };
    let users: Vec<(&Tool, &str)> = tools.iter().filter_map(|tool| Some((*tool, needed(tool)?))).collect();
    let read = match &facts.config {
        ConfigFile::Missing { file } => {
            // A workspace without runtimes is healthy unless a tool needs one.
            if snapshot.catalog.is_none() || !users.is_empty() {
                found.push(of_file(config::missing(IssueType::RuntimeConfig, file, NextStep::InitRuntimes)));
            }
            None
        }
        ConfigFile::Unreadable { file, why } => {
            found.push(of_file(config::unreadable(IssueType::RuntimeConfig, file, why)));
            None
        }
        ConfigFile::Read(read) => Some(*read),
    };
    let of_the_user = read.map(Runtimes::user_issues).unwrap_or_default();
    for issue in read.map(Runtimes::issues).unwrap_or_default().iter().chain(of_the_user) {
        let issue = of_file(config::entry(IssueType::RuntimeConfig, issue));
        // The catalog of the user may be unsafe, too.
        let is_unsafe = issue.kind == IssueType::UserCatalogUnsafe;
        found.push(if is_unsafe { issue.subject("runtimes.toml") } else { issue });
    }
    let enabled = read.map(Runtimes::runtimes).unwrap_or_default().iter().filter(|runtime| runtime.enabled);
    for runtime in enabled.filter(|runtime| !runtime.is_broken) {
        one(runtime, facts.get(runtime.id.as_str()), snapshot.home, found);
    }
    for id in facts.left {
        let detail = "it is running, but runtimes.toml has no entry for it".to_owned();
        let issue = Issue::new(IssueType::RuntimeLeft, detail).at(Place::file(RUNTIMES)).object(id.as_str());
        found.push(Issue { tool_id: Some(id.clone()), ..of_file(issue) });
    }
    for (tool, id) in users {
        let runtime = read.and_then(|read| read.runtime(id)).filter(|runtime| runtime.enabled);
        found.extend(of_user(tool, id, runtime, facts));
    }
}

fn of_file(issue: Issue) -> Issue {
    Issue { family: Some("runtime".to_owned()), ..issue }
}

/// Returns the runtime that calls of a tool require.
fn needed(tool: &Tool) -> Option<&str> {
    let needs = tool.requires_runtime || tool.family == Some(Family::Mcp);
    tool.runtime_id.as_deref().filter(|id| needs && !id.is_empty() && !tool.is_broken)
}

fn one(runtime: &Runtime, state: Option<&RuntimeFacts>, home: Option<&Path>, found: &mut Vec<Issue>) {
    let mut say = |kind: IssueType, field: &str, detail: String, evidence: String| {
        // Several paths and commands of one runtime can have the same problem.
        let many = matches!(kind, IssueType::PathOutside | IssueType::RuntimeSecretInCommand);
        let is_second = field == HEALTH && kind != IssueType::RuntimeHealthFailed;
        let subject = if many || is_second { field } else { "" };
        let issue = Issue::new(kind, detail).subject(subject).evidence(evidence).at(runtime.place_of(field));
        found.push(Issue { tool_id: Some(runtime.id.as_str().to_owned()), ..of_file(issue) });
    };
    for field in runtime.secret_commands() {
        let detail = format!("{field} holds what looks like a secret; it is not shown");
        say(IssueType::RuntimeSecretInCommand, field, detail, field.to_owned());
    }
    let health = runtime.health_command.as_deref().filter(|text| !text.trim().is_empty());
    for (field, text) in [("command", Some(runtime.command.as_str())), (HEALTH, health)] {
        let Some(text) = text else { continue };
        match Argv::parse(text) {
            Ok(argv) => {
                let risks = files::Risks::of_complete(&argv);
                if let Some((detail, codes)) = risks.high {
                    say(IssueType::RuntimeHighRiskCommand, field, format!("{field}: {detail}"), codes);
                } else if let Some(detail) = risks.code {
                    // The gate takes the policy into account.
                    let refusal = state.iter().flat_map(|state| &state.issues).find(|issue| {
                        issue.issue_type == IssueType::RuntimeHighRiskCommand && issue.field == Some(field)
                    });
                    match refusal {
                        Some(refusal) => {
                            let code = "inline-code".to_owned();
                            say(IssueType::RuntimeHighRiskCommand, field, refusal.detail.clone(), code);
                        }
                        None => {
                            say(IssueType::InlineCode, field, format!("{field}: {detail}"), String::new())
                        }
                    }
                }
            }
            Err(error) => {
                let detail = format!("{field} cannot be split into words: {error}");
                say(IssueType::RuntimeBadCommand, field, detail, "unparsable".to_owned());
            }
        }
    }
    for issue in state.map(|state| state.issues.as_slice()).unwrap_or_default() {
        let RuntimeIssue { issue_type, field, detail, .. } = issue;
        let (field, detail) = (field.unwrap_or_default(), detail.clone());
        let text = match field {
            "command" => Some(runtime.command.as_str()),
            HEALTH => health,
            _ => None,
        };
        match (issue_type, text.and_then(|text| Argv::parse(text).ok())) {
            (IssueType::RuntimeBadCommand, Some(argv)) => {
                let detail = files::not_found(argv.program(), home);
                say(IssueType::RuntimeBadCommand, field, detail, "not found".to_owned());
            }
            (IssueType::RuntimeMissingCwd, _) => {
                say(
                    IssueType::RuntimeMissingCwd,
                    "cwd",
                    "cwd is not a directory".to_owned(),
                    "missing".to_owned(),
                );
            }
            (IssueType::RuntimeOutsidePath, _) => {
                let detail = format!("{field} leads out of the workspace");
                match field {
                    "cwd" => say(IssueType::RuntimeMissingCwd, "cwd", detail, "outside".to_owned()),
                    field => say(IssueType::PathOutside, field, detail, field.to_owned()),
                }
            }
            (IssueType::RuntimeStalePid, _) => {
                let detail = "the metadata names a process that is gone".to_owned();
                say(IssueType::RuntimeStalePid, "pid_path", detail, String::new());
            }
            // The length of a log changes all the time, so it is not evidence.
            (kind @ (IssueType::RuntimeLogTooLong | IssueType::RuntimeLogWriterGone), _) => {
                say(*kind, "log_path", detail, String::new());
            }
            (IssueType::RuntimeEnvMissing, _) => {
                say(IssueType::RuntimeEnvMissing, "env_labels", detail.clone(), detail);
            }
            (IssueType::RuntimeOutdated, _) => {
                say(IssueType::RuntimeOutdated, "command", detail, String::new())
            }
            (IssueType::RuntimePortConflict, _) => {
                let port = runtime.port.map(|port| port.to_string()).unwrap_or_default();
                say(
                    IssueType::RuntimePortConflict,
                    "port",
                    format!("port {port} is taken by another program"),
                    port,
                );
            }
            (IssueType::RuntimeHealthFailed, _) => {
                say(
                    IssueType::RuntimeHealthFailed,
                    "health_command",
                    format!("not healthy: {detail}"),
                    String::new(),
                );
            }
            // The entry itself has issues for these, and tools report when calls are refused.
            (_, _) => {}
        }
    }
}

impl FoundRuntimes<'_> {
    fn get(&self, id: &str) -> Option<&RuntimeFacts> {
        self.facts.iter().find(|facts| facts.id == id)
    }
}

/// Returns why calls of a tool would be refused because of its runtime.
fn of_user(tool: &Tool, id: &str, runtime: Option<&Runtime>, facts: &FoundRuntimes<'_>) -> Option<Issue> {
    let name = files::shown(id);
    let say = |kind: IssueType, detail: String, evidence: &str| {
        Some(Issue::of_tool(kind, tool, "runtime_id", detail).evidence(evidence).object(id))
    };
    let Some(runtime) = runtime else {
        let detail = format!("runtime {name} is not configured, or not enabled");
        return say(IssueType::RuntimeMissing, detail, "");
    };
    if runtime.on_demand {
        // Calls start a separate process.
        return None;
    }
    let state = facts.get(id)?;
    let is_unhealthy = state.health.as_ref().is_some_and(|health| !health.ok);
    match state.state {
        RuntimeState::Stopped => say(IssueType::RuntimeStopped, format!("runtime {name} does not run"), ""),
        RuntimeState::Stale => {
            let detail = format!("runtime {name} ended without being stopped");
            say(IssueType::RuntimeUnhealthy, detail, "stale")
        }
        RuntimeState::Running if !state.managed => {
            let detail = format!("runtime {name} was not started by Brigade");
            // Only a process that Brigade started can be restarted.
            say(IssueType::RuntimeUnhealthy, detail, "unmanaged")
                .map(|issue| Issue { other_fix: Some(NextStep::ShowRuntime(id.to_owned())), ..issue })
        }
        RuntimeState::Running if is_unhealthy => {
            say(IssueType::RuntimeUnhealthy, format!("runtime {name} is not healthy"), "unhealthy")
        }
        RuntimeState::Running => None,
    }
}
