//! What is wrong with runtimes, and with tools that need one.

use brigade_call::DirectoryFact;
use brigade_catalog::{Family, Runtime, Runtimes, Tool};
use brigade_command::argv::Argv;
use brigade_core::{NextStep, Place};

use super::{config, files};
use crate::{ConfigFile, Health, Issue, IssueType, ProcessState, RuntimeFacts, RuntimeState, Snapshot};

/// The file of the runtimes.
const RUNTIMES: &str = ".brigade/tools/runtimes.toml";

pub(super) fn runtimes(snapshot: &Snapshot<'_>, tools: &[&Tool], found: &mut Vec<Issue>) {
    let Some(facts) = &snapshot.runtimes else { return };
    let users: Vec<(&Tool, &str)> = tools.iter().filter_map(|tool| Some((*tool, needed(tool)?))).collect();
    let read = match &facts.config {
        ConfigFile::Missing { file } => {
            // A workspace without runtimes is healthy unless something needs one.
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
    for issue in read.map(Runtimes::issues).unwrap_or_default() {
        found.push(of_file(config::entry(IssueType::RuntimeConfig, issue)));
    }
    let enabled = read.map(Runtimes::runtimes).unwrap_or_default().iter().filter(|runtime| runtime.enabled);
    for runtime in enabled.filter(|runtime| !runtime.is_broken) {
        one(runtime, facts.states.get(runtime.id.as_str()), found);
    }
    for id in &facts.left {
        let detail = "it runs, and no entry of runtimes.toml names it any more".to_owned();
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

/// The runtime that calls of a tool cannot do without.
fn needed(tool: &Tool) -> Option<&str> {
    let needs = tool.requires_runtime || tool.family == Some(Family::Mcp);
    tool.runtime_id.as_deref().filter(|id| needs && !id.is_empty() && !tool.is_broken)
}

fn one(runtime: &Runtime, state: Option<&RuntimeState>, found: &mut Vec<Issue>) {
    let mut say = |kind: IssueType, field: &str, detail: String, evidence: String| {
        // Several paths of one runtime can lead out.
        let many = matches!(kind, IssueType::PathOutside | IssueType::RuntimeSecretInCommand);
        let subject = if many { field } else { "" };
        let issue = Issue::new(kind, detail).subject(subject).evidence(evidence).at(runtime.place_of(field));
        found.push(Issue { tool_id: Some(runtime.id.as_str().to_owned()), ..of_file(issue) });
    };
    for field in runtime.secret_commands() {
        let detail = format!("{field} holds what looks like a secret; it is not shown");
        say(IssueType::RuntimeSecretInCommand, field, detail, field.to_owned());
    }
    match Argv::parse(&runtime.command) {
        Ok(argv) => {
            if let Some((detail, codes)) = files::high_risk(&argv) {
                say(IssueType::RuntimeHighRiskCommand, "command", format!("command: {detail}"), codes);
            }
            if state.is_some_and(|state| !state.program_found) {
                let program = files::shown(argv.program());
                let detail = format!("the program `{program}` is not found on this host");
                say(IssueType::RuntimeBadCommand, "command", detail, "not found".to_owned());
            }
        }
        Err(error) => {
            let detail = format!("command cannot be split into words: {error}");
            say(IssueType::RuntimeBadCommand, "command", detail, "unparsable".to_owned());
        }
    }
    let Some(state) = state else { return };
    match state.directory {
        DirectoryFact::Present => {}
        DirectoryFact::Missing => {
            let detail = "cwd names no folder".to_owned();
            say(IssueType::RuntimeMissingCwd, "cwd", detail, "missing".to_owned());
        }
        DirectoryFact::Outside => {
            let detail = "cwd leads out of the workspace".to_owned();
            say(IssueType::RuntimeMissingCwd, "cwd", detail, "outside".to_owned());
        }
    }
    for field in &state.outside {
        let detail = format!("{field} leads out of the workspace");
        say(IssueType::PathOutside, field, detail, (*field).to_owned());
    }
    if state.process == ProcessState::Stale {
        let detail = "the metadata names a process that is gone".to_owned();
        say(IssueType::RuntimeStalePid, "pid_path", detail, String::new());
    }
    for detail in &state.long_logs {
        // How long it is changes with every look.
        say(IssueType::RuntimeLogTooLong, "log_path", detail.clone(), String::new());
    }
    if let Some(detail) = &state.log_writer_gone {
        say(IssueType::RuntimeLogWriterGone, "log_path", detail.clone(), String::new());
    }
    if let Some(detail) = &state.outdated {
        say(IssueType::RuntimeOutdated, "command", detail.clone(), String::new());
    }
    if let Some(port) = runtime.port.filter(|_| state.port_taken) {
        let detail = format!("port {port} is taken by another program");
        say(IssueType::RuntimePortConflict, "port", detail, port.to_string());
    }
    if let Health::Bad(why) = &state.health {
        say(IssueType::RuntimeHealthFailed, "health_command", format!("not healthy: {why}"), String::new());
    }
}

/// Says why calls of a tool would be refused because of its runtime.
fn of_user(tool: &Tool, id: &str, runtime: Option<&Runtime>, facts: &RuntimeFacts<'_>) -> Option<Issue> {
    let say = |kind: IssueType, detail: String, evidence: &str| {
        Some(Issue::of_tool(kind, tool, "runtime_id", detail).evidence(evidence).object(id))
    };
    if runtime.is_none() {
        let detail = format!("runtime {id} is not configured, or not enabled");
        return say(IssueType::RuntimeMissing, detail, "");
    }
    let state = facts.states.get(id)?;
    match (state.process, &state.health) {
        (ProcessState::Stopped, _) => {
            say(IssueType::RuntimeStopped, format!("runtime {id} does not run"), "")
        }
        (ProcessState::Stale, _) => {
            let detail = format!("runtime {id} ended without being stopped");
            say(IssueType::RuntimeUnhealthy, detail, "stale")
        }
        (ProcessState::Running, _) if !state.is_managed => {
            let detail = format!("runtime {id} was not started by Brigade");
            // Only what Brigade started can be restarted.
            say(IssueType::RuntimeUnhealthy, detail, "unmanaged")
                .map(|issue| Issue { other_fix: Some(NextStep::ShowRuntime(id.to_owned())), ..issue })
        }
        (ProcessState::Running, Health::Bad(_)) => {
            say(IssueType::RuntimeUnhealthy, format!("runtime {id} is not healthy"), "unhealthy")
        }
        (ProcessState::Running, Health::Good | Health::NotChecked) => None,
    }
}
