//! What the gateway refuses by number and size, and connections of runs.

#![allow(clippy::disallowed_methods, reason = "tests look at modes and make sparse files")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::serve_common::{
    Client, Server, Session, about, add, agents, assert_stands, id_of, site, text, token,
};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// A script that connects to the address in its argument, directly and from a process that left its session, and prints
/// the status and the reason of each answer.
const DIALS: &str = r#"cat > dial.py <<'P'
import os, socket, sys
where, how = sys.argv[1:3]
if how == "left":
    if os.fork(): os.wait(); sys.exit()
    os.setsid()
    if os.fork(): sys.exit()
host, _, port = where.partition(":")
s = socket.create_connection((host, int(port))) if port else socket.socket(socket.AF_UNIX)
if not port: s.connect(where)
body = HELLO
s.sendall(("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    "Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)).encode())
answer = b""
while piece := s.recv(4096): answer += piece
os.makedirs("said", exist_ok=True)
open("said/" + how + ".tmp", "wb").write(answer)
os.rename("said/" + how + ".tmp", "said/" + how)
P
rm -rf said
python3 dial.py "$1" straight
python3 dial.py "$1" left
while ! test -e said/left; do sleep 0.02; done
cat said/straight said/left
"#;

#[test]
fn a_connection_of_a_run_is_refused() {
    let site = site();
    add(&site, "read-dials", "", &DIALS.replace("HELLO", &format!("{HELLO:?}")));
    let folder = site.beside("sockets");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let socket = folder.join("gate.sock");
    let shown = socket.to_str().unwrap();
    let words = ["--http", "127.0.0.1:0", "--unix", shown, "--no-token", "--as", "local"];
    let server = Server::start(&site, &words);
    let port =
        server.line["address"].as_str().unwrap().trim_start_matches("http://").trim_end_matches("/mcp");
    let mut client = Client::connect(&site, "local");
    for place in [port, shown] {
        let said = text(&client.call("read-dials", json!({"text": place})));
        assert_eq!(said.matches("HTTP/1.1 403").count(), 2, "{place}: {said}");
        assert_eq!(said.matches("inside_a_run").count(), 2, "{place}: {said}");
    }
    // Every other program is served.
    assert_eq!(server.place.send("POST", "/mcp", &[], HELLO).status, 200);
}

#[test]
fn without_a_token_a_dialogue_decides_nothing() {
    let site = site();
    agents(&site, "confirm = \"elicitation\"\nconfirm_risk = \"high\"\n");
    let server = Server::start(&site, &["--http", "127.0.0.1:0", "--no-token", "--as", "local"]);
    let hello = HELLO.replace("\"capabilities\":{}", "\"capabilities\":{\"elicitation\":{}}");
    let begun = server.place.send("POST", "/mcp", &[], &hello);
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "asks", "arguments": {"text": "x"}}});
    let headers = [("Mcp-Session-Id", session.as_str())];
    let answer = server.place.send("POST", "/mcp", &headers, &call.to_string());
    // Its stream ends with the answer, without a question before it.
    assert!(!answer.body.contains("elicitation/create"), "{answer:?}");
    assert_stands(&answer.message()["result"], "pending", "approval_pending");
}

#[test]
fn sessions_of_a_token_are_bounded() {
    let site = site();
    let (ann, ben) = (token(&site, "ann"), token(&site, "ben"));
    let server = Server::start(&site, &["--http", "127.0.0.1:0"]);
    let begin = |token: &str| {
        let bearer = format!("Bearer {token}");
        server.place.send("POST", "/mcp", &[("Authorization", &bearer)], HELLO)
    };
    let first = begin(&ann).header("mcp-session-id").unwrap().to_owned();
    for _ in 1..64 {
        assert_eq!(begin(&ann).status, 200);
    }
    let refused = begin(&ann);
    assert_eq!((refused.status, refused.header("mcp-session-id")), (429, None), "{refused:?}");
    assert!(refused.body.contains("64 sessions"), "{refused:?}");
    assert_eq!(begin(&ben).status, 200);
    let bearer = format!("Bearer {ann}");
    let headers = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", first.as_str())];
    server.place.send("DELETE", "/mcp", &headers, "");
    assert_eq!(begin(&ann).status, 200);
    let mut session = Session::open(&server.place, Some(&ben));
    assert_eq!(text(&session.call("at-once", json!({"text": "hi"}))), "said hi");
}

#[test]
fn calls_that_wait_are_bounded() {
    let site = site();
    agents(&site, "limits = { pending = 3, pending_bytes = \"64KiB\" }\n");
    let mut client = Client::connect(&site, "local");
    let mut ask = |text: &str| client.call("asks", json!({"text": text}));
    let ids = ["a", "b", "c"].map(|text| id_of(&ask(text)));
    let refused = ask("d");
    assert_stands(&refused, "refused", "too_many_pending");
    assert!(about(&refused)["retry_after_seconds"].is_u64(), "{refused:#}");
    // An equal call is the waiting one, and a rule's call does not wait.
    assert_eq!(id_of(&ask("a")), ids[0]);
    site.json(["call", "hold", &ids[0], "--reason", "later"]).expect(0);
    assert_stands(&ask("d"), "refused", "too_many_pending");
    site.json(["call", "reject", &ids[1], "--reason", "no"]).expect(0);
    id_of(&ask("d"));
    site.json(["call", "reject", &ids[2], "--reason", "no"]).expect(0);
    assert_stands(&ask(&"x".repeat(64 << 10)), "refused", "too_many_pending");
    id_of(&ask("e"));
}

#[test]
fn a_limit_counts_calls_of_other_gateways() {
    let site = site();
    agents(&site, "limits = { calls_per_hour = 4 }\n");
    let mut clients = [Client::connect(&site, "local"), Client::connect(&site, "local")];
    for number in 0..4 {
        let done = clients[number % 2].call("at-once", json!({"text": number.to_string()}));
        assert_stands(&done, "completed", "");
    }
    for client in &mut clients {
        assert_stands(&client.call("at-once", json!({"text": "more"})), "refused", "rate_limited");
    }
    // A rewritten journal has the same calls.
    site.json(["state", "compact"]).expect(0);
    assert_stands(&clients[0].call("at-once", json!({"text": "more"})), "refused", "rate_limited");
}

#[test]
fn a_sparse_giant_is_refused_at_once() {
    let site = site();
    add(&site, "giant", "code = [\"lib/big.bin\"]\n", "true\n");
    site.workspace.write("lib/big.bin", "");
    fs::File::options()
        .write(true)
        .open(site.workspace.path().join("lib/big.bin"))
        .and_then(|file| file.set_len(8 << 40))
        .unwrap();
    let plan = site.json(["call", "plan", "giant"]).json;
    let said = plan.to_string();
    assert!(said.contains("code_not_bound") && said.contains("lib/big.bin"), "{said}");
}
