//! `brigade serve` over HTTP and a Unix socket: authentication, and valid requests.

#![allow(clippy::disallowed_methods, reason = "tests look at modes, take addresses and read processes")]

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{
    Client, GATEWAY, Place, Server, Session, add, assert_stands, id_of, late, runs, signal, site, text, token,
};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

fn server(site: &Site) -> (Server, String, String) {
    let (ann, ben) = (token(site, "ann"), token(site, "ben"));
    (Server::start(site, &["--http", "127.0.0.1:0"]), ann, ben)
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[test]
fn it_says_where_it_listens_and_ends_at_a_signal() {
    let site = site();
    let (mut server, ann, _) = server(&site);
    let line = &server.line;
    assert_eq!((&line["schema"], &line["socket"]), (&json!("brigade.serve.v1"), &Value::Null), "{line:#}");
    assert_eq!(line["pid"], server.pid());
    assert!(2 < line["tools"].as_u64().unwrap());
    let mut session = Session::open(&server.place, Some(&ann));
    assert_eq!(text(&session.call("at-once", json!({"text": "hi"}))), "said hi");
    signal(server.pid(), "TERM");
    assert_eq!(server.ended(), Some(0), "{}", server.said());
}

#[test]
fn every_request_needs_a_token() {
    let site = site();
    let (server, ann, ben) = server(&site);
    let refused = |headers: &[(&str, &str)]| {
        let answer = server.place.send("POST", "/mcp", headers, HELLO);
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{answer:?}");
    };
    refused(&[]);
    refused(&[("Authorization", "Bearer nonsense")]);
    refused(&[("Authorization", "Bearer")]);
    refused(&[("Authorization", "Bearer ")]);
    refused(&[("Authorization", &format!("Basic {ann}"))]);
    refused(&[("Authorization", &ann)]);
    refused(&[("Authorization", &format!("Bearer {ann}x"))]);
    refused(&[("Authorization", &bearer(&ann)), ("Authorization", &bearer(&ben))]);
    // The sha256 in the file is not a token.
    let file = site.workspace.read_text(GATEWAY);
    let digest =
        file.lines().find_map(|line| line.strip_prefix("token_sha256 = ")).unwrap().trim_matches('"');
    refused(&[("Authorization", &bearer(digest))]);
    refused(&[("X-Agent", "ann"), ("Cookie", &format!("token={ann}"))]);
    let in_url = server.place.send("POST", &format!("/mcp?token={ann}"), &[], HELLO);
    assert_eq!(in_url.status, 401);
    // Refused before the body is read: the body is announced but never sent.
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n";
    assert_eq!(server.place.raw(head.as_bytes()).status, 401);
    // A new token invalidates the old one from the next request on.
    let mut older = ann.clone();
    for _ in 0..5 {
        let newer = token(&site, "ann");
        refused(&[("Authorization", &bearer(&older))]);
        let answer = server.place.send("POST", "/mcp", &[("Authorization", &bearer(&newer))], HELLO);
        assert_eq!(answer.status, 200, "{answer:?}");
        older = newer;
    }
    assert!(!server.said().contains(&ann));
}

/// Issue 14: a session belongs to a token. A new token of the same agent starts another session.
#[test]
fn a_session_ends_with_its_token() {
    let site = site();
    let (server, ann, _) = server(&site);
    let session = Session::open(&server.place, Some(&ann));
    let status = |token: &str| {
        let auth = bearer(token);
        let own = ("Mcp-Session-Id", session.id());
        server.place.send("POST", "/mcp", &[("Authorization", &auth), own], PING).status
    };
    assert_eq!(status(&ann), 200);
    let newer = token(&site, "ann");
    assert_eq!((status(&newer), status(&ann)), (404, 401));
    let mut other = Session::open(&server.place, Some(&newer));
    assert_eq!(text(&other.call("at-once", json!({"text": "hi"}))), "said hi");
}

#[test]
fn a_page_in_a_browser_reaches_nothing() {
    let site = site();
    let text = site.workspace.read_text(GATEWAY);
    site.workspace.write(GATEWAY, format!("[http]\nallowed_origins = [\"http://localhost:5173\"]\n\n{text}"));
    let (server, ann, _) = server(&site);
    let auth = bearer(&ann);
    let status = |headers: &[(&str, &str)]| {
        let mut all = vec![("Authorization", auth.as_str())];
        all.extend(headers);
        server.place.send("POST", "/mcp", &all, HELLO).status
    };
    for host in ["localhost", "localhost:80", "127.0.0.1:9", "[::1]", "LOCALHOST"] {
        assert_eq!(status(&[("Host", host)]), 200, "{host}");
    }
    for host in ["evil.com:80@localhost", "user@localhost", "localhost:abc", "[::1]x"] {
        assert!(matches!(status(&[("Host", host)]), 400 | 403), "{host}");
    }
    for host in ["example.com", "localhost.example.com", "127.0.0.1.nip.io", "10.0.0.1", "0.0.0.0"] {
        assert_eq!(status(&[("Host", host)]), 403, "{host}");
    }
    assert_eq!(status(&[("Host", "localhost"), ("Host", "localhost")]), 400);
    assert_eq!(status(&[("Host", "localhost"), ("Host", "example.com")]), 400);
    assert_eq!(status(&[("Host", "")]), 400, "without one");
    assert_eq!(status(&[("Origin", "http://localhost:5173")]), 200);
    for origin in [
        "null",
        "http://localhost:5174",
        "https://localhost:5173",
        "http://localhost",
        "http://evil.com",
        "x",
    ] {
        assert_eq!(status(&[("Origin", origin)]), 403, "{origin}");
    }
    let good = ("Origin", "http://localhost:5173");
    assert_eq!(status(&[good, good]), 400);
    // They are checked before the token.
    let evil = server.place.send("POST", "/mcp", &[("Origin", "http://evil.com")], HELLO);
    assert_eq!(evil.status, 403);
    let preflight = server.place.send("OPTIONS", "/mcp", &[("Origin", "http://evil.com")], "");
    assert!(
        preflight.status == 403 && preflight.header("access-control-allow-origin").is_none(),
        "{preflight:?}"
    );
}

#[test]
fn every_wrong_request_has_its_status() {
    let site = site();
    let (server, ann, ben) = server(&site);
    let place = &server.place;
    let session = Session::open(place, Some(&ann));
    let (of_ann, of_ben) = (bearer(&ann), bearer(&ben));
    let auth = ("Authorization", of_ann.as_str());
    let own = ("Mcp-Session-Id", session.id());
    assert_eq!(session.id().len(), session.id().trim().len());
    let status = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        place.send(method, path, headers, body).status
    };
    assert_eq!(status("POST", "/", &[auth], HELLO), 404);
    assert_eq!(status("POST", "/mcp/", &[auth], HELLO), 404);
    assert_eq!(status("POST", "/other", &[auth], HELLO), 404);
    assert_eq!(status("POST", "/mcp", &[auth, ("Mcp-Session-Id", "none")], PING), 404);
    assert_eq!(status("POST", "/mcp", &[("Authorization", &of_ben), own], PING), 404, "a session of ann");
    assert_eq!(status("DELETE", "/mcp", &[("Authorization", &of_ben), own], ""), 404);
    assert_eq!(status("GET", "/mcp", &[("Authorization", &of_ben), own], ""), 404);
    assert_eq!(status("POST", "/mcp", &[own], PING), 401, "a session is not a credential");
    for method in ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"] {
        assert_eq!(status(method, "/mcp", &[auth, own], ""), 405, "{method}");
    }
    assert_eq!(status("POST", "/mcp", &[auth, own, ("Accept", "text/html")], PING), 406);
    assert_eq!(status("GET", "/mcp", &[auth, own, ("Accept", "application/json")], ""), 406);
    assert_eq!(status("POST", "/mcp", &[auth, own, ("Content-Type", "text/plain")], PING), 415);
    assert_eq!(status("POST", "/mcp", &[auth, own, ("Content-Type", "")], PING), 415);
    let long = format!("{{\"x\":\"{}\"}}", "y".repeat(5 << 20));
    assert_eq!(status("POST", "/mcp", &[auth, own], &long), 413);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {of_ann}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    let mut chunked = head.into_bytes();
    for _ in 0..5 {
        chunked.extend_from_slice(b"100000\r\n");
        chunked.extend(std::iter::repeat_n(b' ', 1 << 20));
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(place.raw(&chunked).status, 413, "in pieces");
    let codes: [(&str, i64); 5] =
        [("no json", -32700), ("[]", -32600), ("\"x\"", -32600), ("{}", -32600), ("", -32700)];
    for (body, code) in codes {
        let answer = place.send("POST", "/mcp", &[auth, own], body);
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(code)), "{body}");
    }
    let early = place.send("POST", "/mcp", &[auth], &PING.replace("ping", "tools/list"));
    assert_eq!(early.message()["error"]["code"], -32600, "{early:?}");
    assert_eq!(session.write(PING).status, 200, "the session continues");
    assert_eq!(status("DELETE", "/mcp", &[auth, own], ""), 204);
    assert_eq!(session.write(PING).status, 404, "it has ended");
}

#[test]
fn agents_over_http_are_those_of_their_tokens() {
    let site = site();
    let (server, ann, ben) = server(&site);
    let (mut of_ann, mut of_ben) =
        (Session::open(&server.place, Some(&ann)), Session::open(&server.place, Some(&ben)));
    let id = id_of(&of_ann.call("asks", json!({"text": "x"})));
    assert_ne!(id_of(&of_ben.call("asks", json!({"text": "x"}))), id);
    assert_stands(&of_ben.call("call.status", json!({"call_id": id})), "refused", "unknown_call");
    let shown = site.json(["call", "show", &id]).expect(0)["call"].clone();
    assert!(shown["caller"].to_string().contains("ann"), "{shown:#}");
    // Also without a handshake. The client's own description has no effect.
    let mut params = late(json!({"name": "call.status", "arguments": {"call_id": id}}), json!({}));
    params["_meta"]["brigade/agent"] = json!("ann");
    params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!("ann");
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
    let ask = |token: &str| {
        let headers = [
            ("Authorization", &*bearer(token)),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "call.status"),
            ("X-Forwarded-User", "ann"),
        ];
        server.place.send("POST", "/mcp", &headers, &body).message()["result"].clone()
    };
    assert_stands(&ask(&ben), "refused", "unknown_call");
    assert_eq!(ask(&ann)["structuredContent"]["status"], "pending");
}

#[test]
fn a_session_id_is_random_and_ends_with_its_session() {
    let site = site();
    let (server, ann, _) = server(&site);
    let sessions: Vec<Session> = (0..8).map(|_| Session::open(&server.place, Some(&ann))).collect();
    let ids: std::collections::BTreeSet<&str> = sessions.iter().map(Session::id).collect();
    assert!(ids.iter().all(|id| id.len() == 32 && u128::from_str_radix(id, 16).is_ok()), "{ids:?}");
    // In a version 4 UUID, this digit is always 4.
    let digits: std::collections::BTreeSet<&str> = ids.iter().map(|id| &id[12..13]).collect();
    assert!(ids.len() == 8 && 1 < digits.len(), "{ids:?}");
    let (bearer, id) = (bearer(&ann), sessions[0].id());
    let headers = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", id)];
    let ended = server.place.send("DELETE", "/mcp", &headers, "");
    assert!((200..300).contains(&ended.status), "{ended:?}");
    let gone = sessions[0].write(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#);
    assert_eq!(gone.status, 404, "{gone:?}");
    let other = sessions[1].write(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#);
    assert_eq!(other.status, 200, "{other:?}");
}

#[test]
fn only_local_addresses_are_used() {
    let site = site();
    token(&site, "ann");
    for address in ["0.0.0.0:0", "10.1.2.3:80", "[::]:0", "example.com:80", "nonsense"] {
        let run = site.brigade.run(["serve", "--http", address]);
        run.assert_code(2);
        assert_eq!(run.stdout_text(), "", "{address}");
    }
    site.brigade.run(["serve", "--no-token", "--as", "ann"]).assert_code(2);
    site.brigade.run(["serve", "--stdio", "--http", "127.0.0.1:0"]).assert_code(2);
    // A token is also needed at addresses that other machines can reach. A loopback address checks host names.
    let gateway = site.workspace.read_text(GATEWAY);
    site.workspace.write(GATEWAY, format!("{gateway}\n[http]\npublic = true\n"));
    site.brigade.run(["serve", "--http", "0.0.0.0:0", "--no-token", "--as", "ann"]).assert_code(2);
    let server = Server::start(&site, &["--http", "127.0.0.1:0", "--no-token", "--as", "ann"]);
    assert_eq!(server.place.send("POST", "/mcp", &[("Host", "evil.com")], HELLO).status, 403);
    // Issue 14: the host in a target URL was not checked.
    assert_eq!(server.place.send("POST", "http://evil.com/mcp", &[("Host", "localhost")], HELLO).status, 403);
    let outer = Server::start(&site, &["--http", "0.0.0.0:0"]);
    assert_eq!(outer.place.send("POST", "/mcp", &[("Host", "this.machine")], HELLO).status, 401);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = site.brigade.run(["serve", "--http", &address]);
    run.assert_code(3);
    let said = run.stderr_text();
    assert!(said.contains(&address) && said.contains(&std::process::id().to_string()), "{said}");
}

#[test]
fn without_a_token_it_is_the_agent_that_was_given() {
    let site = site();
    let server = Server::start(&site, &["--http", "127.0.0.1:0", "--no-token", "--as", "ben"]);
    assert!(server.said().contains("token"), "it warns: {}", server.said());
    let mut session = Session::open(&server.place, None);
    let id = id_of(&session.call("asks", json!({"text": "x"})));
    let shown = site.json(["call", "show", &id]).expect(0)["call"].clone();
    assert!(shown["caller"].to_string().contains("ben"), "{shown:#}");
    // All other checks still apply.
    let evil = server.place.send("POST", "/mcp", &[("Origin", "http://evil.com")], HELLO);
    assert_eq!(evil.status, 403);
    assert_eq!(server.place.send("POST", "/mcp", &[("Host", "evil.com")], HELLO).status, 403);
    let other = server.place.send("POST", "/mcp", &[("Authorization", "Bearer x")], HELLO);
    assert_eq!(other.status, 200);
    // As on standard input, the default agent is `local`.
    let server = Server::start(&site, &["--http", "127.0.0.1:0", "--no-token"]);
    let id = id_of(&Session::open(&server.place, None).call("asks", json!({"text": "y"})));
    assert_eq!(site.json(["call", "show", &id]).expect(0)["call"]["caller"], "agent:local");
}

#[test]
fn a_socket_is_of_the_user_alone() {
    let site = site();
    let folder = site.beside("sockets");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let path = folder.join("gate.sock");
    let shown = path.to_str().unwrap();
    let mut server = Server::start(&site, &["--unix", shown, "--as", "ann"]);
    assert_eq!((&server.line["socket"], &server.line["address"]), (&json!(shown), &Value::Null));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut session = Session::open(&server.place, None);
    assert_eq!(text(&session.call("at-once", json!({"text": "hi"}))), "said hi");
    let run = site.brigade.run(["serve", "--unix", shown]);
    run.assert_code(3);
    assert!(run.stderr_text().contains(&server.pid().to_string()), "{run}");
    signal(server.pid(), "TERM");
    assert_eq!(server.ended(), Some(0));
    assert!(!path.exists(), "it is removed");
    // A stale socket is replaced, but another file never is.
    let mut killed = Server::start(&site, &["--unix", shown]);
    signal(killed.pid(), "KILL");
    killed.ended();
    assert!(path.exists());
    drop(Server::start(&site, &["--unix", shown]));
    let _ = fs::remove_file(&path);
    fs::write(&path, "mine").unwrap();
    site.brigade.run(["serve", "--unix", shown]).assert_code(3);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    fs::remove_file(&path).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    site.brigade.run(["serve", "--unix", shown]).assert_code(3);
    assert!(!path.exists());
    // Both at once.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let token = token(&site, "ann");
    let both = Server::start(&site, &["--http", "127.0.0.1:0", "--unix", shown, "--as", "ben"]);
    let mut over_socket = Session::open(&Place::Socket(path.clone()), None);
    let mut over_port = Session::open(&both.place, Some(&token));
    let ids =
        [&mut over_socket, &mut over_port].map(|session| id_of(&session.call("asks", json!({"text": "x"}))));
    let callers = ids.map(|id| site.json(["call", "show", &id]).expect(0)["call"]["caller"].to_string());
    assert!(callers[0].contains("ben") && callers[1].contains("ann"), "{callers:?}");
    assert_eq!(over_port.write("").status, 400);
}

#[test]
fn slow_and_half_open_connections_block_nothing() {
    let site = site();
    let (server, ann, _) = server(&site);
    let begun: [&[u8]; 2] = [b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n", b""];
    let ends = begun.map(|bytes| {
        let mut stream = server.place.begin(bytes);
        std::thread::spawn(move || stream.read_to_end(&mut Vec::new()))
    });
    let half: Vec<_> = (0..200).map(|_| server.place.begin(b"POST /mcp HTT")).collect();
    let mut session = Session::open(&server.place, Some(&ann));
    assert_eq!(text(&session.call("at-once", json!({"text": "hi"}))), "said hi");
    assert!(ends.iter().all(|end| !end.is_finished()), "the call waited for the others");
    // The server ends them, before the client stops reading.
    for end in ends {
        let read = end.join().unwrap();
        assert!(
            !read.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
        );
    }
    drop(half);
}

#[test]
fn sixty_sessions_are_served_within_a_bound() {
    let site = site();
    for n in 0..95 {
        add(&site, &format!("tool-{n}"), "", "true\n");
    }
    let (server, ann, _) = server(&site);
    for _ in 0..60 {
        Session::open(&server.place, Some(&ann));
    }
    let mut session = Session::open(&server.place, Some(&ann));
    let listed = session.post("tools/list", json!({})).message();
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(100));
    assert_eq!(text(&session.call("at-once", json!({"text": "hi"}))), "said hi");
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").trim().parse().unwrap();
    // The limit is for an unoptimized build. The benchmark has the promised limit.
    assert!(peak < 200 << 10, "{peak} kB");
}

#[test]
fn ids_of_http_requests_come_back_as_they_came() {
    let site = site();
    let (server, ann, _) = server(&site);
    let session = Session::open(&server.place, Some(&ann));
    let huge = format!("\"{}\"", "i".repeat(100_000));
    for id in
        ["0", "-1", "18446744073709551616", "123456789012345678901234567890", "\"\"", "\"ü\\u0000\"", &huge]
    {
        let answer = session.write(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        let wanted: Value = serde_json::from_str(id).unwrap();
        assert!(answer.message()["id"] == wanted, "{}", &id[..id.len().min(40)]);
        assert!(answer.body.contains(id), "as text, too: {}", &id[..id.len().min(40)]);
    }
    let told = session
        .write(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"at-once","arguments":{}}}"#);
    assert_eq!((told.status, told.body.as_str()), (202, ""));
    assert_eq!(runs(&site, "at-once"), 0);
    let mut other = Client::connect(&site, "local");
    other.goes_on();
}

/// Starts a request of an agent with these additional headers and no body. Returns the first bytes of the response.
fn first_bytes(server: &Server, token: &str, headers: &str) -> String {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}\r\n"
    );
    let mut stream = server.place.begin(head.as_bytes());
    let mut piece = [0; 4096];
    let count = stream.read(&mut piece).expect("the answer can be read");
    String::from_utf8_lossy(&piece[..count]).into_owned()
}

/// Issue 14: the response came after 30 s, and a client with `Expect` was asked to send its body.
#[test]
fn a_body_announced_as_too_long_is_refused_at_once() {
    let site = site();
    let (server, ann, _) = server(&site);
    for more in ["", "Expect: 100-continue\r\n"] {
        let answer = first_bytes(&server, &ann, &format!("Content-Length: 99999999\r\n{more}"));
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    }
    let goes_on = first_bytes(&server, &ann, "Content-Length: 10\r\nExpect: 100-continue\r\n");
    assert!(goes_on.starts_with("HTTP/1.1 100 "), "{goes_on}");
}

/// Issue 14: each connection could send a head of hundreds of kilobytes without a token.
#[test]
fn long_head_is_refused_and_oldest_half_head_ends() {
    let site = site();
    let (server, ann, _) = server(&site);
    let long = format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-Long: {}\r\n\r\n", "x".repeat(100_000));
    let answer = server.place.raw(long.as_bytes());
    assert!(matches!(answer.status, 0 | 431), "{answer:?}");
    let mut oldest = server.place.begin(b"POST /mcp HTT");
    let newer: Vec<_> = (0..520).map(|_| server.place.begin(b"POST /mcp HTT")).collect();
    let mut newest = server.place.begin(b"POST /mcp HTT");
    let end = std::thread::spawn(move || newest.read_to_end(&mut Vec::new()));
    let mut rest = Vec::new();
    let _ = oldest.read_to_end(&mut rest);
    assert!(rest.is_empty());
    let mut session = Session::open(&server.place, Some(&ann));
    assert_eq!(text(&session.call("at-once", json!({"text": "hi"}))), "said hi");
    // The time limit for a head would have ended all.
    assert!(!end.is_finished());
    drop(newer);
}

/// Issue 14: streams stayed open after their token was revoked.
#[test]
fn open_streams_end_with_their_token() {
    let site = site();
    let (server, ann, ben) = server(&site);
    let (session, kept) =
        (Session::open(&server.place, Some(&ann)), Session::open(&server.place, Some(&ben)));
    let get = |token: &str, session: &Session| {
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\
             Mcp-Session-Id: {}\r\nConnection: close\r\n\r\n",
            session.id()
        );
        server.place.begin(head.as_bytes())
    };
    let listen = |token: &str| {
        let params = late(json!({"notifications": {"toolsListChanged": true}}), json!({}));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})
            .to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        );
        server.place.begin(head.as_bytes())
    };
    let mut streams = [get(&ann, &session), listen(&ann)];
    let mut others = [get(&ben, &kept), listen(&ben)];
    let begins = |stream: &mut Box<dyn std::io::Read + Send>| {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).unwrap();
        let head = String::from_utf8_lossy(&piece[..count]).into_owned();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    };
    streams.iter_mut().chain(&mut others).for_each(begins);
    token(&site, "ann");
    for stream in &mut streams {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("it ends as a stream does");
    }
    // Streams of other agents stay open until their agent is removed.
    let (tell, told) = std::sync::mpsc::channel();
    for mut stream in others {
        let tell = tell.clone();
        std::thread::spawn(move || {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            let _ = tell.send(());
        });
    }
    assert!(told.try_recv().is_err());
    site.json(["agent", "remove", "ben"]).expect(0);
    for _ in 0..2 {
        told.recv_timeout(Duration::from_secs(10)).expect("it ends with the agent");
    }
}
