//! Numbers for charts: calls of each day, durations, decisions, and how long calls waited.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use brigade_call::{Call, CallStatus, RunReview};
use brigade_core::{Report as _, Timestamp};
use brigade_policy::Failure;
use brigade_queue::Calls;
use brigade_workspace::WorkspaceContext;

use super::{approver, who};
use crate::report::{DecisionCount, DurationRow, SeriesReport, SeriesRow, WaitedRow};

/// A day, in microseconds.
const DAY: i64 = 86_400_000_000;

/// The largest number of days.
const MAX_DAYS: u32 = 366;

/// At most this many calls are read, the newest.
const MAX_CALLS: u64 = 5_000;

/// The number of agents and tools with their own series.
const MAX_ROWS: usize = 8;

/// The series of all other agents or tools.
const OTHERS: &str = "others";

/// The limits of the waits, in seconds.
const WAITS: [u64; 5] = [10, 60, 600, 3_600, 86_400];

/// Sums up the calls of the last days, today included.
pub(crate) fn series(context: &WorkspaceContext, days: u32) -> Result<SeriesReport, Failure> {
    let now = context.now();
    let mut series = Series::new(now, days.clamp(1, MAX_DAYS));
    let mut more = false;
    context.queue().read()?.for_each_newest(&Calls::All, &mut |stored| {
        if MAX_CALLS <= series.calls {
            more = true;
            return ControlFlow::Break(());
        }
        series.add(&stored.call)
    })?;
    Ok(SeriesReport { target: context.target(), more, ..series.report(now) })
}

/// The sums so far.
struct Series {
    /// The start of the first day, in microseconds since 1970.
    since: i64,
    days: usize,
    calls: u64,
    outcomes: BTreeMap<String, Vec<u64>>,
    agents: BTreeMap<String, Vec<u64>>,
    tools: BTreeMap<String, Vec<u64>>,
    durations: BTreeMap<String, Vec<f64>>,
    decisions: BTreeMap<String, (u64, u64)>,
    /// The waits up to each limit, and longer ones.
    waited: [u64; WAITS.len() + 1],
}

impl Series {
    fn new(now: Timestamp, days: u32) -> Series {
        let since = now.unix_micros().div_euclid(DAY) * DAY - (i64::from(days) - 1) * DAY;
        let (outcomes, agents, tools, durations, decisions, waited) = Default::default();
        Series { since, days: days as usize, calls: 0, outcomes, agents, tools, durations, decisions, waited }
    }

    /// Adds a call. Breaks at one that was asked for before the first day.
    fn add(&mut self, call: &Call) -> ControlFlow<()> {
        let Some(created) = call.created_at else { return ControlFlow::Continue(()) };
        let Ok(day) = usize::try_from((created.unix_micros() - self.since).div_euclid(DAY)) else {
            return ControlFlow::Break(());
        };
        let day = day.min(self.days - 1);
        self.calls += 1;
        let tables = [
            (&mut self.outcomes, call.status.as_str().to_owned()),
            (&mut self.agents, who(&call.caller)),
            (&mut self.tools, call.tool_id.clone()),
        ];
        for (table, name) in tables {
            table.entry(name).or_insert_with(|| vec![0; self.days])[day] += 1;
        }
        if let (Some(started), Some(completed)) = (call.started_at, call.completed_at) {
            let seconds = completed.since(started).as_secs_f64();
            self.durations.entry(call.tool_id.clone()).or_default().push(seconds);
        }
        self.decide(call, created);
        ControlFlow::Continue(())
    }

    /// Counts the decision about a call, and how long it took a person.
    fn decide(&mut self, call: &Call, created: Timestamp) {
        let review = RunReview::from_call(call);
        let is_rejected = call.status == CallStatus::Rejected;
        if !call.was_approved() && !is_rejected {
            return;
        }
        let by = match approver(&review) {
            by if by.is_empty() => "unknown".to_owned(),
            by => by,
        };
        let is_by_person = by.starts_with("person");
        let (approved, rejected) = self.decisions.entry(by).or_default();
        *if is_rejected { rejected } else { approved } += 1;
        if let Some(reviewed) = call.reviewed_at.filter(|_| is_by_person) {
            let waited = reviewed.since(created);
            let place = WAITS.iter().position(|limit| waited <= Duration::from_secs(*limit));
            self.waited[place.unwrap_or(WAITS.len())] += 1;
        }
    }

    fn report(self, now: Timestamp) -> SeriesReport {
        let day = |number: usize| self.since + DAY * i64::try_from(number).expect("at most a year");
        let date = |number: usize| Timestamp::from_unix_micros(day(number)).to_string()[..10].to_owned();
        let limits = WAITS.iter().copied().map(Some).chain([None]);
        SeriesReport {
            schema: SeriesReport::SCHEMA,
            target: String::new(),
            since: Timestamp::from_unix_micros(self.since),
            until: now,
            days: (0..self.days).map(date).collect(),
            call_count: self.calls,
            more: false,
            outcomes: rows(self.outcomes, usize::MAX),
            agents: rows(self.agents, MAX_ROWS),
            tools: rows(self.tools, MAX_ROWS),
            durations: durations(self.durations),
            decisions: decisions(self.decisions),
            waited: limits
                .zip(self.waited)
                .map(|(up_to_seconds, calls)| WaitedRow { up_to_seconds, calls })
                .collect(),
        }
    }
}

/// Returns the rows with the most calls, and one row for all others.
fn rows(table: BTreeMap<String, Vec<u64>>, most: usize) -> Vec<SeriesRow> {
    let row = |(name, counts): (String, Vec<u64>)| SeriesRow { name, total: counts.iter().sum(), counts };
    let mut rows: Vec<SeriesRow> = table.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.total));
    if most < rows.len() {
        let others = rows.split_off(most - 1);
        let mut sum = SeriesRow { name: OTHERS.to_owned(), ..SeriesRow::default() };
        for row in others {
            sum.counts.resize(row.counts.len(), 0);
            sum.counts.iter_mut().zip(&row.counts).for_each(|(sum, count)| *sum += count);
            sum.total += row.total;
        }
        rows.push(sum);
    }
    rows
}

fn durations(table: BTreeMap<String, Vec<f64>>) -> Vec<DurationRow> {
    let row = |(tool_id, mut seconds): (String, Vec<f64>)| {
        seconds.sort_by(f64::total_cmp);
        DurationRow {
            tool_id,
            runs: seconds.len() as u64,
            median_seconds: percentile(&seconds, 50),
            p95_seconds: percentile(&seconds, 95),
        }
    };
    let mut rows: Vec<DurationRow> = table.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.runs));
    rows
}

/// Returns the smallest value that this part of the sorted values does not exceed.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or_default()
}

fn decisions(table: BTreeMap<String, (u64, u64)>) -> Vec<DecisionCount> {
    let count = |(by, (approved, rejected))| DecisionCount { by, approved, rejected };
    let mut counts: Vec<DecisionCount> = table.into_iter().map(count).collect();
    counts.sort_by_key(|count| std::cmp::Reverse(count.approved + count.rejected));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let sorted: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!((percentile(&sorted, 50), percentile(&sorted, 95)), (10.0, 19.0));
        assert_eq!((percentile(&[7.0], 50), percentile(&[7.0], 95), percentile(&[], 95)), (7.0, 7.0, 0.0));
    }

    #[test]
    fn small_rows_are_summed_up() {
        let table = (0..10).map(|number| (format!("t{number}"), vec![number, 1])).collect();
        let rows = rows(table, 8);
        assert_eq!(rows.len(), 8);
        assert_eq!((rows[0].name.as_str(), rows[0].total), ("t9", 10));
        assert_eq!((rows[7].name.as_str(), rows[7].counts.as_slice()), (OTHERS, &[3, 3][..]));
    }

    #[test]
    fn the_first_day_begins_at_midnight() {
        let series = Series::new("2026-11-29T10:00:00Z".parse().unwrap(), 3);
        let report = series.report("2026-11-29T10:00:00Z".parse().unwrap());
        assert_eq!(report.days, ["2026-11-27", "2026-11-28", "2026-11-29"]);
        assert_eq!(report.since.to_string(), "2026-11-27T00:00:00+00:00");
    }

    /// A call of a tool that was asked for at noon of a day in November 2026.
    fn call(tool: &str, status: &str, day: u32, members: &str) -> Call {
        let text = format!(
            r#"{{"id": "call-1", "status": "{status}", "tool_id": "{tool}", "args": {{}},
                "created_at": "2026-11-{day:02}T12:00:00Z"{members}}}"#
        );
        Call::from_record(brigade_core::Json::parse(&text).unwrap()).unwrap().0
    }

    fn summed(calls: &[Call]) -> SeriesReport {
        let now = "2026-11-29T18:00:00Z".parse().unwrap();
        let mut series = Series::new(now, 3);
        for call in calls {
            let _ = series.add(call);
        }
        series.report(now)
    }

    #[test]
    fn each_day_has_its_calls() {
        let calls = [call("a", "pending", 27, ""), call("a", "failed", 29, ""), call("b", "pending", 29, "")];
        let report = summed(&calls);
        let row =
            |rows: &[SeriesRow], name: &str| rows.iter().find(|row| row.name == name).unwrap().counts.clone();
        assert_eq!(
            (row(&report.outcomes, "pending"), row(&report.outcomes, "failed")),
            (vec![1, 0, 1], vec![0, 0, 1])
        );
        assert_eq!((row(&report.tools, "a"), row(&report.tools, "b")), (vec![1, 0, 1], vec![0, 0, 1]));
        assert_eq!((row(&report.agents, "you"), report.call_count), (vec![1, 0, 2], 3));
    }

    #[test]
    fn older_calls_end_the_series() {
        let mut series = Series::new("2026-11-29T18:00:00Z".parse().unwrap(), 3);
        assert_eq!(series.add(&call("a", "pending", 26, "")), ControlFlow::Break(()));
        let timeless = Call { created_at: None, ..call("a", "pending", 29, "") };
        assert_eq!(series.add(&timeless), ControlFlow::Continue(()));
        assert_eq!(series.calls, 0);
        // The clock of another host may be ahead.
        assert_eq!(series.add(&call("a", "pending", 30, "")), ControlFlow::Continue(()));
        assert_eq!(series.outcomes["pending"], [0, 0, 1]);
    }

    #[test]
    fn durations_are_those_of_runs_that_ended() {
        let ran = |seconds: u32| {
            let times = format!(
                r#", "started_at": "2026-11-29T12:00:00Z", "completed_at": "2026-11-29T12:00:{seconds:02}Z""#
            );
            call("a", "completed", 29, &times)
        };
        let report = summed(&[ran(1), ran(3), ran(9), call("b", "pending", 29, "")]);
        let [row] = report.durations.as_slice() else { panic!("{report:?}") };
        assert_eq!((row.tool_id.as_str(), row.runs, row.median_seconds, row.p95_seconds), ("a", 3, 3.0, 9.0));
    }

    #[test]
    fn waits_of_people_are_counted_up_to_their_limits() {
        let rejected = |after: &str| {
            call("a", "rejected", 28, &format!(r#", "reviewed_at": "{after}", "review_reason": "no""#))
        };
        let report = summed(&[
            rejected("2026-11-28T12:00:10Z"),
            rejected("2026-11-28T12:00:11Z"),
            rejected("2026-11-28T13:00:00Z"),
            rejected("2026-11-29T13:00:00Z"),
            call("a", "pending", 28, ""),
        ]);
        let waited: Vec<(Option<u64>, u64)> =
            report.waited.iter().map(|row| (row.up_to_seconds, row.calls)).collect();
        let limits = [Some(10), Some(60), Some(600), Some(3_600), Some(86_400), None];
        assert_eq!(waited, limits.into_iter().zip([1, 1, 0, 1, 0, 1]).collect::<Vec<_>>());
        let [decision] = report.decisions.as_slice() else { panic!("{report:?}") };
        assert_eq!((decision.by.as_str(), decision.approved, decision.rejected), ("person", 0, 4));
    }
}
