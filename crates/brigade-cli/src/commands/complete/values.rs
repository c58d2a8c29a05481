//! Words that depend on the workspace: ids, names and codes.

use std::collections::HashSet;

use brigade::core::json::to_json;
use brigade::core::{Json, short_repeats};
use brigade::kitchen::DecisionFilter;
use brigade::report::SetupLevel;
use brigade::{CallFilter, CallStatus, RunFilter, Workspace};

use super::Candidate;
use crate::commands::daily::explain::all_codes;
use crate::session::Session;

/// The maximum number of ids of calls and runs, the newest.
const MAX_IDS: usize = 200;

/// A kind of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Every call.
    Calls,
    /// Calls that a person can decide about.
    OpenCalls,
    /// Calls that can run.
    ApprovedCalls,
    Runs,
    Checkpoints,
    Tools,
    Agents,
    Profiles,
    Runtimes,
    Harnesses,
    Prds,
    Tasks,
    Decisions,
    Waiting,
    InboxRows,
    Codes,
    /// Agent programs on this machine that can be connected.
    Programs,
    /// Servers in the files of agent programs.
    Servers,
}

/// Returns the kinds of an argument: by its name, and for names such as `ID` by its command.
pub(super) fn kinds(path: &[&str], name: &str) -> Vec<Kind> {
    let (group, command) = match path {
        [.., group, command] => (*group, *command),
        [command] => ("", *command),
        [] => return Vec::new(),
    };
    match name {
        "CALL" => vec![match command {
            "approve" | "hold" | "reject" => Kind::OpenCalls,
            "run" => Kind::ApprovedCalls,
            _ => Kind::Calls,
        }],
        "RUN" => vec![Kind::Runs],
        "CHECKPOINT" => vec![Kind::Checkpoints],
        "AGENT" => vec![Kind::Agents],
        "N|ID|TOOL" => vec![Kind::OpenCalls, Kind::Tools],
        "ANYTHING" => {
            vec![Kind::Calls, Kind::Runs, Kind::Tools, Kind::Agents, Kind::Runtimes, Kind::Prds, Kind::Tasks]
        }
        "RUNTIME" | "SERVER" => vec![Kind::Runtimes],
        "CLIENT" | "PROGRAM,…" => vec![Kind::Programs],
        "SERVER,…" | "SERVER|FILE|URL" => vec![Kind::Servers],
        "HARNESS" => vec![Kind::Harnesses],
        "PRD" | "PRDS" => match command {
            // The task may also be typed alone.
            "log" | "ticket" => vec![Kind::Tasks, Kind::Prds],
            _ => vec![Kind::Prds],
        },
        "TOOL" | "GLOB" => vec![Kind::Tools],
        "WAITING" => vec![Kind::Waiting],
        "ROW" => vec![Kind::InboxRows],
        "CODE" => vec![Kind::Codes],
        "NAME" => match group {
            "agent" if command != "add" => vec![Kind::Agents],
            // The agent of `--agent`.
            "" => vec![Kind::Agents],
            "profile" => vec![Kind::Profiles],
            "harness" => vec![Kind::Harnesses],
            _ => Vec::new(),
        },
        "ID" => match (group, command) {
            // The tool of `--tool`.
            ("", "log" | "approve" | "reject" | "hold") => vec![Kind::Tools],
            ("", "why") => vec![Kind::Calls, Kind::Runs],
            (_, "ticket" | "log") => vec![Kind::Tasks],
            ("kitchen", "answer") => vec![Kind::Decisions],
            ("kitchen" | "receipts" | "pins", _) => Vec::new(),
            ("runtime", _) => vec![Kind::Runtimes],
            ("tools" | "call" | "policy" | "profile" | "sync", _) => vec![Kind::Tools],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Lists the words of a kind. A workspace that cannot be read has none.
pub(super) fn list(kind: Kind, session: &Session<'_>) -> Vec<Candidate> {
    if kind == Kind::Codes {
        let mut listed = HashSet::new();
        let codes = all_codes().filter(|(_, code, _)| listed.insert(*code));
        return codes.map(|(_, code, meaning)| Candidate::new(code, meaning)).collect();
    }
    let Ok(workspace) = session.workspace() else { return Vec::new() };
    of_workspace(kind, &workspace).unwrap_or_default()
}

fn of_workspace(kind: Kind, workspace: &Workspace) -> Option<Vec<Candidate>> {
    let report = match kind {
        Kind::Calls => return calls(workspace, &[None]),
        Kind::OpenCalls => return calls(workspace, &["pending", "held"].map(Some)),
        Kind::ApprovedCalls => return calls(workspace, &[Some("approved")]),
        Kind::Prds | Kind::Tasks => return prds(kind, workspace),
        Kind::Waiting => rows(&workspace.work().waiting().ok()?),
        Kind::Runs => {
            let filter = RunFilter { limit: Some(MAX_IDS), ..RunFilter::default() };
            rows(&workspace.runs().list(&filter).ok()?)
        }
        Kind::Checkpoints => rows(&workspace.checkpoints().list().ok()?),
        Kind::Tools => rows(&workspace.catalog().lines().ok()?),
        Kind::Agents => rows(&workspace.agents().list().ok()?),
        Kind::Profiles => rows(&workspace.agents().profiles().ok()?),
        Kind::Runtimes => rows(&workspace.runtimes().list().ok()?.summary.runtimes),
        Kind::Harnesses => rows(&workspace.projections().harnesses().ok()?),
        Kind::Decisions => rows(&workspace.kitchen().decisions(None, DecisionFilter::Waiting).ok()?),
        Kind::InboxRows => rows(&workspace.inbox().list(&Default::default()).ok()?),
        Kind::Codes => Vec::new(),
        Kind::Programs => {
            let found = workspace.onboarding(SetupLevel::Project).look().ok()?.programs;
            found.into_iter().map(|row| Candidate::new(row.program, row.title)).collect()
        }
        Kind::Servers => {
            let found = workspace.onboarding(SetupLevel::Project).look().ok()?.servers;
            let of_programs = found.into_iter().filter(|row| !row.programs.is_empty());
            let mut servers: Vec<Candidate> =
                of_programs.map(|row| Candidate::new(row.name, row.runs)).collect();
            servers.dedup_by(|one, other| one.word == other.word);
            servers
        }
    };
    Some(report)
}

/// Returns the ids in the first list of a report.
fn rows(report: &impl serde::Serialize) -> Vec<Candidate> {
    let json = to_json(report).unwrap_or_default();
    let text = |row: &Json, keys: &[&str]| {
        keys.iter().find_map(|key| row.get(key)?.as_str()).unwrap_or_default().to_owned()
    };
    let is_named = |row: &Json| row.get("id").is_some() || row.get("name").is_some();
    let lists = json.as_object().into_iter().flatten().map(|(_, value)| value);
    let rows = std::iter::once(&json).chain(lists).find_map(|value| match value {
        Json::Array(rows) if rows.iter().any(is_named) => Some(rows.as_slice()),
        _ => None,
    });
    let rows = rows.unwrap_or_default();
    let candidate = |row: &Json| {
        let about = text(row, &["description", "tool_id", "context", "title", "name", "status"]);
        Candidate::new(text(row, &["id", "name"]), about)
    };
    rows.iter().map(candidate).filter(|candidate| !candidate.word.is_empty()).collect()
}

fn calls(workspace: &Workspace, statuses: &[Option<&str>]) -> Option<Vec<Candidate>> {
    let mut found = Vec::new();
    for status in statuses {
        let status = status.map(CallStatus::from_word);
        let list = workspace.calls().list(CallFilter { status, tool: None, limit: Some(MAX_IDS) }).ok()?;
        for call in list {
            let call = call.ok()?;
            found.push(Candidate::new(short_repeats(call.id.as_str()), call.tool_id));
        }
    }
    Some(found)
}

fn prds(kind: Kind, workspace: &Workspace) -> Option<Vec<Candidate>> {
    let mut found = Vec::new();
    for prd in workspace.kitchen().names().ok()? {
        if kind == Kind::Prds {
            found.push(Candidate::new(prd.name, prd.path));
            continue;
        }
        for (task, title) in prd.tasks {
            found.push(Candidate::new(format!("{}/{task}", prd.name), title.clone()));
            found.push(Candidate::new(task, title));
        }
    }
    Some(found)
}
