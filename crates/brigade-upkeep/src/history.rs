//! Calls, runs and checkpoints, as a diagnosis sees them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Mutex;

use brigade_call::{CHECKPOINTS, Call, CallStatus, CheckpointStatus, ContractLabels, RUNS, Receipt};
use brigade_core::{CallId, Fingerprint, Json};
use brigade_doctor::{BrokenFile, Quarantine, RunState, asks};
use brigade_facts::ToolFacts;
use brigade_fs::{FileKind, Lines};
use brigade_queue::{Calls, Chain, ExaminedReceipt, StoredCheckpoint, StoredReceipt, Verification, View};

use crate::error::UpkeepError;
use crate::inbox::{INBOX, InboxStore};
use crate::rel;
use crate::replan::Replanner;
use crate::site::Site;
use crate::survey::Ledger;

/// The statuses of calls that may need somebody, the finished ones last.
const LOOKED_AT: [CallStatus; 8] = [
    CallStatus::Pending,
    CallStatus::Approved,
    CallStatus::Held,
    CallStatus::Rejected,
    CallStatus::Running,
    CallStatus::Failed,
    CallStatus::TimedOut,
    CallStatus::Interrupted,
];

/// Of how many failed runs, each asking for something else, it is found out whether they could be replayed.
const REPLAYS: usize = 200;

/// Where lines are set aside.
const QUARANTINES: [&str; 4] = [".brigade/tools", RUNS, CHECKPOINTS, ".brigade/work/imports"];

/// A call, and what keeps it from running as approved.
pub struct FoundCall {
    /// The call.
    pub call: Call,
    /// What no longer matches its approval.
    pub changes: Vec<String>,
}

/// A checkpoint, and what keeps its call from going on.
pub struct FoundCheckpoint {
    /// The checkpoint.
    pub stored: StoredCheckpoint,
    /// Why its call could not go on.
    pub blockers: Vec<String>,
}

/// What was found of calls, runs and checkpoints.
#[derive(Default)]
pub struct HistoryFacts {
    /// Calls that may need somebody, and those whose success made a failure good.
    pub calls: Vec<FoundCall>,
    /// How many calls there are of each status.
    pub call_counts: BTreeMap<String, u64>,
    /// Lines that cannot be read, by file.
    pub unreadable: Vec<BrokenFile>,
    /// Files of lines that were set aside.
    pub quarantines: Vec<Quarantine>,
    /// All runs, newest first.
    pub runs: Vec<RunState>,
    /// How many runs there are of each status.
    pub run_counts: BTreeMap<String, u64>,
    /// The newest run.
    pub latest_run: Option<StoredReceipt>,
    /// Receipts that cannot be read.
    pub broken_receipts: Vec<BrokenFile>,
    /// What is wrong with the chain of receipts.
    pub ledger: Vec<BrokenFile>,
    /// Newest first.
    pub checkpoints: Vec<FoundCheckpoint>,
    /// Checkpoints that cannot be read.
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

/// Reads calls, runs and checkpoints, and plans those again that somebody could let run.
pub(crate) fn history_facts(
    site: &Site<'_>,
    view: &View<'_>,
    read: &[ToolFacts<'_>],
    ledger: Ledger,
) -> Result<HistoryFacts, UpkeepError> {
    let mut replanner = Replanner::new(site, site.config, read);
    // The receipts are read on all processors; the calls, one after the other meanwhile.
    let (facts, runs) = std::thread::scope(|scope| {
        let calls = scope.spawn(|| call_facts(site, view, &mut replanner, ledger));
        let runs = read_runs(site, view, ledger);
        (calls.join().expect("what is read of calls does not panic"), runs)
    });
    let (mut facts, runs) = (facts?, runs?);
    add_runs(view, runs, &mut replanner, &mut facts)?;
    add_checkpoints(view, &mut replanner, &mut facts)?;
    Ok(facts)
}

fn call_facts(
    site: &Site<'_>,
    view: &View<'_>,
    replanner: &mut Replanner<'_, '_>,
    ledger: Ledger,
) -> Result<HistoryFacts, UpkeepError> {
    // A list is not to wait for a long inbox either.
    let inbox = match ledger {
        Ledger::Check => unreadable_inbox(site)?,
        Ledger::Trust => None,
    };
    Ok(HistoryFacts {
        calls: found_calls(view, replanner)?,
        call_counts: view.call_counts()?,
        unreadable: unreadable_calls(site)?.into_iter().chain(inbox).collect(),
        quarantines: quarantines(site)?,
        ..HistoryFacts::default()
    })
}

fn add_runs(
    view: &View<'_>,
    read: Read,
    replanner: &mut Replanner<'_, '_>,
    facts: &mut HistoryFacts,
) -> Result<(), UpkeepError> {
    let Read { mut runs, errors, ledger } = read;
    facts.broken_receipts = errors;
    facts.broken_receipts.sort_by(|left, right| left.file.cmp(&right.file));
    facts.ledger = ledger;
    // The newest run comes first, so what was asked for again and succeeded is known when the failure comes.
    runs.sort_unstable_by(LookedRun::newest_first);
    if let Some(newest) = runs.first()
        && let Some(run) = newest.path.rsplit('/').next().and_then(|name| name.strip_suffix(".json"))
        && let Some(Ok(stored)) = view.receipt(run)?
    {
        facts.latest_run = Some(stored);
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
        match facts.run_counts.get_mut(&run.status) {
            Some(count) => *count += 1,
            None => drop(facts.run_counts.insert(run.status.clone(), 1)),
        }
        facts.runs.push(run);
    }
    Ok(())
}

/// Says that the inbox has lines that cannot be read, if it has.
fn unreadable_inbox(site: &Site<'_>) -> Result<Option<BrokenFile>, UpkeepError> {
    let problem = match InboxStore::of(site).read()?.unreadable() {
        0 => return Ok(None),
        1 => "1 line cannot be read".to_owned(),
        count => format!("{count} lines cannot be read"),
    };
    Ok(Some(BrokenFile { file: INBOX.to_owned(), id: None, problem, is_restorable: false }))
}

/// Finds the files of lines that were set aside.
fn quarantines(site: &Site<'_>) -> Result<Vec<Quarantine>, UpkeepError> {
    let mut found = Vec::new();
    for folder in QUARANTINES.map(rel) {
        for entry in site.fs().list_dir(&folder).unwrap_or_default() {
            if !entry.name.contains(".quarantine-") {
                continue;
            }
            let Ok(path) = folder.join(&entry.name) else { continue };
            if entry.kind != FileKind::File {
                found.push(Quarantine { file: path.to_string(), lines: 0 });
                continue;
            }
            let file = site.fs().open(&path)?;
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

fn broken(file: String, problem: String) -> BrokenFile {
    let name = file.rsplit('/').next().unwrap_or(&file);
    let id = name.strip_suffix(".json").map(str::to_owned);
    BrokenFile { id, file, problem, is_restorable: false }
}

/// Collects the calls that may need somebody, the oldest of each status first.
fn found_calls(view: &View<'_>, replanner: &mut Replanner<'_, '_>) -> Result<Vec<FoundCall>, UpkeepError> {
    let mut found: Vec<FoundCall> = Vec::new();
    let mut failures: HashMap<String, HashSet<Fingerprint>> = HashMap::new();
    let mut trouble = None;
    for status in LOOKED_AT {
        view.for_each_call(&Calls::Of(status), &mut |stored| {
            let mut call = stored.call;
            let changes = match call.status {
                CallStatus::Approved if call.approval.is_some() => match replanner.changes(&call) {
                    Ok(changes) => changes,
                    Err(error) => {
                        trouble = Some(error);
                        return ControlFlow::Break(());
                    }
                },
                CallStatus::Failed | CallStatus::TimedOut | CallStatus::Interrupted => {
                    failures.entry(call.tool_id.clone()).or_default().insert(asks(&call.tool_id, &call.args));
                    Vec::new()
                }
                _ => Vec::new(),
            };
            keep_little(&mut call);
            found.push(FoundCall { call, changes });
            ControlFlow::Continue(())
        })?;
    }
    if let Some(error) = trouble {
        return Err(error.into());
    }
    if !failures.is_empty() {
        view.for_each_call(&Calls::Of(CallStatus::Completed), &mut |stored| {
            let mut call = stored.call;
            let of_tool = failures.get(&call.tool_id);
            if of_tool.is_some_and(|failed| failed.contains(&asks(&call.tool_id, &call.args))) {
                keep_little(&mut call);
                found.push(FoundCall { call, changes: Vec::new() });
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}

/// Drops what no diagnosis looks at: there may be very many calls.
fn keep_little(call: &mut Call) {
    call.contract = ContractLabels::default();
    call.policy = None;
    call.projection_summary = None;
    call.arguments.clear();
    call.extra.clear();
}

/// What is looked at of a receipt, besides what makes it one.
const LOOKED_INTO: &[&str] = &[
    "tool_id",
    "family",
    "started_at",
    "completed_at",
    "timed_out",
    "failure",
    "mcp_error_kind",
    "args",
    "stdout_log_path",
    "stderr_log_path",
];

/// What is kept of a receipt.
struct LookedRun {
    run: RunState,
    sort_key: String,
    path: String,
    /// The arguments of a run that failed.
    failed_with: Option<Json>,
}

impl LookedRun {
    fn of(found: ExaminedReceipt, files: &HashSet<String>) -> LookedRun {
        let receipt = &found.receipt;
        let run = RunState { missing_logs: missing_logs(receipt, files), ..RunState::of(receipt) };
        let failed = matches!(run.status.as_str(), "failed" | "timed-out" | "interrupted");
        LookedRun {
            run,
            sort_key: receipt.sort_key(),
            failed_with: failed.then(|| receipt.asked_args()),
            path: found.path,
        }
    }

    fn newest_first(&self, other: &LookedRun) -> Ordering {
        other.sort_key.cmp(&self.sort_key).then_with(|| self.path.cmp(&other.path))
    }
}

/// What was read of the runs, in no order.
#[derive(Default)]
struct Read {
    runs: Vec<LookedRun>,
    errors: Vec<BrokenFile>,
    /// What is wrong with the chain of receipts.
    ledger: Vec<BrokenFile>,
}

/// Reads every receipt once, on all processors.
fn read_runs(site: &Site<'_>, view: &View<'_>, ledger: Ledger) -> Result<Read, UpkeepError> {
    let listed = site.fs().list_dir(&rel(RUNS)).unwrap_or_default();
    let files: HashSet<String> = listed.into_iter().map(|entry| entry.name).collect();
    let read = Mutex::new(Read::default());
    let chain = match ledger {
        Ledger::Check => Chain::Check,
        Ledger::Trust => Chain::Trust,
    };
    let verification = view.examine_runs(LOOKED_INTO, chain, &|receipt| {
        let looked = receipt.map(|found| LookedRun::of(found, &files));
        let mut read = read.lock().expect("no thread panics while it holds this");
        match looked {
            Ok(run) => read.runs.push(run),
            Err(bad) => read.errors.push(broken(bad.path, bad.problem)),
        }
    })?;
    let mut read = read.into_inner().expect("no thread panics while it holds this");
    read.ledger = broken_chain(verification);
    Ok(read)
}

/// Sums up what cannot be read, by file.
fn unreadable_calls(site: &Site<'_>) -> Result<Vec<BrokenFile>, UpkeepError> {
    let mut files: BTreeMap<String, (u64, Option<u64>, &'static str)> = BTreeMap::new();
    let Some(journal) = &site.journal else { return Ok(Vec::new()) };
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

/// Says what is wrong with the chain of receipts.
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

/// Names the logs of a receipt that are gone. They lie beside it, whatever absolute path an older receipt has.
fn missing_logs(receipt: &Receipt, files: &HashSet<String>) -> Vec<&'static str> {
    let is_missing = |path: &Option<String>| {
        let path = path.as_deref().filter(|path| !path.is_empty());
        path.is_some_and(|path| !files.contains(path.rsplit('/').next().unwrap_or(path)))
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
        .map(|bad| BrokenFile { is_restorable: bad.is_recorded, ..broken(bad.path, bad.problem) })
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
    call_id: &str,
    replanner: &mut Replanner<'_, '_>,
) -> Result<Vec<String>, UpkeepError> {
    let found = match call_id.parse::<CallId>() {
        Ok(id) => view.call(&id)?,
        Err(_) => None,
    };
    match found {
        None => Ok(vec!["its call is not in the queue".to_owned()]),
        Some(stored) => match stored.call.status {
            CallStatus::Waiting | CallStatus::ResumePending => Ok(replanner.changes(&stored.call)?),
            status => Ok(vec![format!("its call is {status}")]),
        },
    }
}
