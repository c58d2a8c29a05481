//! Takes the files of a workspace into its team, and writes files from what the team has.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use brigade_call::{CallStatus, RecordVersion};
use brigade_fs::{DiskFs, Fs, WorkspaceKey};
use brigade_queue::{Calls, Durability, JournalStore, LocalHost, Queue, Store as _, StoredCall};
use brigade_team::{FileCall, FileReceipt, Presence, TeamStore};

use super::Team;
use crate::error::Error;
use crate::report::{Report as _, TeamCounts, TeamExportReport, TeamImportReport, TeamLeftOut};

/// How many records are stored at once.
const BATCH: usize = 256;

/// Whether an import writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportStep {
    /// It only says what it would do.
    DryRun,
    /// It writes.
    Write,
}

/// An import while it runs.
struct Import<'a> {
    store: &'a TeamStore,
    step: ImportStep,
    report: TeamImportReport,
    /// The sha256 of the receipts of each call.
    receipts: BTreeMap<String, Vec<String>>,
}

impl Team {
    /// Takes calls, checkpoints and receipts of the workspace's files into the team. What it has already is left as it
    /// is. The files stay.
    ///
    /// # Errors
    /// Fails inside a run, if the workspace has not joined, if the member may not queue and review, and on errors of
    /// files or the database. The next import continues.
    pub fn import(&self, step: ImportStep) -> Result<TeamImportReport, Error> {
        self.context.require_outside_run()?;
        let joined = self.joined()?;
        let store = self.open(joined.clone())?;
        let files = &self.context.files_of_calls;
        let queue = Queue::new(files.clone(), Arc::new(LocalHost::new(self.context.fs.clone())));
        let report = TeamImportReport {
            schema: TeamImportReport::SCHEMA,
            target: self.context.target(),
            team_id: joined.team_id,
            workspace: joined.workspace,
            dry_run: step == ImportStep::DryRun,
            added: TeamCounts::default(),
            present: TeamCounts::default(),
            left_out: Vec::new(),
        };
        let mut import = Import { store: &store, step, report, receipts: BTreeMap::new() };
        let is_empty = {
            let view = queue.read()?;
            view.call_counts()?.is_empty() && view.run_counts()?.is_empty()
        };
        if is_empty {
            return Ok(import.report);
        }
        // Nothing else writes the files meanwhile. State of earlier versions is adopted first.
        let _writer = match step {
            ImportStep::DryRun => None,
            ImportStep::Write => {
                drop(queue.lock(self.context.now())?);
                let mut writer = files.begin(self.context.now(), Durability::AtOnce)?;
                writer.prepare()?;
                Some(writer)
            }
        };
        let view = queue.read()?;
        for finding in view.verify(1)?.findings {
            import.leave_out(finding.run_id, format!("{}: {}", finding.tampering.as_str(), finding.detail));
        }
        let mut batch = Vec::with_capacity(BATCH);
        files.each_receipt(&mut |receipt| {
            batch.push(receipt);
            if batch.len() == BATCH { import.receipts(&std::mem::take(&mut batch)) } else { Ok(()) }
        })?;
        import.receipts(&batch)?;
        let mut batch = Vec::with_capacity(BATCH);
        let mut done = Ok(());
        let now = self.context.now();
        view.for_each_call(&Calls::All, &mut |stored| {
            batch.push(stored);
            if batch.len() == BATCH {
                done = import.calls(&std::mem::take(&mut batch), now);
            }
            if done.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        done?;
        import.calls(&batch, now)?;
        Ok(import.report)
    }

    /// Writes calls, checkpoints and receipts of the workspace in the team into a directory, as files. Approvals do not
    /// count there.
    ///
    /// # Errors
    /// Fails inside a run, if the workspace has not joined, if the directory has calls or receipts, and on errors of
    /// files or the database.
    pub fn export(&self, directory: &Path) -> Result<TeamExportReport, Error> {
        let path = self.context.typed_path(directory);
        self.context.require_outside_run_at(&path)?;
        let joined = self.joined()?;
        let store = self.open(joined.clone())?;
        let fs: Arc<dyn Fs> = Arc::new(DiskFs::make(&path)?);
        let mut report = TeamExportReport {
            schema: TeamExportReport::SCHEMA,
            target: self.context.target(),
            team_id: joined.team_id,
            workspace: joined.workspace,
            directory: fs.root().display().to_string(),
            written: TeamCounts::default(),
            late: 0,
        };
        // A key that is used nowhere else, so that nothing counts as approved because it was exported.
        let key = Arc::new(WorkspaceKey::temporary());
        let holder = format!("process {}", std::process::id());
        let files = JournalStore::new(fs, key, holder, self.context.timeout);
        let dump = RefCell::new(store.dump()?);
        report.late = dump.borrow().receipts_left_out;
        let written = RefCell::new(TeamCounts::default());
        let receipts = &mut || -> Result<Vec<FileReceipt>, Error> {
            let part = dump.borrow_mut().receipts()?;
            written.borrow_mut().receipts += part.len() as u64;
            Ok(part)
        };
        let calls = &mut || -> Result<Vec<StoredCall>, Error> {
            let part = dump.borrow_mut().calls()?;
            written.borrow_mut().calls += part.len() as u64;
            written.borrow_mut().checkpoints += checkpoints(&part);
            Ok(part)
        };
        files.fill(receipts, calls, self.context.now())?;
        report.written = written.into_inner();
        Ok(report)
    }
}

fn checkpoints<'a>(calls: impl IntoIterator<Item = &'a StoredCall>) -> u64 {
    calls.into_iter().map(|stored| stored.checkpoints.len() as u64).sum()
}

impl Import<'_> {
    fn leave_out(&mut self, id: String, reason: String) {
        self.report.left_out.push(TeamLeftOut { id, reason });
    }

    fn receipts(&mut self, batch: &[FileReceipt]) -> Result<(), Error> {
        let found = self.store.has_receipts(batch)?;
        let after = match self.step {
            ImportStep::DryRun => found,
            ImportStep::Write => self.store.import_receipts(batch)?,
        };
        for (receipt, presence) in batch.iter().zip(after) {
            match presence {
                Presence::Missing => self.report.added.receipts += 1,
                Presence::Present => self.report.present.receipts += 1,
                Presence::Refused(reason) => {
                    self.leave_out(receipt.run_id.clone(), reason);
                    continue;
                }
            }
            self.receipts.entry(receipt.call_id.clone()).or_default().push(receipt.sha256.to_hex());
        }
        Ok(())
    }

    fn calls(&mut self, batch: &[StoredCall], now: brigade_core::Timestamp) -> Result<(), Error> {
        let mut importable = Vec::with_capacity(batch.len());
        for stored in batch {
            let id = stored.call.id.to_string();
            match (&stored.call.status, stored.version) {
                (_, RecordVersion::Newer) => {
                    self.leave_out(id, "a newer version of Brigade wrote it".to_owned());
                }
                (CallStatus::Running, _) => self.leave_out(id, "it is running".to_owned()),
                _ => importable.push(stored),
            }
        }
        let receipts = std::mem::take(&mut self.receipts);
        let of_call =
            |stored: &StoredCall| receipts.get(stored.call.id.as_str()).map_or(&[][..], Vec::as_slice);
        let calls: Vec<FileCall<'_>> =
            importable.iter().map(|stored| FileCall { stored, receipts: of_call(stored) }).collect();
        let after = match self.step {
            ImportStep::DryRun => self.store.has_calls(&calls)?,
            ImportStep::Write => self.store.import_calls(&calls, now)?,
        };
        for (stored, presence) in importable.iter().zip(after) {
            let counts = match presence {
                Presence::Missing => &mut self.report.added,
                Presence::Present => &mut self.report.present,
                Presence::Refused(reason) => {
                    self.leave_out(stored.call.id.to_string(), reason);
                    continue;
                }
            };
            counts.calls += 1;
            counts.checkpoints += checkpoints([*stored]);
        }
        self.receipts = receipts;
        Ok(())
    }
}
