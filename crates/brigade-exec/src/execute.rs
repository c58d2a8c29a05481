//! One run, from the last check to the receipt.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brigade_call::{Checkpoint, Receipt, RunObserved, RunStatus, SandboxUsed, VerifiedCall};
use brigade_catalog::Family;
use brigade_core::{Clock, RunId, StepFormatter, Timestamp};
use brigade_fs::{Fs, RelPath, WriteFile};
use brigade_process::{
    CancelToken, CapturedBytes, Control, Input, OpenedRepository, Outcome, PrivateFolder, Program, RunError,
    Sink, Spec, Stream, run,
};
use brigade_redact::{Redactor, SecretValue};
use brigade_sandbox::{shared_git, without_links};

use crate::builtin_run::{BuiltinLimits, BuiltinOutcome, BuiltinRun};
use crate::closed_reads::{ReadRules, closed, program_inside};
use crate::confinement::{self, Confinement, RunFolders};
use crate::ending::Ending;
use crate::environment::{HostEnvironment, child_environment};
use crate::kept::StartSource;
use crate::observed::{Watch, observed};
use crate::output::{Channel, Output};
use crate::peer::{ConversationResult, KeptPeer, Peer};
use crate::postcondition::Postcondition;
use crate::program::OpenedProgram;
use crate::receipt::RunPaths;
use crate::workspace_files::file_fingerprint;

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
    /// What the program reads on its standard input.
    pub input: Input,
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
    /// Checks after the end of the program whether it did what was asked.
    pub postcondition: Option<&'a dyn Postcondition>,
}

impl Execution<'_> {
    /// Returns by whom the run was interrupted, if it was.
    pub(crate) fn interruption(&self) -> Option<String> {
        self.cancel.as_ref().filter(|cancel| cancel.is_cancelled()).map(CancelToken::interruption)
    }
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
    /// The program runs already. It is asked, and keeps running.
    Reuse(KeptProgram<'a>),
    /// Brigade itself does what is asked, without a program.
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
            Executor::Reuse(program) => program.peer.complete(receipt, redactor),
            Executor::Builtin(inside) => inside.complete(receipt, redactor),
        }
    }
}

/// Runs the call. Never fails: errors are in the receipt.
///
/// Right before the start, the open program and every workspace file that the command names are compared with the
/// approval again. For a program that runs already, they are compared with what it was started from, right before it is
/// asked; files that did not move since are not read.
pub fn execute(execution: &Execution<'_>, logs: Logs, mut executor: Executor<'_>) -> RunResult {
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
    progress.inspect(|progress| progress.started());
    let program = start(execution, &mut output, &mut executor, &redactor).unwrap_or_else(|problem| {
        let interruption = execution.interruption();
        ProgramResult::failed(interruption.map_or(problem.clone(), |why| format!("{why}; {problem}")))
    });
    progress.inspect(|progress| progress.ended());
    let ending = Ending::new(execution, program, output, &redactor);
    ending.finish(|receipt, redactor| executor.complete(receipt, redactor))
}

/// The result of starting the program.
pub(crate) struct ProgramResult {
    pub(crate) outcome: Option<Outcome>,
    /// Whether the program answered its peer; `None` without a peer.
    pub(crate) answer: Option<PeerAnswer>,
    /// How long Brigade itself took, and what it printed; `None` if a program did it.
    pub(crate) builtin: Option<(Duration, CapturedBytes)>,
    pub(crate) sandbox: Option<SandboxUsed>,
    pub(crate) observed: Option<RunObserved>,
    /// The temporary directory, if it could not be removed.
    pub(crate) left: Option<PathBuf>,
    /// Why it failed or ended early.
    pub(crate) problem: Option<String>,
}

/// Whether a program answered its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerAnswer {
    Yes,
    No,
}

impl ProgramResult {
    fn failed(problem: String) -> ProgramResult {
        ProgramResult {
            outcome: None,
            answer: None,
            builtin: None,
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
    executor: &mut Executor<'_>,
    redactor: &Redactor,
) -> Result<ProgramResult, String> {
    if execution.interruption().is_some() {
        return Err("not started".to_owned());
    }
    let peer = match executor {
        Executor::Reuse(program) => return Ok(ask(execution, output, program, redactor)),
        Executor::Builtin(builtin) => return act(execution, output, *builtin, redactor),
        Executor::Converse(peer) => Some(peer),
        Executor::Spawn => None,
    };
    let Some(program) = execution.program else {
        return Err("not started: the program was not opened".to_owned());
    };
    let temporary =
        PrivateFolder::create().map_err(|error| format!("no private temporary directory: {error}"))?;
    let folders = WorkFolders::find(execution);
    let opened = folders.open_repository(execution);
    let StartPlan { spec, confinement } =
        plan_start(execution, program, &temporary, &folders, opened.as_ref())?;
    if peer.is_none() && *execution.call.plan().family() == Family::Mcp {
        return Err("not started: nothing here speaks to MCP servers".to_owned());
    }
    let control = Control {
        timeout: Some(execution.call.decision().effective_timeout.duration()),
        cancel: execution.cancel.clone(),
        output_cap: execution.call.decision().max_output_bytes,
        ..Control::default()
    };
    let mut sink = CheckingSink { execution, output };
    let (outcome, answer, problem) = match peer {
        Some(peer) => {
            let ConversationResult { outcome, problem } = peer.speak(&spec, &mut sink, &control, redactor);
            let answer = if problem.is_none() { PeerAnswer::Yes } else { PeerAnswer::No };
            (outcome, Some(answer), problem)
        }
        None => {
            let (outcome, problem) = wait_for(&spec, &mut sink, &control)?;
            (Some(outcome), None, problem)
        }
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
    Ok(ProgramResult { outcome, answer, builtin: None, sandbox: Some(sandbox), observed, left, problem })
}

/// The directories that a program works in.
struct WorkFolders {
    /// The workspace, or the lane of the call.
    root: PathBuf,
    /// The directory of git that a lane shares with the workspace.
    repository: Option<PathBuf>,
    checkpoints: PathBuf,
}

impl WorkFolders {
    fn find(execution: &Execution<'_>) -> WorkFolders {
        let workspace = execution.fs.root();
        let checkpoints = workspace.join(execution.checkpoint_dir.as_path());
        // `.brigade` itself may be a link, and no mount can be put through one.
        let checkpoints = without_links(&checkpoints).unwrap_or(checkpoints);
        let call = execution.call.call();
        let lane = call.session.as_ref().and_then(|session| session.root_of(&call.tool_id));
        let Some(lane) = lane.map(|lane| workspace.join(lane)) else {
            return WorkFolders { root: workspace.to_owned(), repository: None, checkpoints };
        };
        let root = without_links(&lane).unwrap_or(lane);
        let repository = shared_git(&root);
        let repository = repository.filter(|shared| shared_git(workspace).as_ref() == Some(shared));
        WorkFolders { root, repository, checkpoints }
    }

    /// Opens the repository for a call that may write to it.
    fn open_repository(&self, execution: &Execution<'_>) -> Option<Result<OpenedRepository, String>> {
        let writes = execution.call.decision().sandbox.grants.git_write;
        writes.then(|| OpenedRepository::open(&self.root))
    }
}

/// How a program is started.
struct StartPlan {
    spec: Spec,
    confinement: Option<Confinement>,
}

/// Plans the start of a program: its arguments, environment, limits and sandbox.
fn plan_start(
    execution: &Execution<'_>,
    program: &OpenedProgram,
    temporary: &PrivateFolder,
    folders: &WorkFolders,
    opened: Option<&Result<OpenedRepository, String>>,
) -> Result<StartPlan, String> {
    let decision = execution.call.decision();
    let closed = closed(execution.fs, &ReadRules::new(execution.call, program), execution.directory)?;
    let is_closed = closed.is_some();
    let WorkFolders { root, repository, checkpoints } = folders;
    let private_home = confinement::private_home(decision, execution.fs.root())?;
    let run_folders = RunFolders {
        workspace: root,
        repository: repository.as_deref(),
        temporary: temporary.path(),
        checkpoints,
        host: execution.environment,
        private_home: private_home.as_deref(),
        work: None,
        closed: &[],
        opened,
    };
    let confinement = confinement::confine(decision, &run_folders, closed);
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
        (temporary.path(), private_home.as_deref()),
        checkpoints,
    );
    spec.stdin = execution.input.clone();
    spec.limits = confinement::limits(decision);
    spec.private = Some(temporary.disposal());
    spec.sandbox = confinement.as_ref().map(|confinement| confinement.profile.clone());
    spec.observe = (*execution.watch == Watch::Observe).then(|| execution.fs.root().to_owned());
    Ok(StartPlan { spec, confinement })
}

/// Starts a program and waits for its end. Returns how it ended, and why it ended early.
fn wait_for(
    spec: &Spec,
    sink: &mut CheckingSink<'_, '_>,
    control: &Control,
) -> Result<(Outcome, Option<String>), String> {
    match run(spec, sink, control) {
        Ok(outcome) => {
            let why = || control.cancel.as_ref().map(CancelToken::interruption).unwrap_or_default();
            let problem = outcome.cancelled().then(why);
            Ok((outcome, problem))
        }
        Err(RunError::Sink { source, outcome }) => {
            Ok((*outcome, Some(format!("the log could not be written: {source}"))))
        }
        Err(error) => Err(error.to_string()),
    }
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
        answer: None,
        builtin: Some((duration, captured)),
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
    program: &mut KeptProgram<'_>,
    redactor: &Redactor,
) -> ProgramResult {
    let decision = execution.call.decision();
    let control = Control {
        timeout: Some(decision.effective_timeout.duration()),
        cancel: execution.cancel.clone(),
        output_cap: decision.max_output_bytes,
        ..Control::default()
    };
    let mut sink = ComparingSink { execution, output, started_from: program.started_from };
    let ConversationResult { outcome, problem } = program.peer.ask(&mut sink, &control, redactor);
    let answered = if problem.is_none() { PeerAnswer::Yes } else { PeerAnswer::No };
    ProgramResult {
        outcome,
        answer: Some(answered),
        builtin: None,
        sandbox: Some((program.sandbox)()),
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
