//! The budget of a PRD: limits and usage.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::record::ExecutiveUsage;
use crate::config::Settings;
use crate::names::Tier;

/// The part of a limit at which a warning is due.
const WARN_AT: f64 = 0.8;

/// The usage of attempts, by tier.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// The usage of each tier.
    pub by_tier: BTreeMap<Tier, TierUsage>,
}

/// The usage of the attempts of a tier.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TierUsage {
    /// Starts of its worker, reviews and decisions included.
    pub attempts: u64,
    /// Minutes of its worker.
    pub minutes: f64,
    /// Dollars that its worker reported.
    pub reported_usd: f64,
    /// Minutes of runs that reported no cost.
    pub unpriced_minutes: f64,
}

impl TierUsage {
    /// Returns the cost in dollars: reported costs, and unpriced minutes at the tier's rate.
    pub fn cost_usd(&self, rate: f64) -> f64 {
        self.reported_usd + self.unpriced_minutes * rate
    }
}

impl Usage {
    /// Counts the start of a worker.
    pub fn start(&mut self, tier: Tier) {
        self.by_tier.entry(tier).or_default().attempts += 1;
    }

    /// Adds the usage of an attempt.
    pub fn add(&mut self, tier: Tier, seconds: f64, cost_usd: Option<f64>) {
        let minutes = seconds.max(0.0) / 60.0;
        let spent = self.by_tier.entry(tier).or_default();
        spent.minutes += minutes;
        match cost_usd {
            Some(cost) => spent.reported_usd += cost.max(0.0),
            None => spent.unpriced_minutes += minutes,
        }
    }

    /// Counts starts of the executive, and adds their usage.
    pub fn add_usage(&mut self, used: &[ExecutiveUsage]) {
        for ExecutiveUsage { seconds, cost_usd, .. } in used {
            self.start(Tier::Executive);
            self.add(Tier::Executive, *seconds, *cost_usd);
        }
    }

    /// Returns how many workers were started.
    pub fn attempts(&self) -> u64 {
        self.by_tier.values().map(|spent| spent.attempts).sum()
    }

    /// Returns the minutes of workers.
    pub fn minutes(&self) -> f64 {
        self.by_tier.values().fold(0.0, |sum, spent| sum + spent.minutes)
    }

    /// Returns the dollars that workers reported.
    pub fn reported_usd(&self) -> f64 {
        self.by_tier.values().fold(0.0, |sum, spent| sum + spent.reported_usd)
    }

    /// Returns the cost in dollars: reported costs, and unpriced minutes at the rates of their tiers.
    pub fn cost_usd(&self, settings: &Settings) -> f64 {
        let cost = |(tier, spent): (&Tier, &TierUsage)| spent.cost_usd(settings.cost_rate(*tier));
        self.by_tier.iter().fold(0.0, |sum, row| sum + cost(row))
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
    /// Returns the limits from the settings, capped by the ceilings of the policy.
    pub fn from_settings(settings: &Settings, ceiling: Limits) -> Limits {
        fn least<N: PartialOrd>(a: Option<N>, b: Option<N>) -> Option<N> {
            match (a, b) {
                (Some(a), Some(b)) => Some(if b < a { b } else { a }),
                (a, b) => a.or(b),
            }
        }
        Limits {
            cost_usd: least(settings.max_cost_usd, ceiling.cost_usd),
            minutes: least(settings.max_minutes, ceiling.minutes),
            attempts: least(settings.max_attempts, ceiling.attempts),
        }
    }
}

/// How much of a budget is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// 80 % or more, or the threshold for a warning.
    Warning,
    /// All of it. No new attempt starts.
    Reached,
}

/// Lists the budgets that need a warning or are used up: `cost_usd`, `minutes`, `attempts`.
pub fn budget(spent: &Usage, limits: &Limits, settings: &Settings) -> Vec<(&'static str, Budget)> {
    let cost = spent.cost_usd(settings);
    let rows = [
        ("cost_usd", cost, limits.cost_usd),
        ("minutes", spent.minutes(), limits.minutes),
        ("attempts", spent.attempts() as f64, limits.attempts.map(|attempts| attempts as f64)),
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
