//! One run, from the last check to the receipt.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brigade_call::{Binding, Checkpoint, Receipt, RunObserved, RunStatus, SandboxUsed, VerifiedCall};
use brigade_core::text::escape_terminal;
use brigade_core::{Clock, RunId, StepFormatter, Timestamp};
use brigade_fs::{Fs, RelPath, WriteFile};
use brigade_policy::CallKind;
use brigade_process::{
    CancelToken, CapturedBytes, Control, Exit, Input, OpenedRepository, Outcome, PrivateFolder, Program,
    RunError, Sink, Spec, Stream, run, shared_git, without_links,
};
use brigade_redact::{Redactor, SecretValue};

use crate::closed::{ReadRules, closed, program_inside};
use crate::confinement::{self, RunFolders};
use crate::dropped::{DroppedFiles, Owner, list_dropped, read_dropped};
use crate::environment::{HostEnvironment, child_environment};
use crate::folder::file_fingerprint;
use crate::inside::{BuiltinLimits, BuiltinOutcome, BuiltinRun};
use crate::kept::StartSource;
use crate::observed::{ObservedRun, Watch, denials, observed, other_bytes, refused_writes};
use crate::output::{Channel, Output, Summary};
use crate::peer::{ConversationResult, KeptPeer, Peer};
use crate::program::OpenedProgram;
use crate::receipt::{ReceiptParts, RunPaths, exit_code, receipt};

/// The family of tools that need a peer.
pub(crate) const MCP: &str = "mcp";

/// What is said of a limit that the kernel does not apply.
const UNCOUNTED: &str =
    "`processes` of [limits] had no effect: the kernel does not count the processes of root";

/// How many refused writes are told.
const MAX_REFUSED_WRITES: usize = 5;

/// Everything that a run needs.
pub struct Execution<'a> {
    /// The verified call; only [`verify`](brigade_call::verify) makes one.
    pub call: &'a VerifiedCall,
    /// The run id in the claim of the call.
    pub run_id: &'a RunId,
    /// When the call was claimed.
    pub started_at: Timestamp,
    /// The program, open since its bytes were compared with the approval.
    /// None for a tool that is part of Brigade.
    pub program: Option<&'a OpenedProgram>,
    /// The workspace root.
    pub fs: &'a dyn Fs,
    /// The working directory of the program.
    pub directory: &'a Path,
    /// The environment variables of this process.
    pub environment: &'a HostEnvironment,
    /// Values to mask in addition to those of the call's labels: what the policy binds for other tools.
    pub secrets: &'a [SecretValue],
    /// The paths of the run's files.
    pub paths: RunPaths,
    /// Whether to observe the run.
    pub watch: &'a Watch,
    /// The checkpoint directory of the script. It exists and is empty.
    pub checkpoint_dir: &'a RelPath,
    /// Follows the run while it lasts.
    pub progress: Option<&'a dyn Progress>,
    /// Cancels the run.
    pub cancel: Option<CancelToken>,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Spells the next steps in warnings.
    pub speller: &'a dyn StepFormatter,
}

/// Follows runs while they last, for a face that shows them. One value may follow several runs, one after the other.
pub trait Progress: Send + Sync {
    /// A run starts.
    fn started(&self);

    /// The program printed this. Bound values are masked; other secrets are not, and the bytes may end in the middle of
    /// a character.
    fn printed(&self, bytes: &[u8]);

    /// The run is over, whether it was started or not.
    fn ended(&self);
}

/// The open logs of a run.
pub struct Logs {
    /// The log of standard output.
    pub stdout: Box<dyn WriteFile>,
    /// The log of standard error.
    pub stderr: Box<dyn WriteFile>,
}

/// The result of a run.
#[derive(Debug)]
pub struct RunResult {
    /// How the run ended.
    pub status: RunStatus,
    /// The receipt.
    pub receipt: Receipt,
    /// The checkpoints of the script, in order of creation.
    pub checkpoints: Vec<Checkpoint>,
    /// The time when the run ended.
    pub completed_at: Timestamp,
    /// The exit code; negative for a signal.
    pub exit_code: Option<i64>,
    /// Whether the timeout ended it.
    pub timed_out: bool,
    /// Why the run failed, if not by its exit code.
    pub failure: Option<String>,
    /// Warnings, as sentences.
    pub warnings: Vec<String>,
}

/// How a call is made.
pub enum Executor<'a> {
    /// The program is started, and waited for.
    Spawn,
    /// The program is started, and talked to until its end.
    Converse(&'a mut dyn Peer),
    /// The program runs already. It is asked, and goes on.
    Reuse(KeptProgram<'a>),
    /// There is no program: Brigade does what is asked.
    Builtin(&'a mut dyn BuiltinRun),
}

/// A program that runs already.
pub struct KeptProgram<'a> {
    /// Asks it.
    pub peer: &'a mut dyn KeptPeer,
    /// The bytes that it was started from.
    pub started_from: &'a StartSource,
    /// Tells what confines it, once it was asked.
    pub sandbox: &'a dyn Fn() -> SandboxUsed,
}

impl Executor<'_> {
    fn complete(&self, receipt: Receipt, redactor: &Redactor) -> Receipt {
        match self {
            Executor::Spawn => receipt,
            Executor::Converse(peer) => peer.complete(receipt, redactor),
            Executor::Reuse(kept) => kept.peer.complete(receipt, redactor),
            Executor::Builtin(inside) => inside.complete(receipt, redactor),
        }
    }
}

/// Runs the call. Never fails: errors are in the receipt.
///
/// Right before the start, the open program and every workspace file that the command names are compared with the
/// approval again. For a program that runs already, they are compared with what it was started from, right before it is
/// asked; files that did not move since are not read.
pub fn execute(execution: &Execution<'_>, logs: Logs, mut way: Executor<'_>) -> RunResult {
    let run = execution.run_id.as_str();
    let _span = tracing::debug_span!("run", run, call = execution.call.id().as_str()).entered();
    let secrets = execution.environment.secrets(execution.secrets, execution.call.decision());
    let redactor = Redactor::new(&secrets);
    let progress = execution.progress;
    let mut output = Output {
        stdout: Channel::new(logs.stdout, &secrets),
        stderr: Channel::new(logs.stderr, &secrets),
        progress,
    };
    let mut failures: Vec<String> = Vec::new();
    progress.inspect(|progress| progress.started());
    let ProgramResult { outcome, spoken, acted, sandbox, observed, left, problem } =
        start(execution, &mut output, &mut way, &redactor).unwrap_or_else(ProgramResult::failed);
    progress.inspect(|progress| progress.ended());
    failures.extend(problem);
    failures.extend(outcome.as_ref().filter(|_| spoken.is_none()).and_then(unknown_end));
    let completed_at = execution.clock.now();
    let mut finish = |channel: Channel| {
        channel.finish().unwrap_or_else(|error| {
            failures.push(format!("the log could not be written: {error}"));
            Summary::unknown()
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
    let mut warnings: Vec<String> = Vec::new();
    let (checkpoints, broken) = match list_dropped(execution.fs, execution.checkpoint_dir) {
        Ok(DroppedFiles { files, left_out, beyond }) => {
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
            read_dropped(files, &owner, &redactor.for_output())
        }
        Err(error) => {
            failures.push(format!("the checkpoints could not be read: {error}"));
            (Vec::new(), Vec::new())
        }
    };
    failures.extend(broken.iter().map(ToString::to_string));
    warnings.extend(left.map(|path| {
        let path = path.display().to_string();
        format!("the temporary directory of the run could not be removed: {}", escape_terminal(&path))
    }));
    let is_of_root = outcome.is_some() && confinement::limits(execution.call.decision()).is_without_effect();
    warnings.extend(is_of_root.then(|| UNCOUNTED.to_owned()));
    // Names of dropped files come from the program and may have any content.
    let mut failure = (!failures.is_empty()).then(|| redactor.redact_str(&failures.join("; ")));
    let status = match acted {
        Some(_) if failure.is_none() => RunStatus::Completed,
        Some(_) => RunStatus::Failed,
        None => status(execution, outcome.as_ref(), spoken, failure.as_deref(), &checkpoints),
    };
    if let (Some(observed), Some(sandbox)) = (&observed, &sandbox)
        && has_failed(execution, &status, outcome.as_ref())
    {
        let refused = refused_writes(observed, sandbox, &execution.call.call().tool_id);
        if let (Some(first), RunStatus::Failed) = (refused.first(), &status) {
            let why = failure.take().unwrap_or_else(|| match exit_code(outcome.as_ref()) {
                Some(code) => format!("the program ended with exit code {code}"),
                None => "the run failed".to_owned(),
            });
            let more = match refused.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            failure = Some(redactor.redact_str(&format!("{why}; {first}{more}")));
        }
        warnings.extend(refused.iter().take(MAX_REFUSED_WRITES).map(|said| redactor.redact_str(said)));
    }
    if let Some(observed) = &observed {
        let Binding { files, program, .. } = execution.call.binding();
        let tool = &execution.call.call().tool_id;
        let completed = status == RunStatus::Completed;
        let data = execution.call.plan().data();
        let ran = ObservedRun { tool, files, data, completed };
        warnings.extend(denials(execution.fs, observed, sandbox.as_ref(), ran, execution.speller));
        let program = program.as_ref().map(|program| (program.path.as_str(), program.sha256));
        warnings.extend(other_bytes(files, program, observed));
    }
    let checkpoints = if status == RunStatus::Waiting { checkpoints } else { Vec::new() };
    tracing::debug!(
        status = status.as_str(),
        checkpoints = checkpoints.len(),
        failures = failures.len(),
        "the run has ended, and its receipt is made"
    );
    let receipt = receipt(ReceiptParts {
        call: execution.call,
        run_id: execution.run_id,
        status: status.clone(),
        started_at: execution.started_at,
        completed_at,
        outcome: outcome.as_ref(),
        acted,
        failure: failure.as_deref(),
        warnings: &warnings,
        stdout: &stdout,
        stderr: &stderr,
        paths: &execution.paths,
        directory: &shown_directory(execution),
        sandbox,
        observed,
        bound_labels: execution.environment.bound(execution.call).into_keys().collect(),
        redactor: &redactor,
    });
    let receipt = way.complete(receipt, &redactor);
    RunResult {
        status,
        receipt,
        checkpoints,
        completed_at,
        exit_code: exit_code(outcome.as_ref()),
        timed_out: outcome.as_ref().is_some_and(Outcome::timed_out),
        failure,
        warnings,
    }
}

/// Returns whether a run failed, so that a refused write may be the reason. Installations have their own words.
fn has_failed(execution: &Execution<'_>, status: &RunStatus, outcome: Option<&Outcome>) -> bool {
    let command_failed = || execution.call.plan().runs_command() && exit_code(outcome) != Some(0);
    execution.call.call().kind() != CallKind::Install && (*status == RunStatus::Failed || command_failed())
}

/// Says why it is not known how a program ended.
fn unknown_end(outcome: &Outcome) -> Option<String> {
    let is_unknown = outcome.exit == Exit::Unknown && !outcome.timed_out() && !outcome.cancelled();
    is_unknown.then(|| "the process that supervises the run was killed, and the program with it".to_owned())
}

/// The result of starting the program.
struct ProgramResult {
    outcome: Option<Outcome>,
    /// Whether the program answered its peer; `None` without a peer.
    spoken: Option<PeerAnswer>,
    /// How long Brigade itself took, and what it printed; `None` if a program did it.
    acted: Option<(Duration, CapturedBytes)>,
    sandbox: Option<SandboxUsed>,
    observed: Option<RunObserved>,
    /// The temporary directory, if it could not be removed.
    left: Option<PathBuf>,
    /// Why it failed or ended early.
    problem: Option<String>,
}

/// Whether a program answered its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerAnswer {
    Yes,
    No,
}

impl ProgramResult {
    fn failed(problem: String) -> ProgramResult {
        ProgramResult {
            outcome: None,
            spoken: None,
            acted: None,
            sandbox: None,
            observed: None,
            left: None,
            problem: Some(problem),
        }
    }
}

/// Compares with the approval again, starts the program, and waits for its process tree.
fn start<'e>(
    execution: &Execution<'e>,
    output: &mut Output<'e>,
    way: &mut Executor<'_>,
    redactor: &Redactor,
) -> Result<ProgramResult, String> {
    if let Executor::Reuse(kept) = way {
        return Ok(ask(execution, output, kept, redactor));
    }
    if let Executor::Builtin(inside) = way {
        return act(execution, output, *inside, redactor);
    }
    let decision = execution.call.decision();
    let Some(program) = execution.program else {
        return Err("not started: the program was not opened".to_owned());
    };
    let temporary =
        PrivateFolder::create().map_err(|error| format!("no private temporary directory: {error}"))?;
    let checkpoints = execution.fs.root().join(execution.checkpoint_dir.as_path());
    // `.brigade` itself may be a link, and no mount can be put through one.
    let checkpoints = without_links(&checkpoints).unwrap_or(checkpoints);
    let asked_in = execution.call.call().session.as_ref();
    let lane = asked_in.and_then(|session| session.root_of(&execution.call.call().tool_id));
    let root = lane.map_or_else(|| execution.fs.root().to_owned(), |lane| execution.fs.root().join(lane));
    let root = if lane.is_some() { without_links(&root).unwrap_or(root) } else { root };
    let repository = lane.and_then(|_| shared_git(&root));
    let repository = repository.filter(|shared| shared_git(execution.fs.root()).as_ref() == Some(shared));
    let opened = decision.sandbox.grants.git_write.then(|| OpenedRepository::open(&root));
    let folders = RunFolders {
        workspace: &root,
        repository: repository.as_deref(),
        temporary: temporary.path(),
        checkpoints: &checkpoints,
        home: execution.environment.get("HOME").map(Path::new),
        work: None,
        closed: &[],
        opened: opened.as_ref(),
    };
    let closed = closed(execution.fs, &ReadRules::new(execution.call, program), execution.directory)?;
    let is_closed = closed.is_some();
    let confinement = confinement::confine(decision, &folders, closed);
    let mut spec = Spec::new(program.program().clone(), execution.directory);
    if is_closed && let Some(path) = program_inside(execution.fs, program.path()) {
        // What is at this path in the run's own view are the approved bytes.
        spec.program = Program::at(path);
    }
    spec.argv = execution.call.argv().iter().map(Into::into).collect();
    spec.environment = child_environment(
        execution.environment,
        execution.call,
        execution.run_id,
        temporary.path(),
        &checkpoints,
    );
    spec.stdin = Input::Null;
    spec.limits = confinement::limits(decision);
    spec.private = Some(temporary.disposal());
    spec.sandbox = confinement.as_ref().map(|confinement| confinement.profile.clone());
    spec.observe = (*execution.watch == Watch::Observe).then(|| execution.fs.root().to_owned());
    let control = Control {
        timeout: Some(decision.effective_timeout.duration()),
        cancel: execution.cancel.clone(),
        output_cap: decision.max_output_bytes,
        ..Control::default()
    };
    let peer = match way {
        Executor::Converse(peer) => Some(peer),
        Executor::Spawn if execution.call.plan().family() == MCP => {
            return Err("not started: nothing here speaks to MCP servers".to_owned());
        }
        Executor::Spawn | Executor::Reuse(_) | Executor::Builtin(_) => None,
    };
    let (outcome, spoken, problem) = match peer {
        Some(peer) => {
            let mut sink = CheckingSink { execution, output };
            let ConversationResult { outcome, problem } = peer.speak(&spec, &mut sink, &control, redactor);
            let answered = if problem.is_none() { PeerAnswer::Yes } else { PeerAnswer::No };
            (outcome, Some(answered), problem)
        }
        None => match run(&spec, &mut CheckingSink { execution, output }, &control) {
            Ok(outcome) => {
                let why = || control.cancel.as_ref().map(CancelToken::interruption).unwrap_or_default();
                let problem = outcome.cancelled().then(why);
                (Some(outcome), None, problem)
            }
            Err(RunError::Sink { source, outcome }) => {
                (Some(*outcome), None, Some(format!("the log could not be written: {source}")))
            }
            Err(error) => return Err(error.to_string()),
        },
    };
    let enforcement = outcome.as_ref().and_then(|outcome| outcome.enforcement.as_ref());
    let sandbox = confinement::used(confinement.as_ref(), enforcement, execution.fs.root());
    let observation = outcome.as_ref().and_then(|outcome| outcome.observation.as_ref());
    let observed = observed(execution.watch, observation, redactor);
    let left = temporary.remove();
    let not_kept = opened.and_then(Result::ok).map(OpenedRepository::close).unwrap_or_default();
    let problem = match not_kept.is_empty() {
        true => problem,
        false => Some(problem.into_iter().chain(not_kept).collect::<Vec<_>>().join("; ")),
    };
    Ok(ProgramResult { outcome, spoken, acted: None, sandbox: Some(sandbox), observed, left, problem })
}

/// Does what a tool of Brigade does.
fn act(
    execution: &Execution<'_>,
    output: &mut Output<'_>,
    inside: &mut dyn BuiltinRun,
    redactor: &Redactor,
) -> Result<ProgramResult, String> {
    if !execution.call.plan().acts_inside() {
        return Err("not started: the call is one of a program".to_owned());
    }
    let limits = BuiltinLimits {
        timeout: execution.call.decision().effective_timeout.duration(),
        max_output_bytes: execution.call.decision().max_output_bytes,
        cancel: execution.cancel.clone(),
    };
    let BuiltinOutcome { output: printed, dropped, problem, duration } = inside.act(&limits, redactor);
    // What is over the cap is counted and dropped, as what a program prints.
    let cap = usize::try_from(execution.call.decision().max_output_bytes).unwrap_or(usize::MAX);
    let (kept, over) = printed.split_at(printed.len().min(cap));
    let captured = CapturedBytes { bytes: kept.len() as u64, dropped: dropped + over.len() as u64 };
    let unwritten = output.write(Stream::Stdout, kept).err();
    let unwritten = unwritten.map(|error| format!("the log could not be written: {error}"));
    Ok(ProgramResult {
        outcome: None,
        spoken: None,
        acted: Some((duration, captured)),
        sandbox: None,
        observed: None,
        left: None,
        problem: problem.or(unwritten),
    })
}

/// Asks a program that runs already.
fn ask<'e>(
    execution: &Execution<'e>,
    output: &mut Output<'e>,
    kept: &mut KeptProgram<'_>,
    redactor: &Redactor,
) -> ProgramResult {
    let decision = execution.call.decision();
    let control = Control {
        timeout: Some(decision.effective_timeout.duration()),
        cancel: execution.cancel.clone(),
        output_cap: decision.max_output_bytes,
        ..Control::default()
    };
    let mut sink = ComparingSink { execution, output, started_from: kept.started_from };
    let ConversationResult { outcome, problem } = kept.peer.ask(&mut sink, &control, redactor);
    let answered = if problem.is_none() { PeerAnswer::Yes } else { PeerAnswer::No };
    ProgramResult {
        outcome,
        spoken: Some(answered),
        acted: None,
        sandbox: Some((kept.sandbox)()),
        // The record of the start has it.
        observed: None,
        left: None,
        problem,
    }
}

/// Takes the answer of a program that runs already, and compares what it was started from before it is asked.
struct ComparingSink<'a, 'e> {
    execution: &'a Execution<'e>,
    output: &'a mut Output<'e>,
    started_from: &'a StartSource,
}

impl Sink for ComparingSink<'_, '_> {
    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        self.output.write(stream, bytes)
    }

    fn about_to_start(&mut self) -> io::Result<()> {
        match self.started_from.differs(self.execution.fs, self.execution.call.binding()) {
            Some(change) => {
                Err(io::Error::other(format!("not called: {change} changed since the server was started")))
            }
            None => Ok(()),
        }
    }
}

/// Takes the output of a run, and compares once more when everything else is prepared.
struct CheckingSink<'a, 'e> {
    execution: &'a Execution<'e>,
    output: &'a mut Output<'e>,
}

impl Sink for CheckingSink<'_, '_> {
    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        self.output.write(stream, bytes)
    }

    fn about_to_start(&mut self) -> io::Result<()> {
        check_again(self.execution).map_err(io::Error::other)
    }
}

/// Compares the bytes of the open program and of the named files with the approval.
fn check_again(execution: &Execution<'_>) -> Result<(), String> {
    let binding = execution.call.binding();
    let program = binding.program.as_ref().map(|program| program.sha256);
    let opened = execution.program.filter(|opened| opened.is_unchanged());
    if program.is_none() || program != opened.map(OpenedProgram::fingerprint) {
        return Err("not started: program bytes changed since the call was approved".to_owned());
    }
    for (path, approved) in &binding.files {
        let now = file_fingerprint(execution.fs, path).map_err(|error| format!("not started: {error}"))?;
        if now != *approved {
            return Err(format!("not started: file {path} changed since the call was approved"));
        }
    }
    tracing::debug!(files = binding.files.len(), "program and files are still those that were approved");
    Ok(())
}

fn status(
    execution: &Execution<'_>,
    outcome: Option<&Outcome>,
    spoken: Option<PeerAnswer>,
    failure: Option<&str>,
    checkpoints: &[Checkpoint],
) -> RunStatus {
    // A program that answered has succeeded, independent of its exit.
    let succeeded = |outcome: &Outcome| match spoken {
        Some(answered) => answered == PeerAnswer::Yes,
        // How a command ended is what was asked for.
        None => execution.call.plan().runs_command() || outcome.exit.success(),
    };
    match outcome {
        Some(outcome) if outcome.timed_out() => RunStatus::TimedOut,
        Some(outcome) if outcome.cancelled() => RunStatus::Interrupted,
        Some(_) if failure.is_none() && !checkpoints.is_empty() => RunStatus::Waiting,
        Some(outcome) if failure.is_none() && succeeded(outcome) => RunStatus::Completed,
        _ => RunStatus::Failed,
    }
}

fn shown_directory(execution: &Execution<'_>) -> String {
    match execution.directory.strip_prefix(execution.fs.root()) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => execution.directory.display().to_string(),
    }
}
