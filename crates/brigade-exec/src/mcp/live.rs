//! Asking a server for its tools outside of any call: to describe them, to import them, to pin them at an approval.

use std::path::Path;
use std::time::Duration;

use brigade_policy::Decision;
use brigade_process::{CancelToken, Control, PrivateFolder, Sink, Spec};
use brigade_redact::{Redactor, SecretValue};

use super::exchange::{Exchange, McpErrorKind, McpFault};
use super::session::list_tools;
use crate::confinement::{self, RunFolders};
use crate::environment::{HostEnvironment, decided_environment};
use crate::program::{OpenedProgram, is_program, programs_of};

/// A server that is not called, only asked.
pub struct LiveServer<'a> {
    /// The words of its command line, program first.
    pub argv: &'a [String],
    /// Its program.
    pub program: &'a OpenedProgram,
    /// The folder that it starts in.
    pub directory: &'a Path,
    /// The workspace.
    pub workspace: &'a Path,
    /// What the policy decides for a call of its tool; it holds for the server, too.
    pub decision: &'a Decision,
    /// The variables of this process.
    pub environment: &'a HostEnvironment,
    /// The longest that it may take to list its tools; the decision's timeout when that is shorter.
    pub timeout: Duration,
    /// Ends it early.
    pub cancel: Option<CancelToken>,
}

/// Starts a server as a call would start it, asks for its tools, and ends it. Calls nothing.
///
/// The environment, the sandbox and the limits are those of a call. Refuses what the policy blocks. The sink gets what the
/// server writes, secrets included.
pub fn list_live(server: &LiveServer<'_>, sink: &mut dyn Sink) -> Exchange {
    let decision = server.decision;
    if let Some(blocker) = decision.blockers.first() {
        return refused(format!("not started: {}", blocker.message));
    }
    let temporary = match PrivateFolder::create() {
        Ok(temporary) => temporary,
        Err(error) => return refused(format!("no private temporary folder: {error}")),
    };
    let folders = RunFolders {
        workspace: server.workspace,
        temporary: temporary.path(),
        checkpoints: temporary.path(),
        home: server.environment.get("HOME").map(Path::new),
    };
    let mut spec = Spec::new(server.program.program().clone(), server.directory);
    spec.argv = server.argv.iter().map(Into::into).collect();
    let variables = decided_environment(server.environment, decision, temporary.path());
    spec.environment = variables.into_iter().collect();
    spec.limits = confinement::limits(decision);
    spec.private = Some(temporary.disposal());
    let path_variable = server.environment.get("PATH");
    let programs =
        programs_of(server.program.path(), server.argv, server.directory, path_variable, is_program);
    let confinement = confinement::confine(decision, &programs, &folders);
    spec.sandbox = confinement.map(|confinement| confinement.profile);
    let control = Control {
        timeout: Some(server.timeout.min(decision.effective_timeout.duration())),
        cancel: server.cancel.clone(),
        output_cap: decision.max_output_bytes,
        ..Control::default()
    };
    let bound = server.environment.bound_by(decision);
    let secrets: Vec<SecretValue> =
        bound.values().map(|value| SecretValue::new(value.as_encoded_bytes())).collect();
    list_tools(&spec, sink, &control, &Redactor::new(&secrets))
}

fn refused(message: String) -> Exchange {
    Exchange { fault: Some(McpFault { kind: McpErrorKind::NotStarted, message }), ..Exchange::default() }
}
