//! Describes programs, servers and changes of files for a person.

use std::collections::BTreeSet;

use brigade_fs::StagedChange;
use brigade_projection::unified;
use brigade_redact::Redactor;

use crate::error::Error;
use crate::report::{ConnectReport, SetupAction, SetupChange, SetupProgram, SetupReport, SetupState};

impl SetupProgram {
    /// Notes why it cannot be connected.
    pub(super) fn fail(&mut self, error: &Error) {
        self.state = SetupState::Failed;
        self.detail = Some(error.to_string());
    }
}

/// Describes the change of a file. Only configuration is shown with its lines.
pub(super) fn row(change: &StagedChange, redactor: &Redactor, root: &str) -> SetupChange {
    let path = change.path.as_str();
    let text = |bytes: &Option<Vec<u8>>| {
        bytes.as_ref().map(|bytes| redactor.redact_str(&String::from_utf8_lossy(bytes)))
    };
    let (before, after) = (text(&change.before), text(&change.after));
    let diff = match path.ends_with(".toml") || !path.contains('/') {
        true => unified(path, before.as_deref().map(str::as_bytes), after.as_deref().map(str::as_bytes)),
        false => String::new(),
    };
    let action = match (&change.before, &change.after) {
        (None, _) => SetupAction::Create,
        (Some(_), Some(_)) => SetupAction::Change,
        (Some(_), None) => SetupAction::Remove,
    };
    SetupChange { path: format!("{root}/{path}"), action, diff, detail: None }
}

/// Describes the change of a program's file, if there is one.
pub(super) fn connected(program: &mut SetupProgram, shown: &ConnectReport) -> Option<SetupChange> {
    let path = shown.path.clone().unwrap_or_default();
    program.path = Some(path.clone());
    program.detail = (!shown.notes.is_empty()).then(|| shown.notes.join("; "));
    if shown.diff.is_empty() {
        program.state = SetupState::Known;
        return None;
    }
    program.state = SetupState::New;
    let is_new = shown.diff.starts_with("--- /dev/null");
    let action = if is_new { SetupAction::Create } else { SetupAction::Change };
    Some(SetupChange { path, action, diff: shown.diff.clone(), detail: None })
}

/// Says what the rule for reads does.
pub(super) fn sentence(tools: &BTreeSet<String>, agents: &BTreeSet<String>) -> String {
    let names: Vec<&str> = agents.iter().map(String::as_str).collect();
    let names = match names.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        names => names.concat(),
    };
    let by = if names.is_empty() { String::new() } else { format!(" by {names}") };
    match tools.len() {
        0 => format!("calls{by} of the tools of this rule run without asking"),
        1 => format!("calls{by} of 1 tool that only reads here run without asking"),
        count => format!("calls{by} of {count} tools that only read here run without asking"),
    }
}

/// Returns what a person should know.
pub(super) fn notes(report: &SetupReport) -> Vec<String> {
    let mut notes: Vec<String> =
        report.programs.iter().filter_map(|program| program.detail.clone()).collect();
    for server in report.servers.iter().filter(|server| server.state == SetupState::New) {
        let is_chosen = |name: &&String| report.programs.iter().any(|row| row.program == **name);
        let own: Vec<&str> = server.programs.iter().filter(is_chosen).map(String::as_str).collect();
        if !own.is_empty() {
            notes.push(format!(
                "{} can also start `{}` without the gateway, until you remove it from {}",
                own.join(" and "),
                server.name,
                server.paths.join(" and ")
            ));
        }
    }
    if report.tools.is_empty() && report.servers.iter().all(|server| server.state == SetupState::Failed) {
        let what = match (report.servers.is_empty(), report.programs.is_empty()) {
            (false, _) => "none of the servers works",
            (true, true) => "no agent program and no MCP server was found or chosen",
            (true, false) => "no MCP server was found or chosen",
        };
        notes.push(format!("{what}, so agents get no new tools"));
    }
    notes.dedup();
    notes
}
