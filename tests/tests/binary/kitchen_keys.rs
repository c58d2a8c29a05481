//! Several PRDs in one service.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use brigade_tests::kitchen::{PRD, Service, task};
use serde_json::json;

#[test]
fn several_prds_are_served_in_turn() {
    let service = Service::new("auto_continue = true", &[task("US-001", &[])], &json!([]));
    let next = "brigade/tasks/prd-next.json";
    service.write_prd(next, "feature/next", &[task("US-002", &[])]);
    service.approve(PRD);
    service.approve(next);
    let report = service.site.document(["service", PRD, next]).expect(0);
    assert_eq!(report["prds"].as_array().unwrap().len(), 2, "{report:#}");
}
