//! The end of a run: its logs, its checkpoints, how it ended and why. All of it goes into the receipt.

use std::path::Path;

use brigade_call::{Binding, Checkpoint, Receipt, RunStatus};
use brigade_core::Timestamp;
use brigade_core::text::escape_terminal;
use brigade_policy::CallKind;
use brigade_process::{Exit, Outcome};
use brigade_redact::Redactor;

use crate::confinement;
use crate::dropped_checkpoints::{DroppedFiles, Owner, list_dropped, read_dropped};
use crate::execute::{Execution, PeerAnswer, ProgramResult, RunResult};
use crate::observed::{ObservedRun, denials, other_bytes, refused_writes};
use crate::output::{Channel, Output, Summary};
use crate::postcondition::{EndedRun, PostconditionResult};
use crate::receipt::{ReceiptParts, exit_code, receipt};

/// The warning about a limit that the kernel does not apply.
const UNCOUNTED: &str =
    "`processes` of [limits] had no effect: the kernel does not count the processes of root";

/// The number of refused writes in the warnings of a receipt.
const MAX_REFUSED_WRITES: usize = 5;

/// A run that is over.
pub(crate) struct Ending<'e> {
    execution: &'e Execution<'e>,
    redactor: &'e Redactor,
    program: ProgramResult,
    completed_at: Timestamp,
    stdout: Summary,
    stderr: Summary,
    checkpoints: Vec<Checkpoint>,
    status: RunStatus,
    failure: Option<String>,
    warnings: Vec<String>,
}

impl<'e> Ending<'e> {
    /// Closes the logs of a run, reads its checkpoints, and decides how it ended.
    pub(crate) fn new(
        execution: &'e Execution<'e>,
        mut program: ProgramResult,
        output: Output<'_>,
        redactor: &'e Redactor,
    ) -> Ending<'e> {
        let completed_at = execution.clock.now();
        let mut failures: Vec<String> = Vec::new();
        failures.extend(program.problem.take());
        failures.extend(program.outcome.as_ref().filter(|_| program.answer.is_none()).and_then(unknown_end));
        let stdout = close(output.stdout, &mut failures);
        let stderr = close(output.stderr, &mut failures);
        let (checkpoints, mut warnings) = read_checkpoints(execution, completed_at, redactor, &mut failures);
        warnings.extend(program.left.take().map(|path| {
            let path = path.display().to_string();
            format!("the temporary directory of the run could not be removed: {}", escape_terminal(&path))
        }));
        let is_of_root =
            program.outcome.is_some() && confinement::limits(execution.call.decision()).is_without_effect();
        warnings.extend(is_of_root.then(|| UNCOUNTED.to_owned()));
        // Names of dropped files come from the program and may have any content.
        let failure = (!failures.is_empty()).then(|| redactor.redact_str(&failures.join("; ")));
        let status = match program.builtin {
            Some(_) if failure.is_none() => RunStatus::Completed,
            Some(_) => RunStatus::Failed,
            None => status(execution, &program, failure.as_deref(), &checkpoints),
        };
        let checkpoints = if status == RunStatus::Waiting { checkpoints } else { Vec::new() };
        let mut ending = Ending {
            execution,
            redactor,
            program,
            completed_at,
            stdout,
            stderr,
            checkpoints,
            status,
            failure,
            warnings,
        };
        ending.explain_refused_writes();
        ending.explain_observed();
        ending
    }

    /// Adds the writes that the sandbox refused to the failure of the run, which they may have caused.
    fn explain_refused_writes(&mut self) {
        let ProgramResult { observed: Some(observed), sandbox: Some(sandbox), .. } = &self.program else {
            return;
        };
        if !self.has_failed() {
            return;
        }
        let refused = refused_writes(observed, sandbox, &self.execution.call.call().tool_id);
        if let (Some(first), RunStatus::Failed) = (refused.first(), &self.status) {
            let why = self.failure.take().unwrap_or_else(|| match exit_code(self.program.outcome.as_ref()) {
                Some(code) => format!("the program ended with exit code {code}"),
                None => "the run failed".to_owned(),
            });
            let more = match refused.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            self.failure = Some(self.redactor.redact_str(&format!("{why}; {first}{more}")));
        }
        let refused = refused.iter().take(MAX_REFUSED_WRITES);
        self.warnings.extend(refused.map(|refused| self.redactor.redact_str(refused)));
    }

    /// Returns whether the run failed, so that a refused write may be the reason. Installations have other messages.
    fn has_failed(&self) -> bool {
        let call = self.execution.call;
        let command_failed =
            || call.plan().runs_command() && exit_code(self.program.outcome.as_ref()) != Some(0);
        call.call().kind() != CallKind::Install && (self.status == RunStatus::Failed || command_failed())
    }

    /// Warns about what a closed workspace kept from the run, and about files that changed while it ran.
    fn explain_observed(&mut self) {
        let Some(observed) = &self.program.observed else { return };
        let execution = self.execution;
        let Binding { files, program, .. } = execution.call.binding();
        let ran = ObservedRun {
            tool: &execution.call.call().tool_id,
            files,
            data: execution.call.plan().data(),
            completed: self.status == RunStatus::Completed,
        };
        let sandbox = self.program.sandbox.as_ref();
        self.warnings.extend(denials(execution.fs, observed, sandbox, ran, execution.speller));
        let program = program.as_ref().map(|program| (program.path.as_str(), program.sha256));
        self.warnings.extend(other_bytes(files, program, observed));
    }

    /// Checks the postcondition of the run, and writes the receipt.
    pub(crate) fn finish(mut self, complete: impl FnOnce(Receipt, &Redactor) -> Receipt) -> RunResult {
        let checked = self.check_postcondition();
        if checked.failure.is_some() {
            self.status = RunStatus::Failed;
        }
        self.warnings.extend(checked.warning.clone());
        tracing::debug!(
            status = self.status.as_str(),
            checkpoints = self.checkpoints.len(),
            "the run has ended, and its receipt is made"
        );
        let Ending {
            execution, redactor, program, completed_at, stdout, stderr, checkpoints, status, ..
        } = self;
        let failure = checked.failure.clone().or_else(|| self.failure.clone());
        let exit_code = exit_code(program.outcome.as_ref());
        let timed_out = program.outcome.as_ref().is_some_and(Outcome::timed_out);
        let receipt = receipt(ReceiptParts {
            call: execution.call,
            run_id: execution.run_id,
            status: status.clone(),
            started_at: execution.started_at,
            completed_at,
            outcome: program.outcome.as_ref(),
            builtin: program.builtin,
            failure: self.failure.as_deref(),
            checked,
            warnings: &self.warnings,
            stdout: &stdout,
            stderr: &stderr,
            paths: &execution.paths,
            directory: &shown_directory(execution),
            sandbox: program.sandbox,
            observed: program.observed,
            bound_labels: execution.environment.bound(execution.call).into_keys().collect(),
            redactor,
        });
        let receipt = complete(receipt, redactor);
        let warnings = self.warnings;
        RunResult { status, receipt, checkpoints, completed_at, exit_code, timed_out, failure, warnings }
    }

    fn check_postcondition(&self) -> PostconditionResult {
        let Some(postcondition) = self.execution.postcondition else { return PostconditionResult::default() };
        postcondition.check(&EndedRun {
            call: self.execution.call,
            status: &self.status,
            outcome: self.program.outcome.as_ref(),
            paths: &self.execution.paths,
            sandbox: self.program.sandbox.as_ref(),
            observed: self.program.observed.as_ref(),
            redactor: self.redactor,
        })
    }
}

/// Closes a log, and returns its summary.
fn close(channel: Channel, failures: &mut Vec<String>) -> Summary {
    channel.finish().unwrap_or_else(|error| {
        failures.push(format!("the log could not be written: {error}"));
        Summary::unknown()
    })
}

/// Reads the checkpoints that a script dropped. Returns warnings, too.
fn read_checkpoints(
    execution: &Execution<'_>,
    completed_at: Timestamp,
    redactor: &Redactor,
    failures: &mut Vec<String>,
) -> (Vec<Checkpoint>, Vec<String>) {
    let mut warnings: Vec<String> = Vec::new();
    let DroppedFiles { files, left_out, beyond } = match list_dropped(execution.fs, execution.checkpoint_dir)
    {
        Ok(dropped) => dropped,
        Err(error) => {
            failures.push(format!("the checkpoints could not be read: {error}"));
            return (Vec::new(), warnings);
        }
    };
    if 0 < beyond {
        warnings.push(format!(
            "{beyond} checkpoint files were not read: a run leaves at most 256 of them, with 4 MiB in all"
        ));
    }
    warnings.extend(left_out.iter().map(|name| {
        let name = escape_terminal(name);
        // Names of dropped files come from the program and may have any content.
        redactor.redact_str(&format!(
            "checkpoint file {name}: its name does not end in `.json`, so it is left out"
        ))
    }));
    let owner = Owner {
        tool_id: &execution.call.call().tool_id,
        call_id: execution.call.id(),
        run_id: execution.run_id,
        completed_at,
    };
    let (checkpoints, broken) = read_dropped(files, &owner, &redactor.for_output());
    failures.extend(broken.iter().map(ToString::to_string));
    (checkpoints, warnings)
}

/// Says why it is not known how a program ended.
fn unknown_end(outcome: &Outcome) -> Option<String> {
    let is_unknown = outcome.exit == Exit::Unknown && !outcome.timed_out() && !outcome.cancelled();
    is_unknown.then(|| "the process that supervises the run was killed, and the program with it".to_owned())
}

fn status(
    execution: &Execution<'_>,
    program: &ProgramResult,
    failure: Option<&str>,
    checkpoints: &[Checkpoint],
) -> RunStatus {
    // A program that answered has succeeded, independent of its exit.
    let succeeded = |outcome: &Outcome| match program.answer {
        Some(answer) => answer == PeerAnswer::Yes,
        // How a command ended is what was asked for.
        None => execution.call.plan().runs_command() || outcome.exit.success(),
    };
    match &program.outcome {
        Some(outcome) if outcome.timed_out() => RunStatus::TimedOut,
        Some(outcome) if outcome.cancelled() => RunStatus::Interrupted,
        Some(_) if failure.is_none() && !checkpoints.is_empty() => RunStatus::Waiting,
        Some(outcome) if failure.is_none() && succeeded(outcome) => RunStatus::Completed,
        None if program.answer.is_none() && execution.interruption().is_some() => RunStatus::Interrupted,
        _ => RunStatus::Failed,
    }
}

fn shown_directory(execution: &Execution<'_>) -> String {
    match execution.directory.strip_prefix(execution.fs.root()) {
        Ok(inside) if inside == Path::new("") => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => execution.directory.display().to_string(),
    }
}
