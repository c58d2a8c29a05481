//! Tools that are part of Brigade, at the command line and over MCP.

#![allow(clippy::unwrap_used, reason = "a test that cannot read an answer fails")]

use std::collections::BTreeSet;

use brigade::profile::builtin::{Definition, Fact, ToolApproval, definitions};
use brigade::profile::{AccessLevel, Mode};
use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, add, assert_stands, id_of, runs, stands, text};

/// A policy that offers built-in tools and has a rule for file tools.
const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "local-delete", "state-write", "memory-write", "process-control", "process-exec", "remote-read", "remote-mutation"]

[[auto_approve]]
name = "files"
tools = ["fs.*"]
effects = ["local-read", "local-write", "local-delete"]
"#;

fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write("a.txt", "one\ntwo\n");
    site
}

fn receipt(site: &Site, call: &str) -> Value {
    let shown = site.json(["call", "show", call]).expect(0);
    let run = shown["call"]["run_id"].as_str().map(str::to_owned);
    let run = run.or_else(|| shown["call"]["receipt_path"].as_str().map(|path| path.to_owned()));
    let run = run.unwrap_or_else(|| panic!("no run: {shown:#}"));
    let name = run.rsplit('/').next().unwrap().trim_end_matches(".json").to_owned();
    let text = site.workspace.read_text(format!(".brigade/tools/runs/{name}.json"));
    serde_json::from_str(&text).unwrap()
}

/// Issues 14 and 17: the row of a built-in tool determines who approves its calls.
#[test]
fn the_approval_of_a_built_in_tool_is_that_of_its_row() {
    let site = site();
    let mut approvals = BTreeSet::new();
    for row in definitions().iter().filter(|row| !row.is_control) {
        if approvals.insert(row.approval.as_str()) {
            let shown = site.json(["show", row.id]).expect(0);
            assert_eq!(shown["tool"]["approval"], row.approval.as_str(), "{}", row.id);
        }
    }
    let explained = |tool: &str| site.json(["policy", "explain", tool, "--as", "local"]).expect(0);
    assert_eq!(explained("fs.read")["agent"]["rule"], "files");
    assert_eq!(explained("ask.user")["agent"]["rule"], "none");
    assert_eq!(explained("git.push")["agent"]["rule"], Value::Null);
    let text = site.tools(["policy", "explain", "todo.write", "--as", "local"]).stdout_text();
    assert!(text.contains("not applicable: its calls need no approval"), "{text}");
}

/// Issue 17: without another repository, commits of the workspace are listed.
#[test]
fn git_log_is_that_of_the_workspace() {
    let site = site();
    let row = definitions().iter().find(|row| row.id == "git.log").unwrap();
    assert!(!row.input_schema().to_compact().contains("required"), "{}", row.input_schema().to_compact());
    let queued = site.json(["call", "queue", "git.log", "--args", "{}", "--include-blocked"]).expect(0);
    assert!(!queued.to_string().contains("binding_id: required"), "{queued:#}");
}

#[test]
fn a_command_line_call_is_handled_like_every_call() {
    let site = site();
    let args = r#"{"path": "new/b.txt", "content": "three\n"}"#;
    let queued = site.json(["call", "queue", "fs.write", "--args", args]).expect(0);
    let id = queued["call"]["id"].as_str().unwrap().to_owned();
    assert!(!site.workspace.exists("new/b.txt"));
    site.json(["call", "run", &id]).expect(1);
    site.json(["call", "approve", &id]).expect(0);
    let run = site.json(["call", "run", &id]).expect(0);
    assert_eq!(site.workspace.read_text("new/b.txt"), "three\n");
    let receipt = &run["receipt"];
    assert_eq!((&receipt["executor"], &receipt["family"]), (&json!("builtin"), &json!("builtin")));
    assert_eq!(receipt["executor_version"], json!(env!("CARGO_PKG_VERSION")));
    assert_eq!((&receipt["argv"], &receipt["effects"]), (&json!([]), &json!(["local-write"])));
    let touched = &receipt["touched"][0];
    assert_eq!((&touched["path"], &touched["before"]), (&json!("new/b.txt"), &Value::Null));
    assert_eq!(touched["after"].as_str().map(str::len), Some(64));
    // A repeated request waits for a person again.
    let run_id = receipt["id"].as_str().unwrap();
    let replay = site.json(["run", "replay", run_id]).expect(0);
    assert_eq!(replay["call"]["status"], "pending");
    // A failure has a code and does not count as success.
    let args = r#"{"path": "a.txt", "target_content": "none", "replacement_content": "$&"}"#;
    let queued = site.json(["call", "queue", "fs.edit", "--args", args]).expect(0);
    let id = queued["call"]["id"].as_str().unwrap();
    site.json(["call", "approve", id]).expect(0);
    let run = site.json(["call", "run", id]).expect(1);
    assert_eq!(
        (&run["receipt"]["status"], &run["receipt"]["error_code"]),
        (&json!("failed"), &json!("target_not_found"))
    );
    assert_eq!(site.workspace.read_text("a.txt"), "one\ntwo\n");
    site.json(["audit", "verify"]);
}

#[track_caller]
fn check_plan(site: &Site, tool: &str, args: &str, code: &str) {
    let plan = site.json(["call", "plan", tool, "--args", args]).expect(1);
    let codes: Vec<&str> =
        plan["blocker_details"].as_array().unwrap().iter().filter_map(|row| row["code"].as_str()).collect();
    assert!(codes.contains(&code), "{tool} {args}: {codes:?}");
}

#[test]
fn problems_known_at_the_plan_are_reported_there() {
    let site = site();
    site.workspace.write(".env", "KEY=1\n");
    check_plan(&site, "fs.read", r#"{"path": ".env.d/v"}"#, "protected_path");
    check_plan(&site, "fs.glob", r#"{"path": ".env", "pattern": "*"}"#, "protected_path");
    check_plan(&site, "fs.read", r#"{"path": "../x"}"#, "path_outside");
    check_plan(&site, "fs.read", r#"{"path": "/etc/passwd"}"#, "path_outside");
    check_plan(&site, "fs.read", r#"{"path": ".env"}"#, "protected_path");
    check_plan(&site, "fs.write", r#"{"path": ".git/hooks/x", "content": ""}"#, "protected_path");
    check_plan(&site, "fs.list", r#"{"path": ".brigade"}"#, "protected_path");
    check_plan(&site, "fs.read", r#"{"path": "a.txt", "force": true}"#, "invalid_args");
    check_plan(&site, "git.push", r#"{"binding_id": "workspace"}"#, "not_available_here");
    check_plan(&site, "session.init", "{}", "not_available_here");
    check_plan(&site, "workflow.promote", r#"{"name": "x", "target_scope": "user"}"#, "invalid_args");
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\n[builtin]\nprotected = [\"private/**\"]\n");
    check_plan(&site, "fs.read", r#"{"path": "private/a"}"#, "protected_path");
    let secrets = format!("{RULES}[paths]\nreadable_secrets = [\".env\"]\n");
    site.workspace.write(POLICY, secrets);
    site.json(["call", "plan", "fs.read", "--args", r#"{"path": ".env"}"#]).expect(0);
    // Without the family in the policy, no such tool is available.
    for policy in
        [RULES.replace("\"builtin\"", "\"script\""), RULES.replace("allowed_families", "allowed_runtimes")]
    {
        site.workspace.write(POLICY, policy);
        check_plan(&site, "fs.read", r#"{"path": "a.txt"}"#, "policy_family");
    }
}

#[test]
fn lists_include_built_in_tools_only_on_request() {
    let site = site();
    let ids = |words: &[&str]| -> Vec<String> {
        let listed = site.json(words.iter().copied()).expect(0);
        let rows = listed["tools"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    assert!(ids(&["list"]).is_empty());
    // Built-in tools exist without a catalog. For other lists, a missing catalog is an error.
    let bare = Site::empty();
    bare.workspace.write(POLICY, "allowed_families = [\"builtin\"]\n");
    assert!(20 < bare.json(["list", "--family", "builtin"]).expect(0)["tools"].as_array().unwrap().len());
    bare.tools(["list", "--family", "builtin"]).assert_code(0);
    bare.tools(["list"]).assert_code(1);
    let own = ids(&["list", "--family", "builtin"]);
    assert!(own.contains(&"fs.read".to_owned()), "{own:?}");
    let shown = ids(&["list", "--as", "local"]);
    assert!(shown.contains(&"fs.read".to_owned()), "{shown:?}");
    let shown = site.json(["show", "fs.read"]).expect(0);
    assert_eq!(shown["tool"]["id"], "fs.read");
}

fn client(site: &Site, profiles: &[&str]) -> Client {
    let mut words = Vec::new();
    for profile in profiles {
        words.extend(["--profile", profile]);
    }
    let mut client = Client::start(site, &words);
    client.hello("2025-11-25", json!({}));
    client
}

/// Returns the names that a client lists.
fn listed(client: &mut Client) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut cursor = None;
    loop {
        let params = cursor.take().map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor}));
        let page = client.ask("tools/list", params)["result"].clone();
        names.extend(
            page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
        match page.get("nextCursor") {
            Some(next) if !next.is_null() => cursor = Some(next.clone()),
            _ => return names,
        }
    }
}

/// Returns whether an answer shows that the caller has the tool.
fn is_known(answer: &Value) -> bool {
    answer["error"].is_null() && about(&answer["result"])["code"] != "not_available_here"
}

/// Returns whether the columns of a row make the tool visible.
fn is_meant(row: &Definition, mode: Mode, access: AccessLevel, permission: &str) -> bool {
    let only_reads = |effect: &&str| ["local-read", "remote-read", "session"].contains(effect);
    let is_of_permission = match (permission, row.id) {
        (_, "session.exit_plan") => permission == "permission.plan",
        ("permission.plan", _) => row.effects.iter().all(only_reads),
        _ => true,
    };
    !row.is_control
        && row.needs.iter().all(|fact| matches!(fact, Fact::Session | Fact::Git))
        && (mode == Mode::Operator || row.modes.contains(&mode))
        && row.access <= access
        && is_of_permission
}

#[test]
fn every_name_is_callable_exactly_where_it_is_listed() {
    let site = site();
    let permissions = ["permission.plan", "permission.edit", "permission.full-auto"];
    // Each profile of each slot occurs. The rights of every combination are tested in `brigade-access`.
    let levels = AccessLevel::ALL.iter().cycle();
    for ((mode, access), permission) in Mode::ALL.iter().zip(levels).zip(permissions.iter().cycle()) {
        let profiles = [format!("mode.{}", mode.as_str()), format!("access.{}", access.as_str())];
        // A profile on top only narrows, so this test uses the agent's own profile.
        let own =
            format!("[[agent]]\nname = \"local\"\nprofiles = [\"access.operator\", \"{permission}\"]\n");
        site.workspace.write(GATEWAY, own);
        let mut client = client(&site, &[&profiles[0], &profiles[1]]);
        let names = listed(&mut client);
        let asked: Vec<(&Definition, &str, u64)> = definitions()
            .iter()
            .flat_map(|row| {
                let aliases = row.aliases.iter().filter(|alias| alias.tier.is_none());
                std::iter::once(row.id).chain(aliases.map(|alias| alias.name)).map(move |name| (row, name))
            })
            .map(|(row, name)| (row, name, client.send_call(name, json!({"unheard": true}))))
            .collect();
        for (row, name, id) in asked {
            let answer = client.answer(id);
            let context = format!("{name} {profiles:?} {permission}");
            assert_eq!(is_known(&answer), names.contains(row.id), "{context}: {answer}");
            if !row.is_control {
                assert_eq!(names.contains(row.id), is_meant(row, *mode, *access, permission), "{context}");
            }
        }
    }
}

#[test]
fn alias_maps_its_argument_names() {
    let site = site();
    let mut client = client(&site, &[]);
    for name in ["readFile", "read_file", "mcp__brigade__fs.read", "aegis.fs.read"] {
        let read = client.call(name, json!({"path": "a.txt", "limit": 1}));
        let cut = "one\n[cut, of 8 bytes; `fs.read` with offset 1 reads on]";
        assert_eq!((text(&read).as_str(), &about(&read)["tool"]), (cut, &json!("fs.read")), "{name}");
        assert_eq!(read["structuredContent"]["content"], "one\n");
    }
    let edited = client.call("editFile", json!({"path": "a.txt", "old_string": "two", "new_string": "$&"}));
    assert_stands(&edited, "completed", "");
    assert_eq!(site.workspace.read_text("a.txt"), "one\n$&\n");
    assert_eq!(receipt(&site, &id_of(&edited))["tool_id"], "fs.edit");
    let found = client.call("tools.call", json!({"name": "grep", "arguments": {"pattern": "one"}}));
    assert_eq!(text(&found), "a.txt:1:one");
    let twice = client.call(
        "editFile",
        json!({"path": "a.txt", "old_string": "a", "target_content": "b", "new_string": ""}),
    );
    assert_eq!(stands(&twice).1, "invalid_arguments");
    let failed = client.call("fs.read", json!({"path": "none"}));
    assert_stands(&failed, "failed", "not_found");
    assert_eq!(failed["isError"], true);
    for name in ["READFILE", "fs_read", "read", "zaru.unheard"] {
        let id = client.send_call(name, json!({}));
        assert_eq!(client.answer(id)["error"]["code"], -32602, "{name}");
    }
}

#[test]
fn missing_tool_is_explained_only_to_its_audience() {
    let site = site();
    let mut anybody = client(&site, &[]);
    for (name, word) in [
        ("git.push", "git.repository"),
        ("spawnChat", "worker.cli"),
        ("createTerminal", "cmd.run"),
        ("issue.close", "issues"),
    ] {
        let refused = anybody.call(name, json!({}));
        assert_stands(&refused, "refused", "not_available_here");
        assert!(text(&refused).contains(word), "{name}: {}", text(&refused));
    }
    let mut chat = client(&site, &["role.chat"]);
    for name in ["spawnChat", "createTerminal", "issue.close", "task.execute", "spawn_worker", "fs.raed"] {
        let id = chat.send_call(name, json!({}));
        assert_eq!(chat.answer(id)["error"]["code"], -32602, "{name}");
    }
    let mut other = RULES.replace("\"builtin\"", "\"script\"");
    other.push('\n');
    site.workspace.write(POLICY, other);
    let mut without = client(&site, &[]);
    for name in ["fs.read", "readFile", "git.push", "createTerminal"] {
        let id = without.send_call(name, json!({"path": "a.txt"}));
        assert_eq!(without.answer(id)["error"]["code"], -32602, "{name}");
    }
}

#[test]
fn a_tool_that_asks_always_waits_for_a_person() {
    let site = site();
    let mut client = client(&site, &[]);
    let row = definitions().iter().find(|row| row.id == "fs.delete").unwrap();
    assert_eq!(row.approval, ToolApproval::Ask);
    let asked = client.call("fs.delete", json!({"path": "a.txt"}));
    assert_stands(&asked, "pending", "approval_pending");
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    let done = client.call("call.wait", json!({"call_id": id_of(&asked)}));
    assert_stands(&done, "completed", "");
    assert!(!site.workspace.exists("a.txt"));
    // With this permission, the rule approves.
    site.workspace.write("b.txt", "b");
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\"]\n");
    let mut free = Client::connect(&site, "local");
    assert_stands(&free.call("fs.delete", json!({"path": "b.txt"})), "completed", "");
    assert!(!site.workspace.exists("b.txt"));
}

#[test]
fn a_path_outside_is_refused_for_every_agent() {
    let site = site();
    let mut client = client(&site, &[]);
    for path in ["../x", "/etc/passwd", "a/../../x", "~/x"] {
        assert_stands(&client.call("fs.read", json!({"path": path})), "refused", "path_outside");
    }
}

#[test]
fn built_in_tools_are_found_by_their_family_alone() {
    let site = site();
    let shown = site.json(["show", "fs.read"]).expect(0)["tool"].clone();
    for key in ["family", "level", "source"] {
        assert_eq!(shown[key], "builtin", "{key}");
    }
    assert_eq!((&shown["origin"]["level"], &shown["state"]), (&json!("builtin"), &json!("available")));
    let ids = |document: Value, id: &str| -> Vec<String> {
        let rows = document["matches"].as_array().unwrap().iter();
        rows.map(|row| row[id].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(site.json(["search", "multi edit"]).expect(0), "id"), [""; 0]);
    let searched = ids(site.json(["search", "multi edit", "--family", "builtin"]).expect(0), "id");
    assert!(searched.contains(&"fs.multi_edit".to_owned()), "{searched:?}");
    let found = ids(site.json(["find", "--family", "builtin"]).expect(0), "id");
    assert!(found.contains(&"fs.read".to_owned()), "{found:?}");
}

#[test]
fn the_doctor_explains_what_is_missing_when_asked() {
    let site = site();
    assert_eq!(site.json(["doctor"]).expect(0).get("missing_tools"), None);
    let report = site.json(["doctor", "--explain-missing"]).expect(0);
    let missing = report["missing_tools"].as_array().unwrap();
    let of = |id: &str| missing.iter().find(|row| row["tool_id"] == id);
    assert!(of("fs.read").is_none(), "{report:#}");
    let said = site.brigade.run(["tools", "doctor", "--explain-missing"]).stdout_text();
    assert!(said.contains("worker.cli: name a worker as `[[worker]]`"), "{said}");
}

#[test]
fn the_receipt_has_changes_of_files_in_volumes() {
    let site = site();
    let rules = RULES.replace("[\"fs.*\"]", "[\"volume.*\", \"file.*\"]").replace(
        "effects = [\"local-read\", \"local-write\", \"local-delete\"]\n",
        "effects = [\"local-read\", \"local-write\", \"local-delete\", \"state-write\"]\n",
    );
    site.workspace.write(POLICY, rules);
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\"]\n");
    let mut client = Client::connect(&site, "local");
    let made = client.call("volume.create", json!({"label": "data", "size_limit_bytes": 1000}));
    let id = made["structuredContent"]["volume_id"].as_str().unwrap_or_else(|| panic!("{made:#}")).to_owned();
    let mut touched = |tool: &str, more: Value| {
        let mut args = json!({"volume_id": id});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let done = client.call(tool, args);
        assert_stands(&done, "completed", "");
        let run = done["_meta"]["brigade/call"]["run_id"].as_str().unwrap();
        site.json(["run", "show", run]).expect(0)["run"]["touched"].clone()
    };
    let path = format!(".brigade/volumes/{id}/a/b");
    let written = touched("file.write", json!({"path": "a/b", "content": "one"}));
    assert_eq!((&written[0]["path"], &written[0]["before"]), (&json!(path), &json!(null)), "{written:#}");
    let hash = written[0]["after"].clone();
    let read = touched("file.read", json!({"path": "a/b"}));
    assert_eq!((&read[0]["before"], &read[0]["after"]), (&hash, &hash));
    let deleted = touched("file.delete", json!({"path": "a", "recursive": true}));
    assert_eq!(deleted, json!([{"path": path, "before": hash, "after": null}]));
}

#[test]
fn a_report_runs_at_once_and_has_a_receipt() {
    let site = site();
    let mut client = client(&site, &[]);
    let report = client.call(
        "reportCompletion",
        json!({"status": "completed", "summary": "Done.", "artifacts": [{"reference": "a.txt"}, {"reference": "no"}]}),
    );
    assert_stands(&report, "completed", "");
    assert_eq!(report["structuredContent"]["missing_references"], json!(["no"]));
    let run = report["_meta"]["brigade/call"]["run_id"].as_str().unwrap();
    let receipt = site.json(["run", "show", run]).expect(0)["run"].clone();
    assert_eq!(receipt["touched"][0]["path"], "a.txt", "{receipt:#}");
    assert!(receipt["stdout_summary"].as_str().unwrap().contains("report-"), "{receipt:#}");
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
    let blocked = client.call("report.completion", json!({"status": "blocked", "summary": "No."}));
    assert_eq!(stands(&blocked).1, "blocker_needed", "{blocked:#}");
}

#[test]
fn arguments_are_validated_before_other_checks() {
    let site = site();
    let mut client = client(&site, &[]);
    for args in [json!({"path": 5}), json!({"path": null}), json!({"path": "../x", "pth": 1})] {
        assert_stands(&client.call("fs.read", args), "refused", "invalid_arguments");
    }
    // As in JSON Schema, a number without a fraction is an integer.
    let read = client.call("fs.read", json!({"path": "a.txt", "limit": 1.0, "offset": 1e0}));
    assert_stands(&read, "completed", "");
    assert_stands(
        &client.call("fs.read", json!({"path": "a.txt", "limit": 1.5})),
        "refused",
        "invalid_arguments",
    );
}

#[test]
fn the_doctor_knows_runs_of_built_in_tools() {
    let site = site();
    let mut client = client(&site, &[]);
    assert_stands(&client.call("fs.read", json!({"path": "a.txt"})), "completed", "");
    let issues = site.json(["doctor", "--only", "run_replay_blocked"]).expect(0)["issues"].clone();
    assert_eq!(issues, json!([]));
}

/// Aliases in the catalog do not affect built-in tools: an agent calls the tool for which its rights were checked.
#[test]
fn a_catalog_alias_never_replaces_a_built_in_tool() {
    let site = site();
    site.workspace.write(
        POLICY,
        RULES.replace("[\"builtin\"]", "[\"builtin\", \"script\"]").replace("\"fs.*\"", "\"*\""),
    );
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}}}"#;
    site.workspace.write("schemas/text.json", schema);
    let aliases = "aliases = [\"fs.read\", \"readFile\", \"call.status\", \"fine\"]\n";
    add(&site, "my-tool", aliases, "echo x >> \"$(basename \"$0\").ran\"\n");
    let profile = "[[profile]]\nname = \"context.closed\"\n[[profile.rule]]\nmatch = \"id:my-tool\"\naction = \"deny\"\n\
                   [[profile.rule]]\nmatch = \"id:*\"\naction = \"allow\"\n";
    site.workspace.write(".brigade/tools/profiles.toml", profile);
    let agent = |name: &str, more: &str| {
        format!("[[agent]]\nname = {name:?}\nprofiles = [\"permission.full-auto\"{more}]\n")
    };
    site.workspace.write(GATEWAY, agent("local", "") + &agent("ann", ", \"context.closed\""));
    for name in ["local", "ann"] {
        let mut client = Client::connect(&site, name);
        for called in ["fs.read", "readFile", "mcp__brigade__fs.read"] {
            let answer = client.call(called, json!({"path": "a.txt"}));
            assert_stands(&answer, "completed", "");
            assert_eq!(
                (&about(&answer)["tool"], text(&answer)),
                (&json!("fs.read"), "one\ntwo\n".to_owned())
            );
        }
        let unknown = json!({"name": "fine", "arguments": {"path": "a.txt"}});
        assert_eq!(
            client.refused("tools/call", unknown),
            -32602,
            "an alias of the catalog is not a name here"
        );
        client.close_input();
    }
    assert_eq!(runs(&site, "my-tool"), 0);
    let plan = |name: &str, code: i32| {
        site.json(["call", "plan", name, "--args", r#"{"path": "a.txt"}"#]).expect(code)["tool_id"].clone()
    };
    assert_eq!((plan("fs.read", 0), plan("fine", 0)), (json!("fs.read"), json!("my-tool")));
    assert_eq!(site.json(["call", "plan", "readFile", "--args", "{}"]).expect(1)["code"], "tool_missing");
    let issues = site.json(["doctor", "--only", "alias_taken"]).expect(0)["issues"].clone();
    let details: Vec<&str> =
        issues.as_array().unwrap().iter().map(|issue| issue["detail"].as_str().unwrap()).collect();
    assert_eq!(details.len(), 3, "{issues:#}");
    for (detail, alias) in details.iter().zip(["fs.read", "readFile", "call.status"]) {
        assert!(detail.contains(&format!("`{alias}` leads nowhere")), "{detail}");
    }
}

/// Issue 17: neither does a catalog entry with another name of such a tool as its id.
#[test]
fn no_id_of_the_catalog_takes_over_a_tool_of_brigade() {
    let site = site();
    let rules = RULES.replace("[\"builtin\"]", "[\"builtin\", \"script\"]").replace("\"fs.*\"", "\"*\"");
    site.workspace.write(POLICY, rules);
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}}}"#;
    site.workspace.write("schemas/text.json", schema);
    for id in ["readFile", "read.file", "aegis.fs.read", "mine"] {
        add(&site, id, "", "echo mine\n");
    }
    site.trust(["mine"]);
    for (style, is_listed) in [("dotted", true), ("plain", false)] {
        let mut client = Client::start(&site, &["--profile", "permission.full-auto", "--names", style]);
        client.hello("2025-11-25", json!({}));
        let names = listed(&mut client);
        let ours: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| ["mine", "read.file"].contains(name)).collect();
        let expect: &[&str] = if is_listed { &["mine", "read.file"] } else { &["mine"] };
        assert_eq!(ours, expect, "{style}");
        assert!(!names.contains("readFile") && !names.contains("read_file"), "{style}");
        for called in ["readFile", "read_file", "aegis.fs.read"] {
            let answer = client.call(called, json!({"path": "a.txt"}));
            assert_stands(&answer, "completed", "");
            assert_eq!(
                (&about(&answer)["tool"], text(&answer)),
                (&json!("fs.read"), "one\ntwo\n".to_owned())
            );
        }
        assert_eq!(text(&client.call("mine", json!({"text": "x"}))), "mine\n");
        client.close_input();
    }
    let issues = site.json(["doctor", "--only", "reserved_tool_id"]).expect(0)["issues"].clone();
    let ids: Vec<&str> =
        issues.as_array().unwrap().iter().map(|issue| issue["tool_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["readFile", "aegis.fs.read"], "{issues:#}");
}

/// Issue 17: the policy's cap also applies to output of Brigade, and receipts count that output.
#[test]
fn output_of_built_in_tools_is_capped_and_counted() {
    let site = site();
    let rules = RULES
        .replace("\"fs.*\"", "\"fs.*\", \"script.*\"")
        .replace("effects = [\"local-read\"", "effects = [\"state-write\", \"local-read\"");
    site.workspace.write(POLICY, format!("max_output_bytes = \"6KiB\"\n{rules}"));
    let line = "x".repeat(59) + "\n";
    site.workspace.write("long.txt", line.repeat(400));
    let mut client = client(&site, &["permission.full-auto"]);
    let log = |answer: &Value| {
        let receipt = receipt(&site, &id_of(answer));
        let kept = site.workspace.read_text(receipt["stdout_log_path"].as_str().unwrap()).len();
        let stdout = &receipt["output"]["stdout"];
        assert_eq!(stdout["bytes"], json!(kept), "{receipt:#}");
        assert!(kept <= 6 << 10, "{kept}");
        stdout["dropped"].as_u64().unwrap()
    };
    let part = client.call("fs.read", json!({"path": "long.txt"}));
    assert_stands(&part, "completed", "");
    assert_eq!(
        (&part["structuredContent"]["truncated"], &about(&part)["truncated"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(log(&part), 0, "it is cut by lines, as by the gateway's own limit");
    let read = part["structuredContent"]["content"].as_str().unwrap().lines().count();
    assert!(10 < read, "{part:#}");
    let rest = client.call("fs.read", json!({"path": "long.txt", "offset": read, "limit": 1}));
    assert_eq!(rest["structuredContent"]["content"], line);
    // All other texts are cut, too. The stored result is the cut one, and stays the same for later requests.
    let saved = client.call("script.save", json!({"name": "long", "code": "y".repeat(20_000)}));
    let id = saved["structuredContent"]["id"].clone();
    let all = client.call("script.get", json!({"id": id}));
    assert_stands(&all, "completed", "");
    assert!(10_000 < log(&all), "what was dropped is counted");
    let code = all["structuredContent"]["versions"][0]["code"].as_str().unwrap();
    assert!(1_000 < code.len() && text(&all).contains("`max_output_bytes`"), "{all:#}");
    assert_eq!((&all["structuredContent"]["id"], &about(&all)["truncated"]), (&id, &json!(true)));
    let again = client.call("call.wait", json!({"call_id": id_of(&all)}));
    assert_stands(&again, "completed", "");
    assert_eq!(
        (&again["structuredContent"], &again["content"]),
        (&all["structuredContent"], &all["content"])
    );
    let used = client.call("budget.get", json!({}))["structuredContent"]["output"]["used"].clone();
    assert!(Some(6 << 10) < used.as_u64(), "{used}");
}

/// Issue 17: members of a schema were cut, and the omitted part was not available.
#[test]
fn capped_result_fits_schema_and_can_be_repeated() {
    let site = site();
    let rules = RULES.replace("\"fs.*\"", "\"fs.*\", \"schema.*\", \"agent.*\", \"system.*\"");
    let rules = rules.replace("effects = [\"local-read\"", "effects = [\"state-write\", \"local-read\"");
    site.workspace.write(POLICY, format!("max_output_bytes = 300\n{rules}"));
    site.workspace.write(
        GATEWAY,
        "[[agent]]\nname = \"local\"\nprofiles = [\"access.operator\", \"permission.full-auto\"]\n",
    );
    let mut client = Client::connect(&site, "local");
    let faulty = "apiVersion: 1\nkind: Agent\nfoo: 1\nspec: 3\n";
    let mut check = |tool: &str, args: Value, expect: Value| {
        let all = client.call(tool, args);
        assert_eq!(all["structuredContent"], expect, "{all:#}");
        assert_eq!(about(&all)["truncated"], true, "{all:#}");
        let again = client.call("call.wait", json!({"call_id": id_of(&all)}));
        for part in ["structuredContent", "content", "isError"] {
            assert_eq!(again[part], all[part], "{part}");
        }
        assert_eq!(about(&again)["code"], about(&all)["code"]);
        about(&all)["code"].clone()
    };
    let schema = json!({"key": "agent/manifest/v1"});
    assert_eq!(check("schema.get", schema, json!({"truncated": true})), Value::Null);
    let failed = check("agent.create", json!({"manifest_yaml": faulty}), Value::Null);
    assert_eq!(failed, "invalid_manifest");
    let list = client.call("fs.list", json!({"path": "."}));
    assert_stands(&list, "completed", "");
    assert_eq!(list["structuredContent"]["status"], "success");
}

#[test]
fn a_report_hashes_no_file_that_is_closed_to_reading() {
    let site = site();
    site.workspace.write(
        GATEWAY,
        "[[agent]]\nname = \"local\"\nprofiles = [\"access.operator\", \"permission.full-auto\"]\n",
    );
    site.workspace.write(
        POLICY,
        RULES
            .replace("\"fs.*\"", "\"fs.*\", \"report.completion\"")
            .replace("\"local-delete\"]\n", "\"local-delete\", \"state-write\"]\n"),
    );
    site.workspace.write(".env", "PIN=1234\n");
    let mut client = Client::connect(&site, "local");
    let artifacts = json!([{"reference": ".env"}, {"reference": "a.txt"}]);
    let args = json!({"status": "completed", "summary": "Done", "artifacts": artifacts});
    let answer = client.call("report.completion", args);
    assert_stands(&answer, "completed", "");
    assert_eq!(answer["structuredContent"]["missing_references"], json!([".env"]), "{answer:#}");
    let run = about(&answer)["run_id"].as_str().unwrap();
    let read = client.ask("resources/read", json!({"uri": format!("brigade://run/{run}")}));
    let text = read.to_string();
    assert!(text.contains("a.txt") && !text.contains(".env\\\",\\\"before"), "{read:#}");
    assert_eq!(text.matches("after").count(), 1, "{read:#}");
}

#[test]
fn a_shown_tool_lists_what_is_missing_here() {
    let site = site();
    let shown = |id: &str| site.json(["show", id]).expect(0)["tool"].clone();
    for (id, fact) in [
        ("task.execute", Fact::Worker),
        ("proof.screenshot", Fact::Screenshot),
        ("web.search", Fact::SearchProvider),
        ("fleet.list", Fact::Fleet),
        ("frontend.pages", Fact::WebFramework),
    ] {
        let tool = shown(id);
        let reason = &tool["reasons"][0];
        assert_eq!(
            (&tool["state"], &reason["code"]),
            (&json!("missing"), &json!("not_available_here")),
            "{tool:#}"
        );
        assert!(reason["message"].as_str().unwrap().contains(fact.as_str()), "{reason:#}");
        assert!(reason["hint"].is_string(), "{reason:#}");
    }
    let read = shown("fs.read");
    assert_eq!((&read["state"], &read["aliases"]), (&json!("available"), &json!(["readFile", "read_file"])));
    // In lists, a missing tool is also unavailable.
    let listed = site.json(["list", "--family", "builtin", "--available"]).expect(0);
    let ids: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"fs.read"), "{ids:?}");
}
