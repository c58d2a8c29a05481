//! Costs of a PRD by tier and task.

use brigade_core::Report;
use brigade_macros::{document, part};

use super::status::StatusReport;
use crate::approval::PrdOrigin;
use crate::config::Settings;
use crate::life::{Life, Limits};
use crate::names::{TaskId, Tier};

/// The report of `cost`.
#[document("brigade.kitchen-cost.v1")]
#[derive(PartialEq)]
pub struct KitchenCostReport {
    /// The workspace root.
    pub target: String,
    /// The PRD, relative to the workspace.
    pub prd_path: String,
    /// How the PRD was found.
    pub taken: PrdOrigin,
    /// Starts of workers, reviews included.
    pub attempts: u64,
    /// Minutes of workers.
    pub minutes: f64,
    /// Dollars, as reported by workers or else computed from the rates of their tiers.
    pub cost_usd: f64,
    /// The part of the dollars that workers reported.
    pub reported_usd: f64,
    /// The budget limits.
    pub limits: Limits,
    /// By tier.
    pub tiers: Vec<TierCost>,
    /// By task, in the order of the file; tasks without attempts are left out.
    pub tasks: Vec<TaskCost>,
}

/// The costs of a tier.
#[part(PartialEq)]
pub struct TierCost {
    /// The tier.
    pub tier: Tier,
    /// Starts of its worker.
    pub attempts: u64,
    /// Its minutes.
    pub minutes: f64,
    /// Its dollars.
    pub cost_usd: f64,
}

/// The costs of a task.
#[part(PartialEq)]
pub struct TaskCost {
    /// The task.
    pub id: TaskId,
    /// Its current tier.
    pub tier: Tier,
    /// Attempts.
    pub attempts: u64,
    /// Minutes of workers, reviews included.
    pub minutes: f64,
    /// Dollars.
    pub cost_usd: f64,
}

/// Returns the costs of each tier.
pub fn tier_costs(life: &Life, settings: &Settings) -> Vec<TierCost> {
    let row = |tier: &Tier| {
        let spent = life.spent.by_tier.get(tier).cloned().unwrap_or_default();
        TierCost {
            tier: *tier,
            attempts: spent.attempts,
            minutes: spent.minutes,
            cost_usd: spent.cost_usd(settings.cost_rate(*tier)),
        }
    };
    Tier::ALL.iter().map(row).collect()
}

/// Makes the report of costs.
pub fn cost(target: String, status: &StatusReport, life: &Life, settings: &Settings) -> KitchenCostReport {
    let task = |task: &super::TaskRow| TaskCost {
        id: task.id.clone(),
        tier: task.tier,
        attempts: task.attempts,
        minutes: life.tasks.get(&task.id).map(|own| own.spent.minutes()).unwrap_or_default(),
        cost_usd: task.cost_usd,
    };
    KitchenCostReport {
        schema: KitchenCostReport::SCHEMA,
        target,
        prd_path: status.prd_path.clone(),
        taken: status.taken,
        attempts: life.spent.attempts(),
        minutes: life.spent.minutes(),
        cost_usd: life.spent.cost_usd(settings),
        reported_usd: life.spent.reported_usd(),
        limits: status.budget.limits,
        tiers: tier_costs(life, settings),
        tasks: status.tasks.iter().filter(|task| 0 < task.attempts).map(task).collect(),
    }
}
