use brigade_core::Dialect;

use super::*;
use crate::cases::json;

/// Checks what lists and checks read of a receipt: its ids, its status, when it started and its exit code. Also checks
/// that its bytes stay unchanged.
#[track_caller]
fn check(text: &str, ids: [&str; 3], status: &str, started_at: Option<&str>, exit_code: Option<i64>) {
    let receipt = Receipt::from_json(json(text)).unwrap();
    assert_eq!([receipt.id.as_str(), receipt.call_id.as_str(), &receipt.tool_id], ids);
    assert_eq!((receipt.status.as_str(), receipt.exit_code), (status, exit_code));
    assert_eq!(receipt.started_at().map(|at| at.to_string()).as_deref(), started_at);
    assert_eq!(String::from_utf8(receipt.to_bytes()).unwrap().trim_end(), text.trim_end());
    assert_eq!(Json::Object(receipt.to_members()), json(text));
}

/// Checks which text a list is sorted by.
#[track_caller]
fn check_sort_key(members: &str, expect: &str) {
    let text = format!(r#"{{"id":"run-1","call_id":"call-1","status":"completed"{members}}}"#);
    assert_eq!(Receipt::from_json(json(&text)).unwrap().sort_key(), expect);
}

#[test]
fn lists_say_whether_a_receipt_is_of_a_run() {
    let kind = |member: &str| {
        let text = format!(r#"{{{member}"id":"run-1","call_id":"call-1","status":"completed"}}"#);
        let summary = RunSummary::from_receipt(Receipt::from_json(json(&text)).unwrap());
        let written = brigade_core::json::to_json(&summary).unwrap();
        written.get("kind").and_then(Json::as_str).map(str::to_owned)
    };
    assert_eq!(kind("").as_deref(), Some("run"));
    assert_eq!(kind(r#""kind":"install","#).as_deref(), Some("install"));
}

#[test]
fn receipts_of_every_version_are_kept_unchanged() {
    check(
        include_str!("../../../../fixtures/state/0.30.0/runs/run-completed.json"),
        ["run-completed", "call-completed", "tool-00000"],
        "completed",
        Some("2026-11-20T11:00:00.500000+00:00"),
        Some(0),
    );
    check(
        include_str!("../../../../fixtures/state/0.30.0/runs/run-failed.json"),
        ["run-failed", "call-failed", "tool-00000"],
        "failed",
        Some("2026-11-20T11:01:00.500000+00:00"),
        Some(3),
    );
    check(
        include_str!("../../../../fixtures/state/0.30.0/runs/run-resumed.json"),
        ["run-resumed", "call-resumed:resume:checkpoint-2", "tool-00000"],
        "resumed",
        Some("2026-11-20T11:03:00.500000+00:00"),
        Some(0),
    );
    check(
        include_str!("../../../../fixtures/state/v1/runs/run-3.json"),
        ["run-3", "call-3", "greet"],
        "waiting",
        Some("2025-11-24T16:00:04+00:00"),
        Some(0),
    );
    check(
        include_str!("../../../../fixtures/state/v1-batches/runs/run-1.json"),
        ["run-1", "call-1", "greet"],
        "completed",
        Some("2025-11-24T16:00:01+00:00"),
        Some(0),
    );
}

#[test]
fn a_server_answer_is_typed_and_keeps_unknown_members() {
    let read = |members: &str| {
        let text = format!(r#"{{"id":"run-1","call_id":"call-1","status":"completed",{members}}}"#);
        let receipt = Receipt::from_json(json(&text)).unwrap();
        assert_eq!(Json::Object(receipt.to_members()), json(&text), "{members}");
        (receipt.mcp_content, receipt.mcp_response_summary)
    };
    let (content, response) = read(
        r#""mcp_content":[{"kind":"image","media_type":"image/png","bytes":3,"width":2}],
        "mcp_response_summary":{"id":3,"jsonrpc":"2.0","result":null,"error":{"code":-1},"more":true}"#,
    );
    let [block] = <[ContentBlock; 1]>::try_from(content.unwrap()).unwrap();
    assert_eq!(
        (block.kind.as_str(), block.media_type.as_deref(), block.bytes),
        ("image", Some("image/png"), Some(3))
    );
    let response = response.unwrap();
    assert_eq!(response.id, Some(McpRequestId::Number(3)));
    assert_eq!(response.error.map(Json::Object), Some(json(r#"{"code":-1}"#)));
    // Members that another program wrote in another form stay unchanged.
    assert_eq!(read(r#""mcp_content":["text"],"mcp_response_summary":"hello""#), (None, None));
    assert_eq!(read(r#""mcp_response_summary":{}"#), (None, Some(McpResponse::default())));
}

#[test]
fn a_receipt_needs_little_and_keeps_everything() {
    check(
        "{\n  \"call_id\": \"c\",\n  \"exit_code\": \"none\",\n  \"id\": \"r\",\n  \"n\": 1.50,\n  \"started_at\": 7,\n  \
         \"status\": \"odd\"\n}\n",
        ["r", "c", ""],
        "odd",
        None,
        None,
    );
    for text in [
        "[]",
        "null",
        "{}",
        r#"{"id":"r","call_id":"c"}"#,
        r#"{"id":"r","call_id":null,"status":"completed"}"#,
        r#"{"id":7,"call_id":"c","status":"completed"}"#,
    ] {
        assert!(Receipt::from_json(json(text)).is_err(), "{text}");
    }
}

#[test]
fn lists_are_sorted_by_start_else_end_else_id() {
    check_sort_key(r#","started_at":"2027","completed_at":"2028""#, "2027");
    check_sort_key(r#","started_at":null,"completed_at":"2028""#, "2028");
    check_sort_key("", "run-1");
}

#[track_caller]
fn unchanged(text: &str) -> Receipt {
    let json = Json::parse_bytes(text.as_bytes(), Dialect::Lenient).unwrap();
    let receipt = Receipt::from_json(json.clone()).unwrap();
    assert_eq!(Json::Object(receipt.to_members()), json);
    receipt
}

#[test]
fn receipts_of_any_program_are_written_unchanged() {
    unchanged(r#"{"id":"r","call_id":"c","status":"done"}"#);
    unchanged(r#"{"id":"r","call_id":"c","status":"","exit_code":null,"mcp_pin":null,"theirs":{"a":NaN}}"#);
    unchanged(
        r#"{"id":"r","call_id":"c","status":"s","timeout":30,"duration_seconds":1.50,"policy":{"allowed":true},
           "sandbox":{"mode":"off"},"runtime":"gone","mcp_request_id":"a-1","argv":7,"resume":{"checkpoint_id":"k"}}"#,
    );
}

#[test]
fn a_time_in_another_form_is_kept_and_understood() {
    let receipt = unchanged(r#"{"id":"r","call_id":"c","status":"s","started_at":"2026-01-31T12:00:00Z"}"#);
    assert_eq!(receipt.started_at().unwrap().to_string(), "2026-01-31T12:00:00+00:00");
    assert_eq!(receipt.sort_key(), "2026-01-31T12:00:00Z");
}
