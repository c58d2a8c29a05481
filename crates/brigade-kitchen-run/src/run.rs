//! Starts one program of the kitchen through the gate, waits for its end, and writes logs and a receipt.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brigade_call::{CrewStart, DirectoryFact, Objection, StartProgram, StartPurpose, plan_crew_start};
use brigade_cmdline::{Argv, find_program};
use brigade_core::{Clock, Fingerprint, RunId};
use brigade_exec::{
    FileStamp, HostEnvironment, KnownDigests, OpenedProgram, ProgramRun, WorkFolder, run_started,
};
use brigade_fs::{FileKind, Fs, FsError, RelPath};
use brigade_kitchen::{PrdName, TaskId, Tier};
use brigade_policy::{CrewFacts, CrewWork, PolicyState, SandboxMode, decide_crew};
use brigade_process::{
    CancelToken, Control, EndedBy, Exit, Input, PrivateFolder, ProcessIdentity, Sink, Stream, random_bytes,
};
use brigade_redact::{Redactor, SecretValue};
use brigade_sandbox::{ProgramOrigin, Surroundings, installation_in};
use brigade_workspace::is_program;
use thiserror::Error;

use crate::named_files::{BoundFiles, changed};
use crate::paths::KITCHEN;
use crate::receipts::{KitchenReceipt, Receipts, RunEnd, RunKind};
use crate::run_log::{RunLogSummary, RunLogs};
use crate::service::PrintedLines;

/// Output beyond this is read but not logged. It only bounds the work; logs have a much lower limit.
const OUTPUT_CAP: u64 = 1 << 40;

/// The context for all runs of the kitchen.
pub struct Host {
    /// The workspace.
    pub fs: Arc<dyn Fs>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The environment variables of this process.
    pub environment: HostEnvironment,
    /// Secrets to mask, in addition to those of labels.
    pub secrets: Vec<SecretValue>,
    /// Stores the receipts.
    pub receipts: Arc<dyn KeepReceipts>,
    /// A locked file that every started process holds open until it ends, even if this process is killed.
    held: Option<Arc<File>>,
    /// Known digests of programs.
    digests: Digests,
}

/// Stores receipts, and knows the paths of logs.
pub trait KeepReceipts: Send + Sync {
    /// Returns the paths of a run's logs: standard output and standard error.
    fn logs(&self, run: &RunId) -> (RelPath, RelPath);

    /// Stores a receipt, and adds it to the chain.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn store(&self, receipt: &KitchenReceipt, clock: &dyn Clock) -> Result<(), StartError>;
}

/// Stores the receipts of the kitchen.
struct KitchenReceiptStore(Arc<dyn Fs>);

impl KeepReceipts for KitchenReceiptStore {
    fn logs(&self, run: &RunId) -> (RelPath, RelPath) {
        Receipts::new(&*self.0).logs(run)
    }

    fn store(&self, receipt: &KitchenReceipt, clock: &dyn Clock) -> Result<(), StartError> {
        Ok(Receipts::new(&*self.0).store(receipt, clock)?)
    }
}

/// The digests of programs that this process has read.
#[derive(Default)]
struct Digests(Mutex<HashMap<String, Fingerprint>>);

impl KnownDigests for Digests {
    fn recall(&self, stamp: &FileStamp) -> Option<Fingerprint> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&stamp.key()).copied()
    }

    fn learn(&self, stamp: &FileStamp, digest: Fingerprint) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(stamp.key(), digest);
    }
}

/// Returns random bytes as hex digits.
pub(crate) fn random_hex<const N: usize>() -> io::Result<String> {
    Ok(random_bytes::<N>()?.map(|byte| format!("{byte:02x}")).concat())
}

impl Host {
    /// Makes a host.
    pub fn new(
        fs: Arc<dyn Fs>,
        clock: Arc<dyn Clock>,
        environment: HostEnvironment,
        secrets: Vec<SecretValue>,
    ) -> Host {
        let receipts = Arc::new(KitchenReceiptStore(fs.clone()));
        Host { fs, clock, environment, secrets, receipts, held: None, digests: Digests::default() }
    }

    /// Stores receipts in another place than those of the kitchen.
    #[must_use]
    pub fn keeping(self, receipts: Arc<dyn KeepReceipts>) -> Host {
        Host { receipts, ..self }
    }

    /// Lets every started process hold a locked file open until it ends.
    #[must_use]
    pub fn holding(self, held: Option<Arc<File>>) -> Host {
        Host { held, ..self }
    }

    /// Returns the redactor for all secrets of this host, and texts that look like secrets.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(&self.secrets)
    }

    /// Makes a run id from the time and random digits.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn new_run(&self) -> io::Result<RunId> {
        let text = format!("run-{}-{}", self.clock.now().compact(), random_hex::<4>()?);
        Ok(text.parse().expect("digits and dashes are an id"))
    }
}

/// The maximum number of lines that wait to be shown.
const MAX_RECENT_LINES: usize = 200;

/// The maximum length of such a line, in bytes.
const MAX_RECENT_LINE_BYTES: usize = 4096;

/// Whether a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndState {
    /// It has ended.
    Yes,
    /// It has not ended.
    No,
}

/// The newest printed lines that were not shown yet.
#[derive(Debug, Default)]
struct RecentLines {
    printed: VecDeque<String>,
    left_out: u64,
    /// The unfinished line of each stream.
    open: [Vec<u8>; 2],
}

impl RecentLines {
    fn push(&mut self, stream: Stream, new: &[u8]) {
        let open = match stream {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
        };
        let lines = new.iter().filter(|byte| **byte == b'\n').count();
        // Of many lines, only the last ones are kept.
        let mut skipped = lines.saturating_sub(MAX_RECENT_LINES);
        self.left_out += skipped as u64;
        for piece in new.split_inclusive(|byte| *byte == b'\n') {
            if 0 < skipped {
                skipped -= 1;
                self.open[open].clear();
                continue;
            }
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = MAX_RECENT_LINE_BYTES.saturating_sub(self.open[open].len());
            self.open[open].extend_from_slice(&text[..text.len().min(room)]);
            if is_whole {
                self.end_line(open);
            }
        }
    }

    fn end_line(&mut self, open: usize) {
        let line = std::mem::take(&mut self.open[open]);
        if line.trim_ascii().is_empty() {
            return;
        }
        if MAX_RECENT_LINES <= self.printed.len() {
            self.printed.pop_front();
            self.left_out += 1;
        }
        self.printed.push_back(String::from_utf8_lossy(&line).into_owned());
    }

    fn take(&mut self, at_end: EndState) -> PrintedLines {
        if at_end == EndState::Yes {
            self.end_line(0);
            self.end_line(1);
        }
        PrintedLines { left_out: std::mem::take(&mut self.left_out), lines: self.printed.drain(..).collect() }
    }
}

/// Observes a run while it lasts, and can end it.
#[derive(Debug)]
pub struct Watch {
    begun: Instant,
    /// Milliseconds since the start.
    last_output: AtomicU64,
    last_line: Mutex<String>,
    /// Printed lines that were not taken yet. `None` if they are not needed.
    fresh: Option<Mutex<RecentLines>>,
    stalled: AtomicBool,
    cancel: CancelToken,
}

impl Watch {
    /// Creates a watch for a run that starts now.
    ///
    /// # Errors
    /// Fails if the system has no descriptors left.
    pub fn new() -> io::Result<Watch> {
        Ok(Watch {
            begun: Instant::now(),
            last_output: AtomicU64::new(0),
            last_line: Mutex::new(String::new()),
            fresh: None,
            stalled: AtomicBool::new(false),
            cancel: CancelToken::new()?,
        })
    }

    /// Creates a watch for a run that starts now, and ends the run when the token is cancelled.
    ///
    /// # Errors
    /// Same as [`Watch::new`].
    pub fn until(cancel: Option<CancelToken>) -> io::Result<Watch> {
        let watch = Watch::new()?;
        Ok(match cancel {
            Some(cancel) => Watch { cancel, ..watch },
            None => watch,
        })
    }

    /// Creates a watch that keeps printed lines for [`Watch::take_printed`].
    ///
    /// # Errors
    /// Same as [`Watch::new`].
    pub fn keeping_output() -> io::Result<Watch> {
        Ok(Watch { fresh: Some(Mutex::default()), ..Watch::new()? })
    }

    fn printed(&self, stream: Stream, new: &[u8], line: &[u8]) {
        self.last_output
            .store(u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if let Some(fresh) = &self.fresh {
            fresh.lock().unwrap_or_else(PoisonError::into_inner).push(stream, new);
        }
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        last.clear();
        last.push_str(&String::from_utf8_lossy(line));
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Returns the time since the last output.
    pub fn silent(&self) -> Duration {
        self.elapsed().saturating_sub(Duration::from_millis(self.last_output.load(Ordering::Relaxed)))
    }

    /// Returns the last printed line, masked but not escaped.
    pub fn last_line(&self) -> String {
        self.last_line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the lines printed since the last call, masked but not escaped. `at_end` also takes a last line without a
    /// line feed.
    pub fn take_printed(&self, at_end: EndState) -> PrintedLines {
        let Some(fresh) = &self.fresh else { return PrintedLines::default() };
        fresh.lock().unwrap_or_else(PoisonError::into_inner).take(at_end)
    }

    /// Ends the run because it prints nothing.
    pub fn end_as_stalled(&self) {
        self.stalled.store(true, Ordering::SeqCst);
        self.cancel.cancel();
    }

    /// Ends the run because the service ends. The second call kills it.
    pub fn interrupt(&self) {
        self.cancel.cancel();
    }
}

/// A program to start.
pub(crate) struct StartOrder<'a> {
    pub(crate) host: &'a Host,
    pub(crate) policy: &'a PolicyState,
    /// The approved fingerprint; `None` if what is executed is not approved.
    pub(crate) approved: Option<Fingerprint>,
    pub(crate) run: &'a RunId,
    pub(crate) kind: RunKind,
    pub(crate) purpose: StartPurpose,
    pub(crate) prd: Option<&'a PrdName>,
    pub(crate) task: Option<&'a TaskId>,
    pub(crate) tier: Option<Tier>,
    pub(crate) attempt: Option<u64>,
    pub(crate) argv: Argv,
    /// The approved program, if it is bound.
    pub(crate) program: Option<PathBuf>,
    pub(crate) bytes: Option<Fingerprint>,
    /// The approved bytes of files of the workspace.
    pub(crate) files: &'a BoundFiles,
    /// The words that may name them.
    pub(crate) named: Vec<String>,
    pub(crate) work: CrewWork<'a>,
    pub(crate) timeout: Option<Duration>,
    /// The working directory.
    pub(crate) directory: &'a Path,
    /// The directory of the task; `None` in the workspace.
    pub(crate) own: Option<WorkFolder<'a>>,
    /// Files that the program must not write.
    pub(crate) closed: &'a [PathBuf],
    /// Another program that it may start.
    pub(crate) also: Option<PathBuf>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) temporary: &'a PrivateFolder,
    pub(crate) input: Input,
    pub(crate) max_log_bytes: u64,
    pub(crate) named_log: Option<RelPath>,
    pub(crate) watch: &'a Watch,
}

/// The result of a run.
pub(crate) struct RunOutcome {
    pub(crate) end: RunEnd,
    /// The exit code, or the negated signal.
    pub(crate) exit_code: Option<i64>,
    pub(crate) seconds: f64,
    /// The last lines of its output, masked.
    pub(crate) last: String,
    pub(crate) problem: Option<String>,
}

/// Why nothing was started, or a start failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The gate refused it.
    #[error("not started: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Objection>),
    /// The disk failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The system failed.
    #[error("not started: {0}")]
    Io(#[from] io::Error),
    /// The command does not fit its adapter.
    #[error("not started: {0}")]
    Command(String),
    /// The program ended at once, because it does not know a flag of its adapter.
    #[error("`{program}` does not know the flag `{flag}`, which its adapter adds")]
    UnknownFlag {
        /// The program.
        program: String,
        /// The flag.
        flag: String,
    },
    /// The program was ended because its output could not be logged. Its effects are unknown.
    #[error("its output could not be kept: {0}")]
    Log(String),
}

struct Tee<'a> {
    logs: &'a mut RunLogs,
    watch: &'a Watch,
}

impl Sink for Tee<'_> {
    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let (new, line) = self.logs.write(stream, bytes)?;
        self.watch.printed(stream, new, line);
        Ok(())
    }

    fn started(&mut self, _: &ProcessIdentity) -> io::Result<()> {
        Ok(())
    }
}

/// Starts a program if the gate allows it, and waits until all of its processes have ended.
pub(crate) fn run_order(order: StartOrder<'_>) -> Result<RunOutcome, StartError> {
    let host = order.host;
    let started_at = host.clock.now();
    let in_workspace = order.own.is_none();
    let timeout = order.timeout.and_then(|timeout| brigade_catalog::Seconds::new(timeout.as_secs_f64()).ok());
    let facts = CrewFacts { work: order.work, timeout, in_workspace };
    let environment = &host.environment;
    let mut decision = decide_crew(order.policy, &facts, &|name: &str| environment.is_set(name));
    let path_variable = environment.get("PATH");
    // The worker must be the approved program. A program in the workspace is not replaced by the one in the worktree.
    let found = match &order.program {
        Some(path) => Some(path.clone()).filter(|path| is_program(&*host.fs, path)),
        None => find_program(order.argv.program(), order.directory, path_variable, |path| {
            is_program(&*host.fs, path)
        }),
    };
    if decision.sandbox.mode != SandboxMode::Off {
        decision.sandbox.grants.program_paths = installed(&order, found.as_deref());
    }
    let opened = match &found {
        Some(path) => OpenedProgram::open_known(path, &host.digests).map(Some),
        None => Ok(None),
    };
    let program = match (&found, &opened) {
        (Some(path), Ok(Some(opened))) => {
            StartProgram::Found { path: path.clone(), sha256: Some(opened.fingerprint()) }
        }
        (Some(_), Err(error)) => StartProgram::Unreadable(error.to_string()),
        _ => StartProgram::NotFound,
    };
    let is_there =
        host.fs.metadata_outside(order.directory).is_ok_and(|found| found.kind == FileKind::Directory);
    let words = order.named.iter().map(String::as_str).chain(found.as_deref().and_then(Path::to_str));
    let changed = changed(&*host.fs, order.files, order.directory, words);
    let start = plan_crew_start(CrewStart {
        purpose: order.purpose,
        is_approved: order.approved.is_some(),
        argv: order.argv.clone(),
        directory: order.directory.to_owned(),
        directory_fact: if is_there { DirectoryFact::Present } else { DirectoryFact::Missing },
        program,
        home: environment.home().map(Path::to_owned),
        approved_program: order.program.clone(),
        approved_bytes: order.bytes,
        decision,
    });
    let start = match changed {
        Some(path) => Err(vec![Objection::FileChanged(path)]),
        None => start,
    };
    let redactor = host.redactor();
    let mut receipt = KitchenReceipt::new(order.run.clone(), order.kind, started_at);
    receipt.prd = order.prd.cloned();
    receipt.task = order.task.cloned();
    (receipt.tier, receipt.attempt, receipt.fingerprint) = (order.tier, order.attempt, order.approved);
    receipt.argv =
        redactor.redact_command(order.argv.words()).iter().map(|word| word.as_str().to_owned()).collect();
    receipt.program = found.as_ref().map(|path| path.display().to_string());
    receipt.directory = display_path(order.directory, host.fs.root());
    let (start, program) = match (start, opened) {
        (Ok(start), Ok(Some(program))) => (start, program),
        (Ok(_), _) => return Err(StartError::Refused(Vec::new())),
        (Err(objections), _) => {
            receipt.problem = Some(StartError::Refused(objections.clone()).to_string());
            host.receipts.store(&receipt, &*host.clock)?;
            return Err(StartError::Refused(objections));
        }
    };
    receipt.program_sha256 = start.sha256();
    let labels = start.decision().map(|decision| decision.env_bindings.keys());
    receipt.env_labels = labels.into_iter().flatten().map(ToString::to_string).collect();
    let started = ProgramRun {
        start: &start,
        program: &program,
        workspace: host.fs.root(),
        work: order.own,
        closed: order.closed,
        environment: &host.environment,
        variables: order.variables,
        temporary: order.temporary,
        input: order.input,
        held: host.held.clone(),
    };
    let secrets = started.secrets(&host.secrets);
    let mut logs = RunLogs::create(
        &host.fs,
        host.receipts.logs(order.run),
        order.named_log,
        order.max_log_bytes,
        &secrets,
    )?;
    let control = Control {
        timeout: order.timeout,
        cancel: Some(order.watch.cancel.clone()),
        output_cap: OUTPUT_CAP,
        ..Control::default()
    };
    let clock_start = Instant::now();
    let ended = run_started(&started, &mut Tee { logs: &mut logs, watch: order.watch }, &control);
    let seconds = clock_start.elapsed().as_secs_f64();
    let RunLogSummary { stdout, stderr, last } =
        logs.finish(|stream, new, line| order.watch.printed(stream, new, line))?;
    let by = ended.outcome.as_ref().map(|outcome| outcome.ended_by);
    let exit_code = ended.outcome.as_ref().and_then(|outcome| match outcome.exit {
        Exit::Code(code) => Some(i64::from(code)),
        Exit::Signal(signal) => Some(-i64::from(signal)),
        Exit::Unknown => None,
    });
    let end = match by {
        None => RunEnd::NotStarted,
        Some(EndedBy::Timeout) => RunEnd::TimedOut,
        Some(EndedBy::Cancel) if order.watch.stalled.load(Ordering::SeqCst) => RunEnd::Stalled,
        Some(EndedBy::Cancel) => RunEnd::Interrupted,
        Some(EndedBy::Itself) if exit_code == Some(0) && ended.problem.is_none() => RunEnd::Completed,
        Some(EndedBy::Itself | EndedBy::Sink | EndedBy::Caller | EndedBy::Idle) => RunEnd::Failed,
    };
    receipt.status = end;
    receipt.exit_code = exit_code;
    receipt.problem = ended.problem.as_deref().map(|problem| redactor.redact_str(problem));
    (receipt.stdout, receipt.stderr, receipt.sandbox) = (Some(stdout), Some(stderr), ended.sandbox);
    receipt.completed_at = host.clock.now();
    host.receipts.store(&receipt, &*host.clock)?;
    if by == Some(EndedBy::Sink) {
        return Err(StartError::Log(receipt.problem.unwrap_or_else(|| "the disk failed".to_owned())));
    }
    Ok(RunOutcome { end, exit_code, seconds, last, problem: receipt.problem })
}

/// Returns the directory of a task's objects that are not in the branch yet. Git in its worktree reads them.
pub(crate) fn task_objects(host: &Host, prd: Option<&PrdName>, task: Option<&TaskId>) -> Option<PathBuf> {
    let (prd, task) = (prd?, task?);
    let path = RelPath::composed(&format!("{KITCHEN}/{prd}/git/{task}/objects"));
    host.fs.exists(&path).unwrap_or(false).then(|| host.fs.root().join(path.as_path()))
}

/// Lists the directories where the programs of a command are installed. The sandbox lets the command read them. In a
/// shell text, every word may be a program.
fn installed(order: &StartOrder<'_>, program: Option<&Path>) -> Vec<String> {
    let host = order.host;
    let path_variable = host.environment.get("PATH");
    let find =
        |word: &str| find_program(word, order.directory, path_variable, |path| is_program(&*host.fs, path));
    let is_of_shell = matches!(order.work, CrewWork::Command { needs_shell: true, .. });
    let named = order.named.iter().filter(|_| is_of_shell).filter_map(|word| find(word));
    let programs: Vec<PathBuf> =
        program.map(Path::to_owned).into_iter().chain(named).chain(order.also.clone()).collect();
    let surroundings =
        Surroundings { workspace: Some(host.fs.root().to_owned()), ..Surroundings::of_this_process() };
    let found =
        installation_in(programs.iter().map(|path| (path.as_path(), ProgramOrigin::Command)), &surroundings);
    found.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Formats a path: relative to the workspace if it is inside.
fn display_path(path: &Path, workspace: &Path) -> String {
    match path.strip_prefix(workspace) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_once_and_of_a_flood_the_newest() {
        let watch = Watch::keeping_output().unwrap();
        watch.printed(Stream::Stdout, b"one\ntw", b"tw");
        watch.printed(Stream::Stderr, b"\n  \nother\n", b"other");
        watch.printed(Stream::Stdout, b"o\nlast", b"last");
        let taken = |at_end| watch.take_printed(at_end);
        assert_eq!(taken(EndState::No).lines, ["one", "other", "two"]);
        assert_eq!(taken(EndState::No), PrintedLines::default());
        assert_eq!(taken(EndState::Yes).lines, ["last"]);
        let flood: Vec<u8> = (0..1000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
        watch.printed(Stream::Stdout, b"begun ", b"begun");
        watch.printed(Stream::Stdout, &flood, b"999");
        watch.printed(Stream::Stdout, &[b'x'; 10_000], b"x");
        watch.printed(Stream::Stdout, b"y\n", b"y");
        let printed = taken(EndState::Yes);
        assert_eq!((printed.left_out, printed.lines.len()), (801, MAX_RECENT_LINES));
        assert_eq!((printed.lines[0].as_str(), printed.lines[199].len()), ("801", MAX_RECENT_LINE_BYTES));
        assert_eq!(Watch::new().unwrap().take_printed(EndState::Yes), PrintedLines::default());
    }
}
