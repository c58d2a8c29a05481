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
fn a_tool_is_shown_with_its_registry_and_its_state() {
    let site = site();
    for command in ["show", "info"] {
        let shown = site.json([command, "yq"]).expect(0);
        let tool = &shown["tool"];
        assert_eq!(tool["level"], "project");
        assert_eq!(tool["source"], "cli");
        assert_eq!(tool["source_detail"], json!({"kind": "cli"}));
        assert_eq!(tool["aliases"], json!(["yaml-query"]));
        assert_eq!(tool["categories"], json!(["data"]));
        assert_eq!(tool["capabilities"], json!(["parse_yaml"]));
        assert_eq!(tool["availability"], "conditional");
        assert_eq!(tool["state"], "missing");
        assert_eq!(tool["reasons"][0]["code"], "program_missing");
        assert_eq!(tool["reasons"][0]["hint"], "see https://example.org/yq");
        assert_eq!(tool["version"], ">=4.30, <5");
        assert_eq!(tool["install"]["command"], json!(["brew install yq", "pip install yq"]));
        assert_eq!(tool["shadowed"], json!([]));
    }
    assert_eq!(site.json(["show", "shout"]).expect(0)["tool"]["state"], "available");
    assert_eq!(site.json(["show", "read-yaml"]).expect(0)["tool"]["state"], "available");
    assert_eq!(site.json(["show", "browse"]).expect(0)["tool"]["reasons"][0]["code"], "provider_missing");
    let text = site.tools(["show", "yq"]).stdout_text();
    assert!(text.contains("the program `no-such-yq` is not found on this host"), "{text}");
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
    site.tools(["check"]).assert_code(2);
    site.tools(["check", "yq", "--all"]).assert_code(2);
}

#[test]
fn tools_are_found_by_what_they_are_good_for() {
    let site = site();
    let found = site.json(["find", "--capability", "PARSE-yaml", "--capability", "fly"]).expect(0);
    assert_eq!(ids(&found["matches"]), ["yq", "read-yaml"]);
    let [yq, skill] = [&found["matches"][0], &found["matches"][1]];
    assert_eq!(
        (&yq["callable"], &yq["runs_in"], &yq["state"]),
        (&json!(false), &json!("brigade"), &json!("missing"))
    );
    assert_eq!((&skill["callable"], &skill["runs_in"]), (&json!(false), &json!("harness")));
    assert_eq!(skill["categories"], json!(["Data"]));
    assert_eq!(yq["matched"], json!(["PARSE-yaml"]));
    assert_eq!(yq["unmatched"], json!(["fly"]));
    assert_eq!(found["gaps"], json!(["fly"]));
    assert_eq!((&found["match_count"], &found["suggestion_count"]), (&json!(2), &json!(0)));

    let find = |words: &[&str], code: i32| {
        let found = site.json(["find"].iter().chain(words)).expect(code);
        ids(&found["matches"]).join(" ")
    };
    assert_eq!(find(&["--category", "data", "--prefer-source", "skill"], 0), "read-yaml yq");
    assert_eq!(find(&["--category", "data", "--available"], 0), "read-yaml");
    assert_eq!(find(&["--category", "data", "--limit", "1"], 0), "yq");
    assert_eq!(find(&["--source", "harness", "--source", "cli"], 0), "yq browse");
    assert_eq!(find(&["--capability", "change case", "--category", "data"], 1), "");
    let both = ["--capability", "print_text", "--capability", "change_case", "--match", "all"];
    assert_eq!(find(&both, 0), "shout");
    assert_eq!(find(&["--capability", "fly"], 1), "");

    site.tools(["find", "--json"]).assert_code(2);
    site.tools(["find", "--available"]).assert_code(2);
    site.tools(["find", "--source", "nonsense"]).assert_code(2);
    site.tools(["find", "--capability", "x", "--match", "some"]).assert_code(2);
}

/// Tools with the same capability are ordered by usability.
#[test]
fn matches_are_ordered_by_usability() {
    let site = site();
    let entry = |id: &str, family: &str, more: &str| {
        format!("[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"{family}\"\n{more}\n")
    };
    let does = "capabilities = [\"do it\"]";
    let there = format!("command = \"sh bin/tool.sh\"\n{does}");
    let project = [
        entry("z-there", "script", &there),
        entry("b-there", "script", &there),
        entry("gone", "script", &format!("command = \"no-such-program\"\n{does}")),
        entry("twice", "script", "command = \"no-such-program\"\ncapabilities = [\"do it\", \"and more\"]"),
        entry("read", "skill", &format!("source_path = \"skills/yaml.md\"\n{does}")),
        entry("off", "script", &format!("enabled = false\n{there}")),
        entry("broken", "script", &format!("timeout = 0\n{there}")),
    ];
    site.workspace.write(".brigade/tools.toml", project.concat());
    let user = site.workspace.home().join(".config/brigade");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("tools.toml"), entry("a-user", "script", &there)).unwrap();
    let find = |words: &[&str]| {
        let asked = ["find", "--capability", "do-it", "--capability", "AND MORE"];
        ids(&site.json(asked.iter().chain(words)).expect(0)["matches"]).join(" ")
    };
    assert_eq!(find(&[]), "twice b-there z-there a-user gone read");
    assert_eq!(find(&["--prefer-source", "skill"]), "read twice b-there z-there a-user gone");
    assert_eq!(find(&["--available"]), "b-there z-there a-user read");
    assert_eq!(find(&["--match", "all"]), "twice");
    let found = site.json(["find", "--source", "script", "--limit", "2"]).expect(0);
    assert_eq!((ids(&found["matches"]), &found["match_count"]), (vec!["b-there", "z-there"], &json!(2)));
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
fn harness_tools_are_offered_unless_switched_off() {
    let site = site();
    site.json(["find", "--source", "harness"]).expect(0);
    site.workspace.write(".brigade/tools.toml", format!("[registry]\nharness_tools = false\n{TOOLS}"));
    site.json(["find", "--source", "harness"]).expect(1);
}

#[test]
fn refused_tools_are_found_but_not_callable() {
    let site = site();
    site.workspace.write(".brigade/tools/policy.toml", "allowed_families = [\"mcp\"]\n");
    let found = site.json(["find", "--capability", "change_case"]).expect(0);
    assert_eq!(found["matches"][0]["callable"], false);
    assert_eq!(found["matches"][0]["state"], "available");
    assert!(!found["matches"][0]["reasons"].as_array().unwrap().is_empty());
}

/// A tool is callable if a plan has no blockers.
#[test]
fn tools_that_no_plan_allows_are_not_callable() {
    let site = site();
    let tool = |id: &str, rest: &str| {
        format!(
            "[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"script\"\ndescription = \"d\"\ncapabilities = [\"x\"]\n{rest}\n"
        )
    };
    let ready = "effects = [\"local-read\"]\npermissions = [\"p\"]\napproval_mode = \"on-request\"\ntimeout = 5\n\
                 input_schema_path = \"any.json\"";
    site.workspace.write("any.json", "{\"type\": \"object\"}");
    let tools = [
        tool("good", &format!("command = \"cat\"\n{ready}")),
        tool("shell", &format!("command = \"sh -c 'echo x'\"\n{ready}")),
        tool(
            "secret",
            &format!("command = \"cat --token ghp_abcdefghijklmnopqrstuvwxyz0123456789\"\n{ready}"),
        ),
        tool("bare", "command = \"cat\""),
        tool("gone", &format!("command = \"no-such-program-here\"\n{ready}")),
    ];
    site.workspace.write(".brigade/tools.toml", tools.concat());
    let found = site.json(["find", "--capability", "x"]).expect(0);
    assert_eq!(found["match_count"], tools.len());
    for row in found["matches"].as_array().unwrap() {
        let id = row["id"].as_str().unwrap();
        let plan = site.json(["call", "plan", id, "--args", "{}"]);
        let plan = if id == "good" { plan.expect(0) } else { plan.expect(1) };
        assert_eq!(row["callable"], id == "good", "{row} {plan}");
        let reasons: Vec<&Value> =
            row["reasons"].as_array().unwrap().iter().map(|reason| &reason["message"]).collect();
        assert_eq!(reasons.is_empty(), id == "good", "{row}");
        let is_said_once = |reason: &&Value| reasons.iter().filter(|other| *other == reason).count() == 1;
        assert!(reasons.iter().all(is_said_once), "{row}");
    }
}

#[test]
fn search_uses_labels_and_words_in_any_order() {
    let site = site();
    let search = |text: &str| {
        let found = site.json(["search", text]).expect(0);
        let rows = found["matches"].as_array().unwrap().clone();
        let row = |row: &Value| {
            format!("{} {} {}", row["id"].as_str().unwrap(), row["match"].as_str().unwrap(), row["score"])
        };
        rows.iter().map(row).collect::<Vec<_>>()
    };
    // `_`, `-` and spaces are equal (issue 15).
    assert_eq!(search("query database"), ["browse phrase 0.9"]);
    assert_eq!(search("database query"), ["browse words 0.8"]);
    assert_eq!(search("YAML-QUERY"), ["yq exact 1.0"]);
    assert_eq!(search("yaml"), ["yq phrase 0.9", "read-yaml phrase 0.9"]);
    assert_eq!(search("capitals print"), ["shout words 0.8"]);
    assert_eq!(search("nothing of this"), Vec::<String>::new());
    assert_eq!(search(""), Vec::<String>::new());
}

#[test]
fn the_list_is_filtered_by_what_entries_say() {
    let site = site();
    let list = |words: &[&str]| {
        let listed = site.json(["list"].iter().chain(words)).expect(0);
        assert_eq!(listed["tool_count"], listed["tools"].as_array().unwrap().len());
        ids(&listed["tools"]).join(" ")
    };
    assert_eq!(list(&[]), "shout yq read-yaml browse");
    assert_eq!(list(&["--category", "data"]), "yq read-yaml");
    assert_eq!(list(&["--capability", "parse yaml", "--source", "skill"]), "read-yaml");
    assert_eq!(list(&["--family", "script"]), "shout yq");
    assert_eq!(list(&["--level", "project", "--available"]), "shout read-yaml");
    assert_eq!(list(&["--level", "user"]), "");
    assert_eq!(site.json(["list", "--level", "discovered"]).expect(0)["discovered"], json!([]));
    let text = site.tools(["list", "--level", "discovered"]);
    assert_eq!(text.stdout_text(), "nothing was discovered yet\n");
    assert!(text.stderr_text().contains("brigade tools sync"), "{text}");
    assert!(site.json(["list"]).expect(0).get("discovered").is_none());
    let text = site.tools(["list", "--category", "data"]).stdout_text();
    assert!(text.contains("yq") && !text.contains("shout"), "{text}");
    site.tools(["list", "--family", "nonsense"]).assert_code(2);
    site.tools(["list", "--as", "local", "--available"]).assert_code(2);
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

#[test]
fn a_changed_version_ends_an_approval() {
    let site = Site::script_with("echo hi", "version = \">=1\"");
    let call = site.approved("tool", "{}");
    site.workspace.replace(".brigade/tools.toml", ">=1", ">=2");
    site.run_call(&call).refused("contract");
}
