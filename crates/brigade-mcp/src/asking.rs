//! Why an MCP server that was asked for its tools has no list.

use std::fmt;

use brigade_call::{Objection, PYTHON_CACHE, VerifiedStart};
use brigade_catalog::Tool;
use brigade_core::text::{escape_terminal, short};
use brigade_core::{ErrorCode, Hint, NextStep};
use brigade_policy::{ErrorLine, SandboxMode};
use brigade_redact::{Redactor, SecretValue};
use brigade_sandbox::{Attempt, Observation, ObservedDenial};

use crate::exchange::{Exchange, McpErrorKind};

/// The number of bytes that are kept of the beginning, and of the end, of a server's standard error.
const ERRORS: usize = 8 * 1024;

/// The number of characters that an error shows of its beginning, and of its end, where tracebacks name the reason.
const MAX_SHOWN_CHARS: usize = 120;
const MAX_SHOWN_END_CHARS: usize = 200;

/// The number of denied paths that an error names.
const MAX_DENIED: usize = 3;

/// Returns the result of a request for the tools of a server that was started for it.
///
/// # Errors
/// Fails if the server was not started or did not answer. The error includes the beginning and the end of what the
/// server printed, masked, and what the sandbox denied.
pub fn require_list(
    exchange: Exchange,
    tool: &Tool,
    start: &VerifiedStart,
    printed: &PrintedErrors,
    secrets: &[SecretValue],
) -> Result<Exchange, Silence> {
    let Some(fault) = &exchange.fault else { return Ok(exchange) };
    match fault.kind {
        McpErrorKind::LoginRequired => return Err(Silence::LoginRequired(fault.message.clone())),
        McpErrorKind::ConnectionFailed => return Err(Silence::Failed(fault.message.clone())),
        _ => {}
    }
    let all = Redactor::new(secrets).for_output().redact_str(&printed.text());
    let output = beginning_and_end(&all);
    let why = match escape_terminal(&output) {
        output if output.is_empty() => fault.message.clone(),
        output => format!("{}; it printed: {output}", fault.message),
    };
    let is_confined = start.decision().is_some_and(|decision| decision.sandbox.mode != SandboxMode::Off);
    let runtime = tool.runtime_id.as_deref().unwrap_or_default();
    let observed = exchange.outcome.as_ref().and_then(|outcome| outcome.observation.as_ref());
    let writes = match observed {
        Some(Observation::Done(observed)) => denied_writes(&observed.denied),
        Some(Observation::Unavailable(_)) | None => Vec::new(),
    };
    let denied = denied_by_sandbox(&all, &writes, runtime);
    Err(Silence::Failed(match denied.filter(|_| is_confined) {
        Some(denied) => format!("{why}; {denied}"),
        None => why,
    }))
}

/// The beginning and the end of what a server printed to standard error.
#[derive(Debug, Default)]
pub struct PrintedErrors {
    head: Vec<u8>,
    tail: Vec<u8>,
    is_cut: bool,
}

impl PrintedErrors {
    /// Adds output.
    pub fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(ERRORS.saturating_sub(self.head.len())));
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        if let Some(excess) = self.tail.len().checked_sub(ERRORS).filter(|excess| 0 < *excess) {
            self.tail.drain(..excess);
            self.is_cut = true;
        }
    }

    /// Returns the text, without the lines that the cut is in.
    fn text(&self) -> String {
        let PrintedErrors { head, tail, is_cut } = self;
        let (mut head, mut tail) = (head.as_slice(), tail.as_slice());
        if *is_cut {
            head = &head[..head.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)];
            tail = &tail[tail.iter().position(|byte| *byte == b'\n').map_or(tail.len(), |at| at + 1)..];
        }
        String::from_utf8_lossy(&[head, tail].concat()).into_owned()
    }
}

/// Returns the beginning of a text, and its end if it is longer.
fn beginning_and_end(text: &str) -> String {
    let whole = short(text, usize::MAX);
    let count = whole.chars().count();
    if count <= MAX_SHOWN_CHARS + MAX_SHOWN_END_CHARS {
        return whole;
    }
    let end: String = whole.chars().skip(count - MAX_SHOWN_END_CHARS).collect();
    format!("{} {}", short(&whole, MAX_SHOWN_CHARS), end.trim_start())
}

/// Returns the paths that a server could not write, each once. Python works the same without its cache, and programs
/// without a terminal.
fn denied_writes(denied: &[ObservedDenial]) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for denial in denied {
        let path = denial.path.display().to_string();
        let is_write = matches!(denial.what, Attempt::Write | Attempt::Create);
        let is_noise = path.starts_with("/dev/") || path.split('/').any(|part| part == PYTHON_CACHE);
        if is_write && !is_noise && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
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

/// Returns what the sandbox denied, by what a server printed and by the paths that it could not write, and what opens
/// it.
fn denied_by_sandbox(printed: &str, writes: &[String], runtime: &str) -> Option<String> {
    let runtime = escape_terminal(runtime);
    let lines = || printed.lines().map(|line| (line, line.to_ascii_lowercase()));
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    let refused = lines().find(|(_, lower)| has(lower, &REFUSED));
    let shown = |path: &str| format!("`{}`", escape_terminal(&short(path, 200)));
    let named = refused.as_ref().and_then(|(line, _)| absolute_path(line)).map(shown);
    let paths = match (named, refused, writes) {
        (Some(path), _, _) => path,
        (None, None, _) if lines().any(|(_, lower)| has(&lower, &NO_NETWORK)) => {
            return Some(
                "the sandbox closes the network to a server without the effect `network`: install the server first, \
                 so that it starts without network"
                    .to_owned(),
            );
        }
        (None, None, []) => return None,
        (None, Some(_), []) => "a path".to_owned(),
        (None, _, [_, ..]) => {
            let more = writes.len().saturating_sub(MAX_DENIED);
            let paths: Vec<String> = writes.iter().take(MAX_DENIED).map(|path| shown(path)).collect();
            let more = if more == 0 { String::new() } else { format!(" and {more} more paths") };
            format!("{}{more}", paths.join(", "))
        }
    };
    Some(format!(
        "the sandbox denied access to {paths}: `write_paths` of the runtime `{runtime}` in \
         .brigade/tools/runtimes.toml opens directories that exist, `home = \"private\"` there gives the server a \
         home directory, and `read_paths` under [sandbox] in .brigade/tools/policy.toml opens files for reading"
    ))
}

/// Returns the first absolute path in quotes in a line, or the first one without quotes.
fn absolute_path(line: &str) -> Option<&str> {
    let before = |at: usize| line[..at].chars().next_back();
    let starts = || line.match_indices('/').map(|(at, _)| at);
    let is_start = |at: &usize| before(*at).is_none_or(|c| c.is_whitespace() || "'\"`([=:".contains(c));
    let is_quoted = |at: &usize| before(*at).is_some_and(|c| "'\"`".contains(c));
    let start = starts().find(is_quoted).or_else(|| starts().find(is_start))?;
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
            Silence::NotStarted(_) => ErrorCode::CallBlocked,
            Silence::LoginRequired(_) => ErrorCode::LoginRequired,
            Silence::Failed(_) => ErrorCode::RunFailed,
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
            ("/opt/bin/python3: can't open file '/srv/x.py': [Errno 13] Permission denied", "`/srv/x.py`"),
            ("mkdir: cannot create directory /srv/x: Read-only file system", "`/srv/x`"),
            ("open failed: operation not permitted", "a path"),
        ] {
            let output = denied_by_sandbox(printed, &[], "up").unwrap();
            assert!(
                output.contains(&format!("access to {path}: `write_paths` of the runtime `up`")),
                "{output}"
            );
        }
        assert!(denied_by_sandbox("getaddrinfo EAI_AGAIN registry", &[], "up").unwrap().contains("network"));
        assert_eq!(denied_by_sandbox("SyntaxError: /x/y.py", &[], "up"), None);
        // A server need not say it in words that are known.
        let denial = |path: &str, what| ObservedDenial { path: path.into(), what };
        let denied = [
            denial("data/x.db", Attempt::Write),
            denial("lib/__pycache__/a.pyc", Attempt::Write),
            denial("/dev/tty", Attempt::Write),
            denial("/root/.npmrc", Attempt::Read),
            denial("data/x.db", Attempt::Create),
        ];
        let output =
            denied_by_sandbox("unable to open database file", &denied_writes(&denied), "up").unwrap();
        assert!(output.contains("access to `data/x.db`: `write_paths`"), "{output}");
    }

    #[test]
    fn a_long_output_keeps_its_beginning_and_end() {
        let mut errors = PrintedErrors::default();
        errors.push(b"Traceback (most recent call last):\n");
        for number in 0..2_000 {
            errors.push(format!("  File \"{number}.py\"\n").as_bytes());
        }
        errors.push(b"ValueError: no such table\n");
        let text = errors.text();
        assert!(text.len() <= 2 * ERRORS && text.lines().all(|line| line.ends_with(['"', ':', 'e'])));
        let shown = beginning_and_end(&text);
        assert!(shown.starts_with("Traceback") && shown.ends_with("ValueError: no such table"), "{shown}");
        assert_eq!(beginning_and_end("a\nb"), "a b");
    }
}
