//! What the gateway accepts from clients and passes on to them, although few of them use it.

use serde_json::{Value, json};

use crate::serve_common::{Client, Server, agents, assert_stands, site, text, token};
use crate::serve_upstream::{KeptServerSite, entry};

#[test]
fn a_failure_reaches_the_client_as_a_whole() {
    let kept = KeptServerSite::serving(site(), &["fails", "opens"].map(|tool| entry(tool, "fails", "")));
    let mut client = Client::start(&kept.site, &["--as", "local"]);
    client.hello("2025-11-25", json!({}));
    let failed = client.call("read-fails", json!({}));
    assert_stands(&failed, "failed", "tool_error");
    assert_eq!((&failed["isError"], &failed["structuredContent"]["step"]), (&json!(true), &json!(2)));
    assert_eq!(failed["_meta"]["example/step"], 2, "{failed:#}");
    let id = client.send("tools/call", json!({"name": "read-opens", "arguments": {}}));
    let error = &client.answer(id)["error"];
    let url = &error["data"]["elicitations"][0]["url"];
    assert_eq!((&error["code"], url), (&json!(-32042), &json!("https://example.com/open")), "{error:#}");
}

#[test]
fn a_call_that_waits_for_its_client_has_no_place() {
    let site = site();
    agents(&site, "[agent.limits]\nconcurrent = 1\n");
    let kept = KeptServerSite::serving(site, &[entry("elicit", "", "")]);
    let mut client = Client::start(&kept.site, &["--as", "local"]);
    client.hello("2025-11-25", json!({"elicitation": {}}));
    let waits = client.send_call("read-elicit", json!({}));
    let question = client.heard("elicitation/create");
    assert_eq!(text(&client.call("at-once", json!({"text": "hi"}))), "said hi");
    let reply = json!({"action": "accept", "content": {"name": "Ada"}});
    client.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": reply}).to_string());
    let result = client.result(waits);
    assert!(text(&result).contains("Ada"), "{result:#}");
}

#[test]
fn a_call_without_progress_ends_at_its_idle_timeout() {
    let kept = KeptServerSite::serving(site(), &[entry("sleep", "", "idle_timeout = 0.5\n")]);
    let mut client = Client::start(&kept.site, &["--as", "local"]);
    client.hello("2025-11-25", json!({}));
    let silent = client.call("read-sleep", json!({}));
    assert_stands(&silent, "timed-out", "upstream_timeout");
}

#[test]
fn a_batch_over_lines_is_answered_as_a_list() {
    let site = site();
    let mut client = Client::start(&site, &[]);
    client.hello("2025-03-26", json!({}));
    let call = json!({"name": "at-once", "arguments": {"text": "hi"}});
    let batch = json!([
        {"jsonrpc": "2.0", "id": "a", "method": "ping"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "none"}},
        {"jsonrpc": "2.0", "id": "c", "method": "nothing"},
        5,
    ]);
    client.write(batch.to_string());
    let mut list: Vec<Value> = serde_json::from_str(&client.raw()).expect("it is answered as a list");
    list.sort_by_key(|answer| answer["id"].to_string());
    let ids: Vec<&Value> = list.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("a"), &json!("b"), &json!("c"), &Value::Null], "{list:#?}");
    assert_eq!(text(&list[1]["result"]), "said hi");
    assert_eq!((&list[2]["error"]["code"], &list[3]["error"]["code"]), (&json!(-32601), &json!(-32600)));
    client.write(json!([{"jsonrpc": "2.0", "id": 1, "method": "initialize"}]).to_string());
    assert_eq!(client.message()["error"]["code"], -32600);
    client.goes_on();
}

#[test]
fn a_batch_is_answered_as_a_list() {
    let site = site();
    let bearer = format!("Bearer {}", token(&site, "ann"));
    let server = Server::start(&site, &["--http", "127.0.0.1:0"]);
    let about = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about});
    let begun = server.place.send("POST", "/mcp", &[("Authorization", &bearer)], &hello.to_string());
    assert_eq!(begun.message()["result"]["protocolVersion"], "2025-03-26");
    let session = begun.header("mcp-session-id").expect("a session has an id").to_owned();
    let ask = |accept: &str, body: Value| {
        let headers = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", &session), ("Accept", accept)];
        server.place.send("POST", "/mcp", &headers, &body.to_string())
    };
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(ask("*/*", json!([told])).status, 202);
    let call = json!({"name": "at-once", "arguments": {"text": "hi"}});
    let batch = json!([
        {"jsonrpc": "2.0", "id": "a", "method": "ping", "params": null},
        told,
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 3, "method": "nothing"},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": {"cursor": ""}},
        5,
    ]);
    for accept in ["application/json", "text/event-stream"] {
        let answer = ask(accept, batch.clone());
        let list = answer.body.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&answer.body);
        let list: Vec<Value> = serde_json::from_str(list.trim()).unwrap_or_else(|_| panic!("{answer:?}"));
        let ids: Vec<&Value> = list.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [&json!("a"), &json!(2), &json!(3), &json!(4), &Value::Null], "{list:#?}");
        assert_eq!(text(&list[1]["result"]), "said hi");
        assert_eq!((&list[2]["error"]["code"], &list[4]["error"]["code"]), (&json!(-32601), &json!(-32600)));
    }
    assert_eq!(ask("*/*", json!([hello])).status, 400);
}
