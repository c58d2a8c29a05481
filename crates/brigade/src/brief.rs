//! Pending decisions, and the next command to type.

use brigade_kitchen_run::DecisionFilter;
use brigade_ops::Error;

use crate::doctor::Doctor;
use crate::report::BriefReport;
use crate::workspace::Workspace;

impl Doctor {
    /// Summarizes pending decisions. Changes and starts nothing, and runs no health command.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn brief(&self) -> Result<BriefReport, Error> {
        let workspace = Workspace { room: self.room.clone() };
        let kitchen = workspace.kitchen();
        let decisions = kitchen.decisions(None, DecisionFilter::Waiting)?.decisions;
        let is_there = kitchen.is_there()?;
        let questions = workspace.work().questions()?;
        Ok(brigade_ops::brief(&self.room, decisions, is_there, questions)?)
    }
}
