//! The work inbox: issues become rows, and people decide on them.

use std::sync::Arc;

use brigade_core::IdPrefix;
use brigade_ops::{
    Error, Refusal,
    work::{self, RowError},
};

use crate::report::{ImportReport, InboxItemReport, InboxReport};
use crate::workspace_inner::WorkspaceInner;

pub use brigade_ops::work::{InboxFilter, InboxStep};

/// Operations on the work inbox.
#[derive(Clone)]
pub struct Inbox {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Inbox {
    /// Adds a row for every issue, unless the issue has one, is done, or was dismissed and did not change.
    ///
    /// Runs no health commands, so it adds no rows for their issues.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn import(&self) -> Result<ImportReport, Error> {
        Ok(work::import(&self.inner)?)
    }

    /// Lists inbox rows.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list(&self, filter: &InboxFilter) -> Result<InboxReport, Error> {
        Ok(work::list(&self.inner, filter)?)
    }

    /// Shows one row.
    ///
    /// # Errors
    /// Returns [`Refusal::InboxItem`] if no row matches, and file errors.
    pub fn show(&self, prefix: &IdPrefix) -> Result<InboxItemReport, Error> {
        work::show(&self.inner, prefix).map_err(|why| row_refusal(&self.inner, why))
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
        work::decide(&self.inner, prefix, step, reason).map_err(|why| row_refusal(&self.inner, why))
    }
}

fn row_refusal(inner: &WorkspaceInner, why: RowError) -> Error {
    match why {
        RowError::Refused(failure, item) => Error::from(failure).refusing(inner, Refusal::InboxItem { item }),
        RowError::Failed(failure) => failure.into(),
    }
}

#[cfg(test)]
mod tests;
