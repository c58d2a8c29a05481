//! Adopts the state file of another program.

use brigade_core::json::from_json;
use brigade_core::{Json, Object, Timestamp};
use serde::Deserialize;

use super::record::{Record, TaskOutcome};
use super::{ForeignState, Life, Stage};
use crate::names::{TaskId, Tier};
use crate::prd::ValidPrd;

/// A row of a state file. Rows with other types are skipped.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HistoryRow {
    task_id: TaskId,
    worker: Option<Tier>,
    status: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EscalationRow {
    task_id: TaskId,
    to: Tier,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewRow {
    task_id: TaskId,
    result: String,
}

/// Reads rows of an adopted state. Rows with other types are skipped.
pub(crate) fn rows<T: serde::de::DeserializeOwned>(list: &[Object]) -> Vec<T> {
    list.iter().filter_map(|row| from_json(&Json::Object(row.clone())).ok()).collect()
}

impl Life {
    /// Returns the state of a PRD without a journal, from `passes` and the state of another program.
    pub fn before_approval(prd: &ValidPrd, state: Option<ForeignState>, at: Timestamp) -> Life {
        let mut life = Life::default();
        if let Some(state) = state {
            life.apply(at, &Record::Adopted { state });
        }
        for task in prd.tasks.iter().filter(|task| task.passes) {
            life.tasks.entry(task.id.clone()).or_default().stage = Stage::Ended(TaskOutcome::Complete);
        }
        life
    }

    /// Adopts the state of another program: the tier of each task, and the task that was running.
    pub(super) fn adopt(&mut self, state: &ForeignState) {
        let theirs = state.file();
        for row in rows::<HistoryRow>(&theirs.task_history) {
            let life = self.tasks.entry(row.task_id).or_default();
            life.tier = row.worker.or(life.tier);
            life.attempts += u64::from(row.status == "started");
        }
        for row in rows::<EscalationRow>(&theirs.escalations) {
            let life = self.tasks.entry(row.task_id).or_default();
            (life.tier, life.escalated) = (Some(row.to), true);
        }
        for row in rows::<ReviewRow>(&theirs.reviews) {
            self.tasks.entry(row.task_id).or_default().reviewed = row.result == "PASS";
        }
        if let Some(task) = theirs.current_task.as_deref().and_then(|id| id.parse().ok()) {
            self.tasks.entry(task).or_default().interrupted = true;
        }
        self.history.adopted = Some(state.clone());
    }
}
