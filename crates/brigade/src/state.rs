//! Operations on the whole state, for operators.

use std::ops::ControlFlow;
use std::sync::Arc;

use brigade_ops::{Error, state};

use crate::report::{AdoptReport, CompactReport, StateReport};
use crate::workflow;
use crate::workspace_inner::WorkspaceInner;

pub use brigade_ops::state::{AdoptStep, ExportLine};

/// Operations on the stored state.
#[derive(Clone)]
pub struct State {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl State {
    /// Checks calls and receipts, and lists unreadable records. Changes nothing.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn check(&self) -> Result<StateReport, Error> {
        Ok(state::check(&self.inner)?)
    }

    /// Passes every call in order of creation, then every receipt, newest first.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn export(&self, found: &mut dyn FnMut(ExportLine) -> ControlFlow<()>) -> Result<(), Error> {
        Ok(state::export(&self.inner, found)?)
    }

    /// Lists or accepts approvals that another host gave.
    ///
    /// # Errors
    /// Fails inside a run, or on a file error.
    pub fn adopt(&self, step: AdoptStep) -> Result<AdoptReport, Error> {
        let mut report = state::adopt(&self.inner, step)?;
        report.records.extend(workflow::adopt(&self.inner, step)?);
        Ok(report)
    }

    /// Moves old finished calls out of the queue file, and removes what crashes left.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn compact(&self) -> Result<CompactReport, Error> {
        Ok(state::compact(&self.inner)?)
    }
}
