//! Issue 14: agents of the gateway, their profiles, and the tools that each agent sees.

use brigade_testkit::{Brigade, TempWorkspace};

const CATALOG: &str = r#"
[[tool]]
id = "docs.count"
name = "Count"
family = "script"
description = "Counts words. It reads a page."
command = "sh count.sh"
input_schema_path = "s.json"
effects = ["local-read"]
risk_class = "read"
[[tool]]
id = "deploy"
name = "Deploy"
family = "script"
command = "sh deploy.sh"
input_schema_path = "s.json"
effects = ["process-exec", "network"]
"#;

const POLICY: &str = r#"allowed_families = ["script"]
[sandbox]
mode = "best-effort"
[[auto_approve]]
name = "reads"
tools = ["docs.*"]
effects = ["local-read"]
arguments = { path = "docs/**" }
max_calls_per_hour = 5
"#;

fn workspace() -> TempWorkspace {
    let workspace = TempWorkspace::empty();
    workspace.write(".brigade/tools.toml", CATALOG);
    workspace.write(".brigade/tools/policy.toml", POLICY);
    workspace.write("count.sh", "echo 1\n");
    workspace.write("deploy.sh", "echo deployed\n");
    workspace.write("s.json", r#"{"type": "object", "properties": {"path": {"type": "string"}}}"#);
    workspace
}

fn rows(json: &serde_json::Value, list: &str, key: &str) -> Vec<String> {
    let rows = json[list].as_array().expect("a list").iter();
    rows.map(|row| row[key].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn an_agent_is_listed_what_it_is_shown() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    brigade.run(["tools", "trust", "docs.count", "--yes"]).assert_code(0);
    let run = brigade.run(["tools", "list", "--as", "local", "--json"]);
    run.assert_code(0);
    let json = run.json();
    assert_eq!(json["schema"], "brigade.agent-tools.v1");
    assert_eq!((json["agent"].as_str(), json["tool_count"].as_u64()), (Some("local"), Some(12)));
    let listed = json["tools"].as_array().unwrap();
    let of = |family: &str, key: &str| -> Vec<String> {
        let its = listed.iter().filter(|row| row["family"] == family);
        its.map(|row| row[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("script", "name"), ["deploy", "docs.count"]);
    assert_eq!(of("script", "gate"), ["ask", "allow"]);
    assert_eq!(of("script", "risk"), ["high", "low"]);
    assert_eq!(of("gateway", "id").len(), 10);
    assert!(rows(&json, "tools", "id").is_sorted());
    let text = brigade.run(["tools", "list", "--as", "local"]).stdout_text();
    assert!(text.contains("docs.count") && text.contains("low"), "{text}");
    let unknown = brigade.run(["tools", "list", "--as", "nobody", "--json"]);
    unknown.assert_code(1);
    assert_eq!(unknown.json()["code"], "agent_missing");
}

#[test]
fn a_token_is_shown_once_and_only_its_hash_is_stored() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    let added = brigade.run(["tools", "agent", "add", "codex-ci", "--json"]);
    added.assert_code(0);
    let token = added.json()["token"].as_str().unwrap().to_owned();
    assert!(64 < token.len());
    let file = workspace.read_text(".brigade/tools/gateway.toml");
    assert!(!file.contains(&token) && file.contains("token_sha256"), "{file}");
    let list = brigade.run(["tools", "agent", "list", "--json"]);
    assert_eq!(rows(&list.json(), "agents", "name"), ["local", "codex-ci"]);
    assert!(!list.stdout_text().contains(&token));
    let again = brigade.run(["tools", "agent", "add", "codex-ci", "--json"]);
    again.assert_code(1);
    assert_eq!(again.json()["code"], "agent_exists");
    let rotated = brigade.run(["tools", "agent", "rotate", "codex-ci", "--json"]);
    rotated.assert_code(0);
    assert_ne!(rotated.json()["token"], token.as_str());
    brigade.run(["tools", "agent", "remove", "codex-ci"]).assert_code(0);
    brigade.run(["tools", "agent", "remove", "codex-ci"]).assert_code(1);
    brigade.run(["tools", "agent", "add", "a b"]).assert_code(2);
}

#[test]
fn profiles_explain_what_an_agent_sees() {
    let workspace = workspace();
    workspace.write(
        ".brigade/tools/profiles.toml",
        "[[profile]]\nname = \"context.docs\"\nshow = [\"group:docs\"]\n",
    );
    workspace.write(
        ".brigade/tools/gateway.toml",
        "[[agent]]\nname = \"reader\"\nprofiles = [\"context.docs\", \"permission.plan\"]\n",
    );
    let brigade = Brigade::new(&workspace);
    let json = brigade.run(["tools", "list", "--as", "reader", "--json"]).json();
    let of_catalog = |id: &String| id == "deploy" || id == "docs.count";
    let ids: Vec<String> = rows(&json, "tools", "id").into_iter().filter(of_catalog).collect();
    assert_eq!(ids, ["docs.count"]);
    let own = brigade.run(["tools", "profile", "explain", "call.wait", "--as", "reader", "--json"]);
    own.assert_code(0);
    assert_eq!((own.json()["visible"].as_bool(), own.json()["gate"].as_str()), (Some(true), Some("allow")));
    let explained = brigade.run(["tools", "profile", "explain", "deploy", "--as", "reader", "--json"]);
    explained.assert_code(0);
    let json = explained.json();
    assert_eq!((json["visible"].as_bool(), json["gate"].as_str()), (Some(false), Some("deny")));
    let text = brigade.run(["tools", "profile", "explain", "deploy", "--as", "reader"]).stdout_text();
    assert!(text.lines().any(|line| line.starts_with("gate") && line.ends_with("deny")), "{text}");
    let context = json["opinions"].as_array().unwrap().iter().find(|row| row["slot"] == "context").unwrap();
    assert_eq!((context["shows"].as_bool(), context["line"].as_u64()), (Some(false), Some(3)));
    assert_eq!(json["reasons"].as_array().unwrap().len(), 2);
    let shown = brigade.run(["tools", "profile", "show", "permission.edit", "--json"]);
    shown.assert_code(0);
    assert_eq!(shown.json()["rules"][0]["action"], "ask");
    brigade.run(["tools", "profile", "list"]).assert_code(0);
    let unknown = brigade.run(["tools", "profile", "show", "permission.pla"]);
    unknown.assert_code(1);
    assert!(unknown.stderr_text().contains("permission.plan"), "{}", unknown.stderr_text());
}

#[test]
fn the_policy_says_which_rule_approves() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    brigade.run(["tools", "trust", "docs.count", "--yes"]).assert_code(0);
    let explain = |tool: &str| {
        let run = brigade.run(["tools", "policy", "explain", tool, "--as", "local", "--json"]);
        run.assert_code(0);
        run.json()["agent"].clone()
    };
    let count = explain("docs.count");
    assert_eq!((count["rule"].as_str(), count["gate"].as_str()), (Some("reads"), Some("allow")));
    assert_eq!(count["rules"][0]["arguments"]["path"], "docs/**");
    assert_eq!(count["rules"][0]["line"], 4);
    let deploy = explain("deploy");
    assert!(deploy["rule"].is_null());
    let missing: Vec<&str> =
        deploy["rules"][0]["missing"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(
        missing,
        [
            "the gate of the tool is ask for this agent",
            "`tools` does not match the tool",
            "`effects` does not list `process-exec`",
            "`effects` does not list `network`",
        ]
    );
    let own = explain("call.wait");
    assert_eq!((own["visible"].as_bool(), own["gate"].as_str()), (Some(true), Some("allow")));
    let text = brigade.run(["tools", "policy", "explain", "call.wait", "--as", "local"]).stdout_text();
    assert!(text.contains("not applicable: its calls need no approval"), "{text}");
    let text = brigade.run(["tools", "policy", "explain", "deploy", "--as", "local"]).stdout_text();
    assert!(text.contains("a person, each call") && text.contains("missing: "), "{text}");
}

#[test]
fn without_a_policy_nothing_is_shown() {
    let workspace = workspace();
    workspace.write(".brigade/tools/policy.toml", "[[auto_approve]]\nname = \"a\"\n");
    let run = Brigade::new(&workspace).run(["tools", "list", "--as", "local", "--json"]);
    run.assert_code(0);
    assert_eq!(run.json()["tool_count"], 0);
    assert!(run.json()["policy_problem"].as_str().unwrap().contains("invalid"));
}

#[test]
fn the_cost_of_each_listing_mode_is_shown() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    let run = brigade.run(["tools", "cost", "--json"]);
    run.assert_code(0);
    let json = run.json();
    assert_eq!(rows(&json, "listings", "list"), ["full", "compact", "search"]);
    let tokens: Vec<u64> =
        json["listings"].as_array().unwrap().iter().map(|row| row["tokens"].as_u64().unwrap()).collect();
    assert!(tokens[1] < tokens[0] && tokens[2] < tokens[0]);
    assert_eq!(rows(&json, "tools", "id"), ["deploy", "docs.count"]);
    let calls: Vec<u64> =
        json["cheapest"].as_array().unwrap().iter().map(|row| row["calls"].as_u64().unwrap()).collect();
    assert_eq!(calls, [1, 5, 20]);
    assert!(json["full_from_calls"].is_u64() && json["search_turn"]["bytes"].is_u64());
    assert!(brigade.run(["tools", "cost"]).stdout_text().contains("full is the cheapest"));
}
