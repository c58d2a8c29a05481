//! `brigade serve --web`: where it listens, its links, and documents of the page. `brigade-web` tests the rules of
//! requests, and `cargo xtask web` the page in a browser.

use brigade_cli::documents;
use serde_json::{Value, json};

use crate::serve_common::{Place, Server, signal, site, token};

const FREE: [&str; 3] = ["--web", "--listen", "127.0.0.1:0"];

/// Logs in at the page of a server, and returns its place and the cookie.
fn log_in(server: &Server, login_token: &Value) -> (Place, String) {
    let url = server.line["web"]["url"].as_str().expect("the page has an address");
    let place = Place::Port(url.trim_start_matches("http://").to_owned());
    let body = json!({"token": login_token}).to_string();
    let answer = place.send("POST", "/api/login", &[("Host", host(&place)), ("Origin", url)], &body);
    assert_eq!(answer.status, 204, "{answer:?}");
    let cookie = answer.header("set-cookie").expect("a session has a cookie").split(';').next();
    (place, cookie.unwrap_or_default().to_owned())
}

#[test]
fn the_page_is_served_alone_and_ends_at_a_signal() {
    let site = site();
    let mut server = Server::start(&site, &FREE);
    assert_eq!(
        (&server.line["address"], &server.line["tools"]),
        (&Value::Null, &json!(0)),
        "{:#}",
        server.line
    );
    let (place, cookie) = log_in(&server, &server.line["web"]["login_token"]);
    site.queue("asks", r#"{"text": "hi"}"#);
    for (path, schema) in [
        ("/api/waiting", "brigade.waiting.v1"),
        ("/api/calls", "brigade.call-list.v1"),
        ("/api/stats", "brigade.series.v1"),
        ("/api/agents", "brigade.agents.v1"),
        ("/api/none", "brigade.error.v1"),
    ] {
        let answer = place.send("GET", path, &[("Host", host(&place)), ("Cookie", &cookie)], "");
        documents::check(&answer.body).unwrap_or_else(|why| panic!("{path}: {why}"));
        assert_eq!(answer.message()["schema"], schema);
    }
    let stream = place.begin(
        format!("GET /api/events HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", host(&place)).as_bytes(),
    );
    signal(server.pid(), "TERM");
    assert_eq!(server.ended(), Some(0), "{}", server.said());
    drop(stream);
}

fn host(place: &Place) -> &str {
    match place {
        Place::Port(address) => address,
        Place::Socket(_) => unreachable!("the page has a port"),
    }
}

#[test]
fn the_page_is_served_beside_the_gateway() {
    let site = site();
    token(&site, "ann");
    let server = Server::start(&site, &[&["--http", "127.0.0.1:0"], &FREE[..]].concat());
    assert!(2 < server.line["tools"].as_u64().unwrap(), "{:#}", server.line);
    let another = site.brigade.run(["serve", "--web", "--new-token"]);
    another.assert_code(0);
    let another: Value = serde_json::from_str(&another.stdout_text()).unwrap();
    assert_eq!(another["web"]["url"], server.line["web"]["url"]);
    log_in(&server, &another["web"]["login_token"]);
    log_in(&server, &server.line["web"]["login_token"]);
    drop(server);
    let without_page = site.brigade.run(["serve", "--web", "--new-token"]);
    assert!(without_page.stderr_text().contains("no page of this workspace is served"), "{without_page}");
}

#[test]
fn only_this_machine_is_served() {
    let site = site();
    for (words, because) in [
        (&["--listen", "0.0.0.0:7717"][..], "ssh -L 7717:127.0.0.1:7717"),
        (&["--listen", "0.0.0.0:7717"], "--public-origin https://"),
        (&["--listen", "[::]:7717"], "is not one"),
        (&["--listen", "example.com:7717"], "is not an address and port"),
        (&["--public-origin", "http://brigade.example"], "not an https address"),
    ] {
        let run = site.brigade.run([&["serve", "--web"], words].concat());
        run.assert_code(2);
        assert!(run.stderr_text().contains(because), "{words:?}: {run}");
    }
}
