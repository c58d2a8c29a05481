//! What agents may use in a stretch of time, and what they used.

use std::time::Duration;

use brigade_core::Timestamp;

use crate::gateway::AgentLimits;

/// A limit that is used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// The code of the limit.
    pub code: &'static str,
    /// What is used up, in words.
    pub what: String,
    /// When there is room again, at the earliest.
    pub retry_after: Duration,
}

/// A limit of an agent over a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The stretch of time.
    pub window: Duration,
    /// The most that is allowed in it.
    pub most: u64,
    /// What is counted.
    pub of: Counted,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Calls.
    Calls,
    /// Seconds that runs took.
    Seconds,
    /// Bytes that runs printed.
    Output,
}

impl Limit {
    /// Returns the limits over time that the configuration sets.
    pub fn all(limits: &AgentLimits) -> Vec<Limit> {
        let limit = |most: Option<u64>, of, seconds| {
            most.map(|most| Limit { window: Duration::from_secs(seconds), most, of })
        };
        let all = [
            limit(limits.calls_per_minute, Counted::Calls, 60),
            limit(limits.calls_per_hour, Counted::Calls, 3600),
            limit(limits.seconds_per_hour, Counted::Seconds, 3600),
            limit(limits.output_per_hour, Counted::Output, 3600),
        ];
        all.into_iter().flatten().collect()
    }

    /// Returns how much is used, and of what.
    pub fn used(&self, spent: &Spent) -> (u64, &'static str) {
        match self.of {
            Counted::Calls => (spent.calls, "calls"),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds are few")]
            Counted::Seconds => (spent.seconds as u64, "seconds"),
            Counted::Output => (spent.output, "bytes"),
        }
    }

    /// Returns what is used up, if nothing more may be asked for.
    pub fn over(&self, spent: &Spent) -> Option<Over> {
        let (used, unit) = self.used(spent);
        if used < self.most {
            return None;
        }
        let minutes = self.window.as_secs() / 60;
        let what = format!("the agent used its {} {unit} of {minutes} minutes", self.most);
        let code = match self.of {
            Counted::Calls => "rate_limited",
            Counted::Seconds | Counted::Output => "budget_exhausted",
        };
        let left = self.window.saturating_sub(spent.oldest);
        Some(Over { code, what, retry_after: left.max(Duration::from_secs(1)) })
    }
}

/// What an agent used in a stretch of time, over all gateways of the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Spent {
    /// Calls.
    pub calls: u64,
    /// Seconds that their runs took.
    pub seconds: f64,
    /// Bytes that their runs printed.
    pub output: u64,
    /// How long ago the oldest of these calls was asked for.
    pub oldest: Duration,
    /// When it was asked for.
    pub oldest_at: Option<Timestamp>,
}
