//! Limits over time: what agents may use, and what they used.

use std::time::Duration;

use brigade_core::{ErrorCode, Timestamp};

use crate::gateway::AgentLimits;
use crate::slot::ProfileName;

/// A limit that is used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// The code of the limit.
    pub code: ErrorCode,
    /// What is used up, in words.
    pub what: String,
    /// The minimum wait until another call is allowed.
    pub retry_after: Duration,
}

impl LimitExceeded {
    /// Returns the limit if the calls of a minute, newest first, are as many as a profile allows. Another call is
    /// allowed when enough of them are older than a minute.
    pub fn of_minute(
        profile: &ProfileName,
        most: u64,
        calls: &[Timestamp],
        now: Timestamp,
    ) -> Option<LimitExceeded> {
        let last = usize::try_from(most).unwrap_or(usize::MAX).checked_sub(1);
        let oldest = last.map_or(Some(&now), |last| calls.get(last))?;
        let left = MINUTE.saturating_sub(now.since(*oldest));
        let what = format!("the profile {} allows {most} calls of the tool a minute", profile.as_str());
        Some(LimitExceeded {
            code: ErrorCode::RateLimited,
            what,
            retry_after: left.max(Duration::from_secs(1)),
        })
    }
}

impl AgentLimits {
    /// Returns the limit of waiting calls if `calls` with records of `bytes` wait, and one more with a record of `new`
    /// bytes would be too many.
    pub fn over_pending(&self, calls: u64, bytes: u64, new: u64) -> Option<LimitExceeded> {
        let what = match (self.pending <= calls, self.pending_bytes < bytes.saturating_add(new)) {
            (false, false) => return None,
            (true, _) => format!("{calls} calls of the agent wait for a person (`pending` of its limits)"),
            (false, true) => format!(
                "the calls of the agent that wait for a person have {bytes} bytes, and this one {new} \
                 (`pending_bytes` of its limits)"
            ),
        };
        let what = format!("{what}; a person decides about them, and `call.cancel` withdraws one");
        Some(LimitExceeded { code: ErrorCode::TooManyPending, what, retry_after: MINUTE })
    }
}

/// The period in which profiles count calls.
pub const MINUTE: Duration = Duration::from_secs(60);

/// A limit of an agent over a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The period.
    pub window: Duration,
    /// The maximum in it.
    pub most: u64,
    /// What is counted.
    pub of: LimitUnit,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
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
            limit(limits.calls_per_minute, LimitUnit::Calls, 60),
            limit(limits.calls_per_hour, LimitUnit::Calls, 3600),
            limit(limits.seconds_per_hour, LimitUnit::Seconds, 3600),
            limit(limits.output_per_hour, LimitUnit::Output, 3600),
        ];
        all.into_iter().flatten().collect()
    }

    /// Returns the used amount and its unit.
    pub fn used(&self, spent: &AgentUsage) -> (u64, &'static str) {
        match self.of {
            LimitUnit::Calls => (spent.calls, "calls"),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds are few")]
            LimitUnit::Seconds => (spent.seconds as u64, "seconds"),
            LimitUnit::Output => (spent.output, "bytes"),
        }
    }

    /// Returns the limit if it is used up.
    pub fn over(&self, spent: &AgentUsage) -> Option<LimitExceeded> {
        let (used, unit) = self.used(spent);
        if used < self.most {
            return None;
        }
        let minutes = self.window.as_secs() / 60;
        let what = format!("the agent used its {} {unit} of {minutes} min", self.most);
        let code = match self.of {
            LimitUnit::Calls => ErrorCode::RateLimited,
            LimitUnit::Seconds | LimitUnit::Output => ErrorCode::BudgetExhausted,
        };
        let left = self.window.saturating_sub(spent.oldest);
        Some(LimitExceeded { code, what, retry_after: left.max(Duration::from_secs(1)) })
    }
}

/// What an agent used in a period, over all gateways of the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AgentUsage {
    /// Calls.
    pub calls: u64,
    /// Seconds that their runs took.
    pub seconds: f64,
    /// Bytes that their runs printed.
    pub output: u64,
    /// The age of the oldest of these calls.
    pub oldest: Duration,
    /// The time of the oldest of these calls.
    pub oldest_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls that were asked for so many seconds ago.
    #[track_caller]
    fn check_minute(most: u64, ages: &[i64], expect: Option<u64>) {
        let now = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let calls: Vec<Timestamp> =
            ages.iter().map(|age| Timestamp::from_unix_micros(now.unix_micros() - age * 1_000_000)).collect();
        let profile: ProfileName = "guard.rate".parse().unwrap();
        let over = LimitExceeded::of_minute(&profile, most, &calls, now);
        assert_eq!(over.map(|over| over.retry_after.as_secs()), expect, "{most} of {ages:?}");
    }

    #[test]
    fn waiting_calls_are_bounded_by_number_and_bytes() {
        let limits = AgentLimits { pending: 2, pending_bytes: 100, ..AgentLimits::default() };
        let check = |calls, bytes, new, expect: bool| {
            assert_eq!(limits.over_pending(calls, bytes, new).is_some(), expect, "{calls} {bytes} {new}");
        };
        check(0, 0, 100, false);
        check(0, 0, 101, true);
        check(1, 60, 40, false);
        check(1, 60, 41, true);
        check(2, 10, 10, true);
        check(1, u64::MAX, 1, true);
    }

    #[test]
    fn minute_limit_frees_up_as_calls_age() {
        check_minute(2, &[], None);
        check_minute(2, &[10], None);
        check_minute(2, &[10, 45], Some(15));
        check_minute(2, &[10, 60], Some(1));
        // With more calls than allowed, several must become older than a minute first.
        check_minute(2, &[5, 10, 45], Some(50));
        check_minute(0, &[], Some(60));
    }
}
