//! Asks MCP servers for their tool lists.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use brigade_call::{Objection, VerifiedStart};
use brigade_catalog::Tool;
use brigade_core::text::{escape_terminal, short};
use brigade_core::{Hint, NextStep, codes};
use brigade_exec::{Conversation, HostEnvironment, OpenedProgram};
use brigade_policy::ErrorLine;
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
        let said = Redactor::new(self.secrets).for_output().redact_str(&String::from_utf8_lossy(&errors));
        let said = short(&said, MAX_SHOWN_CHARS);
        Err(Silence::Failed(match escape_terminal(&said) {
            said if said.is_empty() => fault.message.clone(),
            said => format!("{}; it printed: {said}", fault.message),
        }))
    }
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
