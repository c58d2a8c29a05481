//! One start of a worker: its input, and the evidence that it leaves.
//!
//! A worker gets its prompt on standard input or in a file, never as an argument. It also gets a nonce, the path for a
//! result file, and a clean environment with the labels of its tier. Its files are in the private directory of the run,
//! which is removed at the end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use brigade_call::StartPurpose;
use brigade_cmdline::Argv;
use brigade_core::{Fingerprint, RunId};
use brigade_exec::WorkFolder;
use brigade_fs::{DiskFs, FileKind, FileMode, Fs, FsErrorKind, OrAbsent, RelPath};
use brigade_kitchen::adapter::{
    Adapter, Answer, Limit, Output, PermissionMode, Permissions, PromptWay, Tokens,
};
use brigade_kitchen::signal::{Evidence, Exit, Fences, ResultFault, Role};
use brigade_kitchen::{PrdName, TaskId, Tier};
use brigade_policy::{CrewWork, CrewWorker, KitchenGrants, PolicyState};
use brigade_process::{Input, PrivateFolder, current_program};

use crate::named_files::BoundFiles;
use crate::receipts::{RunEnd, RunKind};
use crate::run::{Host, RunOutcome, StartError, StartOrder, Watch, random_hex, run_order, task_objects};

/// How much of each end of an output is searched for the answer. A log never has more than its cap.
const ANSWER_HALF: u64 = 1 << 20;

/// The maximum size of a result file, plus one byte.
const RESULT_LIMIT: u64 = (1 << 20) + 1;

/// File names in the private directory of an attempt.
const PROMPT: &str = "prompt.md";
const RESULT: &str = "result.json";
const ANSWER: &str = "answer.txt";

/// A program that rejects a flag as unknown ends within this many seconds.
const AT_ONCE: f64 = 10.0;

/// Limits memory: only one thread at a time reads a large answer.
static READING: Mutex<()> = Mutex::new(());

/// The worker of a tier.
#[derive(Clone, Debug)]
pub struct TierWorker {
    /// The tier.
    pub tier: Tier,
    /// Its command, without the adapter's arguments.
    pub command: Argv,
    /// Its adapter.
    pub adapter: Adapter,
    /// The requested permissions.
    pub permissions: PermissionMode,
    /// Whether the policy allows it to skip permission checks.
    pub may_skip: bool,
    /// The server to attach to.
    pub server: Option<String>,
    /// The environment variables that it gets.
    pub env_labels: Vec<String>,
    /// The approved program; `None` if it was not resolved.
    pub program: Option<PathBuf>,
    /// The approved bytes, with `bind_workers`.
    pub bytes: Option<Fingerprint>,
    /// The approved bytes of files of the workspace that its command names.
    pub files: BoundFiles,
}

/// Returns the time limit of a worker: the configured one, capped by the policy.
pub(crate) fn capped_timeout(timeout: Option<Duration>, grants: &KitchenGrants) -> Option<Duration> {
    let ceiling = grants.max_minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
    match (timeout, ceiling) {
        (Some(timeout), Some(ceiling)) => Some(timeout.min(ceiling)),
        (timeout, ceiling) => timeout.or(ceiling),
    }
}

/// An attempt to make.
pub struct Attempt<'a> {
    /// The host.
    pub host: &'a Host,
    /// The policy.
    pub policy: &'a PolicyState,
    /// The approved fingerprint, if it matches what is executed.
    pub approved: Option<Fingerprint>,
    /// The run.
    pub run: &'a RunId,
    /// The worker.
    pub worker: &'a TierWorker,
    /// Its role.
    pub role: Role,
    /// The PRD; `None` while planning.
    pub prd: Option<&'a PrdName>,
    /// The task.
    pub task: Option<&'a TaskId>,
    /// The number of the attempt, across all tiers.
    pub number: u64,
    /// The time limit.
    pub timeout: Option<Duration>,
    /// The working directory.
    pub directory: &'a Path,
    /// The root of the worktree; `None` in place.
    pub own: Option<&'a Path>,
    /// The directory of the work that a reviewer reads, if it is another one.
    pub reviewed: Option<&'a Path>,
    /// Files that the worker must not write in place.
    pub closed: &'a [PathBuf],
    /// The maximum size of each log.
    pub max_log_bytes: u64,
    /// An additional log of both streams with a readable name.
    pub named_log: Option<RelPath>,
    /// The difference between local time and UTC.
    pub local_offset_minutes: i32,
    /// The directory of the pipes through which the worker calls tools.
    pub gateway: Option<&'a Path>,
    /// Observes and ends the run.
    pub watch: &'a Watch,
}

/// The evidence of an attempt.
#[derive(Clone, Debug)]
pub struct AttemptOutcome {
    /// The run, which has a receipt.
    pub run: RunId,
    /// How its process ended.
    pub exit: Exit,
    /// How long it took.
    pub seconds: f64,
    /// Its answer as the adapter found it, masked.
    pub answer: Option<String>,
    /// The cost that the program reported.
    pub cost_usd: Option<f64>,
    /// The tokens that it reported.
    pub tokens: Option<Tokens>,
    /// Why it ended early, or its logs are incomplete.
    pub problem: Option<String>,
    limit: Option<Limit>,
    nonce: String,
    result: Result<Option<Vec<u8>>, ResultFault>,
}

impl AttemptOutcome {
    /// Returns the evidence that decides how it ended.
    pub fn evidence(&self) -> Evidence<'_> {
        let result = self.result.as_ref().map(Option::as_deref).map_err(|fault| *fault);
        Evidence {
            exit: self.exit,
            result,
            nonce: &self.nonce,
            answer: self.answer.as_deref(),
            limit: self.limit,
        }
    }
}

fn role_kind(role: Role) -> RunKind {
    match role {
        Role::Work | Role::Task => RunKind::Attempt,
        Role::Review => RunKind::Review,
        Role::Decide => RunKind::Decision,
        Role::Scope => RunKind::Scope,
        Role::Phase => RunKind::Phase,
        Role::Gate => RunKind::Gate,
        Role::Plan => RunKind::Plan,
        Role::Map => RunKind::Map,
    }
}

/// Starts a worker, and waits until all of its processes have ended. `prompt` makes the prompt for the nonce.
///
/// # Errors
/// Fails if nothing was started, or a log could not be written.
pub fn attempt(attempt: &Attempt<'_>, prompt: &dyn Fn(&str) -> String) -> Result<AttemptOutcome, StartError> {
    let (host, worker) = (attempt.host, attempt.worker);
    let nonce = random_hex::<16>()?;
    let temporary = PrivateFolder::create()?;
    let private = DiskFs::open(temporary.path())?;
    let inside = |name: &str| temporary.path().join(name);
    let text = host.redactor().redact_str(&prompt(&nonce));
    private.write_atomic(&RelPath::from_static(PROMPT), text.as_bytes(), FileMode::Private)?;
    let (prompt_file, answer_file) = (inside(PROMPT), inside(ANSWER));
    let server = worker.server.as_deref();
    let (prompt_word, answer_word) = (prompt_file.to_string_lossy(), answer_file.to_string_lossy());
    let started = worker
        .adapter
        .start(&worker.command, worker.permissions, worker.may_skip, &prompt_word, &answer_word, server)
        .map_err(|fault| StartError::Command(fault.to_string()))?;
    let input = match started.prompt {
        PromptWay::Stdin => Input::Bytes(text.into_bytes()),
        PromptWay::File => Input::Null,
    };
    let variables = variables(attempt, &nonce, &prompt_file, &inside(RESULT));
    let skips_permissions = started.permissions == Permissions::Skipped;
    let program = worker.command.program();
    let (adapter, write_paths, env_labels) =
        (worker.adapter.id.as_str(), worker.adapter.write_paths.as_slice(), worker.env_labels.as_slice());
    let may_change = matches!(attempt.role, Role::Work | Role::Task);
    let work = CrewWork::Worker(CrewWorker {
        program,
        adapter,
        skips_permissions,
        write_paths,
        env_labels,
        may_change,
    });
    let objects = task_objects(host, attempt.prd, attempt.task);
    let ran = run_order(StartOrder {
        host,
        policy: attempt.policy,
        approved: attempt.approved,
        run: attempt.run,
        kind: role_kind(attempt.role),
        purpose: StartPurpose::Worker,
        prd: attempt.prd,
        task: attempt.task,
        tier: Some(worker.tier),
        attempt: Some(attempt.number),
        argv: started.argv,
        program: worker.program.clone(),
        bytes: worker.bytes,
        files: &worker.files,
        named: worker.command.words().to_vec(),
        work,
        timeout: attempt.timeout,
        directory: attempt.directory,
        own: attempt.own.map(|path| WorkFolder {
            path,
            is_writable: may_change,
            objects: objects.as_deref(),
            pipes: attempt.gateway,
        }),
        closed: attempt.closed,
        // The worker calls tools by running Brigade.
        also: attempt.gateway.and_then(|_| current_program().ok()),
        variables,
        temporary: &temporary,
        input,
        max_log_bytes: attempt.max_log_bytes,
        named_log: attempt.named_log.clone(),
        watch: attempt.watch,
    })?;
    let RunOutcome { end, exit_code, seconds, problem, .. } = ran;
    let exit = match (end, exit_code) {
        (RunEnd::TimedOut, _) => Exit::TimeLimit,
        (RunEnd::Stalled, _) => Exit::Stalled,
        (RunEnd::Interrupted, _) => Exit::Interrupted,
        (RunEnd::NotStarted, _) => return Err(StartError::Command(problem.unwrap_or_default())),
        (_, Some(code)) if code < 0 => Exit::Signal(i32::try_from(-code).unwrap_or_default()),
        (_, Some(code)) => Exit::Code(i32::try_from(code).unwrap_or(i32::MAX)),
        (_, None) => Exit::Signal(9),
    };
    let answer = read_answer(attempt, &private, exit == Exit::Code(0));
    let result = read_regular(&private, &RelPath::from_static(RESULT), RESULT_LIMIT);
    if let (Some(flag), Ok(None), Exit::Code(_)) = (&answer.unknown_flag, &result, exit)
        && seconds < AT_ONCE
    {
        return Err(StartError::UnknownFlag { program: program.to_owned(), flag: flag.clone() });
    }
    Ok(AttemptOutcome {
        run: attempt.run.clone(),
        exit,
        seconds,
        answer: answer.text,
        cost_usd: answer.cost_usd,
        tokens: answer.tokens,
        problem,
        limit: answer.limit,
        nonce,
        result,
    })
}

/// Reads a worker's answer, one answer at a time, on a short-lived thread. The allocator keeps freed memory per thread,
/// and short-lived threads share theirs.
fn read_answer(attempt: &Attempt<'_>, private: &DiskFs, succeeded: bool) -> Answer {
    let (host, adapter) = (attempt.host, &attempt.worker.adapter);
    let read = || {
        let (stdout, stderr) = host.receipts.logs(attempt.run);
        // A JSON document is useless when cut, so more of it is read.
        let half = if adapter.is_document() { 4 * ANSWER_HALF } else { ANSWER_HALF };
        let (stdout, stderr) = (both_ends(&*host.fs, &stdout, half), both_ends(&*host.fs, &stderr, half));
        let is_file = private
            .link_metadata(&RelPath::from_static(ANSWER))
            .is_ok_and(|found| found.kind == FileKind::File);
        let answer_file = is_file.then(|| both_ends(private, &RelPath::from_static(ANSWER), half));
        let answer_file = answer_file
            .map(|bytes| host.redactor().redact_str(&String::from_utf8_lossy(&bytes)).into_bytes());
        let answer_file = answer_file.as_deref();
        let output = Output { stdout: &stdout, stderr: &stderr, answer_file, succeeded };
        adapter.answer(&output, host.clock.now(), attempt.local_offset_minutes)
    };
    let _one_at_a_time = READING.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, read) {
        Ok(reader) => reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => read(),
    })
}

fn variables(
    attempt: &Attempt<'_>,
    nonce: &str,
    prompt_file: &Path,
    result_file: &Path,
) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = vec![
        ("BRIGADE_RUN_ID".into(), attempt.run.as_str().into()),
        ("BRIGADE_ROLE".into(), attempt.role.as_str().into()),
        ("BRIGADE_TIER".into(), attempt.worker.tier.as_str().into()),
        ("BRIGADE_ATTEMPT".into(), attempt.number.to_string().into()),
        ("BRIGADE_PROMPT_FILE".into(), prompt_file.into()),
        ("BRIGADE_RESULT_FILE".into(), result_file.into()),
        ("BRIGADE_NONCE".into(), nonce.into()),
    ];
    variables.extend(attempt.prd.map(|prd| ("BRIGADE_PRD".into(), prd.as_str().into())));
    variables.extend(attempt.task.map(|task| ("BRIGADE_TASK".into(), task.as_str().into())));
    variables.extend(attempt.reviewed.map(|path| ("BRIGADE_WORKTREE".into(), path.into())));
    variables.extend(attempt.gateway.map(|gateway| ("BRIGADE_GATEWAY".into(), gateway.into())));
    variables
}

/// Reads a file that a worker may have written. Only a regular file counts.
fn read_regular(private: &dyn Fs, path: &RelPath, limit: u64) -> Result<Option<Vec<u8>>, ResultFault> {
    let found = private.link_metadata(path).or_absent().map_err(|_| ResultFault::Unreadable)?;
    let Some(found) = found else { return Ok(None) };
    if found.kind != FileKind::File {
        return Err(ResultFault::NotRegular);
    }
    private.read(path, limit).map(Some).map_err(|error| match error.kind {
        FsErrorKind::TooLarge { .. } => ResultFault::TooLarge,
        _ => ResultFault::Unreadable,
    })
}

/// Reads the start and the end of a file, in whole lines. If a code fence is open at the cut, it is closed before the
/// cut or reopened after it. So every line stays inside or outside of a fence.
fn both_ends(fs: &dyn Fs, path: &RelPath, half: u64) -> Vec<u8> {
    let read = || {
        let file = fs.open(path)?;
        let length = file.len()?;
        let size = usize::try_from(half).unwrap_or(usize::MAX);
        if length <= 2 * half {
            return file.read_range(0, size.saturating_mul(2));
        }
        let mut bytes = file.read_range(0, size)?;
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
        let last = file.read_range(length - half, size)?;
        let skipped = last.iter().position(|byte| *byte == b'\n').map_or(last.len(), |end| end + 1);
        let mut lines = FenceLines::default();
        lines.take(&bytes);
        let before = lines.fences.line();
        let (mut at, end) = (bytes.len() as u64, length - half + skipped as u64);
        while at < end {
            let part = file.read_range(at, usize::try_from((end - at).min(SLICE_BYTES)).unwrap_or(1))?;
            if part.is_empty() {
                break;
            }
            lines.take(&part);
            at += part.len() as u64;
        }
        for line in before.into_iter().chain(lines.fences.line()) {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(&last[skipped..]);
        Ok::<_, brigade_fs::FsError>(bytes)
    };
    read().unwrap_or_default()
}

/// How much of the omitted middle is read at once.
const SLICE_BYTES: u64 = 64 << 10;

/// The start of a line that decides whether it opens or closes a fence.
const LINE_START: usize = 4 << 10;

/// Tracks the code fences of a long text that is read in slices.
#[derive(Default)]
struct FenceLines {
    fences: Fences,
    line: Vec<u8>,
}

impl FenceLines {
    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_START.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                let text = String::from_utf8_lossy(&self.line);
                // The log's cap cut the output here, so the state of fences is unknown after this line.
                if text.starts_with('[') && text.trim_end().ends_with(" bytes are left out]") {
                    self.fences = Fences::default();
                } else {
                    self.fences.is_plain(text.trim_end_matches(['\n', '\r']));
                }
                self.line.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use brigade_kitchen::signal::Tags;

    use super::*;

    #[track_caller]
    fn check(text: &str, reviews: usize) {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let path = RelPath::from_static("log");
        fs.write_cache(&path, text.as_bytes()).unwrap();
        let bytes = both_ends(&fs, &path, 1_000);
        assert!(bytes.len() <= 2_020 && bytes.len() <= text.len() + 20, "{}", bytes.len());
        let tags = Tags::find(std::str::from_utf8(&bytes).unwrap());
        assert_eq!(tags.all("review").count(), reviews, "{}", &text[..text.len().min(80)]);
    }

    #[test]
    fn a_cut_opens_and_closes_no_fence_and_makes_no_line() {
        let done = "<review>PASS</review>";
        let lines = |count: usize| "a line\n".repeat(count);
        check(&format!("{}{done}\n", lines(100)), 1);
        check(&format!("{}{done}\n", lines(1_000)), 1);
        // Closed in the omitted part.
        check(&format!("```\n{}```\n{}{done}\n", lines(300), lines(300)), 1);
        // Opened in the omitted part, and closed after the tag.
        check(&format!("{}~~~~ text\n{}{done}\n~~~~\nno.\n", lines(300), lines(300)), 0);
        check(&format!("{}- ```\n{}{done}\n  ```\nno.\n", lines(300), lines(300)), 0);
        // Open everywhere.
        check(&format!("```\n{}{done}\n", lines(600)), 0);
        // The cut is in the middle of a line, at every offset.
        for offset in 0..120 {
            let quoted = format!("I say {done} is what I would say\n");
            check(&format!("{}{}{quoted}{}", lines(100), "x".repeat(240 + offset), lines(600)), 0);
            check(
                &format!("{}{}{quoted}{}{}\n", lines(600), "x".repeat(50), "y".repeat(860 + offset), ""),
                0,
            );
        }
        // After the cap of the log.
        let cap = "\n[123456 bytes are left out]\n";
        check(&format!("```\n{}{cap}{}{done}\n", lines(300), lines(300)), 1);
    }
}
