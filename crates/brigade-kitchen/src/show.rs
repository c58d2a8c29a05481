//! Reports and files for people and other programs, derived from a life. The files are written after the journal. They
//! are written again from the journal when they are missing or damaged.

mod activity;
mod brief;
mod cost;
mod events;
mod kept;
mod list;
mod state_file;
mod status;
mod summary;

pub use crate::life::StateFile;
pub use activity::{TaskNote, activity, duration, pluralize, slow, worker_log};
pub use brief::{Brief, Glance, brief};
pub use cost::{KitchenCostReport, TaskCost, TierCost, cost, tier_costs};
pub use events::{Event, EventLine, events};
pub use kept::KeptStatus;
pub use list::{list_entries, list_with};
pub use status::{
    BudgetRow, CurrentTask, DecisionRow, EscalationRow, Marker, PhaseReviews, PhaseRow, StatusReport,
    TaskRow, TaskStatus, View, decision_row, status,
};
pub use summary::{SUMMARY_HEAD, SummaryReport, retry, summary};

#[cfg(test)]
mod tests;
