//! Receipts of the kitchen: what was started, how it ended, and the chain over them.
//!
//! `.brigade/kitchen/runs/` has `RUN.json`, its two logs, and `ledger.jsonl`, which chains the receipts as that of the
//! tools does.

mod report;

use std::collections::HashSet;
use std::time::Duration;

use brigade_call::SandboxUsed;
use brigade_core::json::{from_json, write_document};
use brigade_core::{Clock, Dialect, Fingerprint, Json, Object, RunId, Timestamp};
use brigade_fs::{Fs, FsError, RelPath};
use brigade_journal::{ChainFault, Ledger, LedgerEntry, NewEntry, check_chain};
use brigade_kitchen::{PrdName, TaskId, Tier};
use serde::{Deserialize, Serialize};

pub use report::{KitchenReceiptsReport, KitchenVerifyReport};

use crate::lock::HOLDER;
use crate::paths::RUNS;
use crate::run_log::{LogRow, is_part};

/// The version of the receipts that this version writes.
const VERSION: u32 = 1;

/// The largest receipt that is read.
const MAX_RECEIPT: u64 = 4 << 20;

/// How long a writer of the ledger waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// What was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// A worker tried a task.
    Attempt,
    /// A verification command.
    Verification,
    /// The test command.
    Test,
    /// The setup of a worktree.
    Setup,
    /// A review of a task.
    Review,
    /// A decision about a failure.
    Decision,
    /// An answer to a question about scope.
    Scope,
    /// A review of a PRD.
    Phase,
    /// What stands between two PRDs.
    Gate,
    /// A plan.
    Plan,
    /// A part of the map.
    Map,
    /// A notification.
    Notification,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// With 0.
    Completed,
    /// With another code, or by a signal.
    Failed,
    /// At its time limit.
    TimedOut,
    /// Because it printed nothing.
    Stalled,
    /// Because the service was interrupted.
    Interrupted,
    /// It was not started.
    NotStarted,
}

/// A receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KitchenReceipt {
    /// The version of the format.
    pub receipt_version: u32,
    /// The id of the run.
    pub id: RunId,
    /// What was started.
    pub kind: RunKind,
    /// The PRD.
    pub prd: Option<PrdName>,
    /// The task.
    pub task: Option<TaskId>,
    /// The tier of a worker.
    pub tier: Option<Tier>,
    /// The number of an attempt, over all tiers.
    pub attempt: Option<u64>,
    /// What a person had approved.
    pub fingerprint: Option<Fingerprint>,
    /// The words, without secrets.
    pub argv: Vec<String>,
    /// The program.
    pub program: Option<String>,
    /// The sha256 of its bytes.
    pub program_sha256: Option<Fingerprint>,
    /// The directory that it started in, relative to the workspace if it is inside.
    pub directory: String,
    /// The names of the variables that it got by labels.
    pub env_labels: Vec<String>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When all of its processes had ended.
    pub completed_at: Timestamp,
    /// How it ended.
    pub status: RunEnd,
    /// Its exit code; negative for a signal.
    pub exit_code: Option<i64>,
    /// Why it was not started, or ended early, without secrets.
    pub problem: Option<String>,
    /// Its standard output.
    pub stdout: Option<LogRow>,
    /// Its standard error.
    pub stderr: Option<LogRow>,
    /// How it was confined.
    pub sandbox: SandboxUsed,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub other: Object,
}

impl RunKind {
    /// Returns the word of the receipt.
    pub const fn as_str(self) -> &'static str {
        match self {
            RunKind::Attempt => "attempt",
            RunKind::Verification => "verification",
            RunKind::Test => "test",
            RunKind::Setup => "setup",
            RunKind::Review => "review",
            RunKind::Decision => "decision",
            RunKind::Scope => "scope",
            RunKind::Phase => "phase",
            RunKind::Gate => "gate",
            RunKind::Plan => "plan",
            RunKind::Map => "map",
            RunKind::Notification => "notification",
        }
    }
}

impl RunEnd {
    /// Returns the word of the receipt.
    pub const fn as_str(self) -> &'static str {
        match self {
            RunEnd::Completed => "completed",
            RunEnd::Failed => "failed",
            RunEnd::TimedOut => "timed_out",
            RunEnd::Stalled => "stalled",
            RunEnd::Interrupted => "interrupted",
            RunEnd::NotStarted => "not_started",
        }
    }
}

impl KitchenReceipt {
    /// Makes the receipt of something that was not started, to be filled in.
    pub(crate) fn new(id: RunId, kind: RunKind, at: Timestamp) -> KitchenReceipt {
        KitchenReceipt {
            receipt_version: VERSION,
            id,
            kind,
            prd: None,
            task: None,
            tier: None,
            attempt: None,
            fingerprint: None,
            argv: Vec::new(),
            program: None,
            program_sha256: None,
            directory: String::new(),
            env_labels: Vec::new(),
            started_at: at,
            completed_at: at,
            status: RunEnd::NotStarted,
            exit_code: None,
            problem: None,
            stdout: None,
            stderr: None,
            sandbox: SandboxUsed::default(),
            other: Object::new(),
        }
    }
}

/// A receipt that does not agree with the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReceiptFinding {
    /// The run, or empty if that is not known.
    pub run: String,
    /// The line of the ledger that is no entry.
    pub line: Option<u64>,
    /// What is wrong.
    pub what: String,
}

/// The receipts of a workspace.
pub struct Receipts<'f> {
    fs: &'f dyn Fs,
    folder: RelPath,
}

impl<'f> Receipts<'f> {
    /// Creates a handle without accessing the disk.
    pub fn new(fs: &'f dyn Fs) -> Receipts<'f> {
        Receipts { fs, folder: RelPath::from_static(RUNS) }
    }

    fn inside(&self, name: &str) -> RelPath {
        self.folder.join(name).expect("a run id is a file name")
    }

    /// Returns where the logs of a run are: standard output and standard error.
    pub fn logs(&self, run: &RunId) -> (RelPath, RelPath) {
        (self.inside(&format!("{run}.stdout.log")), self.inside(&format!("{run}.stderr.log")))
    }

    /// Stores a receipt, and chains it.
    ///
    /// # Errors
    /// Fails on a disk error. A receipt that a crash left without its entry gets it from the next service.
    pub fn store(&self, receipt: &KitchenReceipt, clock: &dyn Clock) -> Result<(), FsError> {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        let _ = write_document(&mut bytes, receipt);
        self.fs.create_dir_all(&self.folder)?;
        let _lock = self.fs.lock(&self.inside("ledger.lock"), HOLDER, LOCK_TIMEOUT)?;
        self.fs.create_new_durable(&self.inside(&format!("{}.json", receipt.id)), &bytes)?;
        self.chain(receipt, &bytes, clock)
    }

    fn chain(&self, receipt: &KitchenReceipt, bytes: &[u8], clock: &dyn Clock) -> Result<(), FsError> {
        let task = receipt.task.as_ref().map(|task| format!("{}/", receipt_prd(receipt)) + task.as_str());
        let entry = NewEntry {
            run_id: receipt.id.to_string(),
            record_id: task.or_else(|| receipt.prd.as_ref().map(ToString::to_string)),
            sha256: Fingerprint::of_bytes(bytes),
            started_at: receipt.started_at.to_string(),
            status: receipt.status.as_str().to_owned(),
            is_adopted: false,
        };
        Ledger::new(self.fs, &self.folder).append(&[entry], 0, clock.now())?;
        Ok(())
    }

    /// Reads a receipt; `None` if there is none, or it is no receipt.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn read(&self, run: &RunId) -> Result<Option<KitchenReceipt>, FsError> {
        let bytes = match self.fs.read(&self.inside(&format!("{run}.json")), MAX_RECEIPT) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let json = Json::parse_bytes(&bytes, Dialect::Strict).ok();
        Ok(json.and_then(|json| from_json(&json).ok()))
    }

    /// Lists the entries of the chain, the oldest first.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn entries(&self) -> Result<Vec<LedgerEntry>, FsError> {
        let lines = Ledger::new(self.fs, &self.folder).lines()?.unwrap_or_default();
        Ok(lines.into_iter().filter_map(|line| line.entry).collect())
    }

    /// Checks the chain and every receipt in it. Returns how many there are, and what is wrong.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn verify(&self) -> Result<(u64, Vec<ReceiptFinding>), FsError> {
        let lines = Ledger::new(self.fs, &self.folder).lines()?.unwrap_or_default();
        let mut found: Vec<ReceiptFinding> = Vec::new();
        let of_chain = |fault: ChainFault| ReceiptFinding {
            run: fault.run_id,
            line: fault.line,
            what: fault.detail.to_owned(),
        };
        found.extend(check_chain(&lines, 1, 0).into_iter().map(of_chain));
        let mut checked = 0;
        for entry in lines.iter().filter_map(|line| line.entry.as_ref()) {
            checked += 1;
            let finding =
                |what: &str| ReceiptFinding { run: entry.run_id.clone(), line: None, what: what.to_owned() };
            let Ok(run) = entry.run_id.parse::<RunId>() else {
                found.push(finding("its name is no id of a run"));
                continue;
            };
            match self.fs.read(&self.inside(&format!("{run}.json")), MAX_RECEIPT) {
                Ok(bytes) if Fingerprint::of_bytes(&bytes) == entry.sha256 => {
                    let receipt = Json::parse_bytes(&bytes, Dialect::Strict).ok();
                    let receipt: Option<KitchenReceipt> = receipt.and_then(|json| from_json(&json).ok());
                    let changed = receipt.map(|receipt| self.changed_logs(&receipt)).transpose()?;
                    found.extend(changed.unwrap_or_default().into_iter().map(finding));
                }
                Ok(_) => found.push(finding("the receipt was changed")),
                Err(error) if error.is_not_found() => found.push(finding("the receipt is missing")),
                Err(error) => return Err(error),
            }
        }
        let unchained = self.unchained()?.into_iter();
        found.extend(unchained.map(|run| ReceiptFinding {
            run: run.to_string(),
            line: None,
            what: "the receipt is not in the chain".to_owned(),
        }));
        Ok((checked, found))
    }

    /// Says which logs are not what the receipt has of them. One that was deleted says nothing.
    fn changed_logs(&self, receipt: &KitchenReceipt) -> Result<Vec<&'static str>, FsError> {
        let (stdout, stderr) = self.logs(&receipt.id);
        let logs = [
            (stdout, &receipt.stdout, "the log of standard output was changed"),
            (stderr, &receipt.stderr, "the log of standard error was changed"),
        ];
        let mut changed = Vec::new();
        for (path, row, what) in logs {
            let Some(row) = row else { continue };
            let is_its = match self.fs.open(&path) {
                Ok(file) => file.len()? == row.bytes && brigade_fs::fingerprint(&*file)? == row.sha256,
                Err(error) => error.is_not_found(),
            };
            if !is_its {
                changed.push(what);
            }
        }
        Ok(changed)
    }

    /// Lists the runs whose receipts are not in the chain: a crash came between.
    fn unchained(&self) -> Result<Vec<RunId>, FsError> {
        let known: HashSet<String> = self.entries()?.into_iter().map(|entry| entry.run_id).collect();
        let runs = self.fs.list_dir(&self.folder).unwrap_or_default();
        let runs = runs.iter().filter_map(|entry| entry.name.strip_suffix(".json"));
        Ok(runs.filter(|run| !known.contains(*run)).filter_map(|run| run.parse().ok()).collect())
    }

    /// Chains receipts and removes parts of logs that a crash left.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub(crate) fn mend(&self, clock: &dyn Clock) -> Result<(), FsError> {
        for entry in self.fs.list_dir(&self.folder).unwrap_or_default() {
            if is_part(&entry.name) {
                let _ = self.fs.remove(&self.inside(&entry.name));
            }
        }
        let left = self.unchained()?;
        if left.is_empty() {
            return Ok(());
        }
        let _lock = self.fs.lock(&self.inside("ledger.lock"), HOLDER, LOCK_TIMEOUT)?;
        for run in self.unchained()? {
            let Some(receipt) = self.read(&run)? else { continue };
            let bytes = self.fs.read(&self.inside(&format!("{run}.json")), MAX_RECEIPT)?;
            self.chain(&receipt, &bytes, clock)?;
        }
        Ok(())
    }
}

fn receipt_prd(receipt: &KitchenReceipt) -> String {
    receipt.prd.as_ref().map(ToString::to_string).unwrap_or_default()
}
