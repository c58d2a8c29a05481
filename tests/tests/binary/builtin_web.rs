//! `web.fetch`: pages of the hosts that the policy names, and nothing inside.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up files and programs, and one that cannot read an answer fails"
)]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, text};

const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["remote-read"]

[[auto_approve]]
name = "pages"
tools = ["web.*"]
effects = ["remote-read"]
"#;

/// A workspace whose agent `local` answers for itself. Its proxy answers nobody.
fn site(web: &str) -> Site {
    let site = Site::empty()
        .env("http_proxy", "http://127.0.0.1:9")
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .env("ALL_PROXY", "http://127.0.0.1:9");
    site.workspace.write(POLICY, format!("{RULES}{web}"));
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\"]\n");
    site
}

/// A server with a page and a way inside.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let count = stream.read(&mut head).unwrap();
            let answer = match &head[..count] {
                head if head.starts_with(b"GET /inside ") => {
                    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"
                }
                _ => "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\n<h2>Two</h2",
            };
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    port
}

#[track_caller]
fn fails(client: &mut Client, url: &str, code: &str) -> Value {
    let answer = client.call("web.fetch", json!({"url": url}));
    assert_eq!(about(&answer)["code"], code, "{url}: {answer:#}");
    assert_eq!(answer["isError"], true);
    answer
}

#[test]
fn pages_of_named_hosts_are_fetched_and_nothing_else() {
    let port = server();
    let site = site(&format!("[web]\ndomains = [\"docs.example\", \"127.0.0.1:{port}\"]\n"));
    let mut client = Client::of(&site, "local");
    assert!(client.names().contains(&"web.fetch".to_owned()));
    let page = format!("http://127.0.0.1:{port}/page");
    let fetched = client.call("webFetch", json!({"url": page}));
    assert_stands(&fetched, "completed", "");
    let result = &fetched["structuredContent"];
    let shown = (&result["url"], &result["http_status"], &result["content_type"], &result["content"]);
    assert_eq!(shown, (&json!(page), &json!(200), &json!("text/html"), &json!("## Two")), "{result:#}");
    assert_eq!((&result["content_length"], &result["truncated"]), (&json!(11), &json!(false)));
    // The answer leads inside.
    let led = fails(&mut client, &format!("http://127.0.0.1:{port}/inside"), "domain_not_allowed");
    assert!(text(&led).contains("leads to another one"), "{led:#}");
    // These are refused at the plan, so there is no call of them.
    for (url, code) in [
        ("http://169.254.169.254/latest/meta-data", "domain_not_allowed"),
        ("https://evildocs.example/", "domain_not_allowed"),
        ("https://docs.example.evil.test/", "domain_not_allowed"),
        ("https://a:b@docs.example/", "secret_argument"),
        ("file:///etc/passwd", "url_not_plain"),
        ("http://0x7f000001/", "url_not_plain"),
    ] {
        fails(&mut client, url, code);
    }
    let calls = site.json(["call", "list"]).expect(0);
    assert_eq!(calls["calls"].as_array().unwrap().len(), 2, "{calls:#}");
    let shown = site.json(["policy", "show"]).expect(0);
    assert_eq!(shown["policy"]["web_domains"][0], "docs.example", "{shown:#}");
}

#[test]
fn nothing_is_fetched_without_a_policy_that_names_hosts() {
    let here = site("");
    let mut client = Client::of(&here, "local");
    assert!(!client.names().contains(&"web.fetch".to_owned()));
    let absent = fails(&mut client, "https://docs.example/", "not_available_here");
    assert!(text(&absent).contains("web.domains"), "{absent:#}");
    for web in
        ["[web]\ndomains = [\"127.0.0.1\"]\n", "[web]\ndomains = [\"https://a\"]\n", "[web]\ndomain = []\n"]
    {
        let report = site(web).json(["policy", "show"]);
        assert_eq!(report.json["valid"], false, "{web}: {:#}", report.json);
    }
}
