//! Registry metadata of entries, and finding tools by it.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files of a user")]

use brigade_tests::Site;
use serde_json::{Value, json};

/// Tools of every source. `jq` is not on this host.
const TOOLS: &str = r#"
[[tool]]
id = "shout"
name = "Shout"
family = "script"
command = "sh bin/tool.sh"
description = "Prints a text in capitals"
capabilities = ["change_case", "print text"]
categories = ["text"]
[tool.cost]
per_call = 0.002
unit = "USD"

[[tool]]
id = "yq"
name = "yq"
family = "script"
command = "no-such-yq -P"
aliases = ["yaml-query"]
categories = ["data"]
capabilities = ["parse_yaml"]
availability = "conditional"
version = ">=4.30, <5"
version_command = "no-such-yq --version"
[tool.source]
kind = "cli"
[tool.install]
check = "which no-such-yq"
command = ["brew install yq", "pip install yq"]
docs = "https://example.org/yq"

[[tool]]
id = "read-yaml"
name = "Read YAML"
family = "skill"
source_path = "skills/yaml.md"
domain = "Data"
capability = ["Parse YAML"]

[[tool]]
id = "browse"
name = "Browse"
family = "custom"
capabilities = ["query_database"]
[tool.source]
kind = "harness"
provider = "claude"
"#;

fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", TOOLS);
    site.workspace.write("bin/tool.sh", "echo hello\n");
    site.workspace.write("skills/yaml.md", "# yaml\n");
    site
}

fn ids(rows: &Value) -> Vec<&str> {
    rows.as_array().expect("a list").iter().map(|row| row["id"].as_str().expect("an id")).collect()
}

#[test]
fn a_check_says_which_tools_are_there() {
    let site = site();
    let one = site.json(["check", "shout", "shout"]).expect(0);
    assert_eq!(ids(&one["tools"]), ["shout"]);
    assert_eq!(one["counts"], json!({"available": 1, "missing": 0, "outdated": 0, "unknown": 0}));
    assert_eq!(one["ran_checks"], json!(false));
    assert!(one["tools"][0]["program"].as_str().unwrap().ends_with("/sh"));

    let all = site.json(["check", "--all"]).expect(1);
    assert_eq!(ids(&all["tools"]), ["shout", "yq", "read-yaml", "browse"]);
    assert_eq!(all["counts"], json!({"available": 2, "missing": 2, "outdated": 0, "unknown": 0}));
    let yq = &all["tools"][1];
    assert_eq!((&yq["state"], &yq["source"]), (&json!("missing"), &json!("cli")));
    assert_eq!(yq["reasons"][0]["code"], "program_missing");
    let version = json!({"required": ">=4.30, <5", "observed": null, "observed_at": null, "satisfied": null});
    assert_eq!(yq["version"], version);
    assert_eq!(yq["install"]["docs"], "https://example.org/yq");

    site.tools(["check", "nope"]).assert_code(1);
    let text = site.tools(["show", "yq"]).stdout_text();
    assert!(text.contains("the program `no-such-yq` is not found on this host"), "{text}");
}

#[test]
fn command_lines_that_select_nothing_are_refused() {
    let site = site();
    for line in [
        "check",
        "check yq --all",
        "find --json",
        "find --available",
        "find --source nonsense",
        "find --capability x --match some",
        "list --family nonsense",
        "list --as local --available",
    ] {
        site.tools(line.split(' ')).assert_code(2);
    }
    let text = site.tools(["list", "--level", "discovered"]);
    assert_eq!(text.stdout_text(), "nothing was discovered yet\n");
    assert!(text.stderr_text().contains("brigade tools sync"), "{text}");
    let text = site.tools(["list", "--category", "data"]).stdout_text();
    assert!(text.contains("yq") && !text.contains("shout"), "{text}");
}

#[test]
fn discovered_tools_are_suggested_but_not_callable() {
    let site = site();
    let none = site.json(["find", "--capability", "query database"]).expect(0);
    assert_eq!((&none["suggestions"], &none["discovered_at"]), (&json!([]), &Value::Null));
    let cursor = site.workspace.home().join(".cursor");
    std::fs::create_dir_all(&cursor).unwrap();
    let servers = r#"{"mcpServers": {"database-query": {"command": "npx"}, "weather": {"command": "npx"}}}"#;
    std::fs::write(cursor.join("mcp.json"), servers).unwrap();
    let skill = site.workspace.home().join(".claude/skills/charts");
    std::fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: charts\ndescription: Draws a chart of any table\n---\n# Charts\n";
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    // Only `sync` scans.
    assert_eq!(site.json(["search", "weather"]).expect(0)["suggestions"], json!([]));
    site.json(["sync"]).expect(0);

    let found = site.json(["find", "--capability", "query_database"]).expect(0);
    assert_eq!(
        (ids(&found["matches"]), ids(&found["suggestions"])),
        (vec!["browse"], vec!["mcp:database-query"])
    );
    assert_eq!(found["suggestions"][0]["harnesses"], json!(["cursor"]));
    assert!(found["discovered_at"].as_str().unwrap().starts_with("20"));
    assert_eq!((&found["suggestion_count"], &found["gaps"]), (&json!(1), &json!([])));
    // A suggestion is not a match.
    let alone = site.json(["find", "--capability", "weather"]).expect(1);
    assert_eq!((ids(&alone["suggestions"]), &alone["gaps"]), (vec!["mcp:weather"], &json!(["weather"])));
    assert_eq!(ids(&site.json(["find", "--source", "skill"]).expect(0)["suggestions"]), ["skill:charts"]);
    let text = site.tools(["find", "--capability", "weather"]);
    assert!(text.stderr_text().contains("callable only when registered"), "{text}");

    let searched = site.json(["search", "chart table"]).expect(0);
    assert_eq!((ids(&searched["suggestions"]), &searched["match_count"]), (vec!["skill:charts"], &json!(0)));
    assert_eq!(searched["discovered_at"], found["discovered_at"]);
    let listed = site.json(["list", "--level", "discovered"]).expect(0);
    assert_eq!((&listed["tools"], &listed["tool_count"]), (&json!([]), &json!(0)));
    let ids_of = ids(&listed["discovered"]).join(" ");
    assert!(
        ["mcp:database-query", "mcp:weather", "skill:charts"].iter().all(|id| ids_of.contains(id)),
        "{ids_of}"
    );
    assert_eq!(listed["discovered_at"], found["discovered_at"]);
    let text = site.tools(["list", "--level", "discovered", "--category", "no-such"]).stdout_text();
    assert_eq!(text, "no discovered entry fits\n");
    assert!(site.json(["list"]).expect(0).get("discovered_at").is_none());
    // A suggestion is not a tool, so it cannot be planned, checked or installed.
    for words in [
        &["call", "plan", "mcp:weather"][..],
        &["check", "mcp:weather"],
        &["install", "mcp:weather"],
        &["show", "mcp:weather"],
    ] {
        site.json(words).expect(1);
    }
}

#[test]
fn runs_are_counted_from_receipts() {
    let site = Site::script_with("exit \"${1:-0}\"", "cost = { per_call = 0.002, unit = \"USD\" }");
    assert_eq!(site.json(["stats"]).expect(0)["tools"], json!([]));
    let never = site.json(["stats", "tool"]).expect(0);
    assert_eq!((&never["tools"][0]["runs"], &never["tools"][0]["first_used"]), (&json!(0), &Value::Null));
    for _ in 0..3 {
        site.receipt_of("tool", "{}");
    }
    let stats = site.json(["stats", "tool"]).expect(0);
    let tool = &stats["tools"][0];
    assert_eq!(tool["id"], "tool");
    assert_eq!((&tool["runs"], &tool["completed"], &tool["failed"]), (&json!(3), &json!(3), &json!(0)));
    assert_eq!((&tool["timed_out"], &tool["failures"], &tool["cost"]), (&json!(0), &json!(0), &json!(0.006)));
    assert!(tool["median_ms"].as_u64() <= tool["max_ms"].as_u64());
    assert!(tool["first_used"].as_str() < tool["last_used"].as_str());
    assert_eq!(site.json(["stats"]).expect(0)["tool_count"], 1);
    site.json(["stats", "nothing"]).expect(1);
    let text = site.tools(["stats"]).stdout_text();
    assert!(text.contains(" UTC (just now)"), "{text}");
}

/// Issue 15: an id was put into the next command unquoted, so that a shell could read more than a name.
#[test]
fn the_next_command_names_any_id() {
    let entry = |id: &str| {
        format!(
            "[[tool]]\nid = \"{id}\"\nname = \"n\"\nfamily = \"script\"\ncommand = \"sh\"\ncategories = [\"c\"]\n"
        )
    };
    let site = Site::empty();
    for (id, named) in [("-d", "-- -d"), ("a; touch x", "'a; touch x'"), ("$(touch x)", "'$(touch x)'")] {
        site.workspace.write(".brigade/tools.toml", entry(id));
        for words in [&["find", "--category", "c"][..], &["check", "--all"]] {
            let text = site.tools(words).stderr_text();
            assert!(text.contains(&format!("help: brigade tools show {named}\n")), "{text}");
        }
        let missing = entry(id).replace("\"sh\"", "\"no-such-program\"");
        let install = "install = { command = \"sh get.sh\" }\n";
        site.workspace.write(".brigade/tools.toml", missing + install);
        let text = site.tools(["check", "--all"]).stderr_text();
        assert!(text.contains(&format!("help: brigade tools install {named}\n")), "{text}");
        let version = "version = \"1\"\nversion_command = \"sh --version\"\n";
        site.workspace.write(".brigade/tools.toml", entry(id) + version);
        let text = site.tools(["check", "--all"]).stderr_text();
        assert!(text.contains("help: brigade tools check ") && text.contains(named), "{text}");
    }
}

#[test]
fn a_file_of_a_newer_schema_is_shown_and_nothing_else() {
    let site = site();
    let newer = format!("schema = 2\n{TOOLS}");
    site.workspace.write(".brigade/tools.toml", &newer);
    let is_told = |document: &Value| document["notes"].to_string().contains("needs a newer version");
    assert!(is_told(&site.json(["show", "shout"]).expect(0)));
    assert!(is_told(&site.json(["search", "shout"]).expect(0)));
    let found = site.json(["find", "--capability", "change case"]).expect(0);
    assert!(is_told(&found));
    assert_eq!(found["matches"][0]["callable"], false);
    let listed = site.json(["list"]).expect(0);
    assert_eq!(listed["tool_count"], 4);
    assert!(listed["issues"].to_string().contains("needs a newer version"));
    assert!(site.tools(["list"]).stderr_text().contains("needs a newer version"));
    site.json(["call", "plan", "shout"]).refused("catalog_schema_newer");
    site.json(["call", "queue", "shout"]).refused("catalog_schema_newer");
    site.tools(["defaults"]).assert_code(1);
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), newer);
}
