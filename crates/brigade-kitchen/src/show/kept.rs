//! A status that is kept until something changes.

use brigade_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::status::{StatusReport, TaskRow};
use crate::approval::PrdOrigin;
use crate::layout;
use crate::life::Life;
use crate::prd::ValidPrd;

/// A status in which only the time goes on: nothing runs, and everything that it was made of is as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptStatus {
    /// Without its long lists. It leaves members out, so its own form has no fixed layout.
    #[serde(with = "layout::text")]
    report: StatusReport,
    tasks: Vec<TaskRow>,
    issues: Vec<String>,
    /// The tasks that began and have not ended, by their rows, and when they began.
    begun: Vec<(usize, Timestamp)>,
    /// A branch, and the commit that it has to point at.
    pub tip: Option<(String, String)>,
    /// How the PRD is found if it is the only one.
    pub taken_alone: PrdOrigin,
}

/// The layout of a status as bytes. A change of it, or of what a status is made of, takes the next number.
const LAYOUT_VERSION: u32 = 2;

impl KeptStatus {
    /// Takes the status of a PRD that no service works on.
    pub fn new(
        report: &StatusReport,
        prd: &ValidPrd,
        life: &Life,
        tip: Option<(String, String)>,
        taken_alone: PrdOrigin,
    ) -> KeptStatus {
        let begun = prd.tasks.iter().enumerate().filter_map(|(row, task)| {
            let own = life.tasks.get(&task.id).filter(|own| own.ended_at.is_none())?;
            Some((row, own.started_at?))
        });
        let mut report = report.clone();
        let (tasks, issues) = (std::mem::take(&mut report.tasks), std::mem::take(&mut report.issues));
        KeptStatus { begun: begun.collect(), report, tasks, issues, tip, taken_alone }
    }

    /// Returns the status of now.
    pub fn into_report(self, now: Timestamp) -> StatusReport {
        let KeptStatus { mut report, mut tasks, issues, begun, .. } = self;
        for (row, since) in begun {
            if let Some(row) = tasks.get_mut(row) {
                row.elapsed = Some(now.since(since).as_secs());
            }
        }
        (report.tasks, report.issues) = (tasks, issues);
        report
    }

    /// Writes it as bytes that only a program of the same layout reads.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        layout::to_bytes(LAYOUT_VERSION, self)
    }

    /// Reads what [`KeptStatus::to_bytes`] wrote; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<KeptStatus> {
        layout::from_bytes(LAYOUT_VERSION, bytes)
    }
}
