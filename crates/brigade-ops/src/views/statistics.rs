//! Sums of a history, by tool and by agent.

use std::collections::BTreeMap;

use brigade_call::Receipt;
use brigade_core::Timestamp;

use super::history::is_good;
use super::{approver, who};
use crate::report::{HistoryStatistics, StatisticsRow};

/// The number of periods of an activity.
const PERIODS: i64 = 24;

/// The sums so far.
#[derive(Default)]
pub(crate) struct Statistics {
    tools: BTreeMap<String, Sum>,
    agents: BTreeMap<String, Sum>,
    approved_by: BTreeMap<String, u64>,
    total: Sum,
}

#[derive(Default)]
struct Sum {
    runs: u64,
    failed: u64,
    seconds: f64,
    /// When the runs started, in seconds since 1970.
    starts: Vec<i64>,
}

impl Sum {
    fn add(&mut self, receipt: &Receipt) {
        self.runs += 1;
        self.failed += u64::from(!is_good(&receipt.status));
        self.seconds += receipt.duration_seconds.as_ref().map_or(0.0, |seconds| seconds.as_f64());
        self.starts.extend(receipt.started_at().map(|at| at.unix_micros() / 1_000_000));
    }

    fn row(self, name: String, since: i64, until: i64) -> StatisticsRow {
        let mut activity = vec![0; usize::try_from(PERIODS).expect("a small number")];
        let length = (until - since).max(1);
        for start in self.starts {
            let period = ((start - since) * PERIODS / length).clamp(0, PERIODS - 1);
            activity[usize::try_from(period).expect("not negative")] += 1;
        }
        StatisticsRow { name, runs: self.runs, failed: self.failed, seconds: rounded(self.seconds), activity }
    }
}

/// Rounds to milliseconds, so that sums have no noise.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1_000.0).round() / 1_000.0
}

impl Statistics {
    pub(crate) fn add(&mut self, receipt: &Receipt) {
        let agent = who(receipt.caller());
        self.tools.entry(receipt.tool_id.to_owned()).or_default().add(receipt);
        self.agents.entry(agent).or_default().add(receipt);
        let by = receipt.approval.as_ref().map(approver).unwrap_or_default();
        *self.approved_by.entry(if by.is_empty() { "unknown".to_owned() } else { by }).or_default() += 1;
        self.total.add(receipt);
    }

    /// Sums up the runs from a time, or from the oldest run, to now.
    pub(crate) fn sum_up(self, since: Option<Timestamp>, now: Timestamp) -> HistoryStatistics {
        let Statistics { tools, agents, approved_by, total } = self;
        let until = now.unix_micros() / 1_000_000;
        let oldest = total.starts.iter().copied().min();
        let since = since.map(|since| since.unix_micros() / 1_000_000).or(oldest).unwrap_or(until);
        let rows = |sums: BTreeMap<String, Sum>| {
            let mut rows: Vec<StatisticsRow> =
                sums.into_iter().map(|(name, sum)| sum.row(name, since, until)).collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row.runs));
            rows
        };
        HistoryStatistics {
            runs: total.runs,
            failed: total.failed,
            seconds: rounded(total.seconds),
            since: Some(Timestamp::from_unix_micros(since * 1_000_000)),
            until: Some(Timestamp::from_unix_micros(until * 1_000_000)),
            tools: rows(tools),
            agents: rows(agents),
            approved_by,
        }
    }
}

#[cfg(test)]
mod tests {
    use brigade_call::RunStatus;
    use brigade_core::Number;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_micros(seconds * 1_000_000)
    }

    fn receipt(tool: &str, status: RunStatus, second: i64, seconds: f64) -> Receipt {
        let mut receipt = Receipt::new("run-1".parse().unwrap(), "call-1".parse().unwrap(), status);
        receipt.tool_id = tool.to_owned();
        receipt.started_at = Some(at(second));
        receipt.duration_seconds = Some(Number::from(seconds));
        receipt
    }

    fn summed(receipts: &[Receipt], since: Option<i64>, now: i64) -> HistoryStatistics {
        let mut statistics = Statistics::default();
        receipts.iter().for_each(|receipt| statistics.add(receipt));
        statistics.sum_up(since.map(at), at(now))
    }

    #[test]
    fn tools_with_the_most_runs_come_first() {
        let runs = [
            receipt("a", RunStatus::Completed, 0, 0.1),
            receipt("b", RunStatus::Failed, 1, 0.2),
            receipt("b", RunStatus::Waiting, 2, 0.3),
            receipt("b", RunStatus::Interrupted, 3, 0.4),
        ];
        let sums = summed(&runs, None, 100);
        let rows: Vec<(&str, u64, u64, f64)> =
            sums.tools.iter().map(|row| (row.name.as_str(), row.runs, row.failed, row.seconds)).collect();
        // Sums have no noise of binary fractions.
        assert_eq!(rows, [("b", 3, 2, 0.9), ("a", 1, 0, 0.1)]);
        assert_eq!((sums.runs, sums.failed, sums.seconds), (4, 2, 1.0));
        assert_eq!(sums.approved_by.get("unknown"), Some(&4));
    }

    #[test]
    fn activity_is_counted_in_24_equal_periods() {
        let runs = [0, 23, 24, 47, 240, 500].map(|second| receipt("a", RunStatus::Completed, second, 0.0));
        let sums = summed(&runs, Some(0), 240);
        let activity = &sums.tools[0].activity;
        let expect: Vec<(usize, u64)> = vec![(0, 1), (2, 2), (4, 1), (23, 2)];
        let counted = activity.iter().copied().enumerate().filter(|(_, count)| 0 < *count);
        assert_eq!(counted.collect::<Vec<_>>(), expect, "runs outside count in the first or last period");
        assert_eq!((sums.since, sums.until), (Some(at(0)), Some(at(240))));
    }

    #[test]
    fn without_a_first_day_the_oldest_run_begins() {
        let runs = [50, 40].map(|second| receipt("a", RunStatus::Completed, second, 0.0));
        assert_eq!(summed(&runs, None, 100).since, Some(at(40)));
        // A single run of this second fills a period, too.
        let sums = summed(&runs[..1], None, 50);
        assert_eq!(sums.tools[0].activity.iter().sum::<u64>(), 1);
    }
}
