//! Checks the entries of `mcpServers`.

use brigade_cmdline::argv::Argv;
use brigade_cmdline::risk;
use brigade_core::Json;

/// One entry of `mcpServers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name.
    pub id: String,
    /// Its problem, if any.
    pub problems: Vec<McpProblem>,
}

/// A problem of an entry of `mcpServers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpProblem {
    /// It is not an object, or its command or arguments have the wrong type.
    Invalid,
    /// It has no command.
    MissingCommand,
    /// Its command line hides what runs; the sentences say how.
    HighRisk(Vec<String>),
    /// It has neither `timeout` nor `timeout_seconds`.
    MissingTimeout,
}

/// Checks the servers of a document; `None` if it has no object `mcpServers`.
///
/// Entries are sorted by name. Servers with a `url` are remote and need no command. Values of the document are never
/// repeated, because arguments and environments may hold tokens.
pub fn inspect_mcp(document: &Json) -> Option<Vec<McpServer>> {
    let servers = document.get("mcpServers")?.as_object()?;
    Some(servers.iter().map(|(id, entry)| McpServer { id: id.clone(), problems: problems(entry) }).collect())
}

fn problems(entry: &Json) -> Vec<McpProblem> {
    let Some(members) = entry.as_object() else { return vec![McpProblem::Invalid] };
    let mut found = Vec::new();
    let command = members.get("command").filter(|command| !command.is_null());
    match command.map(Json::as_str) {
        Some(None) => found.push(McpProblem::Invalid),
        Some(Some(text)) if !text.trim().is_empty() => match words(text, members.get("args")) {
            Some(argv) => {
                let mut risks = risk::judge(&argv);
                risks.retain(|risk| !matches!(risk, risk::Risk::InlineCode { .. }));
                if !risks.is_empty() {
                    found.push(McpProblem::HighRisk(risks.iter().map(ToString::to_string).collect()));
                }
            }
            None => found.push(McpProblem::Invalid),
        },
        Some(Some(_)) | None => {
            if !members.contains_key("url") {
                found.push(McpProblem::MissingCommand);
            }
        }
    }
    if !["timeout", "timeout_seconds"].iter().any(|key| members.contains_key(*key)) {
        found.push(McpProblem::MissingTimeout);
    }
    found
}

/// Returns the command line. Harnesses split commands in different ways, so the words of both `command` and `args`
/// count.
fn words(command: &str, args: Option<&Json>) -> Option<Argv> {
    let mut argv = Argv::parse(command).ok()?;
    match args {
        None | Some(Json::Null) => {}
        Some(Json::Array(args)) => {
            for arg in args {
                argv.push(arg.as_str()?).ok()?;
            }
        }
        Some(Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => return None,
    }
    Some(argv)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, expect: &[McpProblem]) {
        let document = Json::parse(&format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#)).unwrap();
        let servers = inspect_mcp(&document).unwrap();
        assert_eq!(servers, [McpServer { id: "a".to_owned(), problems: expect.to_vec() }]);
    }

    #[test]
    fn shapes_of_servers() {
        check(r#"{"command": "npx", "args": ["-y", "x"], "timeout": 5}"#, &[]);
        check(r#"{"url": "https://example.org/mcp", "timeout_seconds": 5}"#, &[]);
        check(r#"{"timeout": 5}"#, &[McpProblem::MissingCommand]);
        check(r#"{"command": ["npx"], "timeout": 5}"#, &[McpProblem::Invalid]);
        check(r#"{"command": "npx", "args": "x", "timeout": 5}"#, &[McpProblem::Invalid]);
        check("[]", &[McpProblem::Invalid]);
        check(r#"{"command": "npx"}"#, &[McpProblem::MissingTimeout]);
        let document =
            Json::parse(r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "x"], "timeout": 1}}}"#);
        let servers = inspect_mcp(&document.unwrap()).unwrap();
        assert!(matches!(servers[0].problems[..], [McpProblem::HighRisk(_)]));
        assert_eq!(inspect_mcp(&Json::parse("{}").unwrap()), None);
    }
}
