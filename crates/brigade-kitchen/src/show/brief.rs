//! The shortest form of a status.

use brigade_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::status::View;
use crate::layout;
use crate::life::{Life, Stage};
use crate::names::{TaskId, Tier};
use crate::prd::ValidPrd;
use crate::service::Outcome;

/// The status in its shortest form, and the status file of supervisors: six members in this order, and the reason only
/// with attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Brief {
    /// How many tasks are done.
    pub done: u64,
    /// How many there are.
    pub total: u64,
    /// The task that runs; of several the oldest.
    pub current: Option<TaskId>,
    /// Its tier.
    pub worker: Option<Tier>,
    /// Seconds since its attempt began.
    pub elapsed: u64,
    /// Whether somebody should look.
    pub attention: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What the shortest form of a status is made of, whenever it is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glance {
    done: u64,
    total: u64,
    /// The attempt that runs if a service does, of several the oldest.
    attempt: Option<(TaskId, Option<Tier>, Timestamp)>,
    waits_for: Option<String>,
    /// Whether the journal has no end of the last service but an interruption.
    is_open: bool,
}

/// The layout of a glance as bytes. A change of it, or of what is glanced at, takes the next number.
const GLANCE: u32 = 3;

impl Glance {
    /// Looks at the tasks of a PRD and their life.
    pub fn new(prd: &ValidPrd, life: &Life) -> Glance {
        let running = life.tasks.iter().filter_map(|(id, own)| match &own.stage {
            Stage::Attempting { since, .. } => Some((id.clone(), own.tier, *since)),
            _ => None,
        });
        Glance {
            done: prd.tasks.iter().filter(|task| life.is_done(&task.id)).count() as u64,
            total: prd.tasks.len() as u64,
            attempt: running.min_by_key(|(.., since)| *since),
            waits_for: Glance::waits_for(life),
            is_open: life
                .service
                .as_ref()
                .is_some_and(|service| matches!(service.ended, None | Some(Outcome::Interrupted))),
        }
    }

    /// Says what somebody has to decide, or why the last service paused.
    fn waits_for(life: &Life) -> Option<String> {
        if let Some(decision) = life.waiting().next() {
            let task = decision.task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
            return Some(format!("{task}{}", decision.context));
        }
        let is_used_up = life.budgets.values().any(|reached| *reached);
        let paused = life.service.as_ref().filter(|service| service.is_paused);
        let reason =
            || paused.map(|service| service.reason.clone().unwrap_or_else(|| "it paused".to_owned()));
        is_used_up.then(|| "a budget is used up".to_owned()).or_else(reason)
    }

    /// Returns why somebody should look.
    pub(super) fn attention(&self, is_running: bool) -> Option<String> {
        // A service that has no end in the journal and does not run was killed; Ctrl-C is recorded.
        let interrupted = || (self.is_open && !is_running).then(|| "the service was interrupted".to_owned());
        self.waits_for.clone().or_else(interrupted)
    }

    /// Makes the shortest form of a status.
    pub fn brief(&self, is_running: bool, now: Timestamp) -> Brief {
        let attempt = self.attempt.as_ref().filter(|_| is_running);
        let reason = self.attention(is_running);
        Brief {
            done: self.done,
            total: self.total,
            current: attempt.map(|(id, ..)| id.clone()),
            worker: attempt.and_then(|(_, tier, _)| *tier),
            elapsed: attempt.map_or(0, |(.., since)| now.since(*since).as_secs()),
            attention: reason.is_some(),
            reason,
        }
    }

    /// Writes it as bytes that only a program of the same layout reads.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        layout::to_bytes(GLANCE, self)
    }

    /// Reads what [`Glance::to_bytes`] wrote; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Glance> {
        layout::from_bytes(GLANCE, bytes)
    }
}

/// Makes the shortest form of a status.
///
/// ```
/// use brigade_kitchen::show::Brief;
///
/// let text = r#"{"done":3,"total":13,"current":"US-004","worker":"sous","elapsed":125,"attention":false}"#;
/// let brief: Brief = serde_json::from_str(text)?;
/// assert_eq!((brief.done, brief.worker, brief.reason.is_none()), (3, Some(brigade_kitchen::Tier::Sous), true));
/// assert_eq!(serde_json::to_string(&brief)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn brief(view: &View<'_>) -> Brief {
    Glance::new(view.prd, view.life).brief(view.running, view.now)
}
