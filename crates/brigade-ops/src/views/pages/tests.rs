use std::time::Duration;

use brigade_core::{CallId, ErrorCode};

use super::*;
use crate::testing::CallBench;

/// A workspace with five calls, the third approved.
fn queued() -> (CallBench, Vec<String>) {
    let bench = CallBench::new("");
    let ids: Vec<CallId> = (0..5).map(|number| bench.queue(&format!("{{\"n\":{number}}}"))).collect();
    bench.calls.approve(&ids[2]).unwrap();
    (bench, ids.iter().map(ToString::to_string).collect())
}

#[track_caller]
fn list(bench: &CallBench, filter: CallPage) -> (Vec<String>, Option<String>) {
    let report = bench.daily().calls(&filter).unwrap();
    assert_eq!(report.counts.values().sum::<u64>(), 5);
    (report.calls.iter().map(|call| call.id.to_string()).collect(), report.next_before)
}

#[test]
fn calls_come_page_by_page_newest_page_first() {
    let (bench, ids) = queued();
    let page = |limit: Option<usize>, before: Option<&str>| {
        list(&bench, CallPage { limit, before: before.map(IdPrefix::new), ..CallPage::default() })
    };
    assert_eq!(page(None, None), (ids.clone(), None));
    // Each page is oldest first.
    assert_eq!(page(Some(2), None), (ids[3..].to_vec(), Some(ids[3].clone())));
    assert_eq!(page(Some(2), Some(&ids[3])), (ids[1..3].to_vec(), Some(ids[1].clone())));
    assert_eq!(page(Some(2), Some(&ids[1])), (ids[..1].to_vec(), None));
    // A page has at least one call.
    assert_eq!(page(Some(0), None), (ids[4..].to_vec(), Some(ids[4].clone())));
    let missing = CallPage { before: Some(IdPrefix::new("call-nope")), ..CallPage::default() };
    assert_eq!(bench.daily().calls(&missing).unwrap_err().code(), ErrorCode::CallMissing);
}

#[test]
fn a_page_is_filtered() {
    let (bench, ids) = queued();
    let approved = CallPage { status: Some(CallStatus::Approved), ..CallPage::default() };
    assert_eq!(list(&bench, approved), (vec![ids[2].clone()], None));
    let agent = |agent: &str| CallPage { agent: Some(agent.to_owned()), ..CallPage::default() };
    assert_eq!((list(&bench, agent("you")).0.len(), list(&bench, agent("ann")).0.len()), (5, 0));
    let tool = |tool: &str| CallPage { tool: Some(tool.to_owned()), ..CallPage::default() };
    assert_eq!((list(&bench, tool("tool")).0.len(), list(&bench, tool("other")).0.len()), (5, 0));
    let since = bench.call(&ids[3].parse().unwrap()).created_at;
    assert_eq!(list(&bench, CallPage { since, ..CallPage::default() }).0, ids[3..]);
    bench.clock.advance(Duration::from_secs(60));
    let since = Some(bench.context.now());
    assert_eq!(list(&bench, CallPage { since, ..CallPage::default() }), (Vec::new(), None));
    let odd = CallPage { status: Some(CallStatus::from_word("odd")), ..CallPage::default() };
    assert_eq!(bench.daily().calls(&odd).unwrap_err().code(), ErrorCode::StatusUnknown);
}
