//! Talks to a program outside of a call.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use brigade_call::{StartPurpose, VerifiedStart};
use brigade_policy::{Observe, SandboxMode};
use brigade_process::{CancelToken, Control, Sink, Spec};
use brigade_redact::{Redactor, SecretValue};

use crate::confinement::{self, confine_start, private_home};
use crate::environment::{HostEnvironment, decided_environment};
use crate::peer::{ConversationResult, Peer};
use crate::program::OpenedProgram;

/// A program to talk to outside of a call.
pub struct Conversation<'a> {
    /// The verified start; only [`plan_start`](brigade_call::plan_start) makes one.
    pub start: &'a VerifiedStart,
    /// The program, open since its bytes were read.
    pub program: &'a OpenedProgram,
    /// The workspace root.
    pub workspace: &'a Path,
    /// The environment variables of this process.
    pub environment: &'a HostEnvironment,
    /// Values to mask, in addition to those of the tool's labels.
    pub secrets: &'a [SecretValue],
    /// The maximum duration; a shorter timeout in the decision counts instead.
    pub timeout: Duration,
    /// Cancels it.
    pub cancel: Option<CancelToken>,
}

/// The variables that a check inherits.
const CHECK_VARIABLES: [&str; 2] = ["PATH", "HOME"];

/// Starts a program like a call, and lets the peer talk to it.
///
/// Environment, sandbox and limits follow the policy decision, as in a call; a check inherits only `PATH` and `HOME`.
/// Nothing starts without a decision, or if
/// the program differs from the verified one. The sink gets the raw output of the program, including secrets.
pub fn talk(talk: &Conversation<'_>, sink: &mut dyn Sink, peer: &mut dyn Peer) -> ConversationResult {
    let start = talk.start;
    let _span = tracing::debug_span!("talk", purpose = ?start.purpose()).entered();
    let Some(decision) = start.decision() else {
        return refused("not started: the policy did not decide on it".to_owned());
    };
    if start.sha256() != Some(talk.program.fingerprint()) || !talk.program.is_unchanged() {
        return refused("not started: the program changed since it was verified".to_owned());
    }
    let private_home = match private_home(decision, talk.workspace) {
        Ok(made) => made,
        Err(error) => return refused(error),
    };
    let made = confine_start(decision, talk.workspace, talk.environment, private_home.as_deref());
    let (temporary, sandbox) = match made {
        Ok(made) => made,
        Err(error) => return refused(format!("no private temporary directory: {error}")),
    };
    let mut spec = Spec::new(talk.program.program().clone(), start.directory());
    spec.argv = start.argv().words().iter().map(Into::into).collect();
    let inherited = match start.purpose() {
        StartPurpose::Check => Cow::Owned(talk.environment.only(&CHECK_VARIABLES)),
        _ => Cow::Borrowed(talk.environment),
    };
    let variables = decided_environment(&inherited, decision, temporary.path(), private_home.as_deref());
    spec.environment = variables.into_iter().collect();
    spec.limits = confinement::limits(decision);
    spec.private = Some(temporary.disposal());
    spec.sandbox = sandbox;
    // What the sandbox denies explains why a program does not answer.
    let is_observed = start.purpose() != StartPurpose::Check
        && decision.sandbox.mode != SandboxMode::Off
        && decision.sandbox.observe != Observe::Never;
    spec.observe = is_observed.then(|| talk.workspace.to_owned());
    let control = Control {
        timeout: Some(talk.timeout.min(decision.effective_timeout.duration())),
        cancel: talk.cancel.clone(),
        output_cap: decision.max_output_bytes,
        ..Control::default()
    };
    let redactor = Redactor::new(&talk.environment.secrets(talk.secrets, decision));
    peer.speak(&spec, sink, &control, &redactor)
}

fn refused(problem: String) -> ConversationResult {
    ConversationResult { outcome: None, problem: Some(problem) }
}
