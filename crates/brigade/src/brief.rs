//! Pending decisions, and the next command to type.

use brigade_ops::{Error, WaitingSource as _};

use crate::doctor::Doctor;
use crate::report::BriefReport;
use crate::workspace::Workspace;

impl Doctor {
    /// Summarizes pending decisions. Changes and starts nothing, and runs no health command.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn brief(&self) -> Result<BriefReport, Error> {
        let workspace = Workspace { inner: self.inner.clone() };
        let is_there = workspace.kitchen().is_there()?;
        let (decisions, questions) = workspace.work().others()?;
        Ok(brigade_ops::brief(&self.inner, decisions, is_there, questions)?)
    }
}
