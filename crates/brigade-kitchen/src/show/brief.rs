//! The brief form of a status.

use brigade_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::status::View;
use crate::layout;
use crate::life::{Life, Stage};
use crate::names::{TaskId, Tier};
use crate::prd::ValidPrd;
use crate::service::Outcome;

/// The brief form of a status, also used as the status file of supervisors. It has six members in this order. The
/// reason is present only if attention is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Brief {
    /// How many tasks are done.
    pub done: u64,
    /// How many there are.
    pub total: u64,
    /// The running task; the oldest if there are several.
    pub current: Option<TaskId>,
    /// Its tier.
    pub worker: Option<Tier>,
    /// Seconds since its attempt started.
    pub elapsed: u64,
    /// Whether a person needs to act.
    pub attention: bool,
    /// Why a person needs to act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The facts from which a brief status can be made at any later time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glance {
    done: u64,
    total: u64,
    /// The attempt of a running service; the oldest if there are several.
    attempt: Option<(TaskId, Option<Tier>, Timestamp)>,
    waits_for: Option<String>,
    /// Whether the last service has no recorded end other than an interruption.
    is_open: bool,
}

/// The layout version of an encoded glance. Increase it when the layout or the computed facts change.
const GLANCE: u32 = 3;

impl Glance {
    /// Collects the facts from a PRD and its life.
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

    /// Returns the pending decision, or why the last service paused.
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

    /// Returns why a person needs to act.
    pub(super) fn attention(&self, is_running: bool) -> Option<String> {
        // A service without a recorded end that does not run was killed. Ctrl-C is recorded as an end.
        let interrupted = || (self.is_open && !is_running).then(|| "the service was interrupted".to_owned());
        self.waits_for.clone().or_else(interrupted)
    }

    /// Makes the brief status for a point in time.
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

    /// Encodes the glance for programs with the same layout.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        layout::to_bytes(GLANCE, self)
    }

    /// Decodes bytes of [`Glance::to_bytes`]; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Glance> {
        layout::from_bytes(GLANCE, bytes)
    }
}

/// Makes the brief form of a status.
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
