//! The rules of requests, over real sockets.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brigade::{Env, Request};
use brigade_testkit::{TempWorkspace, TickingClock};

use super::*;

/// A page of a workspace with one tool, `greet`. It ends with this value.
struct TestPage {
    files: TempWorkspace,
    workspace: Workspace,
    clock: Arc<TickingClock>,
    address: SocketAddr,
    served: ServedPage,
    stop: CancelToken,
    thread: Option<JoinHandle<()>>,
}

/// Limits that a test can reach.
const SMALL: Limits =
    Limits { request: Duration::from_millis(300), body_bytes: 64 << 10, streams: 2, ..Limits::USUAL };

impl TestPage {
    fn new() -> TestPage {
        TestPage::with(Reviews::Allowed, Limits::USUAL)
    }

    fn with(reviews: Reviews, limits: Limits) -> TestPage {
        let files = TempWorkspace::empty();
        files.write(
            ".brigade/tools.toml",
            "[[tool]]\nid = 'greet'\nname = 'Greet'\nfamily = 'script'\ncommand = 'echo hello'\n\
             approval_mode = 'on-request'\neffects = ['local-read']\ninput_schema_path = 'greet.json'\n\
             [tool.argument_template]\nname = '{name}'\n",
        );
        files.write(
            "greet.json",
            r#"{"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": false}"#,
        );
        files.write(
            ".brigade/tools/policy.toml",
            "allowed_families = ['script']\nallowed_effects = ['local-read']\n\
             required_approval_modes = ['on-request', 'always']\n",
        );
        let first = TickingClock::new().peek();
        let clock = Arc::new(TickingClock::starting(first, Duration::from_millis(1)));
        let env = Env::of_process().home(files.home()).clock(clock.clone());
        let workspace = Workspace::open(files.path(), env).unwrap();
        let options = WebOptions { address: "127.0.0.1:0".parse().unwrap(), public_origin: None, reviews };
        let describe: DescribeError = Arc::new(|error: &Error| {
            serde_json::json!({"schema": "brigade.error.v1", "error": error.to_string(), "code": error.code()})
                .to_string()
        });
        let server = WebServer::bind_with(workspace.clone(), options, describe, limits).unwrap();
        let (address, served) = (server.listener.local_addr().unwrap(), server.served().clone());
        let stop = CancelToken::new().unwrap();
        let until = stop.clone();
        let thread = Some(thread::spawn(move || server.run(until).unwrap()));
        TestPage { files, workspace, clock, address, served, stop, thread }
    }

    /// Sends bytes, and returns everything that is answered until the connection ends.
    fn send(&self, bytes: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // The server may end the connection before it has read everything.
        let read = stream.read_to_end(&mut answer);
        let is_open =
            read.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
        assert!(!is_open, "the server keeps the connection open");
        Answer(String::from_utf8(answer).unwrap())
    }

    fn host(&self) -> String {
        format!("Host: {}", self.address)
    }

    fn origin(&self) -> String {
        format!("Origin: http://{}", self.address)
    }

    fn get(&self, path: &str, headers: &[&str]) -> Answer {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let host = self.host();
        self.send(&format!("GET {path} HTTP/1.1\r\n{host}\r\nConnection: close\r\n{headers}\r\n"))
    }

    fn post(&self, path: &str, headers: &[&str], body: &str) -> Answer {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let (host, length) = (self.host(), body.len());
        self.send(&format!(
            "POST {path} HTTP/1.1\r\n{host}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ))
    }

    /// Logs in, and returns the headers of a change.
    fn log_in(&self) -> Browser {
        let body = format!(r#"{{"token": "{}"}}"#, self.served.login_token);
        let answer = self.post("/api/login", &[JSON, &self.origin()], &body);
        assert_eq!(answer.status(), 204, "{}", answer.0);
        let cookie = answer.header("set-cookie").unwrap();
        for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
        let session = self.get("/api/session", &[&cookie]).json();
        Browser { cookie, csrf: format!("X-Brigade-CSRF: {}", session["csrf"].as_str().unwrap()) }
    }

    /// Asks for a call, and returns its id.
    fn queue(&self, name: &str) -> String {
        let queued = self.workspace.calls().queue(Request::new("greet").arg("name", name)).unwrap();
        queued.call.id.to_string()
    }

    fn change(&self, browser: &Browser, path: &str, body: &str) -> Answer {
        self.post(path, &[JSON, &self.origin(), &browser.cookie, &browser.csrf], body)
    }
}

impl Drop for TestPage {
    fn drop(&mut self) {
        self.stop.cancel();
        self.thread.take().unwrap().join().unwrap();
    }
}

struct Browser {
    cookie: String,
    csrf: String,
}

struct Answer(String);

impl Answer {
    fn status(&self) -> u16 {
        self.0.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let head = self.0.split("\r\n\r\n").next().unwrap_or_default();
        head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    fn json(&self) -> serde_json::Value {
        let body = self.0.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {}", self.0))
    }
}

const JSON: &str = "Content-Type: application/json";

#[test]
fn each_answer_has_the_headers_of_a_closed_page() {
    let page = TestPage::new();
    let browser = page.log_in();
    let paths = [
        ("/login", 200),
        ("/assets/style.css", 200),
        ("/", 200),
        ("/api/session", 200),
        ("/api/none", 404),
        ("/nowhere", 404),
        ("/api/login", 405),
    ];
    for (path, status) in paths {
        let answer = page.get(path, &[&browser.cookie]);
        assert_eq!(answer.status(), status, "{path}");
        let rules = answer.header("content-security-policy").unwrap();
        assert!(
            rules.starts_with("default-src 'none'; script-src 'self'")
                && rules.contains("frame-ancestors 'none'")
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
        let is_asset = path.starts_with("/assets/");
        assert_eq!(
            answer.header("cache-control"),
            Some(if is_asset { "no-cache" } else { "no-store" }),
            "{path}"
        );
        if 400 <= status {
            assert_eq!(answer.json()["schema"], "brigade.error.v1", "{path}");
        }
    }
    assert_eq!(page.get("/api/login", &[&browser.cookie]).header("allow"), Some("POST"));
    for method in ["OPTIONS", "PUT", "DELETE", "TRACE"] {
        let (host, cookie) = (page.host(), &browser.cookie);
        let head =
            format!("{method} /api/waiting HTTP/1.1\r\n{host}\r\n{cookie}\r\nConnection: close\r\n\r\n");
        let answer = page.send(&head);
        assert_eq!((answer.status(), answer.header("allow")), (405, Some("GET,HEAD,POST")), "{method}");
        assert_eq!(answer.json()["schema"], "brigade.error.v1", "{method}");
    }
    // Heads that cannot be read reach no handler.
    let long = format!("GET / HTTP/1.1\r\n{}\r\nX: {}\r\n\r\n", page.host(), "x".repeat(64 << 10));
    for (head, status) in [("no head at all\r\n\r\n", 400), (&*long, 431)] {
        let answer = page.send(head);
        assert_eq!(answer.status(), status, "{}", answer.0);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{}", answer.0);
        assert!(answer.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
    }
}

#[test]
fn without_a_session_only_the_login_is_served() {
    let page = TestPage::new();
    for path in ["/login", "/assets/login.js", "/assets/style.css"] {
        assert_eq!(page.get(path, &[]).status(), 200, "{path}");
    }
    let home = page.get("/", &[]);
    assert_eq!((home.status(), home.header("location")), (303, Some("/login")));
    for path in ["/assets/app.js", "/api/session", "/api/waiting", "/api/events", "/api/none", "/none"] {
        assert_eq!(page.get(path, &[]).status(), 401, "{path}");
        assert_eq!(page.get(path, &["Cookie: brigade_1=x; brigade=y"]).status(), 401, "{path}");
    }
    let answer = page.post("/api/calls/x/approve", &[JSON, &page.origin()], "{}");
    assert_eq!(answer.status(), 401);
}

#[test]
fn a_host_of_another_site_is_refused() {
    let page = TestPage::new();
    let port = page.address.port();
    let hosts = [
        (format!("127.0.0.1:{port}"), 200),
        (format!("localhost:{port}"), 200),
        ("127.0.0.1".to_owned(), 421),
        (format!("evil.example:{port}"), 421),
        (format!("127.0.0.1.nip.io:{port}"), 421),
        (format!("user@127.0.0.1:{port}"), 421),
        (String::new(), 421),
    ];
    for (host, status) in hosts {
        let head = format!("GET /login HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(page.send(&head).status(), status, "{host}");
    }
    let own = page.host();
    let heads = [
        "GET /login HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
        format!("GET /login HTTP/1.1\r\n{own}\r\n{own}\r\nConnection: close\r\n\r\n"),
        format!("GET http://evil.example/login HTTP/1.1\r\n{own}\r\nConnection: close\r\n\r\n"),
    ];
    for head in heads {
        assert_eq!(page.send(&head).status(), 421, "{head}");
    }
}

#[test]
fn a_change_needs_json_our_origin_and_the_secret() {
    let page = TestPage::new();
    let browser = page.log_in();
    let id = page.queue("ann");
    let (path, body) = (format!("/api/calls/{id}/hold"), r#"{"reason": ""}"#);
    let (own, cookie, csrf) = (page.origin(), browser.cookie.clone(), browser.csrf.clone());
    let wrong_port = format!("Origin: http://127.0.0.1:{}", page.address.port().wrapping_add(1));
    let https = own.replace("http:", "https:");
    let cases: &[(u16, &[&str])] = &[
        (415, &[&own, &cookie, &csrf]),
        (415, &["Content-Type: text/plain", &own, &cookie, &csrf]),
        (415, &["Content-Type: application/x-www-form-urlencoded", &own, &cookie, &csrf]),
        (415, &["Content-Type: multipart/form-data; boundary=a", &own, &cookie, &csrf]),
        (415, &[JSON, JSON, &own, &cookie, &csrf]),
        (403, &[JSON, &cookie, &csrf]),
        (403, &[JSON, "Origin: null", &cookie, &csrf]),
        (403, &[JSON, "Origin: http://evil.example", &cookie, &csrf]),
        (403, &[JSON, &wrong_port, &cookie, &csrf]),
        (403, &[JSON, &https, &cookie, &csrf]),
        (403, &[JSON, &own, &own, &cookie, &csrf]),
        (403, &[JSON, &own, "Sec-Fetch-Site: cross-site", &cookie, &csrf]),
        (403, &[JSON, &own, "Sec-Fetch-Site: same-site", &cookie, &csrf]),
        (403, &[JSON, &own, &cookie]),
        (403, &[JSON, &own, &cookie, "X-Brigade-CSRF: x"]),
        (403, &[JSON, &own, &cookie, &csrf, &csrf]),
        (401, &[JSON, &own, &csrf]),
    ];
    for (status, headers) in cases {
        let answer = page.post(&path, headers, body);
        assert_eq!(answer.status(), *status, "{headers:?}\n{}", answer.0);
        assert_eq!(answer.json()["schema"], "brigade.error.v1");
    }
    // A page of another site cannot read either.
    let other = "Origin: http://evil.example";
    assert_eq!(page.get("/api/waiting", &[&cookie, other]).status(), 403);
    assert_eq!(page.get("/api/waiting", &[&cookie, "Sec-Fetch-Site: cross-site"]).status(), 403);
    assert_eq!(page.workspace.calls().show(&*id).unwrap().call.status.as_str(), "pending");
    let held =
        page.post(&path, &["Content-Type: application/json; charset=utf-8", &own, &cookie, &csrf], body);
    assert_eq!(held.status(), 200, "{}", held.0);
    assert_eq!(page.workspace.calls().show(&*id).unwrap().call.status.as_str(), "held");
}

#[test]
fn a_token_works_once_and_for_five_minutes() {
    let page = TestPage::new();
    page.log_in();
    let log_in = |token: &str| {
        page.post("/api/login", &[JSON, &page.origin()], &format!(r#"{{"token": "{token}"}}"#)).status()
    };
    let began = Instant::now();
    assert_eq!(log_in(&page.served.login_token), 401, "it was used");
    assert!(Duration::from_millis(250) <= began.elapsed());
    let logins = page.workspace.web_logins();
    let login = logins.another().unwrap();
    assert_eq!((&login.url, login.pid), (&page.served.url, std::process::id()));
    assert_eq!(log_in(login.token.expose()), 204);
    let old = logins.another().unwrap().token;
    page.clock.advance(Duration::from_secs(301));
    assert_eq!(log_in(old.expose()), 401, "it is too old");
    let text = page.files.read_text(".brigade/tools/web.json");
    assert!(!text.contains("brigade_"), "tokens are not stored");
    // A foreign file adds no token.
    let hash = old.sha256().to_hex();
    let last = logins.another().unwrap().token;
    page.files.replace(".brigade/tools/web.json", &last.sha256().to_hex(), &hash);
    assert_eq!(log_in(old.expose()), 401);
    assert_eq!(page.post("/api/login", &[JSON], "{}").status(), 403, "a login needs our origin too");
}

#[test]
fn a_page_that_only_shows_takes_no_decision() {
    let page = TestPage::with(Reviews::LookOnly, Limits::USUAL);
    let browser = page.log_in();
    let id = page.queue("ann");
    assert_eq!(page.get("/api/session", &[&browser.cookie]).json()["may"], serde_json::json!([]));
    assert_eq!(page.change(&browser, &format!("/api/calls/{id}/hold"), r#"{"reason": ""}"#).status(), 403);
    for (path, status) in [
        ("/api/calls/none/approve", 403),
        ("/api/checkpoints/none/reject", 403),
        ("/api/decisions/none/answer", 403),
        ("/api/none", 404),
        ("/api/calls", 405),
    ] {
        assert_eq!(page.change(&browser, path, "{}").status(), status, "{path}");
    }
    assert_eq!(page.get(&format!("/api/calls/{id}/hold"), &[&browser.cookie]).status(), 405);
    assert_eq!(page.get("/api/waiting", &[&browser.cookie]).json()["waiting_count"], 1);
}

#[test]
fn decisions_are_guarded_by_what_was_shown() {
    let page = TestPage::new();
    let browser = page.log_in();
    let id = page.queue("ann");
    let shown = page.get(&format!("/api/calls/{id}"), &[&browser.cookie]).json();
    assert_eq!((&shown["argv"][2], &shown["schema"]), (&"ann".into(), &"brigade.review-call.v1".into()));
    let fingerprint = shown["review_fingerprint"].as_str().unwrap();
    let approve = |body: &str| page.change(&browser, &format!("/api/calls/{id}/approve"), body);
    assert_eq!(approve("{}").status(), 422);
    assert_eq!(approve(r#"{"review_fingerprint": "x"}"#).status(), 409);
    // What the call would run changes after it was shown.
    page.files.replace(".brigade/tools.toml", "['local-read']", "['local-read', 'local-read']");
    page.files.replace(".brigade/tools.toml", "echo hello", "echo goodbye");
    let refused = approve(&format!(r#"{{"review_fingerprint": "{fingerprint}"}}"#));
    assert_eq!(
        (refused.status(), &refused.json()["code"]),
        (409, &"changed_meanwhile".into()),
        "{}",
        refused.0
    );
    page.files.replace(".brigade/tools.toml", "echo goodbye", "echo hello");
    page.files.replace(".brigade/tools.toml", "['local-read', 'local-read']", "['local-read']");
    let approved = approve(&format!(r#"{{"review_fingerprint": "{fingerprint}"}}"#));
    assert_eq!(
        (approved.status(), &approved.json()["call"]["status"]),
        (200, &"approved".into()),
        "{}",
        approved.0
    );
    let reject =
        |id: &str, body: &str| page.change(&browser, &format!("/api/calls/{id}/reject"), body).status();
    let other = page.queue("ben");
    for blank in ["", " ", r"\u200b", r"\u2800\u00a0 \u00ad", r"\n\u3164"] {
        assert_eq!(reject(&other, &format!(r#"{{"reason": "{blank}"}}"#)), 422, "{blank}");
    }
    assert_eq!(reject(&other, r#"{"reason": "not now"}"#), 200);
    assert_eq!(reject(&other, r#"{"reason": "again"}"#), 409);
    assert_eq!(reject("call-none", r#"{"reason": "x"}"#), 404);
}

#[test]
fn every_view_has_its_document() {
    let page = TestPage::new();
    let browser = page.log_in();
    let id = page.queue("ann");
    let paths = [
        ("/api/waiting", "calls"),
        ("/api/calls?status=pending&tool=greet&agent=you&limit=1", "calls"),
        (&*format!("/api/calls?before={id}"), "counts"),
        ("/api/runs?limit=3&agent=you&tool=greet&since=2026-01-01T00:00:00Z", "runs"),
        ("/api/kitchen", "prds"),
        ("/api/agents", "agents"),
        ("/api/servers", "servers"),
        ("/api/verify", "valid"),
        ("/api/runtimes", "runtimes"),
        ("/api/issues", "issues"),
        ("/api/stats?days=7", "outcomes"),
    ];
    for (path, member) in paths {
        let answer = page.get(path, &[&browser.cookie]);
        assert!(answer.status() == 200 && answer.json().get(member).is_some(), "{path}: {}", answer.0);
    }
    let wrong = [
        ("/api/calls?limit=x", 422),
        ("/api/calls?none=1", 422),
        ("/api/calls?since=yesterday", 422),
        ("/api/calls?status=none", 422),
        ("/api/calls?before=call-none", 422),
        ("/api/runs?before=run-none", 422),
        ("/api/runs?since=yesterday", 422),
        ("/api/runs?status=none", 422),
        ("/api/runs?limit=-1", 422),
        ("/api/runs?none=1", 422),
        ("/api/runs/none", 404),
        ("/api/calls/none", 404),
        ("/api/kitchen/none", 404),
        ("/api/decisions/none", 404),
    ];
    for (path, status) in wrong {
        assert_eq!(page.get(path, &[&browser.cookie]).status(), status, "{path}");
    }
}

#[test]
fn lists_are_read_page_by_page() {
    let page = TestPage::new();
    let browser = page.log_in();
    let ids: Vec<String> = ["ann", "ben", "cat"].map(|name| page.queue(name)).into();
    let pages = |path: &str, list: &str, id: &str| {
        let (mut found, mut before) = (Vec::new(), String::new());
        loop {
            let page = page.get(&format!("{path}&limit=1{before}"), &[&browser.cookie]).json();
            found.extend(
                page[list].as_array().unwrap().iter().map(|row| row[id].as_str().unwrap().to_owned()),
            );
            match page["next_before"].as_str() {
                Some(next) => before = format!("&before={next}"),
                None => return found,
            }
        }
    };
    let newest: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(pages("/api/calls?tool=greet", "calls", "id"), newest);
    for id in &ids {
        let id = id.parse().unwrap();
        page.workspace.calls().approve(&id).unwrap();
        page.workspace.calls().run(&id).unwrap();
    }
    assert_eq!(pages("/api/runs?agent=you", "runs", "call_id"), newest);
    for nothing in ["agent=codex", "since=2100-01-01T00:00:00Z", "status=failed"] {
        assert!(pages(&format!("/api/runs?{nothing}"), "runs", "call_id").is_empty(), "{nothing}");
    }
}

#[test]
fn slow_heads_large_bodies_and_many_streams_are_refused() {
    let page = TestPage::with(Reviews::Allowed, SMALL);
    let browser = page.log_in();
    let half = page.send("GET /login HTTP/1.1\r\nHost: ");
    assert!(half.0.is_empty(), "{}", half.0);
    let body = format!(r#"{{"reason": "{}"}}"#, "x".repeat(SMALL.body_bytes));
    assert_eq!(page.change(&browser, "/api/calls/x/hold", &body).status(), 413);
    let slow = format!(
        "POST /api/login HTTP/1.1\r\n{}\r\n{JSON}\r\n{}\r\nContent-Length: 9\r\nConnection: close\r\n\r\n{{",
        page.host(),
        page.origin()
    );
    assert_eq!(page.send(&slow).status(), 408);
    let streams: Vec<Events> = (0..2).map(|_| Events::open(&page, &browser, None)).collect();
    assert_eq!(page.get("/api/events", &[&browser.cookie]).status(), 429);
    drop(streams);
}

/// An open stream of events.
struct Events(std::io::BufReader<TcpStream>);

impl Events {
    fn open(page: &TestPage, browser: &Browser, last: Option<&str>) -> Events {
        let mut stream = TcpStream::connect(page.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let (host, cookie) = (page.host(), &browser.cookie);
        write!(stream, "GET /api/events HTTP/1.1\r\n{host}\r\n{cookie}\r\n{last}\r\n").unwrap();
        let mut events = Events(std::io::BufReader::new(stream));
        events.until("event: hello");
        events
    }

    /// Reads up to a line, and returns the id before it.
    fn until(&mut self, wanted: &str) -> String {
        let mut id = String::new();
        loop {
            let mut line = String::new();
            let read = std::io::BufRead::read_line(&mut self.0, &mut line).unwrap();
            assert_ne!(read, 0, "the stream ended before `{wanted}`");
            if let Some(found) = line.trim().strip_prefix("id: ") {
                found.clone_into(&mut id);
            }
            if line.contains(wanted) {
                return id;
            }
        }
    }
}

#[test]
fn a_stream_tells_what_another_process_changed() {
    let page = TestPage::new();
    let browser = page.log_in();
    let mut events = Events::open(&page, &browser, None);
    let id = page.queue("ann");
    let number = events.until("event: call");
    events.until(&id);
    drop(events);
    page.workspace.calls().reject(&id.parse().unwrap(), "no").unwrap();
    // What happened without a stream is sent when the browser is back.
    let mut events = Events::open(&page, &browser, Some(&number));
    events.until(r#""status":"rejected""#);
    let id = page.queue("bob");
    page.workspace.calls().approve(&id.parse().unwrap()).unwrap();
    let revision = page.get(&format!("/api/calls/{id}"), &[&browser.cookie]).json()["revision"].clone();
    events.until(&format!(r#""id":"{id}","status":"approved","revision":{revision}"#));
}

#[test]
fn open_streams_do_not_keep_the_server() {
    let page = TestPage::new();
    let browser = page.log_in();
    let mut events = Events::open(&page, &browser, None);
    let began = Instant::now();
    drop(page);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let mut rest = String::new();
    let _ = events.0.read_to_string(&mut rest);
}
