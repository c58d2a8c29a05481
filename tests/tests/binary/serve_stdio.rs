//! `brigade serve` over standard input and output: handshakes, client errors, and the end.

#![allow(clippy::disallowed_methods, reason = "tests look at processes and start a terminal")]

use std::fs;
use std::process::Command;
use std::time::Duration;

use brigade_testkit::brigade_binary;
use brigade_tests::{Site, processes_with, until};
use serde_json::{Value, json};

use crate::serve_common::{
    CATALOG, Client, GATEWAY, POLICY, about, add, agents, assert_stands, entry, id_of, late, runs, signal,
    site, text,
};

const SLEEPS: &str = "echo $$ > pid\n(sleep 977) &\nsleep 977\n";

fn line(id: &Value, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    let site = site();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::start(&site, &[]);
        let hello = client.hello(revision, json!({}));
        assert_eq!(hello["protocolVersion"], revision);
        assert_eq!(hello["serverInfo"]["name"], "brigade");
        assert!(client.names().contains(&"at-once".to_owned()));
        assert_eq!(text(&client.call("at-once", json!({"text": "hi"}))), "said hi");
        client.close_input();
        assert_eq!(client.ended().0, Some(0), "{revision}");
    }
    let mut client = Client::start(&site, &[]);
    let hello = client.hello("1999-01-01", json!({}));
    assert_eq!(hello["protocolVersion"], "2025-11-25", "an unknown revision gets one that is known");
}

#[test]
fn the_longest_request_is_that_of_gateway_toml_now() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let call = json!({"name": "at-once", "arguments": {"text": "long".repeat(500)}});
    assert!(client.ask("tools/call", call.clone())["result"].is_object());
    let config = site.workspace.read_text(GATEWAY);
    site.workspace.write(GATEWAY, format!("max_request_bytes = \"1KiB\"\n{config}"));
    // The notification shows that both files were read.
    add(&site, "read-new", "", "echo x\n");
    client.heard("notifications/tools/list_changed");
    let refused = client.ask("tools/call", call.clone())["error"].clone();
    assert_eq!(refused["code"], -32600, "{refused:#}");
    assert!(refused["message"].to_string().contains("1024 bytes"), "{refused:#}");
    site.workspace.write(GATEWAY, config);
    add(&site, "read-newer", "", "echo x\n");
    client.heard("notifications/tools/list_changed");
    assert!(client.ask("tools/call", call)["result"].is_object());
}

#[test]
fn requests_without_a_handshake_name_their_revision() {
    let site = site();
    let mut client = Client::start(&site, &[]);
    let found = client.ask("server/discover", late(json!({}), json!({})));
    let versions = found["result"]["supportedVersions"].to_string();
    for revision in ["2024-11-05", "2025-11-25", "2026-07-28"] {
        assert!(versions.contains(revision), "{found:#}");
    }
    let list = client.ask("tools/list", late(json!({}), json!({})))["result"].clone();
    assert_eq!(list["cacheScope"], "private", "{list:#}");
    assert!(list["ttlMs"].is_u64(), "{list:#}");
    assert_eq!(list["resultType"], "complete", "{list:#}");
    let params = late(json!({"name": "at-once", "arguments": {"text": "late"}}), json!({}));
    let result = client.ask("tools/call", params)["result"].clone();
    assert_eq!((text(&result).as_str(), &result["resultType"]), ("said late", &json!("complete")));
    client.close_input();
    assert_eq!(client.ended().0, Some(0));
}

#[test]
fn a_terminal_gets_an_explanation() {
    let site = site();
    let program = "import os, pty, sys\nsys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let mut command = Command::new("python3");
    command.args(["-c", program]).arg(brigade_binary()).arg("serve").current_dir(site.workspace.path());
    let output = command.env("HOME", site.workspace.home()).stdin(std::process::Stdio::null()).output();
    let output = output.expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("MCP"), "{said}");
}

#[test]
fn an_unnamed_agent_is_refused() {
    let site = site();
    for words in [&["serve", "--as", "stranger"][..], &["serve", "--profile", "permission.none"]] {
        let run = site.brigade.run(words);
        run.assert_code(1);
        assert_eq!(run.stdout_text(), "");
    }
    // The file has agents, but not `local`.
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"ann\"\n");
    site.brigade.run(["serve"]).assert_code(1);
    site.workspace.remove(GATEWAY);
    let mut client = Client::connect(&site, "local");
    client.goes_on();
    for broken in
        ["nonsense = 1\n", "[[agent]]\nname = \"a\"\n[[agent]]\nname = \"a\"\n", "page_size = 0\n", "[["]
    {
        site.workspace.write(GATEWAY, broken);
        let run = site.brigade.run(["serve"]);
        run.assert_code(1);
        assert!(run.stderr_text().contains("gateway.toml"), "{broken}: {run}");
    }
}

#[test]
fn every_error_has_a_code_and_keeps_the_connection() {
    let site = site();
    let mut client = Client::start(&site, &[]);
    let before = client.ask("tools/list", json!({}));
    assert_eq!(before["error"]["code"], -32600, "{before:#}");
    client.goes_on();
    client.hello("2025-06-18", json!({}));
    client.goes_on();
    let long =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "y".repeat(5 << 20));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_params = format!(
        r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{{"name":"at-once","arguments":{{"text":{}1{}}}}}}}"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    let cases: &[(&[u8], i64, &str)] = &[
        (b"nothing of the kind", -32700, "null"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700, "null"),
        (b"\xff\xfe{\"jsonrpc\":\"2.0\"}", -32700, "null"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xff\"}}", -32700, "null"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", -32700, "null"),
        (deep.as_bytes(), -32700, "null"),
        // Unreadable JSON is answered with its id, because the client waits for an answer.
        (deep_params.as_bytes(), -32700, "77"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":78,\"method\":\"ping\",\"params\":{\"x\":\"\\ud800\"}}", -32700, "78"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":79,\"method\":\"ping\",\"params\":{\"x\":1,\"x\":2}}", -32700, "79"),
        (b"[]", -32600, "null"),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, "null"),
        (b"\"ping\"", -32600, "null"),
        (b"{\"id\":\"a\",\"method\":\"ping\"}", -32600, "\"a\""),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600, "null"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":[]}", -32600, "3"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"no/such\"}", -32601, "\"b\""),
        (b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\"}", -32602, "4"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{}}", -32602, "4"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":7}}", -32602, "4"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}", -32602, "4"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/list\",\"params\":{\"cursor\":5}}", -32602, "4"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"prompts/get\",\"params\":{\"name\":\"x\"}}", -32602, "4"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"resources/read\",\"params\":{\"uri\":\"brigade://x\"}}", -32002, "4"),
        (long.as_bytes(), -32600, "1"),
    ];
    for (bytes, code, id) in cases {
        client.write(bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned();
        let answer = client.message();
        assert_eq!(answer["error"]["code"], json!(code), "{shown}: {answer:#}");
        assert_eq!(answer.get("id").unwrap_or(&Value::Null).to_string(), *id, "{shown}: {answer:#}");
        client.goes_on();
    }
    assert_eq!(runs(&site, "at-once"), 0);
    client.close_input();
    assert_eq!(client.ended().0, Some(0));
}

#[test]
fn an_unknown_name_gets_names_that_are_visible() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let answer = client.ask("tools/call", json!({"name": "at-onec", "arguments": {"text": BAD}}));
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(answer["error"]["data"]["did_you_mean"][0], "at-once", "{answer:#}");
    assert!(!answer.to_string().contains(BAD), "no value is quoted: {answer:#}");
}

const BAD: &str = "a-value-that-nobody-quotes";

#[test]
fn ids_are_returned_unchanged_and_must_be_unique() {
    let site = site();
    add(&site, "read-long", "", "echo x >> started\nwhile ! test -e go; do sleep 0.02; done\n");
    let mut client = Client::connect(&site, "local");
    let huge = format!("\"{}\"", "i".repeat(100_000));
    for id in [
        "0",
        "-1",
        "9007199254740993",
        "18446744073709551616",
        "123456789012345678901234567890",
        "\"\"",
        "\"1\"",
        "\"ü\\u0000\"",
        &huge,
    ] {
        client.write(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        let answer = client.message();
        let wanted: Value = serde_json::from_str(id).unwrap();
        assert!(answer["id"] == wanted && answer["result"] == json!({}), "{}", &id[..id.len().min(40)]);
    }
    let params = json!({"name": "read-long", "arguments": {}});
    client.write(line(&json!("same"), "tools/call", &params));
    until("run", || site.workspace.exists("started").then_some(()));
    client.write(line(&json!("same"), "ping", &json!({})));
    let refused = client.message();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("same"), &json!(-32600)), "{refused:#}");
    site.workspace.write("go", "");
    let answer = client.message();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!("same"), &json!(false)), "{answer:#}");
    client.write(line(&json!("same"), "ping", &json!({})));
    assert_eq!(client.message()["result"], json!({}), "the id is free again");
}

#[test]
fn notifications_are_never_answered() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    for text in [
        r#"{"jsonrpc":"2.0","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"at-once","arguments":{"text":"x"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4711}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}"#,
        "",
        "   ",
    ] {
        client.write(text);
        client.goes_on();
    }
    assert_eq!(runs(&site, "at-once"), 0, "a notification calls nothing");
}

/// Starts a long run. Returns its request and its process id.
fn long_run(site: &Site, client: &mut Client) -> (u64, String) {
    let request = client.send_call("read-long", json!({"text": "x"}));
    let pid = until("run", || {
        let pid = site.workspace.exists("pid").then(|| site.workspace.read_text("pid"))?;
        pid.ends_with('\n').then_some(pid)
    });
    (request, pid.trim().to_owned())
}

#[test]
fn runs_end_with_the_server_and_have_receipts() {
    for how in ["input", "TERM", "INT"] {
        let site = site();
        add(&site, "read-long", "", SLEEPS);
        let mut client = Client::connect(&site, "local");
        client.call("asks", json!({"text": "later"}));
        long_run(&site, &mut client);
        match how {
            "input" => client.close_input(),
            name => signal(client.pid(), name),
        }
        let (code, said) = client.ended();
        assert_eq!(code, Some(0), "{how}: {said}");
        let left = processes_with(&site.workspace.path().display().to_string());
        assert_eq!(left, Vec::<u32>::new(), "{how}");
        let receipt = site.json(["run", "latest"]).expect(0)["run"].clone();
        assert_eq!(receipt["status"], "interrupted", "{how}: {receipt:#}");
        assert_eq!(receipt["caller"], "agent:local");
        assert!(receipt.to_string().contains("by the end of the gateway"), "{how}: {receipt:#}");
        let calls = site.json(["call", "list"]).expect(0)["calls"].clone();
        let waiting = calls.as_array().unwrap().iter().filter(|call| call["status"] == "pending").count();
        assert_eq!(waiting, 1, "{how}: pending calls stay: {calls:#}");
        site.json(["run", "verify"]).expect(0);
    }
}

#[test]
fn a_killed_server_runs_nothing_twice() {
    let site = site();
    add(&site, "read-long", "", &format!("echo x >> read-long.sh.ran\n{SLEEPS}"));
    let mut client = Client::connect(&site, "local");
    let (_, pid) = long_run(&site, &mut client);
    signal(client.pid(), "KILL");
    client.ended();
    until("end of the run", || (!std::path::Path::new("/proc").join(&pid).exists()).then_some(()));

    let mut client = Client::connect(&site, "local");
    let calls = client.call("call.list", json!({}))["structuredContent"]["calls"].clone();
    let old = calls[0]["call_id"].as_str().unwrap().to_owned();
    assert_eq!(calls[0]["status"], "interrupted", "{calls:#}");
    let cut = client.call("call.wait", json!({"call_id": old, "timeout_seconds": 5}));
    assert_stands(&cut, "interrupted", "outcome_unknown");
    assert_eq!(cut["isError"], true);
    // Even the rule does not run it again: a person must look at the old call.
    let again = client.call("read-long", json!({"text": "x"}));
    assert_stands(&again, "pending", "approval_pending");
    assert!(text(&again).contains(&old), "{again:#}");
    assert_ne!(id_of(&again), old);
    let same = client.call("read-long", json!({"text": "x"}));
    assert_eq!(id_of(&same), id_of(&again));
    assert!(text(&same).contains(&old), "{same:#}");
    assert_eq!(runs(&site, "read-long"), 1);
    site.json(["run", "verify"]).expect(0);
}

#[test]
fn flooding_client_stops_no_other_gateway() {
    let site = site();
    let mut flood = Client::connect(&site, "ann");
    let mut other = Client::connect(&site, "ben");
    for n in 0..200 {
        flood.send_call("at-once", json!({"text": n.to_string()}));
    }
    for n in 0..3 {
        let result = other.call("at-once", json!({"text": format!("ben {n}")}));
        assert_eq!(text(&result), format!("said ben {n}"));
    }
    assert!(flood.received() < 200, "the calls of the other came last");
}

#[test]
fn ten_thousand_tools_are_listed_each_once() {
    let site = site();
    let mut catalog = String::new();
    for n in 0..10_000 {
        catalog
            .push_str(&entry(&format!("tool-{n}"), "").replace(&format!("bin/tool-{n}.sh"), "bin/asks.sh"));
    }
    site.workspace.write(CATALOG, catalog);
    let mut client = Client::connect(&site, "local");
    let names = client.names();
    let mut once = names.clone();
    once.sort();
    once.dedup();
    assert_eq!(names, once, "in order of the id, each once");
    assert_eq!(names.iter().filter(|name| name.starts_with("tool-")).count(), 10_000);
}

#[test]
fn a_cursor_is_of_one_list_of_one_agent() {
    let site = site();
    let page = |client: &mut Client| client.ask("tools/list", json!({}))["result"]["nextCursor"].clone();
    let text = site.workspace.read_text(GATEWAY);
    site.workspace.write(GATEWAY, format!("page_size = 2\n{text}"));
    let (mut ann, mut ben) = (Client::connect(&site, "ann"), Client::connect(&site, "ben"));
    let cursor = page(&mut ann);
    assert!(cursor.is_string());
    assert_eq!(ben.refused("tools/list", json!({"cursor": cursor})), -32602, "another's");
    let mut damaged = cursor.as_str().unwrap().to_owned();
    let place = damaged.len() / 2;
    let other = if damaged.as_bytes()[place] == b'A' { "B" } else { "A" };
    damaged.replace_range(place..=place, other);
    assert_eq!(ann.refused("tools/list", json!({"cursor": damaged})), -32602, "damaged");
    assert!(ann.ask("tools/list", json!({"cursor": cursor}))["result"]["tools"].is_array());
    add(&site, "another", "", "true\n");
    ann.heard("notifications/tools/list_changed");
    assert_eq!(ann.refused("tools/list", json!({"cursor": cursor})), -32602, "of a list that changed");
}

/// Issue 14: a tool is hidden when its script, program or directory is removed, and shown again afterwards.
#[test]
fn a_tool_without_program_or_directory_is_hidden() {
    const CHANGED: &str = "notifications/tools/list_changed";
    let site = site();
    add(&site, "in-folder", "cwd = \"own\"\n", "echo x\n");
    site.workspace.write("own/bin/in-folder.sh", "echo x\n");
    let mut client = Client::connect(&site, "local");
    let has = |client: &mut Client, id: &str| client.names().contains(&id.to_owned());
    assert!(has(&mut client, "at-once"));
    let script = site.workspace.read_text("bin/at-once.sh");
    site.workspace.remove("bin/at-once.sh");
    client.heard(CHANGED);
    assert!(!has(&mut client, "at-once"));
    site.workspace.write("bin/at-once.sh", script);
    client.heard(CHANGED);
    assert!(has(&mut client, "at-once"));
    assert!(has(&mut client, "in-folder"));
    fs::rename(site.workspace.join("own"), site.workspace.join("moved")).unwrap();
    client.heard(CHANGED);
    assert!(!has(&mut client, "in-folder"));
    fs::rename(site.workspace.join("moved"), site.workspace.join("own")).unwrap();
    client.heard(CHANGED);
    assert!(has(&mut client, "in-folder"));
}

/// Issue 14: the SDK knows methods that the gateway does not have. They are refused like unknown ones.
#[test]
fn methods_that_are_none_are_refused_alike() {
    let site = site();
    let mut client = Client::start(&site, &[]);
    client.ask("server/discover", late(json!({}), json!({})));
    let mut refused =
        |method: &str, params: Value| client.ask(method, late(params, json!({})))["error"].clone();
    let expect = json!({"code": -32601, "message": "there is no such method"});
    for (method, params) in [
        ("no/such", json!({})),
        ("resources/subscribe", json!({"uri": "brigade://tool/asks"})),
        ("resources/unsubscribe", json!({"uri": "brigade://tool/asks"})),
        ("tasks/get", json!({"taskId": "x"})),
        ("logging/setLevel", json!({"level": "info"})),
    ] {
        assert_eq!(refused(method, params), expect, "{method}");
    }
}

#[test]
fn each_change_is_notified_once() {
    const CHANGED: &str = "notifications/tools/list_changed";
    let site = site();
    let mut client = Client::connect(&site, "local");
    let mut idle = Client::connect(&site, "ann");
    client.names();
    add(&site, "new-one", "", "true\n");
    add(&site, "new-two", "", "true\n");
    client.heard(CHANGED);
    idle.heard(CHANGED);
    assert!(client.names().contains(&"new-two".to_owned()));
    // Comments and the order of lines are invisible to the client.
    let catalog = site.workspace.read_text(CATALOG);
    site.workspace.write(CATALOG, format!("# only a comment\n{catalog}"));
    let policy = site.workspace.read_text(POLICY);
    site.workspace.write(POLICY, policy.replace("max_timeout = 120", "max_timeout = 121"));
    // A denied effect hides its tools.
    std::thread::sleep(Duration::from_millis(1800));
    assert_eq!(
        client.count(CHANGED),
        0,
        "nothing changed for the client, and the two new tools were one batch"
    );
    site.workspace.write(POLICY, policy.replace("[\"secret-read\"]", "[\"secret-read\", \"local-read\"]"));
    client.heard(CHANGED);
    assert!(!client.names().contains(&"at-once".to_owned()));
    assert_eq!(client.refused("tools/call", json!({"name": "at-once", "arguments": {"text": "x"}})), -32602);
    // Without a policy, no tools are listed, and the instructions explain why.
    site.workspace.remove(POLICY);
    client.heard(CHANGED);
    assert_eq!(client.names(), Vec::<String>::new());
    assert_eq!(client.refused("tools/call", json!({"name": "tools.list", "arguments": {}})), -32602);
    let why = Client::start(&site, &[]).hello("2025-06-18", json!({}))["instructions"].to_string();
    assert!(why.contains("policy.toml"), "{why}");
    site.workspace.write(POLICY, format!("{policy}\n[[auto_approve]]\nnonsense = true\n"));
    let mut broken = Client::start(&site, &[]);
    let why = broken.hello("2025-06-18", json!({}))["instructions"].to_string();
    assert!(why.contains("policy.toml") && why.contains("invalid"), "{why}");
    // Issue 45: the answer to each call says so, with the place, whatever it names. So does the list.
    for name in ["at-once", "tools.list", "nothing"] {
        let answer = broken.call(name, json!({}));
        assert_stands(&answer, "refused", "policy_invalid");
        assert!(text(&answer).contains("policy.toml:"), "{answer:#}");
    }
    let listed = broken.ask("tools/list", json!({}))["result"].clone();
    assert_eq!(listed["_meta"]["brigade/refused"]["code"], "policy_invalid", "{listed:#}");
    assert!(broken.said().contains("nothing can be called: see .brigade/tools/policy.toml:"));
    drop(broken);
    // A schema also affects the listing.
    site.workspace.write(POLICY, &policy);
    client.heard(CHANGED);
    let schema = site.workspace.read_text("schemas/text.json");
    site.workspace.write("schemas/text.json", schema.replace("\"n\"", "\"more\""));
    client.heard(CHANGED);
    let listed = client.ask("tools/list", json!({})).to_string();
    assert!(listed.contains("\"more\""), "{listed}");
}

#[test]
fn instructions_report_a_broken_catalog() {
    let site = site();
    let told = |site: &Site| {
        Client::start(site, &[]).hello("2025-06-18", json!({}))["instructions"].to_string().contains("doctor")
    };
    assert!(!told(&site));
    site.workspace.write(CATALOG, "broken = [");
    assert!(told(&site));
}

#[test]
fn a_broken_gateway_file_leaves_the_last_good_one() {
    let site = site();
    agents(&site, "confirm = \"none\"\n");
    let mut client = Client::connect(&site, "local");
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\nname = \"x\"\n");
    until("warning", || client.said().contains("gateway.toml").then_some(()));
    assert_eq!(text(&client.call("at-once", json!({"text": "still"}))), "said still");
    client.close_input();
    assert_eq!(client.ended().0, Some(0));
}

#[test]
fn interrupted_calls_are_in_the_ledger() {
    // The input ends right after the request. The call still completes or is interrupted, with a receipt.
    let site = site();
    let mut client = Client::connect(&site, "local");
    let id = client.send_call("at-once", json!({"text": "last"}));
    client.close_input();
    let result = client.result(id);
    assert_eq!(text(&result), "said last");
    assert_eq!(client.ended().0, Some(0));
    let receipt = site.json(["run", "latest"]).expect(0)["run"].clone();
    assert_eq!(receipt["id"], about(&result)["run_id"]);
}

/// Issue 14: the client also sees how tools are listed.
#[test]
fn a_changed_listing_mode_is_notified() {
    let site = site();
    let changed = "notifications/tools/list_changed";
    let (mut client, mut fixed) =
        (Client::connect(&site, "local"), Client::start(&site, &["--list", "full"]));
    fixed.hello("2025-11-25", json!({}));
    let listed = client.names().len();
    let file = site.workspace.read_text(GATEWAY);
    site.workspace.write(GATEWAY, format!("list = \"search\"\n{file}"));
    client.heard(changed);
    assert!(client.names().len() < listed);
    // Changes that such a client cannot see are not reported.
    site.workspace.replace(CATALOG, "Does at-once.", "Does it at once.");
    // The command line sets the mode of the other client, which is only notified about the catalog.
    fixed.heard(changed);
    site.workspace.write(GATEWAY, format!("list = \"compact\"\n{file}"));
    client.heard(changed);
    assert_eq!((client.names().len(), client.count(changed)), (listed, 0));
    assert_eq!(fixed.count(changed), 0);
}
