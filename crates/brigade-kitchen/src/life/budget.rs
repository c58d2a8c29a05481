//! What a PRD may use up, and what it did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::Settings;
use crate::names::Tier;

/// At this part of a limit, a warning is due.
const WARN_AT: f64 = 0.8;

/// What attempts used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// Starts of workers, reviews and decisions included.
    pub attempts: u64,
    /// Minutes of workers.
    pub minutes: f64,
    /// Dollars that workers reported.
    pub reported_usd: f64,
    /// Minutes of workers that reported no cost, by tier.
    pub unpriced: BTreeMap<Tier, f64>,
}

impl Spent {
    /// Adds what an attempt used.
    pub fn add(&mut self, tier: Tier, seconds: f64, cost_usd: Option<f64>) {
        let minutes = seconds.max(0.0) / 60.0;
        self.minutes += minutes;
        match cost_usd {
            Some(cost) => self.reported_usd += cost.max(0.0),
            None => *self.unpriced.entry(tier).or_default() += minutes,
        }
    }

    /// Returns the dollars: those that were reported, and the minutes of the others at the rates of their tiers.
    pub fn cost_usd(&self, settings: &Settings) -> f64 {
        let estimated: f64 =
            self.unpriced.iter().map(|(tier, minutes)| minutes * settings.cost_rate(*tier)).sum();
        self.reported_usd + estimated
    }
}

/// The limits of a PRD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Dollars.
    pub cost_usd: Option<f64>,
    /// Minutes of workers.
    pub minutes: Option<f64>,
    /// Starts of workers.
    pub attempts: Option<u64>,
}

impl Limits {
    /// Returns the limits of the settings. Ceilings of the policy are never exceeded.
    pub fn of(settings: &Settings, ceiling: Limits) -> Limits {
        let least = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Limits {
            cost_usd: least(settings.max_cost_usd, ceiling.cost_usd),
            minutes: least(settings.max_minutes, ceiling.minutes),
            attempts: match (settings.max_attempts, ceiling.attempts) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }
}

/// How far a budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// 80 % or more, or the threshold of a warning.
    Warning,
    /// All of it. No new attempt starts.
    Reached,
}

/// Lists the budgets that are nearly or wholly used up: `cost_usd`, `minutes`, `attempts`.
pub fn budget(spent: &Spent, limits: &Limits, settings: &Settings) -> Vec<(&'static str, Budget)> {
    let cost = spent.cost_usd(settings);
    let rows = [
        ("cost_usd", cost, limits.cost_usd),
        ("minutes", spent.minutes, limits.minutes),
        ("attempts", spent.attempts as f64, limits.attempts.map(|attempts| attempts as f64)),
    ];
    let mut found = Vec::new();
    for (what, used, limit) in rows {
        match limit {
            Some(limit) if limit <= used => found.push((what, Budget::Reached)),
            Some(limit) if limit * WARN_AT <= used => found.push((what, Budget::Warning)),
            _ if what == "cost_usd" && settings.cost_warn_threshold.is_some_and(|warn| warn <= used) => {
                found.push((what, Budget::Warning));
            }
            _ => {}
        }
    }
    found
}
