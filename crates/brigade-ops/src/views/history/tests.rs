use std::time::Duration;

use super::*;
use crate::testing::{CallBench, RunEnding};

fn filter() -> HistoryFilter {
    HistoryFilter { limit: 50, ..HistoryFilter::default() }
}

fn texts(report: &HistoryReport) -> Vec<&str> {
    report.runs.iter().map(|run| run.text.as_str()).collect()
}

/// A workspace with a run that completed, and an hour later one that failed.
fn ran() -> CallBench {
    let bench = CallBench::new(r#"argument_template = { path = "{path}" }"#);
    bench.ran(r#"{"path":"good"}"#, RunEnding::completed());
    bench.clock.advance(Duration::from_secs(3600));
    bench.ran(r#"{"path":"bad"}"#, RunEnding::failed());
    bench
}

#[test]
fn a_run_says_who_what_and_how_it_ended() {
    let report = ran().daily().history(&filter()).unwrap();
    assert_eq!(texts(&report), ["path=good", "path=bad"]);
    let [good, bad] = report.runs.as_slice() else { panic!("{report:?}") };
    assert_eq!((good.status.as_str(), good.failure.as_deref()), ("completed", None));
    assert_eq!((bad.status.as_str(), bad.failure.as_deref()), ("failed", Some("exit code 3")));
    for run in [good, bad] {
        assert_eq!((run.who.as_str(), run.approved_by.as_str(), run.kind.as_str()), ("you", "person", "run"));
        assert!(run.call_id.starts_with(&run.short_id) && run.short_id.len() <= 12, "{run:?}");
    }
    assert!(good.started_at < bad.started_at && !report.more);
}

#[test]
fn runs_are_filtered_and_the_newest_are_kept() {
    let bench = ran();
    let daily = bench.daily();
    let list = |filter: HistoryFilter| {
        let report = daily.history(&filter).unwrap();
        (texts(&report).iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), report.more)
    };
    let between = daily.history(&filter()).unwrap().runs[1].started_at;
    let bad = (vec!["path=bad".to_owned()], false);
    let good = (vec!["path=good".to_owned()], false);
    assert_eq!(list(HistoryFilter { failed: true, ..filter() }), bad);
    assert_eq!(list(HistoryFilter { since: between, ..filter() }), bad);
    assert_eq!(list(HistoryFilter { until: between, ..filter() }), good);
    assert_eq!(list(HistoryFilter { agent: Some("ann".to_owned()), ..filter() }).0.len(), 0);
    assert_eq!(list(HistoryFilter { agent: Some("you".to_owned()), ..filter() }).0.len(), 2);
    assert_eq!(list(HistoryFilter { tool: Some("tool".to_owned()), ..filter() }).0.len(), 2);
    // Whether there are more is said.
    assert_eq!(list(HistoryFilter { limit: 1, ..filter() }), (bad.0, true));
    assert_eq!(list(HistoryFilter { limit: 0, ..filter() }), (Vec::new(), true));
}

#[test]
fn statistics_sum_up_instead_of_listing() {
    let bench = ran();
    let report = bench.daily().history(&HistoryFilter { statistics: true, limit: 0, ..filter() }).unwrap();
    let sums = report.statistics.unwrap();
    assert_eq!((report.run_count, report.more, sums.runs, sums.failed), (0, false, 2, 1));
    let [tool] = sums.tools.as_slice() else { panic!("{sums:?}") };
    assert_eq!((tool.name.as_str(), tool.runs, tool.failed), ("tool", 2, 1));
    assert_eq!((sums.agents[0].name.as_str(), sums.approved_by.get("person")), ("you", Some(&2)));
    // The oldest run is in the first of 24 periods, the newest in the last.
    assert_eq!((tool.activity.len(), tool.activity[0], tool.activity[23]), (24, 1, 1));
}

#[test]
fn statistics_of_nothing_are_zero() {
    let bench = CallBench::new("");
    let report = bench.daily().history(&HistoryFilter { statistics: true, ..filter() }).unwrap();
    let sums = report.statistics.unwrap();
    assert_eq!((sums.runs, sums.tools.len(), sums.since), (0, 0, sums.until));
}

#[test]
fn a_failure_is_its_reason_last_line_or_code() {
    type Change<'a> = &'a dyn Fn(&mut Receipt);
    let reported = |status: RunStatus, change: Change<'_>| {
        let (run, call) = ("run-1".parse().unwrap(), "call-1".parse().unwrap());
        let mut receipt = Receipt::new(run, call, status);
        receipt.exit_code = Some(7);
        change(&mut receipt);
        failure(&receipt)
    };
    for status in [RunStatus::Completed, RunStatus::Waiting, RunStatus::Resumed] {
        assert_eq!(reported(status, &|_| ()), None);
    }
    assert_eq!(reported(RunStatus::TimedOut, &|receipt| receipt.exit_code = None), None);
    let printed: Change<'_> = &|receipt| receipt.stderr_summary = "first\n  last  \n\n".to_owned();
    let server: Change<'_> = &|receipt| {
        printed(receipt);
        receipt.mcp_error_kind = Some("timeout".to_owned());
    };
    let reason: Change<'_> = &|receipt| {
        server(receipt);
        receipt.failure = Some("why".to_owned());
    };
    let changes: [(Change<'_>, &str); 4] =
        [(&|_| (), "exit code 7"), (printed, "last"), (server, "timeout"), (reason, "why")];
    for (change, expect) in changes {
        assert_eq!(reported(RunStatus::Failed, change).as_deref(), Some(expect));
    }
    let long = reported(RunStatus::Failed, &|receipt| receipt.failure = Some("x".repeat(500)));
    assert_eq!(long.map(|text| text.chars().count()), Some(MAX_FAILURE));
}

#[test]
fn runs_of_a_list_have_short_ids_of_runs() {
    let bench = ran();
    let list = bench.runs().list(&crate::RunFilter::default()).unwrap();
    let rows = bench.daily().run_rows(&list).unwrap();
    let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(texts, ["path=bad", "path=good"]);
    for row in &rows {
        assert!(row.run_id.starts_with(&row.short_id) && row.short_id.len() < row.run_id.len(), "{row:?}");
    }
    // Without its receipt, a run has what the list knows.
    bench.remove(&format!(".brigade/tools/runs/{}.json", rows[0].run_id));
    let list = bench.runs().list(&crate::RunFilter::default()).unwrap();
    let again = bench.daily().run_rows(&list).unwrap();
    let gone = again.iter().find(|row| row.run_id == rows[0].run_id);
    assert!(gone.is_none_or(|row| row.status == "failed" && row.text.is_empty()), "{again:?}");
}

#[test]
fn the_last_runs_of_a_tool_are_newest_first() {
    let bench = ran();
    let queue = bench.context.queue();
    let view = queue.read().unwrap();
    let last = |tool: &str, limit: usize| {
        let rows = last_runs(&view, tool, limit).unwrap();
        rows.into_iter().map(|row| row.text).collect::<Vec<_>>()
    };
    assert_eq!(last("tool", 3), ["path=bad", "path=good"]);
    assert_eq!(last("tool", 1), ["path=bad"]);
    assert_eq!(last("other", 3), [""; 0]);
}
