//! The work inbox: issues become rows, and people decide on them.
//!
//! Other programs write the file too, so all rows except the changed one keep their exact bytes. A change moves
//! unreadable lines to a quarantine file; reading never does.

pub(crate) mod brief;

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_core::{IdPrefix, RefusalMember, Report as _};
use brigade_doctor::{Import, InboxItem, InboxRow, InboxStatus, import as add_rows, quiet};
use brigade_policy::Failure;
use brigade_queue::check_status;
use brigade_runtime::Checks;

use crate::closeouts::closeouts;
use crate::doctor::shown::counts;
use crate::doctor::{Parts, Survey};
use crate::error::Error;
use crate::inbox::InboxStore;
use crate::inbox::{INBOX, InboxFile, QuarantinedLines};
use crate::refusal::Refusal;
use crate::report::{ImportReport, InboxItemReport, InboxReport};
use brigade_workspace::{WorkspaceContext, gather};

/// Selects inbox rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboxFilter {
    /// Only rows with this status.
    pub status: Option<InboxStatus>,
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
    /// All steps.
    pub const ALL: &'static [InboxStep] = &[InboxStep::Promote, InboxStep::Dismiss, InboxStep::Done];

    /// Returns the resulting status.
    pub fn status(self) -> InboxStatus {
        match self {
            InboxStep::Promote => InboxStatus::Promoted,
            InboxStep::Dismiss => InboxStatus::Dismissed,
            InboxStep::Done => InboxStatus::Done,
        }
    }
}

/// Operations on the work inbox.
#[derive(Clone)]
pub struct Inbox {
    context: Arc<WorkspaceContext>,
}

impl Inbox {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> Inbox {
        Inbox { context }
    }

    /// Adds a row for every issue, unless the issue has one, is done, or was dismissed and did not change.
    ///
    /// Runs no health commands, so it adds no rows for their issues.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn import(&self) -> Result<ImportReport, Error> {
        Ok(import(&self.context)?)
    }

    /// Lists inbox rows.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list(&self, filter: &InboxFilter) -> Result<InboxReport, Error> {
        Ok(list(&self.context, filter)?)
    }

    /// Shows one row.
    ///
    /// # Errors
    /// Returns [`Refusal::InboxItem`] if no row matches, and file errors.
    pub fn show(&self, prefix: &IdPrefix) -> Result<InboxItemReport, Error> {
        show(&self.context, prefix).map_err(|why| row_refusal(&self.context, why))
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
        decide(&self.context, prefix, step, reason).map_err(|why| row_refusal(&self.context, why))
    }
}

fn row_refusal(context: &WorkspaceContext, why: RowError) -> Error {
    match why {
        RowError::Refused(failure, item) => {
            Error::from(failure).refusing(context, Refusal::InboxItem { item })
        }
        RowError::Failed(failure) => failure.into(),
    }
}

pub(crate) fn import(context: &WorkspaceContext) -> Result<ImportReport, Failure> {
    // Quarantine unreadable lines first, because a quarantine file is an issue itself.
    let set_aside = match InboxStore::new(context).read()?.unreadable() {
        0 => QuarantinedLines::default(),
        _ => InboxStore::new(context).change(|_| ())?.1,
    };
    let config = gather::config(context)?;
    let mut survey = Survey::read(context, &config, &Parts { health: Checks::Skip, ..Parts::all() })?;
    let found = survey.diagnose(context);
    let listed = closeouts(&*context.fs).fingerprints();
    let issues = quiet(found, listed.as_ref(), &context.target()).issues;
    let imported = if issues.is_empty() {
        Import::default()
    } else {
        let add = |inbox: &mut InboxFile| {
            let rows: Vec<InboxRow> = inbox.rows().filter_map(InboxRow::parse).collect();
            let imported = add_rows(&issues, &rows, &*context.speller, survey.now);
            for row in &imported.created {
                inbox.append(row);
            }
            imported
        };
        InboxStore::new(context).change(add)?.0
    };
    Ok(ImportReport {
        schema: ImportReport::SCHEMA,
        target: context.target(),
        imports_path: context.absolute(INBOX),
        issues: issues.len(),
        created: imported.created.len(),
        skipped: imported.skipped,
        dismissed: imported.dismissed,
        imports: imported.created,
        quarantined: set_aside.lines,
        quarantine_path: set_aside.file.map(|file| context.absolute(&file)),
    })
}

/// Adds rows for findings of a kitchen worker outside of its task, unless a row has them. Returns the number of new
/// rows.
pub fn add_backlog(context: &WorkspaceContext, task: &str, found: &[String]) -> Result<usize, Failure> {
    let now = context.clock.now();
    let add = |inbox: &mut InboxFile| {
        let created = brigade_doctor::backlog(task, found, inbox.rows(), now);
        created.iter().for_each(|row| inbox.append(row));
        created.len()
    };
    Ok(InboxStore::new(context).change(add)?.0)
}

pub(crate) fn list(context: &WorkspaceContext, filter: &InboxFilter) -> Result<InboxReport, Failure> {
    let inbox = InboxStore::new(context).read()?;
    if let Some(status) = &filter.status {
        let stored = inbox.rows().filter_map(|row| row.status.as_ref());
        check_status(status.as_str(), InboxStatus::ALL.iter().chain(stored).map(InboxStatus::as_str))?;
    }
    let fits = |row: &&InboxItem| {
        (filter.status.is_none() || row.status == filter.status)
            && (filter.source.is_none() || row.source == filter.source)
    };
    let items: Vec<InboxItem> = inbox.rows().filter(fits).cloned().collect();
    Ok(InboxReport {
        schema: InboxReport::SCHEMA,
        target: context.target(),
        imports_path: context.absolute(INBOX),
        item_count: items.len(),
        items,
        counts: inbox_counts(&inbox),
        unreadable_count: inbox.unreadable(),
    })
}

pub(crate) fn show(context: &WorkspaceContext, prefix: &IdPrefix) -> Result<InboxItemReport, RowError> {
    let inbox = InboxStore::new(context).read()?;
    let index = inbox.find(prefix).map_err(|failure| RowError::Refused(failure, None))?;
    Ok(item_report(context, inbox.row(index).clone()))
}

/// Records a decision on a row. Starts nothing.
///
/// # Errors
/// Returns [`RowError::Refused`] if no row matches or the row already has this decision, and file errors.
pub(crate) fn decide(
    context: &WorkspaceContext,
    prefix: &IdPrefix,
    step: InboxStep,
    reason: Option<&str>,
) -> Result<InboxItemReport, RowError> {
    let reason = reason.map(|reason| gather::clean_reason(context, reason)).transpose()?;
    let now = context.now();
    let refused = |item| move |failure: Failure| RowError::Refused(failure, item);
    // Look without the lock first, so a mistyped id changes nothing and does not wait.
    InboxStore::new(context).read()?.find(prefix).map_err(refused(None))?;
    let decide = |inbox: &mut InboxFile| inbox.decide(prefix, step.status(), reason.clone(), now);
    let (decided, _) = InboxStore::new(context).change(decide)?;
    let decided = decided.map_err(|(failure, row)| refused(row)(failure));
    decided.map(|row| item_report(context, row))
}

fn item_report(context: &WorkspaceContext, item: InboxItem) -> InboxItemReport {
    InboxItemReport {
        schema: InboxItemReport::SCHEMA,
        target: context.target(),
        imports_path: context.absolute(INBOX),
        item,
        error: RefusalMember::default(),
        candidates: RefusalMember::default(),
    }
}

/// Why a row was not shown or decided.
#[derive(Debug)]
pub(crate) enum RowError {
    /// No row matches, or the row already has this decision.
    Refused(Failure, Option<Box<InboxItem>>),
    /// A file or a reason cannot be used.
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for RowError {
    fn from(failure: E) -> RowError {
        RowError::Failed(failure.into())
    }
}

/// Counts the rows by status.
pub(crate) fn inbox_counts(inbox: &InboxFile) -> BTreeMap<String, u64> {
    counts(inbox.rows().map(|row| row.status.as_ref().map_or("unknown", InboxStatus::as_str)))
}

#[cfg(test)]
mod tests;
