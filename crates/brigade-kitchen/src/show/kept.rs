//! A cached status that is valid until something changes.

use brigade_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::status::{StatusReport, TaskRow};
use crate::approval::PrdOrigin;
use crate::layout;
use crate::life::Life;
use crate::prd::ValidPrd;

/// A cached status of a PRD without a running service. Only its times depend on when it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptStatus {
    /// The report without its long lists, encoded as JSON because some members are optional.
    #[serde(with = "layout::text")]
    report: StatusReport,
    tasks: Vec<TaskRow>,
    issues: Vec<String>,
    /// The rows of tasks that have started and not ended, with the time of their start.
    begun: Vec<(usize, Timestamp)>,
    /// A branch, and the commit that it must point at for the status to be valid.
    pub tip: Option<(String, String)>,
    /// How the PRD is found if it is the only one.
    pub taken_alone: PrdOrigin,
}

/// The layout version of an encoded status. Increase it when the layout or the contents of a status change.
const LAYOUT_VERSION: u32 = 4;

impl KeptStatus {
    /// Keeps the status of a PRD that no service works on.
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

    /// Returns the status for a point in time.
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

    /// Encodes the status for programs with the same layout.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        layout::to_bytes(LAYOUT_VERSION, self)
    }

    /// Decodes bytes of [`KeptStatus::to_bytes`]; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<KeptStatus> {
        layout::from_bytes(LAYOUT_VERSION, bytes)
    }
}
