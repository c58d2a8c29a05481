//! One run from the last check to the receipt.

use std::path::Path;

use brigade_call::{CallStatus, Checkpoint, Receipt, VerifiedCall};
use brigade_core::redact::{Redactor, SecretValue};
use brigade_core::{Clock, Fingerprint, Json, RunId, Timestamp};
use brigade_fs::{Fs, FsError, RelPath, WriteFile};
use brigade_process::{CancelToken, Control, Input, Limits, Outcome, RunError, Spec, Stream, run};

use crate::confinement::{self, RunFolders};
use crate::dropped::{DroppedFile, Owner, read_dropped};
use crate::environment::{HostEnvironment, child_environment};
use crate::output::{Channel, Output};
use crate::program::OpenedProgram;
use crate::receipt::{ReceiptParts, RunPaths, exit_code, receipt};

/// The largest file of a checkpoint that is read.
const CHECKPOINT_LIMIT: u64 = 1 << 20;

/// Everything that a run needs besides the call.
pub struct Execution<'a> {
    /// The call; only [`verify`](brigade_call::verify) makes one.
    pub call: &'a VerifiedCall,
    /// The run, as the call was claimed for it.
    pub run_id: &'a RunId,
    /// When the call was claimed.
    pub started_at: Timestamp,
    /// The program, open since its bytes were compared with the approval.
    pub program: &'a OpenedProgram,
    /// The workspace.
    pub fs: &'a dyn Fs,
    /// The folder that the program starts in.
    pub directory: &'a Path,
    /// The variables of this process.
    pub environment: &'a HostEnvironment,
    /// Where the run's files are.
    pub paths: RunPaths,
    /// The folder that the script drops checkpoints into; it exists and is empty.
    pub checkpoint_dir: &'a RelPath,
    /// Ends the run early.
    pub cancel: Option<CancelToken>,
    /// The present.
    pub clock: &'a dyn Clock,
}

/// The open logs of a run.
pub struct Logs {
    /// Takes what the program writes to standard output.
    pub stdout: Box<dyn WriteFile>,
    /// Takes what the program writes to standard error.
    pub stderr: Box<dyn WriteFile>,
}

/// What came of a run.
#[derive(Debug)]
pub struct Finished {
    /// Where the call stands now.
    pub status: CallStatus,
    /// The receipt.
    pub receipt: Receipt,
    /// The checkpoints that the script asked for, in the order of their creation.
    pub checkpoints: Vec<Checkpoint>,
    /// When it ended.
    pub completed_at: Timestamp,
    /// The exit code; negative for a signal.
    pub exit_code: Option<i64>,
    /// Whether the timeout ended it.
    pub timed_out: bool,
    /// Why it failed, when not by its exit code.
    pub failure: Option<String>,
}

/// Runs the call. Never fails: whatever goes wrong is in the receipt.
///
/// Immediately before the program is started, the open program and every workspace file that the command names are compared
/// with the approval once more.
pub fn execute(execution: &Execution<'_>, logs: Logs) -> Finished {
    let secrets = bound_secrets(execution);
    let redactor = Redactor::new(&secrets);
    let mut output =
        Output { stdout: Channel::new(logs.stdout, &secrets), stderr: Channel::new(logs.stderr, &secrets) };
    let mut failures: Vec<String> = Vec::new();
    let (outcome, sandbox) = match start(execution, &mut output) {
        Ok((outcome, sandbox, problem)) => {
            failures.extend(problem);
            (Some(outcome), sandbox)
        }
        Err(problem) => {
            failures.push(problem);
            (None, Json::Null)
        }
    };
    let completed_at = execution.clock.now();
    let mut finish = |channel: Channel| {
        channel.finish().unwrap_or_else(|error| {
            failures.push(format!("the log could not be written: {error}"));
            crate::output::Summary { text: String::new(), omitted: 0 }
        })
    };
    let stdout = finish(output.stdout);
    let stderr = finish(output.stderr);
    let owner = Owner {
        tool_id: &execution.call.call().tool_id,
        call_id: execution.call.id().as_str(),
        run_id: execution.run_id,
        completed_at,
    };
    let (checkpoints, broken) = match dropped_files(execution) {
        Ok(files) => read_dropped(files, &owner, &redactor),
        Err(error) => {
            failures.push(format!("the checkpoints could not be read: {error}"));
            (Vec::new(), Vec::new())
        }
    };
    failures.extend(broken.iter().map(ToString::to_string));
    let failure = (!failures.is_empty()).then(|| failures.join("; "));
    let status = status(outcome.as_ref(), failure.as_deref(), &checkpoints);
    let checkpoints = if status == CallStatus::Waiting { checkpoints } else { Vec::new() };
    let receipt = receipt(&ReceiptParts {
        call: execution.call,
        run_id: execution.run_id,
        status: status.as_str(),
        started_at: execution.started_at,
        completed_at,
        outcome: outcome.as_ref(),
        failure: failure.as_deref(),
        stdout: &stdout,
        stderr: &stderr,
        paths: &execution.paths,
        directory: &shown_directory(execution),
        sandbox,
        runtime: execution.call.runtime().clone(),
        bound_labels: execution.environment.bound(execution.call).into_keys().collect(),
        redactor: &redactor,
    });
    Finished {
        status,
        receipt,
        checkpoints,
        completed_at,
        exit_code: exit_code(outcome.as_ref()),
        timed_out: outcome.as_ref().is_some_and(Outcome::timed_out),
        failure,
    }
}

fn bound_secrets(execution: &Execution<'_>) -> Vec<SecretValue> {
    let bound = execution.environment.bound(execution.call);
    bound.values().map(|value| SecretValue::new(value.as_encoded_bytes())).collect()
}

/// Checks once more, starts the program and waits for its tree. The last part says what ended it early.
fn start(execution: &Execution<'_>, output: &mut Output) -> Result<(Outcome, Json, Option<String>), String> {
    let decision = execution.call.decision();
    let temporary = tempfile::Builder::new()
        .prefix("brigade-run-")
        .tempdir()
        .map_err(|error| format!("no private temporary folder: {error}"))?;
    let checkpoints = execution.fs.root().join(execution.checkpoint_dir.as_path());
    let folders = RunFolders {
        workspace: execution.fs.root(),
        temporary: temporary.path(),
        checkpoints: &checkpoints,
        home: execution.environment.get("HOME").map(Path::new),
    };
    let profile = confinement::profile(decision, execution.program.path(), &folders);
    let limits = decision.limits;
    let mut spec = Spec::new(execution.program.program().clone(), execution.directory);
    spec.argv = execution.call.argv().words().iter().map(Into::into).collect();
    spec.environment = child_environment(
        execution.environment,
        execution.call,
        execution.run_id,
        temporary.path(),
        &checkpoints,
    );
    spec.stdin = Input::Null;
    spec.limits = Limits {
        processes: limits.processes,
        memory: limits.memory,
        file_size: limits.file_size,
        open_files: limits.open_files,
    };
    spec.sandbox.clone_from(&profile);
    let control = Control {
        timeout: Some(decision.effective_timeout.duration()),
        cancel: execution.cancel.clone(),
        output_cap: decision.max_output_bytes,
        ..Control::default()
    };
    check_again(execution)?;
    let mut sink = |stream: Stream, bytes: &[u8]| output.write(stream, bytes);
    let (outcome, problem) = match run(&spec, &mut sink, &control) {
        Ok(outcome) => {
            let problem = outcome.cancelled().then(|| "the run was interrupted".to_owned());
            (outcome, problem)
        }
        Err(RunError::Sink { source, outcome }) => {
            (*outcome, Some(format!("the log could not be written: {source}")))
        }
        Err(error) => return Err(error.to_string()),
    };
    let sandbox = confinement::to_json(profile.as_ref(), outcome.enforcement.as_ref(), execution.fs.root());
    Ok((outcome, sandbox, problem))
}

/// Compares the bytes of the open program and of the named files with the approval.
fn check_again(execution: &Execution<'_>) -> Result<(), String> {
    let binding = execution.call.binding();
    let program = binding.program.as_ref().map(|program| program.sha256);
    if program != Some(execution.program.fingerprint()) || !execution.program.is_unchanged() {
        return Err("not started: program bytes changed since the call was approved".to_owned());
    }
    for (path, approved) in &binding.files {
        let now = hash(execution.fs, path).map_err(|error| format!("not started: {error}"))?;
        if now != *approved {
            return Err(format!("not started: file {path} changed since the call was approved"));
        }
    }
    Ok(())
}

fn hash(fs: &dyn Fs, path: &str) -> Result<Fingerprint, String> {
    let path: RelPath = path.parse().map_err(|error: brigade_fs::InvalidPath| error.to_string())?;
    fs.open(&path).and_then(|file| brigade_fs::fingerprint(&*file)).map_err(|error| error.to_string())
}

fn dropped_files(execution: &Execution<'_>) -> Result<Vec<DroppedFile>, FsError> {
    let entries = match execution.fs.list_dir(execution.checkpoint_dir) {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries.into_iter().filter(|entry| entry.name.ends_with(".json")) {
        let bytes = match (entry.kind, execution.checkpoint_dir.join(&entry.name)) {
            (brigade_fs::FileKind::File, Ok(path)) => {
                execution.fs.read(&path, CHECKPOINT_LIMIT).map_err(|error| error.to_string())
            }
            _ => Err("not a regular file".to_owned()),
        };
        files.push(DroppedFile { name: entry.name, bytes });
    }
    Ok(files)
}

fn status(outcome: Option<&Outcome>, failure: Option<&str>, checkpoints: &[Checkpoint]) -> CallStatus {
    match outcome {
        Some(outcome) if outcome.timed_out() => CallStatus::TimedOut,
        Some(outcome) if outcome.cancelled() => CallStatus::Interrupted,
        Some(_) if failure.is_none() && !checkpoints.is_empty() => CallStatus::Waiting,
        Some(outcome) if failure.is_none() && outcome.exit.success() => CallStatus::Completed,
        _ => CallStatus::Failed,
    }
}

fn shown_directory(execution: &Execution<'_>) -> String {
    match execution.directory.strip_prefix(execution.fs.root()) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => execution.directory.display().to_string(),
    }
}
