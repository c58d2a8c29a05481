//! Asking the server of a tool for its list.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use brigade_call::{Objection, VerifiedStart};
use brigade_catalog::Tool;
use brigade_core::text::{escape_terminal, short};
use brigade_exec::{HostEnvironment, OpenedProgram, Talk};
use brigade_process::{CancelToken, Stream};
use brigade_redact::{Redactor, SecretValue};

use crate::exchange::Exchange;
use crate::peer::list_live;

/// The maximum time for listing tools. The policy or the tool can lower it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many bytes of a failed server's standard error are read.
const ERRORS: usize = 8 * 1024;

/// How many characters of them are shown.
const SHOWN: usize = 300;

/// What asking needs of the host.
pub struct Asking<'a> {
    /// The workspace.
    pub workspace: &'a Path,
    /// The variables of this process.
    pub environment: &'a HostEnvironment,
    /// Values that are not shown.
    pub secrets: &'a [SecretValue],
    /// What ends it early.
    pub cancel: Option<CancelToken>,
}

impl Asking<'_> {
    /// Starts the server of a tool, asks it for its tools, and ends it. It gets as long as the tool says, at most 30 s.
    ///
    /// # Errors
    /// Why it did not answer, with the end of what it printed to standard error.
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
        let timeout = tool.timeout.map_or(PATIENCE, |timeout| timeout.duration().min(PATIENCE));
        let server = Talk {
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
        let said = Redactor::new(self.secrets).redact_str(&String::from_utf8_lossy(&errors));
        let said = short(&said, SHOWN);
        Err(Silence::Failed(match escape_terminal(&said) {
            said if said.is_empty() => fault.message.clone(),
            said => format!("{}; it printed: {said}", fault.message),
        }))
    }
}

/// Why a server gave no list.
#[derive(Clone, Debug)]
pub enum Silence {
    /// The checks refused the start.
    NotStarted(Vec<Objection>),
    /// The start failed, or the server did not answer.
    Failed(String),
}

impl Silence {
    /// Tells whether the policy is one of the reasons.
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
            Silence::Failed(why) => f.write_str(why),
        }
    }
}
