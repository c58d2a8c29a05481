//! Asks MCP servers for their tool lists.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use brigade_call::{Objection, VerifiedStart};
use brigade_catalog::Tool;
use brigade_core::text::{escape_terminal, short};
use brigade_core::{Hint, NextStep, codes};
use brigade_exec::{Conversation, HostEnvironment, OpenedProgram};
use brigade_policy::{ErrorLine, SandboxMode};
use brigade_process::{CancelToken, Stream};
use brigade_redact::{Redactor, SecretValue};

use crate::exchange::{Exchange, McpErrorKind};
use crate::peer::list_live;

/// The maximum time for listing tools. The policy or the tool can lower it.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of bytes that are kept of a server's standard error.
const ERRORS: usize = 8 * 1024;

/// The number of characters of it that an error shows.
const MAX_SHOWN_CHARS: usize = 300;

/// The parts of the host that a list request uses.
pub struct ListContext<'a> {
    /// The directory of the workspace.
    pub workspace: &'a Path,
    /// The environment variables of this process.
    pub environment: &'a HostEnvironment,
    /// Values that are masked in output.
    pub secrets: &'a [SecretValue],
    /// Cancels the request.
    pub cancel: Option<CancelToken>,
}

impl ListContext<'_> {
    /// Starts the server of a tool, reads its tool list, and ends it. The limit is the timeout of the tool, at most
    /// 30 s.
    ///
    /// # Errors
    /// Fails if the server was not started or did not answer. The error includes the start of its standard error.
    pub fn list(
        &self,
        tool: &Tool,
        start: &VerifiedStart,
        program: &OpenedProgram,
    ) -> Result<Exchange, Silence> {
        let mut errors = Vec::new();
        let mut sink = |stream: Stream, bytes: &[u8]| {
            if stream == Stream::Stderr && errors.len() < ERRORS {
                errors.extend_from_slice(bytes);
            }
            Ok(())
        };
        let timeout = tool.timeout.map_or(LIST_TIMEOUT, |timeout| timeout.duration().min(LIST_TIMEOUT));
        let server = Conversation {
            start,
            program,
            workspace: self.workspace,
            environment: self.environment,
            secrets: self.secrets,
            timeout,
            cancel: self.cancel.clone(),
        };
        let exchange = list_live(&server, &mut sink);
        let Some(fault) = &exchange.fault else { return Ok(exchange) };
        match fault.kind {
            McpErrorKind::LoginRequired => return Err(Silence::LoginRequired(fault.message.clone())),
            McpErrorKind::ConnectionFailed => return Err(Silence::Failed(fault.message.clone())),
            _ => {}
        }
        let all = Redactor::new(self.secrets).for_output().redact_str(&String::from_utf8_lossy(&errors));
        let said = short(&all, MAX_SHOWN_CHARS);
        let why = match escape_terminal(&said) {
            said if said.is_empty() => fault.message.clone(),
            said => format!("{}; it printed: {said}", fault.message),
        };
        let is_confined = start.decision().is_some_and(|decision| decision.sandbox.mode != SandboxMode::Off);
        let denied = denied_by_sandbox(&all, tool.runtime_id.as_deref().unwrap_or_default());
        Err(Silence::Failed(match denied.filter(|_| is_confined) {
            Some(denied) => format!("{why}; {denied}"),
            None => why,
        }))
    }
}

/// What programs print when the system refuses access to a path, in lower case.
const REFUSED: [&str; 6] =
    ["permission denied", "read-only file system", "operation not permitted", "eacces", "erofs", "eperm"];

/// What programs print when there is no network, in lower case.
const NO_NETWORK: [&str; 6] = [
    "network is unreachable",
    "name resolution",
    "enetunreach",
    "eai_again",
    "enotfound",
    "could not resolve",
];

/// Returns what the sandbox probably denied, by what a server printed, and what opens it.
fn denied_by_sandbox(printed: &str, runtime: &str) -> Option<String> {
    let runtime = escape_terminal(runtime);
    for line in printed.lines() {
        let lower = line.to_ascii_lowercase();
        if REFUSED.iter().any(|word| lower.contains(word)) {
            let path = absolute_path(line);
            let path =
                path.map_or("a path".to_owned(), |path| format!("`{}`", escape_terminal(&short(path, 200))));
            return Some(format!(
                "the sandbox denied access to {path}: `write_paths` of the runtime `{runtime}` in \
                 .brigade/tools/runtimes.toml opens directories that exist, `home = \"private\"` there gives the \
                 server a home directory, and `read_paths` under [sandbox] in .brigade/tools/policy.toml opens files \
                 for reading"
            ));
        }
        if NO_NETWORK.iter().any(|word| lower.contains(word)) {
            return Some(
                "the sandbox closes the network to a server without the effect `network`: install the server first, \
                 so that it starts without network"
                    .to_owned(),
            );
        }
    }
    None
}

/// Returns the first absolute path in a line.
fn absolute_path(line: &str) -> Option<&str> {
    let is_start = |at: &usize| {
        let before = line[..*at].chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || "'\"`([=:".contains(c))
    };
    let start = line.match_indices('/').map(|(at, _)| at).find(is_start)?;
    let quote = line[..start].chars().next_back().filter(|c| "'\"`".contains(*c));
    let is_end = |c: char| match quote {
        Some(quote) => c == quote,
        None => c.is_whitespace() || ",:;)]".contains(c),
    };
    let path = &line[start..];
    Some(&path[..path.find(is_end).unwrap_or(path.len())]).filter(|path| 1 < path.len())
}

/// Why a server has no list.
#[derive(Clone, Debug)]
pub enum Silence {
    /// The checks refused the start.
    NotStarted(Vec<Objection>),
    /// A person must log in to the remote server; the text says how.
    LoginRequired(String),
    /// The start failed, or the server did not answer.
    Failed(String),
}

impl Silence {
    /// Returns the reason as an error of a report.
    pub fn line(&self) -> ErrorLine {
        let code = match self {
            Silence::NotStarted(_) => codes::CALL_BLOCKED,
            Silence::LoginRequired(_) => codes::LOGIN_REQUIRED,
            Silence::Failed(_) => codes::RUN_FAILED,
        };
        ErrorLine::new(code.as_str(), self.to_string())
    }

    /// Returns how to change the policy, for the first policy rule among the reasons.
    pub fn hint_of_the_policy(&self) -> Option<Hint> {
        let Silence::NotStarted(objections) = self else { return None };
        objections.iter().find_map(|objection| match objection {
            Objection::Policy(blocker) => {
                let edit = || blocker.place.clone().map(|place| NextStep::Edit(place).into());
                blocker.hint.clone().or_else(edit)
            }
            _ => None,
        })
    }

    /// Returns whether the policy is one of the reasons.
    pub fn is_of_the_policy(&self) -> bool {
        let is_policy = |objection: &Objection| matches!(objection, Objection::Policy(_));
        matches!(self, Silence::NotStarted(objections) if objections.iter().any(is_policy))
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Silence::NotStarted(objections) => {
                let reasons: Vec<String> = objections.iter().map(ToString::to_string).collect();
                write!(f, "not started: {}", reasons.join("; "))
            }
            Silence::LoginRequired(why) | Silence::Failed(why) => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sandbox_denied_is_named_with_its_key() {
        for (printed, path) in [
            (
                "Traceback\nPermissionError: [Errno 13] Permission denied: '/home/a b/.x/logs'\n",
                "`/home/a b/.x/logs`",
            ),
            ("Error: EACCES: permission denied, mkdir '/root/.cache'", "`/root/.cache`"),
            ("mkdir: cannot create directory /srv/x: Read-only file system", "`/srv/x`"),
            ("open failed: operation not permitted", "a path"),
        ] {
            let said = denied_by_sandbox(printed, "up").unwrap();
            assert!(said.contains(&format!("access to {path}: `write_paths` of the runtime `up`")), "{said}");
        }
        assert!(denied_by_sandbox("getaddrinfo EAI_AGAIN registry", "up").unwrap().contains("network"));
        assert_eq!(denied_by_sandbox("SyntaxError: /x/y.py", "up"), None);
    }
}
