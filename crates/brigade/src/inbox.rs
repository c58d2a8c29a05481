//! The work inbox: issues become rows, and people decide about rows.
//!
//! The file belongs to other parts of Brigade too, so rows of any source are kept as they are, byte by byte, but for
//! the one that is changed. Lines that cannot be read are set aside in a quarantine file when something is written, and
//! never before.

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_core::{IdPrefix, NextStep};
use brigade_doctor::{Import, InboxItem, InboxRow, import, quiet};
use brigade_runtime::Checks;
pub use brigade_upkeep::INBOX;
use brigade_upkeep::{InboxFile, Parts, SetAside, Survey, closeouts};

use crate::calls;
use crate::calls::ambiguous;
use crate::catalog::counts;
use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::refusal::Refusal;
use crate::report::{ImportReport, InboxItemReport, InboxReport, Report as _, Unfilled};
use crate::room::Room;

/// Which rows of the inbox to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboxFilter {
    /// Only those of this status.
    pub status: Option<String>,
    /// Only those of this source, such as `tool-catalog`.
    pub source: Option<String>,
}

/// What a person decides about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxStep {
    /// It becomes work.
    Promote,
    /// Nobody wants to hear of it until it changes.
    Dismiss,
    /// The work is done.
    Done,
}

impl InboxStep {
    /// Returns the status that it leads to.
    pub fn status(self) -> &'static str {
        match self {
            InboxStep::Promote => "promoted",
            InboxStep::Dismiss => "dismissed",
            InboxStep::Done => "done",
        }
    }
}

/// Shows the inbox and decides its rows.
#[derive(Clone)]
pub struct Inbox {
    pub(crate) room: Arc<Room>,
}

impl Inbox {
    /// Turns every issue into a row of the inbox, unless it has one, was done, or was dismissed and has not changed
    /// since.
    ///
    /// Runs no health commands, so what they would find is left out.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn import(&self) -> Result<ImportReport, Error> {
        // Lines are set aside first, because that is an issue itself.
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

    /// Lists the rows of the inbox.
    ///
    /// # Errors
    /// When the disk fails.
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

    /// Shows one row of the inbox.
    ///
    /// # Errors
    /// [`Refusal::InboxItem`] when no row is meant; when the disk fails.
    pub fn show(&self, prefix: &IdPrefix) -> Result<InboxItemReport, Error> {
        let inbox = self.room.inbox().read()?;
        let index = find(&inbox, prefix)
            .map_err(|error| error.refusing(&self.room, Refusal::InboxItem { item: None }))?;
        Ok(item_report(&self.room, inbox.row(index).clone()))
    }

    /// Records what a person decided about a row. Starts nothing.
    ///
    /// # Errors
    /// [`Refusal::InboxItem`] when no row is meant, or that was decided already; when the disk fails.
    pub fn decide(
        &self,
        prefix: &IdPrefix,
        step: InboxStep,
        reason: Option<&str>,
    ) -> Result<InboxItemReport, Error> {
        let reason = reason.map(|reason| calls::clean_reason(&self.room, reason)).transpose()?;
        let now = self.room.now();
        let refused = |item| move |error: Error| error.refusing(&self.room, Refusal::InboxItem { item });
        // Found out without the lock first, so that a mistyped id changes nothing and waits for nobody.
        find(&self.room.inbox().read()?, prefix).map_err(refused(None))?;
        let (decided, _) = self.room.inbox().change(|inbox| {
            let index = find(inbox, prefix).map_err(refused(None))?;
            let mut row = inbox.row(index).clone();
            let status = step.status();
            if row.status.as_deref() == Some(status) {
                let error = Error::new(ErrorKind::Refused, format!("the row is {status} already"));
                return Err(refused(Some(Box::new(row)))(error));
            }
            row.status = Some(status.to_owned());
            row.updated_at = Some(now.to_string());
            row.review_reason = reason.clone().or(row.review_reason);
            inbox.replace(index, row.clone());
            Ok(row)
        })?;
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

/// Counts the rows by status, as reports have it.
pub(crate) fn inbox_counts(inbox: &InboxFile) -> BTreeMap<String, u64> {
    counts(inbox.rows().map(|row| row.status.as_deref().unwrap_or("unknown")))
}

/// How many candidates an ambiguous prefix lists at most.
const CANDIDATES: usize = 20;

/// Finds the row that is meant: an equal id wins over those that only start with the prefix; of two rows with one id
/// the last.
fn find(inbox: &InboxFile, prefix: &IdPrefix) -> Result<usize, Error> {
    let text = prefix.as_str();
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, row) in inbox.rows().enumerate() {
        if let Some(id) = row.id.as_deref().filter(|id| !text.is_empty() && id.starts_with(text)) {
            found.insert(id, index);
        }
    }
    if let Some(index) = found.get(text) {
        return Ok(*index);
    }
    let shown = brigade_core::text::escape_terminal(text).into_owned();
    match found.len() {
        0 => Err(Error::new(ErrorKind::NotFound, format!("no row of the inbox matches `{shown}`"))
            .hint(NextStep::ListInbox)),
        1 => Ok(found.into_values().next().unwrap_or_default()),
        _ => {
            let candidates = found.into_keys().take(CANDIDATES).map(str::to_owned).collect();
            Err(ambiguous("row", prefix, candidates))
        }
    }
}

#[cfg(test)]
mod tests;
