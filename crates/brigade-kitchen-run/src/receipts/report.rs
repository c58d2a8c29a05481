//! `receipts`: lists receipts, and verifies them.

use std::collections::HashSet;

use brigade_core::{ErrorCode, ErrorKind, NextStep, Report, RunId, text::escape_terminal};
use brigade_fs::FsError;
use brigade_kitchen::PrdName;
use brigade_macros::document;
use brigade_policy::Failure;

use super::{KitchenReceipt, ReceiptFinding, Receipts};
use crate::journal::PrdJournal;
use crate::kitchen::Kitchen;
use crate::paths::RUNS;

/// The maximum number of ids that an error names.
const MAX_NAMED: usize = 10;

/// The report of `receipts` and `receipts show`.
#[document("brigade.kitchen-receipts.v1")]
#[derive(PartialEq)]
pub struct KitchenReceiptsReport {
    /// The workspace root.
    pub target: String,
    /// The directory of receipts and logs.
    pub runs_path: String,
    /// The number of receipts in the chain.
    pub total: u64,
    /// The receipts, the newest first.
    pub receipts: Vec<KitchenReceipt>,
    /// Ids in the chain whose receipts are missing or unreadable.
    pub unreadable: Vec<String>,
}

/// The report of `receipts verify`.
#[document("brigade.kitchen-verify.v1", if self.valid)]
#[derive(PartialEq, Eq)]
pub struct KitchenVerifyReport {
    /// The workspace root.
    pub target: String,
    /// The directory of receipts and logs.
    pub runs_path: String,
    /// Whether there are no findings.
    pub valid: bool,
    /// The number of checked entries.
    pub checked: u64,
    /// The findings, in the order of the chain.
    pub findings: Vec<ReceiptFinding>,
}

impl Kitchen<'_> {
    /// Lists the newest receipts, at most `limit`.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn receipts(&self, limit: usize) -> Result<KitchenReceiptsReport, Failure> {
        let receipts = Receipts::new(&*self.fs);
        let entries = receipts.entries()?;
        let mut report = self.receipts_report(entries.len());
        for entry in entries.iter().rev().take(limit) {
            let run = entry.run_id.parse::<RunId>().ok();
            match run.map(|run| receipts.read(&run)).transpose()?.flatten() {
                Some(receipt) => report.receipts.push(receipt),
                None => report.unreadable.push(entry.run_id.clone()),
            }
        }
        Ok(report)
    }

    /// Shows one receipt, by its id or a unique prefix of it.
    ///
    /// # Errors
    /// Fails if no receipt or several receipts match, or on a disk error.
    pub fn receipt(&self, typed: &str) -> Result<KitchenReceiptsReport, Failure> {
        let receipts = Receipts::new(&*self.fs);
        let entries = receipts.entries()?;
        let ids = || entries.iter().rev().map(|entry| entry.run_id.as_str());
        let mut matching: Vec<&str> = ids().filter(|id| !typed.is_empty() && id.starts_with(typed)).collect();
        if matching.contains(&typed) {
            matching = vec![typed];
        }
        let id = match matching.as_slice() {
            [id] => *id,
            [] => return Err(missing(typed, ids(), entries.len())),
            several => {
                let several = several.iter().take(MAX_NAMED).map(|id| (*id).to_owned()).collect();
                return Err(Failure::ambiguous("receipt", typed, several));
            }
        };
        let receipt = id.parse::<RunId>().ok().map(|run| receipts.read(&run)).transpose()?.flatten();
        let Some(receipt) = receipt else {
            let message = format!("the receipt of `{id}` is missing or invalid");
            let failure = Failure::new(ErrorKind::Refused, message).coded(ErrorCode::RunMissing);
            return Err(failure.hint(NextStep::VerifyKitchenReceipts));
        };
        let mut report = self.receipts_report(entries.len());
        report.receipts.push(receipt);
        Ok(report)
    }

    /// Verifies all receipts against the chain, and the chain against the journals.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn verify_receipts(&self) -> Result<KitchenVerifyReport, Failure> {
        let receipts = Receipts::new(&*self.fs);
        let (checked, mut findings) = receipts.verify()?;
        let chained: HashSet<String> = receipts.entries()?.into_iter().map(|entry| entry.run_id).collect();
        for name in self.prds_with_journal()? {
            findings.extend(self.lost(&name, &chained, &findings)?);
        }
        Ok(KitchenVerifyReport {
            schema: KitchenVerifyReport::SCHEMA,
            target: self.target(),
            runs_path: RUNS.to_owned(),
            valid: findings.is_empty(),
            checked,
            findings,
        })
    }

    /// Lists runs that a journal recorded but the chain lacks. The chain may have been truncated or deleted.
    fn lost(
        &self,
        name: &PrdName,
        chained: &HashSet<String>,
        known: &[ReceiptFinding],
    ) -> Result<Vec<ReceiptFinding>, FsError> {
        let (life, lines) = PrdJournal::read_lines(&*self.fs, &self.key, name)?;
        let mut lost = Vec::new();
        let mut look = |run: &RunId, what: &dyn Fn() -> String| {
            let run = run.to_string();
            if !chained.contains(&run) && known.iter().all(|finding| finding.run != run) {
                let what = format!("the receipt of {} is not in the chain", what());
                lost.push(ReceiptFinding { run, line: None, what });
            }
        };
        for (task, own) in &life.tasks {
            for attempt in own.runs.iter().filter(|attempt| attempt.worked) {
                look(&attempt.run, &|| format!("attempt {} of {}", attempt.number, name.shown(task)));
            }
        }
        for record in lines.iter().map(|line| &line.record) {
            let of = || record.task().map_or_else(|| name.to_string(), |task| name.shown(task));
            for (run, what) in record.receipts() {
                let article = if what.starts_with('a') { "an" } else { "a" };
                look(run, &|| format!("{article} {what} of {}", of()));
            }
        }
        Ok(lost)
    }

    fn receipts_report(&self, total: usize) -> KitchenReceiptsReport {
        KitchenReceiptsReport {
            schema: KitchenReceiptsReport::SCHEMA,
            target: self.target(),
            runs_path: RUNS.to_owned(),
            total: total as u64,
            receipts: Vec::new(),
            unreadable: Vec::new(),
        }
    }
}

/// Returns the error for a missing receipt, with the newest ids.
fn missing<'i>(typed: &str, ids: impl Iterator<Item = &'i str>, count: usize) -> Failure {
    let message = format!("no receipt begins with `{}`", escape_terminal(typed));
    let failure = Failure::new(ErrorKind::NotFound, message).coded(ErrorCode::RunMissing);
    let newest: Vec<&str> = ids.take(MAX_NAMED).collect();
    match newest.as_slice() {
        [] => failure.hint("nothing has run yet"),
        _ if count <= newest.len() => failure.hint(format!("there are {}", newest.join(", "))),
        _ => failure.hint(format!("the newest are {}", newest.join(", "))),
    }
}
