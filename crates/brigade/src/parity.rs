//! Closeouts: projection issues that a person reviewed and accepted.

use std::sync::Arc;

use brigade_doctor::Verdict;
use brigade_ops::{Error, parity};

use crate::report::{CloseoutReport, ParityReport};
use crate::workspace_inner::WorkspaceInner;

/// Operations on projection parity between harnesses.
#[derive(Clone)]
pub struct Parity {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Parity {
    /// Lists projection issues, and which of them the last closeout accepted.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn status(&self) -> Result<ParityReport, Error> {
        Ok(parity::status(&self.inner)?)
    }

    /// Accepts the current projection issues, so only new and changed ones count.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn closeout(&self, reason: Option<&str>, verdict: Verdict) -> Result<CloseoutReport, Error> {
        Ok(parity::closeout(&self.inner, reason, verdict)?)
    }
}

#[cfg(test)]
mod tests;
