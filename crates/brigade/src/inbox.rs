//! The work inbox: issues become rows, and people decide on them.
//!
//! Other programs write the file too, so all rows except the changed one keep their exact bytes. A change moves
//! unreadable lines to a quarantine file; reading never does.

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_core::IdPrefix;
use brigade_doctor::{Import, InboxItem, InboxRow, import, quiet};
use brigade_policy::Failure;
use brigade_runtime::Checks;
pub use brigade_upkeep::INBOX;
use brigade_upkeep::{InboxFile, Parts, SetAside, Survey, closeouts};

use crate::calls;
use crate::error::Error;
use crate::refusal::Refusal;
use crate::report::{ImportReport, InboxItemReport, InboxReport, Report as _, Unfilled};
use crate::room::Room;
use brigade_upkeep::counts;
use brigade_upkeep::gather;

/// Selects inbox rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboxFilter {
    /// Only rows with this status.
    pub status: Option<String>,
    /// Only rows from this source, such as `tool-catalog`.
    pub source: Option<String>,
}

/// A decision on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxStep {
    /// Turn it into work.
    Promote,
    /// Hide it until it changes.
    Dismiss,
    /// Mark the work as done.
    Done,
}

impl InboxStep {
    /// Returns the resulting status.
    pub fn status(self) -> &'static str {
        match self {
            InboxStep::Promote => "promoted",
            InboxStep::Dismiss => "dismissed",
            InboxStep::Done => "done",
        }
    }
}

/// Operations on the work inbox.
#[derive(Clone)]
pub struct Inbox {
    pub(crate) room: Arc<Room>,
}

impl Inbox {
    /// Adds a row for every issue, unless the issue has one, is done, or was dismissed and did not change.
    ///
    /// Runs no health commands, so it adds no rows for their issues.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn import(&self) -> Result<ImportReport, Error> {
        // Quarantine unreadable lines first, because a quarantine file is an issue itself.
        let set_aside = match self.room.inbox().read()?.unreadable() {
            0 => SetAside::default(),
            _ => self.room.inbox().change(|_| ())?.1,
        };
        let config = gather::config(&self.room)?;
        let site = self.room.site(&config);
        let mut survey = Survey::read(&site, &Parts { health: Checks::Skip, ..Parts::all() })?;
        let found = survey.diagnose(&site);
        let listed = closeouts(&*self.room.fs)?.fingerprints();
        let issues = quiet(found, listed.as_ref(), &self.room.target()).issues;
        let imported = if issues.is_empty() {
            Import::default()
        } else {
            let add = |inbox: &mut InboxFile| {
                let rows: Vec<InboxRow> = inbox.rows().filter_map(InboxRow::of).collect();
                let imported = import(&issues, &rows, &*self.room.env.speller, survey.now);
                for row in &imported.created {
                    inbox.append(row);
                }
                imported
            };
            self.room.inbox().change(add)?.0
        };
        Ok(ImportReport {
            schema: ImportReport::SCHEMA,
            target: self.room.target(),
            imports_path: self.room.absolute(INBOX),
            issues: issues.len(),
            created: imported.created.len(),
            skipped: imported.skipped,
            dismissed: imported.dismissed,
            imports: imported.created,
            quarantined: set_aside.lines,
            quarantine_path: set_aside.file.map(|file| self.room.absolute(&file)),
        })
    }

    /// Lists inbox rows.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list(&self, filter: &InboxFilter) -> Result<InboxReport, Error> {
        let inbox = self.room.inbox().read()?;
        let is = |found: &Option<String>, wanted: &Option<String>| wanted.is_none() || found == wanted;
        let fits = |row: &&InboxItem| is(&row.status, &filter.status) && is(&row.source, &filter.source);
        let items: Vec<InboxItem> = inbox.rows().filter(fits).cloned().collect();
        Ok(InboxReport {
            schema: InboxReport::SCHEMA,
            target: self.room.target(),
            imports_path: self.room.absolute(INBOX),
            item_count: items.len(),
            items,
            counts: inbox_counts(&inbox),
            unreadable_count: inbox.unreadable(),
        })
    }

    /// Shows one row.
    ///
    /// # Errors
    /// Returns [`Refusal::InboxItem`] if no row matches, and file errors.
    pub fn show(&self, prefix: &IdPrefix) -> Result<InboxItemReport, Error> {
        let inbox = self.room.inbox().read()?;
        let index = inbox
            .find(prefix)
            .map_err(|error| Error::from(error).refusing(&self.room, Refusal::InboxItem { item: None }))?;
        Ok(item_report(&self.room, inbox.row(index).clone()))
    }

    /// Records a decision on a row. Starts nothing.
    ///
    /// # Errors
    /// Returns [`Refusal::InboxItem`] if no row matches or the row has this decision already, and file errors.
    pub fn decide(
        &self,
        prefix: &IdPrefix,
        step: InboxStep,
        reason: Option<&str>,
    ) -> Result<InboxItemReport, Error> {
        let reason = reason.map(|reason| calls::clean_reason(&self.room, reason)).transpose()?;
        let now = self.room.now();
        let refused =
            |item| move |error: Failure| Error::from(error).refusing(&self.room, Refusal::InboxItem { item });
        // Look without the lock first, so a mistyped id changes nothing and does not wait.
        self.room.inbox().read()?.find(prefix).map_err(refused(None))?;
        let decide = |inbox: &mut InboxFile| inbox.decide(prefix, step.status(), reason.clone(), now);
        let (decided, _) = self.room.inbox().change(decide)?;
        let decided = decided.map_err(|(failure, row)| refused(row)(failure));
        decided.map(|row| item_report(&self.room, row))
    }
}

fn item_report(room: &Room, item: InboxItem) -> InboxItemReport {
    InboxItemReport {
        schema: InboxItemReport::SCHEMA,
        target: room.target(),
        imports_path: room.absolute(INBOX),
        item,
        error: Unfilled::default(),
        candidates: Unfilled::default(),
    }
}

/// Counts the rows by status.
pub(crate) fn inbox_counts(inbox: &InboxFile) -> BTreeMap<String, u64> {
    counts(inbox.rows().map(|row| row.status.as_deref().unwrap_or("unknown")))
}

#[cfg(test)]
mod tests;
