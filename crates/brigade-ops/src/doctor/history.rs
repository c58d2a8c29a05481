//! Calls, runs and checkpoints, prepared for a diagnosis.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Mutex;

use brigade_call::{
    ADOPTED_STATUS, CALLS, CHECKPOINTS, Call, CallStatus, CheckpointStatus, ContractLabels, RUNS, Receipt,
    RecordVersion, ToolUse,
};
use brigade_core::{CallId, Fingerprint, Json};
use brigade_doctor::{BrokenFile, Quarantine, RunState, request_fingerprint};
use brigade_fs::{FileKind, FileMode, Fs, Lines, RelPath};
use brigade_kitchen_run::Kitchen;
use brigade_policy::Failure;
use brigade_queue::{
    Calls, Chain, Detail, FoundReceipt, StoredCall, StoredCheckpoint, StoredReceipt, Verification, View,
    receipt_name,
};
use brigade_workspace::{
    CATALOG, CONFIG_LIMIT, Config, POLICY, RUNTIMES, ToolFacts, WorkspaceContext, is_code_file,
};

use crate::calls::replan::{Changes, Replanner};
use crate::doctor::error::UpkeepError;
use crate::doctor::{HistoryExtent, LedgerCheck, Parts};
use crate::inbox::{INBOX, InboxStore};
use crate::runs::observed::seen_run;

/// Statuses of calls that may need attention, finished ones last.
const INSPECTED_STATUSES: [CallStatus; 8] = [
    CallStatus::Pending,
    CallStatus::Approved,
    CallStatus::Held,
    CallStatus::Rejected,
    CallStatus::Running,
    CallStatus::Failed,
    CallStatus::TimedOut,
    CallStatus::Interrupted,
];

/// How many distinct failed requests are checked for replay.
const REPLAYS: usize = 200;

/// Directories that can contain quarantine files.
const QUARANTINES: [&str; 4] = [".brigade/tools", RUNS, CHECKPOINTS, ".brigade/work/imports"];

/// A call and the reasons why it cannot run as approved.
pub struct FoundCall {
    /// The call, reduced to what a diagnosis reads.
    pub call: Call,
    /// Changes since the approval; for a pending call of v0.30, the reasons why it cannot be approved.
    pub changes: Vec<String>,
    /// Whether the only change is that `PATH` finds another program.
    pub is_only_moved: bool,
}

/// A checkpoint and the reasons why its call cannot resume.
pub struct FoundCheckpoint {
    /// The stored checkpoint.
    pub stored: StoredCheckpoint,
    /// Why the call cannot resume.
    pub blockers: Vec<String>,
}

/// The facts of calls, runs and checkpoints.
#[derive(Default)]
pub struct HistoryFacts {
    /// Calls that may need attention, and completed calls that repeat a failed one.
    pub calls: Vec<FoundCall>,
    /// Number of calls by status.
    pub call_counts: BTreeMap<String, u64>,
    /// Unreadable lines, by file.
    pub unreadable: Vec<BrokenFile>,
    /// Quarantine files.
    pub quarantines: Vec<Quarantine>,
    /// Whether v0.30 was used in the workspace.
    pub is_of_v030: bool,
    /// The runs, newest first.
    pub runs: Vec<RunState>,
    /// The files and effects of the last observed run of each tool, by tool id.
    pub uses: BTreeMap<String, ToolUse>,
    /// Number of runs by status.
    pub run_counts: BTreeMap<String, u64>,
    /// The receipt of the newest run.
    pub latest_run: Option<StoredReceipt>,
    /// Unreadable receipts.
    pub broken_receipts: Vec<BrokenFile>,
    /// Faults in the chain of receipts.
    pub ledger: Vec<BrokenFile>,
    /// Readable checkpoints, newest first.
    pub checkpoints: Vec<FoundCheckpoint>,
    /// Unreadable checkpoints.
    pub broken_checkpoints: Vec<BrokenFile>,
}

impl HistoryFacts {
    /// Counts the checkpoints by status.
    pub fn checkpoint_counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for found in &self.checkpoints {
            *counts.entry(found.stored.checkpoint.status.as_str().to_owned()).or_default() += 1;
        }
        counts
    }
}

/// Reads calls, runs and checkpoints, and plans again those that could run or resume.
pub(crate) fn history_facts(
    context: &WorkspaceContext,
    config: &Config,
    view: &View<'_>,
    read: &[ToolFacts<'_>],
    parts: &Parts,
) -> Result<HistoryFacts, UpkeepError> {
    let mut replanner = Replanner::new(context, config, read);
    // Receipts are read on all processors, while one thread reads the calls in order.
    let (facts, runs) = std::thread::scope(|scope| {
        let calls = scope.spawn(|| call_facts(context, view, &mut replanner, parts));
        let runs = match parts.extent {
            HistoryExtent::All => read_runs(&*context.fs, view, parts.ledger),
            HistoryExtent::Newest(limit) => read_newest_runs(&*context.fs, view, limit),
        };
        (calls.join().expect("what is read of calls does not panic"), runs)
    });
    let (mut facts, runs) = (facts?, runs?);
    facts.uses = uses(&*context.fs, config, view, &runs.runs)?;
    add_runs(view, runs, &mut replanner, &mut facts)?;
    add_checkpoints(view, &mut replanner, &mut facts)?;
    Ok(facts)
}

fn call_facts(
    context: &WorkspaceContext,
    view: &View<'_>,
    replanner: &mut Replanner<'_, '_>,
    parts: &Parts,
) -> Result<HistoryFacts, UpkeepError> {
    // Without the chain check the caller wants a quick answer, so the inbox is skipped as well.
    let inbox = match parts.ledger {
        LedgerCheck::Check => unreadable_inbox(context)?,
        LedgerCheck::Trust => None,
    };
    Ok(HistoryFacts {
        calls: found_calls(view, replanner, parts.extent)?,
        call_counts: view.call_counts()?,
        unreadable: unreadable_calls(context)?.into_iter().chain(inbox).collect(),
        quarantines: quarantines(context, parts.extent)?,
        is_of_v030: is_of_v030(&*context.fs, view)?,
        ..HistoryFacts::default()
    })
}

fn add_runs(
    view: &View<'_>,
    read: HistoryReading,
    replanner: &mut Replanner<'_, '_>,
    facts: &mut HistoryFacts,
) -> Result<(), UpkeepError> {
    let HistoryReading { mut runs, errors, ledger, counts } = read;
    facts.run_counts = counts;
    facts.broken_receipts = errors;
    facts.broken_receipts.sort_by(|left, right| left.file.cmp(&right.file));
    facts.ledger = ledger;
    // Newest first, so that a later success of the same request is known before its failure.
    runs.sort_unstable_by(RunFacts::newest_first);
    if let Some(newest) = runs.first()
        && let Some(FoundReceipt::Good(stored)) = view.receipt(newest.stored_id())?
    {
        facts.latest_run = Some(*stored);
    }
    let mut settled: HashSet<Fingerprint> = HashSet::new();
    let mut replays = 0;
    for looked in runs {
        let mut run = looked.run;
        if settled.insert(run.asks)
            && let Some(args) = looked.failed_with
            && replays < REPLAYS
        {
            replays += 1;
            run.replay_blockers = replanner.replay_blockers(&run.tool_id, &args)?;
        }
        facts.runs.push(run);
    }
    Ok(())
}

/// The first lines of the files that v0.30 wrote.
const FIRST_LINES_OF_V030: &[(&str, &str)] = &[
    (
        CATALOG,
        "# Local portable tool and skill catalog. Brigade inspects this file but does not sync projections.",
    ),
    (
        POLICY,
        "# Host-local portable tool execution policy. Keep secrets in the process environment, not here.",
    ),
    (RUNTIMES, "# Local portable tool runtimes. Brigade starts and stops only explicit local runtimes."),
];

/// Files of the inbox that v0.30 alone writes.
const FILES_OF_V030: [&str; 2] =
    [".brigade/work/.proofs.authority.json", ".brigade/work/imports/inbox.jsonl.writer.lock"];

/// The file that says that the person knows what behaves differently in v0.30.
const SWITCHED: &str = ".brigade/tools/switched";

/// Ends the notes on what behaves differently in v0.30.
///
/// # Errors
/// Fails inside a run, and on a disk error.
pub(crate) fn done_switching(context: &WorkspaceContext) -> Result<(), Failure> {
    context.require_outside_run()?;
    let text = format!("since {}\n", context.now());
    Ok(context.fs.write_atomic(&RelPath::from_static(SWITCHED), text.as_bytes(), FileMode::Private)?)
}

/// Returns whether v0.30 was used. It was if it wrote the first call, the catalog, the policy, the runtimes or the
/// inbox, or if the copy of its adopted journal still exists.
fn is_of_v030(fs: &dyn Fs, view: &View<'_>) -> Result<bool, UpkeepError> {
    if fs.exists(&RelPath::from_static(SWITCHED))? {
        return Ok(false);
    }
    let mut is_of_v030 = fs.exists(&RelPath::composed(&format!("{CALLS}.0.30.0")))?;
    for file in FILES_OF_V030 {
        is_of_v030 = is_of_v030 || fs.exists(&RelPath::composed(file))?;
    }
    let wrote = |(file, first): &(&str, &str)| {
        let text = fs.read(&RelPath::composed(file), CONFIG_LIMIT).unwrap_or_default();
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text).trim_ascii_start();
        text.starts_with(first.as_bytes())
    };
    is_of_v030 = is_of_v030 || FIRST_LINES_OF_V030.iter().any(wrote);
    if is_of_v030 {
        return Ok(true);
    }
    view.for_each_call(&Calls::All, &mut |stored| {
        is_of_v030 = stored.version == RecordVersion::Adopted;
        ControlFlow::Break(())
    })?;
    Ok(is_of_v030)
}

/// Reads the last run of each tool in use, and summarizes its used files. Otherwise reads only the earlier equal run
/// that was observed.
fn uses(
    fs: &dyn Fs,
    config: &Config,
    view: &View<'_>,
    runs: &[RunFacts],
) -> Result<BTreeMap<String, ToolUse>, UpkeepError> {
    let mut last: HashMap<&str, &RunFacts> = HashMap::new();
    for looked in runs {
        let known = last.entry(&looked.run.tool_id).or_insert(looked);
        if looked.newest_first(known) == Ordering::Less {
            *known = looked;
        }
    }
    let mut found = BTreeMap::new();
    for tool in config.catalog.tools().iter().filter(|tool| tool.enabled) {
        let Some(looked) = last.get(tool.id.as_str()) else { continue };
        let Some(FoundReceipt::Good(stored)) = view.receipt(looked.stored_id())? else { continue };
        if let Some(seen) = seen_run(fs, view, &stored.receipt)?.run() {
            let may_load = may_load_code(&seen.receipt);
            let is_code = |path: &str| may_load && is_code_file(fs, path);
            let used = ToolUse::new(tool, [&seen], fs.root(), &is_code);
            found.insert(tool.id.to_string(), used);
        }
    }
    Ok(found)
}

/// Returns whether a run may load code of the workspace: unless it is a server whose program and named scripts are
/// elsewhere. What such a server reads in the workspace is data of its calls, even if it is named like code.
fn may_load_code(receipt: &Receipt) -> bool {
    let is_outside = |path: &String| path.starts_with('/');
    let binding = receipt.binding.as_ref();
    let of_workspace = binding.is_none_or(|binding| {
        let program = binding.program.as_ref();
        program.is_some_and(|program| !is_outside(&program.path)) || !binding.files.keys().all(is_outside)
    });
    receipt.mcp_start_id.is_none() || of_workspace
}

/// Counts the unreadable lines of the inbox.
fn unreadable_inbox(context: &WorkspaceContext) -> Result<Option<BrokenFile>, UpkeepError> {
    let problem = match InboxStore::new(context).read()?.unreadable() {
        0 => return Ok(None),
        1 => "1 line cannot be read".to_owned(),
        count => format!("{count} lines cannot be read"),
    };
    Ok(Some(BrokenFile { file: INBOX.to_owned(), id: None, problem, is_restorable: false }))
}

/// Finds the quarantine files.
fn quarantines(context: &WorkspaceContext, extent: HistoryExtent) -> Result<Vec<Quarantine>, UpkeepError> {
    let mut found = Vec::new();
    let kitchen = Kitchen::new(context).folders_of_lines()?;
    let is_listed = |folder: &&str| extent == HistoryExtent::All || *folder != RUNS;
    let folders = QUARANTINES.into_iter().filter(is_listed).map(RelPath::from_static);
    for folder in folders.chain(kitchen) {
        for entry in context.fs.list_dir(&folder).unwrap_or_default() {
            if !entry.name.contains(".quarantine-") {
                continue;
            }
            let Ok(path) = folder.join(&entry.name) else { continue };
            if entry.kind != FileKind::File {
                found.push(Quarantine { file: path.to_string(), lines: 0 });
                continue;
            }
            let file = context.fs.open(&path)?;
            let mut lines = Lines::new(&*file, 0, file.len()?);
            let mut count = 0;
            while lines.next_line()?.is_some() {
                count += 1;
            }
            found.push(Quarantine { file: path.to_string(), lines: count });
        }
    }
    Ok(found)
}

fn broken_file(file: String, problem: String) -> BrokenFile {
    let name = file.rsplit('/').next().unwrap_or(&file);
    let id = name.strip_suffix(".json").map(str::to_owned);
    BrokenFile { id, file, problem, is_restorable: false }
}

/// Passes on the calls with a status: all, oldest first, or only the newest ones.
fn each_call(
    view: &View<'_>,
    status: CallStatus,
    extent: HistoryExtent,
    found: &mut dyn FnMut(StoredCall) -> ControlFlow<()>,
) -> Result<(), UpkeepError> {
    let mut left = match extent {
        HistoryExtent::Newest(limit) if status.is_finished() => limit,
        HistoryExtent::Newest(_) | HistoryExtent::All => {
            return Ok(view.for_each_call(&Calls::Of(status), found)?);
        }
    };
    Ok(view.for_each_newest(&Calls::Of(status), &mut |stored| {
        if left == 0 {
            return ControlFlow::Break(());
        }
        left -= 1;
        found(stored)
    })?)
}

/// Collects calls that may need attention, the oldest of each status first.
fn found_calls(
    view: &View<'_>,
    replanner: &mut Replanner<'_, '_>,
    extent: HistoryExtent,
) -> Result<Vec<FoundCall>, UpkeepError> {
    let mut found: Vec<FoundCall> = Vec::new();
    let mut failures: HashMap<String, HashSet<Fingerprint>> = HashMap::new();
    let mut trouble = None;
    for status in INSPECTED_STATUSES {
        each_call(view, status, extent, &mut |stored| {
            let mut call = stored.call;
            let mut say = |error| {
                trouble = Some(error);
                ControlFlow::Break(())
            };
            let changes = match call.status {
                CallStatus::Approved if call.approval.is_some() => match replanner.changes(&call) {
                    Ok(changes) => changes,
                    Err(error) => return say(error),
                },
                // Only v0.30 queued calls without a plan's fingerprints.
                CallStatus::Pending if call.planned_binding.is_none() => match replanner.objections(&call) {
                    Ok(reasons) => Changes { reasons, is_only_moved: false },
                    Err(error) => return say(error),
                },
                CallStatus::Failed | CallStatus::TimedOut | CallStatus::Interrupted => {
                    failures
                        .entry(call.tool_id.clone())
                        .or_default()
                        .insert(request_fingerprint(&call.tool_id, &call.args));
                    Changes::default()
                }
                _ => Changes::default(),
            };
            keep_little(&mut call);
            let Changes { reasons: changes, is_only_moved } = changes;
            found.push(FoundCall { call, changes, is_only_moved });
            ControlFlow::Continue(())
        })?;
    }
    if let Some(error) = trouble {
        return Err(error.into());
    }
    if !failures.is_empty() {
        each_call(view, CallStatus::Completed, extent, &mut |stored| {
            let mut call = stored.call;
            let of_tool = failures.get(&call.tool_id);
            if of_tool.is_some_and(|failed| failed.contains(&request_fingerprint(&call.tool_id, &call.args)))
            {
                keep_little(&mut call);
                found.push(FoundCall { call, changes: Vec::new(), is_only_moved: false });
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}

/// Drops members that no diagnosis reads, because a queue may have very many calls.
fn keep_little(call: &mut Call) {
    call.contract = ContractLabels::default();
    call.policy = None;
    call.projection_summary = None;
    call.arguments.clear();
    call.extra.retain(|name, _| name == ADOPTED_STATUS);
}

/// The part of a receipt that is kept.
struct RunFacts {
    run: RunState,
    sort_key: String,
    stored_id: String,
    /// The arguments, if the run failed.
    failed_with: Option<Json>,
}

impl RunFacts {
    fn new(receipt: &Receipt, stored_id: String, is_there: &dyn Fn(&str) -> bool) -> RunFacts {
        let run =
            RunState { missing_logs: missing_logs(receipt, is_there), ..RunState::from_receipt(receipt) };
        let failed = matches!(run.status.as_str(), "failed" | "timed-out" | "interrupted");
        RunFacts {
            run,
            sort_key: receipt.sort_key(),
            failed_with: (failed && !receipt.is_installation()).then(|| receipt.asked_args()),
            stored_id,
        }
    }

    /// Returns the id under which the receipt is stored. It may differ from the id in the receipt.
    fn stored_id(&self) -> &str {
        &self.stored_id
    }

    fn newest_first(&self, other: &RunFacts) -> Ordering {
        let name = |run: &RunFacts| receipt_name(&run.stored_id);
        other.sort_key.cmp(&self.sort_key).then_with(|| name(self).cmp(&name(other)))
    }
}

/// The runs that were read, unordered.
#[derive(Default)]
struct HistoryReading {
    runs: Vec<RunFacts>,
    errors: Vec<BrokenFile>,
    /// Faults in the chain of receipts.
    ledger: Vec<BrokenFile>,
    /// Number of runs by status.
    counts: BTreeMap<String, u64>,
}

/// Reads every receipt once, on all processors.
fn read_runs(fs: &dyn Fs, view: &View<'_>, ledger: LedgerCheck) -> Result<HistoryReading, UpkeepError> {
    let listed = fs.list_dir(&RelPath::from_static(RUNS)).unwrap_or_default();
    let files: HashSet<String> = listed.into_iter().map(|entry| entry.name).collect();
    let read = Mutex::new(HistoryReading::default());
    let chain = match ledger {
        LedgerCheck::Check => Chain::From(1),
        LedgerCheck::Trust => Chain::Trust,
    };
    let verification = view.examine_runs(Detail::Diagnosed, chain, &|receipt| {
        let is_there = |name: &str| files.contains(name);
        let looked = receipt.map(|found| RunFacts::new(&found.receipt, found.stored_id, &is_there));
        let mut read = read.lock().expect("no thread panics while it holds this");
        match looked {
            Ok(run) => read.runs.push(run),
            Err(bad) => read.errors.push(broken_file(bad.place, bad.problem)),
        }
    })?;
    let mut read = read.into_inner().expect("no thread panics while it holds this");
    read.ledger = broken_chain(verification);
    for looked in &read.runs {
        match read.counts.get_mut(looked.run.status.as_str()) {
            Some(count) => *count += 1,
            None => drop(read.counts.insert(looked.run.status.as_str().to_owned(), 1)),
        }
    }
    Ok(read)
}

/// Reads the newest receipts.
fn read_newest_runs(fs: &dyn Fs, view: &View<'_>, limit: usize) -> Result<HistoryReading, UpkeepError> {
    let list = view.receipts(limit)?;
    let folder = RelPath::from_static(RUNS);
    let is_there = |name: &str| folder.join(name).is_ok_and(|path| fs.exists(&path).unwrap_or(true));
    let looked = |stored: StoredReceipt| RunFacts::new(&stored.receipt, stored.stored_id.clone(), &is_there);
    Ok(HistoryReading {
        runs: list.receipts.into_iter().map(looked).collect(),
        errors: list.errors.into_iter().map(|bad| broken_file(bad.place, bad.problem)).collect(),
        ledger: Vec::new(),
        counts: view.run_counts()?,
    })
}

/// Summarizes unreadable lines by file.
fn unreadable_calls(context: &WorkspaceContext) -> Result<Vec<BrokenFile>, UpkeepError> {
    let mut files: BTreeMap<String, (u64, Option<u64>, &'static str)> = BTreeMap::new();
    let Some(journal) = context.journal() else { return Ok(Vec::new()) };
    for damage in journal.damage()? {
        files.entry(damage.path).or_insert((0, damage.line, damage.problem)).0 += 1;
    }
    let of_file = |(file, (count, line, problem)): (String, (u64, Option<u64>, &'static str))| {
        let problem = match (line, count) {
            (None, _) => problem.to_owned(),
            (Some(line), 1) => format!("line {line} cannot be read: {problem}"),
            (Some(line), count) => {
                format!("{count} lines cannot be read, the first is line {line}: {problem}")
            }
        };
        BrokenFile { file, id: None, problem, is_restorable: false }
    };
    Ok(files.into_iter().map(of_file).collect())
}

/// Lists the faults in the chain of receipts.
fn broken_chain(verification: Verification) -> Vec<BrokenFile> {
    let of_finding = |finding: brigade_queue::Finding| {
        let place = finding.sequence.map_or_else(String::new, |sequence| format!(" (number {sequence})"));
        let id = Some(finding.run_id).filter(|id| !id.is_empty());
        if let (None, Some(line)) = (&id, finding.line) {
            let problem = format!("line {line} cannot be read: {}", finding.detail);
            return BrokenFile {
                file: format!("{RUNS}/ledger.jsonl"),
                id: None,
                problem,
                is_restorable: false,
            };
        }
        BrokenFile {
            file: id
                .as_ref()
                .map_or_else(|| format!("{RUNS}/ledger.jsonl"), |id| format!("{RUNS}/{id}.json")),
            id,
            problem: format!("the receipt was {}{place}: {}", finding.tampering.as_str(), finding.detail),
            is_restorable: false,
        }
    };
    verification.findings.into_iter().map(of_finding).collect()
}

/// Lists the missing logs of a receipt. Logs are beside the receipt, even if an older receipt has absolute paths.
fn missing_logs(receipt: &Receipt, is_there: &dyn Fn(&str) -> bool) -> Vec<&'static str> {
    let is_missing = |path: &Option<String>| {
        let path = path.as_deref().filter(|path| !path.is_empty());
        path.is_some_and(|path| !is_there(path.rsplit('/').next().unwrap_or(path)))
    };
    let streams = [(&receipt.stdout_log_path, "stdout"), (&receipt.stderr_log_path, "stderr")];
    streams.into_iter().filter(|(path, _)| is_missing(path)).map(|(_, stream)| stream).collect()
}

fn add_checkpoints(
    view: &View<'_>,
    replanner: &mut Replanner<'_, '_>,
    facts: &mut HistoryFacts,
) -> Result<(), UpkeepError> {
    let list = view.checkpoints()?;
    let bad = list.errors.into_iter();
    facts.broken_checkpoints = bad
        .map(|bad| BrokenFile { is_restorable: bad.is_recorded, ..broken_file(bad.place, bad.problem) })
        .collect();
    for stored in list.checkpoints {
        let blockers = match stored.checkpoint.status {
            CheckpointStatus::Pending | CheckpointStatus::Approved => {
                resume_blockers(view, &stored.checkpoint.call_id, replanner)?
            }
            CheckpointStatus::Rejected
            | CheckpointStatus::Resumed
            | CheckpointStatus::Failed
            | CheckpointStatus::Other(_) => Vec::new(),
        };
        facts.checkpoints.push(FoundCheckpoint { stored, blockers });
    }
    Ok(())
}

fn resume_blockers(
    view: &View<'_>,
    call_id: &CallId,
    replanner: &mut Replanner<'_, '_>,
) -> Result<Vec<String>, UpkeepError> {
    match view.call(call_id)? {
        None => Ok(vec!["its call is not in the queue".to_owned()]),
        Some(stored) => match stored.call.status {
            CallStatus::Waiting | CallStatus::ResumePending if stored.call.approval.is_none() => {
                Ok(vec!["Brigade v0.30 approved its call, which bound nothing".to_owned()])
            }
            CallStatus::Waiting | CallStatus::ResumePending => Ok(replanner.changes(&stored.call)?.reasons),
            status => Ok(vec![format!("its call is {status}")]),
        },
    }
}
