//! Numbers in `brigade serve` keep the digits that were written.

use serde_json::json;

use crate::serve_common::{Client, Server, Session, id_of, late, text};
use crate::serve_upstream::KeptServerSite;

#[test]
fn arguments_keep_their_digits_on_every_way() {
    const DIGITS: &str = r#"{"n":12345678901234567890123,"text":"a"}"#;
    let kept = KeptServerSite::new("", &["echo"]);
    let mut client = Client::connect(&kept.site, "local");
    let direct = format!(r#"{{"name":"read-echo","arguments":{DIGITS}}}"#);
    let inner = format!(r#"{{"name":"tools.call","arguments":{direct}}}"#);
    let mut next = 900;
    for params in [&direct, &inner] {
        next += 1;
        client.write(format!(r#"{{"jsonrpc":"2.0","id":{next},"method":"tools/call","params":{params}}}"#));
        let result = client.result(next);
        assert!(text(&result).contains("12345678901234567890123"), "{result:#}");
        let shown = kept.site.tools(["call", "show", &id_of(&result), "--json"]).stdout_text();
        assert!(shown.contains("12345678901234567890123"), "{shown}");
    }
    let words = ["--http", "127.0.0.1:0", "--no-token", "--as", "local"];
    let server = Server::start(&kept.site, &words);
    let mut session = Session::open(&server.place, None);
    let message = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{direct}}}"#);
    let result = session.write(&message).message()["result"].clone();
    assert!(text(&result).contains("12345678901234567890123"), "{result:#}");
    // Numbers that the SDK can represent take the usual path.
    assert!(text(&session.call("read-echo", json!({"n": 7}))).contains("\"n\": 7"));
}

/// Issue 14: `0.10` was returned as `0.1`, and `1e400` lost the whole result.
#[test]
fn numbers_of_a_result_come_back_as_they_came() {
    let check = |answer: &str| {
        for digits in [
            r#""structuredContent":{"a":[0.10,1e400],"b":{"c":12345678901234567890123,"d":9007199254740993},"e":1.0}"#,
            r#""n":0.10"#,
            r#""q":1E-2"#,
            r#""text":"0.10""#,
        ] {
            assert!(answer.contains(digits), "{digits}: {answer}");
        }
    };
    let params = json!({"name": "read-digits", "arguments": {}});
    for features in ["", "stateless"] {
        let kept = KeptServerSite::new(features, &["digits"]);
        let mut client = Client::connect(&kept.site, "local");
        client.send("tools/call", params.clone());
        check(&client.raw());
        // Later reads return the same.
        let calls = client.call("call.list", json!({"limit": 1}))["structuredContent"]["calls"].clone();
        client
            .send("tools/call", json!({"name": "call.wait", "arguments": {"call_id": calls[0]["call_id"]}}));
        check(&client.raw());
        let mut client = Client::start(&kept.site, &["--as", "local"]);
        client.send("tools/call", late(params.clone(), json!({})));
        check(&client.raw());
        let words = ["--http", "127.0.0.1:0", "--no-token", "--as", "local"];
        let server = Server::start(&kept.site, &words);
        let mut session = Session::open(&server.place, None);
        check(&session.post("tools/call", params.clone()).body);
        let head = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "read-digits"),
        ];
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": late(params.clone(), json!({}))});
        check(&server.place.send("POST", "/mcp", &head, &request.to_string()).body);
    }
}
