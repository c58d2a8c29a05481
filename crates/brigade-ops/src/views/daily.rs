//! The operations of every day, on everything that waits and on everything that ran.

use std::sync::Arc;

use brigade_core::IdPrefix;
use brigade_kitchen::show::DecisionRow;
use brigade_workspace::WorkspaceContext;

use super::history::{HistoryFilter, history, rows_of};
use super::numbers::ShownNumbers;
use super::pages::{CallPage, page};
use super::pending::{Grouping, OpenCall, WaitingGroup, open_calls, pending, waiting_groups, waiting_items};
use super::series::series;
use crate::calls::Calls;
use crate::error::Error;
use crate::report::{
    CallListReport, HistoryReport, HistoryRow, LifeReport, PendingReport, RunListReport, SeriesReport,
    WaitingReport, WaitingRow,
};

/// Lists what waits outside of the queue of calls.
pub trait WaitingSource: Send + Sync {
    /// Returns the decisions of the kitchen and the questions of agents that wait.
    ///
    /// # Errors
    /// Returns file errors.
    fn others(&self) -> Result<(Vec<DecisionRow>, Vec<WaitingRow>), Error>;

    /// Returns the whole text of a question of an agent; `None` if no such question waits.
    ///
    /// # Errors
    /// Returns file errors.
    fn question_text(&self, id: &str) -> Result<Option<String>, Error>;
}

/// Shows and decides what waits, and shows what ran.
#[derive(Clone)]
pub struct Daily {
    pub(crate) context: Arc<WorkspaceContext>,
    pub(crate) calls: Calls,
    pub(crate) source: Arc<dyn WaitingSource>,
}

impl Daily {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>, calls: Calls, source: Arc<dyn WaitingSource>) -> Daily {
        Daily { context, calls, source }
    }

    /// Lists what waits for a person, in groups of equal requests. Stores nothing.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn groups(&self) -> Result<Vec<WaitingGroup>, Error> {
        let (decisions, questions) = self.source.others()?;
        Ok(waiting_groups(&self.context, Grouping::Equal, &decisions, questions)?)
    }

    /// Lists the calls that are not finished.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn open_calls(&self) -> Result<Vec<OpenCall>, Error> {
        Ok(open_calls(&self.context)?)
    }

    /// Lists what waits for a person, riskiest first, then oldest first. Equal requests are not grouped.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn waiting(&self) -> Result<WaitingReport, Error> {
        let (decisions, questions) = self.source.others()?;
        let groups = waiting_groups(&self.context, Grouping::None, &decisions, questions)?;
        Ok(waiting_items(&self.context, groups)?)
    }

    /// Lists what waits for a person, numbered, and remembers the numbers.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn pending(&self) -> Result<PendingReport, Error> {
        Ok(pending(&self.context, self.groups()?))
    }

    /// Returns the ids that were last shown with a number.
    pub fn ids_of_number(&self, number: u64) -> Vec<String> {
        let numbers = ShownNumbers::read(&self.context);
        numbers.things(number).iter().map(|thing| thing.id.clone()).collect()
    }

    /// Lists what ran, oldest first. Reads little more than it lists.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn history(&self, filter: &HistoryFilter) -> Result<HistoryReport, Error> {
        history(&self.context, filter)
    }

    /// Describes the runs of a list as the history does, with short ids of runs.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn run_rows(&self, list: &RunListReport) -> Result<Vec<HistoryRow>, Error> {
        Ok(rows_of(&self.context, list)?)
    }

    /// Lists a page of calls, oldest first.
    ///
    /// # Errors
    /// Fails if the status, the tool or the call to list before does not exist, and on file errors.
    pub fn calls(&self, filter: &CallPage) -> Result<CallListReport, Error> {
        Ok(page(&self.context, filter)?)
    }

    /// Sums up the calls of the last days for charts, today included.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn series(&self, days: u32) -> Result<SeriesReport, Error> {
        Ok(series(&self.context, days)?)
    }

    /// Ends the notes on what behaves differently in v0.30.
    ///
    /// # Errors
    /// Fails inside a run, and on file errors.
    pub fn done_switching(&self) -> Result<(), Error> {
        Ok(crate::doctor::history::done_switching(&self.context)?)
    }

    /// Tells the life of a call. Changes nothing.
    ///
    /// # Errors
    /// As [`Calls::show`].
    pub fn why(&self, call: impl Into<IdPrefix>) -> Result<LifeReport, Error> {
        super::life::life(&self.context, &self.calls, &call.into())
    }
}
