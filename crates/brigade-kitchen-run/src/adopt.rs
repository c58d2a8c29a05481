//! Journals with records that this host has not signed, and their adoption by a person.

use brigade_core::Timestamp;
use brigade_kitchen::life::Life;
use brigade_policy::Failure;

use crate::journal::{PrdJournal, is_tracked};
use crate::kitchen::Kitchen;
use crate::paths::PrdFiles;

/// A journal whose records have no effect yet, because this host has not signed them.
#[derive(Clone, Debug)]
pub struct UnsignedJournal {
    /// The name of the PRD, or `workers` for the approval of the tiers.
    pub name: String,
    /// How many of its records this host has not signed.
    pub records: u64,
    /// The fingerprint that it approves, and when.
    pub approval: Option<(String, Timestamp)>,
    /// How many decisions it answers.
    pub answers: usize,
    files: PrdFiles,
}

impl Kitchen<'_> {
    /// Lists the journals that a person may adopt. Those that git tracks never count.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn unsigned_journals(&self) -> Result<Vec<UnsignedJournal>, Failure> {
        let named =
            self.prds_with_journal()?.into_iter().map(|name| (name.to_string(), PrdFiles::new(&name)));
        let mut found = Vec::new();
        for (name, files) in named.chain([("workers".to_owned(), PrdFiles::for_workers())]) {
            if is_tracked(&*self.fs, &files)? {
                continue;
            }
            let read = PrdJournal::read(&*self.fs, &self.key, &files)?;
            if 0 < read.unsigned {
                let Life { approval, decisions, .. } = PrdJournal::unsigned_life(&*self.fs, &files)?;
                let approval = approval.map(|approval| (approval.fingerprint.to_string(), approval.at));
                let answers = decisions.iter().filter(|decided| decided.answer.is_some()).count();
                found.push(UnsignedJournal { name, records: read.unsigned, approval, answers, files });
            }
        }
        Ok(found)
    }

    /// Lists the journals that git tracks, relative to the workspace.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn tracked_journals(&self) -> Result<Vec<String>, Failure> {
        let named = self.prds_with_journal()?.into_iter().map(|name| PrdFiles::new(&name));
        let mut found = Vec::new();
        for files in named.chain([PrdFiles::for_workers()]) {
            if is_tracked(&*self.fs, &files)? {
                found.push(files.journal().to_string());
            }
        }
        Ok(found)
    }

    /// Signs the records of a journal that a person was shown. Returns false if records were added since.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn adopt_journal(&self, shown: &UnsignedJournal) -> Result<bool, Failure> {
        let mut journal = self.journal(shown.files.clone())?;
        Ok(journal.unsigned() == shown.records && 0 < journal.adopt()?)
    }
}
