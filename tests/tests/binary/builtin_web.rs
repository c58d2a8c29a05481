//! `web.fetch` reads pages of hosts that the policy names, but no internal hosts. `web.search` uses a program or
//! documents.

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

/// Returns a workspace with the full-auto agent `local`. Its proxy never answers.
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

/// Starts a server with a page, and a redirect to an internal host.
fn server() -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
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
    let mut client = Client::connect(&site, "local");
    assert!(client.names().contains(&"web.fetch".to_owned()));
    let page = format!("http://127.0.0.1:{port}/page");
    let fetched = client.call("webFetch", json!({"url": page}));
    assert_stands(&fetched, "completed", "");
    let result = &fetched["structuredContent"];
    let shown = (&result["url"], &result["http_status"], &result["content_type"], &result["content"]);
    assert_eq!(shown, (&json!(page), &json!(200), &json!("text/html"), &json!("## Two")), "{result:#}");
    assert_eq!((&result["content_length"], &result["truncated"]), (&json!(11), &json!(false)));
    // The redirect leads to an internal host.
    let led = fails(&mut client, &format!("http://127.0.0.1:{port}/inside"), "domain_not_allowed");
    assert!(text(&led).contains("redirects to a URL"), "{led:#}");
    // The plan refuses these URLs, so no call is recorded.
    for (url, code) in [
        ("http://169.254.169.254/latest/meta-data", "domain_not_allowed"),
        ("https://evildocs.example/", "domain_not_allowed"),
        ("https://docs.example.evil.test/", "domain_not_allowed"),
        ("https://a:b@docs.example/", "credentials_in_url"),
        ("file:///etc/passwd", "url_not_plain"),
        ("http://0x7f000001/", "url_not_plain"),
    ] {
        fails(&mut client, url, code);
    }
    let calls = site.json(["call", "list"]).expect(0);
    assert_eq!(calls["calls"].as_array().unwrap().len(), 2, "{calls:#}");
    let shown = site.json(["policy", "show"]).expect(0);
    assert_eq!(shown["policy"]["web_domains"][0], "docs.example", "{shown:#}");
    let explained = site.json(["policy", "explain", "web.fetch"]).expect(0);
    let rulings = explained["rulings"].as_array().unwrap();
    let domains = rulings.iter().find(|ruling| ruling["topic"] == "web_domains").unwrap();
    assert_eq!((&domains["allowed"], domains["line"].is_u64()), (&json!(true), true), "{domains:#}");
    assert!(domains["message"].as_str().unwrap().contains("docs.example, 127.0.0.1"), "{domains:#}");
}

#[test]
fn a_redirect_cannot_leave_the_context_domains() {
    let port = server();
    let site =
        site(&format!("[web]\ndomains = [\"127.0.0.1:{port}\", \"127.0.0.1:9\", \"127.0.0.2:{port}\"]\n"));
    site.workspace.write(
        ".brigade/tools/profiles.toml",
        "[[profile]]\nname = \"context.one\"\n\n[[profile.rule]]\nmatch = \"*\"\naction = \"allow\"\n\
         constrain = { domains = [\"127.0.0.2\"] }\n",
    );
    let mut client = Client::start(&site, &["--profile", "context.one"]);
    client.hello("2025-11-25", json!({}));
    fails(&mut client, &format!("http://127.0.0.1:{port}/page"), "outside_context");
    // The server listens at every address of this machine, and redirects to another one.
    let led = fails(&mut client, &format!("http://127.0.0.2:{port}/inside"), "outside_context");
    assert!(text(&led).contains("127.0.0.1 is outside of constrain.domains"), "{led:#}");
}

#[test]
fn fetching_needs_a_policy_with_hosts() {
    let here = site("");
    let mut client = Client::connect(&here, "local");
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

/// Returns a workspace whose agent searches with this provider.
fn searching(provider: &str) -> Site {
    let site = site("");
    let agent = "[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\"]\n";
    site.workspace.write(GATEWAY, format!("{agent}\n[web]\nsearch = {provider}\n"));
    site
}

#[test]
fn a_web_search_by_a_program_is_a_separate_call() {
    let site = searching("{ command = \"./find.sh --site x\" }");
    let answer =
        r#"{\"results\": [{\"title\": \"$3\", \"url\": \"https://a.example/\", \"snippet\": \"$4\"}]}"#;
    site.write_program("find.sh", format!("#!/bin/sh\ncase \"$*\" in *--query=broken*) exit 0;; *--query=down*) exit 3;; esac\necho \"{answer}\"\n"));
    site.trust(["web.search"]);
    let mut client = Client::connect(&site, "local");
    assert!(client.names().contains(&"web.search".to_owned()));
    let found = client.call("webSearch", json!({"query": "-rf; $(id)", "max_results": 3}));
    assert_stands(&found, "completed", "");
    let row = &found["structuredContent"]["results"][0];
    assert_eq!(
        (&row["title"], &row["snippet"]),
        (&json!("--max-results=3"), &json!("--query=-rf; $(id)")),
        "{found:#}"
    );
    assert_eq!(found["structuredContent"]["query"], "-rf; $(id)");
    // The receipt is that of a program whose bytes the approval binds.
    let receipt =
        site.json(["run", "show", about(&found)["run_id"].as_str().unwrap()]).expect(0)["run"].clone();
    assert!(receipt["binding"]["program"]["sha256"].is_string(), "{receipt:#}");
    assert_eq!(receipt["argv"][0], "./find.sh");
    let broken = client.call("web.search", json!({"query": "broken"}));
    assert_eq!(
        (&broken["isError"], &about(&broken)["code"]),
        (&json!(true), &json!("provider_failed")),
        "{broken:#}"
    );
    let down = client.call("web.search", json!({"query": "down"}));
    assert_eq!((&down["isError"], &about(&down)["status"]), (&json!(true), &json!("failed")), "{down:#}");
    // The command line plans and runs the same. A changed program is refused.
    let id = site.approved("web.search", "{\"query\": \"soup\"}");
    site.workspace.write("find.sh", "#!/bin/sh\necho []\n");
    let refused = site.run_call(&id);
    assert_ne!(refused.code, 0, "{:#}", refused.json);
    assert!(refused.json.to_string().contains("changed"), "{:#}", refused.json);
}

#[test]
fn documents_are_searched_instead_of_the_web() {
    let site = searching("{ folder = \"pages\" }");
    site.workspace.write("pages/soup.md", "# Soup\n\nWith lentils and salt.\n");
    site.workspace.write("other.md", "# Salt\n");
    let mut client = Client::connect(&site, "local");
    let found = client.call("web.search", json!({"query": "salt"}));
    assert_stands(&found, "completed", "");
    let expect = json!([{"title": "Soup", "url": "pages/soup.md", "snippet": "With lentils and salt."}]);
    assert_eq!(found["structuredContent"]["results"], expect, "{found:#}");
    let receipt =
        site.json(["run", "show", about(&found)["run_id"].as_str().unwrap()]).expect(0)["run"].clone();
    assert_eq!(
        (&receipt["executor"], &receipt["touched"][0]["path"]),
        (&json!("builtin"), &json!("pages/soup.md"))
    );
    for provider in [
        "{}",
        "{ folder = \"/etc\" }",
        "{ folder = \"../x\" }",
        "{ folder = \"a\", command = \"b\" }",
        "{ command = \"'\" }",
    ] {
        let site = searching(provider);
        let doctor = site.tools(["serve", "--stdio"]);
        assert_ne!(doctor.code(), Some(0), "{provider}");
    }
}

#[test]
fn an_image_of_the_screen_is_kept_as_proof() {
    let site = Site::empty();
    let rules = r#"allowed_families = ["builtin"]
allowed_effects = ["local-write"]

[programs]
capture = "./screen.sh --all"

[[auto_approve]]
name = "proofs"
tools = ["proof.*"]
effects = ["local-write"]
"#;
    site.workspace.write(POLICY, rules);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\"]\n");
    site.write_program("screen.sh", "#!/bin/sh\nprintf '\\211PNG\\r\\n\\032\\nbytes'\n");
    site.trust(["proof.screenshot"]);
    let mut client = Client::connect(&site, "local");
    assert!(client.names().contains(&"proof.screenshot".to_owned()));
    let kept = client.call("captureScreenshot", json!({}));
    assert_stands(&kept, "completed", "");
    let (id, sha256) = (&kept["structuredContent"]["artifact_id"], &kept["structuredContent"]["sha256"]);
    let bytes = site.workspace.read(format!(".brigade/proofs/{}", id.as_str().unwrap()));
    assert_eq!(bytes, b"\x89PNG\r\n\x1a\nbytes");
    let receipt =
        site.json(["run", "show", about(&kept)["run_id"].as_str().unwrap()]).expect(0)["run"].clone();
    assert_eq!(&receipt["touched"][0]["after"], sha256, "{receipt:#}");
    assert!(receipt["binding"]["program"]["sha256"].is_string(), "{receipt:#}");
    assert_eq!(receipt["argv"], json!(["./screen.sh", "--all"]));
    site.write_program("screen.sh", "#!/bin/sh\necho no display\n");
    // No person has seen the new program.
    assert_stands(&client.call("proof.screenshot", json!({})), "pending", "approval_pending");
    site.trust(["proof.screenshot"]);
    let none = client.call("proof.screenshot", json!({}));
    assert_eq!((&none["isError"], &about(&none)["code"]), (&json!(true), &json!("no_image")), "{none:#}");
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
    let shown = site.json(["policy", "show"]).expect(0);
    assert_eq!(shown["policy"]["capture"], "./screen.sh --all", "{shown:#}");
    let explained = site.tools(["policy", "explain", "proof.screenshot"]).assert_code(0).stdout_text();
    assert!(explained.contains("`./screen.sh --all` captures the screen"), "{explained}");
    // Without the program, the tool is unavailable, and the answer names another tool.
    site.workspace.write(POLICY, rules.replace("capture = \"./screen.sh --all\"", ""));
    let mut client = Client::connect(&site, "local");
    assert!(!client.names().contains(&"proof.screenshot".to_owned()));
    let absent = fails_by(&mut client, "proof.screenshot", json!({}), "not_available_here");
    assert!(text(&absent).contains("proof.attach"), "{absent:#}");
}

#[track_caller]
fn fails_by(client: &mut Client, tool: &str, args: Value, code: &str) -> Value {
    let answer = client.call(tool, args);
    assert_eq!(about(&answer)["code"], code, "{tool}: {answer:#}");
    assert_eq!(answer["isError"], true);
    answer
}
