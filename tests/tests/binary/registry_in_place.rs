//! Tools registries that are read in place, and registries of tools.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests write files of the user, and fail when they cannot continue"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use brigade_tests::Site;
use serde_json::{Value, json};

const REGISTRY: &str = ".cub/tools-registry.yaml";

/// The five tools of the specification, with programs that are here.
const FIVE: &str = "version: \"1.0\"
settings:
  auto_install: true
  inherit_clawdbot_mcp: false
tools:
  - id: web_search
    name: Web Search
    source: {type: harness, provider: claude}
    capabilities: [query_web]
  - id: filesystem
    name: Filesystem
    source: {type: mcp, server: filesystem, transport: stdio, command: python3 -S -E srv/server.py}
    capabilities: [read_file]
  - id: github
    name: GitHub CLI
    source: {type: skill, skill_id: github, entry: echo}
    capabilities: [query_issues]
  - id: jq
    name: jq
    source: {type: cli, command: printf}
    description: Command-line JSON processor
    approval_mode: never
  - id: project_build
    name: Project Build
    source: {type: script, path: ./scripts/build.sh}
    project_specific: true
  - id: missing
    source: {type: cli, command: no-such-program}
    install: {check: which no-such-program, command: sh bin/tool.sh}
";

fn site() -> Site {
    let site = Site::script("true");
    site.workspace.write(REGISTRY, FIVE);
    site.write_program("scripts/build.sh", "#!/bin/sh\necho \"built $*\"\n");
    site.workspace
        .write("srv/server.py", fs::read(brigade_testkit::fixtures().join("mcp/server.py")).unwrap());
    site.workspace.replace(".brigade/tools/policy.toml", "[\"script\"]", "[\"script\", \"mcp\"]");
    let effects = "allowed_effects = [\"local-read\", \"local-write\", \"network\", \"install\"]";
    let policy = site.workspace.read_text(".brigade/tools/policy.toml");
    let line = policy.lines().find(|line| line.starts_with("allowed_effects")).unwrap().to_owned();
    site.workspace.replace(".brigade/tools/policy.toml", &line, effects);
    site
}

fn row<'r>(rows: &'r Value, id: &str) -> &'r Value {
    rows.as_array().unwrap().iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id}: {rows:#}"))
}

#[test]
fn a_registry_is_read_in_place_and_grants_nothing() {
    let site = site();
    let before = site.workspace.read_text(".brigade/tools.toml");
    let listed = site.json(["list"]).expect(0)["tools"].clone();
    let jq = row(&listed, "jq");
    assert_eq!(
        (&jq["origin"]["file"], &jq["origin"]["level"]),
        (&json!(REGISTRY), &json!("project-registry"))
    );
    assert_eq!(jq["origin"]["line"], 18);
    let found = site.json(["find", "--capability", "process json"]).expect(1);
    assert_eq!(found["matches"], json!([]), "no word says `process`");
    let found = site.json(["find", "--capability", "json processor"]).expect(0);
    assert_eq!(found["matches"][0]["inferred"], json!(["json processor"]), "{found:#}");
    // Whatever the file says, a person approves each call; then it runs.
    let call = site.json(["call", "queue", "jq", "--args", r#"{"args": ["%s-%s", "-a", "b c"]}"#]).expect(0);
    assert_eq!(call["call"]["contract"]["approval_mode"], "always", "{call:#}");
    let receipt = site.receipt_of("jq", r#"{"args": ["%s-%s\\n", "-a", "b c"]}"#);
    assert_eq!(site.log_text(&receipt, "stdout"), "-a-b c\n");
    // What it may not start says so.
    let plan = site.json(["call", "plan", "filesystem", "--args", "{}"]).expect(1);
    let blockers = plan["blockers"].to_string();
    assert!(blockers.contains("whole server") && !blockers.contains("input schema"), "{blockers}");
    let plan = site.json(["call", "plan", "web_search", "--args", "{}"]).expect(1);
    assert!(plan["blockers"].to_string().contains("only the harness `claude` runs"), "{plan:#}");
    let refused = site.json(["enable", "jq", "--yes"]).expect(1);
    assert!(refused.to_string().contains("registry:jq"), "{refused:#}");
    // A missing tool queues its installation, and installs nothing.
    let refused = site.json(["call", "queue", "missing", "--args", "{}"]).expect(1);
    assert!(refused.to_string().contains("brigade approve"), "{refused:#}");
    let pending = site.json(["call", "list", "--status", "pending"]).expect(0)["calls"].clone();
    assert!(pending.as_array().unwrap().iter().any(|call| call["kind"] == "install"), "{pending:#}");
    // The next command sees a change, and an approval does not outlive it.
    let id = site.approved("jq", r#"{"args": ["x"]}"#);
    site.workspace.replace(REGISTRY, "command: printf", "command: echo");
    assert!(site.run_call(&id).expect(1).to_string().contains("changed"));
    assert_eq!(site.json(["show", "jq"]).expect(0)["tool"]["command"], "echo");
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), before, "nothing is copied");
    site.workspace.write(REGISTRY, "tools: [");
    let listed = site.json(["list"]).expect(0);
    assert!(listed["tools"].as_array().unwrap().iter().all(|row| row["id"] != "jq"));
    let told = site.tools(["list"]).to_string();
    assert!(told.contains("tools-registry.yaml"), "{told}");
}

#[test]
fn each_of_the_five_tools_can_be_called_after_registering() {
    let site = site();
    let ids = ["web_search", "filesystem", "github", "jq", "project_build"];
    let refs = ids.map(|id| format!("registry:{id}"));
    site.json(["register"].into_iter().chain(refs.iter().map(String::as_str))).expect(0);
    let listed = site.json(["list"]).expect(0)["tools"].clone();
    assert_eq!(
        (&row(&listed, "jq")["enabled"], &row(&listed, "jq")["origin"]["level"]),
        (&json!(false), &json!("project"))
    );
    let checked = site.json(["check", "--all"]).expect(1)["tools"].clone();
    assert_eq!(row(&checked, "jq")["enabled"], false);
    let told = site.json(["enable", "filesystem", "github", "jq", "project_build", "--dry-run"]).expect(0);
    assert_eq!(told["tools"][0]["starts"], "python3 -S -E srv/server.py", "{told:#}");
    let enabled = site.json(["enable", "filesystem", "github", "jq", "project_build", "--yes"]).expect(0);
    assert_eq!(enabled["imported"][0]["error"], Value::Null, "{enabled:#}");
    let tools = enabled["imported"][0]["added"].as_array().unwrap().clone();
    assert!(!tools.is_empty());
    site.json(["enable", "filesystem-*", "--effects", "local-read", "--yes"]).expect(0);
    let echo = tools.iter().find(|id| id.as_str().unwrap().ends_with("echo")).unwrap().as_str().unwrap();
    let receipt = site.receipt_of(echo, r#"{"text": "hello"}"#);
    assert_eq!(receipt["status"], "completed", "{receipt:#}");
    for (id, expect) in [("github", "issue list\n"), ("project_build", "built issue list\n")] {
        let receipt = site.receipt_of(id, r#"{"args": ["issue", "list"]}"#);
        assert_eq!(site.log_text(&receipt, "stdout"), expect, "{id}");
    }
    // Words of successful uses suggest capabilities.
    let found = site.json(["find", "--capability", "list issues"]).expect(0)["matches"].clone();
    assert!(found.as_array().unwrap().iter().any(|found| found["id"] == "github"), "{found:#}");
    let issues = site.json(["doctor"]).expect(0)["issues"].clone();
    let of_server = issues.as_array().unwrap().iter().filter(|issue| issue["tool_id"] == "filesystem");
    let of_server: Vec<&Value> = of_server.filter(|issue| issue["severity"] != "info").collect();
    assert!(of_server.is_empty(), "{of_server:#?}");
}

/// The start of a path, and the answer to the nth request of it.
type Answer = (&'static str, fn(usize) -> Value);

/// Serves answers by the start of the path, and notes the paths that were asked for.
fn serve(answers: &'static [Answer]) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let path = lines.next().unwrap_or_default().split(' ').nth(1).unwrap_or_default().to_owned();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let count = {
                let mut noted = noted.lock().unwrap();
                noted.push(path.clone());
                noted.len()
            };
            let answer = answers.iter().find(|(start, _)| path.starts_with(start));
            let (status, body) =
                answer.map_or((404, "{}".to_owned()), |(_, answer)| (200, answer(count).to_string()));
            let head =
                format!("HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nConnection: close\r\n");
            let _ = write!(&stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    (origin, asked)
}

fn weather(version: &str, identifier: &str) -> Value {
    json!({"server": {
        "name": "io.github.x/weather", "description": "Tells the weather", "version": version,
        "packages": [{"registryType": "npm", "identifier": identifier, "version": "1.0.0"}],
    }, "_meta": {}})
}

#[test]
fn a_remote_registry_is_asked_only_where_the_policy_allows_it() {
    const ANSWERS: &[Answer] = &[
        (
            "/v0.1/servers?search=weather",
            |_| json!({"servers": [weather("1.0.0", "weather")], "metadata": {}}),
        ),
        ("/v0.1/servers/io.github.x%2Fweather/versions/1.0.0", |_| weather("1.0.0", "weather")),
        // Other content for the same version, after the first two questions.
        ("/v0.1/servers/io.github.x%2Fweather/versions/latest", |asked| match asked {
            0..=2 => weather("1.0.0", "weather"),
            _ => weather("1.0.0", "evil"),
        }),
    ];
    let (origin, asked) = serve(ANSWERS);
    let site = Site::script("true");
    let refused = site.json(["registry", "add", &origin]).expect(1);
    assert_eq!(refused["code"], "policy_registry_remote", "{refused:#}");
    assert!(asked.lock().unwrap().is_empty(), "nothing was asked");
    site.add_to_policy(&format!("[registry]\nremote = [\"{origin}\"]\n"));
    site.json(["registry", "add", &origin, "--name", "ours"]).expect(0);
    let found = site.json(["registry", "search", "weather"]).expect(0);
    assert_eq!(found["servers"][0]["name"], "io.github.x/weather", "{found:#}");
    let shown = site.json(["registry", "info", "io.github.x/weather"]).expect(0);
    assert_eq!((&shown["server"]["version"], &shown["cached"]), (&json!("1.0.0"), &json!(false)));
    // A pinned version is read from the cache, and changed content is refused.
    let before = asked.lock().unwrap().len();
    site.json(["register", "registry:io.github.x/weather@1.0.0"]).expect(0);
    assert_eq!(asked.lock().unwrap().len(), before);
    let entry = site.json(["show", "weather"]).expect(0)["tool"].clone();
    assert_eq!(entry["enabled"], false);
    assert_eq!(entry["source_detail"]["ref"], "registry:io.github.x/weather@1.0.0", "{entry:#}");
    assert_eq!(entry["source_detail"]["fingerprint"], shown["digest"]);
    let refused = site.json(["registry", "info", "io.github.x/weather"]).expect(1);
    assert_eq!(refused["code"], "registry_changed", "{refused:#}");
    site.json(["registry", "info", "io.github.x/weather", "--accept"]).expect(0);
    // Without the line, nothing is asked any more.
    site.workspace.replace(".brigade/tools/policy.toml", &origin, "https://other.example");
    let before = asked.lock().unwrap().len();
    let found = site.json(["registry", "search", "weather"]).expect(0);
    assert!(found["notes"][0].as_str().unwrap().contains("remote of [registry]"), "{found:#}");
    assert_eq!(asked.lock().unwrap().len(), before);
}
