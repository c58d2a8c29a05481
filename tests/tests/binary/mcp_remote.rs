//! Remote MCP servers: transports, tokens, logins, and servers that misbehave.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "the tests start a server and a browser")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use brigade_testkit::{fixtures, run_trials};
use brigade_tests::{PATH, Site};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, about, text};

const RUNTIMES: &str = ".brigade/tools/runtimes.toml";
const CATALOG: &str = ".brigade/tools.toml";
const TOKEN: &str = "token-EXAMPLE-0123456789";
const HELLO: &str = r#"{"text":"hello"}"#;

/// A remote server of the fixtures.
struct Server {
    child: Child,
    origin: String,
    /// Its requests, such as `POST /mcp tools/call`.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(faults: &[&str]) -> Server {
        let mut command = Command::new("python3");
        command.env("PATH", PATH).args(["-S", "-E"]).arg(fixtures().join("mcp/remote.py")).args(faults);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = requests.clone();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| noted.lock().unwrap().push(line.trim().to_owned()));
        });
        let scheme = if faults.iter().any(|fault| fault.starts_with("tls=")) { "https" } else { "http" };
        Server { child, origin: format!("{scheme}://127.0.0.1:{port}"), requests }
    }

    fn heard(&self, request: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|line| *line == request).count()
    }
}

/// Returns a workspace with the remote runtime `far`, whose origin the policy names.
fn site(server: &Server, lines: &str) -> Site {
    let site = Site::script("true\n").env("FAR", TOKEN);
    let policy = ".brigade/tools/policy.toml";
    site.workspace.replace(policy, "[\"script\"]", "[\"mcp\"]");
    site.workspace.replace(policy, "\"network\"]", "\"network\", \"remote-read\", \"remote-mutation\"]");
    site.workspace.replace(policy, "GITHUB_TOKEN = \"CANARY\"", "FAR_TOKEN = \"FAR\"");
    site.add_to_policy(&format!("[mcp]\nremote = [\"{}\"]\n", server.origin));
    let runtime = format!(
        "[[runtime]]\nid = \"far\"\nname = \"Far\"\nurl = \"{}/mcp\"\ntimeout = 20\n{lines}\n",
        server.origin
    );
    site.workspace.write(RUNTIMES, runtime);
    site.workspace.write(CATALOG, "");
    site
}

/// Imports the tools, and enables them with the effects that their hints propose.
fn import(site: &Site) -> Value {
    let report = site.json(["import", "mcp", "far"]).expect(0);
    let enabled = site.json(["enable", "far-*", "--accept-hints", "--yes"]).expect(0);
    assert!(!enabled.to_string().contains("has no command"), "{enabled:#}");
    report
}

/// Makes a call, and returns its receipt.
fn echo(site: &Site) -> Value {
    site.receipt_of("far-echo", HELLO)
}

const BEARER: &str = "headers = { Authorization = \"Bearer {FAR_TOKEN}\" }";

#[test]
fn a_remote_server_is_used_like_a_local_one() {
    let server = Server::start(&[&format!("token={TOKEN}"), "stream"]);
    let site = site(&server, BEARER);
    let origin = server.origin.clone();
    site.workspace.replace(".brigade/tools/policy.toml", &origin, "https://other.example");
    site.json(["import", "mcp", "far"]).refused("is not in remote of [mcp]");
    assert_eq!(server.heard("POST /mcp initialize"), 0, "nothing was connected to");
    site.workspace.replace(".brigade/tools/policy.toml", "https://other.example", &origin);
    let imported = import(&site);
    assert_eq!((&imported["added_count"], &imported["home"]), (&json!(2), &json!(null)));
    let catalog = site.workspace.read_text(CATALOG);
    assert!(!catalog.contains("command"), "{catalog}");
    for effects in ["[\"remote-read\", \"network\"]", "[\"remote-mutation\", \"network\"]"] {
        assert!(catalog.contains(&format!("\nproposed_effects = {effects}\n")), "{catalog}");
        assert!(catalog.contains(&format!("\neffects = {effects}\n")), "{catalog}");
    }
    assert!(!site.workspace.read_text(RUNTIMES).contains("home"));

    let id = site.approved("far-echo", HELLO);
    let done = site.run_call(&id).expect(0);
    let receipt = &done["receipt"];
    assert_eq!(
        (&receipt["mcp_origin"], &receipt["mcp_transport"], &receipt["mcp_response_text"]),
        (&json!(origin), &json!("http"), &json!("said hello")),
        "{receipt:#}"
    );
    assert_eq!(server.heard("DELETE /mcp"), 2, "every session is ended");
    site.assert_nowhere(TOKEN.as_bytes(), &[]);

    // The approval binds URL and headers.
    for (from, to) in
        [("/mcp\"", "/mcp?team=1\""), ("Bearer {FAR", "Basic {FAR"), ("timeout = 20", "transport = \"sse\"")]
    {
        let id = site.approved("far-echo", &json!({"text": to}).to_string());
        site.workspace.replace(RUNTIMES, from, to);
        let refused = site.run_call(&id).expect(1);
        assert!(refused.to_string().contains("changed"), "{from}: {refused:#}");
        site.workspace.replace(RUNTIMES, to, from);
    }
}

#[test]
fn the_older_transport_works() {
    let server = Server::start(&["sse"]);
    let site = site(&server, "transport = \"sse\"");
    import(&site);
    let receipt = echo(&site);
    assert_eq!(
        (&receipt["mcp_transport"], &receipt["mcp_response_text"]),
        (&json!("sse"), &json!("said hello")),
        "{receipt:#}"
    );
}

#[test]
fn tls_is_checked_with_the_trusted_roots() {
    let file = |name: &str| fixtures().join("mcp").join(name).display().to_string();
    let tls = format!("tls={},{}", file("remote-cert.pem"), file("remote-key.pem"));
    let server = Server::start(&[&tls]);
    let untrusted = site(&server, "");
    untrusted.json(["import", "mcp", "far"]).refused("no connection to https://127.0.0.1");
    let trusted = site(&server, "").env("SSL_CERT_FILE", file("remote-ca.pem"));
    trusted.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    import(&trusted);
    let receipt = echo(&trusted);
    assert_eq!(receipt["mcp_response_text"], "said hello", "{receipt:#}");
    assert_eq!(receipt["sandbox"]["mode"], "enforce", "{receipt:#}");
}

#[test]
fn a_misbehaving_server_is_a_clear_error() {
    let other = Server::start(&[]);
    let redirect = format!("redirect={}/mcp", other.origin);
    let refused = [
        (redirect.as_str(), "the server redirects to"),
        ("token=another", "check the value that its label is bound to"),
        ("slow", "in time"),
    ];
    run_trials(refused, |(fault, expect)| {
        let server = Server::start(&[fault]);
        let site = site(&server, &BEARER.replace("headers", "transport = \"http\"\nheaders"));
        site.workspace.replace(RUNTIMES, "timeout = 20", "timeout = 3");
        site.json(["import", "mcp", "far"]).refused(expect);
        true
    });
    assert_eq!(other.heard("POST /mcp initialize"), 0);
    let failed = [
        ("plain", "connection_failed", "it answers with `text/plain`"),
        ("long", "connection_failed", "is longer than is read"),
        ("endless", "timed_out", ""),
        ("forget", "", "said hello"),
    ];
    run_trials(failed, |(fault, kind, expect)| {
        let server = Server::start(&[fault]);
        let site = site(&server, "");
        import(&site);
        let catalog = site.workspace.read_text(CATALOG).replace("timeout = 20", "timeout = 6");
        site.workspace.write(CATALOG, catalog);
        let receipt = echo(&site);
        let text = receipt["mcp_response_text"].as_str().unwrap_or_default();
        let found = receipt["mcp_error_kind"].as_str().unwrap_or_default();
        assert!(found == kind && text.contains(expect), "{fault}: {receipt:#}");
        true
    });
    // The policy names exact origins.
    let site = site(&other, "");
    site.workspace.replace(RUNTIMES, "http://127.0.0.1", "http://localhost");
    site.json(["import", "mcp", "far"]).refused("is not in remote of [mcp]");
}

/// Opens a URL like a browser: follows the redirect of the authorization server. Returns the last answer.
fn browse(url: &str) -> String {
    let (host, target) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    match answer.lines().find_map(|line| line.strip_prefix("Location: ")) {
        Some(next) => browse(next.trim()),
        None => answer,
    }
}

/// Logs in, with a person who agrees at once. Returns the exit code and the document.
fn login(site: &Site, words: &[&str]) -> (i32, Value) {
    let mut command =
        site.brigade.command(["tools", "login", "far", "--no-browser", "--json"].iter().chain(words));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = lines.map_while(Result::ok).find(|line| line.starts_with("http://"));
    if let Some(url) = url {
        browse(&url);
    }
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    (child.wait().unwrap().code().unwrap(), serde_json::from_str(&output).unwrap())
}

#[test]
fn a_login_is_made_refreshed_and_removed() {
    let server = Server::start(&["oauth", "expires"]);
    let site = site(&server, "");
    let refused = site.json(["import", "mcp", "far"]).refused("run `brigade tools login far`");
    assert_eq!(refused["code"], "login_required", "{refused:#}");
    let (code, report) = login(&site, &[]);
    assert_eq!(
        (code, &report["server"], &report["issuer"]),
        (0, &json!("far"), &json!(server.origin)),
        "{report:#}"
    );
    let path = report["tokens_path"].as_str().unwrap().to_owned();
    let tokens = std::fs::read_to_string(&path).unwrap();
    assert!(path.contains(".local/state/brigade/oauth/"), "{path}");
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(Path::new(&path).metadata().unwrap().permissions().mode() & 0o777, 0o600);

    import(&site);
    assert_eq!(echo(&site)["mcp_response_text"], "said hello");
    assert_ne!(std::fs::read_to_string(&path).unwrap(), tokens, "the token was refreshed");
    site.assert_nowhere(b"access-EXAMPLE", &[]);
    site.assert_nowhere(b"refresh-EXAMPLE", &[]);

    // An agent learns what to type.
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\"]\n");
    assert_eq!(site.json(["logout", "far"]).expect(0)["removed"], true);
    assert_eq!(site.json(["logout", "far"]).expect(0)["removed"], false);
    assert!(!Path::new(&path).exists());
    let receipt = echo(&site);
    assert_eq!(receipt["mcp_error_kind"], "login_required", "{receipt:#}");
    site.add_to_policy(
        "[[auto_approve]]\nname = \"far\"\ntools = [\"far-*\"]\neffects = [\"remote-read\", \"network\"]\n",
    );
    let mut client = Client::connect(&site, "local");
    let answer = client.call("far-echo", json!({"text": "hello"}));
    assert_eq!(about(&answer)["code"], "login_required", "{answer:#}");
    assert!(text(&answer).contains("brigade tools login far"), "{answer:#}");
}

#[test]
fn a_login_that_is_wrong_is_refused() {
    for (fault, expect) in [
        ("issuer", "wrong issuer"),
        ("nopkce", "PKCE"),
        ("noclients", "registers no clients"),
        ("denied", "access_denied"),
    ] {
        let server = Server::start(&["oauth", fault]);
        let site = site(&server, "");
        let (code, report) = login(&site, &[]);
        assert!(code == 1 && report.to_string().contains(expect), "{fault}: {report:#}");
        assert_eq!(report["code"], "login_failed", "{report:#}");
    }
    let server = Server::start(&["oauth", "noclients"]);
    assert_eq!(login(&site(&server, ""), &["--client-id", "known"]).0, 0);
    let server = Server::start(&["oauth", "expires", "revoked"]);
    let site = site(&server, "");
    assert_eq!(login(&site, &[]).0, 0);
    let refused = site.json(["import", "mcp", "far"]).expect(1);
    assert_eq!(refused["code"], "login_required", "{refused:#}");
}
