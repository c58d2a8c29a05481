//! Runs a verified start to its end: programs that a person approved with more than one call.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brigade_call::{SandboxUsed, VerifiedStart};
use brigade_process::{Control, Input, Outcome, PrivateFolder, RunError, Sink, Spec, run};
use brigade_redact::SecretValue;

use crate::confinement::{self, RunFolders, WorkFolder};
use crate::environment::{HostEnvironment, decided_environment};
use crate::program::OpenedProgram;

/// A program to run to its end.
pub struct ProgramRun<'a> {
    /// The verified start, which the policy has decided on.
    pub start: &'a VerifiedStart,
    /// The program, open since its bytes were read.
    pub program: &'a OpenedProgram,
    /// The workspace root.
    pub workspace: &'a Path,
    /// The separate directory in which the program works; `None` if it works in the workspace.
    pub work: Option<WorkFolder<'a>>,
    /// Files of the workspace that it may not write, although it may write the workspace.
    pub closed: &'a [PathBuf],
    /// The environment variables of this process.
    pub environment: &'a HostEnvironment,
    /// Variables that describe the start.
    pub variables: Vec<(OsString, OsString)>,
    /// The private directory of the run, which is its `TMPDIR`.
    pub temporary: &'a PrivateFolder,
    /// Its standard input.
    pub input: Input,
    /// A locked file that stays open until everything of it has ended, also if this process was killed.
    pub held: Option<Arc<File>>,
}

/// How a start ended.
#[derive(Debug)]
pub struct EndedStart {
    /// How the program ended; `None` if it was not started.
    pub outcome: Option<Outcome>,
    /// How it was confined.
    pub sandbox: SandboxUsed,
    /// Why it was not started, or ended early.
    pub problem: Option<String>,
}

impl ProgramRun<'_> {
    /// Returns the values to mask in what it prints: `others`, and those of its labels.
    pub fn secrets(&self, others: &[SecretValue]) -> Vec<SecretValue> {
        match self.start.decision() {
            Some(decision) => self.environment.secrets(others, decision),
            None => others.to_vec(),
        }
    }
}

/// Runs a program and waits for everything that it started.
///
/// Environment, sandbox and limits follow the policy decision. Nothing starts without one, or if the program differs
/// from the verified one. The sink gets the raw output, including secrets. The caller chooses the limits of time and
/// output.
pub fn run_started(started: &ProgramRun<'_>, sink: &mut dyn Sink, control: &Control) -> EndedStart {
    let start = started.start;
    let _span = tracing::debug_span!("start", purpose = ?start.purpose()).entered();
    let refused = |problem: &str| EndedStart {
        outcome: None,
        sandbox: confinement::used(None, None, started.workspace),
        problem: Some(format!("not started: {problem}")),
    };
    let Some(decision) = start.decision() else { return refused("the policy did not decide on it") };
    if start.sha256() != Some(started.program.fingerprint()) || !started.program.is_unchanged() {
        return refused("the program changed since it was verified");
    }
    let folders = RunFolders {
        workspace: started.workspace,
        repository: None,
        temporary: started.temporary.path(),
        checkpoints: started.temporary.path(),
        host: started.environment,
        private_home: None,
        work: started.work,
        closed: started.closed,
        opened: None,
    };
    let confinement = confinement::confine(decision, &folders, None);
    let mut spec = Spec::new(started.program.program().clone(), start.directory());
    spec.argv = start.argv().words().iter().map(Into::into).collect();
    let mut variables = decided_environment(started.environment, decision, started.temporary.path(), None);
    variables.extend(started.variables.iter().cloned());
    spec.environment = variables.into_iter().collect();
    spec.stdin = started.input.clone();
    spec.limits = confinement::limits(decision);
    spec.private = Some(started.temporary.disposal());
    spec.held = started.held.clone();
    spec.sandbox = confinement.as_ref().map(|confinement| confinement.profile.clone());
    let (outcome, problem) = match run(&spec, sink, control) {
        Ok(outcome) => (Some(outcome), None),
        Err(RunError::Sink { source, outcome }) => {
            (Some(*outcome), Some(format!("the log could not be written: {source}")))
        }
        Err(error) => (None, Some(error.to_string())),
    };
    let enforcement = outcome.as_ref().and_then(|outcome| outcome.enforcement.as_ref());
    let sandbox = confinement::used(confinement.as_ref(), enforcement, started.workspace);
    EndedStart { outcome, sandbox, problem }
}
