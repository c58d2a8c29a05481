//! Pages of a server on loopback. The policy names its address.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use brigade_access::builtin::definition;
use brigade_core::{ErrorCode, Json};
use brigade_policy::PolicyState;

use crate::context::{Failure, Output};
use crate::run::run;
use crate::stored::testing::{Bench, text};

/// A server that writes the given answer for each path, and then waits for the client to disconnect.
fn server(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| 0 < count) {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            assert!(!head.to_lowercase().contains("cookie"), "{head}");
            answer(head.split(' ').nth(1).unwrap_or_default(), &mut stream);
        }
    });
    port
}

fn page(stream: &mut TcpStream, kind: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nSet-Cookie: a=b\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

fn moved(stream: &mut TcpStream, to: &str) {
    let head =
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n");
    let _ = stream.write_all(head.as_bytes());
}

fn fetch(domains: &[String], args: &str) -> Result<Output, Failure> {
    Bench::new().with("agent:ada", |context| {
        context.web_domains = domains.to_vec();
        run(definition("web.fetch").unwrap(), &Json::parse(args).unwrap(), context)
    })
}

/// Fetches from a server whose address the policy names.
fn fetched(port: u16, path: &str, more: &str) -> Result<Json, Failure> {
    let args = format!(r#"{{"url": "http://127.0.0.1:{port}{path}"{more}}}"#);
    fetch(&[format!("127.0.0.1:{port}")], &args).map(|output| output.structured)
}

#[track_caller]
fn refused(port: u16, path: &str, code: &str) {
    assert_eq!(fetched(port, path, "").map_err(|failure| failure.code.as_str()), Err(code), "{path}");
}

fn flag(json: &Json, name: &str) -> bool {
    json.get(name).and_then(Json::as_bool).unwrap()
}

#[test]
fn a_page_comes_as_markdown_or_as_it_is() {
    let port = server(|path, stream| match path {
        "/page" => page(stream, "text/html; charset=ISO-8859-1", b"<h1>H\xe9</h1><a href='../x'>to x</a>"),
        "/meta" => page(stream, "text/html", b"<meta charset='windows-1251'><p>\xc0\xc1</p>"),
        "/plain" => page(stream, "text/plain", "a \u{e9}\n".as_bytes()),
        "/old" => page(stream, "text/plain", b"caf\xe9"),
        "/bom" => page(stream, "text/plain; charset=latin1", b"\xff\xfea\0b\0"),
        "/image" => page(stream, "image/png", b"\x89PNG"),
        "/gzip" => page(stream, "text/plain", b"\x1f\x8b\x08\0abc"),
        "/chunks" => page(stream, "text/html", b"17\r\n\x1f\x8b\x08\0abc"),
        "/wide" => page(stream, "text/plain; charset=utf-16le", b"a\0b\0"),
        "/moved" => moved(stream, "/plain"),
        _ => {
            let _ = stream.write_all(
                b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno",
            );
        }
    });
    let found = fetched(port, "/page", "").unwrap();
    assert_eq!(text(&found, "content"), format!("# H\u{e9}\n\n[to x](http://127.0.0.1:{port}/x)"));
    assert!(!flag(&found, "truncated"));
    let source = fetched(port, "/page", r#", "to_markdown": false"#).unwrap();
    assert!(text(&source, "content").starts_with("<h1>H\u{e9}</h1>"));
    for (path, expect) in [
        ("/meta", "\u{410}\u{411}"),
        ("/plain", "a \u{e9}\n"),
        ("/old", "caf\u{e9}"),
        ("/bom", "ab"),
        ("/moved", "a \u{e9}\n"),
        ("/none", "no"),
    ] {
        assert_eq!(text(&fetched(port, path, "").unwrap(), "content"), expect, "{path}");
    }
    let stays = fetched(port, "/moved", r#", "follow_redirects": false"#).unwrap();
    assert_eq!(stays.get("http_status").map(Json::to_compact).as_deref(), Some("302"));
    for path in ["/image", "/gzip", "/chunks"] {
        refused(port, path, "not_text");
    }
    assert_eq!(fetched(port, "/wide", "").unwrap().get("content").and_then(Json::as_str), Some("ab"));
}

#[test]
fn every_hop_is_judged() {
    let inside = server(|_, _| panic!("no request is expected"));
    let port = server(move |path, stream| match path {
        "/inside" => moved(stream, &format!("http://127.0.0.1:{inside}/")),
        "/name" => moved(stream, &format!("http://localhost:{inside}/")),
        "/number" => moved(stream, &format!("http://2130706433:{inside}/")),
        "/mapped" => moved(stream, &format!("http://[::ffff:127.0.0.1]:{inside}/")),
        "/user" => moved(stream, &format!("http://127.0.0.1@127.0.0.1:{inside}/")),
        "/file" => moved(stream, "file:///etc/passwd"),
        "/odd" => moved(stream, "//127.0.0.1\\@elsewhere/"),
        path => {
            let count: u32 = path.trim_start_matches('/').parse().unwrap_or_default();
            match count {
                0 => page(stream, "text/plain", b"end"),
                count => moved(stream, &(count - 1).to_string()),
            }
        }
    });
    for (path, code) in [
        ("/inside", "domain_not_allowed"),
        ("/name", "domain_not_allowed"),
        ("/number", "url_not_plain"),
        ("/mapped", "domain_not_allowed"),
        ("/user", "credentials_in_url"),
        ("/file", "url_not_plain"),
        ("/odd", "url_not_plain"),
        ("/6", "too_many_redirects"),
    ] {
        refused(port, path, code);
    }
    assert_eq!(text(&fetched(port, "/5", "").unwrap(), "content"), "end");
    // A name that resolves to an internal address is refused, although the policy names it.
    let domains = [format!("localhost:{inside}"), format!("127.0.0.1:{port}")];
    for url in [format!("http://localhost:{inside}/"), format!("http://127.0.0.1:{port}/name")] {
        let failure = fetch(&domains, &format!(r#"{{"url": "{url}"}}"#)).unwrap_err();
        assert_eq!(failure.code, ErrorCode::AddressPrivate, "{url}: {failure:?}");
    }
    let nobody = fetch(&[], r#"{"url": "https://a.example/"}"#).unwrap_err();
    assert_eq!(nobody.code, ErrorCode::DomainNotAllowed);
}

#[test]
fn endless_pages_are_cut_and_slow_ones_abandoned() {
    let port = server(|path, stream| match path {
        "/large" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
            while stream.write_all(&[b'a'; 1 << 16]).is_ok() {}
        }
        "/head" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            while stream.write_all(&[b"X-A: ".as_slice(), &[b'a'; 4000], b"\r\n"].concat()).is_ok() {}
        }
        "/half" => drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")),
        "/slow" => {
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\na");
            // Wait until the client disconnects.
            let _ = stream.read(&mut [0]);
        }
        _ => drop(stream.read(&mut [0])),
    });
    let found = fetched(port, "/large", "").unwrap();
    assert!(flag(&found, "truncated") && text(&found, "content").len() <= 32 << 10);
    refused(port, "/head", "fetch_failed");
    refused(port, "/half", "fetch_failed");
    for path in ["/slow", "/silent"] {
        let failure = fetched(port, path, r#", "timeout_seconds": 1"#).unwrap_err();
        assert_eq!(failure.code, ErrorCode::TimedOut, "{path}: {failure:?}");
    }
}

/// Issue 42: a rule for one path of a host was left by a redirect.
#[test]
fn a_rule_holds_for_redirects() {
    let port = server(|path, stream| match path {
        "/ok/stays" => moved(stream, "/ok/page"),
        "/ok/leaves" => moved(stream, "/secret"),
        "/ok/climbs" => moved(stream, "/ok/../secret"),
        "/ok/twice" => moved(stream, "/ok/leaves"),
        "/ok/host" => moved(stream, "http://localhost/ok/page"),
        _ => page(stream, "text/plain", b"text"),
    });
    let text = format!(
        "[[auto_approve]]\nname = 'pages'\ntools = ['web.fetch']\neffects = ['network']\n\
         arguments = {{ url = 'http://127.0.0.1:{port}/ok/**' }}\n"
    );
    let policy: &'static PolicyState =
        Box::leak(Box::new(PolicyState::parse("policy.toml", Some(text.as_bytes()))));
    for (path, expect) in [
        ("stays", Ok(())),
        ("page", Ok(())),
        ("leaves", Err(ErrorCode::RedirectNotCovered)),
        ("climbs", Err(ErrorCode::RedirectNotCovered)),
        ("twice", Err(ErrorCode::RedirectNotCovered)),
        ("host", Err(ErrorCode::RedirectNotCovered)),
    ] {
        let args = format!(r#"{{"url": "http://127.0.0.1:{port}/ok/{path}"}}"#);
        let found = Bench::new().with("agent:ada", |context| {
            context.web_domains = vec![format!("127.0.0.1:{port}"), "localhost".to_owned()];
            context.rule = policy.auto_approve().first();
            run(definition("web.fetch").unwrap(), &Json::parse(&args).unwrap(), context)
        });
        assert_eq!(found.map(drop).map_err(|failure| failure.code), expect, "{path}");
    }
}
