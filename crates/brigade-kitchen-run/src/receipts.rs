//! Receipts of the kitchen: what was started and how it ended, in a hash chain.
//!
//! `.brigade/kitchen/runs/` has `RUN.json`, the two logs of each run, and `ledger.jsonl`. The ledger chains the
//! receipts, like the ledger of tools.

mod report;

use std::collections::HashSet;
use std::time::Duration;

use brigade_call::SandboxUsed;
use brigade_core::json::{from_json, write_document};
use brigade_core::{Clock, Dialect, Fingerprint, Json, Object, RunId, Timestamp, explained_words};
use brigade_fs::{Fs, FsError, OrAbsent, RelPath};
use brigade_journal::{ChainFault, Ledger, LedgerEntry, NewEntry, check_chain};
use brigade_kitchen::{PrdName, TaskId, Tier};
use brigade_macros::part;

pub use report::{KitchenReceiptsReport, KitchenVerifyReport};

use crate::lock::HOLDER;
use crate::paths::RUNS;
use crate::run_log::{LogRow, is_part};

/// The version of receipts that this program writes.
const VERSION: u32 = 1;

/// The maximum size of a receipt.
const MAX_RECEIPT: u64 = 4 << 20;

/// How long a writer waits for the lock of the ledger.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

explained_words! {
    /// The kind of run.
    RunKind {
        /// A worker's attempt at a task.
        Attempt = "attempt",
        /// A verification command.
        Verification = "verification",
        /// The test command.
        Test = "test",
        /// The setup of a worktree.
        Setup = "setup",
        /// A review of a task.
        Review = "review",
        /// A decision about a failure.
        Decision = "decision",
        /// An answer to a question about scope.
        Scope = "scope",
        /// A review of a PRD.
        Phase = "phase",
        /// The gate between two PRDs.
        Gate = "gate",
        /// A planning run.
        Plan = "plan",
        /// The executive's part of the map.
        Map = "map",
        /// A notification.
        Notification = "notification",
    }
}

explained_words! {
    /// How a run ended.
    RunEnd {
        /// With exit code 0.
        Completed = "completed",
        /// With another exit code, or by a signal.
        Failed = "failed",
        /// At its time limit.
        TimedOut = "timed_out",
        /// Because it printed nothing.
        Stalled = "stalled",
        /// Because the service was interrupted.
        Interrupted = "interrupted",
        /// It was not started.
        NotStarted = "not_started",
    }
}

/// The receipt of a run.
#[part(PartialEq)]
pub struct KitchenReceipt {
    /// The version of the format.
    pub receipt_version: u32,
    /// The id of the run.
    pub id: RunId,
    /// The kind of run.
    pub kind: RunKind,
    /// The PRD.
    pub prd: Option<PrdName>,
    /// The task.
    pub task: Option<TaskId>,
    /// The tier of a worker.
    pub tier: Option<Tier>,
    /// The number of an attempt, across all tiers.
    pub attempt: Option<u64>,
    /// The approved fingerprint.
    pub fingerprint: Option<Fingerprint>,
    /// The words of the command, masked.
    pub argv: Vec<String>,
    /// The program.
    pub program: Option<String>,
    /// The sha256 of its bytes.
    pub program_sha256: Option<Fingerprint>,
    /// The working directory, relative to the workspace if it is inside.
    pub directory: String,
    /// The names of the variables that it got through labels.
    pub env_labels: Vec<String>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When all of its processes had ended.
    pub completed_at: Timestamp,
    /// How it ended.
    pub status: RunEnd,
    /// Its exit code; negative for a signal.
    pub exit_code: Option<i64>,
    /// Why it was not started or ended early, masked.
    pub problem: Option<String>,
    /// Its standard output.
    pub stdout: Option<LogRow>,
    /// Its standard error.
    pub stderr: Option<LogRow>,
    /// How it was sandboxed.
    pub sandbox: SandboxUsed,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub other: Object,
}

impl KitchenReceipt {
    /// Makes the receipt of a run that was not started, to be filled in.
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

/// A receipt that does not match the chain.
#[part(PartialEq, Eq)]
pub struct ReceiptFinding {
    /// The run; empty if unknown.
    pub run: String,
    /// The invalid line of the ledger.
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

    /// Returns the paths of a run's logs: standard output and standard error.
    pub fn logs(&self, run: &RunId) -> (RelPath, RelPath) {
        (self.inside(&format!("{run}.stdout.log")), self.inside(&format!("{run}.stderr.log")))
    }

    /// Stores a receipt, and adds it to the chain.
    ///
    /// # Errors
    /// Fails on a disk error. After a crash, the next service chains a receipt that lacks its entry.
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

    /// Reads a receipt; `None` if it is missing or invalid.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn read(&self, run: &RunId) -> Result<Option<KitchenReceipt>, FsError> {
        let bytes = self.fs.read(&self.inside(&format!("{run}.json")), MAX_RECEIPT).or_absent()?;
        let json = bytes.and_then(|bytes| Json::parse_bytes(&bytes, Dialect::Strict).ok());
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

    /// Checks the chain and every receipt in it. Returns the number of entries, and the findings.
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
                found.push(finding("the file name is not a run id"));
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

    /// Returns which logs differ from the receipt. A deleted log is not a finding.
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

    /// Lists runs with a receipt that is not in the chain, because of a crash.
    fn unchained(&self) -> Result<Vec<RunId>, FsError> {
        let known: HashSet<String> = self.entries()?.into_iter().map(|entry| entry.run_id).collect();
        let runs = self.fs.list_dir(&self.folder).unwrap_or_default();
        let runs = runs.iter().filter_map(|entry| entry.name.strip_suffix(".json"));
        Ok(runs.filter(|run| !known.contains(*run)).filter_map(|run| run.parse().ok()).collect())
    }

    /// Chains receipts and removes part files that a crash left.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub(crate) fn repair(&self, clock: &dyn Clock) -> Result<(), FsError> {
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
