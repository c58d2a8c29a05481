//! Diagnoses the files of clients: changed entries, and servers that are started without the gateway.

use brigade_core::{NextStep, Place, Timestamp};

use crate::{ClientProblem, ClientState, Issue, IssueType, Snapshot};

pub(super) fn clients(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    for (index, state) in snapshot.clients.iter().enumerate() {
        let (before, rest) = snapshot.clients.split_at(index);
        if before.iter().any(|other| is_same_bypass(other, state)) {
            continue;
        }
        let others = rest.iter().filter(|other| is_same_bypass(other, state));
        found.push(issue(state, &others.map(|other| other.client.as_str()).collect::<Vec<_>>()));
    }
}

/// Returns whether two clients read the same entry of a file, which starts the server of a tool.
fn is_same_bypass(one: &ClientState, other: &ClientState) -> bool {
    match (&one.problem, &other.problem) {
        (
            ClientProblem::Bypass { server, tool_id, .. },
            ClientProblem::Bypass { server: other_server, tool_id: other_tool, .. },
        ) => (&one.file, one.line, server, tool_id) == (&other.file, other.line, other_server, other_tool),
        _ => false,
    }
}

/// Creates the issue of a state. If it is about an entry without the gateway, `clients` are those that read it.
fn issue(state: &ClientState, clients: &[&str]) -> Issue {
    let file = &state.file;
    let (kind, detail, evidence) = match &state.problem {
        ClientProblem::FileGone => {
            (IssueType::ClientEntryStale, format!("{file} does not exist"), "file-gone")
        }
        ClientProblem::EntryGone => {
            (IssueType::ClientEntryStale, format!("{file} has no entry `brigade`"), "entry-gone")
        }
        ClientProblem::Changed => {
            (IssueType::ClientEntryStale, format!("the entry in {file} was changed"), "changed")
        }
        ClientProblem::ProgramGone => (
            IssueType::ClientEntryStale,
            format!("the entry in {file} starts a program that does not exist"),
            "program-gone",
        ),
        ClientProblem::AgentGone => (
            IssueType::ClientEntryStale,
            format!(
                "the entry in {file} is for the agent `{}`, which gateway.toml does not name",
                state.agent
            ),
            "agent-gone",
        ),
        ClientProblem::OtherTarget => (
            IssueType::ClientEntryStale,
            format!("the entry in {file} starts the gateway of another workspace"),
            "other-target",
        ),
        ClientProblem::Unreadable(why) => {
            (IssueType::ClientEntryStale, format!("{file}: {why}"), "unreadable")
        }
        ClientProblem::CacheUnfit(why) => (IssueType::DiscoveredCacheDamaged, why.clone(), "unfit"),
        ClientProblem::Differs { id, refs, found_at } => (
            IssueType::DefinitionsDiffer,
            format!("{id} is defined differently in {}{}", refs.join(", "), as_of(*found_at)),
            id.as_str(),
        ),
        ClientProblem::LiteralSecrets { id, keys, found_at } => (
            IssueType::ClientLiteralSecret,
            format!(
                "{file}: {id} has secrets ({}); bind them through env_bindings of the policy{}",
                keys.join(", "),
                as_of(*found_at)
            ),
            id.as_str(),
        ),
        ClientProblem::SourceChanged { tool_id, message, found_at, .. } => {
            (IssueType::RegisteredSourceChanged, format!("{message}{}", as_of(*found_at)), tool_id.as_str())
        }
        ClientProblem::SourceGone { tool_id, message, found_at } => {
            (IssueType::RegisteredSourceGone, format!("{message}{}", as_of(*found_at)), tool_id.as_str())
        }
        ClientProblem::UserFileUnsafe(why) => {
            (IssueType::UserCatalogUnsafe, format!("{file}: {}", why.message()), "registered")
        }
        ClientProblem::OldHooks { count } => {
            let hooks = if *count == 1 { "1 hook starts".to_owned() } else { format!("{count} hooks start") };
            let detail = format!("{file}: {hooks} a command of v0.30, which does nothing here");
            (IssueType::SwitchHooks, detail, "hooks")
        }
        ClientProblem::Bypass { server, tool_id, found_at } => (
            IssueType::ClientBypassesGateway,
            format!(
                "{file}: the entry `{server}`{} starts the server of `{tool_id}`{}",
                match clients {
                    [] | [_] => String::new(),
                    _ => format!(" of {}", clients.join(" and ")),
                },
                found_at.map(as_of).unwrap_or_default()
            ),
            server.as_str(),
        ),
    };
    let place = match state.line {
        Some(line) => Place::at(file, line, 1),
        None => Place::file(file),
    };
    let issue = Issue::new(kind, detail);
    let subject = format!("{} {}", state.client, state.noted);
    let mut issue = issue.subject(subject.trim()).evidence(evidence).at(place);
    if let ClientProblem::SourceChanged { tool_id, .. } | ClientProblem::SourceGone { tool_id, .. } =
        &state.problem
    {
        issue.tool_id = Some(tool_id.clone());
    }
    if let ClientProblem::SourceChanged { tool_id, level, reference, .. } = &state.problem {
        let (reference, id, level) = (reference.clone(), tool_id.clone(), level.clone());
        let other_fix = Some(NextStep::RegisterAgain { reference, id, level });
        return Issue { other_fix, ..issue };
    }
    if let ClientProblem::UserFileUnsafe(why) = &state.problem {
        return Issue { other_fix: Some(why.fix(file)), ..issue };
    }
    if kind != IssueType::ClientEntryStale {
        return issue;
    }
    let other_fix = if state.client.is_empty() {
        NextStep::ReadFile(file.clone())
    } else {
        NextStep::ConnectAgain {
            client: state.client.clone(),
            scope: state.scope.clone(),
            transport: state.transport.clone(),
            agent: state.agent.clone(),
        }
    };
    Issue { other_fix: Some(other_fix), ..issue.object(state.client.as_str()) }
}

/// Formats when a problem was found, because the cache may be old.
fn as_of(found_at: Timestamp) -> String {
    let minute = found_at.to_string().replace('T', " ");
    format!(" (found at {minute:.16} UTC)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose;

    #[test]
    fn an_entry_is_stale_until_it_is_written_again() {
        let state = |problem: ClientProblem| ClientState {
            client: "cursor".to_owned(),
            scope: "user".to_owned(),
            transport: "stdio".to_owned(),
            agent: "a".to_owned(),
            noted: "~/.cursor/mcp.json".to_owned(),
            file: "/home/me/.cursor/mcp.json".to_owned(),
            line: None,
            problem,
        };
        let bypass = ClientProblem::Bypass {
            server: "files".to_owned(),
            tool_id: "read-file".to_owned(),
            found_at: None,
        };
        let clients = vec![state(ClientProblem::EntryGone), ClientState { line: Some(3), ..state(bypass) }];
        let issues = diagnose(Snapshot { clients, ..Snapshot::new(Timestamp::from_unix_micros(0)) });
        let codes: Vec<&str> = issues.iter().map(|issue| issue.kind.code()).collect();
        assert_eq!(codes, ["client_entry_stale", "client_bypasses_gateway"]);
        assert_eq!(issues[0].next_step().name(), "connect-again");
        assert_eq!(issues[1].next_step(), NextStep::Edit(Place::at("/home/me/.cursor/mcp.json", 3, 1)));
        assert_eq!(issues[0].subject, "cursor ~/.cursor/mcp.json");
        let changed = vec![state(ClientProblem::Changed)];
        let changed =
            diagnose(Snapshot { clients: changed, ..Snapshot::new(Timestamp::from_unix_micros(0)) });
        assert_ne!(changed[0].fingerprint(), issues[0].fingerprint());
    }

    #[test]
    fn a_shared_entry_is_one_issue_that_names_its_clients() {
        let state = |client: &str, line: usize| ClientState {
            client: client.to_owned(),
            scope: "project".to_owned(),
            transport: String::new(),
            agent: String::new(),
            noted: ".mcp.json".to_owned(),
            file: ".mcp.json".to_owned(),
            line: Some(line),
            problem: ClientProblem::Bypass {
                server: "files".to_owned(),
                tool_id: "read".to_owned(),
                found_at: None,
            },
        };
        let clients = vec![state("claude", 2), state("copilot", 2), state("claude", 5)];
        let issues = diagnose(Snapshot { clients, ..Snapshot::new(Timestamp::from_unix_micros(0)) });
        let told: Vec<&str> = issues.iter().map(|issue| issue.detail.as_str()).collect();
        assert_eq!(
            told,
            [
                ".mcp.json: the entry `files` of claude and copilot starts the server of `read`",
                ".mcp.json: the entry `files` starts the server of `read`"
            ]
        );
    }

    #[test]
    fn hooks_of_v030_are_reported_once_per_file() {
        let hooks = |count: usize| {
            let state = ClientState {
                client: "claude".to_owned(),
                scope: "project".to_owned(),
                transport: String::new(),
                agent: String::new(),
                noted: ".claude/settings.json".to_owned(),
                file: ".claude/settings.json".to_owned(),
                line: Some(7),
                problem: ClientProblem::OldHooks { count },
            };
            let snapshot = Snapshot::new(Timestamp::from_unix_micros(0));
            let [issue] =
                diagnose(Snapshot { clients: vec![state], ..snapshot }).try_into().expect("one issue");
            issue
        };
        let (one, nine) = (hooks(1), hooks(9));
        let said = "start a command of v0.30, which does nothing here";
        assert_eq!(
            (one.kind.code(), nine.detail),
            ("switch_hooks", format!(".claude/settings.json: 9 hooks {said}"))
        );
        assert_eq!(
            one.detail,
            ".claude/settings.json: 1 hook starts a command of v0.30, which does nothing here"
        );
        assert_eq!(one.next_step(), NextStep::Edit(Place::at(".claude/settings.json", 7, 1)));
        // A removed hook does not make a new issue.
        assert_eq!(one.fingerprint(), hooks(2).fingerprint());
    }
}
